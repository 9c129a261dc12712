//! `millstream._core.BufferPool`: memory that blocks of rows reuse. `millstream._core.ParsedRows`: the rows of a parser.
//!
//! A block of rows takes megabytes. If the learning thread frees them, they return to the system, and the parsing
//! thread gets them again page by page.
//!
//! A parser has checked each line. Rows that have not been exposed to Python since need no second check; rows whose
//! arrays Python can write to do.

use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use millstream_core::table::SparseTable;
use millstream_core::text::Block;
use numpy::ndarray::ArrayView1;
use numpy::PyArray1;
use pyo3::prelude::*;

/// The number of blocks that are read ahead; more are not kept.
const MOST: usize = 6;

/// The columns and the values of a block.
type Entries = (Vec<u32>, Vec<f64>);

/// Memory of processed blocks, reused for the next blocks of a file.
#[pyclass(frozen, module = "millstream._core")]
#[derive(Clone, Default)]
pub struct BufferPool(Arc<Mutex<Vec<Entries>>>);

/// Sparse rows with ascending columns and finite values, as long as they are not exposed.
#[pyclass(frozen, module = "millstream._core")]
pub struct ParsedRows {
    starts: Vec<usize>,
    entries: Entries,
    /// One more than the highest column.
    width: usize,
    /// Whether there are arrays through which Python can write to the rows.
    shown: AtomicBool,
    pool: BufferPool,
}

/// Rows as arrays: starts, columns and values.
type Arrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl BufferPool {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

impl BufferPool {
    /// Empty memory for this many entries.
    pub fn entries(&self, count: usize) -> Entries {
        let kept = self.0.lock().ok().and_then(|mut kept| kept.pop());
        let (mut columns, mut values) = kept.unwrap_or_default();
        columns.reserve(count);
        values.reserve(count);
        (columns, values)
    }

    /// The rows of a block. When they are dropped, the memory of columns and values returns to the pool.
    pub fn lend(&self, block: Block) -> ParsedRows {
        ParsedRows {
            starts: block.starts.iter().map(|&start| start as usize).collect(),
            entries: (block.indices, block.values),
            width: block.width,
            shown: AtomicBool::new(false),
            pool: self.clone(),
        }
    }
}

impl ParsedRows {
    /// A table with this many columns.
    pub fn table(&self, width: usize) -> SparseTable<'_> {
        let (indices, values) = (&self.entries.0, &self.entries.1);
        SparseTable { starts: &self.starts, indices, values, width, finite: !self.is_shown() }
    }

    /// Whether the table is valid without a check.
    pub fn is_known(&self, width: usize) -> bool {
        self.width <= width && !self.is_shown()
    }

    fn is_shown(&self) -> bool {
        self.shown.load(Ordering::Relaxed)
    }
}

#[pymethods]
impl ParsedRows {
    pub fn __len__(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Arrays of the rows, which must be checked from now on.
    #[allow(unsafe_code)]
    fn arrays<'py>(this: &Bound<'py, Self>) -> Arrays<'py> {
        let rows = this.get();
        rows.shown.store(true, Ordering::Relaxed);
        let starts = PyArray1::from_iter(this.py(), rows.starts.iter().map(|&start| start as i64));
        let (columns, values) = &rows.entries;
        // SAFETY: the vectors belong to a frozen object, so nothing moves or frees them before it is dropped, and each
        // array holds that object as its base. Exposed rows are read here only as arrays are.
        unsafe {
            (
                starts,
                PyArray1::borrow_from_array(&ArrayView1::from(columns), this.clone().into_any()),
                PyArray1::borrow_from_array(&ArrayView1::from(values), this.clone().into_any()),
            )
        }
    }
}

impl Drop for ParsedRows {
    fn drop(&mut self) {
        let (mut columns, mut values) = take(&mut self.entries);
        columns.clear();
        values.clear();
        if let Some(mut kept) = self.pool.0.lock().ok().filter(|kept| kept.len() < MOST) {
            kept.push((columns, values));
        }
    }
}
