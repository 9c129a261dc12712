//! A uniform sample of each stratum, within a total budget.
//!
//! Each stratum has a reservoir (Algorithm L, in `uniform`). Once the budget is spent, a row of a stratum that still holds
//! all its rows takes the place of one in the largest stratum, the last of equally large ones; a stratum that has lost
//! rows only replaces its own. Shares are then as equal as the numbers of rows allow (max-min fairness), and the size of a
//! stratum depends on those numbers alone. That independence of the draws is what keeps each reservoir uniform: if a row
//! that happens to be drawn made its stratum grow, late rows would be too frequent.
//!
//! Shares of old strata only fall, so that new strata are welcome at any time. If there are more strata than the budget has
//! rows, each of the first has one row, and the rows of the others are counted but not kept.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::{Rows, Stored, Value};
use super::uniform::{Decision, Uniform};
use super::{SEED, SIZE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key::Key;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::sampler::{KeySource, Offer, Sampler};
use crate::schema::{Name, Schema};

const NAME: &str = "sampling.Stratified";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "A uniform sample of each class, or of each value of a feature",
    merge: Merge::approximate("a sample with the distribution of one of the whole stream, with other draws"),
    parameters: &[
        SIZE.with_words("number of rows of all strata together"),
        Parameter::new(
            "key",
            Kind::Optional(&Kind::Name),
            DefaultValue::Null,
            "name of the feature whose values are the strata; null for the target",
        ),
        SEED,
    ],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        Ok(Built::Sampler(Box::new(Stratified {
            size: arguments.size("size")?,
            key: arguments.name("key")?,
            indices: FxHashMap::default(),
            held: 0,
            state: State { random, strata: Vec::new(), without_room: 0 },
        })))
    },
};

const PURPOSE: u64 = 0x7374_7261_7461_0000;

#[derive(Clone)]
struct Stratified {
    size: usize,
    key: Option<Name>,
    /// The strata by the hash of their key.
    indices: FxHashMap<u64, u32>,
    /// Number of rows of all strata.
    held: usize,
    state: State,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    random: Random,
    /// In the order in which they appeared.
    strata: Vec<Stratum>,
    /// Number of rows of strata that have no row of the budget.
    without_room: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Stratum {
    key: Value,
    /// Number of rows it may hold; null while it holds all its rows.
    share: Option<u32>,
    uniform: Uniform,
    rows: Rows,
}

impl Stratum {
    fn new(key: Key<'_>) -> Self {
        Stratum { key: key.into(), share: None, uniform: Uniform::default(), rows: Rows::default() }
    }

    /// Lose a row, and keep to the number of those that are left.
    fn shrink(&mut self, random: &mut Random) {
        let share = self.rows.len() - 1;
        self.share = Some(share as u32);
        self.rows.0.swap_remove(self.uniform.shrink(share, random));
    }
}

impl Stratified {
    /// The hash of a key, and the index of its stratum if there is one.
    fn find(&self, key: Key<'_>) -> (u64, Option<usize>) {
        let mut seed = PURPOSE;
        loop {
            let hash = key.hash(seed);
            match self.indices.get(&hash).map(|&index| index as usize) {
                Some(index) if self.state.strata.get(index).is_some_and(|stratum| stratum.key.key() != key) => {
                    // Another key with the same hash.
                    seed = seed.wrapping_add(1);
                }
                found => return (hash, found),
            }
        }
    }

    /// The stratum that loses a row when the one at `growing` gains one; none if that is itself.
    fn largest_but(&self, growing: usize) -> Option<usize> {
        let size = |index: usize| self.state.strata[index].rows.len() + usize::from(index == growing);
        (0..self.state.strata.len()).max_by_key(|&index| (size(index), index)).filter(|&index| index != growing)
    }

    /// Compute what follows from the state; false if a stratum is listed twice.
    fn index_strata(&mut self) -> bool {
        self.held = self.state.strata.iter().map(|stratum| stratum.rows.len()).sum();
        self.indices.clear();
        for index in 0..self.state.strata.len() {
            let key = self.state.strata[index].key.clone();
            let (hash, found) = self.find(key.key());
            if found.is_some() || Value::from(key.key()) != key {
                return false;
            }
            self.indices.insert(hash, index as u32);
        }
        true
    }
}

impl Part for Stratified {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.state = unpack(NAME, bytes)?;
        let valid = self.state.strata.iter().all(|stratum| {
            let held = stratum.rows.len();
            let share = stratum.share.map_or(held + 1, |share| share as usize);
            let full = stratum.share.is_none() || held == share;
            held > 0 && full && stratum.uniform.is_valid(held, share)
        });
        require(NAME, valid, "the number of rows does not agree with the share of a stratum")?;
        require(NAME, self.index_strata(), "a stratum is listed twice")?;
        require(NAME, self.held <= self.size, "there are more rows than the size allows")
    }

    fn memory(&self) -> usize {
        let strata: usize = self.state.strata.iter().map(|stratum| stratum.rows.memory()).sum();
        let capacity = self.state.strata.capacity() * std::mem::size_of::<Stratum>();
        std::mem::size_of::<Self>() + strata + capacity + self.indices.capacity() * 16
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        let strata = self.state.strata.iter().map(|stratum| {
            let key = serde_json::to_value(&stratum.key).unwrap_or_default();
            json!({ "key": key, "rows": stratum.rows.len(), "seen": stratum.uniform.seen() })
        });
        json!({ "strata": strata.collect::<Vec<_>>(), "without_room": self.state.without_room })
    }
}

impl Sampler for Stratified {
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        if self.key.is_none() && offer.key == Key::Missing {
            return Err(Fault::value(format!(
                "{NAME}: the target is missing, which names the stratum of a row (key names a feature instead)"
            )));
        }
        let (hash, found) = self.find(offer.key);
        if let Some((index, share)) = found.and_then(|index| Some((index, self.state.strata[index].share?))) {
            let stratum = &mut self.state.strata[index];
            match stratum.uniform.receive(stratum.rows.len(), share as usize, &mut self.state.random) {
                Decision::Replace(place) => stratum.rows.0[place] = row(),
                Decision::Append | Decision::Pass => {}
            }
            return Ok(());
        }
        let index = found.unwrap_or(self.state.strata.len());
        if self.held == self.size {
            if found.is_none() && self.state.strata.len() == self.size {
                self.state.without_room = self.state.without_room.saturating_add(1);
                return Ok(());
            }
            match self.largest_but(index) {
                Some(largest) => {
                    self.state.strata[largest].shrink(&mut self.state.random);
                    self.held -= 1;
                }
                None => {
                    // Its first row that does not fit: it becomes a reservoir of the rows it has.
                    let stratum = &mut self.state.strata[index];
                    let share = stratum.rows.len();
                    stratum.share = Some(share as u32);
                    stratum.uniform.renew(share, &mut self.state.random);
                    return self.learn(offer, row);
                }
            }
        }
        if found.is_none() {
            self.indices.insert(hash, index as u32);
            self.state.strata.push(Stratum::new(offer.key));
        }
        let stratum = &mut self.state.strata[index];
        // A size beyond the rows it has: it takes them all, and nothing is drawn.
        let held = stratum.rows.len();
        stratum.uniform.receive(held, held + 2, &mut self.state.random);
        stratum.rows.0.push(row());
        self.held += 1;
        Ok(())
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.strata.iter().flat_map(|stratum| &stratum.rows.0).for_each(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.state.strata.iter_mut().flat_map(|stratum| &mut stratum.rows.0).for_each(visit);
    }

    fn key(&self) -> KeySource {
        self.key.clone().map_or(KeySource::Target, KeySource::Feature)
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let other: State = unpack(NAME, other)?;
        self.state.without_room = self.state.without_room.saturating_add(other.without_room);
        let random = &mut self.state.random.clone();
        for mut theirs in other.strata {
            let (hash, found) = self.find(theirs.key.key());
            let Some(index) = found else {
                self.indices.insert(hash, self.state.strata.len() as u32);
                self.state.strata.push(theirs);
                continue;
            };
            let ours = &mut self.state.strata[index];
            let counts = (ours.rows.len(), theirs.rows.len());
            // As many rows as both can give for any outcome of the draws.
            let share = ours.share.into_iter().chain(theirs.share).min();
            let size = share.map_or(counts.0 + counts.1, |share| share as usize);
            let mut kept = Vec::with_capacity(size);
            ours.uniform.merge(&theirs.uniform, counts, size, random, &mut |mine, place| {
                let rows = if mine { &mut ours.rows.0 } else { &mut theirs.rows.0 };
                kept.push(rows.swap_remove(place));
            });
            (ours.share, ours.rows.0) = (share, kept);
        }
        self.index_strata();
        while self.held > self.size {
            let largest = self.largest_but(usize::MAX).unwrap_or_default();
            self.state.strata[largest].shrink(random);
            self.held -= 1;
            if self.state.strata[largest].rows.is_empty() {
                // More strata than rows: the last of them has no room.
                let seen = self.state.strata.remove(largest).uniform.seen();
                self.state.without_room = self.state.without_room.saturating_add(seen);
            }
        }
        self.state.random = random.clone();
        self.index_strata();
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::testing::{number, row};
    use super::*;
    use crate::held;
    use crate::sampler::testing::{fits, sampler};
    use serde_json::json;

    /// Learn rows whose stratum is the given number; they are numbered from `first`.
    fn learn(held: &mut held::Sampler, first: i64, strata: &[i64]) {
        for (index, &stratum) in strata.iter().enumerate() {
            let offer = Offer { key: Key::Int(stratum), ..Offer::default() };
            held.learn(offer, &mut || row(first + index as i64)).expect("a good row");
        }
    }

    fn sizes(held: &held::Sampler) -> Vec<(i64, u64, u64)> {
        let inspected = held.inspect();
        let strata = inspected["strata"].as_array().expect("a list").iter();
        let number = |value: &serde_json::Value| value.as_i64().expect("a number");
        strata.map(|s| (number(&s["key"]), number(&s["rows"]) as u64, number(&s["seen"]) as u64)).collect()
    }

    #[test]
    fn shares_are_as_equal_as_the_rows_allow() {
        let mut stratified = sampler("Stratified", json!({ "size": 7, "key": "s" }));
        learn(&mut stratified, 0, &[1; 20]);
        assert_eq!(sizes(&stratified), [(1, 7, 20)]);
        // A new stratum takes from the largest until both are equal; 4 and 3 of 7, the first has one more.
        learn(&mut stratified, 20, &[2, 2]);
        assert_eq!(sizes(&stratified), [(1, 5, 20), (2, 2, 2)]);
        learn(&mut stratified, 22, &[2; 10]);
        assert_eq!(sizes(&stratified), [(1, 4, 20), (2, 3, 12)]);
        learn(&mut stratified, 32, &[3, 1, 2, 4]);
        assert_eq!(sizes(&stratified), [(1, 3, 21), (2, 2, 13), (3, 1, 1), (4, 1, 1)]);
        // More strata than rows: those that come last have none, and the memory is bounded.
        learn(&mut stratified, 36, &(5..1000).collect::<Vec<_>>());
        assert_eq!(
            sizes(&stratified).iter().map(|&(key, rows, _)| (key, rows)).collect::<Vec<_>>(),
            [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1)]
        );
        assert_eq!(stratified.inspect()["without_room"], 992);
    }

    #[test]
    fn each_stratum_is_uniform_also_after_it_has_shrunk_and_merged() {
        // Stratum 1 has the rows 0 to 3 and 6; 2 of them remain. Every pair is equally likely.
        for merged in [false, true] {
            let mut counts = vec![0; 10];
            for seed in 0..4000 {
                let build = |seed: i64| sampler("Stratified", json!({ "size": 4, "key": "s", "seed": seed }));
                let mut stratified = build(2 * seed);
                if merged {
                    let mut other = build(2 * seed + 1);
                    learn(&mut stratified, 0, &[1, 1]);
                    learn(&mut other, 2, &[1, 1, 2, 2]);
                    stratified.merge(&other, None).expect("different seeds");
                    learn(&mut stratified, 6, &[1]);
                } else {
                    learn(&mut stratified, 0, &[1, 1, 1, 1, 2, 2, 1]);
                }
                let mut rows = Vec::new();
                stratified.sampler().each_row(&mut |row| rows.push(number(row)));
                let mut ours: Vec<usize> =
                    rows.iter().filter(|&&x| x < 4 || x == 6).map(|&x| x as usize).collect();
                ours.sort_unstable();
                assert_eq!((rows.len(), ours.len()), (4, 2), "{rows:?}");
                let (i, j) = (ours[0], ours[1].min(4));
                counts[i * (7 - i) / 2 + j - 1] += 1;
            }
            assert!(fits(&counts, &[1.0; 10]) > 1e-3, "{merged} {counts:?}");
        }
    }
}
