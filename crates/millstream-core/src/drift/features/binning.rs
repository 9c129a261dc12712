//! Counts of the values of a feature: numbers between quantiles of the reference, nominal values one by one.

use super::contingency_table::ContingencyTable;

/// Write at most `bins` − 1 edges between equal fractions of a sorted reference, without duplicates. A number belongs to
/// the first edge that is not below it.
pub fn quantiles(sorted: &[f64], bins: usize, edges: &mut Vec<f64>) {
    edges.clear();
    for k in 1..bins {
        // The smallest number with at least k / bins of all numbers up to it.
        let index = (k * sorted.len()).div_ceil(bins).saturating_sub(1);
        if let Some(&edge) = sorted.get(index) {
            if edges.last().is_none_or(|&last| last < edge) {
                edges.push(edge);
            }
        }
    }
}

/// Count numbers, in any order, by the edges.
pub fn count(numbers: &[f64], edges: &[f64], counts: &mut Vec<u32>) {
    counts.clear();
    counts.resize(edges.len() + 1, 0);
    for &x in numbers {
        counts[edges.partition_point(|&edge| edge < x)] += 1;
    }
}

/// Add a cell for each distinct value of two sorted columns.
pub fn distinct(reference: &[f64], current: &[f64], cells: &mut ContingencyTable) {
    let (mut i, mut j) = (0, 0);
    loop {
        let value = match (reference.get(i), current.get(j)) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&x), None) | (None, Some(&x)) => x,
            (None, None) => return,
        };
        let (from_i, from_j) = (i, j);
        while reference.get(i).is_some_and(|&x| x <= value) {
            i += 1;
        }
        while current.get(j).is_some_and(|&x| x <= value) {
            j += 1;
        }
        cells.push((i - from_i) as f64, (j - from_j) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::contingency_table::Divergence;
    use super::*;

    /// Of 1, …, 8 in four bins the edges are 2, 4, 6, each of them in the bin below it; of 0, 0, 0, 1 only 0 and 1.
    #[test]
    fn worked_by_hand() {
        let (mut edges, mut counts) = (Vec::new(), Vec::new());
        let numbers: Vec<f64> = (1..=8).map(f64::from).collect();
        quantiles(&numbers, 4, &mut edges);
        assert_eq!(edges, [2.0, 4.0, 6.0]);
        count(&numbers, &edges, &mut counts);
        assert_eq!(counts, [2, 2, 2, 2]);
        count(&[-5.0, 6.5, 90.0], &edges, &mut counts);
        assert_eq!(counts, [1, 0, 0, 2]);
        quantiles(&[0.0, 0.0, 0.0, 1.0], 5, &mut edges);
        assert_eq!(edges, [0.0, 1.0]);
        quantiles(&[], 5, &mut edges);
        assert!(edges.is_empty());
    }

    #[test]
    fn values_are_paired() {
        let mut cells = ContingencyTable::default();
        let (a, b) = ([vec![0.0; 20], vec![2.0; 20]].concat(), [vec![0.0; 20], vec![7.0; 20]].concat());
        distinct(&a, &b, &mut cells);
        // 20, 20 | 20, 0 | 0, 20: expected 20, 10, 10 on each side, so χ² = 4 · 10² / 10.
        assert_eq!(cells.test(Divergence::ChiSquare).map(|found| found.0), Some(40.0));
    }
}
