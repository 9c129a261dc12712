//! A weight vector that is updated along an example: the state of perceptrons, passive-aggressive learners and
//! learners with a covariance.
//!
//! ```text
//! w ← scale · w + along · Σ x,   Σ⁻¹ ← (Σ⁻¹ + precision · x xᵀ) / inflation
//! ```
//! Σ is the identity (first-order learners), a diagonal, or a full matrix in factored form. An update rule returns the
//! coefficients; the update here is atomic. The intercept is the weight of a feature that is always 1.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::numeric::dot;
use crate::optim::Features;
use crate::row::{all_finite, Value};
use crate::schema::Schema;

use crate::linear_algebra::PivotedCholesky;

use super::covariance::{Covariance, Work, LEAST_VARIANCE};
use super::merged_weights::{by_count, by_precision, Three};
use super::weight_cells::{fit, Fetched, WeightCells};
use super::{named, Coordinates};

/// The form of Σ, the covariance of the weights, and its initial diagonal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    None,
    Diagonal(f64),
    Full(f64),
}

impl Spread {
    /// The initial variance.
    pub fn variance(self) -> f64 {
        match self {
            Spread::None => 1.0,
            Spread::Diagonal(variance) | Spread::Full(variance) => variance,
        }
    }
}

/// The covariance of this many coordinates takes 64 MB, twice.
pub const MOST_COORDINATES: usize = 4096;

/// Maximum inflation of Σ or its inverse.
const MOST_INFLATION: f64 = 1e100;

/// Below this, a difference of two matrices is rounding error.
const TOLERANCE: f64 = 1e-14;

/// One step, as an update rule returns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub scale: f64,
    pub along: f64,
    pub precision: f64,
    pub inflation: f64,
}

impl Move {
    /// A step along the example that changes nothing else.
    #[inline]
    pub fn along(along: f64) -> Self {
        Move { scale: 1.0, along, precision: 0.0, inflation: 1.0 }
    }

    /// A step that first multiplies the weights by `scale`.
    #[inline]
    pub fn scaled(scale: f64, along: f64) -> Self {
        Move { scale, ..Move::along(along) }
    }

    /// A step that also increases the precision in the direction of the example.
    #[inline]
    pub fn surer(along: f64, precision: f64) -> Self {
        Move { precision, ..Move::along(along) }
    }

    pub fn sound(&self) -> bool {
        (self.scale * 0.0 + self.along * 0.0) + (self.precision * 0.0 + self.inflation * 0.0) == 0.0
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct WeightVector {
    /// The weights are `scale` times these, so that shrinking all of them is one multiplication.
    scale: f64,
    /// Weights, and the diagonal of Σ where that is its form.
    cells: WeightCells,
    constant: f64,
    constant_spread: f64,
    /// All of Σ, the intercept first; empty for other forms.
    covariance: Covariance,
    /// Σ is this many times the stored covariance.
    inflation: f64,
    /// The numbers above at `savepoint`.
    held: [f64; 4],
}

/// Its saved form, independent of the layout.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Plane")]
struct Saved {
    scale: f64,
    weights: Vec<f64>,
    constant: f64,
    spread: Vec<f64>,
    constant_spread: f64,
    covariance: Covariance,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    inflation: f64,
}

fn one() -> f64 {
    1.0
}

fn is_one(number: &f64) -> bool {
    *number == 1.0
}

impl From<WeightVector> for Saved {
    fn from(vector: WeightVector) -> Self {
        let WeightVector { scale, constant, constant_spread, covariance, inflation, .. } = vector;
        let (weights, spread) = vector.cells.into_parts();
        Saved { scale, weights, constant, spread, constant_spread, covariance, inflation }
    }
}

impl From<Saved> for WeightVector {
    fn from(saved: Saved) -> Self {
        let Saved { scale, weights, constant, spread, constant_spread, covariance, inflation } = saved;
        let cells = WeightCells::new(weights, spread);
        WeightVector { scale, cells, constant, constant_spread, covariance, inflation, held: [0.0; 4] }
    }
}

/// Buffers in which a step is computed before it is committed.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    scale: f64,
    /// Whether the previous weights are discarded.
    fresh: bool,
    constant: f64,
    constant_spread: f64,
    inflation: f64,
    /// Current and new values of sparse features; of dense features only the new ones.
    now: Fetched,
    next: Fetched,
    work: Work,
    /// The example as a vector, for a full covariance.
    vector: Vec<f64>,
}

impl Proposal {
    pub fn memory(&self) -> usize {
        self.now.memory() + self.next.memory() + 8 * self.vector.capacity() + self.work.memory()
    }
}

impl Proposal {
    /// Add to the proposed intercept; false if it would overflow.
    pub fn shift(&mut self, by: f64) -> bool {
        self.constant += by / self.scale;
        self.constant.is_finite()
    }
}

impl WeightVector {
    pub fn new() -> Self {
        WeightVector { scale: 1.0, inflation: 1.0, ..WeightVector::default() }
    }

    /// Half of this vector, or its negative: the difference of the two scores is the score of this vector.
    pub fn half(&self, sign: f64) -> Self {
        let mut half = self.clone();
        half.cells.discard_savepoint();
        half.scale *= 0.5 * sign;
        half.cells.multiply_variances(0.5);
        half.constant_spread *= 0.5;
        half.covariance.multiply(0.5);
        half
    }

    /// Room for `width` coordinates; `fraction` is the part of the initial variance that a vector receives.
    pub fn grow(&mut self, width: usize, spread: Spread, intercept: bool, fraction: f64) {
        match spread {
            Spread::None => self.cells.grow(width, None),
            Spread::Diagonal(variance) => {
                self.cells.grow(width, Some(variance * fraction));
                if self.constant_spread == 0.0 && intercept {
                    self.constant_spread = variance * fraction;
                }
            }
            Spread::Full(variance) => {
                self.cells.grow(width, None);
                self.covariance.grow(width + usize::from(intercept), variance * fraction);
            }
        }
    }

    /// Remove the coordinates beyond `width`.
    pub fn shrink(&mut self, width: usize, intercept: bool) {
        self.cells.shrink(width);
        self.covariance.shrink(width + usize::from(intercept));
    }

    /// See `Part::savepoint`; likewise `rollback` and `commit`. A full covariance is not held.
    pub fn savepoint(&mut self) {
        self.held = [self.scale, self.constant, self.constant_spread, self.inflation];
        self.cells.savepoint();
    }

    pub fn rollback(&mut self) {
        [self.scale, self.constant, self.constant_spread, self.inflation] = self.held;
        self.cells.rollback();
    }

    pub fn discard_savepoint(&mut self) {
        self.cells.discard_savepoint();
    }

    /// What a step does to a vector that the example does not concern.
    pub fn rescale(&mut self, step: Move) {
        self.scale *= step.scale;
        self.inflation = inflated(self.inflation, step);
        if !(1e-50..1e50).contains(&self.scale.abs()) {
            self.fold();
        }
    }

    #[inline]
    pub fn score(&self, features: Features<'_>) -> f64 {
        self.scale * (self.cells.dot(features) + self.constant)
    }

    /// The scalar product with a vector whose intercept is not 1.
    pub fn along(&self, features: Features<'_>, intercept: f64) -> f64 {
        self.scale * (self.cells.dot(features) + self.constant * intercept)
    }

    /// Get ready for a step: what it needs of sparse features is then in the proposal.
    #[inline]
    pub fn fetch(&mut self, features: Features<'_>, proposal: &mut Proposal) {
        match features {
            Features::Dense(_) => self.cells.lie_apart(),
            Features::Sparse(indices, _) => {
                self.cells.lie_together();
                self.cells.fetch(indices, &mut proposal.now);
            }
        }
    }

    /// As `score`, after `fetch`.
    #[inline]
    pub fn fetched_score(&self, features: Features<'_>, proposal: &Proposal) -> f64 {
        let sum = match features {
            Features::Dense(_) => self.cells.dot(features),
            Features::Sparse(_, x) => dot(&proposal.now.weights, x),
        };
        self.scale * (sum + self.constant)
    }

    /// xᵀΣ x, which is the squared length of x where Σ is the identity. After `fetch`.
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
            Spread::None => {
                let (Features::Dense(x) | Features::Sparse(_, x)) = features;
                dot(x, x) + constant
            }
            Spread::Diagonal(_) => {
                let sum = match features {
                    Features::Dense(x) => quadratic(self.cells.all().1, x),
                    Features::Sparse(indices, x) => {
                        self.cells.fetch_variances(indices, &mut proposal.now);
                        quadratic(&proposal.now.variances, x)
                    }
                };
                self.inflation * (sum + constant * self.constant_spread)
            }
            Spread::Full(_) => {
                write_out(features, self.cells.len(), intercept, &mut proposal.vector);
                self.inflation * self.covariance.variance(&proposal.vector)
            }
        }
    }

    /// Work out a step; false if it would overflow. After `fetch`, and after `variance` where there is a spread.
    #[inline]
    pub fn propose(
        &self,
        features: Features<'_>,
        step: Move,
        spread: Spread,
        intercept: bool,
        proposal: &mut Proposal,
    ) -> bool {
        let Proposal { now, next, work, vector, .. } = proposal;
        let mut scale = self.scale * step.scale;
        // Discarded weights restart at 0; otherwise a scale of 0 would be permanent.
        let fresh = scale == 0.0;
        if fresh {
            scale = 1.0;
        }
        let along = step.along / scale * self.inflation;
        let precision = step.precision * self.inflation;
        let mut constant = if fresh { 0.0 } else { self.constant };
        let mut constant_spread = self.constant_spread;
        let (x, weights, variances) = match features {
            Features::Dense(x) => (x, self.cells.all().0, self.cells.all().1),
            Features::Sparse(_, x) => (x, &now.weights[..], &now.variances[..]),
        };
        let sound = match spread {
            Spread::None => {
                constant += if intercept { along } else { 0.0 };
                if fresh {
                    next.weights.clear();
                    next.weights.extend(x.iter().map(|x| along * x));
                    all_finite(&next.weights)
                } else {
                    fit(&mut next.weights, weights.len());
                    step_without_spread(weights, x, along, &mut next.weights)
                }
            }
            Spread::Diagonal(_) => {
                if intercept {
                    constant += along * constant_spread;
                    constant_spread = narrowed(constant_spread, 1.0, precision);
                }
                fit(&mut next.weights, weights.len());
                fit(&mut next.variances, weights.len());
                step_with_diagonal(weights, variances, x, along, precision, next)
            }
            Spread::Full(_) => {
                // Without precision the gain is wanted all the same: an infinite noise leaves Σ as it is.
                let noise = if precision > 0.0 { 1.0 / precision } else { f64::MAX };
                if self.covariance.propose(vector, noise, 1.0, f64::MAX, work).is_none() {
                    return false;
                }
                let gains = work.gain.get(usize::from(intercept)..).unwrap_or_default();
                next.weights.clear();
                next.weights.extend(self.cells.all().0.iter().zip(gains).map(|(w, k)| w + along * k));
                if intercept {
                    constant += along * work.gain.first().unwrap_or(&0.0);
                }
                all_finite(&next.weights)
            }
        };
        proposal.scale = scale;
        proposal.fresh = fresh;
        proposal.constant = constant;
        proposal.constant_spread = constant_spread;
        proposal.inflation = inflated(self.inflation, step);
        sound && (scale * 0.0 + along * 0.0) + (constant * 0.0 + constant_spread * 0.0) == 0.0
    }

    #[inline]
    pub fn commit(&mut self, features: Features<'_>, spread: Spread, proposal: &mut Proposal) {
        self.scale = proposal.scale;
        self.constant = proposal.constant;
        self.constant_spread = proposal.constant_spread;
        self.inflation = proposal.inflation;
        match (features, spread) {
            (Features::Sparse(indices, _), Spread::None | Spread::Diagonal(_)) => {
                if proposal.fresh {
                    self.cells.multiply(0.0);
                }
                self.cells.write(indices, &proposal.next);
            }
            _ => self.cells.swap(&mut proposal.next),
        }
        if let Spread::Full(_) = spread {
            self.covariance.commit(&mut proposal.work);
        }
        if !(1e-50..1e50).contains(&self.scale.abs()) {
            self.fold();
        }
    }

    /// Multiply the scale into the weights, before it leaves what a number can hold.
    #[cold]
    fn fold(&mut self) {
        let scale = std::mem::replace(&mut self.scale, 1.0);
        self.cells.multiply(scale);
        self.constant *= scale;
    }

    /// The opposite score.
    pub fn negate(&mut self) {
        self.scale = -self.scale;
    }

    /// Merge the vector of another part of the stream, whose coordinate i is coordinate `theirs.1[i]` here, and so for a
    /// base: by count, or by precision where there is a covariance. `known` coordinates are ours, `fraction` is our part of
    /// the examples, and `prior` the initial variance.
    pub fn merge(
        &mut self,
        who: &str,
        theirs: (&WeightVector, &[u32]),
        base: Option<(&WeightVector, &[u32])>,
        known: usize,
        fraction: f64,
        (spread, prior, intercept): (Spread, f64, bool),
    ) -> Result<()> {
        if let Spread::Full(_) = spread {
            return self.merge_full(who, theirs, base, prior, intercept);
        }
        let width = self.cells.len();
        let plain = |vector: &WeightVector| {
            let (weights, variances) = vector.cells.clone().into_parts();
            let weights: Vec<f64> = weights.iter().map(|w| vector.scale * w).collect();
            let variances: Vec<f64> = variances.iter().map(|s| vector.inflation * s).collect();
            (weights, variances)
        };
        let aligned = |(vector, indices): (&WeightVector, &[u32])| {
            let (weights, variances) = plain(vector);
            let mut cells = vec![None; width];
            for (i, &index) in indices.iter().enumerate() {
                cells[index as usize] = weights.get(i).map(|&w| (w, variances.get(i).copied().unwrap_or(prior)));
            }
            cells
        };
        let merged = |cell: Three<(f64, f64)>| match spread {
            Spread::None => (by_count(cell.map(|(w, _)| w), fraction), 0.0),
            _ => by_precision(cell, prior),
        };
        let of_constant = |vector: &WeightVector| {
            let variance =
                if vector.constant_spread > 0.0 { vector.inflation * vector.constant_spread } else { prior };
            (vector.scale * vector.constant, variance)
        };
        let constants = Three {
            ours: Some(of_constant(self)),
            theirs: Some(of_constant(theirs.0)),
            base: base.map(|(base, _)| of_constant(base)),
        };
        let constant = if intercept { merged(constants) } else { (0.0, 0.0) };
        let (mut weights, mut variances) = plain(self);
        let (their_cells, base_cells) = (aligned(theirs), base.map(aligned));
        for index in 0..width {
            let variance = variances.get(index).copied().unwrap_or(prior);
            let cell = Three {
                ours: (index < known).then(|| (weights[index], variance)),
                theirs: their_cells[index],
                base: base_cells.as_ref().and_then(|cells| cells[index]),
            };
            let (weight, variance) = merged(cell);
            weights[index] = weight;
            if let Some(place) = variances.get_mut(index) {
                *place = variance.max(LEAST_VARIANCE);
            }
        }
        if !(all_finite(&weights) && all_finite(&variances) && constant.0.is_finite()) {
            return Err(Fault::overflow(who));
        }
        let diagonal = intercept && matches!(spread, Spread::Diagonal(_));
        let constant_spread = if diagonal { constant.1.max(LEAST_VARIANCE) } else { 0.0 };
        let cells = WeightCells::new(weights, variances);
        *self = WeightVector { cells, constant: constant.0, constant_spread, ..WeightVector::new() };
        Ok(())
    }

    /// By precision with a full covariance: what the other vector knows beyond the base, Λ = Λ₂ − Λ₀, is learned as vectors r
    /// with targets t, as in `recursion`: Σ r rᵀ = Λ and Σ t r = Λ₂ w₂ − Λ₀ w₀.
    fn merge_full(
        &mut self,
        who: &str,
        theirs: (&WeightVector, &[u32]),
        base: Option<(&WeightVector, &[u32])>,
        prior: f64,
        intercept: bool,
    ) -> Result<()> {
        let offset = usize::from(intercept);
        let n = self.cells.len() + offset;
        let (mut information, mut pulled) = (vec![0.0; n * n], vec![0.0; n]);
        let mut unseen = vec![base.is_none(); n];
        let mut add = |(vector, indices): (&WeightVector, &[u32]), sign: f64| {
            let places: Vec<usize> = (0..offset).chain(indices.iter().map(|&i| i as usize + offset)).collect();
            let weights = vector.plain_weights(intercept);
            let matrix = vector.covariance.information();
            for (row, &a) in matrix.chunks_exact(places.len().max(1)).zip(&places) {
                let scaled = |number: &f64| sign * number / vector.inflation;
                pulled[a] += row.iter().zip(&weights).map(|(number, w)| scaled(number) * w).sum::<f64>();
                row.iter().zip(&places).for_each(|(number, &b)| information[a * n + b] += scaled(number));
                // Without a base, each coordinate of the other vector started at the prior.
                if sign > 0.0 && std::mem::take(&mut unseen[a]) {
                    information[a * n + a] -= 1.0 / prior;
                }
            }
        };
        add(theirs, 1.0);
        if let Some(base) = base {
            add(base, -1.0);
        }
        let cholesky = PivotedCholesky::new(&information, n, TOLERANCE);
        let coefficients = cholesky.coefficients(&pulled);
        let mut weights = self.plain_weights(intercept);
        self.covariance.multiply(self.inflation);
        let mut work = Work::default();
        for (r, t) in cholesky.columns().zip(&coefficients) {
            let x = r;
            let score = dot(&weights, &x);
            let overflow = || Fault::overflow(who);
            let alpha = self.covariance.propose(&x, 1.0, 1.0, f64::MAX, &mut work).ok_or_else(overflow)?;
            let step = (t - score) / alpha;
            weights.iter_mut().zip(&work.gain).for_each(|(w, k)| *w += step * k);
            self.covariance.commit(&mut work);
        }
        if !all_finite(&weights) {
            return Err(Fault::overflow(who));
        }
        let constant = if intercept { weights.remove(0) } else { 0.0 };
        let covariance = std::mem::take(&mut self.covariance);
        let cells = WeightCells::new(weights, Vec::new());
        *self = WeightVector { cells, constant, covariance, ..WeightVector::new() };
        Ok(())
    }

    /// The weights, the intercept first.
    fn plain_weights(&self, intercept: bool) -> Vec<f64> {
        let constant = intercept.then_some(self.constant);
        let weights = self.cells.clone().into_parts().0;
        constant.into_iter().chain(weights).map(|w| self.scale * w).collect()
    }

    pub fn squared_length(&self) -> f64 {
        self.plain_weights(true).iter().map(|w| w * w).sum()
    }

    pub fn validate(&self, who: &str, width: usize, spread: Spread, intercept: bool) -> Result<()> {
        require(who, self.cells.len() == width, "weights and coordinates differ in number")?;
        let numbers = [self.scale, self.constant, self.constant_spread, self.inflation];
        require(who, all_finite(&numbers) && self.scale != 0.0, "a number is not finite")?;
        let positive = self.cells.sound() && self.constant_spread >= 0.0 && self.inflation > 0.0;
        require(who, positive, "a weight is not finite, or a variance is not positive")?;
        let (diagonal, full) = match spread {
            Spread::None => (0, 0),
            Spread::Diagonal(_) => (width, 0),
            Spread::Full(_) => (0, width + usize::from(intercept)),
        };
        require(who, self.cells.variances() == diagonal, "variances and coordinates differ in number")?;
        self.covariance.validate(who, full)
    }

    pub fn memory(&self) -> usize {
        self.cells.memory() + self.covariance.memory()
    }

    /// `{"intercept": …, "weights": {feature: number, or {value: number} if it is nominal}}`
    pub fn inspect(&self, coordinates: &Coordinates, schema: &Schema) -> Json {
        let weight = |slot: usize, value: Value| {
            Some(self.scale * self.cells.weight(coordinates.of(slot, value)? as usize)?)
        };
        json!({ "intercept": self.scale * self.constant, "weights": named(schema, weight) })
    }
}

/// A full covariance must stay within what memory holds.
pub fn check_width(who: &str, width: usize, spread: Spread) -> Result<()> {
    if matches!(spread, Spread::Full(_)) && width > MOST_COORDINATES {
        return Err(Fault::value(format!(
            "{who}: a full covariance supports up to {MOST_COORDINATES} features and nominal values, got {width}: \
             it grows with their square; use a diagonal one"
        )));
    }
    Ok(())
}

/// Beyond the bounds nothing moves, or everything does at once.
#[inline]
fn inflated(inflation: f64, step: Move) -> f64 {
    (inflation * step.inflation).clamp(1.0 / MOST_INFLATION, MOST_INFLATION)
}

/// Σ sᵢ xᵢ², in four partial sums.
#[inline]
fn quadratic(variances: &[f64], x: &[f64]) -> f64 {
    let n = variances.len().min(x.len());
    let (ss, s_rest) = variances[..n].as_chunks::<4>();
    let (xs, x_rest) = x[..n].as_chunks::<4>();
    let mut sums = [0.0f64; 4];
    for (s, x) in ss.iter().zip(xs) {
        for k in 0..4 {
            sums[k] += s[k] * x[k] * x[k];
        }
    }
    for (k, (s, x)) in s_rest.iter().zip(x_rest).enumerate() {
        sums[k] += s * x * x;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[inline(always)]
fn narrowed(s: f64, x: f64, precision: f64) -> f64 {
    let narrow = s / (1.0 + precision * (s * x * x));
    if narrow > LEAST_VARIANCE {
        narrow
    } else {
        LEAST_VARIANCE
    }
}

/// w + along · x; false if it overflows. A function of its own: its arguments tell the compiler that they do not
/// overlap. In fours, so that the check for overflow rides along.
#[inline(never)]
fn step_without_spread(w: &[f64], x: &[f64], along: f64, out: &mut [f64]) -> bool {
    let n = out.len();
    let (fours, rest) = out.as_chunks_mut::<4>();
    let (ws, w_rest) = w[..n].as_chunks::<4>();
    let (xs, x_rest) = x[..n].as_chunks::<4>();
    let mut check = [0.0; 4];
    for ((out, w), x) in fours.iter_mut().zip(ws).zip(xs) {
        for k in 0..4 {
            out[k] = w[k] + along * x[k];
            check[k] += out[k] * 0.0;
        }
    }
    for ((out, w), x) in rest.iter_mut().zip(w_rest).zip(x_rest) {
        *out = w + along * x;
        check[0] += *out * 0.0;
    }
    (check[0] + check[1]) + (check[2] + check[3]) == 0.0
}

/// The step of weights and variances; false if a weight overflows: a variance only shrinks.
#[inline(never)]
fn step_with_diagonal(w: &[f64], s: &[f64], x: &[f64], along: f64, precision: f64, out: &mut Fetched) -> bool {
    let n = w.len();
    let (weights, w_last) = out.weights[..n].as_chunks_mut::<4>();
    let (variances, s_last) = out.variances[..n].as_chunks_mut::<4>();
    let (ws, w_rest) = w[..n].as_chunks::<4>();
    let (ss, s_rest) = s[..n].as_chunks::<4>();
    let (xs, x_rest) = x[..n].as_chunks::<4>();
    let mut check = [0.0; 4];
    for ((((weights, variances), w), s), x) in weights.iter_mut().zip(variances).zip(ws).zip(ss).zip(xs) {
        for k in 0..4 {
            weights[k] = w[k] + along * s[k] * x[k];
            variances[k] = narrowed(s[k], x[k], precision);
            check[k] += weights[k] * 0.0;
        }
    }
    for ((((weight, variance), w), s), x) in w_last.iter_mut().zip(s_last).zip(w_rest).zip(s_rest).zip(x_rest) {
        *weight = w + along * s * x;
        *variance = narrowed(*s, *x, precision);
        check[0] += *weight * 0.0;
    }
    (check[0] + check[1]) + (check[2] + check[3]) == 0.0
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
