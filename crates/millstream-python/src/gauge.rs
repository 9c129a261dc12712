//! `millstream._core.FeatureDriftDetector`: a detector of rows behind a lock.

use std::sync::{Mutex, MutexGuard};

use millstream_core::draft::Draft;
use millstream_core::drift::Gauge;
use millstream_core::schema::Name;
use millstream_core::table::{nameless, Table};
use millstream_core::Fault;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::bench::borrow_bench;
use crate::errors::{by, raise, shown, OrRaise};
use crate::rows::{names, plain_dict, read_dict, Keys, Lent};
use crate::saved::opened;

/// How many rows are done between looks for Ctrl-C.
const STRIDE: usize = 1 << 16;

#[derive(Default)]
struct Inner {
    gauge: Option<Gauge>,
    keys: Keys,
}

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct FeatureDriftDetector {
    inner: Mutex<Inner>,
}

fn unbuilt(py: Python<'_>) -> PyErr {
    raise(py, &Fault::value("this detector was not built: call super().__init__(…) in its __init__"))
}

impl Inner {
    fn gauge(&mut self, py: Python<'_>) -> PyResult<&mut Gauge> {
        self.gauge.as_mut().ok_or_else(|| unbuilt(py))
    }

    /// Read a dict; false if Python code would have to run for it.
    fn read(&self, py: Python<'_>, dict: &Bound<'_, PyDict>, draft: &mut Draft) -> PyResult<bool> {
        let gauge = self.gauge.as_ref().ok_or_else(|| unbuilt(py))?;
        read_dict(dict, gauge.schema(), &self.keys, false, draft).map_err(|error| by(py, error, gauge.name()))
    }

    /// Take up the names of features that are new.
    fn follow(&mut self, py: Python<'_>) -> PyResult<()> {
        match &self.gauge {
            Some(gauge) => self.keys.follow(py, gauge.schema()),
            None => Ok(()),
        }
    }
}

impl FeatureDriftDetector {
    fn lock<'a>(&'a self, py: Python<'_>) -> PyResult<MutexGuard<'a, Inner>> {
        self.inner.lock_py_attached(py).map_err(|_| {
            raise(py, &Fault::state("this detector met an internal error; load it anew, and please report it"))
        })
    }

    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Gauge) -> PyResult<R>) -> PyResult<R> {
        work(self.lock(py)?.gauge(py)?)
    }

    fn set(&self, py: Python<'_>, gauge: Gauge) -> PyResult<()> {
        let mut inner = self.inner.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        *inner = Inner { gauge: Some(gauge), ..Inner::default() };
        inner.follow(py)
    }

    /// Put this detector's name in front of an error.
    fn named(&self, py: Python<'_>, error: PyErr) -> PyErr {
        match self.with(py, |gauge| Ok(gauge.name().to_string())) {
            Ok(name) => by(py, error, &name),
            Err(broken) => broken,
        }
    }

    /// Read one row and hand it to `tell`.
    fn one(
        &self,
        x: &Bound<'_, PyAny>,
        tell: impl FnOnce(&mut Gauge, &mut Draft) -> millstream_core::Result<()>,
    ) -> PyResult<()> {
        let py = x.py();
        let mut bench = borrow_bench();
        let mut inner = self.lock(py)?;
        let read = match x.cast_exact::<PyDict>() {
            Ok(dict) => inner.read(py, dict, &mut bench.draft)?,
            Err(_) => false,
        };
        if !read {
            // Reading may run Python code, which may use this detector: not under the lock.
            drop(inner);
            let (dict, numbered) = plain_row(x).map_err(|error| self.named(py, error))?;
            inner = self.lock(py)?;
            let gauge = inner.gauge(py)?;
            if numbered && gauge.schema().only_texts() {
                return Err(raise(py, &nameless(gauge.schema()).by(gauge.name())));
            }
            if !inner.read(py, &dict, &mut bench.draft)? {
                let message = format!("an example cannot be read: {}", shown(dict.as_any()));
                return Err(raise(py, &Fault::wrong_type(message)));
            }
        }
        let gauge = inner.gauge(py)?;
        let features = gauge.schema().len();
        tell(gauge, &mut bench.draft).or_raise(py)?;
        match gauge.schema().len() == features {
            true => Ok(()),
            false => inner.follow(py),
        }
    }

    /// Read rows (see `Lent`) and hand them to `tell`, some at a time; on a fault all is as it was.
    fn many(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        mut tell: impl FnMut(&mut Gauge, &dyn Table, usize, usize) -> millstream_core::Result<()> + Send,
    ) -> PyResult<()> {
        let lent = Lent::new(rows).map_err(|error| self.named(py, error))?;
        let table = lent.table();
        let height = table.height();
        let mut inner = self.lock(py)?;
        let mut next = inner.gauge(py)?.clone();
        let mut from = 0;
        while from < height {
            let to = (from + STRIDE).min(height);
            py.detach(|| tell(&mut next, &table, from, to)).or_raise(py)?;
            py.check_signals()?;
            from = to;
        }
        inner.gauge = Some(next);
        inner.follow(py)
    }
}

/// A row as a dict whose values need no Python code to be read, and whether it is an array, whose columns are numbered.
#[cold]
fn plain_row<'py>(x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyDict>, bool)> {
    if x.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 1) {
        let numbered = PyDict::new(x.py());
        for (place, value) in x.call_method0("tolist")?.try_iter()?.enumerate() {
            numbered.set_item(place, value?)?;
        }
        return Ok((plain_dict(numbered.as_any())?, true));
    }
    Ok((plain_dict(x)?, false))
}

fn or_none(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

#[pymethods]
impl FeatureDriftDetector {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        FeatureDriftDetector { inner: Mutex::default() }
    }

    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let description = serde_json::from_str(description)
            .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))?;
        self.set(py, Gauge::new(&description).or_raise(py)?)
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another detector.
    fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let gauge = match source.cast::<FeatureDriftDetector>() {
            Ok(other) => other.get().with(py, |gauge| Ok(gauge.clone()))?,
            Err(_) => Gauge::from_saved(opened(source)?).or_raise(py)?,
        };
        self.set(py, gauge)
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |gauge| Ok(gauge.description().to_string()))
    }

    /// The whole detector as bytes: one versioned, checksummed value.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |gauge| gauge.save().or_raise(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of memory that the detector holds.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |gauge| Ok(gauge.memory()))
    }

    /// How many rows it was told.
    #[getter]
    fn updates(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |gauge| Ok(gauge.updates()))
    }

    /// The names of the features it has met, in the order in which they came.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.with(py, |gauge| names(py, gauge.schema(), usize::MAX))
    }

    /// Whether the last row brought a change to light.
    #[getter]
    fn drift_detected(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |gauge| Ok(gauge.detector().verdict().drift))
    }

    /// Whether the last comparison made a change likely.
    #[getter]
    fn warning_detected(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |gauge| Ok(gauge.detector().verdict().warning))
    }

    /// With which row the change is believed to have begun, counted from 0 since the detector was made or reset; None
    /// where there is neither a change nor a warning.
    #[getter]
    fn change_point(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |gauge| Ok(gauge.change_point()))
    }

    /// How far the newest rows are from the reference, as the last comparison found it.
    #[getter]
    fn estimation(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |gauge| Ok(gauge.detector().estimation()))
    }

    /// Start again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        inner.gauge(py)?.reset();
        inner.follow(py)
    }

    /// Tell it a row: a dict of features, or an array of numbers.
    fn update(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        self.one(x, |gauge, draft| gauge.update(draft))
    }

    /// Add a row to the reference, which then is no longer the first rows that it is told.
    fn learn_one(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        self.one(x, |gauge, draft| gauge.learn(draft))
    }

    /// Tell it many rows; gives the places at which it found a change. A bad one changes nothing.
    fn _update_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let mut found = Vec::new();
        self.many(py, rows, |gauge, table, from, to| gauge.update_table(table, from, to, &mut found))?;
        Ok(found)
    }

    /// Add many rows to the reference. A bad one changes nothing.
    fn _learn_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        self.many(py, rows, |gauge, table, from, to| gauge.learn_table(table, from, to))
    }

    /// What the last comparison found, or the last that found a change: (feature, statistic, p-value, adjusted p-value,
    /// moved), None for what was not tested; those that moved most first.
    fn _report<'py>(&self, py: Python<'py>, drifted: bool) -> PyResult<Bound<'py, PyList>> {
        let report = self.with(py, |gauge| Ok(gauge.report(drifted)))?;
        let list = PyList::empty(py);
        for (name, finding) in report {
            let numbers = [finding.statistic, finding.p_value, finding.adjusted].map(or_none);
            match name {
                Name::Text(text) => list.append((&*text, numbers[0], numbers[1], numbers[2], finding.moved))?,
                Name::Number(number) => {
                    list.append((number, numbers[0], numbers[1], numbers[2], finding.moved))?
                }
            }
        }
        Ok(list)
    }
}
