//! A value as a key, and its hash.
//!
//! Samplers, sketches and keyed transformers identify users, sessions and words by one hash of a typed value. It is
//! documented and never changes, so that another program, or this one in another year, computes the same.

use crate::numeric::xxh64::{xxh64, xxh64_of_word};

/// A value as a key: values that are equal in Python (1, 1.0 and True) are one key, "1" is another. A column of
/// integers becomes one of floats as soon as a value is missing, and its users must stay the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key<'a> {
    Missing,
    Int(i64),
    /// Not an integer within 64 bits.
    Float(f64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    pub fn of_float(float: f64) -> Self {
        // 2⁶³ is the first float beyond 64 bits.
        if float.is_nan() {
            Key::Missing
        } else if float.fract() == 0.0
            && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float)
        {
            Key::Int(float as i64)
        } else {
            Key::Float(float)
        }
    }

    /// XXH64 of the type as a letter and of the value: `n`; `i` and 8 bytes; `f` and 8 bytes; `s` and UTF-8. Integers and
    /// floats are little-endian. It never changes: samples of different years and machines must have the same keys.
    #[inline]
    pub fn hash(self, seed: u64) -> u64 {
        match self {
            Key::Missing => xxh64(b"n", seed),
            Key::Int(int) => xxh64_of_word(b'i', int as u64, seed),
            Key::Float(float) => xxh64_of_word(b'f', float.to_bits(), seed),
            Key::Text(text) => hash_text(text, seed),
        }
    }
}

fn hash_text(text: &str, seed: u64) -> u64 {
    let mut short = [0; 64];
    match short.get_mut(..=text.len()) {
        Some(buffer) => {
            buffer[0] = b's';
            buffer[1..].copy_from_slice(text.as_bytes());
            xxh64(buffer, seed)
        }
        None => xxh64(&[b"s", text.as_bytes()].concat(), seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_documented_bytes() {
        assert_eq!(Key::Text("ann").hash(3), xxh64(b"sann", 3));
        assert_eq!(Key::Int(258).hash(3), xxh64(b"i\x02\x01\0\0\0\0\0\0", 3));
        assert_eq!(Key::Float(0.5).hash(3), xxh64(b"f\0\0\0\0\0\0\xe0\x3f", 3));
        let long = "x".repeat(1000);
        assert_eq!(Key::Text(&long).hash(3), xxh64(format!("s{long}").as_bytes(), 3));
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(Key::of_float(-0.0), Key::Int(0));
        assert_eq!(Key::of_float(9_223_372_036_854_775_808.0), Key::Float(9_223_372_036_854_775_808.0));
    }
}
