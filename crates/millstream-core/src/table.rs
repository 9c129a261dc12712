//! Many rows at once: tables borrowed from the binding, and their readers.
//!
//! A row-major matrix of f64 is read in place. Anything else is copied in blocks, column by column, which is
//! cache-friendly. Nominal columns hold the index of a category; codes are assigned in the order in which rows
//! are learned, so that a table gives the same codes as a loop over its rows.

use std::sync::Arc;

use prefetch_index::prefetch_index;

use crate::fault::{Fault, Result};
use crate::interactions::{CrossedRow, CrossedTable, Walker};
use crate::row::{all_finite, Row, RowBuffer, Sparse};
use crate::schema::{kind_changed, FeatureKind, Name, Schema, UNSEEN};

mod known_rows;

pub use known_rows::each_run;

/// Number of rows copied at a time. A block of 100 columns stays in the L2 cache.
pub const BLOCK: usize = 256;

pub enum Column {
    Number(Name),
    Nominal(Name, Vec<Arc<str>>),
}

impl Column {
    pub fn name(&self) -> &Name {
        match self {
            Column::Number(name) | Column::Nominal(name, _) => name,
        }
    }
}

/// Bytes that a cache fetches at once.
const LINE: usize = 64;

/// A compressed sparse row matrix. Indices ascend within a row and are below `width`, unless the rows are crossed.
#[derive(Clone, Copy)]
pub struct SparseTable<'a> {
    pub starts: &'a [usize],
    pub indices: &'a [u32],
    pub values: &'a [f64],
    pub width: usize,
    /// Whether all values are known to be finite, so that `next_row` need not look.
    pub finite: bool,
    /// For rows that have products of their features too, which a `Walker` makes.
    pub crossed: Option<CrossedTable<'a>>,
}

impl<'a> SparseTable<'a> {
    /// A row in the layout of the table.
    #[inline]
    pub fn raw(&self, place: usize) -> Raw<'a> {
        match self.crossed {
            None => Raw::Sparse(self.row(place)),
            Some(crossed) => Raw::Crossed(self.crossed_row(crossed, place)),
        }
    }

    /// A row of features with the products to make of them.
    #[inline]
    pub fn crossed_row(&self, crossed: CrossedTable<'a>, place: usize) -> CrossedRow<'a> {
        let Sparse { indices, values, width } = self.row(place);
        let groups = &crossed.groups[crossed.starts[place]..crossed.starts[place + 1]];
        CrossedRow { indices, values, groups, interactions: crossed.interactions, width }
    }

    /// The entries of a row, which are all of it if there are no products.
    #[inline]
    pub fn row(&self, place: usize) -> Sparse<'a> {
        let range = self.starts[place]..self.starts[place + 1];
        Sparse { indices: &self.indices[range.clone()], values: &self.values[range], width: self.width }
    }

    /// Prefetch a row that is read soon: another core may just have written it.
    #[inline]
    pub fn prefetch(&self, place: usize) {
        if let Some(&[start, end]) = self.starts.get(place..place + 2) {
            (start..end).step_by(LINE / size_of::<u32>()).for_each(|at| prefetch_index(self.indices, at));
            (start..end).step_by(LINE / size_of::<f64>()).for_each(|at| prefetch_index(self.values, at));
        }
    }

    /// A row of a table of which one was read by a `Reader` before, which finds out what there is to say of them all,
    /// and brought no news. None for one that is to be refused.
    #[inline]
    pub(crate) fn next_row(&self, place: usize, schema: &Schema) -> Option<Row<'a>> {
        self.next_made(self.row(place), schema)
    }

    /// The same for a row that a `Walker` has made.
    #[inline]
    pub(crate) fn next_made<'r>(&self, sparse: Sparse<'r>, schema: &Schema) -> Option<Row<'r>> {
        debug_assert!(schema.first_nominal().is_none() && self.width <= schema.len());
        let finite = self.finite && self.crossed.is_none();
        (finite || all_finite(sparse.values)).then(|| sparse_row(schema, sparse))
    }
}

/// Rows borrowed from the binding.
pub trait Table: Sync {
    fn height(&self) -> usize;
    fn columns(&self) -> &[Column];
    /// Rows `from` to `to`, row-major: in place if they lie so, else copied into `buffer`.
    fn block<'b>(&'b self, from: usize, to: usize, buffer: &'b mut Vec<f64>) -> &'b [f64];
    /// The number of categories of all nominal columns.
    fn categories(&self) -> usize {
        let count = |column: &Column| match column {
            Column::Number(_) => 0,
            Column::Nominal(_, categories) => categories.len(),
        };
        self.columns().iter().map(count).sum()
    }
    /// If this is given, `columns` is empty and `block` is not called.
    fn sparse(&self) -> Option<SparseTable<'_>> {
        None
    }
}

/// The widest sparse row. A learner may hold several numbers per column, so a larger width is treated as a
/// mistake.
const MAX_WIDTH: usize = 1 << 28;

const NONE: u32 = u32::MAX;

/// Reads the rows of one table for one model.
pub struct Reader<'t> {
    columns: &'t [Column],
    /// The slot of each column.
    slots: Vec<u32>,
    /// Slot and column are the same and all are numbers: rows need no copy.
    direct: bool,
    /// What the schema was like when the slots were looked up: how many features, and all numbers or not.
    known: Option<(usize, bool)>,
    /// How rows hold each category of each column; NaN before it is looked up or admitted.
    codes: Vec<Vec<f64>>,
    buffer: RowBuffer,
    walker: Walker,
}

impl<'t> Reader<'t> {
    pub fn new(table: &'t dyn Table, schema: &Schema) -> Result<Self> {
        let columns = table.columns();
        let numbered = columns.iter().all(|column| matches!(column.name(), Name::Number(_)));
        let clash = match table.sparse() {
            Some(_) => !schema.only_numbered(),
            None => numbered && !columns.is_empty() && schema.only_texts(),
        };
        if clash {
            return Err(nameless(schema));
        }
        Ok(Reader {
            columns,
            slots: vec![NONE; columns.len()],
            direct: false,
            known: None,
            codes: columns
                .iter()
                .map(|column| match column {
                    Column::Number(_) => Vec::new(),
                    Column::Nominal(_, categories) => vec![f64::NAN; categories.len()],
                })
                .collect(),
            buffer: RowBuffer::default(),
            walker: Walker::default(),
        })
    }

    /// Look up slots again if the schema has changed.
    fn look_up(&mut self, schema: &Schema) {
        let now = Some((schema.len(), schema.all_numbers()));
        if self.known == now {
            return;
        }
        for (slot, column) in self.slots.iter_mut().zip(self.columns) {
            *slot = schema.slot(column.name()).unwrap_or(NONE);
        }
        let in_place = self.slots.iter().enumerate().all(|(place, &slot)| slot as usize == place);
        let numbers = self.columns.iter().all(|column| matches!(column, Column::Number(_)));
        self.direct = numbers && in_place && schema.len() == self.columns.len() && schema.all_numbers();
        self.known = now;
    }

    /// Add the features, kinds and values in `raw` to the schema. The caller has marked the schema, and rolls it
    /// back on a fault.
    #[inline]
    pub fn admit(&mut self, schema: &mut Schema, raw: Raw<'_>) -> Result<()> {
        match raw {
            Raw::Dense(_) if self.settled(schema) => Ok(()),
            Raw::Dense(raw) => self.admit_dense(schema, raw),
            Raw::Sparse(sparse) => admit_sparse(schema, sparse),
            // `row` makes its products and looks at them.
            Raw::Crossed(row) => admit_sparse(schema, Sparse { indices: &[], values: &[], width: row.width }),
        }
    }

    /// Rows hold nothing that is not in the schema.
    #[inline]
    pub fn settled(&self, schema: &Schema) -> bool {
        self.direct && self.known == Some((schema.len(), true))
    }

    /// Whether rows are known numbers throughout, so that they need no copy.
    pub fn is_direct(&mut self, schema: &Schema) -> bool {
        self.look_up(schema);
        self.direct
    }

    /// Whether `raw` holds anything that is not in the schema.
    pub fn has_news(&mut self, schema: &Schema, raw: Raw<'_>) -> bool {
        let raw = match raw {
            Raw::Dense(raw) => raw,
            Raw::Sparse(sparse) => return schema.len() < sparse.width,
            Raw::Crossed(row) => return schema.len() < row.width,
        };
        self.look_up(schema);
        if self.direct {
            return false;
        }
        let kinds = schema.kinds();
        self.slots.iter().zip(raw).enumerate().any(|(place, (&slot, &value))| {
            slot == NONE
                || (!value.is_nan()
                    && match kinds[slot as usize] {
                        FeatureKind::Unknown => true,
                        FeatureKind::Number => false,
                        FeatureKind::Nominal => {
                            self.codes[place].get(value as usize).is_none_or(|code| code.is_nan())
                        }
                    })
        })
    }

    fn admit_dense(&mut self, schema: &mut Schema, raw: &[f64]) -> Result<()> {
        self.look_up(schema);
        for (place, (column, &value)) in self.columns.iter().zip(raw).enumerate() {
            if self.slots[place] == NONE {
                if schema.drops(column.name()) {
                    if !value.is_nan() {
                        schema.count_dropped();
                    }
                    continue;
                }
                self.slots[place] = schema.intern(column.name());
            }
            let slot = self.slots[place];
            if value.is_nan() {
                continue;
            }
            match column {
                Column::Number(name) => {
                    check_number(name, value)?;
                    schema.check_kind(slot, FeatureKind::Number, &value)?;
                    schema.set_kind(slot, FeatureKind::Number);
                }
                Column::Nominal(_, categories) => {
                    let text = category(categories, value)?;
                    if !self.codes[place][value as usize].is_nan() {
                        continue;
                    }
                    schema.check_kind(slot, FeatureKind::Nominal, &format_args!("'{text}'"))?;
                    schema.set_kind(slot, FeatureKind::Nominal);
                    let folds = schema.folds(slot, text);
                    let code = schema.admit_nominal(slot, text);
                    // The code of a folded value is not kept, so that each of its rows is counted.
                    self.codes[place][value as usize] = if folds { f64::NAN } else { code };
                }
            }
        }
        Ok(())
    }

    /// The row of `raw`, for a schema that may lack some of it.
    #[inline]
    pub fn row<'r>(&'r mut self, schema: &'r Schema, raw: Raw<'r>) -> Result<Row<'r>> {
        match raw {
            Raw::Dense(raw) => {
                self.look_up(schema);
                if self.direct && all_finite(raw) {
                    return Ok(Row::Plain(raw));
                }
                self.row_by_slot(schema, raw)
            }
            Raw::Sparse(sparse) => {
                check_sparse(schema, sparse)?;
                Ok(sparse_row(schema, sparse))
            }
            Raw::Crossed(row) => {
                let sparse = self.walker.walk(&row);
                check_sparse(schema, sparse)?;
                Ok(sparse_row(schema, sparse))
            }
        }
    }

    fn row_by_slot<'r>(&'r mut self, schema: &'r Schema, raw: &[f64]) -> Result<Row<'r>> {
        // The kinds are those of the schema.
        self.buffer.plain(schema.len()).fill(f64::NAN);
        let mut present = 0;
        for (place, &value) in raw.iter().enumerate() {
            if value.is_nan() {
                continue;
            }
            let slot = self.slots[place];
            match &self.columns[place] {
                Column::Number(name) => {
                    check_number(name, value)?;
                    if slot != NONE {
                        schema.check_kind(slot, FeatureKind::Number, &value)?;
                        self.buffer.write(slot as usize, value);
                        present += 1;
                    }
                }
                Column::Nominal(_, categories) => {
                    let text = category(categories, value)?;
                    if slot != NONE {
                        schema.check_kind(slot, FeatureKind::Nominal, &format_args!("'{text}'"))?;
                        // Until the slot is known to be nominal, a code in it would be read as a number.
                        if schema.kinds()[slot as usize] == FeatureKind::Unknown {
                            continue;
                        }
                        let code = &mut self.codes[place][value as usize];
                        if code.is_nan() {
                            *code = schema.nominal(slot, text);
                        }
                        let value = *code;
                        if value == UNSEEN || schema.folds(slot, text) {
                            *code = f64::NAN;
                        }
                        self.buffer.write(slot as usize, value);
                        present += 1;
                    }
                }
            }
        }
        let Row::Plain(values) = self.buffer.row() else { return Ok(self.buffer.row()) };
        Ok(if present == schema.len() && schema.all_numbers() {
            Row::Plain(values)
        } else {
            Row::Mixed(values, schema.kinds())
        })
    }

    /// Drop codes that a rollback of the schema has reverted.
    pub fn forget(&mut self) {
        self.known = None;
        self.direct = false;
        for codes in &mut self.codes {
            codes.fill(f64::NAN);
        }
    }
}

/// One row in the layout of the table.
#[derive(Clone, Copy)]
pub enum Raw<'a> {
    Dense(&'a [f64]),
    Sparse(Sparse<'a>),
    Crossed(CrossedRow<'a>),
}

/// Rows in the layout of the table.
#[derive(Clone, Copy)]
pub enum RawBlock<'a> {
    Dense { values: &'a [f64], width: usize },
    Sparse { table: SparseTable<'a>, from: usize },
}

impl<'a> RawBlock<'a> {
    /// The row at `place`, counted from the begin of the block.
    #[inline]
    pub fn row(&self, place: usize) -> Raw<'a> {
        match *self {
            RawBlock::Dense { values, width } => Raw::Dense(&values[place * width..(place + 1) * width]),
            RawBlock::Sparse { table, from } => table.raw(from + place),
        }
    }

    /// The `count` rows from `place` on.
    pub fn part(&self, place: usize, count: usize) -> RawBlock<'a> {
        match *self {
            RawBlock::Dense { values, width } => {
                RawBlock::Dense { values: &values[place * width..(place + count) * width], width }
            }
            RawBlock::Sparse { table, from } => RawBlock::Sparse { table, from: from + place },
        }
    }
}

/// The rows `from` to `to` of a table.
pub fn raw_block<'b>(table: &'b dyn Table, from: usize, to: usize, buffer: &'b mut Vec<f64>) -> RawBlock<'b> {
    match table.sparse() {
        Some(table) => RawBlock::Sparse { table, from },
        None => RawBlock::Dense { values: table.block(from, to, buffer), width: table.columns().len() },
    }
}

/// Visit the rows `from` to `to` of a table in order; stop at the first fault.
pub fn each_raw(
    table: &dyn Table,
    from: usize,
    to: usize,
    mut visit: impl FnMut(usize, Raw<'_>) -> Result<()>,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut start = from;
    while start < to {
        let end = (start + BLOCK).min(to);
        let block = raw_block(table, start, end, &mut buffer);
        for row in start..end {
            visit(row, block.row(row - start))?;
        }
        start = end;
    }
    Ok(())
}

/// For rows whose columns are numbered, where features are known by name.
pub fn nameless(schema: &Schema) -> Fault {
    let known: Vec<String> = schema.names().take(4).map(|name| name.to_string()).collect();
    Fault::key(format!(
        "the columns have no names, but the features of the model have names ({}, …): pass a frame or dicts",
        known.join(", ")
    ))
}

fn check_number(name: &Name, value: f64) -> Result<()> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Fault::value(format!("feature {name} must be finite or missing, got {value}")))
}

/// A row of a narrower matrix than before is 0 in the rest.
#[inline]
fn sparse_row<'r>(schema: &Schema, sparse: Sparse<'r>) -> Row<'r> {
    Row::Sparse(Sparse { width: sparse.width.max(schema.len()), ..sparse })
}

fn admit_sparse(schema: &mut Schema, sparse: Sparse<'_>) -> Result<()> {
    check_sparse(schema, sparse)?;
    schema.widen(sparse.width);
    schema.settle_numbers();
    Ok(())
}

fn check_sparse(schema: &Schema, sparse: Sparse<'_>) -> Result<()> {
    if sparse.width > MAX_WIDTH {
        return Err(Fault::value(format!(
            "a sparse row may have up to {MAX_WIDTH} columns, got {}: hash the features into fewer",
            sparse.width
        )));
    }
    if let Some(slot) = schema.first_nominal() {
        return Err(kind_changed(
            &schema.name(slot),
            FeatureKind::Nominal,
            &"a sparse row, which holds numbers only",
        ));
    }
    if all_finite(sparse.values) {
        return Ok(());
    }
    let bad = sparse.values.iter().position(|value| !value.is_finite()).unwrap_or(0);
    Err(Fault::value(format!(
        "feature {} of a sparse row must be finite, got {}",
        sparse.indices[bad], sparse.values[bad]
    )))
}

fn category(categories: &[Arc<str>], value: f64) -> Result<&Arc<str>> {
    categories
        .get(value as usize)
        .filter(|_| value >= 0.0)
        .ok_or_else(|| Fault::value(format!("category {value} is not one of {} categories", categories.len())))
}
