//! Algorithm L: which rows enter a uniform sample without replacement, with one draw of random numbers per row kept.
//!
//! K.-H. Li (1994), "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))", ACM Transactions on
//! Mathematical Software 20(4), algorithm L. Think of a uniform key for each row; the sample is the k rows with the
//! smallest keys. W is the largest key among them, so the next row enters with probability W, and the number of rows
//! before it is geometric: ⌊ln u / ln(1 − W)⌋. After it has replaced a random row, W is multiplied by u^(1/k).
//!
//! W is kept as its logarithm. Keys are never drawn, yet samples can be merged and shrunk: the ranks of keys and the value
//! of W are independent, so W may be drawn anew given the number of rows, as the k-th smallest of n uniform numbers.

use serde::{Deserialize, Serialize};

use crate::numeric::elementary::{exp, exp_m1, ln, ln_1p};
use crate::numeric::random::Random;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Uniform {
    /// Number of rows received.
    seen: u64,
    /// The logarithm of W; 0 while the sample is being filled.
    ln_w: f64,
    /// Number of rows to pass before the next one enters. Part of the state, so that a batch continues a loop.
    skip: u64,
}

/// What to do with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Append,
    /// Replace the row at an index.
    Replace(usize),
    Pass,
}

impl Uniform {
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Number of next rows that do not enter a full sample.
    pub fn skippable(&self) -> u64 {
        self.skip
    }

    pub fn pass(&mut self, rows: u64) {
        self.seen = self.seen.saturating_add(rows);
        self.skip -= rows.min(self.skip);
    }

    /// Receive a row. `held` rows of the sample are there, and `size` may be.
    pub fn receive(&mut self, held: usize, size: usize, random: &mut Random) -> Decision {
        if held < size {
            self.seen = self.seen.saturating_add(1);
            if held + 1 == size {
                self.ln_w = ln(random.open_unit()) / size as f64;
                self.draw_skip(random);
            }
            return Decision::Append;
        }
        if self.skip > 0 || size == 0 {
            self.pass(1);
            return Decision::Pass;
        }
        self.seen = self.seen.saturating_add(1);
        let index = random.below(size as u32) as usize;
        self.ln_w += ln(random.open_unit()) / size as f64;
        self.draw_skip(random);
        Decision::Replace(index)
    }

    /// The sample loses a row: its index. `size` rows remain.
    pub fn shrink(&mut self, size: usize, random: &mut Random) -> usize {
        let index = random.below(size as u32 + 1) as usize;
        self.renew(size, random);
        index
    }

    /// Draw W and the skip anew, for a sample of `size` rows out of all rows seen.
    pub fn renew(&mut self, size: usize, random: &mut Random) {
        if size == 0 || self.seen < size as u64 {
            (self.ln_w, self.skip) = (0.0, 0);
            return;
        }
        // 1 − U₍₁₎ is the largest of n uniform numbers, v^(1/n); given U₍₁₎, 1 − U₍₂₎ is (1 − U₍₁₎) v^(1/(n−1)); and so on.
        let ln_rest: f64 = (0..size).map(|i| ln(random.open_unit()) / (self.seen - i as u64) as f64).sum();
        self.ln_w = ln((-exp_m1(ln_rest)).max(f64::MIN_POSITIVE));
        self.draw_skip(random);
    }

    fn draw_skip(&mut self, random: &mut Random) {
        // For a W that is too small for a float the quotient is infinite, and the conversion gives the largest number.
        self.skip = (ln(random.open_unit()) / ln_1p(-exp(self.ln_w).min(1.0 - f64::EPSILON))) as u64;
    }

    /// Keep `size` rows of this sample of `held` rows and another of `others` rows, such that the result is a sample of
    /// both streams. Calls `keep` with true for one of our rows or false for one of theirs, and its index among those that
    /// are left (after `swap_remove` of the ones before).
    pub fn merge(
        &mut self,
        other: &Uniform,
        (mut held, mut others): (usize, usize),
        size: usize,
        random: &mut Random,
        keep: &mut dyn FnMut(bool, usize),
    ) {
        let (mut ours, mut theirs) = (self.seen, other.seen);
        let total = ours.saturating_add(theirs);
        for _ in 0..total.min(size as u64) {
            // The next row of a random order of all rows is ours with the fraction of our rows that are left.
            let mine = random.below_64(ours.saturating_add(theirs)) < ours;
            let (rows, left) = if mine { (&mut held, &mut ours) } else { (&mut others, &mut theirs) };
            keep(mine, random.below(*rows as u32) as usize);
            *rows -= 1;
            *left -= 1;
        }
        self.seen = total;
        if total >= size as u64 {
            self.renew(size, random);
        }
    }

    /// Whether a state for `held` of at most `size` rows could have been saved.
    pub fn is_valid(&self, held: usize, size: usize) -> bool {
        let filled = held == size || self.seen == held as u64;
        held <= size && filled && self.seen >= held as u64 && self.ln_w <= 0.0 && self.ln_w.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skips_are_those_of_the_formula() {
        let (mut uniform, mut random) = (Uniform::default(), Random::new(3, 9));
        let mut draws = random.clone();
        assert_eq!(uniform.receive(0, 2, &mut random), Decision::Append);
        assert_eq!(uniform.receive(1, 2, &mut random), Decision::Append);
        // W = √u₁, and ⌊ln u₂ / ln(1 − W)⌋ rows pass.
        let w = draws.open_unit().sqrt();
        let skip = (draws.open_unit().ln() / (1.0 - w).ln()) as u64;
        assert_eq!((uniform.skip, uniform.seen), (skip, 2));
        for _ in 0..skip {
            assert_eq!(uniform.receive(2, 2, &mut random), Decision::Pass);
        }
        let index = draws.below(2) as usize;
        assert_eq!(uniform.receive(2, 2, &mut random), Decision::Replace(index));
        let w = w * draws.open_unit().sqrt();
        assert!((uniform.ln_w - w.ln()).abs() < 1e-14);
    }

    #[test]
    fn a_tiny_w_skips_for_ever_and_does_not_fail() {
        let mut random = Random::new(1, 1);
        let mut uniform = Uniform { seen: 10, ln_w: -1e6, skip: 0 };
        uniform.draw_skip(&mut random);
        assert_eq!(uniform.skip, u64::MAX);
        uniform.pass(u64::MAX);
        assert_eq!((uniform.skip, uniform.seen), (0, u64::MAX));
        assert!(matches!(uniform.receive(5, 5, &mut random), Decision::Replace(_)));
        assert_eq!(uniform.seen, u64::MAX);
        // A W of nearly 1 takes the next row.
        let mut uniform = Uniform { seen: 10, ln_w: 0.0, skip: 7 };
        uniform.draw_skip(&mut random);
        assert_eq!(uniform.skip, 0);
    }

    #[test]
    fn w_drawn_anew_is_an_order_statistic() {
        // The 3rd smallest of 10 uniform numbers has mean 3/11 and variance 3·8/(11²·12).
        let mut random = Random::new(5, 1);
        let mut uniform = Uniform { seen: 10, ..Uniform::default() };
        let draws: Vec<f64> = (0..20_000)
            .map(|_| {
                uniform.renew(3, &mut random);
                uniform.ln_w.exp()
            })
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - 3.0 / 11.0).abs() < 4.0 * (24.0f64 / 1452.0 / 20_000.0).sqrt(), "{mean}");
        assert!((variance - 24.0 / 1452.0).abs() < 0.001, "{variance}");
    }
}
