//! Classifiers that learn from the margin of an example: one engine, with an update rule for each learner.
//!
//! With two classes there is one weight vector, and the margin is y wᵀx with y = ±1. From the third class on there is
//! one vector per class, and the margin is the score of the true class minus the highest other score. The true class
//! then takes the step and its rival the opposite one (Crammer and Singer, 2003). Both are the same step of one long
//! weight vector along one long example, so the update rules are the same. At the third class the vector is split in
//! halves.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows};
use crate::merging::{Merger, Side};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{step_each, DecisionFunction, Learner, MiniBatch};
use crate::numeric::dot;
use crate::optim::Features;
use crate::parameter::{Arguments, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes, Task};

use super::gradient_accumulator::GradientAccumulator;
use super::softmax_regression::softmax;
use super::weight_vector::{check_width, Move, Proposal, Spread, WeightVector};
use super::Coordinates;

/// What an update rule receives of an example.
#[derive(Clone, Copy, Debug)]
pub struct MarginExample {
    pub margin: f64,
    /// xᵀΣ x; the squared length of x where there is no covariance.
    pub variance: f64,
    /// The sample weight.
    pub w: f64,
    /// Number of the example, from 1.
    pub t: f64,
    /// Number of updates so far.
    pub moves: f64,
    /// The squared length of the weights; 0 unless the rule uses it.
    pub length: f64,
    /// Number of coordinates of all vectors, intercepts included.
    pub coordinates: f64,
}

pub trait UpdateRule: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether the rule uses `MarginExample::variance`.
    const VARIANCE: bool = true;
    /// Whether the rule uses `MarginExample::length`, which needs the variance too.
    const LENGTH: bool = false;
    /// Margin above which the loss is 0; the loss is the missing margin.
    const WANTED: f64 = 1.0;
    /// Whether the rule follows a subgradient that is a weighted example, so that mini-batches have a meaning.
    const MINI_BATCHES: bool = false;
    /// Whether an example with this margin causes no update; then nothing else is computed.
    fn idle(&self, _margin: f64) -> bool {
        false
    }
    /// The step, or None for no update.
    fn decide(&self, seen: &MarginExample) -> Option<Move>;
    /// In a mini-batch: weight of an example in the subgradient.
    fn pull(&self, _margin: f64, _w: f64) -> f64 {
        0.0
    }
    /// In a mini-batch: the step along the mean of the weighted examples.
    fn decide_mean(&self, _seen: &MarginExample) -> Move {
        Move::along(0.0)
    }
}

pub const FULL: Parameter = Parameter::new(
    "full",
    Kind::Boolean,
    crate::parameter::Default::Boolean(false),
    "whether to keep the full covariance matrix (up to thousands of features) instead of its diagonal",
);

/// The form of the covariance, from the parameter `full`.
pub fn spread(arguments: &Arguments<'_>, variance: f64) -> Result<Spread> {
    Ok(if arguments.boolean("full")? { Spread::Full(variance) } else { Spread::Diagonal(variance) })
}

pub fn build<R: UpdateRule>(rule: R, spread: Spread, intercept: bool) -> Built {
    Built::Classifier(Box::new(MarginClassifier {
        rule,
        spread,
        intercept,
        state: State::default(),
        next: Proposal::default(),
        other: Proposal::default(),
        held: Savepoint::default(),
        gathered: Vec::new(),
        examples: 0.0,
    }))
}

#[derive(Clone)]
struct MarginClassifier<R: UpdateRule> {
    rule: R,
    spread: Spread,
    intercept: bool,
    state: State,
    next: Proposal,
    other: Proposal,
    held: Savepoint,
    /// The weighted examples of a mini-batch by vector, and their number.
    gathered: Vec<GradientAccumulator>,
    examples: f64,
}

/// Undo information: restores the state at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Savepoint {
    #[default]
    Nothing,
    /// The vectors record overwritten values.
    Rest { coordinates: Coordinates, counts: [f64; 3] },
    /// A copy of the state: vectors were added or replaced.
    Copy(Box<State>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// One for two classes, of which code 1 is positive; from the third class on one per class.
    #[serde(rename = "planes")]
    vectors: Vec<WeightVector>,
    /// Number of learned examples.
    t: f64,
    moves: f64,
    length: f64,
}

impl State {
    /// Restore the savepoint, while the vectors of the savepoint still exist.
    fn rollback(&mut self, held: &Savepoint) {
        if let Savepoint::Rest { coordinates, counts } = held {
            self.coordinates = coordinates.clone();
            [self.t, self.moves, self.length] = *counts;
            self.vectors.iter_mut().for_each(WeightVector::rollback);
        }
    }
}

impl<R: UpdateRule> MarginClassifier<R> {
    /// The prediction from the scores of all vectors.
    #[inline]
    fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        match scores {
            [] => {}
            [score] => {
                out.class = Some(u32::from(*score > 0.0));
                if want == Want::Probabilities {
                    let p = 1.0 / (1.0 + (-score).exp());
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

    fn predict_features(
        &self,
        features: Features<'_>,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) {
        if let [vector] = &self.state.vectors[..] {
            return self.write(&[finite(vector.score(features))], want, out);
        }
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.vectors.iter().map(|vector| finite(vector.score(features))));
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
    }

    /// Number of classes that the vectors distinguish.
    fn classes(&self) -> usize {
        match self.state.vectors.len() {
            1 => 2,
            vectors => vectors,
        }
    }

    /// Add a vector for a new class.
    fn admit(&mut self, y: usize) {
        if let Savepoint::Rest { .. } = self.held {
            let mut whole = Box::new(self.state.clone());
            whole.rollback(&self.held);
            self.state.vectors.iter_mut().for_each(WeightVector::discard_savepoint);
            self.held = Savepoint::Copy(whole);
        }
        let State { coordinates, vectors, length, .. } = &mut self.state;
        if y > 1 && vectors.len() == 1 {
            *vectors = [-1.0, 1.0].map(|sign| vectors[0].half(sign)).to_vec();
            *length *= 0.5;
        }
        vectors.resize(if y > 1 { y + 1 } else { 1 }, WeightVector::new());
        let fraction = if vectors.len() == 1 { 1.0 } else { 0.5 };
        for vector in vectors {
            vector.grow(coordinates.width(), self.spread, self.intercept, fraction);
        }
    }

    /// Add coordinates for new features of `x`.
    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, vectors, .. } = &mut self.state;
        let before = coordinates.grow(x);
        if coordinates.width() == before {
            return Ok(());
        }
        if let Err(fault) = check_width(R::NAME, coordinates.width(), self.spread) {
            coordinates.shrink(before);
            return Err(fault);
        }
        let fraction = if vectors.len() == 1 { 1.0 } else { 0.5 };
        for vector in vectors {
            vector.grow(coordinates.width(), self.spread, self.intercept, fraction);
        }
        Ok(())
    }

    fn shrink(&mut self, width: usize) {
        self.state.coordinates.shrink(width);
        for vector in &mut self.state.vectors {
            vector.shrink(width, self.intercept);
        }
    }

    /// Predict if requested, then take the step of the update rule.
    #[inline]
    fn step_features(
        &mut self,
        features: Features<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (spread, intercept) = (self.spread, self.intercept);
        if self.state.vectors.len() != 1 {
            return self.step_rivals(features, y, w, answer, scratch);
        }
        let vector = &mut self.state.vectors[0];
        vector.fetch(features, &mut self.next);
        let score = vector.fetched_score(features, &self.next);
        if let Some((want, out)) = answer {
            self.write(&[finite(score)], want, out);
        }
        let sign = if y == 1 { 1.0 } else { -1.0 };
        let mut seen = self.seen(sign * score, w);
        if self.rule.idle(seen.margin) {
            return self.count(&seen, None);
        }
        if R::VARIANCE {
            seen.variance = self.state.vectors[0].variance(features, spread, intercept, &mut self.next);
        }
        let Some(step) = self.decide(&seen)? else { return self.count(&seen, None) };
        let signed = Move { along: sign * step.along, ..step };
        if !self.state.vectors[0].propose(features, signed, spread, intercept, &mut self.next) {
            return Err(Fault::overflow(R::NAME));
        }
        self.count(&seen, Some(step))?;
        self.state.vectors[0].commit(features, spread, &mut self.next);
        Ok(())
    }

    /// The step of the true class and of its strongest rival.
    fn step_rivals(
        &mut self,
        features: Features<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (spread, intercept) = (self.spread, self.intercept);
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.vectors.iter().map(|vector| finite(vector.score(features))));
        if let Some((want, out)) = answer {
            self.write(&scores, want, out);
        }
        let truth = std::mem::replace(&mut scores[y], f64::NEG_INFINITY);
        let rival = most(&scores).unwrap_or(0) as usize;
        let mut seen = self.seen(truth - scores[rival], w);
        scratch.give_numbers(scores);
        if self.rule.idle(seen.margin) {
            return self.count(&seen, None);
        }
        for (index, proposal) in [(y, &mut self.next), (rival, &mut self.other)] {
            self.state.vectors[index].fetch(features, proposal);
            if R::VARIANCE {
                seen.variance += self.state.vectors[index].variance(features, spread, intercept, proposal);
            }
        }
        let Some(step) = self.decide(&seen)? else { return self.count(&seen, None) };
        let opposite = Move { along: -step.along, ..step };
        if !(self.state.vectors[y].propose(features, step, spread, intercept, &mut self.next)
            && self.state.vectors[rival].propose(features, opposite, spread, intercept, &mut self.other))
        {
            return Err(Fault::overflow(R::NAME));
        }
        self.count(&seen, Some(step))?;
        for (index, vector) in self.state.vectors.iter_mut().enumerate() {
            if index == y {
                vector.commit(features, spread, &mut self.next);
            } else if index == rival {
                vector.commit(features, spread, &mut self.other);
            } else {
                vector.rescale(step);
            }
        }
        Ok(())
    }

    /// The example as the update rule receives it.
    #[inline]
    fn seen(&self, margin: f64, w: f64) -> MarginExample {
        let State { coordinates, vectors, t, moves, length } = &self.state;
        let width = (coordinates.width() + usize::from(self.intercept)) * vectors.len();
        MarginExample {
            margin,
            variance: 0.0,
            w,
            t: t + 1.0,
            moves: *moves,
            length: *length,
            coordinates: width as f64,
        }
    }

    /// The step of the rule, or an error on overflow.
    #[inline]
    fn decide(&self, seen: &MarginExample) -> Result<Option<Move>> {
        if !(seen.margin.is_finite() && seen.variance.is_finite()) {
            return Err(Fault::overflow(R::NAME));
        }
        match self.rule.decide(seen) {
            Some(step) if !step.sound() => Err(Fault::overflow(R::NAME)),
            decided => Ok(decided),
        }
    }

    /// Count the learned example; nothing can fail after this.
    #[inline]
    fn count(&mut self, seen: &MarginExample, step: Option<Move>) -> Result<()> {
        if let (true, Some(Move { scale, along, .. })) = (R::LENGTH, step) {
            // |s w + a x|² = s² |w|² + 2 s a wᵀx + a² |x|²; rounding must not make it negative.
            let squares = scale * scale * seen.length + 2.0 * scale * along * seen.margin;
            let length = (squares + along * along * seen.variance).max(0.0);
            if !length.is_finite() {
                return Err(Fault::overflow(R::NAME));
            }
            self.state.length = length;
        }
        self.state.t = seen.t;
        self.state.moves += if step.is_some() { 1.0 } else { 0.0 };
        Ok(())
    }

    #[inline]
    fn take(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.state.coordinates.lying(x) {
            Some(features) if y < self.classes() => self.step_features(features, y, w, answer, scratch),
            _ => self.take_new(x, y, w, answer, scratch),
        }
    }

    /// Learn a row that needs a lookup or adds coordinates.
    fn take_new(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let width = self.state.coordinates.width();
        // A new class is rare: the previous state is copied, in case the example is rejected.
        let before = (y >= self.classes()).then(|| self.state.clone());
        let mut answer = answer;
        if before.is_some() || matches!(x, Row::Plain(values) if values.len() > width) {
            // A dense sum over more coordinates is added in another order: predict before they are added.
            if let Some((want, out)) = answer.take() {
                self.predict(x, want, out, scratch);
            }
        }
        if self.state.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        if before.is_some() {
            self.admit(y);
        }
        let located = self.state.coordinates.locate(x, scratch);
        let learned = self.step_features(located.features(), y, w, answer, scratch);
        located.release(scratch);
        learned.inspect_err(|_| match before {
            Some(before) => self.state = before,
            None => self.shrink(width),
        })
    }
}

impl<R: UpdateRule> Part for MarginClassifier<R> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(R::NAME, bytes)?;
        state.coordinates.validate(R::NAME)?;
        let width = state.coordinates.width();
        require(R::NAME, width == 0 || !state.vectors.is_empty(), "coordinates without weights")?;
        require(R::NAME, state.vectors.len() != 2, "two weight vectors where one suffices")?;
        let counts = [state.t, state.moves, state.length];
        require(R::NAME, counts.iter().all(|n| n.is_finite() && *n >= 0.0), "a count is not finite")?;
        check_width(R::NAME, width, self.spread)?;
        for vector in &state.vectors {
            vector.validate(R::NAME, width, self.spread, self.intercept)?;
        }
        self.state = state;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let read = |side: Side<'_>, classes: usize| -> Result<(Coordinates, Vec<WeightVector>, f64, f64)> {
            let mut there = self.clone();
            there.load(side.state)?;
            if there.state.vectors.is_empty() {
                return Ok(Default::default());
            }
            // Two classes share one vector, until there is a third in one of the models.
            if classes > 2 {
                there.admit(there.classes().max(3) - 1);
            }
            let State { coordinates, mut vectors, t, moves, .. } = there.state;
            if classes <= 2 {
                vectors.iter_mut().filter(|_| side.flips_classes()).for_each(WeightVector::negate);
                return Ok((coordinates, vectors, t, moves));
            }
            let mut placed = vec![WeightVector::new(); classes];
            let fraction = 0.5;
            for vector in &mut placed {
                vector.grow(coordinates.width(), self.spread, self.intercept, fraction);
            }
            for (vector, &code) in vectors.into_iter().zip(side.codes).filter(|(_, &code)| code != u32::MAX) {
                placed[code as usize] = vector;
            }
            Ok((coordinates, placed, t, moves))
        };
        let codes = merger.other.codes.iter().filter(|&&code| code != u32::MAX);
        let classes = codes.map(|&code| code as usize + 1).fold(self.classes(), usize::max);
        let (their_coordinates, theirs, t, moves) = read(merger.other, classes)?;
        if theirs.is_empty() {
            return Ok(());
        }
        let base = merger.base.map(|side| read(side, classes)).transpose()?;
        let fresh = self.state.vectors.is_empty();
        let known = self.state.coordinates.width();
        let indices = self.state.coordinates.join(&their_coordinates, merger.other.schema, merger.ours)?;
        let mut base_indices = Vec::new();
        if let (Some((coordinates, ..)), Some(side)) = (&base, merger.base) {
            base_indices = self.state.coordinates.join(coordinates, side.schema, merger.ours)?;
        }
        check_width(R::NAME, self.state.coordinates.width(), self.spread)?;
        self.held = Savepoint::Nothing;
        self.admit(classes.max(2) - 1);
        let fraction = if fresh { 0.0 } else { merger.our_fraction() };
        let prior = self.spread.variance() * if classes > 2 { 0.5 } else { 1.0 };
        let form = (self.spread, prior, self.intercept);
        for (code, (ours, theirs)) in self.state.vectors.iter_mut().zip(&theirs).enumerate() {
            let of_base = base.as_ref().and_then(|(_, vectors, ..)| vectors.get(code));
            let of_base = of_base.map(|base| (base, &base_indices[..]));
            ours.merge(R::NAME, (theirs, &indices), of_base, known, fraction, form)?;
        }
        let (base_t, base_moves) = base.map_or((0.0, 0.0), |(_, _, t, moves)| (t, moves));
        self.state.t += t - base_t;
        self.state.moves += moves - base_moves;
        if R::LENGTH {
            self.state.length = self.state.vectors.iter().map(WeightVector::squared_length).sum();
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        let vectors =
            self.state.vectors.iter().map(|vector| std::mem::size_of::<WeightVector>() + vector.memory());
        std::mem::size_of::<Self>()
            + vectors.sum::<usize>()
            + self.next.memory()
            + self.other.memory()
            + self.gathered.iter().map(GradientAccumulator::memory).sum::<usize>()
            + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        // A step of a full covariance costs as much as a copy of it.
        if let Spread::Full(_) = self.spread {
            return false;
        }
        let State { coordinates, vectors, t, moves, length } = &mut self.state;
        self.held = Savepoint::Rest { coordinates: coordinates.clone(), counts: [*t, *moves, *length] };
        vectors.iter_mut().for_each(WeightVector::savepoint);
        true
    }

    fn rollback(&mut self) {
        (self.gathered, self.examples) = (Vec::new(), 0.0);
        match std::mem::take(&mut self.held) {
            Savepoint::Copy(state) => self.state = *state,
            held => self.state.rollback(&held),
        }
    }

    fn commit(&mut self) {
        self.held = Savepoint::Nothing;
        self.state.vectors.iter_mut().for_each(WeightVector::discard_savepoint);
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, mini_batches: R::MINI_BATCHES, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let vectors = self.state.vectors.iter().map(|vector| vector.inspect(&self.state.coordinates, schema));
        json!({ "examples": self.state.t, "steps": self.state.moves, "planes": vectors.collect::<Vec<_>>() })
    }
}

impl<R: UpdateRule> Learner<Classes> for MarginClassifier<R> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let located = self.state.coordinates.locate(x, scratch);
        self.predict_features(located.features(), want, out, scratch);
        located.release(scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, None, scratch)
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
        self.take(x, y as usize, w, Some((want, out)), scratch)
    }

    /// Conditions that hold for all rows of a batch are checked once.
    fn step_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        want: Want,
        out: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let State { coordinates, vectors, .. } = &self.state;
        let width = match batch.rows {
            Rows::Plain { width, .. } => width,
            _ => usize::MAX,
        };
        let settled = width == coordinates.width() && !coordinates.mapped() && vectors.len() == 1;
        let (true, Some(rows)) = (settled, batch.plain()) else {
            return step_each(self, batch, want, out, scratch);
        };
        let mut prediction = scratch.take_prediction();
        let mut done = 0;
        for (x, y, w) in rows {
            let answer = Some((want, &mut prediction));
            let learned = match y < 2 {
                true => self.step_features(Features::Dense(x), y as usize, w, answer, scratch),
                false => self.take(Row::Plain(x), y as usize, w, answer, scratch),
            };
            if learned.is_err() {
                break;
            }
            Classes::push(&mut prediction, want, out);
            done += 1;
        }
        scratch.give_prediction(prediction);
        done
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        Some(self)
    }

    /// The hinge loss.
    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        let located = self.state.coordinates.locate(x, scratch);
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.vectors.iter().map(|vector| finite(vector.score(located.features()))));
        located.release(scratch);
        let margin = match (&scores[..], y) {
            ([score], 0 | 1) => Some(if y == 1 { *score } else { -score }),
            (several, y) => several.get(y as usize).map(|truth| {
                let others = several.iter().enumerate().filter(|(index, _)| *index != y as usize);
                truth - others.map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max)
            }),
        };
        scratch.give_numbers(scores);
        margin.map(|margin| (R::WANTED - margin).max(0.0))
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Classes>> {
        R::MINI_BATCHES.then_some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl<R: UpdateRule> MiniBatch<Classes> for MarginClassifier<R> {
    /// A faulty batch is rolled back by the caller.
    fn accumulate(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let y = y as usize;
        if self.state.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        if y >= self.classes() {
            let known = self.state.vectors.len();
            self.admit(y);
            if let (1, [single]) = (known, &self.gathered[..]) {
                // At the third class, the step of the positive class is also the opposite one of the other.
                if self.state.vectors.len() > 1 {
                    self.gathered = vec![single.negated(), single.clone()];
                }
            }
        }
        let (vectors, width) = (self.state.vectors.len(), self.state.coordinates.width());
        self.gathered.resize(vectors, GradientAccumulator::default());
        let located = self.state.coordinates.locate(x, scratch);
        let features = located.features();
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.vectors.iter().map(|vector| finite(vector.score(features))));
        let sound = if vectors == 1 {
            let sign = if y == 1 { 1.0 } else { -1.0 };
            let pull = self.rule.pull(sign * scores[0], w);
            pull == 0.0 || self.gathered[0].add(features, sign * pull, width)
        } else {
            let truth = std::mem::replace(&mut scores[y], f64::NEG_INFINITY);
            let rival = most(&scores).unwrap_or(0) as usize;
            let pull = self.rule.pull(truth - scores[rival], w);
            pull == 0.0
                || self.gathered[y].add(features, pull, width) && self.gathered[rival].add(features, -pull, width)
        };
        scratch.give_numbers(scores);
        located.release(scratch);
        self.examples += 1.0;
        sound.then_some(()).ok_or_else(|| Fault::overflow(R::NAME))
    }

    fn apply(&mut self) -> Result<()> {
        let examples = std::mem::take(&mut self.examples);
        if examples == 0.0 {
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let stepped = self.step_mean(&mut gathered, examples);
        gathered.iter_mut().for_each(GradientAccumulator::clear);
        self.gathered = gathered;
        stepped
    }
}

impl<R: UpdateRule> MarginClassifier<R> {
    /// The step along the mean of the weighted examples of a mini-batch.
    fn step_mean(&mut self, gathered: &mut [GradientAccumulator], examples: f64) -> Result<()> {
        let overflow = || Fault::overflow(R::NAME);
        let of_intercept = |slope: f64| if self.intercept { slope } else { 0.0 };
        let mut seen = self.seen(0.0, 1.0);
        for (vector, gathered) in self.state.vectors.iter_mut().zip(gathered.iter_mut()) {
            gathered.examples = examples;
            let (features, slope) = gathered.mean();
            let (Features::Dense(x) | Features::Sparse(_, x)) = features;
            let constant = of_intercept(slope);
            vector.fetch(features, &mut self.next);
            seen.margin += vector.along(features, constant);
            seen.variance += dot(x, x) + constant * constant;
        }
        if !(seen.margin.is_finite() && seen.variance.is_finite()) {
            return Err(overflow());
        }
        let nothing = seen.variance == 0.0;
        if nothing && self.rule.idle(f64::MAX) {
            return self.count(&seen, None);
        }
        let step = self.rule.decide_mean(&seen);
        if !step.sound() {
            return Err(overflow());
        }
        let mut proposals = vec![Proposal::default(); self.state.vectors.len()];
        let vectors = self.state.vectors.iter_mut().zip(gathered.iter_mut());
        for ((vector, gathered), next) in vectors.zip(&mut proposals) {
            let (features, slope) = gathered.mean();
            vector.fetch(features, next);
            if !(vector.propose(features, step, self.spread, false, next)
                && next.shift(step.along * of_intercept(slope)))
            {
                return Err(overflow());
            }
        }
        self.count(&seen, Some(step))?;
        let vectors = self.state.vectors.iter_mut().zip(gathered.iter_mut());
        for ((vector, gathered), next) in vectors.zip(&mut proposals) {
            vector.commit(gathered.mean().0, self.spread, next);
        }
        Ok(())
    }
}

impl<R: UpdateRule> DecisionFunction for MarginClassifier<R> {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        let [vector] = &self.state.vectors[..] else { return None };
        let located = self.state.coordinates.locate(x, scratch);
        let score = finite(vector.score(located.features()));
        located.release(scratch);
        Some(score)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;

    pub fn classifier(name: &str, parameters: Json) -> Box<dyn Learner<Classes>> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::Classifier(model)) = registry::build_resolved(&description) else { panic!("no classifier") };
        model
    }

    pub fn score(model: &dyn Learner<Classes>, x: &[f64]) -> f64 {
        let scratch = &mut Scratch::default();
        let none = vec![0.0; x.len()];
        model.decision_function().unwrap().score(Row::Plain(x), scratch).unwrap()
            - model.decision_function().unwrap().score(Row::Plain(&none), scratch).unwrap()
    }
}
