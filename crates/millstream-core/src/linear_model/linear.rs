//! What linear and logistic regression share: a score wᵀx + b, and a gradient step on a loss of it.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::losses::Loss;
use crate::optim::{Features, Optimizer, Penalty, Schedule, Step, Weights};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Role};
use crate::row::{finite, Row, Scratch, Value};
use crate::schema::{Kind as FeatureKind, Schema};
use crate::state::{pack, require, unpack};

use super::Coordinates;

const fn parameter(name: &'static str, kind: Kind, default: DefaultValue, words: &'static str) -> Parameter {
    Parameter::new(name, kind, default, words)
}

/// The parameters of every learner built on `Linear`, but for the loss.
pub const LINEAR_PARAMETERS: [Parameter; 8] = [
    parameter(
        "optimizer",
        Kind::Part(&[Role::Optimizer]),
        DefaultValue::Part("optim.SGD"),
        "how the weights follow the gradient",
    ),
    parameter("l1", Kind::Float(Bounds::NOT_NEGATIVE), DefaultValue::Float(0.0), "pull of weights to exactly 0"),
    parameter("l2", Kind::Float(Bounds::NOT_NEGATIVE), DefaultValue::Float(0.0), "pull of weights towards 0"),
    parameter("intercept", Kind::Boolean, DefaultValue::Boolean(true), "whether there is a constant term"),
    parameter(
        "intercept_init",
        Kind::Float(Bounds::ANY),
        DefaultValue::Float(0.0),
        "the constant term to begin with",
    ),
    parameter(
        "intercept_learning_rate",
        Kind::Rate(Bounds::NOT_NEGATIVE),
        DefaultValue::Float(0.01),
        "the size of a step of the constant term: a number, or a schedule",
    ),
    parameter(
        "clip_gradient",
        Kind::Float(Bounds::POSITIVE),
        DefaultValue::Float(1e12),
        "the largest slope of the loss that is followed",
    ),
    parameter(
        "averaging",
        Kind::Boolean,
        DefaultValue::Boolean(false),
        "predict with the mean of all weights so far (Polyak and Juditsky, 1992)",
    ),
];

#[derive(Clone, Debug)]
pub struct Linear {
    who: String,
    optimizer: Optimizer,
    pub loss: Loss,
    penalty: Penalty,
    intercept_rate: Option<Schedule>,
    clip: f64,
    averaging: bool,
    state: State,
    spare: Weights,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Steps taken.
    t: f64,
    intercept: f64,
    /// Like `lag` in `Weights`.
    intercept_lag: f64,
    coordinates: Coordinates,
    weights: Weights,
}

impl Linear {
    /// Build from arguments with a `loss`, which must be for classes or for numbers.
    pub fn with_loss(arguments: &Arguments<'_>, for_classes: bool) -> Result<Self> {
        match arguments.part("loss")? {
            Built::Loss(loss) if loss.for_classes() == for_classes => Self::new(arguments, loss),
            _ => Err(Fault::value(format!(
                "{}: loss must be one for {}, got {}",
                arguments.who,
                if for_classes { "classes" } else { "numbers" },
                arguments.value("loss")?["name"].as_str().unwrap_or("another part"),
            ))),
        }
    }

    /// Steps taken.
    pub fn steps(&self) -> f64 {
        self.state.t
    }

    pub fn new(arguments: &Arguments<'_>, loss: Loss) -> Result<Self> {
        let Built::Optimizer(optimizer) = arguments.part("optimizer")? else {
            return Err(arguments.absent("optimizer"));
        };
        let intercept = arguments.boolean("intercept")?;
        let intercept_rate = arguments.rate("intercept_learning_rate")?;
        Ok(Linear {
            who: arguments.who.into(),
            optimizer,
            loss,
            penalty: Penalty { l1: arguments.float("l1")?, l2: arguments.float("l2")? },
            intercept_rate: intercept.then_some(intercept_rate),
            clip: arguments.float("clip_gradient")?,
            averaging: arguments.boolean("averaging")?,
            state: State {
                intercept: if intercept { arguments.float("intercept_init")? } else { 0.0 },
                ..State::default()
            },
            spare: Weights::default(),
        })
    }

    /// The score to predict with.
    #[inline]
    pub fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let state = &self.state;
        let lag = if self.averaging && state.t > 0.0 { state.intercept_lag / state.t } else { 0.0 };
        match x {
            Row::Plain(values) if !state.coordinates.mapped() => {
                finite(state.weights.dot(Features::Dense(values), state.t) + state.intercept - lag)
            }
            _ => {
                let located = state.coordinates.locate(x, scratch);
                let score = state.weights.dot(located.features(), state.t) + state.intercept - lag;
                located.release(scratch);
                finite(score)
            }
        }
    }

    /// One gradient step on the loss at (x, y).
    #[inline]
    pub fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        match x {
            Row::Plain(values) if !self.state.coordinates.mapped() => {
                let before = self.state.coordinates.width();
                if before < values.len() {
                    self.state.coordinates.grow(x);
                    self.state.weights.grow(values.len(), self.optimizer.rule, self.averaging);
                }
                self.step(Features::Dense(values), y, w).inspect_err(|_| self.shrink(before))
            }
            _ => {
                let before = self.state.coordinates.grow(x);
                self.state.weights.grow(self.state.coordinates.width(), self.optimizer.rule, self.averaging);
                let located = self.state.coordinates.locate(x, scratch);
                let stepped = self.step(located.features(), y, w).inspect_err(|_| self.shrink(before));
                located.release(scratch);
                stepped
            }
        }
    }

    fn shrink(&mut self, before: usize) {
        self.state.coordinates.shrink(before);
        self.state.weights.shrink(before);
    }

    #[inline]
    fn step(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<()> {
        let state = &mut self.state;
        let t = state.t + 1.0;
        let score = state.weights.current(features) + state.intercept;
        let slope = (self.loss.slope(y, score) * w).clamp(-self.clip, self.clip);
        let step = Step { t, slope, penalty: self.penalty };
        let sound = state.weights.propose(&self.optimizer, features, step, &mut self.spare);
        let intercept = match self.intercept_rate {
            Some(rate) => state.intercept - rate.at(t) * slope,
            None => state.intercept,
        };
        let lag =
            if self.averaging { state.intercept_lag + (t - 1.0) * (intercept - state.intercept) } else { 0.0 };
        if !sound || !intercept.is_finite() || !lag.is_finite() {
            return Err(Fault::overflow(&self.who));
        }
        state.weights.commit(features, &mut self.spare);
        state.intercept = intercept;
        state.intercept_lag = lag;
        state.t = t;
        Ok(())
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(&self.who, bytes)?;
        let numbers = [state.t, state.intercept, state.intercept_lag];
        require(&self.who, crate::row::all_finite(&numbers) && state.t >= 0.0, "a number is not finite")?;
        state.coordinates.validate(&self.who)?;
        state.weights.validate(&self.who, self.optimizer.rule, self.averaging)?;
        require(
            &self.who,
            state.weights.len() == state.coordinates.width(),
            "weights and coordinates differ in number",
        )?;
        self.state = state;
        Ok(())
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.state.weights.memory()
            + self.spare.memory()
            + self.state.coordinates.memory()
    }

    /// `{"intercept": …, "weights": {feature: number, or {value: number} if it is nominal}}`
    pub fn inspect(&self, schema: &Schema) -> Json {
        let state = &self.state;
        let weight = |slot: usize, value: Value| {
            state.coordinates.of(slot, value).map(|place| state.weights.effective(place as usize, state.t))
        };
        let mut weights = serde_json::Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            if *kind == FeatureKind::Nominal {
                let values = schema.values(slot);
                let by_value: serde_json::Map<_, _> = (0..values.len() as u32)
                    .filter_map(|code| {
                        let text = values.text(code)?;
                        Some((text.to_string(), json!(weight(slot, Value::Nominal(Some(code)))?)))
                    })
                    .collect();
                weights.insert(name.text(), Json::Object(by_value));
            } else if let Some(weight) = weight(slot, Value::Number(0.0)) {
                weights.insert(name.text(), json!(weight));
            }
        }
        let lag = if state.t > 0.0 { state.intercept_lag / state.t } else { 0.0 };
        json!({ "steps": state.t, "intercept": state.intercept - lag, "weights": weights })
    }
}
