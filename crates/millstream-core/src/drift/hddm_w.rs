//! HDDM_W (Frías-Blanco and others, 2015): HDDM_A with exponentially weighted means and McDiarmid's inequality.
//!
//! A mean ẑ ← λ x + (1 − λ) ẑ has the sum of squared weights v ← λ² + (1 − λ)² v, and the bound √(v ln(1/α) / 2)
//! (corollary 14). The cut for an increase is the minimum of ẑ plus its bound. The numbers after the cut have a weighted
//! mean of their own, and drift is detected when it exceeds the mean at the cut by more than √((v₁ + v₂) ln(1/α) / 2).
//!
//! The first number has the full weight, so that v should be 1 after it. In MOA and River v is 1 before it, and λ² +
//! (1 − λ)² after it. This code does the same, to detect the same changes: the bound of a mean of few numbers is slightly
//! too tight.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::{fraction, SIGNIFICANCE, TWO_SIDED, WARNING_SIGNIFICANCE};

pub static HDDM_W: Declaration = Declaration {
    name: HddmW::NAME,
    role: Role::DriftDetector,
    words: "McDiarmid's bounds on weighted means before and after a cut, for gradual drift",
    merge: Merge::DETECTOR,
    parameters: &[
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        fraction("fading_factor", 0.05, "weight of the newest value in the means").formerly(&["lambda_val"]),
        TWO_SIDED,
    ],
    build: |arguments| {
        Ok(build(HddmW {
            drift: level(arguments.float("significance")?),
            warning: level(arguments.float("warning_significance")?),
            weight: arguments.float("fading_factor")?,
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

/// An exponentially weighted mean, and the sum of its squared weights.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct WeightedMean {
    numbers: u64,
    mean: f64,
    squares: f64,
}

impl Default for WeightedMean {
    fn default() -> Self {
        WeightedMean { numbers: 0, mean: 0.0, squares: 1.0 }
    }
}

impl WeightedMean {
    fn update(&mut self, x: f64, weight: f64) {
        self.mean = if self.numbers == 0 { x } else { weight * x + (1.0 - weight) * self.mean };
        self.squares = weight * weight + (1.0 - weight) * (1.0 - weight) * self.squares;
        self.numbers = self.numbers.saturating_add(1);
    }

    fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.mean) && (0.0..=1.0).contains(&self.squares)
    }
}

/// The means at the cut and after it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CutPoint {
    before: WeightedMean,
    after: WeightedMean,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    all: WeightedMean,
    rise: CutPoint,
    fall: CutPoint,
    verdict: Verdict,
}

/// ln(1/α) of a significance level α, which is the same for all numbers.
fn level(significance: f64) -> f64 {
    (1.0 / significance).ln()
}

fn bound(squares: f64, level: f64) -> f64 {
    (squares * level / 2.0).sqrt()
}

impl HddmW {
    /// Move the cut to the mean that is furthest from the change to be detected (`sign` is 1 for an increase).
    fn advance(&self, cut: &mut CutPoint, all: &WeightedMean, x: f64, sign: f64) {
        let reach = |average: &WeightedMean| sign * average.mean + bound(average.squares, self.drift);
        if cut.before.numbers == 0 || reach(all) < reach(&cut.before) {
            *cut = CutPoint { before: *all, after: WeightedMean::default() };
        } else {
            cut.after.update(x, self.weight);
        }
    }

    fn judge(&self, cut: &CutPoint, sign: f64, direction: Direction) -> Verdict {
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

impl ChangeTest for HddmW {
    const NAME: &'static str = "drift.HDDM_W";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        state.all.update(x, self.weight);
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
            .all(WeightedMean::is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // λ = 1/2. After 0, 0 the means are 0 with v = 1/2 and then 3/8, which is the cut. A one follows: its mean is
        // 1 with v = 1/2, and 1 > √(7/8 · ln(α⁻¹) / 2) for α = 0.2 (0.839), drift; for α = 0.1 the bound is 1.004.
        let parameters = json!({ "fading_factor": 0.5, "significance": 0.2, "warning_significance": 0.3 });
        let mut first = detector(HddmW::NAME, parameters);
        let parameters = json!({ "fading_factor": 0.5, "significance": 0.1, "warning_significance": 0.2 });
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
