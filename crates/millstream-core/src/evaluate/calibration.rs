//! Whether what was given 70 % came true in 70 % of the cases: sums by bin of the predicted probability.
//!
//! Of two classes it is the probability of the positive one (code 1) that is binned; of more, that of the
//! class that was predicted (Guo and others, 2017, "On Calibration of Modern Neural Networks", section 2).
//! Bins are narrow, so that whoever reads them can merge them as the spread of the probabilities asks.

/// How many bins there are, all of one width.
pub const BINS: usize = 100;

/// Sums over the rows of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    pub rows: u64,
    pub weight: f64,
    /// Weight times predicted probability.
    pub predicted: f64,
    /// The weight of the rows for which it came true.
    pub observed: f64,
}

#[derive(Clone, Debug)]
pub struct Calibration {
    /// By the probability of code 1; only while there are two classes.
    positive: Vec<Bin>,
    /// By the probability of the predicted class.
    confidence: Vec<Bin>,
    classes: usize,
}

impl Default for Calibration {
    fn default() -> Self {
        Calibration { positive: vec![Bin::default(); BINS], confidence: vec![Bin::default(); BINS], classes: 0 }
    }
}

impl Calibration {
    /// The truth of a row that was scored is known; `classes` is how many codes the model has.
    #[inline]
    pub fn add(&mut self, classes: usize, truth: u32, predicted: Option<u32>, probabilities: &[f64], w: f64) {
        let Some(class) = predicted else { return };
        let of = |code: u32| probabilities.get(code as usize).copied().unwrap_or(0.0);
        if probabilities.is_empty() || w <= 0.0 {
            return;
        }
        self.classes = self.classes.max(classes);
        if self.classes <= 2 {
            count(&mut self.positive, of(1), truth == 1, w);
        }
        count(&mut self.confidence, of(class), truth == class, w);
    }

    /// Whether the bins are by the probability of the positive class.
    pub fn is_of_positive(&self) -> bool {
        self.classes <= 2
    }

    pub fn bins(&self) -> &[Bin] {
        if self.is_of_positive() {
            &self.positive
        } else {
            &self.confidence
        }
    }
}

#[inline]
fn count(bins: &mut [Bin], probability: f64, came_true: bool, w: f64) {
    // A user's own model may give anything.
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
        let bin = calibration.bins()[25];
        assert_eq!((bin.rows, bin.weight, bin.observed), (2, 4.0, 3.0));
        assert!((bin.predicted - 1.02).abs() < 1e-12);
        assert_eq!(calibration.bins()[99], Bin { rows: 1, weight: 1.0, predicted: 1.0, observed: 1.0 });
        assert_eq!(calibration.bins().iter().map(|bin| bin.rows).sum::<u64>(), 3);
    }

    /// A third class turns to the confidence of the predicted one, of all rows: 0.745 missed, 0.5 hit.
    #[test]
    fn three_classes_worked_by_hand() {
        let mut calibration = Calibration::default();
        calibration.add(2, 1, said(&[0.745, 0.255]).class, &[0.745, 0.255], 1.0);
        calibration.add(3, 2, said(&[0.25, 0.25, 0.5]).class, &[0.25, 0.25, 0.5], 1.0);
        assert!(!calibration.is_of_positive());
        assert_eq!(calibration.bins()[74], Bin { rows: 1, weight: 1.0, predicted: 0.745, observed: 0.0 });
        assert_eq!(calibration.bins()[50], Bin { rows: 1, weight: 1.0, predicted: 0.5, observed: 1.0 });
    }

    #[test]
    fn nothing_that_a_model_says_panics() {
        let mut calibration = Calibration::default();
        for odd in [f64::NAN, f64::INFINITY, -1.0, 7.0] {
            calibration.add(2, 1, Some(9), &[odd, odd], 1.0);
        }
        assert!(calibration.bins().iter().all(|bin| bin.predicted.is_finite()));
    }
}
