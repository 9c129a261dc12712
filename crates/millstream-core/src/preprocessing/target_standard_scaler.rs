//! A regressor that learns the target scaled to mean 0 and variance 1: z = (y − mean) / standard deviation, over the targets
//! so far, with the one that is learned.
//!
//! Moments as in `standard_scaler.rs` (West, 1979). The variance is that of a sample, as in River: of k targets it is
//! k/(k − 1) times the mean square. While it is 0, the regressor learns 0, and the prediction is the mean, which is 0
//! before the first target.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::batch::MODERATE;
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::magnitude::LARGEST;

use super::per_feature::moderate;
use super::transformed_target::{numbers, TargetMap, TransformedTarget, MODEL};

const NAME: &str = "preprocessing.TargetStandardScaler";
/// Sums up to this are far from overflowing, whatever moderate targets follow.
const LARGEST_SUM: f64 = 1e250;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regressor whose targets are scaled to mean 0 and variance 1",
    merge: Merge::none(
        "the model learned scaled targets, by the scale of its part: scale targets by fixed numbers",
    ),
    parameters: &[MODEL],
    build: |arguments| TransformedTarget::build(arguments, Standard),
};

#[derive(Clone)]
struct Standard;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Moments {
    count: u64,
    /// Sum of weights.
    weight: f64,
    mean: f64,
    /// Σ w (y − mean)²
    squares: f64,
}

impl Moments {
    fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let k = self.count as f64;
        let deviation = (self.squares / self.weight * (k / (k - 1.0))).sqrt();
        // Below this, quotients would overflow.
        if deviation > 1e-145 {
            deviation
        } else {
            0.0
        }
    }
}

impl TargetMap for Standard {
    type State = Moments;
    const IS_FIXED: bool = false;

    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn updated(&self, state: &Moments, y: f64, w: f64) -> Option<Moments> {
        if y.abs() > LARGEST {
            return None;
        }
        let weight = state.weight + w;
        let delta = y - state.mean;
        let mean = state.mean + delta * (w / weight);
        let squares = state.squares + delta * (w * (state.weight / weight)) * delta;
        let sound = weight.is_finite() && mean.is_finite() && squares.is_finite();
        sound.then_some(Moments { count: state.count.saturating_add(1), weight, mean, squares })
    }

    #[inline]
    fn forward(&self, state: &Moments, y: f64) -> Result<f64> {
        let deviation = state.deviation();
        // Far out only with weights that differ by more than 10^100.
        Ok(if deviation > 0.0 { moderate((y - state.mean) / deviation) } else { 0.0 })
    }

    #[inline]
    fn inverse(&self, state: &Moments, z: f64) -> f64 {
        z * state.deviation() + state.mean
    }

    fn is_valid(&self, state: &Moments) -> bool {
        let Moments { count, weight, mean, squares } = *state;
        let finite = weight.is_finite() && mean.is_finite() && squares.is_finite();
        finite && squares >= 0.0 && ((count > 0 && weight > 0.0) || (count == 0 && weight == 0.0))
    }

    fn infallible(&self, state: &Moments) -> bool {
        state.weight <= LARGEST_SUM && state.mean.abs() <= MODERATE && state.squares <= LARGEST_SUM
    }

    fn inspect(&self, state: &Moments) -> serde_json::Map<String, Json> {
        numbers([("mean", state.mean), ("standard_deviation", state.deviation())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets 1 and 3: mean 2, variance ((−1)² + 1²) / (2 − 1) = 2; 3 becomes 1/√2, and 1/√2 becomes 3 again. The first
    /// target alone has no variance: it becomes 0, and any prediction is 1.
    #[test]
    fn worked_by_hand() {
        let none = Moments::default();
        assert_eq!((Standard.forward(&none, 5.0).unwrap(), Standard.inverse(&none, 5.0)), (0.0, 0.0));
        let one = Standard.updated(&none, 1.0, 1.0).unwrap();
        assert_eq!((Standard.forward(&one, 1.0).unwrap(), Standard.inverse(&one, 5.0)), (0.0, 1.0));
        let two = Standard.updated(&one, 3.0, 1.0).unwrap();
        assert_eq!((two.mean, two.squares), (2.0, 2.0));
        let z = Standard.forward(&two, 3.0).unwrap();
        assert!((z - 0.5f64.sqrt()).abs() < 1e-15 && (Standard.inverse(&two, z) - 3.0).abs() < 1e-15);
    }
}
