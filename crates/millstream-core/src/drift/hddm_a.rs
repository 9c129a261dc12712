//! HDDM_A (Frías-Blanco and others, 2015): Hoeffding's inequality on the means before and after a cut.
//!
//! The cut for an increase is the end of the prefix of the stream whose mean plus its bound √(ln(1/α) / 2n) is minimal
//! (for a decrease: minus, maximal). With n numbers before the cut, N in all and m = (N − n) / (n N), the mean has
//! increased when mean(N) − mean(n) ≥ √(m ln(2/α) / 2) (corollary 8). The estimated change point is the cut.

use serde::{Deserialize, Serialize};

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;

use super::change_test::{build, ChangeTest, Direction, Verdict};
use super::{SIGNIFICANCE, TWO_SIDED, WARNING_SIGNIFICANCE};

pub static HDDM_A: Declaration = Declaration {
    name: HddmA::NAME,
    role: Role::DriftDetector,
    words: "Hoeffding's bounds on means before and after a cut, for abrupt drift",
    merge: Merge::DETECTOR,
    parameters: &[SIGNIFICANCE, WARNING_SIGNIFICANCE, TWO_SIDED],
    build: |arguments| {
        Ok(build(HddmA {
            drift: Level::new(arguments.float("significance")?),
            warning: Level::new(arguments.float("warning_significance")?),
            two_sided: arguments.boolean("two_sided_test")?,
        }))
    },
};

#[derive(Clone)]
struct HddmA {
    drift: Level,
    warning: Level,
    two_sided: bool,
}

/// The logarithms of a significance level α, which are the same for all numbers.
#[derive(Clone, Copy)]
struct Level {
    /// ln(1/α)
    of_prefix: f64,
    /// ln(2/α)
    of_cut: f64,
}

impl Level {
    fn new(significance: f64) -> Self {
        Level { of_prefix: (1.0 / significance).ln(), of_cut: (2.0 / significance).ln() }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct RunningMean {
    numbers: u64,
    mean: f64,
}

impl RunningMean {
    fn bound(&self, level: Level) -> f64 {
        (1.0 / (2.0 * self.numbers as f64) * level.of_prefix).sqrt()
    }

    fn is_sound(&self) -> bool {
        (0.0..=1.0).contains(&self.mean)
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    all: RunningMean,
    /// The prefixes with the minimal upper and the maximal lower bound.
    low: RunningMean,
    high: RunningMean,
    verdict: Verdict,
}

impl HddmA {
    /// The verdict on `apart`, the difference of the overall mean and that of a prefix in the given direction.
    fn judge(&self, apart: f64, all: &RunningMean, cut: &RunningMean, direction: Direction) -> Verdict {
        if all.numbers == cut.numbers {
            return Verdict::default();
        }
        let (n, before) = (all.numbers as f64, cut.numbers as f64);
        let m = (n - before) / before * (1.0 / n);
        let beyond = |level: Level| apart >= (m / 2.0 * level.of_cut).sqrt();
        let since = all.numbers - cut.numbers;
        if beyond(self.drift) {
            Verdict::drift(direction, since)
        } else if beyond(self.warning) {
            Verdict::warning(direction, since)
        } else {
            Verdict::default()
        }
    }
}

impl ChangeTest for HddmA {
    const NAME: &'static str = "drift.HDDM_A";
    const UNIT_INTERVAL: bool = true;
    type State = State;

    fn update(&self, state: &mut State, x: f64) -> Result<()> {
        let State { all, low, high, verdict } = state;
        all.numbers = all.numbers.saturating_add(1);
        all.mean += (1.0 / all.numbers as f64) * (x - all.mean);
        let bound = all.bound(self.drift);
        if low.numbers == 0 || low.mean + low.bound(self.drift) >= all.mean + bound {
            *low = *all;
        }
        if high.numbers == 0 || high.mean - high.bound(self.drift) <= all.mean - bound {
            *high = *all;
        }
        *verdict = self.judge(all.mean - low.mean, all, low, Direction::Up);
        if self.two_sided && !verdict.drift {
            let fall = self.judge(high.mean - all.mean, all, high, Direction::Down);
            if fall.drift || (fall.warning && !verdict.warning) {
                *verdict = fall;
            }
        }
        Ok(())
    }

    fn verdict(state: &State) -> Verdict {
        state.verdict
    }

    fn estimation(state: &State) -> f64 {
        state.all.mean
    }

    fn is_sound(&self, state: &State) -> bool {
        let numbers = state.all.numbers;
        [state.all, state.low, state.high].iter().all(|one| one.is_sound() && one.numbers <= numbers)
            && (state.low.numbers.min(state.high.numbers) > 0 || numbers == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::change_test::tests::detector;
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Ten times 0 and then ones. With k ones the mean is k / (10 + k) and m = k / (10 (10 + k)); the bound for drift
        // is √(m ln(2000) / 2): at k = 6 0.375 against √(0.0375 · 3.8005) = 0.3775, at k = 7 0.4118 against 0.3956.
        let mut detector = detector(HddmA::NAME, json!({}));
        for _ in 0..10 {
            detector.update(0.0).expect("a good number");
        }
        let verdicts: Vec<_> = (0..7)
            .map(|_| {
                detector.update(1.0).expect("a good number");
                detector.verdict()
            })
            .collect();
        assert_eq!(verdicts[6], Verdict::drift(Direction::Up, 7));
        assert_eq!(verdicts[5], Verdict::warning(Direction::Up, 6));
    }
}
