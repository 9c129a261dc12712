//! Logistic regression by stochastic gradient descent: P(y = 1 | x) = 1 / (1 + e^−(wᵀx + b)).
//!
//! Two classes; code 1 is positive. Any classification loss can replace the logistic one.

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::Result;
use crate::learner::{DecisionFunction, Learner, MiniBatch};
use crate::linear_model::full_vector::{self, Build as _};
use crate::linear_model::{hyperplane, AdaptiveScore, Engine, Linear};
use crate::merging::{Merge, Merger, BY_OPTIMIZER};
use crate::parameter::{Default, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Sparse, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

const NAME: &str = "linear_model.LogisticRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Logistic regression for two classes by stochastic gradient descent",
    merge: Merge::approximate(BY_OPTIMIZER),
    parameters: &[
        hyperplane::OPTIMIZER,
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            Default::Part("losses.Logistic"),
            "loss to minimise: a classification loss",
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
        Built::FullVectorOptimizer(optimizer) => full_vector::with_engine(arguments, optimizer, true, Build),
        _ => Ok(Build.build(Linear::new(arguments, true)?)),
    },
};

/// Wraps any engine.
struct Build;

impl full_vector::Build for Build {
    fn build<E: Engine>(self, engine: E) -> Built {
        Built::Classifier(Box::new(LogisticRegression { engine, started: false }))
    }
}

#[derive(Clone)]
struct LogisticRegression<E: Engine> {
    engine: E,
    /// Whether any example was learned: before that there is no class to predict.
    started: bool,
}

fn sign(y: u32) -> f64 {
    if y == 1 {
        1.0
    } else {
        -1.0
    }
}

impl<E: Engine> LogisticRegression<E> {
    #[inline]
    fn predict_score(&self, score: f64, want: Want, out: &mut ClassPrediction) {
        out.clear();
        if !self.started {
            return;
        }
        // As in River, an even score is the negative class.
        out.class = Some(u32::from(score > 0.0));
        if want == Want::Probabilities {
            let p = self.engine.loss().probability(score);
            out.probabilities.extend_from_slice(&[1.0 - p, p]);
        }
    }
}

impl<E: Engine> Part for LogisticRegression<E> {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        let compact = self.engine.exchange(exchange);
        self.started = self.engine.steps() > 0.0;
        compact
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.engine.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.engine.load(bytes)?;
        self.started = self.engine.steps() > 0.0;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.engine.merge(merger)?;
        self.started = self.engine.steps() > 0.0;
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
        self.started = self.engine.steps() > 0.0;
    }

    fn commit(&mut self) {
        self.engine.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            missing_is_zero: true,
            mini_batches: self.engine.takes_batches(),
            steps_together: self.engine.steps_together(),
            max_classes: 2,
            ..Abilities::default()
        }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.engine.inspect(schema)
    }
}

impl<E: Engine> Learner<Classes> for LogisticRegression<E> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.predict_score(self.engine.score(x, scratch), want, out);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.engine.learn(x, sign(y), w, scratch)?;
        self.started = true;
        Ok(())
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let score = self.engine.step(x, sign(y), w, scratch)?;
        self.predict_score(score, want, out);
        self.started = true;
        Ok(())
    }

    fn step_apart(
        &mut self,
        asked: Row<'_>,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let score = self.engine.step_apart(asked, x, sign(y), w, scratch)?;
        self.predict_score(score, want, out);
        self.started = true;
        Ok(())
    }

    fn adaptive_score(&mut self) -> Option<AdaptiveScore<'_>> {
        self.started.then(|| self.engine.adaptive_score()).flatten()
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        Some(self)
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Classes>> {
        self.engine.takes_batches().then_some(self)
    }

    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.loss().value(sign(y), self.engine.score(x, scratch)))
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl<E: Engine> DecisionFunction for LogisticRegression<E> {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.score(x, scratch))
    }
}

impl<E: Engine> MiniBatch<Classes> for LogisticRegression<E> {
    fn accumulate(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.engine.accumulate(x, sign(y), w, scratch)
    }

    fn apply(&mut self) -> Result<()> {
        self.engine.apply()?;
        self.started = self.engine.steps() > 0.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

    #[test]
    fn one_step_by_hand() {
        let description = registry::resolve(&json!({"name": NAME, "parameters": {
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.5}},
            "intercept_learning_rate": 0.1}}))
        .unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        let x = [2.0, -1.0];
        model.learn(Row::Plain(&x), 1, 1.0, &mut scratch).unwrap();
        // z = 0, so p = 1/2 and ∂ℓ/∂z = −1/2: w = 0.5 · 0.5 · (2, −1) = (0.5, −0.25), b = 0.1 · 0.5 = 0.05.
        let score = model.decision_function().unwrap().score(Row::Plain(&x), &mut scratch).unwrap();
        assert!((score - (0.5 * 2.0 + 0.25 + 0.05)).abs() < 1e-15);
    }
}
