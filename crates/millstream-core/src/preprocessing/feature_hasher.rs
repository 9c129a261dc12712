//! Features hashed into a fixed number of columns.
//!
//! The column of a number is |h| mod n, h the signed 32-bit murmur3 of its name, and its value is added there; a
//! nominal value adds 1 under the name `name=value`. With `alternate_sign` a negative h subtracts instead, so that
//! the inner product of two hashed rows is unbiased (Weinberger et al., 2009, section 3). Columns and signs are those
//! of scikit-learn. With a `seed` they are those of River, where the column of a negative h is h mod n.
//!
//! A row is hashed by the names of its slots: the hash of each name is computed once, when it is new. There is no
//! state.

use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::text::murmur3;
use crate::transformer::{Transformer, Zeros};

use super::column_names::{ColumnNames, NAMES};
use super::tokens::Tokens;

const NAME: &str = "preprocessing.FeatureHasher";
/// The largest number of columns.
pub const MOST_COLUMNS: i64 = 1 << 28;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Hashes names and nominal values into a fixed number of columns",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "n_features",
            Kind::Integer { low: 1, high: MOST_COLUMNS },
            DefaultValue::Integer(1 << 20),
            "number of columns",
        ),
        Parameter::new(
            "seed",
            Kind::Optional(&Kind::Integer { low: 0, high: u32::MAX as i64 }),
            DefaultValue::Null,
            "selects another hash function: that of River for this seed; None for that of scikit-learn",
        ),
        Parameter::new(
            "alternate_sign",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether half of the features are subtracted, so that those of one column cancel out on average",
        ),
        NAMES,
    ],
    build: |arguments| {
        let seed = match arguments.value("seed")?.is_null() {
            true => None,
            false => Some(arguments.integer("seed")? as u32),
        };
        let n_features = u32::try_from(arguments.size("n_features")?)
            .map_err(|_| Fault::value(format!("{NAME}: too many columns")))?;
        let hashing = Hashing::new(n_features, seed, arguments.boolean("alternate_sign")?);
        let names = ColumnNames::new(arguments.size("names")?);
        Ok(Built::Transformer(Box::new(FeatureHasher { hashing, tokens: Tokens::default(), names })))
    },
};

/// The first number of the Mersenne Twister (Matsumoto and Nishimura, 1998) for a seed, which is how River derives the
/// seed of its hash.
fn hash_seed(seed: u32) -> u32 {
    let mut state = [0u32; 398];
    state[0] = seed;
    for i in 1..398u32 {
        let last = state[i as usize - 1];
        state[i as usize] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i);
    }
    let mixed = (state[0] & 0x8000_0000) | (state[1] & 0x7fff_ffff);
    let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
    let mut y = state[397] ^ (mixed >> 1) ^ odd;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c_5680;
    y ^= (y << 15) & 0xefc6_0000;
    y ^ (y >> 18)
}

/// Where a token goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    pub index: u32,
    pub sign: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Hashing {
    n_features: u32,
    /// Of murmur3.
    seed: u32,
    /// Whether the column of a negative h is h mod n, as in River, and not |h| mod n.
    is_modular: bool,
    alternate_sign: bool,
}

impl Hashing {
    /// With a seed, as in River; without, as in scikit-learn.
    pub fn new(n_features: u32, seed: Option<u32>, alternate_sign: bool) -> Self {
        let n_features = n_features.max(1);
        Hashing { n_features, seed: seed.map_or(0, hash_seed), is_modular: seed.is_some(), alternate_sign }
    }

    #[inline]
    pub fn column(self, token: &[u8]) -> Column {
        let hash = murmur3(token, self.seed) as i32;
        let sign = if self.alternate_sign && hash < 0 { -1.0 } else { 1.0 };
        let rest = hash.unsigned_abs() % self.n_features;
        let index = if self.is_modular && hash < 0 && rest > 0 { self.n_features - rest } else { rest };
        Column { index, sign }
    }
}

#[derive(Clone)]
struct FeatureHasher {
    hashing: Hashing,
    tokens: Tokens<Column>,
    names: ColumnNames,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct State {}

impl Part for FeatureHasher {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {})
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack::<State>(NAME, bytes)?;
        self.tokens = Tokens::default();
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.tokens.memory() + self.names.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, missing_is_zero: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        let hashing = self.hashing;
        self.tokens.bind(schema, |token| hashing.column(token.as_bytes()));
        self.names.bind(schema);
    }

    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let columns = schema.names().enumerate().filter_map(|(slot, name)| {
            let Column { index, sign } = self.tokens.number(slot)?;
            Some((name.text(), json!({ "column": index, "sign": sign })))
        });
        let mut told = json!({ "features": columns.collect::<serde_json::Map<_, _>>() });
        if let Some(names) = self.names.inspect() {
            told["names"] = names;
        }
        told
    }
}

impl Transformer for FeatureHasher {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let (mut indices, mut values) = (scratch.take_indices(), scratch.take_numbers());
        x.each(|slot, value| {
            let found = match value {
                Value::Number(0.0) | Value::Nominal(None) => None,
                Value::Number(number) => self.tokens.number(slot).map(|column| (column, number)),
                Value::Nominal(Some(code)) => self.tokens.nominal(slot, code).map(|column| (column, 1.0)),
            };
            if let Some((column, number)) = found {
                indices.push(column.index);
                values.push(column.sign * number);
            }
        });
        if self.names.is_on() {
            for (&column, (_, text)) in indices.iter().zip(self.names.texts(x)) {
                self.names.add(column, &[text]);
            }
        }
        let mut order = scratch.take_indices();
        out.sparse(self.hashing.n_features as usize);
        settle(&indices, &values, &mut order, |index, value| out.push(index, value));
        scratch.give_indices(order);
        scratch.give_indices(indices);
        scratch.give_numbers(values);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::Omitted
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        schema.widen(self.hashing.n_features as usize);
        schema.mark();
        schema
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

/// Add up the entries of each column in the order of the row, columns ascending. A sum of 0 stays listed, as in
/// scikit-learn.
pub fn settle(indices: &[u32], values: &[f64], order: &mut Vec<u32>, mut push: impl FnMut(u32, f64)) {
    order.clear();
    order.extend(0..indices.len() as u32);
    order.sort_unstable_by_key(|&entry| (indices[entry as usize], entry));
    for entries in order.chunk_by(|&one, &other| indices[one as usize] == indices[other as usize]) {
        let sum = entries.iter().map(|&entry| values[entry as usize]).fold(0.0, |sum, value| sum + value);
        push(indices[entries[0] as usize], finite(sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind::{Nominal, Number};

    #[test]
    fn one_row_by_hand() {
        // murmur3("test") = 0xba6bd213 = −1167338989 as a signed number: column 1167338989 mod 1000 = 989, sign −.
        let hashing = Hashing::new(1000, None, true);
        assert_eq!(hashing.column(b"test"), Column { index: 989, sign: -1.0 });
        // −1167338989 mod 1000 = 11, if the seed of murmur3 were 0 too.
        let modular = Hashing { is_modular: true, ..hashing };
        assert_eq!(modular.column(b"test"), Column { index: 11, sign: -1.0 });
        let description =
            registry::resolve(&json!({ "name": NAME, "parameters": { "n_features": 1000 } })).unwrap();
        let Built::Transformer(mut hasher) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut schema = Schema::default();
        schema.push(&"test".into(), Number);
        let colour = schema.push(&"colour".into(), Nominal);
        schema.intern_value(colour, "red");
        hasher.bind(&schema);
        let mut out = RowBuffer::default();
        hasher.transform(Row::Mixed(&[2.0, 0.0], &[Number, Nominal]), &mut out, &mut Scratch::default());
        let Row::Sparse(found) = out.row() else { panic!() };
        let red = hashing.column(b"colour=red");
        let mut wanted = [(989, -2.0), (red.index, red.sign)];
        wanted.sort_by_key(|entry| entry.0);
        assert_eq!(found.indices, wanted.map(|entry| entry.0));
        assert_eq!(found.values, wanted.map(|entry| entry.1));
    }

    #[test]
    fn entries_of_one_column_add_up() {
        let mut found = Vec::new();
        let mut order = Vec::new();
        let push = |index, value| found.push((index, value));
        settle(&[5, 3, 5, 9, 5], &[2.0, 1.0, -1.0, 4.0, 0.5], &mut order, push);
        // 2 − 1 + 0.5 = 1.5.
        assert_eq!(found, [(3, 1.0), (5, 1.5), (9, 4.0)]);
    }

    #[test]
    fn seeds_of_the_mersenne_twister() {
        // The first numbers of the reference implementation, init_genrand(5489) and of NumPy's RandomState(42).
        assert_eq!((hash_seed(5489), hash_seed(42)), (3_499_211_612, 1_608_637_542));
    }
}
