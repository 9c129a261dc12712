//! A network with one hidden layer that minimises a loss with any optimiser: backpropagation (Rumelhart, Hinton and
//! Williams, 1986), one example at a time. The step is θ ← θ − η ℓ'(y, f(x)) ∂f/∂θ, taken by the kernel that linear
//! models use, with ∂f/∂θ for the features. A missing value counts as 0; a nominal one has its own weights.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Learner, MiniBatch};
use crate::linear_model::gradient_accumulator::GradientAccumulator;
use crate::linear_model::Coordinates;
use crate::losses::Loss;
use crate::merging::Merge;
use crate::optim::{Features, Optimizer, Penalty, Step, Weights};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::mlp_classifier::following;
use super::network::{rows_by_feature, Network, HIDDEN_UNITS, SEED};

const NAME: &str = "neural_network.MLPRegressor";
/// 128 MB of them.
const MOST_PARAMETERS: usize = 1 << 24;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "Neural network with one hidden layer of tanh units, by stochastic gradient descent",
    merge: Merge::none("hidden units of separate networks do not correspond to each other: combine predictions by ensemble.VotingRegressor"),
    parameters: &[
        HIDDEN_UNITS,
        Parameter::new(
            "optimizer",
            Kind::Part(&[Role::Optimizer]),
            DefaultValue::Part("optim.SGD"),
            "optimiser of the weights",
        ),
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            DefaultValue::Part("losses.Squared"),
            "loss to minimise: a regression loss",
        ),
        Parameter::new(
            "clip_gradient",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1e12),
            "maximum absolute gradient of the loss; larger ones are clipped",
        ),
        SEED,
    ],
    build: |arguments| {
        let optimizer = following(arguments, NAME)?;
        let loss = match arguments.part("loss")? {
            Built::Loss(loss) if !loss.for_classes() => loss,
            _ => {
                return Err(Fault::value(format!(
                    "{NAME}: loss must be a regression loss, got {}",
                    arguments.value("loss")?["name"].as_str().unwrap_or("another component"),
                )))
            }
        };
        Ok(Built::Regressor(Box::new(MlpRegressor {
            network: Network { hidden: arguments.size("hidden_units")?, seed: arguments.integer("seed")? as u64 },
            optimizer,
            loss,
            clip: arguments.float("clip_gradient")?,
            state: State::default(),
            spare: Weights::default(),
            gathered: GradientAccumulator::default(),
        })))
    },
};

#[derive(Clone)]
struct MlpRegressor {
    network: Network,
    optimizer: Optimizer,
    loss: Loss,
    clip: f64,
    state: State,
    spare: Weights,
    /// The gradients of a mini-batch.
    gathered: GradientAccumulator,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// Number of steps.
    t: f64,
    /// None before the first example.
    weights: Weights,
}

impl MlpRegressor {
    fn grow(&mut self, x: Row<'_>) -> Result<()> {
        let State { coordinates, weights, .. } = &mut self.state;
        let before = coordinates.grow(x);
        let width = coordinates.width();
        if width == before && !weights.is_empty() {
            return Ok(());
        }
        let size = self.network.size(width);
        if size > MOST_PARAMETERS {
            coordinates.shrink(before);
            return Err(Fault::value(format!(
                "{NAME}: supports up to {MOST_PARAMETERS} weights, got {size} for {width} features and nominal values"
            )));
        }
        let known = weights.len();
        weights.grow(size, self.optimizer.rule, false);
        let mut begun = vec![0.0; known];
        self.network.begin(width, &mut begun);
        weights.begin_with(known, &begun[known..]);
        Ok(())
    }

    fn shrink(&mut self, before: usize, fresh: bool) {
        self.state.coordinates.shrink(before);
        self.state.weights.shrink(if fresh { 0 } else { self.network.size(before) });
    }

    /// The output of the network.
    fn say(&self, features: Features<'_>, scratch: &mut Scratch) -> f64 {
        if self.state.weights.is_empty() {
            return self.loss.mean(0.0);
        }
        let mut layer = scratch.take_numbers();
        let output = self.network.forward(self.state.weights.values(), features, &mut layer);
        scratch.give_numbers(layer);
        self.loss.mean(finite(output)).min(f64::MAX)
    }

    /// One step down the gradient at an example.
    fn descend(&mut self, features: Features<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.with_gradient(features, y, w, scratch, |model, gradient, slope| model.step_down(gradient, slope))
    }

    /// One step down a gradient times a slope.
    fn step_down(&mut self, gradient: Features<'_>, slope: f64) -> Result<()> {
        let State { weights, t, .. } = &mut self.state;
        let step = Step { t: *t + 1.0, slope, penalty: Penalty::default(), fetched: false };
        if !(slope.is_finite() && weights.propose(&self.optimizer, gradient, step, &mut self.spare)) {
            return Err(Fault::overflow(NAME));
        }
        weights.commit(gradient, &mut self.spare);
        *t += 1.0;
        Ok(())
    }

    /// Pass the gradient of the output at an example to `then`, and the slope of the loss.
    fn with_gradient(
        &mut self,
        features: Features<'_>,
        y: f64,
        w: f64,
        scratch: &mut Scratch,
        then: impl FnOnce(&mut Self, Features<'_>, f64) -> Result<()>,
    ) -> Result<()> {
        let (network, rule) = (self.network, self.optimizer.rule);
        let (mut layer, mut gradient, mut touched, mut ahead) =
            (scratch.take_numbers(), scratch.take_numbers(), scratch.take_indices(), scratch.take_numbers());
        let weights = &self.state.weights;
        if rule.look_ahead() != 0.0 {
            weights.ahead(rule, &mut ahead);
        }
        let parameters = if ahead.is_empty() { weights.values() } else { &ahead };
        let output = network.forward(parameters, features, &mut layer);
        let slope = (self.loss.slope(y, output) * w).clamp(-self.clip, self.clip);
        let gradients = match features {
            Features::Dense(x) => {
                gradient.resize(parameters.len(), 0.0);
                network.gradient(parameters, x, &layer, &mut gradient);
                Features::Dense(&gradient)
            }
            Features::Sparse(indices, x) => {
                network.sparse_gradient(parameters, (indices, x), &layer, (&mut touched, &mut gradient));
                Features::Sparse(&touched, &gradient)
            }
        };
        let done = then(self, gradients, slope);
        scratch.give_numbers(layer);
        scratch.give_numbers(gradient);
        scratch.give_indices(touched);
        scratch.give_numbers(ahead);
        done
    }

    /// Make room for an example, and pass its features to `then`; a fault leaves no trace.
    fn admit(
        &mut self,
        x: Row<'_>,
        y: f64,
        scratch: &mut Scratch,
        then: impl FnOnce(&mut Self, Features<'_>, &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        if y < 0.0 && self.loss.for_counts() {
            return Err(Fault::value(format!(
                "{NAME}: with losses.Poisson the target must not be negative, got {}",
                Shown(y)
            )));
        }
        let (before, fresh) = (self.state.coordinates.width(), self.state.weights.is_empty());
        self.grow(x)?;
        let located = self.state.coordinates.locate(x, scratch);
        let done = then(self, located.features(), scratch);
        located.release(scratch);
        done.inspect_err(|_| self.shrink(before, fresh))
    }
}

impl Part for MlpRegressor {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        state.coordinates.validate(NAME)?;
        let width = state.coordinates.width();
        require(NAME, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        state.weights.validate(NAME, self.optimizer.rule, false)?;
        let size = if state.weights.is_empty() { 0 } else { self.network.size(width) };
        require(NAME, size > 0 || width == 0, "coordinates without weights")?;
        require(NAME, state.weights.len() == size && size <= MOST_PARAMETERS, "a wrong number of weights")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { coordinates, weights, .. } = &self.state;
        std::mem::size_of::<Self>()
            + coordinates.memory()
            + weights.memory()
            + self.spare.memory()
            + self.gathered.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, mini_batches: true, ..Abilities::default() }
    }

    /// With the weights of each layer: those of the first by feature, and by value of a nominal one.
    fn inspect(&self, schema: &Schema) -> Json {
        let mut found = self.scalars();
        if self.state.weights.is_empty() {
            return found;
        }
        let hidden = self.network.hidden;
        let (head, rows) = self.state.weights.values().split_at(1 + 2 * hidden);
        let row = |coordinate: u32| {
            let start = coordinate as usize * hidden;
            json!(rows.get(start..start + hidden).unwrap_or_default())
        };
        let first = rows_by_feature(&self.state.coordinates, schema, row);
        found["layers"] = json!([
            { "intercepts": head[1 + hidden..], "weights": first },
            { "intercepts": head[..1], "weights": [head[1..1 + hidden]] },
        ]);
        found
    }

    fn scalars(&self) -> Json {
        json!({
            "hidden_units": self.network.hidden,
            "parameters": self.state.weights.len(),
            "steps": self.state.t,
        })
    }
}

impl MlpRegressor {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let located = self.state.coordinates.locate(x, scratch);
        let said = self.say(located.features(), scratch);
        located.release(scratch);
        said
    }
}

impl Learner<Numbers> for MlpRegressor {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.admit(x, y, scratch, |model, features, scratch| model.descend(features, y, w, scratch))
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Numbers>> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

impl MiniBatch<Numbers> for MlpRegressor {
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.admit(x, y, scratch, |model, features, scratch| {
            model.with_gradient(features, y, w, scratch, |model, gradient, slope| {
                let size = model.state.weights.len();
                model.gathered.add(gradient, slope, size).then_some(()).ok_or_else(|| Fault::overflow(NAME))
            })
        })
    }

    fn apply(&mut self) -> Result<()> {
        if self.gathered.examples == 0.0 {
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let stepped = self.step_down(gathered.mean().0, 1.0);
        gathered.clear();
        self.gathered = gathered;
        stepped
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

    /// One unit, x = 2, y = 3, η = 0.1. Step 1: f = 0, slope 2 (0 − 3) = −6, so c = 0.6 and v = 0.6 a with
    /// a = tanh(b + 2 w); b and w stay, their gradient has the factor v = 0. Step 2: f = 0.6 + 0.6 a², slope
    /// s = 2 (f − 3): c = 0.6 − 0.1 s, v = 0.6 a − 0.1 s a, and with u = 0.6 a (1 − a²) b falls by 0.1 s u and w by
    /// 0.2 s u.
    #[test]
    fn two_steps_by_hand() {
        let mut model = build(json!({
            "hidden_units": 1, "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.1}}}));
        let mut scratch = Scratch::default();
        let mut begun = Vec::new();
        Network { hidden: 1, seed: 0 }.begin(1, &mut begun);
        let (b, w) = (begun[2], begun[3]);
        let a = (b + 2.0 * w).tanh();
        let x = Row::Plain(&[2.0]);
        assert_eq!(model.step_number(x, 3.0, 1.0, &mut scratch).unwrap(), 0.0);
        let f = model.step_number(x, 3.0, 1.0, &mut scratch).unwrap();
        assert!((f - (0.6 + 0.6 * a * a)).abs() < 1e-15);
        let s = 2.0 * (f - 3.0);
        let u = 0.6 * a * (1.0 - a * a);
        let (c, v, b, w) = (0.6 - 0.1 * s, 0.6 * a - 0.1 * s * a, b - 0.1 * s * u, w - 0.2 * s * u);
        let wanted = c + v * (b + 2.0 * w).tanh();
        assert!((model.number(x, &mut scratch) - wanted).abs() < 1e-14);
    }

    #[test]
    fn an_overflow_leaves_no_trace() {
        let mut model = build(json!({
            "clip_gradient": 1e300, "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 1e10}}}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1.0, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1e308, 1e308]), 1e308, 1e9, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(model.number(Row::Plain(&[1e308, -1e308]), &mut scratch).is_finite());
    }

    #[test]
    fn an_optimizer_that_begins_at_zero_is_refused() {
        let description = json!({ "name": NAME, "parameters": {"optimizer": "optim.FTRLProximal"} });
        let description = registry::resolve(&description).unwrap();
        assert!(registry::build_resolved(&description).is_err());
    }
}
