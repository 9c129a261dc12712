//! The Page-Hinkley test: has the mean of a stream changed?
//!
//! Page's cumulative sums (1954) of deviations from the running mean, with a tolerance δ and forgetting α:
//! U ← α U + (x − mean) − δ, D ← α D + (x − mean) + δ. A rise is found when U exceeds its least value by
//! more than the threshold λ, a fall when D is below its greatest by more than λ. After a change the test
//! starts again with the next number. Steps as in River, to the bit.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultKind, Result};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{DriftDetector, Part};
use crate::state::{pack, require, unpack};

const NAME: &str = "drift.PageHinkley";

pub static PAGE_HINKLEY: Declaration = Declaration {
    name: NAME,
    role: Role::DriftDetector,
    words: "Page-Hinkley test for a change of the mean",
    parameters: &[
        Parameter::new(
            "min_instances",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(30),
            "numbers before a change may be found",
        ),
        Parameter::new(
            "delta",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.005),
            "deviations that are tolerated",
        ),
        Parameter::new(
            "threshold",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(50.0),
            "the cumulative deviation that is a change",
        ),
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::SHARE),
            DefaultValue::Float(0.9999),
            "forgetting of cumulative deviations",
        ),
        Parameter::new(
            "mode",
            Kind::Choice(&["both", "up", "down"]),
            DefaultValue::Text("both"),
            "which changes of the mean to look for",
        ),
    ],
    build: |arguments| {
        let mode = arguments.text("mode")?;
        Ok(Built::DriftDetector(Box::new(PageHinkley {
            min_instances: arguments.integer("min_instances")? as u64,
            delta: arguments.float("delta")?,
            threshold: arguments.float("threshold")?,
            alpha: arguments.float("alpha")?,
            up: mode != "down",
            down: mode != "up",
            state: State::default(),
        })))
    },
};

#[derive(Clone)]
struct PageHinkley {
    min_instances: u64,
    delta: f64,
    threshold: f64,
    alpha: f64,
    up: bool,
    down: bool,
    state: State,
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
}

impl Part for PageHinkley {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let numbers = [state.mean, state.rise, state.fall, state.least_rise, state.greatest_fall];
        require(NAME, numbers.iter().all(|number| number.is_finite()), "a number is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl DriftDetector for PageHinkley {
    fn update(&mut self, x: f64) -> Result<()> {
        let mut state = if self.state.drift { State::default() } else { self.state };
        state.numbers = state.numbers.saturating_add(1);
        state.mean += (1.0 / state.numbers as f64) * (x - state.mean);
        let deviation = x - state.mean;
        state.rise = self.alpha * state.rise + deviation - self.delta;
        state.fall = self.alpha * state.fall + deviation + self.delta;
        let first = state.numbers == 1;
        if first || state.rise < state.least_rise {
            state.least_rise = state.rise;
        }
        if first || state.fall > state.greatest_fall {
            state.greatest_fall = state.fall;
        }
        if !(state.mean.is_finite() && state.rise.is_finite() && state.fall.is_finite()) {
            return Err(Fault::new(
                FaultKind::Overflow,
                format!("{NAME}: this number would make the sums overflow; it was not counted"),
            ));
        }
        if state.numbers >= self.min_instances {
            state.drift = (self.up && state.rise - state.least_rise > self.threshold)
                || (self.down && state.greatest_fall - state.fall > self.threshold);
        }
        self.state = state;
        Ok(())
    }

    fn drift_detected(&self) -> bool {
        self.state.drift
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn estimation(&self) -> f64 {
        self.state.mean
    }

    fn duplicate(&self) -> Box<dyn DriftDetector> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // δ = 0, α = 1, λ = 1 on 0, 0, 3: the mean becomes 1, the deviation 2, so U = 2 > 0 + 1: a rise.
        let mut detector = PageHinkley {
            min_instances: 1,
            delta: 0.0,
            threshold: 1.0,
            alpha: 1.0,
            up: true,
            down: true,
            state: State::default(),
        };
        for (x, drift) in [(0.0, false), (0.0, false), (3.0, true), (3.0, false)] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.drift_detected(), drift);
        }
        assert_eq!(detector.estimation(), 3.0);
    }
}
