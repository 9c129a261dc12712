//! An aggregate of the last numbers of a feature, exact at every step: two stacks, without subtraction.
//!
//! The newer numbers have one aggregate (the back), to which each new number is added. Of the older ones (the front), the
//! aggregate of each suffix is stored, so that the oldest number leaves by dropping an aggregate. When the front is empty,
//! all numbers move there, which costs a constant amount per number on average (Tangwongsan, Hirzel and Schneider, 2021,
//! Two-Stacks). A number that has left the window is in no aggregate, so it leaves no rounding error.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;

pub trait Aggregate: Copy + Send + Sync {
    /// Of no numbers.
    const NONE: Self;
    fn of(x: f64, w: f64) -> Self;
    /// Of the numbers of both, `self` being older.
    fn and(self, newer: Self) -> Self;
}

#[derive(Clone, Debug)]
pub struct TwoStacks<A> {
    /// Numbers and weights, oldest first.
    numbers: VecDeque<(f64, f64)>,
    /// The aggregates of the last 1, 2, … of the older numbers.
    front: Vec<A>,
    back: A,
}

/// What reverts a `push`.
#[derive(Clone, Copy, Debug)]
pub struct Pushed<A> {
    /// The number that has left, and the aggregate that was dropped with it.
    left: Option<((f64, f64), A)>,
    /// Whether all numbers moved to the front.
    moved: bool,
    back: A,
}

/// The aggregates follow from it bit for bit.
#[derive(Serialize, Deserialize)]
pub struct SavedWindow {
    numbers: Vec<f64>,
    /// Empty if all are 1.
    weights: Vec<f64>,
    /// Count of numbers in the front.
    older: usize,
}

impl<A: Aggregate> TwoStacks<A> {
    pub fn new() -> Self {
        TwoStacks { numbers: VecDeque::new(), front: Vec::new(), back: A::NONE }
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn get(&self) -> A {
        match self.front.last() {
            Some(&front) => front.and(self.back),
            None => self.back,
        }
    }

    /// Add a number; the oldest leaves if there are `size`, which is at least 1.
    pub fn push(&mut self, x: f64, w: f64, size: usize) -> Pushed<A> {
        let mut pushed = Pushed { left: None, moved: false, back: self.back };
        if self.numbers.len() >= size {
            if self.front.is_empty() {
                pushed.moved = true;
                self.fill_front(self.numbers.len());
                self.back = A::NONE;
            }
            pushed.left = self.numbers.pop_front().zip(self.front.pop());
        }
        self.numbers.push_back((x, w));
        self.back = self.back.and(A::of(x, w));
        pushed
    }

    /// Revert the last `push`, bit for bit.
    pub fn undo(&mut self, pushed: Pushed<A>) {
        self.numbers.pop_back();
        self.back = pushed.back;
        if let Some((number, aggregate)) = pushed.left {
            self.numbers.push_front(number);
            if pushed.moved {
                self.front.clear();
            } else {
                self.front.push(aggregate);
            }
        }
    }

    /// Write the aggregates of the first `count` numbers.
    fn fill_front(&mut self, count: usize) {
        let mut suffix = A::NONE;
        self.front.clear();
        for &(x, w) in self.numbers.range(..count).rev() {
            suffix = A::of(x, w).and(suffix);
            self.front.push(suffix);
        }
    }

    pub fn save(&self) -> SavedWindow {
        let weighted = self.numbers.iter().any(|&(_, w)| w != 1.0);
        SavedWindow {
            numbers: self.numbers.iter().map(|&(x, _)| x).collect(),
            weights: self.numbers.iter().filter(|_| weighted).map(|&(_, w)| w).collect(),
            older: self.front.len(),
        }
    }

    /// `good` tells which numbers and weights can have been learned.
    pub fn load(who: &str, saved: SavedWindow, size: usize, good: impl Fn(f64, f64) -> bool) -> Result<Self> {
        let SavedWindow { numbers, weights, older } = saved;
        let count = numbers.len();
        require(who, count <= size, "more numbers than the window has")?;
        require(who, weights.is_empty() || weights.len() == count, "numbers and weights differ in number")?;
        // After a move, one number has left and one is new; before the window is full, there is no front.
        require(who, older == 0 || (older < count && count == size), "the window is out of place")?;
        let weight = |index: usize| weights.get(index).copied().unwrap_or(1.0);
        let numbers: VecDeque<_> = numbers.iter().enumerate().map(|(index, &x)| (x, weight(index))).collect();
        require(who, numbers.iter().all(|&(x, w)| good(x, w)), "a number is not finite")?;
        let mut window = TwoStacks { numbers, front: Vec::new(), back: A::NONE };
        window.fill_front(older);
        window.back = window.numbers.range(older..).fold(A::NONE, |back, &(x, w)| back.and(A::of(x, w)));
        Ok(window)
    }

    pub fn memory(&self) -> usize {
        self.numbers.capacity() * 16 + self.front.capacity() * std::mem::size_of::<A>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the numbers, so that their order shows.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Digits(f64);

    impl Aggregate for Digits {
        const NONE: Self = Digits(0.0);
        fn of(x: f64, _: f64) -> Self {
            Digits(x)
        }
        fn and(self, newer: Self) -> Self {
            let digits = newer.0.to_string().len() as i32 * i32::from(newer.0 > 0.0);
            Digits(self.0 * 10f64.powi(digits) + newer.0)
        }
    }

    /// Window 3 on 1, 2, …, 9: after 1, 2, 3 the back is 123. With 4 all move to the front (3, 23, 123), 123 is dropped and
    /// the back is 4: 23 and 4 give 234; then 3 and 45; then 456, which is the back alone.
    #[test]
    fn steps_by_hand_with_undo_and_save() {
        let mut window = TwoStacks::<Digits>::new();
        for (x, expected) in [1.0, 12.0, 123.0, 234.0, 345.0, 456.0, 567.0, 678.0, 789.0].into_iter().enumerate() {
            let x = x as f64 + 1.0;
            let before = (format!("{window:?}"), window.get());
            let pushed = window.push(9.0 - x, 1.0, 3);
            window.undo(pushed);
            assert_eq!((format!("{window:?}"), window.get()), before);
            window.push(x, 1.0, 3);
            assert_eq!(window.get(), Digits(expected));
            let loaded = TwoStacks::<Digits>::load("test", window.save(), 3, |_, _| true).unwrap();
            assert_eq!(format!("{loaded:?}"), format!("{window:?}"));
        }
    }

    #[test]
    fn forged_windows_are_refused() {
        for (numbers, weights, older) in [
            (vec![1.0; 4], vec![], 0),
            (vec![1.0; 2], vec![1.0], 0),
            (vec![1.0; 2], vec![], 1),
            (vec![1.0; 3], vec![], 3),
        ] {
            let saved = SavedWindow { numbers, weights, older };
            assert!(TwoStacks::<Digits>::load("test", saved, 3, |_, _| true).is_err());
        }
        let saved = SavedWindow { numbers: vec![f64::NAN], weights: vec![], older: 0 };
        assert!(TwoStacks::<Digits>::load("test", saved, 3, |x, _| x.is_finite()).is_err());
    }
}
