//! Shared by the learners of the incremental risk functional: the stiffness schedule, and the coordinates in which the
//! change of a function is measured.
//!
//! They keep weights w of features ψ in which ∫ (Δᵀψ)² = ΔᵀΔ. A basis in front of them writes such ψ. Features φ with
//! another Gram matrix A = L Lᵀ (the parameter `gram`, or a learner that was taken out of its pipeline) become
//! ψ = L⁻¹φ first. The weights of φ are θ = L⁻ᵀw.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::declaration::Built;
use crate::fault::{Fault, Result, Shown};
use crate::held::state::require;
use crate::linear_algebra::BandedCholesky;
use crate::losses::Loss;
use crate::optim::Features;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Row, Scratch, Value};
use crate::schema::Schema;

use super::{named, proximal, Coordinates};

/// A triangle of coefficients for this many features takes 16 MB.
const MOST_IN_GRAM: usize = 2048;

pub const STIFFNESS: Parameter = Parameter::new(
    "stiffness",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(0.1),
    "cost of changing the function at the first example",
);

pub const GROWTH: Parameter = Parameter::new(
    "growth",
    Kind::Float(Bounds::new(1.0, true, f64::INFINITY, false)),
    DefaultValue::Float(1.05),
    "growth factor of the stiffness per example; 1 keeps it constant",
);

pub const SCHEDULE: Parameter = Parameter::new(
    "schedule",
    Kind::Choice(&["geometric", "linear"]),
    DefaultValue::Text("geometric"),
    "growth of the stiffness: geometric, or linear by the first increment",
);

pub const CAP: Parameter =
    Parameter::new("cap", Kind::Float(Bounds::POSITIVE), DefaultValue::Float(1e100), "maximum stiffness");

pub const GRAM: Parameter = Parameter::new(
    "gram",
    Kind::Optional(&Kind::Table("a square matrix, as a list of rows")),
    DefaultValue::Null,
    "Gram matrix of the features: the integrals of their products; only without a basis before the learner",
);

/// λ over time.
#[derive(Clone, Copy, Debug)]
pub struct Stiffness {
    pub start: f64,
    factor: f64,
    addend: f64,
    cap: f64,
}

impl Stiffness {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let (start, growth, cap) =
            (arguments.float("stiffness")?, arguments.float("growth")?, arguments.float("cap")?);
        if cap < start {
            return Err(Fault::value(format!(
                "{}: cap must be at least stiffness = {}, got {}",
                arguments.who,
                Shown(start),
                Shown(cap)
            )));
        }
        Ok(match arguments.text("schedule")? {
            "linear" => Stiffness { start, factor: 1.0, addend: start * (growth - 1.0), cap },
            _ => Stiffness { start, factor: growth, addend: 0.0, cap },
        })
    }

    #[inline]
    pub fn after(&self, stiffness: f64) -> f64 {
        (stiffness * self.factor + self.addend).min(self.cap)
    }

    pub fn validate(&self, who: &str, stiffness: f64) -> Result<()> {
        require(who, stiffness > 0.0 && stiffness <= self.cap, "the stiffness is out of bounds")
    }
}

/// The loss of a learner, which must be convex and a classification or a regression loss.
pub fn loss(arguments: &Arguments<'_>, for_classes: bool) -> Result<Loss> {
    let called = arguments.value("loss")?["name"].as_str().unwrap_or("another component");
    match arguments.part("loss")? {
        Built::Loss(loss) if loss.for_classes() != for_classes => Err(Fault::value(format!(
            "{}: loss must be a {} loss, got {called}",
            arguments.who,
            if for_classes { "classification" } else { "regression" },
        ))),
        Built::Loss(loss) if !proximal::is_convex(&loss) => Err(Fault::value(format!(
            "{}: loss must be convex, so that a step has one minimum; {called} is not",
            arguments.who
        ))),
        Built::Loss(loss) => Ok(loss),
        _ => Err(arguments.absent("loss")),
    }
}

/// The coordinates of features, and ψ as a function of them.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// L⁻¹ of the parameter `gram`, a lower triangle by rows; empty without.
    given: Arc<Vec<f64>>,
    pub state: GroundState,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroundState {
    pub coordinates: Coordinates,
    /// C in ψ = C φ, of a learner that was taken out of a pipeline with a basis; empty for others.
    transition: Vec<f64>,
}

/// The number of rows of a triangle, if it is one.
fn rows(triangle: &[f64]) -> Option<usize> {
    let rows = ((1.0 + 8.0 * triangle.len() as f64).sqrt() as usize).saturating_sub(1) / 2;
    (rows * (rows + 1) / 2 == triangle.len()).then_some(rows)
}

impl Ground {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let who = arguments.who;
        let Json::Array(matrix) = arguments.value("gram")? else { return Ok(Ground::default()) };
        let size = matrix.len();
        let bad = |what: String| Err(Fault::value(format!("{who}: gram must be {what}")));
        let row = |row: &Json| row.as_array()?.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
        let found: Option<Vec<Vec<f64>>> = matrix.iter().map(row).collect();
        let Some(found) = found.filter(|found| size > 0 && found.iter().all(|row| row.len() == size)) else {
            return bad("a square matrix, as a list of rows of equal length".into());
        };
        if size > MOST_IN_GRAM {
            return bad(format!("of up to {MOST_IN_GRAM} features, got {size}"));
        }
        let greatest = found.iter().flatten().fold(0.0, |most: f64, entry| most.max(entry.abs()));
        for (i, row) in found.iter().enumerate() {
            for (j, &entry) in row[..i].iter().enumerate() {
                let other = found[j][i];
                if (entry - other).abs() > 1e-9 * greatest {
                    return bad(format!("symmetric, got {entry} in row {i}, column {j} and {other} across"));
                }
            }
        }
        let flat: Vec<f64> = found.into_iter().flatten().collect();
        match BandedCholesky::new(&flat, size) {
            Ok(factor) => {
                let given = factor.inverse();
                match all_finite(&given) {
                    true => Ok(Ground { given: Arc::new(given), state: GroundState::default() }),
                    false => bad("of moderate numbers: its inverse overflows".into()),
                }
            }
            Err(row) => bad(format!(
                "positive definite: row {row} is a linear combination of earlier rows in double precision"
            )),
        }
    }

    /// Whether the features in front should be orthonormal already.
    pub fn wants_orthonormal(&self) -> bool {
        self.given.is_empty()
    }

    fn triangle(&self) -> &[f64] {
        if self.state.transition.is_empty() {
            &self.given
        } else {
            &self.state.transition
        }
    }

    /// Number of weights.
    pub fn width(&self) -> usize {
        match rows(self.triangle()) {
            Some(rows) if rows > 0 => rows,
            _ => self.state.coordinates.width(),
        }
    }

    /// Whether a plain row is ψ as it is, and brings nothing new.
    #[inline]
    pub fn is_plain(&self, values: &[f64]) -> bool {
        let coordinates = &self.state.coordinates;
        values.len() == coordinates.width() && !coordinates.mapped() && self.triangle().is_empty()
    }

    /// Add coordinates for everything new in a row. Returns the width before, for `shrink`.
    pub fn grow(&mut self, who: &str, x: Row<'_>) -> Result<usize> {
        let before = self.state.coordinates.grow(x);
        let (known, width) = (rows(self.triangle()).unwrap_or(0), self.state.coordinates.width());
        if known > 0 && width > known {
            self.shrink(before);
            return Err(Fault::value(format!(
                "{who}: the Gram matrix is of {known} features, got {width} features and nominal values"
            )));
        }
        Ok(before)
    }

    pub fn shrink(&mut self, before: usize) {
        self.state.coordinates.shrink(before);
    }

    /// ψ of a row, handed on.
    #[inline]
    pub fn with<R>(
        &self,
        x: Row<'_>,
        scratch: &mut Scratch,
        then: impl FnOnce(Features<'_>, &mut Scratch) -> R,
    ) -> R {
        let coordinates = &self.state.coordinates;
        let triangle = self.triangle();
        if !triangle.is_empty() {
            return self.with_triangle(triangle, x, scratch, then);
        }
        match x {
            Row::Plain(values) if coordinates.direct(values) => then(Features::Dense(values), scratch),
            Row::Sparse(x) if !coordinates.mapped() => then(Features::Sparse(x.indices, x.values), scratch),
            _ => {
                let located = coordinates.locate(x, scratch);
                let result = then(located.features(), scratch);
                located.release(scratch);
                result
            }
        }
    }

    fn with_triangle<R>(
        &self,
        triangle: &[f64],
        x: Row<'_>,
        scratch: &mut Scratch,
        then: impl FnOnce(Features<'_>, &mut Scratch) -> R,
    ) -> R {
        let mut phi = scratch.take_numbers();
        phi.resize(self.width(), 0.0);
        x.each(|slot, value| {
            let index = self.state.coordinates.of(slot, value).map(|index| index as usize);
            if let Some(phi) = index.and_then(|index| phi.get_mut(index)) {
                *phi = match value {
                    Value::Number(number) => number,
                    Value::Nominal(_) => 1.0,
                };
            }
        });
        // From the last row up, so that what is still needed is still there.
        for i in (0..phi.len()).rev() {
            let row = &triangle[i * (i + 1) / 2..];
            phi[i] = row.iter().zip(&phi[..=i]).map(|(c, phi)| c * phi).sum();
        }
        let result = then(Features::Dense(&phi), scratch);
        scratch.give_numbers(phi);
        result
    }

    /// The same for features φ in front of which this ground had ψ = C φ.
    pub fn change_basis(&self, change: &[f64]) -> GroundState {
        let mut state = self.state.clone();
        if self.triangle().is_empty() {
            state.transition = change.to_vec();
        }
        state
    }

    pub fn load(&mut self, who: &str, state: GroundState) -> Result<()> {
        state.coordinates.validate(who)?;
        let size = rows(&state.transition);
        require(who, size.is_some_and(|size| size <= MOST_IN_GRAM), "the transition is not triangular")?;
        require(who, all_finite(&state.transition), "a number is not finite")?;
        require(who, state.transition.is_empty() || self.given.is_empty(), "two Gram matrices")?;
        let before = std::mem::replace(&mut self.state, state);
        let fits = self.state.coordinates.width() <= self.width();
        if !fits {
            self.state = before;
        }
        require(who, fits, "more features than the Gram matrix has")
    }

    /// The weights of the features as they are named, from those of ψ.
    pub fn named(&self, weights: &[f64], schema: &Schema) -> serde_json::Map<String, Json> {
        let triangle = self.triangle();
        let mut theta = weights.to_vec();
        if !triangle.is_empty() && rows(triangle) == Some(weights.len()) {
            for (j, theta) in theta.iter_mut().enumerate() {
                *theta = (j..weights.len()).map(|i| triangle[i * (i + 1) / 2 + j] * weights[i]).sum();
            }
        }
        named(schema, |slot, value| theta.get(self.state.coordinates.of(slot, value)? as usize).copied())
    }

    pub fn memory(&self) -> usize {
        self.state.coordinates.memory() + 8 * (self.given.capacity() + self.state.transition.capacity())
    }
}

/// wᵀψ and ψᵀψ.
#[inline]
pub fn score_and_square(weights: &[f64], features: Features<'_>) -> (f64, f64) {
    match features {
        Features::Dense(x) => {
            let (mut scores, mut squares) = ([0.0; 4], [0.0; 4]);
            let (head, tail) = x.split_at(x.len() & !3);
            let known = weights.len().min(head.len()) & !3;
            for (w, x) in weights[..known].chunks_exact(4).zip(head.chunks_exact(4)) {
                for i in 0..4 {
                    scores[i] += w[i] * x[i];
                }
            }
            for x in head.chunks_exact(4) {
                for i in 0..4 {
                    squares[i] += x[i] * x[i];
                }
            }
            let rest: f64 = weights[known..].iter().zip(&x[known..]).map(|(w, x)| w * x).sum();
            let square: f64 = tail.iter().map(|x| x * x).sum();
            (
                (scores[0] + scores[1]) + (scores[2] + scores[3]) + rest,
                (squares[0] + squares[1]) + (squares[2] + squares[3]) + square,
            )
        }
        Features::Sparse(indices, x) => {
            let (mut score, mut square) = (0.0, 0.0);
            for (&i, x) in indices.iter().zip(x) {
                score += weights.get(i as usize).unwrap_or(&0.0) * x;
                square += x * x;
            }
            (score, square)
        }
    }
}

/// w + a ψ of what the features touch, worked out in `spare`; false if it would overflow.
#[inline]
pub fn propose(weights: &[f64], features: Features<'_>, a: f64, spare: &mut Vec<f64>) -> bool {
    spare.clear();
    match features {
        Features::Dense(x) => spare.extend(weights.iter().zip(x).map(|(w, x)| w + a * x)),
        Features::Sparse(indices, x) => {
            spare.extend(indices.iter().zip(x).map(|(&i, x)| weights.get(i as usize).unwrap_or(&0.0) + a * x))
        }
    }
    a.is_finite() && all_finite(spare)
}

#[inline]
pub fn commit(weights: &mut Vec<f64>, features: Features<'_>, spare: &mut Vec<f64>) {
    match features {
        Features::Dense(x) if x.len() >= weights.len() => std::mem::swap(weights, spare),
        Features::Dense(_) => weights.iter_mut().zip(&*spare).for_each(|(w, &next)| *w = next),
        Features::Sparse(indices, _) => {
            for (&i, &next) in indices.iter().zip(&*spare) {
                if let Some(weight) = weights.get_mut(i as usize) {
                    *weight = next;
                }
            }
        }
    }
}
