//! SpaceSaving: the frequent keys of a stream (Metwally, Agrawal and El Abbadi, 2005, "Efficient computation of frequent
//! and top-k elements in data streams", ICDT), with weights and merge (Agarwal et al., 2012, "Mergeable summaries", PODS).
//!
//! m counters, each with its key. A key without a counter takes over the smallest one, with its weight: this weight is the
//! error of the new key. The weight of a counter is at least that of its key, and exceeds it by N/m at most (lemma 3.3),
//! because the weights of the counters add up to N. So a key of more than N/m has a counter.
//!
//! To merge, the weights of each key are added; a key without a counter in one sketch has the smallest weight there, as
//! it might have had. Of more than m keys those above the (m + 1)-th largest weight remain. This weight is then the
//! `floor`: a key without a counter may have had it, and starts with it. In terms of the paper, the weights above the floor
//! are counters of the summary of Misra and Gries, which shows that N/m still bounds the floor and all errors.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Frequent, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::MISSING;
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::key::Key;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};
use crate::sampling::record::Value;

const NAME: &str = "sketch.SpaceSaving";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "The frequent keys, with bounds of their weights",
    merge: Merge::bounded("the bounds hold for the total weight of both"),
    parameters: &[
        Parameter::new(
            "capacity",
            Kind::Integer { low: 1, high: 1 << 26 },
            Default::Integer(1000),
            "number of counters; weights are exceeded by at most the total weight divided by it",
        ),
        MISSING,
    ],
    build: |arguments| built(arguments, SpaceSaving::new(arguments.size("capacity")?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
struct SpaceSaving {
    capacity: usize,
    /// What a key without a counter may have had while there are free counters.
    floor: f64,
    /// A heap: the weight of a counter is at most that of the two below it, at 2 i + 1 and 2 i + 2.
    counters: Vec<Counter>,
    /// The index of a key's counter, by its hash. Two keys with one hash of 64 bits would share a counter.
    places: FxHashMap<u64, u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counter {
    key: Value,
    weight: f64,
    error: f64,
    #[serde(skip)]
    hash: u64,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    capacity: usize,
    floor: f64,
    counters: Vec<Counter>,
}

impl From<SpaceSaving> for Saved {
    fn from(sketch: SpaceSaving) -> Self {
        Saved { capacity: sketch.capacity, floor: sketch.floor, counters: sketch.counters }
    }
}

impl From<Saved> for SpaceSaving {
    fn from(saved: Saved) -> Self {
        let mut sketch = SpaceSaving { floor: saved.floor, ..SpaceSaving::new(saved.capacity) };
        sketch.counters = saved.counters;
        for (place, counter) in sketch.counters.iter_mut().enumerate() {
            counter.hash = counter.key.key().hash(SEED);
            sketch.places.insert(counter.hash, place as u32);
        }
        sketch
    }
}

/// The seed of the hash, which only finds counters.
const SEED: u64 = 0;

impl SpaceSaving {
    fn new(capacity: usize) -> Self {
        SpaceSaving { capacity, floor: 0.0, counters: Vec::new(), places: FxHashMap::default() }
    }

    /// What a key without a counter may have had.
    fn absent(&self) -> f64 {
        match self.counters.first() {
            Some(least) if self.counters.len() == self.capacity => least.weight,
            _ => self.floor,
        }
    }

    fn add(&mut self, key: Key<'_>, w: f64) {
        let hash = key.hash(SEED);
        if let Some(&place) = self.places.get(&hash) {
            self.counters[place as usize].weight += w;
            self.sink(place as usize);
            return;
        }
        let error = self.absent();
        let counter = Counter { key: Value::from(key), weight: error + w, error, hash };
        if self.counters.len() < self.capacity {
            self.push(counter);
        } else {
            self.places.remove(&self.counters[0].hash);
            self.places.insert(hash, 0);
            self.counters[0] = counter;
            self.sink(0);
        }
    }

    fn push(&mut self, counter: Counter) {
        let mut place = self.counters.len();
        self.places.insert(counter.hash, place as u32);
        self.counters.push(counter);
        while place > 0 && self.counters[place].weight < self.counters[(place - 1) / 2].weight {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let weight = |place: usize| self.counters.get(place).map_or(f64::INFINITY, |counter| counter.weight);
            let lower = if weight(right) < weight(left) { right } else { left };
            if weight(lower) >= weight(place) {
                return;
            }
            self.swap(place, lower);
            place = lower;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.counters.swap(one, other);
        for place in [one, other] {
            self.places.insert(self.counters[place].hash, place as u32);
        }
    }
}

/// Falling weights; equal ones by hash, so that the order depends on nothing else.
fn heavier(one: &Counter, other: &Counter) -> std::cmp::Ordering {
    other.weight.total_cmp(&one.weight).then(one.hash.cmp(&other.hash))
}

impl Summary for SpaceSaving {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Keys;

    fn is_valid(&self, built: &Self) -> bool {
        let is_heap =
            (1..self.counters.len()).all(|i| self.counters[(i - 1) / 2].weight <= self.counters[i].weight);
        let valid = |counter: &Counter| {
            let is_key = counter.key.key() != Key::Missing;
            is_key && (0.0..=counter.weight).contains(&counter.error) && counter.weight.is_finite()
        };
        self.capacity == built.capacity
            && self.counters.len() <= self.capacity
            && self.places.len() == self.counters.len()
            && (0.0..f64::INFINITY).contains(&self.floor)
            && self.counters.iter().all(valid)
            && is_heap
    }

    fn memory(&self) -> usize {
        let texts = |counter: &Counter| match &counter.key {
            Value::Text(text) => text.len() + 16,
            _ => 0,
        };
        std::mem::size_of::<Self>()
            + self.counters.capacity() * std::mem::size_of::<Counter>()
            + self.places.capacity() * 17
            + self.counters.iter().map(texts).sum::<usize>()
    }

    fn add_key(&mut self, key: Key<'_>, w: f64) {
        self.add(key, w);
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        let (ours, theirs) = (self.absent(), other.absent());
        let mut merged = std::mem::take(&mut self.counters);
        for counter in &mut merged {
            let place = other.places.get(&counter.hash);
            let (weight, error) = place.map_or((theirs, theirs), |&place| {
                let same = &other.counters[place as usize];
                (same.weight, same.error)
            });
            counter.weight += weight;
            counter.error += error;
        }
        for counter in other.counters.iter().filter(|counter| !self.places.contains_key(&counter.hash)) {
            merged.push(Counter { weight: counter.weight + ours, error: counter.error + ours, ..counter.clone() });
        }
        merged.sort_unstable_by(heavier);
        self.floor = ours + theirs;
        if let Some(next) = merged.get(self.capacity) {
            let floor = next.weight;
            self.floor = floor;
            merged.retain(|counter| counter.weight > floor);
        }
        self.places.clear();
        merged.into_iter().rev().for_each(|counter| self.push(counter));
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Weight(key) => Ok(match self.places.get(&key.hash(SEED)) {
                Some(&place) => self.counters[place as usize].weight,
                None => self.absent(),
            }),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        ErrorBound::new("weight", self.absent(), 1.0)
    }

    fn frequent(&self) -> Vec<Frequent> {
        let mut counters = self.counters.clone();
        counters.sort_unstable_by(heavier);
        let frequent =
            |counter: Counter| Frequent { key: counter.key, weight: counter.weight, error: counter.error };
        counters.into_iter().map(frequent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    #[test]
    fn two_counters_by_hand() {
        // a a b, then c: it takes over the counter of b, 1 + 1 with an error of 1. Then b takes over that of a or c.
        let mut sketch = SpaceSaving::new(2);
        for key in ["a", "a", "b", "c"] {
            sketch.add(Key::Text(key), 1.0);
        }
        let weights: Vec<_> =
            sketch.frequent().iter().map(|key| (key.key.clone(), key.weight, key.error)).collect();
        assert!(weights.contains(&(Value::Text("a".into()), 2.0, 0.0)));
        assert!(weights.contains(&(Value::Text("c".into()), 2.0, 1.0)));
        assert_eq!(sketch.absent(), 2.0);
    }

    /// A skewed stream of keys, and their true weights.
    fn stream(n: usize, seed: u64) -> (Vec<(i64, f64)>, FxHashMap<i64, f64>) {
        let (mut random, mut truth) = (Random::new(seed, 3), FxHashMap::default());
        let items = (0..n).map(|_| {
            let key = (1.0 / (random.unit() + 1e-3)) as i64 * 10 + i64::from(random.below(5));
            (key, f64::from(random.below(3) + 1) * 0.5)
        });
        let items: Vec<(i64, f64)> = items.collect();
        items.iter().for_each(|&(key, w)| *truth.entry(key).or_insert(0.0) += w);
        (items, truth)
    }

    fn check(sketch: &SpaceSaving, truth: &FxHashMap<i64, f64>) {
        let total: f64 = truth.values().sum();
        let bound = total / sketch.capacity as f64 + 1e-9;
        assert!(sketch.absent() <= bound, "{} {bound}", sketch.absent());
        for (&key, &weight) in truth {
            let place = sketch.places.get(&Key::Int(key).hash(SEED));
            assert!(place.is_some() || weight <= bound);
            let Some(&place) = place else { continue };
            let counter = &sketch.counters[place as usize];
            assert!(counter.weight + 1e-9 >= weight && counter.weight <= weight + bound, "{counter:?} {weight}");
            assert!(counter.weight - counter.error <= weight + 1e-9, "{counter:?} {weight}");
        }
    }

    #[test]
    fn weights_are_within_the_bound_also_after_merges() {
        for seed in 0..10 {
            let (items, truth) = stream(20_000, seed);
            for capacity in [1, 7, 50, 5000] {
                let mut whole = SpaceSaving::new(capacity);
                items.iter().for_each(|&(key, w)| whole.add(Key::Int(key), w));
                check(&whole, &truth);
                let mut parts: Vec<SpaceSaving> = items
                    .chunks(items.len() / 60)
                    .map(|items| {
                        let mut part = SpaceSaving::new(capacity);
                        items.iter().for_each(|&(key, w)| part.add(Key::Int(key), w));
                        part
                    })
                    .collect();
                while parts.len() > 1 {
                    let last = parts.split_off(parts.len() / 2);
                    for (ours, theirs) in (0..parts.len()).zip(&last) {
                        parts[ours].merge(theirs).expect("nothing to refuse");
                    }
                    let (end, left) = (parts.len() - 1, last.len() > parts.len());
                    if left {
                        parts[end].merge(&last[last.len() - 1]).expect("nothing to refuse");
                    }
                }
                check(&parts[0], &truth);
                // A merged sketch goes on within the bound.
                let (more, _) = stream(500, seed + 100);
                let mut both = truth.clone();
                for &(key, w) in &more {
                    parts[0].add(Key::Int(key), w);
                    *both.entry(key).or_insert(0.0) += w;
                }
                check(&parts[0], &both);
                assert!(parts[0].is_valid(&SpaceSaving::new(capacity)));
            }
        }
    }
}
