//! EWMA chart (Ross, Adams, Tasoulis and Hand, 2012; their ECDD): an exponentially weighted mean against the overall mean.
//!
//! p̂ is the overall mean, Z ← (1 − λ) Z + λ x with Z₀ = 0, and σ² = p̂ (1 − p̂) λ / (2 − λ) (1 − (1 − λ)²ᵗ). Drift is
//! detected when Z > p̂ + L σ, and a warning is given at half of L. L depends on p̂ such that a false alarm occurs once in
//! 400 numbers on average; the polynomial is from table 1 of the paper, for λ = 0.2. (Measured on 200,000 numbers with
//! error rates of 0.05, 0.1, 0.2, 0.3: once in 278, 358, 372, 378.) The estimated change point is where Z last rose above
//! p̂.
//!
//! The paper has no limits for other λ. With these limits, on the same streams, a false alarm occurs once in about
//! 1850 to 1040 numbers for λ = 0.05, 790 to 560 for 0.1, 190 to 360 for 0.3. With 0.5 the chart detects nothing at an
//! error rate of 0.3, because Z cannot move that far from p̂: values above 0.3 and below 0.05 are rejected.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::{grace_period, WARNING_FRACTION};

pub static EWMA_CHART: Declaration = Declaration {
    name: EwmaChart::NAME,
    role: Role::DriftDetector,
    words: "Control chart of an exponentially weighted error rate",
    merge: Merge::DETECTOR,
    parameters: &[
        grace_period(30, &["min_instances"]),
        Parameter::new(
            "fading_factor",
            Kind::Float(Bounds::new(0.05, true, 0.3, true)),
            DefaultValue::Float(0.2),
            "weight of the newest value in the mean; the control limits are calibrated for 0.2",
        )
        .formerly(&["lambda_val"]),
    ],
    build: |arguments| {
        Ok(build(EwmaChart {
            grace_period: arguments.integer("grace_period")? as u64,
            weight: arguments.float("fading_factor")?,
        }))
    },
};

/// L as a polynomial of p̂: 1, p̂, p̂³, p̂⁵, p̂⁷.
const LIMITS: [f64; 5] = [3.97, -6.56, 48.73, -330.13, 848.18];

#[derive(Clone)]
struct EwmaChart {
    grace_period: u64,
    weight: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    numbers: u64,
    mean: f64,
    weighted: f64,
    /// (1 − λ)²ᵗ, the weight of the initial value.
    left: f64,
    /// Numbers since the weighted mean rose above the mean.
    above: u64,
    verdict: Verdict,
}

impl ChangeTest for EwmaChart {
    const NAME: &'static str = "drift.EWMAChart";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        let keep = 1.0 - self.weight;
        if state.numbers == 0 {
            state.left = 1.0;
        }
        state.numbers = state.numbers.saturating_add(1);
        state.mean += (x - state.mean) / state.numbers as f64;
        state.weighted = keep * state.weighted + self.weight * x;
        state.left *= keep * keep;
        state.above = if state.weighted > state.mean { state.above.saturating_add(1) } else { 0 };
        let p = state.mean;
        let spread = (p * (1.0 - p) * self.weight / (2.0 - self.weight) * (1.0 - state.left)).max(0.0).sqrt();
        let [a, b, c, d, e] = LIMITS;
        let square = p * p;
        let limit = (a + p * (b + square * (c + square * (d + square * e)))).max(0.0) * spread;
        let apart = state.weighted - p;
        state.verdict = if state.numbers < self.grace_period || apart <= 0.0 {
            Verdict::default()
        } else if apart > limit {
            Verdict::drift(Direction::Up, state.above)
        } else if apart > WARNING_FRACTION * limit {
            Verdict::warning(Direction::Up, state.above)
        } else {
            Verdict::default()
        };
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    /// The weighted mean, which is the recent error rate.
    fn estimation(state: &State) -> f64 {
        state.weighted
    }

    fn is_sound(&self, state: &State) -> bool {
        [state.mean, state.weighted, state.left].iter().all(|mean| (0.0..=1.0).contains(mean))
            && state.above <= state.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // λ = 0.2, after 0, 0, 1: p̂ = 1/3, Z = 0.2, below p̂. After one more: p̂ = 1/2, Z = 0.36. After a third: p̂ = 3/5,
        // Z = 0.488. From 20 zeros and then ones: at the second p̂ = 1/11, Z = 0.36, σ² = 10/121 · 1/9 (1 − 0.8⁴⁴), and
        // L = 3.97 − 6.56 p̂ + 48.73 p̂³ − … = 3.408; L σ = 0.3266 > 0.36 − 0.0909 = 0.2691 > half of it: a warning. At the
        // third p̂ = 3/23, Z = 0.488, L = 3.210, σ = 0.11225: 0.3603 > 0.3576, still; the fourth is a change.
        let mut detector = detector(EwmaChart::NAME, json!({ "grace_period": 1 }));
        for _ in 0..20 {
            detector.update(0.0).expect("a good number");
            assert_eq!(detector.verdict(), Verdict::default());
        }
        let verdicts: Vec<_> = (0..4)
            .map(|_| {
                detector.update(1.0).expect("a good number");
                detector.verdict()
            })
            .collect();
        assert_eq!(verdicts[1], Verdict::warning(Direction::Up, 2));
        assert_eq!(verdicts[3], Verdict::drift(Direction::Up, 4));
    }
}
