//! Bayes-UCB: the action whose belief has the highest upper quantile (Kaufmann, Cappé and Garivier, 2012, AISTATS,
//! algorithm 1).
//!
//! Before the reward t the quantile is that of 1 − 1/(t (ln t)^c). The paper proves its bound for c = 5 and recommends c = 0.

use serde::{Deserialize, Serialize};

use super::means::{share_among_best, Means};
use super::posterior::{Belief, Family, Prior, DISTRIBUTION, NOISE, PRIOR, PRIOR_WEIGHT};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, MERGED_MEANS, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::numeric::elementary::ln;
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.BayesUCB";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "The action whose belief has the highest upper quantile",
    merge: MERGED_MEANS,
    parameters: &[
        DISTRIBUTION,
        PRIOR,
        PRIOR_WEIGHT,
        NOISE,
        Parameter::new(
            "c",
            Kind::Float(Bounds::new(0.0, true, 20.0, true)),
            Default::Float(0.0),
            "power of ln t in the quantile 1 − 1/(t (ln t)^c); 5 in the theory, 0 in practice",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (prior, c, range) = (arguments.prior()?, arguments.float("c")?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(BayesUcb { prior, c, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct BayesUcb {
    prior: Prior,
    c: f64,
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

state_of!(BayesUcb, merged);

impl BayesUcb {
    /// The probability above the quantile.
    fn above(&self) -> f64 {
        let t = self.state.n as f64 + 1.0;
        (1.0 / (t * ln(t).max(1.0).powf(self.c))).clamp(1e-10, 0.5)
    }
}

impl Policy for BayesUcb {
    fn reward_range(&self) -> Option<(f64, f64)> {
        (self.prior.family == Family::Beta).then_some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let above = self.above();
        let (mut best, mut known): (f64, Option<(Belief, f64)>) = (f64::NEG_INFINITY, None);
        out.clear();
        out.extend(actions.iter().map(|&action| {
            let belief = self.prior.belief(&self.state.means, action);
            // Equal beliefs have equal quantiles, and one below the best so far need not be computed.
            let quantile = match known {
                Some((other, quantile)) if other == belief => quantile,
                _ if best > f64::NEG_INFINITY && belief.above(best) < above * (1.0 - 1e-9) => f64::NEG_INFINITY,
                _ => belief.quantile_above(above),
            };
            if quantile > f64::NEG_INFINITY {
                known = Some((belief, quantile));
                best = best.max(quantile);
            }
            quantile
        }));
        share_among_best(out);
    }

    fn check_reward(&self, reward: f64) -> Result<()> {
        self.prior.check(reward)
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
        // After rewards 1, 0 of action 0 and 1 of action 1: t = 4, the quantile is that of 3/4. Beta(2, 2) has
        // 3q² − 2q³ = 3/4 at q = 0.67365; Beta(2, 1) has q² = 3/4, q = 0.86603.
        let prior = Prior { family: Family::Beta, mean: 0.5, weight: 2.0, noise: 1.0 };
        let mut policy = BayesUcb { prior, c: 0.0, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 2, 1.0, &[(0, 1.0), (0, 0.0), (1, 1.0)]);
        let quantile = |action| {
            let belief = prior.belief(&policy.state.means, action);
            1.0 / (1.0 + (-belief.quantile_above(policy.above())).exp())
        };
        assert!((quantile(0) - 0.673_648).abs() < 1e-5 && (quantile(1) - 0.866_025).abs() < 1e-5);
        assert_eq!(probabilities(&policy, &[0, 1]), [0.0, 1.0]);
        assert_eq!(probabilities(&policy, &[2, 3]), [0.5, 0.5]);
    }

    #[test]
    fn a_gaussian_belief_has_a_normal_quantile() {
        // Rewards 3 and 1, mean (0 + 4)/3, standard deviation 1/√3, quantile of 2/3: z = 0.430727.
        let prior = Prior { family: Family::Gaussian, mean: 0.0, weight: 1.0, noise: 1.0 };
        let mut policy = BayesUcb { prior, c: 0.0, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 1, 1.0, &[(0, 3.0), (0, 1.0)]);
        let quantile = prior.belief(&policy.state.means, 0).quantile_above(policy.above());
        assert!((quantile - (4.0 / 3.0 + 0.430_727_3 / 3_f64.sqrt())).abs() < 1e-6, "{quantile}");
    }
}
