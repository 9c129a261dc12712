//! The models of some keys: found by key, created, changed, asked, evicted, and returned to a savepoint.

use rustc_hash::FxHashSet;

use crate::fault::Result;
use crate::held::{Held, Holdable};
use crate::key::Key;

use super::form::{Form, State};
use super::header::Header;
use super::index::{Index, Place};
use super::key::{self, OwnedKey};
use super::texts::Texts;
use super::{Counters, Limits};

/// Up to this number of forms, empty ones are kept for models to come.
const FEW_FORMS: usize = 32;

/// How many more keys than there are may be removed between two dumps, if the second is to be a delta.
const MANY_REMOVED: usize = 1 << 12;

pub struct Store<P: Holdable> {
    limits: Limits,
    /// Whether keys are texts, and not integers.
    has_texts: bool,
    index: Index,
    forms: Vec<Form<P>>,
    texts: Texts,
    /// Number of examples learned.
    tick: u64,
    /// The largest time so far.
    clock: f64,
    counters: Counters,
    /// The dump that is to come, and the keys that were removed since the last one, if there was one.
    epoch: u32,
    removed: Vec<OwnedKey>,
    records_removed: bool,
    savepoint: Option<Savepoint<P>>,
    /// The buffer of the last savepoint.
    spare_words: Vec<u64>,
    /// The tick at which models were last checked for their age.
    swept: u64,
    /// Above this number of forms, empty ones are dropped.
    most_forms: usize,
}

/// What leads back to the state before a batch.
struct Savepoint<P> {
    tick: u64,
    clock: f64,
    counters: Counters,
    removed: usize,
    former: Vec<Former<P>>,
    /// The words of former states, one after the other.
    words: Vec<u64>,
    /// The numbers of the texts of remembered keys, which are needed for the return.
    texts: FxHashSet<u64>,
    /// Those of keys that were removed, which are kept until the changes are.
    removed_texts: Vec<u64>,
}

/// A key that was there at the savepoint and was changed or removed since.
struct Former<P> {
    hash: u64,
    state: FormerState<P>,
}

enum FormerState<P> {
    /// Its words lie from `start` on.
    Words {
        form: u32,
        start: usize,
    },
    Component {
        form: u32,
        header: Header,
        component: Box<P>,
    },
}

impl<P: Holdable> Store<P> {
    pub fn new(limits: Limits) -> Self {
        Store {
            limits,
            has_texts: false,
            index: Index::default(),
            forms: Vec::new(),
            texts: Texts::default(),
            tick: 0,
            clock: f64::NEG_INFINITY,
            counters: Counters::default(),
            epoch: 1,
            removed: Vec::new(),
            records_removed: false,
            savepoint: None,
            spare_words: Vec::new(),
            swept: 0,
            most_forms: FEW_FORMS,
        }
    }

    /// All keys are texts from now on, or all are integers. Before the first key.
    pub fn set_texts(&mut self, texts: bool) {
        self.has_texts = texts;
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.len() == 0
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.index.memory() + self.texts.memory() + self.forms.iter().map(Form::memory).sum::<usize>()
    }

    /// Number of models by form, and whether their states are words.
    pub fn forms(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.forms.iter().map(|form| (form.used(), form.is_compact()))
    }

    #[inline]
    pub fn prefetch_key(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    #[inline]
    pub fn prefetch_model(&self, hash: u64) {
        if let Some(place) = self.index.find(hash, |_| true) {
            self.forms[place.form()].prefetch(place.slot());
        }
    }

    #[inline]
    fn find(&self, hash: u64, key: Key<'_>) -> Option<Place> {
        self.index.find(hash, |place| {
            let word = self.forms[place.form()].key(place.slot());
            match key {
                Key::Int(int) => word == int as u64,
                Key::Text(text) => self.texts.get(word) == text,
                Key::Missing | Key::Float(_) => false,
            }
        })
    }

    fn key_of(&self, header: &Header) -> Key<'_> {
        match self.has_texts {
            true => Key::Text(self.texts.get(header.key)),
            false => Key::Int(header.key as i64),
        }
    }

    fn owned_key(&self, header: &Header) -> OwnedKey {
        OwnedKey::of(self.key_of(header))
    }

    fn header(&self, place: Place) -> Header {
        self.forms[place.form()].header(place.slot())
    }

    #[inline]
    fn is_expired(&self, header: &Header, now: f64) -> bool {
        self.limits.ttl < f64::INFINITY && now - header.time > self.limits.ttl
    }

    /// Let the model of a key learn at a time, NaN for none; `now` is the largest time so far, of all keys. A new key begins
    /// with a copy of `prior`. `work` receives the number of the model's form, none for a new one, and returns a result and the error or score of a
    /// prediction. After a fault everything is as before.
    #[inline]
    pub fn change<R>(
        &mut self,
        (hash, key): (u64, Key<'_>),
        (time, now): (f64, f64),
        prior: &Held<P>,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        let place = self.find(hash, key);
        let header = place.map(|place| self.header(place));
        let changed = match (place, header) {
            (Some(place), Some(header)) if !self.is_expired(&header, now) => {
                self.change_known(hash, place, header, time, work)
            }
            (place, _) => self.create((hash, key), time, place, prior, work),
        };
        if changed.is_ok() {
            self.clock = self.clock.max(now);
        }
        changed
    }

    #[inline]
    fn change_known<R>(
        &mut self,
        hash: u64,
        place: Place,
        mut header: Header,
        time: f64,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        let before = self.remember(hash, place, &header);
        self.mark(&mut header, time);
        let changed =
            self.forms[place.form()].change(place.slot(), &mut header, |model| work(Some(place.form()), model));
        if let (Err(_), Some(words)) = (&changed, before) {
            self.unremember(words, header.key);
        }
        let (result, moved) = changed?;
        self.tick += 1;
        if let Some(model) = moved {
            // First, so that its old slot cannot be evicted.
            self.release(place);
            let settled = self.settle(model, &header);
            self.index.replace(hash, place, settled);
        }
        if self.limits.max_bytes < usize::MAX && !self.forms[place.form()].is_compact() {
            self.keep_within_bytes(0);
        }
        Ok(result)
    }

    /// The next example of a model.
    #[inline]
    fn mark(&self, header: &mut Header, time: f64) {
        header.tick = self.tick + 1;
        header.epoch = self.epoch;
        // A late example does not make a model older.
        header.time = header.time.max(time);
    }

    /// Begin a model with its first example. `expired` is the place of a former one.
    #[inline(never)]
    fn create<R>(
        &mut self,
        (hash, key): (u64, Key<'_>),
        time: f64,
        expired: Option<Place>,
        prior: &Held<P>,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        let mut model = Box::new(prior.clone());
        let (result, error) = work(None, &mut model)?;
        match expired {
            Some(place) => {
                self.remove(hash, place);
                self.counters.expired += 1;
            }
            None => while self.index.len() >= self.limits.max_keys.max(1) && self.evict(None) {},
        }
        let mut header = Header { time: f64::NAN, count: model.count, ..Header::default() };
        header.score(error);
        self.mark(&mut header, time);
        self.tick += 1;
        header.key = match key {
            Key::Text(text) => self.texts.add(text),
            Key::Int(int) => int as u64,
            Key::Missing | Key::Float(_) => 0,
        };
        let place = self.settle(model, &header);
        self.index.insert(hash, place);
        self.counters.created += 1;
        if self.limits.max_bytes < usize::MAX {
            self.keep_within_bytes(0);
        }
        Ok(result)
    }

    /// Store a model in a slot of its form.
    fn settle(&mut self, mut model: Box<Held<P>>, header: &Header) -> Place {
        let form = self.form_of(&mut model);
        if self.limits.max_bytes < usize::MAX {
            self.make_room(form);
        }
        let slot = self.forms[form].add(header, model);
        Place::new(form as u32, slot)
    }

    /// Evict models until another one of a form fits.
    fn make_room(&mut self, form: usize) {
        loop {
            let index = if self.index.is_full() { self.index.memory() } else { 0 };
            let growth = self.forms[form].growth() + index;
            if self.memory() + growth <= self.limits.max_bytes {
                return;
            }
            // A slot of the same form is free at once, while the memory of other forms is not.
            let more = growth > 0 || self.has_texts;
            if !(more && self.evict(Some(form))) {
                return self.keep_within_bytes(growth);
            }
        }
    }

    /// Evict components until the memory fits. Words give no memory back. Components are measured now and then, so some
    /// room is left for their growth until the next time.
    fn keep_within_bytes(&mut self, more: usize) {
        let most = self.limits.max_bytes - self.limits.max_bytes / 32;
        while self.forms.iter().any(|form| !form.is_compact() && form.used() > 0)
            && self.index.len() > 1
            && self.memory() + more > most
            && self.evict(None)
        {}
    }

    /// Evict the model that learned least recently, of all or of one form; false if there is none.
    fn evict(&mut self, of: Option<usize>) -> bool {
        let all = of.map_or(0..self.forms.len(), |form| form..form + 1);
        let oldest = all.filter_map(|form| self.forms[form].oldest().map(|(tick, slot)| (tick, form, slot))).min();
        let Some((_, form, slot)) = oldest else { return false };
        let place = Place::new(form as u32, slot);
        let hash = key::hash(self.key_of(&self.header(place)));
        self.remove(hash, place);
        self.counters.dropped += 1;
        true
    }

    /// Forget the model at a place.
    fn remove(&mut self, hash: u64, place: Place) {
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
        if self.has_texts {
            match &mut self.savepoint {
                Some(savepoint) if savepoint.texts.contains(&header.key) => {
                    savepoint.removed_texts.push(header.key);
                }
                _ => self.texts.remove(header.key),
            }
        }
        self.detach(hash, place);
    }

    /// Free the place of a model; the text of its key stays.
    fn detach(&mut self, hash: u64, place: Place) {
        self.index.remove(hash, place);
        self.release(place);
    }

    /// Free the slot of a model that is no longer found there.
    fn release(&mut self, place: Place) {
        let Store { forms, index, texts, has_texts, .. } = self;
        let form = place.form();
        forms[form].release(place.slot());
        forms[form].compact(|key, old, new| {
            let key = if *has_texts { Key::Text(texts.get(key)) } else { Key::Int(key as i64) };
            index.replace(key::hash(key), Place::new(form as u32, old), Place::new(form as u32, new));
        });
    }

    /// Forget a key; false if it is unknown.
    pub fn drop_key(&mut self, hash: u64, key: Key<'_>) -> bool {
        let place = self.find(hash, key);
        if let Some(place) = place {
            self.remove(hash, place);
        }
        place.is_some()
    }

    /// Forget the models whose last example is older than `ttl`. Without this, an expired model is replaced when its key
    /// comes again, and otherwise takes memory.
    pub fn sweep(&mut self, now: f64) {
        self.swept = self.tick;
        let mut expired = Vec::new();
        for (form, models) in self.forms.iter().enumerate() {
            expired.extend(
                models
                    .slots()
                    .map(|slot| Place::new(form as u32, slot))
                    .filter(|&place| self.is_expired(&self.header(place), now)),
            );
        }
        for place in expired {
            let hash = key::hash(self.key_of(&self.header(place)));
            self.remove(hash, place);
            self.counters.expired += 1;
        }
    }

    /// Between batches: drop empty forms, and `sweep` about once as many examples were learned as there are models. Forms
    /// keep their numbers during a batch, because rows are read by form.
    pub fn tidy(&mut self) {
        self.drop_empty_forms();
        if self.limits.ttl < f64::INFINITY && self.tick - self.swept > self.index.len() as u64 + 1024 {
            self.sweep(self.clock);
        }
    }

    /// Keep the former state of a model that is changed or removed for the first time since the savepoint; then the number
    /// of words kept before is returned, for `unremember`.
    #[inline]
    fn remember(&mut self, hash: u64, place: Place, header: &Header) -> Option<usize> {
        let savepoint = self.savepoint.as_mut()?;
        let words = savepoint.words.len();
        // A later one was created or remembered since.
        if header.tick <= savepoint.tick {
            let form = place.form() as u32;
            let state = match self.forms[place.form()].state(place.slot()) {
                State::Words(words) => {
                    let start = savepoint.words.len();
                    savepoint.words.extend_from_slice(words);
                    FormerState::Words { form, start }
                }
                State::Component(component) => FormerState::Component { form, header: *header, component },
            };
            savepoint.former.push(Former { hash, state });
            if self.has_texts {
                savepoint.texts.insert(header.key);
            }
            return Some(words);
        }
        None
    }

    /// The model that was remembered last was not changed.
    fn unremember(&mut self, words: usize, key: u64) {
        if let Some(savepoint) = &mut self.savepoint {
            savepoint.former.pop();
            savepoint.words.truncate(words);
            savepoint.texts.remove(&key);
        }
    }

    /// Drop the forms without models, if there are many: a stream may meet new features for ever.
    fn drop_empty_forms(&mut self) {
        if self.savepoint.is_some() || self.forms.len() <= self.most_forms {
            return;
        }
        let Store { forms, index, texts, has_texts, .. } = self;
        let old = std::mem::take(forms);
        for (number, form) in old.into_iter().enumerate().filter(|(_, form)| form.used() > 0) {
            let new = forms.len() as u32;
            for slot in form.slots().filter(|_| new != number as u32) {
                let word = form.key(slot);
                let key = if *has_texts { Key::Text(texts.get(word)) } else { Key::Int(word as i64) };
                index.replace(key::hash(key), Place::new(number as u32, slot), Place::new(new, slot));
            }
            forms.push(form);
        }
        self.most_forms = (2 * self.forms.len()).max(FEW_FORMS);
    }

    /// Start recording changes for a return to this state.
    pub fn savepoint(&mut self) {
        let mut words = std::mem::take(&mut self.spare_words);
        words.clear();
        self.savepoint = Some(Savepoint {
            tick: self.tick,
            clock: self.clock,
            counters: self.counters,
            removed: self.removed.len(),
            former: Vec::new(),
            words,
            texts: FxHashSet::default(),
            removed_texts: Vec::new(),
        });
    }

    /// Keep the changes.
    pub fn commit(&mut self) {
        if let Some(savepoint) = self.savepoint.take() {
            savepoint.removed_texts.into_iter().for_each(|text| self.texts.remove(text));
            self.spare_words = savepoint.words;
        }
    }

    /// Return to the savepoint.
    pub fn rollback(&mut self) {
        let Some(savepoint) = self.savepoint.take() else { return };
        // What has learned since is replaced, or was created.
        let mut changed = Vec::new();
        for (form, models) in self.forms.iter().enumerate() {
            let slots = models.slots().filter(|&slot| models.header(slot).tick > savepoint.tick);
            changed.extend(slots.map(|slot| (Place::new(form as u32, slot), models.header(slot))));
        }
        // Slots are freed at the end, because models may move when one is.
        for (place, header) in &changed {
            let hash = key::hash(self.key_of(header));
            self.index.remove(hash, *place);
            if self.has_texts && !savepoint.texts.contains(&header.key) {
                self.texts.remove(header.key);
            }
        }
        changed.iter().for_each(|(place, _)| self.forms[place.form()].release(place.slot()));
        for Former { hash, state } in savepoint.former {
            let (form, slot) = match state {
                FormerState::Words { form, start } => {
                    (form, self.forms[form as usize].restore_words(&savepoint.words[start..]))
                }
                FormerState::Component { form, header, component } => {
                    (form, self.forms[form as usize].restore_component(&header, *component))
                }
            };
            self.index.insert(hash, Place::new(form, slot));
        }
        (self.tick, self.clock, self.counters) = (savepoint.tick, savepoint.clock, savepoint.counters);
        self.swept = self.swept.min(self.tick);
        self.removed.truncate(savepoint.removed);
        // Ticks are used again.
        self.forms.iter_mut().for_each(Form::forget_oldest);
        self.spare_words = savepoint.words;
    }

    /// Ask the model of a key, of which `work` receives the form too; none if it is unknown or expired.
    pub fn ask<R>(&self, hash: u64, key: Key<'_>, now: f64, work: impl FnOnce(usize, &Held<P>) -> R) -> Option<R> {
        let place = self.find(hash, key)?;
        if self.is_expired(&self.header(place), now) {
            return None;
        }
        Some(self.forms[place.form()].ask(place.slot(), |model| work(place.form(), model)))
    }

    /// Facts about a key.
    pub fn facts(&self, hash: u64, key: Key<'_>, now: f64) -> Option<Header> {
        self.find(hash, key).map(|place| self.header(place)).filter(|header| !self.is_expired(header, now))
    }

    /// Replace or add the model of a key.
    pub fn put(&mut self, key: &OwnedKey, model: Held<P>, now: f64) {
        let hash = key.hash();
        if let Some(place) = self.find(hash, key.key()) {
            self.remove(hash, place);
        } else {
            while self.index.len() >= self.limits.max_keys.max(1) && self.evict(None) {}
        }
        let time = if now.is_finite() { now } else { f64::NAN };
        let mut header = Header { time, count: model.count, ..Header::default() };
        self.mark(&mut header, f64::NAN);
        self.tick += 1;
        header.key = self.word_of(key);
        let place = self.settle(Box::new(model), &header);
        self.index.insert(hash, place);
        self.counters.created += 1;
    }

    // For dumps.

    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub fn has_texts(&self) -> bool {
        self.has_texts
    }

    pub fn text(&self, number: u64) -> &str {
        self.texts.get(number)
    }

    /// The tick and the largest time so far.
    pub fn clocks(&self) -> (u64, f64) {
        (self.tick, self.clock)
    }

    pub fn set_clocks(&mut self, tick: u64, clock: f64, counters: Counters, epoch: u32) {
        (self.tick, self.clock, self.counters, self.epoch) = (tick, clock, counters, epoch);
        (self.removed, self.records_removed) = (Vec::new(), true);
    }

    /// The keys that were removed since the last dump.
    pub fn removed(&self) -> &[OwnedKey] {
        &self.removed
    }

    /// Whether the changes since the last dump are known.
    pub fn knows_changes(&self) -> bool {
        self.records_removed
    }

    pub fn forget_changes(&mut self) {
        (self.removed, self.records_removed) = (Vec::new(), false);
    }

    /// Changes from now on belong to the next dump.
    pub fn next_epoch(&mut self) {
        self.epoch += 1;
        self.removed = Vec::new();
        self.records_removed = true;
    }

    pub fn all_forms(&self) -> &[Form<P>] {
        &self.forms
    }

    pub fn form_mut(&mut self, form: usize) -> &mut Form<P> {
        &mut self.forms[form]
    }

    /// The number of the form of a model, which is new if there is none.
    pub fn form_of(&mut self, model: &mut Held<P>) -> usize {
        let measure = Form::measure_of(model);
        match self.forms.iter().position(|form| form.fits(model, measure)) {
            Some(form) => form,
            None => {
                self.forms.push(Form::of(model));
                self.forms.len() - 1
            }
        }
    }

    /// The word of a new key in its header.
    pub fn word_of(&mut self, key: &OwnedKey) -> u64 {
        match key {
            OwnedKey::Text(text) => self.texts.add(text),
            OwnedKey::Int(int) => *int as u64,
        }
    }

    pub fn insert(&mut self, hash: u64, place: Place) {
        self.index.insert(hash, place);
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

    /// All keys with the facts about them, in no particular order.
    pub fn each(&self, now: f64) -> impl Iterator<Item = (OwnedKey, Header)> + '_ {
        self.forms
            .iter()
            .flat_map(|form| form.slots().map(|slot| form.header(slot)))
            .filter(move |header| !self.is_expired(header, now))
            .map(|header| (self.owned_key(&header), header))
    }
}
