//! Where examples and targets come from: dicts, and rows of tables.

use crate::draft::Draft;
use crate::fault::{Fault, Result};
use crate::labels::Label;
use crate::row::Row;
use crate::schema::Schema;
use crate::table::{Raw, Reader};

/// What an example should have been predicted as.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    None,
    Class(&'a Label),
    Number(f64),
}

/// The targets of a table.
#[derive(Clone, Copy)]
pub enum Targets<'a> {
    None,
    Numbers(&'a [f64]),
    /// A label for each row, by its place in `distinct`; a place beyond the end is a missing label.
    Classes {
        distinct: &'a [Label],
        places: &'a [u32],
    },
}

impl<'a> Targets<'a> {
    pub fn at(&self, row: usize) -> Result<Target<'a>> {
        match *self {
            Targets::None => Ok(Target::None),
            Targets::Numbers(numbers) => Ok(Target::Number(numbers[row])),
            Targets::Classes { distinct, places } => match distinct.get(places[row] as usize) {
                Some(label) => Ok(Target::Class(label)),
                None => Err(Fault::value("the label is missing")),
            },
        }
    }
}

/// Where an example comes from: a dict or a row of a table.
pub trait Source {
    /// The row, for a schema that may not know all of it.
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>>;
    /// Let the schema learn what is new in it.
    fn admit(&mut self, schema: &mut Schema) -> Result<()>;
    /// Whether there may be something new in it.
    fn has_news(&mut self, schema: &Schema) -> bool;
    /// The schema was rolled back.
    fn forget(&mut self) {}
}

impl Source for Draft {
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>> {
        Ok(Draft::row(self, schema))
    }

    fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        Draft::admit(self, schema)
    }

    fn has_news(&mut self, _schema: &Schema) -> bool {
        self.is_news()
    }
}

/// One row of a table.
pub struct TableRow<'r, 't> {
    pub reader: &'r mut Reader<'t>,
    pub raw: Raw<'r>,
}

impl Source for TableRow<'_, '_> {
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>> {
        self.reader.row(schema, self.raw)
    }

    fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        self.reader.admit(schema, self.raw)
    }

    fn has_news(&mut self, schema: &Schema) -> bool {
        self.reader.has_news(schema, self.raw)
    }

    fn forget(&mut self) {
        self.reader.forget();
    }
}
