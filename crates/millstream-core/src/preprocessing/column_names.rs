//! The names of hashed columns that a transformer collects, with a limit of bytes.
//!
//! Names are labels of columns and no state: they are not saved, and copies of a transformer share them.

use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxBuildHasher;
use serde_json::{json, Value as Json};

use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::{Row, Value};
use crate::schema::Schema;
use crate::text::FeatureNames;

use super::tokens::Tokens;

/// Between the features of a product.
const TIMES: &str = " × ";

/// The parameter of a hashing transformer.
pub const NAMES: Parameter = Parameter::new(
    "names",
    Kind::Integer { low: 0, high: 1 << 40 },
    DefaultValue::Integer(0),
    "largest number of bytes of names to collect; 0 for none",
);

#[derive(Clone, Debug, Default)]
pub struct ColumnNames {
    names: Option<Arc<Mutex<FeatureNames>>>,
    tokens: Tokens<String>,
}

impl ColumnNames {
    /// Without a limit, no names are collected.
    pub fn new(limit: usize) -> Self {
        let names = (limit > 0).then(|| Arc::new(Mutex::new(FeatureNames::new(limit))));
        ColumnNames { names, tokens: Tokens::default() }
    }

    pub fn is_on(&self) -> bool {
        self.names.is_some()
    }

    pub fn bind(&mut self, schema: &Schema) {
        if self.is_on() {
            self.tokens.bind(schema, str::to_string);
        }
    }

    /// The texts of the features of a row that are not 0, with their slots.
    pub fn texts(&self, x: Row<'_>) -> Vec<(u32, &str)> {
        let mut texts = Vec::new();
        x.each(|slot, value| {
            let text = match value {
                Value::Number(0.0) | Value::Nominal(None) => None,
                Value::Number(_) => self.tokens.number(slot),
                Value::Nominal(Some(code)) => self.tokens.nominal(slot, code),
            };
            texts.extend(text.map(|text| (slot as u32, text.as_str())));
        });
        texts
    }

    /// Add the name of a feature or of a product.
    pub fn add(&self, column: u32, factors: &[&str]) {
        let Some(names) = &self.names else { return };
        let hash = factors.iter().fold(0u64, |code, text| code.rotate_left(5) ^ FxBuildHasher.hash_one(text));
        // Each change is complete before anything can panic.
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        names.add(column, hash, || factors.join(TIMES));
    }

    /// The names by column, and how often one was not stored; nothing if they are not collected.
    pub fn inspect(&self) -> Option<Json> {
        let names = self.names.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut columns: Vec<u32> = names.columns().collect();
        columns.sort_unstable();
        let named =
            columns.into_iter().map(|column| (column.to_string(), json!(names.of(column).collect::<Vec<_>>())));
        Some(json!({ "columns": named.collect::<serde_json::Map<_, _>>(), "unnamed": names.unnamed() }))
    }

    pub fn memory(&self) -> usize {
        let bytes =
            |names: &Arc<Mutex<FeatureNames>>| names.lock().unwrap_or_else(PoisonError::into_inner).bytes();
        self.names.as_ref().map_or(0, bytes) + self.tokens.memory()
    }
}
