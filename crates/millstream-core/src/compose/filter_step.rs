//! An anomaly filter in the middle of a pipeline: rows pass as they are, but the later steps do not learn anomalies.

use crate::fault::Result;
use crate::learner::Learner;
use crate::merging::Merger;
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::task::{Anomalies, Truth};
use crate::transformer::{Transformer, Zeros};

#[derive(Clone)]
pub struct FilterStep {
    filter: Box<dyn Learner<Anomalies>>,
    /// Whether the last learned row is an anomaly.
    stops: bool,
}

impl FilterStep {
    /// None if the detector has no threshold, or cannot revert a row that a later step refuses.
    pub fn new(filter: Box<dyn Learner<Anomalies>>) -> Option<Self> {
        let fit = filter.threshold().is_some() && filter.abilities().undoes;
        fit.then_some(FilterStep { filter, stops: false })
    }
}

impl Part for FilterStep {
    fn save(&self) -> Result<Vec<u8>> {
        self.filter.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.filter.load(bytes)
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.filter.merge_state(merger)
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.filter);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.filter);
    }

    fn abilities(&self) -> Abilities {
        let filter = self.filter.abilities();
        // For the later steps alone, missing values would stay missing; but the detector may distinguish them from 0.
        Abilities { missing_is_zero: false, keeps_missing: filter.missing_is_zero, ..filter }
    }

    fn infallible(&self) -> bool {
        self.filter.infallible()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.filter.inspect(schema)
    }
}

impl Transformer for FilterStep {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _scratch: &mut Scratch) {
        out.copy_from(x);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (threshold, mut score) = (self.filter.threshold().unwrap_or(f64::INFINITY), 0.0);
        self.filter.step(x, (), w, Want::Class, &mut score, scratch)?;
        self.stops = score >= threshold;
        Ok(())
    }

    fn undo(&mut self) {
        self.filter.undo();
    }

    fn stops(&self) -> bool {
        self.stops
    }

    fn may_stop(&self) -> bool {
        true
    }

    fn zeros(&self, input: Zeros) -> Zeros {
        input
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn filter(&self) -> Option<Box<dyn Learner<Anomalies>>> {
        Some(self.filter.duplicate())
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}
