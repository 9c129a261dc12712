//! Whether the two sides of a cut of ADWIN's window have means too far apart; see `window.rs` for the rule.
//!
//! Most cuts are refused without a division. With d = |n₀ Σ − n Σ₀| = n₀ n₁ |μ₁ − μ₀|, and a, b the denominators in m, a
//! cut needs d² a b > 2 σ² ln(…) (a + b) (n₀ n₁)², and d a b > ⅔ ln(…) (a + b) n₀ n₁. Those that are near enough for
//! rounding to matter are left to be computed.

use super::window::Settings;
use super::Direction;

/// How many cuts are looked at together.
pub const TOGETHER: usize = 64;

/// What all cuts of a window have in common.
pub struct Cuts {
    width: f64,
    total: f64,
    /// The least length of a side.
    least: f64,
    /// 2 σ² ln(…).
    spread: f64,
    /// ln(…).
    log: f64,
    /// The right sides of what a cut needs, but for the sizes, less by far more than rounding.
    squared: f64,
    linear: f64,
}

impl Cuts {
    /// Of a window with so many numbers, their sum and the sum of squared deviations.
    pub fn new(width: u64, total: f64, squares: f64, settings: &Settings) -> Self {
        let (width, least) = (width as f64, settings.min_window_length as f64);
        let log = (2.0 * width.ln() / settings.delta).ln();
        let spread = 2.0 * log * squares / width;
        let below = (1.0 - 1e-9) * (width - 2.0 * least + 2.0);
        let linear = below * (2.0 / 3.0) * log;
        Cuts { width, total, least, spread, log, squared: below * spread, linear }
    }

    /// Whether the cut after so many numbers with this sum is certainly none. Everything is computed in any case: a
    /// branch would keep it out of vector registers.
    #[inline]
    fn refuses(&self, old: f64, old_total: f64) -> bool {
        let new = self.width - old;
        let (a, b) = (old - self.least + 1.0, new - self.least + 1.0);
        let sizes = old * new;
        let apart = (old * self.total - self.width * old_total).abs();
        let both = a * b;
        (old < self.least)
            | (new < self.least)
            | (apart * apart * both < self.squared * sizes * sizes)
            | (apart * both < self.linear * sizes)
    }

    /// The first of some cuts whose sides have means too far apart.
    #[inline]
    pub fn first(&self, olds: &[f64], totals: &[f64]) -> Option<Direction> {
        let refused = olds.iter().zip(totals).fold(true, |all, (&old, &total)| all & self.refuses(old, total));
        if refused {
            return None;
        }
        olds.iter().zip(totals).find_map(|(&old, &total)| self.judge(old, total))
    }

    fn judge(&self, old: f64, old_total: f64) -> Option<Direction> {
        let new = self.width - old;
        if old < self.least || new < self.least {
            return None;
        }
        let apart = (self.total - old_total) / new - old_total / old;
        let m = 1.0 / (old - self.least + 1.0) + 1.0 / (new - self.least + 1.0);
        // |apart| > √(spread m) + ⅔ m log, without the root.
        let rest = apart.abs() - 2.0 / 3.0 * m * self.log;
        let far = rest > 0.0 && rest * rest > self.spread * m;
        far.then_some(if apart > 0.0 { Direction::Up } else { Direction::Down })
    }
}
