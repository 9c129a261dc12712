//! The range of the numbers: maximum minus minimum.

use super::window::{Item, Summary, TwoStacks, Window};
use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.PeakToPeak";

pub static PEAK_TO_PEAK: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Maximum minus minimum",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Statistic(Box::new(PeakToPeak { range: None }))),
};

/// Minimum and maximum; their difference is finite.
type Range = (f64, f64);

fn both(a: &Range, b: &Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

#[derive(Clone)]
struct PeakToPeak {
    range: Option<Range>,
}

impl PeakToPeak {
    fn add(&mut self, new: Range) -> Result<()> {
        let range = self.range.map_or(new, |range| both(&range, &new));
        if !(range.1 - range.0).is_finite() {
            return Err(overflow(NAME));
        }
        self.range = Some(range);
        Ok(())
    }
}

impl Part for PeakToPeak {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.range)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let range: Option<Range> = unpack(NAME, bytes)?;
        let sound = range.is_none_or(|(low, high)| low <= high && (high - low).is_finite());
        require(NAME, sound, "a number is not finite, or the minimum is above the maximum")?;
        self.range = range;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Statistic for PeakToPeak {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        self.add((x, x))
    }

    fn get(&self) -> f64 {
        self.range.map_or(f64::NAN, |(low, high)| high - low)
    }

    fn reset(&mut self) {
        self.range = None;
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        theirs.range.map_or(Ok(()), |range| self.add(range))
    }

    fn merge_base(&mut self, _base: &[u8]) -> Result<()> {
        Ok(())
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(TwoStacks::boxed(WindowRange))
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

/// The range of a window.
#[derive(Clone)]
struct WindowRange;

impl Summary for WindowRange {
    type Value = Range;

    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn of(&self, (x, _, _): Item) -> Range {
        (x, x)
    }

    #[inline]
    fn combine(&self, a: &Range, b: &Range) -> Range {
        both(a, b)
    }

    fn is_finite(&self, (low, high): &Range) -> bool {
        (high - low).is_finite()
    }

    fn get(&self, value: Option<&Range>) -> f64 {
        value.map_or(f64::NAN, |(low, high)| high - low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // 1, −4, 3: 3 − (−4) = 7.
        let mut range = PeakToPeak { range: None };
        for x in [1.0, -4.0, 3.0] {
            range.update(x, 0.0, 1.0).expect("a good number");
        }
        assert_eq!(range.get(), 7.0);
        range.update(1e308, 0.0, 1.0).expect("a good number");
        assert!(range.update(-1e308, 0.0, 1.0).is_err());
    }
}
