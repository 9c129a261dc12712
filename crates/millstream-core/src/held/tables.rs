//! Predicting and transforming the rows of a table; `&self`, so that many threads may.

use crate::batch::Rows;
use crate::fault::Result;
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::table::{each_raw, raw_block, Reader, Table};
use crate::task::Answer;

use super::root::{for_task, RootTask};
use super::run::BATCH;
use super::{Model, Sink, Source, TableRow};

impl Model {
    /// Predict the rows of a table; `sink` receives the prediction of each row.
    pub fn predict_table(
        &self,
        table: &dyn Table,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if self.part.abilities.predicts_batches {
            return for_task!(self.part, T => self.predict_batches::<T>(table, want, scratch, sink),
                transformer => Err(self.cannot("predict")));
        }
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut answer = Answer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            self.predict(&mut source, want, &mut answer, scratch).map_err(|fault| fault.at_row(row))?;
            sink.answer(self, row, &answer);
            Ok(())
        })
    }

    /// Predict the rows of a table many at a time.
    fn predict_batches<T: RootTask>(
        &self,
        table: &dyn Table,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let (mut answer, mut buffer) = (Answer::default(), Vec::new());
        let known = self.labels.known_classes();
        let mut rows: Vec<RowBuffer> = Vec::new();
        let mut from = 0;
        while from < table.height() {
            let to = (from + BATCH).min(table.height());
            rows.resize_with(to - from, RowBuffer::default);
            let block = raw_block(table, from, to, &mut buffer);
            for (at, row) in rows.iter_mut().enumerate() {
                let mut source = TableRow { reader: &mut reader, raw: block.row(at) };
                let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title).at_row(from + at))?;
                self.check_row(x, scratch).map_err(|fault| fault.at_row(from + at))?;
                row.copy_from(x);
            }
            T::learner(&self.part)?.predict_batch(&Rows::Owned(&rows), want, scratch, &mut |prediction| {
                T::keep_known(prediction, known, want);
                // The prediction is lent to the answer, which keeps the buffers of both.
                std::mem::swap(prediction, T::prediction(&mut answer));
                sink.answer(self, from, &answer);
                std::mem::swap(prediction, T::prediction(&mut answer));
                from += 1;
            });
            from = to;
        }
        Ok(())
    }

    /// Intervals for the rows of a table: lower, upper, lower, upper, ….
    pub fn interval_table(&self, table: &dyn Table, coverage: f64, scratch: &mut Scratch) -> Result<Vec<f64>> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut bounds = Vec::new();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            let (lower, upper) =
                self.interval(&mut source, coverage, scratch).map_err(|fault| fault.at_row(row))?;
            bounds.extend([lower, upper]);
            Ok(())
        })?;
        Ok(bounds)
    }

    /// Transform the rows of a table, row-major. Features and values that were never learned are included:
    /// the returned model has them in its schema, which names the columns.
    pub fn transform_all(&self, table: &dyn Table, scratch: &mut Scratch) -> Result<(Self, Vec<f64>)> {
        let mut copy = self.clone();
        let mut reader = Reader::new(table, &copy.schema).map_err(|fault| fault.by(&self.title))?;
        copy.schema.mark();
        each_raw(table, 0, table.height(), |row, raw| {
            reader.admit(&mut copy.schema, raw).map_err(|fault| fault.by(&self.title).at_row(row))
        })?;
        copy.part.bind(&copy.schema);
        let width = copy.output()?.len();
        let mut values = Vec::with_capacity(width.saturating_mul(table.height()).min(1 << 28));
        let mut out = RowBuffer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            copy.transform(&mut source, &mut out, scratch).map_err(|fault| fault.at_row(row))?;
            let start = values.len();
            match out.row() {
                Row::Plain(numbers) | Row::Mixed(numbers, _) => values.extend_from_slice(numbers),
                Row::Sparse(sparse) => {
                    values.resize(start + sparse.width, 0.0);
                    for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                        values[start + slot as usize] = value;
                    }
                }
            }
            values.resize(start + width, f64::NAN);
            Ok(())
        })?;
        Ok((copy, values))
    }
}
