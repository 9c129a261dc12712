//! The roles a part can play, each a small trait.
//!
//! Three promises hold for all of them, and tests/test_laws.py keeps them:
//! * `predict`, `transform` and `get` take `&self`: they change nothing.
//! * `learn` and `update` are whole or nothing: on a fault the state is bit for bit what it was.
//! * `save` gives the state alone; the parameters are in the description. `load` checks what it is given
//!   and refuses what could not have been saved: the bytes may come from a stranger.

use crate::block::{ClassBlock, ClassRows, Lesson, NumberBlock, NumberRows, Predictions, Rows};
use crate::drift::{Finding, Verdict};
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::row::{Prediction, Row, RowBuffer, Scratch, Sparse, Want};
use crate::schema::Schema;
use crate::synth::Form;

/// What every part can do, whatever its role.
pub trait Part: Send + Sync {
    /// The state, as one self-describing value of named fields (see `state::pack`).
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    /// Bytes held, buffers included.
    fn memory(&self) -> usize;
    /// Whether it finds features by name, and so wants `bind`.
    fn needs_names(&self) -> bool {
        false
    }
    /// Learn the names of features. Called before `learn` when there are new ones, after a rollback, and
    /// after `load`; derives the same from the same schema, in any number of calls.
    fn bind(&mut self, _schema: &Schema) {}
    /// Keep what it takes to come back to this state, at a cost that follows what is learned from now on and not the
    /// size of the state. False if it cannot: then a copy of the whole must be kept.
    fn hold(&mut self) -> bool {
        false
    }
    /// Come back, bit for bit, to the state at the last `hold`, and keep nothing more.
    fn restore(&mut self) {}
    /// Keep nothing more, and stay.
    fn release(&mut self) {}
    /// A sparse row that is learned soon: a model that is larger than the caches asks for what it will take. Its columns
    /// may be any. Changes nothing.
    fn foresee(&mut self, _x: Sparse<'_>) {}
    /// Whether it is sure to learn any row in which numbers, target and weight are up to `block::MODERATE` in size,
    /// however many of them: then an ensemble keeps no copy of it for the case that it refuses one. That may depend on
    /// what was learned before, so it is asked again after rows with larger numbers; the answer may take a look at the
    /// whole state.
    fn never_refuses(&self) -> bool {
        false
    }
    /// Whether a number that is missing does bit for bit what a 0 that a sparse row leaves out does.
    fn missing_is_zero(&self) -> bool {
        false
    }
    /// Whether there are rows that it refuses to predict or transform: then `check` is called before.
    fn checks(&self) -> bool {
        false
    }
    /// Refuse a row that cannot be predicted or transformed.
    fn check(&self, _x: Row<'_>, _scratch: &mut Scratch) -> Result<()> {
        Ok(())
    }
    /// Whether a transformer directly before it should write functions that are orthonormal, if it can
    /// (`Transformer::become_orthonormal`).
    fn wants_orthonormal(&self) -> bool {
        false
    }
    /// Its state for features φ, where it has learned from ψ = C φ; `transition` is C, a lower triangle by rows.
    fn expressed(&self, _transition: &[f64]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Fold in `other`, the same part after another part of the stream, given as its saved state; only where the
    /// result is that of the whole stream (to rounding). Features are found by name: `theirs` names those of `other`,
    /// and `ours`, which knows them all, those of this part, which was bound to it. After a fault the part is of no use:
    /// the caller has a copy.
    fn fold_in(&mut self, _other: &[u8], _theirs: &Schema, _ours: &Schema) -> Result<()> {
        Err(Fault::value("cannot be merged exactly"))
    }
    /// What it has learned, for people: weights, class counts, a tree. Feature names come from `schema`.
    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        serde_json::Value::Null
    }
    /// The description of its members, for parts whose own description has none.
    fn member_description(&self) -> Option<serde_json::Value> {
        None
    }
    /// The step or part at a place, for parts that are made of parts.
    fn member(&self, _place: usize, _input: &Schema) -> Result<Option<Member>> {
        Ok(None)
    }
    /// The detector of change that a parameter describes, as it is now.
    fn watching(&self, _parameter: &str) -> Result<Option<Watching>> {
        Ok(None)
    }
}

/// The votes of a prediction, by class code: probabilities, or all for the class where there are none, or nothing.
#[inline]
pub fn cast(prediction: &Prediction, votes: &mut [f64]) {
    votes.fill(0.0);
    match (prediction.class, prediction.probabilities.is_empty()) {
        (None, _) => {}
        (Some(class), true) => {
            if let Some(vote) = votes.get_mut(class as usize) {
                *vote = 1.0;
            }
        }
        (Some(_), false) => {
            for (vote, probability) in votes.iter_mut().zip(&prediction.probabilities) {
                *vote = *probability;
            }
        }
    }
}

/// What a step of a pipeline needs to go on by itself.
pub struct Member {
    pub state: Vec<u8>,
    /// Names and kinds of what it is given.
    pub input: Schema,
    /// How many examples it has learned; none if that is as many as the whole has.
    pub learned: Option<u64>,
}

/// What a detector of change inside a part needs to go on by itself.
pub struct Watching {
    pub state: Vec<u8>,
    /// How many numbers it was told.
    pub updates: u64,
}

pub trait Classifier: Part {
    /// The class or the probabilities by class code. Before anything was learned: no class, no numbers.
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch);
    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// Predict, then learn; learners override it where the two share work.
    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.predict(x, want, out, scratch);
        self.learn(x, y, w, scratch)
    }
    /// `step` through rows of plain numbers; returns how many were done before one was refused. Here the
    /// calls of a learner are direct: that and the shared set-up are what a block saves.
    fn step_block(
        &mut self,
        block: &ClassBlock<'_>,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = scratch.take_prediction();
        let mut done = 0;
        for (x, y, w) in block.rows() {
            if self.step(Row::Plain(x), y, w, want, &mut prediction, scratch).is_err() {
                break;
            }
            out.push(&mut prediction, block.labels, want);
            done += 1;
        }
        scratch.give_prediction(prediction);
        done
    }
    /// Go through rows as a member of an ensemble: for each, its votes before it is learned, by class code, to the
    /// `stride` places of its own in `votes` (see `cast`); then it is learned with its weight, if that is not 0. Stops
    /// at a row that is refused, and says which and why.
    fn member_block(
        &mut self,
        lesson: &Lesson<'_, u32>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let mut prediction = scratch.take_prediction();
        let mut refused = None;
        for (row, votes) in votes.chunks_exact_mut(lesson.stride).enumerate().take(lesson.len()) {
            let (x, y, w) = (lesson.rows.at(row), lesson.targets[row], lesson.weights[row]);
            let want = Want::Probabilities;
            if w == 0.0 {
                self.predict(x, want, &mut prediction, scratch);
            } else if let Err(fault) = self.step(x, y, w, want, &mut prediction, scratch) {
                refused = Some((row, fault));
                break;
            }
            cast(&prediction, votes);
        }
        scratch.give_prediction(prediction);
        refused
    }
    /// Whether rows of any form should come many at a time, by `step_rows` and `predict_rows`.
    fn takes_rows(&self) -> bool {
        false
    }
    /// `step` through rows of any form; returns how many were done before one was refused.
    fn step_rows(
        &mut self,
        block: &ClassRows<'_>,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = scratch.take_prediction();
        let mut done = 0;
        for (row, &y) in block.classes.iter().enumerate() {
            let w = block.weights.map_or(1.0, |weights| weights[row]);
            if self.step(block.rows.at(row), y, w, want, &mut prediction, scratch).is_err() {
                break;
            }
            out.push(&mut prediction, block.labels, want);
            done += 1;
        }
        scratch.give_prediction(prediction);
        done
    }
    /// `predict` each of some rows.
    fn predict_rows(
        &self,
        rows: &Rows<'_>,
        labels: &Labels,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) {
        let mut prediction = scratch.take_prediction();
        for row in 0..rows.len() {
            self.predict(rows.at(row), want, &mut prediction, scratch);
            out.push(&mut prediction, labels, want);
        }
        scratch.give_prediction(prediction);
    }
    /// The signed distance to the decision boundary, where there is one.
    fn score(&self, _x: Row<'_>, _scratch: &mut Scratch) -> Option<f64> {
        None
    }
    /// The most classes it can tell apart.
    fn max_classes(&self) -> usize {
        usize::MAX
    }
    /// The loss of the prediction at an example, for learners that go down a loss; None for others, and for a class
    /// that was never learned.
    fn loss(&self, _x: Row<'_>, _y: u32, _scratch: &mut Scratch) -> Option<f64> {
        None
    }
    /// Whether it follows a gradient, so that mini-batches have a meaning.
    fn takes_batches(&self) -> bool {
        false
    }
    /// Add the gradient at an example, at the weights as they are, to those of a mini-batch.
    fn gather(&mut self, _x: Row<'_>, _y: u32, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Err(Fault::wrong_type("learns from one example at a time"))
    }
    /// One step down the mean of the gradients that were gathered.
    fn descend(&mut self) -> Result<()> {
        Ok(())
    }
    fn duplicate(&self) -> Box<dyn Classifier>;
}

pub trait Regressor: Part {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64;
    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()>;
    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let predicted = self.predict(x, scratch);
        self.learn(x, y, w, scratch)?;
        Ok(predicted)
    }
    /// As for a classifier.
    fn step_block(&mut self, block: &NumberBlock<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let mut done = 0;
        for (x, y, w) in block.rows() {
            match self.step(Row::Plain(x), y, w, scratch) {
                Ok(predicted) => out.push(predicted),
                Err(_) => break,
            }
            done += 1;
        }
        done
    }
    /// As for a classifier, with one number for each row.
    fn member_block(
        &mut self,
        lesson: &Lesson<'_, f64>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        for (row, vote) in votes.iter_mut().enumerate().take(lesson.len()) {
            let (x, y, w) = (lesson.rows.at(row), lesson.targets[row], lesson.weights[row]);
            let predicted = match w == 0.0 {
                true => Ok(self.predict(x, scratch)),
                false => self.step(x, y, w, scratch),
            };
            match predicted {
                Ok(predicted) => *vote = predicted,
                Err(fault) => return Some((row, fault)),
            }
        }
        None
    }
    /// As for a classifier.
    fn takes_rows(&self) -> bool {
        false
    }
    fn step_rows(&mut self, block: &NumberRows<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let mut done = 0;
        for (row, &y) in block.targets.iter().enumerate() {
            let w = block.weights.map_or(1.0, |weights| weights[row]);
            let Ok(predicted) = self.step(block.rows.at(row), y, w, scratch) else { break };
            out.push(predicted);
            done += 1;
        }
        done
    }
    fn predict_rows(&self, rows: &Rows<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        out.extend((0..rows.len()).map(|row| self.predict(rows.at(row), scratch)));
    }
    /// As for a classifier; likewise what is about mini-batches.
    fn loss(&self, _x: Row<'_>, _y: f64, _scratch: &mut Scratch) -> Option<f64> {
        None
    }
    fn takes_batches(&self) -> bool {
        false
    }
    fn gather(&mut self, _x: Row<'_>, _y: f64, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Err(Fault::wrong_type("learns from one example at a time"))
    }
    fn descend(&mut self) -> Result<()> {
        Ok(())
    }
    /// Two numbers between which the target lies with probability `coverage`, where the learner can say; finite.
    fn interval(&self, _x: Row<'_>, _coverage: f64, _scratch: &mut Scratch) -> Option<(f64, f64)> {
        None
    }
    /// `learn` through rows of plain numbers; returns how many were done. Overridden where predicting costs more than
    /// learning, for those who do not ask for predictions.
    fn learn_block(&mut self, block: &NumberBlock<'_>, scratch: &mut Scratch) -> usize {
        let mut predicted = scratch.take_numbers();
        let done = self.step_block(block, &mut predicted, scratch);
        scratch.give_numbers(predicted);
        done
    }
    fn duplicate(&self) -> Box<dyn Regressor>;
}

pub trait Transformer: Part {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch);
    fn learn(&mut self, _x: Row<'_>, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Ok(())
    }
    /// Learn, then transform: what a pipeline does with each row. Overridden where the two share work.
    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.learn(x, w, scratch)?;
        self.transform(x, out, scratch);
        Ok(())
    }
    /// The row as it is transformed before it is learned, and after: what predicting and learning behind this
    /// step need. On a fault nothing is learned, and the buffers mean nothing.
    fn step(
        &mut self,
        x: Row<'_>,
        w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, before, scratch);
        self.learn_and_transform(x, w, after, scratch)
    }
    /// Take back the last `learn`, bit for bit. A pipeline calls it when a later step refuses the example;
    /// it is called at most once per `learn`.
    fn undo(&mut self) {}
    /// Whether learning changes nothing more in what it writes: then a row need not be transformed twice.
    fn is_fixed(&self) -> bool {
        false
    }
    /// From now on write functions ψ that are orthonormal, instead of φ with the same span; false if it knows none.
    /// Called when a pipeline is built. Names are still those of φ.
    fn become_orthonormal(&mut self) -> bool {
        false
    }
    /// C in ψ = C φ, a lower triangle by rows; none if it writes φ.
    fn transition(&self) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// ∫ φφᵀ over the region of a basis of so many inputs, by rows, if it is one.
    fn gram(&self, _inputs: Option<usize>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// Whether a row comes out the same whatever was learned before it, but for the places of features.
    fn steady(&self) -> bool {
        false
    }
    /// Names, kinds and nominal values of what `transform` writes, by slot.
    fn output(&self, input: &Schema) -> Schema;
    fn duplicate(&self) -> Box<dyn Transformer>;
}

/// What a metric is told of one prediction: small, fixed in size, so that a window of them is a ring.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    Class(ClassOutcome),
    Number { truth: f64, predicted: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClassOutcome {
    pub truth: u32,
    pub predicted: Option<u32>,
    /// The label before this one, for metrics that compare with persistence.
    pub previous: Option<u32>,
    /// The probability that was given to the truth; NaN if the model gave none.
    pub truth_probability: f64,
    /// The sum over classes of (probability - truth)², which is the Brier score of this prediction.
    pub squared_error: f64,
    /// The probability that was given to the positive class (`Metric::positive`).
    pub positive_probability: f64,
}

impl ClassOutcome {
    /// What a prediction by class code came to. A prediction without probabilities has NaN for all of them.
    #[inline]
    pub fn new(truth: u32, prediction: &Prediction, previous: Option<u32>, positive: u32) -> Self {
        Self::of(truth, prediction.class, &prediction.probabilities, previous, positive)
    }

    #[inline]
    pub fn of(
        truth: u32,
        predicted: Option<u32>,
        probabilities: &[f64],
        previous: Option<u32>,
        positive: u32,
    ) -> Self {
        let mut outcome = ClassOutcome {
            truth,
            predicted,
            previous,
            truth_probability: f64::NAN,
            squared_error: f64::NAN,
            positive_probability: f64::NAN,
        };
        if probabilities.is_empty() || predicted.is_none() {
            return outcome;
        }
        let of = |code: u32| probabilities.get(code as usize).copied().unwrap_or(0.0);
        let squares: f64 = probabilities.iter().map(|p| p * p).sum();
        outcome.truth_probability = of(truth);
        outcome.positive_probability = of(positive);
        outcome.squared_error = (squares - 2.0 * of(truth) + 1.0).max(0.0);
        outcome
    }
}

/// The square of such a number, and a sum of many, is far from the largest.
pub const SURE_NUMBER: f64 = 1e100;

/// A metric is a function of weighted sums: a window takes an outcome back by a negative weight, and fading
/// gives newer outcomes larger weights. So each is written once and is plain, rolling or fading.
pub trait Metric: Part {
    /// Weight 0 changes nothing; a negative weight takes back an outcome that was told before.
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()>;
    /// Whether it is sure to take a block of outcomes of weight 1, with class codes below `classes` or numbers up to
    /// `SURE_NUMBER`: then they may come by `update_sure`.
    fn is_sure(&self, _classes: usize) -> bool {
        false
    }
    /// `update` with each, in order, where it is sure. Written here so that it is compiled for each metric, without
    /// a call through a table of functions for each outcome.
    fn update_sure(&mut self, outcomes: &[(Outcome, f64)]) -> Result<()> {
        outcomes.iter().try_for_each(|(outcome, w)| self.update(outcome, *w))
    }
    /// Finite, also before anything was told.
    fn get(&self) -> f64;
    fn bigger_is_better(&self) -> bool;
    /// Whether class probabilities are needed, or the class is enough.
    fn want(&self) -> Want {
        Want::Class
    }
    /// Regression metrics take numbers, the others class codes.
    fn takes_numbers(&self) -> bool {
        false
    }
    /// Hear of the labels behind the codes. Called when there are new ones, and after `load`.
    fn know(&mut self, _labels: &Labels) {}
    /// The code whose probability goes into `positive_probability`.
    fn positive(&self) -> u32 {
        1
    }
    /// Whether negative weights are understood; wrappers that keep an order of their own do not.
    fn takes_back(&self) -> bool {
        true
    }
    /// Multiply all weights so far, which leaves the value as it is.
    fn scale(&mut self, factor: f64);
    /// How far `get` may be from the exact value, where memory is bounded by giving up exactness.
    fn error(&self) -> Option<f64> {
        None
    }
    /// Fold in `other`, the same metric of another part of the stream, given as its saved state.
    fn merge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("cannot be merged exactly"))
    }
    /// Start again.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn Metric>;
}

/// A running summary of one or two numbers a time.
pub trait Statistic: Part {
    /// `y` is given to statistics of two variables (`takes_pairs`).
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()>;
    /// NaN while it is undefined.
    fn get(&self) -> f64;
    fn takes_pairs(&self) -> bool {
        false
    }
    /// Whether `update` with a negative weight takes a number back.
    fn takes_back(&self) -> bool {
        false
    }
    /// Start again.
    fn reset(&mut self);
    /// Fold in `other`, the same statistic of another part of the stream, given as its saved state.
    /// Only where the result is exactly that of the whole stream (to rounding).
    fn merge(&mut self, _other: &[u8]) -> Result<()> {
        Err(Fault::value("cannot be merged exactly"))
    }
    fn duplicate(&self) -> Box<dyn Statistic>;
}

/// Watches a stream of numbers (often a model's errors) for a change.
pub trait DriftDetector: Part {
    fn update(&mut self, x: f64) -> Result<()>;
    /// `update` with each; the places of changes are added to `found`. After a fault, which comes with the place of the
    /// number that was refused, the detector is of no use: the caller has a copy.
    fn update_many(
        &mut self,
        numbers: &[f64],
        found: &mut Vec<usize>,
    ) -> std::result::Result<usize, (usize, Fault)> {
        for (place, &x) in numbers.iter().enumerate() {
            self.update(x).map_err(|fault| (place, fault))?;
            if self.verdict().drift {
                found.push(place);
            }
        }
        Ok(numbers.len())
    }
    /// What the last update brought to light.
    fn verdict(&self) -> Verdict;
    /// Start again.
    fn reset(&mut self);
    /// The current estimate of the mean.
    fn estimation(&self) -> f64;
    /// Give no warnings any more, if that saves work: for those who have another detector for them, or none. Before the
    /// first number.
    fn forgo_warnings(&mut self) {}
    fn duplicate(&self) -> Box<dyn DriftDetector>;
}

/// Watches rows, without labels, for a change of their distribution.
pub trait FeatureDriftDetector: Part {
    fn update(&mut self, x: Row<'_>) -> Result<()>;
    /// Add a row to the reference that rows are compared with, instead of the first ones of the stream.
    fn learn(&mut self, x: Row<'_>) -> Result<()>;
    /// What the last row brought to light; a warning holds until the next comparison.
    fn verdict(&self) -> Verdict;
    /// How far the newest rows are from the reference, in the detector's own measure.
    fn estimation(&self) -> f64;
    /// What the last comparison found of each feature, by slot; none before the first.
    fn findings(&self) -> &[Finding];
    /// The same of the last comparison that found a change.
    fn drifted(&self) -> &[Finding];
    /// Start again.
    fn reset(&mut self);
    fn duplicate(&self) -> Box<dyn FeatureDriftDetector>;
}

/// An endless stream of examples. It has no saved state: it is its description and how far it has been drawn.
pub trait Generator: Send {
    /// The features, their kinds and the classes of all examples.
    fn form(&self) -> &Form;
    /// Write the features of the next example, nominal ones as codes, NaN for a missing one; gives its target, a
    /// class by its code. `x` is as wide as the form.
    fn draw(&mut self, x: &mut [f64]) -> f64;
    /// Draw as many examples as there are targets to write, row after row. Here the calls are direct.
    fn fill(&mut self, x: &mut [f64], y: &mut [f64]) {
        let width = self.form().width();
        for (x, y) in x.chunks_exact_mut(width).zip(y) {
            *y = self.draw(x);
        }
    }
    /// The target that the rule gives to features, without noise and as the stream begins, where the target is a
    /// function of features; `x` is as wide as the form.
    fn rule(&self, _x: &[f64]) -> Option<f64> {
        None
    }
}
