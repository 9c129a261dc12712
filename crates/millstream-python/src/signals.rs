//! Long calls answer Ctrl-C: they work on one block of rows after the other, and look for signals in between.
//!
//! The handler of a signal is Python code, so it does not run while a component is locked. A call that changes a copy
//! runs it at once. A call that asks a component only finds out whether Ctrl-C was pressed, and releases the lock first.

use std::time::{Duration, Instant};

use millstream_core::Result;
use pyo3::{ffi, prelude::*};

use crate::errors::OrRaise;
use crate::part::{Guarded, Part};

/// How long a call goes on before it looks for signals, which needs the GIL.
pub const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);
/// How long a block should take.
const BLOCK: Duration = Duration::from_millis(10);
/// Rows of the first block, before anything was measured.
const FIRST_BLOCK: usize = 256;

/// Rows in blocks of about the same time.
struct Blocks {
    from: usize,
    to: usize,
    rows: usize,
}

impl Blocks {
    fn new(rows: usize) -> Self {
        Blocks { from: 0, to: rows, rows: FIRST_BLOCK }
    }

    /// Work on blocks until it is time to look for signals, or to the end.
    fn some(&mut self, work: &mut impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let started = Instant::now();
        let mut begun = started;
        while self.from < self.to {
            let end = self.to.min(self.from.saturating_add(self.rows));
            work(self.from, end)?;
            self.from = end;
            let now = Instant::now();
            if now - started >= BETWEEN_SIGNALS {
                break;
            }
            let taken = (now - begun).max(Duration::from_nanos(1));
            let fit = self.rows as f64 * (BLOCK.as_secs_f64() / taken.as_secs_f64());
            self.rows = (fit as usize).clamp((self.rows / 4).max(1), self.rows.saturating_mul(2));
            begun = now;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.from == self.to
    }
}

/// Call `work` with the first and the end of each block of some rows, without the GIL. Handlers of signals run in
/// between: no component may be locked.
pub fn in_blocks(
    py: Python<'_>,
    rows: usize,
    mut work: impl FnMut(usize, usize) -> Result<()> + Send,
) -> PyResult<()> {
    let mut blocks = Blocks::new(rows);
    loop {
        py.detach(|| blocks.some(&mut work)).or_raise(py)?;
        // After the last row there is nothing to break off.
        if blocks.is_done() {
            return Ok(());
        }
        py.check_signals()?;
    }
}

/// The same while a component is locked: false if Ctrl-C was pressed, for `ask`.
pub fn in_locked_blocks(
    py: Python<'_>,
    rows: usize,
    mut work: impl FnMut(usize, usize) -> Result<()> + Send,
) -> PyResult<bool> {
    let mut blocks = Blocks::new(rows);
    loop {
        py.detach(|| blocks.some(&mut work)).or_raise(py)?;
        if blocks.is_done() {
            return Ok(true);
        }
        if is_interrupted(py) {
            return Ok(false);
        }
    }
}

/// Ask a component about many rows; `work` returns None if Ctrl-C was pressed. If the handler raises no exception, the
/// rows are asked again from the first on: the component may have changed.
pub fn ask<R>(part: &Part, py: Python<'_>, mut work: impl FnMut(&Guarded) -> PyResult<Option<R>>) -> PyResult<R> {
    loop {
        let guarded = part.read(py)?;
        if let Some(result) = work(&guarded)? {
            return Ok(result);
        }
        drop(guarded);
        interrupt(py)?;
    }
}

/// Whether Ctrl-C was pressed; its handler does not run then. Only the main thread is told.
#[allow(unsafe_code)]
fn is_interrupted(_: Python<'_>) -> bool {
    // SAFETY: the GIL is held.
    unsafe { ffi::PyOS_InterruptOccurred() != 0 }
}

/// Run the handler that `is_interrupted` has kept from running.
#[allow(unsafe_code)]
fn interrupt(py: Python<'_>) -> PyResult<()> {
    // SAFETY: the GIL is held.
    unsafe { ffi::PyErr_SetInterrupt() };
    py.check_signals()
}
