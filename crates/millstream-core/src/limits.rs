//! Declared ranges of features (`Kind::Limits`): one for all, or by feature name.

use crate::schema::{Name, Schema};

#[derive(Clone, Debug, Default)]
pub struct Limits {
    all: Option<(f64, f64)>,
    named: Vec<(Name, f64, f64)>,
    /// Of the named features; found when the names are bound.
    by_slot: Vec<(u32, f64, f64)>,
}

impl Limits {
    /// From a parameter of `Kind::Limits`, or null for none.
    pub fn new(given: &serde_json::Value) -> Self {
        let all = serde_json::from_value(given.clone()).ok();
        let named = serde_json::from_value(given.clone()).unwrap_or_default();
        Limits { all, named, by_slot: Vec::new() }
    }

    pub fn bind(&mut self, schema: &Schema) {
        let slot = |(name, low, high): &(Name, f64, f64)| Some((schema.slot(name)?, *low, *high));
        self.by_slot = self.named.iter().filter_map(slot).collect();
    }

    /// The declared range of a feature.
    #[inline]
    pub fn of(&self, slot: u32) -> Option<(f64, f64)> {
        if self.all.is_some() {
            return self.all;
        }
        let named = self.by_slot.iter().find(|limit| limit.0 == slot);
        named.map(|&(_, low, high)| (low, high))
    }

    /// Whether ranges belong to names.
    pub fn are_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// Whether every feature has a declared range.
    #[inline]
    pub fn are_complete(&self) -> bool {
        self.all.is_some()
    }
}
