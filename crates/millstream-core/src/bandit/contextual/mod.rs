//! Policies with context: a model predicts the reward of each action from the features of the context and of the action, an
//! explorer turns predictions into probabilities, and a reward that arrives later finds its decision by id.
//!
//! | file | what it is |
//! |---|---|
//! | `policy` | the policy, with its estimates of rewards that were not seen |
//! | `bounds` | confidence bounds of any regressor |
//! | `explore` | explorers: from predictions to probabilities |
//! | `least_squares` | exact ridge regression with its variances, for `LinUCB`, `LinThompson` and the default |
//! | `regression`, `products` | any regressor, and the rows that it learns |
//! | `thompson` | draws from a posterior |
//! | `round` | a round as numbers; names of features |
//! | `merging` | merging of exact least squares |
//! | `pending` | decisions that wait for their reward |

mod bounds;
pub mod explore;
mod least_squares;
mod merging;
mod pending;
pub mod policy;
mod products;
mod regression;
pub mod round;
mod thompson;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::{Held, Holdable, Seeds};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
use crate::part::Part;
use crate::row::Scratch;
use crate::task::Numbers;

use explore::Explorer;
pub use policy::{Choice, Decision, Estimate, Policy, Settings, Work};
pub use round::{Round, Space, Spaces};

const L2: Parameter = Parameter::new(
    "l2",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(1.0),
    "penalty of the ridge regression; features without data have the variance 1 / l2",
);
const REWARD_RANGE: Parameter = Parameter::new(
    "reward_range",
    Kind::Optional(&Kind::Floats(Bounds::ANY)),
    Default::Null,
    "lowest and highest reward; others are refused. None for any finite reward",
);
const MAX_PENDING: Parameter = Parameter::new(
    "max_pending",
    Kind::Integer { low: 1, high: 1 << 32 },
    Default::Integer(10_000),
    "number of later decisions after which a decision without a reward is dropped",
);
const MAX_FEATURES: Parameter = Parameter::new(
    "max_features",
    Kind::Integer { low: 1, high: 1 << 16 },
    Default::Integer(4096),
    "largest number of weights of the least squares; their matrix has the square of it",
);
const SEED: Parameter =
    Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, Default::Integer(0), "seed of the draws");

const MERGED: Merge =
    Merge::exact("the information of the rounds adds up; decisions that wait stay with the policy that made them");

/// Of a model of rewards that is not exact least squares.
fn unless_modelled(parameters: &serde_json::Value) -> Option<Merge> {
    (!parameters["model"].is_null()).then_some(Merge::none(
        "its model learns products of features in the order of the stream: leave model out for exact least squares, or \
         learn the log with one policy",
    ))
}

/// Most features and products of any other model.
const MOST: usize = 1 << 24;

fn settings(arguments: &Arguments<'_>, choice: Choice, estimate: Estimate) -> Result<Settings> {
    let range = match arguments.value("reward_range")?.is_null() {
        true => None,
        false => match arguments.floats("reward_range")?[..] {
            [low, high] if low < high && (high - low).is_finite() => Some((low, high)),
            _ => {
                return Err(Fault::value(format!(
                    "{}: reward_range must be a lowest and a higher highest reward, got {}",
                    arguments.who,
                    arguments.value("reward_range")?
                )))
            }
        },
    };
    Ok(Settings {
        who: arguments.who.into(),
        choice,
        estimate,
        range,
        max_pending: arguments.size("max_pending")?,
        max_features: arguments.size("max_features")?,
        seed: arguments.integer("seed")? as u64,
    })
}

pub static LIN_UCB: Declaration = Declaration {
    name: "bandit.LinUCB",
    role: Role::Policy,
    words: "Take the action with the highest upper confidence bound of an exact ridge regression",
    merge: MERGED,
    parameters: &[
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.3),
            "width of the confidence bounds in standard deviations",
        ),
        L2,
        REWARD_RANGE,
        MAX_PENDING,
        MAX_FEATURES,
        SEED,
    ],
    build: |arguments| {
        let choice = Choice::UpperBound { alpha: arguments.float("alpha")? };
        let settings = settings(arguments, choice, Estimate::Direct)?;
        let policy = Policy::least_squares(settings, arguments.float("l2")?)?;
        Ok(Built::ContextualPolicy(Box::new(policy)))
    },
};

pub static LIN_THOMPSON: Declaration = Declaration {
    name: "bandit.LinThompson",
    role: Role::Policy,
    words: "Take the action that is best under weights drawn from the posterior of an exact ridge regression",
    merge: MERGED,
    parameters: &[
        Parameter::new(
            "scale",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.3),
            "factor of the posterior's standard deviation",
        ),
        Parameter::new(
            "samples",
            Kind::Integer { low: 1, high: 1_000_000 },
            Default::Integer(100),
            "number of draws that the probabilities of a round are estimated from",
        ),
        L2,
        REWARD_RANGE,
        MAX_PENDING,
        MAX_FEATURES,
        SEED,
    ],
    build: |arguments| {
        let (scale, samples) = (arguments.float("scale")?, arguments.size("samples")? as u32);
        let settings = settings(arguments, Choice::Posterior { scale, samples }, Estimate::Direct)?;
        let policy = Policy::least_squares(settings, arguments.float("l2")?)?;
        Ok(Built::ContextualPolicy(Box::new(policy)))
    },
};

pub static CONTEXTUAL: Declaration = Declaration {
    name: "bandit.Contextual",
    role: Role::Policy,
    words: "Any regressor as the model of rewards, under any explorer",
    merge: MERGED.or(unless_modelled),
    parameters: &[
        Parameter::new(
            "model",
            Kind::Optional(&Kind::Part(&[Role::Regressor])),
            Default::Null,
            "regressor of the reward; None for exact least squares",
        ),
        Parameter::new(
            "explore",
            Kind::Optional(&Kind::Part(&[Role::Explorer])),
            Default::Null,
            "explorer: how predictions become probabilities; None for RegCB with least squares, otherwise SquareCB",
        ),
        Parameter::new(
            "estimate",
            Kind::Optional(&Kind::Choice(&Estimate::WORDS)),
            Default::Null,
            "estimate of the rewards that were not seen; None for 'dm' with least squares or RegCB, otherwise 'mtr'",
        ),
        REWARD_RANGE,
        Parameter::new(
            "products",
            Kind::Optional(&Kind::Boolean),
            Default::Null,
            "whether the model gets products of context and action; None for linear models only",
        ),
        L2,
        MAX_PENDING,
        Parameter::new(
            "max_features",
            Kind::Optional(&Kind::Integer { low: 1, high: MOST as i64 }),
            Default::Null,
            "largest number of weights, or of features and products; None for 4096 with least squares, else 2^24",
        ),
        SEED,
    ],
    build: build_contextual,
};

fn build_contextual(arguments: &Arguments<'_>) -> Result<Built> {
    let exact = arguments.value("model")?.is_null();
    let explorer = match arguments.value("explore")?.is_null() {
        true if exact => Explorer::RegCb { mellowness: explore::MELLOWNESS, optimistic: true },
        true => Explorer::SquareCb { scale: explore::GAMMA_SCALE, exponent: explore::GAMMA_EXPONENT },
        false => match arguments.part("explore")? {
            Built::Explorer(explorer) => explorer,
            _ => return Err(arguments.absent("explore")),
        },
    };
    let estimate = match arguments.value("estimate")?.as_str() {
        Some(word) => Estimate::named(word).ok_or_else(|| arguments.absent("estimate"))?,
        // Bounds are proved for a regression without importance weights.
        None if exact || matches!(explorer, Explorer::RegCb { .. }) => Estimate::Direct,
        None => Estimate::MultiTask,
    };
    let mut filled = arguments.clone_values();
    if filled["max_features"].is_null() {
        filled["max_features"] = if exact { 4096 } else { MOST }.into();
    }
    let settings = settings(&Arguments::new(arguments.who, &filled), Choice::Explorer(explorer), estimate)?;
    let policy = match exact {
        true if explorer.models() > 1 => Err(Fault::value(format!(
            "{}: this explorer compares several models and needs one to copy: pass model, for example \
             linear_model.LinearRegression(optimizer='adaptive')",
            arguments.who
        ))),
        true => Policy::least_squares(settings, arguments.float("l2")?),
        false => {
            // A tree finds interactions on its own; a linear function of context and action ranks actions alike in every
            // context.
            let linear = || arguments.value("model").is_ok_and(is_linear);
            let products = arguments.value("products")?.as_bool().unwrap_or_else(linear);
            Policy::regression(settings, arguments.learner::<Numbers>("model")?, products)
        }
    }?;
    Ok(Built::ContextualPolicy(Box::new(policy)))
}

/// Whether a described model is linear, or a pipeline or wrapper around a linear one.
fn is_linear(description: &serde_json::Value) -> bool {
    let Some(name) = description["name"].as_str() else { return false };
    let parameters = &description["parameters"];
    let last = parameters["steps"].as_array().and_then(|steps| steps.last());
    name.starts_with("linear_model.") || [last, Some(&parameters["model"])].into_iter().flatten().any(is_linear)
}

impl Holdable for Box<Policy> {
    const WORD: &'static str = "contextual policy";

    fn unbuild(built: Built, _: &serde_json::Value) -> Option<Self> {
        match built {
            Built::ContextualPolicy(policy) => Some(policy),
            _ => None,
        }
    }

    fn role(&self) -> Role {
        Role::Policy
    }

    fn part(&self) -> &dyn Part {
        &**self
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }

    /// Each goes on with its own draws.
    fn seeds(&self) -> Seeds {
        Seeds::Any
    }
}

impl Held<Box<Policy>> {
    pub fn policy(&self) -> &Policy {
        &self.part
    }

    pub fn decide(&mut self, round: &mut Round, scratch: &mut Scratch) -> Result<Decision> {
        self.part.decide(round, scratch)
    }

    pub fn learn_id(&mut self, id: u64, reward: f64, scratch: &mut Scratch) -> Result<()> {
        self.part.learn_id(id, reward, scratch)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    pub fn learn_round(
        &mut self,
        round: &mut Round,
        index: usize,
        reward: f64,
        probability: Option<f64>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.part.learn_round(round, index, reward, probability, scratch)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }
}
