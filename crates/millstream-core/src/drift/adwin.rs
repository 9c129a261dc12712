//! ADWIN (Bifet and Gavaldà, 2007): adaptive windowing. The window itself is in `adaptive_window.rs`.
//!
//! With `restart`, drift clears the window and the next number starts a new one, as in River: numbers between the change
//! and its detection are lost too. Without it, as in the paper, the window keeps the newer side of the cut. The estimated
//! change point is the cut whose sides differ most for their sizes.
//!
//! Warnings are not in the paper: they are the same test at a higher significance level, by default ten times
//! `significance`, as in the pairs of detectors of adaptive random forests (Gomes and others, 2017, table 2: 0.01 and
//! 0.001). A warning lasts from one check to the next and drops nothing, so that it does not affect drift detection.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::adaptive_window::{AdaptiveWindow, AdwinSettings, LARGEST};
use super::change_test::{build, first_not, too_large, ChangeTest, Direction, Many, Verdict};
use super::{significance, warning_significance};

pub static ADWIN: Declaration = Declaration {
    name: Adwin::NAME,
    role: Role::DriftDetector,
    words: "Adaptive windowing: a window that grows while its mean is constant",
    merge: Merge::DETECTOR,
    parameters: &[
        significance("significance", 0.002, "significance level of drift at each check").formerly(&["delta"]),
        Parameter::new(
            "clock",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(32),
            "number of values between checks",
        ),
        Parameter::new(
            "max_buckets",
            Kind::Integer { low: 1, high: 1 << 16 },
            DefaultValue::Integer(5),
            "maximum number of buckets of each size; more buckets detect smaller changes and use more memory",
        ),
        Parameter::new(
            "min_window_length",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(5),
            "minimum number of values on each side of a cut",
        ),
        Parameter::new(
            "grace_period",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(10),
            "number of initial values without a check",
        ),
        Parameter::new(
            "restart",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "clear the window after drift; otherwise keep the values after the cut",
        ),
        Parameter::new(
            "warning_significance",
            Kind::Optional(&Kind::Float(Bounds::OPEN_UNIT)),
            DefaultValue::Null,
            "significance level of warnings; null for ten times significance",
        )
        .formerly(&["warning_delta"]),
    ],
    build: |arguments| {
        let significance = arguments.float("significance")?;
        let warning_significance = match arguments.value("warning_significance")?.is_null() {
            true => warning_significance(significance),
            false => arguments.float("warning_significance")?,
        };
        if warning_significance < significance {
            return Err(Fault::value(format!(
                "{}: warning_significance must be at least significance, because a warning precedes drift; got \
                 {warning_significance} and {significance}",
                Adwin::NAME
            )));
        }
        let settings = AdwinSettings {
            significance,
            warning_significance,
            clock: arguments.integer("clock")? as u64,
            max_buckets: arguments.integer("max_buckets")? as usize,
            min_window_length: arguments.integer("min_window_length")? as u64,
            grace_period: arguments.integer("grace_period")? as u64,
        };
        Ok(build(Adwin { settings, restart: arguments.boolean("restart")? }))
    },
};

/// Numbers that are checked before they are added to the window.
const BLOCK: usize = 1024;

#[derive(Clone)]
struct Adwin {
    settings: AdwinSettings,
    restart: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    window: AdaptiveWindow,
    verdict: Verdict,
}

#[inline]
fn verdict(found: Option<Direction>, window: &AdaptiveWindow) -> Verdict {
    match (found, window.doubt()) {
        (None, None) => Verdict::default(),
        (Some(direction), _) => Verdict::drift(direction, window.since()),
        (None, Some(direction)) => Verdict::warning(direction, window.since()),
    }
}

impl ChangeTest for Adwin {
    const NAME: &'static str = "drift.ADWIN";
    type State = State;

    #[inline]
    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        if x.abs() > LARGEST {
            return Err(too_large::<Self>());
        }
        let direction = state.window.add(x, &self.settings);
        state.verdict = verdict(direction, &state.window);
        Ok(())
    }

    fn update_many(&self, state: &mut State, numbers: &[f64]) -> Many {
        // One block at a time: after drift the remaining numbers are checked again.
        let numbers = &numbers[..numbers.len().min(BLOCK)];
        let good = first_not(numbers, |x| x.abs() <= LARGEST);
        let (done, direction) = state.window.add_many(&numbers[..good], &self.settings);
        state.verdict = verdict(direction, &state.window);
        match direction {
            None if good < numbers.len() => Err((good, too_large::<Self>())),
            _ => Ok(done),
        }
    }

    #[inline]
    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.window.mean()
    }

    fn restart(&self, state: &mut State) {
        state.window.clear();
        state.verdict = Verdict::default();
    }

    fn restarts_after_drift(&self) -> bool {
        self.restart
    }

    fn is_sound(&self, state: &State) -> bool {
        let doubted = verdict(None, &state.window);
        state.window.is_sound(&self.settings) && (state.verdict.drift || state.verdict == doubted)
    }

    fn disable_warnings(&mut self) {
        self.settings.warning_significance = self.settings.significance;
    }

    fn inspect(state: &State) -> Json {
        let State { window, .. } = state;
        json!({ "width": window.width(), "total": window.total(), "variance": window.whole_variance() })
    }

    fn memory(state: &State) -> usize {
        state.window.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;

    #[test]
    fn a_warning_worked_by_hand() {
        // Sixteen zeros, then ones, each in a bucket of its own; the cut between them has means 1 apart. With 7 ones
        // m = 1/16 + 1/7 = 0.2054, σ² = 16 · 7 / 23² = 0.2117, ln(2 ln(23) / 0.2) = 3.4454, and
        // ε = √(2 m σ² 3.4454) + ⅔ m 3.4454 = 0.547 + 0.472 = 1.019. With 8 it is 0.537 + 0.432 = 0.969, and for the
        // significance level of drift, 0.002, whose logarithm is 8.064, still 0.820 + 1.008.
        let parameters = json!({ "clock": 1, "max_buckets": 32, "min_window_length": 1, "grace_period": 1, "warning_significance": 0.2 });
        let mut adwin = detector(Adwin::NAME, parameters);
        for index in 0..23 {
            adwin.update(f64::from(u8::from(index >= 16))).expect("a good number");
            assert_eq!(adwin.verdict(), Verdict::default());
        }
        adwin.update(1.0).expect("a good number");
        assert_eq!(adwin.verdict(), Verdict::warning(Direction::Up, 8));
        // Without warnings the window is the same.
        let mut silent = adwin.duplicate();
        silent.disable_warnings();
        silent.update(1.0).expect("a good number");
        assert_eq!(silent.verdict(), Verdict::default());
        adwin.update(1.0).expect("a good number");
        assert_eq!(adwin.verdict(), Verdict::warning(Direction::Up, 9));
        assert_eq!(adwin.estimation(), silent.estimation());
        // A state with a warning is not valid for a detector without warnings.
        let state = adwin.save().expect("a state");
        assert!(silent.load(&state).is_err() && adwin.load(&state).is_ok());
    }

    #[test]
    fn a_warning_holds_until_the_next_check() {
        let mut adwin = detector(Adwin::NAME, json!({ "warning_significance": 0.3 }));
        let mut verdicts = Vec::new();
        for index in 0..1100 {
            let x = f64::from(u8::from(index % 4 == 0 || (index >= 1000 && index % 4 == 1)));
            adwin.update(x).expect("a good number");
            verdicts.push(adwin.verdict());
        }
        let first = verdicts.iter().position(|verdict| verdict.warning).expect("a warning");
        assert!(first % 32 == 31 && first > 1000);
        for (index, verdict) in verdicts[first..first + 32].iter().enumerate() {
            assert!(verdict.warning && verdict.since == verdicts[first].since + index as u64);
        }
    }
}
