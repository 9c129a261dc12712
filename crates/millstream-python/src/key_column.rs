//! The keys of many rows, as a column of integers or texts.

use millstream_core::key::Key;
use millstream_core::keyed::{KeyColumn, OwnedKey};
use millstream_core::Fault;
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::borrowed_rows::{read_integers, read_numbers};
use crate::errors::{raise, read_text, shown, OrRaise};

/// One key; whole floats are integers.
pub fn read_key(value: &Bound<'_, PyAny>) -> PyResult<OwnedKey> {
    let py = value.py();
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(OwnedKey::Text(read_text(text).or_raise(py)?.into()));
    }
    if value.is_none() || value.cast::<PyFloat>().is_ok_and(|float| float.value().is_nan()) {
        return Err(raise(py, &Fault::value("the key is missing")));
    }
    if !value.is_instance_of::<PyBool>() {
        if let Ok(int) = value.extract::<i64>() {
            return Ok(OwnedKey::Int(int));
        }
        if let Ok(Key::Int(int)) = value.extract::<f64>().map(Key::of_float) {
            if !value.is_instance_of::<PyInt>() {
                return Ok(OwnedKey::Int(int));
            }
        }
    }
    let fault = match value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        true => Fault::value(format!("a key must fit in 64 bits, got {}", shown(value))),
        false => Fault::wrong_type(format!("a key must be an integer or a string, got {}", shown(value))),
    };
    Err(raise(py, &fault))
}

/// A column of keys as Python has it.
pub enum KeyValues<'py> {
    /// `valid` is false for a missing one.
    Integers {
        integers: Vec<i64>,
        valid: Option<PyReadonlyArrayDyn<'py, bool>>,
    },
    Floats(Vec<f64>),
    /// The texts of Arrow: text i are the bytes from offset i to the next; `valid` is false for a missing one.
    Texts {
        offsets: Vec<i64>,
        bytes: PyReadonlyArray1<'py, u8>,
        valid: Option<PyReadonlyArrayDyn<'py, bool>>,
    },
    /// Numbers of categories; negative for a missing one.
    Codes {
        codes: Vec<i64>,
        categories: Vec<String>,
    },
}

impl<'py> KeyValues<'py> {
    /// From an array of numbers, or from a tuple ("texts", offsets, bytes, valid or None), ("codes", codes, categories) or
    /// ("integers", integers, valid).
    pub fn read(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok((_, offsets, bytes, valid)) = keys.extract::<(
            String,
            Bound<'py, PyAny>,
            PyReadonlyArray1<'py, u8>,
            Option<PyReadonlyArrayDyn<'py, bool>>,
        )>() {
            let offsets = read_integers(&offsets).unwrap_or_default();
            return Ok(KeyValues::Texts { offsets, bytes, valid });
        }
        if let Ok((_, codes, categories)) = keys.extract::<(String, Bound<'py, PyAny>, Vec<String>)>() {
            let codes = read_integers(&codes).unwrap_or_default();
            return Ok(KeyValues::Codes { codes, categories });
        }
        if let Ok((_, integers, valid)) =
            keys.extract::<(String, Bound<'py, PyAny>, PyReadonlyArrayDyn<'py, bool>)>()
        {
            let integers = read_integers(&integers).unwrap_or_default();
            return Ok(KeyValues::Integers { integers, valid: Some(valid) });
        }
        match read_integers(keys) {
            Some(integers) => Ok(KeyValues::Integers { integers, valid: None }),
            None => read_numbers(keys).map(KeyValues::Floats),
        }
    }

    /// The column as rows are processed by, without Python.
    pub fn column(&self) -> PyResult<Column<'_>> {
        Ok(match self {
            KeyValues::Integers { integers, valid: None } => Column::Integers(integers),
            KeyValues::Integers { integers, valid: Some(valid) } => {
                let known = valid.as_slice().ok().filter(|known| known.len() == integers.len());
                let broken = || raise(valid.py(), &Fault::value("the keys are no valid column"));
                Column::SomeIntegers(integers, known.ok_or_else(broken)?)
            }
            KeyValues::Floats(floats) => Column::Floats(floats),
            KeyValues::Texts { offsets, bytes, valid } => {
                let py = bytes.py();
                let broken = || raise(py, &Fault::value("the texts of the keys are no valid column"));
                let all = bytes.as_slice().map_err(|_| broken())?;
                let valid = valid.as_ref().map(|valid| valid.as_slice().map_err(|_| broken())).transpose()?;
                let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Err(broken()) };
                let used = usize::try_from(first).ok().zip(usize::try_from(last).ok());
                let text = used.and_then(|(first, last)| all.get(first..last)).ok_or_else(broken)?;
                let text = std::str::from_utf8(text).map_err(|_| broken())?;
                let bounded =
                    |pair: &[i64]| pair[0] <= pair[1] && text.is_char_boundary((pair[0] - first) as usize);
                if !offsets.windows(2).all(bounded) || valid.is_some_and(|valid| valid.len() + 1 != offsets.len())
                {
                    return Err(broken());
                }
                Column::Texts { offsets, text, valid }
            }
            KeyValues::Codes { codes, categories } => Column::Codes { codes, categories },
        })
    }
}

/// A column of keys.
pub enum Column<'a> {
    Integers(&'a [i64]),
    /// Some are missing.
    SomeIntegers(&'a [i64], &'a [bool]),
    Floats(&'a [f64]),
    Texts {
        offsets: &'a [i64],
        text: &'a str,
        valid: Option<&'a [bool]>,
    },
    Codes {
        codes: &'a [i64],
        categories: &'a [String],
    },
}

impl Column<'_> {
    pub fn len(&self) -> usize {
        match self {
            Column::Integers(keys) | Column::SomeIntegers(keys, _) => keys.len(),
            Column::Floats(keys) => keys.len(),
            Column::Texts { offsets, .. } => offsets.len() - 1,
            Column::Codes { codes, .. } => codes.len(),
        }
    }
}

impl KeyColumn for Column<'_> {
    #[inline]
    fn at(&self, row: usize) -> Key<'_> {
        match self {
            Column::Integers(keys) => Key::Int(keys[row]),
            Column::SomeIntegers(keys, valid) => match valid[row] {
                true => Key::Int(keys[row]),
                false => Key::Missing,
            },
            Column::Floats(keys) => Key::of_float(keys[row]),
            Column::Texts { offsets, text, valid } => match valid.is_none_or(|valid| valid[row]) {
                true => {
                    let (first, from, to) = (offsets[0], offsets[row], offsets[row + 1]);
                    // Checked when the column was made.
                    text.get((from - first) as usize..(to - first) as usize).map_or(Key::Missing, Key::Text)
                }
                false => Key::Missing,
            },
            Column::Codes { codes, categories } => usize::try_from(codes[row])
                .ok()
                .and_then(|code| categories.get(code))
                .map_or(Key::Missing, |text| Key::Text(text)),
        }
    }
}
