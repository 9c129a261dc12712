//! The quantile of `stats.Quantile` after each number, at a cost that does not depend on the size of the summary.
//!
//! The state holds the weight of the kept numbers below the quantile and at it. A new number changes these weights
//! and may move the quantile to a neighbour. The quantile is recomputed only when a buffer is compacted, about
//! once per thousand numbers. For weights of 1 it equals `stats.Quantile` bit for bit; other weights may round
//! differently.

use serde::{Deserialize, Serialize};

use super::overflow;
use super::quantile::{State, CAPACITY};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};

/// Weights up to this can be added in any realistic number without reaching the largest accepted sum.
const LIGHT: f64 = 1e250;
const HEAVIEST: f64 = 1e300;

#[derive(Clone, Debug)]
pub struct RunningQuantile {
    q: f64,
    held: Held,
    undo: Undo,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Held {
    summary: State,
    mark: Mark,
}

/// The position of the quantile among the kept numbers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Mark {
    value: f64,
    /// The weight of the kept numbers below the value, and of those at it.
    below: f64,
    at: f64,
}

/// The information that restores the state before the last number.
#[derive(Clone, Debug, Default)]
struct Undo {
    mark: Mark,
    total: f64,
    lowest: f64,
    highest: f64,
    /// The whole state before a compaction.
    compacted: bool,
    summary: State,
}

impl RunningQuantile {
    /// `q` is in (0, 1).
    pub fn new(q: f64) -> Self {
        RunningQuantile { q, held: Held::default(), undo: Undo::default() }
    }

    /// None before the first number.
    #[inline]
    pub fn get(&self) -> Option<f64> {
        (!self.held.summary.levels.is_empty()).then_some(self.held.mark.value)
    }

    /// Whether a number of this weight can be learned.
    #[inline]
    pub fn accepts(&self, who: &str, w: f64) -> Result<()> {
        match self.held.summary.total + w > HEAVIEST {
            true => Err(overflow(who)),
            false => Ok(()),
        }
    }

    pub fn infallible(&self) -> bool {
        self.held.summary.total <= LIGHT
    }

    /// Learn a number of a weight that is accepted.
    pub fn push(&mut self, x: f64, w: f64) {
        let RunningQuantile { held: Held { summary, mark }, undo, .. } = self;
        undo.mark = *mark;
        (undo.total, undo.lowest, undo.highest) = (summary.total, summary.lowest, summary.highest);
        undo.compacted = summary.levels.first().is_some_and(|level| level.len() + 1 >= CAPACITY);
        if undo.compacted {
            undo.summary.clone_from(summary);
            summary.push(x, w);
            self.locate();
            return;
        }
        let first = summary.levels.is_empty();
        summary.push(x, w);
        if first {
            *mark = Mark { value: x, below: 0.0, at: w };
            return;
        }
        if x < mark.value {
            mark.below += w;
        } else if x == mark.value {
            mark.at += w;
        }
        mark.follow(summary, summary.wanted(self.q));
    }

    /// Revert the last `push`, bit for bit.
    pub fn undo(&mut self) {
        let RunningQuantile { held: Held { summary, mark }, undo, .. } = self;
        *mark = undo.mark;
        if undo.compacted {
            std::mem::swap(summary, &mut undo.summary);
            return;
        }
        (summary.total, summary.lowest, summary.highest) = (undo.total, undo.lowest, undo.highest);
        if let Some(level) = summary.levels.first_mut() {
            level.pop();
        }
        if summary.total == 0.0 {
            *summary = State::default();
        }
    }

    fn locate(&mut self) {
        let Held { summary, mark } = &mut self.held;
        mark.value = summary.get(self.q);
        mark.below = weight_of(summary, |x| x < mark.value);
        mark.at = weight_of(summary, |x| x == mark.value);
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        pack(&self.held)
    }

    pub fn load(&mut self, who: &str, bytes: &[u8]) -> Result<()> {
        let held: Held = unpack(who, bytes)?;
        held.summary.check(who)?;
        let Mark { value, below, at } = held.mark;
        let near = |weight: f64, other: f64| (weight - other).abs() <= 1e-6 * held.summary.total;
        let placed = near(below, weight_of(&held.summary, |x| x < value))
            && near(at, weight_of(&held.summary, |x| x == value));
        require(who, value.is_finite() && placed, "the quantile is out of place")?;
        self.held = held;
        self.undo = Undo::default();
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let held = |state: &State| state.levels.iter().map(|level| 32 + 16 * level.capacity()).sum::<usize>();
        held(&self.held.summary) + held(&self.undo.summary)
    }
}

fn weight_of(summary: &State, counts: impl Fn(f64) -> bool) -> f64 {
    summary.levels.iter().flatten().filter(|(x, _)| counts(*x)).map(|(_, w)| w).sum()
}

impl Mark {
    /// Move to the smallest number with at least the target weight at or below it.
    fn follow(&mut self, summary: &State, wanted: f64) {
        while self.below + self.at < wanted {
            let Some(value) = neighbour(summary, self.value, true) else { return };
            self.below += self.at;
            *self = Mark { value, at: weight_at(summary, value), ..*self };
        }
        while self.below >= wanted {
            let Some(value) = neighbour(summary, self.value, false) else { return };
            let at = weight_at(summary, value);
            *self = Mark { value, below: self.below - at, at };
        }
    }
}

/// The nearest kept number above or below another. The lowest level is not sorted; the others are.
fn neighbour(summary: &State, value: f64, above: bool) -> Option<f64> {
    let (newest, sorted) = summary.levels.split_first()?;
    let nearer = |a: f64, b: f64| if above { a.min(b) } else { a.max(b) };
    let beyond = |x: f64| if above { x > value } else { x < value };
    let mut found = newest.iter().map(|(x, _)| *x).filter(|&x| beyond(x)).reduce(nearer);
    for level in sorted {
        let next = match above {
            true => level.get(level.partition_point(|(x, _)| *x <= value)),
            false => level[..level.partition_point(|(x, _)| *x < value)].last(),
        };
        if let Some(&(x, _)) = next {
            found = Some(found.map_or(x, |nearest| nearer(nearest, x)));
        }
    }
    found
}

fn weight_at(summary: &State, value: f64) -> f64 {
    let Some((newest, sorted)) = summary.levels.split_first() else { return 0.0 };
    let mut weight: f64 = newest.iter().filter(|(x, _)| *x == value).map(|(_, w)| w).sum();
    for level in sorted {
        let from = level.partition_point(|(x, _)| *x < value);
        weight += level[from..].iter().take_while(|(x, _)| *x == value).map(|(_, w)| w).sum::<f64>();
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// 3, 1, 4, 2 at q = 0.5: the quantile is 3, then 1 (half of 2 is at or below it), then 3, then 2.
    #[test]
    fn worked_by_hand() {
        let mut quantile = RunningQuantile::new(0.5);
        assert_eq!(quantile.get(), None);
        for (x, expected) in [(3.0, 3.0), (1.0, 1.0), (4.0, 3.0), (2.0, 2.0)] {
            quantile.push(x, 1.0);
            assert_eq!(quantile.get(), Some(expected));
        }
    }

    #[test]
    fn it_is_the_quantile_of_the_summary_after_each_number() {
        for q in [0.01, 0.5, 0.99] {
            let mut random = Random::new(5, 0);
            let (mut quantile, mut summary) = (RunningQuantile::new(q), State::default());
            for row in 0..5000u32 {
                // With many equal numbers, and stretches that rise and fall.
                let x = (random.unit() * 50.0).round() + f64::from(row % 900) * 0.1;
                quantile.push(x, 1.0);
                summary.push(x, 1.0);
                if row % 7 == 0 {
                    assert_eq!(quantile.get(), Some(summary.get(q)), "{q} {row}");
                }
            }
        }
    }

    #[test]
    fn undo_reverts_any_number() {
        let mut quantile = RunningQuantile::new(0.9);
        let mut random = Random::new(5, 0);
        for row in 0..2100u32 {
            if row < 5 || row % 1023 > 1019 || row % 1023 < 3 {
                let before = quantile.save().unwrap();
                quantile.push(random.unit() * 3.0, 0.5);
                quantile.undo();
                assert!(quantile.save().unwrap() == before, "{row}");
                quantile.load("test", &before).unwrap();
                assert!(quantile.save().unwrap() == before, "{row}");
            }
            quantile.push(random.unit(), 1.0 + f64::from(row % 3));
        }
    }
}
