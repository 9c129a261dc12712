//! One small model per key, for millions of keys.
//!
//! A `Keyed` behaves exactly as a table from keys to separate models would. It differs in the layout: models with the same
//! features and classes are of one *form*, and one component does the work of all models of a form (`form`). The state of
//! most small models is a list of words in a slab; others keep a component each (see `exchange`).
//!
//! Keys are divided into shards by their hash. The number of shards depends only on the settings, and each has its own
//! clock, so results do not depend on the number of threads. A writer locks one shard at a time for a few hundred rows, so
//! readers go on meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::fault::{Fault, Result};
use crate::held::{Held, Holdable};
use crate::key::Key;
use crate::labels::Labels;

mod answers;
mod dump;
mod form;
mod header;
mod index;
mod key;
mod run;
mod slab;
mod store;
mod texts;

pub use answers::KeyedAnswers;
pub use header::Header;
pub use key::{hash, OwnedKey, ShownKey};
pub use run::{error_of, KeyColumn, KeyedJob};
use store::Store;

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
    /// All labels that some model has learned, for the codes of predictions.
    labels: RwLock<Labels>,
    /// Whether keys are texts; none before the first key.
    texts: RwLock<Option<bool>>,
    /// The largest time so far, and at the savepoint.
    clock: RwLock<f64>,
    former_clock: RwLock<f64>,
    /// Distinguishes its dumps from those of all others.
    series: RwLock<u64>,
    /// Held by the one who changes models.
    session: Mutex<()>,
    limits: Limits,
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
    pub fn new(template: Held<P>, limits: Limits) -> Self {
        let few = limits.max_keys < FEW_KEYS || limits.max_bytes < FEW_BYTES;
        let shards = if few { 1 } else { SHARDS };
        let share = |whole: usize| if whole == usize::MAX { whole } else { whole / shards };
        let own = Limits { max_keys: share(limits.max_keys), max_bytes: share(limits.max_bytes), ..limits };
        let labels = template.labels().clone();
        let compact = form::Form::measure_of(&mut template.clone()).is_some();
        Keyed {
            template,
            compact,
            shards: (0..shards).map(|_| RwLock::new(Store::new(own))).collect(),
            labels: RwLock::new(labels),
            texts: RwLock::default(),
            clock: RwLock::new(f64::NEG_INFINITY),
            former_clock: RwLock::new(f64::NEG_INFINITY),
            series: RwLock::default(),
            session: Mutex::default(),
            limits,
        }
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
        self.shards.iter().for_each(|shard| all.add(read(shard).counters()));
        all
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.template.memory() + self.shards.iter().map(|shard| read(shard).memory()).sum::<usize>()
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
    pub fn get(&self, key: Key<'_>) -> Option<Held<P>> {
        let hash = hash(key);
        read(&self.shards[self.shard(hash)]).ask(hash, key, self.now(), |_, model| model.clone())
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
        let mut labels = write(&self.labels);
        for label in model.labels().entries().iter().flatten() {
            labels.intern(label);
        }
        drop(labels);
        let key = OwnedKey::of(key);
        write(&self.shards[self.shard(key.hash())]).put(&key, model, self.now());
        Ok(())
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

    /// Let the model of one key learn, at a time or NaN; the caller has a `session`. `work` returns a result, and the error of a prediction.
    pub fn change<R>(
        &self,
        _session: &Session<'_>,
        key: Key<'_>,
        time: f64,
        work: impl FnOnce(&mut Held<P>) -> Result<(R, Option<f64>)>,
    ) -> Result<R> {
        self.check_key(key)?;
        self.settle_type(key);
        let hash = hash(key);
        let mut store = write(&self.shards[self.shard(hash)]);
        let now = self.now().max(time);
        let mut met = Vec::new();
        let changed = store.change((hash, key), (time, now), &self.template, |_, model| {
            let known = model.labels().known();
            let result = work(model)?;
            if model.labels().known() != known {
                met.extend(model.labels().entries().iter().flatten().cloned());
            }
            Ok(result)
        });
        store.tidy();
        // Batches lock the labels before a shard.
        drop(store);
        if !met.is_empty() {
            let mut labels = write(&self.labels);
            for label in &met {
                labels.intern(label);
            }
        }
        if changed.is_err() && self.is_empty() {
            // No key has settled their type.
            *write(&self.texts) = None;
        }
        if changed.is_ok() {
            *write(&self.clock) = now;
        }
        changed.map_err(|fault| fault.by(&ShownKey(key).to_string()))
    }

    /// Ask the model of one key; the template for an unknown one.
    pub fn ask<R>(&self, key: Key<'_>, work: impl Fn(&Held<P>) -> Result<R>) -> Result<R> {
        self.check_key(key)?;
        let hash = hash(key);
        let asked = read(&self.shards[self.shard(hash)]).ask(hash, key, self.now(), |_, model| work(model));
        asked.unwrap_or_else(|| work(&self.template)).map_err(|fault| fault.by(&ShownKey(key).to_string()))
    }

    /// Start recording changes of all models.
    pub fn savepoint(&self, _session: &Session<'_>) {
        *write(&self.former_clock) = self.now();
        self.shards.iter().for_each(|shard| write(shard).savepoint());
    }

    /// Keep the changes since the savepoint, or return to it.
    pub fn end(&self, _session: &Session<'_>, keep: bool) {
        if !keep {
            let clock = *read(&self.former_clock);
            *write(&self.clock) = clock;
        }
        for shard in &self.shards {
            let mut store = write(shard);
            if keep {
                store.commit();
            } else {
                store.rollback();
            }
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
