//! Components that summarise numbers or keys: `millstream._core.Sketch`.

use millstream_core::held;
use millstream_core::key::Key;
use millstream_core::sampling::record::Value;
use millstream_core::sketch::role::{self, Items, Keys, Question, SetOperation, Texts};
use millstream_core::Fault;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::borrowed_rows::{read_integers, read_numbers, Column64};
use crate::errors::{raise, read_text, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::samples::{plain_value, read_key, show_value};
use crate::signals::in_blocks;
use crate::targets::{check_length, read_number, Weight};

/// A batch of so many items is checked first and then added at once; a longer one is added to a copy, which Ctrl-C leaves.
const AT_ONCE: usize = 1 << 16;

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Sketch;

impl Component for Sketch {
    type Kind = Box<dyn role::Sketch>;
}

#[pymethods]
impl Sketch {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of items received, without those of weight 0.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Sum of the absolute weights of all items, without missing ones.
    #[getter]
    fn total_weight(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.sketch().total()))
    }

    /// Sum of the weights of missing items.
    #[getter]
    fn missing_weight(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.sketch().missing()))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    /// Add a number.
    #[pyo3(signature = (x, w=Weight::ONE), text_signature = "($self, x, w=1.0)")]
    fn _update_number(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, w: Weight) -> PyResult<()> {
        let py = slf.py();
        let (x, w) = match (x.cast_exact::<PyFloat>(), w.number()) {
            (Ok(x), Ok(w)) => (x.value(), w),
            (_, w) => {
                let read = || -> PyResult<_> {
                    Ok((if x.is_none() { f64::NAN } else { read_number(x, "x")? }, w.or_raise(py)?))
                };
                read().map_err(|error| slf.part().named(py, error))?
            }
        };
        slf.change(|held| held.update_number(x, w).or_raise(py))
    }

    /// Add a key: a string, a number, a bool or None.
    #[pyo3(signature = (x, w=Weight::ONE), text_signature = "($self, x, w=1.0)")]
    fn _update_key(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, w: Weight) -> PyResult<()> {
        let py = slf.py();
        let read = || -> PyResult<_> { Ok((plain_value(x)?, w.number().or_raise(py)?)) };
        let (x, w) = read().map_err(|error| slf.part().named(py, error))?;
        // The key is plain, so no Python code runs under the lock.
        let key = read_key(&x).or_raise(py)?;
        slf.change(|held| held.update_key(key, w).or_raise(py))
    }

    /// Add many numbers; after a faulty one and after Ctrl-C nothing has changed.
    fn _update_numbers(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, w: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let x = Column64::new(x)?;
        let w = w.map(Column64::new).transpose()?;
        let (x, w) = (x.numbers(), w.as_ref().map(Column64::numbers));
        check_length(py, "w", w.map(<[f64]>::len), x.len()).map_err(|error| slf.part().named(py, error))?;
        let add = |held: &mut held::Sketch, from: usize, to: usize| match w {
            None => held.update_numbers(&x[from..to], from),
            Some(w) => held.update_weighted_numbers(&x[from..to], &w[from..to], from),
        };
        let short = x.len() <= AT_ONCE;
        let (is_plain, missing) =
            (short && !x.iter().any(|x| x.is_infinite()), short && x.iter().any(|x| x.is_nan()));
        update(slf, x.len(), is_plain, missing, w, add)
    }

    /// Add many keys: an array of numbers, a list of plain values, or a tuple of bytes, offsets and codes (see `Texts`).
    fn _update_keys(slf: &Bound<'_, Self>, keys: &Bound<'_, PyAny>, w: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let read = || -> PyResult<_> {
            let (column, w) = (KeyColumn::read(keys)?, w.map(Column64::new).transpose()?);
            check_length(py, "w", w.as_ref().map(|w| w.numbers().len()), column.keys().or_raise(py)?.len())?;
            Ok((column, w))
        };
        let (column, w) = read().map_err(|error| slf.part().named(py, error))?;
        let (keys, w) = (column.keys().or_raise(py)?, w.as_ref().map(Column64::numbers));
        let add = |held: &mut held::Sketch, from: usize, to: usize| held.update_keys(keys, w, from, to);
        let missing = keys.len() <= AT_ONCE && (0..keys.len()).any(|row| matches!(keys.key(row), Key::Missing));
        update(slf, keys.len(), true, missing, w, add)
    }

    /// The quantile at a fraction, or the rank of a number.
    fn _ask_number(slf: &Bound<'_, Self>, question: &str, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        let py = slf.py();
        let what = if question == "quantile" { "q" } else { "x" };
        let x = read_number(x, what).map_err(|error| slf.part().named(py, error))?;
        slf.ask(|held| held.answer(number_question(question, x)).or_raise(py))
    }

    /// `_ask_number` for many numbers.
    fn _ask_numbers<'py>(
        slf: &Bound<'py, Self>,
        question: &str,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = slf.py();
        let numbers = read_numbers(x)?;
        let answers = slf.ask(|held| held.answers(&numbers, |x| number_question(question, x)).or_raise(py))?;
        Ok(PyArray1::from_vec(py, answers))
    }

    /// The weight of a key, or whether it occurred.
    fn _ask_key(slf: &Bound<'_, Self>, question: &str, key: &Bound<'_, PyAny>) -> PyResult<f64> {
        let py = slf.py();
        let key = plain_value(key).map_err(|error| slf.part().named(py, error))?;
        let key = read_key(&key).or_raise(py)?;
        slf.ask(|held| held.answer(key_question(question, key)).or_raise(py))
    }

    /// `_ask_key` for many keys, as `_update_keys` takes them.
    fn _ask_keys<'py>(
        slf: &Bound<'py, Self>,
        question: &str,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = slf.py();
        let column = KeyColumn::read(keys).map_err(|error| slf.part().named(py, error))?;
        let keys = column.keys().or_raise(py)?;
        let answers: Vec<f64> = slf.ask(|held| {
            (0..keys.len()).map(|row| held.answer(key_question(question, keys.key(row))).or_raise(py)).collect()
        })?;
        Ok(PyArray1::from_vec(py, answers))
    }

    /// The number of distinct keys.
    fn _distinct(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| held.answer(Question::Distinct).or_raise(slf.py()))
    }

    /// The bound on errors in JSON.
    fn _error_bound(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.ask(|held| Ok(held.error_bound().to_string()))
    }

    /// Keys of large weight with upper bounds of their weights and the widths of the bounds, in falling order.
    fn _frequent<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let frequent = slf.ask(|held| Ok(held.sketch().frequent()))?;
        let list = PyList::empty(py);
        for each in frequent {
            list.append((show_value(py, &each.key)?, each.weight, each.error))?;
        }
        Ok(list)
    }

    /// Bins as pairs of a value and a weight, ascending.
    fn _bins(slf: &Bound<'_, Self>) -> PyResult<Vec<(f64, f64)>> {
        slf.ask(|held| Ok(held.sketch().bins()))
    }

    /// Become the intersection with another sketch, or the difference from it.
    fn _combine(slf: &Bound<'_, Self>, other: &Bound<'_, Sketch>, operation: &str) -> PyResult<()> {
        let other = other.ask(|held| Ok(held.clone()))?;
        let operation = match operation {
            "difference" => SetOperation::Difference,
            _ => SetOperation::Intersection,
        };
        slf.change(|held| held.combine(&other, operation).or_raise(slf.py()))
    }

    /// The Jaccard similarity with another sketch.
    fn _jaccard(slf: &Bound<'_, Self>, other: &Bound<'_, Sketch>) -> PyResult<f64> {
        let other = other.ask(|held| Ok(held.clone()))?;
        slf.ask(|held| held.jaccard(&other).or_raise(slf.py()))
    }

    /// Whether it receives keys, and not numbers.
    fn _takes_keys(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.sketch().items() == Items::Keys))
    }
}

/// Add the items of a batch: a short one in place if all can be added, others to a copy.
fn update(
    slf: &Bound<'_, Sketch>,
    rows: usize,
    is_plain: bool,
    missing: bool,
    w: Option<&[f64]>,
    add: impl Fn(&mut held::Sketch, usize, usize) -> millstream_core::Result<()> + Sync,
) -> PyResult<()> {
    let py = slf.py();
    if rows <= AT_ONCE && is_plain {
        let added = slf.change(|held| match held.admits(missing, rows, w) {
            true => add(held, 0, rows).or_raise(py).map(|()| true),
            false => Ok(false),
        })?;
        if added {
            return Ok(());
        }
    }
    slf.replace(|held| in_blocks(py, rows, |from, to| add(held, from, to)))
}

fn number_question(question: &str, x: f64) -> Question<'static> {
    match question {
        "quantile" => Question::Quantile(x),
        _ => Question::Rank(x),
    }
}

fn key_question<'a>(question: &str, key: Key<'a>) -> Question<'a> {
    match question {
        "contains" => Question::Contains(key),
        _ => Question::Weight(key),
    }
}

/// A column of keys.
enum KeyColumn<'py> {
    Borrowed(PyReadonlyArray1<'py, i64>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts { bytes: Vec<u8>, offsets: Vec<i64>, codes: Option<Vec<i64>> },
    ArrowTexts { bytes: PyReadonlyArray1<'py, u8>, offsets: Vec<i64>, codes: Option<Vec<i64>> },
    Values(Vec<Value>),
}

impl<'py> KeyColumn<'py> {
    fn read(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = keys.cast_exact::<PyList>() {
            return Self::of_list(list);
        }
        if let Ok(parts) = keys.cast_exact::<PyTuple>() {
            let (bytes, offsets, codes): (PyReadonlyArray1<'py, u8>, Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
                parts.extract()?;
            let unread = || raise(keys.py(), &Fault::wrong_type("offsets and codes must be integers"));
            let integers = |array: &Bound<'_, PyAny>| read_integers(array).ok_or_else(unread);
            let (offsets, codes) = (integers(&offsets)?, codes.as_ref().map(integers).transpose()?);
            return Ok(KeyColumn::ArrowTexts { bytes, offsets, codes });
        }
        if let Ok(array) = keys.extract::<PyReadonlyArray1<'py, i64>>() {
            if array.as_slice().is_ok() {
                return Ok(KeyColumn::Borrowed(array));
            }
        }
        Ok(match read_integers(keys) {
            Some(integers) => KeyColumn::Integers(integers),
            None => KeyColumn::Floats(read_numbers(keys)?),
        })
    }

    /// Plain values of Python; strings are copied one after the other.
    fn of_list(list: &Bound<'py, PyList>) -> PyResult<Self> {
        if !list.is_empty() && list.iter().all(|key| key.is_exact_instance_of::<PyString>()) {
            let (mut bytes, mut offsets) = (Vec::new(), Vec::with_capacity(list.len() + 1));
            offsets.push(0);
            for key in list.iter() {
                bytes.extend_from_slice(read_text(key.cast::<PyString>()?).or_raise(list.py())?.as_bytes());
                offsets.push(bytes.len() as i64);
            }
            return Ok(KeyColumn::Texts { bytes, offsets, codes: None });
        }
        let plain = |key: Bound<'py, PyAny>| read_key(&key).map(Value::from).or_raise(list.py());
        if list.iter().all(|key| key.is_exact_instance_of::<PyInt>()) {
            let integers: Option<Vec<i64>> = list.iter().map(|key| key.extract().ok()).collect();
            if let Some(integers) = integers {
                return Ok(KeyColumn::Integers(integers));
            }
        }
        Ok(KeyColumn::Values(list.iter().map(plain).collect::<PyResult<_>>()?))
    }

    fn keys(&self) -> millstream_core::Result<Keys<'_>> {
        Ok(match self {
            KeyColumn::Borrowed(array) => Keys::Integers(array.as_slice().unwrap_or_default()),
            KeyColumn::Integers(keys) => Keys::Integers(keys),
            KeyColumn::Floats(keys) => Keys::Floats(keys),
            KeyColumn::Texts { bytes, offsets, codes } => {
                Keys::Texts(Texts::new(bytes, offsets, codes.as_deref())?)
            }
            KeyColumn::ArrowTexts { bytes, offsets, codes } => {
                Keys::Texts(Texts::new(bytes.as_slice().unwrap_or_default(), offsets, codes.as_deref())?)
            }
            KeyColumn::Values(keys) => Keys::Values(keys),
        })
    }
}
