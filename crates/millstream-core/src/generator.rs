//! A generator draws the examples of a synthetic stream.

use crate::synth::Form;

/// An endless stream of examples. It has no saved state: it is its description and how far it has been drawn.
pub trait Generator: Send + Sync {
    /// The features, their kinds and the classes of all examples.
    fn form(&self) -> &Form;
    /// Write the features of the next example, nominal ones as codes, NaN for a missing one; gives its target, a
    /// class by its code. `x` is as wide as the form.
    fn draw(&mut self, x: &mut [f64]) -> f64;
    /// Draw as many examples as there are targets to write, row after row. Here the calls are direct.
    fn fill(&mut self, x: &mut [f64], y: &mut [f64]) {
        let width = self.form().width();
        for (x, y) in x.chunks_exact_mut(width).zip(y) {
            *y = self.draw(x);
        }
    }
    /// The target that the rule gives to features, without noise and as the stream begins, where the target is a
    /// function of features; `x` is as wide as the form.
    fn rule(&self, _x: &[f64]) -> Option<f64> {
        None
    }
}
