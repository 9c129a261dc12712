//! DDM (Gama, Medas, Castillo and Rodrigues, 2004): the error rate of a learner on a stable stream only decreases.
//!
//! pᵢ is the error rate so far, sᵢ = √(pᵢ (1 − pᵢ) / i). p_min and s_min are their values at the minimum of p + s. A
//! warning is given when p + s > p_min + 2 s_min, and drift is detected beyond 3 s_min. The estimated change point is the
//! minimum of p + s. After a start without an error p_min and s_min are 0, so that the first error is drift, as in the
//! paper and in River.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::{deviations, grace_period};

pub static DDM: Declaration = Declaration {
    name: Ddm::NAME,
    role: Role::DriftDetector,
    words: "Drift detection method: the error rate against its minimum",
    merge: Merge::DETECTOR,
    parameters: &[
        grace_period(30, &["warm_start"]),
        deviations("warning_threshold", 2.0, "number of standard deviations above the minimum for a warning"),
        deviations("drift_threshold", 3.0, "number of standard deviations above the minimum for drift"),
    ],
    build: |arguments| {
        Ok(build(Ddm {
            grace_period: arguments.integer("grace_period")? as u64,
            levels: Thresholds {
                warning: arguments.float("warning_threshold")?,
                drift: arguments.float("drift_threshold")?,
            },
        }))
    },
};

/// In standard deviations above the minimum.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    pub warning: f64,
    pub drift: f64,
}

/// The error rate, and its minimum with its deviation.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ErrorRate {
    pub numbers: u64,
    #[serde(rename = "share")]
    pub rate: f64,
    /// p, s and the count at the minimum of p + s.
    least: Option<(f64, f64, u64)>,
}

impl ErrorRate {
    /// Add a number in [0, 1].
    pub fn update(&mut self, x: f64) {
        self.numbers = self.numbers.saturating_add(1);
        self.rate += (1.0 / self.numbers as f64) * (x - self.rate);
    }

    /// Compare the error rate with its minimum, and update the minimum.
    pub fn judge(&mut self, levels: Thresholds) -> Verdict {
        let deviation = (self.rate * (1.0 - self.rate) / self.numbers as f64).max(0.0).sqrt();
        let now = self.rate + deviation;
        let (rate, spread, at) = match self.least {
            Some((rate, spread, at)) if now > rate + spread => (rate, spread, at),
            _ => (self.rate, deviation, self.numbers),
        };
        self.least = Some((rate, spread, at));
        let since = (self.numbers - at).max(1);
        if now > rate + levels.drift * spread {
            Verdict::drift(Direction::Up, since)
        } else if now > rate + levels.warning * spread {
            Verdict::warning(Direction::Up, since)
        } else {
            Verdict::default()
        }
    }

    pub fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.rate)
            && self.least.is_none_or(|(rate, spread, at)| {
                (0.0..=1.0).contains(&rate) && (0.0..=1.0).contains(&spread) && at <= self.numbers
            })
    }
}

#[derive(Clone)]
struct Ddm {
    grace_period: u64,
    levels: Thresholds,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    errors: ErrorRate,
    verdict: Verdict,
}

impl ChangeTest for Ddm {
    const NAME: &'static str = "drift.DDM";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        state.errors.update(x);
        if state.errors.numbers > self.grace_period {
            state.verdict = state.errors.judge(self.levels);
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.errors.rate
    }

    fn is_sound(&self, state: &State) -> bool {
        state.errors.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Four numbers of which the first is an error, p = 1/4, s = √(3/64) = 0.2165; two more errors: p = 1/2,
        // s = √(1/24) = 0.2041, p + s = 0.7041 > 1/4 + 2 · 0.2165 = 0.6830, a warning, and < 1/4 + 3 · 0.2165.
        let mut detector = detector(Ddm::NAME, json!({ "grace_period": 3 }));
        for x in [1.0, 0.0, 0.0, 0.0, 1.0] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::default());
        }
        detector.update(1.0).expect("a good number");
        assert_eq!(detector.verdict(), Verdict::warning(Direction::Up, 2));
        assert!((detector.estimation() - 0.5).abs() < 1e-15);
        assert!(detector.update(1.5).is_err());
    }

    #[test]
    fn after_a_start_without_an_error_the_first_is_a_change() {
        let mut detector = detector(Ddm::NAME, json!({ "grace_period": 3 }));
        for x in [0.0; 5] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::default());
        }
        detector.update(1.0).expect("a good number");
        assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 1));
    }
}
