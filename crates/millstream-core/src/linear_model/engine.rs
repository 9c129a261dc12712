//! What follows a loss downhill inside linear and logistic regression: one hyperplane, stepped weight by weight
//! (`Linear`) or as a whole (`Whole`).

use serde_json::Value as Json;

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::losses::Loss;
use crate::parameter::Arguments;
use crate::row::{Row, Scratch, Sparse};
use crate::schema::Schema;

pub trait Engine: Clone + Send + Sync + 'static {
    fn loss(&self) -> Loss;
    /// Steps taken.
    fn steps(&self) -> f64;
    /// The score to predict with.
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64;
    /// One step on the loss at (x, y).
    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// The score to predict with, then one step.
    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64>;
    /// Whether there are steps of mini-batches.
    fn takes_batches(&self) -> bool;
    /// Add the gradient at (x, y), at the weights as they are, to those of a mini-batch.
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()>;
    /// One step down the mean of the gradients that were gathered.
    fn apply(&mut self) -> Result<()>;
    /// See `Part::prefetch`.
    fn prefetch(&mut self, _x: Sparse<'_>) {}
    /// See `Part::savepoint`; likewise `rollback` and `commit`.
    fn savepoint(&mut self) -> bool;
    fn rollback(&mut self);
    fn commit(&mut self);
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    fn memory(&self) -> usize;
    fn inspect(&self, schema: &Schema) -> Json;
}

/// The argument `loss`, which must be for classes or for numbers.
pub fn loss(arguments: &Arguments<'_>, for_classes: bool) -> Result<Loss> {
    match arguments.part("loss")? {
        Built::Loss(loss) if loss.for_classes() == for_classes => Ok(loss),
        _ => Err(Fault::value(format!(
            "{}: loss must be one for {}, got {}",
            arguments.who,
            if for_classes { "classes" } else { "numbers" },
            arguments.value("loss")?["name"].as_str().unwrap_or("another part"),
        ))),
    }
}
