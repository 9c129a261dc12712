//! The input row of the meta model of a stack: the predictions of the models, and optionally the features.
//!
//! A feature and a vote keep their slots for life, though features and classes may appear at any time.

use serde::{Deserialize, Serialize};

use crate::row::{Row, RowBuffer};
use crate::schema::{FeatureKind, Name, Schema};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// The slot of each feature.
    features: Vec<u32>,
    /// The slot of each vote, by class and model.
    votes: Vec<u32>,
}

impl Layout {
    pub fn width(&self) -> usize {
        self.features.len() + self.votes.len()
    }

    pub fn width_of_votes(&self) -> usize {
        self.votes.len()
    }

    /// Whether there are no slots for this many features and votes.
    pub fn lacks(&self, features: usize, votes: usize) -> bool {
        self.features.len() < features || self.votes.len() < votes
    }

    /// Add slots for them.
    pub fn grow(&mut self, features: usize, votes: usize) {
        while self.features.len() < features {
            self.features.push(self.width() as u32);
        }
        while self.votes.len() < votes {
            self.votes.push(self.width() as u32);
        }
    }

    /// Whether it could have been saved, by a stack with or without features.
    pub fn is_sound(&self, models: usize, with_features: bool) -> bool {
        let mut slots: Vec<u32> = self.features.iter().chain(&self.votes).copied().collect();
        slots.sort_unstable();
        slots.iter().enumerate().all(|(index, &slot)| index == slot as usize)
            && self.votes.len().is_multiple_of(models)
            && (with_features || self.features.is_empty())
    }

    /// The row; `vote` gives the predictions by class and model.
    pub fn write(&self, x: Row<'_>, vote: impl Fn(usize) -> f64, out: &mut RowBuffer) {
        let votes = self.votes.iter().enumerate();
        match x {
            _ if self.features.is_empty() => {
                let out = out.plain(self.width());
                votes.for_each(|(index, &slot)| out[slot as usize] = vote(index));
            }
            Row::Plain(values) if values.len() >= self.features.len() => {
                let out = out.plain(self.width());
                self.features.iter().zip(values).for_each(|(&slot, value)| out[slot as usize] = *value);
                votes.for_each(|(index, &slot)| out[slot as usize] = vote(index));
            }
            Row::Plain(values) | Row::Mixed(values, _) => {
                let (numbers, kinds) = out.mixed(self.width());
                for (index, (&slot, value)) in self.features.iter().zip(values).enumerate() {
                    numbers[slot as usize] = *value;
                    if let Row::Mixed(_, all) = x {
                        kinds[slot as usize] = all[index];
                    }
                }
                votes.for_each(|(index, &slot)| numbers[slot as usize] = vote(index));
            }
            Row::Sparse(sparse) => {
                out.sparse(self.width());
                for (&index, &value) in sparse.indices.iter().zip(sparse.values) {
                    if let Some(&slot) = self.features.get(index as usize) {
                        out.push(slot, value);
                    }
                }
                votes.for_each(|(index, &slot)| out.push(slot, vote(index)));
                out.sort();
            }
        }
    }

    /// Names, kinds and values of its slots.
    pub fn schema(&self, features: &Schema, models: usize) -> Schema {
        let mut names: Vec<Result<usize, usize>> = vec![Err(0); self.width()];
        self.features.iter().enumerate().for_each(|(index, &slot)| names[slot as usize] = Ok(index));
        self.votes.iter().enumerate().for_each(|(index, &slot)| names[slot as usize] = Err(index));
        let mut schema = Schema::default();
        for name in names {
            match name {
                Ok(feature) if feature < features.len() => {
                    schema.push_from(features, feature, None);
                }
                Ok(feature) => {
                    schema.push_unique(Name::Number(feature as i64), FeatureKind::Unknown);
                }
                Err(vote) => {
                    let text = match self.votes.len() > models {
                        true => format!("model {} class {}", vote % models, vote / models),
                        false => format!("model {vote}"),
                    };
                    schema.push_unique(Name::Text(text.into()), FeatureKind::Number);
                }
            }
        }
        schema.mark();
        schema
    }

    pub fn memory(&self) -> usize {
        4 * (self.features.capacity() + self.votes.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Sparse;

    #[test]
    fn slots_stay_when_classes_and_features_come() {
        let mut layout = Layout::default();
        layout.grow(2, 2);
        assert!(!layout.lacks(2, 2) && layout.lacks(3, 2) && layout.lacks(2, 4));
        layout.grow(3, 4);
        // Features 0, 1, then votes, then feature 2, then the votes of the second class.
        assert_eq!((&layout.features[..], &layout.votes[..]), (&[0, 1, 4][..], &[2, 3, 5, 6][..]));
        assert!(layout.is_sound(2, true) && !layout.is_sound(2, false) && !layout.is_sound(3, true));
        let (mut out, vote) = (RowBuffer::default(), |index: usize| 0.1 * index as f64);
        layout.write(Row::Plain(&[7.0, 8.0, 9.0]), vote, &mut out);
        let wanted = [7.0, 8.0, 0.0, 0.1, 9.0, 0.2, 0.1 * 3.0];
        assert!(matches!(out.row(), Row::Plain(row) if row == wanted));
        layout.write(Row::Sparse(Sparse { indices: &[2], values: &[9.0], width: 3 }), vote, &mut out);
        assert!(matches!(out.row(), Row::Sparse(row) if row.indices == [2, 3, 4, 5, 6] && row.values[2] == 9.0));
        let kinds = [FeatureKind::Number, FeatureKind::Nominal];
        layout.write(Row::Mixed(&[f64::NAN, 1.0], &kinds), vote, &mut out);
        let Row::Mixed(row, kinds) = out.row() else { panic!() };
        assert!(
            row[0].is_nan()
                && row[1] == 1.0
                && kinds[1] == FeatureKind::Nominal
                && row[4].is_nan()
                && row[6] > 0.29
        );
    }
}
