//! The number of some steps before, and statistics of the values of other statistics.
//!
//! `Link` updates its second statistic with the value of the first one, while that is defined. So `Shift(1) | Mean()` is
//! the mean without the newest number.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::never_told;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const SHIFT_NAME: &str = "stats.Shift";
const LINK_NAME: &str = "stats.Link";

pub static SHIFT: Declaration = Declaration {
    name: SHIFT_NAME,
    role: Role::Statistic,
    words: "Number of some steps before",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "amount",
            Kind::Integer { low: 0, high: 1 << 24 },
            DefaultValue::Integer(1),
            "number of steps before the newest number",
        ),
        Parameter::new(
            "fill_value",
            Kind::Optional(&Kind::Float(Bounds::ANY)),
            DefaultValue::Null,
            "value before there are enough numbers; undefined if null",
        ),
    ],
    build: |arguments| {
        let (amount, fill) = (arguments.size("amount")?, arguments.value("fill_value")?.as_f64());
        let shift = Shift { amount, fill: fill.unwrap_or(f64::NAN), last: VecDeque::new() };
        Ok(Built::Statistic(Box::new(shift)))
    },
};

pub static LINK: Declaration = Declaration {
    name: LINK_NAME,
    role: Role::Statistic,
    words: "Statistic of the values of another statistic",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "left",
            Kind::Part(&[Role::Statistic]),
            DefaultValue::Required,
            "the statistic of the numbers",
        ),
        Parameter::new(
            "right",
            Kind::Part(&[Role::Statistic]),
            DefaultValue::Required,
            "the statistic of the values of `left`",
        ),
    ],
    build: |arguments| {
        let Built::Statistic(left) = arguments.part("left")? else { return Err(arguments.absent("left")) };
        let Built::Statistic(right) = arguments.part("right")? else { return Err(arguments.absent("right")) };
        if right.takes_pairs() {
            return Err(Fault::value(format!("{LINK_NAME}: right must be a statistic of one variable")));
        }
        Ok(Built::Statistic(Box::new(Link { left, right })))
    },
};

#[derive(Clone)]
struct Shift {
    amount: usize,
    fill: f64,
    /// The last `amount` + 1 numbers, oldest first.
    last: VecDeque<f64>,
}

impl Part for Shift {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.last)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let last: VecDeque<f64> = unpack(SHIFT_NAME, bytes)?;
        require(SHIFT_NAME, last.len() <= self.amount + 1, "more numbers than the shift")?;
        require(SHIFT_NAME, last.iter().all(|x| x.is_finite()), "a number is not finite")?;
        self.last = last;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.last.capacity()
    }
}

impl Statistic for Shift {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(SHIFT_NAME));
        }
        if self.last.len() > self.amount {
            self.last.pop_front();
        }
        self.last.push_back(x);
        Ok(())
    }

    fn get(&self) -> f64 {
        match self.last.len() > self.amount {
            true => self.last[0],
            false => self.fill,
        }
    }

    fn next(&self, x: f64) -> Option<f64> {
        let count = self.last.len();
        Some(match self.amount {
            0 => x,
            amount if count < amount => self.fill,
            amount => self.last[count - amount],
        })
    }

    fn is_nominal(&self) -> bool {
        true
    }

    fn returns_nominal(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.last.clear();
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

struct Link {
    left: Box<dyn Statistic>,
    right: Box<dyn Statistic>,
}

#[derive(Serialize, Deserialize)]
struct State {
    #[serde(with = "serde_bytes")]
    left: Vec<u8>,
    #[serde(with = "serde_bytes")]
    right: Vec<u8>,
}

impl Part for Link {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { left: self.left.save()?, right: self.right.save()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(LINK_NAME, bytes)?;
        self.left.load(&state.left)?;
        self.right.load(&state.right)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.left.memory() + self.right.memory()
    }
}

impl Link {
    fn pass(&mut self, value: f64, w: f64, time: Option<f64>) -> Result<()> {
        match time {
            _ if value.is_nan() => Ok(()),
            Some(time) => self.right.update_at(value, 0.0, w, time),
            None => self.right.update(value, 0.0, w),
        }
    }

    fn receive(&mut self, x: f64, y: f64, w: f64, time: Option<f64>) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(LINK_NAME));
        }
        if let Some(value) = self.left.next(x) {
            self.pass(value, w, time)?;
            return self.left.update(x, y, w);
        }
        // The second one may refuse the value, and then the first one must be as it was.
        let before = self.left.duplicate();
        match time {
            Some(time) => self.left.update_at(x, y, w, time)?,
            None => self.left.update(x, y, w)?,
        }
        let value = self.left.get();
        self.pass(value, w, time).inspect_err(|_| self.left = before)
    }
}

impl Statistic for Link {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        self.receive(x, y, w, None)
    }

    fn update_at(&mut self, x: f64, y: f64, w: f64, time: f64) -> Result<()> {
        self.receive(x, y, w, Some(time))
    }

    fn get(&self) -> f64 {
        self.right.get()
    }

    fn largest(&self) -> f64 {
        self.left.largest().min(self.right.largest())
    }

    fn takes_pairs(&self) -> bool {
        self.left.takes_pairs()
    }

    fn takes_time(&self) -> bool {
        self.left.takes_time() || self.right.takes_time()
    }

    fn is_nominal(&self) -> bool {
        self.left.is_nominal() && (self.right.is_nominal() || !self.left.returns_nominal())
    }

    fn returns_nominal(&self) -> bool {
        self.right.returns_nominal()
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(Link { left: self.left.duplicate(), right: self.right.duplicate() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::held;

    #[test]
    fn worked_by_hand() {
        // The mean of 0, 1, 2, 3 without the newest number: of none, 0, (0 + 1) / 2, (0 + 1 + 2) / 3.
        let link = json!({ "name": LINK_NAME, "parameters": { "left": "stats.Shift", "right": "stats.Mean" } });
        let mut statistic = held::Statistic::new(&link).expect("declared");
        for (x, expected) in [(0.0, f64::NAN), (1.0, 0.0), (2.0, 0.5), (3.0, 1.0)] {
            statistic.update(x, 0.0, 1.0).expect("a good number");
            assert!(statistic.get() == expected || expected.is_nan() && statistic.get().is_nan());
        }
    }

    #[test]
    fn a_refused_value_leaves_both_as_they_were() {
        let link = json!({ "name": LINK_NAME, "parameters": { "left": "stats.Max", "right": "stats.Sum" } });
        let mut statistic = held::Statistic::new(&link).expect("declared");
        statistic.update(1e308, 0.0, 1.0).expect("a good number");
        let before = statistic.save().expect("a state");
        assert!(statistic.update(1.5e308, 0.0, 1.0).is_err());
        assert_eq!(statistic.save().expect("a state"), before);
    }
}
