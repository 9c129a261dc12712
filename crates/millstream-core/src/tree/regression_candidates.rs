//! Where a leaf of a regression tree could be split, how good that is, and whether it is.
//!
//! A split is as good as it reduces the variance (Ikonomovska, Gama and Džeroski, 2011, "Learning model trees from
//! evolving data streams", section 4.1): var(S) − Σ_b w_b/w var(b). A leaf is split when the reduction by the second best
//! split is a smaller part of that by the best than Hoeffding's bound leaves open: r = second / best, r̄ + ε < 1, or when
//! ε has fallen below τ.

use super::candidates::{Candidate, Test};
use super::decision::{hoeffding_bound, Reason};
use super::histogram::Content;
use super::regression_leaf::{Feature, RegressionLeaf};
use super::regression_settings::RegressionSettings;
use super::target::Targets;

impl RegressionLeaf {
    /// The split to make now, if any, and why.
    pub fn decide(&self, settings: &RegressionSettings, learned: u64) -> Option<(Candidate, Reason)> {
        if self.depth >= settings.max_depth {
            return None;
        }
        let (mut best, mut second): (Option<Candidate>, Option<Candidate>) = (None, None);
        let mut work = Vec::new();
        for slot in 0..self.features.len() {
            let Some(candidate) = self.best_split(slot, settings, &mut work) else { continue };
            if best.is_none_or(|best| candidate.merit > best.merit) {
                (best, second) = (Some(candidate), best);
            } else if second.is_none_or(|second| candidate.merit > second.merit) {
                second = Some(candidate);
            }
        }
        let best = best.filter(|best| best.merit > 0.0 && best.merit.is_finite())?;
        let second = second.filter(|second| second.merit > 0.0);
        let merit = second.map_or(0.0, |second| second.merit);
        let bound = hoeffding_bound(1.0, settings.delta, self.targets.weight);
        let clear = merit / best.merit + bound < 1.0;
        if !clear && bound >= settings.tau {
            return None;
        }
        let reason = Reason {
            learned,
            weight: self.targets.weight,
            merit: best.merit,
            second: second.map(|second| self.feature(second.slot) as u32),
            second_merit: merit,
            bound,
            tie: !clear,
        };
        Some((best, reason))
    }

    /// The number of values of a nominal feature.
    pub fn values(&self, slot: usize) -> usize {
        match self.features.get(slot) {
            Some(Feature::Values(values)) => values.len(),
            _ => 0,
        }
    }

    /// The targets in each branch of a split.
    pub fn branches(&self, candidate: &Candidate) -> Vec<Targets> {
        let sum = |parts: &mut dyn Iterator<Item = &Targets>| {
            parts.fold(Targets::default(), |mut sum, part| {
                sum.add(part);
                sum
            })
        };
        match (&self.features[candidate.slot], candidate.test) {
            (Feature::Numbers(histogram), Test::AtMost(threshold)) => {
                let (below, above): (Vec<_>, Vec<_>) =
                    histogram.bins().iter().partition(|bin| bin.mean <= threshold);
                [below, above].map(|side| sum(&mut side.into_iter().map(|bin| &bin.content))).to_vec()
            }
            (Feature::Values(values), Test::Is(code)) => {
                let code = code as usize;
                let others = values.iter().enumerate().filter(|(place, _)| *place != code).map(|(_, value)| value);
                vec![values[code], sum(&mut { others })]
            }
            (Feature::Values(values), Test::Each) => values.clone(),
            _ => Vec::new(),
        }
    }

    /// The best split on a feature; none if there is nothing to split.
    pub fn best_split(
        &self,
        slot: usize,
        settings: &RegressionSettings,
        work: &mut Vec<Targets>,
    ) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        let mut propose = |test: Test, merit: Option<f64>| {
            if let Some(merit) = merit.filter(|&merit| best.is_none_or(|best| merit > best.merit)) {
                best = Some(Candidate { slot, test, merit });
            }
        };
        match &self.features[slot] {
            Feature::Nothing => {}
            Feature::Numbers(histogram) => {
                // From the right what lies above each cut, then from the left what lies below.
                work.clear();
                let mut above = Targets::default();
                for bin in histogram.bins().iter().rev() {
                    above.add(&bin.content);
                    work.push(above);
                }
                let mut below = Targets::default();
                let count = histogram.bins().len();
                for (place, (bin, cut)) in histogram.bins().iter().zip(histogram.cuts()).enumerate() {
                    below.add(&bin.content);
                    let above = work[count - 2 - place];
                    propose(Test::AtMost(cut), merit(&[below, above], settings));
                }
            }
            Feature::Values(values) => {
                if !settings.binary_split {
                    propose(Test::Each, merit(values, settings));
                }
                for code in 0..values.len() as u32 {
                    let candidate = Candidate { slot, test: Test::Is(code), merit: 0.0 };
                    propose(Test::Is(code), merit(&self.branches(&candidate), settings));
                }
            }
        }
        best
    }
}

/// By how much the variance falls; none if fewer than two branches have the weight that a branch must have.
fn merit(branches: &[Targets], settings: &RegressionSettings) -> Option<f64> {
    let large = branches.iter().filter(|branch| branch.weight >= settings.min_samples_split).count();
    if large < 2 {
        return None;
    }
    let mut all = Targets::default();
    branches.iter().for_each(|branch| all.add(branch));
    let within: f64 = branches.iter().map(|branch| branch.weight / all.weight * branch.variance()).sum();
    Some(all.variance() - within)
}
