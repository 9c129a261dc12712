//! Rows of any form to learners that take many at once (`Classifier::takes_rows`): ensembles.
//!
//! Rows of plain numbers go where they lie; others are read and kept, as long as there is nothing new in them.

use crate::block::{ClassRows, NumberRows, Predictions, Rows};
use crate::fault::Result;
use crate::row::{RowBuffer, Scratch, Want};
use crate::table::{raw_block, RawBlock, Reader, Table};

use super::run::KnownRows;
use super::{Answer, Job, Model, Root, Sink, Source, TableRow, Targets};

/// How many rows go together. Of 256 to 4096 rows, the time of a member's changes by a few in a hundred only.
pub const CHUNK: usize = 1024;

impl Model {
    /// See `Classifier::takes_rows`.
    pub(super) fn takes_rows(&self) -> bool {
        match &self.root {
            Root::Classifier(part) => part.takes_rows(),
            Root::Regressor(part) => part.takes_rows(),
            Root::Transformer(_) => false,
        }
    }

    /// From `row` on, as many rows as hold nothing new and have known targets, before `end`. Returns how many were
    /// stepped; the row after them goes the long way.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn step_kept(
        &mut self,
        job: &Job<'_>,
        reader: &mut Reader<'_>,
        block: &RawBlock<'_>,
        first: usize,
        row: usize,
        end: usize,
        known: &mut KnownRows,
        scratch: &mut Scratch,
    ) -> usize {
        if !job.learning {
            return 0;
        }
        let mut n = 0;
        if let (Root::Classifier(_), Targets::Classes { distinct, places }) = (&self.root, job.targets) {
            known.look_up(distinct, &places[row..end], &self.labels);
        }
        while row + n < end {
            let at = row + n;
            let aimed = match (&self.root, job.targets) {
                (Root::Classifier(_), Targets::Classes { .. }) => n < known.classes.len(),
                (Root::Regressor(_), Targets::Numbers(numbers)) => numbers[at].is_finite(),
                _ => false,
            };
            let weighed = job.weights.is_none_or(|weights| weights[at] > 0.0 && weights[at] < f64::INFINITY);
            if !aimed || !weighed || !self.keep(reader, block, at - first, n, known, scratch) {
                break;
            }
            n += 1;
        }
        if n == 0 {
            return 0;
        }
        let rows = Rows::Kept(&known.rows[..n]);
        let weights = job.weights.map(|weights| &weights[row..row + n]);
        let want = job.predicting.unwrap_or(Want::Class);
        let done = match (&mut self.root, job.targets) {
            (Root::Classifier(part), _) => {
                let block = ClassRows { rows, classes: &known.classes[..n], weights, labels: &self.labels };
                known.predictions.clear(&self.labels);
                part.step_rows(&block, want, &mut known.predictions, scratch)
            }
            (Root::Regressor(part), Targets::Numbers(numbers)) => {
                known.numbers.clear();
                let block = NumberRows { rows, targets: &numbers[row..row + n], weights };
                part.step_rows(&block, &mut known.numbers, scratch)
            }
            _ => 0,
        };
        self.learned += done as u64;
        done
    }

    /// Read one row and keep it; false if it must go the long way.
    fn keep(
        &self,
        reader: &mut Reader<'_>,
        block: &RawBlock<'_>,
        at: usize,
        place: usize,
        known: &mut KnownRows,
        scratch: &mut Scratch,
    ) -> bool {
        let mut source = TableRow { reader, raw: block.row(at) };
        if source.has_news(&self.schema) {
            return false;
        }
        let Ok(x) = source.row(&self.schema) else { return false };
        if self.check_row(x, scratch).is_err() {
            return false;
        }
        if place == known.rows.len() {
            known.rows.push(RowBuffer::default());
        }
        known.rows[place].copy_from(x);
        true
    }

    /// Predict the rows of a table many at a time.
    pub(super) fn predict_kept(
        &self,
        table: &dyn Table,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let (mut answer, mut buffer) = (Answer::default(), Vec::new());
        let (mut predictions, mut numbers) = (Predictions::default(), Vec::new());
        let mut rows: Vec<RowBuffer> = Vec::new();
        let mut from = 0;
        while from < table.height() {
            let to = (from + CHUNK).min(table.height());
            rows.resize_with(to - from, RowBuffer::default);
            let block = raw_block(table, from, to, &mut buffer);
            for (place, row) in rows.iter_mut().enumerate() {
                let mut source = TableRow { reader: &mut reader, raw: block.row(place) };
                let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title).at_row(from + place))?;
                self.check_row(x, scratch).map_err(|fault| fault.at_row(from + place))?;
                row.copy_from(x);
            }
            match &self.root {
                Root::Classifier(part) => {
                    predictions.clear(&self.labels);
                    part.predict_rows(&Rows::Kept(&rows), &self.labels, want, &mut predictions, scratch);
                }
                Root::Regressor(part) => {
                    numbers.clear();
                    part.predict_rows(&Rows::Kept(&rows), &mut numbers, scratch);
                }
                Root::Transformer(_) => return Err(self.cannot("predict")),
            }
            for place in 0..rows.len() {
                match numbers.get(place) {
                    Some(&number) => answer.number = number,
                    None => predictions.get(place, want, &mut answer.class),
                }
                sink.answer(self, from + place, &answer);
            }
            from = to;
        }
        Ok(())
    }
}
