//! The scan: the sums of the metric between a query and all stored rows, eight rows side by side.
//!
//! Each sum runs over the columns in their order, in all variants of the loop, so that a pair of rows has the same sum
//! bit for bit wherever it is computed. The code is compiled for several instruction sets; every operation rounds as
//! IEEE 754 says.

use pulp::{Arch, Simd, WithSimd};

use super::metric::{Absolute, Metric, Power, Square, Term};
use super::points::{Points, LANES};

/// Wide rows are abandoned, in steps of so many columns, once they are farther than the limit. Sums never decrease, so
/// this is exact.
const STEP: usize = 16;

/// Receives the sums of blocks.
pub trait Visit {
    /// Rows with a larger sum are not needed; they may get any larger sum.
    fn limit(&self) -> f64;
    /// Lanes beyond the last row hold arbitrary numbers.
    fn block(&mut self, first: usize, sums: &[f64; LANES]);
}

/// A metric with the scales of features.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    pub metric: Metric,
    /// 1 / scale by column; empty if nothing is scaled.
    pub inverse: &'a [f64],
}

/// A query with as many columns as the points.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub values: &'a [f64],
    /// No value is missing.
    pub complete: bool,
}

pub struct Scan<'a, V> {
    pub points: &'a Points,
    pub space: Space<'a>,
    pub query: Query<'a>,
    pub visit: &'a mut V,
}

impl<V: Visit> Scan<'_, V> {
    pub fn run(self, arch: Arch) {
        arch.dispatch(self);
    }

    #[inline(always)]
    fn differences<T: Term>(self, term: T) {
        let Scan { points, space, query, visit } = self;
        let blocks = points.values().chunks_exact(points.width() * LANES);
        if !(points.is_plain() && query.complete) {
            for (block, values) in blocks.enumerate() {
                let sums = partial::<T, LANES>(values, query.values, points.nominal(), space.inverse, term);
                visit.block(block * LANES, &sums);
            }
        } else if space.inverse.is_empty() {
            for (block, values) in blocks.enumerate() {
                let sums = plain::<T, LANES>(values, query.values, term, visit.limit());
                visit.block(block * LANES, &sums);
            }
        } else {
            for (block, values) in blocks.enumerate() {
                let sums = scaled::<T, LANES>(values, query.values, space.inverse, term, visit.limit());
                visit.block(block * LANES, &sums);
            }
        }
    }
}

impl<V: Visit> WithSimd for Scan<'_, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        if self.points.width() == 0 {
            // Rows without features share none.
            for first in (0..self.points.len()).step_by(LANES) {
                self.visit.block(first, &[f64::INFINITY; LANES]);
            }
            return;
        }
        match self.space.metric {
            Metric::Manhattan => self.differences(Absolute),
            Metric::Euclidean => self.differences(Square),
            Metric::Minkowski(p) => self.differences(Power(p)),
            Metric::Cosine => {
                let Scan { points, space, query, visit } = self;
                let blocks = points.values().chunks_exact(points.width() * LANES);
                for (block, values) in blocks.enumerate() {
                    let sums = cosine::<LANES>(values, query.values, points.nominal(), space.inverse);
                    visit.block(block * LANES, &sums);
                }
            }
        }
    }
}

/// The sum between a query and one row of a store with one lane.
#[inline]
pub fn sum_of(points: &Points, space: Space<'_>, query: Query<'_>, place: usize) -> f64 {
    let row = points.row(place);
    let nominal = points.nominal();
    let general = !(points.is_plain() && query.complete);
    let [sum] = match space.metric {
        Metric::Euclidean if general => partial(row, query.values, nominal, space.inverse, Square),
        Metric::Euclidean if space.inverse.is_empty() => plain(row, query.values, Square, f64::INFINITY),
        Metric::Euclidean => scaled(row, query.values, space.inverse, Square, f64::INFINITY),
        Metric::Manhattan => partial(row, query.values, nominal, space.inverse, Absolute),
        Metric::Minkowski(p) => partial(row, query.values, nominal, space.inverse, Power(p)),
        Metric::Cosine => cosine(row, query.values, nominal, space.inverse),
    };
    sum
}

/// NaN, the difference of two infinities, becomes an infinite sum.
#[inline(always)]
fn ordered<const N: usize>(mut sums: [f64; N]) -> [f64; N] {
    for sum in &mut sums {
        *sum = if *sum >= 0.0 { *sum } else { f64::INFINITY };
    }
    sums
}

#[inline(always)]
fn all_beyond<const N: usize>(sums: &[f64; N], limit: f64) -> bool {
    sums.iter().fold(true, |beyond, &sum| beyond & (sum > limit))
}

#[inline(always)]
fn plain<T: Term, const N: usize>(block: &[f64], query: &[f64], term: T, limit: f64) -> [f64; N] {
    let mut sums = [0.0; N];
    let columns = &block.as_chunks::<N>().0[..query.len()];
    let width = query.len();
    for (columns, query) in columns.chunks(STEP).zip(query.chunks(STEP)) {
        for (values, &q) in columns.iter().zip(query) {
            for lane in 0..N {
                sums[lane] += term.term(values[lane] - q);
            }
        }
        if width > STEP && all_beyond(&sums, limit) {
            break;
        }
    }
    ordered(sums)
}

#[inline(always)]
fn scaled<T: Term, const N: usize>(
    block: &[f64],
    query: &[f64],
    inverse: &[f64],
    term: T,
    limit: f64,
) -> [f64; N] {
    let mut sums = [0.0; N];
    let columns = &block.as_chunks::<N>().0[..query.len()];
    let inverse = &inverse[..query.len()];
    let width = query.len();
    for ((columns, query), inverse) in columns.chunks(STEP).zip(query.chunks(STEP)).zip(inverse.chunks(STEP)) {
        for ((values, &q), &inverse) in columns.iter().zip(query).zip(inverse) {
            for lane in 0..N {
                sums[lane] += term.term((values[lane] - q) * inverse);
            }
        }
        if width > STEP && all_beyond(&sums, limit) {
            break;
        }
    }
    ordered(sums)
}

/// With missing and nominal values.
#[inline(always)]
fn partial<T: Term, const N: usize>(
    block: &[f64],
    query: &[f64],
    nominal: &[bool],
    inverse: &[f64],
    term: T,
) -> [f64; N] {
    let (mut sums, mut shared) = ([0.0; N], [0.0; N]);
    let columns = &block.as_chunks::<N>().0[..query.len()];
    for (column, (values, &q)) in columns.iter().zip(query).enumerate() {
        if q.is_nan() {
            continue;
        }
        let inverse = inverse.get(column).copied();
        for lane in 0..N {
            let value = values[lane];
            let there = !value.is_nan();
            let sum = if nominal[column] {
                f64::from(u8::from(value != q))
            } else {
                term.term(inverse.map_or(value - q, |inverse| (value - q) * inverse))
            };
            sums[lane] += if there { sum } else { 0.0 };
            shared[lane] += f64::from(u8::from(there));
        }
    }
    let width = query.len() as f64;
    for lane in 0..N {
        if shared[lane] == 0.0 {
            sums[lane] = f64::INFINITY;
        } else if shared[lane] < width {
            sums[lane] *= width / shared[lane];
        }
    }
    ordered(sums)
}

/// Σ (aⱼ/∣a∣ − bⱼ/∣b∣)² over the features of both rows. A row of zeros has no direction: it is 1 from every row.
#[inline(always)]
fn cosine<const N: usize>(block: &[f64], query: &[f64], nominal: &[bool], inverse: &[f64]) -> [f64; N] {
    let columns = &block.as_chunks::<N>().0[..query.len()];
    let scale = |column: usize| inverse.get(column).copied().unwrap_or(1.0);
    let (mut rows, mut queries, mut shared) = ([0.0; N], [0.0; N], [0.0; N]);
    for (column, (values, &q)) in columns.iter().zip(query).enumerate() {
        let scale = scale(column);
        for lane in 0..N {
            let (a, b) = match nominal[column] {
                true => (1.0, 1.0),
                false => (values[lane] * scale, q * scale),
            };
            let there = !(values[lane].is_nan() || q.is_nan());
            rows[lane] += if there { a * a } else { 0.0 };
            queries[lane] += if there { b * b } else { 0.0 };
            shared[lane] += f64::from(u8::from(there));
        }
    }
    let mut sums = [0.0; N];
    let (mut row_inverse, mut query_inverse) = ([0.0; N], [0.0; N]);
    for lane in 0..N {
        row_inverse[lane] = 1.0 / rows[lane].sqrt();
        query_inverse[lane] = 1.0 / queries[lane].sqrt();
    }
    for (column, (values, &q)) in columns.iter().zip(query).enumerate() {
        let scale = scale(column);
        for lane in 0..N {
            let there = !(values[lane].is_nan() || q.is_nan());
            let square = if nominal[column] {
                let (a, b) = (row_inverse[lane], query_inverse[lane]);
                if values[lane] == q {
                    (a - b) * (a - b)
                } else {
                    a * a + b * b
                }
            } else {
                let difference = values[lane] * scale * row_inverse[lane] - q * scale * query_inverse[lane];
                difference * difference
            };
            sums[lane] += if there { square } else { 0.0 };
        }
    }
    for lane in 0..N {
        if shared[lane] == 0.0 {
            sums[lane] = f64::INFINITY;
        } else if rows[lane] == 0.0 || queries[lane] == 0.0 {
            sums[lane] = 2.0;
        }
    }
    ordered(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureKind;

    struct All(Vec<f64>);

    impl Visit for All {
        fn limit(&self) -> f64 {
            f64::INFINITY
        }
        fn block(&mut self, _first: usize, sums: &[f64; LANES]) {
            self.0.extend_from_slice(sums);
        }
    }

    fn sums(rows: &[&[f64]], query: &[f64], metric: Metric, inverse: &[f64], kinds: &[FeatureKind]) -> Vec<f64> {
        let (mut blocks, mut single) = (Points::new(20, LANES), Points::new(20, 1));
        for points in [&mut blocks, &mut single] {
            points.grow(query.len());
            rows.iter().for_each(|row| {
                points.push(row, kinds);
            });
        }
        let query = Query { values: query, complete: !query.iter().any(|x| x.is_nan()) };
        let space = Space { metric, inverse };
        let mut all = All(Vec::new());
        Scan { points: &blocks, space, query, visit: &mut all }.run(Arch::new());
        all.0.truncate(rows.len());
        for (place, sum) in all.0.iter().enumerate() {
            assert_eq!(sum.to_bits(), sum_of(&single, space, query, place).to_bits());
        }
        all.0
    }

    #[test]
    fn by_hand() {
        let rows: [&[f64]; 2] = [&[1.0, 2.0], &[-1.0, 5.0]];
        // Differences from (1, 1): (0, 1) and (−2, 4); halved in the second column: (0, ½) and (−2, 2).
        assert_eq!(sums(&rows, &[1.0, 1.0], Metric::Euclidean, &[], &[]), [1.0, 20.0]);
        assert_eq!(sums(&rows, &[1.0, 1.0], Metric::Euclidean, &[1.0, 0.5], &[]), [0.25, 8.0]);
        assert_eq!(sums(&rows, &[1.0, 1.0], Metric::Manhattan, &[], &[]), [1.0, 6.0]);
        let cubes = sums(&rows, &[1.0, 1.0], Metric::Minkowski(3.0), &[], &[]);
        assert!((cubes[1] - 72.0).abs() < 1e-12);
        // cos((1, 0), (0, 1)) = 0, and (2, 0) has the direction of (1, 0).
        let angles = sums(&[&[0.0, 3.0], &[2.0, 0.0], &[0.0, 0.0]], &[1.0, 0.0], Metric::Cosine, &[], &[]);
        assert_eq!(angles, [2.0, 0.0, 2.0]);
    }

    #[test]
    fn missing_and_nominal_by_hand() {
        use FeatureKind::{Nominal, Number};
        let none = f64::NAN;
        let rows: [&[f64]; 4] = [&[1.0, 2.0, 0.0], &[none, 4.0, 1.0], &[3.0, none, none], &[none; 3]];
        let kinds = [Number, Number, Nominal];
        // Against (2, 2, code 1): 1 + 0 + 1; (4 + 0) · 3/2; 1 · 3/1; nothing in common.
        assert_eq!(sums(&rows, &[2.0, 2.0, 1.0], Metric::Euclidean, &[], &kinds), [2.0, 6.0, 3.0, f64::INFINITY]);
        // The query lacks the first number: (0 + 1) · 3/2, (4 + 0) · 3/2, and nothing in common.
        let found = sums(&rows, &[none, 2.0, 1.0], Metric::Euclidean, &[], &kinds);
        assert_eq!(found, [1.5, 6.0, f64::INFINITY, f64::INFINITY]);
    }

    #[test]
    fn close_rows_far_from_0_keep_their_digits() {
        // Expanded squares of 1e8 would leave no digit of 1e-18.
        let found = sums(&[&[1e8 + 1.0]], &[1e8], Metric::Euclidean, &[], &[]);
        assert_eq!(found, [1.0]);
        let angle = sums(&[&[1.0, 1e-9]], &[1.0, 0.0], Metric::Cosine, &[], &[]);
        assert!((angle[0] - 1e-18).abs() < 1e-24);
    }

    #[test]
    fn a_wide_row_is_abandoned_only_beyond_the_limit() {
        let row = [1.0; 100];
        assert_eq!(plain::<Square, 1>(&row, &[0.0; 100], Square, 100.0), [100.0]);
        assert!(plain::<Square, 1>(&row, &[0.0; 100], Square, 20.0)[0] > 20.0);
    }
}
