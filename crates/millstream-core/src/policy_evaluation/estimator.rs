//! The estimators of a policy's value from a log.
//!
//! Letters: r reward, p logged probability of the action taken, q its probability under the target policy, ρ = q/p its weight,
//! r̂ the prediction of a reward model for it, and r̂_π the model's mean under the target policy.
//!
//! | estimator | estimate | reference |
//! |---|---|---|
//! | IPS | mean of ρ r | Horvitz and Thompson, 1952; clipped: Ionides, 2008 |
//! | SNIPS | Σ ρ r / Σ ρ | Swaminathan and Joachims, 2015, eq. 8 |
//! | DM | mean of r̂_π | Beygelzimer and Langford, 2009 |
//! | DR | mean of r̂_π + ρ (r − r̂) | Dudík, Langford and Li, 2011, eq. 2 |
//! | SNDR | mean of r̂_π + Σ ρ (r − r̂) / Σ ρ | Kallus and Uehara, 2019 |
//! | SwitchDR | as DR, with weight 0 where ρ > max_weight | Wang, Agarwal and Dudík, 2017 |
//! | DRos | as DR, with λρ / (ρ² + λ), where λ = 4 max_weight² | Su, Dimakopoulou, Krishnamurthy and Dudík, 2020, eq. 5 |
//! | Replay | Σ q r / Σ q | Li, Chu, Langford and Wang, 2011 |
//! | Difference | mean of r̂_π − r̂_π' + (ρ − ρ') (r − r̂) | as DR |
//!
//! With `max_weight`, the first two and DR, SNDR and Difference use min(ρ, max_weight).
//!
//! Sequences are those of the mean of a number with the same expectation as the estimate: ρ r and ρ (1 − r) for IPS, whose
//! ends remain valid for the true value when weights are clipped, because both expectations can only fall; for SNIPS, DR with
//! the estimate so far as the model; for SNDR, DR with the mean residual so far added to the model.

use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, FaultKind, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind as ParameterKind, Parameter};
use crate::part::Part;

use super::role::{Interval, Needs, PolicyEstimator, Round};
use super::sequence::{of_ratio, Sequence};
use super::sums::{Form, Sums};
use super::weights::{others, Summary, Weights};

/// Larger weights, and larger predictions relative to the range of rewards, could make fourth powers overflow.
const LARGEST_WEIGHT: f64 = 1e12;
const LARGEST_PREDICTION: f64 = 1e6;
/// Rounding of probabilities that were computed as sums.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ips,
    Snips,
    Dm,
    Dr,
    Sndr,
    SwitchDr,
    DrOs,
    Replay,
    Difference,
}

impl Kind {
    fn form(self) -> Form {
        match self {
            Kind::Snips | Kind::Replay => Form::Ratio,
            Kind::Sndr => Form::Both,
            _ => Form::Mean,
        }
    }

    fn needs_model(self) -> bool {
        matches!(self, Kind::Dm | Kind::Dr | Kind::Sndr | Kind::SwitchDr | Kind::DrOs)
    }

    /// The weight that is used.
    #[inline]
    fn used(self, weight: f64, largest: Option<f64>) -> f64 {
        let Some(largest) = largest else { return weight };
        match self {
            Kind::SwitchDr if weight > largest => 0.0,
            Kind::SwitchDr => weight,
            Kind::DrOs => {
                let scale = 4.0 * largest * largest;
                scale * weight / (weight * weight + scale)
            }
            _ => weight.min(largest),
        }
    }
}

const REWARD_RANGE: Parameter = Parameter::new(
    "reward_range",
    ParameterKind::Floats(Bounds::ANY),
    DefaultValue::Integers(&[0, 1]),
    "lowest and highest possible reward",
);
const MAX_WEIGHT: Parameter = Parameter::new(
    "max_weight",
    ParameterKind::Optional(&ParameterKind::Float(Bounds::POSITIVE)),
    DefaultValue::Null,
    "largest weight that is used; larger ones are reduced to it",
);
const SWITCH: Parameter = MAX_WEIGHT
    .with_default(DefaultValue::Float(10.0))
    .with_words("largest weight with which a reward is used; above it, the reward model alone counts");
const SHRINKAGE: Parameter = MAX_WEIGHT
    .with_default(DefaultValue::Float(5.0))
    .with_words("limit that shrunk weights approach; weights far below it hardly change");

const SEQUENCES_ADD: Merge = Merge::exact("the estimate; sequences keep the running means of their parts");

macro_rules! declare {
    ($constant:ident, $name:literal, $words:literal, $kind:expr, $merge:expr, [$($parameter:expr),*]) => {
        pub static $constant: Declaration = Declaration {
            name: $name,
            role: Role::PolicyEstimator,
            words: $words,
            merge: $merge,
            parameters: &[$($parameter),*],
            build: |arguments| build($name, $kind, arguments),
        };
    };
}

declare!(
    IPS,
    "policy_evaluation.IPS",
    "Value of a policy by inverse propensity scores, clipped on request",
    Kind::Ips,
    SEQUENCES_ADD,
    [MAX_WEIGHT, REWARD_RANGE]
);
declare!(
    SNIPS,
    "policy_evaluation.SNIPS",
    "Value of a policy by self-normalised inverse propensity scores",
    Kind::Snips,
    SEQUENCES_ADD,
    [MAX_WEIGHT, REWARD_RANGE]
);
declare!(
    DM,
    "policy_evaluation.DM",
    "Value of a policy by a reward model alone: the direct method",
    Kind::Dm,
    SEQUENCES_ADD,
    [REWARD_RANGE]
);
declare!(
    DR,
    "policy_evaluation.DR",
    "Value of a policy, doubly robust: a reward model, corrected by weighted residuals",
    Kind::Dr,
    SEQUENCES_ADD,
    [MAX_WEIGHT, REWARD_RANGE]
);
declare!(
    SNDR,
    "policy_evaluation.SNDR",
    "Value of a policy, doubly robust with self-normalised weights",
    Kind::Sndr,
    SEQUENCES_ADD,
    [MAX_WEIGHT, REWARD_RANGE]
);
declare!(
    SWITCH_DR,
    "policy_evaluation.SwitchDR",
    "Value of a policy, doubly robust without rewards of large weight",
    Kind::SwitchDr,
    SEQUENCES_ADD,
    [SWITCH, REWARD_RANGE]
);
declare!(
    DR_OS,
    "policy_evaluation.DRos",
    "Value of a policy, doubly robust with optimistic shrinkage of the weights",
    Kind::DrOs,
    SEQUENCES_ADD,
    [SHRINKAGE, REWARD_RANGE]
);
declare!(
    REPLAY,
    "policy_evaluation.Replay",
    "Value of a policy by the rounds in which it agrees with a uniform log",
    Kind::Replay,
    Merge::EXACT,
    [REWARD_RANGE]
);
declare!(
    DIFFERENCE,
    "policy_evaluation.Difference",
    "Difference of the values of two policies on the same log",
    Kind::Difference,
    Merge::approximate("differences add; without a reward model, each part has its own mean reward as the model"),
    [MAX_WEIGHT, REWARD_RANGE]
);

fn build(name: &'static str, kind: Kind, arguments: &Arguments<'_>) -> Result<Built> {
    let max_weight = match kind {
        Kind::Dm | Kind::Replay => None,
        _ => arguments.value("max_weight")?.as_f64(),
    };
    let range = arguments.floats("reward_range")?;
    let (low, high) = match range[..] {
        [low, high] if low < high && (high - low).is_finite() => (low, high),
        _ => {
            let got = arguments.value("reward_range")?;
            return Err(Fault::value(format!("{name}: reward_range must be a pair low < high, got {got}")));
        }
    };
    let state = State::default();
    Ok(Built::PolicyEstimator(Box::new(Estimator { name, kind, max_weight, low, width: high - low, state })))
}

#[derive(Clone)]
struct Estimator {
    name: &'static str,
    kind: Kind,
    max_weight: Option<f64>,
    /// Rewards are scaled to [0, 1].
    low: f64,
    width: f64,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    sums: Sums,
    /// Of the estimate; for IPS of ρ r.
    sequence: Sequence,
    /// For IPS: of ρ (1 − r).
    complement: Sequence,
    /// Running sums that the next number is centred with: weights, and weighted rewards or residuals.
    running: [f64; 2],
    /// For Replay: the largest weight.
    reach: f64,
    weights: Weights,
}

/// A round with rewards and predictions scaled, checked.
struct Scaled {
    w: f64,
    reward: f64,
    prediction: f64,
    target_value: f64,
    other_value: f64,
    weight: f64,
    other_weight: f64,
}

impl Estimator {
    #[cold]
    fn refusal(&self, what: &str, must_be: &str, got: f64) -> Fault {
        Fault::value(format!("{}: {what} must be {must_be}, got {}", self.name, Shown(got)))
    }

    #[cold]
    fn too_large(&self, what: &str, got: f64, limit: f64) -> Fault {
        let (name, limit, got) = (self.name, Shown(limit), Shown(got));
        Fault::new(FaultKind::Overflow, format!("{name}: {what} must be at most {limit}, got {got}"))
    }

    fn check_target(&self, probability: f64, what: &str) -> Result<()> {
        match (0.0..=1.0 + ROUNDING).contains(&probability) {
            true => Ok(()),
            false => Err(self.refusal(what, "in [0, 1]", probability)),
        }
    }

    fn weight(&self, target: f64, probability: f64) -> Result<f64> {
        let weight = target / probability;
        match weight <= LARGEST_WEIGHT {
            true => Ok(weight),
            false => Err(self.too_large("the weight target_probability / probability", weight, LARGEST_WEIGHT)),
        }
    }

    /// From the lowest reward, in units of the range; the usual range needs no division.
    #[inline]
    fn in_range(&self, number: f64) -> f64 {
        let distance = number - self.low;
        if self.width == 1.0 {
            distance
        } else {
            distance / self.width
        }
    }

    #[inline]
    fn scaled(&self, number: f64, what: &str) -> Result<f64> {
        let scaled = self.in_range(number);
        if scaled.abs() <= LARGEST_PREDICTION {
            return Ok(scaled);
        }
        Err(match number.is_finite() {
            true => self.too_large(
                &format!("{what}, from the lowest reward,"),
                number,
                LARGEST_PREDICTION * self.width,
            ),
            false => self.refusal(what, "finite", number),
        })
    }

    fn check(&self, round: &Round) -> Result<Scaled> {
        let Round { reward, probability, target_probability, w, .. } = *round;
        let scaled = self.in_range(reward);
        if !(0.0..=1.0).contains(&scaled) {
            let (low, high) = (Shown(self.low), Shown(self.low + self.width));
            return Err(match reward.is_finite() {
                true => self.refusal("reward", &format!("in reward_range ({low}, {high})"), reward),
                false => self.refusal("reward", "finite", reward),
            });
        }
        if !(probability > 0.0 && probability <= 1.0 + ROUNDING) {
            return Err(self.refusal("probability", "in (0, 1]", probability));
        }
        self.check_target(target_probability, "target_probability")?;
        if w > LARGEST_WEIGHT {
            return Err(self.too_large("w", w, LARGEST_WEIGHT));
        }
        let mut checked = Scaled {
            w,
            reward: scaled,
            prediction: 0.0,
            target_value: 0.0,
            other_value: 0.0,
            weight: self.weight(target_probability, probability)?,
            other_weight: 0.0,
        };
        // A difference takes the model if there is one.
        let has_model = self.kind == Kind::Difference && !round.target_value.is_nan();
        if self.kind.needs_model() || has_model {
            checked.prediction = self.scaled(round.prediction, "prediction")?;
            checked.target_value = self.scaled(round.target_value, "target_value")?;
        }
        if self.kind == Kind::Difference {
            self.check_target(round.other_probability, "other_probability")?;
            checked.other_weight = self.weight(round.other_probability, probability)?;
            match has_model {
                true => checked.other_value = self.scaled(round.other_value, "other_value")?,
                false => checked.prediction = self.running_mean(0.5),
            }
        }
        Ok(checked)
    }

    /// The running ratio, with one observation of `prior`.
    #[inline]
    fn running_mean(&self, prior: f64) -> f64 {
        let [weights, sum] = self.state.running;
        (prior + sum) / (1.0 + weights)
    }

    /// The part of a shift of all rewards that the estimate contains: rewards are scaled, IPS is not invariant.
    fn shift(&self) -> f64 {
        self.low / self.width
    }

    /// In units of the reward.
    fn unscaled(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Difference | Kind::Ips => self.width * value,
            _ => self.low + self.width * value,
        }
    }

    #[inline]
    fn learn(&mut self, round: &Round, x: &Scaled) {
        let Scaled { w, reward, prediction, target_value, .. } = *x;
        let used = self.kind.used(x.weight, self.max_weight);
        let others_weight = others(round.probability, round.target_probability);
        let possible = self.kind.used(others_weight, self.max_weight);
        let reach = used.max(possible);
        let reduced = used < x.weight && self.kind != Kind::DrOs;
        self.state.weights.update(x.weight, others_weight, w, reduced);
        match self.kind {
            Kind::Ips => {
                let shift = self.shift();
                let (gained, lost) = (used * reward, used * (1.0 - reward));
                let state = &mut self.state;
                state.sums.update([w, w * (gained + used * shift), 0.0, 0.0]);
                for (sequence, number) in [(&mut state.sequence, gained), (&mut state.complement, lost)] {
                    // Not above 1, so that no round can fall short by more, however large its weight.
                    let centre = sequence.centre(0.5).min(1.0);
                    sequence.update(number, centre, (centre, reach), w);
                }
            }
            Kind::Snips => {
                let mean = self.running_mean(0.5);
                let state = &mut self.state;
                state.sums.update([w, 0.0, w * used * reward, w * used]);
                let number = mean + used * (reward - mean);
                state.sequence.update(number, mean, (reach * mean, reach * (1.0 - mean)), w);
                state.running[0] += w * used;
                state.running[1] += w * used * reward;
            }
            Kind::Replay => {
                let q = w * round.target_probability;
                self.state.sums.update([w, 0.0, q * reward, q]);
                self.state.reach = self.state.reach.max(w);
            }
            Kind::Difference => {
                let other = self.kind.used(x.other_weight, self.max_weight);
                let possible_other =
                    self.kind.used(others(round.probability, round.other_probability), self.max_weight);
                let reach = reach.max(other).max(possible_other);
                let value = target_value - x.other_value;
                let number = value + (used - other) * (reward - prediction);
                self.learn_number(number, value, reach, w);
                self.state.sums.update([w, w * number, 0.0, 0.0]);
                self.state.running[0] += w;
                self.state.running[1] += w * reward;
            }
            Kind::Sndr => {
                let mean = self.running_mean(0.0);
                let residual = reward - prediction;
                self.state.sums.update([w, w * target_value, w * used * residual, w * used]);
                self.learn_number(target_value + used * residual + mean * (1.0 - used), target_value, reach, w);
                self.state.running[0] += w * used;
                self.state.running[1] += w * used * residual;
            }
            Kind::Dm => {
                self.learn_number(target_value, target_value, 0.0, w);
                self.state.sums.update([w, w * target_value, 0.0, 0.0]);
            }
            Kind::Dr | Kind::SwitchDr | Kind::DrOs => {
                let number = target_value + used * (reward - prediction);
                self.learn_number(number, target_value, reach, w);
                self.state.sums.update([w, w * number, 0.0, 0.0]);
            }
        }
    }

    /// Receive a number that consists of a value and of a residual of at most 1 with a weight of at most `reach`.
    #[inline]
    fn learn_number(&mut self, number: f64, value: f64, reach: f64, w: f64) {
        let sequence = &mut self.state.sequence;
        let prior = if self.kind == Kind::Difference { 0.0 } else { 0.5 };
        let centre = sequence.centre(prior);
        // Predictions may lie outside the range of the rewards; so may single numbers then.
        let down = (centre - value + reach).max(centre - number).max(0.0);
        let up = (value + reach - centre).max(number - centre).max(0.0);
        sequence.update(number, centre, (down, up), w);
    }

    fn sequence(&self, coverage: f64) -> (f64, f64) {
        let tail = 0.5 * (1.0 - coverage);
        let state = &self.state;
        let (low, high) = match self.kind {
            Kind::Ips => (state.sequence.lower(tail), 1.0 - state.complement.lower(tail)),
            Kind::Replay => {
                let [_, _, q, r] = state.sums.total();
                let products = [state.sums.product(2, 2), state.sums.product(2, 3), state.sums.product(3, 3)];
                of_ratio([q, r], products, state.reach, tail)
            }
            _ => (state.sequence.lower(tail), state.sequence.upper(tail)),
        };
        let (least, most) = if self.kind == Kind::Difference { (-1.0, 1.0) } else { (0.0, 1.0) };
        let offset = if self.kind == Kind::Difference { 0.0 } else { self.low };
        let unscaled = |end: f64| offset + self.width * end.clamp(least, most);
        (unscaled(low), unscaled(high))
    }
}

impl Part for Estimator {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        let valid = state.sums.is_valid()
            && state.sequence.is_valid()
            && state.complement.is_valid()
            && state.weights.is_valid()
            && state.running.iter().chain([&state.reach]).all(|number| number.is_finite())
            && state.running[0] >= 0.0;
        require(self.name, valid, "a sum is not possible")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.sums.memory()
    }
}

impl PolicyEstimator for Estimator {
    fn needs(&self) -> Needs {
        Needs { model: self.kind.needs_model(), other: self.kind == Kind::Difference }
    }

    #[inline]
    fn update(&mut self, round: &Round) -> Result<()> {
        let scaled = self.check(round)?;
        self.learn(round, &scaled);
        Ok(())
    }

    fn value(&self) -> f64 {
        self.unscaled(self.kind.form().value(self.state.sums.total()))
    }

    fn interval(&self, kind: Interval, coverage: f64) -> (f64, f64) {
        let (form, sums) = (self.kind.form(), &self.state.sums);
        let (low, high) = match kind {
            Interval::Sequence => return self.sequence(coverage),
            Interval::Normal => sums.normal_interval(form, coverage),
            Interval::Bootstrap { resamples, seed } => sums.bootstrap_interval(form, coverage, resamples, seed),
        };
        (self.unscaled(low), self.unscaled(high))
    }

    fn weights(&self, coverage: f64) -> Summary {
        self.state.weights.summary(coverage)
    }

    fn merge(&mut self, other: &[u8], sign: f64) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.state.clone();
        next.sums.merge(&theirs.state.sums, sign);
        next.sequence.merge(&theirs.state.sequence, sign);
        next.complement.merge(&theirs.state.complement, sign);
        next.weights.merge(&theirs.state.weights, sign);
        next.running[0] = (next.running[0] + sign * theirs.state.running[0]).max(0.0);
        next.running[1] += sign * theirs.state.running[1];
        next.reach = next.reach.max(theirs.state.reach);
        self.state = next;
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn PolicyEstimator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::held::PolicyEstimator as Held;

    const ABSENT: f64 = f64::NAN;

    fn round(reward: f64, probability: f64, target_probability: f64, prediction: f64, target_value: f64) -> Round {
        let (other_probability, other_value) = (ABSENT, ABSENT);
        Round {
            reward,
            probability,
            target_probability,
            prediction,
            target_value,
            other_probability,
            other_value,
            w: 1.0,
        }
    }

    fn told(name: &str, parameters: serde_json::Value) -> Held {
        let mut held = Held::new(&json!({ "name": name, "parameters": parameters })).expect("declared");
        // Weights 2, 0.5 and 4.
        for round in
            [round(1.0, 0.4, 0.8, 0.5, 0.6), round(0.0, 0.4, 0.2, 0.5, 0.6), round(1.0, 0.2, 0.8, 0.75, 0.7)]
        {
            held.update(&round).expect("a good round");
        }
        held
    }

    #[test]
    fn worked_by_hand() {
        let residuals = 2.0 * 0.5 - 0.5 * 0.5 + 4.0 * 0.25;
        for (name, parameters, expected) in [
            ("IPS", json!({}), (2.0 + 4.0) / 3.0),
            ("IPS", json!({ "max_weight": 3.0 }), (2.0 + 3.0) / 3.0),
            // Rewards 11, 10 and 11 in place of 1, 0 and 1 are below.
            ("SNIPS", json!({}), (2.0 + 4.0) / 6.5),
            ("DM", json!({}), 1.9 / 3.0),
            ("DR", json!({}), (1.9 + residuals) / 3.0),
            ("SNDR", json!({}), 1.9 / 3.0 + residuals / 6.5),
            ("SwitchDR", json!({ "max_weight": 3.0 }), (1.9 + residuals - 1.0) / 3.0),
            // λ = 16: weights 32/20, 8/16.25 and 64/32.
            ("DRos", json!({ "max_weight": 2.0 }), (1.9 + 1.6 * 0.5 - 8.0 / 16.25 * 0.5 + 2.0 * 0.25) / 3.0),
            ("Replay", json!({}), 1.6 / 1.8),
        ] {
            let held = told(&format!("policy_evaluation.{name}"), parameters);
            assert!((held.estimator().value() - expected).abs() < 1e-12, "{name} {}", held.estimator().value());
        }
    }

    #[test]
    fn rewards_in_other_units_have_values_in_those_units() {
        let mut ips =
            Held::new(&json!({ "name": "policy_evaluation.IPS", "parameters": { "reward_range": [-5.0, 20.0] } }))
                .expect("declared");
        for (reward, target) in [(11.0, 0.8), (-4.0, 0.2)] {
            ips.update(&round(reward, 0.4, target, ABSENT, ABSENT)).expect("a good round");
        }
        assert!((ips.estimator().value() - (22.0 - 2.0) / 2.0).abs() < 1e-12);
        let (low, high) = ips.interval(Interval::Sequence, 0.95).expect("a good coverage");
        assert_eq!((low, high), (-5.0, 20.0));
    }

    #[test]
    fn a_refused_round_changes_nothing() {
        let mut dr = told("policy_evaluation.DR", json!({}));
        let before = dr.save().expect("a state");
        for (bad, message) in [
            (round(2.0, 0.5, 0.5, 0.5, 0.5), "reward must be in reward_range (0, 1), got 2"),
            (round(0.5, 0.0, 0.5, 0.5, 0.5), "probability must be in (0, 1], got 0"),
            (round(0.5, 0.5, 1.1, 0.5, 0.5), "target_probability must be in [0, 1], got 1.1"),
            (round(0.5, 0.5, 0.5, ABSENT, 0.5), "prediction must be finite, got NaN"),
            (
                round(0.5, 1e-20, 0.5, 0.5, 0.5),
                "the weight target_probability / probability must be at most 1000000000000, got 5e19",
            ),
        ] {
            let fault = dr.update(&bad).expect_err("a bad round");
            assert_eq!(fault.message(), format!("policy_evaluation.DR: {message}"));
            assert_eq!(dr.save().expect("a state"), before);
        }
    }
}
