//! A regressor that learns the target scaled to [0, 1]: z = (y − min) / (max − min), over the targets so far, with the one
//! that is learned.
//!
//! While all targets are equal, the regressor learns 0, and the prediction is that target. Before the first target, the
//! prediction of the regressor is unchanged, as in River.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::batch::MODERATE;
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;

use super::transformed_target::{numbers, TargetMap, TransformedTarget, MODEL};

const NAME: &str = "preprocessing.TargetMinMaxScaler";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regressor whose targets are scaled to [0, 1] by their minimum and maximum so far",
    merge: Merge::none(
        "the model learned scaled targets, by the scale of its part: scale targets by fixed numbers",
    ),
    parameters: &[MODEL],
    build: |arguments| TransformedTarget::build(arguments, MinMax),
};

#[derive(Clone)]
struct MinMax;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Extremes {
    least: f64,
    greatest: f64,
}

impl Default for Extremes {
    fn default() -> Self {
        Extremes { least: f64::INFINITY, greatest: f64::NEG_INFINITY }
    }
}

impl Extremes {
    fn is_empty(&self) -> bool {
        self.least > self.greatest
    }
}

impl TargetMap for MinMax {
    type State = Extremes;
    const IS_FIXED: bool = false;

    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn updated(&self, state: &Extremes, y: f64, _w: f64) -> Option<Extremes> {
        let next = Extremes { least: state.least.min(y), greatest: state.greatest.max(y) };
        (next.greatest - next.least).is_finite().then_some(next)
    }

    #[inline]
    fn forward(&self, state: &Extremes, y: f64) -> Result<f64> {
        let range = state.greatest - state.least;
        // The target itself is among them, so the quotient is within [0, 1].
        Ok(if range > 0.0 { (y - state.least) / range } else { 0.0 })
    }

    #[inline]
    fn inverse(&self, state: &Extremes, z: f64) -> f64 {
        if state.is_empty() {
            z
        } else {
            z * (state.greatest - state.least) + state.least
        }
    }

    fn is_valid(&self, state: &Extremes) -> bool {
        let Extremes { least, greatest } = *state;
        let none = least == f64::INFINITY && greatest == f64::NEG_INFINITY;
        none || (least <= greatest && (greatest - least).is_finite())
    }

    fn infallible(&self, state: &Extremes) -> bool {
        state.is_empty() || (state.least >= -MODERATE && state.greatest <= MODERATE)
    }

    fn inspect(&self, state: &Extremes) -> serde_json::Map<String, Json> {
        match state.is_empty() {
            true => serde_json::Map::new(),
            false => numbers([("min", state.least), ("max", state.greatest)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of targets 2, 6 and 5 the last is 3/4 of the way from 2 to 6.
    #[test]
    fn worked_by_hand() {
        let none = Extremes::default();
        assert_eq!(MinMax.inverse(&none, 0.3), 0.3);
        let one = MinMax.updated(&none, 2.0, 1.0).unwrap();
        assert_eq!((MinMax.forward(&one, 2.0).unwrap(), MinMax.inverse(&one, 0.3)), (0.0, 2.0));
        let all = [6.0, 5.0].into_iter().fold(one, |state, y| MinMax.updated(&state, y, 1.0).unwrap());
        assert_eq!((MinMax.forward(&all, 5.0).unwrap(), MinMax.inverse(&all, 0.75)), (0.75, 5.0));
        assert!(MinMax.updated(&Extremes { least: f64::MIN, greatest: 0.0 }, f64::MAX, 1.0).is_none());
    }
}
