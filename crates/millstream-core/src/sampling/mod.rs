//! Samples of a stream. `record` holds rows as they were given; `uniform` and `weighted` choose them.

pub mod by_key;
pub mod decayed_reservoir;
pub mod record;
pub mod reservoir;
pub mod stratified;
mod uniform;
mod weighted;
pub mod weighted_reservoir;
pub mod window_sample;

use crate::fault::{Fault, Result, Shown};
use crate::parameter::{Arguments, Default, Kind, Parameter};

/// Indices of rows are drawn with 32 bits.
pub const MAX_SIZE: i64 = 1 << 31;

const SIZE: Parameter = Parameter::new(
    "size",
    Kind::Integer { low: 1, high: MAX_SIZE },
    Default::Required,
    "number of rows of the sample",
);
const SEED: Parameter = Parameter::new(
    "seed",
    Kind::Integer { low: i64::MIN, high: i64::MAX },
    Default::Integer(0),
    "seed of the draws; different for samples that are to be merged",
);
const BY_TIME: Parameter = Parameter::new(
    "by_time",
    Kind::Boolean,
    Default::Boolean(false),
    "measure in the time t of the rows, not in rows; dates count in seconds",
);
const LATE: Parameter = Parameter::new(
    "late",
    Kind::Choice(&["refuse", "accept"]),
    Default::Text("refuse"),
    "a row whose time is before that of an earlier row: an error, or a row like any other",
);

/// How the age of rows is measured, and the clock.
#[derive(Clone, Debug)]
struct Clock {
    who: &'static str,
    by_time: bool,
    accepts_late: bool,
}

impl Clock {
    fn new(who: &'static str, arguments: &Arguments<'_>) -> Result<Self> {
        let (by_time, late) = (arguments.boolean("by_time")?, arguments.text("late")?);
        Ok(Clock { who, by_time, accepts_late: late == "accept" })
    }

    /// The time of the next row: its index, or the given time; `latest` is the latest time before.
    fn read(&self, t: Option<f64>, seen: u64, latest: Option<f64>) -> Result<f64> {
        if !self.by_time {
            return Ok(seen as f64);
        }
        let who = self.who;
        let t =
            t.ok_or_else(|| Fault::value(format!("{who}: with by_time, each row needs its time t, got none")))?;
        match latest {
            Some(latest) if t < latest && !self.accepts_late => Err(Fault::value(format!(
                "{who}: t must not decrease, got {} after {} (late=\"accept\" accepts such rows)",
                Shown(t),
                Shown(latest)
            ))),
            _ => Ok(t),
        }
    }

    /// Whether ages of rows in two parts of a stream can be compared.
    fn check_merge(&self) -> Result<()> {
        match self.by_time {
            true => Ok(()),
            false => Err(Fault::value(
                "cannot be merged while the age of rows is their number in one part of the stream; use by_time=True",
            )),
        }
    }
}
