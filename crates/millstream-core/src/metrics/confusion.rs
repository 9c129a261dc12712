//! Metrics of the confusion matrix.
//!
//! With t the weight of outcomes whose truth is a class, p that of outcomes predicted as it, and c that of
//! those that are both: precision c/p, recall c/t, F = (1 + β²) P R / (β² P + R) (van Rijsbergen, 1979).
//! Micro averages divide sums over classes, macro averages run over the classes that occurred as truth or
//! prediction, weighted averages have weights t. Balanced accuracy is the mean recall of classes that occurred as
//! truth (Brodersen et al., 2010). Kappa = (a − e)/(1 − e) with accuracy a and, for e, chance agreement Σ t p / n²
//! (Cohen, 1960) or the fraction of the majority class (κ_M: Bifet et al., 2015). An undefined value is 0.
//!
//! All metrics but the matrix itself need only the margins, so their memory is proportional to the number of
//! classes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sums::{ratio, Sum};
use super::wants_labels;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::metric::{ClassOutcome, Metric, Outcome};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::schema::Schema;

#[derive(Clone, Copy, Debug, PartialEq)]
enum ConfusionScore {
    Precision,
    Recall,
    /// β²
    F(f64),
    Kappa,
    KappaMajority,
    Matrix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Average {
    /// The positive class alone.
    Positive,
    Micro,
    Macro,
    /// Mean over classes that occurred as truth.
    Supported,
    Weighted,
}

pub const POSITIVE: Parameter = Parameter::new(
    "pos_val",
    Kind::Optional(&Kind::Label),
    DefaultValue::Null,
    "the positive class; null for True, 1 of labels 0 and 1 or −1 and 1, otherwise the rarest class",
);
const BETA: Parameter = Parameter::new(
    "beta",
    Kind::Float(Bounds::POSITIVE),
    DefaultValue::Required,
    "weight of recall relative to precision",
);

macro_rules! declare {
    ($($constant:ident $name:literal $average:ident $score:ident [$($parameter:ident),*] $words:literal;)*) => {
        $(pub static $constant: Declaration = Declaration {
            name: $name,
            role: Role::Metric,
            words: $words,
            merge: Merge::EXACT,
            parameters: &[$($parameter),*],
            build: |arguments| {
                let parameters: &[&str] = &[$($parameter.name),*];
                let score = match score::$score {
                    ConfusionScore::F(_) if parameters.contains(&"beta") => ConfusionScore::F(arguments.float("beta")?.powi(2)),
                    other => other,
                };
                Ok(Built::Metric(Box::new(Confusion {
                    name: $name,
                    score,
                    average: Average::$average,
                    state: State::default(),
                })))
            },
        };)*
    };
}

/// The scores by their short names in the declarations.
mod score {
    use super::ConfusionScore;
    pub const P: ConfusionScore = ConfusionScore::Precision;
    pub const R: ConfusionScore = ConfusionScore::Recall;
    pub const F: ConfusionScore = ConfusionScore::F(1.0);
    pub const KAPPA: ConfusionScore = ConfusionScore::Kappa;
    pub const KAPPA_M: ConfusionScore = ConfusionScore::KappaMajority;
    pub const MATRIX: ConfusionScore = ConfusionScore::Matrix;
}

declare! {
    CONFUSION_MATRIX "metrics.ConfusionMatrix" Micro MATRIX [] "Weight of outcomes by true and predicted class";
    BALANCED_ACCURACY "metrics.BalancedAccuracy" Supported R [] "Mean recall of the classes";
    PRECISION "metrics.Precision" Positive P [POSITIVE] "Fraction of positive predictions that are correct";
    RECALL "metrics.Recall" Positive R [POSITIVE] "Fraction of positives that are predicted as positive";
    FBETA "metrics.FBeta" Positive F [BETA, POSITIVE] "Weighted harmonic mean of precision and recall";
    F1 "metrics.F1" Positive F [POSITIVE] "Harmonic mean of precision and recall";
    MICRO_PRECISION "metrics.MicroPrecision" Micro P [] "Precision of all classes together";
    MICRO_RECALL "metrics.MicroRecall" Micro R [] "Recall of all classes together";
    MICRO_FBETA "metrics.MicroFBeta" Micro F [BETA] "F-beta of all classes together";
    MICRO_F1 "metrics.MicroF1" Micro F [] "F1 of all classes together";
    MACRO_PRECISION "metrics.MacroPrecision" Macro P [] "Mean precision of the classes";
    MACRO_RECALL "metrics.MacroRecall" Macro R [] "Mean recall of the classes, predicted ones included";
    MACRO_FBETA "metrics.MacroFBeta" Macro F [BETA] "Mean F-beta of the classes";
    MACRO_F1 "metrics.MacroF1" Macro F [] "Mean F1 of the classes";
    WEIGHTED_PRECISION "metrics.WeightedPrecision" Weighted P [] "Precision of the classes, averaged by support";
    WEIGHTED_RECALL "metrics.WeightedRecall" Weighted R [] "Recall of the classes, averaged by support";
    WEIGHTED_FBETA "metrics.WeightedFBeta" Weighted F [BETA] "F-beta of the classes, averaged by support";
    WEIGHTED_F1 "metrics.WeightedF1" Weighted F [] "F1 of the classes, averaged by support";
    COHEN_KAPPA "metrics.CohenKappa" Micro KAPPA [] "Accuracy beyond chance agreement";
    KAPPA_M "metrics.KappaM" Micro KAPPA_M [] "Accuracy beyond always predicting the majority class";
}

#[derive(Clone)]
struct Confusion {
    name: &'static str,
    score: ConfusionScore,
    average: Average,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Margin {
    truth: Sum,
    predicted: Sum,
    correct: Sum,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    total: Sum,
    /// By class code.
    margins: Vec<Margin>,
    /// By truth and prediction (`NOTHING` if there was none); used by `ConfusionMatrix` only.
    cells: BTreeMap<(u32, u32), Sum>,
}

const NOTHING: u32 = u32::MAX;
/// Upper bound of the number of classes: a forged file must not allocate more.
const MOST_CLASSES: u32 = 1 << 20;

impl State {
    fn add(&mut self, outcome: &ClassOutcome, w: f64, cells: bool) {
        let most = outcome.truth.max(outcome.predicted.unwrap_or(0)) as usize;
        if most >= self.margins.len() {
            self.margins.resize(most + 1, Margin::default());
        }
        self.total.add(w);
        self.margins[outcome.truth as usize].truth.add(w);
        if let Some(predicted) = outcome.predicted {
            self.margins[predicted as usize].predicted.add(w);
            if predicted == outcome.truth {
                self.margins[predicted as usize].correct.add(w);
            }
        }
        if cells {
            let key = (outcome.truth, outcome.predicted.unwrap_or(NOTHING));
            self.cells.entry(key).or_default().add(w);
        }
    }

    fn sums(&mut self) -> impl Iterator<Item = &mut Sum> {
        let margins = self.margins.iter_mut().flat_map(|m| [&mut m.truth, &mut m.predicted, &mut m.correct]);
        std::iter::once(&mut self.total).chain(margins).chain(self.cells.values_mut())
    }
}

impl Confusion {
    fn of_class(&self, class: &Margin) -> f64 {
        combine(self.score, class.correct.value, class.predicted.value, class.truth.value)
    }

    fn correct(&self) -> f64 {
        self.state.margins.iter().map(|class| class.correct.value).sum()
    }

    fn averaged(&self, positive: u32) -> f64 {
        let classes = &self.state.margins;
        let mean = |met: fn(&Margin) -> bool| {
            let met = || classes.iter().filter(|class| met(class));
            ratio(met().map(|class| self.of_class(class)).sum(), met().count() as f64)
        };
        match self.average {
            Average::Positive => classes.get(positive as usize).map_or(0.0, |class| self.of_class(class)),
            Average::Micro => {
                let predicted = classes.iter().map(|class| class.predicted.value).sum();
                combine(self.score, self.correct(), predicted, self.state.total.value)
            }
            Average::Macro => mean(|class| class.truth.count > 0 || class.predicted.count > 0),
            Average::Supported => mean(|class| class.truth.count > 0),
            Average::Weighted => {
                let total = classes.iter().map(|class| class.truth.value * self.of_class(class)).sum();
                ratio(total, self.state.total.value)
            }
        }
    }
}

fn combine(score: ConfusionScore, correct: f64, predicted: f64, truth: f64) -> f64 {
    let (precision, recall) = (ratio(correct, predicted), ratio(correct, truth));
    match score {
        ConfusionScore::Precision => precision,
        ConfusionScore::Recall => recall,
        // Divide before multiplying: β² may be as large as the largest float.
        ConfusionScore::F(beta) => {
            let precision_fraction = if beta.is_finite() { beta / (1.0 + beta) } else { 1.0 };
            let recall_fraction = 1.0 / (1.0 + beta);
            ratio(precision * recall, precision_fraction * precision + recall_fraction * recall)
        }
        _ => 0.0,
    }
}

/// (a − e)/(1 − e)
fn kappa(accuracy: f64, expected: f64) -> f64 {
    if expected < 1.0 {
        (accuracy - expected) / (1.0 - expected)
    } else {
        0.0
    }
}

impl Part for Confusion {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state: State = unpack(self.name, bytes)?;
        require(self.name, state.sums().all(|sum| sum.is_valid()), "a sum is not finite")?;
        let classes = state.margins.len() as u64;
        let inside = |&(truth, predicted): &(u32, u32)| {
            u64::from(truth) < classes && (u64::from(predicted) < classes || predicted == NOTHING)
        };
        require(self.name, state.cells.keys().all(inside), "a class is out of range")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.margins.capacity() * 48 + self.state.cells.len() * 32
    }

    fn inspect(&self, _: &Schema) -> serde_json::Value {
        let cells = self.state.cells.iter().map(|(&(truth, predicted), sum)| {
            json!([truth, if predicted == NOTHING { None } else { Some(predicted) }, sum.value])
        });
        let margins = self.state.margins.iter();
        json!({
            "total": self.state.total.value,
            "truth": margins.clone().map(|class| class.truth.value).collect::<Vec<_>>(),
            "predicted": margins.clone().map(|class| class.predicted.value).collect::<Vec<_>>(),
            "correct": margins.map(|class| class.correct.value).collect::<Vec<_>>(),
            "cells": cells.collect::<Vec<_>>(),
        })
    }
}

impl Metric for Confusion {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Class(outcome) = outcome else { return Err(wants_labels(self.name)) };
        if w == 0.0 {
            return Ok(());
        }
        if outcome.truth.max(outcome.predicted.unwrap_or(0)) >= MOST_CLASSES {
            return Err(Fault::value(format!("{}: more than {MOST_CLASSES} classes", self.name)));
        }
        // Every other sum is at most the total, so none overflows unless the total does.
        self.state.total.check(self.name, w)?;
        if w < 0.0 {
            let none = Margin::default();
            self.state.margins.get(outcome.truth as usize).unwrap_or(&none).truth.check(self.name, w)?;
            if let Some(predicted) = outcome.predicted {
                let class = self.state.margins.get(predicted as usize).unwrap_or(&none);
                class.predicted.check(self.name, w)?;
            }
        }
        self.state.add(outcome, w, self.score == ConfusionScore::Matrix);
        Ok(())
    }

    fn infallible_for(&self, classes: usize) -> bool {
        self.state.total.has_room() && classes <= MOST_CLASSES as usize
    }

    fn update_infallible(&mut self, outcomes: &[(Outcome, f64)]) -> Result<()> {
        for (outcome, w) in outcomes {
            let Outcome::Class(outcome) = outcome else { return Err(wants_labels(self.name)) };
            self.state.add(outcome, *w, self.score == ConfusionScore::Matrix);
        }
        Ok(())
    }

    fn get(&self) -> f64 {
        self.get_for(1)
    }

    fn get_for(&self, positive: u32) -> f64 {
        let total = self.state.total.value;
        let accuracy = ratio(self.correct(), total);
        match self.score {
            ConfusionScore::Matrix => accuracy,
            ConfusionScore::Kappa => {
                let classes = self.state.margins.iter();
                let chance =
                    |class: &Margin| ratio(class.truth.value, total) * ratio(class.predicted.value, total);
                kappa(accuracy, classes.map(chance).sum())
            }
            ConfusionScore::KappaMajority => {
                let most = self.state.margins.iter().map(|class| class.truth.value).fold(0.0, f64::max);
                kappa(accuracy, ratio(most, total))
            }
            _ => self.averaged(positive),
        }
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn truth_weights(&self) -> Vec<f64> {
        self.state.margins.iter().map(|class| class.truth.value.max(0.0)).collect()
    }

    fn scale(&mut self, factor: f64) {
        self.state.sums().for_each(|sum| sum.value *= factor);
    }

    fn merge(&mut self, other: &[u8], codes: &[u32], sign: f64) -> Result<()> {
        let mut copy = self.clone();
        copy.load(other)?;
        self.state.total.check(self.name, sign * copy.state.total.value)?;
        self.state.total.merge(copy.state.total, sign);
        let here = |code: u32| codes.get(code as usize).copied().unwrap_or(code);
        for (code, theirs) in (0..).zip(copy.state.margins) {
            // A code without a label has no outcomes.
            let Some(code) = Some(here(code) as usize).filter(|&code| code < MOST_CLASSES as usize) else {
                continue;
            };
            if code >= self.state.margins.len() {
                self.state.margins.resize(code + 1, Margin::default());
            }
            let mine = &mut self.state.margins[code];
            mine.truth.merge(theirs.truth, sign);
            mine.predicted.merge(theirs.predicted, sign);
            mine.correct.merge(theirs.correct, sign);
        }
        for ((truth, predicted), sum) in copy.state.cells {
            let key = (here(truth), if predicted == NOTHING { NOTHING } else { here(predicted) });
            self.state.cells.entry(key).or_default().merge(sum, sign);
        }
        self.state.cells.retain(|_, sum| sum.count > 0);
        Ok(())
    }

    fn reset(&mut self) {
        // Cleared in place, so that a window that restarts allocates nothing.
        self.state.total = Sum::default();
        self.state.margins.clear();
        self.state.cells.clear();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::build_resolved;

    fn metric(name: &str, parameters: serde_json::Value) -> Box<dyn Metric> {
        let description =
            crate::registry::resolve(&json!({ "name": name, "parameters": parameters })).expect("it is declared");
        match build_resolved(&description) {
            Ok(Built::Metric(metric)) => metric,
            _ => panic!("not a metric"),
        }
    }

    fn outcome(truth: u32, predicted: Option<u32>) -> Outcome {
        let nothing = f64::NAN;
        Outcome::Class(ClassOutcome {
            truth,
            predicted,
            previous: None,
            truth_probability: nothing,
            squared_error: nothing,
            positive_probability: nothing,
            other_probability: nothing,
        })
    }

    #[test]
    fn worked_by_hand() {
        // Truths 1 1 1 0 0, predictions 1 1 0 1 none. Of class 1: c = 2, p = 3, t = 3. Of class 0: c = 0,
        // p = 1, t = 2. Accuracy 2/5, chance agreement (3·3 + 2·1)/25 = 11/25, kappa (10 − 11)/(25 − 11).
        let outcomes = [(1, Some(1)), (1, Some(1)), (1, Some(0)), (0, Some(1)), (0, None)];
        let expected = [
            ("metrics.Precision", 2.0 / 3.0),
            ("metrics.Recall", 2.0 / 3.0),
            ("metrics.F1", 2.0 / 3.0),
            ("metrics.MicroPrecision", 2.0 / 4.0),
            ("metrics.MicroRecall", 2.0 / 5.0),
            ("metrics.MacroPrecision", 1.0 / 3.0),
            ("metrics.WeightedRecall", 2.0 / 5.0),
            ("metrics.BalancedAccuracy", 1.0 / 3.0),
            ("metrics.CohenKappa", -1.0 / 14.0),
            ("metrics.KappaM", -0.5),
            ("metrics.ConfusionMatrix", 2.0 / 5.0),
        ];
        for (name, value) in expected {
            let mut metric = metric(name, json!({}));
            for (truth, predicted) in outcomes {
                metric.update(&outcome(truth, predicted), 1.0).expect("a good outcome");
            }
            assert!((metric.get() - value).abs() < 1e-15, "{name}: {} is not {value}", metric.get());
        }
    }

    #[test]
    fn a_forged_code_does_not_allocate() {
        let mut metric = metric("metrics.MacroF1", json!({}));
        assert!(metric.update(&outcome(4_000_000_000, Some(0)), 1.0).is_err());
        assert!(metric.update(&outcome(0, Some(4_000_000_000)), 1.0).is_err());
        assert!(metric.memory() < 1000);
    }

    #[test]
    fn a_class_that_was_taken_back_is_gone() {
        let mut metric = metric("metrics.MacroRecall", json!({}));
        metric.update(&outcome(0, Some(0)), 0.1).expect("a good outcome");
        metric.update(&outcome(2, Some(1)), 0.3).expect("a good outcome");
        metric.update(&outcome(2, Some(1)), -0.3).expect("it was told");
        assert_eq!(metric.get(), 1.0);
        assert!(metric.update(&outcome(2, Some(1)), -0.3).is_err());
    }
}
