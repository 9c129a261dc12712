//! The online Newton step (Hazan, Agarwal and Kale, 2007, "Logarithmic regret algorithms for online convex
//! optimization", figure 2):
//! ```text
//! A ← A + g gᵀ,   w ← w − (1/γ) A⁻¹ g,   A₀ = ε I
//! ```
//! P = A⁻¹ is kept in factors that stay positive (covariance.rs), so a step costs 1.5 d² multiplications and
//! nothing is inverted: P g after the update is P g / (1 + gᵀP g) of before. There is no decision set here and so
//! no projection onto it; the whole space is allowed, as for every other optimiser.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::linear_model::covariance::{Covariance, Work};
use crate::linear_model::weight_vector::MOST_COORDINATES;
use crate::optim::{dot, Features, Schedule};
use crate::row::all_finite;

use super::{write_out, Example, Memory, VectorUpdate};

#[derive(Clone, Debug)]
pub struct NewtonStep {
    rate: Schedule,
    epsilon: f64,
    gradient: Vec<f64>,
    next: Vec<f64>,
    work: Work,
}

impl NewtonStep {
    pub fn new(rate: Schedule, epsilon: f64) -> Self {
        NewtonStep { rate, epsilon, gradient: Vec::new(), next: Vec::new(), work: Work::default() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// The intercept first.
    weights: Vec<f64>,
    covariance: Covariance,
}

impl VectorUpdate for NewtonStep {
    type Memory = State;
    const MOST: usize = MOST_COORDINATES;

    fn start(&self) -> State {
        let mut state = State { weights: vec![0.0], covariance: Covariance::default() };
        self.grow(&mut state, 0);
        state
    }

    fn grow(&self, state: &mut State, width: usize) {
        state.weights.resize(width + 1, 0.0);
        state.covariance.grow(width + 1, 1.0 / self.epsilon);
    }

    fn learn(&mut self, state: &mut State, example: &Example<'_>) -> bool {
        write_out(example, state.weights.len(), &mut self.gradient);
        let Some(alpha) = state.covariance.propose(&self.gradient, 1.0, 1.0, f64::MAX, &mut self.work) else {
            return false;
        };
        let along = self.rate.at(example.t) / alpha;
        self.next.clear();
        self.next.extend(state.weights.iter().zip(&self.work.gain).map(|(w, gain)| w - along * gain));
        let sound = all_finite(&self.next);
        if sound {
            std::mem::swap(&mut state.weights, &mut self.next);
            state.covariance.commit(&mut self.work);
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
        self.covariance.shrink(width + 1);
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
        self.covariance.validate(who, width + 1)
    }

    fn memory(&self) -> usize {
        8 * self.weights.capacity() + self.covariance.memory()
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
        let mut model = engine(NewtonStep::new(Schedule::Constant(0.5), 1.0), Loss::Squared, false);
        let mut scratch = Scratch::default();
        // x = (1, 2), y = 1, z = 0: g = −2 x = (−2, −4); A = I + g gᵀ, A⁻¹ g = g / (1 + 20); w = −0.5 g / 21 = (1,
        // 2) / 21.
        model.learn(Row::Plain(&[1.0, 2.0]), 1.0, 1.0, &mut scratch).expect("it learns");
        assert!((model.score(Row::Plain(&[1.0, 2.0]), &mut scratch) - 5.0 / 21.0).abs() < 1e-15);
        // x = (1, 0), y = 1/21 − 1/2: g = 2 · 0.5 x = (1, 0). A⁻¹ of before is I − g gᵀ / 21 = [[17, −8], [−8, 5]]
        // / 21; times x: (17, −8) / 21; over 1 + 17/21 = 38/21: (17, −8) / 38. w = (1, 2) / 21 − 0.5 (17, −8) /
        // 38.
        model.learn(Row::Plain(&[1.0, 0.0]), 1.0 / 21.0 - 0.5, 1.0, &mut scratch).expect("it learns");
        let expected = [1.0 / 21.0 - 8.5 / 38.0, 2.0 / 21.0 + 4.0 / 38.0];
        for (x, expected) in [[1.0, 0.0], [0.0, 1.0]].iter().zip(expected) {
            assert!((model.score(Row::Plain(x), &mut scratch) - expected).abs() < 1e-14);
        }
    }
}
