//! The models of some keys: found by key, created, changed and asked. `room` evicts them, and `savepoint` restores them.

use crate::fault::{Fault, Result};
use crate::held::{Held, Holdable};
use crate::key::Key;

use super::ages::Ages;
use super::form::Form;
use super::header::Header;
use super::index::{Index, Place};
use super::key::{self, OwnedKey, ShownKey};
use super::savepoint::Savepoint;
use super::spill::Spill;
use super::stubs::Stubs;
use super::texts::Texts;
use super::{Counters, Limits};

/// Up to this number of forms, empty ones are kept for models to come.
pub const FEW_FORMS: usize = 32;

/// When an example is learned.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The number of the example among all of all keys.
    pub tick: u64,
    /// Its time, NaN for none.
    pub time: f64,
    /// The largest time so far, of all keys.
    pub now: f64,
}

pub struct Store<P: Holdable> {
    pub(super) limits: Limits,
    /// Whether keys are texts, and not integers.
    pub(super) has_texts: bool,
    pub(super) index: Index,
    pub(super) forms: Vec<Form<P>>,
    pub(super) stubs: Stubs,
    pub(super) spill: Option<Spill>,
    pub(super) texts: Texts,
    /// The tick of the last example.
    pub(super) tick: u64,
    /// The largest time so far.
    pub(super) clock: f64,
    pub(super) counters: Counters,
    /// The bytes that all models count for: see `Form::charge`.
    pub(super) charged: usize,
    /// The memory of free slots of all forms.
    pub(super) free: usize,
    pub(super) ages: Ages,
    /// The largest tick of a stub.
    pub(super) newest_stub: u64,
    /// The dump that is to come, and the keys that were removed since the last one, if there was one.
    pub(super) epoch: u32,
    pub(super) removed: Vec<OwnedKey>,
    pub(super) records_removed: bool,
    pub(super) savepoint: Option<Savepoint<P>>,
    /// The buffer of the last savepoint.
    pub(super) spare_words: Vec<u64>,
    /// Number of examples since models were last checked for their age.
    pub(super) unswept: usize,
    /// Above this number of forms, empty ones are dropped.
    pub(super) most_forms: usize,
}

impl<P: Holdable> Store<P> {
    pub fn new(limits: Limits, spill: Option<Spill>) -> Self {
        Store {
            limits,
            has_texts: false,
            index: Index::default(),
            forms: Vec::new(),
            stubs: Stubs::default(),
            spill,
            texts: Texts::default(),
            tick: 0,
            clock: f64::NEG_INFINITY,
            counters: Counters::default(),
            charged: 0,
            free: 0,
            ages: Ages::default(),
            newest_stub: 0,
            epoch: 1,
            removed: Vec::new(),
            records_removed: false,
            savepoint: None,
            spare_words: Vec::new(),
            unswept: 0,
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

    /// What has happened so far; models that have expired are counted whether or not they were removed.
    pub fn counters(&self, now: f64) -> Counters {
        let mut counters = self.counters;
        if self.limits.ttl < f64::INFINITY {
            let expired = self.headers().filter(|header| self.is_expired(header, now)).count();
            counters.expired += expired as u64;
        }
        counters
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.index.memory()
            + self.texts.memory()
            + self.stubs.memory()
            + self.spill.as_ref().map_or(0, Spill::memory)
            + self.forms.iter().map(Form::memory).sum::<usize>()
    }

    /// Number of models by form, and whether their states are words.
    pub fn forms(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.forms.iter().map(|form| (form.used() + form.spilled, form.is_compact()))
    }

    /// Number of models in the spill file.
    pub fn spilled(&self) -> usize {
        self.stubs.used()
    }

    #[inline]
    pub fn prefetch_key(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    #[inline]
    pub fn prefetch_model(&self, hash: u64) {
        match self.index.find(hash, |_| true) {
            Some(place) if place.is_spilled() => self.stubs.prefetch(place.slot()),
            Some(place) => self.forms[place.form()].prefetch(place.slot()),
            None => {}
        }
    }

    /// The word of the key at a place.
    #[inline]
    fn key_word(&self, place: Place) -> u64 {
        match place.is_spilled() {
            true => self.stubs.words(place.slot())[0],
            false => self.forms[place.form()].key(place.slot()),
        }
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, key: Key<'_>) -> Option<Place> {
        self.index.find(hash, |place| {
            let word = self.key_word(place);
            match key {
                Key::Int(int) => word == int as u64,
                Key::Text(text) => self.texts.get(word) == text,
                Key::Missing | Key::Float(_) => false,
            }
        })
    }

    /// Likewise, by the word of a key.
    pub(super) fn find_word(&self, hash: u64, word: u64) -> Option<Place> {
        self.index.find(hash, |place| self.key_word(place) == word)
    }

    pub(super) fn key_of(&self, header: &Header) -> Key<'_> {
        match self.has_texts {
            true => Key::Text(self.texts.get(header.key)),
            false => Key::Int(header.key as i64),
        }
    }

    pub(super) fn owned_key(&self, header: &Header) -> OwnedKey {
        OwnedKey::of(self.key_of(header))
    }

    #[inline]
    pub(super) fn header(&self, place: Place) -> Header {
        match place.is_spilled() {
            true => self.stubs.header(place.slot()),
            false => self.forms[place.form()].header(place.slot()),
        }
    }

    /// The facts about all models, in no particular order.
    pub(super) fn headers(&self) -> impl Iterator<Item = Header> + '_ {
        let resident = self.forms.iter().flat_map(|form| form.slots().map(|slot| form.header(slot)));
        resident.chain(self.stubs.slots().map(|slot| self.stubs.header(slot)))
    }

    #[inline]
    pub(super) fn is_expired(&self, header: &Header, now: f64) -> bool {
        self.limits.ttl < f64::INFINITY && now - header.time > self.limits.ttl
    }

    /// Let the model of a key learn. A new key begins with `prior`. `work` receives the number of the model's form, none
    /// for a new one, and returns a result and the error or score of a prediction. After a fault everything is as before.
    #[inline]
    pub fn change<R>(
        &mut self,
        (hash, key): (u64, Key<'_>),
        moment: Moment,
        prior: impl FnOnce() -> Held<P>,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        if self.charged > self.most_charged() {
            // Only after models could not be spilled.
            self.make_room(moment.now, |_| 0)?;
        }
        let place = self.find(hash, key);
        let header = place.map(|place| self.header(place));
        let changed = match (place, header) {
            (Some(place), Some(header)) if !self.is_expired(&header, moment.now) => {
                self.change_known(hash, place, header, moment, work)
            }
            (place, _) => self.create((hash, key), moment, place, prior(), work),
        };
        if changed.is_ok() {
            self.clock = self.clock.max(moment.now);
            self.unswept += 1;
        }
        changed
    }

    #[inline]
    fn change_known<R>(
        &mut self,
        hash: u64,
        mut place: Place,
        mut header: Header,
        moment: Moment,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        let returned = place.is_spilled();
        if returned {
            place = self.bring_back(hash, place, moment.now)?;
        }
        let before = self.remember(hash, place, &header);
        self.mark(&mut header, moment);
        let number = place.form();
        let form = &mut self.forms[number];
        let compact = form.is_compact();
        let charge = if compact { 0 } else { form.charge() };
        let changed = form.change(place.slot(), &mut header, |model| work(Some(number), model));
        if changed.is_err() {
            if let Some(words) = before {
                self.unremember(words, header.key);
            }
            if returned {
                // It is older than those that are listed.
                self.forms[number].forget_oldest();
            }
        }
        let (result, moved) = changed?;
        self.tick = moment.tick;
        if self.limits.ttl < f64::INFINITY {
            self.ages.note(header.time, (hash, header.key));
        }
        if !compact {
            self.charged = self.charged + self.forms[number].charge() - charge;
        }
        if let Some(mut model) = moved {
            // First, so that its old slot cannot be evicted.
            self.release(place);
            let form = self.form_of(&mut model);
            // If others cannot be spilled, the next example is refused.
            let _ = self.make_room(moment.now, |store| store.forms[form].next_charge());
            let settled = self.settle(form, model, &header);
            self.index.replace(hash, place, settled);
        }
        if self.charged > self.most_charged() {
            let _ = self.make_room(moment.now, |_| 0);
        }
        Ok(result)
    }

    /// The next example of a model.
    #[inline]
    pub(super) fn mark(&self, header: &mut Header, moment: Moment) {
        header.tick = moment.tick;
        header.epoch = self.epoch;
        // A late example does not make a model older.
        header.time = header.time.max(moment.time);
    }

    /// Begin a model with its first example. `expired` is the place of a former one.
    #[inline(never)]
    fn create<R>(
        &mut self,
        (hash, key): (u64, Key<'_>),
        moment: Moment,
        expired: Option<Place>,
        prior: Held<P>,
        work: impl FnOnce(Option<usize>, &mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        let mut model = Box::new(prior);
        let (result, error) = work(None, &mut model)?;
        let mut header = Header { time: f64::NAN, count: model.count, ..Header::default() };
        header.score(error);
        self.mark(&mut header, moment);
        if let Some(place) = expired {
            self.remove(hash, place);
            self.counters.expired += 1;
        }
        self.add((hash, key), header, model, moment)?;
        Ok(result)
    }

    /// Add a model for a key that is not there.
    fn add(
        &mut self,
        (hash, key): (u64, Key<'_>),
        mut header: Header,
        mut model: Box<Held<P>>,
        moment: Moment,
    ) -> Result<()> {
        let form = self.form_of(&mut model);
        let charge = key_charge(key);
        // First, because it may fail.
        self.make_room(moment.now, |store| store.forms[form].next_charge() + charge)?;
        self.make_room_for_key(moment.now);
        self.tick = moment.tick;
        header.key = match key {
            Key::Text(text) => self.texts.add(text),
            Key::Int(int) => int as u64,
            Key::Missing | Key::Float(_) => 0,
        };
        let place = self.settle(form, model, &header);
        self.insert(hash, place, key);
        self.counters.created += 1;
        if self.limits.ttl < f64::INFINITY {
            self.ages.note(header.time, (hash, header.key));
        }
        Ok(())
    }

    /// Store a model in a slot of its form.
    fn settle(&mut self, form: usize, model: Box<Held<P>>, header: &Header) -> Place {
        let slot = self.with_form(form, |form| form.add(header, model));
        Place::new(form as u32, slot)
    }

    /// Forget a key; false if it is unknown.
    pub fn drop_key(&mut self, hash: u64, key: Key<'_>) -> bool {
        let place = self.find(hash, key);
        if let Some(place) = place {
            self.remove(hash, place);
        }
        place.is_some()
    }

    /// Ask the model of a key, of which `work` receives the form too; none if it is unknown or expired.
    pub fn ask<R>(
        &self,
        hash: u64,
        key: Key<'_>,
        now: f64,
        work: impl FnOnce(usize, &Held<P>) -> R,
    ) -> Result<Option<R>> {
        let Some(place) = self.find(hash, key) else { return Ok(None) };
        let header = self.header(place);
        if self.is_expired(&header, now) {
            return Ok(None);
        }
        if !place.is_spilled() {
            return Ok(Some(self.forms[place.form()].ask(place.slot(), |model| work(place.form(), model))));
        }
        let (number, at) = self.stubs.place(place.slot());
        let form = &self.forms[number];
        self.spill()?
            .with(at, |buffers| match form.is_compact() {
                true => Ok(form.ask_words(header.count, &buffers.words, |model| work(number, model))),
                false => {
                    let part = form.component_of(&buffers.bytes)?;
                    Ok(form.ask_component(header.count, part, |model| work(number, model)))
                }
            })
            .map(Some)
    }

    pub(super) fn spill(&self) -> Result<&Spill> {
        self.spill.as_ref().ok_or_else(|| Fault::state("compose.Keyed: there is no spill file"))
    }

    /// Facts about a key.
    pub fn facts(&self, hash: u64, key: Key<'_>, now: f64) -> Option<Header> {
        self.find(hash, key).map(|place| self.header(place)).filter(|header| !self.is_expired(header, now))
    }

    /// Replace or add the model of a key.
    pub fn put(&mut self, key: &OwnedKey, model: Held<P>, moment: Moment) -> Result<()> {
        let hash = key.hash();
        let mut header = Header { time: f64::NAN, count: model.count, ..Header::default() };
        self.mark(&mut header, moment);
        if let Some(place) = self.find(hash, key.key()) {
            self.remove(hash, place);
        }
        self.clock = self.clock.max(moment.now);
        self.add((hash, key.key()), header, Box::new(model), moment)
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

    /// All keys with the facts about them, in no particular order.
    pub fn each(&self, now: f64) -> impl Iterator<Item = (OwnedKey, Header)> + '_ {
        self.headers()
            .filter(move |header| !self.is_expired(header, now))
            .map(|header| (self.owned_key(&header), header))
    }

    /// The key of a header in a message.
    pub(super) fn shown(&self, header: &Header) -> String {
        ShownKey(self.key_of(header)).to_string()
    }

    pub(super) fn hash_of(&self, header: &Header) -> u64 {
        key::hash(self.key_of(header))
    }
}

/// The memory of a key in the index and among the texts, at most.
pub fn key_charge(key: Key<'_>) -> usize {
    const BUCKET: usize = 37;
    const TEXT: usize = 40;
    match key {
        Key::Text(text) => BUCKET + TEXT + text.len(),
        _ => BUCKET,
    }
}
