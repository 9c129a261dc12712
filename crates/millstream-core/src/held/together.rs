//! Several regressors that learn the same rows, each with targets of its own, in one walk over each row.
//!
//! They are the same as if each had learned the rows alone: see `AdaptiveTable`.

use crate::batch::Rows;
use crate::linear_model::{AdaptiveScore, AdaptiveTable, TableRows};
use crate::row::{all_finite, RowBuffer};
use crate::table::{raw_block, RawBlock, Reader, Table};
use crate::task::Numbers;

use super::root::RootTask as _;
use super::{Before, Estimator, Model};

/// Rows that are learned between two copies of the regressors.
const BATCH: usize = 1024;

/// The targets of some rows: by row and regressor, NaN where a regressor does not learn; and the weights of rows.
#[derive(Clone, Copy)]
pub struct TargetTable<'a> {
    pub targets: &'a [f64],
    pub weights: &'a [f64],
}

/// Learns rows with several regressors at once.
#[derive(Default)]
pub struct Together {
    table: AdaptiveTable,
    places: TableRows,
    owned: Vec<RowBuffer>,
}

impl Together {
    /// Savepoints of the models; none if their kind cannot learn together.
    pub fn savepoints(models: &mut [&mut Model]) -> Option<Vec<Before>> {
        let together = |model: &&mut Model| {
            matches!(model.part.estimator, Estimator::Regressor(_)) && model.part.abilities.steps_together
        };
        let supported = models.len() > 1 && models.iter().all(together);
        supported.then(|| models.iter_mut().map(|model| model.savepoint()).collect())
    }

    /// Predict the rows `from` to `to` with each regressor and learn them; predictions are appended by row and regressor.
    /// Returns the number of learned rows: fewer where the next row, or the regressors, must be learned one by one.
    pub fn step(
        &mut self,
        models: &mut [&mut Model],
        table: &dyn Table,
        (from, to): (usize, usize),
        given: TargetTable<'_>,
        predictions: &mut Vec<f64>,
    ) -> usize {
        let (mut buffer, mut at) = (Vec::new(), from);
        while at < to {
            let end = (at + BATCH).min(to);
            let block = raw_block(table, at, end, &mut buffer);
            if !models.iter().all(|model| knows(model, table, &block)) {
                break;
            }
            let Some(rows) = self.rows(models, &block, end - at) else { break };
            // The rows stay with `self` for the next block.
            let mut owned = std::mem::take(&mut self.owned);
            let rows = match rows {
                Found::Lying(rows) => rows,
                Found::Kept => Rows::Owned(&owned[..end - at]),
            };
            let done = self.step_block(models, &rows, at, given, predictions);
            std::mem::swap(&mut self.owned, &mut owned);
            at += done;
            if at < end {
                break;
            }
        }
        at - from
    }

    /// The rows of a block; sparse ones are copied. None if one must be learned alone.
    fn rows<'b>(&mut self, models: &[&mut Model], block: &RawBlock<'b>, count: usize) -> Option<Found<'b>> {
        match *block {
            RawBlock::Dense { values, width } => {
                (width > 0 && all_finite(values)).then_some(Found::Lying(Rows::Plain { values, width }))
            }
            RawBlock::Sparse { table, from } => {
                let schema = &models.first()?.schema;
                if table.crossed.is_some() {
                    return None;
                }
                self.owned.resize_with(count.max(self.owned.len()), RowBuffer::default);
                for (place, owned) in self.owned[..count].iter_mut().enumerate() {
                    owned.copy_from(table.next_row(from + place, schema)?);
                }
                Some(Found::Kept)
            }
        }
    }

    fn step_block(
        &mut self,
        models: &mut [&mut Model],
        rows: &Rows<'_>,
        from: usize,
        given: TargetTable<'_>,
        predictions: &mut Vec<f64>,
    ) -> usize {
        let (count, Together { table, places, .. }) = (models.len(), self);
        let (mut scores, mut counts): (Vec<AdaptiveScore<'_>>, Vec<&mut u64>) = (Vec::new(), Vec::new());
        for model in models {
            let Model { part, count, .. } = &mut **model;
            let Some(score) = Numbers::learner_mut(part).ok().and_then(|learner| learner.adaptive_score()) else {
                return 0;
            };
            scores.push(score);
            counts.push(count);
        }
        let fit = places.read(rows) && scores.first().is_some_and(|score| places.fit(score.width));
        if !fit || !table.gather(&scores, places.columns()) {
            return 0;
        }
        let mut done = 0;
        while done < rows.len() {
            let at = from + done;
            let (targets, w) = (&given.targets[at * count..(at + 1) * count], given.weights[at]);
            let row = places.row(rows, done);
            predictions.extend_from_slice(table.score(row));
            let example = |index: usize| match targets[index].is_nan() {
                true => (0.0, 0.0),
                false => (targets[index], w),
            };
            if !table.step(row, example) {
                predictions.truncate(predictions.len() - count);
                break;
            }
            for (count, target) in counts.iter_mut().zip(targets) {
                **count += u64::from(!target.is_nan() && w > 0.0);
            }
            done += 1;
        }
        table.scatter(&mut scores, places.columns());
        done
    }
}

/// Where rows are.
enum Found<'b> {
    Lying(Rows<'b>),
    /// In the buffer.
    Kept,
}

/// Whether all rows of a block are made of numbers that a model knows.
fn knows(model: &Model, table: &dyn Table, block: &RawBlock<'_>) -> bool {
    let Ok(mut reader) = Reader::new(table, &model.schema) else { return false };
    match block {
        RawBlock::Dense { .. } => reader.is_direct(&model.schema),
        RawBlock::Sparse { table, .. } => {
            model.schema.len() >= table.width && model.schema.first_nominal().is_none() && table.width > 0
        }
    }
}
