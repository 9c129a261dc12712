//! ADWIN (Bifet and Gavaldà, 2007): adaptive windowing. The window itself is in `window.rs`.
//!
//! With `restart`, a change ends the window and the next number begins a new one, as in River: what came after the
//! change, but before it was found, is forgotten too. Without it, as in the paper, the newer side of the cut stays.
//! The change is believed to have begun at the cut whose sides differ most for their sizes.
//!
//! A warning is not in the paper: it is the same test at a greater chance of a false alarm, ten times `delta` as in the
//! pairs of detectors of adaptive random forests (Gomes and others, 2017, table 2: 0.01 and 0.001). It holds from one
//! check to the next, and drops nothing, so that changes are found as they would be without it.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::detector::{build, first_not, too_large, Direction, Many, Test, Verdict};
use super::window::{Settings, Window, LARGEST};
use super::{chance_of_warning, confidence};

pub static ADWIN: Declaration = Declaration {
    name: Adwin::NAME,
    role: Role::DriftDetector,
    words: "Adaptive windowing: a window that is as long as its mean has not changed",
    parameters: &[
        confidence("delta", 0.002, "the chance of a false alarm"),
        Parameter::new(
            "clock",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(32),
            "numbers from one check to the next",
        ),
        Parameter::new(
            "max_buckets",
            Kind::Integer { low: 1, high: 1 << 16 },
            DefaultValue::Integer(5),
            "buckets of each size; more see smaller changes and take more memory",
        ),
        Parameter::new(
            "min_window_length",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(5),
            "numbers that each side of a cut must have",
        ),
        Parameter::new(
            "grace_period",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(10),
            "numbers before the first check",
        ),
        Parameter::new(
            "restart",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether a change ends the window; else the side after the cut stays",
        ),
        Parameter::new(
            "warning_delta",
            Kind::Optional(&Kind::Float(Bounds::OPEN_UNIT)),
            DefaultValue::Null,
            "the chance of a false alarm that is a warning; null for ten times delta",
        ),
    ],
    build: |arguments| {
        let delta = arguments.float("delta")?;
        let warning_delta = match arguments.value("warning_delta")?.is_null() {
            true => chance_of_warning(delta),
            false => arguments.float("warning_delta")?,
        };
        if warning_delta < delta {
            return Err(Fault::value(format!(
                "{}: warning_delta must be at least delta, because a warning comes before a change; got \
                 {warning_delta} and {delta}",
                Adwin::NAME
            )));
        }
        let settings = Settings {
            delta,
            warning_delta,
            clock: arguments.integer("clock")? as u64,
            max_buckets: arguments.integer("max_buckets")? as usize,
            min_window_length: arguments.integer("min_window_length")? as u64,
            grace_period: arguments.integer("grace_period")? as u64,
        };
        Ok(build(Adwin { settings, restart: arguments.boolean("restart")? }))
    },
};

/// How many numbers are looked at before they are taken.
const BLOCK: usize = 1024;

#[derive(Clone)]
struct Adwin {
    settings: Settings,
    restart: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    window: Window,
    verdict: Verdict,
}

#[inline]
fn verdict(found: Option<Direction>, window: &Window) -> Verdict {
    match (found, window.doubt()) {
        (None, None) => Verdict::default(),
        (Some(direction), _) => Verdict::drift(direction, window.since()),
        (None, Some(direction)) => Verdict::warning(direction, window.since()),
    }
}

impl Test for Adwin {
    const NAME: &'static str = "drift.ADWIN";
    type State = State;

    #[inline]
    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        if x.abs() > LARGEST {
            return Err(too_large::<Self>());
        }
        let direction = state.window.add(x, &self.settings);
        state.verdict = verdict(direction, &state.window);
        Ok(())
    }

    fn take_many(&self, state: &mut State, numbers: &[f64]) -> Many {
        // Not all at once: they would be looked at again after each change.
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

    fn clear(&self, state: &mut State) {
        state.window.clear();
        state.verdict = Verdict::default();
    }

    fn starts_again(&self) -> bool {
        self.restart
    }

    fn is_sound(&self, state: &State) -> bool {
        let doubted = verdict(None, &state.window);
        state.window.is_sound(&self.settings) && (state.verdict.drift || state.verdict == doubted)
    }

    fn forgo_warnings(&mut self) {
        self.settings.warning_delta = self.settings.delta;
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
    use super::super::detector::tests::detector;
    use super::*;

    #[test]
    fn a_warning_worked_by_hand() {
        // Sixteen zeros, then ones, each in a bucket of its own; the cut between them has means 1 apart. With 7 ones
        // m = 1/16 + 1/7 = 0.2054, σ² = 16 · 7 / 23² = 0.2117, ln(2 ln(23) / 0.2) = 3.4454, and
        // ε = √(2 m σ² 3.4454) + ⅔ m 3.4454 = 0.547 + 0.472 = 1.019. With 8 it is 0.537 + 0.432 = 0.969, and for the
        // chance of a change, 0.002, whose logarithm is 8.064, still 0.820 + 1.008.
        let parameters = json!({ "clock": 1, "max_buckets": 32, "min_window_length": 1, "grace_period": 1, "warning_delta": 0.2 });
        let mut adwin = detector(Adwin::NAME, parameters);
        for place in 0..23 {
            adwin.update(f64::from(u8::from(place >= 16))).expect("a good number");
            assert_eq!(adwin.verdict(), Verdict::default());
        }
        adwin.update(1.0).expect("a good number");
        assert_eq!(adwin.verdict(), Verdict::warning(Direction::Up, 8));
        // What is asked to give none keeps silent, and has the same window.
        let mut silent = adwin.duplicate();
        silent.forgo_warnings();
        silent.update(1.0).expect("a good number");
        assert_eq!(silent.verdict(), Verdict::default());
        adwin.update(1.0).expect("a good number");
        assert_eq!(adwin.verdict(), Verdict::warning(Direction::Up, 9));
        assert_eq!(adwin.estimation(), silent.estimation());
        // A state with a warning is of no detector without them.
        let state = adwin.save().expect("a state");
        assert!(silent.load(&state).is_err() && adwin.load(&state).is_ok());
    }

    #[test]
    fn a_warning_holds_until_the_next_check() {
        let mut adwin = detector(Adwin::NAME, json!({ "warning_delta": 0.3 }));
        let mut told = Vec::new();
        for place in 0..1100 {
            let x = f64::from(u8::from(place % 4 == 0 || (place >= 1000 && place % 4 == 1)));
            adwin.update(x).expect("a good number");
            told.push(adwin.verdict());
        }
        let first = told.iter().position(|verdict| verdict.warning).expect("a warning");
        assert!(first % 32 == 31 && first > 1000);
        for (place, verdict) in told[first..first + 32].iter().enumerate() {
            assert!(verdict.warning && verdict.since == told[first].since + place as u64);
        }
    }
}
