//! Quantiles of a window, from a sorted array: a new number moves the numbers between its place and that of the number
//! that leaves. For a window of a thousand numbers this is faster than any tree, because it is one move in the cache.

use std::collections::VecDeque;

use super::window::{Item, Window};
use crate::fault::Result;

/// What is asked of the sorted numbers.
#[derive(Clone, Copy, Debug)]
pub enum Question {
    Quantile(f64),
    /// The difference of the second and the first quantile.
    Range(f64, f64),
    /// The median of the distances to the median.
    Deviation,
}

#[derive(Clone, Debug)]
pub struct SortedWindow {
    question: Question,
    /// In ascending order, with 0 for −0.
    values: Vec<f64>,
    /// The weight of each; empty while all weights are 1.
    weights: Vec<f64>,
    /// The number of weights other than 1.
    uneven: usize,
}

impl SortedWindow {
    pub fn boxed(question: Question) -> Box<dyn Window> {
        Box::new(SortedWindow { question, values: Vec::new(), weights: Vec::new(), uneven: 0 })
    }

    fn insert(&mut self, x: f64, w: f64) {
        let at = self.values.partition_point(|&value| value < x);
        if w != 1.0 && self.weights.is_empty() {
            self.weights.resize(self.values.len(), 1.0);
        }
        self.values.insert(at, x);
        if w != 1.0 || !self.weights.is_empty() {
            self.weights.insert(at, w);
            self.uneven += usize::from(w != 1.0);
        }
    }

    fn remove(&mut self, x: f64, w: f64) {
        let mut at = self.values.partition_point(|&value| value < x);
        if !self.weights.is_empty() {
            while self.values.get(at + 1) == Some(&x) && self.weights[at] != w {
                at += 1;
            }
            self.weights.remove(at);
            self.uneven -= usize::from(w != 1.0);
            if self.uneven == 0 {
                self.weights.clear();
            }
        }
        self.values.remove(at);
    }

    /// Replace one number of weight 1 by another.
    #[inline]
    fn replace(&mut self, old: f64, new: f64) {
        let values = &mut self.values;
        let from = values.partition_point(|&value| value < old);
        let to = values.partition_point(|&value| value < new);
        if from < to {
            values.copy_within(from + 1..to, from);
            values[to - 1] = new;
        } else {
            values.copy_within(to..from, to + 1);
            values[to] = new;
        }
    }

    /// The smallest number with at least the fraction q of the weight at or below it, as in `stats.Quantile`.
    fn quantile(&self, q: f64) -> f64 {
        quantile(self.values.len(), q, |at| self.values[at], |at| self.weights.get(at).copied())
    }

    /// The median of the distances to the median: the numbers below and above it are sorted by distance, and merged.
    fn deviation(&self) -> f64 {
        if self.values.is_empty() {
            return f64::NAN;
        }
        let median = self.quantile(0.5);
        let (values, count) = (&self.values, self.values.len());
        let mut high = values.partition_point(|&value| value < median);
        let mut low = high;
        let weight = |at: usize| self.weights.get(at).copied().unwrap_or(1.0);
        let total: f64 = if self.weights.is_empty() { count as f64 } else { self.weights.iter().sum() };
        let wanted = 0.5 * total - 1e-12 * total;
        let mut reached = 0.0;
        loop {
            let below = low.checked_sub(1).map(|at| median - values[at]);
            let above = values.get(high).map(|value| value - median);
            let distance = match (below, above) {
                (Some(below), Some(above)) if below < above => {
                    low -= 1;
                    reached += weight(low);
                    below
                }
                (_, Some(above)) => {
                    reached += weight(high);
                    high += 1;
                    above
                }
                (Some(below), None) => {
                    low -= 1;
                    reached += weight(low);
                    below
                }
                (None, None) => return f64::NAN,
            };
            if reached >= wanted {
                return distance;
            }
        }
    }
}

fn quantile(count: usize, q: f64, value: impl Fn(usize) -> f64, weight: impl Fn(usize) -> Option<f64>) -> f64 {
    let Some(last) = count.checked_sub(1) else { return f64::NAN };
    if weight(0).is_none() {
        let rank = (q * count as f64 - 1e-12 * count as f64).ceil().max(1.0) as usize;
        return value((rank - 1).min(last));
    }
    let total: f64 = (0..count).filter_map(&weight).sum();
    let wanted = q * total - 1e-12 * total;
    let mut below = 0.0;
    for at in 0..count {
        below += weight(at).unwrap_or(1.0);
        if below >= wanted {
            return value(at);
        }
    }
    value(last)
}

impl Window for SortedWindow {
    #[inline]
    fn advance(&mut self, items: &VecDeque<Item>, leaving: usize, (x, _, w): Item) -> Result<()> {
        let x = x + 0.0;
        if leaving == 1 && self.weights.is_empty() && w == 1.0 {
            if let Some(&(old, _, _)) = items.front() {
                self.replace(old + 0.0, x);
                return Ok(());
            }
        }
        for &(old, _, old_w) in items.range(..leaving) {
            self.remove(old + 0.0, old_w);
        }
        self.insert(x, w);
        Ok(())
    }

    fn inserted(&mut self, items: &VecDeque<Item>, index: usize) {
        let (x, _, w) = items[index];
        self.insert(x + 0.0, w);
    }

    fn get(&self) -> f64 {
        let value = match self.question {
            Question::Quantile(q) => self.quantile(q),
            Question::Range(low, high) => self.quantile(high) - self.quantile(low),
            Question::Deviation => self.deviation(),
        };
        // The difference of two numbers may overflow.
        if value.is_finite() {
            value
        } else {
            f64::NAN
        }
    }

    fn rebuild(&mut self, items: &VecDeque<Item>, _older: usize) {
        let mut sorted: Vec<(f64, f64)> = items.iter().map(|&(x, _, w)| (x + 0.0, w)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.values = sorted.iter().map(|&(x, _)| x).collect();
        self.uneven = sorted.iter().filter(|&&(_, w)| w != 1.0).count();
        self.weights = if self.uneven == 0 { Vec::new() } else { sorted.iter().map(|&(_, w)| w).collect() };
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * (self.values.capacity() + self.weights.capacity())
    }

    fn duplicate(&self) -> Box<dyn Window> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // 5, 1, 4, 2: half of them are at or below 2, distances to it are 0, 1, 2, 3, half of them at most 1; quarters
        // at 1 and 4. Then 5 leaves and 9 of weight 3 comes: 1, 2, 4, 9, 9, 9, where half are at or below 4.
        let items: VecDeque<Item> = [5.0, 1.0, 4.0, 2.0].map(|x| (x, 0.0, 1.0)).into();
        for (question, before, after) in [
            (Question::Quantile(0.5), 2.0, 4.0),
            (Question::Range(0.25, 0.75), 3.0, 7.0),
            (Question::Deviation, 1.0, 3.0),
        ] {
            let mut window = SortedWindow { question, values: vec![], weights: vec![], uneven: 0 };
            window.rebuild(&items, 0);
            assert_eq!(window.get(), before, "{question:?}");
            window.advance(&items, 1, (9.0, 0.0, 3.0)).expect("a good number");
            assert_eq!(window.get(), after, "{question:?}");
        }
    }
}
