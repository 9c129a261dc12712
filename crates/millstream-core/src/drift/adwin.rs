//! ADWIN (Bifet and Gavaldà, 2007): adaptive windowing. The window itself is in `window.rs`.
//!
//! With `restart`, a change ends the window and the next number begins a new one, as in River: what came after the
//! change, but before it was found, is forgotten too. Without it, as in the paper, the newer side of the cut stays.
//! The change is believed to have begun at the cut whose sides differ most for their sizes.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::registry::{Declaration, Role};

use super::confidence;
use super::detector::{build, first_not, too_large, Many, Test, Verdict};
use super::window::{Settings, Window, LARGEST};

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
    ],
    build: |arguments| {
        let settings = Settings {
            delta: arguments.float("delta")?,
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

impl Test for Adwin {
    const NAME: &'static str = "drift.ADWIN";
    type State = State;

    #[inline]
    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        if x.abs() > LARGEST {
            return Err(too_large::<Self>());
        }
        state.verdict = match state.window.add(x, &self.settings) {
            Some(direction) => Verdict::drift(direction, state.window.since()),
            None => Verdict::default(),
        };
        Ok(())
    }

    fn take_many(&self, state: &mut State, numbers: &[f64]) -> Many {
        // Not all at once: they would be looked at again after each change.
        let numbers = &numbers[..numbers.len().min(BLOCK)];
        let good = first_not(numbers, |x| x.abs() <= LARGEST);
        let (done, direction) = state.window.add_many(&numbers[..good], &self.settings);
        state.verdict = match direction {
            Some(direction) => Verdict::drift(direction, state.window.since()),
            None => Verdict::default(),
        };
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
        state.window.is_sound(&self.settings)
    }

    fn memory(state: &State) -> usize {
        state.window.memory()
    }
}
