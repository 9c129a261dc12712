//! Where in the current window a change began, by the feature that moved most.
//!
//! Each row has a score whose mean is 0 in the reference: of a number its rank there less a half, and the distance of
//! that from a quarter, which sees a wider or narrower spread; of a nominal value whether it is the one whose share has
//! changed most; and whether it is missing. The change begins where the rows from there on are least likely to have
//! mean 0: the place that maximises (Σ s)² / (rows · variance) (Hinkley, 1970), over all scores.

use crate::schema::Kind;

use super::rows::Rows;

/// How many of the newest rows of `current` are believed to be from after the change; at least one.
pub fn since(reference: &Rows, current: &Rows, slot: usize, kind: Kind) -> usize {
    let mut sorted = Vec::new();
    let missing = reference.column(slot, &mut sorted);
    sorted.sort_unstable_by(f64::total_cmp);
    let values: Vec<f64> = current.iter().map(|row| row.get(slot).copied().unwrap_or(f64::NAN)).collect();
    let mut best = Best::default();
    best.indicator(&values, missing as f64 / reference.len().max(1) as f64, |x| x.is_nan());
    if kind == Kind::Nominal {
        let share = |value: f64| share(&sorted, value);
        if let Some(value) = most_changed(&values, &sorted) {
            best.indicator(&values, share(value) * (1.0 - missing as f64 / reference.len().max(1) as f64), |x| {
                x == value
            });
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

/// The share of a value among sorted ones.
fn share(sorted: &[f64], value: f64) -> f64 {
    let count = sorted.partition_point(|&x| x <= value) - sorted.partition_point(|&x| x < value);
    count as f64 / sorted.len().max(1) as f64
}

/// The value whose share differs most from that in the reference.
fn most_changed(values: &[f64], reference: &[f64]) -> Option<f64> {
    let mut current: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
    current.sort_unstable_by(f64::total_cmp);
    let change = |value: f64| (share(&current, value) - share(reference, value)).abs();
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
        for (place, score) in scores.rev().enumerate() {
            sum += score;
            let gain = sum * sum / ((place + 1) as f64 * variance);
            if gain > self.gain {
                (self.gain, self.since) = (gain, place + 1);
            }
        }
    }

    /// Whether rows have a property, which so great a share of the reference has.
    fn indicator(&mut self, values: &[f64], share: f64, has: impl Fn(f64) -> bool) {
        let variance = (share * (1.0 - share)).max(0.01);
        self.scores(values.iter().map(|&x| f64::from(u8::from(has(x))) - share), variance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f64]) -> Rows {
        let mut rows = Rows::default();
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
        assert_eq!(since(&reference, &current, 0, Kind::Number), 3);
        let gone = rows(&[4.0, 5.0, 4.0, f64::NAN, f64::NAN]);
        assert_eq!(since(&reference, &gone, 0, Kind::Number), 2);
        let codes = rows(&[0.0, 1.0, 0.0, 1.0, 7.0, 7.0]);
        assert_eq!(since(&rows(&[0.0, 1.0, 0.0, 1.0]), &codes, 0, Kind::Nominal), 2);
    }
}
