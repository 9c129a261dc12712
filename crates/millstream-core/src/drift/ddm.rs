//! DDM (Gama, Medas, Castillo and Rodrigues, 2004): errors of a learner in a stable world only become fewer.
//!
//! pᵢ is the share of errors so far, sᵢ = √(pᵢ (1 − pᵢ) / i). Where p + s is least, both are kept. A warning is given
//! when p + s > p_min + 2 s_min, a change found beyond 3 s_min. The change is believed to have begun where p + s was
//! least. After a start without an error p_min and s_min are 0, so that the first error is a change; as in the paper and
//! in River.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;

use super::detector::{build, Direction, Test, Verdict};
use super::{deviations, warm_start};

pub static DDM: Declaration = Declaration {
    name: Ddm::NAME,
    role: Role::DriftDetector,
    words: "Drift detection method: the share of errors against its least so far",
    parameters: &[
        warm_start(30),
        deviations("warning_threshold", 2.0, "standard deviations above the least that are a warning"),
        deviations("drift_threshold", 3.0, "standard deviations above the least that are a change"),
    ],
    build: |arguments| {
        Ok(build(Ddm {
            warm_start: arguments.integer("warm_start")? as u64,
            levels: Levels {
                warning: arguments.float("warning_threshold")?,
                drift: arguments.float("drift_threshold")?,
            },
        }))
    },
};

/// In standard deviations above the least.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub warning: f64,
    pub drift: f64,
}

/// The share of errors, and the least that it was with its deviation.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    pub numbers: u64,
    pub share: f64,
    /// (p, s, the number at which p + s was least).
    least: Option<(f64, f64, u64)>,
}

impl Errors {
    /// Take a number in [0, 1].
    pub fn take(&mut self, x: f64) {
        self.numbers = self.numbers.saturating_add(1);
        self.share += (1.0 / self.numbers as f64) * (x - self.share);
    }

    /// How the errors stand to the least that they were, which is moved where they are fewer.
    pub fn judge(&mut self, levels: Levels) -> Verdict {
        let deviation = (self.share * (1.0 - self.share) / self.numbers as f64).max(0.0).sqrt();
        let now = self.share + deviation;
        let (share, spread, at) = match self.least {
            Some((share, spread, at)) if now > share + spread => (share, spread, at),
            _ => (self.share, deviation, self.numbers),
        };
        self.least = Some((share, spread, at));
        let since = (self.numbers - at).max(1);
        if now > share + levels.drift * spread {
            Verdict::drift(Direction::Up, since)
        } else if now > share + levels.warning * spread {
            Verdict::warning(Direction::Up, since)
        } else {
            Verdict::default()
        }
    }

    pub fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.share)
            && self.least.is_none_or(|(share, spread, at)| {
                (0.0..=1.0).contains(&share) && (0.0..=1.0).contains(&spread) && at <= self.numbers
            })
    }
}

#[derive(Clone)]
struct Ddm {
    warm_start: u64,
    levels: Levels,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    errors: Errors,
    verdict: Verdict,
}

impl Test for Ddm {
    const NAME: &'static str = "drift.DDM";
    const SHARES: bool = true;
    type State = State;

    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        state.errors.take(x);
        if state.errors.numbers > self.warm_start {
            state.verdict = state.errors.judge(self.levels);
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.errors.share
    }

    fn is_sound(&self, state: &State) -> bool {
        state.errors.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Four numbers of which the first is an error, p = 1/4, s = √(3/64) = 0.2165; two more errors: p = 1/2,
        // s = √(1/24) = 0.2041, p + s = 0.7041 > 1/4 + 2 · 0.2165 = 0.6830, a warning, and < 1/4 + 3 · 0.2165.
        let mut detector = detector(Ddm::NAME, json!({ "warm_start": 3 }));
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
        let mut detector = detector(Ddm::NAME, json!({ "warm_start": 3 }));
        for x in [0.0; 5] {
            detector.update(x).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::default());
        }
        detector.update(1.0).expect("a good number");
        assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 1));
    }
}
