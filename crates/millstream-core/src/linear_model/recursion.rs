//! The recursion of least squares, used by `RLS` and `BayesianLinearRegression`.
//!
//! ```text
//! w ← w + K (y − wᵀx),  K = P x / (ρ / ω + xᵀP x),  P ← (P − K xᵀP) / ρ,  P₀ = I / l2
//! ```
//! with forgetting ρ and sample weight ω (Haykin, Adaptive Filter Theory, chapter 10). An example that is k steps old
//! counts ρᵏ, and so does the l2 penalty. P is kept in factors (covariance.rs). The intercept is the weight of a
//! feature that is always 1, and is penalised by l2 like the others.
//!
//! With forgetting and a constant input, P grows as ρ⁻ᵗ in all other directions, until a single example moves the
//! weights arbitrarily far: wind-up. Here no variance grows beyond `MOST_INFLATION` times its initial value.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::merging::Merger;
use crate::row::{all_finite, finite, Row, Scratch, Value};
use crate::schema::Schema;

use super::covariance::{Covariance, Work, SURE};
use super::weight_vector::MOST_COORDINATES;
use super::{named, Coordinates};
use crate::linear_algebra::tiled_triangle::dot;
use crate::linear_algebra::PivotedCholesky;

const MOST_INFLATION: f64 = 1e6;

/// Below this, a difference of two matrices is rounding error.
const TOLERANCE: f64 = 1e-14;

#[derive(Clone)]
pub struct Recursion {
    who: &'static str,
    pub l2: f64,
    pub forgetting: f64,
    pub intercept: bool,
    pub state: State,
    work: Work,
    /// The weights after a step, before they are committed.
    spare: Vec<f64>,
    /// No weight is larger.
    bound: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    coordinates: Coordinates,
    /// The intercept first, if there is one.
    pub weights: Vec<f64>,
    pub covariance: Covariance,
}

impl State {
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }
}

/// The result of learning an example.
pub struct Taken {
    /// The prediction before learning.
    pub score: f64,
    /// Increase of the least sum of squares: (y − wᵀx)² / α.
    pub surprise: f64,
    /// ρ / ω + xᵀP x, by which the gain is to be divided.
    pub alpha: f64,
}

/// What the examples of some parts amount to.
struct Normal {
    /// Σ x xᵀ
    information: Vec<f64>,
    /// Σ y x
    pulled: Vec<f64>,
    /// Σ y² without the least sum of squares.
    explained: f64,
}

impl Normal {
    /// Add a part whose weight i is weight `indices[i]` here, or subtract it.
    fn add(&mut self, state: &State, indices: &[usize], l2: f64, sign: f64) {
        let (n, width) = (state.weights.len(), self.pulled.len());
        let information = state.covariance.information();
        for ((row, weight), &a) in information.chunks_exact(n.max(1)).zip(&state.weights).zip(indices) {
            let pull = dot(row, &state.weights);
            self.pulled[a] += sign * pull;
            self.explained += sign * pull * weight;
            for (number, &b) in row.iter().zip(indices) {
                self.information[a * width + b] += sign * number;
            }
            self.information[a * width + a] -= sign * l2;
        }
    }
}

impl Recursion {
    pub fn new(who: &'static str, l2: f64, forgetting: f64, intercept: bool) -> Self {
        let (state, work) = (State::default(), Work::default());
        Recursion { who, l2, forgetting, intercept, state, work, spare: Vec::new(), bound: 0.0 }
    }

    /// P x of the last example, from before it was learned.
    pub fn gain(&self) -> &[f64] {
        &self.work.gain
    }

    fn offset(&self) -> usize {
        usize::from(self.intercept)
    }

    /// The example as a vector over all coordinates.
    #[inline]
    pub fn vector(&self, x: Row<'_>, out: &mut Vec<f64>) {
        let State { coordinates, weights, .. } = &self.state;
        let offset = self.offset();
        out.clear();
        out.resize(offset, 1.0);
        match x {
            Row::Plain(values) if coordinates.direct(values) => {
                out.extend_from_slice(&values[..coordinates.width()])
            }
            _ => {
                out.resize(weights.len().max(offset), 0.0);
                x.each(|slot, value| {
                    if let Some(index) = coordinates.of(slot, value) {
                        out[offset + index as usize] = match value {
                            Value::Number(number) => number,
                            Value::Nominal(_) => 1.0,
                        };
                    }
                });
            }
        }
    }

    pub fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let mut vector = scratch.take_numbers();
        self.vector(x, &mut vector);
        let score = dot(&self.state.weights, &vector);
        scratch.give_numbers(vector);
        finite(score)
    }

    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let before = self.state.coordinates.grow(x);
        let width = self.state.coordinates.width() + self.offset();
        self.widen(width).inspect_err(|_| self.state.coordinates.shrink(before))
    }

    fn widen(&mut self, width: usize) -> Result<()> {
        if width > MOST_COORDINATES {
            return Err(Fault::value(format!(
                "{}: supports up to {MOST_COORDINATES} features and nominal values, got {width}: \
                 its covariance grows with their square",
                self.who
            )));
        }
        self.state.weights.resize(width, 0.0);
        self.state.covariance.grow(width, 1.0 / self.l2);
        Ok(())
    }

    fn shrink(&mut self, before: usize, fresh: bool) {
        self.state.coordinates.shrink(before);
        // Before the first example there is no intercept either.
        let width = if fresh { 0 } else { before + self.offset() };
        self.state.weights.truncate(width);
        self.state.covariance.shrink(width);
    }

    /// Learn an example, or change nothing.
    #[inline]
    pub fn take(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<Taken> {
        let (fresh, before) = (self.state.weights.is_empty(), self.state.coordinates.width());
        let known = matches!(x, Row::Plain(values) if values.len() == before && !self.state.coordinates.mapped());
        if fresh || !known {
            self.grow(x)?;
        }
        let mut vector = std::mem::take(&mut self.work.x);
        self.vector(x, &mut vector);
        self.work.x = vector;
        let learned = self.follow(y, w);
        if learned.is_none() {
            self.shrink(before, fresh);
        }
        learned.ok_or_else(|| Fault::overflow(self.who))
    }

    /// Learn the example in `work.x`; None if that would overflow, and then nothing has changed.
    #[inline]
    fn follow(&mut self, y: f64, w: f64) -> Option<Taken> {
        let State { weights, covariance, .. } = &mut self.state;
        let work = &mut self.work;
        let score = dot(weights, &work.x);
        let ceiling = if self.forgetting == 1.0 { f64::MAX } else { MOST_INFLATION / self.l2 };
        let inflation = if self.forgetting == 1.0 { 1.0 } else { 1.0 / self.forgetting };
        let alpha = covariance.prepare(1.0 / w, inflation, ceiling, work)?;
        let step = (y - score) / alpha;
        let surprise = step * (y - score);
        if !(step.is_finite() && surprise.is_finite()) {
            return None;
        }
        let mut bound = self.bound + step.abs() * work.reach;
        let sure = bound < SURE;
        if !sure {
            self.bound = weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
            bound = self.bound + step.abs() * work.reach;
        }
        if bound < SURE && covariance.sure(work) {
            covariance.update(work);
            self.bound = bound;
            weights.iter_mut().zip(&work.gain).for_each(|(w, k)| *w += step * k);
            return Some(Taken { score, surprise, alpha });
        }
        let x = std::mem::take(&mut self.spare);
        self.spare = std::mem::replace(&mut work.x, x);
        covariance.propose(&self.spare, 1.0 / w, inflation, ceiling, work)?;
        self.spare.clear();
        self.spare.extend(weights.iter().zip(&work.gain).map(|(w, k)| w + step * k));
        if !all_finite(&self.spare) {
            return None;
        }
        covariance.commit(work);
        std::mem::swap(weights, &mut self.spare);
        self.bound = f64::MAX;
        Some(Taken { score, surprise, alpha })
    }

    /// Merge the same learner of another part of the stream; `read` reads the state of a side. Returns the increase of the
    /// sum of `surprise` beyond those of the parts.
    ///
    /// The examples of a part amount to Λ = P⁻¹ − l2 I and b = P⁻¹ w. As many vectors r with targets t as Λ has rank, with
    /// Σ r rᵀ = Λ and Σ t r = b, represent them and are learned like examples: nothing is subtracted from P, which stays
    /// positive definite. A base is subtracted from Λ and b of both parts, which are then learned from the beginning.
    pub fn merge(&mut self, merger: &Merger<'_>, read: impl Fn(&[u8]) -> Result<State>) -> Result<f64> {
        let other = read(merger.other.state)?;
        let base = merger.base.map(|base| read(base.state)).transpose()?.filter(|base| !base.weights.is_empty());
        if other.weights.is_empty() {
            return Ok(0.0);
        }
        let indices = self.indices(&other, merger.other.schema, merger.ours)?;
        self.widen(self.state.coordinates.width() + self.offset())?;
        let n = self.state.weights.len();
        let mut sums = Normal { information: vec![0.0; n * n], pulled: vec![0.0; n], explained: 0.0 };
        sums.add(&other, &indices, self.l2, 1.0);
        if let (Some(base), Some(side)) = (base, merger.base) {
            sums.add(&base, &self.indices(&base, side.schema, merger.ours)?, self.l2, -1.0);
            let ours = std::mem::take(&mut self.state);
            sums.add(&ours, &(0..n).collect::<Vec<_>>(), self.l2, 1.0);
            self.state = State { coordinates: ours.coordinates, ..State::default() };
            self.widen(n)?;
        }
        let Normal { information, pulled, explained } = sums;
        if !(all_finite(&information) && all_finite(&pulled)) {
            return Err(Fault::overflow(self.who));
        }
        let cholesky = PivotedCholesky::new(&information, n, TOLERANCE);
        let coefficients = cholesky.coefficients(&pulled);
        let mut more = explained - dot(&coefficients, &coefficients);
        for (r, t) in cholesky.columns().zip(&coefficients) {
            let x = &mut self.work.x;
            x.clear();
            x.extend(r);
            more += self.follow(*t, 1.0).ok_or_else(|| Fault::overflow(self.who))?.surprise;
        }
        Ok(more)
    }

    /// Our index of each weight of another state.
    fn indices(&mut self, other: &State, theirs: &Schema, ours: &Schema) -> Result<Vec<usize>> {
        let indices = self.state.coordinates.join(&other.coordinates, theirs, ours)?;
        let offset = self.offset();
        Ok((0..offset).chain(indices.iter().map(|index| *index as usize + offset)).collect())
    }

    /// Reject, after loading, a state that could not have been learned.
    pub fn adopt(&mut self, state: State) -> Result<()> {
        let who = self.who;
        state.coordinates.validate(who)?;
        let learned = !state.weights.is_empty();
        let width = if learned { state.coordinates.width() + self.offset() } else { 0 };
        require(who, learned || state.coordinates.width() == 0, "coordinates without weights")?;
        require(who, state.weights.len() == width && width <= MOST_COORDINATES, "a wrong number of weights")?;
        require(who, all_finite(&state.weights), "a weight is not finite")?;
        state.covariance.validate(who, width)?;
        self.state = state;
        self.bound = f64::MAX;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let State { coordinates, weights, covariance } = &self.state;
        let buffers = 8 * (weights.capacity() + self.spare.capacity());
        coordinates.memory() + covariance.memory() + self.work.memory() + buffers
    }

    /// `{"intercept": …, "weights": {feature: number, or {value: number} if it is nominal}}`
    pub fn inspect(&self, schema: &Schema) -> Json {
        let weight = |slot: usize, value: Value| {
            let index = self.state.coordinates.of(slot, value)? as usize + self.offset();
            self.state.weights.get(index).copied()
        };
        let intercept = self.state.weights.first().filter(|_| self.intercept).copied().unwrap_or(0.0);
        json!({ "intercept": intercept, "weights": named(schema, weight) })
    }
}
