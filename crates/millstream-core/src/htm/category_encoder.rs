//! Nominal values as bits: each value has a random code, a function of the seed, of its feature and of its text.
//!
//! Two codes of w of n bits share w²/n bits on average, so values are told apart although no list of them is kept
//! (Ahmad and Hawkins, 2016, "How do neurons operate on sparse distributed representations?"). The codes of all features
//! are in the same bits.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::preprocessing::tokens::{hash_64, Tokens};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::transformer::{Transformer, Zeros};

use super::bits::{mixed, numbered, push_code, settle, write_bits};
use super::scalar_encoder::{N_ACTIVE, N_BITS};

const NAME: &str = "htm.CategoryEncoder";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes nominal values as random sparse bits",
    merge: Merge::STATELESS,
    parameters: &[
        N_BITS.with_words("number of bits"),
        N_ACTIVE.with_words("number of active bits of a value"),
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(1),
            "seed of the random codes",
        ),
    ],
    build: |arguments| {
        let (n_bits, n_active) = (arguments.size("n_bits")? as u32, arguments.size("n_active")? as u32);
        if n_active > n_bits / 2 {
            let most = n_bits / 2;
            return Err(Fault::value(format!(
                "{NAME}: n_active must be at most half of n_bits, {most}, got {n_active}"
            )));
        }
        let seed = arguments.integer("seed")? as u64;
        Ok(Built::Transformer(Box::new(CategoryEncoder { n_bits, n_active, seed, tokens: Tokens::default() })))
    },
};

#[derive(Clone)]
struct CategoryEncoder {
    n_bits: u32,
    n_active: u32,
    seed: u64,
    tokens: Tokens<u64>,
}

impl Part for CategoryEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.tokens = Tokens::default();
        unpack(NAME, bytes)
    }

    fn savepoint(&mut self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.tokens.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.tokens.bind(schema, hash_64);
    }

    fn infallible(&self) -> bool {
        true
    }

    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }
}

impl Transformer for CategoryEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut bits = scratch.take_indices();
        x.each(|slot, value| {
            if let Value::Nominal(Some(code)) = value {
                if let Some(&token) = self.tokens.nominal(slot, code) {
                    push_code(mixed(token, self.seed), 0, self.n_active, self.n_bits, &mut bits);
                }
            }
        });
        settle(&mut bits);
        write_bits(&bits, self.n_bits as usize, out);
        scratch.give_indices(bits);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::OmittedInDicts
    }

    fn output(&self, _input: &Schema) -> Schema {
        numbered(self.n_bits as usize)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind::Nominal;

    #[test]
    fn a_value_has_its_code_wherever_it_appears() {
        let codes = |values: &[&str]| {
            let description = json!({ "name": NAME, "parameters": { "n_bits": 50, "n_active": 5 } });
            let description = registry::resolve(&description).unwrap();
            let Built::Transformer(mut part) = registry::build_resolved(&description).unwrap() else { panic!() };
            let mut schema = Schema::default();
            let slot = schema.push(&"colour".into(), Nominal);
            let codes: Vec<f64> = values.iter().map(|text| f64::from(schema.intern_value(slot, text))).collect();
            part.bind(&schema);
            let mut out = RowBuffer::default();
            let encode = |code: &f64| {
                part.transform(Row::Mixed(&[*code], &[Nominal]), &mut out, &mut Scratch::default());
                let Row::Sparse(found) = out.row() else { panic!() };
                found.indices.to_vec()
            };
            codes.iter().map(encode).collect::<Vec<_>>()
        };
        let first = codes(&["red", "green"]);
        assert!(first.iter().all(|code| code.len() == 5));
        assert_ne!(first[0], first[1]);
        let second = codes(&["green", "red"]);
        assert_eq!((&first[0], &first[1]), (&second[1], &second[0]));
        assert_eq!(codes(&[]), Vec::<Vec<u32>>::new());
    }
}
