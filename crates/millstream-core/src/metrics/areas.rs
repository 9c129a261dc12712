//! Areas under the ROC and precision-recall curves, from a histogram of scores.
//!
//! ROC AUC is the share of pairs of a positive and a negative in which the positive scored higher, ties
//! counting half (Mann and Whitney, 1947). Only pairs that share a bin are not known, so the error is at
//! most half their share. PR AUC is average precision, Σ Δrecall · precision over falling thresholds; with
//! T true and F false positives above a bin, and a positives and b negatives in it, what the bin's a
//! positives add is at most a (T+a)/(T+a+F) and at least ∫₀ᵃ (T+x)/(T+x+F+b) dx. `error` adds up how far
//! the estimate, which takes a bin for one threshold, could be from these.
//!
//! A prediction without probabilities scores ½.

use super::confusion::Positive;
use super::scores::{bin, Scores, BINS};
use super::sums::share;
use super::wants_labels;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::labels::Labels;
use crate::metric::{Metric, Outcome};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::Want;
use crate::state::{pack, require, unpack};

const POSITIVE: Parameter = Parameter::new(
    "pos_val",
    Kind::Optional(&Kind::Label),
    DefaultValue::Null,
    "the positive class; null for True or 1, or else the second class to come",
);

pub static ROCAUC: Declaration = Declaration {
    name: "metrics.ROCAUC",
    role: Role::Metric,
    words: "Area under the ROC curve",
    parameters: &[POSITIVE],
    build: |arguments| {
        let positive = Positive::new(arguments.label("pos_val")?);
        Ok(Built::Metric(Box::new(Area {
            name: "metrics.ROCAUC",
            roc: true,
            positive,
            scores: Scores::default(),
        })))
    },
};

pub static PRAUC: Declaration = Declaration {
    name: "metrics.PRAUC",
    role: Role::Metric,
    words: "Area under the precision-recall curve (average precision)",
    parameters: &[POSITIVE],
    build: |arguments| {
        let positive = Positive::new(arguments.label("pos_val")?);
        Ok(Built::Metric(Box::new(Area {
            name: "metrics.PRAUC",
            roc: false,
            positive,
            scores: Scores::default(),
        })))
    },
};

#[derive(Clone)]
struct Area {
    name: &'static str,
    roc: bool,
    positive: Positive,
    scores: Scores,
}

impl Area {
    /// (area, how far it may be off)
    fn areas(&self) -> (f64, f64) {
        let (positives, negatives) = (self.scores.positive.total.value, self.scores.negative.total.value);
        let (mut area, mut error) = (0.0, 0.0);
        let (mut above_positive, mut above_negative) = (0.0f64, 0.0f64);
        for place in (0..BINS).rev() {
            // Taking back can leave a bin a rounding below 0.
            let at = |bins: &[f64]| bins.get(place).map_or(0.0, |w| w.max(0.0));
            let a = at(&self.scores.positive.bins);
            let b = at(&self.scores.negative.bins);
            if self.roc {
                // Shares, not weights: a product of two large weights would overflow.
                let (here, pair) = (share(b, negatives), share(a, positives));
                area += here * (share(above_positive, positives) + 0.5 * pair);
                error += 0.5 * here * pair;
            } else if a > 0.0 {
                let found = above_positive + a;
                let tied = found / (found + above_negative + b);
                let best = found / (found + above_negative);
                let false_ones = above_negative + b;
                let worst = 1.0 - false_ones / a * (a / (above_positive + false_ones)).ln_1p();
                let worst = if false_ones > 0.0 { worst.clamp(0.0, tied) } else { 1.0 };
                area += share(a, positives) * tied;
                error += share(a, positives) * (best - tied).max(tied - worst);
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

impl Part for Area {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.scores)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let scores: Scores = unpack(self.name, bytes)?;
        require(self.name, scores.positive.is_valid() && scores.negative.is_valid(), "a sum is not valid")?;
        self.scores = scores;
        Ok(())
    }

    fn memory(&self) -> usize {
        let bins = self.scores.positive.bins.capacity() + self.scores.negative.bins.capacity();
        std::mem::size_of::<Self>() + 8 * bins
    }
}

impl Metric for Area {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Class(outcome) = outcome else { return Err(wants_labels(self.name)) };
        if w == 0.0 {
            return Ok(());
        }
        let p = outcome.positive_probability;
        let bin = bin(if p.is_nan() { 0.5 } else { p.clamp(0.0, 1.0) });
        let side = match outcome.truth == self.positive.code {
            true => &mut self.scores.positive,
            false => &mut self.scores.negative,
        };
        side.total.check(self.name, w)?;
        side.add(bin, w);
        Ok(())
    }

    fn is_sure(&self, _classes: usize) -> bool {
        self.scores.positive.total.has_room() && self.scores.negative.total.has_room()
    }

    fn get(&self) -> f64 {
        self.areas().0
    }

    fn error(&self) -> Option<f64> {
        Some(self.areas().1)
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn want(&self) -> Want {
        Want::Probabilities
    }

    fn know(&mut self, labels: &Labels) {
        self.positive.know(labels);
    }

    fn positive(&self) -> u32 {
        self.positive.code
    }

    fn scale(&mut self, factor: f64) {
        self.scores.positive.scale(factor);
        self.scores.negative.scale(factor);
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut copy = self.clone();
        copy.load(other)?;
        self.scores.positive.total.check(self.name, copy.scores.positive.total.value)?;
        self.scores.negative.total.check(self.name, copy.scores.negative.total.value)?;
        self.scores.positive.merge(&copy.scores.positive);
        self.scores.negative.merge(&copy.scores.negative);
        Ok(())
    }

    fn reset(&mut self) {
        self.scores.positive.reset();
        self.scores.negative.reset();
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
            let mut metric =
                Area { name: "metrics.Test", roc, positive: Positive::new(None), scores: Scores::default() };
            for (truth, p) in [(1, 0.8), (1, 0.4), (0, 0.6), (0, 0.1)] {
                let prediction = ClassPrediction { class: Some(1), probabilities: vec![1.0 - p, p] };
                let outcome = Outcome::Class(ClassOutcome::new(truth, &prediction, None, 1));
                metric.update(&outcome, 1.0).expect("a good outcome");
            }
            assert!((metric.get() - expected).abs() < 1e-15);
            if roc {
                assert_eq!(metric.error(), Some(0.0));
            }
        }
    }
}
