//! Pending events as bytes, for snapshots.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `MILLPEND` |
//! | 4 | format, 1 |
//! | 8 | number of events |
//! | … | the events, from the oldest to the newest |
//! | 4 | CRC-32C of all bytes before |
//!
//! An event is: its key (16 bytes); `seq`, less that of the event before; twice `item`, plus 1 if it has a label; `time`,
//! less that of the event before; `state` (1 byte); and, if it has a label, `label_seq` less `seq`. Fixed numbers are
//! little-endian. Others have 7 bits a byte, the lowest first; those that may be negative are zigzag coded. Typical
//! events take 20 to 24 bytes. Equal content gives equal bytes, whatever was removed before.

use super::event_key::EventKey;
use super::pending_events::{Pending, PendingEvents};
use crate::fault::{Fault, Result};

const MAGIC: &[u8; 8] = b"MILLPEND";
const FORMAT: u32 = 1;
const HEADER: usize = 20;
/// The bytes of the shortest event.
const SHORTEST: usize = 20;

impl PendingEvents {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.len() * (SHORTEST + 4) + 4);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&(self.len() as u64).to_le_bytes());
        let (mut seq, mut time) = (0, 0);
        for (key, event) in self.iter() {
            key.0.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            push(&mut bytes, event.seq - seq);
            push(&mut bytes, (u64::from(event.item) << 1) | u64::from(event.label_seq != 0));
            push(&mut bytes, zigzag(event.time.wrapping_sub(time)));
            bytes.push(event.state);
            if event.label_seq != 0 {
                push(&mut bytes, zigzag(event.label_seq.wrapping_sub(event.seq) as i64));
            }
            (seq, time) = (event.seq, event.time);
        }
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.get(..8) != Some(MAGIC) {
            return Err(invalid("they do not begin with MILLPEND"));
        }
        let truncated = || invalid("they are truncated");
        let format = bytes.get(8..12).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
        let format = format.ok_or_else(truncated)?;
        if format != FORMAT {
            return Err(invalid(format!("their format is {format}, this version reads format {FORMAT}")));
        }
        let (body, checksum) =
            bytes.split_last_chunk::<4>().map(|(body, sum)| (body, *sum)).ok_or_else(truncated)?;
        if body.len() < HEADER {
            return Err(truncated());
        }
        if crc32c::crc32c(body).to_le_bytes() != checksum {
            return Err(invalid("their checksum does not match"));
        }
        let mut fields = Fields(&body[12..]);
        let count = u64::from_le_bytes(fields.fixed().ok_or_else(truncated)?);
        if count > (body.len() - HEADER) as u64 / SHORTEST as u64 {
            return Err(truncated());
        }
        let mut pending = PendingEvents::with_capacity(count as usize);
        let (mut seq, mut time) = (0, 0);
        for _ in 0..count {
            let (key, event) = fields.event(seq, time).ok_or_else(|| invalid("an event is damaged"))?;
            (seq, time) = (event.seq, event.time);
            match pending.add(key, event) {
                Ok(true) => {}
                Ok(false) => return Err(invalid(format!("the event of record {seq} is a duplicate"))),
                Err(fault) => return Err(invalid(fault.message())),
            }
        }
        match fields.0.is_empty() {
            true => Ok(pending),
            false => Err(invalid("there are bytes after the last event")),
        }
    }
}

fn invalid(what: impl std::fmt::Display) -> Fault {
    Fault::state(format!("the saved pending events are not valid: {what}"))
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The bytes that are not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed()?;
            let bits = u64::from(byte & 0x7f);
            // Beyond 64 bits, or longer than needed: `push` writes neither.
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn event(&mut self, seq: u64, time: i64) -> Option<(EventKey, Pending)> {
        let key = EventKey([u64::from_le_bytes(self.fixed()?), u64::from_le_bytes(self.fixed()?)]);
        let seq = seq.checked_add(self.number()?)?;
        let item = self.number()?;
        let time = time.wrapping_add(self.signed()?);
        let [state] = self.fixed()?;
        let label_seq = match item & 1 {
            0 => 0,
            _ => seq.wrapping_add(self.signed()? as u64),
        };
        let item = u32::try_from(item >> 1).ok()?;
        Some((key, Pending { seq, item, time, state, label_seq }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> PendingEvents {
        let mut pending = PendingEvents::default();
        let events = [
            (0, 0, i64::MIN, 0, 0),
            (1, 0, -5, 1, u64::MAX),
            (1, u32::MAX, 0, 255, 1),
            (300, 7, 1_700_000_000_000, 3, 299),
            (u64::MAX, 1, i64::MAX, 9, 2),
        ];
        for (index, (seq, item, time, state, label_seq)) in events.into_iter().enumerate() {
            let event = Pending { seq, item, time, state, label_seq };
            assert!(pending.add(EventKey::of_text(&format!("event {index}")), event).unwrap());
        }
        pending
    }

    #[test]
    fn extremes_come_back() {
        let (pending, bytes) = (some(), some().to_bytes());
        let again = PendingEvents::from_bytes(&bytes).unwrap();
        assert!(again.iter().eq(pending.iter()));
        assert_eq!(again.to_bytes(), bytes);
        let empty = PendingEvents::default().to_bytes();
        assert_eq!((empty.len(), PendingEvents::from_bytes(&empty).unwrap().len()), (HEADER + 4, 0));
    }

    #[test]
    fn equal_content_gives_equal_bytes() {
        let mut pending = PendingEvents::default();
        for seq in 0..50_000 {
            pending
                .add(
                    EventKey::of_bytes(&[0, 1, 2]),
                    Pending { seq, item: 0, time: i64::MIN, state: 0, label_seq: 0 },
                )
                .unwrap();
            pending.pop();
        }
        for (key, event) in some().iter() {
            pending.add(key, event).unwrap();
        }
        assert_eq!(pending.to_bytes(), some().to_bytes());
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused() {
        let bytes = some().to_bytes();
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let message = PendingEvents::from_bytes(&damaged).unwrap_err().to_string();
            assert!(message.starts_with("the saved pending events are not valid: "), "{message}");
        }
        for length in 0..bytes.len() {
            assert!(PendingEvents::from_bytes(&bytes[..length]).is_err());
        }
    }

    /// Bytes with the right checksum, made by another program.
    #[test]
    fn forged_bytes_are_refused() {
        let forged = |count: u64, events: &[u8]| {
            let mut bytes = [&MAGIC[..], &FORMAT.to_le_bytes(), &count.to_le_bytes(), events].concat();
            let checksum = crc32c::crc32c(&bytes);
            bytes.extend_from_slice(&checksum.to_le_bytes());
            PendingEvents::from_bytes(&bytes).map(|pending| pending.len()).map_err(|fault| fault.to_string())
        };
        let event = |key: u8, rest: &[u8]| [&[key; 16], rest].concat();
        let (one, two) = (event(1, &[5, 0, 0, 0]), event(2, &[1, 0, 0, 0]));
        assert_eq!(forged(2, &[&one[..], &two].concat()), Ok(2));
        let says = |result: std::result::Result<usize, String>, words: &str| {
            let message = result.unwrap_err();
            assert!(message.contains(words), "{message}");
        };
        says(forged(u64::MAX, &one), "truncated");
        says(forged(1, &[&one[..], &two].concat()), "bytes after the last event");
        says(forged(2, &[&one[..], &event(1, &[1, 0, 0, 0])].concat()), "the event of record 6 is a duplicate");
        says(forged(2, &[&one[..], &event(2, &[0, 0, 0, 0])].concat()), "log order");
        says(forged(2, &[&one[..], &event(2, &[1, 0, 1, 0])].concat()), "log order");
        says(forged(1, &event(1, &[0x80, 0, 0, 0])), "damaged");
        says(forged(1, &event(1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0])), "damaged");
        says(forged(1, &event(1, &[0, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0])), "damaged");
        says(forged(1, &event(1, &[0, 1, 0, 0])), "damaged");
    }
}
