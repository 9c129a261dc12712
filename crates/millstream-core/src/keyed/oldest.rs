//! The slots of a slab that learned least recently.

use std::collections::VecDeque;

use super::header::tick_of;
use super::slab::Slab;

/// One in this many models is listed as old at a time, when models must be evicted.
const LISTED: usize = 16;

/// Slots in order of their ticks, oldest first, with the ticks when they were listed. Slots are listed in groups, so that a
/// scan of all is rare; one that has learned since it was listed is no longer old.
#[derive(Default)]
pub struct Oldest(VecDeque<(u64, u32)>);

impl Oldest {
    /// The oldest slot with its tick.
    pub fn first(&mut self, slab: &Slab) -> Option<(u64, u32)> {
        if slab.used() == 0 {
            return None;
        }
        loop {
            while let Some(&(tick, slot)) = self.0.front() {
                if slab.holds(slot) && tick_of(slab.get(slot)) == tick {
                    return Some((tick, slot));
                }
                self.0.pop_front();
            }
            let mut all: Vec<(u64, u32)> = used(slab).map(|slot| (tick_of(slab.get(slot)), slot)).collect();
            let last = all.len().checked_sub(1)?;
            let few = (all.len() / LISTED).max(1).min(last);
            all.select_nth_unstable(few);
            all.truncate(few.max(1));
            all.sort_unstable();
            self.0 = all.into();
        }
    }

    /// After ticks are used again, or a slot was filled with an older model.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The slots in use.
pub fn used(slab: &Slab) -> impl Iterator<Item = u32> + '_ {
    slab.each().filter(|(_, words)| tick_of(words) > 0).map(|(slot, _)| slot)
}
