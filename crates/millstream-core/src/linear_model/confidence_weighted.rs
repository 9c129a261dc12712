//! Confidence-weighted learning, and its soft forms.
//!
//! The weights are modelled as normal with mean w and covariance Σ. The update is the smallest change (by the
//! Kullback-Leibler divergence) that classifies the example correctly with probability η: margin m ≥ φ √v with v =
//! xᵀΣ x and φ = Φ⁻¹(η). Crammer, Dredze and Pereira (2008), "Exact convex confidence-weighted learning", NIPS,
//! equations 5 to 8, with ψ = 1 + φ²/2 and ζ = 1 + φ²:
//! ```text
//! α = max(0, (−m ψ + √(m² φ⁴ / 4 + v φ² ζ)) / (v ζ)),   √u = (−α v φ + √(α² v² φ² + 4 v)) / 2
//! w ← w + α y Σ x,   Σ⁻¹ ← Σ⁻¹ + (α φ / √u) x xᵀ
//! ```
//! Soft confidence-weighted learning (Wang, Zhao and Hoi, 2012, ICML, propositions 1 and 2) tolerates single
//! wrong examples: SCW-I limits α to C, and SCW-II, with n = v + 1 / (2 C), takes
//! ```text
//! α = max(0, (−(2 m n + φ² m v) + φ √(φ² m² v² + 4 n v (n + v φ²))) / (2 (n² + n v φ²)))
//! ```
//! A sample weight multiplies C, and in CW the step itself, up to the exact step.

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, spread, MarginExample, UpdateRule, FULL};
use crate::linear_model::passive_aggressive::C;
use crate::linear_model::weight_vector::Move;
use crate::merging::{Merge, BY_PRECISION};
use crate::numeric::quantiles;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

pub const CONFIDENCE: Parameter = Parameter::new(
    "confidence",
    Kind::Float(Bounds { low: 0.5, low_included: false, high: 1.0, high_included: false }),
    Default::Float(0.9),
    "probability with which each example should be classified correctly after its update",
)
.formerly(&["eta"]);

pub static CW: Declaration = Declaration {
    name: Hard::NAME,
    role: Role::Classifier,
    words: "Confidence-weighted learning: the smallest change that is correct with a given probability",
    merge: Merge::approximate(BY_PRECISION),
    parameters: &[CONFIDENCE, FULL, INTERCEPT],
    build: |arguments| {
        let rule = Hard { phi: phi(arguments)? };
        Ok(build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

pub static SCW: Declaration = Declaration {
    name: Soft::NAME,
    role: Role::Classifier,
    words: "Soft confidence-weighted learning: confidence-weighted and robust to label noise",
    merge: Merge::approximate(BY_PRECISION),
    parameters: &[
        CONFIDENCE,
        C,
        Parameter::new(
            "mode",
            Kind::Integer { low: 1, high: 2 },
            Default::Integer(1),
            "variant: 1 for SCW-I (steps up to C), 2 for SCW-II (softened steps)",
        ),
        FULL,
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Soft { phi: phi(arguments)?, c: arguments.float("C")?, second: arguments.size("mode")? == 2 };
        Ok(build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

fn phi(arguments: &Arguments<'_>) -> Result<f64> {
    Ok(quantile(arguments.float("confidence")?))
}

/// Φ⁻¹ of a probability from one half on.
fn quantile(p: f64) -> f64 {
    quantiles::normal(2.0 * p - 1.0)
}

/// The exact step.
#[inline]
fn exact(phi: f64, margin: f64, variance: f64) -> f64 {
    let (psi, zeta) = (1.0 + 0.5 * phi * phi, 1.0 + phi * phi);
    let root = (0.25 * (margin * phi * phi).powi(2) + variance * phi * phi * zeta).sqrt();
    (root - margin * psi) / (variance * zeta)
}

/// What a step does to the covariance.
#[inline]
fn with_precision(phi: f64, along: f64, variance: f64) -> Option<Move> {
    if !(along > 0.0 && variance > 0.0) {
        return None;
    }
    let reach = along * variance * phi;
    // √u with the difference of two near numbers multiplied out.
    let deviation = 2.0 * variance / ((reach * reach + 4.0 * variance).sqrt() + reach);
    Some(Move::surer(along, along * phi / deviation))
}

#[derive(Clone)]
struct Hard {
    phi: f64,
}

impl UpdateRule for Hard {
    const NAME: &'static str = "linear_model.CW";

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let along = exact(self.phi, seen.margin, seen.variance) * seen.w.min(1.0);
        with_precision(self.phi, along, seen.variance)
    }
}

#[derive(Clone)]
struct Soft {
    phi: f64,
    c: f64,
    second: bool,
}

impl UpdateRule for Soft {
    const NAME: &'static str = "linear_model.SCW";

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let (m, v, phi, c) = (seen.margin, seen.variance, self.phi, self.c * seen.w);
        if !self.second {
            return with_precision(phi, exact(phi, m, v).min(c), v);
        }
        let n = v + 0.5 / c;
        let root = phi * ((phi * m * v).powi(2) + 4.0 * n * v * (n + v * phi * phi)).sqrt();
        let along = (root - (2.0 * m * n + phi * phi * m * v)) / (2.0 * (n * n + n * v * phi * phi));
        with_precision(phi, along, v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    #[test]
    fn quantiles_of_the_tables() {
        for (p, expected) in [(0.9, 1.2815515655446004), (0.975, 1.959963984540054), (0.9999, 3.719016485455709)] {
            assert!((quantile(p) - expected).abs() < 1e-9, "{p}: {}", quantile(p));
        }
    }

    /// η with φ = 1, Σ = 1, x = 2: m = 0, v = 4, ψ = 1.5, ζ = 2: α = √(4 · 2) / 8 = √2 / 4. The margin becomes
    /// 4 α = √2. With √u = (−√2 + √(2 + 16)) / 2 = √2 the precision is 1/4, so Σ = 1 / (1 + 4 / 4) = 1/2, v = 2 and
    /// m = φ √v: exactly as confident as asked. So the same example teaches nothing more, but for rounding.
    #[test]
    fn one_step_by_hand() {
        let mut model =
            classifier("linear_model.CW", json!({ "confidence": 0.8413447460685429, "intercept": false }));
        for _ in 0..2 {
            model.learn(Row::Plain(&[2.0]), 1, 1.0, &mut Scratch::default()).unwrap();
            assert!((score(&*model, &[2.0]) - 2f64.sqrt()).abs() < 1e-9);
        }
        // An example without features has no variance and causes no update.
        model.learn(Row::Plain(&[0.0]), 0, 1.0, &mut Scratch::default()).unwrap();
        assert!((score(&*model, &[2.0]) - 2f64.sqrt()).abs() < 1e-9);
    }

    /// SCW-I with C = 0.1 takes α = 0.1 instead: the score of x = 2 is 0.4. SCW-II, n = 4 + 5 = 9:
    /// α = √(4 · 9 · 4 · (9 + 4)) / (2 (81 + 36)) = √1872 / 234.
    #[test]
    fn soft_steps_by_hand() {
        for (mode, along) in [(1, 0.1), (2, 1872f64.sqrt() / 234.0)] {
            let parameters =
                json!({ "confidence": 0.8413447460685429, "C": 0.1, "mode": mode, "intercept": false });
            let mut model = classifier("linear_model.SCW", parameters);
            model.learn(Row::Plain(&[2.0]), 1, 1.0, &mut Scratch::default()).unwrap();
            assert!((score(&*model, &[2.0]) - 4.0 * along).abs() < 1e-12, "{mode}");
        }
    }
}
