//! Predicting and transforming the rows of a table; `&self`, so that many threads may.
//!
//! A caller passes some rows at a time, so that it can stop between them.

use std::ops::Range;

use crate::batch::Rows;
use crate::fault::Result;
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::table::{each_raw, each_run, raw_block, RawBlock, Reader, Table};
use crate::task::Answer;

use super::root::{for_task, RootTask};
use super::run::BATCH;
use super::{Model, Sink, Source, TableRow};

/// The rows of a table as one model reads them. Look-ups and buffers are kept from some rows to the next.
pub struct TableReader<'t> {
    table: &'t dyn Table,
    reader: Reader<'t>,
    answer: Answer,
    rows: Vec<RowBuffer>,
    buffer: Vec<f64>,
    /// Rows in the order of slots.
    known: Vec<f64>,
    /// Whether a row that was not admitted may hold something new.
    has_news: bool,
}

/// Sparse rows one after another.
#[derive(Debug)]
pub struct SparseRows {
    /// Where the entries of each row begin, and the end of the last.
    pub starts: Vec<i64>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl Default for SparseRows {
    fn default() -> Self {
        SparseRows { starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }
}

impl SparseRows {
    /// Append a row: the entries of a sparse one, or the numbers of another that are not 0.
    fn push(&mut self, row: Row<'_>) {
        match row {
            Row::Sparse(sparse) => {
                self.indices.extend_from_slice(sparse.indices);
                self.values.extend_from_slice(sparse.values);
            }
            Row::Plain(numbers) | Row::Mixed(numbers, _) => {
                for (slot, &number) in numbers.iter().enumerate().filter(|(_, &number)| number != 0.0) {
                    self.indices.push(slot as u32);
                    self.values.push(number);
                }
            }
        }
        self.starts.push(self.indices.len() as i64);
    }
}

impl Model {
    pub fn table_reader<'t>(&self, table: &'t dyn Table) -> Result<TableReader<'t>> {
        let reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let (answer, rows) = (Answer::default(), Vec::new());
        Ok(TableReader { table, reader, answer, rows, buffer: Vec::new(), known: Vec::new(), has_news: true })
    }

    /// Predict rows of a table; `sink` receives the prediction of each row.
    pub fn predict_rows(
        &self,
        reader: &mut TableReader<'_>,
        rows: Range<usize>,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if self.part.abilities.predicts_batches {
            return for_task!(self.part, T => self.predict_batches::<T>(reader, rows, want, scratch, sink),
                transformer => Err(self.cannot("predict")));
        }
        let TableReader { table, reader, answer, .. } = reader;
        each_raw(*table, rows.start, rows.end, |row, raw| {
            let mut source = TableRow { reader, raw };
            self.predict(&mut source, want, answer, scratch).map_err(|fault| fault.at_row(row))?;
            sink.answer(self, row, answer);
            Ok(())
        })
    }

    /// Predict rows of a table many at a time.
    fn predict_batches<T: RootTask>(
        &self,
        reader: &mut TableReader<'_>,
        range: Range<usize>,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let TableReader { table, reader, answer, rows, buffer, .. } = reader;
        let known = self.labels.known_classes();
        let mut from = range.start;
        while from < range.end {
            let to = (from + BATCH).min(range.end);
            if rows.len() < to - from {
                rows.resize_with(to - from, RowBuffer::default);
            }
            let block = raw_block(*table, from, to, buffer);
            for (at, row) in rows.iter_mut().enumerate().take(to - from) {
                let mut source = TableRow { reader, raw: block.row(at) };
                let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title).at_row(from + at))?;
                self.check_row(x, scratch).map_err(|fault| fault.at_row(from + at))?;
                row.copy_from(x);
            }
            let batch = Rows::Owned(&rows[..to - from]);
            T::learner(&self.part)?.predict_batch(&batch, want, scratch, &mut |prediction| {
                T::keep_known(prediction, known, want);
                // The prediction is lent to the answer, which keeps the buffers of both.
                std::mem::swap(prediction, T::prediction(answer));
                sink.answer(self, from, answer);
                std::mem::swap(prediction, T::prediction(answer));
                from += 1;
            });
            from = to;
        }
        Ok(())
    }

    /// Intervals for rows of a table: lower, upper, lower, upper, ….
    pub fn interval_rows(
        &self,
        reader: &mut TableReader<'_>,
        rows: Range<usize>,
        coverage: f64,
        scratch: &mut Scratch,
        bounds: &mut Vec<f64>,
    ) -> Result<()> {
        let TableReader { table, reader, .. } = reader;
        each_raw(*table, rows.start, rows.end, |row, raw| {
            let mut source = TableRow { reader, raw };
            let (lower, upper) =
                self.interval(&mut source, coverage, scratch).map_err(|fault| fault.at_row(row))?;
            bounds.extend([lower, upper]);
            Ok(())
        })
    }

    /// A copy that admits the rows of a table and then transforms them. Features and values that were never learned are
    /// included: its schema names the columns.
    pub fn admitting(&self) -> Self {
        let mut copy = self.clone();
        copy.schema.mark();
        copy
    }

    /// Add the features and values of rows of a table.
    pub fn admit_rows(&mut self, reader: &mut TableReader<'_>, rows: Range<usize>) -> Result<()> {
        let TableReader { table, reader, known, has_news, .. } = reader;
        let (schema, title) = (&mut self.schema, &self.title);
        if *has_news {
            *has_news =
                table.sparse().is_some() || table.categories() > table.height() || !reader.knows_all(schema);
        }
        if !*has_news {
            return Ok(());
        }
        each_run(*table, rows.start, rows.end, |row, count, block| {
            let done = match block {
                RawBlock::Dense { values, .. } => reader.known_rows(schema, values, known).len(),
                RawBlock::Sparse { .. } => 0,
            };
            if done < count {
                let admitted = reader.admit(schema, block.row(done));
                admitted.map_err(|fault| fault.by(title).at_row(row + done))?;
            }
            Ok((done + 1).min(count))
        })
    }

    /// After all rows were admitted: the number of columns of their transform.
    pub fn bind_admitted(&mut self) -> Result<usize> {
        self.part.bind(&self.schema);
        Ok(self.output()?.len())
    }

    /// Transform rows of a table that were admitted to sparse rows; zeros are omitted.
    pub fn transform_rows_sparse(
        &self,
        reader: &mut TableReader<'_>,
        rows: Range<usize>,
        scratch: &mut Scratch,
        out: &mut SparseRows,
    ) -> Result<()> {
        let TableReader { table, reader, .. } = reader;
        let mut buffer = scratch.take_row();
        let transformed = each_raw(*table, rows.start, rows.end, |row, raw| {
            let mut source = TableRow { reader, raw };
            self.transform(&mut source, &mut buffer, scratch).map_err(|fault| fault.at_row(row))?;
            out.push(buffer.row());
            Ok(())
        });
        scratch.give_row(buffer);
        transformed
    }

    /// Transform rows of a table that were admitted, row-major, to `width` columns.
    pub fn transform_rows(
        &self,
        reader: &mut TableReader<'_>,
        rows: Range<usize>,
        width: usize,
        scratch: &mut Scratch,
        values: &mut Vec<f64>,
    ) -> Result<()> {
        let TableReader { table, reader, known, .. } = reader;
        let mut out = scratch.take_row();
        let transformed = each_run(*table, rows.start, rows.end, |row, count, block| {
            let done = match (block, self.part.estimator.transformer()) {
                (RawBlock::Dense { values: raw, .. }, Some(transformer)) if !self.part.abilities.checks_rows => {
                    let rows = reader.known_rows(&self.schema, raw, known);
                    transformer.transform_batch(&rows, width, values, scratch);
                    rows.len()
                }
                _ => 0,
            };
            if done < count {
                let mut source = TableRow { reader, raw: block.row(done) };
                self.transform(&mut source, &mut out, scratch).map_err(|fault| fault.at_row(row + done))?;
                out.row().append_to(width, values);
            }
            Ok((done + 1).min(count))
        });
        scratch.give_row(out);
        transformed
    }
}
