//! All rows of a fraction of the keys.
//!
//! J. Leskovec, A. Rajaraman and J. D. Ullman (2020), "Mining of massive datasets", 3rd edition, section 4.2: a key is in
//! the sample if its hash is below a threshold. A key is therefore in or out for ever and on every machine, and a smaller
//! fraction has a subset of the keys of a larger one. If the rows would exceed `max_rows`, the threshold falls to the
//! largest hash in the sample (section 4.2.4): whole keys leave, and the rest is the sample of a smaller fraction.
//!
//! The threshold depends on the set of rows alone, not on their order: it is the smallest hash at which the rows of all
//! keys up to it exceed `max_rows`. The sample of a merge is therefore that of the whole stream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::{Rows, Stored};
use super::SEED;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::key::Key;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::sampler::{KeySource, Offer, Sampler};
use crate::schema::{Name, Schema};

const NAME: &str = "sampling.ByKey";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "All rows of a fraction of the keys, for example of a tenth of the users",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new("fraction", Kind::Float(Bounds::FRACTION), DefaultValue::Required, "fraction of the keys"),
        Parameter::new("key", Kind::Name, DefaultValue::Required, "name of the feature whose values are the keys"),
        SEED.with_words("seed of the hash; another seed gives other keys"),
        Parameter::new(
            "max_rows",
            Kind::Integer { low: 1, high: super::MAX_SIZE },
            DefaultValue::Integer(100_000),
            "maximum number of rows; beyond it whole keys are dropped, and the fraction falls",
        ),
    ],
    build: |arguments| {
        let fraction = arguments.float("fraction")?;
        Ok(Built::Sampler(Box::new(ByKey {
            key: arguments.name("key")?.ok_or_else(|| arguments.absent("key"))?,
            limit: below(fraction),
            max_rows: arguments.size("max_rows")?,
            seed: (arguments.integer("seed")? as u64) ^ PURPOSE,
            state: State { threshold: below(fraction), rows: BTreeMap::new(), held: 0, seen: 0 },
        })))
    },
};

/// Separates this hash from others of the same seed, so that sample and hashed features are independent.
const PURPOSE: u64 = 0x6279_5f6b_6579_2100;

/// The largest hash of a fraction of all hashes.
fn below(fraction: f64) -> u64 {
    // Beyond 2⁶⁴ the conversion gives the largest number.
    ((fraction * 18_446_744_073_709_551_616.0) as u64).saturating_sub(u64::from(fraction < 1.0))
}

#[derive(Clone)]
struct ByKey {
    key: Name,
    /// The largest hash of `fraction`.
    limit: u64,
    max_rows: usize,
    seed: u64,
    state: State,
}

#[derive(Clone)]
struct State {
    /// The largest hash in the sample.
    threshold: u64,
    /// By hash: the rows of its key, with their number in the stream.
    rows: BTreeMap<u64, Vec<(u64, Stored)>>,
    held: usize,
    /// Number of rows received.
    seen: u64,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    threshold: u64,
    seen: u64,
    hashes: Vec<u64>,
    numbers: Vec<u64>,
    rows: Rows,
}

impl State {
    fn put(&mut self, hash: u64, number: u64, row: Stored, max_rows: usize) {
        self.rows.entry(hash).or_default().push((number, row));
        self.held += 1;
        self.drop_keys(max_rows);
    }

    fn drop_keys(&mut self, max_rows: usize) {
        while self.held > max_rows {
            let Some((hash, rows)) = self.rows.pop_last() else { return };
            self.held -= rows.len();
            self.threshold = hash.saturating_sub(1);
        }
    }

    /// The rows by their number in the stream.
    fn in_order(&self) -> Vec<(u64, u64, &Stored)> {
        let rows = self.rows.iter().flat_map(|(&hash, rows)| rows.iter().map(move |(n, row)| (*n, hash, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by_key(|(number, ..)| *number);
        rows
    }
}

impl Part for ByKey {
    fn save(&self) -> Result<Vec<u8>> {
        let State { threshold, seen, .. } = self.state;
        let mut saved = Saved { threshold, seen, hashes: vec![], numbers: vec![], rows: Rows::default() };
        for (number, hash, row) in self.state.in_order() {
            saved.numbers.push(number);
            saved.hashes.push(hash);
            saved.rows.0.push(row.clone());
        }
        pack(&saved)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let saved: Saved = unpack(NAME, bytes)?;
        let n = saved.rows.len();
        let counts = saved.hashes.len() == n && saved.numbers.len() == n && n <= self.max_rows;
        require(NAME, counts && saved.threshold <= self.limit, "the number of rows does not agree with max_rows")?;
        let ordered = saved.numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let known = saved.numbers.last().is_none_or(|&last| last < saved.seen);
        let inside = saved.hashes.iter().all(|&hash| hash <= saved.threshold);
        require(NAME, ordered && known && inside, "a row is out of place")?;
        let mut state = State { threshold: saved.threshold, rows: BTreeMap::new(), held: 0, seen: saved.seen };
        for ((hash, number), row) in saved.hashes.into_iter().zip(saved.numbers).zip(saved.rows.0) {
            state.put(hash, number, row, self.max_rows);
        }
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let rows = |rows: &Vec<(u64, Stored)>| {
            rows.capacity() * 8 + Rows(rows.iter().map(|(_, row)| row.clone()).collect()).memory()
        };
        std::mem::size_of::<Self>() + self.state.rows.values().map(|each| 32 + rows(each)).sum::<usize>()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        let fraction = (self.state.threshold as f64 + 1.0) / 18_446_744_073_709_551_616.0;
        json!({ "rows": self.state.held, "keys": self.state.rows.len(), "seen": self.state.seen, "fraction": fraction })
    }
}

impl Sampler for ByKey {
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        let hash = offer.key.hash(self.seed);
        let number = self.state.seen;
        self.state.seen = number.saturating_add(1);
        if hash <= self.state.threshold {
            self.state.put(hash, number, row(), self.max_rows);
        }
        Ok(())
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.in_order().into_iter().for_each(|(.., row)| visit(row));
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.state.rows.values_mut().flatten().for_each(|(_, row)| visit(row));
    }

    fn key(&self) -> KeySource {
        KeySource::Feature(self.key.clone())
    }

    fn keeps(&self, key: Key<'_>) -> Option<bool> {
        Some(key.hash(self.seed) <= self.limit)
    }

    fn same_seed(&self) -> bool {
        true
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = ByKey { state: self.state.clone(), ..self.clone() };
        theirs.load(other)?;
        let (ours, theirs) = (&mut self.state, theirs.state);
        ours.threshold = ours.threshold.min(theirs.threshold);
        let first = ours.seen;
        for (hash, rows) in theirs.rows {
            for (number, row) in rows {
                ours.rows.entry(hash).or_default().push((first.saturating_add(number), row));
            }
        }
        let threshold = ours.threshold;
        ours.rows.retain(|&hash, _| hash <= threshold);
        ours.held = ours.rows.values().map(Vec::len).sum();
        ours.seen = first.saturating_add(theirs.seen);
        ours.drop_keys(self.max_rows);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::testing::{drawn, learn, sampler};
    use serde_json::json;

    #[test]
    fn fractions_of_hashes() {
        assert_eq!(below(1.0), u64::MAX);
        assert_eq!(below(0.5), (1 << 63) - 1);
        assert_eq!(below(0.25), (1 << 62) - 1);
        assert_eq!(below(1e-300), 0);
    }

    #[test]
    fn the_hashes_of_keys_never_change() {
        // A change of these numbers would change every sample.
        let hash = |key: Key<'_>| key.hash(PURPOSE);
        assert_eq!(hash(Key::Text("ann")), 6_285_600_259_078_900_821);
        assert_eq!(hash(Key::Int(1)), 2_840_348_429_400_599_107);
    }

    #[test]
    fn a_larger_fraction_has_all_keys_of_a_smaller_one() {
        let build = |fraction: f64| sampler("ByKey", json!({ "fraction": fraction, "key": "x" }));
        let (small, large) = (build(0.1), build(0.2));
        let (mut in_small, mut in_large) = (0, 0);
        for key in 0..10_000 {
            let keeps = |held: &crate::held::Sampler| held.sampler().keeps(Key::Int(key)).expect("by key");
            assert!(!keeps(&small) || keeps(&large));
            in_small += u32::from(keeps(&small));
            in_large += u32::from(keeps(&large));
        }
        // Binomial with deviations of 30 and 40.
        assert!((850..1150).contains(&in_small) && (1800..2200).contains(&in_large), "{in_small} {in_large}");
    }

    #[test]
    fn rows_beyond_the_maximum_take_whole_keys_with_them() {
        let build = || sampler("ByKey", json!({ "fraction": 0.5, "key": "x", "max_rows": 20 }));
        let mut whole = build();
        let rows = |numbers: std::ops::Range<i64>| numbers.map(|n| (n % 50, 1.0, None));
        learn(&mut whole, rows(0..200));
        let kept = drawn(&whole);
        assert!(kept.len() <= 20 && kept.len().is_multiple_of(4), "{kept:?}");
        assert!(kept.chunks(4).all(|key| key.iter().all(|x| *x == key[0])), "{kept:?}");
        // In any order and any parts.
        for cut in [0, 1, 70, 199, 200] {
            let (mut first, mut second) = (build(), build());
            learn(&mut first, rows(cut..200));
            learn(&mut second, rows(0..cut));
            first.merge(&second, None).expect("the same seed");
            assert_eq!(drawn(&first), kept);
            assert_eq!(first.inspect(), whole.inspect());
        }
    }
}
