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

/// The hash of up to eight bytes that are the low ones of `word`, with zeros above them.
#[inline(always)]
pub fn murmur3_word(word: u64, length: usize, seed: u32) -> u32 {
    finished(ended(word, length, seed), length)
}

/// The hash of eight bytes and up to eight more.
#[inline(always)]
pub fn murmur3_words(first: u64, second: u64, length: usize, seed: u32) -> u32 {
    let hash = turned(seed ^ scrambled(first as u32));
    let hash = turned(hash ^ scrambled((first >> 32) as u32));
    finished(ended(second, length, hash), 8 + length)
}

/// Choices instead of branches: the lengths of words in a text cannot be predicted.
#[inline(always)]
fn ended(word: u64, length: usize, hash: u32) -> u32 {
    let first = hash ^ scrambled(word as u32);
    let hash = if length >= 4 { turned(first) } else { first };
    // Nothing but zeros scrambles to 0, so a short name is left as it is.
    let second = hash ^ scrambled((word >> 32) as u32);
    if length >= 8 {
        turned(second)
    } else {
        second
    }
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
    fn a_word_and_its_bytes_hash_the_same() {
        let bytes = *b"ab\xffdefgh";
        for length in 0..=8 {
            let mut low = [0; 8];
            low[..length].copy_from_slice(&bytes[..length]);
            let word = murmur3_word(u64::from_le_bytes(low), length, 77);
            assert_eq!(word, murmur3(&bytes[..length], 77));
            let words = murmur3_words(u64::from_le_bytes(bytes), u64::from_le_bytes(low), length, 77);
            assert_eq!(words, murmur3(&[&bytes[..], &bytes[..length]].concat(), 77));
        }
    }
}
