//! Distances between rows of numbers and nominal values, with gaps.
//!
//! Numbers are scaled to mean 0 and variance 1 over the reference; the distance of two rows is the sum over features of
//! the squared difference, of two different nominal values that of numbers two deviations apart (in the manner of
//! Huang, 1998), and of a missing and a present value the same.

use crate::schema::Kind;

use super::rows::Rows;
use super::scale::Scale;

/// The squared distance of what differs and has no size.
const DIFFERENT: f64 = 4.0;

#[derive(Clone, Debug, Default)]
pub struct Space {
    /// Of each number; none for what is nominal.
    scales: Vec<Option<Scale>>,
    numbers_only: bool,
}

impl Space {
    pub fn new(reference: &Rows, kinds: &[Kind]) -> Self {
        let of = |(slot, &kind): (usize, &Kind)| (kind != Kind::Nominal).then(|| Scale::of(&[reference], slot));
        let scales: Vec<_> = kinds.iter().enumerate().map(of).collect();
        Space { numbers_only: scales.iter().all(Option::is_some), scales }
    }

    pub fn is_nominal(&self, slot: usize) -> bool {
        self.scales.get(slot).is_some_and(Option::is_none)
    }

    /// A row with its numbers scaled; nominal codes and gaps stay.
    pub fn place(&self, row: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(row.iter().zip(&self.scales).map(|(&x, scale)| scale.map_or(x, |scale| scale.place(x))));
    }

    /// The part of one feature in the distance of two rows that were placed.
    #[inline]
    pub fn part(&self, slot: usize, a: f64, b: f64) -> f64 {
        let difference = a - b;
        if difference.is_nan() {
            // One that is missing, or both.
            return if a.is_nan() && b.is_nan() { 0.0 } else { DIFFERENT };
        }
        if self.is_nominal(slot) && difference != 0.0 {
            return DIFFERENT;
        }
        difference * difference
    }

    #[inline]
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        if self.numbers_only {
            let sum = squared(a, b);
            // A gap makes it NaN.
            if sum >= 0.0 {
                return sum;
            }
        }
        a.iter().zip(b).enumerate().map(|(slot, (&a, &b))| self.part(slot, a, b)).sum()
    }

    pub fn memory(&self) -> usize {
        self.scales.capacity() * std::mem::size_of::<Option<Scale>>()
    }
}

/// Σ (a − b)², in four sums that do not wait for each other.
#[inline]
fn squared(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; 4];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| (a - b) * (a - b)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
