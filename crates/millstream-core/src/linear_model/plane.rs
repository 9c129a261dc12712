//! A weight vector that learns by steps along an example: what perceptrons, passive-aggressive learners and learners
//! with a covariance are made of.
//!
//! ```text
//! w ← scale · w + along · Σ x,   Σ⁻¹ ← Σ⁻¹ + precision · x xᵀ
//! ```
//! Σ is the identity (learners of the first order), a diagonal, or a full matrix in factors. A rule says how far to
//! go; here it is done, whole or not at all. The constant term is the weight of a feature that is always 1.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::optim::{dot, Features};
use crate::row::{all_finite, Value};
use crate::schema::Schema;
use crate::state::require;

use super::covariance::{Covariance, Work, LEAST_VARIANCE};
use super::{named, Coordinates};

/// What is known of the spread of the weights: the form of Σ, and its diagonal before anything is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    None,
    Diagonal(f64),
    Full(f64),
}

/// The covariance of so many coordinates takes 64 MB, twice.
pub const MOST_COORDINATES: usize = 4096;

/// One step, as a rule decides it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub scale: f64,
    pub along: f64,
    pub precision: f64,
}

impl Move {
    /// A step along the example that leaves all else as it is.
    pub fn along(along: f64) -> Self {
        Move { scale: 1.0, along, precision: 0.0 }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plane {
    /// The weights are `scale` times these: to shrink them all is one multiplication.
    scale: f64,
    weights: Vec<f64>,
    constant: f64,
    /// The diagonal of Σ; empty for other forms.
    spread: Vec<f64>,
    constant_spread: f64,
    /// The whole of Σ, the constant term first; empty for other forms.
    covariance: Covariance,
}

/// Where a step is worked out before it is made.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    scale: f64,
    /// Whether the weights before are all forgotten.
    fresh: bool,
    weights: Vec<f64>,
    constant: f64,
    spread: Vec<f64>,
    constant_spread: f64,
    work: Work,
    /// The example as a vector, for a full covariance.
    vector: Vec<f64>,
}

impl Proposal {
    pub fn memory(&self) -> usize {
        8 * (self.weights.capacity() + self.spread.capacity() + self.vector.capacity()) + self.work.memory()
    }
}

impl Plane {
    pub fn new() -> Self {
        Plane { scale: 1.0, ..Plane::default() }
    }

    /// Half of this plane, or its negative: two such planes have its score as the difference of theirs.
    pub fn half(&self, sign: f64) -> Self {
        let mut half = self.clone();
        half.scale *= 0.5 * sign;
        half.spread.iter_mut().for_each(|spread| *spread *= 0.5);
        half.constant_spread *= 0.5;
        half.covariance.multiply(0.5);
        half
    }

    /// Room for `width` coordinates; `share` is the part of the initial variance that a plane gets.
    pub fn grow(&mut self, width: usize, spread: Spread, intercept: bool, share: f64) {
        self.weights.resize(width, 0.0);
        match spread {
            Spread::None => {}
            Spread::Diagonal(variance) => {
                self.spread.resize(width, variance * share);
                if self.constant_spread == 0.0 && intercept {
                    self.constant_spread = variance * share;
                }
            }
            Spread::Full(variance) => self.covariance.grow(width + usize::from(intercept), variance * share),
        }
    }

    /// Take back the coordinates beyond `width`.
    pub fn shrink(&mut self, width: usize, intercept: bool) {
        self.weights.truncate(width);
        self.spread.truncate(width);
        self.covariance.shrink(width + usize::from(intercept));
    }

    /// Multiply all weights.
    pub fn rescale(&mut self, scale: f64) {
        self.scale *= scale;
        if !(1e-50..1e50).contains(&self.scale.abs()) {
            self.fold();
        }
    }

    #[inline]
    pub fn score(&self, features: Features<'_>) -> f64 {
        self.scale * (dot(&self.weights, features) + self.constant)
    }

    /// xᵀΣ x, which is the squared length of x where Σ is the identity.
    #[inline]
    pub fn variance(
        &self,
        features: Features<'_>,
        spread: Spread,
        intercept: bool,
        proposal: &mut Proposal,
    ) -> f64 {
        let constant = f64::from(u8::from(intercept));
        match spread {
            Spread::None => squares(features) + constant,
            Spread::Diagonal(_) => {
                let sum: f64 = match features {
                    Features::Dense(x) => x.iter().zip(&self.spread).map(|(x, s)| s * x * x).sum(),
                    Features::Sparse(indices, x) => indices
                        .iter()
                        .zip(x)
                        .map(|(&i, x)| self.spread.get(i as usize).unwrap_or(&0.0) * x * x)
                        .sum(),
                };
                sum + constant * self.constant_spread
            }
            Spread::Full(_) => {
                write_out(features, self.weights.len(), intercept, &mut proposal.vector);
                self.covariance.variance(&proposal.vector)
            }
        }
    }

    /// Work out a step; false if it would overflow. For a full covariance `variance` was called with this proposal.
    #[inline]
    pub fn propose(
        &self,
        features: Features<'_>,
        step: Move,
        spread: Spread,
        intercept: bool,
        next: &mut Proposal,
    ) -> bool {
        next.scale = self.scale * step.scale;
        // Weights that are all forgotten begin again; otherwise a scale of 0 could never be left.
        let fresh = next.scale == 0.0;
        next.fresh = fresh;
        if fresh {
            next.scale = 1.0;
        }
        let along = step.along / next.scale;
        let old = |weight: f64| if fresh { 0.0 } else { weight };
        next.weights.clear();
        next.spread.clear();
        next.constant = old(self.constant);
        next.constant_spread = self.constant_spread;
        match spread {
            Spread::None => {
                match features {
                    Features::Dense(x) if fresh => next.weights.extend(x.iter().map(|x| along * x)),
                    Features::Dense(x) => {
                        next.weights.extend(self.weights.iter().zip(x).map(|(w, x)| w + along * x));
                    }
                    Features::Sparse(indices, x) => {
                        let touched = indices.iter().zip(x);
                        next.weights.extend(
                            touched.map(|(&i, x)| {
                                old(self.weights.get(i as usize).copied().unwrap_or(0.0)) + along * x
                            }),
                        );
                    }
                }
                next.constant += if intercept { along } else { 0.0 };
            }
            Spread::Diagonal(_) => {
                let narrowed = |s: f64, x: f64| (s / (1.0 + step.precision * s * x * x)).max(LEAST_VARIANCE);
                match features {
                    Features::Dense(x) => {
                        let touched = self.weights.iter().zip(&self.spread).zip(x);
                        next.weights.extend(touched.clone().map(|((w, s), x)| old(*w) + along * s * x));
                        next.spread.extend(touched.map(|((_, s), x)| narrowed(*s, *x)));
                    }
                    Features::Sparse(indices, x) => {
                        for (&i, &x) in indices.iter().zip(x) {
                            let w = self.weights.get(i as usize).copied().unwrap_or(0.0);
                            let s = self.spread.get(i as usize).copied().unwrap_or(0.0);
                            next.weights.push(old(w) + along * s * x);
                            next.spread.push(narrowed(s, x));
                        }
                    }
                }
                if intercept {
                    next.constant += along * self.constant_spread;
                    next.constant_spread = narrowed(self.constant_spread, 1.0);
                }
            }
            Spread::Full(_) => {
                // Without precision the gain is wanted all the same: an infinite noise leaves Σ as it is.
                let noise = if step.precision > 0.0 { 1.0 / step.precision } else { f64::MAX };
                let Proposal { vector, work, .. } = next;
                if self.covariance.propose(vector, noise, 1.0, f64::MAX, work).is_none() {
                    return false;
                }
                let offset = usize::from(intercept);
                let gains = next.work.gain.get(offset..).unwrap_or_default();
                next.weights.extend(self.weights.iter().zip(gains).map(|(w, k)| old(*w) + along * k));
                if intercept {
                    next.constant += along * next.work.gain.first().unwrap_or(&0.0);
                }
            }
        }
        let numbers = [next.scale, along, next.constant, next.constant_spread];
        all_finite(&numbers) && all_finite(&next.weights) && all_finite(&next.spread)
    }

    #[inline]
    pub fn commit(&mut self, features: Features<'_>, spread: Spread, next: &mut Proposal) {
        let Plane { scale, weights, constant, constant_spread, .. } = self;
        (*scale, *constant, *constant_spread) = (next.scale, next.constant, next.constant_spread);
        match (features, spread) {
            (Features::Sparse(indices, _), Spread::None | Spread::Diagonal(_)) => {
                if next.fresh {
                    weights.fill(0.0);
                }
                for (&i, &w) in indices.iter().zip(&next.weights) {
                    weights[i as usize] = w;
                }
                for (&i, &s) in indices.iter().zip(&next.spread) {
                    self.spread[i as usize] = s;
                }
            }
            _ => {
                std::mem::swap(weights, &mut next.weights);
                if spread != Spread::None {
                    std::mem::swap(&mut self.spread, &mut next.spread);
                }
            }
        }
        if let Spread::Full(_) = spread {
            self.covariance.commit(&mut next.work);
        }
        if !(1e-50..1e50).contains(&self.scale.abs()) {
            self.fold();
        }
    }

    /// Multiply the scale into the weights, before it leaves what a number can hold.
    #[cold]
    fn fold(&mut self) {
        let scale = std::mem::replace(&mut self.scale, 1.0);
        self.weights.iter_mut().for_each(|weight| *weight *= scale);
        self.constant *= scale;
    }

    pub fn validate(&self, who: &str, width: usize, spread: Spread, intercept: bool) -> Result<()> {
        require(who, self.weights.len() == width, "weights and coordinates differ in number")?;
        let numbers = [self.scale, self.constant, self.constant_spread];
        let finite = all_finite(&self.weights) && all_finite(&self.spread) && all_finite(&numbers);
        require(who, finite && self.scale != 0.0, "a number is not finite")?;
        let positive = self.spread.iter().all(|s| *s > 0.0) && self.constant_spread >= 0.0;
        require(who, positive, "a variance is not positive")?;
        let (diagonal, full) = match spread {
            Spread::None => (0, 0),
            Spread::Diagonal(_) => (width, 0),
            Spread::Full(_) => (0, width + usize::from(intercept)),
        };
        require(who, self.spread.len() == diagonal, "variances and coordinates differ in number")?;
        self.covariance.validate(who, full)
    }

    pub fn memory(&self) -> usize {
        8 * (self.weights.capacity() + self.spread.capacity()) + self.covariance.memory()
    }

    /// `{"intercept": …, "weights": {feature: number, or {value: number} if it is nominal}}`
    pub fn inspect(&self, coordinates: &Coordinates, schema: &Schema) -> Json {
        let weight = |slot: usize, value: Value| {
            Some(self.scale * self.weights.get(coordinates.of(slot, value)? as usize)?)
        };
        json!({ "intercept": self.scale * self.constant, "weights": named(schema, weight) })
    }
}

/// A full covariance must stay within what memory holds.
pub fn check_width(who: &str, width: usize, spread: Spread) -> Result<()> {
    if matches!(spread, Spread::Full(_)) && width > MOST_COORDINATES {
        return Err(Fault::value(format!(
            "{who}: a full covariance is for up to {MOST_COORDINATES} features and nominal values, got {width}: \
             it grows with their square; take a diagonal one"
        )));
    }
    Ok(())
}

#[inline]
fn squares(features: Features<'_>) -> f64 {
    let (Features::Dense(x) | Features::Sparse(_, x)) = features;
    let mut sums = [0.0; 4];
    let chunks = x.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|x| x * x).sum();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x * x;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn write_out(features: Features<'_>, width: usize, intercept: bool, out: &mut Vec<f64>) {
    let offset = usize::from(intercept);
    out.clear();
    out.resize(offset, 1.0);
    match features {
        Features::Dense(x) => out.extend_from_slice(&x[..width.min(x.len())]),
        Features::Sparse(indices, x) => {
            out.resize(offset + width, 0.0);
            for (&i, &x) in indices.iter().zip(x) {
                if let Some(out) = out.get_mut(offset + i as usize) {
                    *out = x;
                }
            }
        }
    }
    out.resize(offset + width, 0.0);
}
