//! Detects early that an attempt to split a leaf will fail, by bounds on gains that need no logarithms.
//!
//! Most attempts fail: the best gain does not exceed the second best by Hoeffding's ε. This can be decided from
//! approximate gains. With the weights n_bc of class c in branch b, out of T, and f(p) = −p log₂ p, a gain is
//!
//! ```text
//! G = H(before) − Σ_bc f(n_bc / T) + Σ_b f(n_b / T)
//! ```
//!
//! f is concave, so linear interpolation between points of a table lies below it, by at most κ = Δ / (e ln 2) for
//! points Δ apart; the largest deviation is between the first two. The weight of a class below a threshold is
//! interpolated too, with an error of at most γ of its weight, which moves each f by at most f(γ). So G lies between
//! the gain by tables minus 2 K κ + 2 (K + 1) f(γ) and plus 2 κ + 2 (K + 1) f(γ), for K classes. If the highest upper
//! bound does not exceed the second highest lower bound, or 0, by ε, nothing is split; otherwise exact gains are
//! computed. So no decision depends on the tables.

use std::sync::OnceLock;

use crate::numeric::error_function::{roughly_below, ROUGHLY};

use super::candidates::Workspace;
use super::criterion::Criterion;
use super::leaf::Leaf;
use super::settings::ClassificationSettings;

/// Table points of f per unit.
const POINTS: usize = 1024;
/// κ, rounded up.
const BELOW: f64 = 0.531 / POINTS as f64;

/// −p log₂ p by linear interpolation, for p in [0, 1].
fn table() -> &'static [f64] {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    TABLE.get_or_init(|| (0..POINTS + 2).map(|point| part(point as f64 / POINTS as f64)).collect())
}

fn part(fraction: f64) -> f64 {
    if fraction > 0.0 {
        -fraction * fraction.log2()
    } else {
        0.0
    }
}

#[inline(always)]
fn roughly(table: &[f64], fraction: f64) -> f64 {
    let position = fraction * POINTS as f64;
    let point = (position as usize).min(POINTS);
    let (a, b) = (table[point], table[point + 1]);
    a + (position - point as f64) * (b - a)
}

/// Bounds on the gain of the best split on a feature; −∞ if there is none.
struct Bounds {
    low: f64,
    high: f64,
}

const NO_SPLIT: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::NEG_INFINITY };

impl Leaf {
    /// Whether certainly no split exceeds the second best, or none, by `bound`.
    pub fn is_hopeless(&self, settings: &ClassificationSettings, bound: f64, work: &mut Workspace) -> bool {
        if settings.criterion != Criterion::InformationGain || !settings.merit_preprune || settings.bins > 0 {
            return false;
        }
        // No gain exceeds the entropy. Neither does a gain among the examples with a feature, times their fraction:
        // entropy is concave.
        if settings.criterion.impurity(self.own(), self.own().sum()) + 1e-9 <= bound {
            return true;
        }
        let (mut highest, mut low, mut second) = (0.0, 0.0, 0.0);
        for slot in 0..self.width() {
            let bounds = match self.values(slot) {
                0 => self.bounds(slot, settings, work),
                _ => self.best_split(slot, settings, work).map_or(Some(NO_SPLIT), |candidate| {
                    Some(Bounds { low: candidate.merit - 1e-9, high: candidate.merit + 1e-9 })
                }),
            };
            let Some(bounds) = bounds else { return false };
            highest = bounds.high.max(highest);
            (low, second) = match bounds.low > low {
                true => (bounds.low, low),
                false => (low, bounds.low.max(second)),
            };
        }
        highest - second <= bound
    }

    /// Bounds on the gain of the best threshold; none for extreme numbers.
    fn bounds(&self, slot: usize, settings: &ClassificationSettings, work: &mut Workspace) -> Option<Bounds> {
        let Some((low, width, high)) = self.thresholds(slot, settings) else { return Some(NO_SPLIT) };
        self.divide(slot, (low, width), settings, roughly_below, work);
        let total: f64 = work.totals.iter().sum();
        if !(1e-100..=1e100).contains(&total) {
            return None;
        }
        let (table, inverse) = (table(), 1.0 / total);
        let before = settings.criterion.impurity(work.totals.iter().copied(), total);
        let (mut sure, mut possible) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (index, below) in work.below.chunks_exact(work.totals.len()).enumerate() {
            let threshold = low + width * (index + 1) as f64;
            if !(low < threshold && threshold < high) {
                continue;
            }
            let (mut gain, mut fraction) = (before, 0.0);
            for (all, below) in work.totals.iter().zip(below) {
                gain -= roughly(table, below * inverse) + roughly(table, (all - below) * inverse);
                fraction += below * inverse;
            }
            gain += roughly(table, fraction) + roughly(table, (1.0 - fraction).max(0.0));
            let least = fraction.min(1.0 - fraction) - settings.min_branch_fraction;
            if least > -2.0 * ROUGHLY && gain > possible {
                possible = gain;
            }
            if least > 2.0 * ROUGHLY && gain > sure {
                sure = gain;
            }
        }
        let classes = work.totals.len() as f64;
        let moved = 2.0 * (classes + 1.0) * part(ROUGHLY) + 1e-9;
        let fraction = self.fraction(total);
        let (low, high) = (sure - 2.0 * classes * BELOW - moved, possible + 2.0 * BELOW + moved);
        Some(Bounds { low: fraction * low, high: fraction * high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive_bayes::class_table::Spare;
    use crate::numeric::random::Random;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::task::ClassPrediction;
    use crate::tree::decision::hoeffding_bound;

    fn settings() -> ClassificationSettings {
        let tree = serde_json::json!({ "name": "tree.HoeffdingTreeClassifier" });
        let tree = registry::resolve(&tree).expect("it resolves");
        let arguments = tree["parameters"].as_object().expect("parameters");
        ClassificationSettings::new(&Arguments::new("tree.HoeffdingTreeClassifier", arguments)).expect("settings")
    }

    #[test]
    fn lines_are_below_by_no_more_than_is_said() {
        for step in 0..=100_000 {
            let fraction = f64::from(step) / 100_000.0;
            let off = part(fraction) - roughly(table(), fraction);
            assert!((-1e-12..=BELOW).contains(&off), "{fraction} {off}");
        }
    }

    #[test]
    fn what_is_hopeless_is_not_split() {
        let (settings, mut random) = (settings(), Random::new(3, 5));
        let (mut hopeless, mut failed) = (0, 0);
        for round in 0..300 {
            let classes = 2 + round % 3;
            // The distance between the classes in each of four features, from none to clear.
            let apart: Vec<f64> = (0..4).map(|_| random.unit().powi(4) * 3.0).collect();
            let mut leaf = Leaf::default();
            let (mut spare, mut scratch, mut out) =
                (Spare::default(), Scratch::default(), ClassPrediction::default());
            let mut work = Workspace::default();
            for row in 1..=1200 {
                let y = (random.unit() * random.unit() * f64::from(classes)) as u32;
                let x: Vec<f64> = apart
                    .iter()
                    .map(|apart| apart * f64::from(y) + random.unit() + random.unit() + random.unit())
                    .collect();
                let (w, want) = (f64::from(row % 4), Want::Class);
                assert!(leaf.step(Row::Plain(&x), y, w, &settings, want, 2, &mut out, &mut spare, &mut scratch));
                if row % 50 > 0 {
                    continue;
                }
                for slot in 0..4 {
                    let bounds = leaf.bounds(slot, &settings, &mut work).expect("usual numbers");
                    let merit = leaf.best_split(slot, &settings, &mut work).expect("a split").merit;
                    assert!((bounds.low..=bounds.high).contains(&merit), "{} {merit} {}", bounds.low, bounds.high);
                    assert!(bounds.high - bounds.low < 0.02);
                }
                let bound = hoeffding_bound(2.0, settings.delta, leaf.weight());
                let doubtful = leaf.is_hopeless(&settings, bound, &mut work);
                let exact = leaf.decide_exactly(&settings, row as u64, bound, false, &mut work);
                assert!(!(doubtful && exact.is_some()));
                hopeless += u32::from(doubtful);
                failed += u32::from(exact.is_none());
            }
        }
        assert!(failed > 1000 && hopeless > failed * 9 / 10, "{hopeless} of {failed}");
    }
}
