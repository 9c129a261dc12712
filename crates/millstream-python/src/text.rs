//! `millstream._core.TextReader`, `count_lines` and `hash_words`: text to sparse rows, without the GIL.

use std::hash::Hasher as _;
use std::mem::{replace, take};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millstream_core::interactions::{Interactions, Selection};
use millstream_core::text::{
    hash_name, Block, FeatureNames, Libsvm, LineFeatures, Norm, Parser, Refusal, VowpalWabbit, Words, CONSTANT,
};
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyString};
use rustc_hash::FxHasher;

use crate::buffer_pool::{BufferPool, ParsedRows};
use crate::errors::{raise, read_text, OrRaise};

// A reader has one of these, and it does not move.
#[allow(clippy::large_enum_variant)]
enum Format {
    VowpalWabbit(Parser<VowpalWabbit>),
    Libsvm(Parser<Libsvm>),
}

impl Format {
    fn parse(&mut self, data: &[u8], last: bool, block: &mut Block) {
        match self {
            Format::VowpalWabbit(parser) => parser.parse(data, last, block),
            Format::Libsvm(parser) => {
                parser.format_mut().look(data);
                parser.parse(data, last, block);
            }
        }
    }
}

/// The names of hashed columns, which the parsers of a stream collect, within a limit of bytes.
#[pyclass(frozen, module = "millstream._core", name = "FeatureNames")]
#[derive(Clone)]
pub struct SharedNames(Arc<Mutex<FeatureNames>>);

impl SharedNames {
    fn lock(&self) -> MutexGuard<'_, FeatureNames> {
        // Each change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SharedNames {
    #[new]
    fn new(limit: usize) -> Self {
        SharedNames(Arc::new(Mutex::new(FeatureNames::new(limit))))
    }

    /// Add a name of a column.
    fn add(&self, column: u32, name: &str) {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        self.lock().add(column, hasher.finish(), || name.to_string());
    }

    /// The names of a column, in the order in which they were seen.
    fn names(&self, column: u32) -> Vec<String> {
        self.lock().of(column).map(String::from).collect()
    }

    /// The columns with a name, ascending.
    fn columns(&self) -> Vec<u32> {
        let mut columns: Vec<u32> = self.lock().columns().collect();
        columns.sort_unstable();
        columns
    }

    /// The columns with two or more names, ascending.
    fn collisions(&self) -> Vec<u32> {
        let mut columns: Vec<u32> = self.lock().collisions().collect();
        columns.sort_unstable();
        columns
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }

    /// How often a name was not stored because the limit was reached.
    fn unnamed(&self) -> u64 {
        self.lock().unnamed()
    }

    /// Bytes of the names.
    fn bytes(&self) -> usize {
        self.lock().bytes()
    }
}

/// Which namespaces of a line are read, and the n-grams and products of their features. Namespaces are first bytes.
#[pyclass(frozen, module = "millstream._core", name = "LineFeatures")]
#[derive(Clone)]
pub struct SharedFeatures(Arc<LineFeatures>);

#[pymethods]
impl SharedFeatures {
    /// `ngrams` and `skips` are by namespace. Without `keep`, all are kept that are not in `ignore`.
    #[new]
    #[pyo3(signature = (bits, constant, *, products, not_alone, ignore, keep, ngrams, skips, most, names))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        bits: u32,
        constant: bool,
        products: Vec<Vec<u8>>,
        not_alone: Vec<u8>,
        ignore: Vec<u8>,
        keep: Option<Vec<u8>>,
        ngrams: Vec<(u8, usize)>,
        skips: Vec<(u8, usize)>,
        most: u64,
        names: Option<&Bound<'_, SharedNames>>,
    ) -> PyResult<Self> {
        let constant = constant.then_some(CONSTANT);
        let mask = (1 << bits.clamp(1, 28)) - 1;
        let interactions = Interactions::new(&products, Selection::of(&not_alone), mask, constant);
        let mut ignored = ignore;
        if let Some(keep) = keep {
            ignored.extend((0..=u8::MAX).filter(|group| !keep.contains(group)));
        }
        let of_each = |pairs: &[(u8, usize)]| {
            let mut numbers = [0; 256];
            pairs.iter().for_each(|&(group, number)| numbers[group as usize] = number);
            numbers
        };
        let (ngrams, skips) = (of_each(&ngrams), of_each(&skips));
        let features = LineFeatures::new(interactions, Selection::of(&ignored), &ngrams, &skips, most);
        let mut features = features.or_raise(py)?;
        features.names = names.map(|names| names.get().0.clone());
        Ok(SharedFeatures(Arc::new(features)))
    }
}

/// Reads a file in one of the sparse text formats, piece by piece.
#[pyclass(module = "millstream._core")]
pub struct TextReader {
    format: Format,
    block: Block,
    columns: Option<u32>,
    /// The most columns that were seen, for formats that do not say.
    width: usize,
    /// Where the memory of the block is from, if it is all there is to read.
    pool: Option<BufferPool>,
    /// The products of the rows, if they have any.
    interactions: Option<Arc<Interactions>>,
}

type Taken<'py> = (
    Bound<'py, ParsedRows>,
    usize,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyBytes>,
    Bound<'py, PyArray1<i64>>,
);

type TakenCosts<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);

fn whole_numbers<'py>(py: Python<'py>, numbers: &[u64]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, numbers.iter().map(|&number| number as i64))
}

impl TextReader {
    fn of(format: Format, columns: Option<u32>, width: usize) -> Self {
        TextReader { format, block: Block::with_room(0, 0), columns, width, pool: None, interactions: None }
    }
}

#[pymethods]
impl TextReader {
    /// `inside` if what will be read does not begin the file; lines are counted from there.
    #[staticmethod]
    #[pyo3(signature = (bits, constant, skip, inside = false, features = None, costs = false))]
    fn vowpal_wabbit(
        bits: u32,
        constant: bool,
        skip: bool,
        inside: bool,
        features: Option<&Bound<'_, SharedFeatures>>,
        costs: bool,
    ) -> Self {
        let format = VowpalWabbit::new(bits, constant);
        let format = if costs { format.with_costs() } else { format };
        let features = features.map(|features| features.get().0.clone());
        let format = match &features {
            Some(features) => format.with_features(features.clone()),
            None => format,
        };
        let parser = Parser::new(format, skip);
        let parser = if inside { parser.inside() } else { parser };
        let width = parser.format().width();
        let interactions = features.filter(|features| features.has_products());
        let interactions = interactions.map(|features| features.interactions.clone());
        TextReader { interactions, ..Self::of(Format::VowpalWabbit(parser), None, width) }
    }

    /// `base` is what the first column is called; None to find that out.
    #[staticmethod]
    fn libsvm(base: Option<u32>, columns: Option<u32>, skip: bool) -> Self {
        let parser = Parser::new(Libsvm::new(base, columns), skip);
        Self::of(Format::Libsvm(parser), columns, 0)
    }

    /// Read the next bytes; gives how many rows and entries wait to be taken.
    fn parse(&mut self, py: Python<'_>, data: &[u8], last: bool) -> (usize, usize) {
        let (format, block) = (&mut self.format, &mut self.block);
        py.detach(|| format.parse(data, last, block));
        (block.len(), block.indices.len())
    }

    /// Read all there is, in parts that follow one another, into memory from a pool; gives how many lines that were.
    fn parse_all(&mut self, py: Python<'_>, parts: Vec<PyBackedBytes>, pool: &Bound<'_, BufferPool>) -> u64 {
        let (format, block) = (&mut self.format, &mut self.block);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        *block = Block::with_room(length / 128, 0);
        // Words of six bytes are short ones, and memory that is not used costs nothing.
        (block.indices, block.values) = pool.get().entries(length / 6);
        self.pool = Some(pool.get().clone());
        py.detach(|| {
            for part in &parts {
                format.parse(part, false, block);
            }
            format.parse(b"", true, block);
        });
        match format {
            Format::VowpalWabbit(parser) => parser.lines(),
            Format::Libsvm(parser) => parser.lines(),
        }
    }

    /// The costs of the rows that wait, which `take` takes next: classes, costs, and where those of each row end.
    fn take_costs<'py>(&mut self, py: Python<'py>) -> TakenCosts<'py> {
        let costs = take(&mut self.block.costs);
        (costs.classes.into_pyarray(py), costs.values.into_pyarray(py), whole_numbers(py, &costs.ends))
    }

    /// The rows that wait, their width, labels, weights, tags and where these end.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let pool = self.pool.take();
        let next = match pool {
            Some(_) => Block::with_room(0, 0),
            None => Block::with_room(self.block.len(), self.block.indices.len()),
        };
        let mut block = replace(&mut self.block, next);
        self.width = self.columns.map_or(self.width.max(block.width), |columns| columns as usize);
        let labels = take(&mut block.labels).into_pyarray(py);
        let weights = take(&mut block.weights).into_pyarray(py);
        let tags = PyBytes::new(py, &block.tags);
        let tag_ends = whole_numbers(py, &block.tag_ends);
        let rows = Bound::new(py, pool.unwrap_or_default().lend(block, self.interactions.clone()))?;
        Ok((rows, self.width, labels, weights, tags, tag_ends))
    }

    /// The namespaces of the lines so far by their first byte, where features are selected or combined.
    fn namespaces<'py>(&self, py: Python<'py>) -> Vec<(u8, Bound<'py, PyBytes>)> {
        match &self.format {
            Format::VowpalWabbit(parser) => {
                let seen = parser.format().seen().iter();
                seen.map(|(group, name)| (*group, PyBytes::new(py, name))).collect()
            }
            Format::Libsvm(_) => Vec::new(),
        }
    }

    /// Whether a line was refused and the rest is not read.
    fn stopped(&self) -> bool {
        match &self.format {
            Format::VowpalWabbit(parser) => parser.stopped(),
            Format::Libsvm(parser) => parser.stopped(),
        }
    }

    /// How many lines were refused since this was asked last, and line, column and reason of the first of them.
    fn refused(&mut self) -> (u64, Vec<(u64, usize, String)>) {
        let (count, described) = match &mut self.format {
            Format::VowpalWabbit(parser) => parser.take_refused(),
            Format::Libsvm(parser) => parser.take_refused(),
        };
        let tuple = |refusal: Refusal| (refusal.line, refusal.column, refusal.message);
        (count, described.into_iter().map(tuple).collect())
    }
}

/// Number of lines that end in these bytes, at the byte `newline`.
#[pyfunction]
pub fn count_lines(data: &[u8], newline: u8) -> usize {
    millstream_core::text::count_lines(data, newline)
}

/// The hash of a name under the hash of its namespace, as Vowpal Wabbit's `--hash strings`.
#[pyfunction]
pub fn hash_feature(name: &[u8], namespace: u64) -> u64 {
    hash_name(name, namespace)
}

/// Texts as rows of hashed words: starts, indices, values.
#[pyfunction]
#[pyo3(signature = (texts, *, n_features, ngrams, lowercase, binary, alternate_sign, norm, names = None))]
#[allow(clippy::too_many_arguments)]
pub fn hash_words<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyList>,
    n_features: u32,
    ngrams: (usize, usize),
    lowercase: bool,
    binary: bool,
    alternate_sign: bool,
    norm: Option<&str>,
    names: Option<&Bound<'py, SharedNames>>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>)> {
    let mut words = Words::new(n_features.max(1), ngrams, lowercase);
    (words.binary, words.alternate_sign) = (binary, alternate_sign);
    words.norm = match norm {
        Some("l1") => Norm::L1,
        Some("l2") => Norm::L2,
        _ => Norm::None,
    };
    let mut block = Block::with_room(texts.len(), 0);
    for text in texts.iter() {
        let text = text.cast::<PyString>().map_err(|_| {
            raise(py, &Fault::wrong_type(format!("a text must be a str, got {}", crate::errors::shown(&text))))
        })?;
        let text = read_text(text).or_raise(py)?;
        match names {
            None => words.row(text, &mut block),
            Some(names) => {
                let mut names = names.get().lock();
                words.row_with_words(text, &mut block, |column, words| {
                    let mut hasher = FxHasher::default();
                    hasher.write(words);
                    names.add(column, hasher.finish(), || String::from_utf8_lossy(words).into_owned());
                });
            }
        }
    }
    Ok((whole_numbers(py, &block.starts), block.indices.into_pyarray(py), block.values.into_pyarray(py)))
}
