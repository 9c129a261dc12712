//! Sliding-window UCB: upper confidence bounds of the last τ rewards (Garivier and Moulines, 2011, ALT, section 3).
//!
//! N_a and m_a are the number and the mean of the rewards of a in the window; the bound is m_a + √(ξ ln(min(t, τ)) / N_a), for
//! rewards in [0, 1]. An action without rewards in the window is tried.

use serde::{Deserialize, Serialize};

use super::means::share_among_best;
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.SlidingWindowUCB";

const NOBODY: u32 = u32::MAX;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Upper confidence bounds of the last rewards",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "window_size",
            Kind::Integer { low: 1, high: 100_000_000 },
            Default::Integer(1000),
            "number of last rewards that count; τ in the paper",
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
        let (window_size, exploration) = (arguments.size("window_size")?, arguments.float("exploration")?);
        let range = arguments.reward_range()?;
        Ok(Built::Policy(Box::new(SlidingWindowUcb { window_size, exploration, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct SlidingWindowUcb {
    window_size: usize,
    exploration: f64,
    range: (f64, f64),
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    /// The rewards in the window, a ring: actions and rewards. A forgotten action is NOBODY.
    actions: Vec<u32>,
    rewards: Vec<f64>,
    /// The place of the next reward in the ring.
    next: usize,
    /// By code: the number and the sum of the rewards in the window.
    counts: Vec<u32>,
    sums: Vec<f64>,
}

impl State {
    fn is_valid(&self) -> bool {
        let n = self.actions.len();
        let known = |&action: &u32| action == NOBODY || (action as usize) < self.counts.len();
        let placed = self.next <= n;
        let finite = self.rewards.iter().chain(&self.sums).all(|number| number.is_finite());
        let counted: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let kept = self.actions.iter().filter(|&&action| action != NOBODY).count() as u64;
        n == self.rewards.len()
            && self.counts.len() == self.sums.len()
            && self.actions.iter().all(known)
            && placed
            && finite
            && counted == kept
    }

    fn memory(&self) -> usize {
        12 * (self.actions.capacity() + self.counts.capacity())
    }
}

state_of!(SlidingWindowUcb);

impl State {
    /// Sum the rewards of the window again, once per window: differences of sums lose digits.
    fn sum_again(&mut self) {
        self.sums.iter_mut().for_each(|sum| *sum = 0.0);
        for (&action, reward) in self.actions.iter().zip(&self.rewards) {
            if action != NOBODY {
                self.sums[action as usize] += reward;
            }
        }
    }
}

impl Policy for SlidingWindowUcb {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let width = self.exploration * ln((self.state.actions.len() as f64).max(1.0));
        out.clear();
        out.extend(actions.iter().map(|&action| match self.estimate(action) {
            (count, Some(mean)) => mean + (width / count).sqrt(),
            _ => f64::INFINITY,
        }));
        share_among_best(out);
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        let state = &mut self.state;
        if state.actions.len() == self.window_size {
            let (action, reward) = (state.actions[state.next], state.rewards[state.next]);
            if action != NOBODY {
                state.counts[action as usize] -= 1;
                state.sums[action as usize] -= reward;
            }
            state.actions[state.next] = feedback.action;
            state.rewards[state.next] = feedback.reward;
        } else {
            state.actions.push(feedback.action);
            state.rewards.push(feedback.reward);
        }
        let index = feedback.action as usize;
        if state.counts.len() <= index {
            state.counts.resize(index + 1, 0);
            state.sums.resize(index + 1, 0.0);
        }
        state.counts[index] += 1;
        state.sums[index] += feedback.reward;
        state.next = (state.next + 1) % self.window_size;
        if state.next == 0 {
            state.sum_again();
        }
        Ok(())
    }

    fn forget(&mut self, action: u32) {
        let state = &mut self.state;
        if let Some(count) = state.counts.get_mut(action as usize) {
            *count = 0;
            state.sums[action as usize] = 0.0;
            state.actions.iter_mut().filter(|other| **other == action).for_each(|other| *other = NOBODY);
        }
    }

    fn estimate(&self, action: u32) -> (f64, Option<f64>) {
        match self.state.counts.get(action as usize) {
            Some(&count) if count > 0 => {
                let count = f64::from(count);
                (count, Some(self.state.sums[action as usize] / count))
            }
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
        // A window of 3 on rewards 1 of action 0, 0 of action 1, 0.4 of action 0 and 0.9 of action 1: the first has left.
        // Counts 1 and 2, means 0.4 and 0.45; √(0.6 ln 3) = 0.8119, so the bounds are 1.212 and 0.45 + 0.574 = 1.024.
        let mut policy =
            SlidingWindowUcb { window_size: 3, exploration: 0.6, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 2, 1.0, &[(0, 1.0), (1, 0.0), (0, 0.4), (1, 0.9)]);
        assert_eq!((policy.estimate(0).0, policy.estimate(1)), (1.0, (2.0, Some(0.45))));
        assert_eq!(probabilities(&policy, &[0, 1]), [1.0, 0.0]);
        policy.exploration = 0.0;
        assert_eq!(probabilities(&policy, &[0, 1]), [0.0, 1.0]);
        // Two more of action 1, and action 0 has no reward in the window.
        learn(&mut policy, 2, 1.0, &[(1, 0.1), (1, 0.2)]);
        assert_eq!(probabilities(&policy, &[0, 1]), [1.0, 0.0]);
        policy.forget(1);
        assert_eq!((policy.estimate(1), policy.state.is_valid()), ((0.0, None), true));
        learn(&mut policy, 2, 1.0, &[(0, 0.5), (0, 0.5), (0, 0.5), (0, 0.5)]);
        assert_eq!(policy.estimate(0), (3.0, Some(0.5)));
    }
}
