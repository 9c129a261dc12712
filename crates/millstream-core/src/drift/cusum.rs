//! CUSUM (Page, 1954): the cumulative sum of deviations from the running mean, never below 0.
//!
//! G ← max(0, G + x − mean − δ); an increase is detected when G exceeds the threshold, and a decrease by the same sum of
//! mean − x. Half of the threshold gives a warning. The mean is that of all numbers so far, including the last one. The
//! estimated change point is where the sum last left 0.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;

use super::change_test::{build, too_large, ChangeTest, Direction, Verdict};
use super::{grace_period, mode, Sides, ALLOWANCE, THRESHOLD, WARNING_FRACTION};

pub static CUSUM: Declaration = Declaration {
    name: Cusum::NAME,
    role: Role::DriftDetector,
    words: "Cumulative sum of deviations from the mean",
    merge: Merge::DETECTOR,
    parameters: &[grace_period(30, &["min_instances"]), ALLOWANCE, THRESHOLD, mode("both")],
    build: |arguments| {
        Ok(build(Cusum {
            grace_period: arguments.integer("grace_period")? as u64,
            allowance: arguments.float("allowance")?,
            threshold: arguments.float("threshold")?,
            sides: Sides::of(arguments)?,
        }))
    },
};

#[derive(Clone)]
struct Cusum {
    grace_period: u64,
    allowance: f64,
    threshold: f64,
    sides: Sides,
}

/// A sum, and the number of values since it left 0.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CumulativeSum {
    value: f64,
    since: u64,
}

impl CumulativeSum {
    fn add(&mut self, deviation: f64) {
        self.value = (self.value + deviation).max(0.0);
        self.since = if self.value > 0.0 { self.since.saturating_add(1) } else { 0 };
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    numbers: u64,
    mean: f64,
    rise: CumulativeSum,
    fall: CumulativeSum,
    verdict: Verdict,
}

impl ChangeTest for Cusum {
    const NAME: &'static str = "drift.CUSUM";
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        let mut next = *state;
        next.numbers = next.numbers.saturating_add(1);
        next.mean += (x - next.mean) / next.numbers as f64;
        next.rise.add(x - next.mean - self.allowance);
        next.fall.add(next.mean - x - self.allowance);
        if !(next.mean.is_finite() && next.rise.value.is_finite() && next.fall.value.is_finite()) {
            return Err(too_large::<Self>());
        }
        next.verdict = Verdict::default();
        if next.numbers >= self.grace_period {
            let beyond = |level: f64| match (next.rise, next.fall) {
                (rise, _) if self.sides.up && rise.value > level => Some((Direction::Up, rise.since)),
                (_, fall) if self.sides.down && fall.value > level => Some((Direction::Down, fall.since)),
                _ => None,
            };
            if let Some((direction, since)) = beyond(self.threshold) {
                next.verdict = Verdict::drift(direction, since);
            } else if let Some((direction, since)) = beyond(WARNING_FRACTION * self.threshold) {
                next.verdict = Verdict::warning(direction, since);
            }
        }
        *state = next;
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.mean
    }

    fn is_sound(&self, state: &State) -> bool {
        let sound = |sum: &CumulativeSum| (0.0..f64::INFINITY).contains(&sum.value) && sum.since <= state.numbers;
        sound(&state.rise) && sound(&state.fall)
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // δ = 0 on 0, 0, 3: the means are 0, 0, 1, so G = 3 − 1 = 2 > 1, since one number.
        let mut detector = detector(Cusum::NAME, json!({ "grace_period": 1, "allowance": 0.0, "threshold": 1.0 }));
        for x in [0.0, 0.0] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::default());
        }
        detector.update(3.0).expect("a good number");
        assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 1));
        assert_eq!(detector.estimation(), 1.0);
    }

    #[test]
    fn a_warning_by_hand() {
        // The same with a threshold of 3: G = 2 > 3/2 is a warning; another 3 makes the mean 3/2 and G = 7/2, a change.
        let mut detector = detector(Cusum::NAME, json!({ "grace_period": 1, "allowance": 0.0, "threshold": 3.0 }));
        let verdicts = [0.0, 0.0, 3.0, 3.0].map(|x| {
            detector.update(x).expect("a good number");
            detector.verdict()
        });
        assert_eq!(verdicts[..2], [Verdict::default(); 2]);
        assert_eq!(verdicts[2..], [Verdict::warning(Direction::Up, 1), Verdict::drift(Direction::Up, 2)]);
    }
}
