//! Models with the same features and the same classes in the same order, which one component can do the work of.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::exchange::{Exchange, Measure};
use crate::fault::Result;
use crate::held::{Held, Holdable};

use super::header::{clear, tick_of, Header, HEADER};
use super::slab::Slab;

/// The number of spare models of a form that are kept for readers.
const SPARE: usize = 8;

pub struct Form<P> {
    /// Has the schema and labels of the form. Its state is that of any model of the form.
    prototype: Held<P>,
    /// The measure of the state; none for a state that is not a list of words: then each slot has a component.
    measure: Option<Measure>,
    slab: Slab,
    /// By slot, in a form without a measure. A reader borrows the component of a slot from its mutex.
    components: Vec<Option<Mutex<Component<P>>>>,
    /// The memory of `components`.
    components_memory: usize,
    /// Models that states are loaded into.
    spares: Mutex<Vec<Box<Held<P>>>>,
    /// The slots that learned least recently, oldest first, with their ticks when they were listed.
    oldest: VecDeque<(u64, u32)>,
}

/// One in this many models is listed as old at a time, when models must be evicted.
const LISTED: usize = 16;

struct Component<P> {
    part: P,
    /// When it was last measured.
    memory: usize,
}

/// The state of one model.
pub enum State<'a, P> {
    /// With their header.
    Words(&'a [u64]),
    /// A copy.
    Component(Box<P>),
}

impl<P: Holdable> Form<P> {
    /// The form of a model.
    pub fn of(model: &mut Held<P>) -> Self {
        let measure = Self::measure_of(model);
        Form {
            prototype: model.clone(),
            slab: Slab::new(HEADER + measure.map_or(0, |measure| measure.words)),
            measure,
            components: Vec::new(),
            components_memory: 0,
            spares: Mutex::default(),
            oldest: VecDeque::new(),
        }
    }

    pub fn prototype(&self) -> &Held<P> {
        &self.prototype
    }

    /// Whether a model is of this form.
    pub fn fits(&self, model: &Held<P>, measure: Option<Measure>) -> bool {
        self.measure == measure
            && self.prototype.schema().is_same(model.schema())
            && self.prototype.labels().is_same(model.labels())
    }

    /// The measure of a state; none if it is not a list of words.
    pub fn measure_of(model: &mut Held<P>) -> Option<Measure> {
        let mut exchange = Exchange::measure();
        model.part.part_mut().exchange(&mut exchange).then(|| exchange.measured())
    }

    /// Whether the states are words.
    pub fn is_compact(&self) -> bool {
        self.measure.is_some()
    }

    pub fn used(&self) -> usize {
        self.slab.used()
    }

    pub fn memory(&self) -> usize {
        let spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.slab.memory()
            + self.components_memory
            + self.components.capacity() * size_of::<Option<Mutex<Component<P>>>>()
            + self.prototype.memory() * (1 + spares)
    }

    /// The bytes by which another model makes it grow.
    pub fn growth(&self) -> usize {
        self.slab.growth()
    }

    #[inline]
    pub fn prefetch(&self, slot: u32) {
        self.slab.prefetch(slot);
    }

    #[inline]
    pub fn header(&self, slot: u32) -> Header {
        Header::read(self.slab.get(slot))
    }

    /// The slots in use.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.slab.each().filter(|(_, words)| tick_of(words) > 0).map(|(slot, _)| slot)
    }

    /// The slot that learned least recently, with its tick. Slots are listed in groups, so that a scan of all is rare; one
    /// that has learned since it was listed is no longer old.
    pub fn oldest(&mut self) -> Option<(u64, u32)> {
        if self.used() == 0 {
            return None;
        }
        loop {
            while let Some(&(tick, slot)) = self.oldest.front() {
                if self.slab.holds(slot) && tick_of(self.slab.get(slot)) == tick {
                    return Some((tick, slot));
                }
                self.oldest.pop_front();
            }
            let mut all: Vec<(u64, u32)> = self.slots().map(|slot| (tick_of(self.slab.get(slot)), slot)).collect();
            let few = (all.len() / LISTED).max(1).min(all.len() - 1);
            all.select_nth_unstable(few);
            all.truncate(few.max(1));
            all.sort_unstable();
            self.oldest = all.into();
        }
    }

    /// Ticks may be used again.
    pub fn forget_oldest(&mut self) {
        self.oldest.clear();
    }

    /// The key of a slot.
    #[inline]
    pub fn key(&self, slot: u32) -> u64 {
        self.slab.get(slot)[0]
    }

    /// Let a model of this form learn. `work` returns a result, and the error or score of a prediction. On success the
    /// state and the header are stored; a model that changed its form is returned instead, and its slot is to be released.
    #[inline]
    pub fn change<R>(
        &mut self,
        slot: u32,
        header: &mut Header,
        work: impl FnOnce(&mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<(R, Option<Box<Held<P>>>)> {
        let mut model = self.spare();
        let before = extent(&model);
        let words = self.slab.get_mut(slot);
        let mut component = self.components.get_mut(slot as usize).and_then(Option::as_mut).map(unlocked);
        match &mut component {
            None => {
                model.part.part_mut().exchange(&mut Exchange::load(&words[HEADER..]));
            }
            Some(component) => std::mem::swap(&mut component.part, &mut model.part),
        }
        model.count = header.count;
        let worked = work(&mut model);
        let kept = worked.is_err() || extent(&model) == before;
        let result = match (worked, &mut component) {
            (Ok((result, error)), None) => {
                header.count = model.count;
                header.score(error);
                let mut exchange = Exchange::store(&mut words[HEADER..]);
                let stored = kept && model.part.part_mut().exchange(&mut exchange);
                if !stored || Some(exchange.measured()) != self.measure {
                    return Ok((result, Some(model)));
                }
                header.write(words);
                Ok((result, None))
            }
            (Ok((result, error)), Some(component)) => {
                header.count = model.count;
                header.score(error);
                if !kept {
                    return Ok((result, Some(model)));
                }
                header.write(words);
                std::mem::swap(&mut component.part, &mut model.part);
                // To measure a component takes a walk through it, so this is done now and then.
                if header.count.is_power_of_two() || header.count.is_multiple_of(64) {
                    self.components_memory -= component.memory;
                    component.memory = component.part.memory();
                    self.components_memory += component.memory;
                }
                Ok((result, None))
            }
            // Learning is atomic, so that a component is as before, and words were not stored.
            (Err(fault), Some(component)) => {
                std::mem::swap(&mut component.part, &mut model.part);
                Err(fault)
            }
            (Err(fault), None) => Err(fault),
        };
        self.keep_spare(model);
        result
    }

    #[inline]
    fn spare(&mut self) -> Box<Held<P>> {
        let spares = self.spares.get_mut().unwrap_or_else(PoisonError::into_inner);
        spares.pop().unwrap_or_else(|| Box::new(self.prototype.clone()))
    }

    #[inline]
    fn keep_spare(&mut self, model: Box<Held<P>>) {
        let spares = self.spares.get_mut().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARE {
            spares.push(model);
        }
    }

    /// Ask a model of this form.
    pub fn ask<R>(&self, slot: u32, work: impl FnOnce(&Held<P>) -> R) -> R {
        let words = self.slab.get(slot);
        match self.components.get(slot as usize).and_then(Option::as_ref) {
            None => self.ask_words(words, work),
            Some(component) => {
                let mut component = component.lock().unwrap_or_else(PoisonError::into_inner);
                self.with_spare(Header::read(words).count, |model| {
                    std::mem::swap(&mut component.part, &mut model.part);
                    let result = work(model);
                    std::mem::swap(&mut component.part, &mut model.part);
                    result
                })
            }
        }
    }

    /// Ask a model whose state is given as words, with their header.
    pub fn ask_words<R>(&self, words: &[u64], work: impl FnOnce(&Held<P>) -> R) -> R {
        self.with_spare(Header::read(words).count, |model| {
            model.part.part_mut().exchange(&mut Exchange::load(&words[HEADER..]));
            work(model)
        })
    }

    fn with_spare<R>(&self, count: u64, work: impl FnOnce(&mut Held<P>) -> R) -> R {
        let spare = self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut model = spare.unwrap_or_else(|| Box::new(self.prototype.clone()));
        model.count = count;
        let result = work(&mut model);
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARE {
            spares.push(model);
        }
        result
    }

    /// Store a model of this form in a new slot.
    pub fn add(&mut self, header: &Header, mut model: Box<Held<P>>) -> u32 {
        let slot = self.slab.take();
        let words = self.slab.get_mut(slot);
        header.write(words);
        match self.measure {
            Some(_) => {
                model.part.part_mut().exchange(&mut Exchange::store(&mut words[HEADER..]));
                self.keep_spare(model);
            }
            None => self.put_component(slot, model.part),
        }
        slot
    }

    fn put_component(&mut self, slot: u32, part: P) {
        if self.components.len() <= slot as usize {
            self.components.resize_with(slot as usize + 1, || None);
        }
        let memory = part.memory();
        self.components_memory += memory;
        self.components[slot as usize] = Some(Mutex::new(Component { part, memory }));
    }

    /// The state in a slot.
    pub fn state(&self, slot: u32) -> State<'_, P> {
        match self.components.get(slot as usize).and_then(Option::as_ref) {
            Some(component) => {
                let component = component.lock().unwrap_or_else(PoisonError::into_inner);
                State::Component(Box::new(component.part.clone()))
            }
            None => State::Words(self.slab.get(slot)),
        }
    }

    /// The header and the words of a slot.
    pub fn words(&self, slot: u32) -> &[u64] {
        self.slab.get(slot)
    }

    /// The saved state of a component; none if the state is words.
    pub fn saved_component(&self, slot: u32) -> Option<Result<Vec<u8>>> {
        let component = self.components.get(slot as usize)?.as_ref()?;
        Some(component.lock().unwrap_or_else(PoisonError::into_inner).part.save())
    }

    /// Load words without a header into a model of their form.
    pub fn load_words(model: &mut Held<P>, words: &[u64]) {
        model.part.part_mut().exchange(&mut Exchange::load(words));
    }

    /// Store a header and words in a new slot.
    pub fn restore(&mut self, header: &Header, stored: &[u64]) -> u32 {
        let slot = self.slab.take();
        let words = self.slab.get_mut(slot);
        header.write(words);
        words[HEADER..].copy_from_slice(stored);
        self.oldest.clear();
        slot
    }

    /// Store words that begin with those of a model of this form in a new slot.
    pub fn restore_words(&mut self, stored: &[u64]) -> u32 {
        let slot = self.slab.take();
        let words = self.slab.get_mut(slot);
        words.copy_from_slice(&stored[..words.len()]);
        // It may be older than those that are listed.
        self.oldest.clear();
        slot
    }

    /// Store a component of this form in a new slot.
    pub fn restore_component(&mut self, header: &Header, component: P) -> u32 {
        let slot = self.slab.take();
        header.write(self.slab.get_mut(slot));
        self.put_component(slot, component);
        self.oldest.clear();
        slot
    }

    /// Move all models together, if most slots are free; `moved` receives the key, the old and the new slot of each. Many
    /// models pass through a form before they have met all classes.
    pub fn compact(&mut self, mut moved: impl FnMut(u64, u32, u32)) {
        if !self.slab.is_sparse() {
            return;
        }
        let fresh = self.slab.fresh();
        let old = std::mem::replace(&mut self.slab, fresh);
        let mut components = std::mem::take(&mut self.components);
        self.oldest.clear();
        for (slot, words) in old.each().filter(|(_, words)| tick_of(words) > 0) {
            let new = self.slab.take();
            self.slab.get_mut(new).copy_from_slice(words);
            if let Some(component) = components.get_mut(slot as usize).and_then(Option::take) {
                self.components.resize_with(new as usize + 1, || None);
                self.components[new as usize] = Some(component);
            }
            moved(words[0], slot, new);
        }
    }

    /// Give up a slot.
    pub fn release(&mut self, slot: u32) {
        clear(self.slab.get_mut(slot));
        if let Some(mut component) = self.components.get_mut(slot as usize).and_then(Option::take) {
            self.components_memory -= unlocked(&mut component).memory;
        }
        self.slab.give(slot);
    }
}

fn unlocked<P>(component: &mut Mutex<Component<P>>) -> &mut Component<P> {
    component.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The size of the schema and the labels of a model, which only grow.
#[inline]
fn extent<P: Holdable>(model: &Held<P>) -> ([usize; 3], usize) {
    (model.schema().extent(), model.labels().known())
}
