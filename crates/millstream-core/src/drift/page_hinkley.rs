//! The Page-Hinkley test: has the mean of a stream changed?
//!
//! Page's cumulative sums (1954) of deviations from the running mean, with a tolerance δ and forgetting α:
//! U ← α U + (x − mean) − δ, D ← α D + (x − mean) + δ. A rise is found when U exceeds its least value by
//! more than the threshold λ, a fall when D is below its greatest by more than λ. After a change the test
//! starts again with the next number. Steps as in River, to the bit. Beyond half of λ there is a warning, which River
//! has not. The change is believed to have begun where U was least, or D greatest.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::detector::{build, too_large, Direction, Test, Verdict};
use super::{min_instances, mode, Sides, DELTA, THRESHOLD, WARNING_SHARE};

pub static PAGE_HINKLEY: Declaration = Declaration {
    name: PageHinkley::NAME,
    role: Role::DriftDetector,
    words: "Page-Hinkley test for a change of the mean",
    parameters: &[
        min_instances(30),
        DELTA,
        THRESHOLD,
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::SHARE),
            DefaultValue::Float(0.9999),
            "forgetting of cumulative deviations",
        ),
        mode("both"),
    ],
    build: |arguments| {
        Ok(build(PageHinkley {
            min_instances: arguments.integer("min_instances")? as u64,
            delta: arguments.float("delta")?,
            threshold: arguments.float("threshold")?,
            alpha: arguments.float("alpha")?,
            sides: Sides::of(arguments)?,
        }))
    },
};

#[derive(Clone)]
struct PageHinkley {
    min_instances: u64,
    delta: f64,
    threshold: f64,
    alpha: f64,
    sides: Sides,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Numbers since the test began.
    numbers: u64,
    mean: f64,
    rise: f64,
    fall: f64,
    least_rise: f64,
    greatest_fall: f64,
    drift: bool,
    /// When the least and the greatest were reached, and what was found.
    #[serde(default)]
    least_at: u64,
    #[serde(default)]
    greatest_at: u64,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    warning: bool,
}

impl Test for PageHinkley {
    const NAME: &'static str = "drift.PageHinkley";
    type State = State;

    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        let mut next = *state;
        next.numbers = next.numbers.saturating_add(1);
        next.mean += (1.0 / next.numbers as f64) * (x - next.mean);
        let deviation = x - next.mean;
        next.rise = self.alpha * next.rise + deviation - self.delta;
        next.fall = self.alpha * next.fall + deviation + self.delta;
        let first = next.numbers == 1;
        if first || next.rise < next.least_rise {
            (next.least_rise, next.least_at) = (next.rise, next.numbers);
        }
        if first || next.fall > next.greatest_fall {
            (next.greatest_fall, next.greatest_at) = (next.fall, next.numbers);
        }
        if !(next.mean.is_finite() && next.rise.is_finite() && next.fall.is_finite()) {
            return Err(too_large::<Self>());
        }
        if next.numbers >= self.min_instances {
            let rise = if self.sides.up { next.rise - next.least_rise } else { 0.0 };
            let fall = if self.sides.down { next.greatest_fall - next.fall } else { 0.0 };
            let beyond = |level: f64| match (rise > level, fall > level) {
                (true, _) => Direction::Up,
                (false, true) => Direction::Down,
                (false, false) => Direction::Unknown,
            };
            next.direction = beyond(self.threshold);
            next.drift = next.direction != Direction::Unknown;
            if !next.drift {
                next.direction = beyond(WARNING_SHARE * self.threshold);
            }
            next.warning = !next.drift && next.direction != Direction::Unknown;
        }
        *state = next;
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        if !(state.drift || state.warning) {
            return Verdict::default();
        }
        let turned = if state.direction == Direction::Down { state.greatest_at } else { state.least_at };
        let since = state.numbers.saturating_sub(turned).max(1);
        match state.drift {
            true => Verdict::drift(state.direction, since),
            false => Verdict::warning(state.direction, since),
        }
    }

    fn estimation(state: &State) -> f64 {
        state.mean
    }

    fn is_sound(&self, state: &State) -> bool {
        let numbers = [state.mean, state.rise, state.fall, state.least_rise, state.greatest_fall];
        numbers.iter().all(|number| number.is_finite()) && state.least_at.max(state.greatest_at) <= state.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // δ = 0, α = 1, λ = 1 on 0, 0, 3: the mean becomes 1, the deviation 2, so U = 2 > 0 + 1: a rise that began
        // after the first number, where U was least for the first time.
        let parameters = json!({ "min_instances": 1, "delta": 0.0, "threshold": 1.0, "alpha": 1.0 });
        let mut detector = detector(PageHinkley::NAME, parameters);
        for (x, drift) in [(0.0, false), (0.0, false), (3.0, true), (3.0, false)] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.verdict().drift, drift);
            if drift {
                assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 2));
            }
        }
        assert_eq!(detector.estimation(), 3.0);
    }

    #[test]
    fn a_warning_by_hand() {
        // As above with λ = 3 and 0, 0, 3, 3: U = 2 > 3/2, a warning; the mean becomes 3/2, U = 7/2 > 3, a change. And the
        // other way round a fall, which a test for rises does not see.
        for (sign, mode, direction) in [(1.0, "both", Direction::Up), (-1.0, "down", Direction::Down)] {
            let parameters =
                json!({ "min_instances": 1, "delta": 0.0, "threshold": 3.0, "alpha": 1.0, "mode": mode });
            let mut detector = detector(PageHinkley::NAME, parameters);
            let told = [0.0, 0.0, 3.0, 3.0].map(|x| {
                detector.update(sign * x).expect("a good number");
                detector.verdict()
            });
            assert_eq!(told[..2], [Verdict::default(); 2]);
            assert_eq!(told[2..], [Verdict::warning(direction, 2), Verdict::drift(direction, 3)]);
        }
        let parameters = json!({ "min_instances": 1, "delta": 0.0, "threshold": 3.0, "alpha": 1.0, "mode": "up" });
        let mut deaf = detector(PageHinkley::NAME, parameters);
        for x in [0.0, 0.0, -3.0, -3.0] {
            deaf.update(x).expect("a good number");
            assert_eq!(deaf.verdict(), Verdict::default());
        }
    }
}
