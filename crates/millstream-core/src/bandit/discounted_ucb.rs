//! Discounted UCB: upper confidence bounds of rewards that count less with age (Garivier and Moulines, 2011, ALT, section 3).
//!
//! N_a = Σ γ^(t − s) over the rewards of a, n = Σ N_a, and m_a is the mean with these weights. The bound is
//! m_a + 2 √(ξ ln n / N_a), for rewards in [0, 1]. Time is counted in rewards.

use serde::{Deserialize, Serialize};

use super::means::share_among_best;
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.DiscountedUCB";

/// A weight below this one counts as none: such an action is tried again.
const NONE: f64 = 1e-9;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Upper confidence bounds of rewards that count less with age",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::new(0.0, false, 1.0, false)),
            Default::Float(0.999),
            "factor by which each reward makes earlier ones count less; γ in the paper",
        ),
        Parameter::new(
            "exploration",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.6),
            "factor of the squared width of the bounds; ξ in the paper, above 0.5 in the theory",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (forgetting, exploration) = (arguments.float("forgetting")?, arguments.float("exploration")?);
        let range = arguments.reward_range()?;
        Ok(Built::Policy(Box::new(DiscountedUcb { forgetting, exploration, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct DiscountedUcb {
    forgetting: f64,
    exploration: f64,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    /// By code: the weights and the weighted sums of rewards.
    weights: Vec<f64>,
    sums: Vec<f64>,
}

impl State {
    fn is_valid(&self) -> bool {
        let good = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
        self.weights.len() == self.sums.len() && good(&self.weights) && good(&self.sums)
    }

    fn memory(&self) -> usize {
        8 * (self.weights.capacity() + self.sums.capacity())
    }
}

state_of!(DiscountedUcb);

impl Policy for DiscountedUcb {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let State { weights, sums } = &self.state;
        let n: f64 = weights.iter().sum();
        let width = 4.0 * self.exploration * ln(n.max(1.0));
        out.clear();
        out.extend(actions.iter().map(|&action| match weights.get(action as usize) {
            Some(&weight) if weight > NONE => sums[action as usize] / weight + (width / weight).sqrt(),
            _ => f64::INFINITY,
        }));
        share_among_best(out);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        let (index, State { weights, sums }) = (feedback.action as usize, &mut self.state);
        if weights.len() <= index {
            weights.resize(index + 1, 0.0);
            sums.resize(index + 1, 0.0);
        }
        weights.iter_mut().chain(sums.iter_mut()).for_each(|number| *number *= self.forgetting);
        weights[index] += 1.0;
        sums[index] += feedback.reward;
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        if let Some(weight) = self.state.weights.get_mut(action as usize) {
            *weight = 0.0;
            self.state.sums[action as usize] = 0.0;
        }
    }

    fn estimate(&self, action: u32) -> (f64, Option<f64>) {
        match self.state.weights.get(action as usize) {
            Some(&weight) if weight > NONE => (weight, Some(self.state.sums[action as usize] / weight)),
            _ => (0.0, None),
        }
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
        // γ = 0.5; rewards 1 of action 0, then 0 and 1 of action 1. Weights 0.25 and 0.5 + 1 = 1.5, sums 0.25 and 1: means
        // 1 and 2/3. n = 1.75, and 2 √(0.6 ln 1.75) = 1.1589, so the bounds are 1 + 1.1589/√0.25 = 3.318 and
        // 2/3 + 1.1589/√1.5 = 1.613.
        let range = (0.0, 1.0);
        let mut policy = DiscountedUcb { forgetting: 0.5, exploration: 0.6, range, state: State::default() };
        learn(&mut policy, 2, 1.0, &[(0, 1.0), (1, 0.0), (1, 1.0)]);
        assert_eq!((policy.state.weights.clone(), policy.state.sums.clone()), (vec![0.25, 1.5], vec![0.25, 1.0]));
        assert_eq!(probabilities(&policy, &[0, 1]), [1.0, 0.0]);
        assert_eq!(policy.estimate(1), (1.5, Some(1.0 / 1.5)));
        // Without exploration the means decide, and action 0 still has the higher one.
        policy.exploration = 0.0;
        assert_eq!(probabilities(&policy, &[1, 0]), [0.0, 1.0]);
        // An action that was forgotten is tried again.
        policy.forget(1);
        assert_eq!(probabilities(&policy, &[1, 0]), [1.0, 0.0]);
    }
}
