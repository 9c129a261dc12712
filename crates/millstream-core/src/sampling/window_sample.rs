//! A sample of the newest rows: of the last so many, or of the last span of time.
//!
//! Priority sampling: B. Babcock, M. Datar and R. Motwani (2002), "Sampling from a moving window over streaming data", SODA,
//! section 3, for k rows without replacement. Each row draws a key, and the sample is the k unexpired rows with the
//! smallest keys. A row must be held only as long as fewer than k later rows have smaller keys, which leaves about
//! k (1 + ln(n/k)) of n rows in the window. The keys are those of `weighted`, so that weights have a meaning too.
//!
//! Rows that cannot enter the sample any more are removed from time to time, which changes no sample; a saved state is
//! always without them.

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::{Rows, Stored};
use super::weighted::{ln_exponential, ln_weight};
use super::{Clock, BY_TIME, LATE, SEED, SIZE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::{unless_by_time, Merge};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::sampler::{Offer, Sampler};
use crate::schema::Schema;

const NAME: &str = "sampling.WindowSample";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "A sample of the newest rows",
    merge: Merge::approximate("a sample with the distribution of one of the whole stream, with other draws")
        .or(unless_by_time),
    parameters: &[
        SIZE,
        Parameter::new(
            "window_size",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Required,
            "length of the window, in rows or time",
        ),
        BY_TIME,
        LATE,
        SEED,
    ],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        Ok(Built::Sampler(Box::new(WindowSample {
            size: arguments.size("size")?,
            window: arguments.float("window_size")?,
            clock: Clock::new(NAME, arguments)?,
            state: State { random, seen: 0, latest: None, times: vec![], keys: vec![], rows: Rows::default() },
            limit: 0,
        })))
    },
};

const PURPOSE: u64 = 0x7769_6e64_6f77_7300;

#[derive(Clone)]
struct WindowSample {
    size: usize,
    window: f64,
    clock: Clock,
    state: State,
    /// Number of rows held at which those without a chance are removed.
    limit: usize,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    random: Random,
    /// Number of rows received.
    seen: u64,
    latest: Option<f64>,
    /// The time of each row held, ascending; of equal times, the later row follows.
    times: Vec<f64>,
    keys: Vec<f64>,
    rows: Rows,
}

/// A key with the order of floats; keys are finite.
#[derive(PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl WindowSample {
    /// The first row within the window.
    fn first(&self) -> usize {
        let Some(latest) = self.state.latest else { return 0 };
        self.state.times.partition_point(|&t| t <= latest - self.window)
    }

    /// Remove the rows that have left the window, and those with `size` later rows of smaller keys.
    fn prune(&mut self) {
        let (first, size) = (self.first(), self.size);
        let State { times, keys, rows, .. } = &mut self.state;
        let mut smallest = BinaryHeap::with_capacity(size.min(keys.len()) + 1);
        let mut stays = vec![false; keys.len()];
        for index in (first..keys.len()).rev() {
            stays[index] =
                smallest.len() < size || smallest.peek().is_some_and(|Ordered(largest)| keys[index] < *largest);
            if stays[index] {
                smallest.push(Ordered(keys[index]));
                if smallest.len() > size {
                    smallest.pop();
                }
            }
        }
        let mut kept = stays.iter();
        times.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = stays.iter();
        keys.retain(|_| *kept.next().unwrap_or(&false));
        let mut kept = stays.iter();
        rows.0.retain(|_| *kept.next().unwrap_or(&false));
        // Pruning takes O(n log k) for n rows and is due after as many.
        self.limit = 2 * keys.len() + 64;
    }

    fn put(&mut self, t: f64, key: f64, row: Stored) {
        let State { times, keys, rows, .. } = &mut self.state;
        let index = match times.last() {
            Some(&last) if t < last => times.partition_point(|&earlier| earlier <= t),
            _ => times.len(),
        };
        times.insert(index, t);
        keys.insert(index, key);
        rows.0.insert(index, row);
    }

    /// The rows of the sample, by time.
    fn drawn(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (self.first()..self.state.keys.len()).collect();
        if indices.len() > self.size {
            let keys = &self.state.keys;
            indices.select_nth_unstable_by(self.size, |&i, &j| keys[i].total_cmp(&keys[j]).then(i.cmp(&j)));
            indices.truncate(self.size);
            indices.sort_unstable();
        }
        indices
    }
}

impl Part for WindowSample {
    fn save(&self) -> Result<Vec<u8>> {
        let mut pruned = self.clone();
        pruned.prune();
        pack(&pruned.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let n = state.rows.len();
        require(NAME, state.times.len() == n && state.keys.len() == n, "a row has no time or no key")?;
        require(NAME, state.times.windows(2).all(|pair| pair[0] <= pair[1]), "the times are not in order")?;
        let finite = state.keys.iter().chain(&state.times).chain(&state.latest).all(|number| number.is_finite());
        let last = state.latest.is_some() == (state.seen > 0) && state.times.last().copied() <= state.latest;
        require(NAME, finite && last, "a time or a key is not finite")?;
        self.state = state;
        self.prune();
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { times, keys, rows, .. } = &self.state;
        std::mem::size_of::<Self>() + (times.capacity() + keys.capacity()) * 8 + rows.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        let mut pruned = self.clone();
        pruned.prune();
        json!({ "rows": self.drawn().len(), "held": pruned.state.rows.len(), "latest": self.state.latest })
    }
}

impl Sampler for WindowSample {
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        let t = self.clock.read(offer.t, self.state.seen, self.state.latest)?;
        let key = ln_exponential(&mut self.state.random) - ln_weight(offer.w);
        self.state.seen = self.state.seen.saturating_add(1);
        self.state.latest = Some(self.state.latest.map_or(t, |latest| latest.max(t)));
        self.put(t, key, row());
        if self.state.keys.len() >= self.limit.max(64) {
            self.prune();
        }
        Ok(())
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.drawn().into_iter().for_each(|index| visit(&self.state.rows.0[index]));
    }

    fn each_held(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.rows.0.iter().for_each(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.prune();
        self.state.rows.0.iter_mut().for_each(visit);
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        self.clock.check_merge()?;
        let other: State = unpack(NAME, other)?;
        self.state.latest = match (self.state.latest, other.latest) {
            (Some(ours), Some(theirs)) => Some(ours.max(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.state.seen = self.state.seen.saturating_add(other.seen);
        for ((t, key), row) in other.times.into_iter().zip(other.keys).zip(other.rows.0) {
            self.put(t, key, row);
        }
        self.prune();
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::sampler::testing::{drawn, fits, learn, sampler};
    use serde_json::json;

    #[test]
    fn all_pairs_of_the_last_four_rows_are_equally_likely() {
        for by_time in [false, true] {
            let mut counts = [0; 6];
            for seed in 0..3000 {
                let parameters = json!({ "size": 2, "window_size": 4.0, "by_time": by_time, "seed": seed });
                let mut window = sampler("WindowSample", parameters);
                learn(&mut window, (0..9).map(|x| (x, 1.0, Some(x as f64))));
                let drawn = drawn(&window);
                let (i, j) = (drawn[0] - 5, drawn[1] - 5);
                assert!(0 <= i && i < j && j < 4, "{drawn:?}");
                counts[(i * (5 - i) / 2 + j - 1) as usize] += 1;
            }
            assert!(fits(&counts, &[1.0; 6]) > 1e-3, "{counts:?}");
        }
    }

    #[test]
    fn every_row_of_the_window_is_in_if_there_is_room() {
        let mut window = sampler("WindowSample", json!({ "size": 5, "window_size": 10, "by_time": true }));
        learn(&mut window, [(0, 1.0, Some(0.0)), (1, 1.0, Some(5.0)), (2, 1.0, Some(9.9))].into_iter());
        assert_eq!(drawn(&window), [0, 1, 2]);
        // (0, 10] and then (90, 100].
        learn(&mut window, [(3, 1.0, Some(10.0))].into_iter());
        assert_eq!(drawn(&window), [1, 2, 3]);
        learn(&mut window, [(4, 1.0, Some(100.0))].into_iter());
        assert_eq!(drawn(&window), [4]);
    }

    #[test]
    fn few_rows_are_held() {
        let mut window = sampler("WindowSample", json!({ "size": 20, "window_size": 10_000 }));
        learn(&mut window, (0..30_000).map(|x| (x, 1.0, None)));
        // 20 (1 + ln 500) = 144 on average; with rows that are due for removal at most three times as many.
        let held = window.inspect()["held"].as_u64().expect("a number");
        assert!((80..230).contains(&held), "{held}");
        let mut all = 0;
        window.sampler().each_held(&mut |_| all += 1);
        assert!(all < 600, "{all}");
    }

    #[test]
    fn merged_and_late_rows_are_rows_like_others() {
        let mut counts = [0; 6];
        for seed in 0..3000 {
            let build = |seed: i64| {
                let parameters =
                    json!({ "size": 2, "window_size": 4, "by_time": true, "late": "accept", "seed": seed });
                sampler("WindowSample", parameters)
            };
            let row = |x: i64| (x, 1.0, Some(x as f64));
            let (mut ours, mut theirs) = (build(2 * seed), build(2 * seed + 1));
            learn(&mut ours, [0, 4, 1, 7].map(row).into_iter());
            learn(&mut theirs, [2, 5].map(row).into_iter());
            ours.merge(&theirs, None).expect("by time");
            learn(&mut ours, [6, 3].map(row).into_iter());
            let drawn = drawn(&ours);
            let (i, j) = (drawn[0] - 4, drawn[1] - 4);
            counts[(i * (5 - i) / 2 + j - 1) as usize] += 1;
        }
        assert!(fits(&counts, &[1.0; 6]) > 1e-3, "{counts:?}");
    }
}
