//! The verbs of a feature drift detector: a drift detector of rows, with the names of their features.

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

    /// With which row, counted from 0, the change is believed to have begun that the last check brought to light.
    pub fn change_point(&self) -> Option<u64> {
        let verdict = self.part.verdict();
        (verdict.drift || verdict.warning).then(|| self.count.saturating_sub(verdict.since))
    }

    /// What the last check found of each feature, or the last that found a change; those that moved most first.
    pub fn report(&self, drifted: bool) -> Vec<(Name, Finding)> {
        let findings = if drifted { self.part.drifted() } else { self.part.findings() };
        let mut report: Vec<_> = self.schema.names().zip(findings.iter().copied()).collect();
        report.sort_by(|(_, a), (_, b)| most_moved(a, b));
        report
    }

    /// Tell it a row, or leave everything as it was.
    pub fn update<S: Source>(&mut self, source: &mut S) -> Result<()> {
        self.take_in(source, |detector, x| detector.update(x))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Add a row to the reference.
    pub fn learn<S: Source>(&mut self, source: &mut S) -> Result<()> {
        self.take_in(source, |detector, x| detector.learn(x))
    }

    /// Tell it the rows `from` to `to` of a table; gives those at which it found a change. A fault stops there.
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

    fn take_in<S: Source>(
        &mut self,
        source: &mut S,
        tell: impl FnOnce(&mut dyn FeatureDriftDetector, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.schema.mark();
        let told = match source.admit(&mut self.schema).and_then(|()| source.row(&self.schema)) {
            Ok(x) => tell(&mut *self.part, x),
            Err(fault) => Err(fault.by(&self.title)),
        };
        if told.is_err() && self.schema.changed() {
            self.schema.rollback();
            source.forget();
        }
        told
    }
}
