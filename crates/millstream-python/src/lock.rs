//! A lock around what a compiled object holds: readers wait a few milliseconds at most, however long a batch takes.
//!
//! A writer has a session, and other writers wait until it ends. Within a session the value is locked for one block of
//! rows at a time. Between blocks, readers that wait are let in first. So a reader sees the value after some number of
//! whole rows of a batch, never within a row.
//!
//! A process that was forked while another thread held a lock can never get it: the thread is not there to give it back,
//! and it may have left a row half learned. Then an error is raised instead of waiting for ever.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::{Duration, Instant};

use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, RwLockExt};

use crate::errors::raise;

/// How many times this process and those it was forked from have been forked.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Called in a process that was just forked.
#[pyfunction]
pub fn _forked() {
    crate::serving::note_fork();
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How long a block should take once a reader has had to wait, and before.
const SHARED: Duration = Duration::from_millis(2);
const ALONE: Duration = Duration::from_millis(10);
/// How long a writer waits between blocks for readers to come in.
const PATIENCE: Duration = Duration::from_millis(2);
/// How long a thread without the GIL, which has others to serve, waits for a writer.
const DETACHED: Duration = Duration::from_micros(100);
/// Rows of the first block, before anything was measured.
const FIRST_BLOCK: usize = 64;

pub struct Lock<T> {
    value: RwLock<T>,
    session: Mutex<()>,
    /// Whether a session is under way. Looked at by a writer that has locked the value: a session that locked it before
    /// is seen then.
    busy: AtomicBool,
    /// Readers that wait for the value.
    waiting: AtomicUsize,
    /// Whether a reader has ever had to wait.
    shared: AtomicBool,
    /// `FORKS` when the value was last locked for writing: then no thread of a parent had it locked.
    forks: AtomicU32,
    /// `FORKS` when the last session began.
    session_forks: AtomicU32,
    /// Rows that a block had lately.
    pace: AtomicUsize,
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        Lock {
            value: RwLock::new(value),
            session: Mutex::default(),
            busy: AtomicBool::default(),
            waiting: AtomicUsize::default(),
            shared: AtomicBool::default(),
            forks: AtomicU32::new(FORKS.load(Ordering::Relaxed)),
            session_forks: AtomicU32::default(),
            pace: AtomicUsize::default(),
        }
    }
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Lock::new(T::default())
    }
}

/// A value that is locked for writing until this is dropped.
pub struct WriteGuard<'a, T> {
    value: RwLockWriteGuard<'a, T>,
    _session: Option<MutexGuard<'a, ()>>,
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// The right to change a value block by block, which other writers wait for.
pub struct Session<'a, T> {
    pub blocks: Blocks<'a, T>,
    _session: MutexGuard<'a, ()>,
}

impl<T> Drop for Session<'_, T> {
    fn drop(&mut self) {
        self.blocks.lock.busy.store(false, Ordering::Release);
    }
}

impl<T: Send + Sync> Session<'_, T> {
    /// The value, locked for one short change, with the GIL.
    pub fn write(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, T>> {
        self.blocks.lock.write_value(py)
    }
}

/// Changes a value block by block, while a session lasts.
pub struct Blocks<'a, T> {
    lock: &'a Lock<T>,
    rows: usize,
}

fn broken(py: Python<'_>) -> PyErr {
    raise(py, &Fault::state("this object met an internal error while it changed; reload it, and please report it"))
}

fn orphaned(py: Python<'_>) -> PyErr {
    let message =
        "this object was in use by another thread when the process was forked, and may be inconsistent; \
                   fork while no thread uses it, or send it to the new process by pickle";
    raise(py, &Fault::state(message))
}

impl<T: Send + Sync> Lock<T> {
    /// Call it with the value locked for writing.
    fn note(&self) {
        self.forks.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// In a process that was just forked: find out whether a thread of the parent has the value locked.
    #[cold]
    fn look_after_fork(&self) {
        if let Ok(_value) = self.value.try_write() {
            self.note();
        }
    }

    /// Refuse to wait for a thread of the process that this one was forked from.
    fn check_forks(&self, py: Python<'_>, forks: &AtomicU32) -> PyResult<()> {
        // A thread that has just got the lock may not have noted it yet.
        for _ in 0..20 {
            if forks.load(Ordering::Relaxed) == FORKS.load(Ordering::Relaxed) {
                return Ok(());
            }
            py.detach(|| std::thread::sleep(Duration::from_millis(1)));
        }
        Err(orphaned(py))
    }

    // Inlined, so that the guard stays in registers: through memory it costs a stall of 10 ns per call.
    #[inline(always)]
    pub fn read<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockReadGuard<'a, T>> {
        if self.forks.load(Ordering::Relaxed) != FORKS.load(Ordering::Relaxed) {
            self.look_after_fork();
        }
        match self.value.try_read() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::WouldBlock) => self.wait_to_read(py),
            Err(TryLockError::Poisoned(_)) => Err(broken(py)),
        }
    }

    #[cold]
    fn wait_to_read<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockReadGuard<'a, T>> {
        self.check_forks(py, &self.forks)?;
        self.shared.store(true, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.value.read_py_attached(py);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard.map_err(|_| broken(py))
    }

    /// The value, for threads without the GIL. None if a writer has it for long, or it met an error.
    #[inline]
    pub fn read_detached(&self) -> Option<RwLockReadGuard<'_, T>> {
        match self.value.try_read() {
            Ok(guard) => Some(guard),
            Err(TryLockError::WouldBlock) => self.wait_detached(),
            Err(TryLockError::Poisoned(_)) => None,
        }
    }

    #[cold]
    fn wait_detached(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.shared.store(true, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let mut guard = None;
        while guard.is_none() && started.elapsed() < DETACHED {
            std::thread::yield_now();
            guard = match self.value.try_read() {
                Ok(guard) => Some(guard),
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(_)) => break,
            };
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// The value, for threads without the GIL that may wait for a writer. None if the value is poisoned, or if a thread
    /// of the parent process may have held the lock at the fork.
    pub fn read_blocking(&self) -> Option<RwLockReadGuard<'_, T>> {
        if let Ok(guard) = self.value.try_read() {
            return Some(guard);
        }
        if self.forks.load(Ordering::Relaxed) != FORKS.load(Ordering::Relaxed) {
            return None;
        }
        self.shared.store(true, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.value.read();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard.ok()
    }

    // Inlined, so that the guard stays in registers: through memory it costs a stall of 10 ns per call.
    #[inline(always)]
    pub fn write<'a>(&'a self, py: Python<'_>) -> PyResult<WriteGuard<'a, T>> {
        if let Ok(value) = self.value.try_write() {
            if !self.busy.load(Ordering::Acquire) {
                self.note();
                return Ok(WriteGuard { value, _session: None });
            }
        }
        self.wait_to_write(py)
    }

    #[cold]
    fn wait_to_write<'a>(&'a self, py: Python<'_>) -> PyResult<WriteGuard<'a, T>> {
        let session = self.begin(py)?;
        Ok(WriteGuard { value: self.write_value(py)?, _session: Some(session) })
    }

    fn write_value<'a>(&'a self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'a, T>> {
        let value = match self.value.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => {
                self.check_forks(py, &self.forks)?;
                self.value.write_py_attached(py).map_err(|_| broken(py))?
            }
            Err(TryLockError::Poisoned(_)) => return Err(broken(py)),
        };
        self.note();
        Ok(value)
    }

    fn begin<'a>(&'a self, py: Python<'_>) -> PyResult<MutexGuard<'a, ()>> {
        let guard = match self.session.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::WouldBlock) => {
                self.check_forks(py, &self.session_forks)?;
                self.session.lock_py_attached(py).map_err(|_| broken(py))?
            }
            Err(TryLockError::Poisoned(_)) => return Err(broken(py)),
        };
        self.session_forks.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(guard)
    }

    /// Keep other writers out until the session ends.
    pub fn session<'a>(&'a self, py: Python<'_>) -> PyResult<Session<'a, T>> {
        let guard = self.begin(py)?;
        self.busy.store(true, Ordering::Release);
        let rows = self.pace.load(Ordering::Relaxed);
        let blocks = Blocks { lock: self, rows: if rows == 0 { FIRST_BLOCK } else { rows } };
        let session = Session { blocks, _session: guard };
        // A short change that is under way ends first. Blocks wait for the value without a look at forks.
        drop(self.write_value(py)?);
        Ok(session)
    }
}

impl<T: Send + Sync> Blocks<'_, T> {
    /// The value, locked for one short change. Without the GIL.
    pub fn change<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut guard = self.lock.value.write().ok()?;
        Some(work(&mut guard))
    }

    /// The value, for reading. Without the GIL.
    pub fn look<R>(&self, work: impl FnOnce(&T) -> R) -> Option<R> {
        Some(work(&*self.lock.value.read().ok()?))
    }

    fn aim(&self) -> Duration {
        if self.lock.shared.load(Ordering::Relaxed) {
            SHARED
        } else {
            ALONE
        }
    }

    /// Whether so many rows are expected to take longer.
    pub fn takes_long(&self, rows: usize, time: Duration) -> bool {
        rows as f64 * self.aim().as_secs_f64() > self.rows as f64 * time.as_secs_f64()
    }

    /// How many rows the next block should have.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// `change` with so many rows; adapts the size of the next block to the time that it took, and lets readers in.
    pub fn block<R>(&mut self, rows: usize, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let started = Instant::now();
        let result = self.change(work);
        let taken = started.elapsed().max(Duration::from_nanos(1));
        let fit = rows as f64 * (self.aim().as_secs_f64() / taken.as_secs_f64());
        // By halves and doubles at most: one block may be slow for another reason.
        let (least, most) = ((self.rows / 4).max(1), self.rows.saturating_mul(2).max(2));
        if rows >= self.rows || fit < self.rows as f64 {
            self.rows = (fit as usize).clamp(least, most);
            self.lock.pace.store(self.rows, Ordering::Relaxed);
        }
        let left = Instant::now();
        while self.lock.waiting.load(Ordering::Relaxed) > 0 && left.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        result
    }
}
