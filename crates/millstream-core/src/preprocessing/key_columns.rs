//! What the encoders of nominal features share: which features they replace by numbers, and a bounded table of keys for
//! each of them.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Rows;
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::key_table::{shown_key, Capacity, KeyTable, SavedTable};
use crate::key_use::KeyUses;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};

pub const FEATURES: Parameter = Parameter::new(
    "features",
    Kind::Optional(&Kind::Names),
    DefaultValue::Null,
    "names of the features to encode; None for all nominal ones",
);

/// The features that an encoder replaces.
#[derive(Clone)]
pub struct Encoded {
    names: Option<Vec<Name>>,
    /// By slot, if there are names.
    named: Vec<bool>,
}

impl Encoded {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let given = !arguments.value("features")?.is_null();
        let names = given.then(|| arguments.names("features")).transpose()?;
        if names.as_ref().is_some_and(Vec::is_empty) {
            return Err(Fault::value(format!("{}: features must not be empty", arguments.who)));
        }
        Ok(Encoded { names, named: Vec::new() })
    }

    pub fn needs_names(&self) -> bool {
        self.names.is_some()
    }

    pub fn bind(&mut self, schema: &Schema) {
        if let Some(names) = &self.names {
            self.named = schema.names().map(|name| names.contains(&name)).collect();
        }
    }

    pub fn key_uses(&self, capacity: Capacity) -> KeyUses {
        KeyUses::encoded(self.names.as_deref(), capacity.max_keys)
    }

    #[inline]
    pub fn has(&self, slot: usize, kind: FeatureKind) -> bool {
        match self.names {
            None => kind == FeatureKind::Nominal,
            Some(_) => self.named.get(slot).copied().unwrap_or(false),
        }
    }

    /// Visit the keys of a row.
    #[inline]
    pub fn each_key(&self, x: Row<'_>, mut visit: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
        match x {
            Row::Mixed(values, kinds) => {
                for (slot, (&value, &kind)) in values.iter().zip(kinds).enumerate() {
                    if self.has(slot, kind) {
                        visit(slot, value)?;
                    }
                }
                Ok(())
            }
            // Numbers only.
            _ if self.names.is_none() => Ok(()),
            _ => (0..x.width().min(self.named.len()))
                .filter(|&slot| self.named[slot])
                .try_for_each(|slot| visit(slot, x.key(slot))),
        }
    }

    /// Write a row with a number for each key; other features pass.
    pub fn write(
        &self,
        x: Row<'_>,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
        number: impl Fn(usize, f64) -> f64,
    ) {
        if self.names.is_none() && !matches!(x, Row::Mixed(..)) {
            return out.copy_from(x);
        }
        let mut dense = scratch.take_numbers();
        let x = x.dense(&mut dense);
        let written = out.plain(x.width());
        let mut whole = true;
        for (slot, written) in written.iter_mut().enumerate() {
            let (value, kind) = (x.key(slot), x.kind(slot));
            let encoded = self.has(slot, kind);
            *written = if encoded { number(slot, value) } else { value };
            whole &= !written.is_nan() && (encoded || kind != FeatureKind::Nominal);
        }
        if !whole {
            out.with_kinds((0..x.width()).map(|slot| self.kind(slot, x.kind(slot))));
        }
        scratch.give_numbers(dense);
    }

    /// Append rows to a matrix of `width` columns, with a number for each key; other features pass. As `write`, for rows
    /// of one width and kind; false for others. `numbers` gives the function for a slot.
    pub fn write_batch<F: Fn(f64) -> f64>(
        &self,
        rows: &Rows<'_>,
        width: usize,
        out: &mut Vec<f64>,
        numbers: impl Fn(usize) -> F,
    ) -> bool {
        let Rows::Mixed { values, kinds } = *rows else { return false };
        let start = out.len();
        out.resize(start + rows.len() * width, f64::NAN);
        for (slot, &kind) in kinds.iter().enumerate().take(width) {
            let cells = out[start..].chunks_exact_mut(width).zip(values.chunks_exact(kinds.len()));
            match self.has(slot, kind) {
                true => {
                    let number = numbers(slot);
                    cells.for_each(|(written, x)| written[slot] = number(x[slot]));
                }
                false => cells.for_each(|(written, x)| written[slot] = x[slot]),
            }
        }
        true
    }

    /// The kind of a feature in the output.
    pub fn kind(&self, slot: usize, kind: FeatureKind) -> FeatureKind {
        match self.has(slot, kind) {
            true => FeatureKind::Number,
            false => kind,
        }
    }

    /// The names and kinds of the output of `write`.
    pub fn output(&self, input: &Schema) -> Schema {
        let mut schema = Schema::default();
        for slot in 0..input.len() {
            self.push(input, slot, &mut schema);
        }
        schema.mark();
        schema
    }

    /// Add a feature of the input to a schema of the output.
    pub fn push(&self, input: &Schema, slot: usize, schema: &mut Schema) {
        match self.has(slot, input.kinds()[slot]) {
            true => schema.push_unique(input.name(slot), FeatureKind::Number),
            false => schema.push_from(input, slot, None),
        };
    }
}

/// A table of keys for each encoded feature.
#[derive(Clone)]
pub struct KeyColumns<S> {
    capacity: Capacity,
    fresh: S,
    /// By ascending slot.
    tables: Vec<(u32, KeyTable<S>)>,
    /// Whether changes since a savepoint are recorded.
    held: bool,
}

pub type SavedColumns<S> = Vec<(u32, SavedTable<S>)>;

impl<S: Clone + Serialize + for<'de> Deserialize<'de>> KeyColumns<S> {
    pub fn new(capacity: Capacity, fresh: S) -> Self {
        KeyColumns { capacity, fresh, tables: Vec::new(), held: false }
    }

    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    #[inline]
    fn index(&self, slot: usize) -> std::result::Result<usize, usize> {
        self.tables.binary_search_by_key(&(slot as u32), |(slot, _)| *slot)
    }

    #[inline]
    pub fn table(&self, slot: usize) -> Option<&KeyTable<S>> {
        self.index(slot).ok().map(|index| &self.tables[index].1)
    }

    #[inline]
    pub fn find(&self, slot: usize, key: f64) -> Option<&S> {
        self.table(slot)?.find(&[key])
    }

    /// The index of the table of a slot, which is created if there is none.
    #[inline]
    fn index_of(&mut self, slot: usize) -> usize {
        self.index(slot).unwrap_or_else(|index| {
            let mut table = KeyTable::new(self.capacity, 1, self.fresh.clone());
            if self.held {
                table.savepoint();
            }
            self.tables.insert(index, (slot as u32, table));
            index
        })
    }

    /// Visit the states of keys of one feature, in order, for changes that `undo` does not revert (see
    /// `KeyTable::learn_in_batch`); `change` receives the index of a key. Stops at a key that a full table refuses.
    pub fn learn_column(
        &mut self,
        slot: usize,
        keys: impl Iterator<Item = f64>,
        mut change: impl FnMut(usize, &mut S),
    ) {
        let index = self.index_of(slot);
        let (fresh, table) = (&self.fresh, &mut self.tables[index].1);
        for (row, key) in keys.enumerate() {
            let Some(state) = table.learn_in_batch(&[key], || fresh.clone()) else { return };
            change(row, state);
        }
    }

    /// The state of a key for a change; a fault if a full table refuses it.
    #[inline]
    pub fn learn(&mut self, who: &str, slot: usize, key: f64) -> Result<&mut S> {
        let index = self.index_of(slot);
        let fresh = &self.fresh;
        self.tables[index].1.learn(&[key], || fresh.clone()).ok_or_else(|| self.capacity.refusal(who))
    }

    #[inline]
    pub fn mark(&mut self) {
        self.tables.iter_mut().for_each(|(_, table)| table.mark());
    }

    pub fn undo(&mut self) {
        self.tables.iter_mut().for_each(|(_, table)| table.undo());
    }

    pub fn savepoint(&mut self) {
        self.held = true;
        self.tables.iter_mut().for_each(|(_, table)| table.savepoint());
    }

    pub fn rollback(&mut self) {
        self.held = false;
        self.tables.iter_mut().for_each(|(_, table)| table.rollback());
    }

    pub fn commit(&mut self) {
        self.held = false;
        self.tables.iter_mut().for_each(|(_, table)| table.commit());
    }

    /// Tables without keys are left out: a row that was reverted may have created them.
    pub fn saved(&self) -> Result<SavedColumns<S>> {
        let used = self.tables.iter().filter(|(_, table)| !table.is_empty());
        used.map(|(slot, table)| Ok((*slot, table.saved(|state| Ok(state.clone()))?))).collect()
    }

    pub fn load(&mut self, who: &str, saved: SavedColumns<S>, good: impl Fn(&S) -> bool) -> Result<()> {
        let ascends = saved.windows(2).all(|two| two[0].0 < two[1].0);
        require(who, ascends, "features are out of order")?;
        let mut tables = Vec::with_capacity(saved.len().min(1024));
        for (slot, saved) in saved {
            let sound = saved.states.iter().chain([&saved.other]).all(&good);
            require(who, sound, "the state of a key is invalid")?;
            let mut table = KeyTable::new(self.capacity, 1, self.fresh.clone());
            table.load(who, saved, Ok)?;
            tables.push((slot, table));
        }
        (self.tables, self.held) = (tables, false);
        Ok(())
    }

    pub fn memory(&self, state: impl Fn(&S) -> usize) -> usize {
        self.tables.iter().map(|(_, table)| table.memory(&state)).sum()
    }

    /// The number of keys, and what happened to those beyond the capacity.
    pub fn scalars(&self) -> Json {
        let sum = |count: fn(&KeyTable<S>) -> u64| self.tables.iter().map(|(_, table)| count(table)).sum::<u64>();
        json!({
            "keys": sum(|table| table.len() as u64), "folded": sum(KeyTable::folded), "evicted": sum(KeyTable::evicted),
        })
    }

    /// For each feature: its keys, each with `value` of its place and state, and what happened to keys beyond the
    /// capacity.
    pub fn inspect(&self, schema: &Schema, value: impl Fn(usize, &S) -> Json) -> Json {
        let features = self.tables.iter().filter(|(slot, _)| (*slot as usize) < schema.len());
        let features: Vec<Json> = features
            .map(|(slot, table)| {
                let slot = *slot as usize;
                let values: Vec<Json> = table
                    .each()
                    .enumerate()
                    .map(|(place, (key, state))| json!([shown_key(schema, slot, key[0]), value(place, state)]))
                    .collect();
                let name = schema.name(slot);
                let other = table.other().map(|state| value(self.capacity.max_keys, state));
                json!({
                    "feature": name, "values": values, "other": other,
                    "folded": table.folded(), "evicted": table.evicted(),
                })
            })
            .collect();
        json!({ "features": features })
    }
}
