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
//! a, and w over u. With another power p than 1/2, √aᵢ becomes aᵢ^p, k = (T / N)^(1 − p), and a new maximum shrinks
//! the weight by its ratio to the power of 2 − 2 p, as VW's `--power_t` does.
//!
//! Penalties are a proximal step of the weights of the present features, in the metric of the step (composite mirror
//! descent, Duchi, Hazan and Singer, 2011, eq. 4): with the rate ρᵢ = η ω k / (aᵢ^p mᵢ²) of a weight,
//! wᵢ ← sign(wᵢ) max(0, |wᵢ| − λ₁ ρᵢ) / (1 + λ₂ ρᵢ). The intercept has no penalty. VW instead shrinks all weights by
//! the same amount at each example. As in VW, and unlike in the paper, an example is predicted before its new maxima are recorded.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use super::coordinate_cells::CoordinateCells;
use super::{Example, Memory, VectorUpdate};
use crate::optim::{shrunk, Features, Penalty};

#[derive(Clone, Debug)]
pub struct Adaptive {
    rate: f64,
    power: f64,
    penalty: Penalty,
    next: Vec<[f64; 3]>,
    /// Of each feature that counts: q and aᵢ^p.
    units: Vec<[f64; 2]>,
    proposal: Proposal,
}

/// What a step changes besides the weights of features.
#[derive(Clone, Copy, Debug, Default)]
struct Proposal {
    constant: [f64; 3],
    squares: f64,
    total: f64,
}

/// What `Adaptive::propose` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposed {
    /// A step, for `Adaptive::commit`.
    Step,
    /// A gradient of 0: the state stays as it is.
    Nothing,
    Overflow,
}

impl Adaptive {
    pub fn new(rate: f64, power: f64, penalty: Penalty) -> Self {
        Adaptive { rate, power, penalty, next: Vec::new(), units: Vec::new(), proposal: Proposal::default() }
    }

    /// Compute a step, and change nothing.
    #[inline]
    pub fn propose(&mut self, state: &State, example: &Example<'_>) -> Proposed {
        let Example { features, w: weight, slope, .. } = *example;
        let pull = weight * slope * slope;
        if pull == 0.0 {
            return Proposed::Nothing;
        }
        let (power, is_root) = (self.power, self.power == 0.5);
        // A square root is several times as fast as a power.
        let falling = |a: f64| if is_root { a.sqrt() } else { a.powf(power) };
        let (mut reach, mut norm) = (0.0, 0.0);
        self.units.clear();
        let units = &mut self.units;
        let mut look = |cell: &mut [f64; 3], x: f64| {
            let [w, a, m] = cell;
            let size = x.abs();
            if size < LEAST {
                return;
            }
            if size > *m {
                let ratio = *m / size;
                *w *= if is_root { ratio } else { ratio.powf(2.0 - 2.0 * power) };
                *a *= ratio * ratio;
                *m = size;
            }
            let q = x / *m;
            *a += pull * q * q;
            let fallen = falling(*a);
            units.push([q, fallen]);
            reach += q * q / fallen;
            norm += q * q;
        };
        state.cells.propose(features, &mut self.next, &mut look);
        let mut constant = state.cells.constant;
        if example.intercept {
            look(&mut constant, 1.0);
        }
        if norm == 0.0 {
            return Proposed::Nothing;
        }
        let (squares, total) = (state.squares + weight * norm, state.total + weight);
        let common = match is_root {
            true => (total / squares).sqrt(),
            false => (total / squares).powf(1.0 - power),
        };
        reach *= common;
        let along = example.flow(self.rate * weight * reach) / reach * common;
        let step = |[w, _, m]: &mut [f64; 3], [q, fallen]: [f64; 2]| *w += along * q / fallen / *m;
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        let counting = self.next.iter_mut().zip(x).filter(|(_, x)| x.abs() >= LEAST);
        for ((cell, _), &unit) in counting.zip(&self.units) {
            step(cell, unit);
        }
        if !self.penalty.none() {
            let Penalty { l1, l2 } = self.penalty;
            for (cell, _) in self.next.iter_mut().zip(x).filter(|(_, x)| x.abs() >= LEAST) {
                let [w, a, m] = cell;
                let rate = self.rate * weight * common / falling(*a) / *m / *m;
                *w = shrunk(*w, if l1 > 0.0 { l1 * rate } else { 0.0 });
                *w /= 1.0 + if l2 > 0.0 { l2 * rate } else { 0.0 };
            }
        }
        if let Some(&unit) = self.units.last().filter(|_| example.intercept) {
            step(&mut constant, unit);
        }
        let sound =
            all_finite(self.next.as_flattened()) && all_finite(&constant) && all_finite(&[squares, total, along]);
        self.proposal = Proposal { constant, squares, total };
        match sound {
            true => Proposed::Step,
            false => Proposed::Overflow,
        }
    }

    /// Carry out the step that `propose` computed for these features.
    #[inline]
    pub fn commit(&mut self, state: &mut State, features: Features<'_>) {
        state.cells.commit(features, &mut self.next, self.proposal.constant);
        (state.squares, state.total) = (self.proposal.squares, self.proposal.total);
    }
}

/// A feature smaller than this counts as 0: the inverse of its maximum would overflow.
pub(super) const LEAST: f64 = 1e-300;

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

impl State {
    pub(super) fn cells(&self) -> &CoordinateCells<3> {
        &self.cells
    }

    pub(super) fn cells_mut(&mut self) -> &mut CoordinateCells<3> {
        &mut self.cells
    }

    /// N and T.
    pub(super) fn sums(&self) -> [f64; 2] {
        [self.squares, self.total]
    }

    pub(super) fn set_sums(&mut self, sums: [f64; 2]) {
        [self.squares, self.total] = sums;
    }
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

    #[inline]
    fn learn(&mut self, state: &mut State, example: &Example<'_>) -> bool {
        let proposed = self.propose(state, example);
        if proposed == Proposed::Step {
            self.commit(state, example.features);
        }
        proposed != Proposed::Overflow
    }

    fn rate_of_table(&self) -> Option<f64> {
        (self.power == 0.5 && self.penalty.none()).then_some(self.rate)
    }

    fn state_of_table(memory: &mut State) -> Option<&mut State> {
        Some(memory)
    }

    fn memory(&self) -> usize {
        24 * self.next.capacity() + 16 * self.units.capacity()
    }
}

impl Memory for State {
    fn score(&self, features: Features<'_>) -> f64 {
        self.cells.score(features)
    }

    fn shrink(&mut self, width: usize) {
        self.cells.shrink(width);
    }

    #[inline]
    fn prefetch(&self, indices: &[u32]) {
        self.cells.prefetch(indices);
    }

    fn weight(&self, index: usize) -> f64 {
        self.cells.weight(index)
    }

    fn constant(&self) -> f64 {
        self.cells.constant[0]
    }

    fn run(&self, first: usize, x: &[f64]) -> Option<f64> {
        Some(self.cells.run(first, x))
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
        let mut model = engine(Adaptive::new(0.5, 0.5, Penalty::default()), Loss::Squared, false);
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

    #[test]
    fn power_and_penalties_by_hand() {
        let penalty = Penalty { l1: 0.25, l2: 2.0 };
        let mut model = engine(Adaptive::new(0.5, 1.0, penalty), Loss::Squared, false);
        let mut scratch = Scratch::default();
        // x = 2, y = 1, z = 0: s = −2, m = 2, q = 1, a = 4, k = 1, c = 1 / 4. τ = 0.5 · 0.25 = 0.125, so the score
        // becomes 1 − e^−0.25, and w half of it. The rate is 0.5 / (4 · 2²) = 1 / 32.
        model.learn(Row::Plain(&[2.0]), 1.0, 1.0, &mut scratch).expect("it learns");
        let w = ((1.0 - (-0.25f64).exp()) / 2.0 - 0.25 / 32.0) / (1.0 + 2.0 / 32.0);
        assert!((model.score(Row::Plain(&[1.0]), &mut scratch) - w).abs() < 1e-16);
    }
}
