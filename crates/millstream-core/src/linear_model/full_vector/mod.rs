//! One hyperplane whose optimiser uses all features of an example at once: one engine, with an update rule for each of
//! `optim.Adaptive`, `CoinBetting`, `OnlineNewtonStep` and `AdaGrad(full=True)`.
//!
//! The intercept is a coordinate whose feature is always 1; it has no learning rate of its own. A step is
//! atomic.

pub(super) mod adaptive;
pub mod adaptive_table;
mod coin_betting;
mod coordinate_cells;
mod full_adagrad;
mod newton_step;
mod table_rows;

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::losses::Loss;
use crate::optim::{self, Features, Penalty};
use crate::parameter::Arguments;
use crate::row::{finite, Row, Scratch, Sparse, Value};
use crate::schema::Schema;

use super::{engine, named, Coordinates, Engine};
pub use adaptive_table::{AdaptiveScore, AdaptiveTable, TableRow, TableSettings};
pub use table_rows::TableRows;

/// What an update rule receives of an example.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    pub features: Features<'a>,
    /// Whether there is an intercept.
    pub intercept: bool,
    /// The sample weight.
    pub w: f64,
    /// Of the loss at the score.
    pub slope: f64,
    /// Of the weighted loss.
    pub gradient: f64,
    /// Number of this step, from 1.
    pub t: f64,
    pub(super) y: f64,
    pub(super) score: f64,
    pub(super) loss: Loss,
    pub(super) clip: f64,
}

impl Example<'_> {
    /// Change of the score if it follows the loss for a time `tau`; at constant slope where the slope is clipped.
    fn flow(&self, tau: f64) -> f64 {
        if self.slope.abs() < self.clip {
            self.loss.flow(self.y, self.score, tau)
        } else {
            -self.slope * tau
        }
    }
}

/// The state of an update rule: weights and statistics of gradients.
pub trait Memory: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// With the intercept.
    fn score(&self, features: Features<'_>) -> f64;
    fn shrink(&mut self, width: usize);
    fn weight(&self, index: usize) -> f64;
    fn constant(&self) -> f64;
    /// Σ wᵢ xᵢ over the coordinates from `first` on, without the intercept, if there is a faster way than `score`.
    fn run(&self, _first: usize, _x: &[f64]) -> Option<f64> {
        None
    }
    /// Ask for what a step of these coordinates needs.
    fn prefetch(&self, _indices: &[u32]) {}
    /// See `Part::savepoint`; likewise `rollback` and `commit`.
    fn savepoint(&mut self) -> bool {
        false
    }
    fn rollback(&mut self) {}
    fn commit(&mut self) {}
    fn validate(&self, who: &str, width: usize) -> Result<()>;
    fn memory(&self) -> usize;
}

/// An optimiser with its buffers.
pub trait VectorUpdate: Clone + Debug + Send + Sync + 'static {
    type Memory: Memory;
    /// Maximum number of coordinates.
    const MOST: usize = usize::MAX;
    fn start(&self) -> Self::Memory;
    fn grow(&self, memory: &mut Self::Memory, width: usize);
    /// Returns false, and changes nothing, if the step would overflow.
    fn learn(&mut self, memory: &mut Self::Memory, example: &Example<'_>) -> bool;
    /// The learning rate, if scores with this rule may be stepped in an `AdaptiveTable`.
    fn rate_of_table(&self) -> Option<f64> {
        None
    }
    /// The state that a table copies.
    fn state_of_table(_memory: &mut Self::Memory) -> Option<&mut adaptive::State> {
        None
    }
    /// Bytes of the buffers.
    fn memory(&self) -> usize;
}

/// Builds a learner around an engine.
pub trait Build {
    fn build<E: Engine>(self, engine: E) -> Built;
}

/// A learner around the engine of `optimizer`.
pub fn with_engine(
    arguments: &Arguments<'_>,
    optimizer: optim::FullVectorOptimizer,
    for_classes: bool,
    build: impl Build,
) -> Result<Built> {
    let settings = FullVectorSettings::new(arguments, &optimizer, for_classes)?;
    Ok(match optimizer {
        optim::FullVectorOptimizer::Adaptive { rate, power, penalty } => {
            let penalty = penalty.plus(Penalty { l1: arguments.float("l1")?, l2: arguments.float("l2")? });
            build.build(FullVector::new(settings, adaptive::Adaptive::new(rate, power, penalty)))
        }
        optim::FullVectorOptimizer::CoinBetting { wealth } => {
            build.build(FullVector::new(settings, coin_betting::CoinBetting::new(wealth)))
        }
        optim::FullVectorOptimizer::OnlineNewtonStep { rate, epsilon } => {
            build.build(FullVector::new(settings, newton_step::NewtonStep::new(rate, epsilon)))
        }
        optim::FullVectorOptimizer::FullAdaGrad { rate, epsilon } => {
            build.build(FullVector::new(settings, full_adagrad::FullAdaGrad::new(rate, epsilon)))
        }
    })
}

/// Refuse parameters of a learner that have no meaning with an optimiser of this kind.
pub(super) fn refuse_unsupported(arguments: &Arguments<'_>, optimizer: &optim::FullVectorOptimizer) -> Result<()> {
    let (who, name) = (arguments.who, optimizer.name());
    let refuse = |words: String| Err(Fault::value(format!("{who}: {words}")));
    let (l1, l2) = (arguments.float("l1")?, arguments.float("l2")?);
    let has_penalties = matches!(optimizer, optim::FullVectorOptimizer::Adaptive { .. });
    if (l1 > 0.0 || l2 > 0.0) && !has_penalties {
        return refuse(format!("l1 and l2 must be 0 with {name}, got {l1} and {l2}"));
    }
    if arguments.boolean("averaging")? {
        return refuse(format!("averaging must be False with {name}"));
    }
    let rate = arguments.value("intercept_learning_rate")?;
    if *rate != super::hyperplane::INTERCEPT_LEARNING_RATE.default.value() {
        return refuse(format!(
            "intercept_learning_rate must be left at its default with {name}, which updates the intercept like the \
             other weights"
        ));
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct FullVectorSettings {
    who: String,
    optimizer: &'static str,
    loss: Loss,
    clip: f64,
    /// The initial intercept, if there is one.
    intercept: Option<f64>,
}

impl FullVectorSettings {
    fn new(arguments: &Arguments<'_>, optimizer: &optim::FullVectorOptimizer, for_classes: bool) -> Result<Self> {
        refuse_unsupported(arguments, optimizer)?;
        Ok(FullVectorSettings {
            who: arguments.who.into(),
            optimizer: optimizer.name(),
            loss: engine::loss(arguments, for_classes)?,
            clip: arguments.float("clip_gradient")?,
            intercept: match arguments.boolean("intercept")? {
                true => Some(arguments.float("intercept_init")?),
                false => None,
            },
        })
    }
}

#[derive(Clone, Debug)]
pub struct FullVector<R: VectorUpdate> {
    settings: FullVectorSettings,
    rule: R,
    state: State<R::Memory>,
    /// The coordinates and the number of steps at `savepoint`.
    held: Option<(Coordinates, f64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State<M> {
    coordinates: Coordinates,
    /// Number of steps.
    t: f64,
    memory: M,
}

impl<R: VectorUpdate> FullVector<R> {
    fn new(settings: FullVectorSettings, rule: R) -> Self {
        let state = State { coordinates: Coordinates::default(), t: 0.0, memory: rule.start() };
        FullVector { settings, rule, state, held: None }
    }

    #[inline]
    fn score_features(&self, features: Features<'_>) -> f64 {
        finite(self.state.memory.score(features) + self.settings.intercept.unwrap_or(0.0))
    }

    #[inline]
    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        match self.state.coordinates.lying(x) {
            Some(features) => self.descend(features, y, w),
            None => self.take_new(x, y, w, scratch),
        }
    }

    /// Learn a row that needs a lookup or adds coordinates.
    fn take_new(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let width = self.state.coordinates.width();
        // A dense sum over more coordinates is added in another order: predict before they are added.
        let wider = matches!(x, Row::Plain(values) if values.len() > width);
        let before = wider.then(|| self.score(x, scratch));
        if self.state.coordinates.may_grow(x) {
            self.grow(x)?;
        }
        let located = self.state.coordinates.locate(x, scratch);
        let learned = self.descend(located.features(), y, w);
        located.release(scratch);
        let score = learned.inspect_err(|_| self.shrink(width))?;
        Ok(before.unwrap_or(score))
    }

    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, memory, .. } = &mut self.state;
        let before = coordinates.grow(x);
        let width = coordinates.width();
        if width > R::MOST {
            coordinates.shrink(before);
            return Err(Fault::value(format!(
                "{}: {} supports up to {} features and nominal values, got {width}: its matrix grows with their \
                 square; use optim.Adaptive",
                self.settings.who,
                self.settings.optimizer,
                R::MOST
            )));
        }
        if width > before {
            self.rule.grow(memory, width);
        }
        Ok(())
    }

    fn shrink(&mut self, width: usize) {
        self.state.coordinates.shrink(width);
        self.state.memory.shrink(width);
    }

    #[inline]
    fn descend(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let FullVectorSettings { loss, clip, intercept, .. } = self.settings;
        let score = self.score_features(features);
        let steep = loss.slope(y, score);
        let example = Example {
            features,
            intercept: intercept.is_some(),
            w,
            slope: steep.clamp(-clip, clip),
            gradient: (steep * w).clamp(-clip, clip),
            t: self.state.t + 1.0,
            y,
            score,
            loss,
            clip,
        };
        if !self.rule.learn(&mut self.state.memory, &example) {
            return Err(Fault::overflow(&self.settings.who));
        }
        self.state.t = example.t;
        Ok(score)
    }
}

impl<R: VectorUpdate> Engine for FullVector<R> {
    fn loss(&self) -> Loss {
        self.settings.loss
    }

    fn steps(&self) -> f64 {
        self.state.t
    }

    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let located = self.state.coordinates.locate(x, scratch);
        let score = self.score_features(located.features());
        located.release(scratch);
        score
    }

    fn linear_part(&self, indices: &[u32], x: &[f64]) -> Option<f64> {
        let State { coordinates, memory, .. } = &self.state;
        let weights = || memory.score(Features::Sparse(indices, x)) - memory.constant();
        (!coordinates.mapped()).then(weights)
    }

    fn linear_run(&self, first: usize, x: &[f64]) -> Option<f64> {
        let State { coordinates, memory, .. } = &self.state;
        (!coordinates.mapped()).then(|| memory.run(first, x)).flatten()
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch).map(drop)
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        self.take(x, y, w, scratch)
    }

    #[inline]
    fn prefetch(&mut self, x: Sparse<'_>) {
        if !self.state.coordinates.mapped() {
            self.state.memory.prefetch(x.indices);
        }
    }

    fn steps_together(&self) -> bool {
        self.rule.rate_of_table().is_some()
    }

    fn adaptive_score(&mut self) -> Option<AdaptiveScore<'_>> {
        let FullVectorSettings { loss, clip, intercept, .. } = self.settings;
        let rate = self.rule.rate_of_table()?;
        let State { coordinates, t, memory } = &mut self.state;
        let width = (!coordinates.mapped()).then_some(coordinates.width())?;
        let settings = TableSettings { loss, rate, clip, intercept };
        Some(AdaptiveScore { settings, width, t, state: R::state_of_table(memory)? })
    }

    fn takes_batches(&self) -> bool {
        false
    }

    fn accumulate(&mut self, _x: Row<'_>, _y: f64, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Err(Fault::wrong_type(format!(
            "{}: {} learns from one example at a time",
            self.settings.who, self.settings.optimizer
        )))
    }

    fn apply(&mut self) -> Result<()> {
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        if !self.state.memory.savepoint() {
            return false;
        }
        self.held = Some((self.state.coordinates.clone(), self.state.t));
        true
    }

    fn rollback(&mut self) {
        if let Some((coordinates, t)) = self.held.take() {
            (self.state.coordinates, self.state.t) = (coordinates, t);
            self.state.memory.rollback();
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.memory.commit();
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = &self.settings.who;
        let state: State<R::Memory> = unpack(who, bytes)?;
        state.coordinates.validate(who)?;
        let width = state.coordinates.width();
        require(who, width <= R::MOST, "more coordinates than the optimiser supports")?;
        require(who, state.t.is_finite() && state.t >= 0.0, "a number is not finite")?;
        state.memory.validate(who, width)?;
        let constant = self.settings.intercept.is_some() || state.memory.constant() == 0.0;
        require(who, constant, "an intercept where there is none")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.state.memory.memory()
            + self.rule.memory()
            + self.state.coordinates.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let State { coordinates, memory, t } = &self.state;
        let weight =
            |slot: usize, value: Value| coordinates.of(slot, value).map(|index| memory.weight(index as usize));
        let intercept = memory.constant() + self.settings.intercept.unwrap_or(0.0);
        json!({ "steps": t, "intercept": intercept, "weights": named(schema, weight) })
    }
}

/// The gradient as a vector of `width` numbers, the intercept first.
fn write_out(example: &Example<'_>, width: usize, out: &mut Vec<f64>) {
    let slope = example.gradient;
    out.clear();
    out.push(if example.intercept { slope } else { 0.0 });
    match example.features {
        Features::Dense(x) => out.extend(x.iter().map(|x| slope * x)),
        Features::Sparse(indices, x) => {
            out.resize(width, 0.0);
            for (&index, &x) in indices.iter().zip(x) {
                if let Some(out) = out.get_mut(index as usize + 1) {
                    *out = slope * x;
                }
            }
        }
    }
    out.resize(width, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine without penalties, clipping or a start of the intercept.
    pub fn engine<R: VectorUpdate>(rule: R, loss: Loss, intercept: bool) -> FullVector<R> {
        let intercept = intercept.then_some(0.0);
        FullVector::new(
            FullVectorSettings { who: "test".into(), optimizer: "test", loss, clip: 1e12, intercept },
            rule,
        )
    }
}
