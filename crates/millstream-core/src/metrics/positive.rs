//! The positive class of a metric. It depends on the outcomes, but not on their order.
//!
//! It is `pos_val` if that is given. Otherwise it is True or 1 if the labels are bools, 0 and 1, or −1 and 1, even
//! while only one of them has come. Otherwise it is the rarest class by the weight of the true labels since the
//! start of the stream (windows and fading do not change it). Of equally rare classes it is the last in sort
//! order, numbers before strings. Classes that were only predicted count only while fewer than two classes have
//! occurred as truth.

use serde_json::Value as Json;

use super::sums::LIMIT;
use crate::fault::Result;
use crate::held::state::require;
use crate::labels::{Label, Labels};
use crate::metric::Metric;

/// Weights that differ by less than this fraction count as equal: sums in another order differ in their last bits.
const EQUAL: f64 = 1e-9;
/// No class has this code.
const NO_CODE: u32 = u32::MAX;

/// A positive class and its code, `NO_CODE` until its label comes.
#[derive(Clone, Debug, PartialEq)]
pub struct PositiveClass {
    pub label: Label,
    pub code: u32,
}

impl PositiveClass {
    fn of(label: Label, labels: &Labels) -> Self {
        let code = labels.code(&label);
        let label = code.and_then(|code| labels.get(code)).cloned().unwrap_or(label);
        PositiveClass { label, code: code.unwrap_or(NO_CODE) }
    }

    /// Whether both labels have come and 1 is the positive class, which it stays unless a third label comes.
    pub fn is_settled(labels: &Labels) -> bool {
        labels.known() == 2 && are_signs(labels)
    }

    /// The positive class of labels with these weights by code; None before the first label.
    pub fn follow(labels: &Labels, weights: &[f64]) -> Option<Self> {
        if labels.is_empty() {
            return None;
        }
        if are_signs(labels) {
            return Some(PositiveClass::of(Label::Int(1), labels));
        }
        let weight = |code: usize| weights.get(code).copied().unwrap_or(0.0);
        let come = |code: usize| weight(code) > 0.0;
        let known =
            || labels.entries().iter().enumerate().filter_map(|(code, label)| Some((code, label.as_ref()?)));
        let some_only_predicted = known().filter(|(code, _)| come(*code)).count() < 2;
        let candidates = || known().filter(|(code, _)| some_only_predicted || come(*code));
        let least = candidates().map(|(code, _)| weight(code)).fold(f64::INFINITY, f64::min);
        let rarest = candidates().filter(|(code, _)| weight(*code) <= least * (1.0 + EQUAL));
        let (code, label) = rarest.max_by(|(_, a), (_, b)| sort_key(a).cmp(&sort_key(b)))?;
        Some(PositiveClass { label: label.clone(), code: code as u32 })
    }
}

fn sort_key(label: &Label) -> (bool, i64, &str) {
    match label {
        Label::Bool(value) => (false, i64::from(*value), ""),
        Label::Int(value) => (false, *value, ""),
        Label::Text(text) => (true, 0, text),
    }
}

/// Whether all labels are among 0 and 1, or among −1 and 1, so that 1 is the positive class.
fn are_signs(labels: &Labels) -> bool {
    let known = labels.known();
    let among = |other| {
        let count = |number| usize::from(labels.code(&Label::Int(number)).is_some());
        count(1) + count(other) == known
    };
    known <= 2 && (among(0) || among(-1))
}

/// The state that determines the positive class: the requested class and the weights of true labels.
#[derive(Clone, Debug)]
pub struct PositiveTracker {
    pub wanted: Option<Label>,
    /// By class code.
    pub weights: Vec<f64>,
}

impl PositiveTracker {
    /// None for a metric without a positive class. `description` is canonical.
    pub fn of_description(mut description: &Json) -> Option<Self> {
        while description["parameters"]["metric"].is_object() {
            description = &description["parameters"]["metric"];
        }
        let wanted = match description["parameters"].get("pos_val")? {
            Json::Bool(value) => Some(Label::Bool(*value)),
            Json::Number(number) => number.as_i64().map(Label::Int),
            Json::String(text) => Some(Label::Text(text.as_str().into())),
            _ => None,
        };
        Some(PositiveTracker { wanted, weights: Vec::new() })
    }

    #[inline]
    pub fn add(&mut self, code: u32, w: f64) {
        let code = code as usize;
        if code >= self.weights.len() {
            self.weights.resize(code + 1, 0.0);
        }
        self.weights[code] = (self.weights[code] + w).min(LIMIT);
    }

    /// Call `add` with weight 1 for each truth of a block; truths are class codes of the model.
    pub fn add_all(&mut self, truths: &[u32], translation: &[u32]) {
        // Most blocks have two classes: counting these first saves a table lookup per row.
        let ones = truths.iter().filter(|&&truth| truth == 1).count();
        let zeros = truths.iter().filter(|&&truth| truth == 0).count();
        let code = |truth: u32| translation.get(truth as usize).copied().unwrap_or(truth);
        for (truth, count) in [(0, zeros), (1, ones)] {
            if count > 0 {
                self.add(code(truth), count as f64);
            }
        }
        if zeros + ones < truths.len() {
            truths.iter().filter(|&&truth| truth > 1).for_each(|&truth| self.add(code(truth), 1.0));
        }
    }

    /// Restore saved weights; 0.1.0 saved none, so they are taken from the sums of the metric. `who` is its name.
    pub fn restore(&mut self, who: &str, weights: Vec<f64>, metric: &dyn Metric, labels: &Labels) -> Result<()> {
        let old = weights.is_empty();
        self.weights = if old { metric.truth_weights() } else { weights };
        if old {
            self.weights.truncate(labels.len());
        }
        let valid = self.weights.iter().all(|w| (0.0..=LIMIT).contains(w));
        require(who, valid && self.weights.len() <= labels.len(), "the weight of a label is out of range")?;
        // A saved window need not contain the requested class.
        if let Some(code) = self.wanted.as_ref().filter(|_| old).and_then(|label| labels.code(label)) {
            self.add(code, f64::MIN_POSITIVE);
        }
        Ok(())
    }

    /// Add the weights of another tracker, whose class codes are `codes` here, or subtract them.
    pub fn merge(&mut self, other: &PositiveTracker, codes: &[u32], sign: f64) {
        for (&code, &w) in codes.iter().zip(&other.weights).filter(|(&code, _)| code != u32::MAX) {
            self.add(code, sign * w);
            let weight = &mut self.weights[code as usize];
            *weight = weight.max(0.0);
        }
    }

    pub fn class(&self, labels: &Labels) -> Option<PositiveClass> {
        match &self.wanted {
            Some(label) => Some(PositiveClass::of(label.clone(), labels)),
            None => PositiveClass::follow(labels, &self.weights),
        }
    }

    /// The requested class, if it has never occurred as truth.
    pub fn missing(&self, labels: &Labels) -> Option<&Label> {
        let wanted = self.wanted.as_ref()?;
        let weight = labels.code(wanted).and_then(|code| self.weights.get(code as usize));
        weight.is_none_or(|&weight| weight <= 0.0).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Label {
        Label::Text(text.into())
    }

    /// The positive label after these true labels, with these weights.
    fn after(truths: &[(Label, f64)]) -> Option<Label> {
        let (mut labels, mut positive) =
            (Labels::default(), PositiveTracker { wanted: None, weights: Vec::new() });
        for (label, w) in truths {
            positive.add(labels.intern(label), *w);
        }
        positive.class(&labels).map(|class| class.label)
    }

    #[test]
    fn the_rule_case_by_case() {
        let (one, zero) = (Label::Int(1), Label::Int(0));
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(zero.clone(), 1.0)]), Some(one.clone()));
        assert_eq!(after(&[(one.clone(), 9.0), (zero.clone(), 1.0)]), Some(one.clone()));
        assert_eq!(after(&[(Label::Bool(false), 1.0)]), Some(Label::Bool(true)));
        assert_eq!(after(&[(one.clone(), 9.0), (Label::Int(-1), 1.0)]), Some(one.clone()));
        // Neither 0 and 1 nor −1 and 1: the rarer one.
        assert_eq!(after(&[(one.clone(), 9.0), (Label::Int(2), 1.0)]), Some(Label::Int(2)));
        assert_eq!(after(&[(text("yes"), 2.0), (text("no"), 3.0)]), Some(text("yes")));
        assert_eq!(after(&[(text("yes"), 3.0), (text("no"), 2.0)]), Some(text("no")));
        // Equal weights, also if 0.1 + 0.2 is not 0.3 in the last bit: the last in sort order.
        for truths in [[("no", 0.1), ("no", 0.2), ("yes", 0.3)], [("yes", 0.1), ("yes", 0.2), ("no", 0.3)]] {
            let truths = truths.map(|(label, w)| (text(label), w));
            assert_eq!(after(&truths), Some(text("yes")));
        }
        assert_eq!(after(&[(zero, 2.0), (one, 2.0), (text("a"), 1.0), (text("b"), 1.0)]), Some(text("b")));
    }

    #[test]
    fn a_class_that_was_only_predicted_is_positive_where_one_class_was_true() {
        let mut labels = Labels::default();
        ["no", "yes", "maybe"].iter().for_each(|label| {
            labels.intern(&text(label));
        });
        let label = |weights: &[f64]| PositiveClass::follow(&labels, weights).map(|class| class.label);
        assert_eq!(label(&[5.0]), Some(text("yes")));
        assert_eq!(label(&[5.0, 2.0, 0.0]), Some(text("yes")));
        assert_eq!(label(&[1.0, 2.0, 0.0]), Some(text("no")));
    }
}
