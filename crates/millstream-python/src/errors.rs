//! Faults of the core become exceptions of `millstream.errors`, which are also the built-ins users catch.

use millstream_core::{Fault, FaultKind};
use pyo3::prelude::*;
use pyo3::types::PyString;

pub fn raise(py: Python<'_>, fault: &Fault) -> PyErr {
    let class = match fault.kind() {
        FaultKind::Value => "InvalidValue",
        FaultKind::Type => "InvalidType",
        FaultKind::Key => "UnknownName",
        FaultKind::Overflow => "NumericOverflow",
        FaultKind::State => "InvalidState",
    };
    let made = py
        .import("millstream.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((fault.to_string(), fault.row())));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Put the learner's name in front of an error of millstream's own, as `Fault::by` does for a fault.
pub fn by(py: Python<'_>, error: PyErr, who: &str) -> PyErr {
    match error.value(py).call_method1("by", (who,)) {
        Ok(named) => PyErr::from_value(named),
        Err(_) => error,
    }
}

/// A Python value for a message: its type, and as much of it as fits in a line.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    echo(value, "typed")
}

/// The same without its type.
pub fn quoted(value: &Bound<'_, PyAny>) -> String {
    echo(value, "quoted")
}

/// One function echoes all values, those that Python code refuses too.
fn echo(value: &Bound<'_, PyAny>, how: &str) -> String {
    let echoed = value.py().import("millstream._echo").and_then(|module| module.call_method1(how, (value,)));
    echoed.and_then(|text| text.extract()).unwrap_or_default()
}

/// Text, which Python allows to be no valid Unicode.
pub fn read_text<'a>(text: &'a Bound<'_, PyString>) -> millstream_core::Result<&'a str> {
    text.to_str()
        .map_err(|_| Fault::value(format!("a string must be valid Unicode, got {}", shown(text.as_any()))))
}

/// `result.or_raise(py)?`
pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for millstream_core::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|fault| raise(py, &fault))
    }
}
