//! A metric with the labels of its stream: what `Model` is to a learner.
//!
//! Labels get codes in the order of their arrival, the truth before the prediction, so that a meter that
//! watches a model from its first example has the model's codes. A fault leaves all as it was.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::metric::{ClassOutcome, Metric, Outcome};
use crate::registry;
use crate::row::Want;
use crate::schema::Schema;
use crate::state::{self, pack, require, unpack, Saved};
use crate::task::{ClassPrediction, ClassPredictions};

pub struct Meter {
    description: Json,
    labels: Labels,
    metric: Box<dyn Metric>,
    /// The last label that was true.
    previous: Option<u32>,
    updates: u64,
    /// Whether the positive class was asked for.
    chosen: bool,
    /// Whether the metric takes numbers.
    numeric: bool,
    /// Codes here by the codes of the model that is watched; `UNKNOWN` where it is not known yet.
    translation: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

#[derive(Serialize, Deserialize)]
struct State {
    previous: Option<u32>,
    #[serde(with = "serde_bytes")]
    metric: Vec<u8>,
}

/// What was predicted, as a user tells it.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    Nothing,
    Label(&'a Label),
    /// The probability of the positive class.
    Probability(f64),
    Probabilities(&'a [(Label, f64)]),
}

impl Clone for Meter {
    fn clone(&self) -> Self {
        Meter {
            description: self.description.clone(),
            labels: self.labels.clone(),
            metric: self.metric.duplicate(),
            previous: self.previous,
            updates: self.updates,
            chosen: self.chosen,
            numeric: self.numeric,
            translation: self.translation.clone(),
        }
    }
}

impl Meter {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let Built::Metric(metric) = registry::build_resolved(&description)? else {
            let name = description["name"].as_str().unwrap_or_default();
            let role = registry::role_of(&description)?.word();
            return Err(Fault::wrong_type(format!("{name}: a {role} is not a metric")));
        };
        let chosen = !wanted_positive(&description).is_null();
        let numeric = metric.takes_numbers();
        Ok(Meter {
            description,
            labels: Labels::default(),
            metric,
            previous: None,
            updates: 0,
            chosen,
            numeric,
            translation: Vec::new(),
        })
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    pub fn name(&self) -> &str {
        self.description["name"].as_str().unwrap_or_default()
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    pub fn metric(&self) -> &dyn Metric {
        &*self.metric
    }

    pub fn get(&self) -> f64 {
        self.metric.get()
    }

    pub fn want(&self) -> Want {
        self.metric.want()
    }

    /// Outcomes told, those of weight 0 left out.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.metric.memory() + self.labels.memory() + 4 * self.translation.capacity()
    }

    pub fn inspect(&self) -> Json {
        self.metric.inspect(&Schema::default())
    }

    pub fn reset(&mut self) -> Result<()> {
        *self = Meter::new(&self.description)?;
        Ok(())
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        state::seal(&Saved {
            written_by: env!("CARGO_PKG_VERSION").into(),
            description: self.description.to_string(),
            schema: Schema::default(),
            labels: self.labels.clone(),
            learned: self.updates,
            state: pack(&State { previous: self.previous, metric: self.metric.save()? })?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let mut meter = Meter::new(&state::description(&saved)?)?;
        let state: State = unpack(meter.name(), &saved.state)?;
        let known = state.previous.is_none_or(|code| saved.labels.get(code).is_some());
        require(meter.name(), known, "a label out of range")?;
        meter.labels = saved.labels;
        meter.updates = saved.learned;
        meter.previous = state.previous;
        meter.metric.load(&state.metric)?;
        meter.metric.know(&meter.labels);
        Ok(meter)
    }

    fn check_weight(&self, w: f64) -> Result<()> {
        if w.is_finite() && w >= 0.0 {
            return Ok(());
        }
        Err(Fault::value(format!("{}: the weight must be finite and not negative, got {w}", self.name())))
    }

    /// Tell it a number and what was predicted for it.
    pub fn update_number(&mut self, truth: f64, predicted: f64, w: f64) -> Result<()> {
        self.check_weight(w)?;
        for (what, number) in [("truth", truth), ("prediction", predicted)] {
            if !number.is_finite() {
                return Err(Fault::value(format!("{}: the {what} must be finite, got {number}", self.name())));
            }
        }
        if !self.metric.takes_numbers() {
            return Err(super::wants_labels(self.name()));
        }
        if w > 0.0 {
            self.metric.update(&Outcome::Number { truth, predicted }, w)?;
            self.updates = self.updates.saturating_add(1);
        }
        Ok(())
    }

    /// Tell it a label and what was predicted for it.
    pub fn update_label(&mut self, truth: &Label, given: Given<'_>, w: f64) -> Result<()> {
        self.check_weight(w)?;
        self.check_given(truth, given)?;
        if w == 0.0 {
            return Ok(());
        }
        let news = |label: &Label| self.labels.code(label).is_none();
        let new = news(truth)
            || match given {
                Given::Label(label) => news(label),
                Given::Probabilities(probabilities) => probabilities.iter().any(|(label, _)| news(label)),
                Given::Nothing | Given::Probability(_) => false,
            };
        let before = new.then(|| self.labels.clone());
        let code = self.labels.intern(truth);
        if let Given::Label(label) = given {
            self.labels.intern(label);
        } else if let Given::Probabilities(probabilities) = given {
            probabilities.iter().for_each(|(label, _)| {
                self.labels.intern(label);
            });
        }
        if new {
            self.metric.know(&self.labels);
        }
        let outcome = self.outcome(code, given);
        self.count(code, &outcome, w).inspect_err(|_| {
            if let Some(labels) = before {
                self.labels = labels;
                self.metric.know(&self.labels);
            }
        })
    }

    /// Tell it what a model predicted; `labels` are the model's, and know the truth. Returns the outcome in
    /// the codes of this meter, for those who keep a window of them; none if the weight is 0.
    #[inline]
    pub fn observe(
        &mut self,
        labels: &Labels,
        truth: u32,
        prediction: &ClassPrediction,
        w: f64,
    ) -> Result<Option<Outcome>> {
        if self.numeric || !(w > 0.0 && w < f64::INFINITY) {
            self.check_weight(w)?;
            return if w == 0.0 { Ok(None) } else { Err(super::wants_numbers(self.name())) };
        }
        let seen = self.translation.len() == labels.len()
            && self.code_of(truth).is_some()
            && prediction.class.is_none_or(|class| self.code_of(class).is_some());
        if seen {
            self.observe_known(truth, prediction, w).map(Some)
        } else {
            self.observe_new(labels, truth, prediction, w).map(Some)
        }
    }

    /// Whether `observe_numbers` may be called: nothing can be refused.
    pub fn is_sure_of_numbers(&self) -> bool {
        self.numeric && self.metric.is_sure(0)
    }

    /// `update_number` for rows of weight 1 up to `SURE_NUMBER`; `outcomes` gets what they came to.
    pub fn observe_numbers(
        &mut self,
        truths: &[f64],
        predictions: &[f64],
        outcomes: &mut Vec<(Outcome, f64)>,
    ) -> Result<()> {
        outcomes.clear();
        let pairs = truths.iter().zip(predictions);
        outcomes.extend(pairs.map(|(&truth, &predicted)| (Outcome::Number { truth, predicted }, 1.0)));
        self.metric.update_sure(outcomes)?;
        self.updates = self.updates.saturating_add(truths.len() as u64);
        Ok(())
    }

    /// Whether `observe_block` may be called: nothing in it is new, and nothing can be refused.
    pub fn is_sure(&self, labels: &Labels) -> bool {
        !self.numeric
            && self.translation.len() == labels.len()
            && !self.translation.contains(&UNKNOWN)
            && self.metric.is_sure(self.labels.len())
    }

    /// `observe` for rows of weight 1 that all have a prediction; `outcomes` gets what they came to.
    pub fn observe_block(
        &mut self,
        truths: &[u32],
        predictions: &ClassPredictions,
        from: usize,
        outcomes: &mut Vec<(Outcome, f64)>,
    ) -> Result<()> {
        let positive = self.metric.positive();
        let positive =
            self.translation.iter().position(|&code| code == positive).map_or(UNKNOWN, |code| code as u32);
        outcomes.clear();
        let mut previous = self.previous;
        for (row, &truth) in (from..).zip(truths) {
            let predicted = predictions.classes.get(row).copied().flatten();
            let mut outcome = ClassOutcome::of(truth, predicted, predictions.of(row), previous, positive);
            let code = self.translation.get(truth as usize).copied().unwrap_or(truth);
            outcome.truth = code;
            outcome.predicted = predicted.and_then(|class| self.translation.get(class as usize).copied());
            previous = Some(code);
            outcomes.push((Outcome::Class(outcome), 1.0));
        }
        self.metric.update_sure(outcomes)?;
        self.previous = previous;
        self.updates = self.updates.saturating_add(truths.len() as u64);
        Ok(())
    }

    /// `observe` where classes are named that it has not met; it forgets them again if it refuses.
    #[cold]
    fn observe_new(
        &mut self,
        labels: &Labels,
        truth: u32,
        prediction: &ClassPrediction,
        w: f64,
    ) -> Result<Outcome> {
        let before = (self.labels.clone(), self.translation.clone());
        self.translation.resize(labels.len(), UNKNOWN);
        self.admit(labels, truth)?;
        for code in 0..labels.len() as u32 {
            if labels.get(code).is_some()
                && (prediction.class == Some(code) || (code as usize) < prediction.probabilities.len())
            {
                self.admit(labels, code)?;
            }
        }
        self.metric.know(&self.labels);
        self.observe_known(truth, prediction, w).inspect_err(|_| {
            (self.labels, self.translation) = before;
            self.metric.know(&self.labels);
        })
    }

    #[inline]
    fn observe_known(&mut self, truth: u32, prediction: &ClassPrediction, w: f64) -> Result<Outcome> {
        // The codes are the model's own where the meter has watched it from the start.
        let code = self.code_of(truth).unwrap_or(truth);
        let its_positive = if prediction.probabilities.is_empty() {
            UNKNOWN
        } else {
            let positive = self.metric.positive();
            self.translation.iter().position(|&code| code == positive).map_or(UNKNOWN, |code| code as u32)
        };
        let mut outcome = ClassOutcome::new(truth, prediction, self.previous, its_positive);
        outcome.truth = code;
        outcome.predicted = prediction.class.and_then(|class| self.code_of(class));
        let outcome = Outcome::Class(outcome);
        self.count(code, &outcome, w)?;
        Ok(outcome)
    }

    #[inline]
    fn code_of(&self, code: u32) -> Option<u32> {
        self.translation.get(code as usize).copied().filter(|&code| code != UNKNOWN)
    }

    fn admit(&mut self, labels: &Labels, code: u32) -> Result<()> {
        let label = labels.get(code).ok_or_else(|| Fault::value("a class code without a label"))?;
        self.translation[code as usize] = self.labels.intern(label);
        Ok(())
    }

    #[inline]
    fn count(&mut self, truth: u32, outcome: &Outcome, w: f64) -> Result<()> {
        self.metric.update(outcome, w)?;
        self.previous = Some(truth);
        self.updates = self.updates.saturating_add(1);
        Ok(())
    }

    fn check_given(&self, truth: &Label, given: Given<'_>) -> Result<()> {
        let refuse = |message: String| Err(Fault::value(format!("{}: {message}", self.name())));
        if self.numeric {
            return Err(super::wants_numbers(self.name()));
        }
        let probability = |p: f64| (-1e-9..=1.0 + 1e-9).contains(&p);
        match given {
            Given::Nothing | Given::Label(_) => Ok(()),
            Given::Probability(p) if !probability(p) => refuse(format!("a probability is in [0, 1], got {p}")),
            Given::Probability(_) => {
                if self.chosen || matches!(truth, Label::Bool(_) | Label::Int(0 | 1)) {
                    return Ok(());
                }
                refuse(format!(
                    "a bare probability is that of the class True, and {truth} is another kind of label: \
                     give pos_val, or a dict of probabilities"
                ))
            }
            Given::Probabilities(probabilities) => match probabilities.iter().find(|(_, p)| !probability(*p)) {
                Some((label, p)) => refuse(format!("the probability of {label} must be in [0, 1], got {p}")),
                None => Ok(()),
            },
        }
    }

    /// What checked input comes to; every label in it has a code.
    fn outcome(&self, truth: u32, given: Given<'_>) -> Outcome {
        let positive = self.metric.positive();
        let code = |label: &Label| self.labels.code(label);
        let mut outcome = ClassOutcome {
            truth,
            predicted: None,
            previous: self.previous,
            truth_probability: f64::NAN,
            squared_error: f64::NAN,
            positive_probability: f64::NAN,
        };
        let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
        match given {
            Given::Nothing | Given::Probabilities([]) => {}
            Given::Label(label) => {
                let predicted = code(label);
                outcome.predicted = predicted;
                outcome.truth_probability = flag(predicted == Some(truth));
                outcome.squared_error = flag(predicted != Some(truth)) * 2.0;
                outcome.positive_probability = flag(predicted == Some(positive));
            }
            Given::Probability(p) => {
                let p = p.clamp(0.0, 1.0);
                let of_truth = if truth == positive { p } else { 1.0 - p };
                outcome.truth_probability = of_truth;
                outcome.squared_error = 2.0 * (1.0 - of_truth) * (1.0 - of_truth);
                outcome.positive_probability = p;
            }
            Given::Probabilities(probabilities) => {
                let (mut best, mut squares) = (f64::NEG_INFINITY, 0.0);
                (outcome.truth_probability, outcome.positive_probability) = (0.0, 0.0);
                for (label, p) in probabilities {
                    let (class, p) = (code(label), p.clamp(0.0, 1.0));
                    squares += p * p;
                    if p > best {
                        (best, outcome.predicted) = (p, class);
                    }
                    if class == Some(truth) {
                        outcome.truth_probability = p;
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

    /// Fold in a meter of the same description that watched another part of the stream.
    pub fn merge(&mut self, other: &Meter) -> Result<()> {
        if self.description != other.description {
            return Err(Fault::value(format!("{}: only the same metric can be merged", self.name())));
        }
        let mut labels = self.labels.clone();
        for (code, label) in other.labels.entries().iter().enumerate() {
            if label.as_ref().is_some_and(|label| labels.intern(label) as usize != code) {
                return Err(Fault::value(format!(
                    "{}: the two met their labels in another order; cannot be merged",
                    self.name()
                )));
            }
        }
        self.metric.merge(&other.metric.save()?).map_err(|fault| fault.by(self.name()))?;
        self.labels = labels;
        self.metric.know(&self.labels);
        self.previous = other.previous.or(self.previous);
        self.updates = self.updates.saturating_add(other.updates);
        Ok(())
    }
}

/// The `pos_val` of a metric, or of the one that is wrapped.
fn wanted_positive(mut description: &Json) -> &Json {
    while description["parameters"]["metric"].is_object() {
        description = &description["parameters"]["metric"];
    }
    &description["parameters"]["pos_val"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_meter_that_watches_a_model_agrees_with_one_that_is_told() {
        let texts: Vec<Label> = ["no", "yes", "no", "maybe"].iter().map(|&t| Label::Text(t.into())).collect();
        for name in ["metrics.LogLoss", "metrics.Brier", "metrics.MacroF1", "metrics.KappaTemporal"] {
            let mut told = Meter::new(&json!({ "name": name })).expect("it is declared");
            let mut watching = told.clone();
            let mut labels = Labels::default();
            for truth in &texts {
                let known: Vec<(Label, f64)> =
                    labels.entries().iter().flatten().cloned().zip([0.7, 0.3]).collect();
                let mut prediction =
                    ClassPrediction { class: None, probabilities: known.iter().map(|(_, p)| *p).collect() };
                prediction.decide();
                told.update_label(truth, Given::Probabilities(&known), 1.0).expect("good input");
                let code = labels.intern(truth);
                watching.observe(&labels, code, &prediction, 1.0).expect("good input");
            }
            assert_eq!(told.get(), watching.get(), "{name}");
            assert_eq!(told.save().ok(), watching.save().ok(), "{name}");
            let again = Meter::load(&told.save().expect("it saves")).expect("it loads");
            assert_eq!(again.save().ok(), told.save().ok(), "{name}");
        }
    }
}
