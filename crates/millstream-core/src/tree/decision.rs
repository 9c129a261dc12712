//! The decision to split a leaf: Hoeffding's bound (Domingos and Hulten, 2000, "Mining high-speed data streams",
//! section 2).
//!
//! With n examples, the mean of a quantity of range R is within ε = √(R² ln(1/δ) / 2n) of its expectation with
//! probability 1 − δ. The best split is made if its merit exceeds that of the second best by more than ε, or if ε has
//! fallen below τ: then the two are practically equal. n is the total weight of the leaf, including the initial weight
//! from its parent's split (measurements: docs/notes/trees.md). Not splitting, with merit 0, competes too (pre-pruning,
//! section 3 of the paper).

use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, Workspace};
use super::leaf::Leaf;
use super::settings::ClassificationSettings;

/// When and why a split was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Number of examples that the tree had learned.
    pub learned: u64,
    /// The weight in the leaf.
    pub weight: f64,
    pub merit: f64,
    /// The second best feature; none if that was not splitting.
    pub second: Option<u32>,
    pub second_merit: f64,
    pub bound: f64,
    /// Whether the bound was below tau.
    pub tie: bool,
}

pub fn hoeffding_bound(range: f64, delta: f64, n: f64) -> f64 {
    (range * range * (1.0 / delta).ln() / (2.0 * n)).sqrt()
}

impl Leaf {
    /// The split to make now, if any, and the reason.
    pub fn decide(
        &self,
        settings: &ClassificationSettings,
        learned: u64,
        work: &mut Workspace,
    ) -> Option<(Candidate, Reason)> {
        let weight = self.weight();
        let largest = self.counts.iter().copied().fold(0.0, f64::max);
        let present = self.counts.iter().filter(|&&count| count > 0.0).count();
        if self.depth >= settings.max_depth || present < 2 || largest / weight > settings.max_share_to_split {
            return None;
        }
        let bound = hoeffding_bound(settings.criterion.range(present), settings.delta, weight);
        let tie = bound < settings.tau;
        if !tie && self.is_hopeless(settings, bound, work) {
            return None;
        }
        self.decide_exactly(settings, learned, bound, tie, work)
    }

    /// The decision from exact gains.
    pub fn decide_exactly(
        &self,
        settings: &ClassificationSettings,
        learned: u64,
        bound: f64,
        tie: bool,
        work: &mut Workspace,
    ) -> Option<(Candidate, Reason)> {
        let mut best: Option<Candidate> = None;
        let mut second: Option<Candidate> = None;
        for slot in 0..self.width() {
            let Some(candidate) = self.best_split(slot, settings, work) else { continue };
            if best.is_none_or(|best| candidate.merit > best.merit) {
                (best, second) = (Some(candidate), best);
            } else if second.is_none_or(|second| candidate.merit > second.merit) {
                second = Some(candidate);
            }
        }
        let best =
            best.filter(|best| best.merit > if settings.merit_preprune { 0.0 } else { f64::NEG_INFINITY })?;
        let (merit, rival) = match second {
            Some(second) if !settings.merit_preprune || second.merit > 0.0 => (second.merit, Some(second.slot)),
            _ if settings.merit_preprune => (0.0, None),
            // A single feature has no competitor.
            _ => (f64::NEG_INFINITY, None),
        };
        if !(best.merit - merit > bound || tie) {
            return None;
        }
        let second = rival.map(|slot| self.feature(slot) as u32);
        // JSON and the saved state hold finite numbers only.
        let second_merit = merit.max(f64::MIN);
        let reason = Reason {
            learned,
            weight: self.weight(),
            merit: best.merit,
            second,
            second_merit,
            bound,
            tie: tie && best.merit - merit <= bound,
        };
        Some((best, reason))
    }
}
