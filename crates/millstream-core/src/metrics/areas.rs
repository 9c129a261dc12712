//! Areas under the ROC and precision-recall curves, from a histogram of scores.
//!
//! ROC AUC is the fraction of pairs of a positive and a negative in which the positive scores higher, with ties
//! counting half (Mann and Whitney, 1947). The order is unknown only for pairs within a bin, so the error is at
//! most half their fraction. PR AUC is average precision, Σ Δrecall · precision over falling thresholds. With T
//! true and F false positives above a bin, and a positives and b negatives in it, the a positives of the bin add
//! at most a (T+a)/(T+a+F) and at least ∫₀ᵃ (T+x)/(T+x+F+b) dx. The estimate uses one threshold per bin; `error`
//! is the sum of its largest possible distances from these bounds.
//!
//! A prediction without probabilities scores ½.
//!
//! If no positive class is fixed, either of two classes may become the rarer one, so `ScoreHistogram` stores what
//! both choices need: the score of a class is its own probability. A third class is refused.

use super::confusion::POSITIVE;
use super::positive::PositiveClass;
use super::score_histogram::{bin, ScoreHistogram, Side, BINS};
use super::sums::ratio;
use super::wants_labels;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::labels::{Label, Labels};
use crate::merging::Merge;
use crate::metric::{Metric, Outcome};
use crate::part::Part;
use crate::row::Want;

pub static ROCAUC: Declaration = Declaration {
    name: "metrics.ROCAUC",
    role: Role::Metric,
    words: "Area under the ROC curve",
    merge: Merge::EXACT,
    parameters: &[POSITIVE],
    build: |arguments| Ok(Built::Metric(Box::new(Area::new("metrics.ROCAUC", true, arguments.label("pos_val")?)))),
};

pub static PRAUC: Declaration = Declaration {
    name: "metrics.PRAUC",
    role: Role::Metric,
    words: "Area under the precision-recall curve (average precision)",
    merge: Merge::EXACT,
    parameters: &[POSITIVE],
    build: |arguments| Ok(Built::Metric(Box::new(Area::new("metrics.PRAUC", false, arguments.label("pos_val")?)))),
};

#[derive(Clone)]
struct Area {
    name: &'static str,
    roc: bool,
    wanted: Option<Label>,
    /// The code of the fixed positive class, `NO_CODE` until its label comes. Without `wanted`, only in a metric
    /// saved by 0.1.0 that has seen more than two classes.
    fixed: Option<u32>,
    /// Number of codes and of labels.
    classes: (usize, usize),
    /// Whether the labels ensure that the class with code 1 stays the positive one.
    settled: bool,
    /// Whether `load` was called, but `set_labels` was not called after it.
    loaded: bool,
    scores: ScoreHistogram,
}

const NO_CODE: u32 = u32::MAX;

impl Area {
    fn new(name: &'static str, roc: bool, wanted: Option<Label>) -> Self {
        let fixed = wanted.is_some().then_some(NO_CODE);
        Area {
            name,
            roc,
            wanted,
            fixed,
            classes: (0, 0),
            settled: false,
            loaded: false,
            scores: ScoreHistogram::default(),
        }
    }

    /// (area, bound of its error) if the class with code `positive` is the positive one.
    fn areas(&self, positive: u32) -> (f64, f64) {
        let (positives, negatives) = (&self.scores.positive, &self.scores.negative);
        if self.fixed.is_some() || self.settled || positive != 0 {
            let bins = bins_of(positives).iter().zip(bins_of(negatives)).rev();
            self.area_of(positives.total.value, negatives.total.value, bins)
        } else if self.scores.has_shifts() {
            let ScoreHistogram { positive, negative, .. } = self.scores.swapped();
            let bins = bins_of(&positive).iter().zip(bins_of(&negative)).rev();
            self.area_of(positive.total.value, negative.total.value, bins)
        } else {
            // The mirrored bins from the top are these bins from the bottom.
            let bins = bins_of(negatives).iter().zip(bins_of(positives));
            self.area_of(negatives.total.value, positives.total.value, bins)
        }
    }

    /// The area from the weights of positives and negatives in each bin, from the highest scores down.
    fn area_of<'a>(
        &self,
        positives: f64,
        negatives: f64,
        bins: impl Iterator<Item = (&'a f64, &'a f64)>,
    ) -> (f64, f64) {
        let (mut area, mut error) = (0.0, 0.0);
        let (mut above_positive, mut above_negative) = (0.0f64, 0.0f64);
        for (&a, &b) in bins {
            // Removing outcomes can leave a bin slightly below 0 by rounding.
            let (a, b) = (a.max(0.0), b.max(0.0));
            if a <= 0.0 && b <= 0.0 {
                continue;
            }
            if self.roc {
                // Fractions, not weights: a product of two large weights could overflow.
                let (here, pair) = (ratio(b, negatives), ratio(a, positives));
                area += here * (ratio(above_positive, positives) + 0.5 * pair);
                error += 0.5 * here * pair;
            } else if a > 0.0 {
                let found = above_positive + a;
                let tied = found / (found + above_negative + b);
                let best = found / (found + above_negative);
                let false_ones = above_negative + b;
                let worst = 1.0 - false_ones / a * (a / (above_positive + false_ones)).ln_1p();
                let worst = if false_ones > 0.0 { worst.clamp(0.0, tied) } else { 1.0 };
                area += ratio(a, positives) * tied;
                error += ratio(a, positives) * (best - tied).max(tied - worst);
            }
            above_positive += a;
            above_negative += b;
        }
        match self.roc && (positives <= 0.0 || negatives <= 0.0) {
            true => (0.5, 0.5),
            false => (area.clamp(0.0, 1.0), error.clamp(0.0, 1.0)),
        }
    }
}

/// A side without outcomes has no bins.
fn bins_of(side: &Side) -> &[f64] {
    static EMPTY: [f64; BINS] = [0.0; BINS];
    if side.is_empty() {
        &EMPTY
    } else {
        &side.bins
    }
}

impl Part for Area {
    fn save(&self) -> Result<Vec<u8>> {
        if self.settled && self.scores.has_shifts() {
            let mut scores = self.scores.clone();
            scores.clear_shifts();
            return pack(&scores);
        }
        pack(&self.scores)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let scores: ScoreHistogram = unpack(self.name, bytes)?;
        require(self.name, scores.is_valid(), "a sum is not valid")?;
        self.scores = scores;
        self.loaded = true;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.scores.memory()
    }
}

impl Metric for Area {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Class(outcome) = outcome else { return Err(wants_labels(self.name)) };
        if w == 0.0 {
            return Ok(());
        }
        let place = |p: f64| bin(if p.is_nan() { 0.5 } else { p.clamp(0.0, 1.0) });
        if let Some(positive) = self.fixed {
            let side = match outcome.truth == positive {
                true => &mut self.scores.positive,
                false => &mut self.scores.negative,
            };
            side.total.check(self.name, w)?;
            side.add(place(outcome.positive_probability), w);
            return Ok(());
        }
        if self.classes.1 > 2 || outcome.truth > 1 {
            return Err(Fault::value(format!(
                "{}: with more than two classes pos_val must name the positive one",
                self.name
            )));
        }
        let is_positive = outcome.truth == 1;
        let side = if is_positive { &self.scores.positive } else { &self.scores.negative };
        side.total.check(self.name, w)?;
        let of_truth = outcome.truth_probability;
        let other = if outcome.other_probability.is_nan() { 1.0 - of_truth } else { outcome.other_probability };
        let (of_one, of_zero) = if is_positive { (of_truth, other) } else { (other, of_truth) };
        let bin = place(of_one);
        if self.settled {
            // Only now, because a label that settles the choice is removed again if its outcome is refused.
            if self.scores.has_shifts() {
                self.scores.clear_shifts();
            }
            self.scores.add(is_positive, bin, BINS - 1 - bin, w);
        } else {
            self.scores.add(is_positive, bin, place(of_zero), w);
        }
        Ok(())
    }

    fn infallible_for(&self, classes: usize) -> bool {
        let room = self.scores.positive.total.has_room() && self.scores.negative.total.has_room();
        room && (self.fixed.is_some() || classes <= 2)
    }

    fn get(&self) -> f64 {
        self.get_for(1)
    }

    fn get_for(&self, positive: u32) -> f64 {
        self.areas(positive).0
    }

    fn error(&self, positive: u32) -> Option<f64> {
        Some(self.areas(positive).1)
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn want(&self) -> Want {
        Want::Probabilities
    }

    fn set_labels(&mut self, labels: &Labels) {
        let classes = (labels.len(), labels.known());
        if classes == self.classes && !self.loaded {
            return;
        }
        self.classes = classes;
        self.settled = PositiveClass::is_settled(labels);
        if let Some(label) = &self.wanted {
            self.fixed = Some(labels.code(label).unwrap_or(NO_CODE));
        } else if self.loaded && labels.known() > 2 {
            // 0.1.0 scored class 1 against all others, or else the class that came second.
            self.fixed = Some(labels.code(&Label::Int(1)).unwrap_or(1));
        }
        self.loaded = false;
    }

    fn positive(&self) -> Option<u32> {
        self.fixed
    }

    fn truth_weights(&self) -> Vec<f64> {
        let weights = [self.scores.negative.total.value, self.scores.positive.total.value].map(|w| w.max(0.0));
        match self.fixed {
            None => weights.to_vec(),
            Some(NO_CODE) => Vec::new(),
            Some(code) => {
                let mut found = vec![0.0; self.classes.0];
                found.iter_mut().skip(code as usize).take(1).for_each(|weight| *weight = weights[1]);
                found
            }
        }
    }

    fn scale(&mut self, factor: f64) {
        self.scores.scale(factor);
    }

    fn merge(&mut self, other: &[u8], codes: &[u32], sign: f64) -> Result<()> {
        let mut copy = self.clone();
        copy.load(other)?;
        // Without a fixed positive class, it is the one with code 1.
        let swapped = self.fixed.is_none() && (codes.first() == Some(&1) || codes.get(1) == Some(&0));
        if swapped && copy.scores.has_shifts() {
            return Err(Fault::value("cannot be merged: the labels came in another order: set pos_val"));
        }
        let theirs = if swapped { copy.scores.swapped() } else { copy.scores };
        self.scores.positive.total.check(self.name, sign * theirs.positive.total.value)?;
        self.scores.negative.total.check(self.name, sign * theirs.negative.total.value)?;
        self.scores.merge(&theirs, sign);
        Ok(())
    }

    fn reset(&mut self) {
        self.scores.reset();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::ClassOutcome;
    use crate::task::ClassPrediction;

    #[test]
    fn worked_by_hand() {
        // Positives at 0.8 and 0.4, negatives at 0.6 and 0.1: three of four pairs are in order. Average
        // precision: ½ · 1/1 + ½ · 2/3 = 5/6.
        for (roc, expected) in [(true, 0.75), (false, 5.0 / 6.0)] {
            let mut metric = Area::new("metrics.Test", roc, None);
            for (truth, p) in [(1, 0.8), (1, 0.4), (0, 0.6), (0, 0.1)] {
                let prediction = ClassPrediction { class: Some(1), probabilities: vec![1.0 - p, p] };
                let outcome = Outcome::Class(ClassOutcome::new(truth, &prediction, None, 1));
                metric.update(&outcome, 1.0).expect("a good outcome");
            }
            assert!((metric.get() - expected).abs() < 1e-15);
            if roc {
                assert_eq!(metric.error(1), Some(0.0));
            }
            // The other class as the positive one, by its own probabilities 0.4, 0.9 (true) and 0.2, 0.6 (false):
            // three of four pairs are in order again; average precision ½ · 1/1 + ½ · 2/3.
            assert!((metric.get_for(0) - expected).abs() < 1e-15);
        }
    }
}
