//! A drift detector with its description: what `Model` is to a learner.

use serde_json::Value as Json;

use crate::declaration::Built;
use crate::detector::DriftDetector;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::registry;
use crate::schema::Schema;
use crate::state::{self, Saved};

pub struct Watch {
    description: Json,
    detector: Box<dyn DriftDetector>,
    updates: u64,
}

impl Clone for Watch {
    fn clone(&self) -> Self {
        Watch { description: self.description.clone(), detector: self.detector.duplicate(), updates: self.updates }
    }
}

impl Watch {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let Built::DriftDetector(detector) = registry::build_resolved(&description)? else {
            let name = description["name"].as_str().unwrap_or_default();
            let role = registry::role_of(&description)?.word();
            return Err(Fault::wrong_type(format!("{name}: a {role} is not a drift detector")));
        };
        Ok(Watch { description, detector, updates: 0 })
    }

    /// Around a detector of a description that has received so many numbers.
    pub fn around(description: &Json, detector: Box<dyn DriftDetector>, updates: u64) -> Result<Self> {
        Ok(Watch { description: registry::resolve(description)?, detector, updates })
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    pub fn name(&self) -> &str {
        self.description["name"].as_str().unwrap_or_default()
    }

    pub fn detector(&self) -> &dyn DriftDetector {
        &*self.detector
    }

    /// Numbers told.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// With which number, counted from 0, the change is believed to have begun that the last one brought to light.
    pub fn change_point(&self) -> Option<u64> {
        let verdict = self.detector.verdict();
        (verdict.drift || verdict.warning).then(|| self.updates.saturating_sub(verdict.since))
    }

    /// What is known beside the estimate, for people.
    pub fn inspect(&self) -> Json {
        self.detector.inspect(&Schema::default())
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.detector.memory()
    }

    pub fn reset(&mut self) {
        self.detector.reset();
        self.updates = 0;
    }

    #[inline]
    pub fn update(&mut self, x: f64) -> Result<()> {
        self.detector.update(x)?;
        self.updates = self.updates.saturating_add(1);
        Ok(())
    }

    /// `update` with each, all or none; gives the places at which a change was found.
    pub fn update_many(&mut self, numbers: &[f64]) -> Result<Vec<usize>> {
        let mut next = self.detector.duplicate();
        let mut found = Vec::new();
        next.update_many(numbers, &mut found).map_err(|(row, fault)| fault.at_row(row))?;
        self.detector = next;
        self.updates = self.updates.saturating_add(numbers.len() as u64);
        Ok(found)
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        state::seal(&Saved {
            written_by: env!("CARGO_PKG_VERSION").into(),
            description: self.description.to_string(),
            schema: Schema::default(),
            labels: Labels::default(),
            learned: self.updates,
            state: self.detector.save()?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let mut watch = Watch::new(&state::description(&saved)?)?;
        watch.detector.load(&saved.state)?;
        watch.updates = saved.learned;
        Ok(watch)
    }
}
