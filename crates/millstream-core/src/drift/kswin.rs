//! KSWIN (Raab, Heusinger and Schleif, 2020): the Kolmogorov-Smirnov test between new and old numbers.
//!
//! In a window of n numbers, the last r are compared with a random sample of r from the n − r before them. Drift is
//! detected when the maximum distance of the two empirical distributions exceeds √(−ln(α) / r) (their equation 5). The
//! window then keeps the last r numbers. The test detects any change of the distribution, not only of the mean. A warning
//! is given at ten times α.
//!
//! The Kolmogorov-Smirnov bound for two samples of r numbers is √(−ln(α / 2) / r), so that the significance level of the
//! paper's bound is about 2 α. River compares a p-value with α, and also requires a distance above 0.1.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::ring_buffer::RingBuffer;
use super::{significance, warning_significance, window_size};

pub static KSWIN: Declaration = Declaration {
    name: Kswin::NAME,
    role: Role::DriftDetector,
    words: "Kolmogorov-Smirnov test in a window, for any change of the distribution",
    merge: Merge::DETECTOR,
    parameters: &[
        significance("significance", 0.005, "half of the significance level of the test at each value")
            .formerly(&["alpha"]),
        window_size("window_size", 100, "number of values in the window"),
        window_size("stat_size", 30, "number of newest values, and of older values they are compared with"),
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(0),
            "seed of the random sample of older values",
        ),
    ],
    build: |arguments| {
        let size = arguments.integer("window_size")? as usize;
        let newest = arguments.integer("stat_size")? as usize;
        if 2 * newest > size {
            return Err(Fault::value(format!(
                "{}: stat_size must be at most half of window_size ({size}), got {newest}",
                Kswin::NAME
            )));
        }
        let drift = arguments.float("significance")?;
        let [bound, warning] =
            [drift, warning_significance(drift)].map(|level| (-level.ln() / newest as f64).sqrt());
        Ok(build(Kswin { size, newest, bound, warning, seed: arguments.integer("seed")? as u64 }))
    },
};

#[derive(Clone)]
struct Kswin {
    size: usize,
    newest: usize,
    bound: f64,
    warning: f64,
    seed: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    recent: RingBuffer,
    /// Tests since the window was started; with the seed it determines the random sample.
    tests: u64,
    verdict: Verdict,
    /// Buffers for the two samples.
    #[serde(skip)]
    samples: [Vec<f64>; 2],
}

impl Kswin {
    fn draw(&self, state: &mut State) {
        let State { recent, tests, samples: [old, new], .. } = state;
        let older = self.size - self.newest;
        let mut random = Random::new(self.seed, *tests);
        old.clear();
        // Selection sampling (Knuth, algorithm S): all subsets are equally likely, and no extra memory is needed.
        for index in 0..older {
            let (left, wanted) = (older - index, self.newest - old.len());
            if random.below(left as u32) < wanted as u32 {
                old.push(recent.get(index));
            }
        }
        new.clear();
        new.extend((older..self.size).map(|index| recent.get(index)));
        old.sort_unstable_by(f64::total_cmp);
        new.sort_unstable_by(f64::total_cmp);
    }
}

/// The maximum distance of two empirical distributions of equal size, in steps of one number, and whether the first
/// distribution function is above the second there.
fn distance(old: &[f64], new: &[f64]) -> (usize, bool) {
    let (mut before, mut after) = (0, 0);
    let mut greatest = (0, false);
    while before < old.len() && after < new.len() {
        let at = old[before].min(new[after]);
        while before < old.len() && old[before] <= at {
            before += 1;
        }
        while after < new.len() && new[after] <= at {
            after += 1;
        }
        let apart = before.abs_diff(after);
        if apart > greatest.0 {
            greatest = (apart, before > after);
        }
    }
    greatest
}

impl ChangeTest for Kswin {
    const NAME: &'static str = "drift.KSWIN";
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        state.recent.push(x, self.size);
        state.verdict = Verdict::default();
        if state.recent.len() == self.size {
            state.tests = state.tests.wrapping_add(1);
            self.draw(state);
            let (apart, above) = distance(&state.samples[0], &state.samples[1]);
            let distance = apart as f64 / self.newest as f64;
            let direction = if above { Direction::Up } else { Direction::Down };
            if distance > self.bound {
                state.verdict = Verdict::drift(direction, self.newest as u64);
            } else if distance > self.warning {
                state.verdict = Verdict::warning(direction, self.newest as u64);
            }
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        let numbers = state.recent.len();
        if numbers == 0 {
            return 0.0;
        }
        let scale = numbers as f64;
        state.recent.iter().map(|x| x / scale).sum()
    }

    /// Keep the newest numbers, which are from after the change.
    fn restart(&self, state: &mut State) {
        let drift = state.verdict.drift;
        let newest: Vec<f64> =
            if drift { state.recent.iter().rev().take(self.newest).collect() } else { Vec::new() };
        state.recent.clear();
        for &x in newest.iter().rev() {
            state.recent.push(x, self.size);
        }
        state.verdict = Verdict::default();
        if !drift {
            state.tests = 0;
        }
    }

    fn is_sound(&self, state: &State) -> bool {
        state.recent.is_sound(self.size, -f64::MAX, f64::MAX)
    }

    fn memory(state: &State) -> usize {
        let samples: usize =
            state.samples.iter().map(|sample| sample.capacity() * std::mem::size_of::<f64>()).sum();
        state.recent.memory() + samples
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::{detector, found};
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Of 1, 2, 3, 4 against 3, 4, 5, 6: below 3 lie two of the first and none of the second, the greatest distance.
        assert_eq!(distance(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]), (2, true));
        assert_eq!(distance(&[1.0, 1.0], &[1.0, 1.0]), (0, false));
        // Of zeros and then ones with r = 10 and α = 0.05, the bound is √(0.29957) = 0.5473: six ones among the newest ten,
        // while all older ones are zeros: at index 45 for a change at 40.
        let parameters = json!({ "significance": 0.05, "window_size": 40, "stat_size": 10 });
        let mut numbers = (0..46).map(|index| f64::from(u8::from(index >= 40)));
        let mut detector = detector(Kswin::NAME, parameters);
        // A warning at √0.05 = 0.2236, since ten times 0.05 is more: √(0.14979) = 0.387, which four ones exceed, not three.
        assert!(found(&mut *detector, numbers.by_ref().take(43)).is_empty() && !detector.verdict().warning);
        assert!(found(&mut *detector, numbers.by_ref().take(1)).is_empty());
        assert_eq!(detector.verdict(), Verdict::warning(Direction::Up, 10));
        assert_eq!(found(&mut *detector, numbers), [1]);
        assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 10));
    }
}
