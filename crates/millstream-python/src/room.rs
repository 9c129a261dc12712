//! `millstream._core.Room`: memory for rows that goes round, and rows that need not be looked through.
//!
//! A block of rows takes megabytes. Freed by the one who learned it they go back to the system, and who parses the next
//! block is given them again page by page.
//!
//! Rows are lent as a parser left them, which has checked each line, in arrays that nobody can write to. So whoever is
//! given such arrays again, whole, knows that the rows are sound.

use std::mem::take;
use std::sync::{Arc, Mutex};

use millstream_core::text::Block;
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
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
    starts: Vec<i64>,
    entries: Entries,
    /// One more than the highest column.
    width: usize,
    room: Room,
}

/// Rows as arrays: where they begin, their columns, their values.
pub type Arrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

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

    /// Rows as arrays that cannot be written to. When all are gone, the memory of columns and values is here again.
    #[allow(unsafe_code)]
    pub fn lend<'py>(&self, py: Python<'py>, block: Block) -> PyResult<Arrays<'py>> {
        let starts = block.starts.iter().map(|&start| start as i64).collect();
        let entries = (block.indices, block.values);
        let lease = Bound::new(py, Lease { starts, entries, width: block.width, room: self.clone() })?;
        let Lease { starts, entries: (columns, values), .. } = lease.get();
        // SAFETY: the vectors lie in a frozen object, so that nothing moves, changes or frees them before it is
        // dropped, and each array holds that object as its base.
        let (starts, columns, values) = unsafe {
            (
                PyArray1::borrow_from_array(&ArrayView1::from(starts), lease.clone().into_any()),
                PyArray1::borrow_from_array(&ArrayView1::from(columns), lease.clone().into_any()),
                PyArray1::borrow_from_array(&ArrayView1::from(values), lease.clone().into_any()),
            )
        };
        starts.try_readwrite()?.make_nonwriteable();
        columns.try_readwrite()?.make_nonwriteable();
        values.try_readwrite()?.make_nonwriteable();
        Ok((starts, columns, values))
    }
}

/// One more than the highest column of rows that are shown as a parser left them: columns ascend within each, and values
/// are finite. None for those that were cut, copied or made elsewhere, which have to be looked through.
pub fn lent_width<'py>(
    starts: &Bound<'py, PyAny>,
    columns: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> Option<usize> {
    let owner = |array: &Bound<'py, PyAny>| array.getattr("base").ok()?.cast_into::<Lease>().ok();
    let lease = owner(columns)?;
    if !(owner(starts)?.is(&lease) && owner(values)?.is(&lease)) {
        return None;
    }
    let Lease { starts: all, entries, width, .. } = lease.get();
    let whole = is_whole(starts, all) && is_whole(columns, &entries.0) && is_whole(values, &entries.1);
    whole.then_some(*width)
}

/// Whether an array shows all of a vector, in its order.
fn is_whole<T: Element>(array: &Bound<'_, PyAny>, vector: &[T]) -> bool {
    let Some(array) = array.cast::<PyArray1<T>>().ok().and_then(|array| array.try_readonly().ok()) else {
        return false;
    };
    array.as_slice().is_ok_and(|shown| std::ptr::eq(shown, vector))
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
