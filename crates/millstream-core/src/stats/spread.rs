//! Robust measures of spread: the range between two quantiles, and the median absolute deviation.
//!
//! Both are computed from the summary of `stats.Quantile`, so that they are exact up to 1,024 numbers, and the ranks of
//! the quantiles are within a computed bound of their fractions beyond that. The median absolute deviation is that of
//! the final median; it is not a median of distances to medians that have changed since.

use serde_json::json;

use super::quantile::State;
use super::sorted_window::{Question, SortedWindow};
use super::window::Window;
use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::LARGEST_OF_DIFFERENCES;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::schema::Schema;
use crate::statistic::Statistic;

pub static IQR: Declaration = Declaration {
    name: "stats.IQR",
    role: Role::Statistic,
    words: "Interquartile range, or the range between two other quantiles",
    merge: Merge::none("its summary depends on the order of numbers: use sketch.KLL, which can be merged"),
    parameters: &[
        Parameter::new("q_inf", Kind::Float(Bounds::UNIT), DefaultValue::Float(0.25), "the lower quantile"),
        Parameter::new("q_sup", Kind::Float(Bounds::UNIT), DefaultValue::Float(0.75), "the upper quantile"),
    ],
    build: |arguments| {
        let (low, high) = (arguments.float("q_inf")?, arguments.float("q_sup")?);
        if low >= high {
            return Err(Fault::value(format!("stats.IQR: q_inf must be below q_sup, got {low} and {high}")));
        }
        Ok(build("stats.IQR", Question::Range(low, high)))
    },
};

pub static MAD: Declaration = Declaration {
    name: "stats.MAD",
    role: Role::Statistic,
    words: "Median absolute deviation from the median",
    merge: Merge::none("its summary depends on the order of numbers: use sketch.KLL, which can be merged"),
    parameters: &[],
    build: |_| Ok(build("stats.MAD", Question::Deviation)),
};

fn build(name: &'static str, question: Question) -> Built {
    Built::Statistic(Box::new(Spread { name, question, state: State::default() }))
}

#[derive(Clone)]
struct Spread {
    name: &'static str,
    question: Question,
    state: State,
}

impl Part for Spread {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        state.check(self.name)?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.memory()
    }

    fn inspect(&self, _: &Schema) -> serde_json::Value {
        json!({ "error": self.state.error() })
    }
}

impl Statistic for Spread {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(self.name));
        }
        if self.state.total + w > 1e300 || !self.state.spans(x) {
            return Err(overflow(self.name));
        }
        self.state.push(x, w);
        Ok(())
    }

    fn largest(&self) -> f64 {
        LARGEST_OF_DIFFERENCES
    }

    fn get(&self) -> f64 {
        match self.question {
            Question::Quantile(q) => self.state.get(q),
            Question::Range(low, high) => self.state.get(high) - self.state.get(low),
            Question::Deviation => {
                let median = self.state.get(0.5);
                self.state.reach(0.5, |x| (x - median).abs()).unwrap_or(f64::NAN)
            }
        }
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(SortedWindow::boxed(self.question))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // 5, 1, 4, 2: quarters at 1 and 4. Half are at or below 2; half of the distances 3, 1, 2, 0 are at most 1.
        for (question, expected) in [(Question::Range(0.25, 0.75), 3.0), (Question::Deviation, 1.0)] {
            let mut spread = Spread { name: "stats.Test", question, state: State::default() };
            for x in [5.0, 1.0, 4.0, 2.0] {
                spread.update(x, 0.0, 1.0).expect("a good number");
            }
            assert_eq!(spread.get(), expected);
        }
    }
}
