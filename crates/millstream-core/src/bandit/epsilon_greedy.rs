//! ε-greedy: the action with the best mean reward so far; with probability ε any action.
//!
//! With k actions, an action has probability ε/k, and the best ones share 1 − ε in addition (Sutton and Barto, 2018,
//! "Reinforcement learning", 2nd ed., section 2.2). An action without rewards is best, so that every action is tried.
//! ε is ε₀ exp(−decay n) after n rewards, or follows a schedule: c/n gives the logarithmic regret of Auer, Cesa-Bianchi
//! and Fischer (2002, Machine Learning 47, theorem 3).

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::means::{mix_with_uniform, share_among_best, Means};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, MERGED_MEANS, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::numeric::elementary::exp;
use crate::numeric::random::Random;
use crate::optim::Schedule;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Chance, Feedback, Policy};

const NAME: &str = "bandit.EpsilonGreedy";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "The action with the best mean reward; with a small probability any action",
    merge: MERGED_MEANS,
    parameters: &[
        Parameter::new(
            "epsilon",
            Kind::Rate(Bounds::UNIT),
            Default::Float(0.1),
            "probability of any action in place of the best; a schedule is followed by the number of rewards",
        ),
        Parameter::new(
            "decay",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "rate at which epsilon decays exponentially with each reward",
        ),
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (epsilon, decay) = (arguments.rate("epsilon")?, arguments.float("decay")?);
        Ok(Built::Policy(Box::new(EpsilonGreedy { epsilon, decay, state: State::default() })))
    },
};

#[derive(Clone)]
struct EpsilonGreedy {
    epsilon: Schedule,
    decay: f64,
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    means: Means,
    /// Number of rewards.
    n: u64,
}

impl EpsilonGreedy {
    /// `policy::drawn` of the probabilities, which are two numbers and need not be written.
    #[inline]
    fn drawn(&self, actions: &[u32], random: &mut Random) -> (usize, f64) {
        let (mut best, mut ties) = (f64::NEG_INFINITY, 0_u32);
        for &action in actions {
            let value = self.state.means.optimistic(action);
            if value > best {
                (best, ties) = (value, 1);
            } else if value == best {
                ties += 1;
            }
        }
        let epsilon = self.epsilon();
        let of_others = epsilon / actions.len() as f64;
        let of_best = (1.0 - epsilon) * (1.0 / f64::from(ties.max(1))) + of_others;
        let mut left = random.unit();
        let mut last = (0, 0.0);
        for (index, &action) in actions.iter().enumerate() {
            let is_best = self.state.means.optimistic(action) == best;
            let probability = if is_best { of_best } else { of_others };
            if probability > 0.0 {
                if left < probability {
                    return (index, probability);
                }
                left -= probability;
                last = (index, probability);
            }
        }
        last
    }

    fn epsilon(&self) -> f64 {
        let n = self.state.n as f64;
        let epsilon = self.epsilon.at(n + 1.0).min(1.0);
        match self.decay > 0.0 {
            true => epsilon * exp(-self.decay * n),
            false => epsilon,
        }
    }
}

state_of!(EpsilonGreedy, merged, json | policy | json!({ "epsilon": policy.epsilon() }));

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

impl Policy for EpsilonGreedy {
    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let epsilon = self.epsilon();
        out.clear();
        out.extend(actions.iter().map(|&action| self.state.means.optimistic(action)));
        share_among_best(out);
        mix_with_uniform(out, epsilon);
    }

    fn draw(&self, actions: &[u32], random: &mut Random, _spare: &mut Vec<f64>) -> usize {
        self.drawn(actions, random).0
    }

    fn draw_with_probability(
        &self,
        actions: &[u32],
        random: &mut Random,
        _spare: &mut Vec<f64>,
    ) -> (usize, Chance) {
        let (index, probability) = self.drawn(actions, random);
        (index, Chance::Known(probability))
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
    use crate::policy::testing::{learn, near, probabilities};

    fn policy(epsilon: f64, decay: f64) -> EpsilonGreedy {
        EpsilonGreedy { epsilon: Schedule::Constant(epsilon), decay, state: State::default() }
    }

    #[test]
    fn worked_by_hand() {
        // Before any reward all are equal. After a reward of 1 for action 0, actions 1 and 2 are untried, so they share
        // 1 − ε = 0.7 and all share 0.3: 0.1, 0.1 + 0.35, 0.1 + 0.35.
        let mut policy = policy(0.3, 0.0);
        assert_eq!(probabilities(&policy, &[0, 1, 2, 3]), [0.25; 4]);
        learn(&mut policy, 3, 1.0, &[(0, 1.0)]);
        near(&probabilities(&policy, &[0, 1, 2]), &[0.1, 0.45, 0.45], 1e-15);
        // The means are 1, 0.5 and (3 + 0)/2 = 1.5: action 2 is best. Without it action 0 is.
        learn(&mut policy, 3, 1.0, &[(1, 0.5), (2, 3.0), (2, 0.0)]);
        near(&probabilities(&policy, &[0, 1, 2]), &[0.1, 0.1, 0.8], 1e-15);
        near(&probabilities(&policy, &[1, 0]), &[0.15, 0.85], 1e-15);
        assert_eq!(probabilities(&policy, &[1]), [1.0]);
    }

    #[test]
    fn draws_are_those_of_the_written_probabilities() {
        let (mut one, mut other, mut spare) = (Random::new(1, 1), Random::new(1, 1), Vec::new());
        for epsilon in [0.0, 0.1, 1.0] {
            let mut policy = policy(epsilon, 0.0);
            for round in 0..200_u32 {
                let actions: Vec<u32> = (0..1 + round % 7).collect();
                let (index, chance) = policy.draw_with_probability(&actions, &mut one, &mut spare);
                policy.probabilities(&actions, &mut spare);
                assert_eq!((index, chance.value()), (crate::policy::drawn(&spare, &mut other), spare[index]));
                learn(&mut policy, 7, 1.0, &[(actions[index], f64::from(round % 3))]);
            }
        }
    }

    #[test]
    fn epsilon_decays_with_the_rewards() {
        // ε₂ = 0.4 exp(−0.5 · 2) = 0.147152.
        let mut decaying = policy(0.4, 0.5);
        learn(&mut decaying, 2, 1.0, &[(0, 1.0), (1, 0.0)]);
        assert!((decaying.epsilon() - 0.147_151_776).abs() < 1e-9);
        let mut scheduled = policy(0.0, 0.0);
        scheduled.epsilon = Schedule::InverseScaling { rate: 5.0, power: 1.0 };
        assert_eq!(scheduled.epsilon(), 1.0);
        scheduled.state.n = 9;
        assert_eq!(scheduled.epsilon(), 0.5);
    }
}
