//! The id of an event as a key of 128 bits.

use siphasher::sip128::SipHasher13;

/// The key of an id: SipHash-1-3 with 128 bits of output and a key of zeros, over a letter for the kind of the id and
/// its bytes. It is part of the snapshot format and never changes. Two ids can have the same key in principle, so the
/// caller compares the id after reading the event from the log.
///
/// A UUID has one key as text (lower case, with hyphens) and as its 16 bytes, which is how the log stores it:
/// `u` and 16 bytes. Any other text is `s` and UTF-8, and any other bytes are `b` and the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKey(pub(super) [u64; 2]);

impl EventKey {
    pub fn of_text(text: &str) -> Self {
        match uuid(text) {
            Some(bytes) => hashed(b'u', &bytes),
            None => hashed(b's', text.as_bytes()),
        }
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        hashed(if bytes.len() == 16 { b'u' } else { b'b' }, bytes)
    }
}

fn hashed(letter: u8, bytes: &[u8]) -> EventKey {
    let mut short = [0; 48];
    let hasher = SipHasher13::new();
    let hash = match short.get_mut(..=bytes.len()) {
        Some(buffer) => {
            buffer[0] = letter;
            buffer[1..].copy_from_slice(bytes);
            hasher.hash(buffer)
        }
        None => hasher.hash(&[&[letter], bytes].concat()),
    };
    EventKey([hash.h1, hash.h2])
}

/// The bytes of a UUID in its canonical form: lower case, with hyphens.
pub fn uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (place, &letter) in text.iter().enumerate() {
        if matches!(place, 8 | 13 | 18 | 23) {
            if letter != b'-' {
                return None;
            }
            continue;
        }
        let digit = match letter {
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'f' => letter - b'a' + 10,
            _ => return None,
        };
        bytes[digits / 2] |= digit << (4 * (1 - digits % 2));
        digits += 1;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_one_key() {
        let bytes =
            [0x01, 0x90, 0xab, 0xcd, 0xef, 0x12, 0x73, 0x45, 0x86, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x12, 0x34];
        let text = "0190abcd-ef12-7345-8678-9abcdef01234";
        assert_eq!(EventKey::of_text(text), EventKey::of_bytes(&bytes));
        for other in ["0190ABCD-ef12-7345-8678-9abcdef01234", "0190abcd-ef12-7345-8678-9abcdef0123-", &text[1..]] {
            assert_ne!(EventKey::of_text(other), EventKey::of_bytes(&bytes), "{other}");
        }
    }

    #[test]
    fn kinds_of_ids_differ_and_lengths_do_not_matter() {
        assert_ne!(EventKey::of_text("a"), EventKey::of_bytes(b"a"));
        for length in [0, 1, 15, 16, 46, 47, 48, 49, 128] {
            let id = vec![b'x'; length];
            let letter = if length == 16 { b'u' } else { b'b' };
            let hash = SipHasher13::new().hash(&[&[letter], &id[..]].concat());
            assert_eq!(EventKey::of_bytes(&id), EventKey([hash.h1, hash.h2]));
        }
    }

    /// Snapshots contain keys: these numbers may never change.
    #[test]
    fn keys_are_stable() {
        assert_eq!(EventKey::of_text("order-1").0, [6_471_354_335_881_298_757, 11_576_909_708_599_680_815]);
    }
}
