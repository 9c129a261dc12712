//! STEPD (Nishida and Yamauchi, 2007): a test of equal proportions between the newest numbers and all before them.
//!
//! With rₒ errors among nₒ older numbers, r among the newest n, and p̂ = (rₒ + r) / (nₒ + n), the statistic
//!
//! ```text
//! T = (|rₒ / nₒ − r / n| − ½ (1 / nₒ + 1 / n)) / √(p̂ (1 − p̂) (1 / nₒ + 1 / n))
//! ```
//!
//! has a standard normal distribution (equation 1). If the newest numbers have more errors and the two-sided p-value of T
//! is below a significance level, there is a warning or drift. The estimated change point is the first of the newest
//! numbers.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::quantiles::outside_normal;

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::ring_buffer::RingBuffer;
use super::{significance, window_size};

pub static STEPD: Declaration = Declaration {
    name: Stepd::NAME,
    role: Role::DriftDetector,
    words: "Statistical test of equal proportions: the recent error rate against that of all earlier values",
    merge: Merge::DETECTOR,
    parameters: &[
        window_size("window_size", 30, "number of recent values"),
        significance("significance", 0.003, "significance level of drift at each value")
            .formerly(&["alpha_drift"]),
        significance("warning_significance", 0.05, "significance level of warnings at each value")
            .formerly(&["alpha_warning"]),
    ],
    build: |arguments| {
        Ok(build(Stepd {
            size: arguments.integer("window_size")? as usize,
            drift: arguments.float("significance")?,
            warning: arguments.float("warning_significance")?,
        }))
    },
};

#[derive(Clone)]
struct Stepd {
    size: usize,
    drift: f64,
    warning: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    recent: RingBuffer,
    /// Errors among the newest numbers, and among the earlier ones.
    new: f64,
    old: f64,
    /// Count of the earlier numbers.
    older: u64,
    verdict: Verdict,
}

impl Stepd {
    fn judge(&self, state: &State) -> Verdict {
        let (older, newer) = (state.older as f64, self.size as f64);
        let (before, now) = (state.old / older, state.new / newer);
        let both = (state.old + state.new) / (older + newer);
        let spread = (both * (1.0 - both) * (1.0 / older + 1.0 / newer)).max(0.0).sqrt();
        let apart = now - before - 0.5 * (1.0 / older + 1.0 / newer);
        if now <= before || spread == 0.0 || apart <= 0.0 {
            return Verdict::default();
        }
        let p_value = outside_normal(apart / spread);
        if p_value < self.drift {
            Verdict::drift(Direction::Up, self.size as u64)
        } else if p_value < self.warning {
            Verdict::warning(Direction::Up, self.size as u64)
        } else {
            Verdict::default()
        }
    }
}

impl ChangeTest for Stepd {
    const NAME: &'static str = "drift.STEPD";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        state.new += x;
        if let Some(oldest) = state.recent.push(x, self.size) {
            state.new -= oldest;
            state.old += oldest;
            state.older = state.older.saturating_add(1);
        }
        state.verdict = if state.older >= self.size as u64 { self.judge(state) } else { Verdict::default() };
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    /// The error rate among the newest numbers.
    fn estimation(state: &State) -> f64 {
        let numbers = state.recent.len();
        if numbers == 0 {
            0.0
        } else {
            state.new / numbers as f64
        }
    }

    fn restart(&self, state: &mut State) {
        state.recent.clear();
        (state.new, state.old, state.older, state.verdict) = (0.0, 0.0, 0, Verdict::default());
    }

    fn is_sound(&self, state: &State) -> bool {
        state.recent.is_sound(self.size, 0.0, 1.0)
            && (state.older == 0 || state.recent.len() == self.size)
            && state.new.is_finite()
            && state.old.is_finite()
    }

    fn memory(state: &State) -> usize {
        state.recent.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::{detector, found};
    use super::*;
    use serde_json::json;

    #[test]
    fn p_values_of_a_normal() {
        // From tables: 0.31731, 0.045500, 0.0026998, 6.3342e-5.
        for (z, p_value) in [(1.0, 0.317_310_5), (2.0, 0.045_500_26), (3.0, 0.002_699_796), (4.0, 6.334_248e-5)] {
            assert!((outside_normal(z) / p_value - 1.0).abs() < 1e-6, "{z}: {}", outside_normal(z));
        }
    }

    #[test]
    fn worked_by_hand() {
        // A window of 10 after 20 zeros; with k ones among the newest ten, 20 + k numbers in all: after four ones nₒ = 14,
        // p̂ = 4/24, T = (0.4 − ½ (1/14 + 1/10)) / √(4/24 · 20/24 · (1/14 + 1/10)) = 0.3143 / 0.1543 = 2.037: p = 0.042,
        // a warning. After five: nₒ = 15, T = 0.4167 / 0.1633 = 2.552, p = 0.0107; after six: nₒ = 16, T = 0.5188 / 0.1696
        // = 3.058, p = 0.0022: drift.
        let mut detector = detector(Stepd::NAME, json!({ "window_size": 10 }));
        let numbers: Vec<f64> = (0..26).map(|index| f64::from(u8::from(index >= 20))).collect();
        assert_eq!(found(&mut *detector, numbers[..24].to_vec()), [] as [usize; 0]);
        assert_eq!(detector.verdict(), Verdict::warning(Direction::Up, 10));
        assert_eq!(found(&mut *detector, numbers[24..].to_vec()), [1]);
        assert!((detector.estimation() - 0.6).abs() < 1e-15);
    }
}
