//! Faults of the core become exceptions of `millstream.errors`, which are also the built-ins users catch.

use millstream_core::{Fault, FaultKind};
use pyo3::prelude::*;

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

/// `result.or_raise(py)?`
pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for millstream_core::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|fault| raise(py, &fault))
    }
}
