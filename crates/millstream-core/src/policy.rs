//! Policies: they choose one of several actions, and learn from the reward of the action that was taken. The trait; its
//! verbs when it is held are in `bandit::decider`.

use std::fmt::Debug;
use std::sync::Arc;

use crate::fault::Result;
use crate::numeric::random::Random;
use crate::part::Part;

/// A probability that takes long to compute, and is computed when it is asked for.
pub trait LateProbability: Debug + Send + Sync {
    /// The same number in each call.
    fn value(&self) -> f64;
    /// Bytes that are kept for it.
    fn memory(&self) -> usize;
}

/// The probability of a decision.
#[derive(Clone, Debug)]
pub enum Chance {
    Known(f64),
    Late(Arc<dyn LateProbability>),
}

impl Chance {
    pub fn value(&self) -> f64 {
        match self {
            Chance::Known(probability) => *probability,
            Chance::Late(late) => late.value(),
        }
    }
}

/// What a policy learns from.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// The action that was taken.
    pub action: u32,
    pub reward: f64,
    /// The probability that it was taken with.
    pub probability: f64,
    /// All actions that the holder knows, this one among them.
    pub actions: &'a [u32],
}

/// Chooses actions without a context.
///
/// An action is a code, given by the holder. Actions come and go: each call lists those that can be taken now, and a code
/// that the policy has not met is an action without rewards. The lists are not empty and have no code twice.
pub trait Policy: Part {
    /// The range that rewards must have; `learn` then receives them scaled to [0, 1].
    fn reward_range(&self) -> Option<(f64, f64)> {
        None
    }

    /// Whether `learn` uses the probability that the action was taken with.
    fn uses_probability(&self) -> bool {
        false
    }

    /// Write the probability of each action: none is negative, and the sum is 1.
    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>);

    /// Draw an action by its probability: its index in the list. The default leaves the probabilities in `spare`.
    fn draw(&self, actions: &[u32], random: &mut Random, spare: &mut Vec<f64>) -> usize {
        self.probabilities(actions, spare);
        drawn(spare, random)
    }

    /// `draw`, with the probability of the drawn action.
    fn draw_with_probability(
        &self,
        actions: &[u32],
        random: &mut Random,
        spare: &mut Vec<f64>,
    ) -> (usize, Chance) {
        let index = self.draw(actions, random, spare);
        (index, Chance::Known(spare[index]))
    }

    /// Refuse a reward that it cannot learn; called before `learn`.
    fn check_reward(&self, _reward: f64) -> Result<()> {
        Ok(())
    }

    /// Learn a reward. After a fault the state is bit for bit what it was.
    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()>;

    /// Forget an action: its code may stand for another one afterwards.
    fn forget(&mut self, action: u32);

    /// The number of rewards of an action, and what the policy thinks of their size, on the scale of `learn`.
    fn estimate(&self, action: u32) -> (f64, Option<f64>);

    fn duplicate(&self) -> Box<dyn Policy>;
}

impl Clone for Box<dyn Policy> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// Draw an index by its probability. Never one of probability 0.
#[inline]
pub fn drawn(probabilities: &[f64], random: &mut Random) -> usize {
    let mut left = random.unit();
    let mut last = 0;
    for (index, &probability) in probabilities.iter().enumerate() {
        if probability > 0.0 {
            if left < probability {
                return index;
            }
            left -= probability;
            last = index;
        }
    }
    // The sum of the probabilities may be rounded to less than 1.
    last
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for tests.

    use super::*;

    /// Learn rewards of some of the actions 0, …, n − 1, each with this probability.
    pub fn learn(policy: &mut dyn Policy, n: u32, probability: f64, rewards: &[(u32, f64)]) {
        let actions: Vec<u32> = (0..n).collect();
        for &(action, reward) in rewards {
            policy.learn(Feedback { action, reward, probability, actions: &actions }).expect("a good reward");
        }
    }

    pub fn probabilities(policy: &dyn Policy, actions: &[u32]) -> Vec<f64> {
        let mut out = Vec::new();
        policy.probabilities(actions, &mut out);
        out
    }

    pub fn near(found: &[f64], wanted: &[f64], error: f64) {
        let close = found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() <= error);
        assert!(close && found.len() == wanted.len(), "{found:?} {wanted:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_probabilities() {
        let (probabilities, mut random) = ([0.0, 0.5, 0.0, 0.2, 0.3, 0.0], Random::new(3, 1));
        let mut counts = [0_i32; 6];
        for _ in 0..10_000 {
            counts[drawn(&probabilities, &mut random)] += 1;
        }
        assert_eq!((counts[0], counts[2], counts[5]), (0, 0, 0));
        for (index, wanted) in [(1, 5000), (3, 2000), (4, 3000)] {
            // Four standard deviations of at most 50.
            assert!((counts[index] - wanted).abs() < 200, "{counts:?}");
        }
    }
}
