//! A whole number for each value, in order of arrival.
//!
//! The numbers 0, 1, 2, … are given out in the order in which values are learned, without those reserved for values that
//! were never learned and for missing ones.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::key_table::{Capacity, WhenFull, MAX_KEYS, WHEN_FULL};
use crate::key_use::KeyUses;
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::key_columns::{Encoded, KeyColumns, SavedColumns, FEATURES};

const NAME: &str = "preprocessing.OrdinalEncoder";

const RESERVED: Kind = Kind::Optional(&Kind::Integer { low: -(1 << 31), high: 1 << 31 });

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes each nominal value as a whole number, in order of arrival",
    merge: Merge::none("codes depend on the order of arrival: use preprocessing.OneHotEncoder"),
    parameters: &[
        FEATURES,
        Parameter::new(
            "unknown_value",
            RESERVED,
            DefaultValue::Integer(0),
            "number of a value that was never learned; None for a missing one",
        ),
        Parameter::new(
            "none_value",
            RESERVED,
            DefaultValue::Integer(-1),
            "number of a missing value; None to keep it missing",
        ),
        MAX_KEYS,
        WHEN_FULL.with_words(
            "what happens to a new value beyond max_keys: it gets the number of all others that came too late, it takes \
             over the number of the value learned least recently, or its row is refused",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let reserved = |name: &str| match arguments.value(name)?.is_null() {
        true => Ok::<_, Fault>(None),
        false => arguments.integer(name).map(Some),
    };
    let (unknown, none) = (reserved("unknown_value")?, reserved("none_value")?);
    let mut reserved: Vec<u64> = [unknown, none].into_iter().flatten().filter_map(|n| n.try_into().ok()).collect();
    reserved.sort_unstable();
    reserved.dedup();
    let number = |reserved: Option<i64>| reserved.map_or(f64::NAN, |number| number as f64);
    Ok(Built::Transformer(Box::new(OrdinalEncoder {
        encoded: Encoded::new(arguments)?,
        unknown: number(unknown),
        none: number(none),
        reserved,
        values: KeyColumns::new(Capacity::new(arguments)?, ()),
    })))
}

#[derive(Clone)]
struct OrdinalEncoder {
    encoded: Encoded,
    unknown: f64,
    none: f64,
    /// Ascending.
    reserved: Vec<u64>,
    values: KeyColumns<()>,
}

#[derive(Serialize, Deserialize)]
struct State {
    values: SavedColumns<()>,
}

impl OrdinalEncoder {
    /// The number of a place in order of arrival.
    fn number(&self, place: usize) -> f64 {
        self.reserved.iter().fold(place as u64, |number, &reserved| number + u64::from(reserved <= number)) as f64
    }

    fn encode(&self, slot: usize, key: f64) -> f64 {
        if key.is_nan() {
            return self.none;
        }
        let Some(table) = self.values.table(slot) else { return self.unknown };
        match table.place(&[key]) {
            Some(place) => self.number(place),
            None if table.folds() => self.number(self.values.capacity().max_keys),
            None => self.unknown,
        }
    }
}

impl Part for OrdinalEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { values: self.values.saved()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.values.load(NAME, state.values, |()| true)
    }

    fn savepoint(&mut self) -> bool {
        self.values.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.values.rollback();
    }

    fn commit(&mut self) {
        self.values.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: self.encoded.needs_names(), ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.encoded.bind(schema);
    }

    fn key_uses(&self) -> KeyUses {
        self.encoded.key_uses(self.values.capacity())
    }

    fn infallible(&self) -> bool {
        self.values.capacity().when_full != WhenFull::Refuse
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.values.memory(|()| 0)
    }

    fn scalars(&self) -> serde_json::Value {
        self.values.scalars()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.values.inspect(schema, |place, ()| json!(self.number(place) as i64))
    }
}

impl Transformer for OrdinalEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        self.encoded.write(x, out, scratch, |slot, key| self.encode(slot, key));
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        self.values.mark();
        let OrdinalEncoder { encoded, values, .. } = self;
        let learned = encoded.each_key(x, |slot, key| match key.is_nan() {
            true => Ok(()),
            false => values.learn(NAME, slot, key).map(|&mut ()| ()),
        });
        if learned.is_err() {
            self.values.undo();
        }
        learned
    }

    fn undo(&mut self) {
        self.values.undo();
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        self.encoded.output(input)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind::Nominal;

    #[test]
    fn reserved_numbers_are_left_out() {
        let description =
            json!({ "name": NAME, "parameters": { "unknown_value": 1, "none_value": 2, "max_keys": 3 } });
        let Built::Transformer(mut encoder) =
            registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap()
        else {
            panic!()
        };
        let (mut scratch, mut out) = (Scratch::default(), RowBuffer::default());
        let mut encode = |encoder: &dyn Transformer, code: f64| {
            encoder.transform(Row::Mixed(&[code], &[Nominal]), &mut out, &mut Scratch::default());
            out.row().key(0)
        };
        for code in [5.0, 7.0, 5.0, 6.0] {
            encoder.learn(Row::Mixed(&[code], &[Nominal]), Truth::None, 1.0, &mut scratch).unwrap();
            // 4 stands for a value that was never learned, until the table is full.
            assert_eq!(encode(&*encoder, 4.0), if code == 6.0 { 5.0 } else { 1.0 });
        }
        // 1 and 2 are reserved: 0, 3, 4, and 5 for all others.
        assert_eq!([5.0, 7.0, 6.0, f64::NAN].map(|code| encode(&*encoder, code)), [0.0, 3.0, 4.0, 2.0]);
    }
}
