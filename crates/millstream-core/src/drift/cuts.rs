//! Whether the two sides of a cut of ADWIN's window have means too far apart; see `window.rs` for the rule.
//!
//! Most cuts are refused without a division, a root or a logarithm. With g = |n₀ Σ / n − Σ₀| = n₀ n₁ |μ₁ − μ₀| / n, and
//! a, b ≤ n₀, n₁ the denominators in m, a cut needs g² > 2 σ² ln(…) (a + b) (n₀ n₁)² / (n² a b) ≥ 2 σ² ln(…) (a + b)
//! n₀ n₁ / n², where the logarithm of the power of two below n is not larger. Those that are near enough for rounding to
//! matter are left to be computed. A cut that is a warning is refused by the same products, made for the greater chance
//! of a false alarm: what is no warning is no change either, so that warnings cost nothing where all is well.

use super::buckets::Buckets;
use super::window::Settings;
use super::Direction;

/// The numbers of a window.
#[derive(Clone, Copy)]
pub struct Sums {
    pub width: u64,
    pub total: f64,
    /// The sum of squared deviations.
    pub squares: f64,
}

/// Which way the mean went at a cut, and whether that is a change; else it is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub direction: Direction,
    pub sure: bool,
}

/// ln(2 ln(n) / δ) for the power of two that is not above the width, as long as that is the same one.
#[derive(Default)]
pub struct Logarithm {
    power: u32,
    value: f64,
}

impl Logarithm {
    fn of(&mut self, width: u64, delta: f64) -> f64 {
        let power = width.max(1).ilog2();
        if power != self.power || power == 0 {
            let log = f64::from(power) * std::f64::consts::LN_2;
            (self.power, self.value) = (power, (2.0 * log / delta).ln());
        }
        self.value
    }
}

/// The first cut, from the oldest on, whose sides have means too far apart; if there is none, the first at which that is
/// likely.
#[inline]
pub fn first(buckets: &Buckets, sums: Sums, settings: &Settings, log: &mut Logarithm) -> Option<Cut> {
    let (width, least) = (sums.width as f64, settings.min_window_length as f64);
    let (mean, inverse) = (sums.total / width, 1.0 / width);
    // Less by far more than rounding.
    let below = (1.0 - 1e-9) * 2.0 * log.of(sums.width, settings.warning_delta) * (width - 2.0 * least + 2.0);
    let factor = below * sums.squares * inverse * inverse * inverse;
    let (mut old, mut total) = (0.0, 0.0);
    let mut refused = true;
    for (size, row) in buckets.rows(settings.max_buckets + 1) {
        // What a row adds is summed up by itself, so that rows need not wait for each other.
        let mut here = 0.0;
        for bucket in row {
            old += size;
            here += bucket.total;
            let (new, apart) = (width - old, old * mean - (total + here));
            // So that what is no number counts as not refused.
            refused &= (apart * apart < old * new * factor) | (new < least);
        }
        total += here;
    }
    if refused {
        return None;
    }
    doubtful(buckets, sums, settings)
}

#[cold]
fn doubtful(buckets: &Buckets, sums: Sums, settings: &Settings) -> Option<Cut> {
    let cut =
        |delta: f64, sure: bool| computed(buckets, sums, settings, delta).map(|direction| Cut { direction, sure });
    match settings.warns() {
        true => cut(settings.delta, true).or_else(|| cut(settings.warning_delta, false)),
        false => cut(settings.delta, true),
    }
}

fn computed(buckets: &Buckets, sums: Sums, settings: &Settings, delta: f64) -> Option<Direction> {
    let (width, least) = (sums.width as f64, settings.min_window_length as f64);
    let log = (2.0 * width.ln() / delta).ln();
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
