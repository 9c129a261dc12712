//! Many rounds as columns. An action is stored once, however many rounds offer it: catalogues change slowly.

use rustc_hash::FxHashMap;

use crate::bandit::contextual::{Round, Space, Spaces};
use crate::fault::{Fault, Result, Shown};
use crate::schema::Name;

const NONE: u32 = u32::MAX;

/// What is known of a round after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The action taken, by its place in the round.
    pub action: Option<u32>,
    pub probability: Option<f64>,
    pub reward: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct RoundBatch {
    names: Spaces,
    shared_ends: Vec<usize>,
    shared_slots: Vec<u32>,
    shared_values: Vec<f64>,
    /// Of the distinct actions.
    action_ends: Vec<usize>,
    slots: Vec<u32>,
    values: Vec<f64>,
    /// The labels of actions without features; NONE for others.
    arms: Vec<u32>,
    round_ends: Vec<usize>,
    members: Vec<u32>,
    outcomes: Vec<Outcome>,
}

impl RoundBatch {
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    pub fn names(&self) -> &Spaces {
        &self.names
    }

    pub fn outcome(&self, round: usize) -> Outcome {
        self.outcomes[round]
    }

    /// The distinct actions of a round.
    pub fn members(&self, round: usize) -> &[u32] {
        let start = if round == 0 { 0 } else { self.round_ends[round - 1] };
        &self.members[start..self.round_ends[round]]
    }

    pub fn shared(&self, round: usize) -> (&[u32], &[f64]) {
        let start = if round == 0 { 0 } else { self.shared_ends[round - 1] };
        let range = start..self.shared_ends[round];
        (&self.shared_slots[range.clone()], &self.shared_values[range])
    }

    /// The features of a distinct action, and its label if it has none.
    pub fn action(&self, action: u32) -> (&[u32], &[f64], Option<u32>) {
        let action = action as usize;
        let start = if action == 0 { 0 } else { self.action_ends[action - 1] };
        let range = start..self.action_ends[action];
        let arm = Some(self.arms[action]).filter(|&arm| arm != NONE);
        (&self.slots[range.clone()], &self.values[range], arm)
    }

    /// The place of a name, a new one if it has none.
    pub fn text_slot(&mut self, space: Space, name: &str) -> u32 {
        match self.names.schema(space).slot_of_text(name) {
            Some(slot) => slot,
            None => self.names.intern(space, &Name::from(name)),
        }
    }

    pub fn slot(&mut self, space: Space, name: &Name) -> u32 {
        self.names.intern(space, name)
    }

    /// Add a feature of the context of the round that is being written.
    #[inline]
    pub fn push_shared(&mut self, slot: u32, value: f64) {
        if value != 0.0 {
            self.shared_slots.push(slot);
            self.shared_values.push(value);
        }
    }

    /// Add a feature of the action that is being written.
    #[inline]
    pub fn push_feature(&mut self, slot: u32, value: f64) {
        if value != 0.0 {
            self.slots.push(slot);
            self.values.push(value);
        }
    }

    /// End an action: its number.
    pub fn end_action(&mut self, arm: Option<u32>) -> u32 {
        self.action_ends.push(self.slots.len());
        self.arms.push(arm.unwrap_or(NONE));
        self.arms.len() as u32 - 1
    }

    /// Offer an action in the round that is being written.
    #[inline]
    pub fn offer(&mut self, action: u32) {
        self.members.push(action);
    }

    /// Write a round that was read with the names of this batch; its outcome follows.
    pub fn push_round(&mut self, round: &mut Round) {
        // There is room for all names: a batch is as large as its rounds.
        let _ = self.names.admit("rounds", round, usize::MAX);
        for (&slot, &value) in round.shared.slots.iter().zip(&round.shared.values) {
            self.push_shared(slot - 1, value);
        }
        for index in 0..round.len() {
            let arm = round.arms.get(index).map(|arm| arm - 1);
            if arm.is_none() {
                for (slot, value) in round.action(index).iter() {
                    self.push_feature(slot as u32 - 1, value);
                }
            }
            let action = self.end_action(arm);
            self.offer(action);
        }
    }

    /// The number of actions offered in the round that is being written.
    pub fn offered(&self) -> usize {
        self.members.len() - self.round_ends.last().copied().unwrap_or(0)
    }

    /// End a round; refused, and not kept, if it has no actions or a wrong outcome.
    pub fn end_round(&mut self, outcome: Outcome) -> Result<()> {
        if let Err(fault) = check(self.offered(), outcome) {
            self.drop_round();
            return Err(fault);
        }
        self.shared_ends.push(self.shared_slots.len());
        self.round_ends.push(self.members.len());
        self.outcomes.push(outcome);
        Ok(())
    }

    /// Drop what was written of a round. Its actions stay, unused.
    pub fn drop_round(&mut self) {
        let shared = self.shared_ends.last().copied().unwrap_or(0);
        self.shared_slots.truncate(shared);
        self.shared_values.truncate(shared);
        self.members.truncate(self.round_ends.last().copied().unwrap_or(0));
        let actions = self.action_ends.last().copied().unwrap_or(0);
        self.slots.truncate(actions);
        self.values.truncate(actions);
    }

    pub fn memory(&self) -> usize {
        self.names.memory()
            + (self.shared_values.len() + self.values.len()) * 12
            + (self.action_ends.len() + self.shared_ends.len() + self.round_ends.len()) * 8
            + self.members.len() * 4
            + self.outcomes.len() * std::mem::size_of::<Outcome>()
    }
}

/// Refuse a round without actions, an action that is not in it, a probability out of range and a reward that is not finite.
pub fn check(actions: usize, outcome: Outcome) -> Result<()> {
    if actions == 0 {
        return Err(Fault::value("a round must have at least one action, got none"));
    }
    if let Some(action) = outcome.action.filter(|&action| action as usize >= actions) {
        return Err(Fault::value(format!(
            "the action taken must be one of the {actions} actions of the round, got index {action}"
        )));
    }
    if let Some(p) = outcome.probability.filter(|&p| !(p > 0.0 && p <= 1.0)) {
        return Err(Fault::value(format!("the probability must be in (0, 1], got {}", Shown(p))));
    }
    match outcome.reward.filter(|reward| !reward.is_finite()) {
        Some(reward) => Err(Fault::value(format!("the reward must be finite, got {}", Shown(reward)))),
        None => Ok(()),
    }
}

/// How a policy reads the rounds of a batch: its slot for each name.
#[derive(Debug, Default)]
pub struct Translation {
    slots: [Vec<u32>; 3],
    /// The actions of the round read last, whose slots are all known.
    last: Option<Vec<u32>>,
}

impl Translation {
    pub fn new(batch: &RoundBatch) -> Self {
        let spaces = [Space::Shared, Space::Action, Space::Arm];
        Translation { slots: spaces.map(|space| vec![NONE; batch.names.schema(space).len()]), last: None }
    }

    #[inline]
    fn slot(&mut self, batch: &RoundBatch, space: Space, name: u32, spaces: &Spaces, round: &mut Round) -> u32 {
        let known = &mut self.slots[space as usize][name as usize];
        if *known == NONE {
            let name = batch.names.schema(space).name(name as usize);
            let slot = round.slot(spaces, space, &name);
            // A name that the policy does not take up may get another slot in the next round.
            if (slot as usize) < spaces.width(space) {
                *known = slot;
            }
            return slot;
        }
        *known
    }

    /// Read a round as the policy with these names does. `round` is the one of the call before.
    pub fn read(&mut self, batch: &RoundBatch, index: usize, spaces: &Spaces, round: &mut Round) {
        let members = batch.members(index);
        let same = self.last.as_deref() == Some(members) && !round.has_fresh();
        if same {
            round.clear_shared();
        } else {
            round.clear();
        }
        let (slots, values) = batch.shared(index);
        for (&name, &value) in slots.iter().zip(values) {
            let slot = self.slot(batch, Space::Shared, name, spaces, round);
            round.push_shared(slot, value);
        }
        if same {
            return;
        }
        for &member in members {
            let (slots, values, arm) = batch.action(member);
            if let Some(arm) = arm {
                let slot = self.slot(batch, Space::Arm, arm, spaces, round);
                round.arms.push(slot);
                continue;
            }
            for (&name, &value) in slots.iter().zip(values) {
                let slot = self.slot(batch, Space::Action, name, spaces, round);
                round.push_feature(slot, value);
            }
            round.end_action();
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(members);
    }
}

/// The distinct actions of a batch that is read from text, by their text.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    actions: FxHashMap<Box<[u8]>, u32>,
}

impl Catalogue {
    #[inline]
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        self.actions.get(text).copied()
    }

    pub fn insert(&mut self, text: &[u8], action: u32) {
        self.actions.insert(text.into(), action);
    }

    pub fn clear(&mut self) {
        self.actions.clear();
    }
}
