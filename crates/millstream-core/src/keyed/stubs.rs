//! What stays in memory of the models that are in the spill file: their headers, and where their states lie.

use super::header::{clear, Header, HEADER};
use super::oldest::{self, Oldest};
use super::slab::Slab;
use super::spill::SpillPlace;

/// A header, and the words of a `SpillPlace` of which the first also has the number of the form.
const WORDS: usize = HEADER + 2;

pub struct Stubs {
    slab: Slab,
    oldest: Oldest,
}

impl Default for Stubs {
    fn default() -> Self {
        Stubs { slab: Slab::new(WORDS), oldest: Oldest::default() }
    }
}

impl Stubs {
    pub fn used(&self) -> usize {
        self.slab.used()
    }

    pub fn memory(&self) -> usize {
        self.slab.memory()
    }

    /// See `Form::charge`.
    pub fn charge(&self) -> usize {
        self.slab.charge(self.used())
    }

    #[inline]
    pub fn prefetch(&self, slot: u32) {
        self.slab.prefetch(slot);
    }

    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        oldest::used(&self.slab)
    }

    #[inline]
    pub fn words(&self, slot: u32) -> &[u64] {
        self.slab.get(slot)
    }

    pub fn header(&self, slot: u32) -> Header {
        Header::read(self.slab.get(slot))
    }

    /// The form of a model, and where its state lies.
    pub fn place(&self, slot: u32) -> (usize, SpillPlace) {
        let words = &self.slab.get(slot)[HEADER..];
        ((words[0] >> 32) as usize, SpillPlace::of(words))
    }

    pub fn add(&mut self, header: &Header, form: usize, place: SpillPlace) -> u32 {
        let slot = self.slab.take();
        let words = self.slab.get_mut(slot);
        header.write(words);
        words[HEADER..].copy_from_slice(&place.words());
        words[HEADER] |= (form as u64) << 32;
        slot
    }

    /// Set the tick of a stub, which is then not listed among the oldest.
    pub fn set_tick(&mut self, slot: u32, tick: u64) {
        let words = self.slab.get_mut(slot);
        let header = Header { tick, ..Header::read(words) };
        header.write(words);
    }

    /// The forms have new numbers.
    pub fn renumber(&mut self, new: &[Option<u32>]) {
        let slots: Vec<u32> = self.slots().collect();
        for slot in slots {
            let word = &mut self.slab.get_mut(slot)[HEADER];
            if let Some(Some(form)) = new.get((*word >> 32) as usize) {
                *word = *word & u64::from(u32::MAX) | u64::from(*form) << 32;
            }
        }
    }

    /// The model that learned least recently, with its tick.
    pub fn oldest(&mut self) -> Option<(u64, u32)> {
        self.oldest.first(&self.slab)
    }

    pub fn forget_oldest(&mut self) {
        self.oldest.clear();
    }

    pub fn release(&mut self, slot: u32) {
        clear(self.slab.get_mut(slot));
        self.slab.give(slot);
    }

    pub fn is_sparse(&self) -> bool {
        self.slab.is_sparse()
    }

    /// Move all stubs together; `moved` receives the key, the old and the new slot of each.
    pub fn compact(&mut self, mut moved: impl FnMut(u64, u32, u32)) {
        let fresh = self.slab.fresh();
        let old = std::mem::replace(&mut self.slab, fresh);
        self.oldest.clear();
        for slot in oldest::used(&old) {
            let new = self.slab.take();
            self.slab.get_mut(new).copy_from_slice(old.get(slot));
            moved(old.get(slot)[0], slot, new);
        }
    }
}
