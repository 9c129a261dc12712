//! Statistics over a sliding window, without subtraction.
//!
//! A number that has left the window must leave no rounding error behind: subtracting 1e16 from a sum cannot restore the
//! digits that adding it has lost. Means, moments, sums and extremes therefore use two stacks (the queue of Tangwongsan,
//! Hirzel and Schneider, 2021, "In-order sliding-window aggregation in worst-case constant time", section 3). The newer
//! numbers have one summary. The older ones have the summaries of each suffix, so that removing the oldest number
//! removes a summary. When the older ones are used up, those of the newer are computed. This costs two combinations a
//! number on average, and each value combines exactly the numbers of the window.

use std::collections::VecDeque;

use super::overflow;
use crate::fault::Result;

/// A number, or a pair, with its weight.
pub type Item = (f64, f64, f64);

/// The summary of the numbers in a window, which its owner stores, oldest first.
pub trait Window: Send + Sync {
    /// Remove the `leaving` oldest of `items` and add `new` as the newest one; the owner does the same to `items`
    /// afterwards. After a fault nothing has changed.
    fn advance(&mut self, items: &VecDeque<Item>, leaving: usize, new: Item) -> Result<()>;

    /// A number was inserted into `items` at `index`, before newer ones.
    fn inserted(&mut self, items: &VecDeque<Item>, index: usize);

    fn get(&self) -> f64;

    /// The number of oldest items that are summarised one by one. Together with the items it determines the state.
    fn older(&self) -> usize {
        0
    }

    /// Compute the state from the items; `older` is at most their number.
    fn rebuild(&mut self, items: &VecDeque<Item>, older: usize);

    fn memory(&self) -> usize;
    fn duplicate(&self) -> Box<dyn Window>;
}

/// How the numbers of a window are summarised, and the summaries of two parts combined.
pub trait Summary: Clone + Send + Sync + 'static {
    type Value: Copy + Send + Sync + 'static;

    /// The name in messages.
    fn name(&self) -> &'static str;
    fn of(&self, item: Item) -> Self::Value;
    /// Of two neighbouring parts, the older one first.
    fn combine(&self, older: &Self::Value, newer: &Self::Value) -> Self::Value;
    fn is_finite(&self, value: &Self::Value) -> bool;
    /// Whether two such parts surely have a finite summary, which then need not be computed for this.
    fn is_small(&self, _value: &Self::Value) -> bool {
        false
    }
    /// The statistic; `None` stands for no numbers.
    fn get(&self, value: Option<&Self::Value>) -> f64;
}

/// The window of a summary.
#[derive(Clone)]
pub struct TwoStacks<S: Summary> {
    summary: S,
    /// The summaries of the suffixes of the older numbers: that of all of them last.
    older: Vec<S::Value>,
    /// The summary of the newer numbers.
    newer: Option<S::Value>,
    spare: Vec<S::Value>,
}

impl<S: Summary> TwoStacks<S> {
    pub fn boxed(summary: S) -> Box<dyn Window> {
        Box::new(TwoStacks { summary, older: Vec::new(), newer: None, spare: Vec::new() })
    }

    fn both(&self, older: Option<&S::Value>, newer: Option<&S::Value>) -> Option<S::Value> {
        match (older, newer) {
            (Some(older), Some(newer)) => Some(self.summary.combine(older, newer)),
            (older, newer) => older.or(newer).copied(),
        }
    }

    /// Write the summaries of the suffixes of some items, given from the newest to the oldest.
    fn summarise<'a>(summary: &S, items: impl Iterator<Item = &'a Item>, to: &mut Vec<S::Value>) {
        to.clear();
        for &item in items {
            let one = summary.of(item);
            let next = to.last().map_or(one, |suffix| summary.combine(&one, suffix));
            to.push(next);
        }
    }

    fn fold<'a>(summary: &S, items: impl Iterator<Item = &'a Item>) -> Option<S::Value> {
        items.fold(None, |sum: Option<S::Value>, &item| {
            let one = summary.of(item);
            Some(sum.map_or(one, |sum| summary.combine(&sum, &one)))
        })
    }
}

impl<S: Summary> Window for TwoStacks<S> {
    #[inline]
    fn advance(&mut self, items: &VecDeque<Item>, leaving: usize, new: Item) -> Result<()> {
        let one = self.summary.of(new);
        let turns = leaving > self.older.len();
        let (older, newer) = match turns {
            true => {
                Self::summarise(&self.summary, items.range(leaving..).rev(), &mut self.spare);
                (self.spare.last(), one)
            }
            false => {
                let left = self.older.len() - leaving;
                let newer = self.newer.map_or(one, |newer| self.summary.combine(&newer, &one));
                (left.checked_sub(1).map(|last| &self.older[last]), newer)
            }
        };
        let summary = &self.summary;
        let finite = summary.is_finite(&newer)
            && older.is_none_or(|older| {
                let small = summary.is_small(older) && summary.is_small(&newer);
                small || summary.is_finite(&summary.combine(older, &newer))
            });
        if !finite {
            return Err(overflow(self.summary.name()));
        }
        match turns {
            true => std::mem::swap(&mut self.older, &mut self.spare),
            false => self.older.truncate(self.older.len() - leaving),
        }
        self.newer = Some(newer);
        Ok(())
    }

    fn inserted(&mut self, items: &VecDeque<Item>, index: usize) {
        let older = self.older.len();
        match index < older {
            true => Self::summarise(&self.summary, items.range(..=older).rev(), &mut self.older),
            false => self.newer = Self::fold(&self.summary, items.range(older..)),
        }
    }

    fn get(&self) -> f64 {
        self.summary.get(self.both(self.older.last(), self.newer.as_ref()).as_ref())
    }

    fn older(&self) -> usize {
        self.older.len()
    }

    fn rebuild(&mut self, items: &VecDeque<Item>, older: usize) {
        Self::summarise(&self.summary, items.range(..older).rev(), &mut self.older);
        self.newer = Self::fold(&self.summary, items.range(older..));
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + std::mem::size_of::<S::Value>() * (self.older.capacity() + self.spare.capacity())
    }

    fn duplicate(&self) -> Box<dyn Window> {
        Box::new(self.clone())
    }
}
