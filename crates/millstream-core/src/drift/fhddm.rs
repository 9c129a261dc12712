//! FHDDM (Pesaranghader and Viktor, 2016): the error rate in a window against its minimum.
//!
//! With a window of n numbers, drift is detected when the error rate exceeds its minimum by more than ε = √(ln(1/δ) / 2n)
//! (Hoeffding's inequality). With a second, short window, as in the stacking variant (FHDDMS, 2018), either may detect it:
//! the short window is faster, the long one detects smaller changes. The papers use success rates and their maximum,
//! which is equivalent. A warning is given at ten times δ. The estimated change point is the minimum of the error rate.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::ring_buffer::RingBuffer;
use super::{significance, warning_significance, window_size, LARGEST_WINDOW};

pub static FHDDM: Declaration = Declaration {
    name: Fhddm::NAME,
    role: Role::DriftDetector,
    words: "Fast Hoeffding drift detection method: the error rate in a window against its minimum",
    merge: Merge::DETECTOR,
    parameters: &[
        window_size("window_size", 100, "number of values in the window").formerly(&["sliding_window_size"]),
        significance("significance", 1e-6, "significance level of drift").formerly(&["confidence_level"]),
        Parameter::new(
            "short_window_size",
            Kind::Optional(&Kind::Integer { low: 1, high: LARGEST_WINDOW }),
            DefaultValue::Null,
            "number of values in a second, shorter window; null for a single window",
        ),
    ],
    build: |arguments| {
        let size = arguments.integer("window_size")? as usize;
        let short = arguments.value("short_window_size")?.as_u64().map(|size| size as usize);
        if short.is_some_and(|short| short >= size) {
            return Err(Fault::value(format!(
                "{}: short_window_size must be less than window_size ({size}), got {}",
                Fhddm::NAME,
                short.unwrap_or_default()
            )));
        }
        let bound = |size: usize, significance: f64| ((1.0 / significance).ln() / (2.0 * size as f64)).sqrt();
        let significance = arguments.float("significance")?;
        let windows = [Some(size), short].map(|size| {
            size.map(|size| WindowBound {
                size,
                bound: bound(size, significance),
                warning: bound(size, warning_significance(significance)),
            })
        });
        Ok(build(Fhddm { size, windows }))
    },
};

#[derive(Clone)]
struct Fhddm {
    size: usize,
    /// The long window and the optional short one.
    windows: [Option<WindowBound>; 2],
}

/// A window, and how far its error rate may exceed the minimum.
#[derive(Clone, Copy)]
struct WindowBound {
    size: usize,
    bound: f64,
    warning: f64,
}

/// The sum of a window, and the minimum of its mean.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct WindowSum {
    total: f64,
    /// The minimum of the mean and the count at which it was reached.
    least: Option<(f64, u64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    recent: RingBuffer,
    numbers: u64,
    sums: [WindowSum; 2],
    verdict: Verdict,
}

impl ChangeTest for Fhddm {
    const NAME: &'static str = "drift.FHDDM";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        let State { recent, numbers, sums, verdict } = state;
        *numbers = numbers.saturating_add(1);
        let length = recent.len();
        if let Some(WindowBound { size: short, .. }) = self.windows[1] {
            // The number that leaves the short window.
            let out = if length >= short { recent.get(length - short) } else { 0.0 };
            sums[1].total += x - out;
        }
        let out = recent.push(x, self.size).unwrap_or(0.0);
        sums[0].total += x - out;
        *verdict = Verdict::default();
        if recent.len() < self.size {
            return Ok(());
        }
        for (window, sum) in self.windows.iter().zip(sums) {
            let Some(WindowBound { size, bound, warning }) = *window else { continue };
            let mean = sum.total / size as f64;
            match sum.least {
                Some((least, at)) if mean >= least => {
                    let since = (*numbers - at).max(1);
                    if mean - least > bound && !verdict.drift {
                        *verdict = Verdict::drift(Direction::Up, since);
                    } else if mean - least > warning && *verdict == Verdict::default() {
                        *verdict = Verdict::warning(Direction::Up, since);
                    }
                }
                _ => sum.least = Some((mean, *numbers)),
            }
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    /// The error rate in the window.
    fn estimation(state: &State) -> f64 {
        let numbers = state.recent.len();
        if numbers == 0 {
            0.0
        } else {
            state.sums[0].total / numbers as f64
        }
    }

    fn restart(&self, state: &mut State) {
        state.recent.clear();
        (state.numbers, state.sums, state.verdict) = (0, Default::default(), Verdict::default());
    }

    fn is_sound(&self, state: &State) -> bool {
        let sound = |sum: &WindowSum| {
            sum.total.is_finite() && sum.least.is_none_or(|(least, at)| least.is_finite() && at <= state.numbers)
        };
        state.recent.is_sound(self.size, 0.0, 1.0)
            && state.recent.len() as u64 <= state.numbers
            && state.sums.iter().all(sound)
    }

    fn memory(state: &State) -> usize {
        state.recent.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::{detector, found};
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // A window of 8 and δ = 0.01: ε = √(ln(100) / 16) = 0.5365. After eight zeros the error rate is 0; it is 4/8
        // after four ones and 5/8 > ε after five, at index 12.
        let mut one = detector(Fhddm::NAME, json!({ "window_size": 8, "significance": 0.01 }));
        let numbers = (0..14).map(|index| f64::from(u8::from(index >= 8)));
        assert_eq!(found(&mut *one, numbers.clone().take(13)), [12]);
        assert_eq!(one.verdict(), Verdict::drift(Direction::Up, 5));
        // At ten times δ the bound is √(ln(10) / 16) = 0.3794: 3/8 is below it, 4/8 a warning.
        let mut one = detector(Fhddm::NAME, json!({ "window_size": 8, "significance": 0.01 }));
        assert!(found(&mut *one, numbers.clone().take(11)).is_empty() && !one.verdict().warning);
        assert!(found(&mut *one, [1.0]).is_empty());
        assert_eq!(one.verdict(), Verdict::warning(Direction::Up, 4));
        // With a second window of 4 the bound there is 0.7587, passed by 4/4: one number earlier.
        let parameters = json!({ "window_size": 8, "significance": 0.01, "short_window_size": 4 });
        assert_eq!(found(&mut *detector(Fhddm::NAME, parameters), numbers), [11]);
    }
}
