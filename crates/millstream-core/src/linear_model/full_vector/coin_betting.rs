//! Parameter-free learning by coin betting: no learning rate, and the regret of the best one in hindsight.
//!
//! Each weight is a bet on the sign of its next gradient. A gambler who begins with wealth R, has lost or won θ =
//! −Σ g in all, and bets the fraction θ / (L (G + L)) of his wealth, where L ≥ |g| and G = Σ |g| (the bettor of
//! Krichevsky and Trofimov with G / L for the number of rounds), is never ruined and grows rich on every coin with
//! a bias; the regret bound follows from his wealth (Orabona and Pál, 2016, "Coin betting and parameter-free
//! online learning", theorem 4 and corollary 5). One gambler for each coordinate, with L the largest |g| so far,
//! is COCOB (Orabona and Tommasi, 2017, "Training deep networks without learning rates through coin betting",
//! section 5):
//! ```text
//! L ← max(L, |g|),   R ← R − g w',   θ ← θ − g,   G ← G + |g|,   w = R θ / (L (G + L))
//! ```
//! where w' is the bet made again with the new L: so |g w'| < R and wealth stays positive whatever comes. Three
//! things differ from that paper. The wealth at the beginning is in units of loss (it is L there, in units of
//! gradient), which makes predictions independent of the units of features. It is divided among the features of
//! the example that a weight first appears in, or else the first bets of many weights, which all go the same way,
//! would add up (Flights with 20 features an example: log loss 0.468 instead of 0.625). And there is no minimum of
//! 100 for G / L, which slows down the first hundred steps for the sake of deep networks.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::optim::Features;
use crate::row::all_finite;

use super::coordinate_cells::CoordinateCells;
use super::{Example, Memory, VectorUpdate};

#[derive(Clone, Debug, Default)]
pub struct CoinBetting {
    wealth: f64,
    next: Vec<Cell>,
}

/// Of each weight: w, θ, G, L, R.
type Cell = [f64; 5];

/// A gradient smaller than this counts as 0: wealth over it would overflow.
const LEAST: f64 = 1e-300;

const FRESH: Cell = [0.0; 5];

impl CoinBetting {
    pub fn new(wealth: f64) -> Self {
        CoinBetting { wealth, next: Vec::new() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    cells: CoordinateCells<5>,
}

/// Written so that nothing leaves the range of numbers as long as R / L does not.
fn step(cell: &mut Cell, g: f64, fraction: f64) {
    if g.abs() < LEAST {
        return;
    }
    let [w, theta, sum, largest, wealth] = cell;
    if *largest == 0.0 {
        *wealth = fraction;
    }
    *largest = largest.max(g.abs());
    *wealth -= *wealth * (g / *largest) * (*theta / (*sum + *largest));
    *theta -= g;
    *sum += g.abs();
    *w = *wealth / *largest * (*theta / (*sum + *largest));
}

impl VectorUpdate for CoinBetting {
    type Memory = State;

    fn start(&self) -> State {
        State { cells: CoordinateCells::new(FRESH) }
    }

    fn grow(&self, state: &mut State, width: usize) {
        state.cells.grow(width, FRESH);
    }

    fn learn(&mut self, state: &mut State, example: &Example<'_>) -> bool {
        let Example { features, gradient, .. } = *example;
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        let present = x.iter().filter(|&&x| x != 0.0).count() + usize::from(example.intercept);
        let fraction = self.wealth / present.max(1) as f64;
        state.cells.propose(features, &mut self.next, |cell, x| step(cell, gradient * x, fraction));
        let mut constant = state.cells.constant;
        if example.intercept {
            step(&mut constant, gradient, fraction);
        }
        let sound = all_finite(self.next.as_flattened()) && all_finite(&constant);
        if sound {
            state.cells.commit(features, &mut self.next, constant);
        }
        sound
    }

    fn memory(&self) -> usize {
        40 * self.next.capacity()
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
        self.cells.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.cells.rollback();
    }

    fn commit(&mut self) {
        self.cells.discard_savepoint();
    }

    fn validate(&self, who: &str, width: usize) -> Result<()> {
        // Sums of the same gradients, added up in the same order; a weight is a bet.
        let sound = |cell: &Cell| match *cell {
            [w, theta, sum, largest, wealth] => {
                theta.abs() <= sum && largest <= sum && largest >= 0.0 && wealth >= 0.0 && (sum > 0.0 || w == 0.0)
            }
        };
        self.cells.validate(who, width, sound)
    }

    fn memory(&self) -> usize {
        self.cells.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_by_hand() {
        let mut cell = FRESH;
        // g = −2, with all of the wealth: L = 2, nothing was bet, θ = 2, G = 2, w = 1 · 2 / (2 · 4).
        step(&mut cell, -2.0, 1.0);
        assert_eq!(cell, [0.25, 2.0, 2.0, 2.0, 1.0]);
        // g = −1: the bet 0.25 wins 0.25, θ = 3, G = 3, w = 1.25 · 3 / (2 · 5).
        step(&mut cell, -1.0, 1.0);
        assert_eq!(cell, [0.375, 3.0, 3.0, 2.0, 1.25]);
        // g = 3: L = 3, so the bet is 1.25 · 3 / (3 · 6) = 5 / 24 and loses 5 / 8; θ = 0.
        step(&mut cell, 3.0, 1.0);
        assert_eq!(cell, [0.0, 0.0, 6.0, 3.0, 0.625]);
    }

    #[test]
    fn nobody_is_ruined() {
        let mut cell = FRESH;
        for round in 0..10_000 {
            let size = f64::from(1 + round % 7) * 10f64.powi(round / 700 - 7);
            // Against every bet.
            let against = if cell[0] >= 0.0 { size } else { -size };
            step(&mut cell, against, 1.0);
            assert!(cell[4] > 0.0 && cell[0].is_finite(), "{cell:?}");
        }
    }
}
