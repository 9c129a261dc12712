//! Bayesian linear regression: weights with their uncertainty, and prediction intervals.
//!
//! With alpha the prior precision and beta the noise precision, weights have the prior N(0, I / alpha), and targets
//! are wᵀx plus noise of precision beta. The posterior mean is ridge regression with l2 = alpha / beta, and its
//! covariance P / beta with the P of recursion.rs (Bishop, Pattern Recognition and Machine Learning, 3.49 to 3.59). A
//! target at x has the variance (1 + xᵀP x) / beta.
//!
//! If beta is not given it is estimated, and alpha is relative to it. With n the weight of all examples and
//! γ = Σᵢ (1 − l2 Pᵢᵢ) the number of weights determined by the examples rather than the prior (MacKay, 1992):
//! ```text
//! 1 / beta = Σ w (y − wᵀx)² / (n − γ),    and the target has Student's distribution with n − γ degrees of freedom
//! ```
//! which for alpha → 0 is the textbook's interval of regression. The conjugate prior (normal-inverse-gamma) would
//! instead count l2 |w|² as noise: where weights are large beside it, as they are for most targets in their own
//! units, its intervals are several times too wide for thousands of examples. The sum over examples need not be kept:
//! the least sum Σ w (y − wᵀx)² + l2 |w|² grows by (y − wᵀx)² / α with each example.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Interval, Learner};
use crate::merging::{unless_forgetting, Merge, Merger};
use crate::numeric::quantiles;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{all_finite, finite, Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::recursion::{self, Recursion};
use super::{hyperplane, rls};
use crate::linear_algebra::tiled_triangle::dot;

const NAME: &str = "linear_model.BayesianLinearRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Bayesian linear regression: prediction intervals at the cost of recursive least squares",
    merge: Merge::EXACT.or(unless_forgetting),
    parameters: &[
        Parameter::new(
            "prior_precision",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1.0),
            "precision (inverse variance) of the prior on the weights",
        )
        .formerly(&["alpha"]),
        Parameter::new(
            "noise_precision",
            Kind::Optional(&Kind::Float(Bounds::POSITIVE)),
            DefaultValue::Null,
            "precision (inverse variance) of the noise; None to estimate it",
        )
        .formerly(&["beta"]),
        rls::FORGETTING,
        hyperplane::INTERCEPT,
    ],
    build: |arguments| {
        let alpha = arguments.float("prior_precision")?;
        let beta = if arguments.value("noise_precision")?.is_null() {
            None
        } else {
            Some(arguments.float("noise_precision")?)
        };
        let l2 = alpha / beta.unwrap_or(1.0);
        if !(l2.is_normal() && (1.0 / l2).is_normal()) {
            return Err(Fault::value(format!(
                "{NAME}: prior_precision / noise_precision must be a number of moderate size, got {l2}"
            )));
        }
        let recursion = Recursion::new(NAME, l2, arguments.float("forgetting")?, arguments.boolean("intercept")?);
        Ok(Built::Regressor(Box::new(Bayesian { beta, recursion, noise: Noise::default() })))
    },
};

#[derive(Clone)]
struct Bayesian {
    beta: Option<f64>,
    recursion: Recursion,
    noise: Noise,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Noise {
    /// The total weight of the examples, with forgetting.
    weight: f64,
    /// The least sum of squares, penalty included.
    surprise: f64,
    /// What remains of l2 for each weight with forgetting; otherwise empty.
    pulls: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    recursion: recursion::State,
    noise: Noise,
}

impl Bayesian {
    fn take(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<f64> {
        let taken = self.recursion.take(x, y, w)?;
        let (forgetting, noise) = (self.recursion.forgetting, &mut self.noise);
        noise.weight = (forgetting * noise.weight + w).min(f64::MAX);
        noise.surprise = (forgetting * noise.surprise + taken.surprise).min(f64::MAX);
        if forgetting < 1.0 {
            noise.pulls.resize(self.recursion.state.weights.len(), self.recursion.l2);
            noise.pulls.iter_mut().for_each(|pull| *pull *= forgetting);
        }
        Ok(finite(taken.score))
    }

    /// The variance of the noise and its degrees of freedom; None before the first example.
    fn noise(&self) -> Option<(f64, f64)> {
        if let Some(beta) = self.beta {
            return Some((1.0 / beta, f64::INFINITY));
        }
        let Noise { weight, surprise, pulls } = &self.noise;
        if *weight == 0.0 {
            return None;
        }
        let recursion::State { weights, covariance, .. } = &self.recursion.state;
        let (mut settled, mut held) = (0.0, 0.0);
        for (i, variance) in covariance.variances().iter().enumerate() {
            let pull = pulls.get(i).copied().unwrap_or(self.recursion.l2);
            settled += (1.0 - pull * variance).clamp(0.0, 1.0);
            held += pull * weights[i] * weights[i];
        }
        // A rounding remainder of the difference is not noise.
        let squares = (surprise - held).max(f64::EPSILON * surprise);
        let degrees = (weight - settled).max(f64::EPSILON * weight);
        Some((squares / degrees, degrees))
    }
}

impl Part for Bayesian {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { recursion: self.recursion.state.clone(), noise: self.noise.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { recursion, noise } = unpack(NAME, bytes)?;
        let sound = all_finite(&[noise.weight, noise.surprise]) && noise.weight >= 0.0 && noise.surprise >= 0.0;
        require(NAME, sound, "a sum is not finite, or negative")?;
        let width = if self.recursion.forgetting < 1.0 { recursion.weights.len() } else { 0 };
        require(NAME, noise.pulls.len() == width, "penalties of the wrong number")?;
        let positive = noise.pulls.iter().all(|pull| pull.is_finite() && *pull >= 0.0);
        require(NAME, positive, "a penalty is not finite, or negative")?;
        require(NAME, (noise.weight > 0.0) != recursion.weights.is_empty(), "weights without examples")?;
        self.recursion.adopt(recursion)?;
        self.noise = noise;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.recursion.memory() + 8 * self.noise.pulls.capacity()
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let recursion = |bytes: &[u8]| unpack::<State>(NAME, bytes).map(|state| state.recursion);
        let more = self.recursion.merge(merger, recursion)?;
        for (side, sign) in merger.sides() {
            let State { noise, .. } = unpack(NAME, side.state)?;
            self.noise.weight = (self.noise.weight + sign * noise.weight).clamp(0.0, f64::MAX);
            self.noise.surprise += sign * noise.surprise;
        }
        self.noise.surprise = (self.noise.surprise + more).clamp(0.0, f64::MAX);
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut shown = self.recursion.inspect(schema);
        shown["noise"] = self.noise().map_or(Json::Null, |(variance, _)| json!(finite(variance)));
        shown
    }
}

impl Learner<Numbers> for Bayesian {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.recursion.predict(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w).map(drop)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        _scratch: &mut Scratch,
    ) -> Result<()> {
        *out = self.take(x, y, w)?;
        Ok(())
    }

    fn interval(&self) -> Option<&dyn Interval> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

impl Interval for Bayesian {
    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)> {
        let Some((noise, degrees)) = self.noise() else { return Some((f64::MIN, f64::MAX)) };
        let recursion::State { weights, covariance, .. } = &self.recursion.state;
        let mut vector = scratch.take_numbers();
        self.recursion.vector(x, &mut vector);
        let middle = finite(dot(weights, &vector));
        vector.resize(weights.len(), 0.0);
        // A weight that was never learned has the prior variance.
        let mut strange = f64::from(u8::from(weights.is_empty() && self.recursion.intercept));
        x.each(|_, value| strange += f64::from(u8::from(value == Value::Nominal(None))));
        let spread = noise * (1.0 + covariance.variance(&vector) + strange / self.recursion.l2);
        scratch.give_numbers(vector);
        let quantile = match degrees < f64::MAX {
            true => quantiles::student(coverage, degrees),
            false => quantiles::normal(coverage),
        };
        let reach = finite(spread.sqrt() * quantile);
        Some((finite(middle - reach), finite(middle + reach)))
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::testing::Numeric;
    use crate::linear_model::regression_update::tests::regressor;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// alpha = 1, beta = 2, x = 1, y = 3, no intercept: the precision of w is 1 + 2 = 3, its mean 2 · 3 / 3 = 2. At
    /// x = 3 the target has the mean 6 and the variance 1/2 + 9/3 = 7/2; 1.6449 times its root on either side is 90 %.
    #[test]
    fn known_noise_by_hand() {
        let parameters = json!({ "prior_precision": 1.0, "noise_precision": 2.0, "intercept": false });
        let mut model = regressor("linear_model.BayesianLinearRegression", parameters);
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 3.0, 1.0, &mut scratch).unwrap();
        assert!((model.number(Row::Plain(&[3.0]), &mut scratch) - 6.0).abs() < 1e-14);
        let (lower, upper) = model.interval().unwrap().interval(Row::Plain(&[3.0]), 0.9, &mut scratch).unwrap();
        let reach = 1.64485362695147 * 3.5f64.sqrt();
        assert!((lower - (6.0 - reach)).abs() < 1e-12 && (upper - (6.0 + reach)).abs() < 1e-12);
    }

    /// alpha = 1, x = 1 with y = 1, then x = 1 with y = 3: P = 1/3, w = 4/3; residuals −1/3 and 5/3, squares 26/9 in
    /// sum; γ = 1 − 1/3 = 2/3, so 2 − 2/3 = 4/3 degrees of freedom, and the noise has the variance 26/9 · 3/4 = 13/6.
    #[test]
    fn learned_noise_by_hand() {
        let parameters = json!({ "intercept": false });
        let mut model = regressor("linear_model.BayesianLinearRegression", parameters);
        let mut scratch = Scratch::default();
        assert_eq!(
            model.interval().unwrap().interval(Row::Plain(&[1.0]), 0.9, &mut scratch),
            Some((f64::MIN, f64::MAX))
        );
        for y in [1.0, 3.0] {
            model.learn(Row::Plain(&[1.0]), y, 1.0, &mut scratch).unwrap();
        }
        let shown = model.inspect(&crate::schema::Schema::default());
        assert!((shown["noise"].as_f64().unwrap() - 13.0 / 6.0).abs() < 1e-12, "{shown}");
        let (lower, upper) = model.interval().unwrap().interval(Row::Plain(&[1.0]), 0.5, &mut scratch).unwrap();
        let reach =
            crate::numeric::quantiles::student(0.5, 4.0 / 3.0) * (13.0f64 / 6.0 * (1.0 + 1.0 / 3.0)).sqrt();
        assert!((lower - (4.0 / 3.0 - reach)).abs() < 1e-12 && (upper - (4.0 / 3.0 + reach)).abs() < 1e-12);
    }
}
