//! Policies with context: `millstream._core.ContextualPolicy`.

use std::cell::Cell;
use std::sync::Arc;

use millstream_core::bandit::contextual::{Policy, Round, Work};
use millstream_core::held::Held;
use millstream_core::rounds::{Outcome, Translation};
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::errors::{raise, shown, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::round_batch::RoundBatch;
use crate::round_reader::Given;
use crate::targets::no_number;
use crate::thread_buffers::thread_buffers;

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct ContextualPolicy;

impl Component for ContextualPolicy {
    type Kind = Box<Policy>;
}

/// Buffers of one thread, taken out while in use.
#[derive(Default)]
struct Buffers {
    round: Round,
    work: Work,
    text: String,
    numbers: Vec<f64>,
}

thread_local! {
    static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

fn with_buffers<R>(work: impl FnOnce(&mut Buffers) -> R) -> R {
    let mut buffers = BUFFERS.take().unwrap_or_default();
    let result = work(&mut buffers);
    BUFFERS.set(Some(buffers));
    result
}

#[pymethods]
impl ContextualPolicy {
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

    /// Number of decisions that wait for their reward.
    #[getter]
    fn pending(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.policy().pending()))
    }

    /// Number of decisions that were dropped before their reward arrived.
    #[getter]
    fn dropped(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.policy().dropped()))
    }

    /// The probability of each action, or its predicted reward.
    #[pyo3(signature = (x, actions, rewards, prices=None))]
    fn _values_one<'py>(
        slf: &Bound<'py, Self>,
        x: Option<&Bound<'py, PyAny>>,
        actions: &Bound<'py, PyAny>,
        rewards: bool,
        prices: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let given = Given::new(x, actions).map_err(|error| slf.part().named(py, error))?;
        with_buffers(|Buffers { round, work, text, numbers }| {
            slf.ask(|held| {
                let policy = held.policy();
                let named = |error| crate::errors::by(py, error, held.title());
                given.read(policy.spaces(), round, text).map_err(named)?;
                round.check(held.title()).or_raise(py)?;
                round.set_prices(held.title(), prices.as_deref()).or_raise(py)?;
                let scratch = &mut thread_buffers().scratch;
                if rewards {
                    policy.rewards(round, numbers, work, scratch);
                } else {
                    policy.check_size(round).or_raise(py)?;
                    policy.probabilities(round, work, scratch);
                    numbers.clone_from(&work.probabilities);
                }
                Ok(())
            })?;
            let dict = PyDict::new(py);
            for (index, value) in numbers.iter().enumerate() {
                dict.set_item(given.actions.label(py, index)?, value)?;
            }
            Ok(dict)
        })
    }

    /// Choose an action: the action, its probability and the id of the decision.
    #[pyo3(signature = (x, actions, prices=None))]
    fn _decide_one<'py>(
        slf: &Bound<'py, Self>,
        x: Option<&Bound<'py, PyAny>>,
        actions: &Bound<'py, PyAny>,
        prices: Option<Vec<f64>>,
    ) -> PyResult<(Bound<'py, PyAny>, f64, u64)> {
        let py = slf.py();
        let given = Given::new(x, actions).map_err(|error| slf.part().named(py, error))?;
        let decision = with_buffers(|Buffers { round, text, .. }| {
            slf.change(|held| {
                let read = given.read(held.policy().spaces(), round, text);
                read.map_err(|error| crate::errors::by(py, error, held.title()))?;
                round.set_prices(held.title(), prices.as_deref()).or_raise(py)?;
                held.decide(round, &mut thread_buffers().scratch).or_raise(py)
            })
        })?;
        Ok((given.actions.label(py, decision.index)?, decision.probability, decision.id))
    }

    /// The probabilities of the actions of rounds, or their predicted rewards, one round after the other.
    fn _values_many<'py>(
        slf: &Bound<'py, Self>,
        rounds: &RoundBatch,
        rewards: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = slf.py();
        let batch = Arc::clone(&rounds.batch);
        let mut out = Vec::new();
        slf.ask(|held| {
            let policy = held.policy();
            py.detach(|| {
                let mut translation = Translation::new(&batch);
                with_buffers(|Buffers { round, work, numbers, .. }| {
                    let scratch = &mut thread_buffers().scratch;
                    for index in 0..batch.len() {
                        translation.read(&batch, index, policy.spaces(), round);
                        if rewards {
                            policy.rewards(round, numbers, work, scratch);
                            out.extend_from_slice(numbers);
                        } else {
                            policy.probabilities(round, work, scratch);
                            out.extend_from_slice(&work.probabilities);
                        }
                    }
                });
            });
            Ok(())
        })?;
        Ok(out.into_pyarray(py))
    }

    /// Learn the rounds of a log in order; with `probabilities`, those of each round before it is learned. After an error,
    /// "raise" leaves the policy as it was, "stop" keeps the rounds before, and "skip" skips the round. Rounds without a
    /// reward are not learned. Returns the probabilities and the number of skipped rounds.
    fn _learn_rounds<'py>(
        slf: &Bound<'py, Self>,
        rounds: &RoundBatch,
        probabilities: bool,
        on_error: &str,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
        let py = slf.py();
        let batch = Arc::clone(&rounds.batch);
        let mut out = Vec::new();
        let (skipped, stopped) = slf.replace(|held| {
            let (mut skipped, mut translation) = (0, Translation::new(&batch));
            let mut learn = |held: &mut Held<Box<Policy>>, index: usize| {
                with_buffers(|Buffers { round, work, .. }| {
                    let scratch = &mut thread_buffers().scratch;
                    translation.read(&batch, index, held.policy().spaces(), round);
                    if probabilities {
                        held.policy().probabilities(round, work, scratch);
                        out.extend_from_slice(&work.probabilities);
                    }
                    let Outcome { action, probability, reward } = batch.outcome(index);
                    match (action, reward) {
                        (Some(action), Some(reward)) => {
                            held.learn_round(round, action as usize, reward, probability, scratch)
                        }
                        _ => Ok(()),
                    }
                })
            };
            let mut index = 0;
            while index < batch.len() {
                let end = (index + BETWEEN_SIGNALS).min(batch.len());
                let fault = py.detach(|| {
                    while index < end {
                        match learn(held, index) {
                            Ok(()) => {}
                            Err(_) if on_error == "skip" => skipped += 1,
                            Err(fault) => return Some(fault.at_row(index)),
                        }
                        index += 1;
                    }
                    None
                });
                match fault {
                    Some(fault) if on_error == "raise" => return Err(raise(py, &fault)),
                    Some(fault) => return Ok((skipped, Some(fault))),
                    None => py.check_signals()?,
                }
            }
            Ok((skipped, None))
        })?;
        match stopped {
            Some(fault) => Err(raise(py, &fault)),
            None => Ok((out.into_pyarray(py), skipped)),
        }
    }

    /// Choose an action in each round: places, probabilities and ids.
    #[allow(clippy::type_complexity)]
    fn _decide_many<'py>(
        slf: &Bound<'py, Self>,
        rounds: &RoundBatch,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u64>>)> {
        let py = slf.py();
        let batch = Arc::clone(&rounds.batch);
        let (mut places, mut probabilities, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        slf.replace(|held| {
            let mut translation = Translation::new(&batch);
            for index in 0..batch.len() {
                let decision = with_buffers(|Buffers { round, .. }| {
                    translation.read(&batch, index, held.policy().spaces(), round);
                    held.decide(round, &mut thread_buffers().scratch)
                });
                let decision = decision.map_err(|fault| raise(py, &fault.at_row(index)))?;
                places.push(decision.index as i64);
                probabilities.push(decision.probability);
                ids.push(decision.id);
                if index % BETWEEN_SIGNALS == BETWEEN_SIGNALS - 1 {
                    py.check_signals()?;
                }
            }
            Ok(())
        })?;
        Ok((places.into_pyarray(py), probabilities.into_pyarray(py), ids.into_pyarray(py)))
    }

    /// Learn the rewards of decisions in order; see `_learn_rounds` for `on_error`. Returns the number of skipped rewards.
    fn _learn_ids<'py>(
        slf: &Bound<'py, Self>,
        ids: PyReadonlyArray1<'py, u64>,
        rewards: PyReadonlyArray1<'py, f64>,
        on_error: &str,
    ) -> PyResult<usize> {
        let py = slf.py();
        let (ids, rewards) = (ids.as_slice()?, rewards.as_slice()?);
        let (skipped, stopped) = slf.replace(|held| {
            let mut skipped = 0;
            for (row, (&id, &reward)) in ids.iter().zip(rewards).enumerate() {
                match held.learn_id(id, reward, &mut thread_buffers().scratch) {
                    Ok(()) => {}
                    Err(_) if on_error == "skip" => skipped += 1,
                    Err(fault) if on_error == "stop" => return Ok((skipped, Some(fault.at_row(row)))),
                    Err(fault) => return Err(raise(py, &fault.at_row(row))),
                }
                if row % BETWEEN_SIGNALS == BETWEEN_SIGNALS - 1 {
                    py.check_signals()?;
                }
            }
            Ok((skipped, None))
        })?;
        match stopped {
            Some(fault) => Err(raise(py, &fault)),
            None => Ok(skipped),
        }
    }

    /// Learn the reward of a decision, or a round of a log.
    #[pyo3(signature = (id=None, reward=None, *, x=None, actions=None, action=None, probability=None))]
    fn _learn_one<'py>(
        slf: &Bound<'py, Self>,
        id: Option<&Bound<'py, PyAny>>,
        reward: Option<&Bound<'py, PyAny>>,
        x: Option<&Bound<'py, PyAny>>,
        actions: Option<&Bound<'py, PyAny>>,
        action: Option<&Bound<'py, PyAny>>,
        probability: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let named = |error| slf.part().named(py, error);
        let refuse = |words: &str| named(raise(py, &Fault::wrong_type(words)));
        let reward = read_number(reward, "reward").or_raise(py).map_err(named)?;
        let (actions, action) = match (id, actions, action) {
            (Some(id), None, None) if x.is_none() && probability.is_none() => {
                let id = read_id(id).or_raise(py).map_err(named)?;
                return slf.change(|held| held.learn_id(id, reward, &mut thread_buffers().scratch).or_raise(py));
            }
            (Some(_), ..) => return Err(refuse("with the id of a decision, pass its reward alone")),
            (None, Some(actions), Some(action)) => (actions, action),
            (None, ..) => {
                return Err(refuse(
                    "learn_one needs the id of a decision, or the actions of a round and the action taken",
                ))
            }
        };
        let probability = probability
            .filter(|probability| !probability.is_none())
            .map(|probability| read_number(Some(probability), "probability"))
            .transpose()
            .or_raise(py)
            .map_err(named)?;
        let given = Given::new(x, actions).map_err(named)?;
        let index = given.actions.index(action).map_err(named)?;
        with_buffers(|Buffers { round, text, .. }| {
            slf.change(|held| {
                let read = given.read(held.policy().spaces(), round, text);
                read.map_err(|error| crate::errors::by(py, error, held.title()))?;
                let scratch = &mut thread_buffers().scratch;
                held.learn_round(round, index, reward, probability, scratch).or_raise(py)
            })
        })
    }
}

/// Rounds between checks for Ctrl-C.
const BETWEEN_SIGNALS: usize = 1 << 10;

fn read_number(number: Option<&Bound<'_, PyAny>>, what: &str) -> millstream_core::Result<f64> {
    let Some(number) = number else {
        return Err(Fault::wrong_type(format!("{what} must be a number, got none")));
    };
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

fn read_id(id: &Bound<'_, PyAny>) -> millstream_core::Result<u64> {
    let refused = || Fault::wrong_type(format!("the id of a decision must be an integer, got {}", shown(id)));
    if id.is_instance_of::<PyBool>() || id.is_instance_of::<PyFloat>() || id.is_instance_of::<PyString>() {
        return Err(refused());
    }
    match (id.extract::<u64>(), id.cast::<PyInt>()) {
        (Ok(id), _) => Ok(id),
        (_, Ok(_)) => Err(Fault::value(format!("no decision has the id {}", crate::errors::quoted(id)))),
        _ => id.getattr("id").ok().and_then(|id| id.extract().ok()).ok_or_else(refused),
    }
}
