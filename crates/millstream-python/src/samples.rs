//! Components that keep a sample of rows: `millstream._core.Sampler`.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use millstream_core::held;
use millstream_core::key::Key;
use millstream_core::sampler::{self, KeySource, Offer};
use millstream_core::sampling::record::{Record, Stored, Value};
use millstream_core::schema::Name;
use millstream_core::Fault;
use numpy::PyArray1;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::borrowed_rows::{read_integers, read_numbers};
use crate::dicts::read_name;
use crate::errors::{by, raise, read_text, shown, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::targets::Weight;

/// Rows between checks for Ctrl-C: a few milliseconds.
const BETWEEN_SIGNALS: usize = 1 << 16;

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Sampler;

impl Component for Sampler {
    type Kind = Box<dyn sampler::Sampler>;
}

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of rows it has received, without those of weight 0.
    #[getter]
    fn learned(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Receive a row, with its target, weight and time.
    #[pyo3(
        signature = (x, y=None, w=Weight::ONE, t=None),
        text_signature = "($self, x, y=None, w=1.0, t=None)"
    )]
    fn _learn_one(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
        t: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let read = || -> PyResult<_> {
            Ok((plain_row(x)?, y.map(plain_value).transpose()?, w.number().or_raise(x.py())?, read_time(t)?))
        };
        let (x, y, w, t) = read().map_err(|error| slf.part().named(slf.py(), error))?;
        let y = y.as_ref();
        // The values are plain, so no Python code runs under the lock.
        slf.change(|held| {
            let key = match held.sampler().key() {
                KeySource::Nothing => Key::Missing,
                KeySource::Target => y.map_or(Ok(Key::Missing), |y| read_key(y)).or_raise(x.py())?,
                KeySource::Feature(name) => {
                    let found = find(&x, &name)?.ok_or_else(|| by(x.py(), absent(&name, &x), held.title()))?;
                    return learn_row(held, Offer { w, t, key: read_key(&found).or_raise(x.py())? }, &x, y);
                }
            };
            learn_row(held, Offer { w, t, key }, &x, y)
        })
    }

    /// Receive `rows` rows. `keys`, `w` and `t` are columns or None; `bad` has the errors of rows that cannot be read, by
    /// index. `fetch` returns the rows at some indices as dicts, with their targets. After an error, "raise" leaves the
    /// sampler as it was and "stop" keeps the rows before; "skip" passes the row. Returns the number of skipped rows.
    #[pyo3(signature = (rows, keys, w, t, bad, fetch, on_error))]
    #[allow(clippy::too_many_arguments)]
    fn _learn_many(
        slf: &Bound<'_, Self>,
        rows: usize,
        keys: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        t: Option<&Bound<'_, PyAny>>,
        bad: FxHashMap<usize, Bound<'_, PyAny>>,
        fetch: &Bound<'_, PyAny>,
        on_error: &str,
    ) -> PyResult<usize> {
        let py = slf.py();
        let keys = Keys::read(keys)?;
        let columns = Columns { w: w.map(read_numbers).transpose()?, t: t.map(read_numbers).transpose()? };
        let (skipped, stopped) = slf.replace(|held| {
            let mut skipped = 0;
            let mut stopped = None;
            for from in (0..rows).step_by(BETWEEN_SIGNALS) {
                let block = from..rows.min(from + BETWEEN_SIGNALS);
                let (more, end) = learn_block(py, held, block, &keys, &columns, &bad, on_error == "skip");
                skipped += more;
                match end {
                    Some(error) if on_error == "raise" => return Err(error),
                    Some(error) => {
                        stopped = Some(error);
                        break;
                    }
                    None => py.check_signals()?,
                }
            }
            fetch_pending(held, fetch)?;
            Ok((skipped, stopped))
        })?;
        match stopped {
            Some(error) => Err(error),
            None => Ok(skipped),
        }
    }

    /// The rows of the sample, or all rows held, as pairs of a dict and a target.
    fn _rows<'py>(slf: &Bound<'py, Self>, all: bool) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let records: Vec<Arc<Record>> = slf.ask(|held| {
            let mut records = Vec::new();
            let mut visit = |row: &Stored| {
                if let Stored::Row(record) = row {
                    records.push(record.clone());
                }
            };
            match all {
                true => held.sampler().each_held(&mut visit),
                false => held.sampler().each_row(&mut visit),
            }
            Ok(records)
        })?;
        let list = PyList::empty(py);
        for record in records {
            let dict = PyDict::new(py);
            for (name, value) in record.names.iter().zip(&record.values) {
                match name {
                    Name::Text(text) => dict.set_item(PyString::intern(py, text), show_value(py, value)?)?,
                    Name::Number(number) => dict.set_item(number, show_value(py, value)?)?,
                }
            }
            list.append((dict, show_value(py, &record.y)?))?;
        }
        Ok(list)
    }

    /// Whether it keeps every row with the key of this one; an error if that depends on other rows.
    fn _keeps_one(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = slf.py();
        let source = slf.ask(|held| Ok(held.sampler().key()))?;
        let KeySource::Feature(name) = source else { return Err(slf.part().named(py, no_filter(py))) };
        let read = || -> PyResult<_> {
            let row = match x.cast_exact::<PyDict>() {
                Ok(dict) => dict.clone(),
                Err(_) => converted_row(x)?,
            };
            let key = find(&row, &name)?.map(|key| plain_value(&key)).transpose()?;
            key.ok_or_else(|| absent(&name, &row))
        };
        let keeps = read().and_then(|key| {
            let key = read_key(&key).or_raise(py)?;
            slf.ask(|held| held.sampler().keeps(key).ok_or_else(|| no_filter(py)))
        });
        keeps.map_err(|error| slf.part().named(py, error))
    }

    /// Whether it keeps every row of each key, as an array; an error if that depends on other rows.
    fn _keeps<'py>(slf: &Bound<'py, Self>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let py = slf.py();
        let keys = Keys::read(Some(keys))?;
        let kept = slf.ask(|held| {
            let keeps = |key: Key<'_>| held.sampler().keeps(key);
            let kept: Option<Vec<bool>> = match &keys {
                Keys::Numbers(keys) => (0..keys.len()).map(|row| keeps(keys.key(row))).collect(),
                Keys::Objects(keys) => {
                    let mut kept = Vec::with_capacity(keys.len());
                    for key in keys.iter() {
                        kept.push(keeps(read_key(&key).or_raise(py)?));
                    }
                    kept.into_iter().collect()
                }
            };
            kept.ok_or_else(|| no_filter(py))
        });
        let kept = kept.map_err(|error| slf.part().named(py, error))?;
        Ok(PyArray1::from_vec(py, kept))
    }

    /// The indices of rows that are no dicts of plain values.
    #[staticmethod]
    fn _not_plain(rows: &Bound<'_, PyList>) -> Vec<usize> {
        let is_plain = |row: &Bound<'_, PyAny>| row.cast_exact::<PyDict>().is_ok_and(is_plain);
        rows.iter().enumerate().filter(|(_, row)| !is_plain(row)).map(|(index, _)| index).collect()
    }
}

fn learn_row(
    held: &mut held::Sampler,
    offer: Offer<'_>,
    x: &Bound<'_, PyDict>,
    y: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    held.learn(offer, &mut || Stored::Row(Arc::new(record(x, y)))).or_raise(x.py())
}

/// Weights and times of many rows.
struct Columns {
    w: Option<Vec<f64>>,
    t: Option<Vec<f64>>,
}

impl Columns {
    fn offer<'a>(&self, row: usize, key: Key<'a>) -> Offer<'a> {
        Offer { w: self.w.as_ref().map_or(1.0, |w| w[row]), t: self.t.as_ref().map(|t| t[row]), key }
    }
}

/// The keys of many rows.
enum Keys<'py> {
    Numbers(NumberKeys),
    Objects(Bound<'py, PyList>),
}

/// Keys that can be read without the GIL.
enum NumberKeys {
    None,
    Integers(Vec<i64>),
    Floats(Vec<f64>),
}

impl<'py> Keys<'py> {
    fn read(keys: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(keys) = keys else { return Ok(Keys::Numbers(NumberKeys::None)) };
        if let Ok(list) = keys.cast_exact::<PyList>() {
            return Ok(Keys::Objects(list.clone()));
        }
        Ok(Keys::Numbers(match read_integers(keys) {
            Some(integers) => NumberKeys::Integers(integers),
            None => NumberKeys::Floats(read_numbers(keys)?),
        }))
    }
}

impl NumberKeys {
    fn key(&self, row: usize) -> Key<'static> {
        match self {
            NumberKeys::None => Key::Missing,
            NumberKeys::Integers(keys) => Key::Int(keys[row]),
            NumberKeys::Floats(keys) => Key::of_float(keys[row]),
        }
    }

    fn len(&self) -> usize {
        match self {
            NumberKeys::None => 0,
            NumberKeys::Integers(keys) => keys.len(),
            NumberKeys::Floats(keys) => keys.len(),
        }
    }
}

/// Receive a block of rows, up to one that is refused unless `skip`. Returns the number of skipped rows, and the error
/// that ended the block.
fn learn_block(
    py: Python<'_>,
    held: &mut held::Sampler,
    block: Range<usize>,
    keys: &Keys<'_>,
    columns: &Columns,
    bad: &FxHashMap<usize, Bound<'_, PyAny>>,
    skip: bool,
) -> (usize, Option<PyErr>) {
    if let (true, Keys::Numbers(keys)) = (bad.is_empty(), keys) {
        let plain = matches!(keys, NumberKeys::None) && columns.w.is_none() && columns.t.is_none();
        let (skipped, fault) = py.detach(|| match plain {
            true => (0, held.learn_plain(block.start, block.len()).err()),
            false => learn_rows(held, block, columns, skip, |row| keys.key(row)),
        });
        return (skipped, fault.map(|fault| raise(py, &fault)));
    }
    let mut skipped = 0;
    for row in block {
        let learned = match bad.get(&row) {
            Some(error) => Err(PyErr::from_value(error.clone())),
            None => learn_key(py, held, row, keys, columns),
        };
        match learned {
            Ok(()) => {}
            Err(_) if skip => skipped += 1,
            Err(error) => return (skipped, Some(error)),
        }
    }
    (skipped, None)
}

/// Receive a row whose key may be a Python object.
fn learn_key(
    py: Python<'_>,
    held: &mut held::Sampler,
    row: usize,
    keys: &Keys<'_>,
    columns: &Columns,
) -> PyResult<()> {
    let object;
    let key = match keys {
        Keys::Numbers(keys) => Ok(keys.key(row)),
        Keys::Objects(keys) => {
            object = keys.get_item(row)?;
            read_key(&object).map_err(|fault| fault.by(held.title()))
        }
    };
    let learned = key.and_then(|key| held.learn(columns.offer(row, key), &mut || Stored::Pending(row)));
    learned.map_err(|fault| raise(py, &fault.at_row(row)))
}

fn learn_rows<'a>(
    held: &mut held::Sampler,
    block: Range<usize>,
    columns: &Columns,
    skip: bool,
    key: impl Fn(usize) -> Key<'a>,
) -> (usize, Option<Fault>) {
    let mut skipped = 0;
    for row in block {
        match held.learn(columns.offer(row, key(row)), &mut || Stored::Pending(row)) {
            Ok(()) => {}
            Err(_) if skip => skipped += 1,
            Err(fault) => return (skipped, Some(fault.at_row(row))),
        }
    }
    (skipped, None)
}

/// Read the rows of a batch that are still held.
fn fetch_pending(held: &mut held::Sampler, fetch: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut indices = Vec::new();
    held.each_held_mut(&mut |row| {
        if let Stored::Pending(index) = row {
            indices.push(*index);
        }
    });
    if indices.is_empty() {
        return Ok(());
    }
    indices.sort_unstable();
    let rows = fetch.call1((PyList::new(fetch.py(), &indices)?,))?;
    let mut records = Vec::with_capacity(indices.len());
    for pair in rows.try_iter()? {
        let (x, y): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
        records.push(Arc::new(record(&plain_row(&x)?, Some(&plain_value(&y)?))));
    }
    if records.len() != indices.len() {
        return Err(raise(fetch.py(), &Fault::value(format!("{}: rows could not be read", held.title()))));
    }
    held.each_held_mut(&mut |row| {
        if let Stored::Pending(index) = row {
            if let Ok(place) = indices.binary_search(index) {
                *row = Stored::Row(records[place].clone());
            }
        }
    });
    Ok(())
}

/// Whether a value can be read without Python code: a float, a string, a 64-bit integer, a bool or None.
fn is_plain_value(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive and the GIL is held.
    #[allow(unsafe_code)]
    unsafe {
        is_plain_object(value.as_ptr())
    }
}

/// # Safety
/// `object` is a live Python object and the GIL is held.
#[inline]
#[allow(unsafe_code)]
unsafe fn is_plain_object(object: *mut ffi::PyObject) -> bool {
    if ffi::PyFloat_CheckExact(object) != 0 || object == ffi::Py_None() || ffi::PyBool_Check(object) != 0 {
        return true;
    }
    if ffi::PyUnicode_CheckExact(object) != 0 {
        // Python keeps the UTF-8 of a string, so that this is done once.
        let is_valid = !ffi::PyUnicode_AsUTF8AndSize(object, std::ptr::null_mut()).is_null();
        if !is_valid {
            ffi::PyErr_Clear();
        }
        return is_valid;
    }
    if ffi::PyLong_CheckExact(object) != 0 {
        let mut overflow = 0;
        ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
        return overflow == 0;
    }
    false
}

/// Whether the names and values of a dict can be read without Python code.
///
/// Through the C interface, with borrowed keys and values: every row is checked, also those that are not kept.
#[allow(unsafe_code)]
fn is_plain(dict: &Bound<'_, PyDict>) -> bool {
    let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `dict` is a dict and the GIL is held; no Python code runs in this loop, so that the dict does not change and
    // keeps the borrowed keys and values alive.
    unsafe {
        while ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) != 0 {
            let named = ffi::PyUnicode_CheckExact(key) != 0 || ffi::PyLong_CheckExact(key) != 0;
            if !(named && is_plain_object(key) && is_plain_object(value)) {
                return false;
            }
        }
    }
    true
}

/// A row of plain values; others are converted or refused in Python.
fn plain_row<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    match x.cast_exact::<PyDict>() {
        Ok(dict) if is_plain(dict) => Ok(dict.clone()),
        _ => converted_row(x),
    }
}

#[cold]
fn converted_row<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    Ok(x.py().import("millstream.sampling.rows")?.call_method1("plain_row", (x,))?.cast_into()?)
}

#[cold]
fn no_filter(py: Python<'_>) -> PyErr {
    raise(py, &Fault::wrong_type("it does not choose by key alone"))
}

pub fn plain_value<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match is_plain_value(value) {
        true => Ok(value.clone()),
        false => value.py().import("millstream.sampling.rows")?.call_method1("plain_value", (value,)),
    }
}

pub fn read_time(t: Option<&Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    let Some(t) = t.filter(|t| !t.is_none()) else { return Ok(None) };
    match t.cast_exact::<PyFloat>() {
        Ok(t) => Ok(Some(t.value())),
        Err(_) => t.py().import("millstream.sampling.rows")?.call_method1("seconds", (t,))?.extract().map(Some),
    }
}

/// A plain value as a key.
pub fn read_key<'a>(value: &'a Bound<'_, PyAny>) -> millstream_core::Result<Key<'a>> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return read_text(text).map(Key::Text);
    }
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(Key::of_float(float.value()));
    }
    if value.is_none() {
        return Ok(Key::Missing);
    }
    // A bool is an int.
    value.extract::<i64>().map(Key::Int).map_err(|_| match value.is_instance_of::<PyInt>() {
        true => Fault::value(format!("an integer must fit in 64 bits, got {}", shown(value))),
        false => Fault::wrong_type(format!("a key must be a string, a number or None, got {}", shown(value))),
    })
}

/// A plain value; one that is not is missing, but the caller has checked.
fn read_value(value: &Bound<'_, PyAny>) -> Value {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        Value::Float(float.value())
    } else if let Ok(text) = value.cast_exact::<PyString>() {
        text.to_str().map_or(Value::Missing, |text| Value::Text(text.into()))
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        Value::Bool(flag.is_true())
    } else {
        value.extract::<i64>().map_or(Value::Missing, Value::Int)
    }
}

pub fn show_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Missing => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Int(int) => int.into_pyobject(py)?.into_any(),
        Value::Float(float) => PyFloat::new(py, *float).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
    })
}

thread_local! {
    /// The names of the last row that was read, which the next one probably shares.
    static NAMES: Cell<Option<Arc<[Name]>>> = const { Cell::new(None) };
}

/// Read a row of plain values.
fn record(x: &Bound<'_, PyDict>, y: Option<&Bound<'_, PyAny>>) -> Record {
    let known = NAMES.take().filter(|names| {
        names.len() == x.len() && names.iter().zip(x.iter()).all(|(name, (key, _))| is_name(&key, name))
    });
    let names =
        known.unwrap_or_else(|| x.iter().map(|(key, _)| read_name(&key).unwrap_or(Name::Number(0))).collect());
    NAMES.set(Some(names.clone()));
    Record {
        names,
        values: x.iter().map(|(_, value)| read_value(&value)).collect(),
        y: y.map_or(Value::Missing, read_value),
    }
}

fn is_name(key: &Bound<'_, PyAny>, name: &Name) -> bool {
    match name {
        Name::Text(text) => {
            key.cast_exact::<PyString>().is_ok_and(|key| key.to_str().is_ok_and(|key| *key == **text))
        }
        Name::Number(number) => {
            key.is_exact_instance_of::<PyInt>() && key.extract::<i64>().is_ok_and(|key| key == *number)
        }
    }
}

fn find<'py>(x: &Bound<'py, PyDict>, name: &Name) -> PyResult<Option<Bound<'py, PyAny>>> {
    match name {
        Name::Text(text) => x.get_item(PyString::intern(x.py(), text)),
        Name::Number(number) => x.get_item(number),
    }
}

#[cold]
fn absent(name: &Name, x: &Bound<'_, PyDict>) -> PyErr {
    raise(x.py(), &Fault::value(format!("a row must have the feature {name}, got {}", shown(x.as_any()))))
}
