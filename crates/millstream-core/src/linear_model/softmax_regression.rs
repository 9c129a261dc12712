//! Softmax (multinomial logistic) regression by stochastic gradient descent:
//! P(y = k | x) = e^(z_k) / Σ_j e^(z_j) with z_k = w_kᵀx + b_k, and ∂ℓ/∂z_k = P(y = k | x) − [y = k].
//!
//! There is a hyperplane for each class, made when the class is first met and counting its own steps. Until
//! then the class has probability 0, so its first example has the full slope −1, as in River. An example
//! moves all hyperplanes or none.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Learner, MiniBatch};
use crate::linear_model::gradient_accumulator::GradientAccumulator;
use crate::linear_model::hyperplane::{self, Hyperplane, HyperplaneSettings};
use crate::linear_model::{adaptive_softmax, Coordinates};
use crate::merging::{Merge, Merger, Side, BY_OPTIMIZER};
use crate::optim::Features;
use crate::part::{Abilities, Part};
use crate::row::{most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

const NAME: &str = "linear_model.SoftmaxRegression";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Logistic regression for any number of classes by stochastic gradient descent",
    merge: Merge::approximate(BY_OPTIMIZER),
    parameters: &[
        hyperplane::OPTIMIZER,
        hyperplane::L2,
        hyperplane::L1,
        hyperplane::INTERCEPT,
        hyperplane::INTERCEPT_LEARNING_RATE,
        hyperplane::CLIP_GRADIENT,
        hyperplane::AVERAGING,
    ],
    build: |arguments| match arguments.part("optimizer")? {
        Built::FullVectorOptimizer(optimizer) => adaptive_softmax::build(arguments, optimizer),
        _ => Ok(Built::Classifier(Box::new(SoftmaxRegression {
            settings: HyperplaneSettings::new(arguments)?,
            state: State::default(),
            spare: Vec::new(),
            held: None,
            gathered: Vec::new(),
            examples: 0.0,
        }))),
    },
};

#[derive(Clone)]
struct SoftmaxRegression {
    settings: HyperplaneSettings,
    state: State,
    spare: Vec<Hyperplane>,
    /// The coordinates and the number of classes as they were at `savepoint`.
    held: Option<(Coordinates, usize)>,
    /// The gradients of a mini-batch by class code, and the number of its examples.
    gathered: Vec<GradientAccumulator>,
    examples: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// By class code; one with no steps is of a class that was not met.
    classes: Vec<Hyperplane>,
}

fn met(class: &Hyperplane) -> bool {
    class.t > 0.0
}

/// Scores become probabilities; −∞ stands for a class that was not met.
pub(crate) fn softmax(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        sum += *score;
    }
    for score in scores {
        *score /= sum;
    }
}

impl SoftmaxRegression {
    fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        if !self.state.classes.iter().any(met) {
            return;
        }
        out.class = most(scores);
        if want == Want::Probabilities {
            out.probabilities.extend_from_slice(scores);
            softmax(&mut out.probabilities);
        }
    }

    fn predict_features(
        &self,
        features: Features<'_>,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) {
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.classes.iter().map(|class| match met(class) {
            true => class.score(features),
            false => f64::NEG_INFINITY,
        }));
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
    }

    /// Propose a step of every hyperplane; false if any would overflow. What the scores predict is written
    /// to `answer`.
    fn propose(
        &mut self,
        features: Features<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> bool {
        let mut slopes = scratch.take_numbers();
        self.slopes(features, y, answer, &mut slopes);
        self.spare.resize(self.state.classes.len(), Hyperplane::default());
        let mut sound = true;
        for (code, (class, next)) in self.state.classes.iter().zip(&mut self.spare).enumerate() {
            if met(class) || code == y {
                let slope = self.settings.clipped(slopes[code] * w);
                sound &= class.propose(&self.settings, features, slope, next);
            }
        }
        scratch.give_numbers(slopes);
        sound
    }

    /// ∂ℓ/∂z of each class. What the scores predict is written to `answer`.
    #[inline]
    fn slopes(
        &self,
        features: Features<'_>,
        y: usize,
        answer: Option<(Want, &mut ClassPrediction)>,
        slopes: &mut Vec<f64>,
    ) {
        // A score that overflows is the largest number there is; NaN is left for the check to find.
        slopes.extend(self.state.classes.iter().map(|class| match met(class) {
            true => class.gradient_score(&self.settings, features).clamp(f64::MIN, f64::MAX),
            false => f64::NEG_INFINITY,
        }));
        if let Some((want, out)) = answer {
            self.write(slopes, want, out);
        }
        if self.state.classes.iter().any(met) {
            softmax(slopes);
        } else {
            slopes.fill(0.0);
        }
        slopes[y] -= 1.0;
    }

    fn descend(
        &mut self,
        features: Features<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if !self.propose(features, y, w, answer, scratch) {
            return Err(Fault::overflow(NAME));
        }
        for (code, (class, next)) in self.state.classes.iter_mut().zip(&mut self.spare).enumerate() {
            if met(class) || code == y {
                class.commit(features, next);
            }
        }
        Ok(())
    }

    /// Give coordinates to all that is new in `x`, and a hyperplane to `y`.
    fn grow(&mut self, x: Row<'_>, y: usize) {
        let State { coordinates, classes } = &mut self.state;
        if !coordinates.may_grow(x) && classes.get(y).is_some_and(met) {
            return;
        }
        coordinates.grow(x);
        if classes.len() <= y {
            classes.resize(y + 1, Hyperplane::default());
        }
        for (code, class) in classes.iter_mut().enumerate() {
            if met(class) || code == y {
                class.weights.grow(coordinates.width(), self.settings.optimizer.rule, self.settings.averaging);
            }
        }
    }

    /// Learn, and write to `answer` what was predicted before.
    fn take(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (width, known) = (self.state.coordinates.width(), self.state.classes.len());
        self.grow(x, y);
        let located = self.state.coordinates.locate(x, scratch);
        let learned = self.descend(located.features(), y, w, answer, scratch);
        located.release(scratch);
        learned.inspect_err(|_| self.shrink(width, known))
    }

    fn shrink(&mut self, width: usize, known: usize) {
        self.state.coordinates.shrink(width);
        self.state.classes.truncate(known);
        for class in &mut self.state.classes {
            class.weights.shrink(if met(class) { width } else { 0 });
        }
    }
}

impl Part for SoftmaxRegression {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        let State { coordinates, classes } = &mut self.state;
        exchange.layout(classes.len());
        coordinates.are_slots(exchange) && classes.iter_mut().all(|class| class.exchange(exchange))
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.coordinates.validate(NAME)?;
        for class in &state.classes {
            class.validate(&self.settings, if met(class) { state.coordinates.width() } else { 0 })?;
        }
        let some = state.coordinates.width() == 0 || state.classes.iter().any(met);
        require(NAME, some, "coordinates without a class")?;
        self.state = state;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let read = |side: Side<'_>| -> Result<State> {
            let mut there = self.clone();
            there.load(side.state)?;
            Ok(there.state)
        };
        let theirs = read(merger.other)?;
        let base = merger.base.map(read).transpose()?;
        let State { coordinates, classes } = &mut self.state;
        let known = coordinates.width();
        let indices = coordinates.join(&theirs.coordinates, merger.other.schema, merger.ours)?;
        let base_indices = match (&base, merger.base) {
            (Some(base), Some(side)) => coordinates.join(&base.coordinates, side.schema, merger.ours)?,
            _ => Vec::new(),
        };
        let (rule, averaging) = (self.settings.optimizer.rule, self.settings.averaging);
        for (class, &code) in theirs.classes.iter().zip(merger.other.codes).filter(|(_, &code)| code != u32::MAX) {
            let code = code as usize;
            if classes.len() <= code {
                classes.resize_with(code + 1, Hyperplane::default);
            }
            let ours = &mut classes[code];
            if !met(class) {
                continue;
            }
            let known = if met(ours) { known.min(ours.weights.len()) } else { 0 };
            let fraction = if met(ours) { merger.our_fraction() } else { 0.0 };
            ours.weights.lie_apart();
            ours.weights.grow(coordinates.width(), rule, averaging);
            let base_codes = merger.base.map_or(&[][..], |base| base.codes);
            let at = base_codes.iter().position(|&base| base as usize == code);
            let base = base.as_ref().zip(at).and_then(|(base, at)| base.classes.get(at));
            let base = base.map(|base| (base, &base_indices[..]));
            ours.merge(&self.settings, (class, &indices), base, known, fraction)?;
        }
        for class in classes.iter_mut() {
            class.weights.lie_apart();
            class.weights.grow(coordinates.width(), rule, averaging);
        }
        self.held = None;
        Ok(())
    }

    fn memory(&self) -> usize {
        let hyperplanes = self.state.classes.iter().chain(&self.spare);
        std::mem::size_of::<Self>()
            + hyperplanes.map(|class| std::mem::size_of::<Hyperplane>() + class.weights.memory()).sum::<usize>()
            + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        self.held = Some((self.state.coordinates.clone(), self.state.classes.len()));
        self.state.classes.iter_mut().for_each(Hyperplane::savepoint);
        true
    }

    fn rollback(&mut self) {
        (self.gathered, self.examples) = (Vec::new(), 0.0);
        if let Some((coordinates, known)) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.classes.truncate(known);
            self.state.classes.iter_mut().for_each(Hyperplane::rollback);
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.classes.iter_mut().for_each(|class| class.weights.discard_savepoint());
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, mini_batches: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let State { coordinates, classes } = &self.state;
        json!({ "classes": classes.iter().map(|class| class.inspect(coordinates, schema)).collect::<Vec<_>>() })
    }
}

impl Learner<Classes> for SoftmaxRegression {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let located = self.state.coordinates.locate(x, scratch);
        self.predict_features(located.features(), want, out, scratch);
        located.release(scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, None, scratch)
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
        // Predict apart where the gradient is taken elsewhere, before there is one class more, and before
        // there are more coordinates, over which a dense sum is added up in another order.
        let wider = matches!(x, Row::Plain(values) if values.len() > self.state.coordinates.width());
        if wider || !self.settings.shares_score() || !self.state.classes.get(y as usize).is_some_and(met) {
            self.predict(x, want, out, scratch);
            return self.learn(x, y, w, scratch);
        }
        self.take(x, y as usize, w, Some((want, out)), scratch)
    }

    /// −ln P(y | x), by scores: a probability may be too small for a number.
    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        let located = self.state.coordinates.locate(x, scratch);
        let truth = self.state.classes.get(y as usize).filter(|class| met(class))?.score(located.features());
        let others =
            || self.state.classes.iter().filter(|class| met(class)).map(|class| class.score(located.features()));
        let most = others().fold(truth, f64::max);
        let sum: f64 = others().map(|score| (score - most).exp()).sum();
        located.release(scratch);
        Some(most - truth + sum.ln())
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Classes>> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl MiniBatch<Classes> for SoftmaxRegression {
    fn accumulate(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let y = y as usize;
        self.grow(x, y);
        let located = self.state.coordinates.locate(x, scratch);
        let mut slopes = scratch.take_numbers();
        self.slopes(located.features(), y, None, &mut slopes);
        let (width, count) = (self.state.coordinates.width(), slopes.len());
        self.gathered.resize(count, GradientAccumulator::default());
        let mut sound = true;
        for (code, gathered) in self.gathered.iter_mut().enumerate() {
            if met(&self.state.classes[code]) || code == y {
                sound &= gathered.add(located.features(), self.settings.clipped(slopes[code] * w), width);
            }
        }
        self.examples += 1.0;
        located.release(scratch);
        scratch.give_numbers(slopes);
        // The caller rolls a faulty batch back.
        sound.then_some(()).ok_or_else(|| Fault::overflow(NAME))
    }

    /// A class that was met for the first time in the batch has gradients of its own examples only.
    fn apply(&mut self) -> Result<()> {
        let mut gathered = std::mem::take(&mut self.gathered);
        let examples = std::mem::take(&mut self.examples);
        let (rule, averaging) = (self.settings.optimizer.rule, self.settings.averaging);
        let width = self.state.coordinates.width();
        let mut sound = true;
        self.spare.resize(self.state.classes.len(), Hyperplane::default());
        let classes = self.state.classes.iter_mut().zip(&mut self.spare);
        for ((class, next), gathered) in classes.zip(&mut gathered).filter(|(_, gathered)| gathered.examples > 0.0)
        {
            class.weights.grow(width, rule, averaging);
            gathered.examples = examples;
            let (features, slope) = gathered.mean();
            sound &= class.propose_apart(&self.settings, features, [1.0, slope], false, next);
        }
        if sound {
            let classes = self.state.classes.iter_mut().zip(&mut self.spare);
            for ((class, next), gathered) in
                classes.zip(&mut gathered).filter(|(_, gathered)| gathered.examples > 0.0)
            {
                class.commit(gathered.mean().0, next);
            }
        }
        gathered.iter_mut().for_each(GradientAccumulator::clear);
        self.gathered = gathered;
        sound.then_some(()).ok_or_else(|| Fault::overflow(NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn two_steps_by_hand() {
        let description = registry::resolve(&json!({"name": NAME, "parameters": {
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.5}}, "intercept": false}}))
        .unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        let x = Row::Plain(&[2.0]);
        model.predict(x, Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, out.probabilities.len()), (None, 0));
        // Class 0 was never met: slope −1, w₀ = 0.5 · 1 · 2 = 1.
        model.learn(x, 0, 1.0, &mut scratch).unwrap();
        // Class 0 has probability 1, class 2 none: w₀ = 1 − 0.5 · 1 · 2 = 0, w₂ = 0.5 · 1 · 2 = 1.
        model.learn(x, 2, 1.0, &mut scratch).unwrap();
        // z = (0, none, 2): P = (1, 0, e²) / (1 + e²).
        model.predict(x, Want::Probabilities, &mut out, &mut scratch);
        let e2 = 2f64.exp();
        for (got, wanted) in out.probabilities.iter().zip([1.0 / (1.0 + e2), 0.0, e2 / (1.0 + e2)]) {
            assert!((got - wanted).abs() < 1e-15);
        }
        assert_eq!(out.class, Some(2));
    }

    #[test]
    fn an_overflow_of_one_class_leaves_all() {
        let description = registry::resolve(&json!({ "name": NAME })).unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1e308, 1e308]), 4, 1e9, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(model.learn(Row::Plain(&[1e308]), 0, 1e9, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
    }
}
