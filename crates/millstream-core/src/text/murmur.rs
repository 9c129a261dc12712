//! MurmurHash3, 32 bits (Austin Appleby, 2011, in the public domain): the hash of Vowpal Wabbit and scikit-learn.

#[inline(always)]
fn scrambled(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[inline(always)]
fn turned(hash: u32) -> u32 {
    hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline(always)]
fn finished(hash: u32, length: u32) -> u32 {
    let hash = hash ^ length;
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
    finished(hash, bytes.len() as u32)
}

/// The longest name for `murmur3_short`: its third piece is incomplete, so that it is never rotated.
pub const SHORT: u32 = 11;

/// The hash of a name of up to `SHORT` bytes, from the twelve bytes at its start in three pieces. It selects instead of
/// branching: word lengths are unpredictable, and a loop over many words then runs in vector registers.
#[inline(always)]
pub fn murmur3_short(pieces: [u32; 3], length: u32, seed: u32) -> u32 {
    // Bytes beyond the end are masked. Only zeros scramble to 0, so a piece beyond the end leaves the hash unchanged.
    let piece = |place: u32| {
        let beyond = (32 + 32 * place).saturating_sub(8 * length);
        scrambled(pieces[place as usize] & if beyond < 32 { u32::MAX >> beyond } else { 0 })
    };
    let hash = seed ^ piece(0);
    let hash = if length >= 4 { turned(hash) } else { hash } ^ piece(1);
    let hash = if length >= 8 { turned(hash) } else { hash } ^ piece(2);
    finished(hash, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the reference implementation's tests and of Wikipedia's table.
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
        let bytes = b"ab\xffdefgh\0j l";
        let pieces = [b"ab\xffd", b"efgh", b"\0j l"].map(|piece| u32::from_le_bytes(*piece));
        for length in 0..=SHORT {
            assert_eq!(murmur3_short(pieces, length, 77), murmur3(&bytes[..length as usize], 77));
        }
    }
}
