//! The coefficient of determination: 1 − Σ w (y − ŷ)² / Σ w (y − ȳ)².
//!
//! The sum of squares of the truth follows West's weighted recursion (1979), which a negative weight reverses. The
//! value is 0 while the truth has not varied.

use serde::{Deserialize, Serialize};

use super::sums::{Sum, LIMIT};
use super::{overflow, wants_numbers};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::metric::{Metric, Outcome, LARGEST_NUMBER};
use crate::part::Part;

const NAME: &str = "metrics.R2";

pub static R2: Declaration = Declaration {
    name: NAME,
    role: Role::Metric,
    words: "Coefficient of determination",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Metric(Box::new(Determination::default()))),
};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Determination {
    weight: Sum,
    mean: f64,
    /// Σ w (y − mean)²
    spread: f64,
    /// Σ w (y − ŷ)²
    residual: f64,
}

impl Part for Determination {
    fn save(&self) -> Result<Vec<u8>> {
        pack(self)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: Determination = unpack(NAME, bytes)?;
        let finite = state.mean.is_finite() && state.spread.is_finite() && state.residual.is_finite();
        require(NAME, finite && state.weight.is_valid(), "a sum is not finite")?;
        *self = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Metric for Determination {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Number { truth, predicted } = *outcome else { return Err(wants_numbers(NAME)) };
        if !(truth.is_finite() && predicted.is_finite()) {
            return Err(Fault::value(format!(
                "{NAME}: truth and prediction must be finite, got {truth} and {predicted}"
            )));
        }
        if w == 0.0 {
            return Ok(());
        }
        self.weight.check(NAME, w)?;
        let mut next = *self;
        next.weight.add(w);
        if next.weight.count == 0 || next.weight.value <= 0.0 {
            *self = Determination { weight: next.weight, ..Determination::default() };
            return Ok(());
        }
        if self.weight.value == 0.0 {
            next.mean = truth;
        }
        let delta = truth - next.mean;
        next.mean += delta * (w / next.weight.value);
        next.spread += w * delta * (truth - next.mean);
        next.residual += w * (truth - predicted) * (truth - predicted);
        if !(next.mean.is_finite() && next.spread.is_finite() && next.residual.is_finite()) {
            return Err(overflow(NAME));
        }
        *self = next;
        Ok(())
    }

    fn infallible_for(&self, _classes: usize) -> bool {
        // The mean of numbers up to LARGEST_NUMBER is no larger, but a loaded state may have another mean.
        self.weight.has_room()
            && self.mean.abs() <= LARGEST_NUMBER
            && self.spread < 0.5 * LIMIT
            && self.residual < 0.5 * LIMIT
    }

    fn get(&self) -> f64 {
        let ratio = self.residual / self.spread;
        // Removing outcomes can leave the spread slightly below 0 by rounding.
        if self.spread > 0.0 && ratio.is_finite() {
            1.0 - ratio
        } else {
            0.0
        }
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn scale(&mut self, factor: f64) {
        self.weight.value *= factor;
        self.spread *= factor;
        self.residual *= factor;
    }

    /// The spreads of two parts are combined as by Chan, Golub and LeVeque (1983).
    fn merge(&mut self, other: &[u8], _codes: &[u32], sign: f64) -> Result<()> {
        let mut copy = *self;
        copy.load(other)?;
        let n = sign * copy.weight.value;
        self.weight.check(NAME, n)?;
        let mut next = *self;
        next.weight.merge(copy.weight, sign);
        if next.weight.count == 0 || next.weight.value <= 0.0 {
            *self = Determination { weight: next.weight, ..Determination::default() };
            return Ok(());
        }
        let delta = copy.mean - self.mean;
        next.mean += delta * (n / next.weight.value);
        let between = delta * (self.weight.value * (n / next.weight.value)) * delta;
        next.spread = (self.spread + sign * copy.spread + between).max(0.0);
        next.residual = (self.residual + sign * copy.residual).max(0.0);
        if !(next.mean.is_finite() && next.spread.is_finite() && next.residual.is_finite()) {
            return Err(overflow(NAME));
        }
        *self = next;
        Ok(())
    }

    fn reset(&mut self) {
        *self = Determination::default();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // y = 1, 2, 6 and ŷ = 1, 3, 4: mean 3, spread 4 + 1 + 9 = 14, residual 0 + 1 + 4 = 5.
        let mut metric = Determination::default();
        for (truth, predicted) in [(1.0, 1.0), (2.0, 3.0), (6.0, 4.0)] {
            metric.update(&Outcome::Number { truth, predicted }, 1.0).expect("a good outcome");
        }
        assert!((metric.get() - (1.0 - 5.0 / 14.0)).abs() < 1e-15);
    }
}
