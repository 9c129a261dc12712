//! The streaming histogram of Ben-Haim and Tom-Tov (2010, "A streaming parallel decision tree algorithm", JMLR 11).
//!
//! At most B bins, each a mean and a weight. A number is a new bin, and if there are more than B, the two that are closest
//! become one with their mean (algorithm 1). To merge, the bins of both are joined and reduced in the same way
//! (algorithm 2). Between the means of two bins the density is a trapezoid (algorithm 3). The error has no bound: choose
//! KLL where one is needed.

use serde::{Deserialize, Serialize};

use super::role::{ErrorBound, Items, Question};
use super::summary::{built, unsupported, Summary};
use super::MISSING;
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

const NAME: &str = "sketch.Histogram";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sketch,
    words: "Adaptive bins of numbers, without an error bound",
    merge: Merge::approximate("bins of both are joined, and the closest ones merged"),
    parameters: &[
        Parameter::new(
            "max_bins",
            Kind::Integer { low: 2, high: 1 << 16 },
            Default::Integer(256),
            "largest number of bins",
        ),
        MISSING,
    ],
    build: |arguments| built(arguments, Histogram::new(arguments.size("max_bins")?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Histogram {
    max_bins: usize,
    /// Means and weights, ascending, all means different.
    bins: Vec<(f64, f64)>,
    min: f64,
    max: f64,
}

impl Histogram {
    fn new(max_bins: usize) -> Self {
        Histogram { max_bins, bins: Vec::new(), min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    fn insert(&mut self, mean: f64, w: f64) {
        let place = self.bins.partition_point(|bin| bin.0 < mean);
        match self.bins.get_mut(place) {
            Some(bin) if bin.0 == mean => bin.1 += w,
            _ => self.bins.insert(place, (mean, w)),
        }
    }

    /// Join the closest neighbours until there are few enough bins; of equal gaps, the first.
    fn reduce(&mut self) {
        while self.bins.len() > self.max_bins {
            let (mut closest, mut gap) = (0, f64::INFINITY);
            for (place, pair) in self.bins.windows(2).enumerate() {
                // Of finite numbers the difference may be infinite; halves are not.
                let this = pair[1].0 * 0.5 - pair[0].0 * 0.5;
                if this < gap {
                    (closest, gap) = (place, this);
                }
            }
            let ((a, v), (b, w)) = (self.bins[closest], self.bins[closest + 1]);
            let mean = a * (v / (v + w)) + b * (w / (v + w));
            self.bins[closest] = (mean.clamp(a, b), v + w);
            self.bins.remove(closest + 1);
            // The mean may be rounded to that of a neighbour.
            if closest > 0 && self.bins[closest - 1].0 == self.bins[closest].0 {
                self.bins[closest - 1].1 += self.bins[closest].1;
                self.bins.remove(closest);
            } else if self.bins.get(closest + 1).is_some_and(|next| next.0 == self.bins[closest].0) {
                self.bins[closest].1 += self.bins[closest + 1].1;
                self.bins.remove(closest + 1);
            }
        }
    }

    fn weight(&self) -> f64 {
        self.bins.iter().map(|bin| bin.1).sum()
    }

    /// Bins with an empty one at the minimum and at the maximum, where the density falls to 0.
    fn knots(&self) -> Vec<(f64, f64)> {
        let mut knots = self.bins.clone();
        match (knots.first(), knots.last()) {
            (Some(first), Some(last)) => {
                let (low, high) = (first.0 > self.min, last.0 < self.max);
                if low {
                    knots.insert(0, (self.min, 0.0));
                }
                if high {
                    knots.push((self.max, 0.0));
                }
            }
            _ => return knots,
        }
        knots
    }

    /// The weight at or below `x`: half a bin lies on each side of its mean; the ends are those of the numbers.
    fn below(&self, x: f64) -> f64 {
        if x < self.min {
            return 0.0;
        }
        if x >= self.max {
            return self.weight();
        }
        let knots = self.knots();
        let next = knots.partition_point(|knot| knot.0 <= x);
        let before: f64 = knots[..next.saturating_sub(1)].iter().map(|knot| knot.1).sum();
        let ((a, v), (b, w)) = match (next.checked_sub(1).and_then(|i| knots.get(i)), knots.get(next)) {
            (Some(&left), Some(&right)) => (left, right),
            _ => return before,
        };
        // In halves, because the difference of finite numbers may be infinite.
        let z = (x * 0.5 - a * 0.5) / (b * 0.5 - a * 0.5);
        // Half of the left bin lies below its mean, all of the first one at its mean; then comes a trapezoid.
        let left = if next == 1 { v - v / 2.0 * z } else { v / 2.0 };
        before + left + (v + v + (w - v) * z) * z / 2.0
    }

    fn rank(&self, x: f64) -> f64 {
        match self.bins.is_empty() || x.is_nan() {
            true => f64::NAN,
            false => (self.below(x) / self.weight()).clamp(0.0, 1.0),
        }
    }

    /// The inverse of `rank`, by bisection of the bins and then of the numbers between two.
    fn quantile(&self, q: f64) -> f64 {
        if self.bins.is_empty() {
            return f64::NAN;
        }
        let (mut low, mut high) = (self.min, self.max);
        for _ in 0..200 {
            let middle = low * 0.5 + high * 0.5;
            if middle <= low || middle >= high {
                break;
            }
            match self.rank(middle) < q {
                true => low = middle,
                false => high = middle,
            }
        }
        if q <= 0.0 || self.rank(low) >= q {
            low
        } else {
            high
        }
    }
}

impl Summary for Histogram {
    const NAME: &'static str = NAME;
    const ITEMS: Items = Items::Numbers;

    fn is_valid(&self, built: &Self) -> bool {
        let ranged = |bin: &(f64, f64)| (self.min..=self.max).contains(&bin.0) && bin.1 > 0.0 && bin.1.is_finite();
        self.max_bins == built.max_bins
            && self.bins.len() <= self.max_bins
            && self.bins.iter().all(ranged)
            && self.bins.is_sorted_by(|a, b| a.0 < b.0)
            && (self.min <= self.max) != self.bins.is_empty()
            && (self.bins.is_empty() || (self.min.is_finite() && self.max.is_finite()))
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 16 * self.bins.capacity()
    }

    fn add_number(&mut self, x: f64, w: f64) {
        let x = x + 0.0;
        self.insert(x, w);
        self.reduce();
        (self.min, self.max) = (self.min.min(x), self.max.max(x));
    }

    fn merge(&mut self, other: &Self) -> Result<()> {
        other.bins.iter().for_each(|&(mean, w)| self.insert(mean, w));
        self.reduce();
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        Ok(())
    }

    fn answer(&self, question: Question<'_>) -> Result<f64> {
        match question {
            Question::Quantile(q) => Ok(self.quantile(q)),
            Question::Rank(x) => Ok(self.rank(x)),
            _ => Err(unsupported()),
        }
    }

    fn error_bound(&self, _total: f64) -> ErrorBound {
        ErrorBound { of: "rank", bound: None, probability: None }
    }

    fn bins(&self) -> Vec<(f64, f64)> {
        self.bins.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    #[test]
    fn the_closest_bins_join() {
        // Three bins: 1, 2 and 10, then 2.5. The closest are 2 and 2.5, with the mean 2.25 of weight 2.
        let mut histogram = Histogram::new(3);
        for x in [1.0, 10.0, 2.0, 2.5] {
            histogram.add_number(x, 1.0);
        }
        assert_eq!(histogram.bins, [(1.0, 1.0), (2.25, 2.0), (10.0, 1.0)]);
        // A heavy 2.25 adds to its bin.
        histogram.add_number(2.25, 5.0);
        assert_eq!(histogram.bins[1], (2.25, 7.0));
    }

    #[test]
    fn ranks_follow_the_numbers() {
        let mut random = Random::new(1, 1);
        let mut histogram = Histogram::new(64);
        (0..20_000).for_each(|_| histogram.add_number(random.unit(), 1.0));
        for step in 1..100 {
            let x = f64::from(step) / 100.0;
            assert!((histogram.rank(x) - x).abs() < 0.02, "{x} {}", histogram.rank(x));
            assert!((histogram.quantile(x) - x).abs() < 0.02, "{x} {}", histogram.quantile(x));
        }
        assert_eq!([-1.0, 2.0].map(|x| histogram.rank(x)), [0.0, 1.0]);
    }

    #[test]
    fn extreme_numbers_join() {
        let mut histogram = Histogram::new(2);
        for x in [f64::MAX, f64::MIN, 0.0, 1e-300, f64::MAX / 2.0] {
            histogram.add_number(x, 1.0);
        }
        assert!(histogram.is_valid(&Histogram::new(2)), "{histogram:?}");
        assert!(histogram.quantile(0.5).is_finite());
    }
}
