//! KL-UCB: upper confidence bounds by relative entropy (Garivier and Cappé, 2011, COLT, algorithm 1).
//!
//! The bound of an action with mean m of n_a rewards, after n rewards, is the largest q with
//! n_a d(m, q) ≤ ln n + c ln ln n, with d(p, q) = p ln(p/q) + (1 − p) ln((1 − p)/(1 − q)). For rewards in [0, 1]; the paper
//! proves its bound for c = 3 and recommends c = 0. For rewards 0 and 1 no policy loses less in the long run.

use serde::{Deserialize, Serialize};

use super::means::{share_among_best, Means};
use super::{state_of, ACTIONS, MAX_ACTIONS, MAX_PENDING, MERGED_MEANS, RANGE, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::policy::{Feedback, Policy};

const NAME: &str = "bandit.KLUCB";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Policy,
    words: "The action with the highest upper confidence bound by relative entropy",
    merge: MERGED_MEANS,
    parameters: &[
        Parameter::new(
            "c",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.0),
            "factor of ln ln n in the bounds; 3 in the theory, 0 in practice",
        ),
        RANGE,
        ACTIONS,
        MAX_ACTIONS,
        MAX_PENDING,
        SEED,
    ],
    build: |arguments| {
        let (c, range) = (arguments.float("c")?, arguments.reward_range()?);
        Ok(Built::Policy(Box::new(KlUcb { c, range, state: State::default() })))
    },
};

#[derive(Clone)]
struct KlUcb {
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

state_of!(KlUcb, merged);

/// Relative entropy of two Bernoulli distributions, for p in [0, 1] and q in (0, 1).
fn divergence(p: f64, q: f64) -> f64 {
    let term = |a: f64, b: f64| if a > 0.0 { a * ln(a / b) } else { 0.0 };
    term(p, q) + term(1.0 - p, 1.0 - q)
}

/// The largest q with d(p, q) ≤ `budget`, by Newton's method from above, where it converges without overshooting.
fn upper_bound(p: f64, budget: f64) -> f64 {
    if p <= 0.0 {
        return 1.0 - exp(-budget);
    }
    if p >= 1.0 || budget <= 0.0 {
        return p.min(1.0);
    }
    // Pinsker's inequality, and p ln(p/q) ≥ p ln p.
    let pinsker = p + (0.5 * budget).sqrt();
    let rest = (1.0 - p) * exp(-(budget - p * ln(p)) / (1.0 - p));
    let mut q = pinsker.min(1.0 - rest);
    for _ in 0..50 {
        if q >= 1.0 {
            return 1.0;
        }
        let excess = divergence(p, q) - budget;
        let next = q - excess * q * (1.0 - q) / (q - p);
        if excess <= 0.0 || next >= q || next <= p {
            break;
        }
        q = next;
    }
    q
}

impl Policy for KlUcb {
    fn reward_range(&self) -> Option<(f64, f64)> {
        Some(self.range)
    }

    fn probabilities(&self, actions: &[u32], out: &mut Vec<f64>) {
        let n = (self.state.n as f64).max(1.0);
        let budget = ln(n) + self.c * ln(ln(n).max(1.0));
        let means = &self.state.means;
        let mut best = f64::NEG_INFINITY;
        out.clear();
        out.extend(actions.iter().map(|&action| {
            let (mean, count) = (means.optimistic(action), means.count(action));
            // A bound below the best one so far need not be computed.
            let is_below = best < 1.0 && mean < best && count * divergence(mean, best) > budget;
            let bound = match (mean == f64::INFINITY, is_below) {
                (true, _) => f64::INFINITY,
                (_, true) => f64::NEG_INFINITY,
                _ => upper_bound(mean, budget / count),
            };
            best = best.max(bound);
            bound
        }));
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
    fn the_bound_has_the_divergence() {
        for p in [1e-9, 0.01, 0.3, 0.5, 0.9, 0.999_999] {
            for budget in [1e-9, 1e-3, 0.1, 1.0, 20.0] {
                let q = upper_bound(p, budget);
                assert!(q >= p && q <= 1.0);
                let error = if q < 1.0 - 1e-12 { (divergence(p, q) / budget - 1.0).abs() } else { 0.0 };
                assert!(error < 1e-6, "{p} {budget} {q} {error}");
            }
        }
        // All losses: −ln(1 − q) = budget.
        assert!((upper_bound(0.0, 0.5) - (1.0 - (-0.5_f64).exp())).abs() < 1e-15);
        assert_eq!((upper_bound(1.0, 0.5), upper_bound(0.3, 0.0)), (1.0, 0.3));
    }

    #[test]
    fn worked_by_hand() {
        // Rewards 1, 0 of action 0 and 0 of action 1, n = 3, budget ln 3. Action 0: 2 d(0.5, q) = ln 3 gives
        // −ln(4 q (1 − q)) = ln 3, q (1 − q) = 1/12, q = 0.9082. Action 1: −ln(1 − q) = ln 3, q = 2/3.
        let mut policy = KlUcb { c: 0.0, range: (0.0, 1.0), state: State::default() };
        learn(&mut policy, 2, 1.0, &[(0, 1.0), (0, 0.0), (1, 0.0)]);
        assert!((upper_bound(0.5, 3_f64.ln() / 2.0) - 0.908_248_290_463_863).abs() < 1e-9);
        assert!((upper_bound(0.0, 3_f64.ln()) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(probabilities(&policy, &[0, 1]), [1.0, 0.0]);
        assert_eq!(probabilities(&policy, &[1, 0, 2]), [0.0, 0.0, 1.0]);
    }
}
