//! The Page-Hinkley test for a change of the mean.
//!
//! Page's cumulative sums (1954) of deviations from the running mean, with a tolerance δ and forgetting α:
//! U ← α U + (x − mean) − δ, D ← α D + (x − mean) + δ. An increase is detected when U exceeds its minimum by more than the
//! threshold λ, a decrease when D is below its maximum by more than λ. After drift the test restarts with the next number.
//! The steps are bit-identical to River's. Beyond half of λ there is a warning, which River does not have. The estimated
//! change point is the minimum of U or the maximum of D.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::change_test::{build, too_large, ChangeTest, Direction, Verdict};
use super::{grace_period, mode, Sides, ALLOWANCE, THRESHOLD, WARNING_FRACTION};

pub static PAGE_HINKLEY: Declaration = Declaration {
    name: PageHinkley::NAME,
    role: Role::DriftDetector,
    words: "Page-Hinkley test for a change of the mean",
    merge: Merge::DETECTOR,
    parameters: &[
        grace_period(30, &["min_instances"]),
        ALLOWANCE,
        THRESHOLD,
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(0.9999),
            "factor by which cumulative deviations are multiplied at each value; 1 forgets nothing",
        )
        .formerly(&["alpha"]),
        mode("both"),
    ],
    build: |arguments| {
        Ok(build(PageHinkley {
            grace_period: arguments.integer("grace_period")? as u64,
            allowance: arguments.float("allowance")?,
            threshold: arguments.float("threshold")?,
            forgetting: arguments.float("forgetting")?,
            sides: Sides::of(arguments)?,
        }))
    },
};

#[derive(Clone)]
struct PageHinkley {
    grace_period: u64,
    allowance: f64,
    threshold: f64,
    forgetting: f64,
    sides: Sides,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Numbers since the test started.
    numbers: u64,
    mean: f64,
    rise: f64,
    fall: f64,
    least_rise: f64,
    greatest_fall: f64,
    drift: bool,
    /// When the minimum and the maximum were reached, and the verdict.
    #[serde(default)]
    least_at: u64,
    #[serde(default)]
    greatest_at: u64,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    warning: bool,
}

impl ChangeTest for PageHinkley {
    const NAME: &'static str = "drift.PageHinkley";
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        let mut next = *state;
        next.numbers = next.numbers.saturating_add(1);
        next.mean += (1.0 / next.numbers as f64) * (x - next.mean);
        let deviation = x - next.mean;
        next.rise = self.forgetting * next.rise + deviation - self.allowance;
        next.fall = self.forgetting * next.fall + deviation + self.allowance;
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
        if next.numbers >= self.grace_period {
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
                next.direction = beyond(WARNING_FRACTION * self.threshold);
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
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // δ = 0, α = 1, λ = 1 on 0, 0, 3: the mean becomes 1, the deviation 2, so U = 2 > 0 + 1: an increase since the
        // first number, where U first had its minimum.
        let parameters = json!({ "grace_period": 1, "allowance": 0.0, "threshold": 1.0, "forgetting": 1.0 });
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
        // As above with λ = 3 and 0, 0, 3, 3: U = 2 > 3/2, a warning; the mean becomes 3/2, U = 7/2 > 3, a change. With the
        // opposite sign there is a decrease, which a test for increases does not detect.
        for (sign, mode, direction) in [(1.0, "both", Direction::Up), (-1.0, "down", Direction::Down)] {
            let parameters =
                json!({ "grace_period": 1, "allowance": 0.0, "threshold": 3.0, "forgetting": 1.0, "mode": mode });
            let mut detector = detector(PageHinkley::NAME, parameters);
            let verdicts = [0.0, 0.0, 3.0, 3.0].map(|x| {
                detector.update(sign * x).expect("a good number");
                detector.verdict()
            });
            assert_eq!(verdicts[..2], [Verdict::default(); 2]);
            assert_eq!(verdicts[2..], [Verdict::warning(direction, 2), Verdict::drift(direction, 3)]);
        }
        let parameters =
            json!({ "grace_period": 1, "allowance": 0.0, "threshold": 3.0, "forgetting": 1.0, "mode": "up" });
        let mut one_sided = detector(PageHinkley::NAME, parameters);
        for x in [0.0, 0.0, -3.0, -3.0] {
            one_sided.update(x).expect("a good number");
            assert_eq!(one_sided.verdict(), Verdict::default());
        }
    }
}
