//! Rounds between Python and the core: `millstream._core.RoundBatch`, and the readers that make them from text.

use std::collections::VecDeque;
use std::sync::Arc;

use millstream_core::bandit::contextual::{Round, Space};
use millstream_core::rounds::dsjson::DsJson;
use millstream_core::rounds::text::RoundText;
use millstream_core::rounds::{Outcome, RoundBatch as Batch};
use millstream_core::schema::Name;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::raise;
use crate::round_reader::Given;

/// Rounds of a log as columns.
#[pyclass(frozen, module = "millstream._core")]
pub struct RoundBatch {
    pub batch: Arc<Batch>,
}

/// The columns of what is known after a round: actions, probabilities and rewards.
struct Outcomes<'py> {
    actions: Option<PyReadonlyArray1<'py, i64>>,
    probabilities: Option<PyReadonlyArray1<'py, f64>>,
    rewards: Option<PyReadonlyArray1<'py, f64>>,
}

impl Outcomes<'_> {
    /// A negative action and a NaN are missing.
    fn at(&self, row: usize) -> PyResult<Outcome> {
        let float = |column: &Option<PyReadonlyArray1<'_, f64>>, unknown: bool| -> PyResult<Option<f64>> {
            let Some(column) = column else { return Ok(None) };
            Ok(column.as_slice()?.get(row).copied().filter(|_| !unknown))
        };
        let action = match &self.actions {
            Some(actions) => actions.as_slice()?.get(row).and_then(|&action| u32::try_from(action).ok()),
            None => None,
        };
        Ok(Outcome {
            action,
            probability: float(&self.probabilities, action.is_none())?,
            reward: float(&self.rewards, action.is_none())?,
        })
    }
}

fn name_of(py: Python<'_>, name: &Name) -> PyResult<Py<PyAny>> {
    Ok(match name {
        Name::Text(text) => pyo3::types::PyString::new(py, text).into_any().unbind(),
        Name::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
    })
}

#[pymethods]
impl RoundBatch {
    /// From matrices: the context of each round, and the features of the actions, the same for all rounds or of each.
    #[staticmethod]
    #[pyo3(signature = (shared, actions, each, taken, probabilities, rewards))]
    fn from_arrays<'py>(
        shared: Option<PyReadonlyArray2<'py, f64>>,
        actions: Option<PyReadonlyArray2<'py, f64>>,
        each: Option<PyReadonlyArray3<'py, f64>>,
        taken: Option<PyReadonlyArray1<'py, i64>>,
        probabilities: Option<PyReadonlyArray1<'py, f64>>,
        rewards: Option<PyReadonlyArray1<'py, f64>>,
        py: Python<'py>,
    ) -> PyResult<Self> {
        let mut batch = Batch::default();
        let outcomes = Outcomes { actions: taken, probabilities, rewards };
        let finite = |row: usize, value: f64| match value.is_finite() || value.is_nan() {
            true => Ok(if value.is_nan() { 0.0 } else { value }),
            false => {
                let fault = Fault::value(format!("a feature must be finite, got {value}")).at_row(row);
                Err(raise(py, &fault))
            }
        };
        let n = match (&shared, &each) {
            (Some(shared), _) => shared.shape()[0],
            (None, Some(each)) => each.shape()[0],
            (None, None) => 0,
        };
        let context: Vec<u32> = (0..shared.as_ref().map_or(0, |shared| shared.shape()[1]))
            .map(|column| batch.slot(Space::Shared, &Name::Number(column as i64)))
            .collect();
        let width = match (&actions, &each) {
            (Some(actions), _) => actions.shape()[1],
            (None, Some(each)) => each.shape()[2],
            (None, None) => 0,
        };
        let columns: Vec<u32> =
            (0..width).map(|column| batch.slot(Space::Action, &Name::Number(column as i64))).collect();
        let mut fixed = Vec::new();
        if let Some(actions) = &actions {
            for row in actions.as_slice()?.chunks_exact(width.max(1)) {
                for (&slot, &value) in columns.iter().zip(row) {
                    batch.push_feature(slot, finite(0, value)?);
                }
                fixed.push(batch.end_action(None));
            }
        }
        let each = each.as_ref();
        let per_round = each.map_or(0, |each| each.shape()[1]);
        for row in 0..n {
            if let Some(shared) = &shared {
                let numbers = &shared.as_slice()?[row * context.len()..(row + 1) * context.len()];
                for (&slot, &value) in context.iter().zip(numbers) {
                    batch.push_shared(slot, finite(row, value)?);
                }
            }
            for &action in &fixed {
                batch.offer(action);
            }
            if let Some(each) = each {
                let size = per_round * width;
                for numbers in each.as_slice()?[row * size..(row + 1) * size].chunks_exact(width.max(1)) {
                    for (&slot, &value) in columns.iter().zip(numbers) {
                        batch.push_feature(slot, finite(row, value)?);
                    }
                    let action = batch.end_action(None);
                    batch.offer(action);
                }
            }
            batch.end_round(outcomes.at(row)?).map_err(|fault| raise(py, &fault.at_row(row)))?;
        }
        Ok(RoundBatch { batch: Arc::new(batch) })
    }

    /// From tuples of context, actions, action taken, probability and reward; the last three may be None.
    #[staticmethod]
    fn from_rounds(rounds: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = rounds.py();
        let (mut batch, mut round, mut text) = (Batch::default(), Round::default(), String::new());
        for (row, item) in rounds.try_iter()?.enumerate() {
            type Five<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<f64>, Option<f64>);
            let (x, actions, action, probability, reward): Five<'_> = item?.extract()?;
            let at_row = |error: PyErr| {
                // An error of another kind keeps its message.
                let _ = error.value(py).call_method1("at_row", (row,));
                error
            };
            let given = Given::new(Some(&x), &actions).map_err(at_row)?;
            let index = match action.is_none() {
                true => None,
                false => Some(given.actions.index(&action).map_err(at_row)? as u32),
            };
            given.read(batch.names(), &mut round, &mut text).map_err(at_row)?;
            batch.push_round(&mut round);
            let outcome = Outcome { action: index, probability, reward };
            batch.end_round(outcome).map_err(|fault| raise(py, &fault.at_row(row)))?;
        }
        Ok(RoundBatch { batch: Arc::new(batch) })
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    /// The number of actions of each round.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let counts: Vec<i64> = (0..self.batch.len()).map(|round| self.batch.members(round).len() as i64).collect();
        counts.into_pyarray(py)
    }

    /// The place of the action taken in each round (−1 if none), its probability and its reward (NaN if none).
    #[allow(clippy::type_complexity)]
    fn outcomes<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        let outcomes = || (0..self.batch.len()).map(|round| self.batch.outcome(round));
        let actions: Vec<i64> = outcomes().map(|outcome| outcome.action.map_or(-1, i64::from)).collect();
        let probabilities: Vec<f64> = outcomes().map(|outcome| outcome.probability.unwrap_or(f64::NAN)).collect();
        let rewards: Vec<f64> = outcomes().map(|outcome| outcome.reward.unwrap_or(f64::NAN)).collect();
        (actions.into_pyarray(py), probabilities.into_pyarray(py), rewards.into_pyarray(py))
    }

    /// A round: the context as a dict, its actions as dicts or labels, the place of the action taken, probability, reward.
    fn round<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        let batch = &*self.batch;
        if index >= batch.len() {
            return Err(pyo3::exceptions::PyIndexError::new_err("no such round"));
        }
        let dict = |space: Space, (slots, values): (&[u32], &[f64])| -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            for (&slot, &value) in slots.iter().zip(values) {
                dict.set_item(name_of(py, &batch.names().schema(space).name(slot as usize))?, value)?;
            }
            Ok(dict)
        };
        let actions = PyList::empty(py);
        for &member in batch.members(index) {
            let (slots, values, arm) = batch.action(member);
            match arm {
                Some(arm) => actions.append(name_of(py, &batch.names().schema(Space::Arm).name(arm as usize))?)?,
                None => actions.append(dict(Space::Action, (slots, values))?)?,
            }
        }
        let Outcome { action, probability, reward } = batch.outcome(index);
        (dict(Space::Shared, batch.shared(index))?, actions, action, probability, reward).into_pyobject(py)
    }

    /// Memory in bytes.
    #[getter]
    fn memory(&self) -> usize {
        self.batch.memory()
    }
}

enum Format {
    Text(RoundText),
    Json(DsJson),
}

/// Reads rounds from pieces of text.
#[pyclass(module = "millstream._core")]
pub struct RoundReader {
    format: Format,
    batch: Batch,
    /// Full batches.
    full: VecDeque<Batch>,
    rest: Vec<u8>,
    line: u64,
    /// The first line of the round that is being read.
    first: u64,
    skip: bool,
    refused: Vec<(u64, String)>,
    refusals: u64,
    stopped: bool,
}

/// Rounds of a full batch.
const BATCH: usize = 1024;

/// Messages about refused rounds that are kept.
const MESSAGES: usize = 100;

#[pymethods]
impl RoundReader {
    #[new]
    fn new(json: bool, skip: bool) -> Self {
        let format = if json { Format::Json(DsJson::default()) } else { Format::Text(RoundText::default()) };
        RoundReader {
            format,
            batch: Batch::default(),
            full: VecDeque::new(),
            rest: Vec::new(),
            line: 0,
            first: 1,
            skip,
            refused: Vec::new(),
            refusals: 0,
            stopped: false,
        }
    }

    /// Read a piece of the text; `last` if nothing follows.
    fn parse(&mut self, py: Python<'_>, piece: &[u8], last: bool) {
        py.detach(|| {
            let mut rest = std::mem::take(&mut self.rest);
            let mut piece = piece;
            if !rest.is_empty() {
                match piece.iter().position(|&byte| byte == b'\n') {
                    Some(end) => {
                        rest.extend_from_slice(&piece[..end]);
                        self.read(&rest);
                        rest.clear();
                        piece = &piece[end + 1..];
                    }
                    None => {
                        rest.extend_from_slice(piece);
                        piece = &[];
                    }
                }
            }
            while let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
                self.read(&piece[..end]);
                piece = &piece[end + 1..];
            }
            rest.extend_from_slice(piece);
            if last {
                if !rest.is_empty() {
                    self.read(&rest);
                    rest.clear();
                }
                self.finish();
            }
            self.rest = rest;
        });
    }

    /// The rounds read so far.
    fn take(&mut self) -> Option<RoundBatch> {
        // A batch cannot be split in the middle of a round.
        let inside = matches!(&self.format, Format::Text(text) if text.is_inside());
        if self.full.is_empty() && !inside {
            self.close();
        }
        self.full.pop_front().map(|batch| RoundBatch { batch: Arc::new(batch) })
    }

    /// Whether there is a full batch for `take`.
    fn ready(&self) -> bool {
        !self.full.is_empty()
    }

    /// The number of refused rounds, and messages about some of them: line and reason.
    fn refused(&self) -> (u64, Vec<(u64, String)>) {
        (self.refusals, self.refused.clone())
    }

    fn stopped(&self) -> bool {
        self.stopped
    }

    /// Fields that were not read, with the number of lines that had each, and the number of decisions not to be learned.
    fn unread(&self) -> (std::collections::BTreeMap<String, u64>, u64) {
        match &self.format {
            Format::Text(_) => Default::default(),
            Format::Json(json) => (json.unknown.clone(), json.skipped_learning),
        }
    }
}

impl RoundReader {
    fn read(&mut self, line: &[u8]) {
        if self.stopped {
            return;
        }
        self.line += 1;
        let read = match &mut self.format {
            Format::Text(text) => {
                if !text.is_inside() {
                    self.first = self.line;
                }
                text.line(line, &mut self.batch).map(drop)
            }
            Format::Json(json) => {
                self.first = self.line;
                match line.iter().all(u8::is_ascii_whitespace) {
                    true => Ok(()),
                    false => json.line(line, &mut self.batch),
                }
            }
        };
        if let Err(fault) = read {
            self.refuse(&fault);
        }
        let inside = matches!(&self.format, Format::Text(text) if text.is_inside());
        if self.batch.len() >= BATCH && !inside {
            self.close();
        }
    }

    /// Close the batch that is being written.
    fn close(&mut self) {
        if !self.batch.is_empty() {
            self.full.push_back(std::mem::take(&mut self.batch));
            match &mut self.format {
                Format::Text(text) => text.begin_batch(),
                Format::Json(json) => json.begin_batch(),
            }
        }
    }

    fn finish(&mut self) {
        if let (Format::Text(text), false) = (&mut self.format, self.stopped) {
            if let Err(fault) = text.end(&mut self.batch) {
                self.refuse(&fault);
            }
        }
    }

    fn refuse(&mut self, fault: &Fault) {
        self.refusals += 1;
        if self.refused.len() < MESSAGES {
            self.refused.push((self.first, fault.message().to_string()));
        }
        self.stopped = !self.skip;
    }
}
