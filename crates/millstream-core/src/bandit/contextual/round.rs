//! One round as numbers: features of the context and of each action, by the slots of their names.
//!
//! Slot 0 of either side is the constant 1. A name that the policy has not met gets the next free slot of this round alone,
//! so that reading changes nothing; `Spaces::admit` then takes up the new names in the same order.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::schema::{Name, Schema};

/// Features that are not 0, by slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Features {
    pub slots: Vec<u32>,
    pub values: Vec<f64>,
}

impl Features {
    pub fn clear(&mut self) {
        self.slots.clear();
        self.values.clear();
    }

    #[inline]
    pub fn push(&mut self, slot: u32, value: f64) {
        self.slots.push(slot);
        self.values.push(value);
    }

    pub fn copy_from(&mut self, other: View<'_>) {
        self.clear();
        self.slots.extend_from_slice(other.slots);
        self.values.extend_from_slice(other.values);
    }

    pub fn view(&self) -> View<'_> {
        View { slots: &self.slots, values: &self.values }
    }

    fn memory(&self) -> usize {
        self.slots.capacity() * 4 + self.values.capacity() * 8
    }
}

#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub slots: &'a [u32],
    pub values: &'a [f64],
}

impl View<'_> {
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.slots.iter().zip(self.values).map(|(&slot, &value)| (slot as usize, value))
    }
}

/// Which names a feature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Shared,
    Action,
    /// The labels of actions without features.
    Arm,
}

/// The names that a policy has met: slot = place + 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spaces {
    names: [Schema; 3],
}

impl Spaces {
    pub fn schema(&self, space: Space) -> &Schema {
        &self.names[space as usize]
    }

    /// The number of slots of a space, with the constant.
    pub fn width(&self, space: Space) -> usize {
        self.schema(space).len() + 1
    }

    /// The place of a name, a new one if it has none.
    pub fn intern(&mut self, space: Space, name: &Name) -> u32 {
        self.names[space as usize].intern(name)
    }

    /// Take up the new names of a round, of which at most `most` fit.
    pub fn admit(&mut self, who: &str, round: &mut Round, most: usize) -> Result<()> {
        if round.fresh.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let total: usize = self.names.iter().map(Schema::len).sum::<usize>();
        let fresh: usize = round.fresh.iter().map(Vec::len).sum();
        if total + fresh > most {
            return Err(Fault::value(format!(
                "{who}: a round would raise the number of features and actions to {}, max_features is {most}",
                total + fresh
            )));
        }
        for (schema, fresh) in self.names.iter_mut().zip(&mut round.fresh) {
            schema.mark();
            for name in fresh.drain(..) {
                schema.intern(&name);
            }
        }
        round.places.iter_mut().for_each(FxHashMap::clear);
        Ok(())
    }

    /// The number of names of each space, for `shrink`.
    pub fn extent(&self) -> [usize; 3] {
        [0, 1, 2].map(|space: usize| self.names[space].len())
    }

    /// Drop the names that the last `admit` took up.
    pub fn rollback(&mut self, extent: [usize; 3]) {
        for (schema, before) in self.names.iter_mut().zip(extent) {
            if schema.len() > before {
                schema.rollback();
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.names.iter().map(Schema::memory).sum()
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Round {
    /// Without the constant.
    pub shared: Features,
    /// Where the features of each action end.
    pub ends: Vec<u32>,
    pub features: Features,
    /// The slots of the actions' labels, if the actions have no features.
    pub arms: Vec<u32>,
    /// What is subtracted from the predicted reward of each action before one is chosen; empty for nothing.
    #[serde(skip)]
    prices: Vec<f64>,
    /// Names without a slot so far, by space.
    #[serde(skip)]
    fresh: [Vec<Name>; 3],
    #[serde(skip)]
    places: [FxHashMap<Name, u32>; 3],
}

impl PartialEq for Round {
    fn eq(&self, other: &Round) -> bool {
        (&self.shared, &self.ends, &self.features, &self.arms)
            == (&other.shared, &other.ends, &other.features, &other.arms)
    }
}

impl Round {
    pub fn clear(&mut self) {
        self.shared.clear();
        self.prices.clear();
        self.clear_actions();
        for (fresh, places) in self.fresh.iter_mut().zip(&mut self.places) {
            fresh.clear();
            places.clear();
        }
    }

    /// Become a round with the same actions and no context. Only if it has no new names.
    pub fn clear_shared(&mut self) {
        self.shared.clear();
    }

    fn clear_actions(&mut self) {
        self.ends.clear();
        self.features.clear();
        self.arms.clear();
    }

    /// Set what is subtracted from the predicted reward of each action.
    pub fn set_prices(&mut self, who: &str, prices: Option<&[f64]>) -> Result<()> {
        self.prices.clear();
        let Some(prices) = prices else { return Ok(()) };
        if prices.len() != self.len() || !prices.iter().all(|price| price.is_finite()) {
            return Err(Fault::value(format!(
                "{who}: prices must be a finite number for each of the {} actions, got {prices:?}",
                self.len()
            )));
        }
        self.prices.extend_from_slice(prices);
        Ok(())
    }

    /// Subtract the prices from the predicted rewards.
    #[inline]
    pub fn charge(&self, rewards: &mut [f64]) {
        rewards.iter_mut().zip(&self.prices).for_each(|(reward, price)| *reward -= price);
    }

    /// The number of actions.
    pub fn len(&self) -> usize {
        self.ends.len().max(self.arms.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the actions have features, not labels alone.
    pub fn has_features(&self) -> bool {
        self.arms.is_empty()
    }

    pub fn has_fresh(&self) -> bool {
        self.fresh.iter().any(|fresh| !fresh.is_empty())
    }

    /// The features of an action, without the constant.
    #[inline]
    pub fn action(&self, index: usize) -> View<'_> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        let end = self.ends[index] as usize;
        View { slots: &self.features.slots[start..end], values: &self.features.values[start..end] }
    }

    /// The slot of a name.
    #[inline]
    pub fn slot_of_text(&mut self, spaces: &Spaces, space: Space, text: &str) -> u32 {
        match spaces.schema(space).slot_of_text(text) {
            Some(place) => place + 1,
            None => self.fresh_slot(spaces, space, Name::Text(text.into())),
        }
    }

    #[inline]
    pub fn slot(&mut self, spaces: &Spaces, space: Space, name: &Name) -> u32 {
        match spaces.schema(space).slot(name) {
            Some(place) => place + 1,
            None => self.fresh_slot(spaces, space, name.clone()),
        }
    }

    #[cold]
    fn fresh_slot(&mut self, spaces: &Spaces, space: Space, name: Name) -> u32 {
        let (fresh, places) = (&mut self.fresh[space as usize], &mut self.places[space as usize]);
        let next = (spaces.width(space) + fresh.len()) as u32;
        *places.entry(name).or_insert_with_key(|name| {
            fresh.push(name.clone());
            next
        })
    }

    /// Add a feature of the context; zeros are left out.
    #[inline]
    pub fn push_shared(&mut self, slot: u32, value: f64) {
        if value != 0.0 {
            self.shared.push(slot, value);
        }
    }

    #[inline]
    pub fn push_feature(&mut self, slot: u32, value: f64) {
        if value != 0.0 {
            self.features.push(slot, value);
        }
    }

    pub fn end_action(&mut self) {
        self.ends.push(self.features.slots.len() as u32);
    }

    /// Refuse a round without actions, and an action that is listed twice.
    pub fn check(&self, who: &str) -> Result<()> {
        if self.is_empty() {
            return Err(Fault::value(format!("{who}: a round must have at least one action, got none")));
        }
        Ok(())
    }

    /// Become a copy of a round with all of its actions, or with one of them alone.
    pub fn copy_from(&mut self, other: &Round, only: Option<usize>) {
        self.shared.copy_from(other.shared.view());
        self.clear_actions();
        match only {
            None => {
                self.ends.extend_from_slice(&other.ends);
                self.features.copy_from(other.features.view());
                self.arms.extend_from_slice(&other.arms);
            }
            Some(index) if other.has_features() => {
                self.features.copy_from(other.action(index));
                self.end_action();
            }
            Some(index) => self.arms.push(other.arms[index]),
        }
    }

    /// Whether all slots are within the spaces, for rounds that were saved.
    pub fn fits(&self, spaces: &Spaces) -> bool {
        let within =
            |slots: &[u32], space| slots.iter().all(|&slot| slot > 0 && (slot as usize) < spaces.width(space));
        let finite = |features: &Features| {
            features.slots.len() == features.values.len() && features.values.iter().all(|value| value.is_finite())
        };
        finite(&self.shared)
            && finite(&self.features)
            && within(&self.shared.slots, Space::Shared)
            && within(&self.features.slots, Space::Action)
            && within(&self.arms, Space::Arm)
            && self.ends.is_sorted()
            && self.ends.last().map_or(0, |&end| end as usize) == self.features.slots.len()
            && (self.arms.is_empty() != self.ends.is_empty())
    }

    pub fn memory(&self) -> usize {
        self.shared.memory() + self.features.memory() + (self.ends.capacity() + self.arms.capacity()) * 4
    }
}
