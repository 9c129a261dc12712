//! A reply whose body is sent in pieces, as for server-sent events.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::budget::Charge;
use crate::reply::HeaderBlock;

/// Maximum number of unsent bytes for a slow reader. A sender that checks the result of `push` stays far below it.
const MAX_PENDING: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) status: u16,
    pub(crate) headers: HeaderBlock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pending: Vec<u8>,
    /// Bytes that the connection took and did not write yet.
    writing: usize,
    is_ended: bool,
    /// The connection is closed.
    is_gone: bool,
    waker: Option<Waker>,
    charge: Charge,
}

/// The next action of a connection.
pub(crate) enum Next {
    Write(Vec<u8>),
    Finish,
    Wait,
}

impl EventStream {
    pub(crate) fn new(status: u16, headers: HeaderBlock, charge: Charge) -> Self {
        let state =
            State { pending: Vec::new(), writing: 0, is_ended: false, is_gone: false, waker: None, charge };
        EventStream { status, headers, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Append data. Returns the bytes that wait, these included; none if the connection is closed, or if the reader
    /// is so slow that it must be closed.
    pub(crate) fn push(&self, data: &[u8]) -> Option<usize> {
        let mut state = self.lock();
        if state.is_gone || state.is_ended {
            return None;
        }
        let waiting = state.pending.len() + state.writing + data.len();
        if waiting > MAX_PENDING || !state.charge.set(waiting) {
            state.is_gone = true;
        } else {
            state.pending.extend_from_slice(data);
        }
        let is_gone = state.is_gone;
        wake(state);
        (!is_gone).then_some(waiting)
    }

    /// Close the connection after the data that waits.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_ended = true;
        wake(state);
    }

    /// The connection is closed.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.is_gone = true;
        state.pending = Vec::new();
        state.writing = 0;
        // Fewer bytes are always allowed.
        let _ = state.charge.set(0);
    }

    /// The next step of the connection, which wrote everything that it took before.
    pub(crate) fn next(&self, waker: &Waker) -> Next {
        let mut state = self.lock();
        state.writing = 0;
        if state.is_gone {
            return Next::Finish;
        }
        let data = std::mem::take(&mut state.pending);
        state.writing = data.len();
        let _ = state.charge.set(data.len());
        if !data.is_empty() {
            return Next::Write(data);
        }
        if state.is_ended {
            return Next::Finish;
        }
        state.waker = Some(waker.clone());
        Next::Wait
    }

    /// Set how many bytes the connection has still to write, and the task to wake.
    pub(crate) fn set_writing(&self, bytes: usize, waker: &Waker) {
        let mut state = self.lock();
        state.writing = bytes;
        state.waker = Some(waker.clone());
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().is_gone
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    if let Some(waker) = state.waker.take() {
        drop(state);
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    fn stream() -> EventStream {
        EventStream::new(200, HeaderBlock::constant(""), Charge::none(&Budget::new(usize::MAX)))
    }

    #[test]
    fn pieces_are_joined_until_they_are_written() {
        let stream = stream();
        assert_eq!(stream.push(b"ab"), Some(2));
        assert_eq!(stream.push(b"c"), Some(3));
        assert!(matches!(stream.next(Waker::noop()), Next::Write(data) if data == b"abc"));
        assert_eq!(stream.push(b"d"), Some(4));
        stream.set_writing(1, Waker::noop());
        assert_eq!(stream.push(b""), Some(2));
        stream.end();
        assert_eq!(stream.push(b"e"), None);
        assert!(matches!(stream.next(Waker::noop()), Next::Write(data) if data == b"d"));
        assert!(matches!(stream.next(Waker::noop()), Next::Finish));
    }

    #[test]
    fn a_reader_that_is_too_slow_is_abandoned() {
        let stream = stream();
        assert_eq!(stream.push(&vec![0; MAX_PENDING]), Some(MAX_PENDING));
        assert_eq!(stream.push(b"a"), None);
        assert!(stream.is_gone());
        assert!(matches!(stream.next(Waker::noop()), Next::Finish));
    }
}
