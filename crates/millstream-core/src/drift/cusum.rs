//! CUSUM (Page, 1954): the cumulative sum of deviations from the running mean, never below 0.
//!
//! G ← max(0, G + x − mean − δ); a rise is found when G exceeds the threshold, and a fall by the same sum of mean − x.
//! Half of the threshold is a warning. The mean is that of the numbers so far, the last one included. The change is
//! believed to have begun when the sum last left 0.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;

use super::detector::{build, too_large, Direction, Test, Verdict};
use super::{min_instances, mode, Sides, DELTA, THRESHOLD, WARNING_SHARE};

pub static CUSUM: Declaration = Declaration {
    name: Cusum::NAME,
    role: Role::DriftDetector,
    words: "Cumulative sum of deviations from the mean",
    parameters: &[min_instances(30), DELTA, THRESHOLD, mode("both")],
    build: |arguments| {
        Ok(build(Cusum {
            min_instances: arguments.integer("min_instances")? as u64,
            delta: arguments.float("delta")?,
            threshold: arguments.float("threshold")?,
            sides: Sides::of(arguments)?,
        }))
    },
};

#[derive(Clone)]
struct Cusum {
    min_instances: u64,
    delta: f64,
    threshold: f64,
    sides: Sides,
}

/// A sum, and how many numbers ago it left 0.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sum {
    value: f64,
    since: u64,
}

impl Sum {
    fn add(&mut self, deviation: f64) {
        self.value = (self.value + deviation).max(0.0);
        self.since = if self.value > 0.0 { self.since.saturating_add(1) } else { 0 };
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    numbers: u64,
    mean: f64,
    rise: Sum,
    fall: Sum,
    verdict: Verdict,
}

impl Test for Cusum {
    const NAME: &'static str = "drift.CUSUM";
    type State = State;

    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        let mut next = *state;
        next.numbers = next.numbers.saturating_add(1);
        next.mean += (x - next.mean) / next.numbers as f64;
        next.rise.add(x - next.mean - self.delta);
        next.fall.add(next.mean - x - self.delta);
        if !(next.mean.is_finite() && next.rise.value.is_finite() && next.fall.value.is_finite()) {
            return Err(too_large::<Self>());
        }
        next.verdict = Verdict::default();
        if next.numbers >= self.min_instances {
            let beyond = |level: f64| match (next.rise, next.fall) {
                (rise, _) if self.sides.up && rise.value > level => Some((Direction::Up, rise.since)),
                (_, fall) if self.sides.down && fall.value > level => Some((Direction::Down, fall.since)),
                _ => None,
            };
            if let Some((direction, since)) = beyond(self.threshold) {
                next.verdict = Verdict::drift(direction, since);
            } else if let Some((direction, since)) = beyond(WARNING_SHARE * self.threshold) {
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
        let sound = |sum: &Sum| (0.0..f64::INFINITY).contains(&sum.value) && sum.since <= state.numbers;
        sound(&state.rise) && sound(&state.fall)
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // δ = 0 on 0, 0, 3: the means are 0, 0, 1, so G = 3 − 1 = 2 > 1, since one number.
        let mut detector = detector(Cusum::NAME, json!({ "min_instances": 1, "delta": 0.0, "threshold": 1.0 }));
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
        let mut detector = detector(Cusum::NAME, json!({ "min_instances": 1, "delta": 0.0, "threshold": 3.0 }));
        let told = [0.0, 0.0, 3.0, 3.0].map(|x| {
            detector.update(x).expect("a good number");
            detector.verdict()
        });
        assert_eq!(told[..2], [Verdict::default(); 2]);
        assert_eq!(told[2..], [Verdict::warning(Direction::Up, 1), Verdict::drift(Direction::Up, 2)]);
    }
}
