//! Echo state network (Jaeger, 2001; with leaky units: Jaeger, Lukoševičius, Popovici and Siewert, 2007, eq. 2 and 4): a
//! fixed random recurrent layer, the *reservoir*, and recursive least squares on its state and on the features.
//!
//! ```text
//! rₜ = (1 − a) rₜ₋₁ + a tanh(b + W_in uₜ + W rₜ₋₁),   ŷₜ = c + vᵀ rₜ + uᵀ uₜ
//! ```
//! W has `density` of its entries, scaled so that its spectral radius is `spectral_radius`. The radius is measured by the
//! growth of |Wᵏ v| over a thousand steps, whose error is of the order of one thousandth. W, W_in and b follow from the
//! seed and are not saved. Learning an example moves the reservoir; predicting computes the next state and drops it.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::learner::{learn_each, Learner};
use crate::linear_model::recursion::{self, Recursion};
use crate::linear_model::rls::FORGETTING;
use crate::linear_model::Coordinates;
use crate::merging::Merge;
use crate::numeric::elementary::tanh;
use crate::numeric::random::Random;
use crate::optim::Features;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::network::SEED;
use super::oselm::{Hidden, INPUT_SCALE};

const NAME: &str = "neural_network.EchoState";
/// Steps in which the growth of a vector is measured, after some that turn it to the dominant directions.
const MEASURED: usize = 1000;
const TURNING: usize = 200;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Echo state network: fixed recurrent layer, and recursive least squares on its state",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "hidden_units",
            Kind::Integer { low: 1, high: 2048 },
            DefaultValue::Integer(100),
            "number of units in the reservoir",
        ),
        Parameter::new(
            "spectral_radius",
            Kind::Float(Bounds::new(0.0, true, 10.0, true)),
            DefaultValue::Float(0.9),
            "largest absolute eigenvalue of the recurrent weights; below 1 the reservoir forgets its initial state",
        ),
        Parameter::new(
            "leak",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(1.0),
            "fraction of its state that a unit replaces in each step; lower values are slower",
        ),
        Parameter::new(
            "density",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(0.1),
            "fraction of recurrent weights that are not 0",
        ),
        INPUT_SCALE,
        Parameter::new(
            "l2",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1e-6),
            "L2 penalty of the output weights",
        ),
        FORGETTING,
        Parameter::new(
            "warm_up",
            Kind::Integer { low: 0, high: 1_000_000 },
            DefaultValue::Integer(0),
            "number of initial examples that move the reservoir and are not learned",
        ),
        SEED,
    ],
    build: |arguments| {
        let (units, seed) = (arguments.size("hidden_units")?, arguments.integer("seed")? as u64);
        let hidden = Hidden { units, scale: arguments.float("input_scale")?, seed, weights: Vec::new() };
        let wanted = arguments.float("spectral_radius")?;
        let recursion = Recursion::new(NAME, arguments.float("l2")?, arguments.float("forgetting")?, true);
        Ok(Built::Regressor(Box::new(EchoState {
            recurrent: Recurrent::new(units, arguments.float("density")?, wanted, seed),
            hidden,
            leak: arguments.float("leak")?,
            warm_up: arguments.integer("warm_up")? as u64,
            coordinates: Coordinates::default(),
            recursion,
            reservoir: vec![0.0; units],
            seen: 0,
            vector: Vec::new(),
        })))
    },
};

/// The recurrent weights, row by row: for each unit, the units that it receives.
#[derive(Clone, Debug)]
struct Recurrent {
    columns: Vec<u32>,
    weights: Vec<f64>,
    /// Entries of each row.
    entries: usize,
}

impl Recurrent {
    fn new(units: usize, density: f64, radius: f64, seed: u64) -> Self {
        let entries = ((density * units as f64).round() as usize).clamp(1, units);
        let mut random = Random::new(seed, 1 << 50);
        let (mut columns, mut weights) = (Vec::new(), Vec::new());
        for _ in 0..units {
            random.sample(0, units, entries, &mut columns);
            weights.extend((0..entries).map(|_| random.between(-1.0, 1.0)));
        }
        let mut recurrent = Recurrent { columns, weights, entries };
        let measured = recurrent.radius(&mut random, units);
        let scale = if measured > 0.0 { radius / measured } else { 0.0 };
        recurrent.weights.iter_mut().for_each(|w| *w *= scale);
        recurrent
    }

    #[inline]
    fn add_product(&self, state: &[f64], out: &mut [f64]) {
        let rows = self.columns.chunks_exact(self.entries).zip(self.weights.chunks_exact(self.entries));
        for (out, (columns, weights)) in out.iter_mut().zip(rows) {
            *out += columns.iter().zip(weights).map(|(&column, w)| state[column as usize] * w).sum::<f64>();
        }
    }

    /// The spectral radius: the mean growth of a vector, 0 if it vanishes.
    fn radius(&self, random: &mut Random, units: usize) -> f64 {
        let mut vector: Vec<f64> = (0..units).map(|_| random.gaussian()).collect();
        let mut next = vec![0.0; units];
        let mut growth = 0.0;
        for step in 0..TURNING + MEASURED {
            next.fill(0.0);
            self.add_product(&vector, &mut next);
            let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length == 0.0 {
                return 0.0;
            }
            next.iter_mut().for_each(|x| *x /= length);
            std::mem::swap(&mut vector, &mut next);
            if step >= TURNING {
                growth += crate::numeric::elementary::ln(length);
            }
        }
        crate::numeric::elementary::exp(growth / MEASURED as f64)
    }
}

#[derive(Clone)]
struct EchoState {
    hidden: Hidden,
    recurrent: Recurrent,
    leak: f64,
    warm_up: u64,
    coordinates: Coordinates,
    recursion: Recursion,
    reservoir: Vec<f64>,
    /// Number of examples that have moved the reservoir.
    seen: u64,
    /// The next state of the reservoir, then the features.
    vector: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    output: recursion::State,
    reservoir: Vec<f64>,
    seen: u64,
}

impl EchoState {
    /// The next state of the reservoir, then the features by coordinate.
    fn advance(&self, x: Row<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        let located = self.coordinates.locate(x, scratch);
        let features = located.features();
        self.hidden.sums(features, out);
        out.resize(self.hidden.units, 0.0);
        self.recurrent.add_product(&self.reservoir, out);
        for (next, now) in out.iter_mut().zip(&self.reservoir) {
            *next = (1.0 - self.leak) * now + self.leak * tanh(*next);
        }
        let units = out.len();
        out.resize(units + self.coordinates.width(), 0.0);
        let inputs = &mut out[units..];
        match features {
            Features::Dense(values) => inputs.iter_mut().zip(values).for_each(|(input, x)| *input = *x),
            Features::Sparse(indices, values) => {
                for (&index, x) in indices.iter().zip(values) {
                    if let Some(input) = inputs.get_mut(index as usize) {
                        *input = *x;
                    }
                }
            }
        }
        located.release(scratch);
    }
}

impl Part for EchoState {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            coordinates: self.coordinates.clone(),
            output: self.recursion.state.clone(),
            reservoir: self.reservoir.clone(),
            seen: self.seen,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { coordinates, output, reservoir, seen } = unpack(NAME, bytes)?;
        coordinates.validate(NAME)?;
        let (units, width) = (self.hidden.units, coordinates.width());
        let size = output.weights.len();
        require(NAME, size == 0 || size <= units + width + 1, "a wrong number of weights")?;
        require(NAME, size == 0 || size > units, "a wrong number of weights")?;
        require(NAME, seen > 0 || (width == 0 && size == 0), "coordinates without examples")?;
        let bounded = all_finite(&reservoir) && reservoir.iter().all(|r| r.abs() <= 1.0);
        require(NAME, reservoir.len() == units && bounded, "the reservoir is not valid")?;
        require(NAME, width <= 1 << 16, "too many coordinates")?;
        self.recursion.adopt(output)?;
        (self.coordinates, self.reservoir, self.seen) = (coordinates, reservoir, seen);
        self.hidden.weights.clear();
        if seen > 0 {
            self.hidden.grow(width);
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        let numbers = [&self.hidden.weights, &self.recurrent.weights, &self.reservoir, &self.vector];
        std::mem::size_of::<Self>()
            + self.coordinates.memory()
            + self.recursion.memory()
            + 4 * self.recurrent.columns.capacity()
            + numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let (units, output) = (self.hidden.units, &self.recursion.state.weights);
        json!({
            "hidden_units": units,
            "reservoir": self.reservoir,
            "layers": [
                self.hidden.inspect(&self.coordinates, schema),
                {
                    "intercepts": [output.first().copied().unwrap_or(0.0)],
                    "weights": [output.get(1..).unwrap_or_default()],
                },
            ],
        })
    }

    fn scalars(&self) -> Json {
        json!({ "hidden_units": self.hidden.units })
    }
}

impl Learner<Numbers> for EchoState {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        let mut vector = scratch.take_numbers();
        self.advance(x, &mut vector, scratch);
        *out = self.recursion.predict(Row::Plain(&vector), scratch);
        scratch.give_numbers(vector);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (fresh, before) = (self.hidden.weights.is_empty(), self.coordinates.width());
        if fresh || self.coordinates.may_grow(x) {
            self.coordinates.grow(x);
            self.hidden.grow(self.coordinates.width());
        }
        let mut vector = std::mem::take(&mut self.vector);
        self.advance(x, &mut vector, scratch);
        let warming = self.seen < self.warm_up;
        let learned = match warming {
            true => Ok(()),
            false => self.recursion.take(Row::Plain(&vector), y, w).map(drop),
        };
        self.vector = vector;
        match learned {
            Ok(()) => {
                self.reservoir.copy_from_slice(&self.vector[..self.hidden.units]);
                self.seen += 1;
            }
            Err(_) => {
                self.coordinates.shrink(before);
                self.hidden.shrink(before, fresh);
            }
        }
        learned
    }

    fn learn_batch(&mut self, batch: &Batch<'_, Numbers>, _: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        learn_each(self, batch, scratch)
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Learner<Numbers>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// One unit, leak 1/2, W = ±r: after x = 1, r₁ = tanh(b + w)/2; after x = 0, r₂ = r₁/2 + tanh(b + W r₁)/2.
    #[test]
    fn two_steps_of_the_reservoir_by_hand() {
        let mut model = build(json!({ "hidden_units": 1, "leak": 0.5, "spectral_radius": 0.8, "density": 1.0 }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 2.0, 1.0, &mut scratch).unwrap();
        let state =
            |model: &dyn Learner<Numbers>| model.inspect(&Schema::default())["reservoir"][0].as_f64().unwrap();
        let mut schema = Schema::default();
        let _ = schema.intern(&crate::schema::Name::Number(0));
        let seen = model.inspect(&schema);
        let b = seen["layers"][0]["intercepts"][0].as_f64().unwrap();
        let mut hidden = Hidden { units: 1, scale: 1.0, seed: 0, weights: Vec::new() };
        hidden.grow(1);
        assert_eq!(hidden.weights[0], b);
        let w = hidden.weights[1];
        let first = 0.5 * (b + w).tanh();
        assert!((state(&*model) - first).abs() < 1e-15);
        model.learn(Row::Plain(&[0.0]), 2.0, 1.0, &mut scratch).unwrap();
        let second = |sign: f64| 0.5 * first + 0.5 * (b + sign * 0.8 * first).tanh();
        let got = state(&*model);
        assert!((got - second(1.0)).abs() < 1e-12 || (got - second(-1.0)).abs() < 1e-12, "{got}");
    }

    /// A rotation by 90° with scale 3 has the eigenvalues ±3i.
    #[test]
    fn the_spectral_radius_is_measured_for_complex_eigenvalues() {
        let recurrent = Recurrent { columns: vec![0, 1, 0, 1], weights: vec![0.0, -3.0, 3.0, 0.0], entries: 2 };
        let radius = recurrent.radius(&mut Random::new(1, 1), 2);
        assert!((radius - 3.0).abs() < 0.01, "{radius}");
    }

    #[test]
    fn predicting_changes_nothing_and_memory_of_the_past_is_used() {
        // y is the feature three steps ago: impossible from the row alone.
        let mut model = build(json!({ "hidden_units": 40, "warm_up": 20, "seed": 2 }));
        let (mut scratch, mut random, mut past) = (Scratch::default(), Random::new(5, 5), vec![0.0; 4]);
        let mut sum = 0.0;
        for t in 0..3000 {
            let x = random.between(-0.5, 0.5);
            past.rotate_right(1);
            past[0] = x;
            let before = model.save().unwrap();
            let predicted = model.number(Row::Plain(&[x]), &mut scratch);
            assert_eq!(model.save().unwrap(), before);
            if t > 2000 {
                sum += (predicted - past[3]).abs();
            }
            model.learn(Row::Plain(&[x]), past[3], 1.0, &mut scratch).unwrap();
        }
        // The mean of |y| is 0.25.
        assert!(sum < 0.03 * 999.0, "{sum}");
    }
}
