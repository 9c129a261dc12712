//! The return of a store to its state before a batch.

use rustc_hash::FxHashSet;

use crate::held::Holdable;

use super::ages::Ages;
use super::form::{Form, State};
use super::header::Header;
use super::index::Place;
use super::spill::SpillPlace;
use super::store::Store;
use super::Counters;

/// What leads back to the state before a batch.
pub struct Savepoint<P> {
    pub(super) tick: u64,
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
    /// The slots of the spill file that are kept until the changes are.
    pub(super) removed_stubs: Vec<SpillPlace>,
}

impl<P> Savepoint<P> {
    /// Keep the text of a removed key, if it is needed for the return.
    pub(super) fn keeps_text(&mut self, number: u64) -> bool {
        let kept = self.texts.contains(&number);
        if kept {
            self.removed_texts.push(number);
        }
        kept
    }
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
    Spilled {
        form: u32,
        header: Header,
        place: SpillPlace,
    },
}

impl<P: Holdable> Store<P> {
    /// Keep the former state of a model that is changed or removed for the first time since the savepoint; then the number
    /// of words kept before is returned, for `unremember`.
    #[inline]
    pub(super) fn remember(&mut self, hash: u64, place: Place, header: &Header) -> Option<usize> {
        let savepoint = self.savepoint.as_mut()?;
        let words = savepoint.words.len();
        // A later one was created or remembered since.
        if header.tick > savepoint.tick {
            return None;
        }
        let form = place.form() as u32;
        let state = if place.is_spilled() {
            let (form, at) = self.stubs.place(place.slot());
            FormerState::Spilled { form: form as u32, header: *header, place: at }
        } else {
            match self.forms[place.form()].state(place.slot()) {
                State::Words(words) => {
                    let start = savepoint.words.len();
                    savepoint.words.extend_from_slice(words);
                    FormerState::Words { form, start }
                }
                State::Component(component) => FormerState::Component { form, header: *header, component },
            }
        };
        savepoint.former.push(Former { hash, state });
        if self.has_texts {
            savepoint.texts.insert(header.key);
        }
        Some(words)
    }

    /// The model that was remembered last was not changed.
    pub(super) fn unremember(&mut self, words: usize, key: u64) {
        if let Some(savepoint) = &mut self.savepoint {
            savepoint.former.pop();
            savepoint.words.truncate(words);
            savepoint.texts.remove(&key);
        }
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
            removed_stubs: Vec::new(),
        });
    }

    /// Keep the changes.
    pub fn commit(&mut self) {
        if let Some(savepoint) = self.savepoint.take() {
            savepoint.removed_texts.into_iter().for_each(|text| self.texts.remove(text));
            if let Some(spill) = &mut self.spill {
                savepoint.removed_stubs.into_iter().for_each(|place| spill.release(place));
            }
            self.spare_words = savepoint.words;
        }
    }

    /// Return to the savepoint.
    pub fn rollback(&mut self) {
        let Some(savepoint) = self.savepoint.take() else { return };
        // What has learned since is replaced, or was created.
        let changed: Vec<(u64, u64)> = self
            .headers()
            .filter(|header| header.tick > savepoint.tick)
            .map(|header| (self.hash_of(&header), header.key))
            .collect();
        for (hash, word) in changed {
            if let Some(place) = self.find_word(hash, word) {
                self.detach(hash, place);
                if self.has_texts && !savepoint.texts.contains(&word) {
                    self.texts.remove(word);
                }
            }
        }
        for Former { hash, state } in savepoint.former {
            let place = match state {
                FormerState::Words { form, start } => {
                    let words = &savepoint.words[start..];
                    Place::new(form, self.with_form(form as usize, |form| form.restore_words(words)))
                }
                FormerState::Component { form, header, component } => {
                    let restore = |form: &mut Form<P>| form.restore_component(&header, *component);
                    Place::new(form, self.with_form(form as usize, restore))
                }
                FormerState::Spilled { form, header, place } => {
                    self.with_form(form as usize, |form| form.spilled += 1);
                    self.restore_stub(&header, form as usize, place)
                }
            };
            let key = self.owned_key(&self.header(place));
            self.insert(hash, place, key.key());
        }
        let Counters { spilled, returned, .. } = self.counters;
        // Models may stay in the file, or out of it.
        self.counters = Counters { spilled, returned, ..savepoint.counters };
        (self.tick, self.clock) = (savepoint.tick, savepoint.clock);
        self.removed.truncate(savepoint.removed);
        self.spare_words = savepoint.words;
        self.forget_order();
        self.shrink();
    }

    /// Ticks are used again, or older models have come back.
    pub(super) fn forget_order(&mut self) {
        self.forms.iter_mut().for_each(Form::forget_oldest);
        self.stubs.forget_oldest();
        self.newest_stub = self.stubs.slots().map(|slot| self.stubs.header(slot).tick).max().unwrap_or(0);
        self.ages = Ages::default();
    }
}
