//! Sums of an estimator: of its value, and of the normal and the bootstrap interval.
//!
//! A value is A/W + B/C with A = Σ w d, B = Σ w u e, C = Σ w u and W = Σ w, or only one of the two terms. The normal interval
//! linearises it; its variance needs the sums of the products of w, w d, w u e and w u.
//!
//! Rounds of a log would have to be kept to draw from them again. Round i is added to group i modulo 256 instead, and the
//! bootstrap draws whole groups (Efron and Tibshirani, 1993, "An introduction to the bootstrap", with the groups as the units of
//! the sample). Up to 256 rounds this is the usual bootstrap; memory is bounded, and groups of two logs can be merged.

use serde::{Deserialize, Serialize};

use crate::numeric::interpolate;
use crate::numeric::quantile_position;
use crate::numeric::quantiles::normal;
use crate::numeric::random::Random;

const GROUPS: usize = 256;

/// w, w d, w u e and w u.
pub type Terms = [f64; 4];

/// Which terms a value consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A/W.
    Mean,
    /// B/C.
    Ratio,
    /// A/W + B/C.
    Both,
}

impl Form {
    pub fn value(self, [w, a, b, c]: Terms) -> f64 {
        let ratio = |a: f64, b: f64| if b == 0.0 { f64::NAN } else { a / b };
        match self {
            Form::Mean => ratio(a, w),
            Form::Ratio => ratio(b, c),
            Form::Both => ratio(a, w) + ratio(b, c),
        }
    }
}

/// The rows of the upper triangle of the matrix of products start here.
const ROWS: [usize; 4] = [0, 4, 7, 9];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    groups: Vec<Terms>,
    /// The number of rounds.
    rounds: u64,
    /// Σ of products of two terms: the upper triangle, row by row.
    products: [f64; 10],
}

impl Sums {
    #[inline]
    pub fn update(&mut self, terms: Terms) {
        let group = (self.rounds % GROUPS as u64) as usize;
        match self.groups.get_mut(group) {
            Some(sums) => add(sums, &terms, 1.0),
            None => self.groups.push(terms),
        }
        self.rounds += 1;
        let [w, a, b, c] = terms;
        let products = [w * w, w * a, w * b, w * c, a * a, a * b, a * c, b * b, b * c, c * c];
        for (sum, product) in self.products.iter_mut().zip(products) {
            *sum += product;
        }
    }

    pub fn total(&self) -> Terms {
        let mut total = [0.0; 4];
        self.groups.iter().for_each(|group| add(&mut total, group, 1.0));
        total
    }

    /// Σ of the product of two terms.
    pub fn product(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.min(j), i.max(j));
        self.products[ROWS[i] + j - i]
    }

    /// The standard error of the value; NaN with fewer than two rounds.
    pub fn standard_error(&self, form: Form) -> f64 {
        if self.rounds < 2 {
            return f64::NAN;
        }
        let [w, a, b, c] = self.total();
        // The value changes by slope · terms.
        let mut slopes = [0.0; 4];
        if form != Form::Ratio {
            (slopes[0], slopes[1]) = (-a / (w * w), 1.0 / w);
        }
        if form != Form::Mean {
            (slopes[2], slopes[3]) = (1.0 / c, -b / (c * c));
        }
        let mut variance = 0.0;
        for (i, &first) in slopes.iter().enumerate() {
            for (j, &second) in slopes.iter().enumerate() {
                variance += first * second * self.product(i, j);
            }
        }
        variance.max(0.0).sqrt()
    }

    pub fn normal_interval(&self, form: Form, coverage: f64) -> (f64, f64) {
        let (value, spread) = (form.value(self.total()), normal(coverage) * self.standard_error(form));
        (value - spread, value + spread)
    }

    /// Quantiles of the values of samples drawn with replacement.
    pub fn bootstrap_interval(&self, form: Form, coverage: f64, resamples: usize, seed: u64) -> (f64, f64) {
        let mut random = Random::new(seed, 0);
        let groups = self.groups.len();
        let mut values: Vec<f64> = (0..if groups < 2 { 0 } else { resamples })
            .map(|_| {
                let mut total = [0.0; 4];
                (0..groups).for_each(|_| add(&mut total, &self.groups[random.below(groups as u32) as usize], 1.0));
                form.value(total)
            })
            .filter(|value| value.is_finite())
            .collect();
        if values.is_empty() {
            return (f64::NAN, f64::NAN);
        }
        values.sort_unstable_by(f64::total_cmp);
        let quantile = |q: f64| {
            let position = quantile_position(q, (values.len() - 1) as f64);
            let (below, above) = (position.floor() as usize, position.ceil() as usize);
            interpolate(values[below], values[above], position - position.floor())
        };
        (quantile(0.5 * (1.0 - coverage)), quantile(0.5 * (1.0 + coverage)))
    }

    /// Add the sums of another part of the log, or with sign −1 remove those of a common beginning.
    pub fn merge(&mut self, other: &Sums, sign: f64) {
        if self.groups.len() < other.groups.len() {
            self.groups.resize(other.groups.len(), [0.0; 4]);
        }
        for (ours, theirs) in self.groups.iter_mut().zip(&other.groups) {
            add(ours, theirs, sign);
        }
        for (ours, theirs) in self.products.iter_mut().zip(&other.products) {
            *ours += sign * theirs;
        }
        self.rounds = match sign > 0.0 {
            true => self.rounds.saturating_add(other.rounds),
            false => self.rounds.saturating_sub(other.rounds),
        };
    }

    pub fn memory(&self) -> usize {
        self.groups.capacity() * std::mem::size_of::<Terms>()
    }

    pub fn is_valid(&self) -> bool {
        // Merged parts share groups.
        let fits = self.groups.len() <= GROUPS && (self.rounds == 0 || !self.groups.is_empty());
        fits && self.groups.iter().flatten().chain(&self.products).all(|number| number.is_finite())
    }
}

#[inline]
fn add(sums: &mut Terms, terms: &Terms, sign: f64) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += sign * term;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rounds: &[Terms]) -> Sums {
        let mut sums = Sums::default();
        rounds.iter().for_each(|&terms| sums.update(terms));
        sums
    }

    #[test]
    fn worked_by_hand() {
        // d = 1, 2, 6: mean 3, deviations −2, −1, 3, so that the variance of the mean is 14/9. u = 1, 2, 1 and
        // e = 4, 1, 2: B/C = 8/4 = 2, deviations u (e − 2) = 2, −2, 0, so that the variance is 8/16.
        let sums = told(&[[1.0, 1.0, 4.0, 1.0], [1.0, 2.0, 2.0, 2.0], [1.0, 6.0, 2.0, 1.0]]);
        let total = sums.total();
        assert_eq!([Form::Mean, Form::Ratio, Form::Both].map(|form| form.value(total)), [3.0, 2.0, 5.0]);
        assert!((sums.standard_error(Form::Mean) - (14.0f64 / 9.0).sqrt()).abs() < 1e-12);
        assert!((sums.standard_error(Form::Ratio) - 0.5f64.sqrt()).abs() < 1e-12);
        // Of the sum: −2/3 + 2/4, −1/3 − 2/4, 3/3.
        let variance = (1.0f64 / 6.0).powi(2) + (5.0f64 / 6.0).powi(2) + 1.0;
        assert!((sums.standard_error(Form::Both) - variance.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_bootstrap_agrees_with_the_normal_interval() {
        let mut random = Random::new(1, 0);
        let rounds: Vec<Terms> = (0..20_000).map(|_| [1.0, random.gaussian(), 0.0, 0.0]).collect();
        let sums = told(&rounds);
        let (low, high) = sums.bootstrap_interval(Form::Mean, 0.95, 4000, 0);
        let (expected_low, expected_high) = sums.normal_interval(Form::Mean, 0.95);
        let width = expected_high - expected_low;
        assert!((low - expected_low).abs() < 0.1 * width && (high - expected_high).abs() < 0.1 * width);
        let mut halves = told(&rounds[..10_000]);
        halves.merge(&told(&rounds[10_000..]), 1.0);
        assert!((halves.total()[1] - sums.total()[1]).abs() < 1e-9);
    }
}
