//! Exp3-IX: exponential weights with implicit exploration (Neu, 2015, NIPS, algorithm 1).
//!
//! p_a is proportional to exp(−η_t L_a), with L_a the sum of loss / (p_a + γ_t) over the rewards of a, where the loss is 1 −
//! reward. With η_t = 2 γ_t = √(ln k / (k t)) the regret is, with probability 1 − δ, at most
//! 4 √(k T ln k) + (2 √(k T / ln k) + 1) ln(2/δ) (theorem 1), whenever the game ends.

use serde::{Deserialize, Serialize};

use super::gains::{soft_max, Sums};
use super::means::Means;
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.Exp3IX";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Exponential weights with implicit exploration: a bound that holds with high probability",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "factor of the rate √(ln k / (k t)) of the weights; 1 in the paper",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (rate, range) = (arguments.float("rate")?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(Exp3Ix { rate, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct Exp3Ix {
    rate: f64,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    losses: Sums,
    means: Means,
    /// Number of rewards.
    n: u64,
}

impl State {
    fn is_valid(&self) -> bool {
        self.losses.is_valid() && self.means.is_valid()
    }

    fn memory(&self) -> usize {
        self.losses.memory() + self.means.memory()
    }
}

state_of!(Exp3Ix);

impl Exp3Ix {
    /// η for so many actions, in the round of the next reward.
    fn rate(&self, actions: usize) -> f64 {
        let k = actions.max(1) as f64;
        self.rate * (ln(k) / (k * (self.state.n as f64 + 1.0))).sqrt()
    }
}

impl Policy for Exp3Ix {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn uses_probability(&self) -> bool {
        true
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let rate = self.rate(actions.len());
        self.state.losses.write(actions, out);
        out.iter_mut().for_each(|loss| *loss *= -rate);
        soft_max(out);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        let gamma = 0.5 * self.rate(feedback.actions.len());
        self.state.losses.admit(feedback.actions);
        self.state.losses.add(feedback.action, (1.0 - feedback.reward) / (feedback.probability + gamma));
        self.state.means.add(feedback.action, feedback.reward);
        self.state.n += 1;
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        self.state.losses.forget(action);
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
        // Two actions: η₁ = √(ln 2 / 2) = 0.58871 and γ₁ = 0.29435. A reward of 0 taken with probability 0.5 is a loss
        // of 1 / 0.79435 = 1.25889. η₂ = √(ln 2 / 4) = 0.41628, and exp(−0.41628 · 1.25889) = 0.59213, so
        // p₀ = 0.59213 / 1.59213 = 0.37191.
        let mut policy = Exp3Ix { rate: 1.0, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 2, 0.5, &[(0, 0.0)]);
        near(&probabilities(&policy, &[0, 1]), &[0.371_91, 0.628_09], 2e-5);
        // A reward of 1 is no loss.
        let mut policy = Exp3Ix { rate: 1.0, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 2, 0.5, &[(0, 1.0)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [0.5, 0.5]);
        assert_eq!(probabilities(&policy, &[1]), [1.0]);
    }
}
