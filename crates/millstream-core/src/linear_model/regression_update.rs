//! Regressors that learn from the residual of an example, y − wᵀx: one engine, with an update rule for each learner.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Learner, MiniBatch};
use crate::merging::{Merger, Side};
use crate::optim::Features;
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::gradient_accumulator::GradientAccumulator;
use super::weight_vector::{check_width, Move, Proposal, Spread, WeightVector};
use super::Coordinates;

/// What an update rule receives of an example.
#[derive(Clone, Copy, Debug)]
pub struct RegressionExample {
    /// The target minus the prediction.
    pub error: f64,
    /// xᵀΣ x; the squared length of x where there is no covariance.
    pub variance: f64,
    /// The sample weight.
    pub w: f64,
}

pub trait RegressionUpdate: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether the steps of examples at the same weights may be averaged: those down a gradient, without a spread.
    const MINI_BATCHES: bool = false;
    /// Whether the rule uses `RegressionExample::variance`.
    fn asks_variance(&self) -> bool {
        true
    }
    /// Whether an example with this error causes no update.
    fn idle(&self, _error: f64) -> bool {
        false
    }
    /// The loss of an error.
    fn loss(&self, error: f64) -> f64 {
        error * error
    }
    /// The signed step, or None for no update.
    fn decide(&self, missed: &RegressionExample) -> Option<Move>;
}

pub fn build<R: RegressionUpdate>(rule: R, spread: Spread, intercept: bool) -> Built {
    let (state, next) = (State::default(), Proposal::default());
    let gathered = GradientAccumulator::default();
    Built::Regressor(Box::new(ResidualRegressor { rule, spread, intercept, state, next, held: None, gathered }))
}

#[derive(Clone)]
struct ResidualRegressor<R: RegressionUpdate> {
    rule: R,
    spread: Spread,
    intercept: bool,
    state: State,
    next: Proposal,
    /// Savepoint of everything but the vector: the coordinates, the count, and whether there was a vector.
    held: Option<(Coordinates, f64, bool)>,
    /// The steps of the examples of a mini-batch.
    gathered: GradientAccumulator,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// None before the first example.
    #[serde(rename = "plane")]
    vector: Option<WeightVector>,
    /// Number of learned examples.
    t: f64,
}

impl<R: RegressionUpdate> ResidualRegressor<R> {
    fn score(&self, features: Features<'_>) -> f64 {
        self.state.vector.as_ref().map_or(0.0, |vector| vector.score(features))
    }

    #[inline]
    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        match self.state.coordinates.lying(x) {
            Some(features) if self.state.vector.is_some() => self.step_features(features, y, w),
            _ => self.take_new(x, y, w, scratch),
        }
    }

    /// Learn a row that needs a lookup or adds coordinates.
    fn take_new(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let (width, fresh) = (self.state.coordinates.width(), self.state.vector.is_none());
        let wider = matches!(x, Row::Plain(values) if values.len() > width);
        // A dense sum over more coordinates is added in another order: predict before they are added.
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
        let State { coordinates, vector, .. } = &mut self.state;
        let before = coordinates.grow(x);
        if let Err(fault) = check_width(R::NAME, coordinates.width(), self.spread) {
            coordinates.shrink(before);
            return Err(fault);
        }
        if vector.is_none() || coordinates.width() > before {
            let vector = vector.get_or_insert_with(WeightVector::new);
            vector.grow(coordinates.width(), self.spread, self.intercept, 1.0);
        }
        Ok(())
    }

    fn shrink(&mut self, width: usize, fresh: bool) {
        self.state.coordinates.shrink(width);
        if fresh {
            self.state.vector = None;
        } else if let Some(vector) = &mut self.state.vector {
            vector.shrink(width, self.intercept);
        }
    }

    #[inline]
    fn step_features(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let (spread, intercept, next) = (self.spread, self.intercept, &mut self.next);
        let Some(vector) = &mut self.state.vector else { return Err(Fault::state("weights are missing")) };
        vector.fetch(features, next);
        let score = vector.fetched_score(features, next);
        let mut missed = RegressionExample { error: y - score, variance: 0.0, w };
        if self.rule.idle(missed.error) {
            self.state.t += 1.0;
            return Ok(finite(score));
        }
        if self.rule.asks_variance() {
            missed.variance = vector.variance(features, spread, intercept, next);
        }
        if !(missed.error.is_finite() && missed.variance.is_finite()) {
            return Err(Fault::overflow(R::NAME));
        }
        if let Some(step) = self.rule.decide(&missed) {
            if !(step.sound() && vector.propose(features, step, spread, intercept, next)) {
                return Err(Fault::overflow(R::NAME));
            }
            vector.commit(features, spread, next);
        }
        self.state.t += 1.0;
        Ok(finite(score))
    }
}

impl<R: RegressionUpdate> Part for ResidualRegressor<R> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(R::NAME, bytes)?;
        state.coordinates.validate(R::NAME)?;
        let width = state.coordinates.width();
        require(R::NAME, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        check_width(R::NAME, width, self.spread)?;
        match &state.vector {
            Some(vector) => vector.validate(R::NAME, width, self.spread, self.intercept)?,
            None => require(R::NAME, width == 0, "coordinates without weights")?,
        }
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
        let Some(vector) = theirs.vector else { return Ok(()) };
        let known = self.state.coordinates.width();
        let fresh = self.state.vector.is_none();
        let indices = self.state.coordinates.join(&theirs.coordinates, merger.other.schema, merger.ours)?;
        let mut base_indices = Vec::new();
        if let (Some(base), Some(side)) = (&base, merger.base) {
            base_indices = self.state.coordinates.join(&base.coordinates, side.schema, merger.ours)?;
        }
        let width = self.state.coordinates.width();
        check_width(R::NAME, width, self.spread)?;
        let ours = self.state.vector.get_or_insert_with(WeightVector::new);
        ours.grow(width, self.spread, self.intercept, 1.0);
        let of_base = base.as_ref().and_then(|base| base.vector.as_ref()).map(|base| (base, &base_indices[..]));
        let fraction = if fresh { 0.0 } else { merger.our_fraction() };
        let form = (self.spread, self.spread.variance(), self.intercept);
        ours.merge(R::NAME, (&vector, &indices), of_base, known, fraction, form)?;
        self.state.t += theirs.t - base.map_or(0.0, |base| base.t);
        Ok(())
    }

    fn memory(&self) -> usize {
        let vector = self.state.vector.as_ref().map_or(0, WeightVector::memory);
        std::mem::size_of::<Self>()
            + vector
            + self.next.memory()
            + self.gathered.memory()
            + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        // A step of a full covariance costs as much as a copy of it.
        if let Spread::Full(_) = self.spread {
            return false;
        }
        let State { coordinates, vector, t } = &mut self.state;
        self.held = Some((coordinates.clone(), *t, vector.is_some()));
        vector.iter_mut().for_each(WeightVector::savepoint);
        true
    }

    fn rollback(&mut self) {
        self.gathered = GradientAccumulator::default();
        if let Some((coordinates, t, known)) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.t = t;
            self.state.vector = self.state.vector.take().filter(|_| known);
            self.state.vector.iter_mut().for_each(WeightVector::rollback);
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.vector.iter_mut().for_each(WeightVector::discard_savepoint);
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, mini_batches: R::MINI_BATCHES, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        match &self.state.vector {
            Some(vector) => vector.inspect(&self.state.coordinates, schema),
            None => json!({ "intercept": 0.0, "weights": {} }),
        }
    }
}

impl<R: RegressionUpdate> ResidualRegressor<R> {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let located = self.state.coordinates.locate(x, scratch);
        let score = self.score(located.features());
        located.release(scratch);
        finite(score)
    }
}

impl<R: RegressionUpdate> Learner<Numbers> for ResidualRegressor<R> {
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

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Numbers>> {
        R::MINI_BATCHES.then_some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

impl<R: RegressionUpdate> MiniBatch<Numbers> for ResidualRegressor<R> {
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        if self.state.vector.is_none() || self.state.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        let located = self.state.coordinates.locate(x, scratch);
        let (features, width) = (located.features(), self.state.coordinates.width());
        let Some(vector) = &mut self.state.vector else { return Err(Fault::state("weights are missing")) };
        vector.fetch(features, &mut self.next);
        let mut missed =
            RegressionExample { error: y - vector.fetched_score(features, &self.next), variance: 0.0, w };
        if self.rule.asks_variance() {
            missed.variance = vector.variance(features, self.spread, self.intercept, &mut self.next);
        }
        let along = self.rule.decide(&missed).map_or(0.0, |step| step.along);
        let added = self.gathered.add(features, along, width);
        located.release(scratch);
        // The caller rolls a faulty batch back.
        added.then_some(()).ok_or_else(|| Fault::overflow(R::NAME))
    }

    /// Take the mean of the steps.
    fn apply(&mut self) -> Result<()> {
        if self.gathered.examples == 0.0 {
            return Ok(());
        }
        let (features, constant) = self.gathered.mean();
        let Some(vector) = &mut self.state.vector else { return Err(Fault::state("weights are missing")) };
        vector.fetch(features, &mut self.next);
        let constant = if self.intercept { constant } else { 0.0 };
        let sound = vector.propose(features, Move::along(1.0), self.spread, false, &mut self.next)
            && self.next.shift(constant);
        if sound {
            vector.commit(features, self.spread, &mut self.next);
            self.state.t += 1.0;
        }
        self.gathered.clear();
        sound.then_some(()).ok_or_else(|| Fault::overflow(R::NAME))
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
