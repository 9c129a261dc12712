//! Calibration of predicted probabilities: predicted and observed frequencies by bin.
//!
//! With two classes, the probability of the positive class is binned (see `PositiveClass`); with more, that of the
//! predicted class (Guo and others, 2017, "On Calibration of Modern Neural Networks", section 2). Bins are narrow,
//! so that a reader can merge them to suit the spread of the probabilities.

use crate::labels::Labels;
use crate::metrics::PositiveClass;

/// Number of bins of equal width.
pub const BINS: usize = 100;

/// Sums over the rows of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    pub rows: u64,
    pub weight: f64,
    /// Weight times predicted probability.
    pub predicted: f64,
    /// Weight of the rows of the class in question.
    pub observed: f64,
}

#[derive(Clone, Debug)]
pub struct Calibration {
    /// While there are two classes, either of which may become the positive one: bins by the probability of code 0
    /// and of code 1, each separately for rows predicted as code 0 and as code 1, so that `confidence` follows
    /// from them.
    by_class: [[Vec<Bin>; 2]; 2],
    /// The weight of true labels by code.
    truths: [f64; 2],
    /// By the probability of the predicted class, from the third class on.
    confidence: Option<Vec<Bin>>,
}

impl Default for Calibration {
    fn default() -> Self {
        let bins = || vec![Bin::default(); BINS];
        let by_class = [[bins(), bins()], [bins(), bins()]];
        Calibration { by_class, truths: [0.0; 2], confidence: None }
    }
}

impl Calibration {
    /// Add a scored row; `classes` is the number of class codes of the model.
    #[inline]
    pub fn add(&mut self, classes: usize, truth: u32, predicted: Option<u32>, probabilities: &[f64], w: f64) {
        let Some(class) = predicted else { return };
        let of = |code: u32| probabilities.get(code as usize).copied().unwrap_or(0.0);
        if probabilities.is_empty() || w <= 0.0 {
            return;
        }
        if classes > 2 || self.confidence.is_some() {
            let confidence =
                self.confidence.get_or_insert_with(|| merged(&self.by_class[0][0], &self.by_class[1][1]));
            count(confidence, of(class), truth == class, w);
            return;
        }
        let place = usize::from(class == 1);
        count(&mut self.by_class[0][place], of(0), truth == 0, w);
        count(&mut self.by_class[1][place], of(1), truth == 1, w);
        if let Some(weight) = self.truths.get_mut(truth as usize) {
            *weight += w;
        }
    }

    /// Whether the bins are those of the positive class.
    pub fn is_of_positive(&self) -> bool {
        self.confidence.is_none()
    }

    /// The positive class among the labels of the model, if the bins are those of the positive class.
    pub fn positive(&self, labels: &Labels) -> Option<PositiveClass> {
        PositiveClass::follow(labels, &self.truths).filter(|_| self.is_of_positive())
    }

    /// The bins of the class with code `positive`, or of the predicted class if there are more than two classes.
    pub fn bins(&self, positive: Option<u32>) -> Vec<Bin> {
        let [by_zero, by_one] = &self.by_class;
        let [zero, one] = if positive == Some(0) { by_zero } else { by_one };
        self.confidence.clone().unwrap_or_else(|| merged(zero, one))
    }
}

fn merged(some: &[Bin], others: &[Bin]) -> Vec<Bin> {
    let pairs = some.iter().zip(others);
    let sum = |(a, b): (&Bin, &Bin)| Bin {
        rows: a.rows + b.rows,
        weight: a.weight + b.weight,
        predicted: a.predicted + b.predicted,
        observed: a.observed + b.observed,
    };
    pairs.map(sum).collect()
}

#[inline]
fn count(bins: &mut [Bin], probability: f64, came_true: bool, w: f64) {
    // A model written in Python may return any number.
    let probability = if probability.is_nan() { 0.0 } else { probability.clamp(0.0, 1.0) };
    let place = ((probability * BINS as f64) as usize).min(BINS - 1);
    if let Some(bin) = bins.get_mut(place) {
        bin.rows += 1;
        bin.weight += w;
        bin.predicted += w * probability;
        bin.observed += if came_true { w } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Label;
    use crate::task::ClassPrediction;

    fn said(probabilities: &[f64]) -> ClassPrediction {
        let mut prediction = ClassPrediction { class: None, probabilities: probabilities.to_vec() };
        prediction.decide();
        prediction
    }

    /// Probabilities 0.255 (false), 0.255 with weight 3 (true) and 1 (true) of the positive class: bin 25 has
    /// weight 1 + 3, predicted 4 · 0.255 = 1.02, observed 3; bin 99 has 1, 1, 1.
    #[test]
    fn two_classes_worked_by_hand() {
        let mut calibration = Calibration::default();
        calibration.add(2, 0, said(&[0.745, 0.255]).class, &[0.745, 0.255], 1.0);
        calibration.add(2, 1, said(&[0.745, 0.255]).class, &[0.745, 0.255], 3.0);
        calibration.add(2, 1, said(&[0.0, 1.0]).class, &[0.0, 1.0], 1.0);
        calibration.add(2, 1, said(&[]).class, &[], 1.0);
        assert!(calibration.is_of_positive());
        let bin = calibration.bins(Some(1))[25];
        assert_eq!((bin.rows, bin.weight, bin.observed), (2, 4.0, 3.0));
        assert!((bin.predicted - 1.02).abs() < 1e-12);
        assert_eq!(calibration.bins(Some(1))[99], Bin { rows: 1, weight: 1.0, predicted: 1.0, observed: 1.0 });
        assert_eq!(calibration.bins(Some(1)).iter().map(|bin| bin.rows).sum::<u64>(), 3);
        // Of the other class: 0.745, true with weight 1 of 4, and 0, false.
        let bin = calibration.bins(Some(0))[74];
        assert_eq!((bin.rows, bin.weight, bin.observed), (2, 4.0, 1.0));
        assert_eq!(calibration.bins(Some(0))[0], Bin { rows: 1, weight: 1.0, predicted: 0.0, observed: 0.0 });
    }

    /// A third class switches to the probability of the predicted class, for all rows: 0.745 wrong, 0.5 right.
    #[test]
    fn three_classes_worked_by_hand() {
        let mut calibration = Calibration::default();
        calibration.add(2, 1, said(&[0.745, 0.255]).class, &[0.745, 0.255], 1.0);
        calibration.add(3, 2, said(&[0.25, 0.25, 0.5]).class, &[0.25, 0.25, 0.5], 1.0);
        assert!(!calibration.is_of_positive());
        assert_eq!(calibration.bins(None)[74], Bin { rows: 1, weight: 1.0, predicted: 0.745, observed: 0.0 });
        assert_eq!(calibration.bins(None)[50], Bin { rows: 1, weight: 1.0, predicted: 0.5, observed: 1.0 });
    }

    /// Of string labels the rarer class is the positive one, whichever came first.
    #[test]
    fn the_positive_class_does_not_depend_on_the_order() {
        for (first, second) in [("no", "yes"), ("yes", "no")] {
            let mut labels = Labels::default();
            let codes =
                [first, second].map(|text| (text, labels.intern(&crate::labels::Label::Text(text.into()))));
            let mut calibration = Calibration::default();
            for (text, code) in codes {
                let mut probabilities = [0.25; 2];
                probabilities[code as usize] = 0.75;
                let w = if text == "no" { 3.0 } else { 1.0 };
                calibration.add(2, code, Some(code), &probabilities, w);
            }
            let positive = calibration.positive(&labels).expect("two classes");
            assert_eq!(positive.label, Label::Text("yes".into()));
            let bins = calibration.bins(Some(positive.code));
            assert_eq!((bins[75].weight, bins[75].observed, bins[25].weight), (1.0, 1.0, 3.0));
        }
    }

    #[test]
    fn no_prediction_causes_a_panic() {
        let mut calibration = Calibration::default();
        for odd in [f64::NAN, f64::INFINITY, -1.0, 7.0] {
            calibration.add(2, 1, Some(9), &[odd, odd], 1.0);
        }
        assert!(calibration.bins(None).iter().all(|bin| bin.predicted.is_finite()));
    }
}
