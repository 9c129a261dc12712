//! RDDM (Barros, Cabral, Gonçalves and Santos, 2017): DDM with forgetting, because DDM loses sensitivity on long concepts.
//!
//! It adds three rules to DDM. When a concept is longer than `max_concept` numbers and there is no warning, the sums are
//! recomputed from the last `min_stable_concept` numbers. A warning that lasts for `warn_limit` numbers becomes drift.
//! After drift the sums start with the numbers since the warning, which are from the new concept.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::ddm::{ErrorRate, Thresholds};
use super::ring_buffer::RingBuffer;
use super::{deviations, grace_period, window_size, LARGEST_WINDOW};

pub static RDDM: Declaration = Declaration {
    name: Rddm::NAME,
    role: Role::DriftDetector,
    words: "Reactive drift detection method: DDM that forgets old values of a long concept",
    merge: Merge::DETECTOR,
    parameters: &[
        grace_period(129, &["warm_start"]),
        deviations("warning_threshold", 1.773, "number of standard deviations above the minimum for a warning"),
        deviations("drift_threshold", 2.258, "number of standard deviations above the minimum for drift"),
        Parameter::new(
            "max_concept",
            Kind::Integer { low: 2, high: i64::MAX },
            DefaultValue::Integer(40_000),
            "number of values of a concept after which old values are forgotten",
        ),
        window_size("min_stable_concept", 7000, "number of values that are kept then"),
        Parameter::new(
            "warn_limit",
            Kind::Integer { low: 1, high: LARGEST_WINDOW },
            DefaultValue::Integer(1400),
            "number of values after which a warning becomes drift",
        ),
    ],
    build: |arguments| {
        let kept = arguments.integer("min_stable_concept")?;
        let longest = arguments.integer("max_concept")?;
        if kept > longest {
            return Err(Fault::value(format!(
                "{}: min_stable_concept must be at most max_concept ({longest}), got {kept}",
                Rddm::NAME
            )));
        }
        Ok(build(Rddm {
            grace_period: arguments.integer("grace_period")? as u64,
            levels: Thresholds {
                warning: arguments.float("warning_threshold")?,
                drift: arguments.float("drift_threshold")?,
            },
            longest: longest as u64,
            kept: kept as usize,
            warn_limit: arguments.integer("warn_limit")? as u64,
        }))
    },
};

#[derive(Clone)]
struct Rddm {
    grace_period: u64,
    levels: Thresholds,
    longest: u64,
    kept: usize,
    warn_limit: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    errors: ErrorRate,
    recent: RingBuffer,
    /// Numbers since the start of the warning, including the first; 0 without a warning.
    warned: u64,
    verdict: Verdict,
}

impl Rddm {
    /// Recompute the sums from the last `count` numbers.
    fn recompute(&self, state: &mut State, count: usize) {
        let State { errors, recent, .. } = state;
        *errors = ErrorRate::default();
        let skip = recent.len().saturating_sub(count);
        for x in recent.iter().skip(skip) {
            errors.update(x);
            if errors.numbers > self.grace_period {
                errors.judge(self.levels);
            }
        }
    }
}

impl ChangeTest for Rddm {
    const NAME: &'static str = "drift.RDDM";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        state.recent.push(x, self.kept);
        state.errors.update(x);
        state.verdict = Verdict::default();
        if state.errors.numbers <= self.grace_period {
            return Ok(());
        }
        let verdict = state.errors.judge(self.levels);
        state.warned = if verdict.warning || verdict.drift { state.warned.saturating_add(1) } else { 0 };
        if verdict.drift || (verdict.warning && state.warned > self.warn_limit) {
            state.verdict = Verdict::drift(Direction::Up, state.warned);
        } else if verdict.warning {
            state.verdict = Verdict::warning(Direction::Up, state.warned);
        } else if state.errors.numbers > self.longest {
            self.recompute(state, self.kept);
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.errors.rate
    }

    /// After drift, keep the numbers since the warning.
    fn restart(&self, state: &mut State) {
        let stay = if state.verdict.drift { state.warned as usize } else { 0 };
        let newest: Vec<f64> = state.recent.iter().rev().take(stay).collect();
        state.recent.clear();
        for &x in newest.iter().rev() {
            state.recent.push(x, self.kept);
        }
        (state.warned, state.verdict) = (0, Verdict::default());
        self.recompute(state, stay);
    }

    fn is_sound(&self, state: &State) -> bool {
        state.recent.is_sound(self.kept, 0.0, 1.0)
            && state.errors.is_sound()
            && state.warned <= state.errors.numbers
    }

    fn memory(state: &State) -> usize {
        state.recent.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // As in DDM's example, with its levels: 1, 0, 0, 0, 1, 1 is a warning; one more error gives p = 4/7, s = 0.1870, 0.7585
        // against 1/4 + 3 · 0.2165 = 0.8995, still a warning, and with `warn_limit` 1 drift. The sums then start with
        // the two errors of the warning: with an error next, the error rate is 3/3.
        let parameters =
            json!({ "grace_period": 3, "warning_threshold": 2.0, "drift_threshold": 3.0, "warn_limit": 1 });
        let mut detector = detector(Rddm::NAME, parameters);
        for x in [1.0, 0.0, 0.0, 0.0, 1.0, 1.0] {
            detector.update(x).expect("a good number");
        }
        assert_eq!(detector.verdict(), Verdict::warning(Direction::Up, 1));
        detector.update(1.0).expect("a good number");
        assert_eq!(detector.verdict(), Verdict::drift(Direction::Up, 2));
        detector.update(1.0).expect("a good number");
        assert_eq!((detector.verdict(), detector.estimation()), (Verdict::default(), 1.0));
    }

    #[test]
    fn a_long_concept_is_forgotten() {
        let parameters = json!({ "max_concept": 500, "min_stable_concept": 100 });
        let mut detector = detector(Rddm::NAME, parameters);
        for index in 0..600 {
            detector.update(f64::from(u8::from(index % 4 == 0 && index < 400))).expect("a good number");
        }
        assert_eq!(detector.estimation(), 0.0);
    }
}
