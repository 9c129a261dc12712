//! Buffers that calls of one thread share, so that nothing is allocated per example.

use std::cell::Cell;

use millstream_core::draft::Draft;
use millstream_core::row::{RowBuffer, Scratch};
use millstream_core::task::Answer;

/// Buffers of one thread. Taken out while in use, so that Python code called in between may use a model.
#[derive(Default)]
pub struct Bench {
    pub draft: Draft,
    pub scratch: Scratch,
    pub answer: Answer,
    pub row: RowBuffer,
}

thread_local! {
    static BENCH: Cell<Option<Box<Bench>>> = const { Cell::new(None) };
}

/// The bench of this thread, given back when dropped.
pub struct BenchGuard(Option<Box<Bench>>);

#[inline]
pub fn borrow_bench() -> BenchGuard {
    BenchGuard(Some(BENCH.take().unwrap_or_default()))
}

impl Drop for BenchGuard {
    fn drop(&mut self) {
        BENCH.set(self.0.take());
    }
}

impl std::ops::Deref for BenchGuard {
    type Target = Bench;
    fn deref(&self) -> &Bench {
        self.0.as_ref().expect("taken only when dropped")
    }
}

impl std::ops::DerefMut for BenchGuard {
    fn deref_mut(&mut self) -> &mut Bench {
        self.0.as_mut().expect("taken only when dropped")
    }
}
