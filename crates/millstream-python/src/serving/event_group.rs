//! `millstream._core.EventGroup`: the events of one commit as rows of the event store.

use std::ops::Range;
use std::sync::Arc;

use millstream_core::serving::{pack_text, Pending};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};

use super::event_id::EventId;
use super::event_queue::{Event, Ids};
use super::pending_events::{PendingEvents, Tuple};
use super::record_check::{checksum, BYTES, TEXT};

/// The kind of a record of one prediction.
pub const EVENT: u8 = 1;

/// Events with consecutive numbers and one time.
#[pyclass(frozen, module = "millstream._core")]
pub struct EventGroup {
    events: Vec<Event>,
    ids: Arc<Ids>,
    /// By event, the range of its body in `packed`, unless it is stored as text.
    places: Vec<Option<Range<usize>>>,
    packed: Vec<u8>,
    /// By event.
    checksums: Vec<u32>,
    /// The number of the first event.
    #[pyo3(get)]
    first: i64,
    #[pyo3(get)]
    time: i64,
}

impl EventGroup {
    /// `packs` tells whether the store may contain packed bodies.
    pub fn new(events: Vec<Event>, ids: Arc<Ids>, packs: bool, seed: u32, first: i64, time: i64) -> Self {
        let mut packed = Vec::new();
        let places: Vec<_> = events
            .iter()
            .map(|event| {
                let start = packed.len();
                (packs && pack_text(&event.body, &mut packed)).then_some(start..packed.len())
            })
            .collect();
        let checksums = (first..)
            .zip(events.iter().zip(&places))
            .map(|(seq, (event, place))| {
                let id = match &event.id {
                    EventId::Uuid(bytes) => (BYTES, &bytes[..]),
                    EventId::Text(text) => (TEXT, text.as_bytes()),
                };
                let body = match place {
                    Some(place) => (BYTES, &packed[place.clone()]),
                    None => (TEXT, event.body.as_bytes()),
                };
                // No id or body in the queue is too long.
                checksum(seed, seq, EVENT, time, event.stream, id, body).unwrap_or_default()
            })
            .collect();
        EventGroup { events, ids, places, packed, checksums, first, time }
    }
}

#[pymethods]
impl EventGroup {
    /// The rows: seq, kind, time, stream, id, body and checksum.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (kind, time) = (PyInt::new(py, EVENT), PyInt::new(py, self.time));
        let mut stream = (0, PyInt::new(py, 0));
        let mut rows = Vec::with_capacity(self.events.len());
        let stored = self.places.iter().zip(&self.checksums);
        for ((seq, event), (place, &checksum)) in (self.first..).zip(&self.events).zip(stored) {
            if stream.0 != event.stream {
                stream = (event.stream, PyInt::new(py, event.stream));
            }
            let id = match &event.id {
                EventId::Uuid(bytes) => PyBytes::new(py, bytes).into_any(),
                EventId::Text(text) => PyString::new(py, text).into_any(),
            };
            let body = match place {
                Some(place) => PyBytes::new(py, &self.packed[place.clone()]).into_any(),
                None => PyString::new(py, &event.body).into_any(),
            };
            let fields = [
                PyInt::new(py, seq).into_any(),
                kind.clone().into_any(),
                time.clone().into_any(),
                stream.1.clone().into_any(),
                id,
                body,
                PyInt::new(py, checksum).into_any(),
            ];
            rows.push(PyTuple::new(py, fields)?);
        }
        PyList::new(py, rows)
    }

    /// The streams of the events.
    #[getter]
    fn streams(&self) -> Vec<u32> {
        let mut streams: Vec<u32> = Vec::new();
        for event in &self.events {
            if streams.last() != Some(&event.stream) && !streams.contains(&event.stream) {
                streams.push(event.stream);
            }
        }
        streams
    }

    /// Whether an event of a stream has this id.
    fn has(&self, stream: u32, id: &str) -> bool {
        self.ids.contains(&(stream, EventId::of_text(id)))
    }

    /// Add the events of a stream to those that wait for a label; evict the oldest while there are more than `most`.
    /// Returns how many had a new id, and the evicted ones.
    fn add_to(
        &self,
        py: Python<'_>,
        stream: u32,
        pending: &Bound<'_, PendingEvents>,
        most: usize,
    ) -> PyResult<(usize, Vec<Tuple>)> {
        let events = (self.first..).zip(&self.events).filter(|(_, event)| event.stream == stream);
        let events = events.map(|(seq, event)| {
            (event.id.key(), Pending { seq: seq as u64, item: 0, time: self.time, state: 0, label_seq: 0 })
        });
        pending.get().add_events(py, events, most)
    }

    fn __len__(&self) -> usize {
        self.events.len()
    }
}
