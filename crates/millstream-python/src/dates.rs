//! Features that may be dates: the times of aggregates. All other features must be numbers or strings.

use millstream_core::feature_extraction::time_features;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use serde_json::Value as Json;

/// The names of the features of a model that are times, as Python objects.
pub fn names_of_times(py: Python<'_>, description: &Json) -> PyResult<Vec<Py<PyAny>>> {
    let mut names = Vec::new();
    time_features(description, &mut |name| names.push(name.clone()));
    let object = |name: Json| match name.as_i64() {
        Some(number) => Ok(PyInt::new(py, number).unbind().into_any()),
        None => Ok(PyString::new(py, name.as_str().unwrap_or_default()).unbind().into_any()),
    };
    names.into_iter().map(object).collect()
}

/// A dict whose values need no Python code to be read; dates become seconds where a feature is a time.
#[cold]
pub fn plain_dict<'py>(x: &Bound<'py, PyAny>, times: &[Py<PyAny>]) -> PyResult<Bound<'py, PyDict>> {
    let function = x.py().import("millstream._frames")?.getattr("plain_dict")?;
    let plain = match times {
        [] => function.call1((x,))?,
        times => function.call1((x, times.iter().map(|name| name.bind(x.py())).collect::<Vec<_>>()))?,
    };
    plain.cast_into::<PyDict>().map_err(PyErr::from)
}
