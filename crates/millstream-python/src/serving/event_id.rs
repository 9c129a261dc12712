//! Ids of events: as they are stored, and new ones.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use millstream_core::serving::{uuid, EventKey};
use pyo3::prelude::*;

/// An id as the event store keeps it (see `stored_id` in `python/millstream/serve/records.py`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventId {
    /// A lower-case UUID in its usual form.
    Uuid([u8; 16]),
    /// Any other text.
    Text(Box<str>),
}

/// Number of characters of a UUID.
pub const LENGTH: usize = 36;
pub const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl EventId {
    pub fn of_text(text: &str) -> Self {
        match uuid(text) {
            Some(bytes) => EventId::Uuid(bytes),
            None => EventId::Text(text.into()),
        }
    }

    pub fn key(&self) -> EventKey {
        match self {
            EventId::Uuid(bytes) => EventKey::of_bytes(bytes),
            EventId::Text(text) => EventKey::of_text(text),
        }
    }

    /// Append the text of the id. It is not escaped.
    pub fn push_text(&self, out: &mut Vec<u8>) {
        match self {
            EventId::Uuid(bytes) => push_uuid(out, bytes),
            EventId::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// The text of the id.
    pub fn text(&self) -> String {
        let mut out = Vec::with_capacity(LENGTH);
        self.push_text(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Append the canonical form of a UUID.
pub fn push_uuid(out: &mut Vec<u8>, bytes: &[u8; 16]) {
    let mut text = [b'-'; LENGTH];
    let mut place = 0;
    for (index, byte) in bytes.iter().enumerate() {
        place += usize::from(matches!(index, 4 | 6 | 8 | 10));
        text[place] = DIGITS[usize::from(byte >> 4)];
        text[place + 1] = DIGITS[usize::from(byte & 15)];
        place += 2;
    }
    out.extend_from_slice(&text);
}

/// The process, if it was forked: it has the counters and keys of the one that it was forked from.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Call it in a process that was just forked.
pub fn note_fork() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// A new id at a time in milliseconds since 1970. Asking the operating system for random bits takes ten times as long.
#[pyfunction]
pub fn new_id(now: u64) -> String {
    static NEW_IDS: OnceLock<NewIds> = OnceLock::new();
    NEW_IDS.get_or_init(NewIds::default).make(now).text()
}

/// Makes ids with the layout of a UUID of version 7: 48 bits of time in milliseconds, then 74 random bits.
///
/// The random bits are SipHash over a counter and the process, with a key from the operating system.
#[derive(Debug, Default)]
pub struct NewIds {
    key: RandomState,
    count: AtomicU64,
}

impl NewIds {
    pub fn make(&self, milliseconds: u64) -> EventId {
        let count = self.count.fetch_add(2, Ordering::Relaxed);
        let (high, low) = (self.random(count), self.random(count + 1));
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
        bytes[6..8].copy_from_slice(&(0x7000 | (high & 0xfff) as u16).to_be_bytes());
        bytes[8..].copy_from_slice(&(1 << 63 | low >> 2).to_be_bytes());
        EventId::Uuid(bytes)
    }

    fn random(&self, count: u64) -> u64 {
        let mut hasher = self.key.build_hasher();
        hasher.write_u64(count);
        hasher.write_u32(PROCESS.load(Ordering::Relaxed));
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_uuids_become_bytes() {
        let text = "018f3c4e-0000-7abc-8def-0123456789ab";
        let id = EventId::of_text(text);
        assert!(matches!(id, EventId::Uuid(_)));
        assert_eq!(id.text(), text);
        for other in [
            "018F3c4e-0000-7abc-8def-0123456789ab",
            "018f3c4e00007abc8def0123456789ab",
            "018f3c4e-0000-7abc-8def-0123456789a",
            "018f3c4e-0000-7abc-8def00123456789ab",
            "-18f3c4e-0000-7abc-8def-0123456789ab",
            "",
        ] {
            assert_eq!(EventId::of_text(other), EventId::Text(other.into()));
            assert_eq!(EventId::of_text(other).text(), other);
        }
    }

    #[test]
    fn new_ids_are_uuids_of_version_7() {
        let ids = NewIds::default();
        let made: Vec<String> = (0..1000).map(|_| ids.make(0x018f_3c4e_1234).text()).collect();
        for text in &made {
            assert!(text.starts_with("018f3c4e-1234-7"), "{text}");
            assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
            assert_eq!(EventId::of_text(text).text(), *text);
        }
        assert_eq!(made.iter().collect::<std::collections::HashSet<_>>().len(), 1000);
    }
}
