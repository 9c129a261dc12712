//! A score wᵀx + b and one gradient step of it: the building block of the learners by gradient.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::numeric::dot;
use crate::optim::{CoordinateRule, Features, Optimizer, Penalty, Schedule, Step, Weights};
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, finite, Value};
use crate::schema::Schema;

use super::{named, Coordinates};

pub const OPTIMIZER: Parameter = Parameter::new(
    "optimizer",
    Kind::Part(&[Role::Optimizer]),
    DefaultValue::Part("optim.SGD"),
    "optimiser of the weights",
);
pub const L1: Parameter = Parameter::new(
    "l1",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.0),
    "L1 penalty: shrinks weights to exactly 0",
);
pub const L2: Parameter = Parameter::new(
    "l2",
    Kind::Float(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.0),
    "L2 penalty: shrinks weights towards 0",
);
pub const INTERCEPT: Parameter =
    Parameter::new("intercept", Kind::Boolean, DefaultValue::Boolean(true), "whether to fit an intercept");
pub const INTERCEPT_INIT: Parameter =
    Parameter::new("intercept_init", Kind::Float(Bounds::ANY), DefaultValue::Float(0.0), "initial intercept");
pub const INTERCEPT_LEARNING_RATE: Parameter = Parameter::new(
    "intercept_learning_rate",
    Kind::Rate(Bounds::NOT_NEGATIVE),
    DefaultValue::Float(0.01),
    "learning rate of the intercept: a number, or a schedule",
);
pub const CLIP_GRADIENT: Parameter = Parameter::new(
    "clip_gradient",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Float(1e12),
    "maximum absolute gradient of the loss; larger ones are clipped",
);
pub const AVERAGING: Parameter = Parameter::new(
    "averaging",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether to predict with the mean of all weights so far (Polyak and Juditsky, 1992)",
);

/// The optimiser settings of a hyperplane.
#[derive(Clone, Debug)]
pub struct HyperplaneSettings {
    pub who: String,
    pub optimizer: Optimizer,
    penalty: Penalty,
    pub intercept_rate: Option<Schedule>,
    clip: f64,
    pub averaging: bool,
    /// Whether a step is one of plain gradient descent: without memory, penalty and averaging.
    pub plain: bool,
}

impl HyperplaneSettings {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let optimizer = match arguments.part("optimizer")? {
            Built::Optimizer(optimizer) => optimizer,
            _ => return Err(arguments.absent("optimizer")),
        };
        let penalty = Penalty { l1: arguments.float("l1")?, l2: arguments.float("l2")? };
        if matches!(optimizer.rule, CoordinateRule::FtrlProximal { .. }) && (penalty.l1 > 0.0 || penalty.l2 > 0.0)
        {
            return Err(Fault::value(format!(
                "{}: l1 and l2 must be 0 with optim.FTRLProximal, which has its own, got {} and {}",
                arguments.who, penalty.l1, penalty.l2
            )));
        }
        let intercept_rate = arguments.rate("intercept_learning_rate")?;
        let averaging = arguments.boolean("averaging")?;
        Ok(HyperplaneSettings {
            plain: optimizer.rule == CoordinateRule::Sgd && penalty.none() && !averaging,
            who: arguments.who.into(),
            optimizer,
            penalty,
            intercept_rate: arguments.boolean("intercept")?.then_some(intercept_rate),
            clip: arguments.float("clip_gradient")?,
            averaging,
        })
    }

    #[inline]
    pub fn clipped(&self, slope: f64) -> f64 {
        slope.clamp(-self.clip, self.clip)
    }

    /// Whether the gradient is taken at the weights that predict.
    #[inline]
    pub fn shares_score(&self) -> bool {
        !self.averaging && self.optimizer.rule.look_ahead() == 0.0
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hyperplane {
    /// Number of steps.
    pub t: f64,
    pub intercept: f64,
    /// Like `lag` in `Weights`.
    intercept_lag: f64,
    pub weights: Weights,
    /// The numbers above at `savepoint`.
    #[serde(skip)]
    held: [f64; 3],
}

impl Hyperplane {
    pub fn new(intercept: f64) -> Self {
        Hyperplane { intercept, ..Hyperplane::default() }
    }

    /// See `Part::savepoint`; likewise `rollback`.
    pub fn savepoint(&mut self) {
        self.held = [self.t, self.intercept, self.intercept_lag];
        self.weights.savepoint();
    }

    pub fn rollback(&mut self) {
        [self.t, self.intercept, self.intercept_lag] = self.held;
        self.weights.rollback();
    }

    /// See `Part::exchange`.
    pub fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.float(&mut self.t);
        exchange.float(&mut self.intercept);
        exchange.float(&mut self.intercept_lag);
        self.weights.exchange(exchange)
    }

    /// The score to predict with.
    #[inline]
    pub fn score(&self, features: Features<'_>) -> f64 {
        finite(self.weights.dot(features, self.t) + self.bias())
    }

    /// The score of a row with as many numbers as there are weights, where settings are `plain`; may overflow.
    #[inline(always)]
    pub fn plain_score(&self, x: &[f64]) -> f64 {
        dot(self.weights.values(), x) + self.intercept
    }

    /// A step down `slope` where settings are `plain`; false, and no change, if it would overflow. `spare` is a buffer.
    #[inline(always)]
    pub fn step_plain(
        &mut self,
        settings: &HyperplaneSettings,
        x: &[f64],
        slope: f64,
        spare: &mut Hyperplane,
    ) -> bool {
        let t = self.t + 1.0;
        let intercept = match settings.intercept_rate {
            Some(rate) => self.intercept - rate.at(t) * slope,
            None => self.intercept,
        };
        let rate = settings.optimizer.rate.at(t);
        let sound = intercept.is_finite() && self.weights.step_plain(rate, slope, x, &mut spare.weights);
        if sound {
            (self.t, self.intercept) = (t, intercept);
        }
        sound
    }

    /// The score at the point where the gradient is taken; may overflow.
    #[inline]
    pub fn gradient_score(&self, settings: &HyperplaneSettings, features: Features<'_>) -> f64 {
        self.weights.current(settings.optimizer.rule, features) + self.intercept
    }

    /// As `gradient_score`, where the gradient is taken at the current weights; what a step needs of them is then in
    /// `next`.
    #[inline]
    pub fn fetch_score(&self, indices: &[u32], x: &[f64], next: &mut Hyperplane) -> f64 {
        self.weights.fetch(indices, x, &mut next.weights) + self.intercept
    }

    /// The intercept to predict with.
    #[inline]
    pub fn bias(&self) -> f64 {
        // Without averaging there is no lag and no division.
        if self.intercept_lag == 0.0 {
            self.intercept
        } else {
            self.intercept - self.intercept_lag / self.t
        }
    }

    /// Write the result of a step down `slope` into `next`; false if it would overflow. Nothing changes here.
    #[inline]
    pub fn propose(
        &self,
        settings: &HyperplaneSettings,
        features: Features<'_>,
        slope: f64,
        next: &mut Hyperplane,
    ) -> bool {
        self.propose_from(settings, features, slope, false, next)
    }

    /// As `propose`; after `fetch_score`, what it fetched is used.
    #[inline]
    pub fn propose_from(
        &self,
        settings: &HyperplaneSettings,
        features: Features<'_>,
        slope: f64,
        fetched: bool,
        next: &mut Hyperplane,
    ) -> bool {
        self.propose_apart(settings, features, [slope, slope], fetched, next)
    }

    /// As `propose_from`, with a slope of the weights and one of the intercept.
    #[inline]
    pub fn propose_apart(
        &self,
        settings: &HyperplaneSettings,
        features: Features<'_>,
        [slope, intercept_slope]: [f64; 2],
        fetched: bool,
        next: &mut Hyperplane,
    ) -> bool {
        next.t = self.t + 1.0;
        let step = Step { t: next.t, slope, penalty: settings.penalty, fetched };
        let sound = self.weights.propose(&settings.optimizer, features, step, &mut next.weights);
        next.intercept = match settings.intercept_rate {
            Some(rate) => self.intercept - rate.at(next.t) * intercept_slope,
            None => self.intercept,
        };
        next.intercept_lag = match settings.averaging {
            true => self.intercept_lag + self.t * (next.intercept - self.intercept),
            false => 0.0,
        };
        sound && next.intercept.is_finite() && next.intercept_lag.is_finite()
    }

    /// Commit a proposal. `features` are those it was made for.
    #[inline]
    pub fn commit(&mut self, features: Features<'_>, next: &mut Hyperplane) {
        self.weights.commit(features, &mut next.weights);
        self.t = next.t;
        self.intercept = next.intercept;
        self.intercept_lag = next.intercept_lag;
    }

    /// The opposite score.
    pub fn negate(&mut self, rule: CoordinateRule) {
        self.weights.negate(rule);
        (self.intercept, self.intercept_lag) = (-self.intercept, -self.intercept_lag);
    }

    /// Merge the hyperplane of another part of the stream, by the rule of the optimiser; see `Weights::merge`.
    pub fn merge(
        &mut self,
        settings: &HyperplaneSettings,
        theirs: (&Hyperplane, &[u32]),
        base: Option<(&Hyperplane, &[u32])>,
        known: usize,
        fraction: f64,
    ) -> Result<()> {
        let t = self.t + theirs.0.t - base.map_or(0.0, |(base, _)| base.t);
        let steps = [self.t, theirs.0.t, t];
        let inner =
            |(hyperplane, indices): (&'_ Hyperplane, &'_ [u32])| (hyperplane.weights.clone(), indices.to_vec());
        let (their_weights, their_indices) = inner(theirs);
        let base = base.map(inner);
        let base = base.as_ref().map(|(weights, indices)| (weights, &indices[..]));
        let rule = settings.optimizer.rule;
        self.weights.merge(rule, (&their_weights, &their_indices), base, known, fraction, steps);
        let of_both = |ours: f64, theirs: f64| fraction * ours + (1.0 - fraction) * theirs;
        let bias = of_both(self.bias(), theirs.0.bias());
        self.intercept = of_both(self.intercept, theirs.0.intercept);
        self.intercept_lag = if settings.averaging { (self.intercept - bias) * t } else { 0.0 };
        self.t = t.max(0.0);
        match self.weights.is_finite() && self.intercept.is_finite() && self.intercept_lag.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(&settings.who)),
        }
    }

    /// Reject, after loading, a state that could not have been learned with `settings` and `width` coordinates.
    pub fn validate(&self, settings: &HyperplaneSettings, width: usize) -> Result<()> {
        let who = &settings.who;
        let numbers = [self.t, self.intercept, self.intercept_lag];
        require(who, all_finite(&numbers) && self.t >= 0.0, "a number is not finite")?;
        let lagging = settings.averaging && self.t > 0.0;
        require(who, lagging || self.intercept_lag == 0.0, "an average without steps")?;
        self.weights.validate(who, settings.optimizer.rule, settings.averaging)?;
        require(who, self.weights.len() == width, "weights and coordinates differ in number")
    }

    /// `{"steps": …, "intercept": …, "weights": {feature: number, or {value: number} if it is nominal}}`
    pub fn inspect(&self, coordinates: &Coordinates, schema: &Schema) -> Json {
        let weight = |slot: usize, value: Value| {
            coordinates.of(slot, value).map(|index| self.weights.effective(index as usize, self.t))
        };
        json!({ "steps": self.t, "intercept": self.bias(), "weights": named(schema, weight) })
    }
}
