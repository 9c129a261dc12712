//! A learner written in Python, and the features of a request for it.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::json_values::only_member;

/// A model that Python predicts with.
pub struct PythonLearner {
    /// The `ServedModel`.
    pub served: Py<PyAny>,
    /// Returns the prediction for features, or raises what the client gets.
    pub predict: Py<PyAny>,
}

impl PythonLearner {
    pub fn predict<'py>(&self, py: Python<'py>, x: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        self.predict.bind(py).call1((x,))
    }

    /// The last record that the model learned.
    pub fn seq(&self, py: Python<'_>) -> PyResult<u64> {
        self.served.bind(py).getattr(pyo3::intern!(py, "seq"))?.extract()
    }
}

/// The features of a body that has no other member, and their text as sent. None for an invalid or unusual body.
pub fn python_features<'a, 'py>(py: Python<'py>, body: &'a [u8]) -> Option<(Bound<'py, PyDict>, &'a str)> {
    let (value, text) = only_member(py, body, "x")?;
    Some((value.cast_into().ok()?, text))
}
