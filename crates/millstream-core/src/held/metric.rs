//! The verbs of a held metric, which assigns class codes to the labels of its stream.
//!
//! Labels get codes in order of arrival, the truth before the prediction, so a metric that follows a model from
//! its first example has the codes of the model. A fault changes nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::merging::Merger;
use crate::metric::{ClassOutcome, Metric, Outcome};
use crate::metrics::{PositiveClass, PositiveTracker};
use crate::part::Part;
use crate::row::Want;
use crate::task::{ClassPrediction, ClassPredictions};

use super::state::{pack, require, unpack, Saved};
use super::{Held, Holdable};

/// A metric with the state that relates it to the labels of its stream.
pub struct LabelledMetric {
    metric: Box<dyn Metric>,
    /// The previous true label.
    previous: Option<u32>,
    /// For metrics with a positive class.
    positive: Option<PositiveTracker>,
    /// Whether the metric scores numbers.
    numeric: bool,
    /// The metric's codes by the codes of the scored model; `UNKNOWN` for labels without a code yet.
    translation: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

#[derive(Serialize, Deserialize)]
struct State {
    previous: Option<u32>,
    /// The weights of true labels by code, for metrics with a positive class. Not in files of 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    truth_weights: Vec<f64>,
    #[serde(with = "serde_bytes")]
    metric: Vec<u8>,
}

/// A prediction in one of the forms that a user may pass.
#[derive(Clone, Copy, Debug)]
pub enum GivenPrediction<'a> {
    Nothing,
    Label(&'a Label),
    /// The probability of the positive class.
    Probability(f64),
    Probabilities(&'a [(Label, f64)]),
}

impl Clone for LabelledMetric {
    fn clone(&self) -> Self {
        LabelledMetric {
            metric: self.metric.duplicate(),
            positive: self.positive.clone(),
            translation: self.translation.clone(),
            ..*self
        }
    }
}

impl Holdable for LabelledMetric {
    const WORD: &'static str = "metric";

    fn unbuild(built: Built, description: &Json) -> Option<Self> {
        let Built::Metric(metric) = built else { return None };
        let positive = PositiveTracker::of_description(description);
        let numeric = metric.takes_numbers();
        Some(LabelledMetric { metric, previous: None, positive, numeric, translation: Vec::new() })
    }

    fn role(&self) -> Role {
        Role::Metric
    }

    fn part(&self) -> &dyn Part {
        &*self.metric
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut *self.metric
    }

    fn memory(&self) -> usize {
        let weights = self.positive.as_ref().map_or(0, |positive| positive.weights.capacity());
        self.metric.memory() + 4 * self.translation.capacity() + 8 * weights
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            previous: self.previous,
            truth_weights: self.positive.as_ref().map(|positive| positive.weights.clone()).unwrap_or_default(),
            metric: self.metric.save()?,
        })
    }

    fn merge(&mut self, merger: &Merger<'_>, labels: &Labels) -> Result<()> {
        for (side, sign) in merger.sides() {
            let state: State = unpack("the other metric", side.state)?;
            self.metric.set_labels(labels);
            self.metric.merge(&state.metric, side.codes, sign)?;
            if let Some(positive) = &mut self.positive {
                let theirs = PositiveTracker { wanted: positive.wanted.clone(), weights: state.truth_weights };
                positive.merge(&theirs, side.codes, sign);
            }
            if sign > 0.0 {
                let here = |code: u32| side.codes.get(code as usize).copied();
                self.previous = state.previous.and_then(here).or(self.previous);
            }
        }
        self.translation.clear();
        self.metric.set_labels(labels);
        Ok(())
    }

    fn load(&mut self, who: &str, saved: &Saved) -> Result<()> {
        let state: State = unpack(who, &saved.state)?;
        let known = state.previous.is_none_or(|code| saved.labels.get(code).is_some());
        require(who, known, "a label out of range")?;
        self.previous = state.previous;
        self.translation.clear();
        self.metric.load(&state.metric)?;
        self.metric.set_labels(&saved.labels);
        if let Some(positive) = &mut self.positive {
            positive.restore(who, state.truth_weights, &*self.metric, &saved.labels)?;
        }
        Ok(())
    }
}

impl Held<LabelledMetric> {
    pub fn metric(&self) -> &dyn Metric {
        &*self.part.metric
    }

    pub fn get(&self) -> f64 {
        self.part.metric.get_for(self.positive_code())
    }

    /// Bound on the error of `get`; None for exact metrics.
    pub fn error(&self) -> Option<f64> {
        self.part.metric.error(self.positive_code())
    }

    /// The positive class, if the metric has one and the labels determine it.
    pub fn positive(&self) -> Option<PositiveClass> {
        let positive = self.part.positive.as_ref()?;
        let fixed = self.part.metric.positive().filter(|_| positive.wanted.is_none());
        match fixed.and_then(|code| Some((code, self.labels.get(code)?))) {
            Some((code, label)) => Some(PositiveClass { label: label.clone(), code }),
            None => positive.class(&self.labels),
        }
    }

    /// The code of the positive class; `UNKNOWN` if there is none yet.
    pub fn positive_code(&self) -> u32 {
        self.positive().map_or(UNKNOWN, |class| class.code)
    }

    /// The codes of classes that may become the positive class, including one for a class yet to come; empty if
    /// the positive class is fixed.
    pub fn open_classes(&self) -> std::ops::Range<u32> {
        let open = self.part.positive.as_ref().is_some_and(|positive| positive.wanted.is_none());
        // Metrics of probabilities refuse a third class.
        let two = self.want() == Want::Probabilities && self.labels.known() == 2;
        let fixed = self.part.metric.positive().is_some() || (two && PositiveClass::is_settled(&self.labels));
        match (open && !fixed, two) {
            (true, true) => 0..2,
            (true, false) => 0..self.labels.len() as u32 + 1,
            (false, _) => 0..0,
        }
    }

    /// The requested positive class, if there were outcomes and none had it as truth.
    pub fn missing_positive(&self) -> Option<&Label> {
        self.part.positive.as_ref().filter(|_| self.count > 0)?.missing(&self.labels)
    }

    pub fn want(&self) -> Want {
        self.part.metric.want()
    }

    fn check_weight(&self, w: f64) -> Result<()> {
        if w.is_finite() && w >= 0.0 {
            return Ok(());
        }
        Err(Fault::value(format!("{}: the weight must be finite and not negative, got {w}", self.title)))
    }

    /// Score the prediction of a number.
    pub fn update_number(&mut self, truth: f64, predicted: f64, w: f64) -> Result<()> {
        self.check_weight(w)?;
        for (what, number) in [("truth", truth), ("prediction", predicted)] {
            if !number.is_finite() {
                return Err(Fault::value(format!("{}: the {what} must be finite, got {number}", self.title)));
            }
        }
        if !self.part.numeric {
            return Err(crate::metrics::wants_labels(&self.title));
        }
        if w > 0.0 {
            self.part.metric.update(&Outcome::Number { truth, predicted }, w)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// Score the prediction of a label.
    pub fn update_label(&mut self, truth: &Label, given: GivenPrediction<'_>, w: f64) -> Result<()> {
        self.check_weight(w)?;
        self.check_given(truth, given)?;
        if w == 0.0 {
            return Ok(());
        }
        let news = |label: &Label| self.labels.code(label).is_none();
        let new = news(truth)
            || match given {
                GivenPrediction::Label(label) => news(label),
                GivenPrediction::Probabilities(probabilities) => {
                    probabilities.iter().any(|(label, _)| news(label))
                }
                GivenPrediction::Nothing | GivenPrediction::Probability(_) => false,
            };
        let before = new.then(|| self.labels.clone());
        let code = self.labels.intern(truth);
        if let GivenPrediction::Label(label) = given {
            self.labels.intern(label);
        } else if let GivenPrediction::Probabilities(probabilities) = given {
            probabilities.iter().for_each(|(label, _)| {
                self.labels.intern(label);
            });
        }
        if new {
            self.part.metric.set_labels(&self.labels);
        }
        let outcome = self.outcome(code, given);
        self.apply(code, &outcome, w).inspect_err(|_| {
            if let Some(labels) = before {
                self.labels = labels;
                self.part.metric.set_labels(&self.labels);
            }
        })
    }

    /// Score a prediction of a model; `labels` are those of the model and contain the truth. Returns the outcome
    /// in the codes of this metric, or None if the weight is 0.
    #[inline]
    pub fn observe(
        &mut self,
        labels: &Labels,
        truth: u32,
        prediction: &ClassPrediction,
        w: f64,
    ) -> Result<Option<Outcome>> {
        if self.part.numeric || !(w > 0.0 && w < f64::INFINITY) {
            self.check_weight(w)?;
            return if w == 0.0 { Ok(None) } else { Err(crate::metrics::wants_numbers(&self.title)) };
        }
        let seen = self.part.translation.len() == labels.len()
            && self.code_of(truth).is_some()
            && prediction.class.is_none_or(|class| self.code_of(class).is_some());
        if seen {
            self.observe_known(truth, prediction, w).map(Some)
        } else {
            self.observe_new(labels, truth, prediction, w).map(Some)
        }
    }

    /// Whether `observe_numbers` may be called, because nothing can fail.
    pub fn infallible_for_numbers(&self) -> bool {
        self.part.numeric && self.part.metric.infallible_for(0)
    }

    /// `update_number` for rows of weight 1 with numbers up to `LARGEST_NUMBER`; fills `outcomes`.
    pub fn observe_numbers(
        &mut self,
        truths: &[f64],
        predictions: &[f64],
        outcomes: &mut Vec<(Outcome, f64)>,
    ) -> Result<()> {
        outcomes.clear();
        let pairs = truths.iter().zip(predictions);
        outcomes.extend(pairs.map(|(&truth, &predicted)| (Outcome::Number { truth, predicted }, 1.0)));
        self.part.metric.update_infallible(outcomes)?;
        self.count = self.count.saturating_add(truths.len() as u64);
        Ok(())
    }

    /// Whether `observe_block` may be called, because all classes are known and nothing can fail.
    pub fn infallible_for(&self, labels: &Labels) -> bool {
        !self.part.numeric
            && self.part.translation.len() == labels.len()
            && !self.part.translation.contains(&UNKNOWN)
            && self.part.metric.infallible_for(self.labels.len())
    }

    /// `observe` for rows of weight 1 that all have a prediction; fills `outcomes`.
    pub fn observe_block(
        &mut self,
        truths: &[u32],
        predictions: &ClassPredictions,
        from: usize,
        outcomes: &mut Vec<(Outcome, f64)>,
    ) -> Result<()> {
        let positive = self.model_positive();
        outcomes.clear();
        let mut previous = self.part.previous;
        for (row, &truth) in (from..).zip(truths) {
            let predicted = predictions.class(row);
            let mut outcome = ClassOutcome::of(truth, predicted, predictions.of(row), previous, positive);
            let code = self.part.translation.get(truth as usize).copied().unwrap_or(truth);
            outcome.truth = code;
            outcome.predicted = predicted.and_then(|class| self.part.translation.get(class as usize).copied());
            previous = Some(code);
            outcomes.push((Outcome::Class(outcome), 1.0));
        }
        self.part.metric.update_infallible(outcomes)?;
        if let Some(positive) = &mut self.part.positive {
            positive.add_all(truths, &self.part.translation);
        }
        self.part.previous = previous;
        self.count = self.count.saturating_add(truths.len() as u64);
        Ok(())
    }

    /// `observe` with new classes, which are removed again after a fault.
    #[cold]
    fn observe_new(
        &mut self,
        labels: &Labels,
        truth: u32,
        prediction: &ClassPrediction,
        w: f64,
    ) -> Result<Outcome> {
        let before = (self.labels.clone(), self.part.translation.clone());
        self.part.translation.resize(labels.len(), UNKNOWN);
        self.admit(labels, truth)?;
        for code in 0..labels.len() as u32 {
            if labels.get(code).is_some()
                && (prediction.class == Some(code) || (code as usize) < prediction.probabilities.len())
            {
                self.admit(labels, code)?;
            }
        }
        self.part.metric.set_labels(&self.labels);
        self.observe_known(truth, prediction, w).inspect_err(|_| {
            (self.labels, self.part.translation) = before;
            self.part.metric.set_labels(&self.labels);
        })
    }

    #[inline]
    fn observe_known(&mut self, truth: u32, prediction: &ClassPrediction, w: f64) -> Result<Outcome> {
        // The codes are those of the model if the metric has followed it from the start.
        let code = self.code_of(truth).unwrap_or(truth);
        let positive = if prediction.probabilities.is_empty() { UNKNOWN } else { self.model_positive() };
        let mut outcome = ClassOutcome::new(truth, prediction, self.part.previous, positive);
        outcome.truth = code;
        outcome.predicted = prediction.class.and_then(|class| self.code_of(class));
        let outcome = Outcome::Class(outcome);
        self.apply(code, &outcome, w)?;
        Ok(outcome)
    }

    /// The model's code of the positive class, if that is fixed.
    #[inline]
    fn model_positive(&self) -> u32 {
        let Some(positive) = self.part.metric.positive() else { return UNKNOWN };
        self.part.translation.iter().position(|&code| code == positive).map_or(UNKNOWN, |code| code as u32)
    }

    #[inline]
    fn code_of(&self, code: u32) -> Option<u32> {
        self.part.translation.get(code as usize).copied().filter(|&code| code != UNKNOWN)
    }

    fn admit(&mut self, labels: &Labels, code: u32) -> Result<()> {
        let label = labels.get(code).ok_or_else(|| Fault::value("a class code without a label"))?;
        self.part.translation[code as usize] = self.labels.intern(label);
        Ok(())
    }

    #[inline]
    fn apply(&mut self, truth: u32, outcome: &Outcome, w: f64) -> Result<()> {
        self.part.metric.update(outcome, w)?;
        if let Some(positive) = &mut self.part.positive {
            positive.add(truth, w);
        }
        self.part.previous = Some(truth);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    fn check_given(&self, truth: &Label, given: GivenPrediction<'_>) -> Result<()> {
        let refuse = |message: String| Err(Fault::value(format!("{}: {message}", self.title)));
        if self.part.numeric {
            return Err(crate::metrics::wants_numbers(&self.title));
        }
        let probability = |p: f64| (-1e-9..=1.0 + 1e-9).contains(&p);
        match given {
            GivenPrediction::Nothing | GivenPrediction::Label(_) => Ok(()),
            GivenPrediction::Probability(p) if !probability(p) => {
                refuse(format!("a probability must be in [0, 1], got {p}"))
            }
            GivenPrediction::Probability(_) => {
                if self.wanted().is_some() || matches!(truth, Label::Bool(_) | Label::Int(0 | 1)) {
                    return Ok(());
                }
                refuse(format!(
                    "a single probability is that of the class True, but the label is {truth}: \
                     pass pos_val, or a dict of probabilities"
                ))
            }
            GivenPrediction::Probabilities(probabilities) => {
                match probabilities.iter().find(|(_, p)| !probability(*p)) {
                    Some((label, p)) => refuse(format!("the probability of {label} must be in [0, 1], got {p}")),
                    None => Ok(()),
                }
            }
        }
    }

    fn wanted(&self) -> Option<&Label> {
        self.part.positive.as_ref().and_then(|positive| positive.wanted.as_ref())
    }

    /// The outcome of checked input, in which every label has a code.
    fn outcome(&self, truth: u32, given: GivenPrediction<'_>) -> Outcome {
        let positive = self.part.metric.positive().unwrap_or(UNKNOWN);
        let code = |label: &Label| self.labels.code(label);
        let mut outcome = ClassOutcome {
            truth,
            predicted: None,
            previous: self.part.previous,
            truth_probability: f64::NAN,
            squared_error: f64::NAN,
            positive_probability: f64::NAN,
            other_probability: f64::NAN,
        };
        let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
        match given {
            GivenPrediction::Nothing | GivenPrediction::Probabilities([]) => {}
            GivenPrediction::Label(label) => {
                let predicted = code(label);
                outcome.predicted = predicted;
                outcome.truth_probability = flag(predicted == Some(truth));
                outcome.squared_error = flag(predicted != Some(truth)) * 2.0;
                outcome.positive_probability = flag(predicted == Some(positive));
                outcome.other_probability = flag(predicted != Some(truth));
            }
            GivenPrediction::Probability(p) => {
                let p = p.clamp(0.0, 1.0);
                let class = code(self.wanted().unwrap_or(&Label::Int(1)));
                let (of_truth, other) = if class == Some(truth) { (p, 1.0 - p) } else { (1.0 - p, p) };
                outcome.truth_probability = of_truth;
                outcome.squared_error = 2.0 * (1.0 - of_truth) * (1.0 - of_truth);
                outcome.positive_probability = p;
                outcome.other_probability = other;
            }
            GivenPrediction::Probabilities(probabilities) => {
                let (mut best, mut squares) = (f64::NEG_INFINITY, 0.0);
                (outcome.truth_probability, outcome.positive_probability, outcome.other_probability) =
                    (0.0, 0.0, 0.0);
                for (label, p) in probabilities {
                    let (class, p) = (code(label), p.clamp(0.0, 1.0));
                    squares += p * p;
                    if p > best {
                        (best, outcome.predicted) = (p, class);
                    }
                    if class == Some(truth) {
                        outcome.truth_probability = p;
                    } else {
                        outcome.other_probability = p;
                    }
                    if class == Some(positive) {
                        outcome.positive_probability = p;
                    }
                }
                outcome.squared_error = (squares - 2.0 * outcome.truth_probability + 1.0).max(0.0);
            }
        }
        Outcome::Class(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_metric_that_follows_a_model_agrees_with_one_given_labels() {
        let texts: Vec<Label> = ["no", "yes", "no", "maybe"].iter().map(|&t| Label::Text(t.into())).collect();
        for name in ["metrics.LogLoss", "metrics.Brier", "metrics.MacroF1", "metrics.KappaTemporal"] {
            let mut given = Held::<LabelledMetric>::new(&json!({ "name": name })).expect("it is declared");
            let mut following = given.clone();
            let mut labels = Labels::default();
            for truth in &texts {
                let known: Vec<(Label, f64)> =
                    labels.entries().iter().flatten().cloned().zip([0.7, 0.3]).collect();
                let mut prediction =
                    ClassPrediction { class: None, probabilities: known.iter().map(|(_, p)| *p).collect() };
                prediction.decide();
                given.update_label(truth, GivenPrediction::Probabilities(&known), 1.0).expect("good input");
                let code = labels.intern(truth);
                following.observe(&labels, code, &prediction, 1.0).expect("good input");
            }
            assert_eq!(given.get(), following.get(), "{name}");
            assert_eq!(given.save().ok(), following.save().ok(), "{name}");
            let again = Held::<LabelledMetric>::load(&given.save().expect("it saves")).expect("it loads");
            assert_eq!(again.save().ok(), given.save().ok(), "{name}");
        }
    }
}
