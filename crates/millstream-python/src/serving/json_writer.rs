//! `millstream._core.write_json`: Python objects as compact JSON in UTF-8.

use millstream_core::json::{push_float, push_string, MAX_DEPTH};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{raise, read_text, shown, OrRaise};

/// Compact JSON of None, bools, ints, finite floats, strings, lists, tuples and dicts with string keys.
#[pyfunction]
pub fn write_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::with_capacity(256);
    push_json(&mut out, value)?;
    Ok(PyBytes::new(value.py(), &out))
}

/// Append what `write_json` returns.
pub fn push_json(out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    push(out, value, 0)
}

/// Recursive, but not deeper than `MAX_DEPTH`, whatever contains itself.
fn push(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    let py = value.py();
    if depth > MAX_DEPTH {
        return Err(raise(
            py,
            &Fault::value(format!("a JSON value must not be nested deeper than {MAX_DEPTH} levels")),
        ));
    }
    if let Ok(text) = value.cast::<PyString>() {
        push_string(out, read_text(text).or_raise(py)?);
    } else if let Ok(float) = value.cast::<PyFloat>() {
        match float.value() {
            float if float.is_finite() => push_float(out, float),
            float => {
                return Err(raise(py, &Fault::value(format!("a number in JSON must be finite, got {float}"))))
            }
        }
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if let Ok(int) = value.cast::<PyInt>() {
        push_int(out, int)?;
    } else if value.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(dict) = value.cast::<PyDict>() {
        out.push(b'{');
        for (index, (key, value)) in dict.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let Ok(key) = key.cast::<PyString>() else {
                let message = format!("a key in JSON must be a str, got {}", shown(&key));
                return Err(raise(py, &Fault::wrong_type(message)));
            };
            push_string(out, read_text(key).or_raise(py)?);
            out.push(b':');
            push(out, &value, depth + 1)?;
        }
        out.push(b'}');
    } else if let Ok(list) = value.cast::<PyList>() {
        push_array(out, list.iter(), depth)?;
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        push_array(out, tuple.iter(), depth)?;
    } else {
        return Err(raise(py, &Fault::wrong_type(format!("a value cannot be written as JSON: {}", shown(value)))));
    }
    Ok(())
}

fn push_array<'py>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<()> {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(out, &item, depth + 1)?;
    }
    out.push(b']');
    Ok(())
}

fn push_int(out: &mut Vec<u8>, int: &Bound<'_, PyInt>) -> PyResult<()> {
    if let Ok(int) = int.extract::<i64>() {
        out.extend_from_slice(int.to_string().as_bytes());
        return Ok(());
    }
    let py = int.py();
    // A subclass may have another `__str__`, and Python refuses to write more than 4300 digits.
    let digits =
        py.get_type::<PyInt>().call_method1("__repr__", (int,)).and_then(|digits| digits.extract::<String>());
    match digits {
        Ok(digits) => out.extend_from_slice(digits.as_bytes()),
        Err(_) => return Err(raise(py, &Fault::value(format!("an int in JSON is too long, got {}", shown(int))))),
    }
    Ok(())
}
