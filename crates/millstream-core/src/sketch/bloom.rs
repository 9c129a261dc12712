//! The Bloom filter (Bloom, 1970, "Space/time trade-offs in hash coding with allowable errors", CACM 13(7)).
//!
//! A key sets k bits of m, and may have occurred if they are all set: never a false negative. For `capacity` keys and a
//! false positive rate p, m = -n ln p / (ln 2)² and k = (m / n) ln 2. The k positions follow from two hashes, h₁ + i h₂
//! (Kirsch and Mitzenmacher, 2008): the rate is asymptotically that of k independent ones.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::{check_memory, MISSING, SEED};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::key::Key;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};

const NAME: &str = "sketch.Bloom";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "Whether a key occurred, without false negatives",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "capacity",
            Kind::Integer { low: 1, high: 1 << 28 },
            Default::Integer(100_000),
            "number of distinct keys at which the false positive rate is reached",
        ),
        Parameter::new(
            "false_positive_rate",
            Kind::Float(Bounds::new(1e-12, true, 1.0, false)),
            Default::Float(0.01),
            "probability that a key which did not occur is reported",
        ),
        SEED,
        MISSING,
    ],
    build: |arguments| {
        let (capacity, rate) = (arguments.integer("capacity")? as f64, arguments.float("false_positive_rate")?);
        let ln_2 = std::f64::consts::LN_2;
        let bits = (-capacity * ln(rate) / (ln_2 * ln_2)).ceil().max(64.0);
        let hashes = (bits / capacity * ln_2).round().clamp(1.0, 64.0) as u32;
        check_memory(arguments, bits / 8.0)?;
        let words = vec![0; (bits / 64.0).ceil() as usize];
        built(arguments, Bloom { seed: arguments.integer("seed")? as u64, hashes, words })
    },
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Bloom {
    seed: u64,
    /// Number of bits of a key.
    hashes: u32,
    #[serde(with = "packed")]
    words: Vec<u64>,
}

/// The words as little-endian bytes.
mod packed {
    use serde::{de::Error, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(words: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let bytes: Vec<u8> = serde_bytes::deserialize(deserializer)?;
        if !bytes.len().is_multiple_of(8) {
            return Err(D::Error::custom("bits must be whole words"));
        }
        let word = |word: &[u8]| word.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte));
        Ok(bytes.chunks_exact(8).map(word).collect())
    }
}

impl Bloom {
    /// The word and the bit of each position of a key.
    #[inline(always)]
    fn positions(&self, hash: u64) -> impl Iterator<Item = (usize, u64)> {
        let bits = self.words.len() as u64 * 64;
        // Odd, so that no two of the positions coincide in 64 bits.
        let step = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        (0..u64::from(self.hashes)).map(move |i| {
            let position = hash.wrapping_add(i.wrapping_mul(step));
            let bit = ((u128::from(position) * u128::from(bits)) >> 64) as u64;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    #[inline(always)]
    fn add_hash(&mut self, hash: u64) {
        for (word, bit) in self.positions(hash) {
            self.words[word] |= bit;
        }
    }

    fn contains(&self, hash: u64) -> bool {
        self.positions(hash).all(|(word, bit)| self.words[word] & bit != 0)
    }

    fn filled(&self) -> f64 {
        let ones: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        ones as f64 / (self.words.len() * 64) as f64
    }
}

impl Summary for Bloom {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;

    fn is_valid(&self, built: &Self) -> bool {
        (self.seed, self.hashes, self.words.len()) == (built.seed, built.hashes, built.words.len())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.words.capacity()
    }

    fn add_key(&mut self, key: Key<'_>, _w: f64) {
        self.add_hash(key.hash(self.seed));
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        for (ours, &theirs) in self.words.iter_mut().zip(&other.words) {
            *ours |= theirs;
        }
        Ok(())
    }

    /// A key that is in both counts once.
    fn merge_base(&mut self, _base: &Self) -> Result<()> {
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Contains(key) => Ok(f64::from(u8::from(self.contains(key.hash(self.seed))))),
            // n distinct keys leave a bit unset with probability (1 - 1/m)^(k n) (Swamidass and Baldi, 2007).
            Question::Distinct => {
                let bits = (self.words.len() * 64) as f64;
                let filled = self.filled().min(1.0 - 0.5 / bits);
                Ok((-bits / f64::from(self.hashes) * ln(1.0 - filled)).max(0.0))
            }
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        // The rate at the present fill. A negative answer is always right.
        let rate = self.filled().powi(self.hashes as i32);
        ErrorBound { of: "a positive answer", bound: Some(rate), probability: Some(1.0 - rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_by_hand() {
        // 64 bits, 2 of them for a key: position i of hash 0 is i · step, with step = 1; both are in the first 64th.
        let mut bloom = Bloom { seed: 0, hashes: 2, words: vec![0] };
        bloom.add_hash(0);
        assert_eq!(bloom.words, [1]);
        assert!(bloom.contains(0) && !bloom.contains(1 << 63));
    }

    #[test]
    fn the_rate_is_that_of_the_design() {
        for (rate, hashes) in [(0.1, 3), (0.01, 7), (0.001, 10)] {
            let n = 20_000;
            let bits = -(n as f64) * ln(rate) / std::f64::consts::LN_2.powi(2);
            let mut bloom = Bloom { seed: 5, hashes, words: vec![0; (bits / 64.0).ceil() as usize] };
            (0..n).for_each(|key| bloom.add_key(Key::Int(key), 1.0));
            assert!((0..n).all(|key| bloom.contains(Key::Int(key).hash(5))));
            let wrong = (n..n + 200_000).filter(|&key| bloom.contains(Key::Int(key).hash(5))).count();
            assert!((wrong as f64) < 1.2 * rate * 200_000.0, "{rate}: {wrong}");
            let distinct = bloom.answer(Question::Distinct).expect("a Bloom filter counts");
            assert!((distinct / n as f64 - 1.0).abs() < 0.02, "{distinct}");
        }
    }
}
