//! `millstream._core.SavedFile`: a saved object that is opened and checked, for the class it belongs to.

use std::sync::Mutex;

use millstream_core::held::state::{self, Saved, Saving, Sealed};
use millstream_core::labels::Labels;
use millstream_core::schema::Schema;
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{raise, OrRaise};

#[pyclass(frozen, module = "millstream._core")]
pub struct SavedFile {
    /// The name of the saved component.
    #[pyo3(get)]
    name: String,
    saved: Mutex<Option<Saved>>,
}

#[pymethods]
impl SavedFile {
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let saved = py.detach(|| state::open(bytes)).or_raise(py)?;
        let name = state::name(&saved).or_raise(py)?;
        Ok(SavedFile { name, saved: Mutex::new(Some(saved)) })
    }

    /// The state and the count of a component written in Python; the file is empty afterwards.
    fn take_state<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyBytes>, u64)> {
        let saved = opened(slf.as_any())?;
        Ok((PyBytes::new(slf.py(), &saved.state), saved.learned))
    }
}

/// The bytes of a saved component written in Python: its description in JSON, a count and its state.
#[pyfunction]
pub fn seal<'py>(py: Python<'py>, description: &str, count: u64, state: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (schema, labels) = (Schema::default(), Labels::default());
    let saving = Saving::new(description, &schema, &labels, count);
    sealed_bytes(py, &state::seal(&saving, state.to_vec()).or_raise(py)?)
}

/// A saved component as bytes of Python.
pub fn sealed_bytes<'py>(py: Python<'py>, sealed: &Sealed) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, sealed.len(), |out| {
        sealed.write(out);
        Ok(())
    })
}

/// The argument of `_load`: the bytes of a saved object, or an open file.
pub fn opened(source: &Bound<'_, PyAny>) -> PyResult<Saved> {
    let py = source.py();
    if let Ok(file) = source.cast::<SavedFile>() {
        let saved = file.get().saved.lock().ok().and_then(|mut saved| saved.take());
        return saved.ok_or_else(|| raise(py, &Fault::state("millstream: this file was loaded before")));
    }
    let bytes = source.cast::<PyBytes>()?;
    let bytes = bytes.as_bytes();
    py.detach(|| state::open(bytes)).or_raise(py)
}
