//! The gradient bandit: probabilities by a soft maximum of preferences, which follow the gradient of the expected reward
//! (Sutton and Barto, 2018, "Reinforcement learning", 2nd ed., section 2.8; Williams, 1992, REINFORCE with a baseline).
//!
//! After a reward r of action a, H_a += α (r − r̄)(1 − π_a), and H_b −= α (r − r̄) π_b for every other action b, with r̄ the
//! mean of the rewards before (2.12). π is the soft maximum over all known actions when the reward is learned, which a late
//! reward may find changed since its decision.

use serde::{Deserialize, Serialize};

use super::gains::{soft_max, Sums};
use super::means::Means;
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.GradientBandit";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Probabilities by preferences that follow the gradient of the reward",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Float(Bounds::new(0.0, false, 1e50, true)),
            Default::Float(0.1),
            "step of the preferences; rewards of another size need another one",
        ),
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let learning_rate = arguments.float("learning_rate")?;
        Ok(Built::Policy(Box::new(GradientBandit { learning_rate, state: State::default(), spare: Vec::new() })))
    },
};

#[derive(Clone)]
struct GradientBandit {
    learning_rate: f64,
    state: State,
    /// A buffer for probabilities.
    spare: Vec<f64>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    preferences: Sums,
    means: Means,
    /// Number and mean of all rewards.
    n: u64,
    mean: f64,
}

impl State {
    fn is_valid(&self) -> bool {
        self.preferences.is_valid() && self.means.is_valid() && self.mean.is_finite()
    }

    fn memory(&self) -> usize {
        self.preferences.memory() + self.means.memory()
    }
}

state_of!(GradientBandit);

impl Policy for GradientBandit {
    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        self.state.preferences.write(actions, out);
        soft_max(out);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        let State { preferences, means, n, mean } = &mut self.state;
        *n += 1;
        if *n == 1 {
            *mean = feedback.reward;
        }
        let step = self.learning_rate * (feedback.reward - *mean);
        *mean += (feedback.reward - *mean) / *n as f64;
        preferences.admit(feedback.actions);
        preferences.write(feedback.actions, &mut self.spare);
        soft_max(&mut self.spare);
        for (&action, probability) in feedback.actions.iter().zip(&self.spare) {
            let taken = f64::from(u8::from(action == feedback.action));
            preferences.add(action, step * (taken - probability));
        }
        means.add(feedback.action, feedback.reward);
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        self.state.preferences.forget(action);
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
        // α = 0.5. The first reward is its own baseline, so nothing moves. Then a reward of 0 of action 1, where the mean of
        // those before is 1: H₁ = 0.5 · (0 − 1) · (1 − 0.5) = −0.25 and H₀ = −0.5 · (0 − 1) · 0.5 = 0.25, so
        // π₀ = 1 / (1 + e^(−0.5)) = 0.62246.
        let mut policy = GradientBandit { learning_rate: 0.5, state: State::default(), spare: Vec::new() };
        learn(&mut policy, 2, 0.5, &[(0, 1.0)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [0.5, 0.5]);
        learn(&mut policy, 2, 0.5, &[(1, 0.0)]);
        near(&probabilities(&policy, &[0, 1]), &[0.622_459_331_201_855, 0.377_540_668_798_145], 1e-12);
        assert_eq!(policy.state.mean, 0.5);
    }
}
