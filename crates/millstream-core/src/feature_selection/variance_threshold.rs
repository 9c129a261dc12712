//! Drops features whose variance over the stream so far is not above a threshold.
//!
//! Mean and variance of each feature by Welford's recursion in West's weighted form (1979): n ← n + w, δ = x − m,
//! m ← m + δ w/n, s ← s + δ² w (n − w)/n; the variance is s/(n − 1), as in River. A feature is kept until its weight
//! reaches `min_samples`. `learn` writes to spare moments and swaps, so `undo` swaps back.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{combined_moments, Merge, Merger};
use crate::numeric::magnitude::{check_row, LARGEST};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::mask::mask;

const NAME: &str = "feature_selection.VarianceThreshold";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Drops features whose variance is not above a threshold",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "threshold",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.0),
            "features with a variance above it are kept",
        ),
        Parameter::new(
            "min_samples",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(2),
            "number of values from which on a feature may be dropped",
        ),
    ],
    build: |arguments| {
        Ok(Built::Transformer(Box::new(VarianceThreshold {
            threshold: arguments.float("threshold")?,
            min_samples: arguments.integer("min_samples")? as f64,
            moments: Moments::default(),
            spare: Moments::default(),
        })))
    },
};

#[derive(Clone)]
struct VarianceThreshold {
    threshold: f64,
    min_samples: f64,
    moments: Moments,
    /// The moments before the last `learn`.
    spare: Moments,
}

/// By slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Moments {
    counts: Vec<f64>,
    means: Vec<f64>,
    /// Σ w (x − mean)²
    squares: Vec<f64>,
}

impl Moments {
    fn copy_from(&mut self, other: &Moments) {
        self.counts.clone_from(&other.counts);
        self.means.clone_from(&other.means);
        self.squares.clone_from(&other.squares);
    }

    fn grow(&mut self, width: usize) {
        if width > self.counts.len() {
            for numbers in [&mut self.counts, &mut self.means, &mut self.squares] {
                numbers.resize(width, 0.0);
            }
        }
    }

    /// Become `old` after a row of as many numbers. Most features have the same count: its quotients are computed once.
    fn update_all(&mut self, old: &Moments, x: &[f64], w: f64) {
        let width = x.len();
        for numbers in [&mut self.counts, &mut self.means, &mut self.squares] {
            numbers.resize(width, 0.0);
        }
        let (counts, means, squares) = (&old.counts[..width], &old.means[..width], &old.squares[..width]);
        let (mut last, mut n, mut share, mut factor) = (f64::NAN, 0.0, 0.0, 0.0);
        for slot in 0..width {
            if counts[slot] != last {
                last = counts[slot];
                n = last + w;
                (share, factor) = (w / n, w * (last / n));
            }
            let delta = x[slot] - means[slot];
            self.counts[slot] = n;
            self.means[slot] = means[slot] + delta * share;
            self.squares[slot] = squares[slot] + delta * factor * delta;
        }
    }

    #[inline(always)]
    fn update(&mut self, slot: usize, x: f64, w: f64) {
        let before = self.counts[slot];
        let n = before + w;
        let delta = x - self.means[slot];
        self.counts[slot] = n;
        self.means[slot] += delta * (w / n);
        self.squares[slot] += delta * (w * (before / n)) * delta;
    }

    fn is_finite(&self) -> bool {
        all_finite(&self.counts) && all_finite(&self.means) && all_finite(&self.squares)
    }

    fn variance(&self, slot: usize) -> f64 {
        let n = self.counts[slot];
        if n > 1.0 {
            self.squares[slot] / (n - 1.0)
        } else {
            0.0
        }
    }

    fn memory(&self) -> usize {
        (self.counts.capacity() + self.means.capacity() + self.squares.capacity()) * 8
    }
}

impl VarianceThreshold {
    #[inline]
    fn keeps(&self, slot: usize) -> bool {
        self.moments
            .counts
            .get(slot)
            .is_none_or(|&n| n < self.min_samples || self.moments.variance(slot) > self.threshold)
    }
}

impl Part for VarianceThreshold {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.moments)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let moments: Moments = unpack(NAME, bytes)?;
        let width = moments.counts.len();
        require(NAME, moments.means.len() == width && moments.squares.len() == width, "moments differ in number")?;
        let positive = |numbers: &[f64]| numbers.iter().all(|&x| x >= 0.0);
        let sound = moments.is_finite() && positive(&moments.counts) && positive(&moments.squares);
        require(NAME, sound, "a moment is not finite")?;
        self.moments = moments;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.moments.memory() + self.spare.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { keeps_missing: true, ..Abilities::default() }
    }

    /// Chan, Golub and LeVeque (1983): s = s₁ + s₂ + δ² n₁ n₂/n, exact up to rounding.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut there = self.clone();
            there.load(side.state)?;
            self.moments.grow(merger.ours.len());
            for (slot, here) in side.slots(merger.ours).into_iter().enumerate().take(there.moments.counts.len()) {
                let theirs = (there.moments.counts[slot], there.moments.means[slot], there.moments.squares[slot]);
                let ours = (self.moments.counts[here], self.moments.means[here], self.moments.squares[here]);
                (self.moments.counts[here], self.moments.means[here], self.moments.squares[here]) =
                    combined_moments(ours, theirs, sign);
            }
        }
        match self.moments.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let features = schema.names().enumerate().take(self.moments.counts.len());
        let numbers = features.filter(|(slot, _)| schema.kinds()[*slot] == FeatureKind::Number);
        let variances = numbers.map(|(slot, name)| {
            let variance = self.moments.variance(slot);
            (name.text(), json!({ "variance": variance, "selected": self.keeps(slot) }))
        });
        json!({ "features": variances.collect::<serde_json::Map<_, _>>() })
    }
}

impl Transformer for VarianceThreshold {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        mask(x, out, |slot| self.keeps(slot));
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        if matches!(x, Row::Sparse(_)) {
            let mut dense = scratch.take_numbers();
            let learned = self.learn(x.dense(&mut dense), Truth::None, w, scratch);
            scratch.give_numbers(dense);
            return learned;
        }
        check_row(NAME, x, LARGEST)?;
        let spare = &mut self.spare;
        match x {
            Row::Plain(values) if values.len() == self.moments.counts.len() => {
                spare.update_all(&self.moments, values, w);
            }
            _ => {
                spare.copy_from(&self.moments);
                spare.grow(x.width());
                x.each(|slot, value| {
                    if let Value::Number(number) = value {
                        spare.update(slot, number, w);
                    }
                });
            }
        }
        if !spare.is_finite() {
            return Err(Fault::overflow(NAME));
        }
        std::mem::swap(&mut self.moments, &mut self.spare);
        Ok(())
    }

    fn undo(&mut self) {
        std::mem::swap(&mut self.moments, &mut self.spare);
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn three_rows_by_hand() {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": { "threshold": 0.5 } })).unwrap();
        let Built::Transformer(mut selector) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        let mut out = RowBuffer::default();
        let rows = [[0.0, 2.0, 0.0], [0.0, 1.0, 4.0], [0.0, 1.0, 1.0]];
        selector.learn(Row::Plain(&rows[0]), Truth::None, 1.0, &mut scratch).unwrap();
        selector.transform(Row::Plain(&rows[0]), &mut out, &mut scratch);
        assert!(matches!(out.row(), Row::Plain([0.0, 2.0, 0.0])));
        let before = selector.save().unwrap();
        for row in &rows[1..] {
            selector.learn(Row::Plain(row), Truth::None, 1.0, &mut scratch).unwrap();
        }
        // Variances: 0; means 4/3, squares 4/9 + 1/9 + 1/9 = 2/3, over 2: 1/3; mean 5/3, squares 26/3, over 2: 13/3.
        selector.transform(Row::Plain(&rows[2]), &mut out, &mut scratch);
        let Row::Mixed(values, _) = out.row() else { panic!() };
        assert!(values[0].is_nan() && values[1].is_nan() && values[2] == 1.0);
        selector.undo();
        assert_ne!(selector.save().unwrap(), before);
    }
}
