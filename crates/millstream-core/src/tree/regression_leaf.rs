//! The leaf of a regression tree: its statistics, prediction and learning.
//!
//! For each numeric feature, it keeps a histogram whose bins hold weight, mean and variance of the targets; for each
//! nominal value, the same. It predicts the mean of its targets, or by a linear model of all numeric features.

use serde::{Deserialize, Serialize};

use crate::batch::MODERATE;
use crate::row::{finite, Row, Value};

use super::histogram::{Content, Histogram};
use super::linear_leaf::LinearLeaf;
use super::overflow_limits::{LARGEST, MOST, WIDEST};
use super::regression_settings::{LeafRegressor, RegressionSettings};
use super::target::Targets;
use super::tree_prediction::NumberPrediction;

/// The fading of old errors in the choice between mean and linear model (section 4.3 of the paper).
const FADING: f64 = 0.995;

/// The statistics of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Feature {
    #[serde(rename = "nothing")]
    Nothing,
    #[serde(rename = "numbers")]
    Numbers(Histogram<Targets>),
    /// By code of the value.
    #[serde(rename = "values")]
    Values(Vec<Targets>),
}

/// What a leaf inherits from the split that created it.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    pub targets: Targets,
    pub linear: Option<LinearLeaf>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegressionLeaf {
    #[serde(skip)]
    pub node: u32,
    pub depth: u32,
    /// Whether it has discarded its statistics to save memory: then it only updates its prediction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// All targets, including the initial ones.
    pub targets: Targets,
    /// The weight of the examples in the statistics of features.
    #[serde(default)]
    pub own: f64,
    /// The weight since the last attempt to split the leaf.
    pub since: f64,
    /// The features that may be split on, ascending; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks_at: Option<Box<[u32]>>,
    /// By index in this list.
    pub features: Vec<Feature>,
    pub linear: Option<LinearLeaf>,
    /// Faded squared errors of the mean and of the linear model.
    pub errors: [f64; 2],
}

impl RegressionLeaf {
    pub fn new(node: u32, depth: u32, origin: Origin, looks_at: Option<Box<[u32]>>) -> Self {
        let Origin { targets, linear } = origin;
        RegressionLeaf { node, depth, targets, linear, looks_at, ..RegressionLeaf::default() }
    }

    /// The feature at an index of the statistics.
    pub fn feature(&self, slot: usize) -> usize {
        self.looks_at.as_ref().map_or(slot, |features| features[slot] as usize)
    }

    fn answers(&self, x: Row<'_>) -> [f64; 2] {
        [self.targets.mean, self.linear.as_ref().map_or(self.targets.mean, |linear| finite(linear.predict(x)))]
    }

    fn chosen(&self, [mean, linear]: [f64; 2], settings: &RegressionSettings) -> NumberPrediction {
        let number = match settings.leaf_prediction {
            LeafRegressor::Mean => mean,
            LeafRegressor::Linear => linear,
            LeafRegressor::Adaptive if self.errors[1] < self.errors[0] => linear,
            LeafRegressor::Adaptive => mean,
        };
        NumberPrediction { number, weight: f64::from(u8::from(self.targets.weight > 0.0)) }
    }

    pub fn predict(&self, x: Row<'_>, settings: &RegressionSettings) -> NumberPrediction {
        self.chosen(self.answers(x), settings)
    }

    /// Predict, then learn. False if it would overflow; then nothing has changed. The row is not sparse.
    pub fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        settings: &RegressionSettings,
        out: &mut NumberPrediction,
    ) -> bool {
        let targets = self.targets.with(y, w);
        let answers = self.answers(x);
        *out = self.chosen(answers, settings);
        let errors = [0, 1].map(|which: usize| {
            let error = y - answers[which];
            FADING * self.errors[which] + w * error * error
        });
        if !targets.is_sound() || !errors.iter().all(|error| error.is_finite()) {
            return false;
        }
        // An idle leaf does not start anything that takes more memory.
        let first = self.linear.is_none();
        if settings.leaf_prediction != LeafRegressor::Mean && !(first && self.idle) {
            let linear = self.linear.get_or_insert_default();
            if first {
                linear.begin(y);
            }
            let predicted = if first { y } else { answers[1] };
            if !linear.learn(x, y, w, predicted, settings.learning_rate, !self.idle) {
                if first {
                    self.linear = None;
                }
                return false;
            }
        }
        (self.targets, self.errors) = (targets, errors);
        self.since += w;
        if !self.idle {
            self.own = finite(self.own + w);
            self.gather(x, Targets::one(y, w), settings.n_bins);
        }
        true
    }

    /// Add an example to the statistics of features.
    fn gather(&mut self, x: Row<'_>, one: Targets, bins: usize) {
        let width = self.looks_at.as_ref().map_or(x.width(), |features| features.len());
        if self.features.len() < width {
            self.features.reserve_exact(width - self.features.len());
            self.features.resize(width, Feature::Nothing);
        }
        match &self.looks_at {
            None => x.each(|slot, value| self.features[slot].add(value, one, bins)),
            Some(slots) => {
                for (feature, &slot) in self.features.iter_mut().zip(slots) {
                    if let Some(value) = x.get(slot as usize) {
                        feature.add(value, one, bins);
                    }
                }
            }
        }
    }

    /// Discard the statistics of features.
    pub fn rest(&mut self) {
        self.idle = true;
        self.features = Vec::new();
        self.own = 0.0;
    }

    /// Start to gather them again.
    pub fn wake(&mut self) {
        self.idle = false;
    }

    /// Bytes in addition to the statistics of features.
    pub fn memory_at_rest(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.looks_at.as_ref().map_or(0, |features| 4 * features.len())
            + self.linear.as_ref().map_or(0, LinearLeaf::memory)
    }

    pub fn memory(&self) -> usize {
        let features = self.features.iter().map(|feature| match feature {
            Feature::Nothing => 0,
            Feature::Numbers(histogram) => histogram.memory(),
            Feature::Values(values) => values.len() * std::mem::size_of::<Targets>(),
        });
        self.memory_at_rest() + self.features.len() * std::mem::size_of::<Feature>() + features.sum::<usize>()
    }

    /// Whether all sums are up to `largest`, and all means moderate. A step of a linear model adds at most the square
    /// of the target to its squared length, so that its weights are at most 2²⁷ times the largest target.
    pub fn is_roomy(&self, largest: f64) -> bool {
        let roomy = |targets: &Targets| {
            targets.weight <= largest && targets.mean.abs() <= MODERATE && targets.squares <= largest
        };
        roomy(&self.targets)
            && self.errors.iter().all(|&error| error <= largest)
            && self.linear.as_ref().is_none_or(|linear| linear.is_within(MODERATE * 1e9, roomy))
    }

    /// Whether the statistics could come from examples within the limits of `overflow_limits`.
    pub fn is_within_limits(&self) -> bool {
        let sure = |targets: &Targets| {
            targets.weight <= MOST && targets.mean.abs() <= LARGEST && targets.squares <= WIDEST
        };
        sure(&self.targets)
            && self.errors.iter().all(|&error| error <= 1e280)
            && self.linear.as_ref().is_none_or(|linear| linear.is_within(LARGEST * 1e9, sure))
    }

    pub fn is_sound(&self, settings: &RegressionSettings) -> bool {
        let sound = |feature: &Feature| match feature {
            Feature::Nothing => true,
            Feature::Numbers(histogram) => histogram.is_sound(settings.n_bins, Targets::is_sound),
            Feature::Values(values) => values.iter().all(Targets::is_sound),
        };
        let ascending = |features: &[u32]| features.windows(2).all(|pair| pair[0] < pair[1]);
        let width = self.looks_at.as_ref().map_or(usize::MAX, |features| features.len());
        self.targets.is_sound()
            && self.looks_at.as_deref().is_none_or(ascending)
            && self.features.len() <= if self.idle { 0 } else { width }
            && self.since >= 0.0
            && self.since.is_finite()
            && self.own >= 0.0
            && self.own.is_finite()
            && self.errors.iter().all(|error| error.is_finite() && *error >= 0.0)
            && self.features.iter().all(sound)
            && self.linear.as_ref().is_none_or(LinearLeaf::is_sound)
    }
}

impl Feature {
    fn add(&mut self, value: Value, one: Targets, bins: usize) {
        match (&mut *self, value) {
            (Feature::Numbers(histogram), Value::Number(x)) => histogram.add(x, one.weight, one, bins),
            (Feature::Values(values), Value::Nominal(Some(code))) => {
                let code = code as usize;
                if values.len() <= code {
                    values.reserve_exact(code + 1 - values.len());
                    values.resize(code + 1, Targets::default());
                }
                values[code].add(&one);
            }
            (Feature::Nothing, Value::Number(_)) => {
                *self = Feature::Numbers(Histogram::default());
                self.add(value, one, bins);
            }
            (Feature::Nothing, Value::Nominal(Some(_))) => {
                *self = Feature::Values(Vec::new());
                self.add(value, one, bins);
            }
            // A feature keeps its kind for the life of a model, and an unknown value is not learned.
            _ => {}
        }
    }
}
