//! Components that choose actions: `millstream._core.Policy`, and the decisions that they return.

use millstream_core::bandit::actions::Given;
use millstream_core::bandit::decider::Decider;
use millstream_core::bandit::play::Sums;
use millstream_core::bandit::worlds;
use millstream_core::held;
use millstream_core::labels::Label;
use millstream_core::policy::Chance;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::errors::{raise, read_text, shown, OrRaise};
use crate::labels::{label_of, show_label};
use crate::lock::Lock;
use crate::part::{Component, ComponentMethods, Part};
use crate::targets::no_number;

/// Decisions or rewards between checks for Ctrl-C: a few milliseconds.
const BETWEEN_SIGNALS: usize = 1 << 14;

/// A decision: the action, its probability, and the id under which its reward is learned. Unpacks like a tuple.
#[pyclass(frozen, module = "millstream._core")]
pub struct Decision {
    #[pyo3(get)]
    action: Py<PyAny>,
    chance: Chance,
    #[pyo3(get)]
    id: u64,
}

impl Decision {
    fn to_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (self.action.bind(py), self.chance.value(), self.id).into_pyobject(py)
    }
}

#[pymethods]
impl Decision {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("action", "probability", "id")
    }

    #[new]
    fn new(action: Py<PyAny>, probability: f64, id: u64) -> Self {
        Decision { action, chance: Chance::Known(probability), id }
    }

    /// The probability with which the action was taken.
    #[getter]
    fn probability(&self) -> f64 {
        self.chance.value()
    }

    fn __len__(&self) -> usize {
        3
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let index = if index < 0 { index + 3 } else { index };
        match usize::try_from(index) {
            Ok(index) if index < 3 => self.to_tuple(py)?.get_item(index),
            _ => Err(PyIndexError::new_err("a decision has three fields")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_tuple(py)?.try_iter()?.into_any())
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let equal = match (op, other.cast::<Decision>(), other.cast::<PyTuple>()) {
            (CompareOp::Eq | CompareOp::Ne, Ok(other), _) => self.to_tuple(py)?.eq(other.get().to_tuple(py)?)?,
            (CompareOp::Eq | CompareOp::Ne, _, Ok(other)) => self.to_tuple(py)?.eq(other)?,
            _ => return Ok(py.NotImplemented()),
        };
        Ok(PyBool::new(py, equal == matches!(op, CompareOp::Eq)).to_owned().into_any().unbind())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_tuple(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let probability = PyFloat::new(py, self.chance.value()).repr()?;
        let action = self.action.bind(py).repr()?;
        Ok(format!("Decision(action={action}, probability={probability}, id={})", self.id))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((slf.get_type().into_any(), slf.get().to_tuple(slf.py())?))
    }
}

/// Decisions as columns: actions, probabilities and ids.
type Columns<'py> = (Bound<'py, PyList>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>);

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Policy;

impl Component for Policy {
    type Kind = Decider;
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of rewards it has learned.
    #[getter]
    fn learned(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Number of decisions that wait for their rewards.
    #[getter]
    fn pending(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.pending()))
    }

    /// Number of decisions that were given up without a reward.
    #[getter]
    fn dropped(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.dropped()))
    }

    /// Number of actions that were forgotten to make room for others.
    #[getter]
    fn forgotten(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.forgotten()))
    }

    /// All actions that it knows.
    #[getter]
    fn actions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let labels: Vec<Label> = slf.ask(|held| Ok(held.actions().cloned().collect()))?;
        let labels = labels.iter().map(|label| show_label(py, label));
        PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)
    }

    /// The decisions that wait for their rewards, the oldest first.
    fn _open<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Decision>> {
        let py = slf.py();
        let open: Vec<_> = slf.ask(|held| {
            Ok(held.open().map(|(id, label, probability)| (id, label.cloned(), probability)).collect())
        })?;
        let decision = |(id, label, probability): (u64, Option<Label>, f64)| {
            Ok(Decision { action: object(py, label.as_ref())?, chance: Chance::Known(probability), id })
        };
        open.into_iter().map(decision).collect()
    }

    /// The probability of each action.
    #[pyo3(signature = (actions=None))]
    fn _probabilities_one<'py>(
        slf: &Bound<'py, Self>,
        actions: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let objects = read_actions(slf, actions)?;
        let given = given_actions(slf, objects.as_deref())?;
        let (objects, probabilities) = slf.ask(|held| {
            let probabilities = held.probabilities(given.as_deref()).or_raise(py)?;
            let objects = match &objects {
                Some(objects) => objects.clone(),
                None => held.actions().map(|label| show_label(py, label)).collect::<PyResult<_>>()?,
            };
            Ok((objects, probabilities))
        })?;
        let dict = PyDict::new(py);
        for (object, probability) in objects.into_iter().zip(probabilities) {
            dict.set_item(object, probability)?;
        }
        Ok(dict)
    }

    /// Choose an action.
    #[pyo3(signature = (actions=None))]
    fn _decide_one(slf: &Bound<'_, Self>, actions: Option<&Bound<'_, PyAny>>) -> PyResult<Decision> {
        let py = slf.py();
        let objects = read_actions(slf, actions)?;
        let given = given_actions(slf, objects.as_deref())?;
        slf.change(|held| {
            let decision = held.decide(given.as_deref()).or_raise(py)?;
            let action = object(py, held.action(decision.action))?;
            Ok(Decision { action, chance: decision.chance, id: decision.id })
        })
    }

    /// Make several decisions, one after the other.
    #[pyo3(signature = (n, actions=None))]
    fn _decide_many<'py>(
        slf: &Bound<'py, Self>,
        n: usize,
        actions: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Columns<'py>> {
        let py = slf.py();
        let objects = read_actions(slf, actions)?;
        let given = given_actions(slf, objects.as_deref())?;
        let (mut codes, mut probabilities, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let objects = slf.replace(|held| {
            for index in 0..n {
                let decision = held.decide(given.as_deref()).or_raise(py)?;
                codes.push(decision.action);
                probabilities.push(decision.chance.value());
                ids.push(decision.id);
                if index % BETWEEN_SIGNALS == BETWEEN_SIGNALS - 1 {
                    py.check_signals()?;
                }
            }
            let objects = PyList::empty(py);
            for &code in &codes {
                objects.append(object(py, held.action(code))?)?;
            }
            Ok(objects)
        })?;
        Ok((objects, probabilities.into_pyarray(py), ids.into_pyarray(py)))
    }

    /// Choose an action without waiting for its reward.
    #[pyo3(signature = (actions=None))]
    fn _pull(slf: &Bound<'_, Self>, actions: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let objects = read_actions(slf, actions)?;
        let given = given_actions(slf, objects.as_deref())?;
        slf.change(|held| {
            let code = held.pull(given.as_deref()).or_raise(py)?;
            object(py, held.action(code))
        })
    }

    /// Learn the reward of a decision, given by its id, or of an action that was taken elsewhere.
    #[pyo3(signature = (id=None, reward=None, *, action=None, probability=None))]
    fn _learn_one(
        slf: &Bound<'_, Self>,
        id: Option<&Bound<'_, PyAny>>,
        reward: Option<&Bound<'_, PyAny>>,
        action: Option<&Bound<'_, PyAny>>,
        probability: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let named = |error| slf.part().named(py, error);
        let reward = read_reward(reward).or_raise(py).map_err(named)?;
        match (id, action) {
            (Some(id), None) if probability.is_none() => {
                let id = read_id(id).or_raise(py).map_err(named)?;
                slf.change(|held| held.learn(id, reward).or_raise(py))
            }
            (None, Some(action)) => {
                let action = plain_action(action).map_err(named)?;
                let probability = probability.map(|given| read_number(given, "the probability")).transpose();
                let probability = probability.or_raise(py).map_err(named)?;
                let given = given_action(&action).or_raise(py).map_err(named)?;
                slf.change(|held| held.learn_action(given, reward, probability).or_raise(py))
            }
            (Some(_), None) => {
                Err(named(wrong(py, "the probability of a decision is known; pass its id and reward")))
            }
            (Some(_), Some(_)) => Err(named(wrong(py, "pass an id or an action, not both"))),
            (None, None) => Err(named(wrong(py, "learn_one needs the id of a decision, or an action"))),
        }
    }

    /// Learn the reward of an action.
    fn _update(slf: &Bound<'_, Self>, action: &Bound<'_, PyAny>, reward: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::_learn_one(slf, None, Some(reward), Some(action), None)
    }

    /// Learn a column of rewards: of decisions, or of actions with their probabilities. After an error, "raise" leaves
    /// the policy as it was, "stop" keeps the rewards before, and "skip" skips it. Returns the number of skipped rewards.
    #[pyo3(signature = (ids, rewards, actions, probabilities, on_error))]
    fn _learn_many(
        slf: &Bound<'_, Self>,
        ids: Option<&Bound<'_, PyAny>>,
        rewards: &Bound<'_, PyAny>,
        actions: Option<&Bound<'_, PyAny>>,
        probabilities: Option<&Bound<'_, PyAny>>,
        on_error: &str,
    ) -> PyResult<usize> {
        let py = slf.py();
        let ids = ids.map(items).transpose()?;
        let actions = actions.map(items).transpose()?;
        let probabilities = probabilities.map(items).transpose()?;
        let rewards = items(rewards)?;
        let learn = |held: &mut held::Policy, row: usize| -> PyResult<()> {
            let title = held.title().to_string();
            let read = |read: millstream_core::Result<f64>| read.map_err(|fault| fault.by(&title));
            let reward = read(read_reward(Some(&rewards[row]))).map_err(|fault| raise(py, &fault.at_row(row)))?;
            let learned = match (&ids, &actions) {
                (Some(ids), _) => {
                    read_id(&ids[row]).map_err(|fault| fault.by(&title)).and_then(|id| held.learn(id, reward))
                }
                (_, actions) => {
                    let action = actions.as_ref().map(|actions| &actions[row]);
                    let probability = probabilities.as_ref().map(|all| &all[row]).filter(|given| !given.is_none());
                    action.map_or_else(
                        || Ok(()),
                        |action| {
                            let given = given_action(action).map_err(|fault| fault.by(&title))?;
                            let probability = probability
                                .map(|given| read(read_number(given, "the probability")))
                                .transpose()?;
                            held.learn_action(given, reward, probability)
                        },
                    )
                }
            };
            learned.map_err(|fault| raise(py, &fault.at_row(row)))
        };
        let (skipped, stopped) = slf.replace(|held| {
            let mut skipped = 0;
            for row in 0..rewards.len() {
                match learn(held, row) {
                    Ok(()) => {}
                    Err(_) if on_error == "skip" => skipped += 1,
                    Err(error) if on_error == "stop" => return Ok((skipped, Some(error))),
                    Err(error) => return Err(error),
                }
                if row % BETWEEN_SIGNALS == BETWEEN_SIGNALS - 1 {
                    py.check_signals()?;
                }
            }
            Ok((skipped, None))
        })?;
        stopped.map_or(Ok(skipped), Err)
    }

    /// Play rounds in a world whose actions have these labels. Returns the sums of regret and reward after each of the marks,
    /// which ascend.
    fn _play<'py>(
        slf: &Bound<'py, Self>,
        world: &Bound<'py, World>,
        labels: &Bound<'py, PyAny>,
        marks: Vec<u64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let py = slf.py();
        let labels = read_actions(slf, Some(labels))?.unwrap_or_default();
        let labels = labels
            .iter()
            .map(|label| Ok(given_action(label)?.label()))
            .collect::<millstream_core::Result<Vec<Label>>>();
        let labels = labels.or_raise(py)?;
        let mut world = world.get().world.write(py)?;
        if labels.len() != world.actions() {
            let words =
                format!("a world of {} actions must have as many labels, got {}", world.actions(), labels.len());
            return Err(raise(py, &Fault::value(words)));
        }
        slf.replace(|held| {
            let (mut sums, mut regrets, mut rewards) = (Sums::default(), Vec::new(), Vec::new());
            let mut played = 0;
            for mark in marks {
                while played < mark {
                    let rounds = (mark - played).min(BETWEEN_SIGNALS as u64);
                    let world = &mut *world;
                    py.detach(|| held.play(world, &labels, rounds, &mut sums)).or_raise(py)?;
                    played += rounds;
                    py.check_signals()?;
                }
                regrets.push(sums.regret);
                rewards.push(sums.reward);
            }
            Ok((regrets.into_pyarray(py), rewards.into_pyarray(py)))
        })
    }

    /// Forget an action, and drop its decisions that wait.
    fn _forget_one(slf: &Bound<'_, Self>, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let action = plain_action(action).map_err(|error| slf.part().named(py, error))?;
        slf.change(|held| held.forget_action(given_action(&action).or_raise(py)?).or_raise(py))
    }
}

/// A world with known truth; see `millstream_core::bandit::worlds`.
#[pyclass(frozen, module = "millstream._core")]
pub struct World {
    world: Lock<worlds::World>,
}

#[pymethods]
impl World {
    /// From a description in JSON.
    #[new]
    fn new(py: Python<'_>, description: &str) -> PyResult<Self> {
        Ok(World { world: Lock::new(worlds::World::described(description).or_raise(py)?) })
    }

    /// Return to the start, with the draws of a seed.
    fn reset(&self, py: Python<'_>, seed: u64) -> PyResult<()> {
        self.world.write(py)?.reset(seed);
        Ok(())
    }

    /// Begin the next round; returns its features.
    fn begin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut world = self.world.write(py)?;
        world.begin();
        PyList::new(py, world.features())
    }

    /// The expected reward of each action in the present round.
    fn means<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.world.read(py)?.means())
    }

    /// The reward of an action, given by its index, in the present round.
    fn reward(&self, py: Python<'_>, index: usize) -> PyResult<f64> {
        let mut world = self.world.write(py)?;
        match index < world.actions() && world.round() > 0 {
            true => Ok(world.reward(index)),
            false => {
                Err(raise(py, &Fault::value("call round() first, then reward(action) with one of its actions")))
            }
        }
    }
}

#[cold]
fn wrong(py: Python<'_>, words: &str) -> PyErr {
    raise(py, &Fault::wrong_type(words))
}

fn object(py: Python<'_>, label: Option<&Label>) -> PyResult<Py<PyAny>> {
    label.map_or_else(|| Ok(py.None()), |label| show_label(py, label).map(Bound::unbind))
}

/// The items of a column that are read without running Python code.
fn items<'py>(column: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match column.cast::<PyList>() {
        Ok(list) => Ok(list.iter().collect()),
        Err(_) => column.try_iter()?.collect(),
    }
}

/// The actions of a call as objects that are read without running Python code.
fn read_actions<'py>(
    policy: &Bound<'py, Policy>,
    actions: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let Some(actions) = actions.filter(|actions| !actions.is_none()) else { return Ok(None) };
    let py = policy.py();
    let listed = || -> PyResult<Vec<Bound<'py, PyAny>>> {
        if actions.is_instance_of::<PyString>() || actions.cast::<PyMapping>().is_ok() {
            return Err(wrong(py, &format!("actions must be a list, got {}", shown(actions))));
        }
        let iterated = items(actions);
        let items = iterated.map_err(|_| wrong(py, &format!("actions must be a list, got {}", shown(actions))))?;
        items.into_iter().map(|item| if is_plain(&item) { Ok(item) } else { plain_action(&item) }).collect()
    };
    listed().map(Some).map_err(|error| policy.part().named(py, error))
}

fn is_plain(action: &Bound<'_, PyAny>) -> bool {
    action.is_exact_instance_of::<PyInt>()
        || action.is_exact_instance_of::<PyString>()
        || action.is_exact_instance_of::<PyBool>()
}

/// A bool, int or str for an action, which may be a NumPy scalar.
fn plain_action<'py>(action: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match is_plain(action) {
        true => Ok(action.clone()),
        false => {
            let py = action.py();
            let refused =
                || Fault::wrong_type(format!("an action must be a bool, int or str, got {}", shown(action)));
            show_label(py, &label_of(action).map_err(|_| refused()).or_raise(py)?)
        }
    }
}

fn given_action<'a>(action: &'a Bound<'_, PyAny>) -> millstream_core::Result<Given<'a>> {
    if let Ok(text) = action.cast::<PyString>() {
        return read_text(text).map(Given::Text);
    }
    if let Ok(flag) = action.cast::<PyBool>() {
        return Ok(Given::Bool(flag.is_true()));
    }
    let int = action.cast::<PyInt>().ok().and_then(|int| int.extract::<i64>().ok());
    int.map(Given::Int).ok_or_else(|| {
        Fault::value(format!("an action must be a bool, an int of 64 bits or a str, got {}", shown(action)))
    })
}

/// The actions of a call; errors name the policy.
fn given_actions<'a>(
    policy: &Bound<'_, Policy>,
    actions: Option<&'a [Bound<'_, PyAny>]>,
) -> PyResult<Option<Vec<Given<'a>>>> {
    let read = |actions: &'a [Bound<'_, PyAny>]| actions.iter().map(given_action).collect();
    let py = policy.py();
    actions.map(read).transpose().or_raise(py).map_err(|error| policy.part().named(py, error))
}

/// The id of a decision, or the decision itself.
fn read_id(id: &Bound<'_, PyAny>) -> millstream_core::Result<u64> {
    if let Ok(decision) = id.cast::<Decision>() {
        return Ok(decision.get().id);
    }
    let refused = || Fault::wrong_type(format!("the id of a decision must be an integer, got {}", shown(id)));
    if id.is_instance_of::<PyBool>() || id.is_instance_of::<PyFloat>() || id.is_instance_of::<PyString>() {
        return Err(refused());
    }
    match (id.extract::<u64>(), id.cast::<PyInt>()) {
        (Ok(id), _) => Ok(id),
        (_, Ok(_)) => Err(Fault::value(format!("no decision has the id {}", crate::errors::quoted(id)))),
        _ => Err(refused()),
    }
}

fn read_reward(reward: Option<&Bound<'_, PyAny>>) -> millstream_core::Result<f64> {
    match reward {
        Some(reward) => read_number(reward, "the reward"),
        None => Err(Fault::wrong_type("learn_one needs a reward")),
    }
}

fn read_number(number: &Bound<'_, PyAny>, what: &str) -> millstream_core::Result<f64> {
    if let Ok(float) = number.cast::<PyFloat>() {
        return Ok(float.value());
    }
    if !number.is_instance_of::<PyString>() && !number.is_none() {
        if let Ok(number) = number.extract::<f64>() {
            return Ok(number);
        }
    }
    Err(no_number(number, what))
}
