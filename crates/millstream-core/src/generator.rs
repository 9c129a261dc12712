//! Generators: they draw the examples of synthetic streams.

use crate::synth::StreamSchema;

/// An endless stream of examples. It has no saved state.
pub trait Generator: Send + Sync {
    /// The features, their kinds and the classes of all examples.
    fn schema(&self) -> &StreamSchema;
    /// Write the features of the next example, nominal ones as codes, NaN for a missing one; returns its target, a
    /// class by its code. `x` is as wide as the schema.
    fn draw(&mut self, x: &mut [f64]) -> f64;
    /// Draw as many examples as there are targets to write, row after row. Here the calls are direct.
    fn fill(&mut self, x: &mut [f64], y: &mut [f64]) {
        let width = self.schema().width();
        for (x, y) in x.chunks_exact_mut(width).zip(y) {
            *y = self.draw(x);
        }
    }
    /// The target of features by the rule at the start of the stream, without noise, if the target is a function of
    /// the features; `x` is as wide as the schema.
    fn rule(&self, _x: &[f64]) -> Option<f64> {
        None
    }
}
