//! Ids of events: as they are stored, and new ones.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_core::serving::EventKey;

/// An id as the event store keeps it (see `stored_id` in `python/millstream/serve/records.py`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventId {
    /// A lower-case UUID in its usual form.
    Uuid([u8; 16]),
    /// Any other text.
    Text(Box<str>),
}

/// Where a UUID has hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

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
        let bytes = match self {
            EventId::Uuid(bytes) => bytes,
            EventId::Text(text) => return out.extend_from_slice(text.as_bytes()),
        };
        for (index, byte) in bytes.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                out.push(b'-');
            }
            out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
        }
    }

    /// The text of the id.
    pub fn text(&self) -> String {
        let mut out = Vec::with_capacity(36);
        self.push_text(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// The bytes of a UUID in its canonical form.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (index, &letter) in text.iter().enumerate() {
        let digit = match letter {
            b'-' if HYPHENS.contains(&index) => continue,
            b'0'..=b'9' if !HYPHENS.contains(&index) => letter - b'0',
            b'a'..=b'f' if !HYPHENS.contains(&index) => letter - b'a' + 10,
            _ => return None,
        };
        bytes[digits / 2] = bytes[digits / 2] << 4 | digit;
        digits += 1;
    }
    Some(bytes)
}

/// Makes ids with the layout of a UUID of version 7: 48 bits of time in milliseconds, then 74 random bits.
///
/// The random bits are SipHash over a counter, with a key from the operating system.
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
