//! Sources of examples: dicts, and rows of tables.

use crate::draft::Draft;
use crate::fault::Result;
use crate::row::Row;
use crate::schema::Schema;
use crate::table::{Raw, Reader};

/// The source of an example: a dict or a row of a table.
pub trait Source {
    /// The row, for a schema that may lack some of it.
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>>;
    /// Add its new features, kinds and values to the schema.
    fn admit(&mut self, schema: &mut Schema) -> Result<()>;
    /// Whether it may hold anything new.
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
