//! The running minimum, maximum and maximum of absolute values.

use super::never_told;
use super::window::{Item, Summary, TwoStacks, Window};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::part::Part;
use crate::statistic::Statistic;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Min,
    Max,
    AbsMax,
}

pub static MIN: Declaration = Declaration {
    name: "stats.Min",
    role: Role::Statistic,
    words: "Minimum",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(build("stats.Min", Which::Min)),
};

pub static MAX: Declaration = Declaration {
    name: "stats.Max",
    role: Role::Statistic,
    words: "Maximum",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(build("stats.Max", Which::Max)),
};

pub static ABS_MAX: Declaration = Declaration {
    name: "stats.AbsMax",
    role: Role::Statistic,
    words: "Maximum of the absolute values",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(build("stats.AbsMax", Which::AbsMax)),
};

fn build(name: &'static str, which: Which) -> Built {
    Built::Statistic(Box::new(Extreme { name, which, found: None }))
}

#[derive(Clone)]
struct Extreme {
    name: &'static str,
    which: Which,
    found: Option<f64>,
}

impl Which {
    #[inline]
    fn of(self, x: f64) -> f64 {
        match self {
            Which::Min | Which::Max => x,
            Which::AbsMax => x.abs(),
        }
    }

    #[inline]
    fn better(self, a: f64, b: f64) -> f64 {
        match self {
            Which::Min => a.min(b),
            Which::Max | Which::AbsMax => a.max(b),
        }
    }
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
        let x = self.which.of(x);
        self.found = Some(self.found.map_or(x, |found| self.which.better(found, x)));
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

    fn merge_base(&mut self, _base: &[u8]) -> Result<()> {
        Ok(())
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(TwoStacks::boxed(WindowExtreme { name: self.name, which: self.which }))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

/// The extreme of a window.
#[derive(Clone)]
struct WindowExtreme {
    name: &'static str,
    which: Which,
}

impl Summary for WindowExtreme {
    type Value = f64;

    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn of(&self, (x, _, _): Item) -> f64 {
        self.which.of(x)
    }

    #[inline]
    fn combine(&self, a: &f64, b: &f64) -> f64 {
        self.which.better(*a, *b)
    }

    fn is_finite(&self, _: &f64) -> bool {
        true
    }

    fn get(&self, value: Option<&f64>) -> f64 {
        value.copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Of 3, −5 and 4: −5, 4 and |−5|.
        for (which, expected) in [(Which::Min, -5.0), (Which::Max, 4.0), (Which::AbsMax, 5.0)] {
            let mut extreme = Extreme { name: "stats.Test", which, found: None };
            for x in [3.0, -5.0, 4.0] {
                extreme.update(x, 0.0, 1.0).expect("a good number");
            }
            assert_eq!(extreme.get(), expected);
        }
    }
}
