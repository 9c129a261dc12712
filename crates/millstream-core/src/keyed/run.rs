//! Learning and predicting the rows of a table, each with the model of its key.
//!
//! The rows of a block are divided by shard, and each shard processes its rows in order, on any thread. Within a shard,
//! keys are looked up and their models prefetched some rows ahead: a model of a random key is not in the caches.

use std::time::{Duration, Instant};

use crate::fault::{Fault, Result};
use crate::held::{Held, Job, Model, Root, TableRow, Tally};
use crate::key::Key;
use crate::labels::Labels;
use crate::row::{Scratch, Want};
use crate::table::{raw_block, RawBlock, Reader};
use crate::task::{Answer, Target, Targets};

use super::answers::KeyedAnswers;
use super::key::{hash, ShownKey};
use super::store::Store;
use super::{read, write, Keyed};

/// Number of rows of the first block and of the largest. A shard is locked for its rows of a block, and threads are started
/// for each block.
const FIRST_BLOCK: usize = 1 << 12;
const LARGEST_BLOCK: usize = 1 << 14;
/// How long a block should take: between two blocks a job may be stopped, and readers get their turn.
const SHORT: Duration = Duration::from_millis(8);
const LONG: Duration = Duration::from_millis(24);
/// How many rows ahead a key is looked up, and its model prefetched. 4 to 16 work equally well.
const AHEAD: usize = 8;
/// Blocks below this are processed by one thread: another one would take longer to start.
const FEW: usize = 1 << 10;

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
}

/// The rows of one shard in a block.
struct Part<'b, 'j> {
    keyed: &'b Keyed<Root>,
    labels: &'b Labels,
    job: &'b KeyedJob<'j>,
    block: RawBlock<'b>,
    from: usize,
    /// By row of the block.
    hashes: &'b [u64],
    /// The largest time up to each row of the block; empty without times.
    clocks: &'b [f64],
    /// Rows of the block in their order.
    rows: &'b [u32],
}

/// What became of the rows of a shard.
struct Outcome {
    answers: KeyedAnswers,
    skipped: Vec<(usize, Fault)>,
    /// What stopped it.
    fault: Option<Fault>,
}

impl Keyed<Root> {
    /// Process rows of a table; the predictions are returned by row. With `skip`, faulty rows are skipped and counted. Any
    /// other fault reverts all rows of the job; it is that of the first faulty row.
    pub fn run(&self, job: &KeyedJob<'_>) -> Result<(KeyedAnswers, Tally)> {
        let session = job.job.learning.then(|| self.session());
        self.check_keys(job)?;
        if job.job.learning {
            self.admit_labels(job.job.targets);
        }
        // A copy: another thread may add a class meanwhile, and all blocks must have the same.
        let labels = self.labels().clone();
        let rows = job.job.to - job.job.from;
        let mut answers = KeyedAnswers::new(self.template.role(), job.job.predicting, &labels).sized(rows);
        if let Some(session) = session.as_ref().filter(|_| !job.job.skip) {
            self.savepoint(session);
        }
        let mut tally = Tally::default();
        let mut from = job.job.from;
        let (mut failed, mut now) = (None, self.now());
        let mut size = FIRST_BLOCK;
        while from < job.job.to && failed.is_none() {
            let (to, started) = ((from + size).min(job.job.to), Instant::now());
            failed = self.run_block(job, from, to, &labels, &mut answers, &mut tally, &mut now);
            from = to;
            let took = started.elapsed();
            size = match took {
                _ if took > LONG => (size / 2).max(1),
                _ if took < SHORT => (size * 2).min(LARGEST_BLOCK),
                _ => size,
            };
            if failed.is_none() && from < job.job.to && (job.stops)() {
                failed = Some(Fault::value(STOPPED));
            }
        }
        if let Some(session) = &session {
            self.end(session, failed.is_none());
            if failed.is_none() {
                *write(&self.clock) = now;
            } else if self.is_empty() {
                // No key has settled their type.
                *write(&self.texts) = None;
            }
            self.shards.iter().for_each(|shard| write(shard).tidy());
        }
        tally.done = rows - tally.skipped.len();
        tally.skipped.sort_by_key(|(row, _)| *row);
        match failed {
            Some(fault) => Err(fault),
            None => Ok((answers, tally)),
        }
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

    /// Give codes to the labels of a batch. A label that is learned by no model does no harm.
    fn admit_labels(&self, targets: Targets<'_>) {
        if let Targets::Classes { distinct, .. } = targets {
            let known = distinct.iter().all(|label| self.labels().code(label).is_some());
            if !known {
                let mut labels = write(&self.labels);
                for label in distinct {
                    labels.intern(label);
                }
            }
        }
    }

    /// Process the rows of a block; returns what stopped it.
    #[allow(clippy::too_many_arguments)]
    fn run_block(
        &self,
        job: &KeyedJob<'_>,
        from: usize,
        to: usize,
        labels: &Labels,
        answers: &mut KeyedAnswers,
        tally: &mut Tally,
        now: &mut f64,
    ) -> Option<Fault> {
        let mut buffer = Vec::new();
        let block = raw_block(job.job.table, from, to, &mut buffer);
        let hashes: Vec<u64> = (from..to).map(|row| hash(job.keys.at(row))).collect();
        let clocks: Vec<f64> = match job.times {
            Some(times) => times[from..to]
                .iter()
                .map(|&time| {
                    // NaN leaves it as it is.
                    *now = now.max(time);
                    *now
                })
                .collect(),
            None => Vec::new(),
        };
        let rows = self.divide(&hashes);
        let parts: Vec<Part<'_, '_>> = rows
            .iter()
            .map(|rows| Part { keyed: self, labels, job, block, from, hashes: &hashes, clocks: &clocks, rows })
            .collect();
        let threads = if to - from < FEW { 1 } else { job.threads.clamp(1, parts.len()) };
        let outcomes = on_threads(threads, &parts);
        let mut fault: Option<Fault> = None;
        for (part, outcome) in parts.iter().zip(outcomes) {
            let first = job.job.from;
            answers.scatter(part.rows.iter().map(|&row| from + row as usize - first), &outcome.answers);
            tally.skipped.extend(outcome.skipped);
            let earlier = |other: &Fault| fault.as_ref().is_none_or(|fault| other.row() < fault.row());
            if let Some(other) = outcome.fault.filter(earlier) {
                fault = Some(other);
            }
        }
        fault
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

/// The outcomes of all parts. Part i is processed by thread i modulo their number.
fn on_threads(threads: usize, parts: &[Part<'_, '_>]) -> Vec<Outcome> {
    let share = |thread: usize| -> Vec<(usize, Outcome)> {
        let mut scratch = Scratch::default();
        let own = parts.iter().enumerate().skip(thread).step_by(threads);
        own.map(|(shard, part)| (shard, part.run(shard, &mut scratch))).collect()
    };
    let mut outcomes: Vec<(usize, Outcome)> = match threads {
        1 => share(0),
        _ => std::thread::scope(|scope| {
            let share = &share;
            let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || share(thread))).collect();
            let mut outcomes = share(0);
            for other in others {
                match other.join() {
                    Ok(more) => outcomes.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            outcomes
        }),
    };
    outcomes.sort_by_key(|(shard, _)| *shard);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

impl<'b> Part<'b, '_> {
    fn run(&self, shard: usize, scratch: &mut Scratch) -> Outcome {
        let (labels, texts) = (self.labels, *read(&self.keyed.texts));
        let answers = KeyedAnswers::new(self.keyed.template.role(), self.job.job.predicting, labels);
        let mut outcome = Outcome { answers, skipped: Vec::new(), fault: None };
        if self.rows.is_empty() {
            return outcome;
        }
        let (readers, answer) = (Readers::default(), Answer::default());
        let now = self.keyed.now();
        let mut worker = Worker { part: self, labels, texts, now, readers, answer, scratch };
        let store = &self.keyed.shards[shard];
        if self.job.job.learning {
            let mut store = write(store);
            worker.each(&mut outcome, &mut *store, |store, ahead| store.prefetch(ahead), Worker::learn);
        } else {
            let store = read(store);
            worker.each(&mut outcome, &mut &*store, |store, ahead| store.prefetch(ahead), Worker::predict);
        }
        outcome
    }

    fn key(&self, at: u32) -> (u64, Key<'_>) {
        (self.hashes[at as usize], self.job.keys.at(self.from + at as usize))
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
    part: &'w Part<'b, 'j>,
    labels: &'w Labels,
    /// See `Keyed::texts`.
    texts: Option<bool>,
    /// See `Keyed::clock`.
    now: f64,
    readers: Readers<'w>,
    answer: Answer,
    scratch: &'w mut Scratch,
}

impl<'w> Worker<'w, '_, '_> {
    fn each<S: ?Sized>(
        &mut self,
        outcome: &mut Outcome,
        store: &mut S,
        prefetch: impl Fn(&S, Coming),
        process: impl Fn(&mut Self, &mut S, u32, &mut KeyedAnswers) -> Result<()>,
    ) {
        let Part { rows, hashes, job, from, .. } = *self.part;
        let hash_at = |at: usize| rows.get(at).map(|&row| hashes[row as usize]);
        (0..AHEAD).for_each(|at| prefetch(store, (hash_at(AHEAD + at), hash_at(at))));
        for (at, &row) in rows.iter().enumerate() {
            prefetch(store, (hash_at(at + 2 * AHEAD), hash_at(at + AHEAD)));
            if let Err(fault) = process(self, store, row, &mut outcome.answers) {
                let row = from + row as usize;
                let fault = fault.at_row(row);
                if !job.job.skip {
                    outcome.fault = Some(fault);
                    return;
                }
                outcome.skipped.push((row, fault));
                outcome.answers.push_nothing();
            }
        }
    }

    fn learn(&mut self, store: &mut Store<Root>, row: u32, answers: &mut KeyedAnswers) -> Result<()> {
        let Worker { part, labels, texts, now, readers, answer, scratch } = self;
        let Part { keyed, job, block, from, clocks, .. } = *part;
        let key = part.key(row);
        let now = clocks.get(row as usize).copied().unwrap_or(*now);
        keyed.check_key_type(key.1, *texts)?;
        let (raw, row) = (block.row(row as usize), from + row as usize);
        let target = job.job.targets.at(row).map_err(|fault| fault.by(&keyed.template.title))?;
        let w = job.job.weights.map_or(1.0, |weights| weights[row]);
        let named = |fault: Fault| fault.by(&ShownKey(key.1).to_string());
        store
            .change(key, (job.time(row), now), &keyed.template, |form, model| {
                let before = model.schema().extent();
                let reader = readers.of(form, job.job.table, model)?;
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
                answers.push(model, answer, labels);
                Ok(((), error))
            })
            .map_err(named)
    }

    fn predict(&mut self, store: &mut &Store<Root>, row: u32, answers: &mut KeyedAnswers) -> Result<()> {
        let Worker { part, labels, texts, now, readers, answer, scratch } = self;
        let Part { keyed, job, block, .. } = *part;
        let (hash, key) = part.key(row);
        keyed.check_key_type(key, *texts)?;
        let raw = block.row(row as usize);
        let want = job.job.predicting.unwrap_or(Want::Class);
        let mut ask = |form: Option<usize>, model: &Model| {
            let reader = readers.of(form, job.job.table, model)?;
            model.predict(&mut TableRow { reader, raw }, want, answer, scratch)?;
            answers.push(model, answer, labels);
            Ok(())
        };
        match store.ask(hash, key, *now, |form, model| ask(Some(form), model)) {
            Some(asked) => asked,
            None => ask(None, &keyed.template),
        }
        .map_err(|fault: Fault| fault.by(&ShownKey(key).to_string()))
    }
}

/// Reads the rows of one table for the models of each form.
#[derive(Default)]
struct Readers<'t> {
    fresh: Option<Reader<'t>>,
    by_form: Vec<Option<Reader<'t>>>,
}

impl<'t> Readers<'t> {
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
