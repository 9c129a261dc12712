//! Recursive least squares: after every example the weights are exactly those of ridge regression on all examples
//! so far, at a cost of O(d²) each. The recursion is in recursion.rs.
//!
//! P starts as I / l2, the inverse of what l2 adds to Σ x xᵀ. The form (I + λI)⁻¹, found in some texts, is wrong by I at
//! the first example.

use serde_json::Value as Json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::merging::{unless_forgetting, Merge, Merger};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::hyperplane;
use super::recursion::{Recursion, State};

const NAME: &str = "linear_model.RLS";

pub const FORGETTING: Parameter = Parameter::new(
    "forgetting",
    Kind::Float(Bounds { low: 0.0, low_included: false, high: 1.0, high_included: true }),
    DefaultValue::Float(1.0),
    "forgetting factor: weight of an example relative to the next one",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Recursive least squares: exact ridge regression on all examples so far",
    merge: Merge::EXACT.or(unless_forgetting),
    parameters: &[
        Parameter::new(
            "l2",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1.0),
            "L2 penalty: the inverse of the prior variance of the weights",
        ),
        FORGETTING,
        hyperplane::INTERCEPT,
    ],
    build: |arguments| {
        let (l2, forgetting) = (arguments.float("l2")?, arguments.float("forgetting")?);
        let recursion = Recursion::new(NAME, l2, forgetting, arguments.boolean("intercept")?);
        Ok(Built::Regressor(Box::new(Rls { recursion })))
    },
};

#[derive(Clone)]
struct Rls {
    recursion: Recursion,
}

impl Part for Rls {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.recursion.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.recursion.adopt(state)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.recursion.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        self.recursion.inspect(schema)
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.recursion.merge(merger, |bytes| unpack(NAME, bytes)).map(drop)
    }
}

impl Learner<Numbers> for Rls {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.recursion.predict(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.recursion.take(x, y, w).map(drop)
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
        *out = finite(self.recursion.take(x, y, w)?.score);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;
    use serde_json::json;

    fn build(parameters: Json) -> Box<dyn Learner<Numbers>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// l2 = 2, so P = 1/2; x = 2, y = 6: K = (1/2 · 2) / (1 + 2 · 1/2 · 2) = 1/3, w = 6/3 = 2. Ridge regression says
    /// the same: 2 · 6 / (2² + 2) = 2.
    #[test]
    fn one_step_by_hand() {
        let mut model = build(json!({ "l2": 2.0, "intercept": false }));
        let mut scratch = Scratch::default();
        assert_eq!(model.step_number(Row::Plain(&[2.0]), 6.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert!((model.number(Row::Plain(&[1.0]), &mut scratch) - 2.0).abs() < 1e-15);
    }

    /// Two features that differ by 1e-8 of their size, one of them a million times the other: the textbook's P has a
    /// negative diagonal within a thousand steps. In factors the error stays near the noise of rounding.
    #[test]
    fn collinear_and_badly_scaled_features_do_no_harm() {
        let mut model = build(json!({ "l2": 1e-6 }));
        let mut scratch = Scratch::default();
        let mut worst: f64 = 0.0;
        for i in 0..200_000u32 {
            let t = f64::from(i % 1013) / 100.0;
            let x = [t, 1e6 * t + 1e-2 * f64::from(i % 7), 1e-6 * f64::from(i % 31)];
            let y = 3.0 * t - 1.0;
            let predicted = model.step_number(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
            if i > 10_000 {
                worst = worst.max((predicted - y).abs());
            }
        }
        assert!(worst < 1e-3, "{worst}");
    }

    #[test]
    fn forgetting_on_a_constant_input_does_not_wind_up() {
        let mut model = build(json!({ "forgetting": 0.9 }));
        let mut scratch = Scratch::default();
        for _ in 0..100_000 {
            model.learn(Row::Plain(&[1.0, 0.0]), 1.0, 1.0, &mut scratch).unwrap();
        }
        model.learn(Row::Plain(&[1.0, 1.0]), 2.0, 1.0, &mut scratch).unwrap();
        let predicted = model.number(Row::Plain(&[1.0, 0.0]), &mut scratch);
        assert!((predicted - 1.0).abs() < 1e-3, "{predicted}");
    }
}
