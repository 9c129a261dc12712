//! EDDM (Baena-García and others, 2006): the distance between errors of a learner on a stable stream only increases.
//!
//! p' is the mean of the distances so far, s' their standard deviation. With the maximum of p' + 2 s', a warning is given
//! when (p' + 2 s') / max < α, and drift is detected below β. The estimated change point is the maximum of p' + 2 s'. A
//! warning lasts until the next error that is tested. As in River, an error at a new maximum is not tested, so a warning
//! may outlast it.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::{fraction, grace_period};

pub static EDDM: Declaration = Declaration {
    name: Eddm::NAME,
    role: Role::DriftDetector,
    words: "Early drift detection method: the distance between errors, for gradual drift",
    merge: Merge::DETECTOR,
    parameters: &[
        grace_period(30, &["warm_start"]),
        fraction("warning_ratio", 0.95, "fraction of the maximum distance below which a warning is given")
            .formerly(&["alpha"]),
        fraction("drift_ratio", 0.9, "fraction of the maximum distance below which drift is detected")
            .formerly(&["beta"]),
    ],
    build: |arguments| {
        let (warning_ratio, drift_ratio) = (arguments.float("warning_ratio")?, arguments.float("drift_ratio")?);
        if warning_ratio < drift_ratio {
            return Err(Fault::value(format!(
                "{}: warning_ratio must be at least drift_ratio, because a warning precedes drift; got \
                 {warning_ratio} and {drift_ratio}",
                Eddm::NAME
            )));
        }
        Ok(build(Eddm { grace_period: arguments.integer("grace_period")? as u64, warning_ratio, drift_ratio }))
    },
};

#[derive(Clone)]
struct Eddm {
    grace_period: u64,
    warning_ratio: f64,
    drift_ratio: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    numbers: u64,
    errors: u64,
    /// Count at the last error.
    last: u64,
    /// Mean of the distances, and the sum of squared deviations from it.
    mean: f64,
    squares: f64,
    greatest: f64,
    greatest_at: u64,
    verdict: Verdict,
}

impl ChangeTest for Eddm {
    const NAME: &'static str = "drift.EDDM";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        if x != 0.0 && x != 1.0 {
            let words = format!("{}: a number must be 0 or 1 (1 for an error), got {x}", Self::NAME);
            return Err(Fault::value(words));
        }
        state.numbers = state.numbers.saturating_add(1);
        if x == 0.0 {
            if state.verdict.warning {
                // The warning lasts, with the same change point.
                state.verdict.since = state.numbers - state.greatest_at;
            }
            return Ok(());
        }
        state.errors = state.errors.saturating_add(1);
        let distance = (state.numbers - state.last) as f64;
        state.last = state.numbers;
        let before = state.mean;
        state.mean += (distance - before) / state.errors as f64;
        state.squares += (distance - before) * (distance - state.mean);
        if state.numbers <= self.grace_period {
            return Ok(());
        }
        let variance = if state.errors > 1 { state.squares / (state.errors - 1) as f64 } else { 0.0 };
        let now = state.mean + 2.0 * variance.max(0.0).sqrt();
        if now > state.greatest {
            (state.greatest, state.greatest_at) = (now, state.numbers);
            if state.verdict.warning {
                state.verdict.since = 1;
            }
        } else if state.errors > self.grace_period {
            let level = now / state.greatest;
            let since = state.numbers - state.greatest_at;
            state.verdict = if level < self.drift_ratio {
                Verdict::drift(Direction::Up, since)
            } else if level < self.warning_ratio {
                Verdict::warning(Direction::Up, since)
            } else {
                Verdict::default()
            };
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    /// The error rate.
    fn estimation(state: &State) -> f64 {
        if state.numbers == 0 {
            0.0
        } else {
            state.errors as f64 / state.numbers as f64
        }
    }

    fn is_sound(&self, state: &State) -> bool {
        // The sum of the distances is at most the count, up to rounding.
        let most = state.numbers as f64 * (1.0 + 1e-6);
        let amounts = [(state.mean, most), (state.squares, most * most), (state.greatest, 3.0 * most)];
        amounts.iter().all(|(amount, most)| (0.0..=*most).contains(amount))
            && state.errors <= state.numbers
            && state.last.max(state.greatest_at) <= state.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Errors at 4, 8, 12: distances 4, 4, 4, so p' + 2 s' = 4. One more at 13: distances 4, 4, 4, 1, mean 3.25,
        // deviation 1.5, 6.25: the greatest. At 14: mean 2.8, deviation √2.7, 6.086; 0.974 of it. At 15: mean 2.5,
        // deviation √2.7, 5.786: 0.926 of it, a warning since two numbers.
        let mut detector = detector(Eddm::NAME, json!({ "grace_period": 3 }));
        let mut verdicts = Vec::new();
        for number in 1..=15 {
            detector.update(f64::from(u8::from(number % 4 == 0 || number > 12))).expect("a good number");
            verdicts.push(detector.verdict());
        }
        assert_eq!(verdicts[14], Verdict::warning(Direction::Up, 2));
        assert!(verdicts[..14].iter().all(|verdict| *verdict == Verdict::default()));
        assert!(detector.update(0.5).is_err());
        // The change point is constant while predictions are correct.
        for since in [3, 4] {
            detector.update(0.0).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::warning(Direction::Up, since));
        }
    }

    #[test]
    fn sums_that_no_numbers_have_are_refused() {
        let test = Eddm { grace_period: 30, warning_ratio: 0.95, drift_ratio: 0.9 };
        // Errors at 10 and 40: distances 10 and 30, mean 20, squares 200.
        let good = State { numbers: 40, errors: 2, last: 40, mean: 20.0, squares: 200.0, ..State::default() };
        assert!(test.is_sound(&State::default()) && test.is_sound(&good));
        for bad in [
            State { mean: 1e300, ..good },
            State { squares: 1e308, ..good },
            State { greatest: 1e9, ..good },
            State { mean: f64::NAN, ..good },
        ] {
            assert!(!test.is_sound(&bad));
        }
    }
}
