//! Class labels between Python and the core.

use millstream_core::labels::Label;
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use rustc_hash::FxHashMap;

use crate::errors::{read_text, shown, OrRaise};

/// The label that a Python object stands for. Whole floats count as ints, as they do in Python's `==`.
pub fn read_label(value: &Bound<'_, PyAny>) -> PyResult<Label> {
    label_of(value).or_raise(value.py())
}

/// `read_label`, with a fault instead of an exception.
pub fn label_of(value: &Bound<'_, PyAny>) -> millstream_core::Result<Label> {
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return Ok(Label::Bool(flag.is_true()));
    }
    if let Ok(int) = value.cast::<PyInt>() {
        return int
            .extract::<i64>()
            .map(Label::Int)
            .map_err(|_| Fault::value(format!("a label must fit in 64 bits, got {}", shown(value))));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Label::Text(read_text(text)?.into()));
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return float_label(float.value());
    }
    // NumPy scalars: bool_, integers and floats that are not Python's own.
    if let Ok(item) = value.call_method0("item") {
        if !item.is(value) && !item.hasattr("item").unwrap_or(true) {
            return label_of(&item);
        }
    }
    Err(Fault::wrong_type(format!("a class label must be a bool, int or str, got {}", shown(value))))
}

/// A float that is whole may stand for an int.
pub fn float_label(number: f64) -> millstream_core::Result<Label> {
    if number.fract() == 0.0 && number.abs() < 9.0e15 {
        Ok(Label::Int(number as i64))
    } else if number.is_nan() {
        Err(Fault::value("the label is missing (NaN)"))
    } else {
        Err(Fault::wrong_type(format!("a class label must be a bool, int or str, got {number}")))
    }
}

pub fn show_label<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    Ok(match label {
        Label::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Label::Int(int) => int.into_pyobject(py)?.into_any(),
        Label::Text(text) => PyString::new(py, text).into_any(),
    })
}

/// The labels of many rows: each distinct one once, and which one each row has.
#[derive(Default)]
pub struct ManyLabels {
    pub distinct: Vec<Label>,
    pub places: Vec<u32>,
    known: FxHashMap<Label, u32>,
    /// What is wrong with the labels that were pushed as missing, where there is more to say.
    pub bad: FxHashMap<usize, Fault>,
}

/// The place of a label that is missing.
const MISSING: u32 = u32::MAX;

impl ManyLabels {
    pub fn push(&mut self, label: Label) {
        // Runs of one label are common.
        if let Some(&last) = self.places.last() {
            if self.distinct.get(last as usize) == Some(&label) {
                self.places.push(last);
                return;
            }
        }
        let next = self.distinct.len() as u32;
        let place = *self.known.entry(label.clone()).or_insert(next);
        if place == next {
            self.distinct.push(label);
        }
        self.places.push(place);
    }

    pub fn push_missing(&mut self) {
        self.places.push(MISSING);
    }

    /// A label, or why there is none.
    pub fn push_result(&mut self, label: millstream_core::Result<Label>) {
        match label {
            Ok(label) => self.push(label),
            Err(fault) => {
                self.bad.insert(self.places.len(), fault);
                self.push_missing();
            }
        }
    }

    /// Flags, by a table.
    pub fn from_flags(flags: impl Iterator<Item = bool>) -> Self {
        let mut labels = ManyLabels::default();
        let mut known = [MISSING; 2];
        for flag in flags {
            let place = &mut known[usize::from(flag)];
            if *place == MISSING {
                *place = labels.distinct.len() as u32;
                labels.distinct.push(Label::Bool(flag));
                labels.known.insert(Label::Bool(flag), *place);
            }
            labels.places.push(*place);
        }
        labels
    }

    /// Whole numbers, by a table where their range is small.
    pub fn from_integers(integers: impl Iterator<Item = i64>) -> Self {
        let mut labels = ManyLabels::default();
        let mut small = [MISSING; 256];
        for integer in integers {
            match usize::try_from(integer).ok().filter(|&index| index < small.len()) {
                Some(index) if small[index] != MISSING => labels.places.push(small[index]),
                Some(index) => {
                    labels.push(Label::Int(integer));
                    small[index] = labels.places[labels.places.len() - 1];
                }
                None => labels.push(Label::Int(integer)),
            }
        }
        labels
    }
}
