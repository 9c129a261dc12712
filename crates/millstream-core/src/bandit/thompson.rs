//! Thompson sampling: draw a mean reward for each action from what is believed of it, and take the action with the largest
//! (Thompson, 1933, Biometrika 25; for rewards in [0, 1]: Agrawal and Goyal, 2012, COLT).
//!
//! A reward between 0 and 1 counts as that share of a success, where the paper draws a success with that probability: the
//! same mean, with less noise. The probability of an action is that its draw is the largest, by integration (`best_of`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::best_of;
use super::means::Means;
use super::posterior::{Family, Prior, DISTRIBUTION, NOISE, PRIOR, PRIOR_WEIGHT};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, MERGED_MEANS, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::numeric::random::Random;
use crate::policy::{Chance, Feedback, Policy};

const NAME: &str = "bandit.Thompson";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "The action with the largest mean reward in a draw from the beliefs",
    merge: MERGED_MEANS,
    parameters: &[DISTRIBUTION, PRIOR, PRIOR_WEIGHT, NOISE, RANGE, ACTIONS, MAX_ACTIONS, MAX_PENDING, SEED],
    build: |arguments| {
        let (prior, range) = (arguments.prior()?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(Thompson { prior, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct Thompson {
    prior: Prior,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    means: Means,
}

impl State {
    fn merge(&mut self, other: &State, codes: &[u32], sign: f64) {
        self.means.merge(&other.means, codes, sign);
    }

    fn is_valid(&self) -> bool {
        self.means.is_valid()
    }

    fn memory(&self) -> usize {
        self.means.memory()
    }
}

state_of!(Thompson, merged);

impl Policy for Thompson {
    fn reward_range(&self) -> Option<(f64, f64)> {
        (self.prior.family == Family::Beta).then_some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let beliefs = actions.iter().map(|&action| self.prior.belief(&self.state.means, action));
        best_of::probabilities(beliefs, out);
    }

    fn draw(&self, actions: &[u32], random: &mut Random, _spare: &mut Vec<f64>) -> usize {
        let (mut best, mut largest) = (0, f64::NEG_INFINITY);
        for (index, &action) in actions.iter().enumerate() {
            let drawn = self.prior.belief(&self.state.means, action).draw(random);
            if drawn > largest {
                (best, largest) = (index, drawn);
            }
        }
        best
    }

    fn draw_with_probability(
        &self,
        actions: &[u32],
        random: &mut Random,
        spare: &mut Vec<f64>,
    ) -> (usize, Chance) {
        // The integral takes a hundred times as long as the draw.
        let index = self.draw(actions, random, spare);
        let beliefs = actions.iter().map(|&action| self.prior.belief(&self.state.means, action)).collect();
        (index, Chance::Late(Arc::new(best_of::Contest::new(beliefs, index))))
    }

    fn check_reward(&self, reward: f64) -> Result<()> {
        self.prior.check(reward)
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        self.state.means.add(feedback.action, feedback.reward);
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

    fn policy(family: Family) -> Thompson {
        let prior = Prior { family, mean: 0.5, weight: 2.0, noise: 1.0 };
        Thompson { prior, range: (0.0, 1.0), state: State::default() }
    }

    #[test]
    fn worked_by_hand() {
        // A reward of 1 makes Beta(1, 1) a Beta(2, 1), whose mean 2/3 is the probability to exceed a uniform draw.
        let mut policy = policy(Family::Beta);
        learn(&mut policy, 2, 1.0, &[(0, 1.0)]);
        near(&probabilities(&policy, &[0, 1]), &[2.0 / 3.0, 1.0 / 3.0], 1e-6);
        near(&probabilities(&policy, &[1, 2]), &[0.5, 0.5], 1e-15);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        for family in [Family::Beta, Family::Gaussian, Family::Gamma] {
            let mut policy = policy(family);
            learn(&mut policy, 4, 1.0, &[(0, 0.9), (0, 0.4), (1, 0.1), (2, 0.7), (2, 0.8), (2, 0.6)]);
            let actions = [0, 1, 2, 3];
            let wanted = probabilities(&policy, &actions);
            let (mut counts, mut random, mut spare) = ([0_u32; 4], Random::new(11, 4), Vec::new());
            (0..40_000).for_each(|_| counts[policy.draw(&actions, &mut random, &mut spare)] += 1);
            let fit = crate::sampler::testing::fits(&counts, &wanted);
            assert!(fit > 1e-3, "{family:?} {counts:?} {wanted:?}");
        }
    }
}
