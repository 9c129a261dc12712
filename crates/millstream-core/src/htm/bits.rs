//! Rows of bits: a bit is active where a number is not 0. They travel as sparse rows of ones.

use crate::row::{Row, RowBuffer, Value};
use crate::schema::Schema;

/// The active bits of a row, ascending. Nominal and missing values are not active.
pub fn active_bits(x: Row<'_>, bits: &mut Vec<u32>) {
    bits.clear();
    x.each(|slot, value| {
        if matches!(value, Value::Number(number) if number != 0.0) {
            bits.push(slot as u32);
        }
    });
}

/// Write active bits, ascending and each once, as a sparse row.
pub fn write_bits(bits: &[u32], width: usize, out: &mut RowBuffer) {
    out.sparse(width);
    bits.iter().for_each(|&bit| out.push(bit, 1.0));
}

/// A schema of numbered columns.
pub fn numbered(width: usize) -> Schema {
    let mut schema = Schema::default();
    schema.widen(width);
    schema.mark();
    schema
}

/// 64 well mixed bits of two numbers: the finaliser of SplitMix64.
#[inline]
pub fn mixed(token: u64, number: u64) -> u64 {
    let mut z = token ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Add the random code of a bucket: bit k of it is a hash of bucket + k, so buckets at distance d share `n_active` − d
/// bits, apart from collisions, and no bucket is out of range.
#[inline]
pub fn push_bucket(token: u64, bucket: i64, n_active: u32, n_bits: u32, bits: &mut Vec<u32>) {
    for k in 0..n_active {
        let hash = mixed(token, bucket.wrapping_add(i64::from(k)) as u64);
        bits.push((((hash >> 32) * u64::from(n_bits)) >> 32) as u32);
    }
}

/// Add a random code of exactly `n_active` of `n_bits` bits from `first` on.
pub fn push_code(token: u64, first: u32, n_active: u32, n_bits: u32, bits: &mut Vec<u32>) {
    let start = bits.len();
    let mut drawn = 0;
    while bits.len() - start < n_active as usize {
        let bit = first + (((mixed(token, drawn) >> 32) * u64::from(n_bits)) >> 32) as u32;
        drawn += 1;
        if !bits[start..].contains(&bit) {
            bits.push(bit);
        }
    }
}

/// Sort bits and drop those that occur twice.
pub fn settle(bits: &mut Vec<u32>) {
    bits.sort_unstable();
    bits.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_buckets_share_bits() {
        let code = |bucket| {
            let mut bits = Vec::new();
            push_bucket(7, bucket, 21, 4096, &mut bits);
            settle(&mut bits);
            bits
        };
        let shared = |a: &[u32], b: &[u32]| a.iter().filter(|bit| b.contains(bit)).count();
        assert!(shared(&code(5), &code(6)) >= 19 && shared(&code(5), &code(15)) >= 10);
        assert!(shared(&code(5), &code(40)) <= 2 && shared(&code(i64::MAX), &code(i64::MIN)) >= 19);
    }

    #[test]
    fn a_code_has_all_its_bits() {
        for n_bits in [5, 6, 100] {
            let mut bits = Vec::new();
            push_code(3, 10, 5, n_bits, &mut bits);
            settle(&mut bits);
            assert_eq!(bits.len(), 5);
            assert!(bits.iter().all(|&bit| (10..10 + n_bits).contains(&bit)));
        }
    }
}
