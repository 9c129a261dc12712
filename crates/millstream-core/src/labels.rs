//! Class labels (bool, int or string) and their codes.
//!
//! Codes follow arrival, with one exception: the first label, when it is `True` or `1`, takes code 1 and
//! leaves code 0 to the next. Binary learners call code 1 the positive class, so a model of 0/1 or
//! False/True has the expected sign, whichever label comes first. `True` and `1` are one label, as in Python;
//! predictions use the first of them. After a first bool the other one is known too.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::row::Want;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    Bool(bool),
    Int(i64),
    Text(Arc<str>),
}

impl Label {
    /// Whether both are the same label, as `True` and `1` are.
    #[inline]
    pub fn is(&self, other: &Label) -> bool {
        match (self, other) {
            (Label::Bool(one), Label::Bool(other)) => one == other,
            (Label::Int(one), Label::Int(other)) => one == other,
            (Label::Text(one), Label::Text(other)) => one == other,
            (Label::Bool(flag), Label::Int(number)) | (Label::Int(number), Label::Bool(flag)) => {
                i64::from(*flag) == *number
            }
            _ => false,
        }
    }

    /// `True` and `1` are the same key.
    pub(crate) fn key(&self) -> Label {
        match self {
            Label::Bool(value) => Label::Int(i64::from(*value)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Bool(true) => f.write_str("True"),
            Label::Bool(false) => f.write_str("False"),
            Label::Int(value) => write!(f, "{value}"),
            Label::Text(text) => write!(f, "'{text}'"),
        }
    }
}

/// Up to this many labels, comparing with each is faster than hashing.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// By code; `None` is a code reserved for a label that has not arrived yet.
    entries: Vec<Option<Label>>,
    codes: FxHashMap<Label, u32>,
}

/// Which class codes have a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownClasses {
    /// The number of codes in use or reserved.
    pub codes: usize,
    /// The code reserved for a label that has not arrived yet.
    pub waiting: Option<u32>,
}

impl KnownClasses {
    #[inline]
    pub fn has(&self, code: u32) -> bool {
        (code as usize) < self.codes && self.waiting != Some(code)
    }

    /// Whether every code has its label, and there are as many as a learner gave probabilities for.
    #[inline]
    pub fn are_complete(&self, probabilities: usize, want: Want) -> bool {
        self.codes >= 2 && self.waiting.is_none() && (want == Want::Class || probabilities == self.codes)
    }
}

/// The number of labels, for `rollback`.
#[derive(Clone, Copy, Debug)]
pub struct LabelsMark {
    known: usize,
}

impl Labels {
    /// The number of codes in use or reserved: learners size their tables by it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of labels so far, without a reserved code.
    pub fn known(&self) -> usize {
        self.codes.len()
    }

    /// Which codes have a label, as a small value.
    #[inline]
    pub fn known_classes(&self) -> KnownClasses {
        // Only the first code may wait for its label.
        let waits = matches!(self.entries.first(), Some(None));
        KnownClasses { codes: self.entries.len(), waiting: waits.then_some(0) }
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    pub fn get(&self, code: u32) -> Option<&Label> {
        self.entries.get(code as usize).and_then(Option::as_ref)
    }

    pub fn entries(&self) -> &[Option<Label>] {
        &self.entries
    }

    /// Whether both have the same labels with the same codes.
    pub fn is_same(&self, other: &Labels) -> bool {
        self.entries == other.entries
    }

    #[inline]
    pub fn code(&self, label: &Label) -> Option<u32> {
        if self.entries.len() > FEW {
            return self.codes.get(&label.key()).copied();
        }
        let same = |entry: &Option<Label>| entry.as_ref().is_some_and(|entry| entry.is(label));
        self.entries.iter().position(same).map(|code| code as u32)
    }

    pub fn intern(&mut self, label: &Label) -> u32 {
        if let Some(code) = self.code(label) {
            return code;
        }
        let key = label.key();
        if let (true, Label::Bool(flag)) = (self.entries.is_empty(), label) {
            for (code, value) in [false, true].into_iter().enumerate() {
                self.entries.push(Some(Label::Bool(value)));
                self.codes.insert(Label::Bool(value).key(), code as u32);
            }
            return u32::from(*flag);
        }
        if self.entries.is_empty() && key == Label::Int(1) {
            self.entries.push(None);
        }
        let free = self.entries.iter().position(Option::is_none);
        let first_positive = self.codes.is_empty() && key == Label::Int(1);
        let code = match free {
            Some(code) if !first_positive => {
                self.entries[code] = Some(label.clone());
                code as u32
            }
            _ => {
                self.entries.push(Some(label.clone()));
                self.entries.len() as u32 - 1
            }
        };
        self.codes.insert(key, code);
        code
    }

    pub fn mark(&self) -> LabelsMark {
        LabelsMark { known: self.codes.len() }
    }

    /// Drop the label added after `mark` (an example adds at most one label, or the two bools).
    pub fn rollback(&mut self, mark: LabelsMark, code: u32) {
        if self.codes.len() == mark.known {
            return;
        }
        if mark.known == 0 {
            *self = Labels::default();
            return;
        }
        if let Some(label) = self.entries[code as usize].take() {
            self.codes.remove(&label.key());
        }
        if code as usize + 1 == self.entries.len() {
            self.entries.pop();
        }
    }

    pub fn memory(&self) -> usize {
        self.entries.len() * 96
    }
}

impl Serialize for Labels {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let entries = Vec::<Option<Label>>::deserialize(deserializer)?;
        let mut labels = Labels { codes: FxHashMap::default(), entries };
        for (code, label) in labels.entries.iter().enumerate() {
            match label {
                Some(label) => {
                    if labels.codes.insert(label.key(), code as u32).is_some() {
                        return Err(D::Error::custom("labels: a label is listed twice"));
                    }
                }
                None if code == 0 && labels.entries.len() == 2 => {}
                None => return Err(D::Error::custom("labels: a code has no label")),
            }
        }
        Ok(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_positive_class_whichever_comes_first() {
        let mut labels = Labels::default();
        assert_eq!(labels.intern(&Label::Int(1)), 1);
        assert_eq!(labels.intern(&Label::Bool(true)), 1);
        assert_eq!(labels.intern(&Label::Int(7)), 0);
        assert_eq!(labels.intern(&Label::Int(8)), 2);
        assert_eq!(labels.get(1), Some(&Label::Int(1)));
    }

    #[test]
    fn rollback_forgets_one_label() {
        let mut labels = Labels::default();
        let mark = labels.mark();
        let code = labels.intern(&Label::Bool(true));
        labels.rollback(mark, code);
        assert_eq!(labels.len(), 0);
        assert_eq!(labels.intern(&Label::Bool(false)), 0);
        assert_eq!(labels.code(&Label::Int(1)), Some(1));
    }
}
