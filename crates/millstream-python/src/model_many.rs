//! A model and many rows, which are borrowed from NumPy, Arrow or a parser.

use std::time::{Duration, Instant};

use millstream_core::declaration::Role;
use millstream_core::held::{self, Job, NoSink, Root, Sink, SparseRows, Tally};
use millstream_core::row::{Scratch, Want};
use millstream_core::table::Table;
use millstream_core::transformer::Zeros;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::answers::Answers;
use crate::borrowed_rows::{read_numbers, BorrowedRows};
use crate::dicts::names;
use crate::errors::{by, raise, OrRaise};
use crate::lock::Blocks;
use crate::part::{Guarded, Part};
use crate::signals::{self, in_blocks, in_locked_blocks, BETWEEN_SIGNALS};
use crate::targets::{check_length, ManyTargets};
use crate::thread_buffers::thread_buffers;

/// A batch that is expected to take longer can be broken off by Ctrl-C.
const LONG_BATCH: Duration = Duration::from_millis(100);

/// A batch that is learned block by block.
struct LearnBatch<'a> {
    /// From the first row that is not yet learned on.
    job: Job<'a>,
    answers: Answers,
    skipped: Vec<(usize, Fault)>,
}

impl LearnBatch<'_> {
    /// Learn blocks until it is time to look for signals, or to the end; gives what stopped it.
    fn learn(&mut self, blocks: &mut Blocks<'_, Guarded>) -> Option<Fault> {
        let started = Instant::now();
        let end = self.job.to;
        let mut buffers = thread_buffers();
        while self.job.from < end && started.elapsed() < BETWEEN_SIGNALS {
            let to = (self.job.from + blocks.rows()).min(end);
            let job = Job { to, ..self.job };
            let mut nothing = NoSink;
            let sink: &mut dyn Sink = if job.predicting.is_some() { &mut self.answers } else { &mut nothing };
            let scratch = &mut buffers.scratch;
            let done = blocks.block(to - job.from, |guarded| {
                guarded.change::<Root, _>(|model| model.run_quick_rows(&job, scratch, sink))
            });
            let mut tally = match done.flatten() {
                Some(Ok(tally)) => tally,
                Some(Err(fault)) => return Some(fault),
                None => return Some(broken()),
            };
            self.job.from = to;
            if tally.paused {
                let row = job.from + tally.done + tally.skipped.len();
                let slow = Job { from: row, to: row + 1, ..job };
                self.skipped.extend(tally.skipped);
                match learn_in_copy(blocks, &slow, scratch, sink) {
                    Some(Ok(slow)) => tally = slow,
                    Some(Err(fault)) => return Some(fault),
                    None => return Some(broken()),
                }
                self.job.from = row + 1;
            }
            self.skipped.extend(tally.skipped);
        }
        None
    }
}

/// Learn a slow row with a copy of the model, so that others can read the model meanwhile; the session keeps other writers
/// out. The names and labels of a slow row are known.
fn learn_in_copy(
    blocks: &Blocks<'_, Guarded>,
    job: &Job<'_>,
    scratch: &mut Scratch,
    sink: &mut dyn Sink,
) -> Option<millstream_core::Result<Tally>> {
    let mut copy = blocks.look(|guarded| guarded.held_detached::<Root>().cloned())??;
    let learned = copy.run(job, scratch, sink);
    if learned.is_ok() {
        blocks.change(|guarded| guarded.change::<Root, _>(|model| model.exchange_learner(&mut copy)))??;
    }
    Some(learned)
}

/// Change the model of a session in one short step.
pub fn changed<R>(
    py: Python<'_>,
    blocks: &Blocks<'_, Guarded>,
    work: impl FnOnce(&mut held::Model) -> R + Send,
) -> PyResult<R>
where
    R: Send,
{
    let changed = py.detach(|| blocks.change(|guarded| guarded.change::<Root, _>(work)));
    changed.flatten().ok_or_else(|| raise(py, &broken()))
}

/// Another thread panicked while it changed the model.
pub fn broken() -> Fault {
    Fault::state("this model met an internal error; reload it, and please report it")
}

/// Read rows, targets and weights, whose number must agree, and hand them to `work`. Reading targets may run Python
/// code, which may use this model: not under the lock.
fn with_targets<R>(
    part: &Part,
    rows: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Role, &str, &dyn Table, &ManyTargets, Option<&[f64]>) -> PyResult<R>,
) -> PyResult<R> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows).map_err(|error| part.named(py, error))?;
    let table = borrowed.table();
    let (role, title) = {
        let guarded = part.read(py)?;
        let model = guarded.held::<Root>(py)?;
        (model.role(), model.title().to_string())
    };
    let targets = ManyTargets::read(py, role, y).map_err(|error| by(py, error, &title))?;
    check_length(py, &format!("{title}: y"), targets.len(), table.height())?;
    let weights =
        w.filter(|w| !w.is_none()).map(read_numbers).transpose().map_err(|error| by(py, error, &title))?;
    check_length(py, &format!("{title}: w"), weights.as_ref().map(Vec::len), table.height())?;
    work(role, &title, &table, &targets, weights.as_deref())
}

/// Learn rows (see `BorrowedRows`), predicting each first if `predict` is "class" or "proba".
/// Returns (predictions or None, skipped rows as [(row, message)]).
pub fn run(
    part: &Part,
    rows: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: Option<&Bound<'_, PyAny>>,
    predict: Option<&str>,
    on_error: &str,
) -> PyResult<(Option<Py<PyAny>>, Vec<(usize, String)>)> {
    let py = rows.py();
    let want = predict.map(|what| if what == "proba" { Want::Probabilities } else { Want::Class });
    with_targets(part, rows, y, w, |role, title, table, targets, weights| {
        let mut session = part.session(py)?;
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
        let mut guarded = part.write(py)?;
        guarded.sync_names(py)?;
        if let Some(error) = failed {
            return Err(error);
        }
        let skipped = batch.skipped.into_iter().map(|(row, fault)| {
            let fault = targets.explain(fault, row, title);
            (row, fault.message().to_string())
        });
        let answers = want.map(|_| batch.answers.give(py, guarded.labels().len())).transpose()?;
        Ok((answers, skipped.collect()))
    })
}

/// Learn rows in mini-batches of `size`; those before a bad one stay learned, of that one nothing is.
pub fn learn_batches(
    part: &Part,
    rows: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: Option<&Bound<'_, PyAny>>,
    size: usize,
) -> PyResult<()> {
    let py = rows.py();
    with_targets(part, rows, y, w, |_, title, table, targets, weights| {
        let mut guarded = part.write(py)?;
        let model = guarded.held_mut::<Root>(py)?;
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
        let (_, stopped) = py.detach(|| model.learn_batches(&job, size, &mut thread_buffers().scratch));
        guarded.sync_names(py)?;
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
pub fn risk(
    part: &Part,
    rows: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<(f64, f64)>> {
    let py = rows.py();
    with_targets(part, rows, y, w, |_, title, table, targets, weights| {
        let guarded = part.read(py)?;
        let model = guarded.held::<Root>(py)?;
        let found = py.detach(|| model.risk(table, targets.targets(), weights, &mut thread_buffers().scratch));
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
pub fn predict(part: &Part, rows: &Bound<'_, PyAny>, proba: bool) -> PyResult<Py<PyAny>> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows).map_err(|error| part.named(py, error))?;
    let table = borrowed.table();
    let want = if proba { Want::Probabilities } else { Want::Class };
    signals::ask(part, py, |guarded| match predictions(py, guarded, &table, want)? {
        Some(answers) => answers.give(py, guarded.labels().len()).map(Some),
        None => Ok(None),
    })
}

/// The predictions for the rows of a table; none after Ctrl-C.
fn predictions(py: Python<'_>, guarded: &Guarded, table: &dyn Table, want: Want) -> PyResult<Option<Answers>> {
    let model = guarded.held::<Root>(py)?;
    let mut answers = Answers::new(Some(want), model.role());
    let mut reader = model.table_reader(table).or_raise(py)?;
    let done = in_locked_blocks(py, table.height(), |from, to| {
        model.predict_rows(&mut reader, from..to, want, &mut thread_buffers().scratch, &mut answers)
    })?;
    Ok(done.then_some(answers))
}

/// Which rows are anomalies, for anomaly filters.
pub fn classify<'py>(part: &Part, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows).map_err(|error| part.named(py, error))?;
    let table = borrowed.table();
    signals::ask(part, py, |guarded| {
        let Some(scores) = predictions(py, guarded, &table, Want::Class)? else { return Ok(None) };
        let model = guarded.held::<Root>(py)?;
        let anomalies = scores.numbers().iter().map(|&score| model.classify(score));
        Ok(Some(anomalies.collect::<Result<Vec<bool>, Fault>>().or_raise(py)?.into_pyarray(py)))
    })
}

/// Intervals for rows: a matrix of lower and upper.
pub fn predict_interval<'py>(
    part: &Part,
    rows: &Bound<'py, PyAny>,
    coverage: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows).map_err(|error| part.named(py, error))?;
    let table = borrowed.table();
    let bounds = signals::ask(part, py, |guarded| {
        let model = guarded.held::<Root>(py)?;
        let (mut reader, mut bounds) = (model.table_reader(&table).or_raise(py)?, Vec::new());
        let done = in_locked_blocks(py, table.height(), |from, to| {
            model.interval_rows(&mut reader, from..to, coverage, &mut thread_buffers().scratch, &mut bounds)
        })?;
        Ok(done.then_some(bounds))
    })?;
    bounds.into_pyarray(py).reshape([table.height(), 2])
}

/// Transform rows: (names, matrix, {column: categories of a nominal one}), or (starts, indices, values, width) of sparse
/// rows.
pub fn transform<'py>(part: &Part, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows).map_err(|error| part.named(py, error))?;
    let table = borrowed.table();
    // The copy that transforms is not locked.
    let mut model = {
        let guarded = part.read(py)?;
        let model = guarded.held::<Root>(py)?;
        py.detach(|| model.admitting())
    };
    let mut reader = model.table_reader(&table).or_raise(py)?;
    in_blocks(py, table.height(), |from, to| model.admit_rows(&mut reader, from..to))?;
    let width = model.bind_admitted().or_raise(py)?;
    if model.zeros() == Zeros::Omitted {
        let mut rows = SparseRows::default();
        in_blocks(py, table.height(), |from, to| {
            model.transform_rows_sparse(&mut reader, from..to, &mut thread_buffers().scratch, &mut rows)
        })?;
        let SparseRows { starts, indices, values } = rows;
        let arrays = (starts.into_pyarray(py), indices.into_pyarray(py), values.into_pyarray(py));
        return (arrays.0, arrays.1, arrays.2, width).into_pyobject(py);
    }
    let mut values = Vec::with_capacity(width.saturating_mul(table.height()).min(1 << 28));
    in_blocks(py, table.height(), |from, to| {
        model.transform_rows(&mut reader, from..to, width, &mut thread_buffers().scratch, &mut values)
    })?;
    let schema = model.output().or_raise(py)?;
    let nominal = PyDict::new(py);
    for (slot, kind) in schema.kinds().iter().enumerate() {
        if *kind == millstream_core::schema::FeatureKind::Nominal {
            let values = schema.values(slot);
            let texts = (0..values.len() as u32).map(|code| values.text(code).unwrap_or_default().to_string());
            nominal.set_item(slot, texts.collect::<Vec<_>>())?;
        }
    }
    let height = table.height();
    let matrix = values.into_pyarray(py).reshape([height, schema.len()])?;
    (names(py, &schema, usize::MAX)?, matrix, nominal).into_pyobject(py)
}
