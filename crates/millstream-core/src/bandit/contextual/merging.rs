//! Merging of exact least squares. The information of independent rounds adds up: with A = P⁻¹ and b = A θ,
//!
//! ```text
//! A = λ I + Σ (Aₖ − λ I),    b = Σ bₖ,    P = A⁻¹,    θ = P b
//! ```
//! over the parts k, where that of a common base is subtracted once. Slots are matched by name.

use crate::fault::{Fault, Result};
use crate::linear_algebra::cholesky::{factorise, solve};

use super::least_squares::{Block, LeastSquares, SavedLeastSquares, State};
use super::round::{Space, Spaces};

/// The least squares of another policy, with the place of each of its slots among ours.
pub struct Part {
    pub model: SavedLeastSquares,
    /// By space; the constant first.
    pub slots: [Vec<usize>; 3],
    /// −1 for a base.
    pub sign: f64,
}

/// A and b over some coordinates.
struct Information {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Information {
    fn none(n: usize, l2: f64) -> Self {
        let mut a = vec![0.0; n * n];
        (0..n).for_each(|index| a[index * n + index] = l2);
        Information { a, b: vec![0.0; n] }
    }

    /// Add what a block has learned, with coordinate i at `place(i)`; false if its matrix cannot be inverted.
    fn add(&mut self, block: &Block, l2: f64, sign: f64, place: impl Fn(usize) -> usize) -> bool {
        let (n, size) = (self.b.len(), block.theta.len());
        let Some(inverse) = inverted(&block.p, size) else { return false };
        for row in 0..size {
            let to = place(row);
            let line = &inverse[row * size..(row + 1) * size];
            self.b[to] += sign * line.iter().zip(&block.theta).map(|(a, theta)| a * theta).sum::<f64>();
            for (column, a) in line.iter().enumerate() {
                self.a[to * n + place(column)] += sign * (a - if row == column { l2 } else { 0.0 });
            }
        }
        true
    }

    fn into_block(self) -> Option<Block> {
        let n = self.b.len();
        let p = inverted(&self.a, n)?;
        let theta = p.chunks(n.max(1)).map(|row| row.iter().zip(&self.b).map(|(p, b)| p * b).sum()).collect();
        Some(Block { p, theta })
    }
}

/// The inverse of a symmetric, positive definite matrix.
fn inverted(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = matrix.to_vec();
    if !factorise(&mut factor, n, 0.0) {
        return None;
    }
    let mut inverse = vec![0.0; n * n];
    for (index, row) in inverse.chunks_mut(n.max(1)).enumerate() {
        row[index] = 1.0;
        solve(&factor, row);
    }
    // Both triangles are rounded alike.
    for row in 0..n {
        for column in 0..row {
            inverse[column * n + row] = inverse[row * n + column];
        }
    }
    Some(inverse)
}

impl LeastSquares {
    /// Add what other policies have learned; `spaces` has the names of all.
    pub fn merge(&mut self, parts: &[Part], spaces: &Spaces) -> Result<()> {
        let (shared, action) = (spaces.width(Space::Shared), spaces.width(Space::Action));
        let l2 = self.l2();
        let who = self.who().to_string();
        let lost = || {
            Fault::value(format!(
                "{who}: the weights of both policies cannot be added: a matrix is not positive definite"
            ))
        };
        let fits = |n: usize| match n <= self.most() {
            true => Ok(n),
            false => Err(Fault::value(format!(
                "{who}: both policies have {n} weights together, max_features is {}",
                self.most()
            ))),
        };
        let ours = self.state();
        let mut next = State::default();
        // Actions with features share a block.
        let others = || parts.iter().map(|part| (&part.model.0, part));
        if !ours.joint.theta.is_empty() || others().any(|(state, _)| !state.joint.theta.is_empty()) {
            let mut sum = Information::none(fits(shared * action)?, l2);
            let width = ours.shared.max(1);
            let mut sound = sum.add(&ours.joint, l2, 1.0, |index| index / width * shared + index % width);
            for (state, part) in others() {
                let width = state.shared.max(1);
                let [of_shared, of_action, _] = &part.slots;
                let place = |index: usize| of_action[index / width] * shared + of_shared[index % width];
                sound &= sum.add(&state.joint, l2, part.sign, place);
            }
            next.joint = sum.into_block().filter(|_| sound).ok_or_else(lost)?;
            (next.shared, next.action) = (shared, action);
        }
        // The others have one each.
        for arm in 1..spaces.width(Space::Arm) {
            let own = ours.arms.get(arm - 1).filter(|block| !block.theta.is_empty());
            let found: Vec<_> = others()
                .filter_map(|(state, part)| {
                    let slot = part.slots[Space::Arm as usize].iter().position(|&slot| slot == arm)?;
                    let block = state.arms.get(slot.checked_sub(1)?)?;
                    (!block.theta.is_empty()).then_some((block, part))
                })
                .collect();
            let block = match (own, found.is_empty()) {
                (None, true) => Block::default(),
                (Some(own), true) => own.clone(),
                _ => {
                    let mut sum = Information::none(fits(shared)?, l2);
                    let mut sound = own.is_none_or(|own| sum.add(own, l2, 1.0, |index| index));
                    for (block, part) in found {
                        sound &= sum.add(block, l2, part.sign, |index| part.slots[0][index]);
                    }
                    sum.into_block().filter(|_| sound).ok_or_else(lost)?
                }
            };
            next.arms.push(block);
        }
        let numbers: usize = next.arms.iter().map(|block| block.p.len()).sum();
        if numbers > self.most() * self.most() {
            return Err(Fault::value(format!(
                "{who}: the matrices of the actions would have {numbers} numbers, max_features allows {} squared",
                self.most()
            )));
        }
        self.adopt(SavedLeastSquares(next), spaces)
    }
}

#[cfg(test)]
mod tests {
    use super::super::round::Round;
    use super::*;
    use crate::schema::Name;

    #[test]
    fn two_rewards_by_hand() {
        // One action and no context but the constant, λ = 1: a reward of 1 here and of 3 there. A = 1 + 1 + 1 = 3 and
        // b = 1 + 3, so that θ = 4/3 and P = 1/3.
        let mut spaces = Spaces::default();
        spaces.intern(Space::Arm, &Name::from("a"));
        let mut round = Round::default();
        round.arms.push(1);
        let learned = |reward: f64| {
            let mut model = LeastSquares::new("p", 1.0, 100);
            model.learn(&round, 0, &spaces, reward, 1.0).expect("a good reward");
            model
        };
        let (mut ours, theirs) = (learned(1.0), learned(3.0));
        let slots = || [vec![0], vec![0], vec![0, 1]];
        let part = |model: &LeastSquares, sign| Part {
            model: SavedLeastSquares(model.state().clone()),
            slots: slots(),
            sign,
        };
        ours.merge(&[part(&theirs, 1.0)], &spaces).expect("both are sound");
        let block = &ours.state().arms[0];
        assert!((block.theta[0] - 4.0 / 3.0).abs() < 1e-15 && (block.p[0] - 1.0 / 3.0).abs() < 1e-15, "{block:?}");
        // Less what both had learned before: the reward of 1 alone.
        ours.merge(&[part(&learned(3.0), -1.0)], &spaces).expect("both are sound");
        let block = &ours.state().arms[0];
        assert!((block.theta[0] - 0.5).abs() < 1e-15 && (block.p[0] - 0.5).abs() < 1e-15, "{block:?}");
    }
}
