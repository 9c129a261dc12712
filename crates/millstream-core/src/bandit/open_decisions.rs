//! Decisions that wait for their rewards, in a window of bounded size.
//!
//! Ids are consecutive, so a decision is found by its distance to the oldest one. The window begins with the oldest decision
//! that waits, and a decision without a reward is dropped when `most` later ones were made.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenDecisions<T> {
    /// The oldest first; none for a decision whose reward was learned, or whose action was forgotten.
    window: VecDeque<Option<T>>,
    /// The id of the next decision.
    next: u64,
    /// Number of decisions in the window that wait.
    waiting: u64,
    /// Number of decisions that were given up without a reward.
    dropped: u64,
    /// No decision with this id or a later one has left the window without a reward.
    kept_from: u64,
}

impl<T> Default for OpenDecisions<T> {
    fn default() -> Self {
        OpenDecisions { window: VecDeque::new(), next: 0, waiting: 0, dropped: 0, kept_from: 0 }
    }
}

impl<T> OpenDecisions<T> {
    pub fn next_id(&self) -> u64 {
        self.next
    }

    /// Number of decisions that wait for their rewards.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Number of decisions that were given up without a reward.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Keep a decision, in a window of at most `most`; returns its id.
    #[inline]
    pub fn push(&mut self, decision: T, most: usize) -> u64 {
        while self.window.len() >= most.max(1) {
            let id = self.next - self.window.len() as u64;
            if self.window.pop_front().flatten().is_some() {
                self.waiting -= 1;
                self.dropped += 1;
                self.kept_from = id + 1;
            }
        }
        self.trim();
        self.window.push_back(Some(decision));
        self.waiting += 1;
        self.next += 1;
        self.next - 1
    }

    fn index(&self, id: u64) -> Option<usize> {
        let first = self.next - self.window.len() as u64;
        id.checked_sub(first).filter(|_| id < self.next).map(|index| index as usize)
    }

    /// The decision that waits under an id; the fault says why there is none.
    #[inline]
    pub fn get(&self, id: u64) -> Result<&T> {
        match self.index(id).and_then(|index| self.window[index].as_ref()) {
            Some(decision) => Ok(decision),
            None => Err(self.refusal(id)),
        }
    }

    /// The decision that waits under an id, if there is one.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.index(id).and_then(|index| self.window[index].as_mut())
    }

    #[cold]
    fn refusal(&self, id: u64) -> Fault {
        Fault::value(match id < self.next {
            false => format!("no decision has the id {id}; there were {} so far", self.next),
            true if id >= self.kept_from => {
                format!("decision {id} has its reward already, or its action was forgotten")
            }
            true => format!(
                "decision {id} is not kept any more: there were {} later ones (see max_pending)",
                self.next - 1 - id
            ),
        })
    }

    /// The reward of a decision was learned.
    #[inline]
    pub fn close(&mut self, id: u64) {
        if let Some(index) = self.index(id) {
            if self.window[index].take().is_some() {
                self.waiting -= 1;
            }
        }
        self.trim();
    }

    /// Let answered decisions at the front go.
    fn trim(&mut self) {
        while let Some(None) = self.window.front() {
            self.window.pop_front();
        }
    }

    /// Drop the decisions of which `which` holds.
    pub fn drop_if(&mut self, which: impl Fn(&T) -> bool) {
        for entry in &mut self.window {
            if entry.as_ref().is_some_and(&which) {
                *entry = None;
                self.waiting -= 1;
                self.dropped += 1;
            }
        }
        self.trim();
    }

    /// The decisions that wait, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let first = self.next - self.window.len() as u64;
        self.window
            .iter()
            .enumerate()
            .filter_map(move |(index, entry)| Some((first + index as u64, entry.as_ref()?)))
    }

    /// Whether it could have been saved, with windows of at most `most`.
    pub fn is_valid(&self, most: usize) -> bool {
        let waiting = self.window.iter().flatten().count() as u64;
        let trimmed = !matches!(self.window.front(), Some(None));
        trimmed
            && self.kept_from <= self.next
            && self.window.len() <= most.max(1)
            && self.window.len() as u64 <= self.next
            && waiting == self.waiting
    }

    pub fn memory(&self) -> usize {
        self.window.capacity() * std::mem::size_of::<Option<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_come_late_and_in_any_order() {
        let mut open = OpenDecisions::default();
        let ids: Vec<u64> = ["a", "b", "c"].into_iter().map(|decision| open.push(decision, 3)).collect();
        assert_eq!((ids, open.waiting()), (vec![0, 1, 2], 3));
        assert_eq!(open.get(1).ok(), Some(&"b"));
        open.close(1);
        assert!(open.get(1).unwrap_err().message().contains("has its reward already"));
        // A fourth decision: the first one leaves the window without a reward, and the second one after its reward.
        open.push("d", 3);
        assert_eq!((open.waiting(), open.dropped()), (2, 1));
        open.push("e", 3);
        assert_eq!((open.waiting(), open.dropped()), (3, 1));
        assert!(open.get(0).unwrap_err().message().contains("not kept any more: there were 4 later ones"));
        assert_eq!(open.get(7).unwrap_err().message(), "no decision has the id 7; there were 5 so far");
        assert_eq!(open.iter().collect::<Vec<_>>(), [(2, &"c"), (3, &"d"), (4, &"e")]);
        open.drop_if(|&decision| decision == "d");
        assert_eq!((open.waiting(), open.dropped(), open.is_valid(3), open.is_valid(2)), (2, 2, true, false));
    }
}
