//! A statistic over the last `window_size` numbers.
//!
//! The numbers are stored. Means, moments, sums, extremes and quantiles have a form for windows (`window`), which costs
//! little per number and never subtracts. Other statistics are computed from the stored numbers on demand.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::window::{Item, Window};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, check_weight};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.Rolling";

pub const STATISTIC: Parameter =
    Parameter::new("statistic", Kind::Part(&[Role::Statistic]), DefaultValue::Required, "the statistic");

pub static ROLLING: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Statistic over a sliding window of numbers",
    merge: Merge::ORDER,
    parameters: &[
        STATISTIC,
        Parameter::new(
            "window_size",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(1000),
            "number of values in the window",
        ),
    ],
    build: |arguments| {
        let numbers = WindowNumbers::build(NAME, arguments)?;
        Ok(Built::Statistic(Box::new(Rolling { numbers, size: arguments.size("window_size")? })))
    },
};

/// The numbers of a window, and the statistic of them.
pub struct WindowNumbers {
    /// The name in messages.
    who: &'static str,
    /// Has received nothing.
    statistic: Box<dyn Statistic>,
    /// Oldest first.
    items: VecDeque<Item>,
    /// None if the statistic is computed from the items.
    window: Option<Box<dyn Window>>,
    /// Of the statistic.
    largest: f64,
}

impl Clone for WindowNumbers {
    fn clone(&self) -> Self {
        WindowNumbers {
            who: self.who,
            statistic: self.statistic.duplicate(),
            items: self.items.clone(),
            window: self.window.as_ref().map(|window| window.duplicate()),
            largest: self.largest,
        }
    }
}

impl WindowNumbers {
    pub fn build(who: &'static str, arguments: &Arguments<'_>) -> Result<Self> {
        let Built::Statistic(statistic) = arguments.part("statistic")? else {
            return Err(arguments.absent("statistic"));
        };
        if statistic.takes_time() {
            return Err(Fault::value(format!("{who}: statistic must be one without times")));
        }
        let (window, largest) = (statistic.window(), statistic.largest());
        Ok(WindowNumbers { who, statistic, items: VecDeque::new(), window, largest })
    }

    pub fn statistic(&self) -> &dyn Statistic {
        &*self.statistic
    }

    pub fn items(&self) -> &VecDeque<Item> {
        &self.items
    }

    /// See `Window::older`.
    pub fn older(&self) -> usize {
        self.window.as_ref().map_or(0, |window| window.older())
    }

    /// Refuse what could make the statistic overflow: most statistics of a window are computed when they are asked for,
    /// and could not refuse then.
    #[inline]
    fn check_size(&self, (x, y, w): Item) -> Result<()> {
        check_numbers(self.who, &[x, y], self.largest)?;
        check_weight(self.who, w)
    }

    /// Remove the oldest ones and add a new one.
    #[inline]
    pub fn advance(&mut self, leaving: usize, new: Item) -> Result<()> {
        self.check_size(new)?;
        if let Some(window) = &mut self.window {
            window.advance(&self.items, leaving, new)?;
        }
        match leaving {
            0 => {}
            1 => drop(self.items.pop_front()),
            _ => drop(self.items.drain(..leaving)),
        }
        self.items.push_back(new);
        Ok(())
    }

    /// Add one that is older than those from `index` on.
    pub fn insert(&mut self, index: usize, new: Item) -> Result<()> {
        self.check_size(new)?;
        self.items.insert(index, new);
        if let Some(window) = &mut self.window {
            window.inserted(&self.items, index);
        }
        Ok(())
    }

    pub fn get(&self) -> f64 {
        if let Some(window) = &self.window {
            return window.get();
        }
        let mut statistic = self.statistic.duplicate();
        for &(x, y, w) in &self.items {
            if statistic.update(x, y, w).is_err() {
                return f64::NAN;
            }
        }
        statistic.get()
    }

    pub fn load(&mut self, who: &str, items: Vec<Item>, older: usize) -> Result<()> {
        let good = |&(x, y, w): &Item| x.is_finite() && y.is_finite() && w.is_finite() && w > 0.0;
        require(who, items.iter().all(good), "a number is not finite")?;
        require(who, older <= items.len(), "an index beyond the window")?;
        self.items = items.into();
        if let Some(window) = &mut self.window {
            window.rebuild(&self.items, older);
        }
        Ok(())
    }

    pub fn reset(&mut self) {
        self.items.clear();
        self.window = self.statistic.window();
    }

    pub fn memory(&self) -> usize {
        let window = self.window.as_ref().map_or(0, |window| window.memory());
        self.statistic.memory() + window + std::mem::size_of::<Item>() * self.items.capacity()
    }
}

#[derive(Clone)]
struct Rolling {
    numbers: WindowNumbers,
    size: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    ring: Vec<Item>,
    /// Index of the oldest number; files of earlier versions may have another one than 0.
    next: usize,
    #[serde(default)]
    older: usize,
}

impl Part for Rolling {
    fn save(&self) -> Result<Vec<u8>> {
        let ring = self.numbers.items().iter().copied().collect();
        pack(&State { ring, next: 0, older: self.numbers.older() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { mut ring, next, older } = unpack(NAME, bytes)?;
        require(NAME, ring.len() <= self.size, "more numbers than the window holds")?;
        require(NAME, next == 0 || next < ring.len(), "an index beyond the window")?;
        ring.rotate_left(next);
        self.numbers.load(NAME, ring, older)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.numbers.memory()
    }
}

impl Statistic for Rolling {
    #[inline]
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(super::never_told(NAME));
        }
        self.numbers.advance(usize::from(self.numbers.items().len() == self.size), (x, y, w))
    }

    fn get(&self) -> f64 {
        self.numbers.get()
    }

    fn largest(&self) -> f64 {
        self.numbers.statistic().largest()
    }

    fn takes_pairs(&self) -> bool {
        self.numbers.statistic().takes_pairs()
    }

    fn is_nominal(&self) -> bool {
        self.numbers.statistic().is_nominal()
    }

    fn returns_nominal(&self) -> bool {
        self.numbers.statistic().returns_nominal()
    }

    fn reset(&mut self) {
        self.numbers.reset();
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::held;

    fn rolling(statistic: &str, window_size: usize) -> held::Statistic {
        let parameters = json!({ "statistic": statistic, "window_size": window_size });
        held::Statistic::new(&json!({ "name": NAME, "parameters": parameters })).expect("declared")
    }

    /// Variances of the last three of 1, 1e8, 4, 2, 0: of 1 none, then (1e8 − 1)² / 2, … and at the end, when 1e8 has left,
    /// that of 4, 2, 0 around their mean 2: (4 + 0 + 4) / 2.
    #[test]
    fn a_large_number_leaves_nothing_behind() {
        let mut variance = rolling("stats.Var", 3);
        for x in [1.0, 1e8, 4.0, 2.0, 0.0] {
            variance.update(x, 0.0, 1.0).expect("a good number");
        }
        assert_eq!(variance.get(), 4.0);
        let mut mean = rolling("stats.Mean", 2);
        for x in [1e16, 1.0, 3.0] {
            mean.update(x, 0.0, 1.0).expect("a good number");
        }
        assert_eq!(mean.get(), 2.0);
    }

    #[test]
    fn a_number_that_would_overflow_is_refused_and_the_window_goes_on() {
        for (statistic, large) in [("stats.Var", 1e200), ("stats.Kurtosis", 1e60), ("stats.EWMean", 1e308)] {
            let mut window = rolling(statistic, 3);
            window.update(1.0, 0.0, 1.0).expect("a good number");
            let before = window.save().expect("a state");
            for (x, w) in [(large, 1.0), (-large, 1.0), (1.0, 1e101)] {
                assert!(window.update(x, 0.0, w).is_err(), "{statistic}");
                assert_eq!(window.save().expect("a state"), before);
            }
            window.update(4.0, 0.0, 1.0).expect("a good number");
        }
    }
}
