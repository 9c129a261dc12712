//! `millstream._core.Vocabulary`: texts to dicts of word counts or tf-idf; `DictHasher`: dicts to hashed
//! columns.

use millstream_core::preprocessing::feature_hasher::{settle, Hashing};
use millstream_core::text::vocabulary::{Terms, Tokenizer, Vocabulary as Words};
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::dates::plain_dict;
use crate::dicts::too_large;
use crate::errors::{quoted, raise, read_text, shown, OrRaise};

/// Words of texts, and the number of texts with each.
#[pyclass(module = "millstream._core", frozen)]
pub struct Vocabulary {
    inner: std::sync::Mutex<Inner>,
}

#[derive(Clone)]
struct Inner {
    tokenizer: Tokenizer,
    words: Words,
    terms: Terms,
}

/// A text, or its tokens: checked before the vocabulary is locked, because a message may run Python code.
enum Given<'py> {
    Text(Bound<'py, PyString>),
    Tokens(Vec<Bound<'py, PyString>>),
}

impl<'py> Given<'py> {
    fn new(text: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = text.py();
        if let Ok(text) = text.cast::<PyString>() {
            read_text(text).or_raise(py)?;
            return Ok(Given::Text(text.clone()));
        }
        let mut tokens = Vec::new();
        for token in text.cast::<PyList>().map_err(|_| not_a_text(text))?.iter() {
            let token = token.cast_into::<PyString>().map_err(|error| not_a_text(&error.into_inner()))?;
            read_text(&token).or_raise(py)?;
            tokens.push(token);
        }
        Ok(Given::Tokens(tokens))
    }

    fn read(&self, tokenizer: &Tokenizer, terms: &mut Terms) {
        match self {
            Given::Text(text) => tokenizer.read(text.to_str().unwrap_or_default(), terms),
            Given::Tokens(tokens) => {
                tokenizer.read_tokens(tokens.iter().map(|token| token.to_str().unwrap_or_default()), terms);
            }
        }
    }
}

fn not_a_text(text: &Bound<'_, PyAny>) -> PyErr {
    raise(text.py(), &Fault::wrong_type(format!("a text must be a str, got {}", shown(text))))
}

impl Vocabulary {
    /// No Python code runs while it is locked, and nothing panics, so that it is never poisoned.
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Compute values of the terms of a text under the lock, and use them without it: creating Python objects may run
    /// the garbage collector, and so any code.
    fn each<T>(
        &self,
        given: &Given<'_>,
        compute: impl FnOnce(&Words, &Terms) -> Vec<T>,
        give: impl FnOnce(&Terms, Vec<T>) -> PyResult<()>,
    ) -> PyResult<()> {
        let (terms, values) = {
            let mut inner = self.lock();
            let mut terms = std::mem::take(&mut inner.terms);
            given.read(&inner.tokenizer, &mut terms);
            let values = compute(&inner.words, &terms);
            (terms, values)
        };
        let given = give(&terms, values);
        self.lock().terms = terms;
        given
    }
}

#[pymethods]
impl Vocabulary {
    #[new]
    #[pyo3(signature = (*, max_features, evicts, ngrams, lowercase, stop_words))]
    fn new(
        max_features: usize,
        evicts: bool,
        ngrams: (usize, usize),
        lowercase: bool,
        stop_words: Vec<String>,
    ) -> Self {
        let tokenizer = Tokenizer { lowercase, ngrams, stop_words: stop_words.into_iter().collect() };
        let words = Words::new(max_features, evicts);
        Vocabulary { inner: std::sync::Mutex::new(Inner { tokenizer, words, terms: Terms::default() }) }
    }

    /// Learn one text, or a list of its tokens.
    fn learn(&self, text: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = Given::new(text)?;
        let Inner { tokenizer, words, terms } = &mut *self.lock();
        given.read(tokenizer, terms);
        words.learn(terms);
        Ok(())
    }

    /// Revert the last text.
    fn undo(&self) {
        self.lock().words.undo();
    }

    /// The number of each word in a text.
    fn counts<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let given = Given::new(text)?;
        let dict = PyDict::new(text.py());
        self.each(
            &given,
            |words, terms| terms.iter().map(|(word, _)| words.knows(word)).collect(),
            |terms, known: Vec<bool>| {
                for ((word, count), known) in terms.iter().zip(known) {
                    if known {
                        dict.set_item(word, count)?;
                    }
                }
                Ok(())
            },
        )?;
        Ok(dict)
    }

    /// The tf-idf of each word in a text, divided by their Euclidean norm if `normalize`.
    fn weights<'py>(&self, text: &Bound<'py, PyAny>, normalize: bool) -> PyResult<Bound<'py, PyDict>> {
        let given = Given::new(text)?;
        let dict = PyDict::new(text.py());
        let weigh = |words: &Words, terms: &Terms| {
            let total = terms.total() as f64;
            let weight = |(word, count): (&str, u32)| match words.knows(word) {
                true => f64::from(count) / total * words.idf(word),
                false => 0.0,
            };
            terms.iter().map(weight).collect()
        };
        self.each(&given, weigh, |terms, weights: Vec<f64>| {
            let norm = match normalize {
                true => weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt(),
                false => 1.0,
            };
            for ((word, _), weight) in terms.iter().zip(weights) {
                // An idf is at least 1, except after more texts than 2^63: only ignored words weigh 0.
                if weight > 0.0 {
                    dict.set_item(word, weight / norm)?;
                }
            }
            Ok(())
        })?;
        Ok(dict)
    }

    /// Number of texts.
    #[getter]
    fn n(&self) -> u64 {
        self.lock().words.n()
    }

    fn __len__(&self) -> usize {
        self.lock().words.len()
    }

    /// Words and the number of texts with each.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let words: Vec<(String, u64)> =
            self.lock().words.words().map(|(word, texts)| (word.to_string(), texts)).collect();
        let dict = PyDict::new(py);
        for (word, texts) in words {
            dict.set_item(word, texts)?;
        }
        Ok(dict)
    }

    #[getter]
    fn memory(&self) -> usize {
        self.lock().words.memory()
    }

    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = self.lock().words.save();
        Ok(PyBytes::new(py, &saved.or_raise(py)?))
    }

    /// Return to a state, or stay as it is after a fault.
    fn restore(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        let (most, evicts) = {
            let inner = self.lock();
            (inner.words.most, inner.words.evicts)
        };
        let mut words = Words::new(most, evicts);
        words.load(state).or_raise(py)?;
        self.lock().words = words;
        Ok(())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        Vocabulary { inner: std::sync::Mutex::new(self.lock().clone()) }
    }
}

/// The entries of one dict: a column and a value for each name.
fn entries(
    x: &Bound<'_, PyDict>,
    hashing: Hashing,
    indices: &mut Vec<u32>,
    values: &mut Vec<f64>,
) -> PyResult<()> {
    let py = x.py();
    indices.clear();
    values.clear();
    let mut token = String::new();
    for (key, value) in x.iter() {
        let number = if let Ok(number) = value.cast::<PyFloat>() {
            number.value()
        } else if value.is_none() {
            continue;
        } else if let Ok(text) = value.cast::<PyString>() {
            token.clear();
            push_name(&key, &mut token)?;
            token.push('=');
            token.push_str(read_text(text).or_raise(py)?);
            let column = hashing.column(token.as_bytes());
            indices.push(column.index);
            values.push(column.sign);
            continue;
        } else if let Ok(flag) = value.cast::<PyBool>() {
            f64::from(flag.is_true())
        } else if value.is_exact_instance_of::<PyInt>() {
            value.extract::<f64>().map_err(|_| too_large(&key, &value))?
        } else {
            // Python converts other kinds of numbers and of missing values, and refuses the rest.
            return entries(&plain_dict(x.as_any(), &[])?, hashing, indices, values);
        };
        if number == 0.0 || number.is_nan() {
            continue;
        }
        if number.is_infinite() {
            let name = quoted(&key);
            return Err(raise(
                py,
                &Fault::value(format!("feature {name} must be finite or missing, got {number}")),
            ));
        }
        let column = match key.cast::<PyString>() {
            Ok(name) => hashing.column(read_text(name).or_raise(py)?.as_bytes()),
            Err(_) => {
                token.clear();
                push_name(&key, &mut token)?;
                hashing.column(token.as_bytes())
            }
        };
        indices.push(column.index);
        values.push(column.sign * number);
    }
    Ok(())
}

fn push_name(key: &Bound<'_, PyAny>, token: &mut String) -> PyResult<()> {
    let py = key.py();
    if let Ok(name) = key.cast::<PyString>() {
        token.push_str(read_text(name).or_raise(py)?);
        return Ok(());
    }
    if key.is_instance_of::<PyInt>() {
        token.push_str(read_text(&key.str()?).or_raise(py)?);
        return Ok(());
    }
    Err(raise(py, &Fault::wrong_type(format!("a feature name must be a str or an int, got {}", shown(key)))))
}

/// Hashes dicts as `preprocessing.FeatureHasher` does, without a schema: nothing is stored.
#[pyclass(module = "millstream._core", frozen)]
pub struct DictHasher(Hashing);

type SparseArrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl DictHasher {
    #[new]
    fn new(n_features: u32, seed: Option<u32>, alternate_sign: bool) -> Self {
        DictHasher(Hashing::new(n_features, seed, alternate_sign))
    }

    /// The hashed columns of one dict.
    fn one<'py>(&self, x: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let (mut indices, mut values, mut order) = (Vec::new(), Vec::new(), Vec::new());
        entries(x, self.0, &mut indices, &mut values)?;
        let dict = PyDict::new(x.py());
        let mut failed = None;
        settle(&indices, &values, &mut order, |index, value| {
            failed = failed.take().or(dict.set_item(index, value).err());
        });
        failed.map_or(Ok(dict), Err)
    }

    /// The hashed columns of dicts: starts, indices, values.
    fn many<'py>(&self, rows: &Bound<'py, PyList>) -> PyResult<SparseArrays<'py>> {
        let (mut indices, mut values, mut order) = (Vec::new(), Vec::new(), Vec::new());
        let (mut starts, mut columns, mut numbers) = (vec![0], Vec::new(), Vec::new());
        for x in rows.iter() {
            entries(x.cast::<PyDict>()?, self.0, &mut indices, &mut values)?;
            settle(&indices, &values, &mut order, |index, value| {
                columns.push(index);
                numbers.push(value);
            });
            starts.push(columns.len() as i64);
        }
        let py = rows.py();
        Ok((starts.into_pyarray(py), columns.into_pyarray(py), numbers.into_pyarray(py)))
    }
}
