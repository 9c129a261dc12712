//! All models as bytes, or those that changed since the last time.
//!
//! ```text
//! magic (8) | format version (u32) | block … ; a block: length (u64) | payload | CRC-32C of the payload (u32)
//! ```
//! The first block is the head, and each other block has the models of one shard. Integers are little-endian. A *full* dump
//! has all models. A *delta* has the models that changed since the dump before, and the keys that were removed; the head
//! has the number of both, so that a delta is applied to no other state than its own.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::declaration::Role;
use crate::fault::{Fault, Result};
use crate::held::state::{self, pack, unpack};
use crate::held::{Held, Holdable};
use crate::labels::Labels;
use crate::registry;

use super::form::Form;
use super::header::{Header, HEADER};
use super::index::Place;
use super::key::OwnedKey;
use super::spill::SpillFile;
use super::store::{key_charge, Store};
use super::{read, write, Counters, Keyed, Limits, Session, LONGEST_KEY};

const MAGIC: &[u8; 8] = b"MILLKEYD";
const FORMAT: u32 = 1;
/// The largest head. It has a description and labels.
const LARGEST_HEAD: usize = 1 << 28;
/// Larger counts and ticks would overflow one day.
const LARGEST_COUNT: u64 = 1 << 62;

#[derive(Serialize, Deserialize)]
struct Head {
    written_by: String,
    /// The template as a saved file.
    #[serde(with = "serde_bytes")]
    template: Vec<u8>,
    /// What the caller wants to find again.
    note: String,
    max_keys: u64,
    max_bytes: u64,
    ttl: f64,
    texts: Option<bool>,
    labels: Labels,
    /// The model that new keys begin with, as a saved file; none if this is the template.
    global: Option<serde_bytes::ByteBuf>,
    shards: u32,
    /// Distinguishes the series of dumps of one object from all others.
    series: u64,
    /// The number of this dump, and of the one before for a delta.
    epoch: u32,
    base: Option<u32>,
}

impl<P: Holdable + Send + Sync> Keyed<P> {
    /// Write all models, or with `delta` those that changed since the last dump. `note` is returned by `load`. Returns the
    /// number of models written. The next delta begins here: call `forget_changes` if the bytes are lost.
    pub fn dump(&self, session: &Session<'_>, delta: bool, note: &str, out: &mut dyn Write) -> Result<usize> {
        let epoch = read(&self.shards[0]).epoch();
        let models = self.write_all(session, (epoch, delta), note, out)?;
        self.shards.iter().for_each(|shard| write(shard).next_epoch());
        Ok(models)
    }

    /// Write all models, apart from the series of dumps.
    pub fn save(&self, session: &Session<'_>, note: &str, out: &mut dyn Write) -> Result<usize> {
        // What was changed since the last dump stays so.
        let epoch = read(&self.shards[0]).epoch() - 1;
        self.write_all(session, (epoch, false), note, out)
    }

    /// The next dump is a full one.
    pub fn forget_changes(&self, _session: &Session<'_>) {
        self.shards.iter().for_each(|shard| write(shard).forget_changes());
    }

    fn write_all(
        &self,
        _session: &Session<'_>,
        (epoch, delta): (u32, bool),
        note: &str,
        out: &mut dyn Write,
    ) -> Result<usize> {
        let head = Head {
            written_by: env!("CARGO_PKG_VERSION").into(),
            template: self.template.save()?,
            note: note.into(),
            max_keys: self.limits.max_keys as u64,
            max_bytes: self.limits.max_bytes as u64,
            ttl: self.limits.ttl,
            texts: *read(&self.texts),
            labels: self.labels().clone(),
            global: match &self.global {
                Some(global) => Some(serde_bytes::ByteBuf::from(read(global).save()?)),
                None => None,
            },
            shards: self.shards.len() as u32,
            series: *read(&self.series),
            epoch,
            base: delta.then(|| epoch - 1),
        };
        put(out, MAGIC)?;
        put(out, &FORMAT.to_le_bytes())?;
        put_block(out, &pack(&head)?)?;
        let (mut models, mut block) = (0, Vec::new());
        for shard in &self.shards {
            block.clear();
            models += read(shard).write(delta, &mut block)?;
            put_block(out, &block)?;
        }
        Ok(models)
    }

    /// The note of a dump, which says how it is to be loaded.
    pub fn note(bytes: &[u8]) -> Result<String> {
        Blocks::new(bytes)?.head().map(|head| head.note)
    }

    /// The role of the components of a dump.
    pub fn role(bytes: &[u8]) -> Result<Role> {
        let head = Blocks::new(bytes)?.head()?;
        registry::role_of(&state::description(&state::open(&head.template)?)?)
    }

    /// From a full dump; also returns its note. Models that do not fit in memory go to the file.
    pub fn load(bytes: &[u8], spill: Option<SpillFile>) -> Result<(Self, String)> {
        let mut blocks = Blocks::new(bytes)?;
        let head = blocks.head()?;
        if head.base.is_some() {
            return Err(invalid("it is a delta, which needs the dump before it"));
        }
        let template = Held::load(&head.template)?;
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limits = Limits { max_keys: size(head.max_keys), max_bytes: size(head.max_bytes), ttl: head.ttl };
        let keyed = Keyed::new(template, limits, head.global.is_some(), spill);
        if keyed.shards.len() != head.shards as usize
            || head.epoch == u32::MAX
            || head.ttl.is_nan()
            || head.ttl <= 0.0
        {
            return Err(invalid("its settings do not match"));
        }
        keyed.read_shards(head, &mut blocks).map(|note| (keyed, note))
    }

    /// Apply a delta to the state of the dump before it; returns its note. After a fault the state is undefined.
    pub fn apply(&self, _session: &Session<'_>, bytes: &[u8]) -> Result<String> {
        let mut blocks = Blocks::new(bytes)?;
        let head = blocks.head()?;
        let series = *read(&self.series);
        if head.series != series || head.template != self.template.save()? {
            return Err(invalid("it is a delta of other models"));
        }
        // The next dump of this object would have this number.
        let epoch = read(&self.shards[0]).epoch();
        if head.base != Some(epoch - 1) || head.shards as usize != self.shards.len() {
            return Err(invalid("it does not follow the dump before"));
        }
        self.read_shards(head, &mut blocks)
    }

    fn read_shards(&self, head: Head, blocks: &mut Blocks<'_>) -> Result<String> {
        *write(&self.texts) = head.texts;
        *write(&self.labels) = head.labels;
        *write(&self.series) = head.series;
        if let (Some(global), Some(saved)) = (&self.global, &head.global) {
            let loaded = Held::load(saved)?;
            if loaded.description() != self.template.description() {
                return Err(invalid("the global model is not of the template"));
            }
            *write(global) = loaded;
        }
        let mut found = Vec::with_capacity(self.shards.len());
        for _ in &self.shards {
            found.push(blocks.next()?);
        }
        blocks.end()?;
        // Models are checked one by one, which takes the most time.
        let work = |first: usize| -> Result<()> {
            for (number, (shard, block)) in self.shards.iter().zip(&found).enumerate().skip(first).step_by(2) {
                let is_own = |key: &OwnedKey| self.shard(key.hash()) == number;
                write(shard).read(block, &self.template, head.texts, head.epoch, &is_own)?;
            }
            Ok(())
        };
        let results = std::thread::scope(|scope| {
            let other = scope.spawn(|| work(1));
            let own = work(0);
            [own, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
        });
        results.into_iter().collect::<Result<()>>()?;
        let clocks: Vec<(u64, f64)> = self.shards.iter().map(|shard| read(shard).clocks()).collect();
        *write(&self.clock) = clocks.iter().map(|clock| clock.1).fold(f64::NEG_INFINITY, f64::max);
        *write(&self.ticks) = clocks.iter().map(|clock| clock.0).max().unwrap_or(0);
        Ok(head.note)
    }
}

fn invalid(what: &str) -> Fault {
    Fault::state(format!("compose.Keyed: the dump cannot be read: {what}"))
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes)
        .map_err(|error| Fault::state(format!("compose.Keyed: the dump cannot be written: {error}")))
}

fn put_block(out: &mut dyn Write, payload: &[u8]) -> Result<()> {
    put(out, &(payload.len() as u64).to_le_bytes())?;
    put(out, payload)?;
    put(out, &crc32c::crc32c(payload).to_le_bytes())
}

/// Reads the blocks of a dump.
struct Blocks<'a> {
    input: Input<'a>,
    number: usize,
}

impl<'a> Blocks<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut input = Input(bytes);
        if input.take(8)? != MAGIC {
            return Err(invalid("it does not begin with MILLKEYD"));
        }
        match input.number::<4>().map(u32::from_le_bytes)? {
            FORMAT => Ok(Blocks { input, number: 0 }),
            newer => Err(invalid(&format!("its format {newer} is newer than {FORMAT}: update millstream"))),
        }
    }

    fn next(&mut self) -> Result<&'a [u8]> {
        let place = self.number;
        self.number += 1;
        let length = self.input.size()?;
        let payload = self.input.take(length)?;
        let checksum = self.input.number::<4>().map(u32::from_le_bytes)?;
        match crc32c::crc32c(payload) == checksum {
            true => Ok(payload),
            false => Err(invalid(&format!("block {place} is damaged (its checksum does not match)"))),
        }
    }

    fn head(&mut self) -> Result<Head> {
        let bytes = self.next()?;
        if bytes.len() > LARGEST_HEAD {
            return Err(invalid("its head is too large"));
        }
        unpack("compose.Keyed", bytes)
    }

    fn end(&self) -> Result<()> {
        match self.input.0.is_empty() {
            true => Ok(()),
            false => Err(invalid("there are bytes after its end")),
        }
    }
}

/// Bytes that are still to be read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.0.split_at_checked(length) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => Err(invalid("it is truncated")),
        }
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| invalid("it is truncated"))
    }

    fn word(&mut self) -> Result<u64> {
        self.number().map(u64::from_le_bytes)
    }

    fn size(&mut self) -> Result<usize> {
        usize::try_from(self.word()?).map_err(|_| invalid("a length is too large"))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.size()?;
        self.take(length)
    }
}

fn push(block: &mut Vec<u8>, words: &[u64]) {
    // A loop over words that the compiler turns into a copy.
    let start = block.len();
    block.resize(start + words.len() * 8, 0);
    block[start..]
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .zip(words)
        .for_each(|(bytes, word)| *bytes = word.to_le_bytes());
}

fn push_bytes(block: &mut Vec<u8>, bytes: &[u8]) {
    push(block, &[bytes.len() as u64]);
    block.extend_from_slice(bytes);
}

fn push_key(block: &mut Vec<u8>, key: &OwnedKey) {
    match key {
        OwnedKey::Int(int) => push(block, &[*int as u64]),
        OwnedKey::Text(text) => push_bytes(block, text.as_bytes()),
    }
}

impl<P: Holdable> Store<P> {
    /// Append the models, or with `delta` those that changed; returns their number.
    fn write(&self, delta: bool, block: &mut Vec<u8>) -> Result<usize> {
        let Counters { created, dropped, spilled, returned, expired } = self.counters;
        let (tick, clock) = self.clocks();
        push(block, &[tick, clock.to_bits(), created, dropped, spilled, returned, expired]);
        let removed = if delta { self.removed.as_slice() } else { &[] };
        push(block, &[removed.len() as u64]);
        removed.iter().for_each(|key| push_key(block, key));
        let is_written = |header: &Header| !delta || header.epoch == self.epoch;
        let mut stubs: Vec<Vec<u32>> = vec![Vec::new(); self.forms.len()];
        for slot in self.stubs.slots().filter(|&slot| is_written(&self.stubs.header(slot))) {
            stubs[self.stubs.place(slot).0].push(slot);
        }
        let mut models = 0;
        for (form, stubs) in self.forms.iter().zip(stubs) {
            let slots: Vec<u32> = form.slots().filter(|&slot| is_written(&form.header(slot))).collect();
            if slots.is_empty() && stubs.is_empty() {
                continue;
            }
            models += slots.len() + stubs.len();
            push_bytes(block, &form.prototype().save()?);
            push(block, &[(slots.len() + stubs.len()) as u64]);
            for slot in slots {
                let start = block.len();
                form.write(slot, block)?;
                self.write_text(start, form.key(slot), block);
            }
            for slot in stubs {
                let start = block.len();
                let header = self.stubs.header(slot);
                push(block, &self.stubs.words(slot)[..HEADER]);
                let place = self.stubs.place(slot).1;
                let state = self.spill()?.with(place, |buffers| {
                    match form.is_compact() {
                        true => block.extend_from_slice(&buffers.bytes),
                        false => push_bytes(block, &buffers.bytes),
                    }
                    Ok(())
                });
                state.map_err(|fault| fault.by(&self.shown(&header)).by("compose.Keyed"))?;
                self.write_text(start, header.key, block);
            }
        }
        Ok(models)
    }

    /// Append the text of a key, whose number, at `start`, has no meaning elsewhere.
    fn write_text(&self, start: usize, number: u64, block: &mut Vec<u8>) {
        if self.has_texts {
            block[start..start + 8].fill(0);
            push_bytes(block, self.texts.get(number).as_bytes());
        }
    }

    /// Add or replace the models of a block. `is_own` is true for the keys of this shard.
    fn read(
        &mut self,
        block: &[u8],
        template: &Held<P>,
        texts: Option<bool>,
        epoch: u32,
        is_own: &dyn Fn(&OwnedKey) -> bool,
    ) -> Result<()> {
        let mut input = Input(block);
        let [tick, clock] = [input.word()?, input.word()?];
        let clock = f64::from_bits(clock);
        let mut counts = [0; 5];
        for count in &mut counts {
            *count = input.word()?;
        }
        let [created, dropped, spilled, returned, expired] = counts;
        if counts.iter().chain([&tick]).any(|&count| count > LARGEST_COUNT)
            || clock.is_nan()
            || clock == f64::INFINITY
        {
            return Err(invalid("a count or time is out of range"));
        }
        self.set_texts(texts == Some(true));
        let read_key = |bytes: &[u8]| match bytes.len() > LONGEST_KEY {
            true => Err(invalid("a key is too long")),
            false => Ok(OwnedKey::Text(text_of(bytes)?.into())),
        };
        for _ in 0..input.size()? {
            let key = match self.has_texts {
                true => read_key(input.bytes()?)?,
                false => OwnedKey::Int(input.word()? as i64),
            };
            self.forget(&key);
        }
        let mut ticks = Vec::new();
        while !input.0.is_empty() {
            let mut model = Held::<P>::load(input.bytes()?)?;
            if model.description() != template.description() || texts.is_none() {
                return Err(invalid("a model is not of the template"));
            }
            let form = self.form_of(&mut model);
            for _ in 0..input.size()? {
                let (header, state) = Form::<P>::read(&mut input, &mut model)?;
                if header.tick == 0 || header.tick > tick || header.epoch == 0 || header.epoch > epoch + 1 {
                    return Err(invalid("a model is newer than its dump"));
                }
                if header.count > LARGEST_COUNT || header.time > clock || header.time == f64::NEG_INFINITY {
                    return Err(invalid("a count or time is out of range"));
                }
                let key = match self.has_texts {
                    true => read_key(input.bytes()?)?,
                    false => OwnedKey::Int(header.key as i64),
                };
                if !is_own(&key) {
                    return Err(invalid("a key is in the block of another shard"));
                }
                ticks.push(header.tick);
                self.adopt(form, &key, header, state)?;
            }
        }
        let models = ticks.len();
        ticks.sort_unstable();
        ticks.dedup();
        // Also if a key is there twice, because then it is replaced.
        if ticks.len() != models || self.len() < models {
            return Err(invalid("two models have the same place in time, or the same key"));
        }
        let counters = Counters { created, dropped, spilled, returned, expired };
        (self.tick, self.clock, self.counters, self.epoch) = (tick, clock, counters, epoch + 1);
        (self.removed, self.records_removed) = (Vec::new(), true);
        self.forget_order();
        Ok(())
    }

    /// The tick and the largest time so far.
    fn clocks(&self) -> (u64, f64) {
        (self.tick, self.clock)
    }

    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether the changes since the last dump are known.
    pub fn knows_changes(&self) -> bool {
        self.records_removed
    }

    pub fn forget_changes(&mut self) {
        (self.removed, self.records_removed) = (Vec::new(), false);
    }

    /// Changes from now on belong to the next dump.
    fn next_epoch(&mut self) {
        self.epoch += 1;
        self.removed = Vec::new();
        self.records_removed = true;
    }
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| invalid("a key is no valid text"))
}

/// The state of a model that was read.
pub enum Loaded<P> {
    /// Without a header.
    Words(Vec<u64>),
    Component(Box<P>),
}

impl<P: Holdable> Form<P> {
    /// Append the header and the state in a slot.
    fn write(&self, slot: u32, block: &mut Vec<u8>) -> Result<()> {
        match self.saved_component(slot) {
            Some(saved) => {
                push(block, &self.words(slot)[..HEADER]);
                push_bytes(block, &saved?);
            }
            None => push(block, self.words(slot)),
        }
        Ok(())
    }

    /// Read a header and a state. `model` is one of the form, and is used to check the state.
    fn read(input: &mut Input<'_>, model: &mut Held<P>) -> Result<(Header, Loaded<P>)> {
        let mut header = [0; HEADER];
        for word in &mut header {
            *word = input.word()?;
        }
        let header = Header::read(&header);
        model.count = header.count;
        let Some(measure) = Form::measure_of(model) else {
            let saved = input.bytes()?;
            model.part.part_mut().load(saved)?;
            return Ok((header, Loaded::Component(Box::new(model.part.clone()))));
        };
        let bytes = input.take(measure.words * 8)?;
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        // What a component saves and loads again is checked as any saved state is.
        Form::load_words(model, &words);
        let saved = model.part.part().save()?;
        model.part.part_mut().load(&saved)?;
        match Form::measure_of(model) == Some(measure) {
            true => Ok((header, Loaded::Words(words))),
            false => Err(invalid("a state has another form")),
        }
    }
}

impl<P: Holdable> Store<P> {
    /// Add or replace a model that was read.
    fn adopt(&mut self, form: usize, key: &OwnedKey, header: Header, state: Loaded<P>) -> Result<()> {
        self.forget(key);
        if self.spill.is_some() {
            // What does not fit goes to the file, the oldest first.
            self.make_room(f64::NEG_INFINITY, |store| store.forms[form].next_charge() + key_charge(key.key()))?;
        }
        let word = match key {
            OwnedKey::Text(text) => self.texts.add(text),
            OwnedKey::Int(int) => *int as u64,
        };
        let header = Header { key: word, ..header };
        let slot = self.with_form(form, |form| {
            form.forget_oldest();
            match state {
                Loaded::Words(words) => form.restore(&header, &words),
                Loaded::Component(component) => form.restore_component(&header, *component),
            }
        });
        self.insert(key.hash(), Place::new(form as u32, slot), key.key());
        Ok(())
    }
}
