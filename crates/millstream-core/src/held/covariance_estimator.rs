//! The verbs of a covariance estimator, with the names of its features.

use crate::covariance::inverse;
use crate::covariance_estimator::CovarianceEstimator;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::merging::Merger;
use crate::row::Row;
use crate::schema::{FeatureKind, Schema};
use crate::table::{each_raw, Reader, Table};

use super::{hold_boxed, Held, Source, TableRow};

hold_boxed!(
    CovarianceEstimator,
    "covariance estimator",
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        let side = merger.without_base()?;
        (**self).merge(side.state, &side.slots(merger.ours), merger.ours.len())
    }
);

/// A row as numbers, with NaN for missing ones.
fn numbers<'a>(x: Row<'a>, schema: &Schema, buffer: &'a mut Vec<f64>) -> Result<&'a [f64]> {
    match x {
        Row::Plain(values) => Ok(values),
        Row::Mixed(values, kinds) => match kinds.iter().position(|&kind| kind == FeatureKind::Nominal) {
            Some(slot) => Err(Fault::wrong_type(format!(
                "feature {} must be a number, but its values are strings or bools",
                schema.name(slot)
            ))),
            None => Ok(values),
        },
        Row::Sparse(sparse) => {
            buffer.clear();
            buffer.resize(sparse.width, 0.0);
            for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                buffer[slot as usize] = value;
            }
            Ok(buffer.as_slice())
        }
    }
}

impl Held<Box<dyn CovarianceEstimator>> {
    pub fn estimator(&self) -> &dyn CovarianceEstimator {
        &*self.part
    }

    /// The covariance matrix, or its inverse, row by row.
    pub fn estimate(&self, precision: bool) -> Vec<f64> {
        let covariance = self.part.covariance();
        match precision {
            true => inverse(covariance, self.part.width()),
            false => covariance,
        }
    }

    /// Receive a row, atomically. A row of weight 0 leaves no trace.
    pub fn update<S: Source>(&mut self, source: &mut S, w: f64) -> Result<()> {
        if self.admit_row(source, w, |part, x, w| part.update(x, w))? {
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// Remove a row that was received before.
    pub fn revert<S: Source>(&mut self, source: &mut S, w: f64) -> Result<()> {
        if !self.part.invertible() {
            return Err(Fault::value(format!("{}: a row cannot be removed", self.title)));
        }
        if self.admit_row(source, w, |part, x, w| part.revert(x, w))? {
            self.count = self.count.saturating_sub(1);
        }
        Ok(())
    }

    /// Receive the rows `from` to `to` of a table; stop at the first fault.
    pub fn update_table(&mut self, table: &dyn Table, from: usize, to: usize, w: Option<&[f64]>) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        each_raw(table, from, to, |row, raw| {
            let w = w.map_or(1.0, |w| w[row]);
            self.update(&mut TableRow { reader: &mut reader, raw }, w).map_err(|fault| fault.at_row(row))
        })
    }

    /// Whether the row had a weight.
    fn admit_row<S: Source>(
        &mut self,
        source: &mut S,
        w: f64,
        process: impl FnOnce(&mut dyn CovarianceEstimator, &[f64], f64) -> Result<()>,
    ) -> Result<bool> {
        if !(0.0..f64::INFINITY).contains(&w) {
            let title = &self.title;
            return Err(Fault::value(format!("{title}: the weight must be finite and not negative, got {w}")));
        }
        if w == 0.0 {
            return Ok(false);
        }
        self.schema.mark();
        let mut buffer = Vec::new();
        let row = source.admit(&mut self.schema).and_then(|()| source.row(&self.schema));
        let result = match row.and_then(|x| numbers(x, &self.schema, &mut buffer)) {
            Ok(x) => process(&mut *self.part, x, w),
            Err(fault) => Err(fault.by(&self.title)),
        };
        if result.is_err() && self.schema.changed() {
            self.schema.rollback();
            source.forget();
        }
        result.map(|()| true)
    }
}
