//! `millstream._core.Model`: one compiled model behind a lock.
//!
//! Predictions take the lock for reading, learning for writing, so a prediction in one thread never sees a
//! half-made update of another. A thread that must wait gives up the GIL first.

use std::cell::Cell;
use std::sync::{OnceLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use millstream_core::declaration::Role;
use millstream_core::draft::Draft;
use millstream_core::model::{self as core, Job, Sink};
use millstream_core::row::{Row, Value, Want};
use millstream_core::schema::{Name, Schema};
use millstream_core::table::Table;
use millstream_core::task::Answer;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyTuple};

use crate::answers::Answers;
use crate::bench::{borrow_bench, Bench};
use crate::detector::DriftDetector;
use crate::errors::{by, raise, shown, OrRaise};
use crate::labels::show_label;
use crate::lock::{Blocks, Lock, Session, WriteGuard};
use crate::rows::{names, plain_dict, read_dict, read_numbers, Keys, Lent};
use crate::saved::opened;
use crate::targets::{check_length, ManyTargets, OneTarget, Weight};

/// How long a batch goes on before it looks for Ctrl-C, which needs the GIL.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);
/// A batch that is expected to take longer can be broken off by Ctrl-C.
const LONG_BATCH: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) model: Option<core::Model>,
    keys: Keys,
    /// Label objects by code, so that predictions need not make new ones.
    labels: Vec<Option<Py<PyAny>>>,
}

impl Inner {
    pub(crate) fn model(&self, py: Python<'_>) -> PyResult<&core::Model> {
        self.model.as_ref().ok_or_else(|| unbuilt(py))
    }

    /// After learning: take up new names and labels.
    pub(crate) fn follow(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(model) = &self.model else { return Ok(()) };
        self.keys.follow(py, model.schema())?;
        let entries = model.labels().entries();
        self.labels.truncate(entries.len());
        // The first code may have waited for its label; the others are met in order.
        for code in (0..entries.len().min(1)).chain(self.labels.len().max(1)..entries.len()) {
            let label =
                entries[code].as_ref().map(|label| show_label(py, label).map(Bound::unbind)).transpose()?;
            match self.labels.get_mut(code) {
                Some(known) => *known = label,
                None => self.labels.push(label),
            }
        }
        Ok(())
    }

    /// Change the model without the GIL, and take up new names and labels before a reader can see it. A reader that waits
    /// for the lock has given up the GIL, so it can be had here.
    pub(crate) fn change<R>(&mut self, work: impl FnOnce(&mut core::Model) -> R) -> Option<R> {
        let model = self.model.as_mut()?;
        let before = (model.schema().len(), model.labels().known());
        let result = work(model);
        if (model.schema().len(), model.labels().known()) != before {
            Python::attach(|py| self.follow(py)).ok()?;
        }
        Some(result)
    }

    /// Read a dict; false if Python code would have to run for it.
    #[inline]
    fn read_into(&self, py: Python<'_>, dict: &Bound<'_, PyDict>, draft: &mut Draft) -> PyResult<bool> {
        let model = self.model(py)?;
        read_dict(dict, model.schema(), &self.keys, model.missing_is_zero(), draft)
            .map_err(|error| by(py, error, model.title()))
    }

    /// Read what `plain_dict` made.
    fn read_plain(&self, py: Python<'_>, dict: &Bound<'_, PyDict>, draft: &mut Draft) -> PyResult<()> {
        match self.read_into(py, dict, draft)? {
            true => Ok(()),
            false => {
                Err(raise(py, &Fault::wrong_type(format!("an example cannot be read: {}", shown(dict.as_any())))))
            }
        }
    }

    fn label(&self, py: Python<'_>, class: Option<u32>) -> Py<PyAny> {
        class
            .and_then(|code| self.labels.get(code as usize))
            .and_then(Option::as_ref)
            .map_or_else(|| py.None(), |label| label.clone_ref(py))
    }
}

fn unbuilt(py: Python<'_>) -> PyErr {
    raise(py, &Fault::value("this model was not built: call super().__init__(…) in its __init__"))
}

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct Model {
    inner: Lock<Inner>,
    /// Fixed when it is built; kept outside the lock, because it tells how to read a target.
    role: OnceLock<Role>,
}

impl Model {
    /// Read rows, targets and weights, whose number must agree, and hand them to `work`. Reading targets may run Python
    /// code, which may use this model: not under the lock.
    fn with_targets<R>(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(Role, &str, &dyn Table, &ManyTargets, Option<&[f64]>) -> PyResult<R>,
    ) -> PyResult<R> {
        let lent = Lent::new(rows).map_err(|error| self.named(py, error))?;
        let table = lent.table();
        let (role, title) = {
            let inner = self.read(py)?;
            let model = inner.model(py)?;
            (model.role(), model.title().to_string())
        };
        let targets = ManyTargets::read(py, role, y).map_err(|error| by(py, error, &title))?;
        check_length(py, &format!("{title}: y"), targets.len(), table.height())?;
        let weights =
            w.filter(|w| !w.is_none()).map(read_numbers).transpose().map_err(|error| by(py, error, &title))?;
        check_length(py, &format!("{title}: w"), weights.as_ref().map(Vec::len), table.height())?;
        work(role, &title, &table, &targets, weights.as_deref())
    }

    /// Put this model's name in front of an error.
    fn named(&self, py: Python<'_>, error: PyErr) -> PyErr {
        match self.read(py) {
            Ok(inner) => match &inner.model {
                Some(model) => by(py, error, model.title()),
                None => unbuilt(py),
            },
            Err(broken) => broken,
        }
    }

    pub(crate) fn read<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockReadGuard<'a, Inner>> {
        self.inner.read(py)
    }

    pub(crate) fn write<'a>(&'a self, py: Python<'_>) -> PyResult<WriteGuard<'a, Inner>> {
        self.inner.write(py)
    }

    pub(crate) fn session<'a>(&'a self, py: Python<'_>) -> PyResult<Session<'a, Inner>> {
        self.inner.session(py)
    }
}

impl Model {
    /// Read `x` into a draft under the lock for reading, and go on with it.
    fn with_read<R>(
        &self,
        x: &Bound<'_, PyAny>,
        work: impl FnOnce(&Inner, &core::Model, &mut Bench) -> PyResult<R>,
    ) -> PyResult<R> {
        let py = x.py();
        let mut bench = borrow_bench();
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            let inner = self.read(py)?;
            let model = inner.model(py)?;
            if inner.read_into(py, dict, &mut bench.draft)? {
                return work(&inner, model, &mut bench);
            }
        }
        let dict = plain_dict(x).map_err(|error| self.named(py, error))?;
        let inner = self.read(py)?;
        let model = inner.model(py)?;
        inner.read_plain(py, &dict, &mut bench.draft)?;
        work(&inner, model, &mut bench)
    }

    /// Read `x` into a draft under the lock for writing, learn from it, and take up what is new.
    fn with_write<R>(
        &self,
        x: &Bound<'_, PyAny>,
        learn: impl FnOnce(&mut core::Model, &mut Bench) -> PyResult<()>,
        then: impl FnOnce(&Inner, &core::Model, &mut Bench) -> PyResult<R>,
    ) -> PyResult<R> {
        let py = x.py();
        let mut bench = borrow_bench();
        let mut inner = self.write(py)?;
        let read = match x.cast_exact::<PyDict>() {
            Ok(dict) => inner.read_into(py, dict, &mut bench.draft)?,
            Err(_) => false,
        };
        if !read {
            drop(inner);
            let dict = plain_dict(x).map_err(|error| self.named(py, error))?;
            inner = self.write(py)?;
            inner.read_plain(py, &dict, &mut bench.draft)?;
        }
        let model = inner.model.as_mut().ok_or_else(|| unbuilt(py))?;
        let (features, classes) = (model.schema().len(), model.labels().known());
        learn(model, &mut bench)?;
        if model.schema().len() != features || model.labels().known() != classes {
            inner.follow(py)?;
        }
        then(&inner, inner.model(py)?, &mut bench)
    }

    fn role(&self, py: Python<'_>) -> PyResult<Role> {
        self.role.get().copied().ok_or_else(|| unbuilt(py))
    }

    fn install(&self, py: Python<'_>, model: core::Model) -> PyResult<()> {
        let role = model.role();
        let mut inner = self.write(py)?;
        *inner = Inner { model: Some(model), ..Inner::default() };
        inner.follow(py)?;
        let _ = self.role.set(role);
        Ok(())
    }
}

/// A batch that is learned block by block.
struct LearnBatch<'a> {
    /// From the first row that is not yet learned on.
    job: Job<'a>,
    answers: Answers,
    skipped: Vec<(usize, Fault)>,
}

impl LearnBatch<'_> {
    /// Learn blocks until it is time to look for signals, or to the end; gives what stopped it.
    fn learn(&mut self, blocks: &mut Blocks<'_, Inner>) -> Option<Fault> {
        let started = Instant::now();
        let end = self.job.to;
        let mut bench = borrow_bench();
        while self.job.from < end && started.elapsed() < BETWEEN_SIGNALS {
            let to = (self.job.from + blocks.rows()).min(end);
            let job = Job { to, ..self.job };
            let mut nothing = core::NoSink;
            let sink: &mut dyn Sink = if job.predicting.is_some() { &mut self.answers } else { &mut nothing };
            let scratch = &mut bench.scratch;
            let done = blocks.block(to - job.from, |inner| inner.change(|model| model.run(&job, scratch, sink)));
            match done.flatten() {
                Some(Ok(tally)) => self.skipped.extend(tally.skipped),
                Some(Err(fault)) => return Some(fault),
                None => {
                    return Some(Fault::state("this model met an internal error; reload it, and please report it"))
                }
            }
            self.job.from = to;
        }
        None
    }
}

/// Change the model of a session in one short step.
fn changed<R>(
    py: Python<'_>,
    blocks: &Blocks<'_, Inner>,
    work: impl FnOnce(&mut core::Model) -> R + Send,
) -> PyResult<R>
where
    R: Send,
{
    let changed = py.detach(|| blocks.change(|inner| inner.change(work)));
    changed.flatten().ok_or_else(|| unbuilt(py))
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Model { inner: Lock::default(), role: OnceLock::new() }
    }

    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let description = serde_json::from_str(description)
            .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))?;
        let model = core::Model::new(&description).or_raise(py)?;
        self.install(py, model)
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.read(py)?.model(py)?.description().to_string())
    }

    fn _role(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.read(py)?.model(py)?.role().word())
    }

    fn _title(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.read(py)?.model(py)?.title().to_string())
    }

    /// What it has learned, in JSON.
    fn _inspect(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.read(py)?.model(py)?.inspect().to_string())
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another model.
    fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(other) = source.cast::<Model>() {
            return self._copy_from(py, other);
        }
        let saved = opened(source)?;
        let model = py.detach(|| core::Model::from_saved(saved)).or_raise(py)?;
        self.install(py, model)
    }

    /// Take over the state of another model of the same description.
    fn _copy_from(&self, py: Python<'_>, other: &Bound<'_, Model>) -> PyResult<()> {
        let model = other.get().read(py)?.model(py)?.clone();
        self.install(py, model)
    }

    /// Fold in another model of the same description, after another part of the stream.
    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Model>) -> PyResult<()> {
        // A copy, because it may be this very model.
        let other = other.get().read(py)?.model(py)?.clone();
        let mut inner = self.write(py)?;
        let model = inner.model.as_mut().ok_or_else(|| unbuilt(py))?;
        py.detach(|| model.merge(&other)).or_raise(py)?;
        inner.follow(py)
    }

    /// Become a copy of a step of a pipeline or of a part of a union.
    fn _copy_member(&self, py: Python<'_>, other: &Bound<'_, Model>, place: usize) -> PyResult<()> {
        let model = other.get().read(py)?.model(py)?.member(place).or_raise(py)?;
        self.install(py, model)
    }

    /// A copy of the detector that a parameter describes, as it is now.
    fn _detector(&self, py: Python<'_>, parameter: &str) -> PyResult<DriftDetector> {
        Ok(DriftDetector::around(self.read(py)?.model(py)?.watch(parameter).or_raise(py)?))
    }

    /// Take back the last example that a transformer learned.
    fn _undo(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.write(py)?;
        let model = inner.model.as_mut().ok_or_else(|| unbuilt(py))?;
        model.undo().or_raise(py)?;
        inner.follow(py)
    }

    /// The whole model as bytes: one versioned, checksummed value.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let inner = self.read(py)?;
        let bytes = inner.model(py)?.save().or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of memory that the model holds.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.read(py)?.model(py)?.memory())
    }

    /// How many examples it has learned.
    #[getter]
    fn learned(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.read(py)?.model(py)?.learned())
    }

    /// The features it knows, in the order in which it met them.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let inner = self.read(py)?;
        names(py, inner.model(py)?.schema(), usize::MAX)
    }

    /// How many features it knows, whether by their numbers alone, and the names of the first.
    fn _knows<'py>(&self, py: Python<'py>, most: usize) -> PyResult<(usize, bool, Bound<'py, PyList>)> {
        let inner = self.read(py)?;
        let schema = inner.model(py)?.schema();
        Ok((schema.len(), schema.only_numbered(), names(py, schema, most)?))
    }

    /// The classes it knows, by code.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let inner = self.read(py)?;
        let known = inner.labels.iter().flatten().map(|label| label.clone_ref(py));
        PyList::new(py, known)
    }

    /// The most classes it can tell apart; None where no number is set.
    #[getter]
    fn max_classes(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.read(py)?.model(py)?.max_classes())
    }

    /// The verbs that it has beyond those of its role.
    fn _optional_verbs(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        Ok(self.read(py)?.model(py)?.optional_verbs())
    }

    /// Label objects by code, None for a code that waits for its label.
    fn _labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let inner = self.read(py)?;
        PyList::new(py, inner.labels.iter().map(|label| label.as_ref().map(|label| label.clone_ref(py))))
    }

    /// Learn one example.
    #[pyo3(signature = (x, y=None, w=Weight(Ok(1.0))), text_signature = "($self, x, y=None, w=1.0)")]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
    ) -> PyResult<()> {
        let y = OneTarget::read(py, self.role(py)?, y).map_err(|error| self.named(py, error))?;
        let w = w.number().map_err(|fault| self.named(py, raise(py, &fault)))?;
        self.with_write(
            x,
            |model, bench| model.learn(&mut bench.draft, y.target(), w, &mut bench.scratch).or_raise(py),
            |_, _, _| Ok(()),
        )
    }

    /// Predict the class or the number for one example.
    fn predict_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with_read(x, |inner, model, bench| {
            model.predict(&mut bench.draft, Want::Class, &mut bench.answer, &mut bench.scratch).or_raise(py)?;
            answer(py, inner, model, &bench.answer)
        })
    }

    /// The probability of each class for one example.
    fn predict_proba_one<'py>(&self, py: Python<'py>, x: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.with_read(x, |inner, model, bench| {
            if model.role() != Role::Classifier {
                let message = format!("{}: only a classifier has probabilities", model.title());
                return Err(raise(py, &Fault::wrong_type(message)));
            }
            model
                .predict(&mut bench.draft, Want::Probabilities, &mut bench.answer, &mut bench.scratch)
                .or_raise(py)?;
            probabilities(py, inner, &bench.answer, None)
        })
    }

    /// The signed distance to the decision boundary, where there is one.
    fn score_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.with_read(x, |_, model, bench| model.score(&mut bench.draft, &mut bench.scratch).or_raise(py))
    }

    /// Two numbers between which the target lies with probability `coverage`, for learners that say how sure they are.
    #[pyo3(signature = (x, coverage=0.9))]
    fn predict_interval_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, coverage: f64) -> PyResult<(f64, f64)> {
        self.with_read(x, |_, model, bench| {
            model.interval(&mut bench.draft, coverage, &mut bench.scratch).or_raise(py)
        })
    }

    /// Transform one example.
    fn transform_one<'py>(&self, py: Python<'py>, x: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.with_read(x, |_, model, bench| {
            // What was never learned still has to come out: a copy of the model gets to know it.
            let copy =
                bench.draft.is_news().then(|| model.acquainted(&mut bench.draft)).transpose().or_raise(py)?;
            let model = copy.as_ref().unwrap_or(model);
            model.transform(&mut bench.draft, &mut bench.row, &mut bench.scratch).or_raise(py)?;
            let schema = model.output().or_raise(py)?;
            transformed(py, &schema, bench.row.row())
        })
    }

    /// Predict one example, then learn it. Returns what was predicted.
    #[pyo3(signature = (x, y, w=Weight(Ok(1.0)), *, proba=false), text_signature = "($self, x, y, w=1.0, *, proba=False)")]
    fn step_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        w: Weight,
        proba: bool,
    ) -> PyResult<Py<PyAny>> {
        let y = OneTarget::read(py, self.role(py)?, Some(y)).map_err(|error| self.named(py, error))?;
        let w = w.number().map_err(|fault| self.named(py, raise(py, &fault)))?;
        let want = if proba { Want::Probabilities } else { Want::Class };
        let waiting = Cell::new(None);
        self.with_write(
            x,
            |model, bench| {
                waiting.set(model.labels().entries().iter().position(Option::is_none));
                let Bench { draft, answer, scratch, .. } = bench;
                model.step(draft, y.target(), w, want, answer, scratch).or_raise(py)
            },
            |inner, model, bench| match proba {
                true => Ok(probabilities(py, inner, &bench.answer, waiting.get())?.into_any().unbind()),
                false => answer(py, inner, model, &bench.answer),
            },
        )
    }

    /// Learn rows (see `Lent`), predicting each first if `predict` is "class" or "proba".
    /// Returns (answers or None, rows set aside as [(row, message)]).
    #[pyo3(signature = (rows, y, w, predict, on_error))]
    fn _run_many(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        predict: Option<&str>,
        on_error: &str,
    ) -> PyResult<(Option<Py<PyAny>>, Vec<(usize, String)>)> {
        let want = predict.map(|what| if what == "proba" { Want::Probabilities } else { Want::Class });
        self.with_targets(py, rows, y, w, |role, title, table, targets, weights| {
            let mut session = self.session(py)?;
            let job = Job {
                table,
                from: 0,
                to: table.height(),
                targets: targets.targets(),
                weights,
                predicting: want,
                learning: true,
                skip: on_error == "skip",
            };
            let mut batch = LearnBatch { answers: Answers::new(want, role), skipped: Vec::new(), job };
            // A long batch may be broken off by Ctrl-C, so it can always be reverted; a short one only if it may fail.
            let long = session.blocks.takes_long(table.height(), LONG_BATCH);
            let before = match on_error {
                "raise" if long => Some(changed(py, &session.blocks, |model| model.savepoint())?),
                "raise" => changed(py, &session.blocks, |model| model.savepoint_for(&batch.job))?,
                _ => None,
            };
            let may_stop = on_error != "raise" || before.is_some();
            let mut failed = None;
            while failed.is_none() && batch.job.from < batch.job.to {
                let fault = py.detach(|| batch.learn(&mut session.blocks));
                failed = fault.map(|fault| {
                    let row = fault.row().unwrap_or_default();
                    raise(py, &targets.explain(fault, row, title))
                });
                // After the last row there is nothing to break off.
                if failed.is_none() && may_stop && batch.job.from < batch.job.to {
                    failed = py.check_signals().err();
                }
            }
            if let Some(before) = before {
                changed(py, &session.blocks, |model| match failed {
                    Some(_) => model.rollback(before),
                    None => model.commit(before),
                })?;
            }
            drop(session);
            let mut inner = self.write(py)?;
            inner.follow(py)?;
            if let Some(error) = failed {
                return Err(error);
            }
            let skipped = batch.skipped.into_iter().map(|(row, fault)| {
                let fault = targets.explain(fault, row, title);
                (row, fault.message().to_string())
            });
            let answers = want.map(|_| batch.answers.give(py, inner.labels.len())).transpose()?;
            Ok((answers, skipped.collect()))
        })
    }

    /// Learn rows in mini-batches of `size`; those before a bad one stay learned, of that one nothing is.
    fn _learn_batches(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        size: usize,
    ) -> PyResult<()> {
        self.with_targets(py, rows, y, w, |_, title, table, targets, weights| {
            let mut guard = self.write(py)?;
            let inner = &mut *guard;
            let model = inner.model.as_mut().ok_or_else(|| unbuilt(py))?;
            let job = Job {
                table,
                from: 0,
                to: table.height(),
                targets: targets.targets(),
                weights,
                predicting: None,
                learning: true,
                skip: false,
            };
            let (_, stopped) = py.detach(|| model.learn_batches(&job, size, &mut borrow_bench().scratch));
            inner.follow(py)?;
            match stopped {
                Some(fault) => {
                    let row = fault.row().unwrap_or_default();
                    Err(raise(py, &targets.explain(fault, row, title)))
                }
                None => Ok(()),
            }
        })
    }

    /// The model's own loss over rows: (Σ w · loss, Σ w), or None if it has none.
    fn _risk(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(f64, f64)>> {
        self.with_targets(py, rows, y, w, |_, title, table, targets, weights| {
            let guard = self.read(py)?;
            let model = guard.model(py)?;
            let found = py.detach(|| model.risk(table, targets.targets(), weights, &mut borrow_bench().scratch));
            match found {
                Ok(risk) => Ok(risk.map(|risk| (risk.sum, risk.weight))),
                Err(fault) => {
                    let row = fault.row().unwrap_or_default();
                    Err(raise(py, &targets.explain(fault, row, title)))
                }
            }
        })
    }

    /// Predict rows: numbers, class codes, or probabilities by class code.
    fn _predict_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, proba: bool) -> PyResult<Py<PyAny>> {
        let lent = Lent::new(rows).map_err(|error| self.named(py, error))?;
        let table = lent.table();
        let guard = self.read(py)?;
        let inner = &*guard;
        let model = inner.model(py)?;
        let want = if proba { Want::Probabilities } else { Want::Class };
        let mut answers = Answers::new(Some(want), model.role());
        py.detach(|| model.predict_table(&table, want, &mut borrow_bench().scratch, &mut answers)).or_raise(py)?;
        answers.give(py, inner.labels.len())
    }

    /// The integral of the products of a basis's functions of so many inputs.
    #[pyo3(signature = (inputs=None))]
    fn _gram<'py>(&self, py: Python<'py>, inputs: Option<usize>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let guard = self.read(py)?;
        let gram = guard.model(py)?.gram(inputs).or_raise(py)?;
        let size = (gram.len() as f64).sqrt() as usize;
        gram.into_pyarray(py).reshape([size, size])
    }

    /// Intervals for rows: a matrix of lower and upper.
    fn _predict_interval_many<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let lent = Lent::new(rows).map_err(|error| self.named(py, error))?;
        let table = lent.table();
        let guard = self.read(py)?;
        let model = guard.model(py)?;
        let bounds =
            py.detach(|| model.interval_table(&table, coverage, &mut borrow_bench().scratch)).or_raise(py)?;
        bounds.into_pyarray(py).reshape([table.height(), 2])
    }

    /// Transform rows: (names, matrix, {column: categories of a nominal one}).
    #[allow(clippy::type_complexity)]
    fn _transform_many<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyArray2<f64>>, Bound<'py, PyDict>)> {
        let lent = Lent::new(rows).map_err(|error| self.named(py, error))?;
        let table = lent.table();
        let guard = self.read(py)?;
        let model = guard.model(py)?;
        let (model, values) =
            py.detach(|| model.transform_all(&table, &mut borrow_bench().scratch)).or_raise(py)?;
        let schema = model.output().or_raise(py)?;
        let nominal = PyDict::new(py);
        for (slot, kind) in schema.kinds().iter().enumerate() {
            if *kind == millstream_core::schema::Kind::Nominal {
                let values = schema.values(slot);
                let texts = (0..values.len() as u32).map(|code| values.text(code).unwrap_or_default().to_string());
                nominal.set_item(slot, texts.collect::<Vec<_>>())?;
            }
        }
        let height = table.height();
        let matrix = values.into_pyarray(py).reshape([height, schema.len()])?;
        Ok((names(py, &schema, usize::MAX)?, matrix, nominal))
    }
}

fn answer(py: Python<'_>, inner: &Inner, model: &core::Model, answer: &Answer) -> PyResult<Py<PyAny>> {
    match model.role() {
        Role::Regressor => Ok(PyFloat::new(py, answer.number).into_any().unbind()),
        _ => Ok(inner.label(py, answer.class.class)),
    }
}

/// Probabilities by label, but for a code that was `waiting` for its label when they were given.
fn probabilities<'py>(
    py: Python<'py>,
    inner: &Inner,
    answer: &Answer,
    waiting: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (code, (label, probability)) in inner.labels.iter().zip(&answer.class.probabilities).enumerate() {
        if let Some(label) = label.as_ref().filter(|_| waiting != Some(code)) {
            dict.set_item(label, probability)?;
        }
    }
    Ok(dict)
}

/// A transformed row as a dict; what is missing is left out, the zeros of a sparse row are written out.
fn transformed<'py>(py: Python<'py>, schema: &Schema, row: Row<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let mut failed = None;
    let mut put = |slot: usize, value: Value| {
        let set = match (schema.name(slot), value) {
            (Name::Text(name), Value::Number(number)) => dict.set_item(&*name, number),
            (Name::Number(name), Value::Number(number)) => dict.set_item(name, number),
            (name, Value::Nominal(code)) => {
                let text = code.and_then(|code| schema.values(slot).text(code));
                match name {
                    Name::Text(name) => dict.set_item(&*name, text),
                    Name::Number(name) => dict.set_item(name, text),
                }
            }
        };
        failed = failed.take().or(set.err());
    };
    match row {
        Row::Sparse(sparse) => (0..sparse.width).for_each(|slot| {
            if let Some(value) = row.get(slot) {
                put(slot, value);
            }
        }),
        _ => row.each(put),
    }
    failed.map_or(Ok(dict), Err)
}
