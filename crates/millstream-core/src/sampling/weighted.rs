//! A-ExpJ: a weighted sample without replacement, with random numbers for the rows kept only.
//!
//! P. S. Efraimidis and P. G. Spirakis (2006), "Weighted random sampling with a reservoir", Information Processing Letters
//! 97(5), algorithm A-ExpJ. A row of weight w has the key u^(1/w), and the sample is the k rows with the largest keys. The
//! weight that passes before the next row enters is exponential, and that row's key is drawn given that it enters.
//!
//! u^(1/w) underflows for small w and rounds to 1 for large w. The logarithm of the exponential variate −ln(u)/w orders
//! rows in the same way (reversed: the k smallest) and does neither: the key here is ln(−ln u) − ln w.

use serde::{Deserialize, Serialize};

use super::record::{Rows, Stored};
use crate::numeric::elementary::{exp, exp_m1, ln, ln_1p};
use crate::numeric::random::Random;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Weighted {
    /// The keys, a binary heap with the largest first.
    keys: Vec<f64>,
    /// The row of each key.
    rows: Rows,
    /// The weight that passes before the next row enters, and the weight that has passed. Sums of weights, not what is
    /// left: a small weight must not vanish beside a large jump.
    jump: f64,
    passed: f64,
}

/// The logarithm of a positive weight, which may be subnormal.
pub fn ln_weight(w: f64) -> f64 {
    const SCALE: f64 = 18_014_398_509_481_984.0;
    if w < f64::MIN_POSITIVE {
        ln(w * SCALE) - ln(SCALE)
    } else {
        ln(w)
    }
}

/// The logarithm of an exponential variate.
pub fn ln_exponential(random: &mut Random) -> f64 {
    ln(-ln(random.open_unit()))
}

impl Weighted {
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn rows_mut(&mut self) -> &mut Rows {
        &mut self.rows
    }

    pub fn memory(&self) -> usize {
        self.keys.capacity() * 8 + self.rows.memory()
    }

    /// Receive a row of weight `w`; `ln_w` gives its logarithm.
    pub fn receive(
        &mut self,
        size: usize,
        w: f64,
        ln_w: impl FnOnce() -> f64,
        random: &mut Random,
        row: &mut dyn FnMut() -> Stored,
    ) {
        if self.keys.len() < size {
            let key = ln_exponential(random) - ln_w();
            self.push(key, row());
            if self.keys.len() == size {
                self.draw_jump(random);
            }
            return;
        }
        self.passed += w;
        if self.passed < self.jump {
            return;
        }
        let ln_w = ln_w();
        // An exponential variate e below a = w · e^(largest key): 1 − e^(−e) is uniform between 0 and 1 − e^(−a).
        let ln_a = self.keys[0] + ln_w;
        let u = random.open_unit();
        let ln_e = if ln_a < -36.0 { ln_a + ln(u) } else { ln(-ln_1p(u * exp_m1(-exp(ln_a)))) };
        self.keys[0] = (ln_e - ln_w).min(self.keys[0]);
        self.rows.0[0] = row();
        self.sift_down(0);
        self.draw_jump(random);
    }

    fn draw_jump(&mut self, random: &mut Random) {
        self.jump = exp(ln_exponential(random) - self.keys[0]);
        self.passed = 0.0;
    }

    /// All weights are divided by e^`by`. The exponential distribution has no memory, so that the jump is drawn anew.
    pub fn rescale(&mut self, by: f64, size: usize, random: &mut Random) {
        // Keys stay finite, however often this happens.
        self.keys.iter_mut().for_each(|key| *key = (*key + by).min(1e300));
        if self.keys.len() == size {
            self.draw_jump(random);
        }
    }

    /// The `size` rows with the smallest keys of both.
    pub fn merge(&mut self, other: Weighted, size: usize, random: &mut Random) {
        for (key, row) in other.keys.into_iter().zip(other.rows.0) {
            if self.keys.len() < size {
                self.push(key, row);
            } else if key < self.keys[0] {
                self.keys[0] = key;
                self.rows.0[0] = row;
                self.sift_down(0);
            }
        }
        if self.keys.len() == size {
            self.draw_jump(random);
        }
    }

    fn push(&mut self, key: f64, row: Stored) {
        self.keys.push(key);
        self.rows.0.push(row);
        let mut index = self.keys.len() - 1;
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.keys[index] <= self.keys[parent] {
                return;
            }
            self.swap(index, parent);
            index = parent;
        }
    }

    fn sift_down(&mut self, mut index: usize) {
        loop {
            let mut largest = index;
            for child in [2 * index + 1, 2 * index + 2] {
                if child < self.keys.len() && self.keys[child] > self.keys[largest] {
                    largest = child;
                }
            }
            if largest == index {
                return;
            }
            self.swap(index, largest);
            index = largest;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.keys.swap(one, other);
        self.rows.0.swap(one, other);
    }

    /// Whether a state for at most `size` rows could have been saved.
    pub fn is_valid(&self, size: usize) -> bool {
        let heap = (1..self.keys.len()).all(|index| self.keys[index] <= self.keys[(index - 1) / 2]);
        let finite = self.keys.iter().all(|key| key.is_finite());
        let counts = self.keys.len() == self.rows.len() && self.keys.len() <= size;
        heap && finite && counts && self.jump >= 0.0 && self.passed >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::testing::row;
    use super::*;

    fn receive(weighted: &mut Weighted, size: usize, w: f64, random: &mut Random) -> bool {
        let mut taken = false;
        let ask = &mut || {
            taken = true;
            row(1)
        };
        weighted.receive(size, w, || ln_weight(w), random, ask);
        taken
    }

    #[test]
    fn keys_and_jumps_are_those_of_the_paper() {
        let (mut weighted, mut random) = (Weighted::default(), Random::new(2, 2));
        let mut draws = random.clone();
        assert!(receive(&mut weighted, 1, 2.0, &mut random));
        // The key of the paper is T = u^(1/2), and X = ln(r) / ln(T) passes before the next row enters.
        let t = draws.open_unit().sqrt();
        assert!((weighted.keys[0] - (-t.ln()).ln()).abs() < 1e-13);
        let jump = draws.open_unit().ln() / t.ln();
        assert!((weighted.jump / jump - 1.0).abs() < 1e-12);
        assert!(!receive(&mut weighted, 1, jump * 0.6, &mut random));
        assert!(receive(&mut weighted, 1, jump * 0.6, &mut random));
        // Its key is r^(1/w) for an r between t_w = T^w and 1.
        let (w, u) = (jump * 0.6, draws.open_unit());
        let r = 1.0 - u * (1.0 - t.powf(w));
        assert!((weighted.keys[0] - (-r.ln() / w).ln()).abs() < 1e-12);
    }

    #[test]
    fn weights_of_any_size_keep_the_keys_finite() {
        let mut random = Random::new(4, 4);
        for weights in [[5e-324, 1e-310], [1e308, 1.7e308], [5e-324, 1.7e308], [1.7e308, 5e-324]] {
            let mut weighted = Weighted::default();
            for step in 0..2000 {
                receive(&mut weighted, 3, weights[step % 2], &mut random);
                assert!(weighted.is_valid(3), "{weighted:?}");
            }
        }
    }

    #[test]
    fn a_small_weight_counts_beside_a_large_jump() {
        let mut weighted = Weighted { keys: vec![0.0], rows: Rows(vec![row(0)]), jump: 1e20, passed: 0.0 };
        for _ in 0..1000 {
            assert!(!receive(&mut weighted, 1, 1.0, &mut Random::new(1, 1)));
        }
        assert_eq!(weighted.passed, 1000.0);
    }
}
