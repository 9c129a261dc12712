//! The candidate splits of a leaf of a regression tree, their merits, and the decision to split.
//!
//! The merit of a split is its reduction of the variance (Ikonomovska, Gama and Džeroski, 2011, "Learning model trees
//! from evolving data streams", section 4.1): var(S) − Σ_b w_b/w var(b). With the ratio r = second best / best, a leaf
//! is split if r̄ + ε < 1 by Hoeffding's bound ε, or if ε has fallen below τ.
//!
//! The paper uses the reduction of the standard deviation, sd(S) − Σ_b w_b/w sd(b), and compares its ratios. Here it is
//! the variance: its reduction is that of the squared error, and is additive. Ratios of variances are further from 1,
//! so that splits are made somewhat earlier.
//!
//! The reduction among the examples that have the feature is multiplied by their fraction, as with classes: otherwise a
//! feature that is nearly always missing could win with a handful of examples.

use super::candidates::{Candidate, Test};
use super::decision::{hoeffding_bound, Reason};
use super::histogram::Content;
use super::regression_leaf::{Feature, RegressionLeaf};
use super::regression_settings::RegressionSettings;
use super::target::Targets;

impl RegressionLeaf {
    /// The split to make now, if any, and the reason.
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
                let others = values.iter().enumerate().filter(|(index, _)| *index != code).map(|(_, value)| value);
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
        let mut propose = |test: Test, branches: &[Targets]| {
            let merit = merit(branches, settings).map(|merit| merit * self.fraction(branches));
            if let Some(merit) = merit.filter(|&merit| best.is_none_or(|best| merit > best.merit)) {
                best = Some(Candidate { slot, test, merit });
            }
        };
        match &self.features[slot] {
            Feature::Nothing => {}
            Feature::Numbers(histogram) => {
                // First the targets above each cut, from the right; then those below, from the left.
                work.clear();
                let mut above = Targets::default();
                for bin in histogram.bins().iter().rev() {
                    above.add(&bin.content);
                    work.push(above);
                }
                let mut below = Targets::default();
                let count = histogram.bins().len();
                for (index, (bin, cut)) in histogram.bins().iter().zip(histogram.cuts()).enumerate() {
                    below.add(&bin.content);
                    let above = work[count - 2 - index];
                    propose(Test::AtMost(cut), &[below, above]);
                }
            }
            Feature::Values(values) => {
                if !settings.binary_split {
                    propose(Test::Each, values);
                }
                // The rest is the sum of the values behind and before: a difference would lose digits.
                work.clear();
                let mut behind = Targets::default();
                for value in values.iter().rev() {
                    work.push(behind);
                    behind.add(value);
                }
                let mut before = Targets::default();
                for (code, value) in values.iter().enumerate() {
                    let mut rest = before;
                    rest.add(&work[values.len() - 1 - code]);
                    propose(Test::Is(code as u32), &[*value, rest]);
                    before.add(value);
                }
            }
        }
        best
    }

    /// The fraction of the leaf's own examples that have a feature, given the branches of a split on it.
    fn fraction(&self, branches: &[Targets]) -> f64 {
        let known: f64 = branches.iter().map(|branch| branch.weight).sum();
        // Sums in another order may differ by rounding.
        if known < 0.999_999 * self.own {
            known / self.own
        } else {
            1.0
        }
    }
}

/// The reduction of the variance; none if fewer than two branches have the minimum weight.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::Row;
    use crate::schema::FeatureKind;
    use crate::tree::tree_prediction::NumberPrediction;

    fn settings() -> RegressionSettings {
        let tree = registry::resolve(&serde_json::json!({ "name": "tree.HoeffdingTreeRegressor" })).unwrap();
        let arguments = tree["parameters"].as_object().unwrap();
        let settings = RegressionSettings::new(&Arguments::new("tree.HoeffdingTreeRegressor", arguments)).unwrap();
        RegressionSettings { min_samples_split: 1.0, ..settings }
    }

    fn leaf(kind: FeatureKind, rows: &[([f64; 2], f64)]) -> RegressionLeaf {
        // The initial targets of a leaf are not examples of its own.
        let origin = crate::tree::regression_leaf::Origin { targets: Targets::one(0.5, 50.0), linear: None };
        let mut leaf = RegressionLeaf::new(0, 0, origin, None);
        for (values, y) in rows {
            let x = Row::Mixed(values, &[FeatureKind::Number, kind]);
            assert!(leaf.step(x, *y, 1.0, &settings(), &mut NumberPrediction::default()));
        }
        leaf
    }

    #[test]
    fn a_feature_that_is_often_missing_gains_for_those_that_have_it() {
        // 1 to 8, of which 5 to 8 have the target 1 and the others 0; the second feature is the same where it is
        // present.
        let rows: Vec<_> = (1..=8)
            .map(|number| {
                let x = f64::from(number);
                ([x, if number % 2 == 0 { x } else { f64::NAN }], f64::from(u8::from(number > 4)))
            })
            .collect();
        let leaf = leaf(FeatureKind::Number, &rows);
        let mut work = Vec::new();
        let [all, half] = [0, 1].map(|slot| leaf.best_split(slot, &settings(), &mut work).unwrap().merit);
        // All: the variance is 8 · ¼ / 7 = 2/7, and nothing of it is left. Of 2, 4, 6, 8 it is 4 · ¼ / 3 = 1/3, which would
        // be more, but for half of the examples: 1/6.
        assert!((all - 2.0 / 7.0).abs() < 1e-12 && (half - 1.0 / 6.0).abs() < 1e-12, "{all} {half}");
    }

    #[test]
    fn one_value_against_the_rest_is_what_its_branches_say() {
        let rows: Vec<_> = (0..60u32)
            .map(|row| ([0.0, f64::from(row * row % 7)], f64::from(row % 5) + f64::from(u8::from(row % 7 == 3))))
            .collect();
        let leaf = leaf(FeatureKind::Nominal, &rows);
        let settings = RegressionSettings { binary_split: true, ..settings() };
        let best = leaf.best_split(1, &settings, &mut Vec::new()).unwrap();
        let merits: Vec<f64> = (0..leaf.values(1) as u32)
            .filter_map(|code| {
                merit(&leaf.branches(&Candidate { slot: 1, test: Test::Is(code), merit: 0.0 }), &settings)
            })
            .collect();
        let largest = merits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(merits.len() > 2 && (largest - best.merit).abs() < 1e-12, "{best:?} {merits:?}");
        let chosen = merit(&leaf.branches(&best), &settings).unwrap();
        assert!((chosen - largest).abs() < 1e-12);
    }
}
