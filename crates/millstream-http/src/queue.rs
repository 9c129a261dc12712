//! The queue between the runtime threads and the handler thread.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::request::Request;

/// Requests in order of arrival. One thread takes them.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    arrival: Condvar,
    max_length: usize,
    /// Older requests were answered with a timeout.
    max_age: Duration,
}

#[derive(Debug)]
struct State {
    requests: VecDeque<Request>,
    /// Whether the handler sleeps. A wake-up is a system call, so it is made only in that case.
    is_waiting: bool,
    is_closed: bool,
    /// When the handler took its current requests.
    busy_since: Option<Instant>,
}

impl Queue {
    pub(crate) fn new(max_length: usize, max_age: Duration) -> Self {
        let state = State { requests: VecDeque::new(), is_waiting: false, is_closed: false, busy_since: None };
        Queue { state: Mutex::new(state), arrival: Condvar::new(), max_length, max_age }
    }

    /// Every state between two statements is valid, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Append a request. Returns it if the queue is full.
    pub(crate) fn push(&self, request: Request) -> Result<(), Box<Request>> {
        let mut state = self.lock();
        if state.requests.len() >= self.max_length || state.is_closed {
            return Err(Box::new(request));
        }
        state.requests.push_back(request);
        if std::mem::take(&mut state.is_waiting) {
            drop(state);
            self.arrival.notify_one();
        }
        Ok(())
    }

    /// Up to `most` requests, at once; none if there are none.
    pub(crate) fn take_present(&self, most: usize) -> Vec<Request> {
        let mut state = self.lock();
        self.take_from(&mut state, most)
    }

    /// Up to `most` requests. Waits for the first; none after the timeout, or if the queue is closed.
    pub(crate) fn take(&self, most: usize, timeout: Duration) -> Vec<Request> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let taken = self.take_from(&mut state, most);
            let left = deadline.saturating_duration_since(Instant::now());
            if !taken.is_empty() || state.is_closed || left.is_zero() {
                state.is_waiting = false;
                return taken;
            }
            state.is_waiting = true;
            state = self.arrival.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take_from(&self, state: &mut State, most: usize) -> Vec<Request> {
        self.drop_expired(state);
        let count = most.min(state.requests.len());
        state.busy_since = (count > 0).then(Instant::now);
        state.requests.drain(..count).collect()
    }

    /// Drop requests that were answered with a timeout. Returns since when the handler works on its last group.
    pub(crate) fn sweep(&self) {
        self.drop_expired(&mut self.lock());
    }

    fn drop_expired(&self, state: &mut State) {
        while state.requests.front().is_some_and(|request| request.age() >= self.max_age) {
            state.requests.pop_front();
        }
    }

    pub(crate) fn busy_since(&self) -> Option<Instant> {
        self.lock().busy_since
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().requests.len()
    }

    /// Refuse further requests and wake the handler.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.requests.clear();
        drop(state);
        self.arrival.notify_all();
    }
}
