//! Logistic regression by stochastic gradient descent: P(y = 1 | x) = 1 / (1 + e^−(wᵀx + b)).
//!
//! Two classes; code 1 is the positive one. Any loss for classes may stand in for the logistic one.

use crate::fault::Result;
use crate::linear_model::whole::{self, Build as _};
use crate::linear_model::{hyperplane, Engine, Linear};
use crate::parameter::{Default, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Part};
use crate::row::{Prediction, Row, Scratch, Sparse, Want};
use crate::schema::Schema;

const NAME: &str = "linear_model.LogisticRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Logistic regression of two classes by stochastic gradient descent",
    parameters: &[
        hyperplane::OPTIMIZER,
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            Default::Part("losses.Logistic"),
            "the loss that is followed downhill; one for classes",
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
        Built::Whole(optimizer) => whole::with_engine(arguments, optimizer, true, Build),
        _ => Ok(Build.build(Linear::new(arguments, true)?)),
    },
};

/// Around any engine.
struct Build;

impl whole::Build for Build {
    fn build<E: Engine>(self, engine: E) -> Built {
        Built::Classifier(Box::new(LogisticRegression { engine, started: false }))
    }
}

#[derive(Clone)]
struct LogisticRegression<E: Engine> {
    engine: E,
    /// Whether anything was learned: before that there is no class to predict.
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
    fn predict_score(&self, score: f64, want: Want, out: &mut Prediction) {
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
    fn save(&self) -> Result<Vec<u8>> {
        self.engine.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.engine.load(bytes)?;
        self.started = self.engine.steps() > 0.0;
        Ok(())
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
        self.started = self.engine.steps() > 0.0;
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

impl<E: Engine> Classifier for LogisticRegression<E> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
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
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let score = self.engine.step(x, sign(y), w, scratch)?;
        self.predict_score(score, want, out);
        self.started = true;
        Ok(())
    }

    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.score(x, scratch))
    }

    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        Some(self.engine.loss().value(sign(y), self.engine.score(x, scratch)))
    }

    fn takes_batches(&self) -> bool {
        self.engine.takes_batches()
    }

    fn gather(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.engine.gather(x, sign(y), w, scratch)
    }

    fn descend(&mut self) -> Result<()> {
        self.engine.descend_gathered()?;
        self.started = self.engine.steps() > 0.0;
        Ok(())
    }

    fn max_classes(&self) -> usize {
        2
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
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
        let score = model.score(Row::Plain(&x), &mut scratch).unwrap();
        assert!((score - (0.5 * 2.0 + 0.25 + 0.05)).abs() < 1e-15);
    }
}
