//! Mean, variance, skewness and kurtosis from the first central moments.
//!
//! A new number is a sample of size one, which is combined with the sample so far by the formulas for two samples
//! A and B (Chan, Golub and LeVeque, 1979; Pébay, 2008, eqs. 2.1 and 3.1), with n the sums of weights, δ the
//! difference of means and M_p = Σ w (x − mean)^p:
//!
//! M2 = M2A + M2B + δ² nA nB/n
//! M3 = M3A + M3B + δ³ nA nB (nA − nB)/n² + 3δ (nA M2B − nB M2A)/n
//! M4 = M4A + M4B + δ⁴ nA nB (nA² − nA nB + nB²)/n³ + 6δ² (nA² M2B + nB² M2A)/n² + 4δ (nA M3B − nB M3A)/n
//!
//! They hold for negative weights too, by which a number or a part of the stream is removed. Skewness is √n M3/M2^1.5 and kurtosis
//! n M4/M2² − 3, corrected for bias as in Joanes and Gill (1998).

use serde::{Deserialize, Serialize};

use super::window::{Item, Summary, TwoStacks, Window};
use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST, LARGEST_OF_FOURTH_POWERS};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Mean,
    BayesianMean { prior: f64, prior_weight: f64 },
    Var { ddof: f64 },
    Sem { ddof: f64 },
    Skew { bias: bool },
    Kurtosis { bias: bool },
}

const BIAS: Parameter = Parameter::new(
    "bias",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "if true, do not correct for statistical bias",
);

pub static MEAN: Declaration = Declaration {
    name: "stats.Mean",
    role: Role::Statistic,
    words: "Mean",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| build("stats.Mean", Which::Mean),
};

pub static BAYESIAN_MEAN: Declaration = Declaration {
    name: "stats.BayesianMean",
    role: Role::Statistic,
    words: "Mean of the numbers and of a prior",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new("prior", Kind::Float(Bounds::ANY), DefaultValue::Required, "mean before the first number"),
        Parameter::new(
            "prior_weight",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Required,
            "weight of the prior: the number of values that it counts for",
        ),
    ],
    build: |arguments| {
        let (prior, prior_weight) = (arguments.float("prior")?, arguments.float("prior_weight")?);
        build("stats.BayesianMean", Which::BayesianMean { prior, prior_weight })
    },
};

const DDOF: Parameter = Parameter::new(
    "ddof",
    Kind::Integer { low: 0, high: 1_000_000 },
    DefaultValue::Integer(1),
    "delta degrees of freedom: the divisor is the total weight minus ddof",
);

pub static SEM: Declaration = Declaration {
    name: "stats.SEM",
    role: Role::Statistic,
    words: "Standard error of the mean",
    merge: Merge::EXACT,
    parameters: &[DDOF],
    build: |arguments| build("stats.SEM", Which::Sem { ddof: arguments.integer("ddof")? as f64 }),
};

pub static VAR: Declaration = Declaration {
    name: "stats.Var",
    role: Role::Statistic,
    words: "Variance",
    merge: Merge::EXACT,
    parameters: &[DDOF],
    build: |arguments| build("stats.Var", Which::Var { ddof: arguments.integer("ddof")? as f64 }),
};

pub static SKEW: Declaration = Declaration {
    name: "stats.Skew",
    role: Role::Statistic,
    words: "Skewness",
    merge: Merge::EXACT,
    parameters: &[BIAS],
    build: |arguments| build("stats.Skew", Which::Skew { bias: arguments.boolean("bias")? }),
};

pub static KURTOSIS: Declaration = Declaration {
    name: "stats.Kurtosis",
    role: Role::Statistic,
    words: "Excess kurtosis",
    merge: Merge::EXACT,
    parameters: &[BIAS],
    build: |arguments| build("stats.Kurtosis", Which::Kurtosis { bias: arguments.boolean("bias")? }),
};

fn build(name: &'static str, which: Which) -> Result<Built> {
    Ok(Built::Statistic(Box::new(Moment { name, which, moments: Moments::default() })))
}

#[derive(Clone)]
struct Moment {
    name: &'static str,
    which: Which,
    moments: Moments,
}

/// Moments above the required order stay 0.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Moments {
    n: f64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    /// Numbers added minus numbers removed.
    numbers: u64,
}

impl Moments {
    fn combined(&self, b: &Moments, order: u32) -> Moments {
        let a = self;
        // δ is not a difference of two means then, and its powers could overflow.
        if a.n == 0.0 {
            return *b;
        }
        a.shifted(b, b.mean - a.mean, order)
    }

    /// Combine with `b`, whose mean is larger by `delta`.
    #[inline]
    fn shifted(&self, b: &Moments, delta: f64, order: u32) -> Moments {
        let a = self;
        let n = a.n + b.n;
        let mut c = Moments { n, mean: a.mean + delta * (b.n / n), ..*a };
        if order >= 2 {
            c.m2 = a.m2 + b.m2 + delta * delta * (a.n / n) * b.n;
        }
        if order >= 3 {
            let (p, q) = (a.n / n, b.n / n);
            let cubes = delta.powi(3) * p * b.n * (p - q) + 3.0 * delta * (p * b.m2 - q * a.m2);
            c.m3 = a.m3 + b.m3 + cubes;
            if order >= 4 {
                c.m4 = a.m4
                    + b.m4
                    + delta.powi(4) * p * b.n * (p * p - p * q + q * q)
                    + 6.0 * delta * delta * (p * p * b.m2 + q * q * a.m2)
                    + 4.0 * delta * (p * b.m3 - q * a.m3);
            }
        }
        c
    }

    fn is_finite(&self) -> bool {
        [self.n, self.mean, self.m2, self.m3, self.m4].iter().all(|number| number.is_finite())
    }
}

impl Which {
    fn order(self) -> u32 {
        match self {
            Which::Mean | Which::BayesianMean { .. } => 1,
            Which::Var { .. } | Which::Sem { .. } => 2,
            Which::Skew { .. } => 3,
            Which::Kurtosis { .. } => 4,
        }
    }

    fn largest(self) -> f64 {
        match self.order() {
            1 => f64::MAX,
            2 => LARGEST,
            _ => LARGEST_OF_FOURTH_POWERS,
        }
    }

    fn value(self, moments: &Moments) -> f64 {
        let Moments { n, mean, m2, m3, m4, numbers } = *moments;
        if numbers == 0 {
            return match self {
                Which::BayesianMean { prior, .. } => prior,
                _ => f64::NAN,
            };
        }
        let value = match self {
            Which::Mean => mean,
            // The form does not overflow for large weights.
            Which::BayesianMean { prior, prior_weight } => {
                let share = n / (n + prior_weight);
                prior * (1.0 - share) + mean * share
            }
            Which::Sem { ddof } if n > ddof => (m2.max(0.0) / (n - ddof) / n).sqrt(),
            Which::Sem { .. } => f64::NAN,
            Which::Var { ddof } if n > ddof => m2.max(0.0) / (n - ddof),
            Which::Var { .. } => f64::NAN,
            Which::Skew { .. } | Which::Kurtosis { .. } if m2 <= 0.0 => f64::NAN,
            Which::Skew { bias } => {
                // Scale first: M2 may be as large as the largest float.
                let skew = (m3 / m2) / (m2 / n).sqrt();
                if bias || n <= 2.0 {
                    skew
                } else {
                    skew * (n * (n - 1.0)).sqrt() / (n - 2.0)
                }
            }
            Which::Kurtosis { bias } => {
                let kurtosis = n * (m4 / m2) / m2 - 3.0;
                if bias || n <= 3.0 {
                    kurtosis
                } else {
                    (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * kurtosis + 6.0)
                }
            }
        };
        // The value is not finite if M2 is nearly 0 or the total weight is just above 2.
        if value.is_finite() {
            value
        } else {
            f64::NAN
        }
    }
}

impl Part for Moment {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.moments)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let moments: Moments = unpack(self.name, bytes)?;
        require(self.name, moments.is_finite() && moments.n >= 0.0, "a moment is not finite")?;
        self.moments = moments;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for Moment {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        let numbers = match w < 0.0 {
            true => self.moments.numbers.checked_sub(1).ok_or_else(|| never_told(self.name))?,
            false => {
                check_numbers(self.name, &[x], self.which.largest())?;
                self.moments.numbers.saturating_add(1)
            }
        };
        // Nothing is left except rounding errors.
        if numbers == 0 || self.moments.n + w <= 0.0 {
            self.moments = Moments { numbers, ..Moments::default() };
            return Ok(());
        }
        let mut next = self.moments.combined(&Moments { n: w, mean: x, ..Moments::default() }, self.which.order());
        next.numbers = numbers;
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.moments = next;
        Ok(())
    }

    fn get(&self) -> f64 {
        self.which.value(&self.moments)
    }

    fn largest(&self) -> f64 {
        self.which.largest()
    }

    fn invertible(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.moments = Moments::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        if theirs.moments.n <= 0.0 {
            return Ok(());
        }
        let mut next = self.moments.combined(&theirs.moments, self.which.order());
        next.numbers = self.moments.numbers.saturating_add(theirs.moments.numbers);
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.moments = next;
        Ok(())
    }

    fn unmerge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let Moments { n, mean, m2, m3, m4, numbers } = theirs.moments;
        let numbers = self.moments.numbers.checked_sub(numbers).ok_or_else(|| never_told(self.name))?;
        if numbers == 0 || self.moments.n <= n {
            self.moments = Moments { numbers, ..Moments::default() };
            return Ok(());
        }
        let removed = Moments { n: -n, mean, m2: -m2, m3: -m3, m4: -m4, numbers: 0 };
        let mut next = self.moments.combined(&removed, self.which.order());
        next.numbers = numbers;
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.moments = next;
        Ok(())
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(TwoStacks::boxed(WindowMoments { name: self.name, which: self.which }))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

/// Moments of the numbers in a window.
#[derive(Clone)]
struct WindowMoments {
    name: &'static str,
    which: Which,
}

/// Moments with the rounding error of the mean. Without it, the difference of two means of numbers near 1e8 has a
/// relative error of 1e-8, and so has the variance.
#[derive(Clone, Copy)]
struct Compensated {
    moments: Moments,
    lost: f64,
}

impl Summary for WindowMoments {
    type Value = Compensated;

    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn of(&self, (x, _, w): Item) -> Compensated {
        Compensated { moments: Moments { n: w, mean: x, numbers: 1, ..Moments::default() }, lost: 0.0 }
    }

    #[inline]
    fn combine(&self, a: &Compensated, b: &Compensated) -> Compensated {
        let delta = (b.moments.mean - a.moments.mean) + (b.lost - a.lost);
        let mut moments = a.moments.shifted(&b.moments, delta, self.which.order());
        moments.numbers = a.moments.numbers + b.moments.numbers;
        let (mean, lost) = moved(a.moments.mean, a.lost, delta * (b.moments.n / moments.n));
        moments.mean = mean;
        Compensated { moments, lost }
    }

    fn is_finite(&self, value: &Compensated) -> bool {
        value.moments.is_finite()
    }

    #[inline]
    fn is_small(&self, value: &Compensated) -> bool {
        // The fourth power of a difference of means, times a weight, is below 1e252.
        let Moments { n, mean, m2, m3, m4, .. } = value.moments;
        [n, mean, m2, m3, m4].iter().all(|number| number.abs() < 1e50)
    }

    fn get(&self, value: Option<&Compensated>) -> f64 {
        self.which.value(&value.map_or(Moments::default(), |value| value.moments))
    }
}

/// A mean and its rounding error after a step (Knuth's exact sum of two floats).
#[inline]
pub(super) fn moved(mean: f64, lost: f64, step: f64) -> (f64, f64) {
    let step = step + lost;
    let next = mean + step;
    let taken = next - mean;
    let error = (mean - (next - taken)) + (step - taken);
    (next, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(which: Which, numbers: &[f64]) -> Moment {
        let mut moment = Moment { name: "stats.Test", which, moments: Moments::default() };
        for &x in numbers {
            moment.update(x, 0.0, 1.0).expect("a good number");
        }
        moment
    }

    #[test]
    fn worked_by_hand() {
        // 1, 2, 6: mean 3, deviations −2, −1, 3, so M2 = 14, M3 = −8 − 1 + 27 = 18, M4 = 16 + 1 + 81 = 98.
        let numbers = [1.0, 2.0, 6.0];
        assert_eq!(told(Which::Mean, &numbers).get(), 3.0);
        assert!((told(Which::Var { ddof: 1.0 }, &numbers).get() - 7.0).abs() < 1e-14);
        let skew = 3f64.sqrt() * 18.0 / 14f64.powf(1.5);
        assert!((told(Which::Skew { bias: true }, &numbers).get() - skew).abs() < 1e-14);
        let kurtosis = 3.0 * 98.0 / (14.0 * 14.0) - 3.0;
        assert!((told(Which::Kurtosis { bias: true }, &numbers).get() - kurtosis).abs() < 1e-14);
    }

    #[test]
    fn taking_back_is_the_inverse() {
        let mut moment = told(Which::Kurtosis { bias: false }, &[1.0, 2.0, 6.0, 4.0, 5.0]);
        let before = moment.get();
        moment.update(40.0, 0.0, 2.0).expect("a good number");
        moment.update(40.0, 0.0, -2.0).expect("it was told");
        assert!((moment.get() - before).abs() < 1e-9);
    }
}
