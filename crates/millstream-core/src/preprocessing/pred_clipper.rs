//! A regressor whose predictions are clipped to a range: a given one, that of the targets so far, or what both have in
//! common. It learns targets as they are.

use serde_json::Value as Json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};

use super::transformed_target::{numbers, TargetMap, TransformedTarget, MODEL};

const NAME: &str = "preprocessing.PredClipper";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regressor whose predictions are clipped to a range",
    merge: Merge::COMPONENTS,
    parameters: &[
        MODEL,
        Parameter::new(
            "y_min",
            Kind::Optional(&Kind::Float(Bounds::ANY)),
            DefaultValue::Null,
            "least prediction; null for no bound",
        ),
        Parameter::new(
            "y_max",
            Kind::Optional(&Kind::Float(Bounds::ANY)),
            DefaultValue::Null,
            "greatest prediction; null for no bound",
        ),
        Parameter::new(
            "seen_range",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to clip predictions to the range of the targets so far, too",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let bound = |name: &str, none: f64| match arguments.value(name)?.is_null() {
        true => Ok(none),
        false => arguments.float(name),
    };
    let (y_min, y_max) = (bound("y_min", f64::MIN)?, bound("y_max", f64::MAX)?);
    if y_min > y_max {
        return Err(Fault::value(format!("{NAME}: y_max must be at least y_min = {y_min}, got {y_max}")));
    }
    let clip = Clip { y_min, y_max };
    match arguments.boolean("seen_range")? {
        true => TransformedTarget::build(arguments, SeenClip { clip }),
        false => TransformedTarget::build(arguments, clip),
    }
}

/// Clips to the range of the targets so far, too.
#[derive(Clone)]
struct SeenClip {
    clip: Clip,
}

/// The range of the targets so far; none before the first.
type Seen = Option<(f64, f64)>;

impl TargetMap for SeenClip {
    type State = Seen;
    const IS_FIXED: bool = false;

    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn updated(&self, seen: &Seen, y: f64, _w: f64) -> Option<Seen> {
        Some(Some(seen.map_or((y, y), |(low, high)| (low.min(y), high.max(y)))))
    }

    #[inline]
    fn forward(&self, _seen: &Seen, y: f64) -> Result<f64> {
        Ok(y)
    }

    #[inline]
    fn inverse(&self, seen: &Seen, z: f64) -> f64 {
        let (low, high) = seen.unwrap_or((f64::MIN, f64::MAX));
        self.clip.inverse(&(), z.clamp(low, high))
    }

    fn is_valid(&self, seen: &Seen) -> bool {
        seen.is_none_or(|(low, high)| low.is_finite() && high.is_finite() && low <= high)
    }

    fn infallible(&self, _seen: &Seen) -> bool {
        true
    }

    fn inspect(&self, seen: &Seen) -> serde_json::Map<String, Json> {
        seen.map_or_else(serde_json::Map::new, |(low, high)| numbers([("low", low), ("high", high)]))
    }
}

#[derive(Clone)]
struct Clip {
    y_min: f64,
    y_max: f64,
}

impl TargetMap for Clip {
    type State = ();
    const IS_FIXED: bool = true;

    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn updated(&self, (): &(), _y: f64, _w: f64) -> Option<()> {
        Some(())
    }

    #[inline]
    fn forward(&self, (): &(), y: f64) -> Result<f64> {
        Ok(y)
    }

    #[inline]
    fn inverse(&self, (): &(), z: f64) -> f64 {
        z.clamp(self.y_min, self.y_max)
    }

    fn is_valid(&self, (): &()) -> bool {
        true
    }

    fn infallible(&self, (): &()) -> bool {
        true
    }

    fn inspect(&self, (): &()) -> serde_json::Map<String, Json> {
        serde_json::Map::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// The mean of 1, 2 and 9 is 4; it is clipped to 3. Then 0 and 0 make it 2.4.
    #[test]
    fn worked_by_hand() {
        let mean = json!({ "name": "baseline.TargetMean" });
        let description = json!({ "name": NAME, "parameters": { "model": mean, "y_max": 3.0 } });
        let description = registry::resolve(&description).unwrap();
        let Built::Regressor(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        for y in [1.0, 2.0, 9.0] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        assert_eq!(model.number(Row::Plain(&[]), &mut scratch), 3.0);
        for y in [0.0, 0.0] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        assert!((model.number(Row::Plain(&[]), &mut scratch) - 2.4).abs() < 1e-15);
    }

    /// With weights of 0 the prediction is the initial intercept, 7, until the first target; then the range is 1 to 1,
    /// and after 4 and −2 it is −2 to 4, of which a bound of 3 leaves −2 to 3.
    #[test]
    fn seen_range_by_hand() {
        let fixed = json!({ "name": "linear_model.LinearRegression", "parameters": {
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 1e-300}},
            "intercept_init": 7.0, "intercept_learning_rate": 1e-300 } });
        let parameters = json!({ "model": fixed, "y_max": 3.0, "seen_range": true });
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        assert_eq!(model.number(Row::Plain(&[0.0]), &mut scratch), 3.0);
        model.learn(Row::Plain(&[0.0]), 1.0, 1.0, &mut scratch).unwrap();
        assert_eq!(model.number(Row::Plain(&[0.0]), &mut scratch), 1.0);
        for y in [4.0, -2.0] {
            model.learn(Row::Plain(&[0.0]), y, 1.0, &mut scratch).unwrap();
        }
        assert_eq!(model.number(Row::Plain(&[0.0]), &mut scratch), 3.0);
    }
}
