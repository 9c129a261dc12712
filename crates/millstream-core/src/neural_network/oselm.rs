//! Online sequential extreme learning machine (Liang, Huang, Saratchandran and Sundararajan, 2006): a hidden layer of
//! random weights that never change, and recursive least squares on its activations (their eq. 20 to 26, for blocks of
//! one row and a ridge penalty instead of an initial block).
//!
//! ```text
//! f(x) = c + vᵀa(x),  aₖ(x) = tanh(bₖ + Σⱼ wⱼₖ xⱼ)
//! ```
//! b and w are uniform in [−input_scale, input_scale], and those of a coordinate depend on the seed and on the coordinate
//! alone, so they are not saved. After every row, c and v are exactly those of ridge regression on the activations of all
//! rows so far; c is penalised like v.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
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
use crate::row::{finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::network::{rows_by_feature, SEED};

const NAME: &str = "neural_network.OSELM";
/// 128 MB of weights of the hidden layer.
const MOST_WEIGHTS: usize = 1 << 24;

pub const INPUT_SCALE: Parameter = Parameter::new(
    "input_scale",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(1.0),
    "largest absolute weight of a feature in the hidden layer",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Random hidden layer and recursive least squares on it: exact ridge regression on random features",
    merge: Merge::none("it has no merge of its own: merge linear_model.RLS behind the same random features"),
    parameters: &[
        Parameter::new(
            "hidden_units",
            Kind::Integer { low: 1, high: 2048 },
            DefaultValue::Integer(50),
            "number of random tanh units",
        ),
        Parameter::new(
            "l2",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1e-3),
            "L2 penalty of the output weights",
        ),
        FORGETTING,
        INPUT_SCALE,
        SEED,
    ],
    build: |arguments| {
        let (l2, forgetting) = (arguments.float("l2")?, arguments.float("forgetting")?);
        let hidden = Hidden {
            units: arguments.size("hidden_units")?,
            scale: arguments.float("input_scale")?,
            seed: arguments.integer("seed")? as u64,
            weights: Vec::new(),
        };
        let recursion = Recursion::new(NAME, l2, forgetting, true);
        let coordinates = Coordinates::default();
        Ok(Built::Regressor(Box::new(Oselm { hidden, coordinates, recursion, activations: Vec::new() })))
    },
};

/// The random layer: the biases, then the weights of each coordinate.
#[derive(Clone, Debug)]
pub struct Hidden {
    pub units: usize,
    pub scale: f64,
    pub seed: u64,
    pub weights: Vec<f64>,
}

impl Hidden {
    /// Draw the weights of the biases and of the first coordinates.
    pub fn grow(&mut self, width: usize) {
        for row in self.weights.len() / self.units..=width {
            let mut random = Random::new(self.seed, row as u64);
            self.weights.extend((0..self.units).map(|_| random.between(-self.scale, self.scale)));
        }
    }

    pub fn shrink(&mut self, width: usize, fresh: bool) {
        self.weights.truncate(if fresh { 0 } else { self.units * (1 + width) });
    }

    /// b + Σ x w, into `out`.
    #[inline]
    pub fn sums(&self, features: Features<'_>, out: &mut Vec<f64>) {
        out.clear();
        let Some((biases, rows)) = self.weights.split_at_checked(self.units) else { return };
        out.extend_from_slice(biases);
        let mut add = |row: usize, x: f64| {
            if let (true, Some(row)) = (x != 0.0, rows.get(row * self.units..(row + 1) * self.units)) {
                out.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * x);
            }
        };
        match features {
            Features::Dense(values) => values.iter().enumerate().for_each(|(row, &x)| add(row, x)),
            Features::Sparse(indices, values) => {
                indices.iter().zip(values).for_each(|(&row, &x)| add(row as usize, x));
            }
        }
        // Sums that overflow in opposite directions are none.
        out.iter_mut().for_each(|sum| *sum = finite(*sum));
    }

    fn row(&self, coordinate: usize) -> Json {
        json!(self.weights.get(self.units * (1 + coordinate)..self.units * (2 + coordinate)).unwrap_or_default())
    }

    /// Weights of the hidden layer by feature, and by value of a nominal one.
    pub fn inspect(&self, coordinates: &Coordinates, schema: &Schema) -> Json {
        let found = rows_by_feature(coordinates, schema, |coordinate| self.row(coordinate as usize));
        let biases = self.weights.get(..self.units).unwrap_or_default();
        json!({ "intercepts": biases, "weights": found })
    }
}

#[derive(Clone)]
struct Oselm {
    hidden: Hidden,
    coordinates: Coordinates,
    recursion: Recursion,
    activations: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    output: recursion::State,
}

impl Oselm {
    fn activate(&self, x: Row<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        let located = self.coordinates.locate(x, scratch);
        self.hidden.sums(located.features(), out);
        located.release(scratch);
        out.iter_mut().for_each(|a| *a = tanh(*a));
    }

    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let (fresh, before) = (self.hidden.weights.is_empty(), self.coordinates.width());
        if fresh || self.coordinates.may_grow(x) {
            self.coordinates.grow(x);
            let width = self.coordinates.width();
            if self.hidden.units * (1 + width) > MOST_WEIGHTS {
                self.coordinates.shrink(before);
                return Err(Fault::value(format!(
                    "{NAME}: supports up to {} features and nominal values with {} hidden units, got {width}",
                    MOST_WEIGHTS / self.hidden.units - 1,
                    self.hidden.units
                )));
            }
            self.hidden.grow(width);
        }
        let mut activations = std::mem::take(&mut self.activations);
        self.activate(x, &mut activations, scratch);
        let taken = self.recursion.take(Row::Plain(&activations), y, w);
        self.activations = activations;
        let taken = taken.inspect_err(|_| {
            self.coordinates.shrink(before);
            self.hidden.shrink(before, fresh);
        })?;
        Ok(finite(taken.score))
    }
}

impl Part for Oselm {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { coordinates: self.coordinates.clone(), output: self.recursion.state.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { coordinates, output } = unpack(NAME, bytes)?;
        coordinates.validate(NAME)?;
        let (learned, width) = (!output.weights.is_empty(), coordinates.width());
        require(NAME, learned || width == 0, "coordinates without weights")?;
        require(NAME, !learned || output.weights.len() == self.hidden.units + 1, "a wrong number of weights")?;
        require(NAME, self.hidden.units * (1 + width) <= MOST_WEIGHTS, "too many coordinates")?;
        self.recursion.adopt(output)?;
        self.coordinates = coordinates;
        self.hidden.weights.clear();
        if learned {
            self.hidden.grow(width);
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.coordinates.memory()
            + self.recursion.memory()
            + 8 * (self.hidden.weights.capacity() + self.activations.capacity())
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let output = self.recursion.state.weights.split_first();
        json!({
            "hidden_units": self.hidden.units,
            "layers": [
                self.hidden.inspect(&self.coordinates, schema),
                {
                    "intercepts": [output.map_or(0.0, |output| *output.0)],
                    "weights": [output.map_or(&[][..], |output| output.1)],
                },
            ],
        })
    }

    fn scalars(&self) -> Json {
        json!({ "hidden_units": self.hidden.units })
    }
}

impl Learner<Numbers> for Oselm {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        let mut activations = scratch.take_numbers();
        self.activate(x, &mut activations, scratch);
        *out = self.recursion.predict(Row::Plain(&activations), scratch);
        scratch.give_numbers(activations);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch).map(drop)
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

    /// One unit, no feature, l2 = 1, y = 3: with a = tanh(b), ridge regression on (1, a) has (c, v) = 3 (1, a) / (2 + a²),
    /// so f = 3 (1 + a²) / (2 + a²).
    #[test]
    fn one_step_by_hand() {
        let parameters = json!({ "hidden_units": 1, "l2": 1.0 });
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        assert_eq!(model.step_number(Row::Plain(&[]), 3.0, 1.0, &mut scratch).unwrap(), 0.0);
        let b = model.inspect(&Schema::default())["layers"][0]["intercepts"][0].as_f64().unwrap();
        let a = b.tanh();
        let wanted = 3.0 * (1.0 + a * a) / (2.0 + a * a);
        assert!((model.number(Row::Plain(&[]), &mut scratch) - wanted).abs() < 1e-14);
    }
}
