//! MurmurHash3, 32 bits (Austin Appleby, 2011, in the public domain): what Vowpal Wabbit and scikit-learn hash with.

#[inline(always)]
fn scrambled(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[inline(always)]
fn turned(hash: u32) -> u32 {
    hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline(always)]
fn finished(hash: u32, length: usize) -> u32 {
    let hash = hash ^ length as u32;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

pub fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let mut hash = seed;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        hash = turned(hash ^ scrambled(u32::from_le_bytes(*word)));
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    hash ^= scrambled(u32::from_le_bytes(last));
    finished(hash, bytes.len())
}

/// The longest name that `murmur3_short` takes: one whose third piece is not whole, so that it is never turned.
pub const SHORT: usize = 11;

/// Which bits of three four-byte pieces belong to a name, by its length.
const KEPT: [[u32; 3]; 16] = {
    let mut kept = [[0; 3]; 16];
    let mut length = 0;
    while length < 16 {
        let mut byte = 0;
        while byte < length && byte < SHORT {
            kept[length][byte / 4] |= 0xff << (8 * (byte % 4));
            byte += 1;
        }
        length += 1;
    }
    kept
};

/// The hash of the first `length` of these bytes. Choices instead of branches: the lengths of words in a text cannot be
/// predicted.
#[inline(always)]
pub fn murmur3_short(bytes: &[u8; 12], length: usize, seed: u32) -> u32 {
    let kept = &KEPT[length % KEPT.len()];
    let pieces = bytes.as_chunks::<4>().0;
    // Nothing but zeros scrambles to 0, so that a piece beyond the end leaves the hash as it is.
    let piece = |place: usize| scrambled(u32::from_le_bytes(pieces[place]) & kept[place]);
    let mut hash = seed ^ piece(0);
    hash = if length >= 4 { turned(hash) } else { hash };
    hash ^= piece(1);
    hash = if length >= 8 { turned(hash) } else { hash };
    finished(hash ^ piece(2), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the reference implementation's own tests and Wikipedia's table give.
    #[test]
    fn published_values() {
        for (text, seed, hash) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("test", 0, 0xba6b_d213),
            ("test", 0x9747_b28c, 0x704b_81dc),
            ("Hello, world!", 0, 0xc036_3e43),
            ("The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), hash, "{text:?}");
        }
    }

    #[test]
    fn a_short_name_and_its_bytes_hash_the_same() {
        let bytes = *b"ab\xffdefgh\0j l";
        for length in 0..=SHORT {
            assert_eq!(murmur3_short(&bytes, length, 77), murmur3(&bytes[..length], 77));
        }
    }
}
