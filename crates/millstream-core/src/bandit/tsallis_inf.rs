//! Tsallis-INF: one policy that is nearly optimal for random rewards and for those of an adversary (Zimmert and Seldin,
//! 2021, Journal of Machine Learning Research 22, algorithm 1, with the plain importance-weighted estimator).
//!
//! p_a = 4 / (η_t (L_a − x))², with L_a the sum of loss / p_a over the rewards of a, η_t = 2/√t, and x < min L such that the sum
//! is 1. The expected regret is at most 4 √(k T) + 1 against an adversary, and grows with ln T for random rewards (theorem 1).

use serde::{Deserialize, Serialize};

use super::gains::Sums;
use super::means::Means;
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.TsallisINF";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "Nearly optimal for random rewards and for those of an adversary",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(2.0),
            "factor of the rate 1/√t of the weights; 2 in the paper",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (rate, range) = (arguments.float("rate")?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(TsallisInf { rate, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct TsallisInf {
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

state_of!(TsallisInf);

/// Replace losses by their probabilities.
fn weights(losses: &mut [f64], rate: f64) {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    // y = η (L − x) / 2 with weights 1/y²: the least loss has y₀ in [1, √k]. The sum of the weights is convex and falls with
    // y₀, so Newton's method from 1 does not overshoot.
    for loss in losses.iter_mut() {
        *loss = 0.5 * rate * (*loss - least);
    }
    let mut y = 1.0;
    for _ in 0..100 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for &loss in losses.iter() {
            let inverse = 1.0 / (loss + y);
            let weight = inverse * inverse;
            sum += weight;
            slope += 2.0 * weight * inverse;
        }
        let step = (sum - 1.0) / slope;
        y += step;
        if step <= 1e-13 * y {
            break;
        }
    }
    let mut sum = 0.0;
    for loss in losses.iter_mut() {
        let inverse = 1.0 / (*loss + y);
        *loss = inverse * inverse;
        sum += *loss;
    }
    losses.iter_mut().for_each(|weight| *weight /= sum);
}

impl Policy for TsallisInf {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn uses_probability(&self) -> bool {
        true
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        self.state.losses.write(actions, out);
        weights(out, self.rate / (self.state.n as f64 + 1.0).sqrt());
    }

    fn learn(&mut self, feedback: Feedback<'_>) -> Result<()> {
        self.state.losses.admit(feedback.actions);
        self.state.losses.add(feedback.action, (1.0 - feedback.reward) / feedback.probability);
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
        // A reward of 0 taken with probability 0.5: L = (2, 0), and η₂ = √2. p = 4/(η (L − x))² means 1/√p = η (L − x)/2, so
        // 1/√p₀ − 1/√p₁ = η (L₀ − L₁)/2 = √2, with p₀ + p₁ = 1: p₀ = 0.15942 and p₁ = 0.84058.
        let mut policy = TsallisInf { rate: 2.0, range: (0.0, 1.0), state: State::default() };
        near(&probabilities(&policy, &[0, 1, 2]), &[1.0 / 3.0; 3], 1e-12);
        learn(&mut policy, 2, 0.5, &[(0, 0.0)]);
        let found = probabilities(&policy, &[0, 1]);
        near(&found, &[0.159_42, 0.840_58], 1e-4);
        assert!((1.0 / found[0].sqrt() - 1.0 / found[1].sqrt() - 2_f64.sqrt()).abs() < 1e-9, "{found:?}");
        assert!((found[0] + found[1] - 1.0).abs() < 1e-12);
        assert_eq!(probabilities(&policy, &[1]), [1.0]);
    }

    #[test]
    fn huge_losses_have_probabilities() {
        for losses in [vec![0.0; 500], vec![0.0, 1e100, 1e100], vec![1e100, 1e100 + 1.0], vec![5.0, 5.0 + 1e-13]] {
            let mut out = losses.clone();
            weights(&mut out, 1e-5);
            assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{out:?}");
            assert!(out.iter().all(|&p| p >= 0.0));
        }
    }
}
