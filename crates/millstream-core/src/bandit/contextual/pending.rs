//! Decisions that wait for their reward. A decision stays open for the next `most` decisions; then it is dropped and
//! counted. Ids ascend, so that an id is found by its place.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;

use super::round::{Round, Spaces};

/// A decision whose reward has not arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// With all actions, or with the one that was taken alone.
    pub round: Round,
    /// The action taken, among those of `round`.
    pub action: u32,
    /// The number of actions of the round.
    pub actions: u32,
    pub probability: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pending {
    /// The id of the first entry.
    first: u64,
    entries: VecDeque<Option<Box<Open>>>,
    open: u64,
    /// The number of decisions that were dropped.
    pub dropped: u64,
    /// Entries to be used again.
    #[serde(skip)]
    free: Vec<Box<Open>>,
}

/// Entries kept for later use.
const FREE: usize = 64;

impl Pending {
    pub fn len(&self) -> u64 {
        self.open
    }

    /// The id of the next decision.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Keep a decision, written by `fill`; returns its id.
    pub fn push(&mut self, most: usize, fill: impl FnOnce(&mut Open)) -> u64 {
        let id = self.next();
        let mut entry = self.free.pop().unwrap_or_default();
        fill(&mut entry);
        self.entries.push_back(Some(entry));
        self.open += 1;
        while self.entries.len() > most {
            if let Some(Some(entry)) = self.entries.pop_front() {
                self.open -= 1;
                self.dropped += 1;
                self.recycle(entry);
            }
            self.first += 1;
        }
        id
    }

    /// Take a decision out, to be given to `recycle`, or to `put_back` if its reward cannot be learned.
    pub fn take(&mut self, who: &str, id: u64) -> Result<Box<Open>> {
        let next = self.next();
        let place = id.checked_sub(self.first).filter(|_| id < next);
        match place.and_then(|place| self.entries.get_mut(place as usize)).map(Option::take) {
            Some(Some(entry)) => {
                self.open -= 1;
                Ok(entry)
            }
            Some(None) => Err(Fault::value(format!("{who}: decision {id} has had its reward already"))),
            None if id >= next => Err(Fault::value(format!("{who}: no decision has the id {id}"))),
            None => Err(Fault::value(format!(
                "{who}: decision {id} is not open any more: it had its reward, or was dropped (raise max_pending)"
            ))),
        }
    }

    /// The ids of the decisions that wait.
    pub fn ids(&self) -> BTreeSet<u64> {
        let open = self.entries.iter().enumerate().filter(|(_, entry)| entry.is_some());
        open.map(|(place, _)| self.first + place as u64).collect()
    }

    /// Close a decision without a reward.
    pub fn close(&mut self, id: u64) {
        let place = id.checked_sub(self.first).map(|place| place as usize);
        if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)).and_then(Option::take) {
            self.open -= 1;
            self.recycle(entry);
        }
    }

    pub fn put_back(&mut self, id: u64, entry: Box<Open>) {
        if let Some(place) = self.entries.get_mut((id - self.first) as usize) {
            *place = Some(entry);
            self.open += 1;
        }
    }

    /// Keep the buffers of a learned decision, and drop closed entries at the front.
    pub fn recycle(&mut self, entry: Box<Open>) {
        if self.free.len() < FREE {
            self.free.push(entry);
        }
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    pub fn validate(&self, who: &str, most: usize, spaces: &Spaces) -> Result<()> {
        let open = self.entries.iter().flatten();
        let sound = |open: &Open| {
            open.round.fits(spaces)
                && (open.action as usize) < open.round.len()
                && open.actions as usize >= open.round.len()
                && open.probability > 0.0
                && open.probability <= 1.0
        };
        require(who, open.clone().count() as u64 == self.open, "open decisions are not counted right")?;
        require(who, self.entries.len() <= most, "more open decisions than max_pending")?;
        require(who, self.first.checked_add(most as u64).is_some(), "an id is out of range")?;
        require(who, open.clone().all(|open| sound(open)), "an open decision is not valid")
    }

    pub fn memory(&self) -> usize {
        let entry = |entry: &Open| std::mem::size_of::<Open>() + entry.round.memory();
        let entries = self.entries.iter().flatten().chain(&self.free);
        self.entries.capacity() * 8 + entries.map(|open| entry(open)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(pending: &mut Pending) -> u64 {
        pending.push(3, |open| open.probability = 0.5)
    }

    #[test]
    fn the_oldest_decision_is_dropped_and_counted() {
        let mut pending = Pending::default();
        let ids: Vec<u64> = (0..4).map(|_| push(&mut pending)).collect();
        assert_eq!(ids, [0, 1, 2, 3]);
        assert_eq!((pending.len(), pending.dropped), (3, 1));
        assert!(pending.take("p", 0).unwrap_err().message().contains("not open any more"));
        assert!(pending.take("p", 4).unwrap_err().message().contains("no decision has the id 4"));
        let entry = pending.take("p", 2).unwrap();
        pending.recycle(entry);
        assert!(pending.take("p", 2).unwrap_err().message().contains("already"));
        // 1 and 3 are still open; a decision without an entry is not dropped again.
        assert_eq!((pending.len(), push(&mut pending), pending.dropped), (2, 4, 2));
        assert_eq!(push(&mut pending), 5);
        assert_eq!((pending.len(), pending.dropped), (3, 2));
    }
}
