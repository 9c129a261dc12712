//! HDDM_W (Frías-Blanco and others, 2015): as HDDM_A, with averages that forget and McDiarmid's inequality.
//!
//! An average ẑ ← λ x + (1 − λ) ẑ has the sum of squared weights v ← λ² + (1 − λ)² v, and the bound √(v ln(1/α) / 2)
//! (corollary 14). The cut for a rise is where ẑ plus its bound was least; what follows the cut has an average of its
//! own, and the mean has risen when that is above the one at the cut by more than √((v₁ + v₂) ln(1/α) / 2).
//!
//! The first number has all of the weight, so that v should be 1 after it. In MOA and River v is 1 before it, and λ² +
//! (1 − λ)² after it. That is taken over, to find the same changes: an average of few numbers counts for a little surer
//! than it is.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;

use super::detector::{build, Direction, Test, Verdict};
use super::{share, DRIFT_CONFIDENCE, TWO_SIDED, WARNING_CONFIDENCE};

pub static HDDM_W: Declaration = Declaration {
    name: HddmW::NAME,
    role: Role::DriftDetector,
    words: "McDiarmid's bounds on weighted averages before and after a cut, for gradual drift",
    parameters: &[
        DRIFT_CONFIDENCE,
        WARNING_CONFIDENCE,
        share("lambda_val", 0.05, "the weight of the newest number in the averages"),
        TWO_SIDED,
    ],
    build: |arguments| {
        Ok(build(HddmW {
            drift: arguments.float("drift_confidence")?,
            warning: arguments.float("warning_confidence")?,
            weight: arguments.float("lambda_val")?,
            two_sided: arguments.boolean("two_sided_test")?,
        }))
    },
};

#[derive(Clone)]
struct HddmW {
    drift: f64,
    warning: f64,
    weight: f64,
    two_sided: bool,
}

/// An average that forgets, and the sum of its squared weights.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Average {
    numbers: u64,
    mean: f64,
    squares: f64,
}

impl Default for Average {
    fn default() -> Self {
        Average { numbers: 0, mean: 0.0, squares: 1.0 }
    }
}

impl Average {
    fn take(&mut self, x: f64, weight: f64) {
        self.mean = if self.numbers == 0 { x } else { weight * x + (1.0 - weight) * self.mean };
        self.squares = weight * weight + (1.0 - weight) * (1.0 - weight) * self.squares;
        self.numbers = self.numbers.saturating_add(1);
    }

    fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.mean) && (0.0..=1.0).contains(&self.squares)
    }
}

/// The average at the cut, and that of what follows it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cut {
    before: Average,
    after: Average,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    all: Average,
    rise: Cut,
    fall: Cut,
    verdict: Verdict,
}

fn bound(squares: f64, confidence: f64) -> f64 {
    (squares * (1.0 / confidence).ln() / 2.0).sqrt()
}

impl HddmW {
    /// Move the cut to where the average is furthest from the change that is looked for (`sign` 1 for a rise).
    fn advance(&self, cut: &mut Cut, all: &Average, x: f64, sign: f64) {
        let reach = |average: &Average| sign * average.mean + bound(average.squares, self.drift);
        if cut.before.numbers == 0 || reach(all) < reach(&cut.before) {
            *cut = Cut { before: *all, after: Average::default() };
        } else {
            cut.after.take(x, self.weight);
        }
    }

    fn judge(&self, cut: &Cut, sign: f64, direction: Direction) -> Verdict {
        if cut.after.numbers == 0 {
            return Verdict::default();
        }
        let apart = sign * (cut.after.mean - cut.before.mean);
        let squares = cut.before.squares + cut.after.squares;
        if apart > bound(squares, self.drift) {
            Verdict::drift(direction, cut.after.numbers)
        } else if apart > bound(squares, self.warning) {
            Verdict::warning(direction, cut.after.numbers)
        } else {
            Verdict::default()
        }
    }
}

impl Test for HddmW {
    const NAME: &'static str = "drift.HDDM_W";
    const SHARES: bool = true;
    type State = State;

    fn take(&self, state: &mut State, x: f64) -> Result<()> {
        state.all.take(x, self.weight);
        self.advance(&mut state.rise, &state.all, x, 1.0);
        self.advance(&mut state.fall, &state.all, x, -1.0);
        state.verdict = self.judge(&state.rise, 1.0, Direction::Up);
        if self.two_sided && !state.verdict.drift {
            let fall = self.judge(&state.fall, -1.0, Direction::Down);
            if fall.drift || (fall.warning && !state.verdict.warning) {
                state.verdict = fall;
            }
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.all.mean
    }

    fn is_sound(&self, state: &State) -> bool {
        [state.all, state.rise.before, state.rise.after, state.fall.before, state.fall.after]
            .iter()
            .all(Average::is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // λ = 1/2. After 0, 0 the averages are 0 with v = 1/2 and then 3/8, which is the cut. A one follows: its average is
        // 1 with v = 1/2, and 1 > √(7/8 · ln(α⁻¹) / 2) for α = 0.2 (0.839), a change; for α = 0.1 the bound is 1.004.
        let parameters = json!({ "lambda_val": 0.5, "drift_confidence": 0.2, "warning_confidence": 0.3 });
        let mut first = detector(HddmW::NAME, parameters);
        let parameters = json!({ "lambda_val": 0.5, "drift_confidence": 0.1, "warning_confidence": 0.2 });
        let mut second = detector(HddmW::NAME, parameters);
        for x in [0.0, 0.0, 1.0] {
            first.update(x).expect("a good number");
            second.update(x).expect("a good number");
        }
        assert_eq!(first.verdict(), Verdict::drift(Direction::Up, 1));
        assert_eq!(second.verdict(), Verdict::warning(Direction::Up, 1));
        assert_eq!(first.estimation(), 0.5);
    }
}
