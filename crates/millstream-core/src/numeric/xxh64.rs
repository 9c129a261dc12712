//! XXH64, a seeded 64-bit hash of bytes (Collet, xxHash fast digest algorithm, specification 0.1.1).
//!
//! It is published, so that a database or another program can compute the same number for the same bytes.

const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME_5: u64 = 0x27d4_eb2f_1656_67c5;

pub fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    let mut stripes = bytes.chunks_exact(32);
    let mut hash = if bytes.len() >= 32 {
        let mut lanes = [
            seed.wrapping_add(PRIME_1).wrapping_add(PRIME_2),
            seed.wrapping_add(PRIME_2),
            seed,
            seed.wrapping_sub(PRIME_1),
        ];
        for stripe in stripes.by_ref() {
            for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                *lane = round(*lane, number(word));
            }
        }
        let [a, b, c, d] = lanes;
        let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
        let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
        lanes.iter().fold(sum, |hash, &lane| (hash ^ round(0, lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4))
    } else {
        seed.wrapping_add(PRIME_5)
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let mut words = stripes.remainder().chunks_exact(8);
    for word in words.by_ref() {
        hash ^= round(0, number(word));
        hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    }
    let mut halves = words.remainder().chunks_exact(4);
    for half in halves.by_ref() {
        hash ^= number(half).wrapping_mul(PRIME_1);
        hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
    }
    for &byte in halves.remainder() {
        hash ^= u64::from(byte).wrapping_mul(PRIME_5);
        hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
    }
    finish(hash)
}

/// `xxh64` of a letter and the 8 little-endian bytes of a word: straight code, for columns of numbers.
#[inline(always)]
pub fn xxh64_of_word(letter: u8, word: u64, seed: u64) -> u64 {
    let mut hash = seed.wrapping_add(PRIME_5).wrapping_add(9);
    hash ^= round(0, (word << 8) | u64::from(letter));
    hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    hash ^= (word >> 56).wrapping_mul(PRIME_5);
    finish(hash.rotate_left(11).wrapping_mul(PRIME_1))
}

#[inline(always)]
fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME_2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME_3);
    hash ^ (hash >> 32)
}

/// Little-endian bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| (number << 8) | u64::from(byte))
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_are_reproduced() {
        assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
        // Longer than one stripe: the example in the documentation of python-xxhash.
        assert_eq!(xxh64(b"Nobody inspects the spammish repetition", 0), 0xfbce_a83c_8a37_8bf1);
        assert_ne!(xxh64(b"abc", 1), xxh64(b"abc", 0));
        assert_eq!(xxh64_of_word(b'a', u64::from_le_bytes(*b"bcdefghi"), 5), xxh64(b"abcdefghi", 5));
    }
}
