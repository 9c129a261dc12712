//! A histogram of a stream of numbers in bounded memory (Ben-Haim and Tom-Tov, 2010, "A streaming parallel decision
//! tree algorithm", section 2.1): a limited number of bins, each with the mean of its numbers; when there is one too
//! many, the two nearest bins are merged. `Content` defines what a bin holds in addition to its mean.
//!
//! An outlier gets a bin of its own, and does not affect the others.

use serde::{Deserialize, Serialize};

use crate::row::finite;

/// The contents of a bin.
pub trait Content: Clone {
    fn add(&mut self, other: &Self);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin<C> {
    pub mean: f64,
    pub weight: f64,
    pub content: C,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram<C> {
    /// By ascending mean.
    bins: Vec<Bin<C>>,
}

impl<C> Default for Histogram<C> {
    fn default() -> Self {
        Histogram { bins: Vec::new() }
    }
}

impl<C: Content> Histogram<C> {
    pub fn bins(&self) -> &[Bin<C>] {
        &self.bins
    }

    /// Add a number with its content; `most` is the maximum number of bins.
    pub fn add(&mut self, x: f64, weight: f64, content: C, most: usize) {
        let index = self.bins.partition_point(|bin| bin.mean < x);
        let new = Bin { mean: x, weight, content };
        if let Some(bin) = self.bins.get_mut(index).filter(|bin| bin.mean == x) {
            bin.weight = finite(bin.weight + weight);
            bin.content.add(&new.content);
            return;
        }
        if self.bins.len() < most {
            self.bins.reserve_exact(1);
            self.bins.insert(index, new);
            return;
        }
        // One too many: the new bin joins a neighbour, or two others are merged.
        let gap = |left: Option<f64>, right: Option<f64>| match (left, right) {
            (Some(left), Some(right)) => right - left,
            _ => f64::INFINITY,
        };
        let mean = |index: usize| self.bins.get(index).map(|bin| bin.mean);
        let before = gap(index.checked_sub(1).and_then(mean), Some(x));
        let after = gap(Some(x), mean(index));
        let (nearest, own) = if before <= after { (index.wrapping_sub(1), before) } else { (index, after) };
        let (pair, least) = self.nearest_pair();
        if own <= least {
            if let Some(bin) = self.bins.get_mut(nearest) {
                bin.join(&new);
            }
            return;
        }
        let (left, right) = self.bins.split_at_mut(pair + 1);
        if let (Some(left), Some(right)) = (left.last_mut(), right.first()) {
            left.join(right);
        }
        // The slot of the right bin of the pair is free now, and the new bin moves there.
        let free = pair + 1;
        if index <= free {
            self.bins[index..=free].rotate_right(1);
            self.bins[index] = new;
        } else {
            self.bins[free..index].rotate_left(1);
            self.bins[index - 1] = new;
        }
    }

    /// The left one of the two nearest bins, and their distance.
    fn nearest_pair(&self) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (index, pair) in self.bins.windows(2).enumerate() {
            let gap = pair[1].mean - pair[0].mean;
            if gap < best.1 {
                best = (index, gap);
            }
        }
        best
    }

    /// The midpoints between bins: the bins up to the first of the two hold what lies below.
    pub fn cuts(&self) -> impl Iterator<Item = f64> + '_ {
        self.bins.windows(2).map(|pair| pair[0].mean * 0.5 + pair[1].mean * 0.5)
    }

    pub fn memory(&self) -> usize {
        self.bins.len() * std::mem::size_of::<Bin<C>>()
    }

    /// The same, including the allocations of the contents.
    pub fn memory_with(&self, beside: impl Fn(&C) -> usize) -> usize {
        self.memory() + self.bins.iter().map(|bin| beside(&bin.content)).sum::<usize>()
    }

    /// Whether it could be the histogram of some numbers.
    pub fn is_sound(&self, most: usize, sound: impl Fn(&C) -> bool) -> bool {
        let good = |bin: &Bin<C>| bin.mean.is_finite() && bin.weight > 0.0 && bin.weight.is_finite();
        self.bins.len() <= most
            && self.bins.iter().all(|bin| good(bin) && sound(&bin.content))
            && self.bins.windows(2).all(|pair| pair[0].mean <= pair[1].mean)
    }
}

impl<C: Content> Bin<C> {
    /// The mean as a convex combination, which cannot overflow.
    fn join(&mut self, other: &Bin<C>) {
        let weight = finite(self.weight + other.weight);
        self.mean = self.mean * (self.weight / weight) + other.mean * (other.weight / weight);
        self.weight = weight;
        self.content.add(&other.content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Count(f64);

    impl Content for Count {
        fn add(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    fn told(numbers: &[f64], most: usize) -> Vec<(f64, f64)> {
        let mut histogram = Histogram::default();
        for &number in numbers {
            histogram.add(number, 1.0, Count(1.0), most);
        }
        assert!(histogram.is_sound(most, |count| count.0 > 0.0));
        histogram.bins().iter().map(|bin| (bin.mean, bin.content.0)).collect()
    }

    #[test]
    fn the_example_of_the_paper() {
        // Section 2.1: 23, 19, 10, 16, 36, 2, 9 in five bins are 2, 9.5 (2), 17.5 (2), 23, 36. Then 32 is nearer to 36
        // than any two others are to each other.
        let numbers = [23.0, 19.0, 10.0, 16.0, 36.0, 2.0, 9.0];
        assert_eq!(told(&numbers, 5), [(2.0, 1.0), (9.5, 2.0), (17.5, 2.0), (23.0, 1.0), (36.0, 1.0)]);
        let more = told(&[23.0, 19.0, 10.0, 16.0, 36.0, 2.0, 9.0, 32.0], 5);
        let expected = [(2.0, 1.0), (9.5, 2.0), (17.5, 2.0), (23.0, 1.0), (34.0, 2.0)];
        assert_eq!(more, expected);
    }

    #[test]
    fn an_outlier_has_a_bin_of_its_own() {
        let mut numbers: Vec<f64> = (0..100).map(|n| f64::from(n % 10)).collect();
        numbers.push(1e308);
        numbers.push(-1e308);
        let bins = told(&numbers, 12);
        assert_eq!(bins.len(), 12);
        assert!(bins[1..11].iter().all(|bin| bin.1 == 10.0));
    }
}
