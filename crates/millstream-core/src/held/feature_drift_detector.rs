//! The verbs of a feature drift detector: a drift detector for rows, with the names of their features.

use crate::detector::FeatureDriftDetector;
use crate::drift::{most_moved, Finding};
use crate::fault::Result;
use crate::row::Row;
use crate::schema::Name;
use crate::table::{each_raw, Reader, Table};

use super::{hold_boxed, Held, Source, TableRow};

hold_boxed!(FeatureDriftDetector, "feature drift detector");

impl Held<Box<dyn FeatureDriftDetector>> {
    pub fn detector(&self) -> &dyn FeatureDriftDetector {
        &*self.part
    }

    /// Index of the row, counted from 0, of the estimated change point of the current drift or warning.
    pub fn change_point(&self) -> Option<u64> {
        let verdict = self.part.verdict();
        (verdict.drift || verdict.warning).then(|| self.count.saturating_sub(verdict.since))
    }

    /// The findings of the last check, or of the last one that found drift, by feature; most drifted first.
    pub fn report(&self, drifted: bool) -> Vec<(Name, Finding)> {
        let findings = if drifted { self.part.drifted() } else { self.part.findings() };
        let mut report: Vec<_> = self.schema.names().zip(findings.iter().copied()).collect();
        report.sort_by(|(_, a), (_, b)| most_moved(a, b));
        report
    }

    /// Process a row, atomically.
    pub fn update<S: Source>(&mut self, source: &mut S) -> Result<()> {
        self.admit_row(source, |detector, x| detector.update(x))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Add a row to the reference.
    pub fn learn<S: Source>(&mut self, source: &mut S) -> Result<()> {
        self.admit_row(source, |detector, x| detector.learn(x))
    }

    /// Process the rows `from` to `to` of a table and add the indices of drift to `found`; stop at the first fault.
    pub fn update_table(
        &mut self,
        table: &dyn Table,
        from: usize,
        to: usize,
        found: &mut Vec<usize>,
    ) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        each_raw(table, from, to, |row, raw| {
            self.update(&mut TableRow { reader: &mut reader, raw }).map_err(|fault| fault.at_row(row))?;
            if self.part.verdict().drift {
                found.push(row);
            }
            Ok(())
        })
    }

    /// Add rows of a table to the reference.
    pub fn learn_table(&mut self, table: &dyn Table, from: usize, to: usize) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        each_raw(table, from, to, |row, raw| {
            self.learn(&mut TableRow { reader: &mut reader, raw }).map_err(|fault| fault.at_row(row))
        })
    }

    fn admit_row<S: Source>(
        &mut self,
        source: &mut S,
        process: impl FnOnce(&mut dyn FeatureDriftDetector, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.schema.mark();
        let result = match source.admit(&mut self.schema).and_then(|()| source.row(&self.schema)) {
            Ok(x) => process(&mut *self.part, x),
            Err(fault) => Err(fault.by(&self.title)),
        };
        if result.is_err() && self.schema.changed() {
            self.schema.rollback();
            source.forget();
        }
        result
    }
}
