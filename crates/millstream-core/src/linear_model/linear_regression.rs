//! Linear regression by stochastic gradient descent: ŷ = wᵀx + b, or e^(wᵀx + b) with the Poisson loss.
//!
//! Any regression loss can be minimised: squared for the mean, absolute or quantile for the median and other
//! quantiles, Huber for robustness to outliers.

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result, Shown};
use crate::learner::{Learner, MiniBatch};
use crate::linear_model::full_vector::{self, Build as _};
use crate::linear_model::{hyperplane, AdaptiveScore, Engine, Linear};
use crate::merging::{Merge, Merger, BY_OPTIMIZER};
use crate::parameter::{Default, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Sparse, Want};
use crate::schema::Schema;
use crate::task::Numbers;

const NAME: &str = "linear_model.LinearRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Linear regression by stochastic gradient descent",
    merge: Merge::approximate(BY_OPTIMIZER),
    parameters: &[
        hyperplane::OPTIMIZER,
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            Default::Part("losses.Squared"),
            "loss to minimise: a regression loss",
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
        Built::FullVectorOptimizer(optimizer) => full_vector::with_engine(arguments, optimizer, false, Build),
        _ => Ok(Build.build(Linear::new(arguments, false)?)),
    },
};

/// Wraps any engine.
struct Build;

impl full_vector::Build for Build {
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
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        self.engine.exchange(exchange)
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.engine.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.engine.load(bytes)
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.engine.merge(merger)?;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.engine.memory()
    }

    fn prefetch(&mut self, x: Sparse<'_>) {
        self.engine.prefetch(x);
    }

    fn savepoint(&mut self) -> bool {
        self.engine.savepoint()
    }

    fn rollback(&mut self) {
        self.engine.rollback();
    }

    fn commit(&mut self) {
        self.engine.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            missing_is_zero: true,
            mini_batches: self.engine.takes_batches(),
            steps_together: self.engine.steps_together() && !self.engine.loss().for_counts(),
            ..Abilities::default()
        }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.engine.inspect(schema)
    }
}

impl<E: Engine> Learner<Numbers> for LinearRegression<E> {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predict_score(self.engine.score(x, scratch));
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check(y)?;
        self.engine.learn(x, y, w, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check(y)?;
        let score = self.engine.step(x, y, w, scratch)?;
        *out = self.predict_score(score);
        Ok(())
    }

    fn step_apart(
        &mut self,
        asked: Row<'_>,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check(y)?;
        let score = self.engine.step_apart(asked, x, y, w, scratch)?;
        *out = self.predict_score(score);
        Ok(())
    }

    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.loss().value(y, self.engine.score(x, scratch)))
    }

    fn linear_part(&self, indices: &[u32], x: &[f64]) -> Option<f64> {
        // The Poisson loss predicts the exponential of the score.
        (!self.engine.loss().for_counts()).then(|| self.engine.linear_part(indices, x)).flatten()
    }

    fn adaptive_score(&mut self) -> Option<AdaptiveScore<'_>> {
        // The Poisson loss refuses targets and predicts the exponential of the score.
        (!self.engine.loss().for_counts()).then(|| self.engine.adaptive_score()).flatten()
    }

    fn linear_run(&self, first: usize, x: &[f64]) -> Option<f64> {
        (!self.engine.loss().for_counts()).then(|| self.engine.linear_run(first, x)).flatten()
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Numbers>> {
        self.engine.takes_batches().then_some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

impl<E: Engine> MiniBatch<Numbers> for LinearRegression<E> {
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check(y)?;
        self.engine.accumulate(x, y, w, scratch)
    }

    fn apply(&mut self) -> Result<()> {
        self.engine.apply()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;
    use serde_json::json;

    fn build(parameters: serde_json::Value) -> Box<dyn Learner<Numbers>> {
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
        assert_eq!(model.step_number(x, 3.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert_eq!(model.number(x, &mut scratch), 3.0 * 2.0 + 1.5 + 0.75);
    }

    #[test]
    fn poisson_by_hand() {
        let mut model = build(json!({
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.5}},
            "loss": "losses.Poisson", "intercept": false}));
        let mut scratch = Scratch::default();
        // z = 0 predicts e⁰ = 1; slope 1 − 3 = −2; w = 0.5 · 2 = 1, which predicts e.
        assert_eq!(model.step_number(Row::Plain(&[1.0]), 3.0, 1.0, &mut scratch).unwrap(), 1.0);
        assert_eq!(model.number(Row::Plain(&[1.0]), &mut scratch), 1f64.exp());
        assert_eq!(model.number(Row::Plain(&[1e308]), &mut scratch), f64::MAX);
        assert!(model.learn(Row::Plain(&[1.0]), -1.0, 1.0, &mut scratch).is_err());
    }
}
