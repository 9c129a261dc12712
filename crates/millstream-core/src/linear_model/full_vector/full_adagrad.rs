//! AdaGrad with the full matrix (Duchi, Hazan and Singer, 2011, "Adaptive subgradient methods for online learning
//! and stochastic optimization", figure 1, full):
//! ```text
//! A ← A + g gᵀ,   w ← w − η (ε I + A)^(−1/2) g
//! ```
//! ε is under the root, as in the diagonal form of rules.rs. The root is taken in the eigenvectors of A, which are
//! kept and brought up to date with each example (`linear_algebra::eigendecomposition`). That costs about 2 d³
//! operations, a small part of what an eigenvalue problem would; no exact way is known that does it in d². So there
//! may be up to 512 coordinates.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::optim::{dot, Features, Schedule};
use crate::row::all_finite;

use super::{write_out, Example, Memory, VectorUpdate};
use crate::linear_algebra::eigendecomposition::{Eigendecomposition, Work};

/// 0.27 billion operations per step, and 2 MB for the eigenvectors, twice.
const MOST_COORDINATES: usize = 512;

#[derive(Clone, Debug)]
pub struct FullAdaGrad {
    rate: Schedule,
    epsilon: f64,
    gradient: Vec<f64>,
    next: Vec<f64>,
    work: Work,
}

impl FullAdaGrad {
    pub fn new(rate: Schedule, epsilon: f64) -> Self {
        FullAdaGrad { rate, epsilon, gradient: Vec::new(), next: Vec::new(), work: Work::default() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// The intercept first.
    weights: Vec<f64>,
    spectrum: Eigendecomposition,
}

impl VectorUpdate for FullAdaGrad {
    type Memory = State;
    const MOST: usize = MOST_COORDINATES;

    fn start(&self) -> State {
        let mut state = State { weights: vec![0.0], spectrum: Eigendecomposition::default() };
        self.grow(&mut state, 0);
        state
    }

    fn grow(&self, state: &mut State, width: usize) {
        state.weights.resize(width + 1, 0.0);
        state.spectrum.grow(width + 1);
    }

    fn learn(&mut self, state: &mut State, example: &Example<'_>) -> bool {
        let FullAdaGrad { gradient, next, work, epsilon, .. } = self;
        write_out(example, state.weights.len(), gradient);
        if !state.spectrum.propose(gradient, work) {
            return false;
        }
        let rate = self.rate.at(example.t);
        next.clear();
        next.extend_from_slice(&state.weights);
        work.proposed().each(|value, vector| {
            let along: f64 = vector.iter().zip(gradient.iter()).map(|(v, g)| v * g).sum();
            let step = rate * along / (value + *epsilon).sqrt();
            for (w, v) in next.iter_mut().zip(vector) {
                *w -= step * v;
            }
        });
        let sound = all_finite(next);
        if sound {
            std::mem::swap(&mut state.weights, next);
            state.spectrum.commit(work);
        }
        sound
    }

    fn memory(&self) -> usize {
        8 * (self.gradient.capacity() + self.next.capacity()) + self.work.memory()
    }
}

impl Memory for State {
    fn score(&self, features: Features<'_>) -> f64 {
        match self.weights.split_first() {
            Some((constant, weights)) => dot(weights, features) + constant,
            None => 0.0,
        }
    }

    fn shrink(&mut self, width: usize) {
        self.weights.truncate(width + 1);
        self.spectrum.shrink(width + 1);
    }

    fn weight(&self, index: usize) -> f64 {
        self.weights.get(index + 1).copied().unwrap_or(0.0)
    }

    fn constant(&self) -> f64 {
        self.weights.first().copied().unwrap_or(0.0)
    }

    fn validate(&self, who: &str, width: usize) -> Result<()> {
        require(who, self.weights.len() == width + 1, "weights and coordinates differ in number")?;
        require(who, all_finite(&self.weights), "a number is not finite")?;
        self.spectrum.validate(who, width + 1)
    }

    fn memory(&self) -> usize {
        8 * self.weights.capacity() + self.spectrum.memory()
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
        let mut model = engine(FullAdaGrad::new(Schedule::Constant(0.5), 1.0), Loss::Squared, false);
        let mut scratch = Scratch::default();
        // x = (3, 4), y = 1, z = 0: g = (−6, −8) of length 10. A = g gᵀ has the eigenvalue 100 along g:
        // w = −0.5 g / √101.
        model.learn(Row::Plain(&[3.0, 4.0]), 1.0, 1.0, &mut scratch).expect("it learns");
        let w = [3.0 / 101f64.sqrt(), 4.0 / 101f64.sqrt()];
        assert!((model.score(Row::Plain(&[1.0, 0.0]), &mut scratch) - w[0]).abs() < 1e-15);
        // x = (−4, 3) scores (−12 + 12) / √101 = 0; y = 1 gives g = (8, −6), at a right angle to the first and as
        // long: A = 100 I, w = w − 0.5 g / √101 = (3 − 4, 4 + 3) / √101.
        model.learn(Row::Plain(&[-4.0, 3.0]), 1.0, 1.0, &mut scratch).expect("it learns");
        for (x, expected) in [([1.0, 0.0], -1.0), ([0.0, 1.0], 7.0)] {
            let score = model.score(Row::Plain(&x), &mut scratch);
            assert!((score - expected / 101f64.sqrt()).abs() < 1e-14, "{score}");
        }
    }
}
