//! FHDDM (Pesaranghader and Viktor, 2016): the share of errors in a window against the least that it ever was.
//!
//! With a window of n numbers, a change is found when the share exceeds its least by more than ε = √(ln(1/δ) / 2n)
//! (Hoeffding's inequality). With a second, short window, as in the stacking variant (FHDDMS, 2018), either may find it:
//! the short one is quicker, the long one sees less. The papers write it with shares of successes and their greatest,
//! which is the same. A warning is given at ten times δ. The change is believed to have begun where the share was least.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

use super::detector::{build, Direction, Test, Verdict};
use super::recent::Recent;
use super::{chance_of_warning, confidence, window_size, LARGEST_WINDOW};

pub static FHDDM: Declaration = Declaration {
    name: Fhddm::NAME,
    role: Role::DriftDetector,
    words: "Fast Hoeffding drift detection: the share of errors in a window against its least",
    parameters: &[
        window_size("sliding_window_size", 100, "numbers in the window"),
        confidence("confidence_level", 1e-6, "the chance of a false alarm"),
        Parameter::new(
            "short_window_size",
            Kind::Optional(&Kind::Integer { low: 1, high: LARGEST_WINDOW }),
            DefaultValue::Null,
            "numbers in a second, shorter window; None for one window",
        ),
    ],
    build: |arguments| {
        let size = arguments.integer("sliding_window_size")? as usize;
        let short = arguments.value("short_window_size")?.as_u64().map(|size| size as usize);
        if short.is_some_and(|short| short >= size) {
            return Err(Fault::value(format!(
                "{}: short_window_size must be less than sliding_window_size ({size}), got {}",
                Fhddm::NAME,
                short.unwrap_or_default()
            )));
        }
        let bound = |size: usize, confidence: f64| ((1.0 / confidence).ln() / (2.0 * size as f64)).sqrt();
        let confidence = arguments.float("confidence_level")?;
        let windows = [Some(size), short].map(|size| {
            size.map(|size| Sight {
                size,
                bound: bound(size, confidence),
                warning: bound(size, chance_of_warning(confidence)),
            })
        });
        Ok(build(Fhddm { size, windows }))
    },
};

#[derive(Clone)]
struct Fhddm {
    size: usize,
    /// The window and the short one, if there is one.
    windows: [Option<Sight>; 2],
}

/// A window, and how far its share may be above the least.
#[derive(Clone, Copy)]
struct Sight {
    size: usize,
    bound: f64,
    warning: f64,
}

/// The sum in a window, and the least that its mean was.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sum {
    total: f64,
    /// The least mean and the number at which it was reached.
    least: Option<(f64, u64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    recent: Recent,
    numbers: u64,
    sums: [Sum; 2],
    verdict: Verdict,
}

impl Test for Fhddm {
    const NAME: &'static str = "drift.FHDDM";
    const SHARES: bool = true;
    type State = State;

    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        let State { recent, numbers, sums, verdict } = state;
        *numbers = numbers.saturating_add(1);
        let length = recent.len();
        if let Some(Sight { size: short, .. }) = self.windows[1] {
            // The number that falls out of the short window, before the newest is in.
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
            let Some(Sight { size, bound, warning }) = *window else { continue };
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

    /// The share of errors in the window.
    fn estimation(state: &State) -> f64 {
        let numbers = state.recent.len();
        if numbers == 0 {
            0.0
        } else {
            state.sums[0].total / numbers as f64
        }
    }

    fn clear(&self, state: &mut State) {
        state.recent.clear();
        (state.numbers, state.sums, state.verdict) = (0, Default::default(), Verdict::default());
    }

    fn is_sound(&self, state: &State) -> bool {
        let sound = |sum: &Sum| {
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
    use super::super::detector::tests::{detector, found};
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // A window of 8 and δ = 0.01: ε = √(ln(100) / 16) = 0.5365. After eight zeros the share is 0; it is 4/8 after four
        // ones and 5/8 > ε after five, at place 12.
        let mut one = detector(Fhddm::NAME, json!({ "sliding_window_size": 8, "confidence_level": 0.01 }));
        let numbers = (0..14).map(|place| f64::from(u8::from(place >= 8)));
        assert_eq!(found(&mut *one, numbers.clone().take(13)), [12]);
        assert_eq!(one.verdict(), Verdict::drift(Direction::Up, 5));
        // At ten times δ the bound is √(ln(10) / 16) = 0.3794: 3/8 is below it, 4/8 a warning.
        let mut one = detector(Fhddm::NAME, json!({ "sliding_window_size": 8, "confidence_level": 0.01 }));
        assert!(found(&mut *one, numbers.clone().take(11)).is_empty() && !one.verdict().warning);
        assert!(found(&mut *one, [1.0]).is_empty());
        assert_eq!(one.verdict(), Verdict::warning(Direction::Up, 4));
        // With a second window of 4 the bound there is 0.7587, passed by 4/4: one number earlier.
        let parameters = json!({ "sliding_window_size": 8, "confidence_level": 0.01, "short_window_size": 4 });
        assert_eq!(found(&mut *detector(Fhddm::NAME, parameters), numbers), [11]);
    }
}
