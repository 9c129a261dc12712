//! One small model per key, for millions of keys.
//!
//! A `Keyed` behaves exactly as a table from keys to separate models would. It differs in the layout: models with the same
//! features and classes are of one *form*, and one component does the work of all models of a form (`form`). The state of
//! most small models is a list of words in a slab; others keep a component each (see `exchange`).
//!
//! Keys are divided into shards by their hash. The number of shards depends only on the settings, and each has its own
//! clock, so results do not depend on the number of threads. A writer locks one shard at a time for a few hundred rows, so
//! readers go on meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::fault::{Fault, Result};
use crate::held::{Held, Holdable};
use crate::key::Key;
use crate::labels::Labels;

mod ages;
mod answers;
mod dump;
mod form;
mod header;
mod index;
mod key;
mod oldest;
mod room;
mod run;
mod savepoint;
mod slab;
mod spill;
mod store;
mod stubs;
mod texts;
mod values;

pub use answers::KeyedAnswers;
pub use header::Header;
pub use key::{hash, OwnedKey, ShownKey};
pub use run::{error_of, KeyColumn, KeyedJob, KeyedRun};
pub use spill::SpillFile;
use store::{Moment, Store};
pub use values::{ValuesJob, ValuesRun};

/// Number of shards, if there may be many keys. Each thread processes the rows of some shards.
const SHARDS: usize = 16;
/// Below these limits there is one shard, so that the key that is evicted is the oldest of all.
const FEW_KEYS: usize = 1 << 14;
const FEW_BYTES: usize = 1 << 24;
/// The longest text of a key, in bytes.
const LONGEST_KEY: usize = 1 << 12;

/// How much a `Keyed` may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of keys; the one that learned least recently is evicted.
    pub max_keys: usize,
    /// The largest memory of the models in bytes; likewise.
    pub max_bytes: usize,
    /// A model whose last example is older than this, in units of time, starts anew.
    pub ttl: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_keys: usize::MAX, max_bytes: usize::MAX, ttl: f64::INFINITY }
    }
}

/// What has happened to models so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub created: u64,
    /// Evicted and forgotten.
    pub dropped: u64,
    /// Evicted to the spill file.
    pub spilled: u64,
    /// Read back from the spill file.
    pub returned: u64,
    /// Older than `ttl`.
    pub expired: u64,
}

impl Counters {
    fn add(&mut self, other: Counters) {
        self.created += other.created;
        self.dropped += other.dropped;
        self.spilled += other.spilled;
        self.returned += other.returned;
        self.expired += other.expired;
    }
}

pub struct Keyed<P: Holdable> {
    /// What a new key begins with.
    template: Held<P>,
    /// Whether the state of the template is a list of words, as that of small models is.
    compact: bool,
    shards: Vec<RwLock<Store<P>>>,
    /// What a new key begins with instead of the template: a model that learns the examples of all keys.
    global: Option<RwLock<Held<P>>>,
    /// What leads back to the savepoint, besides the models.
    former: Mutex<Option<Former<P>>>,
    spill: Option<Arc<SpillFile>>,
    /// All labels that some model has learned, for the codes of predictions, and those of a batch that is being learned.
    labels: RwLock<Labels>,
    /// Whether keys are texts; none before the first key.
    texts: RwLock<Option<bool>>,
    /// The largest time so far.
    clock: RwLock<f64>,
    /// The number of the last example.
    ticks: RwLock<u64>,
    /// Distinguishes its dumps from those of all others.
    series: RwLock<u64>,
    /// Held by the one who changes models.
    session: Mutex<()>,
    limits: Limits,
}

/// The state of a `Keyed` at a savepoint, besides its models.
struct Former<P> {
    clock: f64,
    ticks: u64,
    labels: Labels,
    global: Option<Held<P>>,
}

/// The right to change models, which one thread has at a time.
pub struct Session<'a>(#[allow(dead_code)] MutexGuard<'a, ()>);

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Holdable> Keyed<P> {
    /// With `has_global`, new keys begin with a model that learns the examples of all keys. Models that do not fit in memory
    /// go to the file, or are dropped without one.
    pub fn new(template: Held<P>, limits: Limits, has_global: bool, spill: Option<SpillFile>) -> Self {
        let few = limits.max_keys < FEW_KEYS || limits.max_bytes < FEW_BYTES;
        let shards = if few { 1 } else { SHARDS };
        let share = |whole: usize| if whole == usize::MAX { whole } else { whole / shards };
        let own = Limits { max_keys: share(limits.max_keys), max_bytes: share(limits.max_bytes), ..limits };
        let labels = template.labels().clone();
        let compact = form::Form::measure_of(&mut template.clone()).is_some();
        let spill = spill.map(Arc::new);
        let store = || Store::new(own, spill.clone().map(spill::Spill::new));
        Keyed {
            global: has_global.then(|| RwLock::new(template.clone())),
            former: Mutex::default(),
            template,
            compact,
            shards: (0..shards).map(|_| RwLock::new(store())).collect(),
            spill,
            labels: RwLock::new(labels),
            texts: RwLock::default(),
            clock: RwLock::new(f64::NEG_INFINITY),
            ticks: RwLock::default(),
            series: RwLock::default(),
            session: Mutex::default(),
            limits,
        }
    }

    /// A copy of the model that a new key begins with.
    pub fn prior(&self) -> Held<P> {
        match &self.global {
            Some(global) => read(global).clone(),
            None => self.template.clone(),
        }
    }

    /// Whether new keys begin with a model that learns the examples of all keys.
    pub fn has_global(&self) -> bool {
        self.global.is_some()
    }

    /// Number of models in the spill file, and the size of the file.
    pub fn spilled(&self) -> (usize, u64) {
        let models = self.shards.iter().map(|shard| read(shard).spilled()).sum();
        (models, self.spill.as_ref().map_or(0, |spill| spill.bytes()))
    }

    pub fn template(&self) -> &Held<P> {
        &self.template
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| read(shard).is_empty())
    }

    pub fn counters(&self) -> Counters {
        let mut all = Counters::default();
        let now = self.now();
        self.shards.iter().for_each(|shard| all.add(read(shard).counters(now)));
        all
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let global = self.global.as_ref().map_or(0, |global| read(global).memory());
        self.template.memory() + global + self.shards.iter().map(|shard| read(shard).memory()).sum::<usize>()
    }

    /// Number of models whose states are words, and of all others.
    pub fn layouts(&self) -> (usize, usize) {
        let (mut words, mut components) = (0, 0);
        for shard in &self.shards {
            for (models, compact) in read(shard).forms() {
                *(if compact { &mut words } else { &mut components }) += models;
            }
        }
        (words, components)
    }

    pub fn labels(&self) -> RwLockReadGuard<'_, Labels> {
        read(&self.labels)
    }

    /// The number of the shard of a hash. The high bits, because the low ones select the bucket there.
    #[inline]
    fn shard(&self, hash: u64) -> usize {
        // A power of two.
        (hash >> 56) as usize & (self.shards.len() - 1)
    }

    /// Refuse a value that is no key.
    pub fn check_key(&self, key: Key<'_>) -> Result<()> {
        let texts = *read(&self.texts);
        self.check_key_type(key, texts)
    }

    /// Likewise; `texts` says whether the keys so far are texts.
    #[inline]
    fn check_key_type(&self, key: Key<'_>, texts: Option<bool>) -> Result<()> {
        match (key, texts) {
            (Key::Int(_), Some(false)) => Ok(()),
            (Key::Text(text), Some(true)) if text.len() <= LONGEST_KEY => Ok(()),
            _ => self.check_first_key(key, texts),
        }
    }

    #[cold]
    fn check_first_key(&self, key: Key<'_>, texts: Option<bool>) -> Result<()> {
        let is_text = match key {
            Key::Text(text) if text.len() > LONGEST_KEY => {
                let bytes = text.len();
                return Err(self.refuse(format!("a key may have up to {LONGEST_KEY} bytes, got {bytes}")));
            }
            Key::Text(_) => true,
            Key::Int(_) => false,
            Key::Missing => return Err(self.refuse("the key is missing".into())),
            Key::Float(float) => {
                return Err(self.refuse(format!("a key must be an integer or a string, got {float}")))
            }
        };
        match texts {
            Some(texts) if texts != is_text => {
                let (so_far, got) = if texts { ("strings", "an integer") } else { ("integers", "a string") };
                Err(Fault::wrong_type(format!("{}: the keys so far are {so_far}, got {got}", self.title())))
            }
            _ => Ok(()),
        }
    }

    /// Settle the type of keys with the first one.
    fn settle_type(&self, key: Key<'_>) {
        let mut texts = write(&self.texts);
        if texts.is_none() {
            let is_text = matches!(key, Key::Text(_));
            *texts = Some(is_text);
            self.shards.iter().for_each(|shard| write(shard).set_texts(is_text));
        }
    }

    fn refuse(&self, what: String) -> Fault {
        Fault::value(format!("{}: {what}", self.title()))
    }

    pub fn title(&self) -> String {
        format!("compose.Keyed({})", self.template.title())
    }

    pub fn has(&self, key: Key<'_>) -> bool {
        self.facts(key).is_some()
    }

    /// Facts about a key: counts, times, errors.
    pub fn facts(&self, key: Key<'_>) -> Option<Header> {
        let hash = hash(key);
        read(&self.shards[self.shard(hash)]).facts(hash, key, self.now())
    }

    /// The largest time so far.
    fn now(&self) -> f64 {
        *read(&self.clock)
    }

    /// A copy of the model of a key.
    pub fn get(&self, key: Key<'_>) -> Result<Option<Held<P>>> {
        let hash = hash(key);
        let asked = read(&self.shards[self.shard(hash)]).ask(hash, key, self.now(), |_, model| model.clone());
        asked.map_err(|fault| self.named(key, fault))
    }

    /// Add the key and the title to a fault of its model.
    fn named(&self, key: Key<'_>, fault: Fault) -> Fault {
        fault.by(&ShownKey(key).to_string())
    }

    /// Replace or add the model of a key.
    pub fn put(&self, key: Key<'_>, model: Held<P>) -> Result<()> {
        if model.description() != self.template.description() {
            return Err(Fault::wrong_type(format!(
                "{}: a model of the template is required, got {}",
                self.title(),
                model.title()
            )));
        }
        self.check_key(key)?;
        let _session = self.session();
        self.settle_type(key);
        let met: Vec<_> = model.labels().entries().iter().flatten().cloned().collect();
        let key = OwnedKey::of(key);
        let now = self.now();
        let time = if now.is_finite() { now } else { f64::NAN };
        let tick = *read(&self.ticks) + 1;
        write(&self.shards[self.shard(key.hash())]).put(&key, model, Moment { tick, time, now })?;
        *write(&self.ticks) = tick;
        self.admit(&met);
        Ok(())
    }

    /// Give codes to labels.
    fn admit(&self, labels: &[crate::labels::Label]) {
        if !labels.is_empty() {
            let mut known = write(&self.labels);
            labels.iter().for_each(|label| {
                known.intern(label);
            });
        }
    }

    /// Forget a key; false if it is unknown.
    pub fn remove(&self, key: Key<'_>) -> bool {
        let hash = hash(key);
        let _session = self.session();
        write(&self.shards[self.shard(hash)]).drop_key(hash, key)
    }

    /// Forget all models that are older than `ttl`.
    pub fn sweep(&self) {
        let _session = self.session();
        let now = self.now();
        self.shards.iter().for_each(|shard| write(shard).sweep(now));
    }

    /// All keys with the facts about them, in ascending order of keys.
    pub fn facts_of_all(&self) -> Vec<(OwnedKey, Header)> {
        let mut all = Vec::with_capacity(self.len());
        let now = self.now();
        self.shards.iter().for_each(|shard| all.extend(read(shard).each(now)));
        all.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        all
    }

    /// Let the model of one key learn, at a time or NaN; the caller has a `session`. `work` returns a result, and the error
    /// of a prediction. It is also called for the global model, whose result is ignored.
    pub fn change<R>(
        &self,
        _session: &Session<'_>,
        key: Key<'_>,
        time: f64,
        mut work: impl FnMut(&mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        self.check_key(key)?;
        self.settle_type(key);
        let hash = hash(key);
        let mut store = write(&self.shards[self.shard(hash)]);
        let now = self.now().max(time);
        let tick = *read(&self.ticks) + 1;
        let mut met = Vec::new();
        let changed = store.change(
            (hash, key),
            Moment { tick, time, now },
            || self.prior(),
            |_, model| {
                let known = model.labels().known();
                let result = self.with_global(model, &mut work)?;
                if model.labels().known() != known {
                    met.extend(model.labels().entries().iter().flatten().cloned());
                }
                Ok(result)
            },
        );
        store.tidy();
        // Batches lock the labels before a shard.
        drop(store);
        if changed.is_ok() {
            self.admit(&met);
            *write(&self.clock) = now;
            *write(&self.ticks) = tick;
        } else if self.is_empty() {
            // No key has settled their type.
            *write(&self.texts) = None;
        }
        changed.map_err(|fault| self.named(key, fault))
    }

    /// Let a model learn, and the global model too, if there is one: both, or none.
    fn with_global<R>(
        &self,
        model: &mut Held<P>,
        work: &mut impl FnMut(&mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<(R, Option<f64>)> {
        let Some(global) = &self.global else { return work(model) };
        // The words of a compact model are stored only after success.
        let before = (!self.compact).then(|| model.clone());
        let result = work(model)?;
        let mut global = write(global);
        if let Err(fault) = work(&mut global) {
            if let Some(before) = before {
                *model = before;
            }
            return Err(fault.by("the global model"));
        }
        Ok(result)
    }

    /// Ask the model of one key; the prior for an unknown one.
    pub fn ask<R>(&self, key: Key<'_>, work: impl Fn(&Held<P>) -> Result<R>) -> Result<R> {
        self.check_key(key)?;
        let hash = hash(key);
        let asked = read(&self.shards[self.shard(hash)]).ask(hash, key, self.now(), |_, model| work(model));
        let asked = match asked {
            Ok(Some(asked)) => asked,
            Ok(None) => self.ask_prior(work),
            Err(fault) => Err(fault),
        };
        asked.map_err(|fault| self.named(key, fault))
    }

    fn ask_prior<R>(&self, work: impl FnOnce(&Held<P>) -> R) -> R {
        match &self.global {
            Some(global) => work(&read(global)),
            None => work(&self.template),
        }
    }

    /// Start recording changes of all models.
    pub fn savepoint(&self, _session: &Session<'_>) {
        let former = Former {
            clock: self.now(),
            ticks: *read(&self.ticks),
            labels: self.labels().clone(),
            global: self.global.as_ref().map(|global| read(global).clone()),
        };
        *self.former.lock().unwrap_or_else(PoisonError::into_inner) = Some(former);
        self.shards.iter().for_each(|shard| write(shard).savepoint());
    }

    /// Keep the changes since the savepoint, or return to it.
    pub fn end(&self, _session: &Session<'_>, keep: bool) {
        let former = self.former.lock().unwrap_or_else(PoisonError::into_inner).take();
        for shard in &self.shards {
            let mut store = write(shard);
            if keep {
                store.commit();
            } else {
                store.rollback();
            }
        }
        let Some(Former { clock, ticks, labels, global }) = former.filter(|_| !keep) else { return };
        (*write(&self.clock), *write(&self.ticks), *write(&self.labels)) = (clock, ticks, labels);
        if let (Some(place), Some(global)) = (&self.global, global) {
            *write(place) = global;
        }
        if self.is_empty() {
            // No key has settled their type.
            *write(&self.texts) = None;
        }
    }

    /// Set the number that distinguishes its dumps from those of all others.
    pub fn set_series(&self, series: u64) {
        *write(&self.series) = series;
    }

    /// Whether a delta can be written: there was a dump before, and not too many keys were removed since.
    pub fn can_dump_delta(&self) -> bool {
        self.shards.iter().all(|shard| read(shard).knows_changes())
    }

    /// The right to change models; waits for whoever has it.
    pub fn session(&self) -> Session<'_> {
        Session(self.session.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
