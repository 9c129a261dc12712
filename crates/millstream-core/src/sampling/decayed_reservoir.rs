//! A sample in which the weight of a row halves with each half-life.
//!
//! Forward decay: G. Cormode, V. Shkapenyuk, D. Srivastava and B. Xu (2009), "Forward decay: a practical time decay model
//! for streaming systems", ICDE, section 4.2 (exponential decay, weighted reservoir). At any time, the weights
//! w 2^(−(now − t)/h) are in the proportions of w 2^((t − L)/h) for a fixed landmark L, so that the weighted reservoir of
//! the latter is the decayed one. 2^((t − L)/h) would overflow: L moves to the present before its exponent reaches 60.

use std::f64::consts::LN_2;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::Stored;
use super::weighted::{ln_weight, Weighted};
use super::{Clock, BY_TIME, LATE, SEED, SIZE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::{unless_by_time, Merge};
use crate::numeric::elementary::exp;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::sampler::{Offer, Sampler};
use crate::schema::Schema;

const NAME: &str = "sampling.DecayedReservoir";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "A sample in which the weight of a row halves with each half-life",
    merge: Merge::approximate("a sample with the distribution of one of the whole stream, with other draws")
        .or(unless_by_time),
    parameters: &[
        SIZE,
        Parameter::new(
            "half_life",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Required,
            "age at which the weight of a row has halved, in rows or time",
        ),
        BY_TIME,
        LATE,
        SEED,
    ],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        Ok(Built::Sampler(Box::new(DecayedReservoir {
            size: arguments.size("size")?,
            // Finite, so that its product with an age of 0 is 0.
            decay: (LN_2 / arguments.float("half_life")?).min(1e300),
            clock: Clock::new(NAME, arguments)?,
            state: State { random, weighted: Weighted::default(), seen: 0, landmark: 0.0, latest: None },
        })))
    },
};

const PURPOSE: u64 = 0x6465_6361_7965_6464;

/// The exponent, to base e, at which the landmark moves.
const FURTHEST: f64 = 40.0;

#[derive(Clone)]
struct DecayedReservoir {
    size: usize,
    /// ln 2 / half-life.
    decay: f64,
    clock: Clock,
    state: State,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    random: Random,
    weighted: Weighted,
    /// Number of rows received.
    seen: u64,
    /// The time at which a weight counts as it is.
    landmark: f64,
    /// The latest time so far.
    latest: Option<f64>,
}

impl DecayedReservoir {
    /// Move the landmark to a later time.
    fn move_landmark(&mut self, to: f64) {
        // Differences of finite times may be infinite; keys must not be.
        let by = ((to - self.state.landmark) * self.decay).min(1e300);
        self.state.weighted.rescale(by, self.size, &mut self.state.random);
        self.state.landmark = to;
    }
}

impl Part for DecayedReservoir {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.weighted.is_valid(self.size), "the keys do not agree with the size")?;
        let times = state.landmark.is_finite() && state.latest.is_none_or(f64::is_finite);
        require(NAME, times, "a time is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.weighted.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "rows": self.state.weighted.rows().len(), "latest": self.state.latest })
    }
}

impl Sampler for DecayedReservoir {
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        let t = self.clock.read(offer.t, self.state.seen, self.state.latest)?;
        match self.state.latest {
            None => self.state.landmark = t,
            Some(_) if (t - self.state.landmark) * self.decay > FURTHEST => self.move_landmark(t),
            Some(_) => {}
        }
        let exponent = ((t - self.state.landmark) * self.decay).max(-1e300);
        let State { random, weighted, seen, latest, .. } = &mut self.state;
        let ln_w = || ln_weight(offer.w) + exponent;
        weighted.receive(self.size, offer.w * exp(exponent), ln_w, random, row);
        *seen = seen.saturating_add(1);
        *latest = Some(latest.map_or(t, |latest| latest.max(t)));
        Ok(())
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.weighted.rows().0.iter().for_each(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.state.weighted.rows_mut().0.iter_mut().for_each(visit);
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        self.clock.check_merge()?;
        let mut other = DecayedReservoir { state: unpack(NAME, other)?, ..self.clone() };
        let Some(theirs) = other.state.latest else { return Ok(()) };
        let Some(ours) = self.state.latest else {
            // The draws stay our own.
            self.state = State { random: self.state.random.clone(), ..other.state };
            return Ok(());
        };
        let landmark = self.state.landmark.max(other.state.landmark);
        self.move_landmark(landmark);
        other.move_landmark(landmark);
        let State { random, weighted, seen, latest, .. } = &mut self.state;
        weighted.merge(other.state.weighted, self.size, random);
        *seen = seen.saturating_add(other.state.seen);
        *latest = Some(ours.max(theirs));
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

    /// Five rows, each half as heavy as the next; the probability that each is the one drawn is 1, 2, 4, 8, 16 of 31.
    const SHARES: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

    #[test]
    fn a_half_life_halves_the_weight() {
        // In rows; in time, from 0, from a late date, and with jumps of the landmark in between.
        for (unit, start) in [(None, 0.0), (Some(10.0), 0.0), (Some(1e-3), 1.8e9), (Some(1e6), -1e12)] {
            let mut counts = [0; 5];
            for seed in 0..4000 {
                let parameters = match unit {
                    None => json!({ "size": 1, "half_life": 1.0, "seed": seed }),
                    Some(unit) => json!({ "size": 1, "half_life": unit, "by_time": true, "seed": seed }),
                };
                let mut reservoir = sampler("DecayedReservoir", parameters);
                let t = |age: f64| unit.map(|unit| start - age * unit);
                // Rows that are 100 half-lives older: far beyond the landmark's reach.
                let old = (0..3).map(|x| (100 + x, 1.0, t(110.0)));
                learn(&mut reservoir, old.chain((0..5).map(|x| (x, 1.0, t(4.0 - x as f64)))));
                if let Some(count) = counts.get_mut(drawn(&reservoir)[0] as usize) {
                    *count += 1;
                }
            }
            let rows_before = if unit.is_none() { 31.0 / 31.875 } else { 1.0 };
            assert!(f64::from(counts.iter().sum::<u32>()) > 4000.0 * rows_before - 60.0);
            assert!(fits(&counts, &SHARES) > 1e-3, "{unit:?} {counts:?}");
        }
    }

    #[test]
    fn late_rows_and_merged_parts_have_their_weight() {
        for merged in [false, true] {
            let mut counts = [0; 5];
            for seed in 0..4000 {
                let build = |seed: i64| {
                    let parameters = json!({
                        "size": 1, "half_life": 3.0, "by_time": true, "late": "accept", "seed": seed
                    });
                    sampler("DecayedReservoir", parameters)
                };
                let row = |x: i64| (x, 1.0, Some(3.0 * x as f64));
                let mut ours = build(2 * seed);
                let mut theirs = build(2 * seed + 1);
                if merged {
                    learn(&mut ours, [4, 0].map(row).into_iter());
                    learn(&mut theirs, [1, 3].map(row).into_iter());
                    ours.merge(&theirs, None).expect("by time");
                    learn(&mut ours, [2].map(row).into_iter());
                } else {
                    learn(&mut ours, [4, 0, 3, 1, 2].map(row).into_iter());
                }
                counts[drawn(&ours)[0] as usize] += 1;
            }
            assert!(fits(&counts, &SHARES) > 1e-3, "{merged} {counts:?}");
        }
    }

    #[test]
    fn times_far_apart_leave_the_state_valid() {
        let mut reservoir =
            sampler("DecayedReservoir", json!({ "size": 2, "half_life": 1e-300, "by_time": true }));
        for t in [-f64::MAX, -1.0, 0.0, 5e-324, 1.0, f64::MAX] {
            learn(&mut reservoir, [(1, 1e308, Some(t)), (2, 1e-308, Some(t))].into_iter());
            let bytes = reservoir.save().expect("a state");
            assert!(crate::held::Sampler::load(&bytes).is_ok());
        }
    }

    #[test]
    fn a_row_out_of_order_or_without_time_is_refused() {
        let mut reservoir = sampler("DecayedReservoir", json!({ "size": 2, "half_life": 1, "by_time": true }));
        learn(&mut reservoir, [(1, 1.0, Some(5.0))].into_iter());
        let before = reservoir.save().expect("a state");
        for (t, words) in [(Some(4.0), "t must not decrease, got 4 after 5"), (None, "each row needs its time t")]
        {
            let offer = crate::sampler::Offer { t, ..Default::default() };
            let fault = reservoir.learn(offer, &mut || crate::sampling::record::testing::row(2)).unwrap_err();
            assert!(fault.message().contains(words), "{fault}");
            assert_eq!(reservoir.save().expect("a state"), before);
        }
        let by_rows = |seed: i64| sampler("DecayedReservoir", json!({ "size": 2, "half_life": 1, "seed": seed }));
        assert!(by_rows(1).merge(&by_rows(2), None).unwrap_err().message().contains("use by_time=True"));
    }
}
