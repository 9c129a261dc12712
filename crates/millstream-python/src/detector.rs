//! `millstream._core.DriftDetector`: a drift detector behind a lock.

use std::sync::Mutex;

use millstream_core::drift::{Direction, Watch};
use millstream_core::Fault;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::errors::{by, raise, OrRaise};
use crate::metric::read_number;
use crate::rows::read_numbers;
use crate::saved::opened;

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct DriftDetector {
    watch: Mutex<Option<Watch>>,
}

impl DriftDetector {
    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Watch) -> PyResult<R>) -> PyResult<R> {
        let mut guard = self.watch.lock_py_attached(py).map_err(|_| {
            raise(py, &Fault::state("this detector met an internal error; load it anew, and please report it"))
        })?;
        let watch = guard.as_mut().ok_or_else(|| {
            raise(py, &Fault::value("this detector was not built: call super().__init__(…) in its __init__"))
        })?;
        work(watch)
    }

    pub fn around(watch: Watch) -> Self {
        DriftDetector { watch: Mutex::new(Some(watch)) }
    }

    fn set(&self, py: Python<'_>, watch: Watch) -> PyResult<()> {
        let mut guard = self.watch.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        *guard = Some(watch);
        Ok(())
    }
}

#[pymethods]
impl DriftDetector {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        DriftDetector { watch: Mutex::new(None) }
    }

    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let description = serde_json::from_str(description)
            .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))?;
        self.set(py, Watch::new(&description).or_raise(py)?)
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another detector.
    fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let watch = match source.cast::<DriftDetector>() {
            Ok(other) => other.get().with(py, |watch| Ok(watch.clone()))?,
            Err(_) => Watch::from_saved(opened(source)?).or_raise(py)?,
        };
        self.set(py, watch)
    }

    /// What is known beside the estimate, in JSON.
    fn _inspect(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |watch| Ok(watch.inspect().to_string()))
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |watch| Ok(watch.description().to_string()))
    }

    /// The whole detector as bytes: one versioned, checksummed value.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |watch| watch.save().or_raise(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of memory that the detector holds.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |watch| Ok(watch.memory()))
    }

    /// How many numbers it was told.
    #[getter]
    fn updates(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |watch| Ok(watch.updates()))
    }

    /// Whether the last number brought a change to light.
    #[getter]
    fn drift_detected(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |watch| Ok(watch.detector().verdict().drift))
    }

    /// Whether the last number made a change likely.
    #[getter]
    fn warning_detected(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |watch| Ok(watch.detector().verdict().warning))
    }

    /// Which way the mean went at a change or a warning: "up", "down", or None.
    #[getter]
    fn direction(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.with(py, |watch| {
            Ok(match watch.detector().verdict().direction {
                Direction::Up => Some("up"),
                Direction::Down => Some("down"),
                Direction::Unknown => None,
            })
        })
    }

    /// With which number the change is believed to have begun, counted from 0 since the detector was made or reset;
    /// None where the last number brought neither a change nor a warning.
    #[getter]
    fn change_point(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |watch| Ok(watch.change_point()))
    }

    /// The current estimate of the mean.
    #[getter]
    fn estimation(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |watch| Ok(watch.detector().estimation()))
    }

    /// Start again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |watch| {
            watch.reset();
            Ok(())
        })
    }

    /// Tell it a number.
    fn update(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = x.py();
        let x = match read_number(x, "x") {
            Ok(x) => x,
            Err(error) => return Err(by(py, error, &self.with(py, |watch| Ok(watch.name().to_owned()))?)),
        };
        self.with(py, |watch| watch.update(x).or_raise(py))
    }

    /// Tell it many; gives the places at which it found a change. A bad one changes nothing.
    fn _update_many(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        // Numbers in a row are borrowed, others are copied.
        let lent = x.cast::<PyArray1<f64>>().ok().and_then(|array| array.try_readonly().ok());
        match lent.as_ref().and_then(|array| array.as_slice().ok()) {
            Some(x) => self.with(py, |watch| py.detach(|| watch.update_many(x)).or_raise(py)),
            None => {
                let x = read_numbers(x)?;
                self.with(py, |watch| py.detach(|| watch.update_many(&x)).or_raise(py))
            }
        }
    }
}
