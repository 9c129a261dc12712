//! Regressors that learn from the error of an example, y − wᵀx: one engine, and a rule for each of them.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::optim::Features;
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::plane::{check_width, Move, Plane, Proposal, Spread};
use super::Coordinates;

/// What a rule is told of an example.
#[derive(Clone, Copy, Debug)]
pub struct Missed {
    /// The truth minus the prediction.
    pub error: f64,
    /// xᵀΣ x; the squared length of x where there is no covariance.
    pub variance: f64,
    /// The sample weight.
    pub w: f64,
}

pub trait Rule: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether it asks for `Missed::variance`.
    fn asks_variance(&self) -> bool {
        true
    }
    /// Whether such an error teaches nothing, whatever else the example is.
    fn idle(&self, _error: f64) -> bool {
        false
    }
    /// The loss of an error.
    fn loss(&self, error: f64) -> f64 {
        error * error
    }
    /// How far to go, with its sign, or None if the example teaches nothing.
    fn decide(&self, missed: &Missed) -> Option<Move>;
}

pub fn build<R: Rule>(rule: R, spread: Spread, intercept: bool) -> Built {
    let (state, next) = (State::default(), Proposal::default());
    Built::Regressor(Box::new(Residual { rule, spread, intercept, state, next, held: None }))
}

#[derive(Clone)]
struct Residual<R: Rule> {
    rule: R,
    spread: Spread,
    intercept: bool,
    state: State,
    next: Proposal,
    /// What was held beside the plane: the coordinates, the count, and whether there was a plane.
    held: Option<(Coordinates, f64, bool)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// None before the first example.
    plane: Option<Plane>,
    /// Examples learned.
    t: f64,
}

impl<R: Rule> Residual<R> {
    fn score(&self, features: Features<'_>) -> f64 {
        self.state.plane.as_ref().map_or(0.0, |plane| plane.score(features))
    }

    #[inline]
    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        match self.state.coordinates.lying(x) {
            Some(features) if self.state.plane.is_some() => self.step_features(features, y, w),
            _ => self.take_new(x, y, w, scratch),
        }
    }

    /// Take a row that has to be looked up, or that brings something new.
    fn take_new(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let (width, fresh) = (self.state.coordinates.width(), self.state.plane.is_none());
        let wider = matches!(x, Row::Plain(values) if values.len() > width);
        // A dense sum over more coordinates is added up in another order: predict before there are more.
        let before = wider.then(|| self.predicted(x, scratch));
        if fresh || self.state.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        let located = self.state.coordinates.locate(x, scratch);
        let learned = self.step_features(located.features(), y, w);
        located.release(scratch);
        let score = learned.inspect_err(|_| self.shrink(width, fresh))?;
        Ok(before.unwrap_or(score))
    }

    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, plane, .. } = &mut self.state;
        let before = coordinates.grow(x);
        if let Err(fault) = check_width(R::NAME, coordinates.width(), self.spread) {
            coordinates.shrink(before);
            return Err(fault);
        }
        if plane.is_none() || coordinates.width() > before {
            let plane = plane.get_or_insert_with(Plane::new);
            plane.grow(coordinates.width(), self.spread, self.intercept, 1.0);
        }
        Ok(())
    }

    fn shrink(&mut self, width: usize, fresh: bool) {
        self.state.coordinates.shrink(width);
        if fresh {
            self.state.plane = None;
        } else if let Some(plane) = &mut self.state.plane {
            plane.shrink(width, self.intercept);
        }
    }

    #[inline]
    fn step_features(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let (spread, intercept, next) = (self.spread, self.intercept, &mut self.next);
        let Some(plane) = &mut self.state.plane else { return Err(Fault::state("weights are missing")) };
        plane.fetch(features, next);
        let score = plane.fetched_score(features, next);
        let mut missed = Missed { error: y - score, variance: 0.0, w };
        if self.rule.idle(missed.error) {
            self.state.t += 1.0;
            return Ok(finite(score));
        }
        if self.rule.asks_variance() {
            missed.variance = plane.variance(features, spread, intercept, next);
        }
        if !(missed.error.is_finite() && missed.variance.is_finite()) {
            return Err(Fault::overflow(R::NAME));
        }
        if let Some(step) = self.rule.decide(&missed) {
            if !(step.sound() && plane.propose(features, step, spread, intercept, next)) {
                return Err(Fault::overflow(R::NAME));
            }
            plane.commit(features, spread, next);
        }
        self.state.t += 1.0;
        Ok(finite(score))
    }
}

impl<R: Rule> Part for Residual<R> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(R::NAME, bytes)?;
        state.coordinates.validate(R::NAME)?;
        let width = state.coordinates.width();
        require(R::NAME, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        check_width(R::NAME, width, self.spread)?;
        match &state.plane {
            Some(plane) => plane.validate(R::NAME, width, self.spread, self.intercept)?,
            None => require(R::NAME, width == 0, "coordinates without weights")?,
        }
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let plane = self.state.plane.as_ref().map_or(0, Plane::memory);
        std::mem::size_of::<Self>() + plane + self.next.memory() + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        // A step of a full covariance costs what a copy of it does.
        if let Spread::Full(_) = self.spread {
            return false;
        }
        let State { coordinates, plane, t } = &mut self.state;
        self.held = Some((coordinates.clone(), *t, plane.is_some()));
        plane.iter_mut().for_each(Plane::savepoint);
        true
    }

    fn rollback(&mut self) {
        if let Some((coordinates, t, known)) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.t = t;
            self.state.plane = self.state.plane.take().filter(|_| known);
            self.state.plane.iter_mut().for_each(Plane::rollback);
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.plane.iter_mut().for_each(Plane::discard_savepoint);
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        match &self.state.plane {
            Some(plane) => plane.inspect(&self.state.coordinates, schema),
            None => json!({ "intercept": 0.0, "weights": {} }),
        }
    }
}

impl<R: Rule> Residual<R> {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let located = self.state.coordinates.locate(x, scratch);
        let score = self.score(located.features());
        located.release(scratch);
        finite(score)
    }
}

impl<R: Rule> Learner<Numbers> for Residual<R> {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch).map(drop)
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        *out = self.take(x, y, w, scratch)?;
        Ok(())
    }

    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        Some(self.rule.loss(y - self.predicted(x, scratch)))
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::registry;

    pub fn regressor(name: &str, parameters: Json) -> Box<dyn Learner<Numbers>> {
        let description =
            registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it resolves");
        let Ok(Built::Regressor(model)) = registry::build_resolved(&description) else { panic!("no regressor") };
        model
    }
}
