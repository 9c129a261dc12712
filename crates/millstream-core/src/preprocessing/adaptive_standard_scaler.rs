//! z = (x − mean) / standard deviation, both exponentially weighted.
//!
//! With f the fading factor and δ = x − m: m ← m + f δ, v ← (1 − f)(v + f δ²) (Finch, 2009, eqs. 124 and 143), which
//! cannot become negative and does not cancel; the first number is the mean. A number of weight w takes the step of w
//! numbers, 1 − (1 − f)^w. A constant feature becomes 0.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::bounded;

use super::per_feature::{moderate, PerFeature, Scaling};
use super::standard_scaler::inverse_deviation;

const NAME: &str = "preprocessing.AdaptiveStandardScaler";
/// Squares of such numbers do not overflow.
const LARGEST: f64 = 1e150;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales numbers to mean 0 and variance 1, with exponentially decaying weights",
    merge: Merge::ORDER,
    parameters: &[Parameter::new(
        "fading_factor",
        Kind::Float(Bounds::FRACTION),
        DefaultValue::Float(0.3),
        "weight of the newest number; closer to 1 forgets faster",
    )],
    build: |arguments| {
        let factor = arguments.float("fading_factor")?;
        Ok(Built::Transformer(Box::new(PerFeature::new(Adaptive { factor }))))
    },
};

#[derive(Clone)]
struct Adaptive {
    factor: f64,
}

#[derive(Clone, Copy)]
struct Feature {
    /// NaN before the first number.
    mean: f64,
    variance: f64,
    /// It follows from the variance.
    inverse_deviation: f64,
}

#[derive(Serialize, Deserialize)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Adaptive {
    fn step(&self, w: f64) -> f64 {
        if w == 1.0 || self.factor == 1.0 {
            self.factor
        } else {
            1.0 - exp(w * ln(1.0 - self.factor))
        }
    }
}

impl Scaling for Adaptive {
    type Feature = Feature;
    type Undo = Feature;
    type Saved = Option<Moments>;

    fn name(&self) -> &'static str {
        NAME
    }

    fn unseen(&self) -> Feature {
        Feature { mean: f64::NAN, variance: 0.0, inverse_deviation: 0.0 }
    }

    #[inline]
    fn learn(&self, feature: &mut Feature, x: f64, w: f64) -> Option<Feature> {
        if x.abs() > LARGEST {
            return None;
        }
        let before = *feature;
        if before.mean.is_nan() {
            feature.mean = x;
            return Some(before);
        }
        let (step, delta) = (self.step(w), x - before.mean);
        let variance = (1.0 - step) * (before.variance + step * delta * delta);
        let mean = before.mean + step * delta;
        *feature = Feature { mean, variance, inverse_deviation: inverse_deviation(variance, 1.0) };
        Some(before)
    }

    fn undo(&self, feature: &mut Feature, before: Feature) {
        *feature = before;
    }

    #[inline]
    fn scaled(&self, feature: &Feature, x: f64) -> f64 {
        // Of an unknown feature the mean is NaN, and so is the difference.
        if feature.inverse_deviation == 0.0 {
            0.0
        } else {
            moderate(bounded(x - feature.mean) * feature.inverse_deviation)
        }
    }

    fn save(&self, feature: &Feature) -> Option<Moments> {
        let Feature { mean, variance, .. } = *feature;
        (!mean.is_nan()).then_some(Moments { mean, variance })
    }

    fn load(&self, saved: Option<Moments>) -> Result<Feature> {
        let Some(Moments { mean, variance }) = saved else { return Ok(self.unseen()) };
        let sound = mean.abs() <= LARGEST && (0.0..=4.0 * LARGEST * LARGEST).contains(&variance);
        require(NAME, sound, "a moment is not finite")?;
        Ok(Feature { mean, variance, inverse_deviation: inverse_deviation(variance, 1.0) })
    }

    fn inspect(&self, feature: &Feature) -> Option<Json> {
        let Feature { mean, variance, .. } = *feature;
        (!mean.is_nan()).then(|| json!({ "mean": mean, "variance": variance }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f = ½ on 1, 3, 5: means 1, 2, 3.5; variances 0, ½(0 + ½·4) = 1, ½(1 + ½·9) = 2.75. Two numbers 5 after 1, 3 are one
    /// of weight 2: the step is 1 − ¼.
    #[test]
    fn worked_by_hand() {
        let scaling = Adaptive { factor: 0.5 };
        let mut feature = scaling.unseen();
        assert_eq!(scaling.scaled(&feature, 9.0), 0.0);
        for x in [1.0, 3.0, 5.0] {
            scaling.learn(&mut feature, x, 1.0).unwrap();
        }
        assert_eq!((feature.mean, feature.variance), (3.5, 2.75));
        assert!((scaling.scaled(&feature, 5.0) - 1.5 / 2.75f64.sqrt()).abs() < 1e-15);
        assert!((scaling.step(2.0) - 0.75).abs() < 1e-15);
    }
}
