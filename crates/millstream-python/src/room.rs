//! `millstream._core.Room`: memory for rows that goes round.
//!
//! A block of rows takes megabytes. Freed by the one who learned it they go back to the system, and who parses the next
//! block is given them again page by page.

use std::mem::take;
use std::sync::{Arc, Mutex};

use numpy::ndarray::ArrayView1;
use numpy::PyArray1;
use pyo3::prelude::*;

/// As many blocks are read ahead; more are not kept.
const MOST: usize = 6;

/// The columns and the values of a block.
type Entries = (Vec<u32>, Vec<f64>);

/// Memory of blocks that Python is done with, for those to come, as long as a file is read.
#[pyclass(frozen, module = "millstream._core")]
#[derive(Clone, Default)]
pub struct Room(Arc<Mutex<Vec<Entries>>>);

/// What Python has borrowed; the arrays that show it keep it alive.
#[pyclass(frozen, module = "millstream._core")]
struct Lease {
    entries: Entries,
    room: Room,
}

#[pymethods]
impl Room {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

impl Room {
    /// Memory for so many entries, none of which is there yet.
    pub fn entries(&self, count: usize) -> Entries {
        let kept = self.0.lock().ok().and_then(|mut kept| kept.pop());
        let (mut columns, mut values) = kept.unwrap_or_default();
        columns.reserve(count);
        values.reserve(count);
        (columns, values)
    }

    /// Entries as arrays. When both are gone, their memory is here again.
    #[allow(unsafe_code)]
    pub fn lend<'py>(
        &self,
        py: Python<'py>,
        entries: Entries,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>)> {
        let lease = Bound::new(py, Lease { entries, room: self.clone() })?;
        let (columns, values) = &lease.get().entries;
        // SAFETY: the vectors lie in a frozen object, so that nothing moves, changes or frees them before it is
        // dropped, and each array holds that object as its base.
        Ok(unsafe {
            (
                PyArray1::borrow_from_array(&ArrayView1::from(columns), lease.clone().into_any()),
                PyArray1::borrow_from_array(&ArrayView1::from(values), lease.clone().into_any()),
            )
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (mut columns, mut values) = take(&mut self.entries);
        columns.clear();
        values.clear();
        if let Some(mut kept) = self.room.0.lock().ok().filter(|kept| kept.len() < MOST) {
            kept.push((columns, values));
        }
    }
}
