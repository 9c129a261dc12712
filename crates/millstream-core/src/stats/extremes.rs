//! The running minimum and maximum.

use super::never_told;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::part::Part;
use crate::statistic::Statistic;

pub static MIN: Declaration = Declaration {
    name: "stats.Min",
    role: Role::Statistic,
    words: "Minimum",
    parameters: &[],
    build: |_| Ok(Built::Statistic(Box::new(Extreme { name: "stats.Min", better: f64::min, found: None }))),
};

pub static MAX: Declaration = Declaration {
    name: "stats.Max",
    role: Role::Statistic,
    words: "Maximum",
    parameters: &[],
    build: |_| Ok(Built::Statistic(Box::new(Extreme { name: "stats.Max", better: f64::max, found: None }))),
};

#[derive(Clone)]
struct Extreme {
    name: &'static str,
    better: fn(f64, f64) -> f64,
    found: Option<f64>,
}

impl Part for Extreme {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.found)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let found: Option<f64> = unpack(self.name, bytes)?;
        require(self.name, found.is_none_or(f64::is_finite), "a number is not finite")?;
        self.found = found;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for Extreme {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(self.name));
        }
        self.found = Some(self.found.map_or(x, |found| (self.better)(found, x)));
        Ok(())
    }

    fn get(&self) -> f64 {
        self.found.unwrap_or(f64::NAN)
    }

    fn reset(&mut self) {
        self.found = None;
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        match theirs.found {
            Some(x) => self.update(x, 0.0, 1.0),
            None => Ok(()),
        }
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}
