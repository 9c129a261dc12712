//! `millstream._core.parse_json` and its relatives: strict JSON as Python objects (see `millstream_core::json`).

use millstream_core::json::{Invalid, Number, Reader, Token, MAX_DEPTH};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::key_cache::{KeyCache, KEY_CACHE};
use super::predict_body::MOST_FEATURES;
use crate::errors::{raise, shown};

/// The value of a JSON text. `max_keys` limits the keys of each object.
#[pyfunction]
#[pyo3(signature = (data, max_keys = 100_000))]
pub fn parse_json<'py>(data: &Bound<'py, PyAny>, max_keys: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let text = given(data)?;
    with_builder(py, max_keys, |builder| builder.document(text)).map_err(|error| error.raised(py))
}

/// The value of a JSON text, and the text of one member of it as given; None if it has no such member.
#[pyfunction]
#[pyo3(signature = (data, member, max_keys = 100_000))]
pub fn parse_json_with_raw<'py>(
    data: &Bound<'py, PyAny>,
    member: &str,
    max_keys: usize,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyBytes>>)> {
    let py = data.py();
    let text = given(data)?;
    let parsed = with_builder(py, max_keys, |builder| {
        builder.wanted = Some(member);
        let value = builder.document(text)?;
        Ok((value, builder.raw.map(|raw| PyBytes::new(py, raw.as_bytes()))))
    });
    parsed.map_err(|error: Error| error.raised(py))
}

/// The value of a member, and its text as given, if the text is a valid object with no other member and no object in it
/// has more keys than a request may have features.
pub fn only_member<'a, 'py>(py: Python<'py>, bytes: &'a [u8], name: &str) -> Option<(Bound<'py, PyAny>, &'a str)> {
    with_builder(py, MOST_FEATURES, |builder| {
        let mut reader = Reader::new(bytes)?;
        let is_object = reader.value()? == Token::BeginObject;
        if !is_object || reader.first_key()?.as_deref() != Some(name) {
            return Ok(None);
        }
        let start = reader.start();
        let value = builder.value(&mut reader, 1)?;
        let text = reader.since(start);
        if reader.next_key()?.is_some() {
            return Ok(None);
        }
        reader.end()?;
        Ok::<_, Error>(Some((value, text)))
    })
    .unwrap_or_default()
}

/// The values of lines of JSON, and the errors of invalid lines by index; the value of an invalid line is None. Blank
/// lines are skipped and not counted.
#[pyfunction]
#[pyo3(signature = (data, max_keys = 100_000))]
pub fn parse_json_lines<'py>(
    data: &Bound<'py, PyAny>,
    max_keys: usize,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let py = data.py();
    let text = given(data)?;
    let bytes = match text {
        Given::Bytes(bytes) => bytes,
        Given::Text(text) => text.as_bytes(),
    };
    let values = PyList::empty(py);
    let errors = PyDict::new(py);
    with_builder(py, max_keys, |builder| {
        for line in bytes.split(|&byte| byte == b'\n') {
            if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                continue;
            }
            match builder.document(Given::Bytes(line)) {
                Ok(value) => values.append(value)?,
                Err(Error::Python(error)) => return Err(error),
                Err(Error::Json(invalid)) => {
                    let message = raise(py, &invalid.into_fault()).value(py).str()?;
                    errors.set_item(values.len(), message)?;
                    values.append(py.None())?;
                }
            }
        }
        Ok(())
    })?;
    Ok((values, errors))
}

#[derive(Clone, Copy)]
enum Given<'a> {
    Bytes(&'a [u8]),
    Text(&'a str),
}

fn given<'a>(data: &'a Bound<'_, PyAny>) -> PyResult<Given<'a>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(Given::Bytes(bytes.as_bytes()));
    }
    let fault = match data.cast::<PyString>() {
        Ok(text) => match text.to_str() {
            Ok(text) => return Ok(Given::Text(text)),
            Err(_) => Fault::value("body: lone surrogate in the text"),
        },
        Err(_) => Fault::wrong_type(format!("a JSON text must be bytes or a str, got {}", shown(data))),
    };
    Err(raise(data.py(), &fault))
}

enum Error {
    Json(Invalid),
    Python(PyErr),
}

impl Error {
    fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Error::Json(invalid) => raise(py, &invalid.into_fault()),
            Error::Python(error) => error,
        }
    }

    #[cold]
    fn in_key(self, key: &str) -> Self {
        match self {
            Error::Json(invalid) => Error::Json(invalid.in_key(key)),
            error => error,
        }
    }

    #[cold]
    fn in_item(self, index: usize) -> Self {
        match self {
            Error::Json(invalid) => Error::Json(invalid.in_item(index)),
            error => error,
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Error::Json(invalid)
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Error::Python(error)
    }
}

struct Builder<'a, 'k, 'py> {
    py: Python<'py>,
    max_keys: usize,
    /// None if another thread, or a finalizer on this one, interrupted a parser that uses it.
    keys: Option<&'k mut KeyCache>,
    /// The key of the outermost object whose text is wanted, and the text.
    wanted: Option<&'a str>,
    raw: Option<&'a str>,
}

fn with_builder<'a, 'py, T, E>(
    py: Python<'py>,
    max_keys: usize,
    work: impl FnOnce(&mut Builder<'a, '_, 'py>) -> Result<T, E>,
) -> Result<T, E> {
    let mut keys = KEY_CACHE.try_lock().ok();
    work(&mut Builder { py, max_keys, keys: keys.as_deref_mut(), wanted: None, raw: None })
}

impl<'a, 'py> Builder<'a, '_, 'py> {
    fn document(&mut self, given: Given<'a>) -> Result<Bound<'py, PyAny>, Error> {
        let mut reader = match given {
            Given::Bytes(bytes) => Reader::new(bytes)?,
            Given::Text(text) => Reader::of_text(text)?,
        };
        let value = self.value(&mut reader, 0)?;
        reader.end()?;
        Ok(value)
    }

    /// Recursive, but not deeper than `MAX_DEPTH`.
    fn value(&mut self, reader: &mut Reader<'a>, depth: usize) -> Result<Bound<'py, PyAny>, Error> {
        let py = self.py;
        Ok(match reader.value()? {
            Token::Number(Number::Float(float)) => PyFloat::new(py, float).into_any(),
            Token::Number(Number::Int(int)) => PyInt::new(py, int).into_any(),
            Token::Number(Number::Long(digits)) => py.get_type::<PyInt>().call1((digits,))?,
            Token::Text(text) => PyString::new(py, &text).into_any(),
            Token::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
            Token::Null => py.None().into_bound(py),
            Token::BeginObject | Token::BeginArray if depth == MAX_DEPTH => {
                return Err(Invalid::new(format!("nested deeper than {MAX_DEPTH} levels")).into());
            }
            Token::BeginObject => self.object(reader, depth)?.into_any(),
            Token::BeginArray => self.array(reader, depth)?.into_any(),
        })
    }

    fn object(&mut self, reader: &mut Reader<'a>, depth: usize) -> Result<Bound<'py, PyDict>, Error> {
        let dict = PyDict::new(self.py);
        let mut count = 0;
        let mut next = reader.first_key()?;
        while let Some(key) = next {
            let start = reader.start();
            let value = self.value(reader, depth + 1).map_err(|error| error.in_key(&key))?;
            if depth == 0 && self.wanted == Some(&*key) {
                self.raw = Some(reader.since(start));
            }
            let object = match &mut self.keys {
                Some(keys) => keys.key(self.py, &key),
                None => PyString::new(self.py, &key),
            };
            dict.set_item(object, value)?;
            count += 1;
            if dict.len() < count {
                return Err(Invalid::new("duplicate key").in_key(&key).into());
            }
            if count > self.max_keys {
                return Err(Invalid::new(format!("more than {} keys", self.max_keys)).into());
            }
            next = reader.next_key()?;
        }
        Ok(dict)
    }

    fn array(&mut self, reader: &mut Reader<'a>, depth: usize) -> Result<Bound<'py, PyList>, Error> {
        let mut items = Vec::new();
        let mut more = reader.first_item();
        while more {
            items.push(self.value(reader, depth + 1).map_err(|error| error.in_item(items.len()))?);
            more = reader.next_item()?;
        }
        Ok(PyList::new(self.py, items)?)
    }
}
