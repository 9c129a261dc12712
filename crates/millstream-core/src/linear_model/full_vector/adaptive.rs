//! Scale-free, importance-aware steps: VW's default updates.
//!
//! It combines three ideas. **Normalised** (Ross, Mineiro and Langford, 2013, "Normalized online learning", algorithm
//! 2, NAG): mᵢ is the largest |xᵢ| so far, and weights are in units of it; at a new maximum the weight shrinks so
//! that its contribution to the score stays the same. **Adaptive**: each weight has a rate that falls with the
//! squares of its gradients. **Importance-aware**: the score follows the gradient flow of its loss (losses/flow.rs).
//! With the slope s = ∂ℓ/∂z of an example of weight ω, and q = xᵢ / mᵢ:
//! ```text
//! aᵢ ← aᵢ + ω s² q²,    N ← N + ω Σ q²,    T ← T + ω,    k = √(T / N)
//! c = k Σ q² / √aᵢ,     d = flow(z, η ω c),     wᵢ ← wᵢ + (d / c) k (q / mᵢ) / √aᵢ
//! ```
//! aᵢ is VW's sum of squared gradients over mᵢ², which neither overflows nor vanishes with the scale of a feature.
//! Predictions do not depend on the unit of any feature: multiplied by u, a feature has m times u, the same q and
//! a, and w over u. As in VW, and unlike in the paper, an example is predicted before its new maxima are recorded.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use super::coordinate_cells::CoordinateCells;
use super::{Example, Memory, VectorUpdate};
use crate::optim::Features;

#[derive(Clone, Debug, Default)]
pub struct Adaptive {
    rate: f64,
    next: Vec<[f64; 3]>,
}

impl Adaptive {
    pub fn new(rate: f64) -> Self {
        Adaptive { rate, next: Vec::new() }
    }
}

/// A feature smaller than this counts as 0: the inverse of its maximum would overflow.
const LEAST: f64 = 1e-300;

/// Of each weight: w, a, m.
const FRESH: [f64; 3] = [0.0; 3];

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    cells: CoordinateCells<3>,
    /// N: of the squared, normalised features.
    squares: f64,
    /// T: of the sample weights.
    total: f64,
    #[serde(skip)]
    held: [f64; 2],
}

impl VectorUpdate for Adaptive {
    type Memory = State;

    fn start(&self) -> State {
        // The feature of the intercept is always 1, and so is its maximum.
        State { cells: CoordinateCells::new([0.0, 0.0, 1.0]), squares: 0.0, total: 0.0, held: [0.0; 2] }
    }

    fn grow(&self, state: &mut State, width: usize) {
        state.cells.grow(width, FRESH);
    }

    fn learn(&mut self, state: &mut State, example: &Example<'_>) -> bool {
        let Example { features, w: weight, slope, .. } = *example;
        let pull = weight * slope * slope;
        if pull == 0.0 {
            return true;
        }
        let (mut reach, mut norm) = (0.0, 0.0);
        let mut look = |cell: &mut [f64; 3], x: f64| {
            let [w, a, m] = cell;
            let size = x.abs();
            if size < LEAST {
                return;
            }
            if size > *m {
                let ratio = *m / size;
                *w *= ratio;
                *a *= ratio * ratio;
                *m = size;
            }
            let q = x / *m;
            *a += pull * q * q;
            reach += q * q / a.sqrt();
            norm += q * q;
        };
        state.cells.propose(features, &mut self.next, &mut look);
        let mut constant = state.cells.constant;
        if example.intercept {
            look(&mut constant, 1.0);
        }
        if norm == 0.0 {
            return true;
        }
        let (squares, total) = (state.squares + weight * norm, state.total + weight);
        let common = (total / squares).sqrt();
        reach *= common;
        let along = example.flow(self.rate * weight * reach) / reach * common;
        let step = |cell: &mut [f64; 3], x: f64| {
            let [w, a, m] = cell;
            *w += along * (x / *m) / a.sqrt() / *m;
        };
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        for (cell, &x) in self.next.iter_mut().zip(x) {
            if x.abs() >= LEAST {
                step(cell, x);
            }
        }
        if example.intercept {
            step(&mut constant, 1.0);
        }
        let sound =
            all_finite(self.next.as_flattened()) && all_finite(&constant) && all_finite(&[squares, total, along]);
        if sound {
            state.cells.commit(features, &mut self.next, constant);
            (state.squares, state.total) = (squares, total);
        }
        sound
    }

    fn memory(&self) -> usize {
        24 * self.next.capacity()
    }
}

impl Memory for State {
    fn score(&self, features: Features<'_>) -> f64 {
        self.cells.score(features)
    }

    fn shrink(&mut self, width: usize) {
        self.cells.shrink(width);
    }

    fn weight(&self, index: usize) -> f64 {
        self.cells.weight(index)
    }

    fn constant(&self) -> f64 {
        self.cells.constant[0]
    }

    fn savepoint(&mut self) -> bool {
        self.held = [self.squares, self.total];
        self.cells.savepoint();
        true
    }

    fn rollback(&mut self) {
        [self.squares, self.total] = self.held;
        self.cells.rollback();
    }

    fn commit(&mut self) {
        self.cells.discard_savepoint();
    }

    fn validate(&self, who: &str, width: usize) -> Result<()> {
        // A weight that was stepped has a maximum and a sum of squares.
        let sound = |cell: &[f64; 3]| match *cell {
            [w, a, m] => a >= 0.0 && m >= 0.0 && ((a > 0.0 && m > 0.0) || w == 0.0),
        };
        self.cells.validate(who, width, sound)?;
        let sums = [self.squares, self.total];
        require(who, all_finite(&sums) && sums.iter().all(|&sum| sum >= 0.0), "a sum of weights is out of range")
    }

    fn memory(&self) -> usize {
        self.cells.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::engine;
    use super::*;
    use crate::linear_model::Engine as _;
    use crate::losses::Loss;
    use crate::row::{Row, Scratch};

    #[test]
    fn two_steps_by_hand() {
        let mut model = engine(Adaptive::new(0.5), Loss::Squared, false);
        let mut scratch = Scratch::default();
        // x = 2, y = 1, z = 0: s = 2 (0 − 1) = −2. m = 2, q = 1, a = 1 · 4 · 1 = 4, N = 1, T = 1, k = 1, c = 1 /
        // √4 = 0.5. τ = 0.5 · 0.5 = 0.25: the error −1 shrinks to e^−0.5 of itself, d = 1 − e^−0.5, and the score
        // with it.
        model.learn(Row::Plain(&[2.0]), 1.0, 1.0, &mut scratch).expect("it learns");
        let z = 1.0 - (-0.5f64).exp();
        assert!((model.score(Row::Plain(&[2.0]), &mut scratch) - z).abs() < 1e-15);
        // x = −4, y = 0, ω = 3: the score is −2 z = −0.787, s = −4 z. m: 2 → 4, so w = z / 2 becomes z / 4 and a
        // becomes 1; q = −1, a = 1 + 3 · 16 z², N = T = 4, k = 1, c = 1 / √a, τ = 0.5 · 3 · c, d = 2 z (1 −
        // e^−2τ), w = z / 4 + d / c · (−1 / 4) / √a = (z − d) / 4.
        model.learn(Row::Plain(&[-4.0]), 0.0, 3.0, &mut scratch).expect("it learns");
        let tau = 1.5 / (1.0 + 48.0 * z * z).sqrt();
        let w = (z - 2.0 * z * (1.0 - (-2.0 * tau).exp())) / 4.0;
        assert!((model.score(Row::Plain(&[1.0]), &mut scratch) - w).abs() < 1e-15);
    }
}
