//! A regressor that learns a function of the target, such as its logarithm; predictions are transformed back.
//!
//! The functions here give the same bits on every platform. Functions in Python are applied by the wrapper of this name
//! in Python.

use serde_json::Value as Json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::numeric::elementary::{exp, exp_m1, ln, ln_1p};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::preprocessing::transformed_target::{TargetMap, TransformedTarget, MODEL};

const NAME: &str = "compose.TargetTransformRegressor";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regressor that learns a function of the target and predicts by its inverse",
    merge: Merge::COMPONENTS,
    parameters: &[
        MODEL,
        Parameter::new(
            "func",
            Kind::Choice(&["identity", "log", "log1p", "sqrt"]),
            DefaultValue::Required,
            "function of the target",
        ),
        Parameter::new(
            "inverse_func",
            Kind::Optional(&Kind::Choice(&["identity", "exp", "expm1", "square"])),
            DefaultValue::Null,
            "its inverse; null for that of func",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let func = arguments.text("func")?;
    let (function, inverse) = match func {
        "identity" => (Function::Identity, "identity"),
        "log" => (Function::Log, "exp"),
        "log1p" => (Function::Log1p, "expm1"),
        _ => (Function::Sqrt, "square"),
    };
    if let Some(given) = arguments.value("inverse_func")?.as_str().filter(|&given| given != inverse) {
        let words = format!("{NAME}: inverse_func must be '{inverse}' for func='{func}', got '{given}'");
        return Err(Fault::value(words));
    }
    TransformedTarget::build(arguments, function)
}

#[derive(Clone, Copy)]
enum Function {
    Identity,
    Log,
    Log1p,
    Sqrt,
}

impl TargetMap for Function {
    type State = ();
    const IS_FIXED: bool = true;

    fn name(&self) -> &'static str {
        NAME
    }

    fn updated(&self, (): &(), _y: f64, _w: f64) -> Option<()> {
        Some(())
    }

    fn forward(&self, (): &(), y: f64) -> Result<f64> {
        let refuse = |words: &str| Err(Fault::value(format!("{NAME}: the target must be {words}, got {y}")));
        match self {
            Function::Identity => Ok(y),
            Function::Log if y >= f64::MIN_POSITIVE => Ok(ln(y)),
            Function::Log => refuse("> 0 for func='log'"),
            Function::Log1p if y > -1.0 => Ok(ln_1p(y)),
            Function::Log1p => refuse("> -1 for func='log1p'"),
            Function::Sqrt if y >= 0.0 => Ok(y.sqrt()),
            Function::Sqrt => refuse(">= 0 for func='sqrt'"),
        }
    }

    fn inverse(&self, (): &(), z: f64) -> f64 {
        match self {
            Function::Identity => z,
            Function::Log => exp(z),
            Function::Log1p => exp_m1(z),
            // The square root is not negative: a prediction below 0 is nearest to 0.
            Function::Sqrt => z.max(0.0) * z.max(0.0),
        }
    }

    fn is_valid(&self, (): &()) -> bool {
        true
    }

    /// Some targets are refused, unless the function is defined everywhere.
    fn infallible(&self, (): &()) -> bool {
        matches!(self, Function::Identity)
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

    /// The mean of √1 and √9 is 2, so that the prediction is 4; −1 has no root and is not learned.
    #[test]
    fn worked_by_hand() {
        let mean = json!({ "name": "baseline.TargetMean" });
        let description = json!({ "name": NAME, "parameters": { "model": mean, "func": "sqrt" } });
        let description = registry::resolve(&description).unwrap();
        let Built::Regressor(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        for y in [1.0, 9.0] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        assert!(model.learn(Row::Plain(&[]), -1.0, 1.0, &mut scratch).is_err());
        assert_eq!(model.number(Row::Plain(&[]), &mut scratch), 4.0);
    }

    #[test]
    fn functions_have_their_inverse() {
        for function in [Function::Identity, Function::Log, Function::Log1p, Function::Sqrt] {
            for y in [1e-3, 0.5, 1.0, 3e4] {
                let z = function.forward(&(), y).unwrap();
                assert!((function.inverse(&(), z) / y - 1.0).abs() < 1e-13);
            }
        }
    }
}
