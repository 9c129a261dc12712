//! Weighted count and sum: Σ w and Σ w x.
//!
//! The sum is compensated (Neumaier, 1974): rounding errors are stored beside it, so that neither many small
//! numbers nor a large one that is removed again reduce its precision.

use serde::{Deserialize, Serialize};

use super::window::{Item, Summary, TwoStacks, Window};
use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::part::Part;
use crate::statistic::Statistic;

pub static COUNT: Declaration = Declaration {
    name: "stats.Count",
    role: Role::Statistic,
    words: "Sum of weights",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| {
        Ok(Built::Statistic(Box::new(Total { name: "stats.Count", counting: true, state: State::default() })))
    },
};

pub static SUM: Declaration = Declaration {
    name: "stats.Sum",
    role: Role::Statistic,
    words: "Sum of numbers",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| {
        Ok(Built::Statistic(Box::new(Total { name: "stats.Sum", counting: false, state: State::default() })))
    },
};

#[derive(Clone)]
struct Total {
    name: &'static str,
    counting: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    sum: f64,
    /// Rounding error of the sum.
    lost: f64,
    /// Numbers added minus numbers removed.
    numbers: u64,
}

impl State {
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.lost += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        self.sum = sum;
    }

    fn is_finite(&self) -> bool {
        self.sum.is_finite() && self.lost.is_finite() && (self.sum + self.lost).is_finite()
    }
}

impl Part for Total {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        require(self.name, state.is_finite(), "the sum is not finite")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for Total {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        let mut next = self.state;
        if w < 0.0 {
            next.numbers = next.numbers.checked_sub(1).ok_or_else(|| never_told(self.name))?;
        } else {
            next.numbers = next.numbers.saturating_add(1);
        }
        next.add(if self.counting { w } else { w * x });
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = if next.numbers == 0 { State::default() } else { next };
        Ok(())
    }

    fn get(&self) -> f64 {
        self.state.sum + self.state.lost
    }

    fn invertible(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.state;
        next.add(theirs.state.sum);
        next.add(theirs.state.lost);
        next.numbers = next.numbers.saturating_add(theirs.state.numbers);
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = next;
        Ok(())
    }

    fn unmerge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.state;
        next.numbers = next.numbers.checked_sub(theirs.state.numbers).ok_or_else(|| never_told(self.name))?;
        next.add(-theirs.state.sum);
        next.add(-theirs.state.lost);
        if !next.is_finite() {
            return Err(overflow(self.name));
        }
        self.state = if next.numbers == 0 { State::default() } else { next };
        Ok(())
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(TwoStacks::boxed(WindowTotal { name: self.name, counting: self.counting }))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

/// The sum over a window.
#[derive(Clone)]
struct WindowTotal {
    name: &'static str,
    counting: bool,
}

impl Summary for WindowTotal {
    type Value = State;

    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn of(&self, (x, _, w): Item) -> State {
        State { sum: if self.counting { w } else { w * x }, lost: 0.0, numbers: 1 }
    }

    #[inline]
    fn combine(&self, a: &State, b: &State) -> State {
        let mut both = *a;
        both.add(b.sum);
        both.lost += b.lost;
        both
    }

    fn is_finite(&self, value: &State) -> bool {
        value.is_finite()
    }

    fn get(&self, value: Option<&State>) -> f64 {
        value.map_or(0.0, |value| value.sum + value.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // 1 + 1e100 + 1 − 1e100 is 2; in plain floats it is 0.
        let mut sum = Total { name: "stats.Sum", counting: false, state: State::default() };
        for x in [1.0, 1e100, 1.0, -1e100] {
            sum.update(x, 0.0, 1.0).expect("a good number");
        }
        assert_eq!(sum.get(), 2.0);
        assert!(sum.update(1e308, 0.0, 10.0).is_err());
        assert_eq!(sum.get(), 2.0);
    }
}
