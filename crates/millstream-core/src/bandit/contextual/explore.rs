//! Explorers: from the predicted rewards of the actions of a round to the probabilities of taking them.
//!
//! Each is a pure function of the predictions f, the number K of actions and the number t of rounds learned so far. All
//! probabilities are at least 0 and sum to 1 up to rounding. Actions with equal predictions get equal probabilities.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Bounds, Default, Kind, Parameter};
use crate::registry;
use crate::row::all_finite;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explorer {
    Greedy,
    EpsilonGreedy {
        epsilon: f64,
    },
    /// Probabilities proportional to exp(λ f).
    Softmax {
        sharpness: f64,
    },
    /// Inverse gap weighting (Foster and Rakhlin, 2020), with γ = scale · t^exponent.
    SquareCb {
        scale: f64,
        exponent: f64,
    },
    /// Confidence bounds of the regressor (Foster, Agarwal, Dudík, Luo and Schapire, 2018): Δ = mellowness · ln(K t).
    RegCb {
        mellowness: f64,
        optimistic: bool,
    },
    /// Votes of models that learn resamples of the stream.
    Bag {
        models: usize,
        greedify: bool,
    },
    /// Online cover (Agarwal et al., 2014): each policy is rewarded for actions that the ones before it leave out.
    Cover {
        policies: usize,
        psi: f64,
        epsilon: f64,
    },
}

/// Defaults of `RegCb` and `SquareCb`.
pub const MELLOWNESS: f64 = 0.01;
pub const GAMMA_SCALE: f64 = 10.0;
pub const GAMMA_EXPONENT: f64 = 0.5;

const EPSILON: Parameter = Parameter::new(
    "epsilon",
    Kind::Float(Bounds::UNIT),
    Default::Float(0.05),
    "probability of a uniformly random action",
);

pub static GREEDY: Declaration = Declaration {
    name: "bandit.explore.Greedy",
    role: Role::Explorer,
    words: "Take the action with the highest predicted reward",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Explorer(Explorer::Greedy)),
};

pub static EPSILON_GREEDY: Declaration = Declaration {
    name: "bandit.explore.EpsilonGreedy",
    role: Role::Explorer,
    words: "Take a random action with probability epsilon, otherwise the best one",
    merge: Merge::SETTING,
    parameters: &[EPSILON],
    build: |arguments| Ok(Built::Explorer(Explorer::EpsilonGreedy { epsilon: arguments.float("epsilon")? })),
};

pub static SOFTMAX: Declaration = Declaration {
    name: "bandit.explore.Softmax",
    role: Role::Explorer,
    words: "Probabilities proportional to the exponential of the predicted rewards",
    merge: Merge::SETTING,
    parameters: &[Parameter::new(
        "sharpness",
        Kind::Float(Bounds::NOT_NEGATIVE),
        Default::Float(10.0),
        "factor of the predicted rewards in the exponent; 0 is uniform",
    )],
    build: |arguments| Ok(Built::Explorer(Explorer::Softmax { sharpness: arguments.float("sharpness")? })),
};

pub static SQUARE_CB: Declaration = Declaration {
    name: "bandit.explore.SquareCB",
    role: Role::Explorer,
    words: "Inverse gap weighting: the probability of an action falls with its distance to the best",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "gamma_scale",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(GAMMA_SCALE),
            "greediness: factor of the gaps after one round",
        ),
        Parameter::new(
            "gamma_exponent",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(GAMMA_EXPONENT),
            "power of the number of rounds by which the greediness grows",
        ),
    ],
    build: |arguments| {
        let (scale, exponent) = (arguments.float("gamma_scale")?, arguments.float("gamma_exponent")?);
        Ok(Built::Explorer(Explorer::SquareCb { scale, exponent }))
    },
};

pub static REG_CB: Declaration = Declaration {
    name: "bandit.explore.RegCB",
    role: Role::Explorer,
    words: "Confidence bounds of the regressor: the highest bound, or all actions that may be best",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "mellowness",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(MELLOWNESS),
            "width of the confidence bounds",
        ),
        Parameter::new(
            "optimistic",
            Kind::Boolean,
            Default::Boolean(true),
            "whether to take the action with the highest upper bound, not each that may be best",
        ),
    ],
    build: |arguments| {
        let (mellowness, optimistic) = (arguments.float("mellowness")?, arguments.boolean("optimistic")?);
        Ok(Built::Explorer(Explorer::RegCb { mellowness, optimistic }))
    },
};

pub static BAG: Declaration = Declaration {
    name: "bandit.explore.Bag",
    role: Role::Explorer,
    words: "Votes of several models, each of which learns a resample of the stream",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new("n_models", Kind::Integer { low: 1, high: 1000 }, Default::Integer(5), "number of models"),
        Parameter::new(
            "greedify",
            Kind::Boolean,
            Default::Boolean(false),
            "whether the first model learns every round once",
        ),
    ],
    build: |arguments| {
        let (models, greedify) = (arguments.size("n_models")?, arguments.boolean("greedify")?);
        Ok(Built::Explorer(Explorer::Bag { models, greedify }))
    },
};

pub static COVER: Declaration = Declaration {
    name: "bandit.explore.Cover",
    role: Role::Explorer,
    words: "A small set of good policies that differ: each is rewarded for what the ones before it leave out",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "n_policies",
            Kind::Integer { low: 1, high: 1000 },
            Default::Integer(5),
            "number of policies",
        ),
        Parameter::new("psi", Kind::Float(Bounds::NOT_NEGATIVE), Default::Float(1.0), "reward of differing"),
        EPSILON,
    ],
    build: |arguments| {
        Ok(Built::Explorer(Explorer::Cover {
            policies: arguments.size("n_policies")?,
            psi: arguments.float("psi")?,
            epsilon: arguments.float("epsilon")?,
        }))
    },
};

impl Explorer {
    /// The number of models that it needs.
    pub fn models(self) -> usize {
        match self {
            Explorer::Bag { models, .. } => models,
            Explorer::Cover { policies, .. } => policies,
            _ => 1,
        }
    }

    /// The probabilities of the actions with predicted rewards `f` after `t` learned rounds; for explorers that need more
    /// than the predictions of one model, those of the greedy choice.
    pub fn probabilities(self, f: &[f64], t: f64, out: &mut Vec<f64>) {
        match self {
            Explorer::EpsilonGreedy { epsilon } => {
                greedy(f, out);
                mix_uniform(epsilon, out);
            }
            Explorer::Softmax { sharpness } => softmax(f, sharpness, out),
            Explorer::SquareCb { scale, exponent } => inverse_gaps(f, scale * t.powf(exponent), out),
            _ => greedy(f, out),
        }
    }
}

/// The probabilities that a described explorer gives to actions with these predicted rewards, after `t` learned rounds.
pub fn explored(description: &serde_json::Value, rewards: &[f64], t: f64) -> Result<Vec<f64>> {
    let Built::Explorer(explorer) = registry::build_resolved(&registry::resolve(description)?)? else {
        return Err(Fault::wrong_type("bandit.explore: this is not an explorer"));
    };
    if rewards.is_empty() || !all_finite(rewards) || !(t >= 0.0 && t.is_finite()) {
        return Err(Fault::value(
            "bandit.explore: rewards must be one or more finite numbers, and t a number >= 0",
        ));
    }
    let mut out = Vec::new();
    explorer.probabilities(rewards, t, &mut out);
    Ok(out)
}

/// The largest of some numbers.
pub fn largest(f: &[f64]) -> f64 {
    f.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The actions with the highest prediction, all with the same probability.
pub fn greedy(f: &[f64], out: &mut Vec<f64>) {
    let best = largest(f);
    let ties = f.iter().filter(|&&f| f == best).count().max(1) as f64;
    out.clear();
    out.extend(f.iter().map(|&f| if f == best { 1.0 / ties } else { 0.0 }));
}

/// (1 − ε) p + ε / K.
pub fn mix_uniform(epsilon: f64, p: &mut [f64]) {
    let share = epsilon / p.len() as f64;
    for p in p {
        *p = *p * (1.0 - epsilon) + share;
    }
}

fn softmax(f: &[f64], sharpness: f64, out: &mut Vec<f64>) {
    let best = largest(f);
    out.clear();
    // The difference is taken first: the product of large numbers may overflow.
    out.extend(f.iter().map(|&f| exp((f - best).max(f64::MIN) * sharpness)));
    normalize(out);
}

/// p_a = 1 / (K + γ (f_best − f_a)) for all but the best action, which gets the rest.
fn inverse_gaps(f: &[f64], gamma: f64, out: &mut Vec<f64>) {
    let (best, n) = (largest(f), f.len() as f64);
    let mut rest = 1.0;
    let mut ties = 0.0;
    out.clear();
    out.extend(f.iter().map(|&f| {
        if f == best {
            ties += 1.0;
            return f64::NAN;
        }
        let p = 1.0 / (n + gamma * (best - f).min(f64::MAX));
        rest -= p;
        p
    }));
    for p in out.iter_mut().filter(|p| p.is_nan()) {
        *p = rest / ties;
    }
}

/// All actions of a set with the same probability.
pub fn uniform_where(keep: impl Iterator<Item = bool>, out: &mut Vec<f64>) {
    out.clear();
    out.extend(keep.map(|keep| f64::from(u8::from(keep))));
    normalize(out);
}

/// Divide by the sum; uniform if that is 0.
pub fn normalize(p: &mut [f64]) {
    let sum: f64 = p.iter().sum();
    let uniform = 1.0 / p.len() as f64;
    for p in p {
        *p = if sum > 0.0 { *p / sum } else { uniform };
    }
}

/// Δ of `RegCb`: mellowness · ln(K t) · range².
pub fn confidence(mellowness: f64, actions: usize, t: f64, range: f64) -> f64 {
    mellowness * ln((actions as f64 * t.max(1.0)).max(1.0)) * range * range
}

/// Raise each probability to at least `least` at the expense of those above it (VW's enforce_minimum_probability).
pub fn raise_to(least: f64, p: &mut [f64]) {
    let least = least.min(1.0 / p.len() as f64);
    let (mut raised, mut above) = (0.0, 0.0);
    for &p in p.iter() {
        if p <= least {
            raised += least;
        } else {
            above += p;
        }
    }
    let scale = if above > 0.0 { (1.0 - raised) / above } else { 0.0 };
    // Numbers just above the least may fall below it by the scale; the sum stays 1 because all are divided by it.
    for p in p.iter_mut() {
        *p = if *p <= least { least } else { *p * scale };
    }
    normalize(p);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(explorer: Explorer, f: &[f64], t: f64) -> Vec<f64> {
        let mut out = Vec::new();
        explorer.probabilities(f, t, &mut out);
        out
    }

    #[test]
    fn each_by_hand() {
        assert_eq!(of(Explorer::Greedy, &[1.0, 2.0, 2.0, 0.0], 1.0), [0.0, 0.5, 0.5, 0.0]);
        // 0.8 on the best, and 0.2 / 4 on each.
        let p = of(Explorer::EpsilonGreedy { epsilon: 0.2 }, &[1.0, 2.0, 0.0, 0.0], 1.0);
        assert!(p.iter().zip([0.05, 0.85, 0.05, 0.05]).all(|(p, q)| (p - q).abs() < 1e-15), "{p:?}");
        // γ = 10 · √4 = 20; gaps 0.1 and 0.5: 1 / (3 + 2) and 1 / (3 + 10).
        let p = of(Explorer::SquareCb { scale: 10.0, exponent: 0.5 }, &[0.9, 1.0, 0.5], 4.0);
        assert!((p[0] - 0.2).abs() < 1e-15 && (p[2] - 1.0 / 13.0).abs() < 1e-15, "{p:?}");
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        // exp(10 · ln 3 / 10) = 3 times as likely.
        let p = of(Explorer::Softmax { sharpness: 10.0 }, &[0.0, 3f64.ln() / 10.0], 1.0);
        assert!((p[0] - 0.25).abs() < 1e-15 && (p[1] - 0.75).abs() < 1e-15, "{p:?}");
    }

    #[test]
    fn huge_predictions_still_give_probabilities() {
        for explorer in [
            Explorer::Greedy,
            Explorer::EpsilonGreedy { epsilon: 0.1 },
            Explorer::Softmax { sharpness: 1e300 },
            Explorer::SquareCb { scale: 1e300, exponent: 3.0 },
        ] {
            for f in [&[1e308, -1e308, 0.0][..], &[f64::MIN, f64::MAX], &[0.0]] {
                let p = of(explorer, f, 1e6);
                assert!(p.iter().all(|&p| p >= 0.0), "{explorer:?} {p:?}");
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{explorer:?} {p:?}");
            }
        }
    }

    #[test]
    fn a_least_probability_is_taken_from_the_others() {
        let mut p = [0.0, 0.5, 0.5, 0.0];
        raise_to(0.1, &mut p);
        assert!(p.iter().zip([0.1, 0.4, 0.4, 0.1]).all(|(p, q)| (p - q).abs() < 1e-15), "{p:?}");
        let mut p = [1.0, 0.0];
        raise_to(0.9, &mut p);
        assert_eq!(p, [0.5, 0.5]);
    }
}
