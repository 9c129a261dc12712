//! Exp3: exponential weights of estimated gains, for rewards chosen by an adversary (Auer, Cesa-Bianchi, Freund and
//! Schapire, 2002, SIAM Journal on Computing 32(1), figure 1).
//!
//! p_a = (1 − γ) exp(γ G_a / k) / Σ exp(γ G_b / k) + γ/k, with G_a the sum of reward / p_a over the rewards of a. With
//! γ = min(1, √(k ln k / ((e − 1) T))) the expected regret against the best action over T rounds is at most
//! 2.63 √(T k ln k) (corollary 3.2). Without a horizon, the number of the round takes the place of T.

use serde::{Deserialize, Serialize};

use super::gains::{soft_max, Sums};
use super::means::{mix_with_uniform, Means};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.Exp3";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Exponential weights of estimated gains, for rewards chosen by an adversary",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "gamma",
            Kind::Optional(&Kind::Float(Bounds::FRACTION)),
            Default::Null,
            "share of uniform exploration, and rate of the weights; None follows the horizon or the number of rewards",
        ),
        Parameter::new(
            "horizon",
            Kind::Optional(&Kind::Integer { low: 1, high: i64::MAX }),
            Default::Null,
            "number of rounds to come, for the rate with the smallest bound",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (gamma, horizon) = (arguments.value("gamma")?.as_f64(), arguments.value("horizon")?.as_f64());
        let range = arguments.reward_range()?;
        Ok(Built::Policy(Box::new(Exp3 { gamma, horizon, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct Exp3 {
    gamma: Option<f64>,
    horizon: Option<f64>,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    gains: Sums,
    means: Means,
    /// Number of rewards.
    n: u64,
}

impl State {
    fn is_valid(&self) -> bool {
        self.gains.is_valid() && self.means.is_valid()
    }

    fn memory(&self) -> usize {
        self.gains.memory() + self.means.memory()
    }
}

state_of!(Exp3);

impl Exp3 {
    /// γ for so many actions.
    fn rate(&self, k: f64) -> f64 {
        let rounds = self.horizon.unwrap_or(self.state.n as f64 + 1.0);
        self.gamma.unwrap_or_else(|| (k * ln(k) / ((std::f64::consts::E - 1.0) * rounds)).sqrt().min(1.0))
    }
}

impl Policy for Exp3 {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn uses_probability(&self) -> bool {
        true
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let k = actions.len() as f64;
        let gamma = self.rate(k);
        self.state.gains.write(actions, out);
        out.iter_mut().for_each(|gain| *gain *= gamma / k);
        soft_max(out);
        mix_with_uniform(out, gamma);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        self.state.gains.admit(feedback.actions);
        self.state.gains.add(feedback.action, feedback.reward / feedback.probability);
        self.state.means.add(feedback.action, feedback.reward);
        self.state.n += 1;
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        self.state.gains.forget(action);
        self.state.means.forget(action);
    }

    fn estimate(&self, action: u32) -> (f64, Option<f64>) {
        (self.state.means.count(action), self.state.means.mean(action))
    }

    fn duplicate(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{learn, near, probabilities};

    #[test]
    fn worked_by_hand() {
        // γ = 0.5 and two actions: a reward of 1 taken with probability 0.5 gives G = 2. The weights are
        // exp(0.5 · 2/2) = 1.6487 and 1, so p₀ = 0.5 · 1.6487/2.6487 + 0.25 = 0.56123.
        let mut policy = Exp3 { gamma: Some(0.5), horizon: None, range: (0.0, 1.0), state: State::default() };
        assert_eq!(probabilities(&policy, &[0, 1]), [0.5, 0.5]);
        learn(&mut policy, 2, 0.5, &[(0, 1.0)]);
        near(&probabilities(&policy, &[0, 1]), &[0.561_229_665_600_927, 0.438_770_334_399_073], 1e-12);
    }

    #[test]
    fn the_rate_follows_the_horizon() {
        // √(2 ln 2 / (1.71828 · 1000)) = 0.028404.
        let policy = Exp3 { gamma: None, horizon: Some(1000.0), range: (0.0, 1.0), state: State::default() };
        assert!((policy.rate(2.0) - 0.028_404).abs() < 1e-6);
        let policy = Exp3 { horizon: None, ..policy };
        assert_eq!((policy.rate(2.0) * 1e4).round(), 8982.0);
        assert_eq!(policy.rate(1.0), 0.0);
    }
}
