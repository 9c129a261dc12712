//! Distances between rows of numbers and nominal values, with missing values.
//!
//! Numbers are scaled to mean 0 and variance 1 over the reference. The distance of two rows is the sum of squared
//! differences over features. Two different nominal values count as two standard deviations (similar to Huang, 1998), and
//! so do a missing and a present value.

use crate::cluster::lloyd::Geometry;
use crate::schema::FeatureKind;

use super::row_window::RowWindow;
use super::scale::Scale;

/// Squared distance of different values without a size.
const DIFFERENT: f64 = 4.0;

#[derive(Clone, Debug, Default)]
pub struct FeatureSpace {
    /// The scale of each number; none for nominal features.
    scales: Vec<Option<Scale>>,
    numbers_only: bool,
}

impl FeatureSpace {
    pub fn new(reference: &RowWindow, kinds: &[FeatureKind]) -> Self {
        let of = |(slot, &kind): (usize, &FeatureKind)| {
            (kind != FeatureKind::Nominal).then(|| Scale::of(&[reference], slot))
        };
        let scales: Vec<_> = kinds.iter().enumerate().map(of).collect();
        FeatureSpace { numbers_only: scales.iter().all(Option::is_some), scales }
    }

    pub fn is_nominal(&self, slot: usize) -> bool {
        self.scales.get(slot).is_some_and(Option::is_none)
    }

    /// Standardize the numbers of a row; nominal codes and missing values are unchanged.
    pub fn standardize(&self, row: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(row.iter().zip(&self.scales).map(|(&x, scale)| scale.map_or(x, |scale| scale.standardize(x))));
    }

    /// The part of one feature in the distance of two standardized rows.
    #[inline]
    pub fn part(&self, slot: usize, a: f64, b: f64) -> f64 {
        let difference = a - b;
        if difference.is_nan() {
            // One or both are missing.
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
            // NaN if a value is missing.
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

impl Geometry for FeatureSpace {
    #[inline]
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        FeatureSpace::distance(self, a, b)
    }

    fn is_nominal(&self, slot: usize) -> bool {
        FeatureSpace::is_nominal(self, slot)
    }
}

/// Σ (a − b)², in four independent sums.
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
