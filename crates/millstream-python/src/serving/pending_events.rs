//! `millstream._core.PendingEvents`: the events of a stream that wait for a label (see `millstream_core::serving`).

use std::hint::black_box;

use millstream_core::serving::{EventKey, Pending, PendingEvents as Core};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::id_range::IdRange;
use crate::errors::{raise, read_text, shown, OrRaise};
use crate::lock::Lock;

/// Number of events that are removed before other threads may run.
const FEW: usize = 1 << 12;
/// Number of events that are looked up together before they are added.
const BLOCK: usize = 32;

/// seq, item, time, state, label_seq
pub type Tuple = (u64, u32, i64, u8, u64);

fn event(pending: Pending) -> Tuple {
    (pending.seq, pending.item, pending.time, pending.state, pending.label_seq)
}

/// The key of a client's id.
struct Id(EventKey);

impl<'py> FromPyObject<'_, 'py> for Id {
    type Error = PyErr;

    fn extract(id: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = id.cast::<PyString>() {
            return Ok(Id(EventKey::of_text(read_text(&text).or_raise(id.py())?)));
        }
        match id.cast::<PyBytes>() {
            Ok(bytes) => Ok(Id(EventKey::of_bytes(bytes.as_bytes()))),
            Err(_) => {
                let message = format!("the id of an event must be a str or bytes, got {}", shown(&id));
                Err(raise(id.py(), &Fault::wrong_type(message)))
            }
        }
    }
}

/// Events in log order that wait for a label. They are found by the 128-bit hash of their id; the caller compares the
/// id in the log. An event is a tuple (seq, item, time, state, label_seq).
#[pyclass(frozen, module = "millstream._core")]
#[derive(Default)]
pub struct PendingEvents {
    lock: Lock<Core>,
}

#[pymethods]
impl PendingEvents {
    #[new]
    fn new() -> Self {
        PendingEvents::default()
    }

    /// Events after an item of a record with a time below `before`, in order, at most `most`.
    fn after(&self, py: Python<'_>, seq: u64, item: u32, before: i64, most: usize) -> PyResult<Vec<Tuple>> {
        let pending = self.lock.read(py)?;
        Ok(pending.after(seq, item, before).take(most).map(event).collect())
    }

    /// Add an event after all others. False if the id is there.
    fn add(&self, py: Python<'_>, id: Id, seq: u64, item: u32, time: i64) -> PyResult<bool> {
        self.add_one(py, id.0, Pending { seq, item, time, state: 0, label_seq: 0 })
    }

    /// Add the items of a batch, numbered from `item` on. For each, False if the id is there.
    #[pyo3(signature = (ids, seq, time, item = 0))]
    fn add_many(&self, py: Python<'_>, ids: Vec<Id>, seq: u64, time: i64, item: u32) -> PyResult<Vec<bool>> {
        if u32::try_from(ids.len()).ok().and_then(|count| item.checked_add(count)).is_none() {
            return Err(raise(py, &Fault::value(format!("a batch can have items up to {}", u32::MAX - 1))));
        }
        // Only the first item can be out of order, and then nothing was added.
        let add = |pending: &mut Core| {
            let items = ids.into_iter().zip(item..);
            items
                .map(|(id, item)| pending.add(id.0, Pending { seq, item, time, state: 0, label_seq: 0 }))
                .collect()
        };
        self.change::<millstream_core::Result<_>>(py, add)?.or_raise(py)
    }

    /// Add the items of a batch of the server's ids; evict the oldest while there are more than `most`. Returns how
    /// many had a new id, and the evicted ones.
    fn add_range(
        &self,
        py: Python<'_>,
        ids: &IdRange,
        seq: u64,
        time: i64,
        most: usize,
    ) -> PyResult<(usize, Vec<Tuple>)> {
        let events = ids
            .each()
            .zip(0..)
            .map(|(id, item)| (EventKey::of_bytes(&id), Pending { seq, item, time, state: 0, label_seq: 0 }));
        self.add_events(py, events, most)
    }

    fn find(&self, py: Python<'_>, id: Id) -> PyResult<Option<Tuple>> {
        Ok(self.found(py, id.0)?.map(event))
    }

    fn find_many(&self, py: Python<'_>, ids: Vec<Id>) -> PyResult<Vec<Option<Tuple>>> {
        let pending = self.lock.read(py)?;
        Ok(ids.into_iter().map(|id| pending.find(id.0).map(event)).collect())
    }

    /// Set the state and the label of an event. False if it is not there.
    fn mark(&self, py: Python<'_>, id: Id, state: u8, label_seq: u64) -> PyResult<bool> {
        self.set(py, id.0, state, label_seq)
    }

    /// Remove an event. False if it is not there.
    fn remove(&self, py: Python<'_>, id: Id) -> PyResult<bool> {
        self.change(py, |pending| pending.remove(id.0))
    }

    /// Remove and return the oldest events with a time before `before`, at most `most` of them.
    fn expire(&self, py: Python<'_>, before: i64, most: usize) -> PyResult<Vec<Tuple>> {
        self.pop_while(py, most, |pending| pending.oldest().is_some_and(|oldest| oldest.time < before))
    }

    /// Remove and return the oldest events until `keep` are left.
    fn evict(&self, py: Python<'_>, keep: usize) -> PyResult<Vec<Tuple>> {
        self.pop_while(py, usize::MAX, |pending| pending.len() > keep)
    }

    /// The oldest event.
    fn oldest(&self, py: Python<'_>) -> PyResult<Option<Tuple>> {
        Ok(self.lock.read(py)?.oldest().map(event))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let guard = self.lock.read(py)?;
        let pending: &Core = &guard;
        let bytes = py.detach(|| pending.to_bytes());
        drop(guard);
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let pending = py.detach(|| Core::from_bytes(data)).or_raise(py)?;
        Ok(PendingEvents { lock: Lock::new(pending) })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock.read(py)?.len())
    }

    /// Bytes in memory.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(size_of::<Self>() + self.lock.read(py)?.memory())
    }
}

impl PendingEvents {
    /// Add events in order, and evict the oldest while there are more than `most`. Returns how many had a new id, and
    /// the evicted ones.
    pub fn add_events(
        &self,
        py: Python<'_>,
        mut events: impl Iterator<Item = (EventKey, Pending)> + Send,
        most: usize,
    ) -> PyResult<(usize, Vec<Tuple>)> {
        let mut guard = self.lock.write(py)?;
        let pending: &mut Core = &mut guard;
        let add = move || {
            let (mut added, mut evicted) = (0, Vec::new());
            let mut block = Vec::with_capacity(BLOCK);
            loop {
                block.clear();
                block.extend(events.by_ref().take(BLOCK));
                if block.is_empty() {
                    return Ok((added, evicted));
                }
                // A large table is not in the processor's cache. Lookups that do not depend on each other wait for
                // memory together; the additions then find their places in the cache.
                black_box(pending.count_known(block.iter().map(|(key, _)| *key)));
                for (key, each) in &block {
                    if pending.add(*key, *each)? {
                        added += 1;
                        while pending.len() > most {
                            evicted.extend(pending.pop().map(event));
                        }
                    }
                }
            }
        };
        py.detach(add).or_raise(py)
    }

    pub fn found(&self, py: Python<'_>, key: EventKey) -> PyResult<Option<Pending>> {
        Ok(self.lock.read(py)?.find(key))
    }

    pub fn has_room(&self, py: Python<'_>, most: usize) -> PyResult<bool> {
        Ok(self.lock.read(py)?.len() < most)
    }

    /// Add an event after all others. False if the id is there.
    pub fn add_one(&self, py: Python<'_>, key: EventKey, event: Pending) -> PyResult<bool> {
        self.change(py, |pending| pending.add(key, event))?.or_raise(py)
    }

    /// Set the state and the label of an event.
    pub fn set(&self, py: Python<'_>, key: EventKey, state: u8, label_seq: u64) -> PyResult<bool> {
        Ok(self.lock.write(py)?.mark(key, state, label_seq))
    }

    /// Whether there is an event with this key, for threads without the GIL. None if the check would have to wait.
    pub fn has(&self, key: EventKey) -> Option<bool> {
        Some(self.lock.read_detached()?.find(key).is_some())
    }

    /// Change the events. Other threads may run meanwhile only if it will take long: afterwards this one may have to
    /// wait for the GIL.
    fn change<T: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut Core) -> T + Send) -> PyResult<T> {
        let mut guard = self.lock.write(py)?;
        let pending: &mut Core = &mut guard;
        Ok(match pending.will_rebuild() {
            true => py.detach(|| change(pending)),
            false => change(pending),
        })
    }

    fn pop_while(&self, py: Python<'_>, most: usize, goes: impl Fn(&Core) -> bool + Sync) -> PyResult<Vec<Tuple>> {
        let mut guard = self.lock.write(py)?;
        let pending: &mut Core = &mut guard;
        let mut popped = Vec::new();
        let mut pop = |most: usize| {
            while popped.len() < most && goes(pending) {
                popped.extend(pending.pop().map(event));
            }
            popped.len() == most
        };
        if pop(most.min(FEW)) && most > FEW {
            py.detach(|| pop(most));
        }
        Ok(popped)
    }
}
