//! `millstream._core.pack_body` and `unpack_body`: the body of an event as the event store keeps it (see
//! `millstream_core::serving::pack_text`).

use millstream_core::serving::{pack_text, unpack_text, PACKED};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::raise;

/// The packed form of a body; the body itself if it would not be much shorter.
#[pyfunction]
pub fn pack_body<'py>(body: &Bound<'py, PyString>) -> Bound<'py, PyAny> {
    let mut packed = Vec::new();
    // A string that is not valid Unicode is reported when its record is made.
    match body.to_str().is_ok_and(|text| pack_text(text, &mut packed)) {
        true => PyBytes::new(body.py(), &packed).into_any(),
        false => body.clone().into_any(),
    }
}

/// The text of a packed body; other bytes are returned as they are.
#[pyfunction]
pub fn unpack_body<'py>(body: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    let py = body.py();
    let bytes = body.as_bytes();
    if bytes.first() != Some(&PACKED) {
        return Ok(body.clone().into_any());
    }
    let mut text = Vec::new();
    let text = unpack_text(bytes, &mut text).and_then(|()| std::str::from_utf8(&text).ok());
    match text {
        Some(text) => Ok(PyString::new(py, text).into_any()),
        None => Err(raise(py, &Fault::value("the packed body of an event is not valid"))),
    }
}
