//! What a leaf of a regression tree knows of its examples, how it predicts, where it could be split.
//!
//! Of each number it keeps a histogram whose bins tell weight, mean and variance of the targets; of each nominal value
//! the same. A split is as good as it reduces the variance (Ikonomovska, Gama and Džeroski, 2011, "Learning model trees
//! from evolving data streams", section 4.1): var(S) − Σ_b w_b/w var(b).

use serde::{Deserialize, Serialize};

use crate::row::{finite, Row, Value};

use super::candidates::{Candidate, Test};
use super::histogram::{Content, Histogram};
use super::linear_leaf::LinearLeaf;
use super::regression_settings::{Prediction, RegressionSettings};
use super::target::Targets;

/// How fast old errors are forgotten where a leaf chooses between mean and linear model (section 4.3 of the paper).
const FADING: f64 = 0.995;

/// What is known of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Feature {
    #[serde(rename = "nothing")]
    Nothing,
    #[serde(rename = "numbers")]
    Numbers(Histogram<Targets>),
    /// By the value's code.
    #[serde(rename = "values")]
    Values(Vec<Targets>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegressionLeaf {
    #[serde(skip)]
    pub node: u32,
    pub depth: u32,
    /// All targets, with those that it began with.
    pub targets: Targets,
    /// The weight since the last attempt to split it.
    pub since: f64,
    pub features: Vec<Feature>,
    pub linear: Option<LinearLeaf>,
    /// Faded squared errors of the mean and of the linear model.
    pub errors: [f64; 2],
}

impl RegressionLeaf {
    pub fn new(node: u32, depth: u32, targets: Targets, linear: Option<LinearLeaf>) -> Self {
        RegressionLeaf { node, depth, targets, since: 0.0, features: Vec::new(), linear, errors: [0.0; 2] }
    }

    fn answers(&self, x: Row<'_>) -> [f64; 2] {
        [self.targets.mean, self.linear.as_ref().map_or(self.targets.mean, |linear| finite(linear.predict(x)))]
    }

    pub fn predict(&self, x: Row<'_>, settings: &RegressionSettings) -> f64 {
        let [mean, linear] = self.answers(x);
        match settings.prediction {
            Prediction::Mean => mean,
            Prediction::Linear => linear,
            Prediction::Adaptive if self.errors[1] < self.errors[0] => linear,
            Prediction::Adaptive => mean,
        }
    }

    /// False if it would overflow; then nothing has changed. The row is not sparse.
    pub fn learn(&mut self, x: Row<'_>, y: f64, w: f64, settings: &RegressionSettings) -> bool {
        let targets = self.targets.with(y, w);
        let answers = self.answers(x);
        let errors = [0, 1].map(|which: usize| {
            let error = y - answers[which];
            FADING * self.errors[which] + w * error * error
        });
        if !targets.is_sound() || !errors.iter().all(|error| error.is_finite()) {
            return false;
        }
        if settings.prediction != Prediction::Mean {
            let first = self.linear.is_none();
            let linear = self.linear.get_or_insert_default();
            if first {
                linear.begin(y);
            }
            if !linear.learn(x, y, w, if first { y } else { answers[1] }, settings.learning_rate) {
                if first {
                    self.linear = None;
                }
                return false;
            }
        }
        (self.targets, self.errors) = (targets, errors);
        self.since += w;
        if self.features.len() < x.width() {
            self.features.reserve_exact(x.width() - self.features.len());
            self.features.resize(x.width(), Feature::Nothing);
        }
        let one = Targets::one(y, w);
        x.each(|slot, value| self.features[slot].add(value, one, settings.n_bins));
        true
    }

    /// The targets in each branch of a split.
    pub fn branches(&self, candidate: &Candidate) -> Vec<Targets> {
        let sum = |parts: &mut dyn Iterator<Item = &Targets>| {
            parts.fold(Targets::default(), |mut sum, part| {
                sum.add(part);
                sum
            })
        };
        match (&self.features[candidate.slot], candidate.test) {
            (Feature::Numbers(histogram), Test::AtMost(threshold)) => {
                let (below, above): (Vec<_>, Vec<_>) =
                    histogram.bins().iter().partition(|bin| bin.mean <= threshold);
                [below, above].map(|side| sum(&mut side.into_iter().map(|bin| &bin.content))).to_vec()
            }
            (Feature::Values(values), Test::Is(code)) => {
                let code = code as usize;
                let others = values.iter().enumerate().filter(|(place, _)| *place != code).map(|(_, value)| value);
                vec![values[code], sum(&mut { others })]
            }
            (Feature::Values(values), _) => values.clone(),
            _ => Vec::new(),
        }
    }

    /// The best split on a feature; none if there is nothing to split.
    pub fn best_split(
        &self,
        slot: usize,
        settings: &RegressionSettings,
        work: &mut Vec<Targets>,
    ) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        let mut propose = |test: Test, merit: Option<f64>| {
            if let Some(merit) = merit.filter(|&merit| best.is_none_or(|best| merit > best.merit)) {
                best = Some(Candidate { slot, test, merit });
            }
        };
        match &self.features[slot] {
            Feature::Nothing => {}
            Feature::Numbers(histogram) => {
                // From the right what lies above each cut, then from the left what lies below.
                work.clear();
                let mut above = Targets::default();
                for bin in histogram.bins().iter().rev() {
                    above.add(&bin.content);
                    work.push(above);
                }
                let mut below = Targets::default();
                let count = histogram.bins().len();
                for (place, (bin, cut)) in histogram.bins().iter().zip(histogram.cuts()).enumerate() {
                    below.add(&bin.content);
                    let above = work[count - 2 - place];
                    propose(Test::AtMost(cut), merit(&[below, above], settings));
                }
            }
            Feature::Values(values) => {
                if !settings.binary_split {
                    propose(Test::Each, merit(values, settings));
                }
                for code in 0..values.len() as u32 {
                    let candidate = Candidate { slot, test: Test::Is(code), merit: 0.0 };
                    propose(Test::Is(code), merit(&self.branches(&candidate), settings));
                }
            }
        }
        best
    }

    pub fn memory(&self) -> usize {
        let features = self.features.iter().map(|feature| match feature {
            Feature::Nothing => 0,
            Feature::Numbers(histogram) => histogram.memory(),
            Feature::Values(values) => values.len() * std::mem::size_of::<Targets>(),
        });
        std::mem::size_of::<Self>()
            + self.features.len() * std::mem::size_of::<Feature>()
            + features.sum::<usize>()
            + self.linear.as_ref().map_or(0, LinearLeaf::memory)
    }

    pub fn is_sound(&self, settings: &RegressionSettings) -> bool {
        let sound = |feature: &Feature| match feature {
            Feature::Nothing => true,
            Feature::Numbers(histogram) => histogram.is_sound(settings.n_bins, Targets::is_sound),
            Feature::Values(values) => values.iter().all(Targets::is_sound),
        };
        self.targets.is_sound()
            && self.since >= 0.0
            && self.since.is_finite()
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
            // A feature keeps its kind for a model's life, and a value that is not known teaches nothing.
            _ => {}
        }
    }
}

/// By how much the variance falls; none if fewer than two branches have the weight that a branch must have.
fn merit(branches: &[Targets], settings: &RegressionSettings) -> Option<f64> {
    let large = branches.iter().filter(|branch| branch.weight >= settings.min_samples_split).count();
    if large < 2 {
        return None;
    }
    let mut all = Targets::default();
    branches.iter().for_each(|branch| all.add(branch));
    let within: f64 = branches.iter().map(|branch| branch.weight / all.weight * branch.variance()).sum();
    Some(all.variance() - within)
}
