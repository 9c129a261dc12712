//! The role of policy estimators: the trait, and its verbs when it is held.

use crate::fault::{Fault, Result, Shown};
use crate::held::{hold_boxed, Held};
use crate::labels::Labels;
use crate::merging::Merger;
use crate::part::Part;

use super::weights::Summary;

/// A round of a log. Numbers that an estimator does not need may be NaN.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub reward: f64,
    /// The logged probability of the action taken.
    pub probability: f64,
    /// The probability of that action under the target policy.
    pub target_probability: f64,
    /// Of a reward model: the prediction for the action taken.
    pub prediction: f64,
    /// Of a reward model: the mean prediction under the target policy.
    pub target_value: f64,
    /// The same two of another policy, for a difference.
    pub other_probability: f64,
    pub other_value: f64,
    pub w: f64,
}

/// Which of the optional numbers an estimator needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// `prediction` and `target_value`.
    pub model: bool,
    /// `other_probability`, and `other_value` if there is a model.
    pub other: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Interval {
    /// Valid at all times at once.
    Sequence,
    /// By the central limit theorem, valid at one time chosen in advance.
    Normal,
    /// Percentiles of samples drawn with replacement.
    Bootstrap { resamples: usize, seed: u64 },
}

pub trait PolicyEstimator: Part {
    fn needs(&self) -> Needs;
    /// Receive a round of a positive weight. After a fault the state is bit for bit what it was.
    fn update(&mut self, round: &Round) -> Result<()>;
    /// The estimate; NaN while it is undefined.
    fn value(&self) -> f64;
    fn interval(&self, kind: Interval, coverage: f64) -> (f64, f64);
    fn weights(&self, coverage: f64) -> Summary;
    /// Add the saved state of another part of the log, or with sign −1 remove that of a common beginning.
    fn merge(&mut self, other: &[u8], sign: f64) -> Result<()>;
    fn duplicate(&self) -> Box<dyn PolicyEstimator>;
}

hold_boxed!(
    PolicyEstimator,
    "policy estimator",
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        merger.sides().try_for_each(|(side, sign)| (**self).merge(side.state, sign))
    }
);

impl Held<Box<dyn PolicyEstimator>> {
    pub fn estimator(&self) -> &dyn PolicyEstimator {
        &*self.part
    }

    /// Receive a round. One of weight 0 leaves no trace.
    #[inline]
    pub fn update(&mut self, round: &Round) -> Result<()> {
        let w = round.w;
        if !(0.0..f64::INFINITY).contains(&w) {
            let (title, got) = (&self.title, Shown(w));
            return Err(Fault::value(format!("{title}: the weight must be finite and not negative, got {got}")));
        }
        if w > 0.0 {
            self.part.update(round)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    pub fn interval(&self, kind: Interval, coverage: f64) -> Result<(f64, f64)> {
        self.check_coverage(coverage)?;
        Ok(self.part.interval(kind, coverage))
    }

    pub fn weights(&self, coverage: f64) -> Result<Summary> {
        self.check_coverage(coverage)?;
        Ok(self.part.weights(coverage))
    }

    fn check_coverage(&self, coverage: f64) -> Result<()> {
        match coverage > 0.0 && coverage < 1.0 {
            true => Ok(()),
            false => {
                Err(Fault::value(format!("{}: coverage must be in (0, 1), got {}", self.title, Shown(coverage))))
            }
        }
    }
}
