//! How a dict becomes a row: straight into a draft, under the lock of the component that reads it.

use millstream_core::draft::{Draft, Given};
use millstream_core::schema::{FeatureKind, Name, Schema};
use millstream_core::Fault;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::errors::{quoted, raise, read_text, shown, OrRaise};

/// How many dicts a component takes key objects from. Dicts parsed from JSON have new ones each time: then names are
/// compared as text.
const ADOPTIONS: u8 = 8;

/// The key objects of a model's features by slot. A dict that is built by the same code has the same key
/// objects in the same order, and comparing pointers finds their slots without hashing.
#[derive(Default)]
pub struct Keys {
    by_slot: Vec<Py<PyAny>>,
    adoptions: u8,
}

/// How a dict was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// All its keys were the known objects.
    ByKey,
    /// Some names were compared as text.
    ByText,
    /// It holds something whose reading would run Python code.
    NotPlain,
}

impl Keys {
    /// Take up the names of features that are new in the schema.
    pub fn sync_names(&mut self, py: Python<'_>, schema: &Schema) -> PyResult<()> {
        self.by_slot.truncate(schema.len());
        // Numbered columns are looked up by value; a wide matrix must not cost an object each.
        if schema.only_numbered() {
            return Ok(());
        }
        for slot in self.by_slot.len()..schema.len() {
            self.by_slot.push(match schema.name(slot) {
                Name::Text(text) => PyString::intern(py, &text).unbind().into_any(),
                Name::Number(number) => number.into_pyobject(py)?.unbind().into_any(),
            });
        }
        Ok(())
    }

    /// The object of a feature's name, if there is one.
    #[inline]
    pub fn name(&self, slot: usize) -> Option<&Py<PyAny>> {
        self.by_slot.get(slot)
    }

    /// Whether key objects should be taken from a dict that was read by text.
    #[inline]
    pub fn may_adopt(&self) -> bool {
        self.adoptions < ADOPTIONS
    }

    /// Take the key objects of a learned dict, whose like will probably come again.
    #[cold]
    pub fn adopt(&mut self, dict: &Bound<'_, PyDict>, schema: &Schema) {
        self.adoptions += 1;
        for (key, _) in dict {
            let text = key.cast_exact::<PyString>().ok().and_then(|key| read_text(key).ok());
            let slot = text.and_then(|text| schema.slot_of_text(text));
            if let Some(known) = slot.and_then(|slot| self.by_slot.get_mut(slot as usize)) {
                *known = key.unbind();
            }
        }
    }

    #[inline]
    fn is_at(&self, slot: usize, key: *mut ffi::PyObject) -> bool {
        self.by_slot.get(slot).is_some_and(|known| known.as_ptr() == key)
    }
}

/// Read a dict against a schema. Python code must not run under a model's lock: if it is not plain, the caller lets go
/// of the lock and makes a plain dict of it first.
///
/// Through the C interface, with borrowed keys and values: in the stable ABI every count of a reference is a
/// call, four for each item. Features mostly come in the order of their slots, so the next one is expected:
/// comparing names is quicker than looking them up.
#[inline]
#[allow(unsafe_code)]
pub fn read_dict(
    dict: &Bound<'_, PyDict>,
    schema: &Schema,
    keys: &Keys,
    missing_is_zero: bool,
    draft: &mut Draft,
) -> PyResult<Reading> {
    let py = dict.py();
    let kinds = schema.kinds();
    let mut expected = 0;
    let mut reading = Reading::ByKey;
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `dict` is a dict and the GIL is held, so `PyDict_Next` may be called; no Python code runs in these
    // loops (`read_item` reads only exact ints, floats, strings, bools and None), so the dict does not change
    // under them and keeps the keys and values alive that are borrowed here. `PyFloat_AsDouble` is only called
    // on a float, where it cannot fail.
    unsafe {
        let mut more = ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) != 0;
        match draft.begin_numbers(schema) {
            // The common case, without looking up what is the same for all items: known keys, in order.
            Some(row) => {
                for (slot, known) in row.iter_mut().zip(&keys.by_slot) {
                    if !more || key != known.as_ptr() || ffi::PyFloat_CheckExact(value) == 0 {
                        break;
                    }
                    let number = ffi::PyFloat_AsDouble(value);
                    if !number.is_finite() {
                        break;
                    }
                    *slot = number;
                    expected += 1;
                    more = ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) != 0;
                }
                draft.end_numbers(expected);
            }
            None => draft.begin(schema, missing_is_zero),
        }
        while more {
            let known = keys.is_at(expected, key);
            let is_number = ffi::PyFloat_CheckExact(value) != 0
                && kinds.get(expected) == Some(&FeatureKind::Number)
                && (known || is_text(key, schema.text(expected)));
            let number = if is_number { ffi::PyFloat_AsDouble(value) } else { f64::NAN };
            if number.is_finite() {
                draft.set_number(expected as u32, number);
                expected += 1;
                if !known {
                    reading = Reading::ByText;
                }
            } else {
                let (key, value) = (Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value));
                match read_item(&key, &value, expected, schema, keys, draft)? {
                    Some(next) => expected = next,
                    None => return Ok(Reading::NotPlain),
                }
            }
            more = ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) != 0;
        }
    }
    draft.finish(schema);
    Ok(reading)
}

/// Whether a Python object is this text.
///
/// # Safety
/// `object` is a live Python object and the GIL is held.
#[inline]
#[allow(unsafe_code)]
unsafe fn is_text(object: *mut ffi::PyObject, text: Option<&str>) -> bool {
    let Some(text) = text else { return false };
    if ffi::PyUnicode_CheckExact(object) == 0 {
        return false;
    }
    let mut size = 0;
    let bytes = ffi::PyUnicode_AsUTF8AndSize(object, &mut size);
    if bytes.is_null() {
        // Text that is no valid Unicode is refused, with words, where it is read as a name.
        ffi::PyErr_Clear();
        return false;
    }
    std::slice::from_raw_parts(bytes.cast::<u8>(), size as usize) == text.as_bytes()
}

/// Any item of a dict; gives the slot to expect next, or None if Python code would have to run.
fn read_item(
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    expected: usize,
    schema: &Schema,
    keys: &Keys,
    draft: &mut Draft,
) -> PyResult<Option<usize>> {
    let py = key.py();
    let text = key.cast_exact::<PyString>();
    if text.is_err() && !key.is_exact_instance_of::<PyInt>() {
        return Ok(None);
    }
    let number = |number: f64| if number.is_nan() { Given::Missing } else { Given::Number(number) };
    let given = if let Ok(float) = value.cast_exact::<PyFloat>() {
        number(float.value())
    } else if let Ok(text) = value.cast_exact::<PyString>() {
        Given::Text(read_text(text).or_raise(py)?)
    } else if value.is_none() {
        Given::Missing
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        Given::Number(f64::from(flag.is_true()))
    } else if value.is_exact_instance_of::<PyInt>() {
        match value.extract::<f64>() {
            Ok(float) => Given::Number(float),
            Err(_) => return Err(too_large(key, value)),
        }
    } else {
        return Ok(None);
    };
    let slot = match text {
        _ if keys.is_at(expected, key.as_ptr()) => Some(expected as u32),
        Ok(text) => schema.slot_of_text(read_text(text).or_raise(py)?),
        Err(_) => schema.slot(&read_name(key)?),
    };
    match slot {
        Some(slot) => {
            draft.set(schema, slot, given).or_raise(py)?;
            Ok(Some(slot as usize + 1))
        }
        None => {
            draft.add(read_name(key)?, given).or_raise(py)?;
            Ok(Some(expected))
        }
    }
}

pub fn too_large(key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyErr {
    let (key, got) = (quoted(key), shown(value));
    raise(value.py(), &Fault::value(format!("feature {key}: a number must fit in a float, got {got}")))
}

/// A feature's name: a str or an int.
pub fn read_name(key: &Bound<'_, PyAny>) -> PyResult<Name> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(Name::Text(read_text(text).or_raise(key.py())?.into()));
    }
    match key.extract::<i64>() {
        Ok(number) => Ok(Name::Number(number)),
        Err(_) => {
            let fault = match key.is_instance_of::<PyInt>() {
                true => Fault::value(format!("a feature name must fit in 64 bits, got {}", shown(key))),
                false => Fault::wrong_type(format!("a feature name must be a str or an int, got {}", shown(key))),
            };
            Err(raise(key.py(), &fault))
        }
    }
}

/// The names of the first features, by slot.
pub fn names<'py>(py: Python<'py>, schema: &Schema, most: usize) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for name in schema.names().take(most) {
        match name {
            Name::Text(text) => list.append(PyString::new(py, &text))?,
            Name::Number(number) => list.append(number)?,
        }
    }
    Ok(list)
}
