//! Covariance matrices shrunk towards a multiple of the identity: (1 − ρ) S/n + ρ μ I with μ = tr S / (n p).
//!
//! `ShrunkCovariance` has a fixed ρ, `OAS` that of Chen, Wiesel, Eldar and Hero (2010, eq. 23) in the form of scikit-learn:
//! ρ = min(1, (α + μ²) / ((n + 1)(α − μ²/p))) with α the mean of the squared entries of S/n.
//!
//! `LedoitWolf` (2004, section 3.2) needs the sum of fourth powers F = Σ w |x − m|⁴ besides: with Δ = Σ (S/n)ᵢⱼ²,
//! β = (F/n − Δ) / (n p), δ = (Δ − p μ²) / p, and ρ = min(β, δ) / δ. F is exact for the final mean. When the mean
//! moves by d, with y = x − m and T = Σ w |y|² y,
//!
//! F ← F − 4 dᵀT + 4 dᵀS d + 2 |d|² tr S + W |d|⁴,  T ← T − 2 S d − d tr S − W |d|² d,
//!
//! which follows from |y − d|² = |y|² − 2 yᵀd + |d|² and Σ w y = 0.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::estimator::{check_width, complete};
use super::scatter::{Scatter, Work};
use super::validity::check_semidefinite;
use crate::covariance_estimator::CovarianceEstimator;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::linear_algebra::packed_triangle::triangle;
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST, LARGEST_OF_FOURTH_POWERS};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::all_finite;
use crate::schema::Schema;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Fixed(f64),
    Oas,
    LedoitWolf,
}

pub static SHRUNK_COVARIANCE: Declaration = Declaration {
    name: "covariance.ShrunkCovariance",
    role: Role::CovarianceEstimator,
    words: "Covariance matrix shrunk by a fixed amount",
    merge: Merge::exact("for rows without missing numbers, of the same features"),
    parameters: &[Parameter::new(
        "shrinkage",
        Kind::Float(Bounds::UNIT),
        DefaultValue::Float(0.1),
        "weight of the identity: 0 for the empirical covariance, 1 for a multiple of the identity",
    )],
    build: |arguments| Ok(build("covariance.ShrunkCovariance", Method::Fixed(arguments.float("shrinkage")?))),
};

pub static OAS: Declaration = Declaration {
    name: "covariance.OAS",
    role: Role::CovarianceEstimator,
    words: "Covariance matrix with oracle approximating shrinkage",
    merge: Merge::exact("for rows without missing numbers, of the same features"),
    parameters: &[],
    build: |_| Ok(build("covariance.OAS", Method::Oas)),
};

pub static LEDOIT_WOLF: Declaration = Declaration {
    name: "covariance.LedoitWolf",
    role: Role::CovarianceEstimator,
    words: "Covariance matrix with Ledoit-Wolf shrinkage",
    merge: Merge::exact("for rows without missing numbers, of the same features"),
    parameters: &[],
    build: |_| Ok(build("covariance.LedoitWolf", Method::LedoitWolf)),
};

fn build(name: &'static str, method: Method) -> Built {
    Built::CovarianceEstimator(Box::new(Shrunk {
        name,
        method,
        state: State::default(),
        buffers: Buffers::default(),
    }))
}

#[derive(Clone)]
struct Shrunk {
    name: &'static str,
    method: Method,
    state: State,
    buffers: Buffers,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    scatter: Scatter,
    /// Empty except for Ledoit-Wolf.
    powers: Powers,
}

/// T and F of the head.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Powers {
    third: Vec<f64>,
    fourth: f64,
}

#[derive(Clone, Default)]
struct Buffers {
    work: Work,
    row: Vec<f64>,
    new: Vec<f64>,
    /// The step of the mean, and S times it.
    step: Vec<f64>,
    product: Vec<f64>,
    third: Vec<f64>,
}

/// S d for a packed triangle.
fn multiply(sums: &[f64], d: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.resize(d.len(), 0.0);
    for i in 0..d.len() {
        let row = &sums[triangle(i)..triangle(i) + i];
        let mut sum = sums[triangle(i) + i] * d[i];
        for j in 0..i {
            sum += row[j] * d[j];
            out[j] += row[j] * d[i];
        }
        out[i] += sum;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Powers {
    /// Write T after the mean has moved by `step` to `third`, and return F. `scatter` is around the mean before.
    fn moved(&self, scatter: &Scatter, step: &[f64], product: &mut Vec<f64>, third: &mut Vec<f64>) -> f64 {
        multiply(&scatter.sums, step, product);
        let (square, trace, weight) = (dot(step, step), scatter.trace(), scatter.weight);
        let fourth = self.fourth - 4.0 * dot(step, &self.third)
            + 4.0 * dot(step, product)
            + 2.0 * square * trace
            + weight * square * square;
        third.clear();
        let factor = trace + weight * square;
        third.extend(self.third.iter().zip(&*product).zip(step).map(|((t, p), d)| t - 2.0 * p - d * factor));
        fourth.max(0.0)
    }
}

impl Shrunk {
    fn width(&self) -> usize {
        self.state.scatter.width()
    }

    /// The shrinkage ρ, and the mean variance μ.
    fn shrinkage(&self) -> (f64, f64) {
        let State { scatter, powers } = &self.state;
        let (n, p) = (scatter.weight, self.width() as f64);
        let mu = scatter.trace() / n / p;
        if let Method::Fixed(shrinkage) = self.method {
            return (shrinkage, mu);
        }
        // Any shrinkage gives the same matrix of one feature.
        if self.width() < 2 {
            return (0.0, mu);
        }
        let mut squares = 0.0;
        for i in 0..self.width() {
            for j in 0..=i {
                let entry = scatter.sums[triangle(i) + j] / n;
                squares += if i == j { entry * entry } else { 2.0 * entry * entry };
            }
        }
        let shrinkage = if self.method == Method::Oas {
            let alpha = squares / (p * p);
            let (numerator, denominator) = (alpha + mu * mu, (n + 1.0) * (alpha - mu * mu / p));
            if denominator <= 0.0 {
                1.0
            } else {
                (numerator / denominator).min(1.0)
            }
        } else {
            let beta = (powers.fourth / n - squares) / (n * p);
            let delta = (squares - p * mu * mu) / p;
            let beta = beta.min(delta).max(0.0);
            if beta == 0.0 {
                0.0
            } else {
                beta / delta
            }
        };
        (shrinkage, mu)
    }
}

impl Part for Shrunk {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        state.scatter.validate(self.name)?;
        let State { scatter, powers } = &state;
        check_semidefinite(self.name, scatter.width(), |i, j| scatter.sums[triangle(i) + j])?;
        let length = if self.method == Method::LedoitWolf { scatter.width() } else { 0 };
        require(self.name, powers.third.len() == length, "powers of the wrong length")?;
        let sound = all_finite(&powers.third) && powers.fourth.is_finite() && powers.fourth >= 0.0;
        require(self.name, sound, "a power is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let Buffers { work, row, new, step, product, third } = &self.buffers;
        let buffers = [row, new, step, product, third, &self.state.powers.third];
        std::mem::size_of::<Self>()
            + self.state.scatter.memory()
            + work.memory()
            + buffers.iter().map(|buffer| 8 * buffer.capacity()).sum::<usize>()
    }

    fn inspect(&self, _: &Schema) -> serde_json::Value {
        json!({ "shrinkage": if self.state.scatter.weight > 0.0 { self.shrinkage().0 } else { 0.0 } })
    }
}

impl CovarianceEstimator for Shrunk {
    fn update(&mut self, x: &[f64], w: f64) -> Result<()> {
        check_width(self.name, x.len())?;
        let fourth_powers = self.method == Method::LedoitWolf;
        check_numbers(self.name, x, if fourth_powers { LARGEST_OF_FOURTH_POWERS } else { LARGEST })?;
        let Shrunk { name, method, state: State { scatter, powers }, buffers } = self;
        let Buffers { work, row, new, step, product, third } = buffers;
        complete(x, &scatter.means, row, new);
        // The differences of new features are 0: their first value is their mean.
        work.delta.clear();
        work.delta.extend(row.iter().zip(&scatter.means).map(|(x, mean)| x - mean));
        if !scatter.admits(w, work) || !all_finite(new) {
            return Err(Fault::overflow(name));
        }
        if *method == Method::LedoitWolf {
            let all = scatter.weight + w;
            let fraction = w / all;
            step.clear();
            step.extend(work.delta.iter().map(|delta| delta * fraction));
            let rest = scatter.weight / all;
            let mut fourth = powers.moved(scatter, step, product, third);
            let square = rest * rest * dot(&work.delta, &work.delta);
            for (t, delta) in third.iter_mut().zip(&work.delta) {
                *t += w * square * (rest * delta);
            }
            fourth += w * square * square;
            if !(fourth < 1e300 && all_finite(third)) {
                return Err(Fault::overflow(name));
            }
            powers.fourth = fourth;
            std::mem::swap(&mut powers.third, third);
            powers.third.resize(row.len(), 0.0);
        }
        if !new.is_empty() {
            scatter.widen(new);
            work.delta.resize(row.len(), 0.0);
        }
        scatter.add(w, work);
        Ok(())
    }

    fn means(&self) -> Vec<f64> {
        self.state.scatter.means.clone()
    }

    fn covariance(&self) -> Vec<f64> {
        let (scatter, width) = (&self.state.scatter, self.width());
        if scatter.weight <= 0.0 {
            return vec![f64::NAN; width * width];
        }
        let (shrinkage, mu) = self.shrinkage();
        let mut matrix = scatter.divided(scatter.weight);
        for i in 0..width {
            for j in 0..width {
                let entry = &mut matrix[i * width + j];
                *entry *= 1.0 - shrinkage;
                if i == j {
                    *entry += shrinkage * mu;
                }
            }
        }
        matrix
    }

    fn width(&self) -> usize {
        Shrunk::width(self)
    }

    fn merge(&mut self, other: &[u8], slots: &[usize], width: usize) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        if theirs.width() == 0 {
            return Ok(());
        }
        let ordered = slots.iter().enumerate().all(|(i, &slot)| i == slot);
        if self.width() == 0 && ordered {
            self.state = theirs.state;
            return Ok(());
        }
        if self.width() != width || theirs.width() != width {
            return Err(Fault::value("only estimators of the same features can be merged"));
        }
        let mut state = self.state.clone();
        let other = theirs.state.scatter.permuted(slots);
        if self.method == Method::LedoitWolf {
            let mut powers = theirs.state.powers.clone();
            for (i, &slot) in slots.iter().enumerate() {
                powers.third[slot] = theirs.state.powers.third[i];
            }
            let share = other.weight / (state.scatter.weight + other.weight);
            let delta: Vec<f64> = other.means.iter().zip(&state.scatter.means).map(|(a, b)| a - b).collect();
            let (mut product, mut third) = (Vec::new(), Vec::new());
            let steps = [share, share - 1.0].map(|s| delta.iter().map(|d| d * s).collect::<Vec<_>>());
            let mut fourth = state.powers.moved(&state.scatter, &steps[0], &mut product, &mut third);
            let mut sum = third.clone();
            fourth += powers.moved(&other, &steps[1], &mut product, &mut third);
            sum.iter_mut().zip(&third).for_each(|(sum, t)| *sum += t);
            state.powers = Powers { third: sum, fourth };
        }
        state.scatter.merge(&other, &mut self.buffers.work);
        if !(state.scatter.is_finite() && state.powers.fourth.is_finite() && all_finite(&state.powers.third)) {
            return Err(Fault::overflow(self.name));
        }
        self.state = state;
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn CovarianceEstimator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 2]; 4] = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]];

    fn learned(method: Method) -> Shrunk {
        let mut estimator =
            Shrunk { name: "covariance.Test", method, state: State::default(), buffers: Buffers::default() };
        for x in ROWS {
            estimator.update(&x, 1.0).expect("a good row");
        }
        estimator
    }

    /// The mean is 0, S/4 = diag(2, ½), μ = 5/4. F = 16 + 16 + 1 + 1 = 34, Δ = 4 + ¼ = 17/4.
    /// Ledoit-Wolf: β = (34/4 − 17/4) / 8 = 17/32, δ = (17/4 − 2 · 25/16) / 2 = 9/16, so ρ = 17/18.
    /// OAS: α = 17/16, ρ = (17/16 + 25/16) / (5 (17/16 − 25/32)) = (42/16) / (45/32) = 28/15, at most 1.
    #[test]
    fn worked_by_hand() {
        for (method, expected) in
            [(Method::LedoitWolf, 17.0 / 18.0), (Method::Oas, 1.0), (Method::Fixed(0.2), 0.2)]
        {
            let estimator = learned(method);
            let (shrinkage, mu) = estimator.shrinkage();
            assert!((shrinkage - expected).abs() < 1e-14 && (mu - 1.25).abs() < 1e-15, "{method:?}");
            let diagonal = [2.0, 0.5].map(|variance| (1.0 - expected) * variance + expected * 1.25);
            let matrix = estimator.covariance();
            assert!((matrix[0] - diagonal[0]).abs() < 1e-14 && (matrix[3] - diagonal[1]).abs() < 1e-14);
        }
    }

    #[test]
    fn merging_gives_the_powers_of_all_rows() {
        let whole = learned(Method::LedoitWolf);
        let mut parts = [&ROWS[..1], &ROWS[1..]].map(|rows| {
            let mut part = learned(Method::LedoitWolf);
            part.state = State::default();
            rows.iter().for_each(|x| part.update(x, 1.0).expect("a good row"));
            part
        });
        let saved = parts[1].save().expect("a state");
        parts[0].merge(&saved, &[0, 1], 2).expect("the same features");
        assert!((parts[0].state.powers.fourth - whole.state.powers.fourth).abs() < 1e-13);
        assert!((parts[0].shrinkage().0 - whole.shrinkage().0).abs() < 1e-14);
    }

    #[test]
    fn a_matrix_that_is_not_semidefinite_is_refused() {
        let mut estimator = learned(Method::Oas);
        assert!(learned(Method::Oas).load(&estimator.save().expect("a state")).is_ok());
        // Correlations −0.9 of all three pairs of features.
        estimator.state.scatter.means = vec![0.0; 3];
        estimator.state.scatter.sums = vec![1.0, -0.9, 1.0, -0.9, -0.9, 1.0];
        assert!(learned(Method::Oas).load(&estimator.save().expect("a state")).is_err());
    }
}
