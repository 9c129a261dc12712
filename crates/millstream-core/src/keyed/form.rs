//! Models with the same features and the same classes in the same order, which one component can do the work of.

use std::sync::{Mutex, PoisonError};

use crate::exchange::{Exchange, Measure};
use crate::fault::Result;
use crate::held::{Held, Holdable};

use super::header::{clear, Header, HEADER};
use super::oldest::{self, Oldest};
use super::slab::Slab;

/// The number of spare models of a form that are kept for readers.
const SPARE: usize = 2;

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
    oldest: Oldest,
    /// The memory of the prototype when the form was made.
    prototype_memory: usize,
    /// Number of models of the form in the spill file.
    pub spilled: usize,
}

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
            oldest: Oldest::default(),
            prototype_memory: model.memory(),
            spilled: 0,
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

    /// The bytes that its models count for. They depend only on which models there are, and not on how they came there, so
    /// that the models that are evicted do not depend on batches. They are at least the memory of a slab without free slots.
    pub fn charge(&self) -> usize {
        self.charge_of(self.used())
    }

    fn charge_of(&self, models: usize) -> usize {
        if models + self.spilled == 0 {
            return 0;
        }
        let entry = if self.is_compact() { 0 } else { 2 * size_of::<Option<Mutex<Component<P>>>>() };
        self.slab.charge(models) + models * entry + self.components_memory + (1 + SPARE) * self.prototype_memory
    }

    /// What another model adds to the charge, at least.
    pub fn next_charge(&self) -> usize {
        self.charge_of(self.used() + 1) - self.charge()
    }

    /// The memory of free slots.
    pub fn free_bytes(&self) -> usize {
        self.slab.free_bytes()
    }

    /// Whether it has no models, in memory or spilled.
    pub fn is_unused(&self) -> bool {
        self.used() + self.spilled == 0
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
        oldest::used(&self.slab)
    }

    /// The slot that learned least recently, with its tick.
    pub fn oldest(&mut self) -> Option<(u64, u32)> {
        self.oldest.first(&self.slab)
    }

    /// Ticks are used again, or a restored model may be older than those that are listed.
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
        let same = extent(&model) == before;
        let kept = worked.is_err() || same;
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
        if same {
            self.keep_spare(model);
        }
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
            None => self.ask_words(Header::read(words).count, &words[HEADER..], work),
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

    /// Ask a model whose state is given as words, without their header.
    pub fn ask_words<R>(&self, count: u64, words: &[u64], work: impl FnOnce(&Held<P>) -> R) -> R {
        self.with_spare(count, |model| {
            model.part.part_mut().exchange(&mut Exchange::load(words));
            work(model)
        })
    }

    /// Ask a model with a given component.
    pub fn ask_component<R>(&self, count: u64, part: P, work: impl FnOnce(&Held<P>) -> R) -> R {
        self.with_spare(count, |model| {
            model.part = part;
            work(model)
        })
    }

    /// A component from its saved state.
    pub fn component_of(&self, saved: &[u8]) -> Result<P> {
        let mut part = self.prototype.part.clone();
        part.part_mut().load(saved)?;
        Ok(part)
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

    /// The words of a slot without the header.
    pub fn state_words(&self, slot: u32) -> &[u64] {
        &self.slab.get(slot)[HEADER..]
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
        slot
    }

    /// Store words that begin with those of a model of this form in a new slot.
    pub fn restore_words(&mut self, stored: &[u64]) -> u32 {
        let slot = self.slab.take();
        let words = self.slab.get_mut(slot);
        words.copy_from_slice(&stored[..words.len()]);
        slot
    }

    /// Store a component of this form in a new slot.
    pub fn restore_component(&mut self, header: &Header, component: P) -> u32 {
        let slot = self.slab.take();
        header.write(self.slab.get_mut(slot));
        self.put_component(slot, component);
        slot
    }

    /// Whether most slots are free.
    pub fn is_sparse(&self) -> bool {
        self.slab.is_sparse()
    }

    /// Move all models together; `moved` receives the key, the old and the new slot of each. Many
    /// models pass through a form before they have met all classes.
    pub fn compact(&mut self, mut moved: impl FnMut(u64, u32, u32)) {
        let fresh = self.slab.fresh();
        let old = std::mem::replace(&mut self.slab, fresh);
        let mut components = std::mem::take(&mut self.components);
        self.oldest.clear();
        for (slot, words) in oldest::used(&old).map(|slot| (slot, old.get(slot))) {
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
