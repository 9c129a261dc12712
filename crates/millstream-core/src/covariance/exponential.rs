//! The exponentially weighted covariance matrix, and its inverse.
//!
//! With f the fading factor and δ = x − m: m ← m + f δ, C ← (1 − f)(C + f δ δᵀ) (Finch, 2009), so that a variance is never
//! negative, and its entries are those of `stats.EWVar` and `stats.EWCov`. A row of weight w takes the step of w rows,
//! 1 − (1 − f)^w. A missing number leaves the entries of its feature as they are.

use serde::{Deserialize, Serialize};

use super::estimator::check_width;
use super::scatter::full;
use crate::covariance_estimator::CovarianceEstimator;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::linear_algebra::packed_triangle::triangle;
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::all_finite;

const FADING_FACTOR: Parameter = Parameter::new(
    "fading_factor",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.5),
    "weight of the newest row; closer to 1 forgets faster",
);

pub static EWA_COVARIANCE: Declaration = Declaration {
    name: "covariance.EwaCovariance",
    role: Role::CovarianceEstimator,
    words: "Exponentially weighted covariance matrix",
    merge: Merge::ORDER,
    parameters: &[FADING_FACTOR],
    build: |arguments| Ok(build("covariance.EwaCovariance", arguments.float("fading_factor")?)),
};

pub static EWA_PRECISION: Declaration = Declaration {
    name: "covariance.EwaPrecision",
    role: Role::CovarianceEstimator,
    words: "Inverse of the exponentially weighted covariance matrix",
    merge: Merge::ORDER,
    parameters: &[FADING_FACTOR],
    build: |arguments| Ok(build("covariance.EwaPrecision", arguments.float("fading_factor")?)),
};

fn build(name: &'static str, factor: f64) -> Built {
    Built::CovarianceEstimator(Box::new(Exponential { name, factor, state: State::default() }))
}

#[derive(Clone)]
struct Exponential {
    name: &'static str,
    factor: f64,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// NaN before the first number of a feature.
    means: Vec<f64>,
    /// The lower triangle, row by row.
    covariances: Vec<f64>,
}

impl Part for Exponential {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        let State { means, covariances } = &state;
        require(self.name, covariances.len() == triangle(means.len()), "covariances of the wrong length")?;
        let positive = (0..means.len()).all(|i| covariances[triangle(i) + i] >= 0.0);
        let sound = all_finite(covariances) && positive && !means.iter().any(|mean| mean.is_infinite());
        require(self.name, sound, "a moment is not finite, or a variance is negative")?;
        let unseen = |i: usize| means[i].is_nan();
        let is_empty = |i: usize, j: usize| !(unseen(i) || unseen(j)) || covariances[triangle(i) + j] == 0.0;
        let empty = (0..means.len()).all(|i| (0..=i).all(|j| is_empty(i, j)));
        require(self.name, empty, "a covariance of a feature without a number")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * (self.state.means.capacity() + self.state.covariances.capacity())
    }
}

impl CovarianceEstimator for Exponential {
    fn update(&mut self, x: &[f64], w: f64) -> Result<()> {
        check_width(self.name, x.len())?;
        check_numbers(self.name, x, LARGEST)?;
        let State { means, covariances } = &mut self.state;
        let step = if w == 1.0 { self.factor } else { 1.0 - exp(w * ln(1.0 - self.factor)) };
        let known = means.len();
        for (i, (&x, &mean)) in x.iter().zip(&*means).enumerate() {
            let delta = x - mean;
            let variance = covariances[triangle(i) + i] + step * delta * delta;
            if variance.is_infinite() || variance >= 1e300 {
                return Err(Fault::overflow(self.name));
            }
        }
        if x.len() > known {
            means.resize(x.len(), f64::NAN);
            covariances.resize(triangle(x.len()), 0.0);
        }
        for (i, &xi) in x.iter().enumerate() {
            let di = xi - means[i];
            if di.is_nan() {
                continue;
            }
            for (j, &xj) in x.iter().enumerate().take(i + 1) {
                let dj = xj - means[j];
                if !dj.is_nan() {
                    let entry = &mut covariances[triangle(i) + j];
                    *entry = (1.0 - step) * (*entry + step * di * dj);
                }
            }
        }
        for (mean, &x) in means.iter_mut().zip(x) {
            if mean.is_nan() {
                *mean = x;
            } else if !x.is_nan() {
                *mean += step * (x - *mean);
            }
        }
        Ok(())
    }

    fn means(&self) -> Vec<f64> {
        self.state.means.clone()
    }

    fn covariance(&self) -> Vec<f64> {
        let State { means, covariances } = &self.state;
        full(means.len(), |i, j| match means[i].is_nan() || means[j].is_nan() {
            true => f64::NAN,
            false => covariances[triangle(i) + j],
        })
    }

    fn width(&self) -> usize {
        self.state.means.len()
    }

    fn duplicate(&self) -> Box<dyn CovarianceEstimator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // f = ½ on (1, 2), (3, 4), (5, 3): means (1, 2), (2, 3); ½ (0 + ½ · 2 · 2) = 1 everywhere, then with δ = (3, 0):
        // ½ (1 + ½ · 9) = 2.75, ½ (1 + 0) = ½ and ½.
        let mut estimator = Exponential { name: "covariance.Test", factor: 0.5, state: State::default() };
        for x in [[1.0, 2.0], [3.0, 4.0], [5.0, 3.0]] {
            estimator.update(&x, 1.0).expect("a good row");
        }
        assert_eq!(estimator.covariance(), [2.75, 0.5, 0.5, 0.5]);
    }
}
