//! Learning and predicting the rows of a table, each with the model of its key.
//!
//! The rows of a block are divided by shard, and each shard processes its rows in order, on any thread. Within a shard,
//! keys are looked up and their models prefetched some rows ahead: a model of a random key is not in the caches.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::ensemble::threads;
use crate::fault::{Fault, FaultKind, Result};
use crate::held::{Held, Job, Model, Root, TableRow, Tally};
use crate::key::Key;
use crate::labels::{Label, Labels};
use crate::row::{Scratch, Want};
use crate::table::{raw_block, Raw, RawBlock, Reader};
use crate::task::{Answer, Target, Targets};

use super::answers::KeyedAnswers;
use super::key::{hash, ShownKey};
use super::store::{Moment, Store};
use super::{read, write, Keyed, Session};

/// Number of rows of the first block and of the largest. A shard is locked for its rows of a block, and threads wait for
/// each other after each block.
const FIRST_BLOCK: usize = 1 << 12;
const LARGEST_BLOCK: usize = 1 << 14;
/// How long a block should take: between two blocks a job may be stopped, and readers get their turn.
const SHORT: Duration = Duration::from_millis(8);
const LONG: Duration = Duration::from_millis(24);
/// How many rows ahead a key is looked up, and its model prefetched. 4 to 16 work equally well.
const AHEAD: usize = 8;
/// Blocks below this are processed by one thread: another one would take longer to wake up.
const FEW: usize = 1 << 10;
/// The rows of a block are read in pieces of this size, each on any thread: a power of two.
const PIECE: usize = 1 << 11;

const STOPPED: &str = "the job was stopped";

/// The keys of the rows of a table.
pub trait KeyColumn: Sync {
    fn at(&self, row: usize) -> Key<'_>;
}

/// A job for the rows of a table with keys.
pub struct KeyedJob<'a> {
    pub job: Job<'a>,
    pub keys: &'a dyn KeyColumn,
    /// By row; NaN for none.
    pub times: Option<&'a [f64]>,
    pub threads: usize,
    /// Whether to give up, called between blocks.
    pub stops: &'a (dyn Fn() -> bool + Sync),
}

impl KeyedJob<'_> {
    fn time(&self, row: usize) -> f64 {
        self.times.map_or(f64::NAN, |times| times[row])
    }

    /// The number of threads for a number of rows.
    fn threads_for(&self, rows: usize) -> usize {
        if rows < FEW {
            1
        } else {
            self.threads.max(1)
        }
    }
}

/// What a job gave.
pub struct KeyedRun {
    pub answers: KeyedAnswers,
    /// The labels of the codes of classes in `answers`; none for a code without a label.
    pub labels: Vec<Option<Label>>,
    pub tally: Tally,
}

/// What is common to all rows of a block.
#[derive(Clone, Copy)]
struct Block<'b, 'j> {
    keyed: &'b Keyed<Root>,
    /// The labels before the job, and with those of its rows.
    known: &'b Labels,
    labels: &'b Labels,
    job: &'b KeyedJob<'j>,
    /// Its rows in pieces.
    pieces: &'b [RawBlock<'b>],
    from: usize,
    /// By row of the block.
    hashes: &'b [u64],
    /// The number of the example before the first of the job.
    ticks: u64,
    /// See `Keyed::texts`.
    texts: Option<bool>,
}

impl<'b> Block<'b, '_> {
    #[inline]
    fn row(&self, row: u32) -> Raw<'b> {
        let row = row as usize;
        self.pieces[row / PIECE].row(row % PIECE)
    }
}

/// The rows of one shard in a block.
struct Part<'b, 'j> {
    block: Block<'b, 'j>,
    /// The largest time up to each row of the block; empty without times.
    clocks: &'b [f64],
    /// Rows of the block in their order.
    rows: &'b [u32],
}

/// What became of some rows.
struct Outcome {
    answers: KeyedAnswers,
    skipped: Vec<(usize, Fault)>,
    /// New labels, with their rows.
    met: Vec<(usize, Label)>,
    /// What stopped it.
    fault: Option<Fault>,
}

impl Outcome {
    fn new(block: &Block<'_, '_>) -> Self {
        let answers = KeyedAnswers::new(block.keyed.template.role(), block.job.job.predicting, block.labels);
        Outcome { answers, skipped: Vec::new(), met: Vec::new(), fault: None }
    }

    /// A row has a fault; true if the job goes on. A fault of the spill file is not one of the row.
    fn skips(&mut self, row: usize, fault: Fault, job: &KeyedJob<'_>) -> bool {
        let fault = fault.at_row(row);
        let skips = job.job.skip && fault.kind() != FaultKind::State;
        if skips {
            self.skipped.push((row, fault));
            self.answers.push_nothing();
        } else {
            self.fault = Some(fault);
        }
        skips
    }
}

/// The rows of a job so far.
struct Progress {
    answers: KeyedAnswers,
    tally: Tally,
    met: Vec<(usize, Label)>,
    /// The largest time of the rows that were learned.
    now: f64,
    fault: Option<Fault>,
    /// A skipped row has advanced the clock for others, so that they must be processed again.
    is_ahead: bool,
}

impl Keyed<Root> {
    /// Process rows of a table; the predictions are returned by row. With `skip`, faulty rows are skipped and counted. Any
    /// other fault reverts all rows of the job; it is that of the first faulty row.
    pub fn run(&self, job: &KeyedJob<'_>) -> Result<KeyedRun> {
        let session = job.job.learning.then(|| self.session());
        self.check_keys(job)?;
        let known = self.labels().clone();
        if job.job.learning {
            self.admit_labels(job.job.targets);
        }
        // A copy: another thread may add a class meanwhile, and all blocks must have the same.
        let labels = self.labels().clone();
        // The global model learns row by row.
        let in_order = job.job.learning && self.global.is_some();
        let mut progress = self.attempt(job, session.as_ref(), (&known, &labels), in_order);
        if progress.is_ahead {
            progress = self.attempt(job, session.as_ref(), (&known, &labels), true);
        }
        let Progress { answers, mut tally, mut met, now, fault, .. } = progress;
        let mut final_labels = known;
        if session.is_some() {
            if fault.is_none() {
                met.sort_by_key(|(row, _)| *row);
                met.iter().for_each(|(_, label)| {
                    final_labels.intern(label);
                });
                *write(&self.clock) = now;
                *write(&self.ticks) += (job.job.to - job.job.from) as u64;
            }
            *write(&self.labels) = final_labels.clone();
            if self.is_empty() {
                // No key has settled their type.
                *write(&self.texts) = None;
            }
            self.shards.iter().for_each(|shard| write(shard).tidy());
        } else {
            final_labels = labels.clone();
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        tally.done = job.job.to - job.job.from - tally.skipped.len();
        tally.skipped.sort_by_key(|(row, _)| *row);
        let known = |label: &Option<Label>| label.clone().filter(|label| final_labels.code(label).is_some());
        Ok(KeyedRun { answers, labels: labels.entries().iter().map(known).collect(), tally })
    }

    /// Process all rows, those of different shards at the same time or all in their order.
    fn attempt(
        &self,
        job: &KeyedJob<'_>,
        session: Option<&Session<'_>>,
        (known, labels): (&Labels, &Labels),
        in_order: bool,
    ) -> Progress {
        let rows = job.job.to - job.job.from;
        let mut progress = Progress {
            answers: KeyedAnswers::new(self.template.role(), job.job.predicting, labels).sized(rows),
            tally: Tally::default(),
            met: Vec::new(),
            now: self.now(),
            fault: None,
            is_ahead: false,
        };
        let guarded = !job.job.skip || job.times.is_some() || self.spill.is_some();
        if let Some(session) = session.filter(|_| guarded) {
            self.savepoint(session);
        }
        let mut from = job.job.from;
        // A model of words takes less than a microsecond for a row.
        let mut size = if self.compact { LARGEST_BLOCK } else { FIRST_BLOCK };
        let (ticks, texts) = (*read(&self.ticks), *read(&self.texts));
        while from < job.job.to && progress.fault.is_none() && !progress.is_ahead {
            let (to, started) = ((from + size).min(job.job.to), Instant::now());
            let mut hashes = vec![0; to - from];
            let mut buffers = vec![Vec::new(); hashes.len().div_ceil(PIECE)];
            let pieces = read_pieces(job, from, &mut hashes, &mut buffers);
            let block =
                Block { keyed: self, known, labels, job, pieces: &pieces, from, hashes: &hashes, ticks, texts };
            match in_order {
                true => self.run_in_order(block, &mut progress),
                false => self.run_by_shard(block, &mut progress),
            }
            from = to;
            let took = started.elapsed();
            size = match took {
                _ if took > LONG => (size / 2).max(1),
                _ if took < SHORT => (size * 2).min(LARGEST_BLOCK),
                _ => size,
            };
            if progress.fault.is_none() && from < job.job.to && (job.stops)() {
                progress.fault = Some(Fault::value(STOPPED));
            }
        }
        if let Some(session) = session.filter(|_| guarded) {
            self.end(session, progress.fault.is_none() && !progress.is_ahead);
        }
        progress
    }

    /// Refuse keys that are none. With `skip` this is found row by row.
    fn check_keys(&self, job: &KeyedJob<'_>) -> Result<()> {
        let Some(first) =
            (job.job.from..job.job.to).map(|row| job.keys.at(row)).find(|&key| self.check_key(key).is_ok())
        else {
            return match job.job.from < job.job.to && !job.job.skip {
                true => self.check_key(job.keys.at(job.job.from)).map_err(|fault| fault.at_row(job.job.from)),
                false => Ok(()),
            };
        };
        if job.job.learning {
            self.settle_type(first);
        }
        Ok(())
    }

    /// Give codes to the labels of a batch, for the predictions of others meanwhile.
    fn admit_labels(&self, targets: Targets<'_>) {
        if let Targets::Classes { distinct, .. } = targets {
            let known = distinct.iter().all(|label| self.labels().code(label).is_some());
            if !known {
                self.admit(distinct);
            }
        }
    }

    /// Process the rows of a block, those of different shards at the same time.
    fn run_by_shard(&self, block: Block<'_, '_>, progress: &mut Progress) {
        let Block { job, from, hashes, .. } = block;
        let mut now = progress.now;
        let clocks = match job.times {
            Some(times) => clocks(&times[from..from + hashes.len()], &mut now, |_| true),
            None => Vec::new(),
        };
        let rows = self.divide(hashes);
        let parts: Vec<Part<'_, '_>> = rows.iter().map(|rows| Part { block, clocks: &clocks, rows }).collect();
        let outcomes = on_threads(job.threads_for(hashes.len()).min(parts.len()), &parts);
        let first = job.job.from;
        let skipped_before = progress.tally.skipped.len();
        for (part, outcome) in parts.iter().zip(outcomes) {
            progress.answers.scatter(part.rows.iter().map(|&row| from + row as usize - first), &outcome.answers);
            progress.tally.skipped.extend(outcome.skipped);
            progress.met.extend(outcome.met);
            let earlier = |other: &Fault| progress.fault.as_ref().is_none_or(|fault| other.row() < fault.row());
            if let Some(other) = outcome.fault.filter(earlier) {
                progress.fault = Some(other);
            }
        }
        let skipped = &progress.tally.skipped[skipped_before..];
        if let Some(times) = job.times.filter(|_| !skipped.is_empty()) {
            let skipped: FxHashSet<usize> = skipped.iter().map(|(row, _)| *row).collect();
            let mut without = progress.now;
            let times = &times[from..from + hashes.len()];
            progress.is_ahead =
                clocks != self::clocks(times, &mut without, |row| !skipped.contains(&(from + row)));
        }
        progress.now = now;
    }

    /// Process the rows of a block in their order.
    fn run_in_order(&self, block: Block<'_, '_>, progress: &mut Progress) {
        let Block { job, from, hashes, .. } = block;
        let mut outcome = Outcome::new(&block);
        let mut scratch = Scratch::default();
        let mut readers: Vec<Readers<'_>> = self.shards.iter().map(|_| Readers::default()).collect();
        let mut answer = Answer::default();
        for (row, &hash) in hashes.iter().enumerate() {
            let shard = self.shard(hash);
            let now = progress.now.max(job.time(from + row));
            let mut store = write(&self.shards[shard]);
            let mut worker = Worker {
                block,
                clocks: &[],
                now,
                readers: std::mem::take(&mut readers[shard]),
                answer,
                scratch: &mut scratch,
            };
            let learned = worker.learn(&mut store, row as u32, &mut outcome);
            Worker { readers: readers[shard], answer, .. } = worker;
            match learned {
                Ok(()) => progress.now = now,
                Err(fault) => {
                    if !outcome.skips(from + row, fault, job) {
                        break;
                    }
                }
            }
        }
        let first = job.job.from;
        progress.answers.scatter((from..from + hashes.len()).map(|row| row - first), &outcome.answers);
        progress.tally.skipped.extend(outcome.skipped);
        progress.met.extend(outcome.met);
        progress.fault = outcome.fault;
    }

    /// The rows of each shard.
    fn divide(&self, hashes: &[u64]) -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> =
            vec![Vec::with_capacity(hashes.len() / self.shards.len()); self.shards.len()];
        for (row, &hash) in hashes.iter().enumerate() {
            rows[self.shard(hash)].push(row as u32);
        }
        rows
    }
}

/// A piece of a block: its first row, and where its hashes and rows belong.
struct Piece<'h, 'b> {
    from: usize,
    hashes: &'h mut [u64],
    buffer: Option<&'b mut Vec<f64>>,
    raw: Option<RawBlock<'b>>,
}

/// Hash the keys of a block and read its rows, in pieces on several threads.
fn read_pieces<'b>(
    job: &KeyedJob<'b>,
    from: usize,
    hashes: &mut [u64],
    buffers: &'b mut [Vec<f64>],
) -> Vec<RawBlock<'b>> {
    let threads = job.threads_for(hashes.len());
    let mut pieces: Vec<Piece<'_, 'b>> = hashes
        .chunks_mut(PIECE)
        .zip(buffers)
        .enumerate()
        .map(|(at, (hashes, buffer))| Piece { from: from + at * PIECE, hashes, buffer: Some(buffer), raw: None })
        .collect();
    threads::each_beside(threads, &mut pieces, &mut Scratch::default(), |piece, _| {
        for (at, place) in piece.hashes.iter_mut().enumerate() {
            *place = hash(job.keys.at(piece.from + at));
        }
        let to = piece.from + piece.hashes.len();
        piece.raw = piece.buffer.take().map(|buffer| raw_block(job.job.table, piece.from, to, buffer));
    });
    pieces.into_iter().filter_map(|piece| piece.raw).collect()
}

/// The largest time up to each row, of those that count.
fn clocks(times: &[f64], now: &mut f64, counts: impl Fn(usize) -> bool) -> Vec<f64> {
    let clock = |(row, &time): (usize, &f64)| {
        if counts(row) {
            // NaN leaves it as it is.
            *now = now.max(time);
        }
        *now
    };
    times.iter().enumerate().map(clock).collect()
}

/// The outcomes of all parts.
fn on_threads(threads: usize, parts: &[Part<'_, '_>]) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = parts.iter().map(|part| Outcome::new(&part.block)).collect();
    let mut works: Vec<_> = parts.iter().zip(&mut outcomes).enumerate().collect();
    threads::each_beside(threads, &mut works, &mut Scratch::default(), |(shard, (part, outcome)), scratch| {
        part.run(*shard, outcome, scratch);
    });
    outcomes
}

impl Part<'_, '_> {
    fn run(&self, shard: usize, outcome: &mut Outcome, scratch: &mut Scratch) {
        let Block { keyed, job, .. } = self.block;
        if self.rows.is_empty() {
            return;
        }
        let (readers, answer, now) = (Readers::default(), Answer::default(), keyed.now());
        let mut worker = Worker { block: self.block, clocks: self.clocks, now, readers, answer, scratch };
        let store = &keyed.shards[shard];
        if job.job.learning {
            let mut store = write(store);
            worker.each(self.rows, outcome, &mut *store, |store, ahead| store.prefetch(ahead), Worker::learn);
        } else {
            let store = read(store);
            worker.each(self.rows, outcome, &mut &*store, |store, ahead| store.prefetch(ahead), Worker::predict);
        }
    }
}

/// The keys of rows to come: the first is further ahead.
type Coming = (Option<u64>, Option<u64>);

impl Store<Root> {
    #[inline]
    fn prefetch(&self, (later, sooner): Coming) {
        if let Some(hash) = later {
            self.prefetch_key(hash);
        }
        if let Some(hash) = sooner {
            self.prefetch_model(hash);
        }
    }
}

/// Processes the rows of one shard.
struct Worker<'w, 'b, 'j> {
    block: Block<'b, 'j>,
    /// See `Part`.
    clocks: &'b [f64],
    /// The largest time so far, without `clocks`.
    now: f64,
    readers: Readers<'b>,
    answer: Answer,
    scratch: &'w mut Scratch,
}

impl<'b> Worker<'_, 'b, '_> {
    fn each<S: ?Sized>(
        &mut self,
        rows: &[u32],
        outcome: &mut Outcome,
        store: &mut S,
        prefetch: impl Fn(&S, Coming),
        process: impl Fn(&mut Self, &mut S, u32, &mut Outcome) -> Result<()>,
    ) {
        let Block { hashes, job, from, .. } = self.block;
        let hash_at = |at: usize| rows.get(at).map(|&row| hashes[row as usize]);
        (0..AHEAD).for_each(|at| prefetch(store, (hash_at(AHEAD + at), hash_at(at))));
        for (at, &row) in rows.iter().enumerate() {
            prefetch(store, (hash_at(at + 2 * AHEAD), hash_at(at + AHEAD)));
            if let Err(fault) = process(self, store, row, outcome) {
                if !outcome.skips(from + row as usize, fault, job) {
                    return;
                }
            }
        }
    }

    fn key(&self, at: u32) -> (u64, Key<'b>) {
        (self.block.hashes[at as usize], self.block.job.keys.at(self.block.from + at as usize))
    }

    fn learn(&mut self, store: &mut Store<Root>, row: u32, outcome: &mut Outcome) -> Result<()> {
        let key = self.key(row);
        let Worker { block, clocks, now, readers, answer, scratch } = self;
        let Block { keyed, known, labels, job, from, ticks, texts, .. } = *block;
        let now = clocks.get(row as usize).copied().unwrap_or(*now);
        keyed.check_key_type(key.1, texts)?;
        let (raw, row) = (block.row(row), from + row as usize);
        let target = job.job.targets.at(row).map_err(|fault| fault.by(&keyed.template.title))?;
        let w = job.job.weights.map_or(1.0, |weights| weights[row]);
        let tick = ticks + (row - job.job.from) as u64 + 1;
        let mut met = Vec::new();
        let learned = store.change(
            key,
            Moment { tick, time: job.time(row), now },
            || keyed.prior(),
            |form, model| {
                let (before, classes) = (model.schema().extent(), model.labels().known());
                let reader = readers.of(form, job.job.table, model)?;
                let copy = (keyed.global.is_some() && !keyed.compact).then(|| model.clone());
                let mut source = TableRow { reader, raw };
                let error = match job.job.predicting {
                    Some(want) => {
                        model.step(&mut source, target, w, want, answer, scratch)?;
                        error_of(model, answer, target)
                    }
                    // The same, and faster where a prediction costs little.
                    None if keyed.compact => {
                        model.step(&mut source, target, w, Want::Class, answer, scratch)?;
                        None
                    }
                    None => {
                        model.learn(&mut source, target, w, scratch)?;
                        None
                    }
                };
                if model.schema().extent() != before {
                    // The next model of the form does not know what this one has just met.
                    source.reader.forget();
                }
                if let Some(global) = &keyed.global {
                    let mut global = write(global);
                    let reader = readers.of_global(job.job.table, &global)?;
                    let mut source = TableRow { reader, raw };
                    let learned = global.learn(&mut source, target, w, scratch);
                    if let Err(fault) = learned {
                        source.reader.forget();
                        // The words of a compact model are stored only after success.
                        if let Some(copy) = copy {
                            *model = copy;
                        }
                        return Err(fault.by("the global model"));
                    }
                }
                if model.labels().known() != classes {
                    let new = model.labels().entries().iter().flatten();
                    met.extend(new.filter(|label| known.code(label).is_none()).map(|label| (row, label.clone())));
                }
                outcome.answers.push(model, answer, labels);
                Ok(((), error))
            },
        );
        // A fault after the prediction was added is one of the spill file, which stops the job.
        learned.map_err(|fault| fault.by(&ShownKey(key.1).to_string()))?;
        outcome.met.append(&mut met);
        Ok(())
    }

    fn predict(&mut self, store: &mut &Store<Root>, row: u32, outcome: &mut Outcome) -> Result<()> {
        let (hash, key) = self.key(row);
        let Worker { block, now, readers, answer, scratch, .. } = self;
        let Block { keyed, labels, job, texts, .. } = *block;
        keyed.check_key_type(key, texts)?;
        let raw = block.row(row);
        let want = job.job.predicting.unwrap_or(Want::Class);
        let mut ask = |form: Option<usize>, model: &Model| {
            let reader = readers.of(form, job.job.table, model)?;
            model.predict(&mut TableRow { reader, raw }, want, answer, scratch)?;
            outcome.answers.push(model, answer, labels);
            Ok(())
        };
        let asked = match store.ask(hash, key, *now, |form, model| ask(Some(form), model)) {
            Ok(Some(asked)) => asked,
            Ok(None) => keyed.ask_prior(|model| ask(None, model)),
            Err(fault) => Err(fault),
        };
        asked.map_err(|fault: Fault| fault.by(&ShownKey(key).to_string()))
    }
}

/// Reads the rows of one table for the models of each form.
#[derive(Default)]
struct Readers<'t> {
    fresh: Option<Reader<'t>>,
    global: Option<Reader<'t>>,
    by_form: Vec<Option<Reader<'t>>>,
}

impl<'t> Readers<'t> {
    /// The reader for the global model, which only this job changes.
    fn of_global(&mut self, table: &'t dyn crate::table::Table, model: &Held<Root>) -> Result<&mut Reader<'t>> {
        match &mut self.global {
            Some(reader) => Ok(reader),
            place => Ok(place.insert(Reader::new(table, model.schema())?)),
        }
    }

    /// The reader for a form; for a new model it knows nothing.
    #[inline]
    fn of(
        &mut self,
        form: Option<usize>,
        table: &'t dyn crate::table::Table,
        model: &Held<Root>,
    ) -> Result<&mut Reader<'t>> {
        let place = match form {
            None => {
                if let Some(reader) = &mut self.fresh {
                    reader.forget();
                }
                &mut self.fresh
            }
            Some(form) => {
                if self.by_form.len() <= form {
                    self.by_form.resize_with(form + 1, || None);
                }
                &mut self.by_form[form]
            }
        };
        match place {
            Some(reader) => Ok(reader),
            None => {
                let reader = Reader::new(table, model.schema()).map_err(|fault| fault.by(model.title()))?;
                Ok(place.insert(reader))
            }
        }
    }
}

/// The error of a prediction: 0 or 1, the absolute error, or the score or distance; none without a prediction.
pub fn error_of(model: &Model, answer: &Answer, target: Target<'_>) -> Option<f64> {
    use crate::declaration::Role;
    match (model.role(), target) {
        (Role::Classifier, Target::Class(label)) => {
            answer.class.class.map(|class| f64::from(model.labels().code(label) != Some(class)))
        }
        (Role::Regressor, Target::Number(number)) => Some((answer.number - number).abs()),
        (Role::AnomalyDetector, _) => Some(answer.number),
        (Role::Clusterer, _) => Some(answer.cluster.distance).filter(|distance| distance.is_finite()),
        _ => None,
    }
}
