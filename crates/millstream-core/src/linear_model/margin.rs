//! Classifiers that learn from the margin of an example: one engine, and a rule for each of them.
//!
//! Of two classes there is one plane, and the margin is y wᵀx with y = ±1. From the third class on there is a plane
//! for each, and the margin is the score of the true class minus the highest of the others: then the true class takes
//! the step, and the other one its opposite (Crammer and Singer, 2003). Both are the same step of one long weight
//! vector along one long example, so a rule does not know the difference; a plane of two classes becomes two halves.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{DecisionFunction, Learner};
use crate::optim::Features;
use crate::parameter::{Arguments, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes, Task};

use super::plane::{check_width, Move, Plane, Proposal, Spread};
use super::softmax_regression::softmax;
use super::Coordinates;

/// What a rule is told of an example.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub margin: f64,
    /// xᵀΣ x; the squared length of x where there is no covariance.
    pub variance: f64,
    /// The sample weight.
    pub w: f64,
    /// Which example it is, from 1.
    pub t: f64,
    /// Steps taken so far.
    pub moves: f64,
    /// The squared length of the weights; 0 unless the rule asks for it.
    pub length: f64,
    /// How many coordinates there are, those of all planes and the constant terms.
    pub coordinates: f64,
}

pub trait Rule: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether it asks for `Seen::variance`.
    const VARIANCE: bool = true;
    /// Whether it asks for `Seen::length`, which needs the variance too.
    const LENGTH: bool = false;
    /// The margin from which on an example has no loss: what is missing of it is the loss.
    const WANTED: f64 = 1.0;
    /// Whether an example with this margin teaches nothing, whatever else it is: then nothing else is found out.
    fn idle(&self, _margin: f64) -> bool {
        false
    }
    /// How far to go, or None if the example teaches nothing.
    fn decide(&self, seen: &Seen) -> Option<Move>;
}

pub const FULL: Parameter = Parameter::new(
    "full",
    Kind::Boolean,
    crate::parameter::Default::Boolean(false),
    "whether the covariance is a full matrix, for up to thousands of features, or a diagonal",
);

/// The form of the covariance, from the parameter `full`.
pub fn spread(arguments: &Arguments<'_>, variance: f64) -> Result<Spread> {
    Ok(if arguments.boolean("full")? { Spread::Full(variance) } else { Spread::Diagonal(variance) })
}

pub fn build<R: Rule>(rule: R, spread: Spread, intercept: bool) -> Built {
    Built::Classifier(Box::new(Margin {
        rule,
        spread,
        intercept,
        state: State::default(),
        next: Proposal::default(),
        other: Proposal::default(),
        held: Held::default(),
    }))
}

#[derive(Clone)]
struct Margin<R: Rule> {
    rule: R,
    spread: Spread,
    intercept: bool,
    state: State,
    next: Proposal,
    other: Proposal,
    held: Held,
}

/// The way back to the state at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Held {
    #[default]
    Nothing,
    /// The planes keep what they overwrite.
    Rest { coordinates: Coordinates, counts: [f64; 3] },
    /// Everything as it was: planes were added or replaced.
    Whole(Box<State>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// One for two classes, whose positive one has code 1; from the third class on one for each.
    planes: Vec<Plane>,
    /// Examples learned.
    t: f64,
    moves: f64,
    length: f64,
}

impl State {
    /// Back to where it was held, while the planes that were held are still there.
    fn rollback(&mut self, held: &Held) {
        if let Held::Rest { coordinates, counts } = held {
            self.coordinates = coordinates.clone();
            [self.t, self.moves, self.length] = *counts;
            self.planes.iter_mut().for_each(Plane::rollback);
        }
    }
}

impl<R: Rule> Margin<R> {
    /// What to predict from the scores of all planes.
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
        if let [plane] = &self.state.planes[..] {
            return self.write(&[finite(plane.score(features))], want, out);
        }
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.planes.iter().map(|plane| finite(plane.score(features))));
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
    }

    /// How many classes the planes tell apart.
    fn classes(&self) -> usize {
        match self.state.planes.len() {
            1 => 2,
            planes => planes,
        }
    }

    /// A plane for a class that is new.
    fn admit(&mut self, y: usize) {
        if let Held::Rest { .. } = self.held {
            let mut whole = Box::new(self.state.clone());
            whole.rollback(&self.held);
            self.state.planes.iter_mut().for_each(Plane::discard_savepoint);
            self.held = Held::Whole(whole);
        }
        let State { coordinates, planes, length, .. } = &mut self.state;
        if y > 1 && planes.len() == 1 {
            *planes = [-1.0, 1.0].map(|sign| planes[0].half(sign)).to_vec();
            *length *= 0.5;
        }
        planes.resize(if y > 1 { y + 1 } else { 1 }, Plane::new());
        let share = if planes.len() == 1 { 1.0 } else { 0.5 };
        for plane in planes {
            plane.grow(coordinates.width(), self.spread, self.intercept, share);
        }
    }

    /// Coordinates for what is new in `x`.
    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, planes, .. } = &mut self.state;
        let before = coordinates.grow(x);
        if coordinates.width() == before {
            return Ok(());
        }
        if let Err(fault) = check_width(R::NAME, coordinates.width(), self.spread) {
            coordinates.shrink(before);
            return Err(fault);
        }
        let share = if planes.len() == 1 { 1.0 } else { 0.5 };
        for plane in planes {
            plane.grow(coordinates.width(), self.spread, self.intercept, share);
        }
        Ok(())
    }

    fn shrink(&mut self, width: usize) {
        self.state.coordinates.shrink(width);
        for plane in &mut self.state.planes {
            plane.shrink(width, self.intercept);
        }
    }

    /// Predict if it is wanted, then take the step that the rule decides.
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
        if self.state.planes.len() != 1 {
            return self.step_rivals(features, y, w, answer, scratch);
        }
        let plane = &mut self.state.planes[0];
        plane.fetch(features, &mut self.next);
        let score = plane.fetched_score(features, &self.next);
        if let Some((want, out)) = answer {
            self.write(&[finite(score)], want, out);
        }
        let sign = if y == 1 { 1.0 } else { -1.0 };
        let mut seen = self.seen(sign * score, w);
        if self.rule.idle(seen.margin) {
            return self.count(&seen, None);
        }
        if R::VARIANCE {
            seen.variance = self.state.planes[0].variance(features, spread, intercept, &mut self.next);
        }
        let Some(step) = self.decide(&seen)? else { return self.count(&seen, None) };
        let signed = Move { along: sign * step.along, ..step };
        if !self.state.planes[0].propose(features, signed, spread, intercept, &mut self.next) {
            return Err(Fault::overflow(R::NAME));
        }
        self.count(&seen, Some(step))?;
        self.state.planes[0].commit(features, spread, &mut self.next);
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
        scores.extend(self.state.planes.iter().map(|plane| finite(plane.score(features))));
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
        for (place, proposal) in [(y, &mut self.next), (rival, &mut self.other)] {
            self.state.planes[place].fetch(features, proposal);
            if R::VARIANCE {
                seen.variance += self.state.planes[place].variance(features, spread, intercept, proposal);
            }
        }
        let Some(step) = self.decide(&seen)? else { return self.count(&seen, None) };
        let opposite = Move { along: -step.along, ..step };
        if !(self.state.planes[y].propose(features, step, spread, intercept, &mut self.next)
            && self.state.planes[rival].propose(features, opposite, spread, intercept, &mut self.other))
        {
            return Err(Fault::overflow(R::NAME));
        }
        self.count(&seen, Some(step))?;
        for (place, plane) in self.state.planes.iter_mut().enumerate() {
            if place == y {
                plane.commit(features, spread, &mut self.next);
            } else if place == rival {
                plane.commit(features, spread, &mut self.other);
            } else {
                plane.rescale(step);
            }
        }
        Ok(())
    }

    /// What is known of an example by its margin.
    #[inline]
    fn seen(&self, margin: f64, w: f64) -> Seen {
        let State { coordinates, planes, t, moves, length } = &self.state;
        let width = (coordinates.width() + usize::from(self.intercept)) * planes.len();
        Seen { margin, variance: 0.0, w, t: t + 1.0, moves: *moves, length: *length, coordinates: width as f64 }
    }

    /// What the rule says, unless something has overflowed.
    #[inline]
    fn decide(&self, seen: &Seen) -> Result<Option<Move>> {
        if !(seen.margin.is_finite() && seen.variance.is_finite()) {
            return Err(Fault::overflow(R::NAME));
        }
        match self.rule.decide(seen) {
            Some(step) if !step.sound() => Err(Fault::overflow(R::NAME)),
            decided => Ok(decided),
        }
    }

    /// The example is learned; nothing can fail after this.
    #[inline]
    fn count(&mut self, seen: &Seen, step: Option<Move>) -> Result<()> {
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

    /// Take a row that has to be looked up, or that brings something new.
    fn take_new(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let width = self.state.coordinates.width();
        // A new class is rare; then the state before is kept whole, for the case that the example is refused.
        let before = (y >= self.classes()).then(|| self.state.clone());
        let mut answer = answer;
        if before.is_some() || matches!(x, Row::Plain(values) if values.len() > width) {
            // A dense sum over more coordinates is added up in another order: predict before there are more.
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

impl<R: Rule> Part for Margin<R> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(R::NAME, bytes)?;
        state.coordinates.validate(R::NAME)?;
        let width = state.coordinates.width();
        require(R::NAME, width == 0 || !state.planes.is_empty(), "coordinates without weights")?;
        require(R::NAME, state.planes.len() != 2, "two planes where one is enough")?;
        let counts = [state.t, state.moves, state.length];
        require(R::NAME, counts.iter().all(|n| n.is_finite() && *n >= 0.0), "a count is not finite")?;
        check_width(R::NAME, width, self.spread)?;
        for plane in &state.planes {
            plane.validate(R::NAME, width, self.spread, self.intercept)?;
        }
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let planes = self.state.planes.iter().map(|plane| std::mem::size_of::<Plane>() + plane.memory());
        std::mem::size_of::<Self>()
            + planes.sum::<usize>()
            + self.next.memory()
            + self.other.memory()
            + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        // A step of a full covariance costs what a copy of it does.
        if let Spread::Full(_) = self.spread {
            return false;
        }
        let State { coordinates, planes, t, moves, length } = &mut self.state;
        self.held = Held::Rest { coordinates: coordinates.clone(), counts: [*t, *moves, *length] };
        planes.iter_mut().for_each(Plane::savepoint);
        true
    }

    fn rollback(&mut self) {
        match std::mem::take(&mut self.held) {
            Held::Whole(state) => self.state = *state,
            held => self.state.rollback(&held),
        }
    }

    fn commit(&mut self) {
        self.held = Held::Nothing;
        self.state.planes.iter_mut().for_each(Plane::discard_savepoint);
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let planes = self.state.planes.iter().map(|plane| plane.inspect(&self.state.coordinates, schema));
        json!({ "examples": self.state.t, "steps": self.state.moves, "planes": planes.collect::<Vec<_>>() })
    }
}

impl<R: Rule> Learner<Classes> for Margin<R> {
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

    /// What is the same for all rows of a batch is looked at once.
    fn step_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        want: Want,
        out: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let State { coordinates, planes, .. } = &self.state;
        let width = match batch.rows {
            Rows::Plain { width, .. } => width,
            _ => usize::MAX,
        };
        let settled = width == coordinates.width() && !coordinates.mapped() && planes.len() == 1;
        let mut prediction = scratch.take_prediction();
        let mut done = 0;
        for (row, &y) in batch.truths.iter().enumerate() {
            let (x, w) = (batch.rows.at(row), batch.weight(row));
            if let Some(asked) = batch.asked {
                self.predict(asked.at(row), want, &mut prediction, scratch);
            }
            let answer = batch.asked.is_none().then_some((want, &mut prediction));
            let learned = match x {
                Row::Plain(values) if settled && y < 2 => {
                    self.step_features(Features::Dense(values), y as usize, w, answer, scratch)
                }
                x => self.take(x, y as usize, w, answer, scratch),
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
        scores.extend(self.state.planes.iter().map(|plane| finite(plane.score(located.features()))));
        located.release(scratch);
        let margin = match (&scores[..], y) {
            ([score], 0 | 1) => Some(if y == 1 { *score } else { -score }),
            (several, y) => several.get(y as usize).map(|truth| {
                let others = several.iter().enumerate().filter(|(place, _)| *place != y as usize);
                truth - others.map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max)
            }),
        };
        scratch.give_numbers(scores);
        margin.map(|margin| (R::WANTED - margin).max(0.0))
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl<R: Rule> DecisionFunction for Margin<R> {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        let [plane] = &self.state.planes[..] else { return None };
        let located = self.state.coordinates.locate(x, scratch);
        let score = finite(plane.score(located.features()));
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
