//! The predictions of many models for many rows, with common codes of classes.

use crate::declaration::Role;
use crate::held::Model;
use crate::labels::Labels;
use crate::row::Want;
use crate::task::{Answer, ClusterPrediction};

/// Predictions by row, or of some rows in their order. Only the column of the role is used.
#[derive(Clone, Debug, Default)]
pub struct KeyedAnswers {
    role: Option<Role>,
    want: Option<Want>,
    pub numbers: Vec<f64>,
    /// −1 for none.
    pub classes: Vec<i32>,
    pub clusters: Vec<ClusterPrediction>,
    /// Row after row, `classes_known` each.
    pub probabilities: Vec<f64>,
    pub classes_known: usize,
}

impl KeyedAnswers {
    /// Without rows. No columns are filled if nothing is wanted.
    pub fn new(role: Role, want: Option<Want>, labels: &Labels) -> Self {
        KeyedAnswers { role: Some(role), want, classes_known: labels.len(), ..KeyedAnswers::default() }
    }

    pub fn has_probabilities(&self) -> bool {
        self.want == Some(Want::Probabilities)
    }

    /// With room for this many rows.
    pub fn sized(mut self, rows: usize) -> Self {
        match self.role {
            _ if self.want.is_none() => {}
            Some(Role::Clusterer) => self.clusters.resize(rows, ClusterPrediction::default()),
            Some(role) if role.predicts_numbers() => self.numbers.resize(rows, f64::NAN),
            _ => {
                self.classes.resize(rows, -1);
                if self.has_probabilities() {
                    self.probabilities.resize(rows * self.classes_known, 0.0);
                }
            }
        }
        self
    }

    /// Add the prediction of a model for the next row. `labels` has the common codes.
    #[inline]
    pub fn push(&mut self, model: &Model, answer: &Answer, labels: &Labels) {
        match self.role {
            _ if self.want.is_none() => return,
            Some(Role::Clusterer) => return self.clusters.push(answer.cluster),
            Some(role) if role.predicts_numbers() => return self.numbers.push(answer.number),
            _ => {}
        }
        let own = model.labels();
        let code = |class: u32| own.get(class).and_then(|label| labels.code(label));
        self.classes.push(answer.class.class.and_then(code).map_or(-1, |code| code as i32));
        if self.has_probabilities() {
            let start = self.probabilities.len();
            self.probabilities.resize(start + self.classes_known, 0.0);
            for (class, &probability) in answer.class.probabilities.iter().enumerate() {
                if let Some(place) =
                    code(class as u32).and_then(|code| self.probabilities.get_mut(start + code as usize))
                {
                    *place = probability;
                }
            }
        }
    }

    /// Add an empty prediction, for a skipped row.
    pub fn push_nothing(&mut self) {
        let rows = self.numbers.len().max(self.classes.len()).max(self.clusters.len());
        *self = std::mem::take(self).sized(rows + 1);
    }

    /// Write predictions of some rows to their places.
    pub fn scatter(&mut self, rows: impl Iterator<Item = usize>, from: &KeyedAnswers) {
        let width = self.classes_known;
        for (at, row) in rows.enumerate() {
            if let Some(&number) = from.numbers.get(at) {
                self.numbers[row] = number;
            }
            if let Some(&class) = from.classes.get(at) {
                self.classes[row] = class;
            }
            if let Some(&cluster) = from.clusters.get(at) {
                self.clusters[row] = cluster;
            }
            if let Some(probabilities) = from.probabilities.get(at * width..(at + 1) * width) {
                if !self.probabilities.is_empty() {
                    self.probabilities[row * width..(row + 1) * width].copy_from_slice(probabilities);
                }
            }
        }
    }
}
