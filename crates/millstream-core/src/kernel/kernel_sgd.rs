//! Kernel classification and regression by stochastic gradient descent; see `expansion` for the recursion
//! and `budget` for the budget.
//!
//! With two classes there is one output, and the loss is that of the margin y f(x). From the third class on there is one
//! output per class, over the same points, and the margin is the score of the true class minus the highest of the
//! others (Crammer and Singer, 2001; for kernels on a budget Wang, Crammer and Vucetic, 2012, section 5): the true
//! class takes one half of the step and its rival the other, with the opposite sign. So the margin moves by what it
//! would move by with two classes, and when a third one comes, f becomes f/2 and −f/2 and nothing is lost.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::learner::{DecisionFunction, Learner};
use crate::linear_model::softmax_regression::softmax;
use crate::losses::Loss;
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes, Numbers};

use super::budget;
use super::expansion::Expansion;
use super::kernels::KERNEL;

const CLASSES: &str = "kernel.KernelSGD";
const NUMBERS: &str = "kernel.KernelSGDRegressor";

const fn parameters(loss: &'static str) -> [Parameter; 8] {
    [
        KERNEL,
        Parameter::new("loss", Kind::Part(&[Role::Loss]), DefaultValue::Part(loss), "the loss that is followed"),
        Parameter::new(
            "learning_rate",
            Kind::Rate(Bounds::POSITIVE),
            DefaultValue::Float(0.1),
            "learning rate: a number, or a schedule",
        ),
        Parameter::new(
            "l2",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.0),
            "L2 penalty: decay of all coefficients",
        ),
        Parameter::new(
            "intercept",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to fit an intercept",
        ),
        Parameter::new(
            "budget",
            Kind::Optional(&Kind::Integer { low: 1, high: 1_000_000 }),
            DefaultValue::Integer(1000),
            "maximum number of stored points; None for no limit",
        ),
        Parameter::new(
            "maintenance",
            Kind::Choice(budget::CHOICES),
            DefaultValue::Text("auto"),
            "strategy when the budget is full",
        ),
        Parameter::new(
            "tolerance",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.01),
            "for 'projectron': distance to the span of the stored points, as a fraction of k(x, x), below which a point is projected",
        ),
    ]
}

static CLASS_PARAMETERS: [Parameter; 8] = parameters("losses.Hinge");
static NUMBER_PARAMETERS: [Parameter; 8] = parameters("losses.Squared");

pub static CLASSIFIER: Declaration = Declaration {
    name: CLASSES,
    role: Role::Classifier,
    words: "Kernel classification by stochastic gradient descent, with or without a budget of points",
    merge: Merge::EXEMPLARS,
    parameters: &CLASS_PARAMETERS,
    build: |arguments| {
        let loss = loss(arguments, true)?;
        Ok(Built::Classifier(Box::new(KernelSgd { loss, expansion: Expansion::new(CLASSES, arguments, true)? })))
    },
};

pub static REGRESSOR: Declaration = Declaration {
    name: NUMBERS,
    role: Role::Regressor,
    words: "Kernel regression by stochastic gradient descent, with or without a budget of points",
    merge: Merge::EXEMPLARS,
    parameters: &NUMBER_PARAMETERS,
    build: |arguments| {
        let loss = loss(arguments, false)?;
        let expansion = Expansion::new(NUMBERS, arguments, false)?;
        Ok(Built::Regressor(Box::new(KernelSgdRegressor(KernelSgd { loss, expansion }))))
    },
};

fn loss(arguments: &Arguments<'_>, for_classes: bool) -> Result<Loss> {
    match arguments.part("loss")? {
        Built::Loss(loss) if loss.for_classes() == for_classes => Ok(loss),
        _ => Err(Fault::value(format!(
            "{}: loss must be a {} loss, got {}; use {}",
            arguments.who,
            if for_classes { "classification" } else { "regression" },
            arguments.value("loss")?["name"].as_str().unwrap_or("another component"),
            if for_classes { NUMBERS } else { CLASSES },
        ))),
    }
}

#[derive(Clone)]
struct KernelSgd {
    loss: Loss,
    expansion: Expansion,
}

#[derive(Clone)]
struct KernelSgdRegressor(KernelSgd);

impl KernelSgd {
    /// The prediction from the scores of all outputs.
    fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        match scores {
            [] => {}
            [score] => {
                out.class = Some(u32::from(*score > 0.0));
                if want == Want::Probabilities {
                    let p = self.loss.probability(*score);
                    out.probabilities.extend_from_slice(&[1.0 - p, p]);
                }
            }
            scores => {
                out.class = most(scores);
                if want == Want::Probabilities {
                    out.probabilities.extend_from_slice(scores);
                    softmax(&mut out.probabilities);
                }
            }
        }
    }

    /// Number of classes that the outputs distinguish.
    fn classes(&self) -> usize {
        match self.expansion.state.coefficients.len() {
            1 => 2,
            outputs => outputs,
        }
    }

    /// Add an output for a new class.
    fn admit(&mut self, y: usize) {
        let state = &mut self.expansion.state;
        if y > 1 && state.coefficients.len() == 1 {
            let half = |sign: f64| state.coefficients[0].iter().map(|c| 0.5 * sign * c).collect();
            state.coefficients = vec![half(-1.0), half(1.0)];
            state.intercepts = vec![-0.5 * state.intercepts[0], 0.5 * state.intercepts[0]];
        }
        state.outputs(if y > 1 { y + 1 } else { 1 });
    }

    /// The slopes of the loss by output, into `work.step`.
    fn descend(&mut self, y: usize, w: f64) {
        let work = &mut self.expansion.work;
        work.step.clear();
        if let [score] = work.scores[..] {
            let sign = if y == 1 { 1.0 } else { -1.0 };
            (work.margin, work.loss) = (sign * score, self.loss.value(sign, score));
            work.step.push(w * self.loss.slope(sign, score));
            return;
        }
        let truth = std::mem::replace(&mut work.scores[y], f64::NEG_INFINITY);
        let rival = most(&work.scores).unwrap_or_default() as usize;
        work.margin = truth - work.scores[rival];
        work.loss = self.loss.value(1.0, work.margin);
        let slope = w * self.loss.slope(1.0, work.margin);
        work.scores[y] = truth;
        work.step.resize(work.scores.len(), 0.0);
        work.step[y] = 0.5 * slope;
        work.step[rival] = -0.5 * slope;
    }

    fn take(&mut self, x: Row<'_>, y: usize, w: f64, answer: Option<(Want, &mut ClassPrediction)>) -> Result<()> {
        // A new class is rare: the previous coefficients are copied, in case the example is rejected.
        let state = &self.expansion.state;
        let before = (y >= self.classes()).then(|| (state.coefficients.clone(), state.intercepts.clone()));
        if before.is_some() {
            self.admit(y);
        }
        let learned = self.expansion.meet(x).and_then(|width| {
            if let Some((want, out)) = answer {
                self.write(&self.expansion.work.scores, want, out);
            }
            self.descend(y, w);
            self.expansion.follow().inspect_err(|_| self.expansion.part(width))
        });
        learned.inspect_err(|_| {
            if let Some(before) = before {
                (self.expansion.state.coefficients, self.expansion.state.intercepts) = before;
            }
        })
    }
}

impl Part for KernelSgd {
    fn save(&self) -> Result<Vec<u8>> {
        self.expansion.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.expansion.state.clone();
        self.expansion.load(bytes)?;
        if self.expansion.state.coefficients.len() == 2 {
            self.expansion.state = before;
            return Err(Fault::state(format!(
                "{CLASSES}: the saved state is not valid: two outputs where one suffices"
            )));
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.expansion.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.expansion.inspect(schema)
    }
}

impl Learner<Classes> for KernelSgd {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let mut scores = scratch.take_numbers();
        self.expansion.predict(x, &mut scores, scratch);
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, None)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if y as usize >= self.classes() || !self.expansion.state.dictionary.knows(x) {
            // Prediction must not use a feature or class before it is learned.
            self.predict(x, want, out, scratch);
            return self.take(x, y as usize, w, None);
        }
        self.take(x, y as usize, w, Some((want, out)))
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl DecisionFunction for KernelSgd {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        let mut scores = scratch.take_numbers();
        self.expansion.predict(x, &mut scores, scratch);
        let score = match scores[..] {
            [] => Some(0.0),
            [score] => Some(score),
            _ => None,
        };
        scratch.give_numbers(scores);
        score
    }
}

impl KernelSgdRegressor {
    fn mean(&self, score: f64) -> f64 {
        finite(self.0.loss.mean(score))
    }

    /// Learn, and return the score before.
    fn take(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<f64> {
        let KernelSgd { loss, expansion } = &mut self.0;
        if loss.for_counts() && y < 0.0 {
            return Err(Fault::value(format!(
                "{NUMBERS}: the target of losses.Poisson must not be negative, got {}",
                Shown(y)
            )));
        }
        let fresh = expansion.state.coefficients.is_empty();
        expansion.state.outputs(1);
        let learned = expansion.meet(x).and_then(|width| {
            let score = expansion.work.scores[0];
            expansion.work.step.clear();
            expansion.work.step.push(w * loss.slope(y, score));
            expansion.follow().inspect_err(|_| expansion.part(width))?;
            Ok(score)
        });
        learned.inspect_err(|_| {
            if fresh {
                expansion.state.outputs(0);
            }
        })
    }
}

impl Part for KernelSgdRegressor {
    fn save(&self) -> Result<Vec<u8>> {
        self.0.expansion.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.0.expansion.state.clone();
        self.0.expansion.load(bytes)?;
        if self.0.expansion.state.coefficients.len() > 1 {
            self.0.expansion.state = before;
            return Err(Fault::state(format!("{NUMBERS}: the saved state is not valid: several outputs")));
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.0.expansion.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.0.expansion.inspect(schema)
    }
}

impl KernelSgdRegressor {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let mut scores = scratch.take_numbers();
        self.0.expansion.predict(x, &mut scores, scratch);
        let predicted = self.mean(scores.first().copied().unwrap_or(0.0));
        scratch.give_numbers(scores);
        predicted
    }
}

impl Learner<Numbers> for KernelSgdRegressor {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w).map(drop)
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
        if !self.0.expansion.state.dictionary.knows(x) {
            // Prediction must not use a feature before it is learned.
            *out = self.predicted(x, scratch);
            return self.take(x, y, w).map(drop);
        }
        let score = self.take(x, y, w)?;
        *out = self.mean(score);
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

    fn classifier(parameters: serde_json::Value) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": CLASSES, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn regressor(parameters: serde_json::Value) -> Box<dyn Learner<Numbers>> {
        let description = registry::resolve(&json!({ "name": NUMBERS, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// γ = 1, η = 1/4, squared loss. x = 0, y = 2: f = 0, slope −4, c₁ = 1. Then x = 1, y = 0: k = e⁻¹, f = e⁻¹,
    /// slope 2/e; with λ = 1 first c₁ ← 3/4, and c₂ = −1/(2e). At 0: 3/4 − e⁻¹ / (2e).
    #[test]
    fn two_steps_of_the_recursion_by_hand() {
        let mut model = regressor(json!({
            "kernel": {"name": "kernel.RBF", "parameters": {"gamma": 1.0}}, "learning_rate": 0.25, "l2": 1.0}));
        let mut scratch = Scratch::default();
        assert_eq!(model.step_number(Row::Plain(&[0.0]), 2.0, 1.0, &mut scratch).unwrap(), 0.0);
        let e = 1f64.exp();
        assert!((model.step_number(Row::Plain(&[1.0]), 0.0, 1.0, &mut scratch).unwrap() - 1.0 / e).abs() < 1e-15);
        let wanted = 0.75 - 0.5 / (e * e);
        assert!((model.number(Row::Plain(&[0.0]), &mut scratch) - wanted).abs() < 1e-15);
    }

    /// A budget of two, linear kernel, squared loss, η = 1/4. x = (1, 0), y = 2: c = 1, size 1 · 1. x = (0, 2), y = 8:
    /// c = 4, size 16 · 4. x = (1, 1), y = 10: f = 1 + 8 = 9, slope −2, c = 1/2, size 1/4 · 2 = 1/2, which is the
    /// least: nothing changes. x = (1, 1), y = 13: slope −8, c = 2, size 8: the first goes, and f(1, 0) = 2.
    #[test]
    fn removal_by_hand() {
        let mut model = regressor(json!({"kernel": "kernel.Linear", "learning_rate": 0.25, "budget": 2}));
        let mut scratch = Scratch::default();
        for (x, y, f) in
            [([1.0, 0.0], 2.0, 1.0), ([0.0, 2.0], 8.0, 1.0), ([1.0, 1.0], 10.0, 1.0), ([1.0, 1.0], 13.0, 2.0)]
        {
            model.learn(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
            assert_eq!(model.number(Row::Plain(&[1.0, 0.0]), &mut scratch), f);
        }
    }

    /// Hinge, η = 1, linear kernel. Class 1 at x = 1: f = x. Class 2 at x = 2: outputs −1/2, 1/2, 0 of x; the scores
    /// are −1, 1, 0, the margin 0 − 1, so c = (0, −1/2, 1/2) at 2: outputs −1/2, 1/2 − 1, 1 of x.
    #[test]
    fn a_third_class_by_hand() {
        let mut model = classifier(json!({"kernel": "kernel.Linear", "learning_rate": 1.0}));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        model.learn(Row::Plain(&[1.0]), 1, 1.0, &mut scratch).unwrap();
        assert_eq!(model.decision_function().unwrap().score(Row::Plain(&[3.0]), &mut scratch), Some(3.0));
        model.learn(Row::Plain(&[2.0]), 2, 1.0, &mut scratch).unwrap();
        model.predict(Row::Plain(&[1.0]), Want::Probabilities, &mut out, &mut scratch);
        let sum = 2.0 * (-0.5f64).exp() + 1f64.exp();
        for (got, score) in out.probabilities.iter().zip([-0.5f64, -0.5, 1.0]) {
            assert!((got - score.exp() / sum).abs() < 1e-15);
        }
    }

    #[test]
    fn points_without_number_are_refused() {
        let mut model = classifier(json!({}));
        model.learn(Row::Plain(&[]), 0, 1.0, &mut Scratch::default()).unwrap();
        let mut bytes = model.save().unwrap();
        assert!(model.load(&bytes).is_ok());
        let count = bytes.windows(5).position(|window| window == b"count").unwrap() + 5;
        // One point as 2⁶⁴ − 1 of them.
        bytes.splice(count..=count, [0xcf, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert!(model.load(&bytes).is_err());
    }

    #[test]
    fn what_overflows_leaves_everything() {
        let mut scratch = Scratch::default();
        for kernel in ["kernel.Linear", "kernel.Polynomial"] {
            let mut model = classifier(json!({ "kernel": kernel }));
            model.learn(Row::Plain(&[1.0]), 0, 1.0, &mut scratch).unwrap();
            let before = model.save().unwrap();
            assert!(model.learn(Row::Plain(&[1e308, 1e308]), 3, 1.0, &mut scratch).is_err());
            assert_eq!(model.save().unwrap(), before);
        }
    }
}
