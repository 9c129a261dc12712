//! Confidence bounds of any regressor, from how far a trial round moves its prediction.
//!
//! RegCB (Foster, Agarwal, Dudík, Luo and Schapire, 2018, "Practical contextual bandits with regression oracles",
//! algorithm 3) takes the largest prediction that one more round of some weight can cause while the squared loss of all
//! rounds rises by at most Δ. For least squares, with the variance v = xᵀ P x of a prediction f, a round of weight 1 and
//! reward y moves f by the fraction s = v / (1 + v) of the way to y, and the bound is f + √(Δ v). So a trial round tells
//! v = s / (1 − s) of any online regressor: exactly for least squares, and otherwise as if it were that. The trial has a
//! reward outside of the range, as in VW's search, and is taken back.

use crate::learner::Learner;
use crate::row::{Row, Scratch, Want};
use crate::task::Numbers;

use super::regression::{Buffers, Regression};
use super::round::Round;

/// A prediction that follows a trial by this fraction has no bound within the range.
const MOST: f64 = 1.0 - 1e-9;

/// What the bounds of a round depend on besides the model; rewards are less the middle of their range.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// As declared: bounds stay within it.
    pub range: Option<(f64, f64)>,
    /// The least and the largest reward so far.
    pub seen: (f64, f64),
    pub size: f64,
    /// Δ.
    pub delta: f64,
}

impl Bounds {
    /// Write the upper bound of each action of a round, or the lower one.
    pub fn write(
        &self,
        model: &Regression,
        round: &Round,
        upper: bool,
        out: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) {
        let mut trial = model.models()[0].duplicate();
        let mut buffers = Buffers::default();
        let (low, high) = self.range.unwrap_or(self.seen);
        let (sign, target) = if upper { (1.0, high + self.size) } else { (-1.0, low - self.size) };
        out.clear();
        for index in 0..round.len() {
            let row = model.trial_row(round, index, &mut buffers);
            let (before, after) = moved(&mut trial, row, target, scratch);
            let part = (after - before) / (target - before);
            let s = if part.is_nan() { MOST } else { part.clamp(0.0, MOST) };
            let bound = before + sign * (self.delta * s / (1.0 - s)).sqrt();
            out.push(match self.range {
                Some((low, high)) => bound.clamp(low, high),
                None => bound.clamp(f64::MIN, f64::MAX),
            });
        }
    }
}

/// The prediction of a row before and after a round of weight 1, which is taken back.
fn moved(trial: &mut Box<dyn Learner<Numbers>>, row: Row<'_>, target: f64, scratch: &mut Scratch) -> (f64, f64) {
    let (mut before, mut after) = (0.0, f64::NAN);
    trial.predict(row, Want::Class, &mut before, scratch);
    let copy = if trial.savepoint() { None } else { Some(trial.duplicate()) };
    if trial.learn(row, target, 1.0, scratch).is_ok() {
        trial.predict(row, Want::Class, &mut after, scratch);
    }
    match copy {
        Some(copy) => *trial = copy,
        None => trial.rollback(),
    }
    (before, after)
}
