//! Exponentially weighted mean, variance and covariance.
//!
//! With f the fading factor and δ = x − m: m ← m + f δ, v ← (1 − f)(v + f δ²) (Finch, 2009, eqs. 124 and
//! 143), so that a variance is never negative; a covariance has δx δy for δ². The first number is the mean. A number of weight w takes the step of w numbers, 1 − (1 − f)^w.

use serde::{Deserialize, Serialize};

use super::overflow;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST, LARGEST_OF_DIFFERENCES};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const FADING_FACTOR: Parameter = Parameter::new(
    "fading_factor",
    Kind::Float(Bounds::FRACTION),
    DefaultValue::Float(0.5),
    "weight of the newest number; closer to 1 forgets faster",
);

pub static EW_MEAN: Declaration = Declaration {
    name: "stats.EWMean",
    role: Role::Statistic,
    words: "Exponentially weighted mean",
    merge: Merge::ORDER,
    parameters: &[FADING_FACTOR],
    build: |arguments| build(arguments, "stats.EWMean", false),
};

pub static EW_VAR: Declaration = Declaration {
    name: "stats.EWVar",
    role: Role::Statistic,
    words: "Exponentially weighted variance",
    merge: Merge::ORDER,
    parameters: &[FADING_FACTOR],
    build: |arguments| build(arguments, "stats.EWVar", true),
};

pub static EW_COV: Declaration = Declaration {
    name: "stats.EWCov",
    role: Role::Statistic,
    words: "Exponentially weighted covariance",
    merge: Merge::ORDER,
    parameters: &[FADING_FACTOR],
    build: |arguments| {
        Ok(Built::Statistic(Box::new(ExponentialPairs { factor: arguments.float("fading_factor")?, state: None })))
    },
};

fn build(arguments: &Arguments<'_>, name: &'static str, variance: bool) -> Result<Built> {
    let factor = arguments.float("fading_factor")?;
    Ok(Built::Statistic(Box::new(Exponential { name, factor, variance, state: None })))
}

#[derive(Clone)]
struct Exponential {
    name: &'static str,
    factor: f64,
    variance: bool,
    state: Option<State>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct State {
    mean: f64,
    variance: f64,
}

impl Part for Exponential {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: Option<State> = unpack(self.name, bytes)?;
        let valid = state.is_none_or(|s| s.mean.is_finite() && s.variance.is_finite() && s.variance >= 0.0);
        require(self.name, valid, "a moment is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for Exponential {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if self.variance {
            check_numbers(self.name, &[x], LARGEST)?;
        }
        let Some(State { mean, variance }) = self.state else {
            self.state = Some(State { mean: x, variance: 0.0 });
            return Ok(());
        };
        let step = if w == 1.0 { self.factor } else { 1.0 - (1.0 - self.factor).powf(w) };
        let delta = x - mean;
        let mean = mean + step * delta;
        let variance = if self.variance { (1.0 - step) * (variance + step * delta * delta) } else { 0.0 };
        if !(mean.is_finite() && variance.is_finite()) {
            return Err(overflow(self.name));
        }
        self.state = Some(State { mean, variance });
        Ok(())
    }

    fn largest(&self) -> f64 {
        if self.variance {
            LARGEST
        } else {
            LARGEST_OF_DIFFERENCES
        }
    }

    fn get(&self) -> f64 {
        self.state.map_or(f64::NAN, |state| if self.variance { state.variance } else { state.mean })
    }

    fn reset(&mut self) {
        self.state = None;
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

const COV: &str = "stats.EWCov";

#[derive(Clone)]
struct ExponentialPairs {
    factor: f64,
    state: Option<PairState>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct PairState {
    mean_x: f64,
    mean_y: f64,
    covariance: f64,
}

impl PairState {
    fn is_finite(&self) -> bool {
        self.mean_x.is_finite() && self.mean_y.is_finite() && self.covariance.is_finite()
    }
}

impl Part for ExponentialPairs {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: Option<PairState> = unpack(COV, bytes)?;
        require(COV, state.is_none_or(|state| state.is_finite()), "a moment is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for ExponentialPairs {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        check_numbers(COV, &[x, y], LARGEST)?;
        let Some(PairState { mean_x, mean_y, covariance }) = self.state else {
            self.state = Some(PairState { mean_x: x, mean_y: y, covariance: 0.0 });
            return Ok(());
        };
        let step = if w == 1.0 { self.factor } else { 1.0 - (1.0 - self.factor).powf(w) };
        let (dx, dy) = (x - mean_x, y - mean_y);
        let next = PairState {
            mean_x: mean_x + step * dx,
            mean_y: mean_y + step * dy,
            covariance: (1.0 - step) * (covariance + step * dx * dy),
        };
        if !next.is_finite() {
            return Err(overflow(COV));
        }
        self.state = Some(next);
        Ok(())
    }

    fn get(&self) -> f64 {
        self.state.map_or(f64::NAN, |state| state.covariance)
    }

    fn largest(&self) -> f64 {
        LARGEST
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.state = None;
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // f = ½ on 1, 3, 5: means 1, 2, 3.5; variances 0, ½(0 + ½·4) = 1, ½(1 + ½·9) = 2.75.
        for (variance, expected) in [(false, 3.5), (true, 2.75)] {
            let mut statistic = Exponential { name: "stats.Test", factor: 0.5, variance, state: None };
            for x in [1.0, 3.0, 5.0] {
                statistic.update(x, 0.0, 1.0).expect("a good number");
            }
            assert_eq!(statistic.get(), expected);
        }
    }
    #[test]
    fn a_covariance_by_hand() {
        // f = ½ on (1, 2), (3, 4), (5, 3): means (1, 2), (2, 3), (3.5, 3); 0, ½(0 + ½·2·2) = 1, ½(1 + ½·3·0) = ½.
        let mut statistic = ExponentialPairs { factor: 0.5, state: None };
        for (x, y, expected) in [(1.0, 2.0, 0.0), (3.0, 4.0, 1.0), (5.0, 3.0, 0.5)] {
            statistic.update(x, y, 1.0).expect("a good pair");
            assert_eq!(statistic.get(), expected);
        }
    }
}
