//! Scores the distance of a row from the mean, under a normal distribution of each feature.
//!
//! With mean μ_j and standard deviation σ_j of the values of feature j so far, or of its last `window_size` ones, feature
//! j's score is s_j = 2 |Φ((x_j − μ_j) / σ_j) − ½|, which is uniform in [0, 1] for normal values. The score of a row is
//!
//! ```text
//! (max_j s_j)^d
//! ```
//!
//! over the d features of the row that have `grace_period` values: the probability that a normal row with independent
//! features is less extreme. So scores of rows with many and few features can be compared. It is the distribution of the
//! largest of d independent uniform numbers (David and Nagaraja, 2003, Order Statistics, eq. 2.1.1).
//!
//! Moments are those of Welford (1962) in West's weighted form (1979), with n − 1 in the variance. In a window, values are
//! never subtracted, which would leave rounding errors of expired values: the window lies in a ring, the moments of
//! its part from `next` on are computed backwards each time the ring is full, and those of the part before it grow value by
//! value (the two-stack queue; Tangwongsan, Hirzel and Schneider, 2017, "Low-latency sliding-window aggregation in
//! worst-case constant time", section 2.2). Moments of two parts are combined as by Chan, Golub and LeVeque (1983).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::MODERATE;
use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::{combined_moments, unless_windowed, Merge, Merger};
use crate::numeric::error_function::normal_below;
use crate::numeric::magnitude::LARGEST;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::Anomalies;

const NAME: &str = "anomaly.GaussianScorer";
/// Sums up to this are far from overflowing, whatever moderate rows follow.
const LARGEST_SUM: f64 = 1e250;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::AnomalyDetector,
    words: "Scores the distance of a row from the mean, under a normal distribution of each feature",
    merge: Merge::EXACT.or(unless_windowed),
    parameters: &[
        Parameter::new(
            "window_size",
            Kind::Optional(&Kind::Integer { low: 2, high: 1 << 24 }),
            DefaultValue::Null,
            "number of most recent values of a feature; null for all",
        ),
        Parameter::new(
            "grace_period",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(100),
            "number of values before a feature is scored",
        ),
    ],
    build: |arguments| {
        let window_size = arguments.value("window_size")?;
        Ok(Built::AnomalyDetector(Box::new(GaussianScorer {
            window_size: if window_size.is_null() { 0 } else { arguments.size("window_size")? },
            grace_period: arguments.integer("grace_period")? as f64,
            features: Vec::new(),
            changes: Vec::new(),
            width: 0,
        })))
    },
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Moments {
    weight: f64,
    mean: f64,
    /// Σ w (x − mean)²
    squares: f64,
}

impl Moments {
    fn with(self, x: f64, w: f64) -> Moments {
        let weight = self.weight + w;
        let delta = x - self.mean;
        let mean = self.mean + delta * (w / weight);
        Moments { weight, mean, squares: self.squares + delta * (w * (self.weight / weight)) * delta }
    }

    fn combined(self, other: Moments) -> Moments {
        if self.weight == 0.0 {
            return other;
        }
        if other.weight == 0.0 {
            return self;
        }
        let weight = self.weight + other.weight;
        let delta = other.mean - self.mean;
        let mean = self.mean + delta * (other.weight / weight);
        let between = delta * (self.weight * (other.weight / weight)) * delta;
        Moments { weight, mean, squares: self.squares + other.squares + between }
    }

    fn is_finite(&self) -> bool {
        self.weight.is_finite() && self.mean.is_finite() && self.squares.is_finite()
    }

    /// How many standard deviations a number is from the mean. Where all values were the same, any other is infinitely far.
    fn distance(&self, x: f64) -> f64 {
        let difference = (x - self.mean).abs();
        let deviation = (self.squares / (self.weight - 1.0)).sqrt();
        match (difference > 0.0, deviation > 0.0) {
            (false, _) => 0.0,
            // Also where the weight is at most 1, and the deviation is not a number.
            (true, false) => f64::INFINITY,
            (true, true) => difference / deviation,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Feature {
    /// Of the values before `next`; without a window, of all.
    early: Moments,
    /// (value, weight)
    ring: Vec<(f64, f64)>,
    next: usize,
    /// Of the values from each place to the end of a full ring. Follows from the ring.
    late: Vec<Moments>,
}

/// What leads back to the state of a feature before the last row.
#[derive(Clone, Copy, Debug)]
struct Change {
    slot: u32,
    early: Moments,
    next: usize,
    /// What was replaced in a full ring.
    replaced: Option<(f64, f64)>,
}

impl Feature {
    fn moments(&self) -> Moments {
        match self.late.get(self.next) {
            Some(late) if self.next < self.ring.len() => self.early.combined(*late),
            _ => self.early,
        }
    }

    /// Learn a value; what is returned leads back. The result may not be finite.
    fn push(&mut self, slot: u32, x: f64, w: f64, window_size: usize) -> Change {
        let mut change = Change { slot, early: self.early, next: self.next, replaced: None };
        if window_size > 0 {
            if self.next == window_size {
                (self.early, self.next) = (Moments::default(), 0);
                self.sum_up();
            }
            match self.ring.get_mut(self.next) {
                Some(place) => change.replaced = Some(std::mem::replace(place, (x, w))),
                None => self.ring.push((x, w)),
            }
            self.next += 1;
        }
        self.early = self.early.with(x, w);
        change
    }

    /// The moments from each place of a full ring that is not replaced yet to the end.
    fn sum_up(&mut self) {
        self.late.resize(self.ring.len(), Moments::default());
        let mut moments = Moments::default();
        for place in (self.next..self.ring.len()).rev() {
            let (x, w) = self.ring[place];
            moments = moments.with(x, w);
            self.late[place] = moments;
        }
    }

    fn pop(&mut self, change: Change, window_size: usize) {
        self.early = change.early;
        self.next = change.next;
        match change.replaced {
            Some(replaced) => self.ring[change.next % window_size.max(1)] = replaced,
            None if window_size > 0 => drop(self.ring.pop()),
            None => {}
        }
    }

    fn is_finite(&self) -> bool {
        self.early.is_finite() && self.moments().is_finite()
    }
}

#[derive(Serialize, Deserialize)]
struct State {
    early: Vec<Moments>,
    next: Vec<usize>,
    rings: Vec<Vec<(f64, f64)>>,
}

#[derive(Clone)]
struct GaussianScorer {
    /// 0 without a window.
    window_size: usize,
    grace_period: f64,
    /// By slot.
    features: Vec<Feature>,
    /// Of the last row.
    changes: Vec<Change>,
    /// How many features there were before it.
    width: usize,
}

impl GaussianScorer {
    fn revert(&mut self) {
        while let Some(change) = self.changes.pop() {
            self.features[change.slot as usize].pop(change, self.window_size);
        }
        self.features.truncate(self.width);
    }
}

impl Part for GaussianScorer {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.layout(self.features.len());
        // Leads back from a row that was just learned, which words do not.
        self.width = self.features.len();
        for Moments { weight, mean, squares } in self.features.iter_mut().map(|feature| &mut feature.early) {
            for number in [weight, mean, squares] {
                exchange.float(number);
            }
        }
        self.window_size == 0
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            early: self.features.iter().map(|feature| feature.early).collect(),
            next: self.features.iter().map(|feature| feature.next).collect(),
            rings: self.features.iter().map(|feature| feature.ring.clone()).collect(),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let lengths = [state.next.len(), state.rings.len()];
        require(NAME, lengths == [state.early.len(); 2], "features do not match")?;
        let mut features = Vec::with_capacity(lengths[0]);
        for ((early, next), ring) in state.early.into_iter().zip(state.next).zip(state.rings) {
            let sound = |&(x, w): &(f64, f64)| x.is_finite() && w.is_finite() && w > 0.0;
            require(NAME, ring.iter().all(sound), "a value is not finite")?;
            let signs = early.weight >= 0.0 && early.squares >= 0.0;
            require(NAME, early.is_finite() && signs, "a moment is out of range")?;
            let windowed = self.window_size > 0;
            require(NAME, !windowed || (early.weight > 0.0) == (next > 0), "a value has no weight")?;
            require(NAME, ring.len() <= self.window_size && next <= ring.len(), "a window is too long")?;
            let filling = ring.len() < self.window_size;
            require(NAME, !filling || next == ring.len(), "a window has a gap")?;
            let mut feature = Feature { early, ring, next, late: Vec::new() };
            if feature.next < feature.ring.len() {
                feature.sum_up();
            }
            require(NAME, feature.is_finite(), "a moment is not finite")?;
            features.push(feature);
        }
        self.width = features.len();
        self.features = features;
        self.changes.clear();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut there = self.clone();
            there.load(side.state)?;
            for (slot, feature) in side.slots(merger.ours).into_iter().zip(&there.features) {
                if self.features.len() <= slot {
                    self.features.resize_with(slot + 1, Feature::default);
                }
                let early = &mut self.features[slot].early;
                let theirs = (feature.early.weight, feature.early.mean, feature.early.squares);
                (early.weight, early.mean, early.squares) =
                    combined_moments((early.weight, early.mean, early.squares), theirs, sign);
            }
        }
        self.width = self.features.len();
        self.changes.clear();
        match self.features.iter().all(Feature::is_finite) {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities { undoes: true, ..Abilities::default() }
    }

    fn memory(&self) -> usize {
        let held = |feature: &Feature| {
            std::mem::size_of::<Feature>() + 16 * feature.ring.capacity() + 24 * feature.late.capacity()
        };
        let features: usize = self.features.iter().map(held).sum();
        std::mem::size_of::<Self>() + features + std::mem::size_of::<Change>() * self.changes.capacity()
    }

    fn infallible(&self) -> bool {
        let small =
            |moments: Moments| moments.weight.max(moments.squares) <= LARGEST_SUM && moments.mean.abs() <= LARGEST;
        let moderate = |&(x, w): &(f64, f64)| x.abs() <= MODERATE && w <= MODERATE;
        self.features.iter().all(|feature| small(feature.early) && feature.ring.iter().all(moderate))
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let seen = self.features.iter().enumerate().take(schema.len());
        let features: serde_json::Map<_, _> = seen
            .map(|(slot, feature)| (slot, feature.moments()))
            .filter(|(_, moments)| moments.weight > 0.0)
            .map(|(slot, moments)| {
                let variance = moments.squares / (moments.weight - 1.0);
                let variance = if variance.is_finite() { variance } else { 0.0 };
                let values = json!({ "count": moments.weight, "mean": moments.mean, "variance": variance });
                (schema.name(slot).text(), values)
            })
            .collect();
        json!({ "features": features })
    }
}

/// Visit the numbers of a row, the zeros of a sparse one too.
fn each_number(x: Row<'_>, scratch: &mut Scratch, mut visit: impl FnMut(usize, f64)) {
    let mut buffer = scratch.take_numbers();
    x.dense(&mut buffer).each(|slot, value| {
        if let Value::Number(number) = value {
            visit(slot, number);
        }
    });
    scratch.give_numbers(buffer);
}

impl Learner<Anomalies> for GaussianScorer {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        // The score of a feature grows with the distance, so one look at the normal distribution is enough.
        let (mut farthest, mut count) = (0.0f64, 0.0);
        each_number(x, scratch, |slot, number| {
            let moments = self.features.get(slot).map(Feature::moments).unwrap_or_default();
            if moments.weight > 0.0 && moments.weight >= self.grace_period {
                farthest = farthest.max(moments.distance(number));
                count += 1.0;
            }
        });
        // 1 − s: what lies beyond, on both sides.
        let beyond = 2.0 * normal_below(-farthest);
        *out = match count {
            0.0 => 0.0,
            1.0 => 1.0 - beyond,
            _ => (count * (-beyond).ln_1p()).exp(),
        };
    }

    fn learn(&mut self, x: Row<'_>, _y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.changes.clear();
        self.width = self.features.len();
        let GaussianScorer { features, changes, window_size, .. } = self;
        let mut finite = true;
        each_number(x, scratch, |slot, number| {
            if slot >= features.len() {
                features.resize_with(slot + 1, Feature::default);
            }
            let feature = &mut features[slot];
            changes.push(feature.push(slot as u32, number, w, *window_size));
            finite &= number.abs() <= LARGEST && feature.is_finite();
        });
        if finite {
            return Ok(());
        }
        self.revert();
        Err(Fault::overflow(NAME))
    }

    fn undo(&mut self) {
        self.revert();
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind;

    fn built(parameters: serde_json::Value) -> Box<dyn Learner<Anomalies>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        match registry::build_resolved(&description).unwrap() {
            Built::AnomalyDetector(model) => model,
            _ => panic!(),
        }
    }

    fn score(model: &dyn Learner<Anomalies>, x: &[f64]) -> f64 {
        let mut score = f64::NAN;
        model.predict(Row::Plain(x), Want::Class, &mut score, &mut Scratch::default());
        score
    }

    fn learn(model: &mut dyn Learner<Anomalies>, x: &[f64]) {
        model.learn(Row::Plain(x), (), 1.0, &mut Scratch::default()).unwrap();
    }

    /// 1, 2, 3: the mean is 2, the variance (1 + 0 + 1)/2 = 1. At 3 and 1 the score is 2 Φ(1) − 1 = 0.682689492137086, at
    /// 4 it is 2 Φ(2) − 1 = 0.954499736103642, at 2 it is 0. With a second feature that is at its mean, 4 gives 0.9545².
    #[test]
    fn one_step_worked_by_hand() {
        let mut model = built(json!({ "grace_period": 3 }));
        for x in [1.0, 2.0, 3.0] {
            assert_eq!(score(&*model, &[9.0, 0.0]), 0.0);
            learn(&mut *model, &[x, 10.0 * x]);
        }
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
        near(score(&*model, &[3.0]), 0.682_689_492_137_086);
        near(score(&*model, &[1.0]), 0.682_689_492_137_086);
        near(score(&*model, &[4.0]), 0.954_499_736_103_642);
        near(score(&*model, &[2.0]), 0.0);
        near(score(&*model, &[4.0, 20.0]), 0.954_499_736_103_642f64.powi(2));
        // A feature that is missing does not count.
        let mut missing = f64::NAN;
        let kinds = [FeatureKind::Number; 2];
        model.predict(Row::Mixed(&[4.0, f64::NAN], &kinds), Want::Class, &mut missing, &mut Scratch::default());
        near(missing, 0.954_499_736_103_642);
    }

    /// A value of 1e12 that has left the window leaves nothing behind: the score is that of a model that never saw it.
    #[test]
    fn a_window_has_the_moments_of_its_values() {
        let mut model = built(json!({ "grace_period": 0, "window_size": 5 }));
        for row in 0..23 {
            learn(&mut *model, &[if row % 7 == 6 { 1e12 } else { f64::from(row * row % 11) }]);
            let loaded = {
                let mut other = built(json!({ "grace_period": 0, "window_size": 5 }));
                other.load(&model.save().unwrap()).unwrap();
                other
            };
            let mut recent = built(json!({ "grace_period": 0 }));
            for old in (0..=row).rev().take(5).collect::<Vec<_>>().into_iter().rev() {
                learn(&mut *recent, &[if old % 7 == 6 { 1e12 } else { f64::from(old * old % 11) }]);
            }
            for x in [-1.0, 3.0, 12.0] {
                assert!((score(&*model, &[x]) - score(&*recent, &[x])).abs() < 1e-12, "row {row}");
                assert_eq!(score(&*model, &[x]), score(&*loaded, &[x]));
            }
        }
    }

    #[test]
    fn undo_and_refusal_leave_the_state_as_it_was() {
        for window_size in [json!(null), json!(4)] {
            let mut model = built(json!({ "grace_period": 0, "window_size": window_size }));
            let mut scratch = Scratch::default();
            for row in 0..15 {
                let before = model.save().unwrap();
                learn(&mut *model, &[f64::from(row), -1.0, 3.0]);
                model.undo();
                assert!(model.save().unwrap() == before, "row {row}");
                let x = [f64::from(row * row % 7), 1e100, 0.5];
                learn(&mut *model, &x[..1 + row as usize % 3]);
                let before = model.save().unwrap();
                let large = [1.0, if row % 2 == 0 { 1e308 } else { -1e308 }, 2.0];
                if model.learn(Row::Plain(&large), (), 1.0, &mut scratch).is_err() {
                    assert!(model.save().unwrap() == before, "row {row}");
                } else {
                    model.undo();
                    assert!(model.save().unwrap() == before, "row {row}");
                }
                assert!(score(&*model, &large).is_finite());
            }
        }
    }
}
