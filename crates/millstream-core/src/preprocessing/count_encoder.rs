//! The number of rows with a value: n(v), or its share n(v) / n of all rows.
//!
//! A missing value is a value of its own. With weights, n is a sum of weights.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_table::{Capacity, WhenFull, MAX_KEYS, WHEN_FULL};
use crate::key_use::KeyUses;
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::key_columns::{Encoded, KeyColumns, SavedColumns, FEATURES};

const NAME: &str = "preprocessing.CountEncoder";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes each nominal value as the number or the share of rows that have it",
    merge: Merge::none("the tables of keys of two models may have dropped different keys: learn the whole stream with one encoder"),
    parameters: &[
        FEATURES,
        Parameter::new(
            "normalize",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to write the share of rows instead of their number",
        ),
        MAX_KEYS,
        WHEN_FULL,
    ],
    build: |arguments| {
        Ok(Built::Transformer(Box::new(CountEncoder {
            encoded: Encoded::new(arguments)?,
            normalize: arguments.boolean("normalize")?,
            counts: KeyColumns::new(Capacity::new(arguments)?, 0.0),
            total: 0.0,
            total_before: 0.0,
            total_at_savepoint: 0.0,
        })))
    },
};

#[derive(Clone)]
struct CountEncoder {
    encoded: Encoded,
    normalize: bool,
    counts: KeyColumns<f64>,
    /// Weight of all rows.
    total: f64,
    /// Before the last row, and at the savepoint.
    total_before: f64,
    total_at_savepoint: f64,
}

#[derive(Serialize, Deserialize)]
struct State {
    total: f64,
    counts: SavedColumns<f64>,
}

impl CountEncoder {
    fn value(&self, count: f64) -> f64 {
        match self.normalize {
            true if self.total > 0.0 => count / self.total,
            true => 0.0,
            false => count,
        }
    }
}

impl Part for CountEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { total: self.total, counts: self.counts.saved()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let good = |count: &f64| (0.0..f64::INFINITY).contains(count);
        require(NAME, good(&state.total), "the total is not a finite number >= 0")?;
        self.counts.load(NAME, state.counts, good)?;
        self.total = state.total;
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        self.total_at_savepoint = self.total;
        self.counts.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.total = self.total_at_savepoint;
        self.counts.rollback();
    }

    fn commit(&mut self) {
        self.counts.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: self.encoded.needs_names(), ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.encoded.bind(schema);
    }

    fn key_uses(&self) -> KeyUses {
        self.encoded.key_uses(self.counts.capacity())
    }

    fn infallible(&self) -> bool {
        self.counts.capacity().when_full != WhenFull::Refuse && self.total < 1e300
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.counts.memory(|_| 0)
    }

    fn scalars(&self) -> serde_json::Value {
        self.counts.scalars()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.counts.inspect(schema, |_, &count| json!(self.value(count)))
    }
}

impl Transformer for CountEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        self.encoded
            .write(x, out, scratch, |slot, key| self.value(self.counts.find(slot, key).copied().unwrap_or(0.0)));
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, _: &mut Scratch) -> Result<()> {
        self.counts.mark();
        self.total_before = self.total;
        let total = self.total + w;
        let CountEncoder { encoded, counts, .. } = self;
        let learned = match total.is_finite() {
            false => Err(Fault::overflow(NAME)),
            // No count exceeds the total.
            true => encoded.each_key(x, |slot, key| {
                *counts.learn(NAME, slot, key)? += w;
                Ok(())
            }),
        };
        match learned {
            Ok(()) => self.total = total,
            Err(_) => self.counts.undo(),
        }
        learned
    }

    fn undo(&mut self) {
        self.total = self.total_before;
        self.counts.undo();
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
    use crate::schema::FeatureKind::{Nominal, Number};

    #[test]
    fn counts_and_shares_by_hand() {
        let description = json!({ "name": NAME, "parameters": { "normalize": true, "max_keys": 2 } });
        let Built::Transformer(mut encoder) =
            registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap()
        else {
            panic!()
        };
        let (mut scratch, mut out) = (Scratch::default(), RowBuffer::default());
        let kinds = [Nominal, Number];
        for (code, w) in [(0.0, 1.0), (1.0, 2.0), (0.0, 1.0)] {
            encoder.learn(Row::Mixed(&[code, 5.0], &kinds), Truth::None, w, &mut scratch).unwrap();
        }
        let before = encoder.save().unwrap();
        // A third value shares the count of all others: n = 1 of 5.
        encoder.learn(Row::Mixed(&[2.0, 5.0], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        for (code, share) in [(0.0, 0.4), (1.0, 0.4), (2.0, 0.2), (9.0, 0.2)] {
            encoder.transform(Row::Mixed(&[code, 7.0], &kinds), &mut out, &mut scratch);
            let Row::Plain(z) = out.row() else { panic!() };
            assert_eq!(z, [share, 7.0]);
        }
        encoder.undo();
        assert_eq!(encoder.save().unwrap(), before);
    }
}
