//! Recursive least squares: after every example the weights are exactly those of ridge regression on all examples
//! so far, at a cost of O(d²) each.
//!
//! ```text
//! w ← w + K (y − wᵀx),  K = P x / (ρ / ω + xᵀP x),  P ← (P − K xᵀP) / ρ,  P₀ = I / l2
//! ```
//! with forgetting ρ and sample weight ω (Haykin, Adaptive Filter Theory, chapter 10). An example that is k steps old
//! counts ρᵏ, and so does the pull of l2. P is kept in factors (covariance.rs). The constant term is the weight of a
//! feature that is always 1, and is held by l2 like the others.
//!
//! Where forgetting goes on and nothing new comes (a constant input), P grows as ρ⁻ᵗ in all other directions, until
//! one example throws the weights anywhere: wind-up. Here no variance grows beyond `MOST_INFLATION` times that of
//! the beginning.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Part, Regressor};
use crate::row::{all_finite, finite, Row, Scratch, Value};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::covariance::{Covariance, Work};
use super::plane::MOST_COORDINATES;
use super::{hyperplane, named, Coordinates};

const NAME: &str = "linear_model.RLS";
const MOST_INFLATION: f64 = 1e6;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Recursive least squares: ridge regression on all examples so far, exactly",
    parameters: &[
        Parameter::new(
            "l2",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1.0),
            "pull of weights towards 0; the inverse of their variance before anything is learned",
        ),
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds { low: 0.0, low_included: false, high: 1.0, high_included: true }),
            DefaultValue::Float(1.0),
            "how much of an example's weight is left one example later",
        ),
        hyperplane::INTERCEPT,
    ],
    build: |arguments| {
        Ok(Built::Regressor(Box::new(Rls {
            l2: arguments.float("l2")?,
            forgetting: arguments.float("forgetting")?,
            intercept: arguments.boolean("intercept")?,
            state: State::default(),
            work: Work::default(),
            spare: Vec::new(),
        })))
    },
};

#[derive(Clone)]
struct Rls {
    l2: f64,
    forgetting: f64,
    intercept: bool,
    state: State,
    work: Work,
    /// The weights after a step, until it is sure.
    spare: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// The constant term first, if there is one.
    weights: Vec<f64>,
    covariance: Covariance,
}

impl Rls {
    fn offset(&self) -> usize {
        usize::from(self.intercept)
    }

    /// The example as a vector over all coordinates.
    #[inline]
    fn vector(&self, x: Row<'_>, out: &mut Vec<f64>) {
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
                    if let Some(place) = coordinates.of(slot, value) {
                        out[offset + place as usize] = match value {
                            Value::Number(number) => number,
                            Value::Nominal(_) => 1.0,
                        };
                    }
                });
            }
        }
    }

    fn score(&self, x: &[f64]) -> f64 {
        self.state.weights.iter().zip(x).map(|(w, x)| w * x).sum()
    }

    fn grow(&mut self, x: Row<'_>) -> Result<usize> {
        let before = self.state.coordinates.grow(x);
        let width = self.state.coordinates.width() + self.offset();
        if width > MOST_COORDINATES {
            self.state.coordinates.shrink(before);
            return Err(Fault::value(format!(
                "{NAME}: takes up to {MOST_COORDINATES} features and nominal values, got {width}: \
                 its covariance grows with their square"
            )));
        }
        self.state.weights.resize(width, 0.0);
        self.state.covariance.grow(width, 1.0 / self.l2);
        Ok(before)
    }

    fn shrink(&mut self, before: usize, fresh: bool) {
        self.state.coordinates.shrink(before);
        // Before the first example there is not even a constant term.
        let width = if fresh { 0 } else { before + self.offset() };
        self.state.weights.truncate(width);
        self.state.covariance.shrink(width);
    }

    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let fresh = self.state.weights.is_empty();
        let before = self.grow(x)?;
        let mut vector = scratch.take_numbers();
        self.vector(x, &mut vector);
        let score = self.score(&vector);
        let (inflation, ceiling) = (1.0 / self.forgetting, MOST_INFLATION / self.l2);
        let State { weights, covariance, .. } = &mut self.state;
        let ceiling = if self.forgetting == 1.0 { f64::MAX } else { ceiling };
        let alpha = covariance.propose(&vector, 1.0 / w, inflation, ceiling, &mut self.work);
        scratch.give_numbers(vector);
        let step = alpha.map_or(f64::NAN, |alpha| (y - score) / alpha);
        self.spare.clear();
        self.spare.extend(weights.iter().zip(&self.work.gain).map(|(w, k)| w + step * k));
        if !(step.is_finite() && all_finite(&self.spare)) {
            self.shrink(before, fresh);
            return Err(Fault::overflow(NAME));
        }
        covariance.commit(&mut self.work);
        std::mem::swap(weights, &mut self.spare);
        Ok(score)
    }
}

impl Part for Rls {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.coordinates.validate(NAME)?;
        let learned = !state.weights.is_empty();
        let width = if learned { state.coordinates.width() + self.offset() } else { 0 };
        require(NAME, learned || state.coordinates.width() == 0, "coordinates without weights")?;
        require(NAME, state.weights.len() == width && width <= MOST_COORDINATES, "a wrong number of weights")?;
        require(NAME, all_finite(&state.weights), "a weight is not finite")?;
        state.covariance.validate(NAME, width)?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { coordinates, weights, covariance } = &self.state;
        let buffers = 8 * (weights.capacity() + self.spare.capacity());
        std::mem::size_of::<Self>() + coordinates.memory() + covariance.memory() + self.work.memory() + buffers
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let weight = |slot: usize, value: Value| {
            let place = self.state.coordinates.of(slot, value)? as usize + self.offset();
            self.state.weights.get(place).copied()
        };
        let intercept = self.state.weights.first().filter(|_| self.intercept).copied().unwrap_or(0.0);
        json!({ "intercept": intercept, "weights": named(schema, weight) })
    }
}

impl Regressor for Rls {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let mut vector = scratch.take_numbers();
        self.vector(x, &mut vector);
        let score = self.score(&vector);
        scratch.give_numbers(vector);
        finite(score)
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch).map(drop)
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        self.take(x, y, w, scratch).map(finite)
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Regressor> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// l2 = 2, so P = 1/2; x = 2, y = 6: K = (1/2 · 2) / (1 + 2 · 1/2 · 2) = 1/3, w = 6/3 = 2. Ridge regression says
    /// the same: 2 · 6 / (2² + 2) = 2.
    #[test]
    fn one_step_by_hand() {
        let mut model = build(json!({ "l2": 2.0, "intercept": false }));
        let mut scratch = Scratch::default();
        assert_eq!(model.step(Row::Plain(&[2.0]), 6.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert!((model.predict(Row::Plain(&[1.0]), &mut scratch) - 2.0).abs() < 1e-15);
    }

    /// Two features that differ by 1e-8 of their size, one of them a million times the other: the textbook's P has a
    /// negative diagonal within a thousand steps. In factors the error stays near the noise of rounding.
    #[test]
    fn collinear_and_badly_scaled_features_do_no_harm() {
        let mut model = build(json!({ "l2": 1e-6 }));
        let mut scratch = Scratch::default();
        let mut worst: f64 = 0.0;
        for i in 0..200_000u32 {
            let t = f64::from(i % 1013) / 100.0;
            let x = [t, 1e6 * t + 1e-2 * f64::from(i % 7), 1e-6 * f64::from(i % 31)];
            let y = 3.0 * t - 1.0;
            let predicted = model.step(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
            if i > 10_000 {
                worst = worst.max((predicted - y).abs());
            }
        }
        assert!(worst < 1e-3, "{worst}");
    }

    #[test]
    fn forgetting_on_a_constant_input_does_not_wind_up() {
        let mut model = build(json!({ "forgetting": 0.9 }));
        let mut scratch = Scratch::default();
        for _ in 0..100_000 {
            model.learn(Row::Plain(&[1.0, 0.0]), 1.0, 1.0, &mut scratch).unwrap();
        }
        model.learn(Row::Plain(&[1.0, 1.0]), 2.0, 1.0, &mut scratch).unwrap();
        let predicted = model.predict(Row::Plain(&[1.0, 0.0]), &mut scratch);
        assert!((predicted - 1.0).abs() < 1e-3, "{predicted}");
    }
}
