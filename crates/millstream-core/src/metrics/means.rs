//! Metrics that are the weighted mean of one number per outcome: Σ w e / Σ w.
//!
//! | metric | e |
//! |---|---|
//! | Accuracy | 1 if the class was right; no prediction counts as wrong |
//! | LogLoss | −ln p(truth), p kept in [1e-15, 1 − 1e-15] |
//! | Brier (1950) | ½ Σ over classes (p − truth)², which is (p − y)² for two classes |
//! | MAE, MSE, RMSE | absolute error, squared error, root of the mean of it |
//! | Silhouette | (b − a) / max(a, b) of the distances a and b of a row to the nearest two centres; 0 if both are 0 |
//! | MAPE, SMAPE | 100 · absolute error / absolute truth, / mean of the absolute values; 0 where that is 0 |
//!
//! The silhouette is the simplified one (Vendramin, Campello and Hruschka, 2010), with distances to centres instead of mean
//! distances to all rows. A prediction without probabilities counts as p = ½, with a Brier score of ¼.

use serde::{Deserialize, Serialize};

use super::sums::{ratio, Sum, LIMIT};
use super::{overflow, wants_labels, wants_numbers};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::metric::{Metric, Outcome};
use crate::parameter::Arguments;
use crate::part::Part;
use crate::row::Want;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Error {
    Accuracy,
    LogLoss,
    Brier,
    Absolute,
    Squared,
    RootSquared,
    Percentage,
    SymmetricPercentage,
    Silhouette,
}

macro_rules! declare {
    ($($constant:ident $name:literal $error:ident $words:literal;)*) => {
        $(pub static $constant: Declaration = Declaration {
            name: $name,
            role: Role::Metric,
            words: $words,
            merge: Merge::EXACT,
            parameters: &[],
            build: |arguments| build(arguments, $name, Error::$error),
        };)*
    };
}
declare! {
    ACCURACY "metrics.Accuracy" Accuracy "Fraction of correct predictions";
    LOG_LOSS "metrics.LogLoss" LogLoss "Mean negative logarithm of the probability of the true class";
    BRIER "metrics.Brier" Brier "Mean squared error of the probabilities";
    MAE "metrics.MAE" Absolute "Mean absolute error";
    MSE "metrics.MSE" Squared "Mean squared error";
    RMSE "metrics.RMSE" RootSquared "Root mean squared error";
    MAPE "metrics.MAPE" Percentage "Mean absolute error as a percentage of the truth";
    SILHOUETTE "metrics.Silhouette" Silhouette "Mean simplified silhouette: how clearly rows belong to their clusters";
    SMAPE "metrics.SMAPE" SymmetricPercentage "Mean absolute error as a percentage of truth and prediction";
}

fn build(_: &Arguments<'_>, name: &'static str, error: Error) -> Result<Built> {
    Ok(Built::Metric(Box::new(MeanMetric { name, error, state: State::default() })))
}

#[derive(Clone)]
struct MeanMetric {
    name: &'static str,
    error: Error,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    weight: Sum,
    /// Σ w e
    total: f64,
}

impl MeanMetric {
    #[inline]
    fn of(&self, outcome: &Outcome) -> Result<f64> {
        let (truth, predicted) = match (*outcome, self.takes_numbers()) {
            (Outcome::Number { truth, predicted }, true) => (truth, predicted),
            (Outcome::Class(outcome), false) => {
                return Ok(match self.error {
                    Error::Accuracy => f64::from(outcome.predicted == Some(outcome.truth)),
                    Error::LogLoss => {
                        let p = outcome.truth_probability;
                        -(if p.is_nan() { 0.5 } else { p.clamp(1e-15, 1.0 - 1e-15) }).ln()
                    }
                    _ if outcome.squared_error.is_nan() => 0.25,
                    _ => 0.5 * outcome.squared_error,
                })
            }
            (Outcome::Number { .. }, false) => return Err(wants_labels(self.name)),
            (Outcome::Class(_), true) => return Err(wants_numbers(self.name)),
        };
        if !(truth.is_finite() && predicted.is_finite()) {
            return Err(Fault::value(format!(
                "{}: truth and prediction must be finite, got {truth} and {predicted}",
                self.name
            )));
        }
        if self.error == Error::Silhouette {
            let (own, next) = (truth, predicted);
            if own < 0.0 || next < 0.0 {
                return Err(Fault::value(format!("{}: distances must be >= 0, got {own} and {next}", self.name)));
            }
            let larger = own.max(next);
            return Ok(if larger > 0.0 { (next - own) / larger } else { 0.0 });
        }
        let error = (truth - predicted).abs();
        Ok(match self.error {
            Error::Squared | Error::RootSquared => error * error,
            Error::Percentage if truth == 0.0 => 0.0,
            Error::Percentage => error / truth.abs(),
            Error::SymmetricPercentage if error == 0.0 => 0.0,
            // Halve first, so that the sum of two large numbers does not overflow.
            Error::SymmetricPercentage => error / (0.5 * truth.abs() + 0.5 * predicted.abs()),
            _ => error,
        })
    }
}

impl Part for MeanMetric {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        require(self.name, state.weight.is_valid() && state.total.is_finite(), "a sum is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Metric for MeanMetric {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        if w == 0.0 {
            return Ok(());
        }
        let total = self.state.total + w * self.of(outcome)?;
        self.state.weight.check(self.name, w)?;
        if !total.is_finite() {
            return Err(overflow(self.name));
        }
        self.state.weight.add(w);
        self.state.total = if self.state.weight.count == 0 { 0.0 } else { total };
        Ok(())
    }

    fn infallible_for(&self, _classes: usize) -> bool {
        // Percentages are unbounded for truths near 0; all other errors add at most (2 LARGEST_NUMBER)².
        // A distance may be negative, and is refused.
        let bounded = !matches!(self.error, Error::Percentage | Error::SymmetricPercentage | Error::Silhouette);
        bounded && self.state.weight.has_room() && self.state.total < 0.5 * LIMIT
    }

    fn update_infallible(&mut self, outcomes: &[(Outcome, f64)]) -> Result<()> {
        for (outcome, w) in outcomes {
            self.state.total += w * self.of(outcome)?;
            self.state.weight.value += w;
        }
        self.state.weight.count = self.state.weight.count.saturating_add(outcomes.len() as u64);
        Ok(())
    }

    fn get(&self) -> f64 {
        let mean = ratio(self.state.total, self.state.weight.value);
        match self.error {
            // Removing outcomes can leave a sum of squares slightly below 0 by rounding.
            Error::RootSquared => mean.max(0.0).sqrt(),
            Error::Percentage | Error::SymmetricPercentage => (100.0 * mean).min(f64::MAX),
            _ => mean.clamp(f64::MIN, f64::MAX),
        }
    }

    fn bigger_is_better(&self) -> bool {
        matches!(self.error, Error::Accuracy | Error::Silhouette)
    }

    fn scores_clusters(&self) -> bool {
        self.error == Error::Silhouette
    }

    fn want(&self) -> Want {
        match self.error {
            Error::LogLoss | Error::Brier => Want::Probabilities,
            _ => Want::Class,
        }
    }

    fn takes_numbers(&self) -> bool {
        !matches!(self.error, Error::Accuracy | Error::LogLoss | Error::Brier)
    }

    fn scale(&mut self, factor: f64) {
        self.state.weight.value *= factor;
        self.state.total *= factor;
    }

    fn merge(&mut self, other: &[u8], _codes: &[u32], sign: f64) -> Result<()> {
        let mut copy = self.clone();
        copy.load(other)?;
        self.state.weight.check(self.name, sign * copy.state.weight.value)?;
        let total = self.state.total + sign * copy.state.total;
        if !total.is_finite() {
            return Err(overflow(self.name));
        }
        self.state.weight.merge(copy.state.weight, sign);
        self.state.total = total;
        Ok(())
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(truth: f64, predicted: f64) -> Outcome {
        Outcome::Number { truth, predicted }
    }

    #[test]
    fn worked_by_hand() {
        // Errors 1 and 3 with weights 1 and 2: MAE = (1 + 6) / 3, MSE = (1 + 18) / 3.
        for (error, expected) in [(Error::Absolute, 7.0 / 3.0), (Error::Squared, 19.0 / 3.0)] {
            let mut metric = MeanMetric { name: "metrics.Test", error, state: State::default() };
            metric.update(&number(2.0, 1.0), 1.0).unwrap();
            metric.update(&number(5.0, 8.0), 2.0).unwrap();
            assert_eq!(metric.get(), expected);
            metric.update(&number(2.0, 1.0), -1.0).unwrap();
            metric.update(&number(5.0, 8.0), -2.0).unwrap();
            assert_eq!(metric.get(), 0.0);
            assert!(metric.update(&number(5.0, 8.0), -2.0).is_err());
        }
    }

    #[test]
    fn overflow_leaves_the_sums() {
        let mut metric = MeanMetric { name: "metrics.Test", error: Error::Squared, state: State::default() };
        metric.update(&number(2.0, 1.0), 1.0).unwrap();
        assert!(metric.update(&number(1e308, -1e308), 1.0).is_err());
        assert!(metric.update(&number(f64::NAN, 0.0), 1.0).is_err());
        assert_eq!(metric.get(), 1.0);
    }
}
