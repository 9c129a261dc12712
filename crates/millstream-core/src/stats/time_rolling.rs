//! A statistic over the numbers of the last span of time.
//!
//! The window ends at the newest time so far; a number leaves it when its age reaches the period. A number may be late: it
//! is inserted at its time, if that is at most `lateness` before the newest one. A late number costs an update of the part
//! of the window behind it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::rolling::{WindowNumbers, STATISTIC};
use super::window::Item;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.TimeRolling";

pub static TIME_ROLLING: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Statistic over a sliding window of time",
    merge: Merge::ORDER,
    parameters: &[
        STATISTIC,
        Parameter::new(
            "period",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Required,
            "length of the window, in seconds if the times are dates",
        ),
        Parameter::new(
            "lateness",
            Kind::Optional(&Kind::Float(Bounds::NOT_NEGATIVE)),
            DefaultValue::Null,
            "how long before the newest time the time of a number may be; null for any",
        ),
        Parameter::new(
            "late",
            Kind::Choice(&["refuse", "skip"]),
            DefaultValue::Text("refuse"),
            "whether a number that is later is refused with an error, or skipped",
        ),
        Parameter::new(
            "max_size",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(1 << 20),
            "largest number of values in the window; more are refused",
        ),
    ],
    build: |arguments| {
        Ok(Built::Statistic(Box::new(TimeRolling {
            numbers: WindowNumbers::build(NAME, arguments)?,
            times: VecDeque::new(),
            period: arguments.float("period")?,
            lateness: arguments.value("lateness")?.as_f64().unwrap_or(f64::INFINITY),
            skips: arguments.text("late")? == "skip",
            max_size: arguments.size("max_size")?,
        })))
    },
};

#[derive(Clone)]
struct TimeRolling {
    numbers: WindowNumbers,
    /// Of each number, in order.
    times: VecDeque<f64>,
    period: f64,
    lateness: f64,
    skips: bool,
    max_size: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    items: Vec<Item>,
    times: Vec<f64>,
    older: usize,
}

impl TimeRolling {
    fn full(&self, left: usize) -> Result<()> {
        match left < self.max_size {
            true => Ok(()),
            false => Err(Fault::value(format!(
                "{NAME}: the window holds max_size = {} values already; choose a larger max_size or a shorter period",
                self.max_size
            ))),
        }
    }

    fn insert_late(&mut self, newest: f64, new: Item, time: f64) -> Result<()> {
        if newest - time > self.lateness {
            return match self.skips {
                true => Ok(()),
                false => Err(Fault::value(format!(
                    "{NAME}: t must be at most lateness = {} before the newest time {}, got {}",
                    Shown(self.lateness),
                    Shown(newest),
                    Shown(time)
                ))),
            };
        }
        if time <= newest - self.period {
            return Ok(());
        }
        self.full(self.times.len())?;
        let index = self.times.partition_point(|&other| other <= time);
        self.numbers.insert(index, new)?;
        self.times.insert(index, time);
        Ok(())
    }
}

impl Part for TimeRolling {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            items: self.numbers.items().iter().copied().collect(),
            times: self.times.iter().copied().collect(),
            older: self.numbers.older(),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { items, times, older } = unpack(NAME, bytes)?;
        require(NAME, items.len() <= self.max_size, "more numbers than the window holds")?;
        require(NAME, items.len() == times.len(), "times of the wrong length")?;
        let ordered = times.windows(2).all(|two| two[0] <= two[1]) && times.iter().all(|time| time.is_finite());
        require(NAME, ordered, "the times are not finite, or out of order")?;
        self.times = times.into();
        self.numbers.load(NAME, items, older)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.numbers.memory() + 8 * self.times.capacity()
    }
}

impl Statistic for TimeRolling {
    fn update(&mut self, _x: f64, _y: f64, _w: f64) -> Result<()> {
        Err(Fault::value(format!("{NAME}: t must be given: the time of the number")))
    }

    fn update_at(&mut self, x: f64, y: f64, w: f64, time: f64) -> Result<()> {
        if w < 0.0 {
            return Err(super::never_told(NAME));
        }
        match self.times.back() {
            Some(&newest) if time < newest => self.insert_late(newest, (x, y, w), time),
            _ => {
                let start = time - self.period;
                let leaving = self.times.iter().take_while(|&&other| other <= start).count();
                self.full(self.times.len() - leaving)?;
                self.numbers.advance(leaving, (x, y, w))?;
                self.times.drain(..leaving);
                self.times.push_back(time);
                Ok(())
            }
        }
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

    fn takes_time(&self) -> bool {
        true
    }

    fn is_nominal(&self) -> bool {
        self.numbers.statistic().is_nominal()
    }

    fn returns_nominal(&self) -> bool {
        self.numbers.statistic().returns_nominal()
    }

    fn reset(&mut self) {
        self.numbers.reset();
        self.times.clear();
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

    fn rolling(parameters: serde_json::Value) -> held::Statistic {
        held::Statistic::new(&json!({ "name": NAME, "parameters": parameters })).expect("declared")
    }

    /// Means of 1, 5, 9, 13 at times 1, 2, 3, 4 with a period of 3: 1, 3, 5, and (5 + 9 + 13) / 3 = 9. Then 21 at time 2.5,
    /// which is late but in the window: (5 + 21 + 9 + 13) / 4 = 12. At time 5.5, those of 3 and 4 remain: 9, 13, 2 → 8.
    #[test]
    fn worked_by_hand() {
        let mut mean = rolling(json!({ "statistic": "stats.Mean", "period": 3.0, "lateness": 2.0 }));
        let told = [
            (1.0, 1.0, 1.0),
            (2.0, 5.0, 3.0),
            (3.0, 9.0, 5.0),
            (4.0, 13.0, 9.0),
            (2.5, 21.0, 12.0),
            (5.5, 2.0, 8.0),
        ];
        for (time, x, expected) in told {
            mean.update_at(x, 0.0, 1.0, time).expect("a good number");
            assert!((mean.get() - expected).abs() < 1e-14, "{time}");
        }
        let before = mean.save().expect("a state");
        assert!(mean.update_at(1.0, 0.0, 1.0, 3.0).is_err(), "it is 2.5 late");
        assert!(mean.update(1.0, 0.0, 1.0).is_err(), "it has no time");
        assert_eq!(mean.save().expect("a state"), before);
        let mut skipping =
            rolling(json!({ "statistic": "stats.Max", "period": 3.0, "lateness": 0.0, "late": "skip" }));
        skipping.update_at(1.0, 0.0, 1.0, 2.0).expect("a good number");
        skipping.update_at(9.0, 0.0, 1.0, 1.0).expect("skipped");
        assert_eq!(skipping.get(), 1.0);
    }
}
