//! Linear regression by stochastic gradient descent: ŷ = wᵀx + b, or e^(wᵀx + b) with the Poisson loss.
//!
//! Any loss for numbers may be followed: squared for the mean, absolute or quantile for the median and other
//! quantiles, Huber against outliers.

use crate::fault::{Fault, Result, Shown};
use crate::linear_model::whole::{self, Build as _};
use crate::linear_model::{hyperplane, Engine, Linear};
use crate::parameter::{Default, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Part, Regressor};
use crate::row::{Row, Scratch, Sparse};
use crate::schema::Schema;

const NAME: &str = "linear_model.LinearRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Linear regression by stochastic gradient descent",
    parameters: &[
        hyperplane::OPTIMIZER,
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            Default::Part("losses.Squared"),
            "the loss that is followed downhill; one for numbers",
        ),
        hyperplane::L2,
        hyperplane::L1,
        hyperplane::INTERCEPT,
        hyperplane::INTERCEPT_INIT,
        hyperplane::INTERCEPT_LEARNING_RATE,
        hyperplane::CLIP_GRADIENT,
        hyperplane::AVERAGING,
    ],
    build: |arguments| match arguments.part("optimizer")? {
        Built::Whole(optimizer) => whole::with_engine(arguments, optimizer, false, Build),
        _ => Ok(Build.build(Linear::new(arguments, false)?)),
    },
};

/// Around any engine.
struct Build;

impl whole::Build for Build {
    fn build<E: Engine>(self, engine: E) -> Built {
        Built::Regressor(Box::new(LinearRegression { engine }))
    }
}

#[derive(Clone)]
struct LinearRegression<E: Engine> {
    engine: E,
}

impl<E: Engine> LinearRegression<E> {
    #[inline]
    fn predict_score(&self, score: f64) -> f64 {
        self.engine.loss().mean(score).min(f64::MAX)
    }

    #[inline]
    fn check(&self, y: f64) -> Result<()> {
        if y < 0.0 && self.engine.loss().for_counts() {
            return Err(Fault::value(format!(
                "{NAME}: with losses.Poisson the target must not be negative, got {}",
                Shown(y)
            )));
        }
        Ok(())
    }
}

impl<E: Engine> Part for LinearRegression<E> {
    fn save(&self) -> Result<Vec<u8>> {
        self.engine.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.engine.load(bytes)
    }

    fn memory(&self) -> usize {
        self.engine.memory()
    }

    fn foresee(&mut self, x: Sparse<'_>) {
        self.engine.foresee(x);
    }

    fn hold(&mut self) -> bool {
        self.engine.hold()
    }

    fn restore(&mut self) {
        self.engine.restore();
    }

    fn release(&mut self) {
        self.engine.release();
    }

    fn missing_is_zero(&self) -> bool {
        true
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.engine.inspect(schema)
    }
}

impl<E: Engine> Regressor for LinearRegression<E> {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        self.predict_score(self.engine.score(x, scratch))
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check(y)?;
        self.engine.learn(x, y, w, scratch)
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        self.check(y)?;
        let score = self.engine.step(x, y, w, scratch)?;
        Ok(self.predict_score(score))
    }

    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.loss().value(y, self.engine.score(x, scratch)))
    }

    fn takes_batches(&self) -> bool {
        self.engine.takes_batches()
    }

    fn gather(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check(y)?;
        self.engine.gather(x, y, w, scratch)
    }

    fn descend(&mut self) -> Result<()> {
        self.engine.descend_gathered()
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

    fn build(parameters: serde_json::Value) -> Box<dyn Regressor> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    #[test]
    fn one_step_by_hand() {
        let mut model = build(json!({
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.25}},
            "intercept_learning_rate": 0.125}));
        let mut scratch = Scratch::default();
        let x = Row::Plain(&[2.0, -1.0]);
        // z = 0, y = 3: slope 2 (0 − 3) = −6; w = 0.25 · 6 · (2, −1) = (3, −1.5), b = 0.125 · 6 = 0.75.
        assert_eq!(model.step(x, 3.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert_eq!(model.predict(x, &mut scratch), 3.0 * 2.0 + 1.5 + 0.75);
    }

    #[test]
    fn poisson_by_hand() {
        let mut model = build(json!({
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.5}},
            "loss": "losses.Poisson", "intercept": false}));
        let mut scratch = Scratch::default();
        // z = 0 predicts e⁰ = 1; slope 1 − 3 = −2; w = 0.5 · 2 = 1, which predicts e.
        assert_eq!(model.step(Row::Plain(&[1.0]), 3.0, 1.0, &mut scratch).unwrap(), 1.0);
        assert_eq!(model.predict(Row::Plain(&[1.0]), &mut scratch), 1f64.exp());
        assert_eq!(model.predict(Row::Plain(&[1e308]), &mut scratch), f64::MAX);
        assert!(model.learn(Row::Plain(&[1.0]), -1.0, 1.0, &mut scratch).is_err());
    }
}
