//! Models leave memory: evicted, spilled, expired or removed.
//!
//! What is evicted depends on the sequence of examples only: on ticks, times and on charges (see `Form::charge`), and not on
//! the memory that happens to be free.

use crate::fault::{Fault, Result};
use crate::held::Holdable;
use crate::key::Key;

use super::form::Form;
use super::index::Place;
use super::key::{self, OwnedKey};
use super::spill::SpillPlace;
use super::store::{key_charge, Store, FEW_FORMS};

/// How many more keys than there are may be removed between two dumps, if the second is to be a delta.
const MANY_REMOVED: usize = 1 << 12;

/// This part of `max_bytes` is left for free slots, and for what is not charged.
const MARGIN: usize = 16;

impl<P: Holdable> Store<P> {
    /// The largest charge of all models.
    #[inline]
    pub(super) fn most_charged(&self) -> usize {
        match self.limits.max_bytes {
            usize::MAX => usize::MAX,
            bytes => bytes - bytes / MARGIN,
        }
    }

    /// Change a form, and charge what it takes then.
    pub(super) fn with_form<R>(&mut self, form: usize, work: impl FnOnce(&mut Form<P>) -> R) -> R {
        let form = &mut self.forms[form];
        let (charge, free) = (form.charge(), form.free_bytes());
        let result = work(form);
        self.charged = self.charged + form.charge() - charge;
        self.free = self.free + form.free_bytes() - free;
        result
    }

    /// Evict models until `more` fits, which may depend on what was evicted. At least one model stays.
    pub(super) fn make_room(&mut self, now: f64, more: impl Fn(&Self) -> usize) -> Result<()> {
        let most = self.most_charged();
        if self.charged.saturating_add(more(self)) <= most {
            return Ok(());
        }
        self.expire(now);
        while self.index.len() > 1 && self.charged.saturating_add(more(self)) > most && self.evict()? {}
        Ok(())
    }

    /// Drop models until there is room for another key.
    pub(super) fn make_room_for_key(&mut self, now: f64) {
        let most = self.limits.max_keys.max(1);
        if self.index.len() >= most {
            self.expire(now);
        }
        while self.index.len() >= most && self.drop_oldest(true) {}
    }

    /// Spill or drop the model that learned least recently; false if there is none.
    fn evict(&mut self) -> Result<bool> {
        if self.spill.is_none() {
            return Ok(self.drop_oldest(true));
        }
        // Otherwise stubs could leave no room for models.
        let stubs_charge = self.stubs.charge() + self.stubs.used() * key_charge(Key::Int(0));
        if stubs_charge > self.most_charged() / 2 {
            return Ok(self.drop_oldest(false));
        }
        match self.oldest_resident() {
            Some((_, form, slot)) => self.spill_out(form, slot).map(|()| true),
            None => Ok(self.drop_oldest(false)),
        }
    }

    fn oldest_resident(&mut self) -> Option<(u64, usize, u32)> {
        let forms = self.forms.iter_mut().enumerate();
        forms.filter_map(|(number, form)| form.oldest().map(|(tick, slot)| (tick, number, slot))).min()
    }

    /// Drop the model that learned least recently: of all, or of those in the spill file.
    fn drop_oldest(&mut self, of_all: bool) -> bool {
        let resident = if of_all { self.oldest_resident() } else { None };
        let resident = resident.map(|(tick, form, slot)| (tick, Place::new(form as u32, slot)));
        let stub = self.stubs.oldest().map(|(tick, slot)| (tick, Place::spilled(slot)));
        let oldest = resident.into_iter().chain(stub).min_by_key(|(tick, _)| *tick);
        let Some((_, place)) = oldest else { return false };
        let hash = self.hash_of(&self.header(place));
        self.remove(hash, place);
        self.counters.dropped += 1;
        true
    }

    /// Write a model to the spill file.
    fn spill_out(&mut self, form: usize, slot: u32) -> Result<()> {
        let header = self.forms[form].header(slot);
        let hash = self.hash_of(&header);
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let place = match self.forms[form].saved_component(slot) {
            Some(saved) => spill.put(&saved?)?,
            None => {
                let mut buffers = spill.take_buffers();
                buffers.bytes.clear();
                let words = self.forms[form].state_words(slot);
                words.iter().for_each(|word| buffers.bytes.extend_from_slice(&word.to_le_bytes()));
                let put = spill.put(&buffers.bytes);
                spill.give_buffers(buffers);
                put?
            }
        };
        let stub = self.with_stubs(|stubs| stubs.add(&header, form, place));
        if header.tick < self.newest_stub {
            self.stubs.forget_oldest();
        }
        self.newest_stub = self.newest_stub.max(header.tick);
        self.index.replace(hash, Place::new(form as u32, slot), Place::spilled(stub));
        self.with_form(form, |form| form.spilled += 1);
        self.release(Place::new(form as u32, slot));
        self.counters.spilled += 1;
        Ok(())
    }

    fn with_stubs<R>(&mut self, work: impl FnOnce(&mut super::stubs::Stubs) -> R) -> R {
        let charge = self.stubs.charge();
        let result = work(&mut self.stubs);
        self.charged = self.charged + self.stubs.charge() - charge;
        result
    }

    /// Read a model back from the spill file; returns its place in memory.
    #[inline(never)]
    pub(super) fn bring_back(&mut self, hash: u64, place: Place, now: f64) -> Result<Place> {
        let header = self.stubs.header(place.slot());
        let (number, at) = self.stubs.place(place.slot());
        // Room is made at the cost of others: this one is not the oldest meanwhile.
        self.stubs.set_tick(place.slot(), u64::MAX);
        let room = self.make_room(now, |store| store.forms[number].next_charge());
        if self.find_word(hash, header.key) != Some(place) {
            return Err(Fault::state("compose.Keyed: memory is too short for one model"));
        }
        self.stubs.set_tick(place.slot(), header.tick);
        let returned = room.and_then(|()| self.read_back(hash, place, number, at));
        if returned.is_err() {
            // It may be the oldest again, and is not listed.
            self.stubs.forget_oldest();
        }
        returned
    }

    /// Load the state in a slot of the file into memory.
    fn read_back(&mut self, hash: u64, place: Place, number: usize, at: SpillPlace) -> Result<Place> {
        let header = self.stubs.header(place.slot());
        let Store { forms, spill: Some(spill), charged, free, .. } = self else { return Ok(place) };
        let form = &mut forms[number];
        let before = (form.charge(), form.free_bytes());
        let slot = spill.with(at, |buffers| match form.is_compact() {
            true => Ok(form.restore(&header, &buffers.words)),
            false => {
                let component = form.component_of(&buffers.bytes)?;
                Ok(form.restore_component(&header, component))
            }
        })?;
        form.spilled -= 1;
        spill.release(at);
        *charged = *charged + form.charge() - before.0;
        *free = *free + form.free_bytes() - before.1;
        self.with_stubs(|stubs| stubs.release(place.slot()));
        let new = Place::new(number as u32, slot);
        self.index.replace(hash, place, new);
        self.counters.returned += 1;
        Ok(new)
    }

    /// Add a stub for a state that is still in the file.
    pub(super) fn restore_stub(&mut self, header: &super::header::Header, form: usize, at: SpillPlace) -> Place {
        Place::spilled(self.with_stubs(|stubs| stubs.add(header, form, at)))
    }

    /// Remove the models that have expired, before others are evicted: it must make no difference whether they were
    /// removed before.
    fn expire(&mut self, now: f64) {
        let ttl = self.limits.ttl;
        if ttl == f64::INFINITY {
            return;
        }
        let is_expired = |time: f64| now - time > ttl;
        loop {
            while let Some((time, (hash, word))) = self.ages.pop(is_expired) {
                let place = self.find_word(hash, word);
                if let Some(place) = place.filter(|&place| self.header(place).time.to_bits() == time.to_bits()) {
                    self.remove(hash, place);
                    self.counters.expired += 1;
                }
            }
            if self.is_empty() || !self.ages.is_short(is_expired) {
                return;
            }
            let all = self.headers().map(|header| (header.time, self.hash_of(&header), header.key)).collect();
            self.ages.scan(all, now);
        }
    }

    /// Forget the models whose last example is older than `ttl`. Without this, an expired model is replaced when its key
    /// comes again, and otherwise takes memory.
    pub fn sweep(&mut self, now: f64) {
        self.unswept = 0;
        let expired = self.headers().filter(|header| self.is_expired(header, now));
        let expired: Vec<(u64, u64)> = expired.map(|header| (self.hash_of(&header), header.key)).collect();
        for (hash, word) in expired {
            if let Some(place) = self.find_word(hash, word) {
                self.remove(hash, place);
                self.counters.expired += 1;
            }
        }
    }

    /// Between batches: drop empty forms, and `sweep` about once as many examples were learned as there are models. Forms
    /// keep their numbers during a batch, because rows are read by form.
    pub fn tidy(&mut self) {
        self.drop_empty_forms();
        if self.limits.ttl < f64::INFINITY && self.unswept > self.index.len() + 1024 {
            self.sweep(self.clock);
        }
        if self.stubs.is_sparse() {
            let Store { stubs, index, texts, has_texts, .. } = self;
            stubs.compact(|key, old, new| {
                let key = if *has_texts { Key::Text(texts.get(key)) } else { Key::Int(key as i64) };
                index.replace(key::hash(key), Place::spilled(old), Place::spilled(new));
            });
        }
    }

    /// Forget the model at a place.
    pub(super) fn remove(&mut self, hash: u64, place: Place) {
        let header = self.header(place);
        self.remember(hash, place, &header);
        if self.records_removed {
            let key = self.owned_key(&header);
            self.removed.push(key);
            // A full dump is smaller then.
            if self.removed.len() > self.index.len() + MANY_REMOVED {
                self.forget_changes();
            }
        }
        self.detach(hash, place);
        if self.has_texts {
            let kept = self.savepoint.as_mut().is_some_and(|savepoint| savepoint.keeps_text(header.key));
            if !kept {
                self.texts.remove(header.key);
            }
        }
    }

    /// Add the place of a key to the index.
    pub(super) fn insert(&mut self, hash: u64, place: Place, key: Key<'_>) {
        self.charged += key_charge(key);
        self.index.insert(hash, place);
    }

    /// Free the place of a model; the text of its key stays.
    pub(super) fn detach(&mut self, hash: u64, place: Place) {
        let charge = key_charge(self.key_of(&self.header(place)));
        self.charged -= charge;
        self.index.remove(hash, place);
        self.release(place);
    }

    /// Free the slot of a model that is no longer found there.
    pub(super) fn release(&mut self, place: Place) {
        if place.is_spilled() {
            return self.release_stub(place.slot());
        }
        let number = place.form();
        self.with_form(number, |form| form.release(place.slot()));
        if self.forms[number].is_sparse() {
            self.compact(number);
        } else if self.limits.max_bytes < usize::MAX && self.free > self.limits.max_bytes / MARGIN {
            let forms = self.forms.iter().enumerate();
            if let Some((number, _)) = forms.max_by_key(|(_, form)| form.free_bytes()) {
                self.compact(number);
            }
        }
    }

    /// Free a stub, and its slot in the file unless it may be needed for a return to the savepoint.
    fn release_stub(&mut self, slot: u32) {
        let header = self.stubs.header(slot);
        let (form, at) = self.stubs.place(slot);
        self.with_form(form, |form| form.spilled -= 1);
        self.with_stubs(|stubs| stubs.release(slot));
        match &mut self.savepoint {
            Some(savepoint) if header.tick <= savepoint.tick => savepoint.removed_stubs.push(at),
            _ => {
                if let Some(spill) = &mut self.spill {
                    spill.release(at);
                }
            }
        }
    }

    /// Move the models of a form together.
    fn compact(&mut self, number: usize) {
        let Store { forms, index, texts, has_texts, free, .. } = self;
        let form = &mut forms[number];
        let before = form.free_bytes();
        form.compact(|key, old, new| {
            let key = if *has_texts { Key::Text(texts.get(key)) } else { Key::Int(key as i64) };
            index.replace(key::hash(key), Place::new(number as u32, old), Place::new(number as u32, new));
        });
        *free = *free + form.free_bytes() - before;
    }

    /// Drop the forms without models, if there are many: a stream may meet new features for ever.
    fn drop_empty_forms(&mut self) {
        if self.savepoint.is_some() || self.forms.len() <= self.most_forms {
            return;
        }
        let Store { forms, index, texts, has_texts, stubs, free, .. } = self;
        let old = std::mem::take(forms);
        let mut numbers = Vec::with_capacity(old.len());
        for (number, form) in old.into_iter().enumerate() {
            if form.is_unused() {
                *free -= form.free_bytes();
                numbers.push(None);
                continue;
            }
            let new = forms.len() as u32;
            numbers.push(Some(new));
            for slot in form.slots().filter(|_| new != number as u32) {
                let word = form.key(slot);
                let key = if *has_texts { Key::Text(texts.get(word)) } else { Key::Int(word as i64) };
                index.replace(key::hash(key), Place::new(number as u32, slot), Place::new(new, slot));
            }
            forms.push(form);
        }
        stubs.renumber(&numbers);
        self.most_forms = (2 * self.forms.len()).max(FEW_FORMS);
    }

    /// Remove a key without a trace.
    pub fn forget(&mut self, key: &OwnedKey) {
        let hash = key.hash();
        if let Some(place) = self.find(hash, key.key()) {
            let word = self.header(place).key;
            self.detach(hash, place);
            if self.has_texts {
                self.texts.remove(word);
            }
        }
    }

    /// Evict models until the limit on bytes is obeyed, without raising a fault of the spill file.
    pub(super) fn shrink(&mut self) {
        let _ = self.make_room(self.clock, |_| 0);
    }
}
