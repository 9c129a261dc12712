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

use millstream_core::interactions::{CrossedTable, Group, Interactions, Walker};
use millstream_core::table::SparseTable;
use millstream_core::text::Block;
use millstream_core::Fault;
use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::errors::raise;

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
    crossed: Option<Crossed>,
}

/// The groups of features of all rows, and what to multiply.
struct Crossed {
    starts: Vec<usize>,
    groups: Vec<Group>,
    interactions: Arc<Interactions>,
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
    pub fn lend(&self, block: Block, interactions: Option<Arc<Interactions>>) -> ParsedRows {
        let starts = std::iter::once(0).chain(block.group_ends);
        ParsedRows {
            crossed: interactions.map(|interactions| Crossed {
                starts: starts.collect(),
                groups: block.groups,
                interactions,
            }),
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
        let crossed = self.crossed.as_ref().map(|crossed| CrossedTable {
            starts: &crossed.starts,
            groups: &crossed.groups,
            interactions: &crossed.interactions,
        });
        SparseTable { starts: &self.starts, indices, values, width, finite: !self.is_shown(), crossed }
    }

    /// Whether the table is valid without a check.
    pub fn is_known(&self, width: usize) -> bool {
        self.width <= width && !self.is_shown()
    }

    fn is_shown(&self) -> bool {
        self.shown.load(Ordering::Relaxed)
    }

    /// All rows with their products, as arrays of Python's own.
    fn made<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        let table = self.table(usize::MAX);
        let (mut starts, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        let mut walker = Walker::default();
        if let Some(crossed) = table.crossed {
            for place in 0..self.__len__() {
                let row = walker.walk(&table.crossed_row(crossed, place));
                indices.extend_from_slice(row.indices);
                values.extend_from_slice(row.values);
                starts.push(indices.len() as i64);
            }
        }
        (starts.into_pyarray(py), indices.into_pyarray(py), values.into_pyarray(py))
    }
}

#[pymethods]
impl ParsedRows {
    pub fn __len__(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether rows have products, which are made when a row is read: arrays of them are as large as all products.
    fn has_products(&self) -> bool {
        self.crossed.is_some()
    }

    /// Bytes of the rows as they are stored.
    fn memory(&self) -> usize {
        let crossed = |crossed: &Crossed| crossed.starts.len() * 8 + crossed.groups.len() * size_of::<Group>();
        self.starts.len() * 8 + self.entries.0.len() * 12 + self.crossed.as_ref().map_or(0, crossed)
    }

    /// Some of the rows, which have products.
    fn take(&self, py: Python<'_>, rows: Vec<usize>) -> PyResult<ParsedRows> {
        let Some(crossed) = &self.crossed else {
            return Err(raise(py, &Fault::wrong_type("rows without products are taken as arrays")));
        };
        if rows.iter().any(|&row| row >= self.__len__()) {
            return Err(raise(py, &Fault::value("a row is out of range")));
        }
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut group_starts, mut groups) = (vec![0], Vec::new());
        for row in rows {
            let range = self.starts[row]..self.starts[row + 1];
            columns.extend_from_slice(&self.entries.0[range.clone()]);
            values.extend_from_slice(&self.entries.1[range]);
            groups.extend_from_slice(&crossed.groups[crossed.starts[row]..crossed.starts[row + 1]]);
            starts.push(columns.len());
            group_starts.push(groups.len());
        }
        Ok(ParsedRows {
            starts,
            entries: (columns, values),
            width: self.width,
            shown: AtomicBool::new(false),
            pool: BufferPool::default(),
            crossed: Some(Crossed { starts: group_starts, groups, interactions: crossed.interactions.clone() }),
        })
    }

    /// Arrays of the rows, which must be checked from now on.
    #[allow(unsafe_code)]
    fn arrays<'py>(this: &Bound<'py, Self>) -> Arrays<'py> {
        let rows = this.get();
        if rows.crossed.is_some() {
            return rows.made(this.py());
        }
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
