//! A dict on its way to becoming a row.
//!
//! The border reads a dict into a draft against the schema as it is. New features, kinds and nominal values
//! are only noted: a prediction ignores them, and learning admits them once the whole row has been found
//! good. So a bad value anywhere in a row leaves the schema as it was.
//!
//! A row of everything that a model of millions of features knows would take longer to fill than to learn. Where a
//! missing number does what a 0 does (`Part::missing_is_zero`), a dict becomes a sparse row of what it holds.

use std::fmt;

use crate::fault::{Fault, Result};
use crate::row::{Row, RowBuffer};
use crate::schema::{Kind, Name, Schema, UNSEEN};

/// One value as it was given.
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
    Feature { name: Name, value: Owned },
    Value { slot: u32, text: String },
    Kind { slot: u32, kind: Kind },
}

#[derive(Debug)]
enum Owned {
    Missing,
    Number(f64),
    Text(String),
}

/// From so many features on, a dict may become a sparse row.
const WIDE: usize = 1 << 10;

#[derive(Debug, Default)]
pub struct Draft {
    row: RowBuffer,
    present: usize,
    news: Vec<New>,
}

impl Draft {
    /// Begin a row in which everything is missing; `missing_is_zero` if that may as well be 0.
    pub fn begin(&mut self, schema: &Schema, missing_is_zero: bool) {
        if missing_is_zero && schema.len() >= WIDE && schema.all_numbers() {
            self.row.sparse(schema.len());
        } else {
            self.row.mixed(schema.len());
        }
        self.present = 0;
        self.news.clear();
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

    /// Everything was set: a row that lists every feature is the plain one that it would have been.
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
        if kind != Kind::Unknown && schema.kinds()[slot as usize] == Kind::Unknown {
            self.news.push(New::Kind { slot, kind });
        }
        match value {
            Given::Missing => return Ok(()),
            Given::Number(number) => self.put(slot, number),
            Given::Text(text) => {
                let code = schema.code(slot, text);
                // Until the slot is known to be nominal, a code in it would be read as a number.
                if schema.kinds()[slot as usize] == Kind::Nominal {
                    self.row.write(slot as usize, code.map_or(UNSEEN, f64::from));
                }
                if code.is_none() {
                    self.news.push(New::Value { slot, text: text.into() });
                }
            }
        }
        self.present += 1;
        Ok(())
    }

    /// A value for a feature that the schema does not know.
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

    /// Whether there is something that the schema does not know.
    pub fn is_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Let the schema learn what is new. The caller has marked it and rolls it back on a fault.
    pub fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        if self.news.is_empty() {
            return Ok(());
        }
        for new in std::mem::take(&mut self.news) {
            match new {
                New::Kind { slot, kind } => schema.set_kind(slot, kind),
                New::Value { slot, text } => {
                    let code = schema.intern_value(slot, &text);
                    self.row.write(slot as usize, f64::from(code));
                }
                New::Feature { name, value } => {
                    let slot = schema.intern(&name);
                    if !self.row.is_sparse() && slot as usize >= self.row.row().width() {
                        self.row.append(f64::NAN, Kind::Unknown);
                    }
                    let (kind, number) = match value {
                        Owned::Missing => continue,
                        Owned::Number(number) => {
                            schema.check_kind(slot, Kind::Number, &Given::Number(number))?;
                            (Kind::Number, number)
                        }
                        Owned::Text(text) => {
                            schema.check_kind(slot, Kind::Nominal, &Given::Text(&text))?;
                            schema.set_kind(slot, Kind::Nominal);
                            (Kind::Nominal, f64::from(schema.intern_value(slot, &text)))
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

    /// The row as it stands. What has not been admitted is not in it.
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
fn check(name: impl Fn() -> Name, value: Given<'_>) -> Result<Kind> {
    match value {
        Given::Missing => Ok(Kind::Unknown),
        Given::Text(_) => Ok(Kind::Nominal),
        Given::Number(number) if number.is_finite() => Ok(Kind::Number),
        Given::Number(number) => {
            Err(Fault::value(format!("feature {} must be finite or missing, got {number}", name())))
        }
    }
}
