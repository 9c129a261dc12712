//! A detector of rows with its description and the names of features: what `Model` is to a learner.

use serde_json::Value as Json;

use crate::declaration::Built;
use crate::detector::FeatureDriftDetector;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::model::{Source, TableRow};
use crate::registry;
use crate::row::Row;
use crate::schema::{Name, Schema};
use crate::state::{self, Saved};
use crate::table::{each_raw, Reader, Table};

use super::finding::{most_moved, Finding};

pub struct Gauge {
    description: Json,
    detector: Box<dyn FeatureDriftDetector>,
    schema: Schema,
    updates: u64,
}

impl Clone for Gauge {
    fn clone(&self) -> Self {
        Gauge {
            description: self.description.clone(),
            detector: self.detector.duplicate(),
            schema: self.schema.clone(),
            updates: self.updates,
        }
    }
}

impl Gauge {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let Built::FeatureDriftDetector(detector) = registry::build_resolved(&description)? else {
            let name = description["name"].as_str().unwrap_or_default();
            let role = registry::role_of(&description)?.word();
            return Err(Fault::wrong_type(format!("{name}: a {role} does not watch features")));
        };
        Ok(Gauge { description, detector, schema: Schema::default(), updates: 0 })
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    pub fn name(&self) -> &str {
        self.description["name"].as_str().unwrap_or_default()
    }

    pub fn detector(&self) -> &dyn FeatureDriftDetector {
        &*self.detector
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Rows told.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// With which row, counted from 0, the change is believed to have begun that the last check brought to light.
    pub fn change_point(&self) -> Option<u64> {
        let verdict = self.detector.verdict();
        (verdict.drift || verdict.warning).then(|| self.updates.saturating_sub(verdict.since))
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.detector.memory() + self.schema.memory()
    }

    /// Start again, also with the names of features.
    pub fn reset(&mut self) {
        self.detector.reset();
        self.schema = Schema::default();
        self.updates = 0;
    }

    /// What the last check found of each feature, or the last that found a change; those that moved most first.
    pub fn report(&self, drifted: bool) -> Vec<(Name, Finding)> {
        let findings = if drifted { self.detector.drifted() } else { self.detector.findings() };
        let mut report: Vec<_> = self.schema.names().zip(findings.iter().copied()).collect();
        report.sort_by(|(_, a), (_, b)| most_moved(a, b));
        report
    }

    /// Tell it a row, or leave everything as it was.
    pub fn update<S: Source>(&mut self, source: &mut S) -> Result<()> {
        self.take_in(source, |detector, x| detector.update(x))?;
        self.updates = self.updates.saturating_add(1);
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
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(self.name()))?;
        each_raw(table, from, to, |row, raw| {
            self.update(&mut TableRow { reader: &mut reader, raw }).map_err(|fault| fault.at_row(row))?;
            if self.detector.verdict().drift {
                found.push(row);
            }
            Ok(())
        })
    }

    /// Add rows of a table to the reference.
    pub fn learn_table(&mut self, table: &dyn Table, from: usize, to: usize) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(self.name()))?;
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
            Ok(x) => tell(&mut *self.detector, x),
            Err(fault) => Err(fault.by(self.description["name"].as_str().unwrap_or_default())),
        };
        if told.is_err() && self.schema.changed() {
            self.schema.rollback();
            source.forget();
        }
        told
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        state::seal(&Saved {
            written_by: env!("CARGO_PKG_VERSION").into(),
            description: self.description.to_string(),
            schema: self.schema.clone(),
            labels: Labels::default(),
            learned: self.updates,
            state: self.detector.save()?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let mut gauge = Gauge::new(&state::description(&saved)?)?;
        gauge.detector.load(&saved.state)?;
        gauge.schema = saved.schema;
        gauge.updates = saved.learned;
        Ok(gauge)
    }
}
