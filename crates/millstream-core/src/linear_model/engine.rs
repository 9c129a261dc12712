//! The engine of linear and logistic regression: one hyperplane that minimises a loss, updated per coordinate (`Linear`)
//! or with all features at once (`FullVector`).

use serde_json::Value as Json;

use crate::declaration::Built;
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::losses::Loss;
use crate::merging::Merger;
use crate::parameter::Arguments;
use crate::row::{Row, Scratch, Sparse};
use crate::schema::Schema;

use super::full_vector::AdaptiveScore;

pub trait Engine: Clone + Send + Sync + 'static {
    fn loss(&self) -> Loss;
    /// Number of steps.
    fn steps(&self) -> f64;
    /// The score to predict with.
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64;
    /// See `Learner::linear_part`.
    fn linear_part(&self, _indices: &[u32], _x: &[f64]) -> Option<f64> {
        None
    }
    /// See `Learner::linear_run`.
    fn linear_run(&self, _first: usize, _x: &[f64]) -> Option<f64> {
        None
    }
    /// One step on the loss at (x, y).
    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// The score to predict with, then one step.
    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64>;
    /// The score of `asked` to predict with, then one step on the loss at (x, y).
    fn step_apart(&mut self, asked: Row<'_>, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let score = self.score(asked, scratch);
        self.learn(x, y, w, scratch)?;
        Ok(score)
    }
    /// See `Abilities::steps_together`.
    fn steps_together(&self) -> bool {
        false
    }
    /// See `Learner::adaptive_score`.
    fn adaptive_score(&mut self) -> Option<AdaptiveScore<'_>> {
        None
    }
    /// Whether mini-batch steps are supported.
    fn takes_batches(&self) -> bool;
    /// Add the gradient at (x, y) and the current weights to the mini-batch.
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// One step along the mean of the accumulated gradients.
    fn apply(&mut self) -> Result<()>;
    /// See `Part::prefetch`.
    fn prefetch(&mut self, _x: Sparse<'_>) {}
    /// See `Part::savepoint`; likewise `rollback` and `commit`.
    fn savepoint(&mut self) -> bool;
    fn rollback(&mut self);
    fn commit(&mut self);
    /// See `Part::exchange`.
    fn exchange(&mut self, _exchange: &mut Exchange<'_>) -> bool {
        false
    }
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    /// See `Part::merge_state`.
    fn merge(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }
    fn memory(&self) -> usize;
    fn inspect(&self, schema: &Schema) -> Json;
}

/// The argument `loss`, which must be a classification or a regression loss.
pub fn loss(arguments: &Arguments<'_>, for_classes: bool) -> Result<Loss> {
    match arguments.part("loss")? {
        Built::Loss(loss) if loss.for_classes() == for_classes => Ok(loss),
        _ => Err(Fault::value(format!(
            "{}: loss must be a {} loss, got {}",
            arguments.who,
            if for_classes { "classification" } else { "regression" },
            arguments.value("loss")?["name"].as_str().unwrap_or("another component"),
        ))),
    }
}
