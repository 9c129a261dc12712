//! `millstream._core.EventQueue`: events that were predicted without Python, on their way to the log.
//!
//! The log thread waits here, for these events and for the records that Python proposes. It takes all events at once.
//! Their ids stay in flight until their group is in the state, so that a repeated request finds them.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use millstream_core::Fault;
use pyo3::prelude::*;

use super::event_group::EventGroup;
use super::event_id::EventId;
use super::pending_events::PendingEvents;
use crate::errors::raise;

/// How long an event may wait for others to be written with it. Each commit needs one disk sync, whatever its size.
const LINGER: Duration = Duration::from_millis(5);
/// Number of events that triggers an immediate commit.
const MANY: usize = 4096;
/// Maximum number of bytes of waiting bodies.
const MOST_BYTES: usize = 256 << 20;
/// How long a wait goes on before it looks for signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(200);

/// The ids of events by stream.
pub type Ids = HashSet<(u32, EventId)>;

#[derive(Debug)]
pub struct Event {
    pub stream: u32,
    pub id: EventId,
    pub body: String,
}

/// The result of adding an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It will be written unless a failure occurs.
    Stored,
    /// It is lost, or will be if the disk stays full.
    NotStored,
    /// An event with this id is known.
    Repeated,
}

#[derive(Debug)]
struct State {
    events: Vec<Event>,
    ids: Ids,
    bytes: usize,
    /// When the first of the events arrived.
    since: Instant,
    /// The ids of the group that is being written.
    taken: Option<Arc<Ids>>,
    /// The ids of events that Python proposed.
    proposed: Ids,
    most: usize,
    /// False while the disk is full.
    is_storing: bool,
    is_closed: bool,
    lost: u64,
    is_notified: bool,
    is_waiting: bool,
}

/// Events that wait for the log thread, and the ids of all events that are not in the state yet.
#[pyclass(frozen, module = "millstream._core")]
#[derive(Debug)]
pub struct EventQueue {
    state: Mutex<State>,
    arrival: Condvar,
}

#[pymethods]
impl EventQueue {
    #[new]
    #[pyo3(signature = (most = 100_000))]
    fn new(most: usize) -> Self {
        let state = State {
            events: Vec::new(),
            ids: Ids::new(),
            bytes: 0,
            since: Instant::now(),
            taken: None,
            proposed: Ids::new(),
            most,
            is_storing: true,
            is_closed: false,
            lost: 0,
            is_notified: false,
            is_waiting: false,
        };
        EventQueue { state: Mutex::new(state), arrival: Condvar::new() }
    }

    /// Wait up to `timeout` seconds for events or for `notify`.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<()> {
        let message = || format!("EventQueue: timeout must be a number of seconds, got {timeout}");
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|_| raise(py, &Fault::value(message())))?;
        let started = Instant::now();
        loop {
            let left = timeout.saturating_sub(started.elapsed());
            if py.detach(|| self.wait_once(left.min(BETWEEN_SIGNALS))) || left <= BETWEEN_SIGNALS {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// End the present or the next wait.
    fn notify(&self) {
        let mut state = self.lock();
        state.is_notified = true;
        self.wake(&state);
    }

    /// Take all events as records from number `first` on, at a time; None if there are none. With `packs`, bodies with
    /// long numbers are packed.
    #[pyo3(signature = (seed, first, time, packs = false))]
    fn take(&self, py: Python<'_>, seed: u32, first: i64, time: i64, packs: bool) -> Option<EventGroup> {
        let mut state = self.lock();
        if state.events.is_empty() {
            return None;
        }
        // Groups have about the same size.
        let room = Vec::with_capacity(state.events.len().min(MANY));
        let events = std::mem::replace(&mut state.events, room);
        let room = Ids::with_capacity(state.ids.len().min(MANY));
        let ids = Arc::new(std::mem::replace(&mut state.ids, room));
        let former = state.taken.replace(ids.clone());
        state.bytes = 0;
        drop(state);
        drop(former);
        Some(py.detach(|| EventGroup::new(events, ids, packs, seed, first, time)))
    }

    /// The group that was taken is in the state, or it is lost.
    fn finish(&self) {
        let taken = self.lock().taken.take();
        // Thousands of ids are freed without the lock.
        drop(taken);
    }

    /// Append an event that Python predicted; `pending` tells whether the state has an event with this id, if the client
    /// chose it. Returns whether it will be stored; None if an event with this id is known or may be.
    #[pyo3(signature = (stream, id, body, pending = None))]
    fn add(&self, stream: u32, id: &str, body: &str, pending: Option<&PendingEvents>) -> Option<bool> {
        let is_known = pending.map(|pending| |id: &EventId| pending.has(id.key()).unwrap_or(true));
        match self.push(Event { stream, id: EventId::of_text(id), body: body.into() }, is_known) {
            Pushed::Repeated => None,
            Pushed::Stored => Some(true),
            Pushed::NotStored => Some(false),
        }
    }

    /// Remember the id of an event that Python proposes. False if an event with this id is known or may be; `pending`
    /// tells whether the state has one.
    #[pyo3(signature = (stream, id, pending = None))]
    fn add_proposed(&self, stream: u32, id: &str, pending: Option<&PendingEvents>) -> bool {
        let id = (stream, EventId::of_text(id));
        let mut state = self.lock();
        if state.is_in_flight(&id) || pending.is_some_and(|pending| pending.has(id.1.key()).unwrap_or(true)) {
            return false;
        }
        state.proposed.insert(id)
    }

    /// A proposed event is in the state, or it is lost.
    fn remove_proposed(&self, stream: u32, id: &str) {
        self.lock().proposed.remove(&(stream, EventId::of_text(id)));
    }

    fn is_in_flight(&self, stream: u32, id: &str) -> bool {
        self.lock().is_in_flight(&(stream, EventId::of_text(id)))
    }

    /// Whether events will probably be stored: False while the disk is full.
    fn set_storing(&self, storing: bool) {
        self.lock().is_storing = storing;
    }

    /// Refuse further events.
    fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Number of events refused since the last call.
    fn take_lost(&self) -> u64 {
        std::mem::take(&mut self.lock().lost)
    }

    /// Number of events that are not in the state yet.
    #[getter]
    fn in_flight(&self) -> usize {
        let state = self.lock();
        state.ids.len() + state.proposed.len() + state.taken.as_ref().map_or(0, |taken| taken.len())
    }

    /// Number of events that wait.
    #[getter]
    fn waiting(&self) -> usize {
        self.lock().events.len()
    }
}

impl EventQueue {
    /// Every state between two statements is valid, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A wake-up is a system call, so it is made only for a thread that sleeps.
    fn wake(&self, state: &State) {
        if state.is_waiting {
            self.arrival.notify_one();
        }
    }

    /// Append an event. If its id is a client's, `is_known` tells whether the state has it; it is called under the
    /// lock, so that an event cannot move from the queue to the state in between.
    pub fn push(&self, event: Event, is_known: Option<impl FnOnce(&EventId) -> bool>) -> Pushed {
        let mut state = self.lock();
        let id = (event.stream, event.id.clone());
        if is_known.is_some_and(|is_known| state.is_in_flight(&id) || is_known(&id.1)) {
            return Pushed::Repeated;
        }
        if state.is_closed || state.events.len() >= state.most || state.bytes + event.body.len() > MOST_BYTES {
            state.lost += 1;
            return Pushed::NotStored;
        }
        state.bytes += event.body.len();
        state.events.push(event);
        state.ids.insert(id);
        match state.events.len() {
            1 => {
                state.since = Instant::now();
                self.wake(&state);
            }
            MANY => self.wake(&state),
            _ => {}
        }
        if state.is_storing {
            Pushed::Stored
        } else {
            Pushed::NotStored
        }
    }

    /// Whether there is something to do within a time.
    fn wait_once(&self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.is_notified) || state.events.len() >= MANY {
                return true;
            }
            let now = Instant::now();
            let due = if state.events.is_empty() { end } else { end.min(state.since + LINGER) };
            let left = due.saturating_duration_since(now);
            if left.is_zero() {
                return !state.events.is_empty();
            }
            state.is_waiting = true;
            state = self.arrival.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.is_waiting = false;
        }
    }
}

impl State {
    fn is_in_flight(&self, id: &(u32, EventId)) -> bool {
        self.ids.contains(id)
            || self.proposed.contains(id)
            || self.taken.as_ref().is_some_and(|taken| taken.contains(id))
    }
}
