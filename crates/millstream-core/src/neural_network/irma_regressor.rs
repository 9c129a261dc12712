//! A small network that learns by the incremental risk functional (Buschermöhle, Schoenke, Rosemann and Brockmann, 2013,
//! eq. 4; its section V leaves this case open): each example changes the network's function over the whole region Ω as
//! little as possible while it fits the target. `functional` has the formula and its minimisation.
//!
//! Ω is a box given by `bounds`, scaled to [−1, 1] in each number; the known values of a nominal feature have
//! equal weight. A missing number is replaced by the centre. The integral is a mean over points of a quasi-random
//! sequence, which is redrawn when Ω gets a dimension or a nominal value; and λ multiplies the mean change, not the
//! integral, so that it does not depend on the units of features.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::basis::{outside, Outside, Region, BOUNDS, OUTSIDE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::linear_model::{Coordinates, Stiffness, GROWTH, SCHEDULE, STIFFNESS};
use crate::merging::Merge;
use crate::optim::Features;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::functional::{Example, Functional, Work};
use super::network::{Network, HIDDEN_UNITS, SEED};
use super::quasi_random;

const NAME: &str = "neural_network.IRMARegressor";
/// The system to solve grows with the square of the parameters, and the time with the cube.
const MOST_PARAMETERS: usize = 2048;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Small network; each example changes its function as little as possible over a region",
    merge: Merge::none("hidden units of separate networks do not correspond to each other: combine predictions by ensemble.VotingRegressor"),
    parameters: &[
        BOUNDS,
        HIDDEN_UNITS,
        STIFFNESS,
        GROWTH,
        SCHEDULE,
        Parameter::new("cap", Kind::Float(Bounds::POSITIVE), DefaultValue::Float(100.0), "maximum stiffness"),
        Parameter::new(
            "damping",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(0.01),
            "cost of changing the parameters, relative to changing the function",
        ),
        Parameter::new(
            "samples",
            Kind::Integer { low: 1, high: 4096 },
            DefaultValue::Integer(128),
            "number of points of the region at which the change is measured",
        ),
        Parameter::new(
            "inner_steps",
            Kind::Integer { low: 1, high: 1000 },
            DefaultValue::Integer(2),
            "maximum number of linearisations per example",
        ),
        OUTSIDE,
        SEED,
    ],
    build: |arguments| {
        let stiffness = Stiffness::new(arguments)?;
        let network = Network { hidden: arguments.size("hidden_units")?, seed: arguments.integer("seed")? as u64 };
        Ok(Built::Regressor(Box::new(IrmaRegressor {
            network,
            region: Region::new(arguments)?,
            outside: outside(arguments)?,
            functional: Functional {
                stiffness: stiffness.start,
                damping: arguments.float("damping")?,
                most_steps: arguments.size("inner_steps")?,
                samples: arguments.size("samples")?,
            },
            stiffness,
            state: State { stiffness: stiffness.start, ..State::default() },
            points: Vec::new(),
            work: Work::default(),
            names: Vec::new(),
        })))
    },
};

#[derive(Clone)]
struct IrmaRegressor {
    network: Network,
    region: Region,
    outside: Outside,
    functional: Functional,
    stiffness: Stiffness,
    state: State,
    /// The points of Ω, one after the other; follows from the coordinates.
    points: Vec<f64>,
    work: Work,
    /// The names of the features, for messages.
    names: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// Of the next example.
    stiffness: f64,
    /// None before the first example.
    parameters: Vec<f64>,
}

impl IrmaRegressor {
    fn bounds(&self, slot: usize) -> Option<(f64, f64)> {
        match &self.region {
            Region::All(low, high) => Some((*low, *high)),
            Region::Each(pairs) => pairs.get(slot).copied(),
        }
    }

    /// A row as a point of Ω, which is [−1, 1] in each number. Values beyond it are moved to its edge, unless they are
    /// extrapolated.
    fn locate(&self, x: Row<'_>, out: &mut Vec<f64>) {
        let State { coordinates, .. } = &self.state;
        out.clear();
        out.resize(coordinates.width(), 0.0);
        x.each(|slot, value| {
            let Some(index) = coordinates.of(slot, value) else { return };
            out[index as usize] = match (value, self.bounds(slot)) {
                (Value::Nominal(_), _) => 1.0,
                (Value::Number(number), Some((low, high))) => {
                    let scaled = 2.0 * ((number - low) / (high - low)) - 1.0;
                    match self.outside {
                        Outside::Extrapolate => scaled,
                        _ => scaled.clamp(-1.0, 1.0),
                    }
                }
                (Value::Number(_), None) => 0.0,
            };
        });
    }

    /// Reject a row outside Ω.
    fn examine(&self, x: Row<'_>) -> Result<()> {
        let called = |slot: usize| self.names.get(slot).cloned().unwrap_or_else(|| format!("feature {slot}"));
        if let Region::Each(pairs) = &self.region {
            if x.width() > pairs.len() {
                return Err(Fault::value(format!(
                    "{NAME}: bounds are given for {} features, got also {}",
                    pairs.len(),
                    called(pairs.len())
                )));
            }
        }
        if self.outside != Outside::Refuse {
            return Ok(());
        }
        for slot in 0..x.width() {
            let (Some(Value::Number(number)), Some((low, high))) = (x.get(slot), self.bounds(slot)) else {
                continue;
            };
            if !(low <= number && number <= high) {
                return Err(Fault::value(format!(
                    "{NAME}: {} must be within the bounds [{}, {}], got {} \
                     (outside=\"clamp\" or \"extrapolate\" accepts it)",
                    called(slot),
                    Shown(low),
                    Shown(high),
                    Shown(number)
                )));
            }
        }
        Ok(())
    }

    /// Draw the points of Ω.
    fn draw_points(&mut self) {
        let coordinates = &self.state.coordinates;
        let (width, n) = (coordinates.width(), self.functional.samples);
        self.points.clear();
        self.points.resize(n * width, 0.0);
        coordinates.each_slot(|slot, number, values| {
            let along = quasi_random::coordinate(slot, n, self.network.seed);
            for (point, u) in self.points.chunks_exact_mut(width).zip(along) {
                match number {
                    Some(index) => point[index] = 2.0 * u - 1.0,
                    None => point[values[(u * values.len() as f64) as usize]] = 1.0,
                }
            }
        });
    }

    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, parameters, .. } = &mut self.state;
        let before = coordinates.grow(x);
        let (width, fresh) = (coordinates.width(), parameters.is_empty());
        if width == before && !fresh {
            return Ok(());
        }
        let size = self.network.size(width);
        if size > MOST_PARAMETERS {
            coordinates.shrink(before);
            return Err(Fault::value(format!(
                "{NAME}: supports up to {MOST_PARAMETERS} parameters, got {size} for {width} features and nominal values: \
                 a step takes the cube of them"
            )));
        }
        self.network.begin(width, parameters);
        self.draw_points();
        Ok(())
    }

    fn shrink(&mut self, before: usize, fresh: bool) {
        let after = self.state.coordinates.width();
        self.state.coordinates.shrink(before);
        self.state.parameters.truncate(if fresh { 0 } else { self.network.size(before) });
        if after != before {
            self.draw_points();
        }
    }

    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.examine(x)?;
        let (before, fresh) = (self.state.coordinates.width(), self.state.parameters.is_empty());
        self.grow(x)?;
        let mut point = scratch.take_numbers();
        self.locate(x, &mut point);
        let functional = Functional { stiffness: self.state.stiffness, ..self.functional };
        let example = Example { x: &point, y, w };
        let done =
            functional.minimise(self.network, &self.state.parameters, &self.points, example, &mut self.work);
        scratch.give_numbers(point);
        if done.is_none() || !all_finite(&self.work.next) {
            self.shrink(before, fresh);
            return Err(Fault::overflow(NAME));
        }
        std::mem::swap(&mut self.state.parameters, &mut self.work.next);
        self.state.stiffness = self.stiffness.after(self.state.stiffness);
        Ok(())
    }
}

impl Part for IrmaRegressor {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.coordinates.validate(NAME)?;
        let width = state.coordinates.width();
        let size = if state.parameters.is_empty() { 0 } else { self.network.size(width) };
        require(NAME, size > 0 || width == 0, "coordinates without parameters")?;
        require(NAME, state.parameters.len() == size && size <= MOST_PARAMETERS, "a wrong number of parameters")?;
        require(NAME, all_finite(&state.parameters), "a parameter is not finite")?;
        self.stiffness.validate(NAME, state.stiffness)?;
        self.state = state;
        self.draw_points();
        Ok(())
    }

    fn memory(&self) -> usize {
        let buffers = 8 * (self.state.parameters.capacity() + self.points.capacity());
        std::mem::size_of::<Self>() + self.state.coordinates.memory() + self.work.memory() + buffers
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, checks_rows: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.names().map(|name| name.to_string()).collect();
    }

    fn check(&self, x: Row<'_>, _scratch: &mut Scratch) -> Result<()> {
        self.examine(x)
    }

    fn inspect(&self, _schema: &Schema) -> Json {
        json!({
            "hidden_units": self.network.hidden,
            "parameters": self.state.parameters.len(),
            "stiffness": self.state.stiffness,
        })
    }
}

impl IrmaRegressor {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        if self.state.parameters.is_empty() {
            return 0.0;
        }
        let (mut point, mut layer, mut buffer) =
            (scratch.take_numbers(), scratch.take_numbers(), scratch.take_numbers());
        self.locate(x.dense(&mut buffer), &mut point);
        let said = self.network.forward(&self.state.parameters, Features::Dense(&point), &mut layer);
        scratch.give_numbers(point);
        scratch.give_numbers(layer);
        scratch.give_numbers(buffer);
        finite(said)
    }
}

impl Learner<Numbers> for IrmaRegressor {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut buffer = scratch.take_numbers();
        let learned = self.take(x.dense(&mut buffer), y, w, scratch);
        scratch.give_numbers(buffer);
        learned
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}
