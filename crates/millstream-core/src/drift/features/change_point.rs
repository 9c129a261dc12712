//! The estimated change point in the current window, by the feature that drifted most.
//!
//! Each row has scores whose mean is 0 in the reference: for a number, its rank less a half, and the absolute value of
//! that less a quarter, which detects a change of spread; for a nominal value, whether it is the value whose frequency
//! changed most; and whether it is missing. The change point is the row from which on the scores are least likely to have
//! mean 0: it maximises (Σ s)² / (rows · variance) (Hinkley, 1970), over all scores.

use crate::schema::FeatureKind;

use super::row_window::RowWindow;

/// Count of the newest rows of `current` since the estimated change point; at least one.
pub fn since(reference: &RowWindow, current: &RowWindow, slot: usize, kind: FeatureKind) -> usize {
    let mut sorted = Vec::new();
    let missing = reference.column(slot, &mut sorted);
    sorted.sort_unstable_by(f64::total_cmp);
    let values: Vec<f64> = current.iter().map(|row| row.get(slot).copied().unwrap_or(f64::NAN)).collect();
    let mut best = Best::default();
    best.indicator(&values, missing as f64 / reference.len().max(1) as f64, |x| x.is_nan());
    if kind == FeatureKind::Nominal {
        let frequency = |value: f64| frequency(&sorted, value);
        if let Some(value) = most_changed(&values, &sorted) {
            best.indicator(
                &values,
                frequency(value) * (1.0 - missing as f64 / reference.len().max(1) as f64),
                |x| x == value,
            );
        }
    } else if !sorted.is_empty() {
        let rank = |x: f64| {
            let below = sorted.partition_point(|&value| value < x);
            let up_to = sorted.partition_point(|&value| value <= x);
            (below + up_to) as f64 / (2 * sorted.len()) as f64 - 0.5
        };
        let present = |x: &f64| !x.is_nan();
        best.scores(values.iter().map(|x| if present(x) { rank(*x) } else { 0.0 }), 1.0 / 12.0);
        best.scores(values.iter().map(|x| if present(x) { rank(*x).abs() - 0.25 } else { 0.0 }), 1.0 / 48.0);
    }
    best.since.max(1)
}

/// The frequency of a value among sorted ones.
fn frequency(sorted: &[f64], value: f64) -> f64 {
    let count = sorted.partition_point(|&x| x <= value) - sorted.partition_point(|&x| x < value);
    count as f64 / sorted.len().max(1) as f64
}

/// The value whose frequency differs most from that in the reference.
fn most_changed(values: &[f64], reference: &[f64]) -> Option<f64> {
    let mut current: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
    current.sort_unstable_by(f64::total_cmp);
    let change = |value: f64| (frequency(&current, value) - frequency(reference, value)).abs();
    current.iter().chain(reference).copied().max_by(|&a, &b| change(a).total_cmp(&change(b)))
}

#[derive(Default)]
struct Best {
    gain: f64,
    since: usize,
}

impl Best {
    /// Scores in the order of the rows, with the variance they have in the reference.
    fn scores(&mut self, scores: impl DoubleEndedIterator<Item = f64>, variance: f64) {
        let mut sum = 0.0;
        for (index, score) in scores.rev().enumerate() {
            sum += score;
            let gain = sum * sum / ((index + 1) as f64 * variance);
            if gain > self.gain {
                (self.gain, self.since) = (gain, index + 1);
            }
        }
    }

    /// The indicator of a property that a fraction of the reference has.
    fn indicator(&mut self, values: &[f64], fraction: f64, has: impl Fn(f64) -> bool) {
        let variance = (fraction * (1.0 - fraction)).max(0.01);
        self.scores(values.iter().map(|&x| f64::from(u8::from(has(x))) - fraction), variance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f64]) -> RowWindow {
        let mut rows = RowWindow::default();
        rows.widen(1);
        values.iter().for_each(|&x| rows.push(&[x], values.len()));
        rows
    }

    /// Ranks of 0, …, 9 less a half: 5 is 0.05, and a number above all is 0.5. Three of those at the end: sums from the
    /// end are 0.5, 1, 1.5, then with alternating 4 and 5 (−0.05, 0.05) no more; 1.5² / 3 is the greatest.
    #[test]
    fn worked_by_hand() {
        let reference = rows(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let current = rows(&[4.0, 5.0, 4.0, 5.0, 20.0, 20.0, 20.0]);
        assert_eq!(since(&reference, &current, 0, FeatureKind::Number), 3);
        let gone = rows(&[4.0, 5.0, 4.0, f64::NAN, f64::NAN]);
        assert_eq!(since(&reference, &gone, 0, FeatureKind::Number), 2);
        let codes = rows(&[0.0, 1.0, 0.0, 1.0, 7.0, 7.0]);
        assert_eq!(since(&rows(&[0.0, 1.0, 0.0, 1.0]), &codes, 0, FeatureKind::Nominal), 2);
    }
}
