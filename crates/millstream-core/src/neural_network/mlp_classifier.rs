//! A network with several hidden layers and a softmax of the scores, which minimises −ln P(y) with any optimiser, one
//! example at a time: see `layers` for the gradient. With ∂ℓ/∂zⱼ = P(j) − [j = y], the output layer is softmax regression
//! on the last hidden layer.
//!
//! A class joins the softmax with its first example, with scores of 0. A missing number counts as 0; a nominal value has
//! its own weights, or a vector (`embeddings`).

use serde_json::Value as Json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::learner::{Learner, MiniBatch};
use crate::merging::Merge;
use crate::optim::{CoordinateRule, Optimizer};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

use super::classifier_network::{cross_entropy, ClassifierNetwork};
use super::layers::{Activation, Layers};
use super::network::SEED;

const NAME: &str = "neural_network.MLPClassifier";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Neural network with several hidden layers for any number of classes, by stochastic gradient descent",
    merge: Merge::none("hidden units of separate networks do not correspond to each other: combine predictions by ensemble.VotingClassifier"),
    parameters: &[
        Parameter::new(
            "hidden_units",
            Kind::Integers { low: 1, high: 4096 },
            DefaultValue::Integers(&[64]),
            "number of units in each hidden layer",
        ),
        Parameter::new(
            "activation",
            Kind::Choice(&["relu", "tanh"]),
            DefaultValue::Text("relu"),
            "function of the hidden units",
        ),
        Parameter::new(
            "optimizer",
            Kind::Part(&[Role::Optimizer]),
            DefaultValue::Part("optim.SGD"),
            "optimiser of the weights",
        ),
        Parameter::new(
            "embedding_size",
            Kind::Integer { low: 0, high: 1024 },
            DefaultValue::Integer(0),
            "length of the learned vector of each nominal value; 0 for a weight per value and unit",
        ),
        SEED,
    ],
    build: |arguments| Ok(Built::Classifier(Box::new(MlpClassifier { network: network(arguments)? }))),
};

/// Most hidden layers.
const MOST_LAYERS: usize = 16;

fn network(arguments: &Arguments<'_>) -> Result<ClassifierNetwork> {
    let hidden = arguments.integers("hidden_units")?;
    if hidden.is_empty() || hidden.len() > MOST_LAYERS {
        return Err(Fault::value(format!(
            "{NAME}: hidden_units must have 1 to {MOST_LAYERS} layers, got {}; linear_model.SoftmaxRegression has none",
            hidden.len()
        )));
    }
    let activation = match arguments.text("activation")? {
        "tanh" => Activation::Tanh,
        _ => Activation::Relu,
    };
    let layers = Layers {
        hidden: hidden.iter().map(|&units| units as usize).collect(),
        activation,
        seed: arguments.integer("seed")? as u64,
    };
    let embedding = arguments.size("embedding_size")?;
    Ok(ClassifierNetwork::new(NAME, layers, following(arguments, NAME)?, embedding))
}

/// The optimiser of a network. Those that compute weights from their memory alone would lose the initial weights of the
/// hidden layers.
pub fn following(arguments: &Arguments<'_>, who: &str) -> Result<Optimizer> {
    let refuse = || {
        Fault::value(format!(
            "{who}: optimizer must support nonzero initial weights, as optim.SGD and optim.Adam do, got {}",
            arguments
                .value("optimizer")
                .ok()
                .and_then(|given| given["name"].as_str())
                .unwrap_or("another component"),
        ))
    };
    match arguments.part("optimizer")? {
        Built::Optimizer(optimizer) if !matches!(optimizer.rule, CoordinateRule::FtrlProximal { .. }) => {
            Ok(optimizer)
        }
        _ => Err(refuse()),
    }
}

#[derive(Clone)]
pub struct MlpClassifier {
    pub network: ClassifierNetwork,
}

impl MlpClassifier {
    fn take(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let network = &mut self.network;
        let growth = network.grow(x, y)?;
        if network.step(x, answer, scratch, |scores| cross_entropy(scores, y, w)) {
            return Ok(());
        }
        network.shrink(growth);
        Err(Fault::overflow(NAME))
    }
}

impl Part for MlpClassifier {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.network.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.network.adopt(unpack(NAME, bytes)?)
    }

    fn memory(&self) -> usize {
        self.network.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, mini_batches: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> Json {
        self.network.inspect(schema)
    }

    fn scalars(&self) -> Json {
        self.network.scalars()
    }
}

impl Learner<Classes> for MlpClassifier {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.network.predict(x, want, out, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, None, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let state = &self.network.state;
        // Predict apart where the gradient is taken elsewhere, and before there is a class or a feature more.
        let known = state.met.get(y as usize).is_some_and(|met| *met) && !state.coordinates.may_grow(x);
        if !known || self.network.optimizer.rule.look_ahead() != 0.0 {
            self.predict(x, want, out, scratch);
            return self.learn(x, y, w, scratch);
        }
        self.take(x, y as usize, w, Some((want, out)), scratch)
    }

    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        let mut scores = scratch.take_numbers();
        self.network.scores(x, &mut scores, scratch);
        let truth = scores.get(y as usize).copied().filter(|score| score.is_finite());
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
        scratch.give_numbers(scores);
        truth.map(|truth| most - truth + sum.ln())
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Classes>> {
        Some(self)
    }

    fn network(&self) -> Option<&ClassifierNetwork> {
        Some(&self.network)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl MiniBatch<Classes> for MlpClassifier {
    fn accumulate(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let growth = self.network.grow(x, y as usize)?;
        if self.network.add_gradient(x, scratch, |scores| cross_entropy(scores, y as usize, w)) {
            return Ok(());
        }
        self.network.shrink(growth);
        Err(Fault::overflow(NAME))
    }

    fn apply(&mut self) -> Result<()> {
        let examples = self.network.gradient.examples;
        if examples == 0.0 {
            return Ok(());
        }
        self.network.gradient.scale(1.0 / examples);
        self.network.descend().then_some(()).ok_or_else(|| Fault::overflow(NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

    fn build(parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn probabilities(model: &dyn Learner<Classes>, x: &[f64]) -> Vec<f64> {
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(x), Want::Probabilities, &mut out, &mut Scratch::default());
        out.probabilities
    }

    /// One tanh unit, x = 2, η = 0.1. Class 0 alone has P = 1: slope 0, nothing moves. Class 1: both scores are 0, slopes
    /// (1/2, −1/2), so c = (−0.05, 0.05) and v = (−0.05 a, 0.05 a) with a = tanh(b + 2w); b and w stay, their gradient
    /// has the factor v = 0. Then z₁ − z₀ = 0.1 (1 + a²).
    #[test]
    fn two_steps_by_hand() {
        let mut model = build(json!({ "hidden_units": [1], "activation": "tanh",
            "optimizer": {"name": "optim.SGD", "parameters": {"learning_rate": 0.1}}}));
        let mut scratch = Scratch::default();
        let x = Row::Plain(&[2.0]);
        model.learn(x, 0, 1.0, &mut scratch).unwrap();
        assert_eq!(probabilities(&*model, &[2.0]), [1.0]);
        model.learn(x, 1, 1.0, &mut scratch).unwrap();
        let begun = &model.network().unwrap().state.blocks[0];
        let a = (begun.values()[0] + 2.0 * begun.values()[1]).tanh();
        let wanted = 1.0 / (1.0 + (-0.1 * (1.0 + a * a)).exp());
        assert!((probabilities(&*model, &[2.0])[1] - wanted).abs() < 1e-15);
        // One more step of class 1, now with a slope of the hidden unit: q = P(0), δ = (1 − a²)(q v₀ − q v₁).
        let q = 1.0 - wanted;
        let v = 0.05 * a;
        let delta = (1.0 - a * a) * q * (-2.0 * v);
        model.learn(x, 1, 1.0, &mut scratch).unwrap();
        let a_next = (begun_sum(&*model)).tanh();
        assert!((a_next.atanh() - (a.atanh() - 0.1 * delta * (1.0 + 4.0))).abs() < 1e-12);
    }

    /// b + 2 w
    fn begun_sum(model: &dyn Learner<Classes>) -> f64 {
        let block = model.network().unwrap().state.blocks[0].values();
        block[0] + 2.0 * block[1]
    }

    #[test]
    fn an_overflow_leaves_no_trace() {
        for optimizer in ["optim.SGD", "optim.Adam", "optim.Nesterov"] {
            let mut model = build(json!({ "optimizer": {
                "name": optimizer, "parameters": {"learning_rate": 1e10}}, "embedding_size": 2 }));
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[1.0]), 0, 1.0, &mut scratch).unwrap();
            model.learn(Row::Plain(&[-1.0]), 1, 1.0, &mut scratch).unwrap();
            let before = model.save().unwrap();
            assert!(model.learn(Row::Plain(&[1e308, 1e308]), 3, 1e9, &mut scratch).is_err());
            assert_eq!(model.save().unwrap(), before, "{optimizer}");
            let probabilities = probabilities(&*model, &[1e308, -1e308]);
            assert!(probabilities.iter().all(|p| p.is_finite()));
        }
    }

    /// The step in place and the step by the sum of gradients are the same to the last bit.
    #[test]
    fn a_batch_of_one_is_one_example() {
        let parameters = json!({ "hidden_units": [5, 4] });
        let (mut one, mut batch) = (build(parameters.clone()), build(parameters));
        let mut scratch = Scratch::default();
        for (index, x) in [[0.5, -1.0, 0.0], [2.0, 0.0, 1.0], [0.1, 0.2, 0.3], [-1.0, 4.0, 0.0]].iter().enumerate()
        {
            let y = index as u32 % 3;
            one.learn(Row::Plain(x), y, 1.5, &mut scratch).unwrap();
            let batch = batch.mini_batch().unwrap();
            batch.accumulate(Row::Plain(x), y, 1.5, &mut scratch).unwrap();
            batch.apply().unwrap();
        }
        assert_eq!(one.save().unwrap(), batch.save().unwrap());
    }

    #[test]
    fn it_learns_exclusive_or() {
        for (activation, hidden) in [("tanh", vec![8]), ("relu", vec![16]), ("relu", vec![12, 8])] {
            let mut model = build(json!({ "hidden_units": hidden, "activation": activation, "seed": 1,
                "optimizer": {"name": "optim.Adam", "parameters": {"learning_rate": 0.02}}}));
            let mut scratch = Scratch::default();
            let rows = [([0.0, 0.0], 0), ([0.0, 1.0], 1), ([1.0, 0.0], 1), ([1.0, 1.0], 0)];
            for _ in 0..1000 {
                for (x, y) in rows {
                    model.learn(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
                }
            }
            for (x, y) in rows {
                let p = probabilities(&*model, &x)[y as usize];
                assert!(p > 0.9, "{activation} {x:?} {p}");
            }
        }
    }

    #[test]
    fn wrong_layers_and_optimisers_are_refused() {
        for parameters in [json!({ "hidden_units": [] }), json!({ "optimizer": "optim.FTRLProximal" })] {
            let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
            assert!(registry::build_resolved(&description).is_err());
        }
    }
}
