//! Classifiers that learn from the margin of an example: one engine, and a rule for each of them.
//!
//! Of two classes there is one plane, and the margin is y wᵀx with y = ±1. From the third class on there is a plane
//! for each, and the margin is the score of the true class minus the highest of the others: then the true class takes
//! the step, and the other one its opposite (Crammer and Singer, 2003). Both are the same step of one long weight
//! vector along one long example, so a rule does not know the difference; a plane of two classes becomes two halves.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::optim::Features;
use crate::parameter::{Arguments, Kind, Parameter};
use crate::registry::Built;
use crate::role::{Classifier, Part};
use crate::row::{finite, most, Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

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
    /// The squared length of the weights.
    pub length: f64,
}

pub trait Rule: Clone + Send + Sync + 'static {
    const NAME: &'static str;
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

impl<R: Rule> Margin<R> {
    /// What to predict from the scores of all planes.
    #[inline]
    fn write(&self, scores: &[f64], want: Want, out: &mut Prediction) {
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

    fn predict_features(&self, features: Features<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
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
        answer: Option<(Want, &mut Prediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (spread, intercept) = (self.spread, self.intercept);
        let mut seen = Seen {
            margin: 0.0,
            variance: 0.0,
            w,
            t: self.state.t + 1.0,
            moves: self.state.moves,
            length: self.state.length,
        };
        if let [plane] = &self.state.planes[..] {
            let score = plane.score(features);
            if let Some((want, out)) = answer {
                self.write(&[finite(score)], want, out);
            }
            let sign = if y == 1 { 1.0 } else { -1.0 };
            seen.margin = sign * score;
            seen.variance = plane.variance(features, spread, intercept, &mut self.next);
            let Some(step) = self.decide(&seen)? else { return self.count(&seen, None) };
            let signed = Move { along: sign * step.along, ..step };
            if !self.state.planes[0].propose(features, signed, spread, intercept, &mut self.next) {
                return Err(Fault::overflow(R::NAME));
            }
            self.count(&seen, Some(step))?;
            self.state.planes[0].commit(features, spread, &mut self.next);
            return Ok(());
        }
        let mut scores = scratch.take_numbers();
        scores.extend(self.state.planes.iter().map(|plane| finite(plane.score(features))));
        if let Some((want, out)) = answer {
            self.write(&scores, want, out);
        }
        let truth = std::mem::replace(&mut scores[y], f64::NEG_INFINITY);
        let rival = most(&scores).unwrap_or(0) as usize;
        seen.margin = truth - scores[rival];
        scratch.give_numbers(scores);
        seen.variance = self.state.planes[y].variance(features, spread, intercept, &mut self.next)
            + self.state.planes[rival].variance(features, spread, intercept, &mut self.other);
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
                plane.rescale(step.scale);
            }
        }
        Ok(())
    }

    /// What the rule says, unless something has overflowed.
    #[inline]
    fn decide(&self, seen: &Seen) -> Result<Option<Move>> {
        if !(seen.margin.is_finite() && seen.variance.is_finite()) {
            return Err(Fault::overflow(R::NAME));
        }
        match self.rule.decide(seen) {
            Some(step) if !(step.along.is_finite() && step.scale.is_finite() && step.precision.is_finite()) => {
                Err(Fault::overflow(R::NAME))
            }
            decided => Ok(decided),
        }
    }

    /// The example is learned; nothing can fail after this.
    fn count(&mut self, seen: &Seen, step: Option<Move>) -> Result<()> {
        let length = step.map_or(seen.length, |step| {
            // |s w + a x|² = s² |w|² + 2 s a wᵀx + a² |x|²; rounding must not make it negative.
            let Move { scale, along, .. } = step;
            (scale * scale * seen.length + 2.0 * scale * along * seen.margin + along * along * seen.variance)
                .max(0.0)
        });
        // With a covariance no rule asks for the length, and x is measured by Σ.
        let length = if self.spread == Spread::None { length } else { 0.0 };
        if !length.is_finite() {
            return Err(Fault::overflow(R::NAME));
        }
        self.state.length = length;
        self.state.t = seen.t;
        self.state.moves += if step.is_some() { 1.0 } else { 0.0 };
        Ok(())
    }

    fn take(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut Prediction)>,
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
        let grows = match x {
            Row::Plain(values) => values.len() != width || self.state.coordinates.mapped(),
            Row::Sparse(sparse) => sparse.width > width || self.state.coordinates.mapped(),
            Row::Mixed(..) => true,
        };
        if grows {
            self.grow(x)?;
        }
        if before.is_some() {
            self.admit(y);
        }
        let learned = match x {
            Row::Plain(values) if self.state.coordinates.direct(values) => {
                self.step_features(Features::Dense(values), y, w, answer, scratch)
            }
            Row::Sparse(sparse) if !self.state.coordinates.mapped() => {
                self.step_features(Features::Sparse(sparse.indices, sparse.values), y, w, answer, scratch)
            }
            _ => {
                let located = self.state.coordinates.locate(x, scratch);
                let learned = self.step_features(located.features(), y, w, answer, scratch);
                located.release(scratch);
                learned
            }
        };
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

    fn inspect(&self, schema: &Schema) -> Json {
        let planes = self.state.planes.iter().map(|plane| plane.inspect(&self.state.coordinates, schema));
        json!({ "examples": self.state.t, "steps": self.state.moves, "planes": planes.collect::<Vec<_>>() })
    }
}

impl<R: Rule> Classifier for Margin<R> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        match x {
            Row::Plain(values) if self.state.coordinates.direct(values) => {
                self.predict_features(Features::Dense(values), want, out, scratch);
            }
            Row::Sparse(sparse) if !self.state.coordinates.mapped() => {
                self.predict_features(Features::Sparse(sparse.indices, sparse.values), want, out, scratch);
            }
            _ => {
                let located = self.state.coordinates.locate(x, scratch);
                self.predict_features(located.features(), want, out, scratch);
                located.release(scratch);
            }
        }
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
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.take(x, y as usize, w, Some((want, out)), scratch)
    }

    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        let [plane] = &self.state.planes[..] else { return None };
        let located = self.state.coordinates.locate(x, scratch);
        let score = finite(plane.score(located.features()));
        located.release(scratch);
        Some(score)
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;

    pub fn classifier(name: &str, parameters: Json) -> Box<dyn Classifier> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::Classifier(model)) = registry::build_resolved(&description) else { panic!("no classifier") };
        model
    }

    pub fn score(model: &dyn Classifier, x: &[f64]) -> f64 {
        let scratch = &mut Scratch::default();
        let none = vec![0.0; x.len()];
        model.score(Row::Plain(x), scratch).unwrap() - model.score(Row::Plain(&none), scratch).unwrap()
    }
}
