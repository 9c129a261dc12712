//! The per-coordinate engine of linear and logistic regression: one hyperplane that minimises a loss.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::losses::{logistic_slope, Loss};
use crate::merging::{Merger, Side};
use crate::optim::Features;
use crate::parameter::Arguments;
use crate::row::{finite, Row, Scratch, Sparse};
use crate::schema::Schema;

use super::gradient_accumulator::GradientAccumulator;
use super::hyperplane::{Hyperplane, HyperplaneSettings};
use super::{engine, Coordinates, Engine};

#[derive(Clone, Debug)]
pub struct Linear {
    settings: HyperplaneSettings,
    loss: Loss,
    state: State,
    spare: Hyperplane,
    /// The coordinates as they were at `savepoint`.
    held: Option<Coordinates>,
    gathered: GradientAccumulator,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    hyperplane: Hyperplane,
}

impl Linear {
    /// Build from arguments with a `loss`, which must be a classification or a regression loss.
    pub fn new(arguments: &Arguments<'_>, for_classes: bool) -> Result<Self> {
        let loss = engine::loss(arguments, for_classes)?;
        let settings = HyperplaneSettings::new(arguments)?;
        let intercept = if settings.intercept_rate.is_some() { arguments.float("intercept_init")? } else { 0.0 };
        Ok(Linear {
            settings,
            loss,
            state: State { hyperplane: Hyperplane::new(intercept), ..State::default() },
            spare: Hyperplane::default(),
            held: None,
            gathered: GradientAccumulator::default(),
        })
    }

    #[inline]
    fn take<const PREDICT: bool>(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        if let Some(features) = self.state.coordinates.lying(x) {
            return self.descend::<PREDICT>(features, y, w);
        }
        let before = self.state.coordinates.width();
        if self.state.coordinates.may_grow(x) {
            self.state.coordinates.grow(x);
            self.grow(x);
        }
        let located = self.state.coordinates.locate(x, scratch);
        let score = self.descend::<PREDICT>(located.features(), y, w).inspect_err(|_| self.shrink(before));
        located.release(scratch);
        score
    }

    /// Whether a row has exactly the known coordinates, and a step on it is one of plain gradient descent on all weights:
    /// the most common case.
    #[inline(always)]
    fn is_plain(&self, x: &[f64]) -> bool {
        let State { coordinates, hyperplane } = &self.state;
        self.settings.plain && coordinates.is_all_of(x) && hyperplane.weights.steps_plainly(x.len())
    }

    /// The score of `asked`, by default `x`, then one step on the loss at (x, y), without the branches of `descend`. The
    /// caller has checked that both rows are plain.
    #[inline(always)]
    fn step_plain(&mut self, asked: Option<&[f64]>, x: &[f64], y: f64, w: f64) -> Result<f64> {
        let hyperplane = &mut self.state.hyperplane;
        let score = hyperplane.plain_score(x);
        let predicted = finite(asked.map_or(score, |asked| hyperplane.plain_score(asked)));
        let slope = match self.loss {
            // The most common loss, without a call.
            Loss::Logistic => logistic_slope(y, score),
            loss => loss.slope(y, score),
        };
        match hyperplane.step_plain(&self.settings, x, self.settings.clipped(slope * w), &mut self.spare) {
            true => Ok(predicted),
            false => Err(Fault::overflow(&self.settings.who)),
        }
    }

    /// Make room for new coordinates, in the layout that a step of `x` needs.
    fn grow(&mut self, x: Row<'_>) {
        let State { coordinates, hyperplane } = &mut self.state;
        let (width, rule) = (coordinates.width(), self.settings.optimizer.rule);
        match x {
            Row::Sparse(_) => hyperplane.weights.grow_together(width, rule, self.settings.averaging),
            _ => hyperplane.weights.grow(width, rule, self.settings.averaging),
        }
    }

    fn shrink(&mut self, before: usize) {
        self.state.coordinates.shrink(before);
        self.state.hyperplane.weights.shrink(before);
        self.gathered.shrink(before);
    }

    /// The step itself; the score to predict with is computed only if requested.
    #[inline]
    fn descend<const PREDICT: bool>(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let hyperplane = &mut self.state.hyperplane;
        match features {
            Features::Dense(_) => hyperplane.weights.lie_apart(),
            Features::Sparse(..) => hyperplane.weights.lie_together(),
        }
        let at_weights = self.settings.optimizer.rule.look_ahead() == 0.0;
        let (fetched, score) = match features {
            Features::Sparse(indices, x) if at_weights => {
                (true, hyperplane.fetch_score(indices, x, &mut self.spare))
            }
            _ => (false, hyperplane.gradient_score(&self.settings, features)),
        };
        let predicted = match PREDICT {
            false => 0.0,
            true if self.settings.shares_score() => finite(score),
            true => hyperplane.score(features),
        };
        let slope = self.settings.clipped(self.loss.slope(y, score) * w);
        if !hyperplane.propose_from(&self.settings, features, slope, fetched, &mut self.spare) {
            return Err(Fault::overflow(&self.settings.who));
        }
        hyperplane.commit(features, &mut self.spare);
        Ok(predicted)
    }
}

impl Engine for Linear {
    fn loss(&self) -> Loss {
        self.loss
    }

    fn steps(&self) -> f64 {
        self.state.hyperplane.t
    }

    #[inline]
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        if let Row::Plain(x) = x {
            if self.is_plain(x) {
                return finite(self.state.hyperplane.plain_score(x));
            }
        }
        let located = self.state.coordinates.locate(x, scratch);
        let score = self.state.hyperplane.score(located.features());
        located.release(scratch);
        score
    }

    fn linear_part(&self, indices: &[u32], x: &[f64]) -> Option<f64> {
        let State { coordinates, hyperplane } = &self.state;
        let weights = || hyperplane.weights.dot(Features::Sparse(indices, x), hyperplane.t);
        (!coordinates.mapped()).then(weights)
    }

    #[inline]
    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        if let Row::Plain(x) = x {
            if self.is_plain(x) {
                return self.step_plain(None, x, y, w).map(drop);
            }
        }
        self.take::<false>(x, y, w, scratch).map(drop)
    }

    #[inline]
    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        if let Row::Plain(x) = x {
            if self.is_plain(x) {
                return self.step_plain(None, x, y, w);
            }
        }
        // A dense sum over more coordinates is added in another order: predict before they are added.
        if matches!(x, Row::Plain(values) if values.len() > self.state.coordinates.width()) {
            let score = self.score(x, scratch);
            self.learn(x, y, w, scratch)?;
            return Ok(score);
        }
        self.take::<true>(x, y, w, scratch)
    }

    #[inline]
    fn step_apart(&mut self, asked: Row<'_>, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        if let (Row::Plain(asked), Row::Plain(x)) = (asked, x) {
            if self.is_plain(asked) && self.is_plain(x) {
                return self.step_plain(Some(asked), x, y, w);
            }
        }
        let score = self.score(asked, scratch);
        self.learn(x, y, w, scratch)?;
        Ok(score)
    }

    fn takes_batches(&self) -> bool {
        true
    }

    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let before = self.state.coordinates.width();
        if self.state.coordinates.may_grow(x) {
            self.state.coordinates.grow(x);
            self.grow(x);
        }
        let State { coordinates, hyperplane } = &self.state;
        let located = coordinates.locate(x, scratch);
        let score = hyperplane.gradient_score(&self.settings, located.features());
        let slope = self.settings.clipped(self.loss.slope(y, score) * w);
        let sound = self.gathered.add(located.features(), slope, coordinates.width());
        located.release(scratch);
        if !sound {
            self.shrink(before);
            return Err(Fault::overflow(&self.settings.who));
        }
        Ok(())
    }

    fn apply(&mut self) -> Result<()> {
        if self.gathered.examples == 0.0 {
            return Ok(());
        }
        let hyperplane = &mut self.state.hyperplane;
        let (features, slope) = self.gathered.mean();
        match features {
            Features::Dense(_) => hyperplane.weights.lie_apart(),
            Features::Sparse(..) => hyperplane.weights.lie_together(),
        }
        let sound = hyperplane.propose_apart(&self.settings, features, [1.0, slope], false, &mut self.spare);
        if sound {
            hyperplane.commit(features, &mut self.spare);
        }
        self.gathered.clear();
        sound.then_some(()).ok_or_else(|| Fault::overflow(&self.settings.who))
    }

    #[inline]
    fn prefetch(&mut self, x: Sparse<'_>) {
        self.state.hyperplane.weights.prefetch(x.indices);
    }

    fn savepoint(&mut self) -> bool {
        self.held = Some(self.state.coordinates.clone());
        self.state.hyperplane.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.gathered.clear();
        if let Some(coordinates) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.hyperplane.rollback();
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.hyperplane.weights.discard_savepoint();
    }

    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        self.gathered.examples == 0.0
            && self.state.coordinates.are_slots(exchange)
            && self.state.hyperplane.exchange(exchange)
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(&self.settings.who, bytes)?;
        state.coordinates.validate(&self.settings.who)?;
        state.hyperplane.validate(&self.settings, state.coordinates.width())?;
        self.state = state;
        Ok(())
    }

    fn merge(&mut self, merger: &Merger<'_>) -> Result<()> {
        let rule = self.settings.optimizer.rule;
        let read = |side: Side<'_>| -> Result<State> {
            let mut there = self.clone();
            there.load(side.state)?;
            // The classes of a regressor have no codes.
            if side.flips_classes() {
                there.state.hyperplane.negate(rule);
            }
            Ok(there.state)
        };
        let theirs = read(merger.other)?;
        let base = merger.base.map(read).transpose()?;
        let State { coordinates, hyperplane } = &mut self.state;
        let known = hyperplane.weights.len();
        let indices = coordinates.join(&theirs.coordinates, merger.other.schema, merger.ours)?;
        let base_indices = match (&base, merger.base) {
            (Some(base), Some(side)) => coordinates.join(&base.coordinates, side.schema, merger.ours)?,
            _ => Vec::new(),
        };
        hyperplane.weights.lie_apart();
        hyperplane.weights.grow(coordinates.width(), rule, self.settings.averaging);
        let base = base.as_ref().map(|base| (&base.hyperplane, &base_indices[..]));
        self.gathered.clear();
        let fraction = merger.our_fraction();
        hyperplane.merge(&self.settings, (&theirs.hyperplane, &indices), base, known, fraction)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.state.hyperplane.weights.memory()
            + self.spare.weights.memory()
            + self.gathered.memory()
            + self.state.coordinates.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        self.state.hyperplane.inspect(&self.state.coordinates, schema)
    }
}
