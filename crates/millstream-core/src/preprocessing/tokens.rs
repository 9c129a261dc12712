//! Something derived from the name of each feature, and from `name=value` for each value of a nominal feature.
//!
//! Hashed columns and random projections are functions of names, so that they do not depend on the order in which
//! features arrive. The derived values are no state: `bind` computes them from the schema.

use crate::schema::{Name, Schema};
use crate::text::murmur3;

#[derive(Clone, Debug)]
pub struct Tokens<T> {
    names: Vec<Name>,
    numbers: Vec<T>,
    /// By slot and code.
    nominals: Vec<Vec<T>>,
}

impl<T> Default for Tokens<T> {
    fn default() -> Self {
        Tokens { names: Vec::new(), numbers: Vec::new(), nominals: Vec::new() }
    }
}

impl<T> Tokens<T> {
    /// Follow the schema; returns the number of first slots whose names have not changed.
    pub fn bind(&mut self, schema: &Schema, derive: impl Fn(&str) -> T) -> usize {
        let same = self.names.iter().zip(schema.names()).take_while(|(known, name)| *known == name).count();
        self.names.truncate(same);
        self.numbers.truncate(same);
        self.nominals.truncate(same);
        for slot in 0..schema.len() {
            if slot >= self.names.len() {
                let name = schema.name(slot);
                self.numbers.push(derive(&name.text()));
                self.nominals.push(Vec::new());
                self.names.push(name);
            }
            let values = schema.values(slot);
            let known = &mut self.nominals[slot];
            known.truncate(values.len());
            for code in known.len()..values.len() {
                let value = values.text(code as u32).unwrap_or_default();
                known.push(derive(&format!("{}={value}", self.names[slot].text())));
            }
        }
        same
    }

    #[inline]
    pub fn number(&self, slot: usize) -> Option<&T> {
        self.numbers.get(slot)
    }

    #[inline]
    pub fn nominal(&self, slot: usize, code: u32) -> Option<&T> {
        self.nominals.get(slot)?.get(code as usize)
    }

    pub fn memory(&self) -> usize {
        let one = std::mem::size_of::<T>();
        let nominals: usize = self.nominals.iter().map(|codes| codes.capacity() * one).sum();
        self.names.capacity() * 24 + self.numbers.capacity() * one + self.nominals.capacity() * 24 + nominals
    }
}

/// 64 bits of a token, to seed what is drawn for it.
pub fn hash_64(token: &str) -> u64 {
    let half = |seed: u32| u64::from(murmur3(token.as_bytes(), seed));
    half(0x9747_b28c) << 32 | half(0x3c6e_f372)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureKind;

    #[test]
    fn a_schema_that_shrinks_and_grows_differently() {
        let mut schema = Schema::default();
        schema.push(&"a".into(), FeatureKind::Number);
        schema.mark();
        let colour = schema.push(&"colour".into(), FeatureKind::Nominal);
        schema.intern_value(colour, "red");
        let mut tokens = Tokens::default();
        let derive = |token: &str| token.to_string();
        assert_eq!(tokens.bind(&schema, derive), 0);
        assert_eq!(tokens.nominal(1, 0).map(String::as_str), Some("colour=red"));
        schema.rollback();
        schema.push(&"b".into(), FeatureKind::Number);
        assert_eq!(tokens.bind(&schema, derive), 1);
        assert_eq!((tokens.number(1).map(String::as_str), tokens.nominal(1, 0)), (Some("b"), None));
    }
}
