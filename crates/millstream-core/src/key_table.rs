//! A table from keys to states that never holds more than `max_keys` of them.
//!
//! A key is one number per feature (`Row::key`): a code, the hash of a key that a schema does not intern, or the number
//! itself; NaN stands for a missing value. When the table is full, a new key shares one state with all others that came
//! too late, replaces the key that was learned least recently, or is refused (`WhenFull`).
//!
//! Changes are recorded from the last `mark` on, so that `undo` reverts one row, and from `savepoint` on, so that
//! `rollback` reverts a batch. Of a batch the first former state of each key is kept: its cost depends on the keys that
//! are learned and not on the size of the table.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::numeric::xxh64::xxh64;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::schema::{FeatureKind, Schema};

pub const MAX_KEYS: Parameter = Parameter::new(
    "max_keys",
    Kind::Integer { low: 1, high: 1 << 30 },
    DefaultValue::Integer(100_000),
    "the largest number of keys with a state of their own",
);

pub const WHEN_FULL: Parameter = Parameter::new(
    "when_full",
    Kind::Choice(&["other", "evict", "refuse"]),
    DefaultValue::Text("other"),
    "what happens to a new key beyond max_keys: it shares the state of all others that came too late, it replaces the \
     key learned least recently, or its row is refused",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    Other,
    Evict,
    Refuse,
}

/// The parameters `max_keys` and `when_full`.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    pub max_keys: usize,
    pub when_full: WhenFull,
}

impl Capacity {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let when_full = match arguments.text("when_full")? {
            "other" => WhenFull::Other,
            "evict" => WhenFull::Evict,
            _ => WhenFull::Refuse,
        };
        Ok(Capacity { max_keys: arguments.size("max_keys")?, when_full })
    }

    /// The fault for a new key beyond the capacity.
    pub fn refusal(&self, who: &str) -> Fault {
        Fault::value(format!("{who}: there are {} keys already (max_keys), got a new one", self.max_keys))
    }
}

const NONE: u32 = u32::MAX;
/// Where the state of all keys that came too late is.
const OTHER: u32 = u32::MAX;

/// Number of changes that a table has room for after a batch.
const RECORDED: usize = 64;

/// Keys in the order in which they were last learned.
#[derive(Clone, Debug, Default)]
struct Order {
    newer: Vec<u32>,
    older: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Order {
    fn new() -> Self {
        Order { newest: NONE, oldest: NONE, ..Order::default() }
    }

    fn unlink(&mut self, place: u32) {
        let (newer, older) = (self.newer[place as usize], self.older[place as usize]);
        match newer {
            NONE => self.newest = older,
            newer => self.older[newer as usize] = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.newer[older as usize] = newer,
        }
    }

    /// Link a place between two neighbours, of which each may be `NONE`.
    fn link(&mut self, place: u32, newer: u32, older: u32) {
        (self.newer[place as usize], self.older[place as usize]) = (newer, older);
        match newer {
            NONE => self.newest = place,
            newer => self.older[newer as usize] = place,
        }
        match older {
            NONE => self.oldest = place,
            older => self.newer[older as usize] = place,
        }
    }

    fn push(&mut self) {
        let place = self.newer.len() as u32;
        self.newer.push(NONE);
        self.older.push(NONE);
        self.link(place, NONE, self.newest);
    }

    fn pop(&mut self) {
        if let Some(place) = self.newer.len().checked_sub(1) {
            self.unlink(place as u32);
            self.newer.pop();
            self.older.pop();
        }
    }

    /// From the newest to the oldest.
    fn places(&self) -> Vec<u32> {
        let next = |place: &u32| Some(self.older[*place as usize]).filter(|&older| older != NONE);
        std::iter::successors(Some(self.newest).filter(|&newest| newest != NONE), next).collect()
    }
}

#[derive(Clone, Debug)]
enum Change<S> {
    /// A state before it was given out for a change.
    State(u32, S),
    Other(S),
    Created(u32),
    /// A place that was reused, with its former state; its former key is in `former_keys`.
    Evicted(u32, S),
    /// A place that became the newest, with its former older neighbour.
    Renewed(u32, u32),
}

#[derive(Clone, Debug)]
pub struct KeyTable<S> {
    capacity: Capacity,
    /// Number of features of a key.
    features: usize,
    places: Places,
    /// `features` numbers for each place.
    keys: Vec<f64>,
    states: Vec<S>,
    other: S,
    /// Only if keys are evicted.
    order: Option<Order>,
    folded: u64,
    evicted: u64,
    journal: Vec<Change<S>>,
    former_keys: Vec<f64>,
    marked: usize,
    /// At a savepoint: the numbers of folded rows and evicted keys, and the places whose former state is kept.
    held: Option<(u64, u64)>,
    kept: FxHashSet<u32>,
}

/// What identifies a key: the bits of its number, or a hash of several.
#[inline]
fn identity(key: &[f64]) -> u64 {
    let bits = |number: f64| match number {
        0.0 => 0,
        number if number.is_nan() => f64::NAN.to_bits(),
        number => number.to_bits(),
    };
    match key {
        [number] => bits(*number),
        numbers => numbers.iter().fold(0, |hash, &number| xxh64(&bits(number).to_le_bytes(), hash)),
    }
}

/// The place of each key. Codes are small whole numbers, which need no hash.
#[derive(Clone, Debug)]
struct Places {
    /// By key, if it is one whole number below `most`.
    small: Vec<u32>,
    most: usize,
    others: FxHashMap<u64, u32>,
}

impl Places {
    #[inline]
    fn small(&self, key: &[f64]) -> Option<usize> {
        match *key {
            // A cast of −0.5, NaN or a large number is another number.
            [number] => Some(number as usize).filter(|&small| small < self.most && small as f64 == number),
            _ => None,
        }
    }

    #[inline]
    fn get(&self, key: &[f64]) -> Option<u32> {
        match self.small(key) {
            Some(small) => self.small.get(small).copied().filter(|&place| place != NONE),
            None => self.others.get(&identity(key)).copied(),
        }
    }

    /// False if the key has a place already.
    fn insert(&mut self, key: &[f64], place: u32) -> bool {
        match self.small(key) {
            Some(small) => {
                if self.small.len() <= small {
                    self.small.resize(small + 1, NONE);
                }
                std::mem::replace(&mut self.small[small], place) == NONE
            }
            None => self.others.insert(identity(key), place).is_none(),
        }
    }

    fn remove(&mut self, key: &[f64]) {
        match self.small(key) {
            Some(small) => self.small[small] = NONE,
            None => drop(self.others.remove(&identity(key))),
        }
    }

    fn memory(&self) -> usize {
        self.small.capacity() * 4 + self.others.capacity() * 17
    }
}

impl<S: Clone> KeyTable<S> {
    /// `other` is the state of the keys that come too late, before the first.
    pub fn new(capacity: Capacity, features: usize, other: S) -> Self {
        KeyTable {
            capacity,
            features,
            places: Places { small: Vec::new(), most: capacity.max_keys, others: FxHashMap::default() },
            keys: Vec::new(),
            states: Vec::new(),
            other,
            order: (capacity.when_full == WhenFull::Evict).then(Order::new),
            folded: 0,
            evicted: 0,
            journal: Vec::new(),
            former_keys: Vec::new(),
            marked: 0,
            held: None,
            kept: FxHashSet::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }

    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Number of learned rows that share the state of other keys.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Number of keys that were replaced by others.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    fn is_full(&self) -> bool {
        self.states.len() >= self.capacity.max_keys
    }

    /// The place of a key: its number in order of arrival if no key is evicted.
    #[inline]
    pub fn place(&self, key: &[f64]) -> Option<usize> {
        self.places.get(key).map(|place| place as usize)
    }

    /// Whether a key without a place would share the state of others.
    pub fn folds(&self) -> bool {
        self.capacity.when_full == WhenFull::Other && self.is_full()
    }

    /// The state of a key, or the one it would share; none for a key that was never learned.
    #[inline]
    pub fn find(&self, key: &[f64]) -> Option<&S> {
        match self.place(key) {
            Some(place) => Some(&self.states[place]),
            None => (self.folds() && self.folded > 0).then_some(&self.other),
        }
    }

    /// The state of a key for a change, `fresh` if it is new. None if it is refused.
    #[inline]
    pub fn learn(&mut self, key: &[f64], fresh: impl FnOnce() -> S) -> Option<&mut S> {
        if let Some(place) = self.places.get(key) {
            self.renew(place);
            let state = &mut self.states[place as usize];
            self.journal.push(Change::State(place, state.clone()));
            return Some(state);
        }
        if !self.is_full() {
            let place = self.states.len() as u32;
            self.places.insert(key, place);
            self.keys.extend_from_slice(key);
            self.states.push(fresh());
            if let Some(order) = &mut self.order {
                order.push();
            }
            self.journal.push(Change::Created(place));
            return self.states.last_mut();
        }
        match self.capacity.when_full {
            WhenFull::Refuse => None,
            WhenFull::Other => {
                self.journal.push(Change::Other(self.other.clone()));
                self.folded += 1;
                Some(&mut self.other)
            }
            WhenFull::Evict => self.evict(key, fresh()),
        }
    }

    /// `learn` for a row that `undo` does not revert: of a batch whose last row calls `mark` first.
    #[inline]
    pub fn learn_in_batch(&mut self, key: &[f64], fresh: impl FnOnce() -> S) -> Option<&mut S> {
        if self.journal.len() > self.marked {
            self.mark();
        }
        match self.places.get(key).filter(|_| self.order.is_none()) {
            Some(place) => {
                let state = &mut self.states[place as usize];
                if self.held.is_some() && self.kept.insert(place) {
                    self.journal.push(Change::State(place, state.clone()));
                    self.marked = self.journal.len();
                }
                Some(state)
            }
            None => self.learn(key, fresh),
        }
    }

    fn renew(&mut self, place: u32) {
        let Some(order) = self.order.as_mut().filter(|order| order.newest != place) else { return };
        self.journal.push(Change::Renewed(place, order.older[place as usize]));
        order.unlink(place);
        order.link(place, NONE, order.newest);
    }

    /// Give the place of the key that was learned least recently to another.
    fn evict(&mut self, key: &[f64], fresh: S) -> Option<&mut S> {
        let order = self.order.as_mut().filter(|order| order.oldest != NONE)?;
        let place = order.oldest;
        order.unlink(place);
        order.link(place, NONE, order.newest);
        let start = place as usize * self.features;
        let own = &mut self.keys[start..start + self.features];
        self.places.remove(own);
        self.former_keys.extend_from_slice(own);
        own.copy_from_slice(key);
        self.places.insert(key, place);
        let state = &mut self.states[place as usize];
        self.journal.push(Change::Evicted(place, std::mem::replace(state, fresh)));
        self.evicted += 1;
        Some(state)
    }

    /// Set the point to which `undo` returns.
    #[inline]
    pub fn mark(&mut self) {
        if self.held.is_some() {
            self.keep_first();
        } else {
            self.journal.clear();
            self.former_keys.clear();
            self.marked = 0;
        }
    }

    /// Of the changes since the last `mark`, keep those that a rollback needs.
    fn keep_first(&mut self) {
        let mut end = self.marked;
        for at in self.marked..self.journal.len() {
            let needed = match self.journal[at] {
                Change::State(place, _) => self.kept.insert(place),
                Change::Other(_) => self.kept.insert(OTHER),
                Change::Created(place) | Change::Evicted(place, _) => {
                    self.kept.insert(place);
                    true
                }
                Change::Renewed(..) => true,
            };
            if needed {
                self.journal.swap(end, at);
                end += 1;
            }
        }
        self.journal.truncate(end);
        self.marked = end;
    }

    /// Revert the changes since the last `mark`.
    pub fn undo(&mut self) {
        while self.journal.len() > self.marked {
            let Some(change) = self.journal.pop() else { return };
            match change {
                Change::State(place, state) => self.states[place as usize] = state,
                Change::Other(state) => {
                    self.other = state;
                    self.folded -= 1;
                }
                Change::Created(place) => {
                    let start = place as usize * self.features;
                    self.places.remove(&self.keys[start..]);
                    self.keys.truncate(start);
                    self.states.truncate(place as usize);
                    if let Some(order) = &mut self.order {
                        order.pop();
                    }
                }
                Change::Evicted(place, state) => {
                    let start = place as usize * self.features;
                    let own = &mut self.keys[start..start + self.features];
                    self.places.remove(own);
                    own.copy_from_slice(&self.former_keys[self.former_keys.len() - self.features..]);
                    self.former_keys.truncate(self.former_keys.len() - self.features);
                    self.places.insert(own, place);
                    self.states[place as usize] = state;
                    self.evicted -= 1;
                    if let Some(order) = &mut self.order {
                        order.unlink(place);
                        order.link(place, order.oldest, NONE);
                    }
                }
                Change::Renewed(place, older) => {
                    if let Some(order) = &mut self.order {
                        order.unlink(place);
                        let newer = match older {
                            NONE => order.oldest,
                            older => order.newer[older as usize],
                        };
                        order.link(place, newer, older);
                    }
                }
            }
        }
    }

    pub fn savepoint(&mut self) {
        self.commit();
        self.held = Some((self.folded, self.evicted));
    }

    /// Return to the savepoint.
    pub fn rollback(&mut self) {
        let Some((folded, evicted)) = self.held else { return };
        // Later former states of a key were dropped, and with them their counts.
        (self.folded, self.evicted) = (u64::MAX, u64::MAX);
        self.marked = 0;
        self.undo();
        (self.folded, self.evicted) = (folded, evicted);
        self.commit();
    }

    /// Keep the changes since the savepoint.
    pub fn commit(&mut self) {
        self.held = None;
        self.kept = FxHashSet::default();
        self.mark();
        // The record of a large batch is not kept.
        self.journal.shrink_to(RECORDED);
        self.former_keys.shrink_to(RECORDED);
    }

    /// The keys and their states, by place.
    pub fn each(&self) -> impl Iterator<Item = (&[f64], &S)> + '_ {
        let key = move |place: usize| &self.keys[place * self.features..(place + 1) * self.features];
        self.states.iter().enumerate().map(move |(place, state)| (key(place), state))
    }

    /// The state that keys without a place share, if there are such keys.
    pub fn other(&self) -> Option<&S> {
        (self.folded > 0).then_some(&self.other)
    }

    /// The form in files, with states in a form of their own.
    pub fn saved<R>(&self, state: impl Fn(&S) -> Result<R>) -> Result<SavedTable<R>> {
        Ok(SavedTable {
            keys: self.keys.clone(),
            states: self.states.iter().map(&state).collect::<Result<_>>()?,
            other: state(&self.other)?,
            order: self.order.as_ref().map(Order::places).unwrap_or_default(),
            folded: self.folded,
            evicted: self.evicted,
        })
    }

    /// Adopt a saved table. After a fault it is unusable.
    pub fn load<R>(&mut self, who: &str, saved: SavedTable<R>, state: impl Fn(R) -> Result<S>) -> Result<()> {
        let count = saved.states.len();
        require(who, saved.keys.len() == count * self.features, "keys are missing")?;
        require(who, count <= self.capacity.max_keys, "more keys than max_keys")?;
        require(who, saved.keys.iter().all(|key| !key.is_infinite()), "a key is infinite")?;
        let full = count == self.capacity.max_keys;
        let fits = |happened: u64, when_full| happened == 0 || (full && self.capacity.when_full == when_full);
        require(who, fits(saved.folded, WhenFull::Other), "folded keys without a full table")?;
        require(who, fits(saved.evicted, WhenFull::Evict), "evicted keys without a full table")?;
        let mut table = KeyTable::new(self.capacity, self.features, state(saved.other)?);
        for place in 0..count {
            let key = &saved.keys[place * self.features..(place + 1) * self.features];
            require(who, table.places.insert(key, place as u32), "a key occurs twice")?;
        }
        table.keys = saved.keys;
        table.states = saved.states.into_iter().map(&state).collect::<Result<_>>()?;
        (table.folded, table.evicted) = (saved.folded, saved.evicted);
        match &mut table.order {
            None => require(who, saved.order.is_empty(), "an order without eviction")?,
            Some(order) => {
                let mut seen = vec![false; count];
                let fresh =
                    |&place: &u32| seen.get_mut(place as usize).is_some_and(|seen| !std::mem::replace(seen, true));
                require(who, saved.order.len() == count && saved.order.iter().all(fresh), "an invalid order")?;
                (order.newer, order.older) = (vec![NONE; count], vec![NONE; count]);
                for &place in saved.order.iter().rev() {
                    order.link(place, NONE, order.newest);
                }
            }
        }
        *self = table;
        Ok(())
    }

    /// Memory in bytes, given that of a state beyond its own size.
    pub fn memory(&self, state: impl Fn(&S) -> usize) -> usize {
        let order = self.order.as_ref().map_or(0, |order| (order.newer.capacity() + order.older.capacity()) * 4);
        std::mem::size_of::<Self>()
            + order
            + self.places.memory()
            + (self.keys.capacity() + self.former_keys.capacity()) * 8
            + self.states.capacity() * std::mem::size_of::<S>()
            + self.states.iter().map(&state).sum::<usize>()
            + self.journal.capacity() * std::mem::size_of::<Change<S>>()
    }
}

/// A table in a file.
#[derive(Serialize, Deserialize)]
pub struct SavedTable<R> {
    pub keys: Vec<f64>,
    pub states: Vec<R>,
    pub other: R,
    pub order: Vec<u32>,
    pub folded: u64,
    pub evicted: u64,
}

/// A key of a feature for people: the text of a code, `#` and digits for a hash, the number, or null for a missing value.
pub fn shown_key(schema: &Schema, slot: usize, key: f64) -> serde_json::Value {
    let nominal = schema.kinds().get(slot) == Some(&FeatureKind::Nominal);
    match key {
        key if key.is_nan() => serde_json::Value::Null,
        key if !nominal => key.into(),
        key if key < 0.0 => format!("#{:013x}", (-2.0 - key) as u64).into(),
        key => schema.values(slot).text(key as u32).unwrap_or_default().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::state::pack;
    use crate::numeric::random::Random;

    fn table(max_keys: usize, when_full: WhenFull) -> KeyTable<f64> {
        KeyTable::new(Capacity { max_keys, when_full }, 1, 0.0)
    }

    fn count(table: &mut KeyTable<f64>, key: f64) {
        table.mark();
        if let Some(state) = table.learn(&[key], || 0.0) {
            *state += 1.0;
        }
    }

    fn bytes(table: &KeyTable<f64>) -> Vec<u8> {
        pack(&table.saved(|state| Ok(*state)).expect("plain numbers")).expect("it packs")
    }

    #[test]
    fn what_happens_to_the_third_of_two_keys() {
        // Learned: 7, 8, 7, 9. With "other", 9 shares a state; with "evict" it replaces 8, which is older than 7.
        let learned = |when_full| {
            let mut table = table(2, when_full);
            [7.0, 8.0, 7.0, 9.0].into_iter().for_each(|key| count(&mut table, key));
            [7.0, 8.0, 9.0, 5.0].map(|key| table.find(&[key]).copied())
        };
        assert_eq!(learned(WhenFull::Other), [Some(2.0), Some(1.0), Some(1.0), Some(1.0)]);
        assert_eq!(learned(WhenFull::Evict), [Some(2.0), None, Some(1.0), None]);
        assert_eq!(learned(WhenFull::Refuse), [Some(2.0), Some(1.0), None, None]);
    }

    #[test]
    fn missing_values_and_both_zeros_are_keys() {
        let mut table = table(3, WhenFull::Refuse);
        [0.0, -0.0, f64::NAN, -f64::NAN].into_iter().for_each(|key| count(&mut table, key));
        assert_eq!((table.len(), table.find(&[0.0]), table.find(&[f64::NAN])), (2, Some(&2.0), Some(&2.0)));
    }

    #[test]
    fn rows_and_batches_are_reverted_bit_for_bit() {
        for when_full in [WhenFull::Other, WhenFull::Evict, WhenFull::Refuse] {
            let mut random = Random::new(1, 0);
            let mut table = table(5, when_full);
            for round in 0..200 {
                let mut next = || f64::from(random.below(9));
                (0..round % 7).for_each(|_| count(&mut table, next()));
                let before = bytes(&table);
                table.savepoint();
                for _ in 0..round % 11 {
                    count(&mut table, next());
                    let row = bytes(&table);
                    count(&mut table, next());
                    table.undo();
                    assert_eq!(bytes(&table), row);
                }
                match round % 3 {
                    0 => table.commit(),
                    _ => {
                        table.rollback();
                        assert_eq!(bytes(&table), before);
                    }
                }
                let mut again = KeyTable::new(table.capacity, 1, 0.0);
                again.load("table", table.saved(|state| Ok(*state)).expect("numbers"), Ok).expect("just saved");
                assert_eq!(bytes(&again), bytes(&table));
                table = again;
                assert!(table.len() <= 5);
            }
        }
    }

    #[test]
    fn a_batch_is_its_rows_one_by_one() {
        for when_full in [WhenFull::Other, WhenFull::Evict, WhenFull::Refuse] {
            let mut random = Random::new(2, 0);
            let (mut one, mut many) = (table(5, when_full), table(5, when_full));
            for round in 0..100 {
                let before = bytes(&many);
                if round % 2 == 0 {
                    many.savepoint();
                }
                let keys: Vec<f64> = (0..round % 13).map(|_| f64::from(random.below(9))).collect();
                many.mark();
                for &key in &keys {
                    if let Some(state) = many.learn_in_batch(&[key], || 0.0) {
                        *state += 1.0;
                    }
                }
                if round % 4 == 0 {
                    many.rollback();
                    assert_eq!(bytes(&many), before);
                    continue;
                }
                many.mark();
                keys.iter().for_each(|&key| count(&mut one, key));
                let learned = bytes(&many);
                assert_eq!(bytes(&one), learned);
                // The row after the batch is reverted alone.
                count(&mut many, f64::from(random.below(9)));
                many.undo();
                assert_eq!(bytes(&many), learned);
                many.commit();
            }
        }
    }

    #[test]
    fn forged_tables_are_refused() {
        let mut known = table(3, WhenFull::Evict);
        [1.0, 2.0, 3.0, 1.0, 4.0].into_iter().for_each(|key| count(&mut known, key));
        let saved = || known.saved(|state| Ok(*state)).expect("numbers");
        let load = |saved| table(3, WhenFull::Evict).load("table", saved, Ok);
        assert!(load(saved()).is_ok());
        for forged in [
            SavedTable { order: vec![0, 0, 1], ..saved() },
            SavedTable { order: vec![0, 1, 3], ..saved() },
            SavedTable { order: Vec::new(), ..saved() },
            SavedTable { keys: vec![1.0, 1.0, 2.0], ..saved() },
            SavedTable { keys: vec![1.0, f64::INFINITY, 2.0], ..saved() },
            SavedTable { keys: vec![1.0, 2.0], ..saved() },
            SavedTable { folded: 3, ..saved() },
            SavedTable {
                keys: vec![0.0, 1.0, 2.0, 3.0],
                states: vec![1.0; 4],
                order: vec![0, 1, 2, 3],
                ..saved()
            },
            SavedTable { keys: vec![0.0], states: vec![1.0], order: vec![0], ..saved() },
        ] {
            assert!(load(forged).is_err());
        }
        assert!(table(3, WhenFull::Other).load("table", saved(), Ok).is_err());
    }

    #[test]
    fn the_bound_holds_for_any_number_of_new_keys() {
        for when_full in [WhenFull::Other, WhenFull::Evict] {
            let mut table = table(1000, when_full);
            (0..200_000).for_each(|key| count(&mut table, f64::from(key)));
            assert_eq!(table.len(), 1000);
            assert!(table.memory(|_| 0) < 200_000);
            assert_eq!(table.folded() + table.evicted(), 199_000);
        }
    }
}
