//! A statistic with its description: what `Model` is to a learner.

use serde_json::Value as Json;

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::registry;
use crate::schema::Schema;
use crate::state::{self, Saved};
use crate::statistic::Statistic;

pub struct Gauge {
    description: Json,
    statistic: Box<dyn Statistic>,
    updates: u64,
}

impl Clone for Gauge {
    fn clone(&self) -> Self {
        Gauge {
            description: self.description.clone(),
            statistic: self.statistic.duplicate(),
            updates: self.updates,
        }
    }
}

impl Gauge {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let Built::Statistic(statistic) = registry::build_resolved(&description)? else {
            let name = description["name"].as_str().unwrap_or_default();
            let role = registry::role_of(&description)?.word();
            return Err(Fault::wrong_type(format!("{name}: a {role} is not a statistic")));
        };
        Ok(Gauge { description, statistic, updates: 0 })
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    pub fn name(&self) -> &str {
        self.description["name"].as_str().unwrap_or_default()
    }

    pub fn statistic(&self) -> &dyn Statistic {
        &*self.statistic
    }

    pub fn get(&self) -> f64 {
        self.statistic.get()
    }

    /// Numbers told, those of weight 0 left out.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.statistic.memory()
    }

    pub fn reset(&mut self) {
        self.statistic.reset();
        self.updates = 0;
    }

    /// `y` is looked at by statistics of two variables only.
    pub fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if !(w.is_finite() && w >= 0.0) {
            return Err(Fault::value(format!(
                "{}: the weight must be finite and not negative, got {w}",
                self.name()
            )));
        }
        for (what, number) in [("x", x), ("y", y)] {
            if !number.is_finite() {
                return Err(Fault::value(format!("{}: {what} must be finite, got {number}", self.name())));
            }
        }
        if w > 0.0 {
            self.statistic.update(x, y, w)?;
            self.updates = self.updates.saturating_add(1);
        }
        Ok(())
    }

    /// Fold in a gauge of the same description that watched another part of the stream.
    pub fn merge(&mut self, other: &Gauge) -> Result<()> {
        if self.description != other.description {
            return Err(Fault::value(format!("{}: only the same statistic can be merged", self.name())));
        }
        self.statistic.merge(&other.statistic.save()?).map_err(|fault| fault.by(self.name()))?;
        self.updates = self.updates.saturating_add(other.updates);
        Ok(())
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        state::seal(&Saved {
            written_by: env!("CARGO_PKG_VERSION").into(),
            description: self.description.to_string(),
            schema: Schema::default(),
            labels: Labels::default(),
            learned: self.updates,
            state: self.statistic.save()?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let mut gauge = Gauge::new(&state::description(&saved)?)?;
        gauge.statistic.load(&saved.state)?;
        gauge.updates = saved.learned;
        Ok(gauge)
    }
}
