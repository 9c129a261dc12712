//! `millstream._core.Statistic`: a statistic behind a lock.

use std::sync::Mutex;

use millstream_core::stats::Gauge;
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::errors::{raise, OrRaise};
use crate::metric::read_number;
use crate::rows::read_numbers;
use crate::saved::opened;
use crate::targets::{check_length, Weight};

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct Statistic {
    gauge: Mutex<Option<Gauge>>,
}

impl Statistic {
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Gauge) -> PyResult<R>) -> PyResult<R> {
        let mut guard = self.gauge.lock_py_attached(py).map_err(|_| {
            raise(py, &Fault::state("this statistic met an internal error; load it anew, and please report it"))
        })?;
        let gauge = guard.as_mut().ok_or_else(|| {
            raise(py, &Fault::value("this statistic was not built: call super().__init__(…) in its __init__"))
        })?;
        work(gauge)
    }

    fn set(&self, py: Python<'_>, gauge: Gauge) -> PyResult<()> {
        let mut guard = self.gauge.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        *guard = Some(gauge);
        Ok(())
    }
}

#[pymethods]
impl Statistic {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Statistic { gauge: Mutex::new(None) }
    }

    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let description = serde_json::from_str(description)
            .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))?;
        self.set(py, Gauge::new(&description).or_raise(py)?)
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another statistic.
    fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let gauge = match source.cast::<Statistic>() {
            Ok(other) => other.get().with(py, |gauge| Ok(gauge.clone()))?,
            Err(_) => Gauge::from_saved(opened(source)?).or_raise(py)?,
        };
        self.set(py, gauge)
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |gauge| Ok(gauge.description().to_string()))
    }

    /// What it keeps, in JSON.
    fn _inspect(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |gauge| Ok(gauge.statistic().inspect(&Default::default()).to_string()))
    }

    fn _takes_pairs(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |gauge| Ok(gauge.statistic().takes_pairs()))
    }

    /// The whole statistic as bytes: one versioned, checksummed value.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |gauge| gauge.save().or_raise(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of memory that the statistic holds.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |gauge| Ok(gauge.memory()))
    }

    /// How many numbers it was told.
    #[getter]
    fn updates(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |gauge| Ok(gauge.updates()))
    }

    /// The current value; NaN while it is undefined.
    fn get(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |gauge| Ok(gauge.get()))
    }

    /// Start again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |gauge| {
            gauge.reset();
            Ok(())
        })
    }

    /// Tell it a number, or a pair of them.
    fn _update(&self, x: &Bound<'_, PyAny>, y: Option<&Bound<'_, PyAny>>, w: Weight) -> PyResult<()> {
        let py = x.py();
        let w = w.number().or_raise(py)?;
        let x = read_number(x, "x")?;
        let y = y.map_or(Ok(0.0), |y| read_number(y, "y"))?;
        self.with(py, |gauge| gauge.update(x, y, w).or_raise(py))
    }

    /// Tell it many; a bad one changes nothing.
    fn _update_many(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let x = read_numbers(x)?;
        let y = y.map(read_numbers).transpose()?;
        let w = w.map(read_numbers).transpose()?;
        check_length(py, "y", y.as_ref().map(Vec::len), x.len())?;
        check_length(py, "w", w.as_ref().map(Vec::len), x.len())?;
        self.with(py, |gauge| {
            let mut next = gauge.clone();
            let told = py.detach(|| {
                x.iter().enumerate().try_for_each(|(row, &x)| {
                    let y = y.as_ref().map_or(0.0, |y| y[row]);
                    let w = w.as_ref().map_or(1.0, |w| w[row]);
                    next.update(x, y, w).map_err(|fault| fault.at_row(row))
                })
            });
            told.or_raise(py)?;
            *gauge = next;
            Ok(())
        })
    }

    /// Fold in the same statistic of another part of the stream.
    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Statistic>) -> PyResult<()> {
        let other = other.get().with(py, |gauge| Ok(gauge.clone()))?;
        self.with(py, |gauge| gauge.merge(&other).or_raise(py))
    }
}
