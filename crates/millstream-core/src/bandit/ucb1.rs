//! UCB1: the action with the highest upper confidence bound (Auer, Cesa-Bianchi and Fischer, 2002, Machine Learning 47,
//! figure 1).
//!
//! The bound of an action with mean m of n_a rewards, after n rewards of all actions, is m + √(c ln n / n_a), with c = 2 in the
//! paper, for rewards in [0, 1]. Its regret is at most 8 Σ ln n / Δ_a + (1 + π²/3) Σ Δ_a (theorem 1).

use serde::{Deserialize, Serialize};

use super::means::{share_among_best, Means};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, MERGED_MEANS, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.UCB1";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "The action with the highest upper confidence bound",
    merge: MERGED_MEANS,
    parameters: &[
        Parameter::new(
            "exploration",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(2.0),
            "factor of the squared width of the bounds; 2 in the paper, and smaller values explore less",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (exploration, range) = (arguments.float("exploration")?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(Ucb1 { exploration, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct Ucb1 {
    exploration: f64,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    means: Means,
    /// Number of rewards.
    n: u64,
}

impl State {
    fn merge(&mut self, other: &State, codes: &[u32], sign: f64) {
        self.means.merge(&other.means, codes, sign);
        self.n = (self.n as f64 + sign * other.n as f64).max(0.0) as u64;
    }

    fn is_valid(&self) -> bool {
        self.means.is_valid()
    }

    fn memory(&self) -> usize {
        self.means.memory()
    }
}

state_of!(Ucb1, merged);

impl Policy for Ucb1 {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let width = self.exploration * ln((self.state.n as f64).max(1.0));
        let means = &self.state.means;
        out.clear();
        out.extend(
            actions.iter().map(|&action| means.optimistic(action) + (width / means.count(action).max(1.0)).sqrt()),
        );
        share_among_best(out);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        self.state.means.add(feedback.action, feedback.reward);
        self.state.n += 1;
        Ok(())
    }

    fn forget(&mut self, action: u32) {
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
    use crate::policy::testing::{learn, probabilities};

    #[test]
    fn worked_by_hand() {
        // Rewards 1, 0 of action 0 and 0.4 of action 1: n = 3, 2 ln 3 = 2.1972. The bounds are 0.5 + √(2.1972/2) = 1.548 and
        // 0.4 + √2.1972 = 1.882, so action 1 is taken. Another 0.4 of action 1: n = 4, 2 ln 4 = 2.7726, and the bounds
        // are 0.5 + √(2.7726/2) = 1.677 and 0.4 + the same = 1.577.
        let mut policy = Ucb1 { exploration: 2.0, range: (0.0, 1.0), state: State::default() };
        assert_eq!(probabilities(&policy, &[0, 1]), [0.5, 0.5]);
        learn(&mut policy, 2, 1.0, &[(0, 1.0), (0, 0.0)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [0.0, 1.0]);
        learn(&mut policy, 2, 1.0, &[(1, 0.4)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [0.0, 1.0]);
        learn(&mut policy, 2, 1.0, &[(1, 0.4)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [1.0, 0.0]);
        assert_eq!(probabilities(&policy, &[1, 7]), [0.0, 1.0]);
    }
}
