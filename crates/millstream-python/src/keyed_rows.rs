//! One model per key: `millstream._core.Keyed`.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use millstream_core::declaration::Role;
use millstream_core::draft::Draft;
use millstream_core::held::{self, Job, Root};
use millstream_core::keyed::{self, KeyedAnswers, KeyedJob, OwnedKey};
use millstream_core::row::Want;
use millstream_core::table::Table;
use millstream_core::task::Answer;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};

use crate::answers::index_of;
use crate::borrowed_rows::{read_numbers, BorrowedRows};
use crate::dicts::{read_dict, Keys, Reading};
use crate::errors::{by, raise, shown, OrRaise};
use crate::key_column::{read_key, KeyValues};
use crate::keyed::{build, show_labels, AnyKeyed, KeyedParts, Settings};
use crate::labels::show_label;
use crate::model::Model;
use crate::part::ComponentMethods;
use crate::signals::BETWEEN_SIGNALS;
use crate::targets::{check_length, ManyTargets, OneTarget, Weight};
use crate::thread_buffers::{thread_buffers, ThreadBuffers};

#[pyclass(extends = KeyedParts, frozen, module = "millstream._core")]
pub struct Keyed {
    keyed: Arc<keyed::Keyed<Root>>,
}

impl Keyed {
    pub fn of(keyed: Arc<keyed::Keyed<Root>>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(KeyedParts::new(AnyKeyed::Model(keyed.clone()))).add_subclass(Keyed { keyed })
    }
}

/// Predictions or None, the labels of their codes, and skipped rows with their messages.
type Answers<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyList>, Vec<(usize, String)>);

/// A key, a dict, a target, a weight and a time.
type DictExample<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>, Option<Bound<'py, PyAny>>, Weight, f64);

/// An example that was read.
struct Example {
    key: OwnedKey,
    x: Py<PyDict>,
    y: OneTarget,
    w: f64,
    time: f64,
}

/// Add a row to an error of ours.
fn at_row(py: Python<'_>, error: PyErr, row: usize) -> PyErr {
    let _ = error.value(py).call_method1("at_row", (row,));
    error
}

#[pymethods]
impl Keyed {
    /// `template` is what new keys begin with, or with `has_global` a copy of it that learns all examples. Limits are
    /// numbers; `max_keys` and `max_bytes` 0 for none. `spill` is a folder.
    #[new]
    #[pyo3(signature = (template, *settings))]
    fn new(template: &Bound<'_, Model>, settings: Settings) -> PyResult<PyClassInitializer<Self>> {
        let held = template.ask(|held| Ok(held.clone()))?;
        build(template.py(), held, settings).map(Self::of)
    }

    /// Process rows (see `BorrowedRows`) with the models of their keys: predict them if `predict` is "class" or "proba", and
    /// learn them if `learn`. Returns (predictions or None, labels by code, skipped rows as [(row, message)]).
    #[allow(clippy::too_many_arguments)]
    fn run<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        rows: &Bound<'py, PyAny>,
        y: Option<&Bound<'py, PyAny>>,
        w: Option<&Bound<'py, PyAny>>,
        times: Option<&Bound<'py, PyAny>>,
        predict: Option<&str>,
        learn: bool,
        skip: bool,
        threads: usize,
    ) -> PyResult<Answers<'py>> {
        let title = self.keyed.title();
        let named = |error: PyErr| by(py, error, &title);
        let borrowed = BorrowedRows::new(rows).map_err(named)?;
        let table = borrowed.table();
        let keys = KeyValues::read(keys).map_err(named)?;
        let column = keys.column().map_err(named)?;
        check_length(py, &format!("{title}: keys"), Some(column.len()), table.height())?;
        let targets = ManyTargets::read(py, self.keyed.template().role(), y).map_err(named)?;
        check_length(py, &format!("{title}: y"), targets.len(), table.height())?;
        let weights = w.map(read_numbers).transpose().map_err(named)?;
        check_length(py, &format!("{title}: w"), weights.as_ref().map(Vec::len), table.height())?;
        let times = times.map(read_numbers).transpose().map_err(named)?;
        check_length(py, &format!("{title}: times"), times.as_ref().map(Vec::len), table.height())?;
        let want = predict.map(|what| if what == "proba" { Want::Probabilities } else { Want::Class });
        let job = Job {
            table: &table,
            from: 0,
            to: table.height(),
            targets: targets.targets(),
            weights: weights.as_deref(),
            predicting: want,
            learning: learn,
            skip,
        };
        // Ctrl-C between two blocks: everything is as before.
        let interrupted = Mutex::new((Instant::now(), None));
        let stops = || match interrupted.lock() {
            Ok(mut last) if last.0.elapsed() > BETWEEN_SIGNALS => {
                *last = (Instant::now(), Python::attach(|py| py.check_signals().err()));
                last.1.is_some()
            }
            _ => false,
        };
        let job = KeyedJob { job, keys: &column, times: times.as_deref(), threads, stops: &stops };
        let done = py.detach(|| self.keyed.run(&job));
        if let Some(error) = interrupted.into_inner().ok().and_then(|last| last.1) {
            return Err(error);
        }
        let keyed::KeyedRun { answers, labels, tally } = done.map_err(|fault| {
            let row = fault.row().unwrap_or_default();
            raise(py, &targets.explain(fault, row, &title))
        })?;
        let skipped = tally.skipped.into_iter().map(|(row, fault)| {
            let fault = targets.explain(fault, row, &title);
            (row, fault.message().to_string())
        });
        let answers = want.map(|_| self.give(py, answers, table.height())).transpose()?;
        Ok((answers, show_labels(py, &labels)?, skipped.collect()))
    }

    /// Learn one dict with the model of a key.
    #[pyo3(signature = (key, x, y, w, time))]
    fn learn_one(
        &self,
        key: &Bound<'_, PyAny>,
        x: &Bound<'_, PyDict>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
        time: f64,
    ) -> PyResult<()> {
        let example = (key.clone(), x.clone(), y.cloned(), w, time);
        self.one(x.py(), example, None).map(drop)
    }

    /// Predict one dict with the model of a key, then learn it. `predict` is "class" or "proba".
    #[pyo3(signature = (key, x, y, w, time, predict))]
    fn step_one(
        &self,
        key: &Bound<'_, PyAny>,
        x: &Bound<'_, PyDict>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
        time: f64,
        predict: &str,
    ) -> PyResult<Py<PyAny>> {
        let want = if predict == "proba" { Want::Probabilities } else { Want::Class };
        let example = (key.clone(), x.clone(), y.cloned(), w, time);
        self.one(x.py(), example, Some(want))
    }

    /// Learn dicts with the models of their keys, all of them or none: [(key, dict, target, weight, time)]. Returns the
    /// predictions if `predict` is given. The error of the first faulty one has its row.
    fn run_dicts(
        &self,
        py: Python<'_>,
        examples: Vec<DictExample<'_>>,
        predict: Option<&str>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let want = predict.map(|what| if what == "proba" { Want::Probabilities } else { Want::Class });
        let mut read = Vec::with_capacity(examples.len());
        for (row, example) in examples.into_iter().enumerate() {
            read.push(self.example(example).map_err(|error| at_row(py, error, row))?);
        }
        let (answers, failed) = py.detach(|| {
            let session = self.keyed.session();
            self.keyed.savepoint(&session);
            let mut answers = Vec::with_capacity(if want.is_some() { read.len() } else { 0 });
            let mut failed = None;
            for (row, example) in read.iter().enumerate() {
                match self.change_one(&session, example, want) {
                    Ok(Ok(answer)) if want.is_some() => answers.push(answer),
                    Ok(Ok(_)) => {}
                    stopped => {
                        failed = Some((row, stopped));
                        break;
                    }
                }
            }
            self.keyed.end(&session, failed.is_none());
            (answers, failed)
        });
        match failed {
            None => Ok(answers),
            Some((row, Err(fault))) => Err(raise(py, &fault.at_row(row))),
            Some((row, Ok(Err(error)))) => Err(at_row(py, error, row)),
            Some((_, Ok(Ok(_)))) => Ok(answers),
        }
    }

    /// Predict one dict with the model of a key: "class", "proba", "score" or "classify".
    fn predict_one(&self, key: &Bound<'_, PyAny>, x: &Bound<'_, PyDict>, predict: &str) -> PyResult<Py<PyAny>> {
        let py = x.py();
        let key = read_key(key)?;
        let x = x.clone().unbind();
        // A shard is waited for without the GIL, because Python code may run while it is locked.
        let asked = py.detach(|| {
            self.keyed.ask(key.key(), |model| {
                Python::attach(|py| {
                    let mut buffers = thread_buffers();
                    let ThreadBuffers { draft, scratch, answer, .. } = &mut *buffers;
                    if let Err(error) = read_plain(x.bind(py), model, draft) {
                        return Ok(Err(error));
                    }
                    let want = if predict == "proba" { Want::Probabilities } else { Want::Class };
                    Ok(match predict {
                        "score" => Ok(PyFloat::new(py, model.score(draft, scratch)?).into_any().unbind()),
                        "classify" => {
                            let score = model.score(draft, scratch)?;
                            Ok(PyBool::new(py, model.classify(score)?).to_owned().into_any().unbind())
                        }
                        _ => {
                            model.predict(draft, want, answer, scratch)?;
                            give_answer(py, model, answer, want)
                        }
                    })
                })
            })
        });
        asked.or_raise(py)?
    }
}

/// Read a dict against the schema of a model.
fn read_plain(x: &Bound<'_, PyDict>, model: &held::Model, draft: &mut Draft) -> PyResult<()> {
    match read_dict(x, model.schema(), &Keys::default(), model.missing_is_zero(), draft)? {
        Reading::ByKey | Reading::ByText => Ok(()),
        Reading::NotPlain => {
            let message = format!("an example cannot be read: {}", shown(x.as_any()));
            Err(raise(x.py(), &Fault::wrong_type(message)))
        }
    }
}

/// The prediction of a model for one row.
fn give_answer(py: Python<'_>, model: &held::Model, answer: &Answer, want: Want) -> PyResult<Py<PyAny>> {
    let label = |code: u32| model.labels().get(code).map(|label| show_label(py, label)).transpose();
    match model.role() {
        Role::Clusterer => Ok(index_of(&answer.cluster).into_pyobject(py)?.into_any().unbind()),
        role if role.predicts_numbers() => Ok(PyFloat::new(py, answer.number).into_any().unbind()),
        _ if want == Want::Probabilities => {
            let dict = PyDict::new(py);
            for (code, &probability) in answer.class.probabilities.iter().enumerate() {
                if let Some(label) = label(code as u32)? {
                    dict.set_item(label, probability)?;
                }
            }
            Ok(dict.into_any().unbind())
        }
        _ => match answer.class.class {
            Some(code) => Ok(label(code)?.map_or_else(|| py.None(), Bound::unbind)),
            None => Ok(py.None()),
        },
    }
}

impl Keyed {
    /// Learn one example, without the GIL except to read it.
    fn change_one(
        &self,
        session: &keyed::Session<'_>,
        example: &Example,
        want: Option<Want>,
    ) -> Result<PyResult<Py<PyAny>>, Fault> {
        let mut unread = None;
        let changed = self.keyed.change(session, example.key.key(), example.time, |model| {
            Python::attach(|py| {
                let mut buffers = thread_buffers();
                let ThreadBuffers { draft, scratch, answer, .. } = &mut *buffers;
                if let Err(error) = read_plain(example.x.bind(py), model, draft) {
                    unread = Some(error);
                    return Err(Fault::value("the example cannot be read"));
                }
                let (target, w) = (example.y.target(), example.w);
                Ok(match want {
                    Some(want) => {
                        model.step(draft, target, w, want, answer, scratch)?;
                        (give_answer(py, model, answer, want), keyed::error_of(model, answer, target))
                    }
                    None => {
                        model.learn(draft, target, w, scratch)?;
                        (Ok(py.None()), None)
                    }
                })
            })
        });
        match unread {
            Some(error) => Ok(Err(error)),
            None => changed,
        }
    }

    /// Read an example, which may run Python code, before anything is locked.
    fn example(&self, (key, x, y, w, time): DictExample<'_>) -> PyResult<Example> {
        let py = x.py();
        let role = self.keyed.template().role();
        let y = OneTarget::read(py, role, y.as_ref()).map_err(|error| by(py, error, &self.keyed.title()))?;
        Ok(Example { key: read_key(&key)?, x: x.unbind(), y, w: w.number().or_raise(py)?, time })
    }

    /// Learn one example, predicting it first if requested.
    fn one(&self, py: Python<'_>, example: DictExample<'_>, want: Option<Want>) -> PyResult<Py<PyAny>> {
        let example = self.example(example)?;
        py.detach(|| self.change_one(&self.keyed.session(), &example, want)).or_raise(py)?
    }

    /// Predictions as arrays: numbers, class codes, a matrix of probabilities, or clusters.
    fn give<'py>(&self, py: Python<'py>, answers: KeyedAnswers, rows: usize) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.keyed.template().role() {
            Role::Clusterer => {
                answers.clusters.iter().map(index_of).collect::<Vec<_>>().into_pyarray(py).into_any()
            }
            role if role.predicts_numbers() => answers.numbers.into_pyarray(py).into_any(),
            _ if answers.has_probabilities() => {
                answers.probabilities.into_pyarray(py).reshape([rows, answers.classes_known])?.into_any()
            }
            _ => answers.classes.into_pyarray(py).into_any(),
        })
    }
}
