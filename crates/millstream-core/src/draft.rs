//! A dict that is being converted to a row.
//!
//! The binding reads a dict into a draft against the present schema. New features, kinds and nominal values are only
//! recorded: a prediction ignores them, and learning adds them to the schema once the whole row has been checked. An
//! invalid value anywhere in a row therefore leaves the schema unchanged.
//!
//! A dense row of millions of features would take longer to fill than to learn. If a missing number is equivalent to 0
//! (`Part::missing_is_zero`), a dict becomes a sparse row.

use std::fmt;

use crate::fault::{Fault, Result};
use crate::row::{Row, RowBuffer};
use crate::schema::{FeatureKind, Name, Schema, UNSEEN};

/// One value as given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

impl fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Missing => f.write_str("None"),
            Given::Number(number) => write!(f, "{number}"),
            Given::Text(text) => write!(f, "'{text}'"),
        }
    }
}

#[derive(Debug)]
enum New {
    Feature {
        name: Name,
        value: Owned,
    },
    Value {
        slot: u32,
        text: String,
    },
    Kind {
        slot: u32,
        kind: FeatureKind,
    },
    /// A value beyond the limit, which is in the row as `OTHER`.
    Folded,
}

#[derive(Debug)]
enum Owned {
    Missing,
    Number(f64),
    Text(String),
}

/// Number of features from which on a dict may become a sparse row.
const WIDE: usize = 1 << 10;

#[derive(Debug, Default)]
pub struct Draft {
    row: RowBuffer,
    present: usize,
    news: Vec<New>,
}

impl Draft {
    /// Start a row in which everything is missing; with `missing_is_zero`, missing is equivalent to 0.
    #[inline]
    pub fn begin(&mut self, schema: &Schema, missing_is_zero: bool) {
        if missing_is_zero && schema.len() >= WIDE && schema.all_numbers() {
            self.row.sparse(schema.len());
        } else {
            // The kinds are those of the schema.
            self.row.plain(schema.len()).fill(f64::NAN);
        }
        self.present = 0;
        self.news.clear();
    }

    /// Start a row of which the numbers are written to the slice, from the first slot on; `end_numbers` tells how many.
    /// None if the schema has other kinds of features, or many.
    #[inline]
    pub fn begin_numbers(&mut self, schema: &Schema) -> Option<&mut [f64]> {
        if !schema.all_numbers() || schema.len() >= WIDE {
            return None;
        }
        self.news.clear();
        Some(self.row.plain(schema.len()))
    }

    /// After `begin_numbers`: the first slots are written, and the others are missing.
    #[inline]
    pub fn end_numbers(&mut self, written: usize) {
        self.row.fill_from(written, f64::NAN);
        self.present = written;
    }

    /// A number for a slot whose kind is known to be a number. The fast path of `set`.
    #[inline]
    pub fn set_number(&mut self, slot: u32, number: f64) {
        self.put(slot, number);
        self.present += 1;
    }

    #[inline]
    fn put(&mut self, slot: u32, number: f64) {
        match self.row.is_sparse() {
            true => self.row.push(slot, number),
            false => self.row.write(slot as usize, number),
        }
    }

    /// Finish the row; a sparse row that lists every feature becomes a plain one.
    #[inline]
    pub fn finish(&mut self, schema: &Schema) {
        if !self.row.is_sparse() {
            return;
        }
        let number = |new: &New| matches!(new, New::Feature { value: Owned::Number(_), .. });
        if self.present == schema.len() || !self.news.iter().all(number) {
            self.row.written_out(schema.len());
        } else {
            self.row.sort();
        }
    }

    /// A value for a known feature.
    pub fn set(&mut self, schema: &Schema, slot: u32, value: Given<'_>) -> Result<()> {
        let kind = check(|| schema.name(slot as usize), value)?;
        schema.check_kind(slot, kind, &value)?;
        if kind != FeatureKind::Unknown && schema.kinds()[slot as usize] == FeatureKind::Unknown {
            self.news.push(New::Kind { slot, kind });
        }
        match value {
            Given::Missing => return Ok(()),
            Given::Number(number) => self.put(slot, number),
            Given::Text(text) => {
                let value = schema.nominal(slot, text);
                // Until the slot is known to be nominal, a code in it would be read as a number.
                if schema.kinds()[slot as usize] == FeatureKind::Nominal {
                    self.row.write(slot as usize, value);
                }
                if value == UNSEEN {
                    self.news.push(New::Value { slot, text: text.into() });
                } else if schema.folds(slot, text) {
                    self.news.push(New::Folded);
                }
            }
        }
        self.present += 1;
        Ok(())
    }

    /// A value for a feature that is not in the schema.
    pub fn add(&mut self, name: Name, value: Given<'_>) -> Result<()> {
        check(|| name.clone(), value)?;
        let value = match value {
            Given::Missing => Owned::Missing,
            Given::Number(number) => Owned::Number(number),
            Given::Text(text) => Owned::Text(text.into()),
        };
        self.news.push(New::Feature { name, value });
        Ok(())
    }

    /// Whether there is anything that is not in the schema.
    pub fn is_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Whether there is anything that would be added to the schema, except for keys, whose texts are never written.
    pub fn is_news_to_write(&self, schema: &Schema) -> bool {
        self.news.iter().any(|new| match new {
            New::Value { slot, .. } => !schema.is_key(*slot as usize),
            New::Feature { name, .. } => !schema.drops(name),
            New::Kind { .. } => true,
            New::Folded => false,
        })
    }

    /// Add new features, kinds and values to the schema. The caller has marked it and rolls it back on a fault.
    pub fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        if self.news.is_empty() {
            return Ok(());
        }
        for new in std::mem::take(&mut self.news) {
            match new {
                New::Kind { slot, kind } => schema.set_kind(slot, kind),
                New::Folded => schema.count_folded(),
                New::Feature { ref name, ref value } if schema.drops(name) => {
                    if !matches!(value, Owned::Missing) {
                        schema.count_dropped();
                    }
                }
                New::Value { slot, text } => {
                    let value = schema.admit_nominal(slot, &text);
                    self.row.write(slot as usize, value);
                }
                New::Feature { name, value } => {
                    let slot = schema.intern(&name);
                    if !self.row.is_sparse() && slot as usize >= self.row.row().width() {
                        self.row.append(f64::NAN, FeatureKind::Unknown);
                    }
                    let (kind, number) = match value {
                        Owned::Missing => continue,
                        Owned::Number(number) => {
                            schema.check_kind(slot, FeatureKind::Number, &Given::Number(number))?;
                            (FeatureKind::Number, number)
                        }
                        Owned::Text(text) => {
                            schema.check_kind(slot, FeatureKind::Nominal, &Given::Text(&text))?;
                            schema.set_kind(slot, FeatureKind::Nominal);
                            (FeatureKind::Nominal, schema.admit_nominal(slot, &text))
                        }
                    };
                    schema.set_kind(slot, kind);
                    self.put(slot, number);
                    self.present += 1;
                }
            }
        }
        if self.row.is_sparse() {
            self.row.widen(schema.len());
        }
        Ok(())
    }

    /// The row without anything that has not been admitted.
    #[inline]
    pub fn row<'a>(&'a self, schema: &'a Schema) -> Row<'a> {
        let values = match self.row.row() {
            Row::Plain(values) | Row::Mixed(values, _) => values,
            sparse => return sparse,
        };
        if self.present == schema.len() && schema.all_numbers() {
            Row::Plain(values)
        } else {
            Row::Mixed(values, &schema.kinds()[..values.len()])
        }
    }
}

/// The kind of a value that may enter a row; infinities may not.
fn check(name: impl Fn() -> Name, value: Given<'_>) -> Result<FeatureKind> {
    match value {
        Given::Missing => Ok(FeatureKind::Unknown),
        Given::Text(_) => Ok(FeatureKind::Nominal),
        Given::Number(number) if number.is_finite() => Ok(FeatureKind::Number),
        Given::Number(number) => {
            Err(Fault::value(format!("feature {} must be finite or missing, got {number}", name())))
        }
    }
}
