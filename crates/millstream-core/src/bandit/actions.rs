//! The actions of a policy, and their codes.
//!
//! An action is a bool, an int or a string; `True` and `1` are one action, as in Python. There are at most `max_actions`.
//! To admit one more, the action that was offered least recently is forgotten, and its code is used again.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::fault::{Fault, Result};
use crate::labels::Label;

/// An action as it is given: a string is not copied to look it up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given<'a> {
    Bool(bool),
    Int(i64),
    Text(&'a str),
}

impl Given<'_> {
    pub fn label(self) -> Label {
        match self {
            Given::Bool(flag) => Label::Bool(flag),
            Given::Int(int) => Label::Int(int),
            Given::Text(text) => Label::Text(text.into()),
        }
    }
}

impl<'a> From<&'a Label> for Given<'a> {
    fn from(label: &'a Label) -> Self {
        match label {
            Label::Bool(flag) => Given::Bool(*flag),
            Label::Int(int) => Given::Int(*int),
            Label::Text(text) => Given::Text(text),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// By code; none for a code that is free.
    labels: Vec<Option<Label>>,
    /// The round in which each action was offered last.
    offered: Vec<u64>,
    /// Codes that are free.
    free: BTreeSet<u32>,
    ints: FxHashMap<i64, u32>,
    texts: FxHashMap<Arc<str>, u32>,
}

impl Actions {
    pub fn len(&self) -> usize {
        self.ints.len() + self.texts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn label(&self, code: u32) -> Option<&Label> {
        self.labels.get(code as usize).and_then(Option::as_ref)
    }

    #[inline]
    pub fn code(&self, action: Given<'_>) -> Option<u32> {
        match action {
            Given::Bool(flag) => self.ints.get(&i64::from(flag)).copied(),
            Given::Int(int) => self.ints.get(&int).copied(),
            Given::Text(text) => self.texts.get(text).copied(),
        }
    }

    /// The codes in use, ascending.
    pub fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        let used = self.labels.iter().enumerate().filter(|(_, label)| label.is_some());
        used.map(|(code, _)| code as u32)
    }

    /// Note that an action can be taken in a round.
    #[inline]
    pub fn offer(&mut self, code: u32, round: u64) {
        if let Some(offered) = self.offered.get_mut(code as usize) {
            *offered = round;
        }
    }

    /// The code of an action, which may be new; there must be room for it.
    pub fn admit(&mut self, action: Given<'_>, round: u64) -> u32 {
        if let Some(code) = self.code(action) {
            self.offer(code, round);
            return code;
        }
        let code = self.next_code();
        if !self.free.remove(&code) {
            self.labels.push(None);
            self.offered.push(0);
        }
        let label = action.label();
        match &label {
            Label::Bool(flag) => self.ints.insert(i64::from(*flag), code),
            Label::Int(int) => self.ints.insert(*int, code),
            Label::Text(text) => self.texts.insert(Arc::clone(text), code),
        };
        self.labels[code as usize] = Some(label);
        self.offered[code as usize] = round;
        code
    }

    /// The code of the next action that is admitted.
    fn next_code(&self) -> u32 {
        self.free.first().copied().unwrap_or(self.labels.len() as u32)
    }

    /// The action that was offered least recently, if that was before `round`.
    pub fn oldest(&self, round: u64) -> Option<u32> {
        self.codes()
            .min_by_key(|&code| self.offered[code as usize])
            .filter(|&code| self.offered[code as usize] < round)
    }

    pub fn forget(&mut self, code: u32) {
        let Some(label) = self.labels.get_mut(code as usize).and_then(Option::take) else { return };
        match label {
            Label::Bool(flag) => self.ints.remove(&i64::from(flag)),
            Label::Int(int) => self.ints.remove(&int),
            Label::Text(text) => self.texts.remove(&text),
        };
        self.free.insert(code);
    }

    pub fn memory(&self) -> usize {
        let texts: usize = self.texts.keys().map(|text| text.len() + 16).sum();
        texts + self.labels.capacity() * 32 + self.offered.capacity() * 8 + self.len() * 40
    }

    /// The labels by code, and when each was offered last, to be saved.
    pub fn entries(&self) -> (&[Option<Label>], &[u64]) {
        (&self.labels, &self.offered)
    }

    /// From saved entries.
    pub fn from_entries(who: &str, labels: Vec<Option<Label>>, offered: Vec<u64>) -> Result<Self> {
        let wrong = |what: &str| Fault::state(format!("{who}: the saved state is not valid: {what}"));
        if labels.len() != offered.len() {
            return Err(wrong("the actions and their rounds differ in number"));
        }
        let mut actions = Actions { offered, ..Actions::default() };
        for (code, label) in labels.iter().enumerate() {
            let before = match label {
                None => {
                    actions.free.insert(code as u32);
                    None
                }
                Some(Label::Bool(flag)) => actions.ints.insert(i64::from(*flag), code as u32),
                Some(Label::Int(int)) => actions.ints.insert(*int, code as u32),
                Some(Label::Text(text)) => actions.texts.insert(Arc::clone(text), code as u32),
            };
            if before.is_some() {
                return Err(wrong("an action is listed twice"));
            }
        }
        actions.labels = labels;
        Ok(actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_used_again() {
        let mut actions = Actions::default();
        assert_eq!(actions.admit(Given::Text("a"), 0), 0);
        assert_eq!(actions.admit(Given::Int(1), 1), 1);
        assert_eq!(actions.admit(Given::Bool(true), 2), 1);
        assert_eq!(actions.label(1), Some(&Label::Int(1)));
        assert_eq!(actions.oldest(3), Some(0));
        actions.forget(0);
        assert_eq!((actions.len(), actions.code(Given::Text("a"))), (1, None));
        assert_eq!(actions.admit(Given::Text("b"), 3), 0);
        assert_eq!((actions.oldest(3), actions.oldest(2)), (Some(1), None));
        let (labels, offered) = actions.entries();
        let again = Actions::from_entries("p", labels.to_vec(), offered.to_vec()).unwrap();
        assert_eq!((again.len(), again.code(Given::Text("b"))), (2, Some(0)));
        let twice = vec![Some(Label::Int(0)), Some(Label::Bool(false))];
        assert!(Actions::from_entries("p", twice, vec![0, 0]).is_err());
    }
}
