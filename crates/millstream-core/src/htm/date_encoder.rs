//! Times as bits: times of day, days of the week, weekends and seasons that are near share bits. See `clock`.

use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{Name, Schema};
use crate::transformer::{Transformer, Zeros};

use super::bits::{numbered, settle, write_bits};
use super::clock::Clock;

pub const NAME: &str = "htm.DateEncoder";

const fn part_of_time(name: &'static str, default: i64, words: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high: 1 << 12 }, DefaultValue::Integer(default), words)
}

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes a time as bits: time of day, day of the week, weekend and season",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "time",
            Kind::Name,
            DefaultValue::Required,
            "name of the feature with the time: a date, or seconds since 1970",
        ),
        part_of_time("time_of_day", 21, "number of active bits for the time of day; 0 for none"),
        part_of_time("day_of_week", 0, "number of active bits for the day of the week; 0 for none"),
        part_of_time("weekend", 0, "number of active bits for weekend or not; 0 for none"),
        part_of_time("season", 0, "number of active bits for the season; 0 for none"),
    ],
    build: |arguments| {
        let n_active = |name| arguments.size(name).map(|n_active| n_active as u32);
        let clock = Clock {
            time_of_day: n_active("time_of_day")?,
            day_of_week: n_active("day_of_week")?,
            weekend: n_active("weekend")?,
            season: n_active("season")?,
        };
        if clock.n_bits() == 0 {
            return Err(Fault::value(format!(
                "{NAME}: one of time_of_day, day_of_week, weekend and season must be 1 or more, got 0 for each"
            )));
        }
        let time = arguments.name("time")?.ok_or_else(|| arguments.absent("time"))?;
        Ok(Built::Transformer(Box::new(DateEncoder { clock, time, slot: None })))
    },
};

#[derive(Clone)]
struct DateEncoder {
    clock: Clock,
    time: Name,
    slot: Option<u32>,
}

impl Part for DateEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack(NAME, bytes)
    }

    fn savepoint(&mut self) -> bool {
        true
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.slot = schema.slot(&self.time);
    }

    fn infallible(&self) -> bool {
        true
    }

    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "n_bits": self.clock.n_bits() })
    }
}

impl Transformer for DateEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut bits = scratch.take_indices();
        if let Some(Value::Number(time)) = self.slot.and_then(|slot| x.get(slot as usize)) {
            self.clock.push(time, 0, &mut bits);
            settle(&mut bits);
        }
        write_bits(&bits, self.clock.n_bits(), out);
        scratch.give_indices(bits);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::OmittedInDicts
    }

    fn output(&self, _input: &Schema) -> Schema {
        numbered(self.clock.n_bits())
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}
