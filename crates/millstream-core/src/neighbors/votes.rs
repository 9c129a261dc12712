//! The weights of neighbours, and predictions from them.

use crate::fault::Result;
use crate::parameter::{Arguments, Default, Kind, Parameter};
use crate::row::{finite, most, Scratch, Want};
use crate::task::{ClassPrediction, Classes, Numbers, Task};

use super::metric::Metric;

pub const WEIGHTS: Parameter = Parameter::new(
    "weights",
    Kind::Choice(&["uniform", "distance"]),
    Default::Text("uniform"),
    "weights of neighbours: all equal, or 1 / distance",
);

/// Smaller distances have an inverse that may overflow, and count as 0.
const ZERO: f64 = 1e-300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    Uniform,
    Distance,
}

impl Weighting {
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(if arguments.text("weights")? == "uniform" { Weighting::Uniform } else { Weighting::Distance })
    }

    /// The weight of each neighbour, given sums of the metric in ascending order. Neighbours at distance 0 take all.
    pub fn weigh(self, metric: Metric, sums: &[f64], out: &mut Vec<f64>) {
        out.clear();
        if self == Weighting::Uniform {
            return out.resize(sums.len(), 1.0);
        }
        out.extend(sums.iter().map(|&sum| metric.distance(sum)));
        let exact = out.first().is_some_and(|&nearest| nearest < ZERO);
        for distance in out.iter_mut() {
            *distance = match exact {
                true => f64::from(u8::from(*distance < ZERO)),
                false => 1.0 / *distance,
            };
        }
        // Infinitely far neighbours are the only ones: their order is all there is.
        if out.iter().all(|&weight| weight == 0.0) {
            out.fill(1.0);
        }
    }
}

/// A task whose predictions are averages over neighbours.
pub trait Vote: Task {
    /// Whether a truth can be stored; of an untrusted file.
    fn is_storable(truth: Self::Truth) -> bool;
    /// One more than the largest class code of a truth.
    fn classes_with(truth: Self::Truth) -> usize;
    /// Combine the truths of neighbours by weight.
    fn combine(
        neighbors: impl Iterator<Item = (Self::Truth, f64)> + Clone,
        classes: usize,
        want: Want,
        out: &mut Self::Prediction,
        scratch: &mut Scratch,
    );
}

/// Weights whose sum is finite.
fn bounded_weights<T: Copy>(neighbors: impl Iterator<Item = (T, f64)> + Clone) -> (f64, f64) {
    let total: f64 = neighbors.clone().map(|(_, w)| w).sum();
    if total.is_finite() {
        return (1.0, total);
    }
    let largest = neighbors.clone().fold(0.0, |largest: f64, (_, w)| largest.max(finite(w)));
    let factor = 0.5 / largest;
    (factor, neighbors.map(|(_, w)| finite(w) * factor).sum())
}

impl Vote for Classes {
    fn is_storable(truth: u32) -> bool {
        truth < 1 << 24
    }

    fn classes_with(truth: u32) -> usize {
        truth as usize + 1
    }

    fn combine(
        neighbors: impl Iterator<Item = (u32, f64)> + Clone,
        classes: usize,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) {
        out.clear();
        if neighbors.clone().next().is_none() {
            return;
        }
        let (factor, total) = bounded_weights(neighbors.clone());
        let mut votes = scratch.take_numbers();
        votes.resize(classes, 0.0);
        for (class, w) in neighbors {
            if let Some(vote) = votes.get_mut(class as usize) {
                *vote += finite(w) * factor;
            }
        }
        votes.iter_mut().for_each(|vote| *vote /= total);
        out.class = most(&votes);
        if want == Want::Probabilities {
            out.probabilities.extend_from_slice(&votes);
        }
        scratch.give_numbers(votes);
    }
}

impl Vote for Numbers {
    fn is_storable(truth: f64) -> bool {
        truth.is_finite()
    }

    fn classes_with(_truth: f64) -> usize {
        0
    }

    fn combine(
        neighbors: impl Iterator<Item = (f64, f64)> + Clone,
        _classes: usize,
        _want: Want,
        out: &mut f64,
        _scratch: &mut Scratch,
    ) {
        *out = 0.0;
        if neighbors.clone().next().is_none() {
            return;
        }
        let (factor, total) = bounded_weights(neighbors.clone());
        let sum: f64 = neighbors.clone().map(|(y, w)| y * (finite(w) * factor)).sum();
        *out = match sum.is_finite() {
            true => sum / total,
            // Parts of the whole do not overflow where their sum does.
            false => finite(neighbors.map(|(y, w)| y * (finite(w) * factor / total)).sum()),
        };
    }
}
