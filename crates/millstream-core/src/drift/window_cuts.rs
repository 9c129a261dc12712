//! The test of ADWIN's cuts: whether the means of the two sides differ too much. The formula is in `adaptive_window.rs`.
//!
//! Most cuts are ruled out without division, square root or logarithm. With g = |n₀ Σ / n − Σ₀| = n₀ n₁ |μ₁ − μ₀| / n, and
//! a, b ≤ n₀, n₁ the denominators in m, a cut needs g² > 2 σ² ln(…) (a + b) (n₀ n₁)² / (n² a b) ≥ 2 σ² ln(…) (a + b)
//! n₀ n₁ / n², where the logarithm of the power of two below n is not larger. Cuts that are near enough for rounding to
//! matter are computed in full. The products use the higher significance level of warnings: a cut that is no warning is no
//! drift either, so that warnings cost nothing on a stable stream.

use super::adaptive_window::AdwinSettings;
use super::exponential_histogram::ExponentialHistogram;
use super::Direction;

/// The sums of a window.
#[derive(Clone, Copy)]
pub struct WindowSums {
    pub width: u64,
    pub total: f64,
    /// The sum of squared deviations.
    pub squares: f64,
}

/// Direction of the change at a cut, and whether it is drift; otherwise it is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub direction: Direction,
    pub significant: bool,
}

/// ln(2 ln(n) / δ) for the largest power of two up to the width, cached while that power stays the same.
#[derive(Default)]
pub struct Logarithm {
    power: u32,
    value: f64,
}

impl Logarithm {
    fn of(&mut self, width: u64, significance: f64) -> f64 {
        let power = width.max(1).ilog2();
        if power != self.power || power == 0 {
            let log = f64::from(power) * std::f64::consts::LN_2;
            (self.power, self.value) = (power, (2.0 * log / significance).ln());
        }
        self.value
    }
}

/// The oldest cut that is drift; if there is none, the oldest that is a warning.
#[inline]
pub fn first(
    buckets: &ExponentialHistogram,
    sums: WindowSums,
    settings: &AdwinSettings,
    log: &mut Logarithm,
) -> Option<Cut> {
    let (width, least) = (sums.width as f64, settings.min_window_length as f64);
    let (mean, inverse) = (sums.total / width, 1.0 / width);
    // Smaller than the bound by far more than rounding.
    let below =
        (1.0 - 1e-9) * 2.0 * log.of(sums.width, settings.warning_significance) * (width - 2.0 * least + 2.0);
    let factor = below * sums.squares * inverse * inverse * inverse;
    let (mut old, mut total) = (0.0, 0.0);
    let mut ruled_out = true;
    for (size, row) in buckets.rows(settings.max_buckets + 1) {
        // Each row is summed separately, so that rows are independent.
        let mut here = 0.0;
        for bucket in row {
            old += size;
            here += bucket.total;
            let (new, apart) = (width - old, old * mean - (total + here));
            // NaN counts as not ruled out.
            ruled_out &= (apart * apart < old * new * factor) | (new < least);
        }
        total += here;
    }
    if ruled_out {
        return None;
    }
    exact(buckets, sums, settings)
}

#[cold]
fn exact(buckets: &ExponentialHistogram, sums: WindowSums, settings: &AdwinSettings) -> Option<Cut> {
    let cut = |significance: f64, significant: bool| {
        computed(buckets, sums, settings, significance).map(|direction| Cut { direction, significant })
    };
    match settings.warns() {
        true => cut(settings.significance, true).or_else(|| cut(settings.warning_significance, false)),
        false => cut(settings.significance, true),
    }
}

fn computed(
    buckets: &ExponentialHistogram,
    sums: WindowSums,
    settings: &AdwinSettings,
    significance: f64,
) -> Option<Direction> {
    let (width, least) = (sums.width as f64, settings.min_window_length as f64);
    let log = (2.0 * width.ln() / significance).ln();
    let spread = 2.0 * log * sums.squares / width;
    let (mut old, mut total) = (0.0, 0.0);
    for (size, row) in buckets.rows(settings.max_buckets + 1) {
        let mut here = 0.0;
        for bucket in row {
            old += size;
            here += bucket.total;
            let (new, old_total) = (width - old, total + here);
            if old < least || new < least {
                continue;
            }
            let apart = (sums.total - old_total) / new - old_total / old;
            let m = 1.0 / (old - least + 1.0) + 1.0 / (new - least + 1.0);
            // |apart| > √(spread m) + ⅔ m log, without the root.
            let rest = apart.abs() - 2.0 / 3.0 * m * log;
            if rest > 0.0 && rest * rest > spread * m {
                return Some(if apart > 0.0 { Direction::Up } else { Direction::Down });
            }
        }
        total += here;
    }
    None
}
