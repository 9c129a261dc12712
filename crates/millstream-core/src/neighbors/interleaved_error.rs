//! The interleaved test-then-train error of a nearest-neighbour classifier for every size of its window at once.
//!
//! In a window that starts at row s, row t is predicted from the rows s to t − 1. Whether that is right depends on s only
//! through the k nearest rows, and these change about k ln(t / k) times while s moves from t − 1 to the first row. So each
//! row keeps the *lags* t − s at which its prediction turns from wrong to right or back. They are computed once, from the
//! distances of the row when it arrives; no matrix of distances is needed, and the errors of all windows are exact.

use super::metric::Metric;
use super::votes::Weighting;

/// A neighbour of a row: the sum of the metric, its class and its sample weight.
pub type Voter = (f64, u32, f64);

/// The class that neighbours by ascending sum vote for, the lowest code in a tie; none without neighbours.
pub fn winner(voters: &[Voter], metric: Metric, weighting: Weighting) -> Option<u32> {
    let weight = |sum: f64| match weighting {
        Weighting::Uniform => 1.0,
        Weighting::Distance => 1.0 / metric.distance(sum),
    };
    let first = voters.first()?;
    let infinite = weighting == Weighting::Distance && weight(first.0).is_infinite();
    let hopeless = weighting == Weighting::Distance && weight(first.0) == 0.0;
    let vote = |class: u32| -> f64 {
        let of_class = voters.iter().filter(|voter| voter.1 == class);
        of_class
            .map(|&(sum, _, w)| match weight(sum) {
                // Neighbours at distance 0 take all.
                weight if infinite => f64::from(u8::from(weight.is_infinite())) * w,
                _ if hopeless => w,
                weight => weight * w,
            })
            .sum()
    };
    let mut best: Option<(u32, f64)> = None;
    for &(_, class, _) in voters {
        let votes = vote(class);
        if best.is_none_or(|(other, most)| votes > most || (votes == most && class < other)) {
            best = Some((class, votes));
        }
    }
    best.map(|(class, _)| class)
}

/// Lags at which the prediction of a row of class `y` turns, ascending. `older` are the older rows, the newest first.
pub fn turning_lags(
    older: impl Iterator<Item = Voter>,
    y: u32,
    most: usize,
    metric: Metric,
    weighting: Weighting,
    voters: &mut Vec<Voter>,
    lags: &mut Vec<u32>,
) {
    voters.clear();
    lags.clear();
    let mut right = false;
    for (index, voter) in older.enumerate() {
        if voters.len() == most {
            // A newer row at the same distance is nearer.
            if voters.last().is_none_or(|last| voter.0 >= last.0) {
                continue;
            }
            voters.pop();
        }
        let place = voters.partition_point(|other| other.0 <= voter.0);
        voters.insert(place, voter);
        if (winner(voters, metric, weighting) == Some(y)) != right {
            right = !right;
            lags.push(index as u32 + 1);
        }
    }
}

/// Whether a row is predicted right from so many older rows.
#[inline]
pub fn is_right(lags: &[u32], older: usize) -> bool {
    lags.iter().take_while(|&&lag| lag as usize <= older).count() % 2 == 1
}

/// The number of right predictions in a window of the newest `size` rows. `lags` are those of all rows, the newest first.
pub fn right_in_window<'a>(lags: impl Iterator<Item = &'a [u32]>, size: usize) -> usize {
    lags.take(size.saturating_sub(1)).enumerate().filter(|(age, lags)| is_right(lags, size - 1 - age)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Older rows, the newest first, with k = 1: the row at distance 3 of class 0, at 2 of class 1, at 1 of class 0.
        let older = [(9.0, 0, 1.0), (4.0, 1, 1.0), (5.0, 0, 1.0), (1.0, 0, 1.0)];
        let (mut voters, mut lags) = (Vec::new(), Vec::new());
        turning_lags(older.into_iter(), 0, 1, Metric::Euclidean, Weighting::Distance, &mut voters, &mut lags);
        // Right from one row, wrong from two and three, right from four.
        assert_eq!(lags, [1, 2, 4]);
        assert_eq!(
            [0, 1, 2, 3, 4, 9].map(|older| is_right(&lags, older)),
            [false, true, false, false, true, true]
        );
    }

    #[test]
    fn votes_by_hand() {
        let euclidean = |voters: &[Voter]| winner(voters, Metric::Euclidean, Weighting::Distance);
        // 1/1 against 1/2 + 2/4: a tie, for the lower code.
        assert_eq!(euclidean(&[(1.0, 1, 1.0), (4.0, 0, 1.0), (16.0, 0, 2.0)]), Some(0));
        assert_eq!(euclidean(&[(0.0, 1, 1.0), (1.0, 0, 9.0)]), Some(1));
        assert_eq!(euclidean(&[(f64::INFINITY, 1, 1.0)]), Some(1));
        assert_eq!(euclidean(&[]), None);
    }
}
