//! The speed of a bare kernel on this processor, with which benchmarks/ compares learners of a matrix.

use std::hint::black_box;
use std::time::Instant;

use pyo3::prelude::*;

/// Floating-point operations per second of a rank-one update of a dense triangle, S ← S + factor · v vᵀ, in 64-bit
/// numbers and in the cache; the best of several runs. It is compiled like the learners.
#[pyfunction]
pub fn rank_one_rate(py: Python<'_>, width: usize, runs: usize) -> f64 {
    py.detach(|| {
        let v: Vec<f64> = (0..width).map(|i| 1.0 + 1.0 / (1.0 + i as f64)).collect();
        let mut sums = vec![0.0; width * (width + 1) / 2];
        let repeats = 1 + 1_000_000 / sums.len().max(1);
        let mut best = f64::MAX;
        for _ in 0..runs.max(1) {
            let start = Instant::now();
            for _ in 0..repeats {
                update(black_box(&mut sums), black_box(&v), 1e-9);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        2.0 * (repeats * sums.len()) as f64 / best
    })
}

#[inline(never)]
fn update(sums: &mut [f64], v: &[f64], factor: f64) {
    let mut rest = sums;
    for j in 0..v.len() {
        let (column, after) = rest.split_at_mut(j + 1);
        rest = after;
        let (scaled, v) = (factor * v[j], &v[..=j]);
        for i in 0..=j {
            column[i] += scaled * v[i];
        }
    }
}
