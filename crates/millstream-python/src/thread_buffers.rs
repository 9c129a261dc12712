//! Buffers shared by the calls of one thread, so that nothing is allocated per example.

use std::cell::Cell;

use millstream_core::draft::Draft;
use millstream_core::row::{RowBuffer, Scratch};
use millstream_core::task::Answer;

/// Buffers of one thread. Taken out while in use, so that Python code called in between may use a model.
#[derive(Default)]
pub struct ThreadBuffers {
    pub draft: Draft,
    pub scratch: Scratch,
    pub answer: Answer,
    pub row: RowBuffer,
    /// The unpacked body of an event.
    pub text: Vec<u8>,
}

thread_local! {
    static BUFFERS: Cell<Option<Box<ThreadBuffers>>> = const { Cell::new(None) };
}

/// The buffers of this thread, returned when dropped.
pub struct ThreadBuffersGuard(Option<Box<ThreadBuffers>>);

#[inline]
pub fn thread_buffers() -> ThreadBuffersGuard {
    ThreadBuffersGuard(Some(BUFFERS.take().unwrap_or_default()))
}

/// Work with the buffers of this thread, which is looked up once.
#[inline]
pub fn with_thread_buffers<R>(work: impl FnOnce(&mut ThreadBuffers) -> R) -> R {
    BUFFERS.with(|place| {
        let mut buffers = place.take().unwrap_or_default();
        let result = work(&mut buffers);
        place.set(Some(buffers));
        result
    })
}

impl Drop for ThreadBuffersGuard {
    fn drop(&mut self) {
        BUFFERS.set(self.0.take());
    }
}

impl std::ops::Deref for ThreadBuffersGuard {
    type Target = ThreadBuffers;
    fn deref(&self) -> &ThreadBuffers {
        self.0.as_ref().expect("taken only when dropped")
    }
}

impl std::ops::DerefMut for ThreadBuffersGuard {
    fn deref_mut(&mut self) -> &mut ThreadBuffers {
        self.0.as_mut().expect("taken only when dropped")
    }
}
