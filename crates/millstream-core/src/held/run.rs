//! Learning and predicting the rows of a table.
//!
//! Rows without new names and with known targets go to the learner in batches, other rows one at a time. The results are
//! the same.

use crate::batch::{Batch, Rows};
use crate::fault::{Fault, Result};
use crate::interactions::Walker;
use crate::row::{all_finite, RowBuffer, Scratch, Want};
use crate::table::{raw_block, RawBlock, Reader, SparseTable, Table, BLOCK};
use crate::task::{Answer, Answers, Outcomes, Targets, Truths};

use super::root::{for_task, RootTask};
use super::{Model, Source, TableRow};

/// Number of rows by which a sparse row is prefetched before it is learned. 2 to 32 work equally well, 1 does not.
const AHEAD: usize = 8;

/// Number of rows of a batch, for learners that take batches. Between 256 and 4096 rows, the time of an ensemble member
/// changes by a few per cent only.
pub const BATCH: usize = 1024;

/// A task for the rows of a table.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub table: &'a dyn Table,
    pub from: usize,
    pub to: usize,
    pub targets: Targets<'a>,
    pub weights: Option<&'a [f64]>,
    pub predicting: Option<Want>,
    pub learning: bool,
    /// Whether rows that cannot be learned are skipped and counted, or stop the job.
    pub skip: bool,
}

impl Job<'_> {
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }
}

/// The result of a job.
#[derive(Debug, Default)]
pub struct Tally {
    pub done: usize,
    pub skipped: Vec<(usize, Fault)>,
    /// Whether it stopped before a slow row: see `Model::run_quick_rows`.
    pub paused: bool,
}

/// Receives predictions row by row.
pub trait Sink {
    fn answer(&mut self, model: &Model, row: usize, answer: &Answer);
    /// Receives the rows from `row` on at once, with the same effect; false if it needs them one by one.
    fn answers(&mut self, _model: &Model, _row: usize, _outcomes: &Outcomes<'_>) -> bool {
        false
    }
    /// The row was skipped.
    fn skipped(&mut self, _row: usize) {}
}

/// A sink for learning without predictions.
pub struct NoSink;

impl Sink for NoSink {
    fn answer(&mut self, _: &Model, _: usize, _: &Answer) {}
}

impl Model {
    /// Process rows of a table, in order; `sink` receives the prediction of each row. A fault stops there, with the rows before it
    /// learned, unless bad rows are skipped.
    pub fn run(&mut self, job: &Job<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<Tally> {
        let reader = Reader::new(job.table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        for_task!(self.part,
            T => Run::<T>::new(self, job, reader, scratch).rows(sink),
            transformer => self.run_transformer(job, reader, scratch))
    }

    /// `run` up to the first row that takes long, if the learner knows it. A copy of the model should learn that row, so
    /// that this one can predict meanwhile.
    pub fn run_quick_rows(&mut self, job: &Job<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<Tally> {
        let reader = Reader::new(job.table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        for_task!(self.part,
            T => Run::<T> { pauses: true, ..Run::new(self, job, reader, scratch) }.rows(sink),
            transformer => self.run_transformer(job, reader, scratch))
    }

    /// Exchange the learner for that of a copy, which has learned more rows without new names and labels.
    pub fn exchange_learner(&mut self, copy: &mut Model) {
        std::mem::swap(&mut self.part, &mut copy.part);
        std::mem::swap(&mut self.count, &mut copy.count);
    }
}

/// A running job.
struct Run<'r, 'j, T: RootTask> {
    model: &'r mut Model,
    job: &'r Job<'j>,
    reader: Reader<'j>,
    scratch: &'r mut Scratch,
    truths: Truths,
    answer: Answer,
    answers: Answers,
    /// Rows that are not plain, for learners that take batches of them.
    rows: Vec<RowBuffer>,
    /// The row that is learned and the next one, where rows have products.
    walkers: [Walker; 2],
    tally: Tally,
    /// Whether it stops before slow rows.
    pauses: bool,
    task: std::marker::PhantomData<T>,
}

/// The rows of a table from `first` to `end`, in its layout.
struct Block<'b> {
    raw: RawBlock<'b>,
    first: usize,
    end: usize,
    /// Whether all numbers are known to be finite and all weights are 1. Computed once, so that a block with missing values is not
    /// searched again at each of them.
    clean: bool,
}

impl<'r, 'j, T: RootTask> Run<'r, 'j, T> {
    fn new(model: &'r mut Model, job: &'r Job<'j>, reader: Reader<'j>, scratch: &'r mut Scratch) -> Self {
        Run {
            model,
            job,
            reader,
            scratch,
            truths: Truths::default(),
            answer: Answer::default(),
            answers: Answers::default(),
            rows: Vec::new(),
            walkers: Default::default(),
            tally: Tally::default(),
            pauses: false,
            task: std::marker::PhantomData,
        }
    }

    fn rows(mut self, sink: &mut dyn Sink) -> Result<Tally> {
        let job = self.job;
        let takes_batches = self.model.part.abilities.takes_batches;
        let size = if takes_batches { BATCH } else { BLOCK };
        let (mut row, mut buffer) = (job.from, Vec::new());
        while row < job.to {
            let end = (row + size).min(job.to);
            let raw = raw_block(job.table, row, end, &mut buffer);
            let clean = job.learning
                && job.weights.is_none()
                && matches!(raw, RawBlock::Dense { values, .. } if all_finite(values));
            let block = Block { raw, first: row, end, clean };
            while row < end {
                let mut done = match block.raw {
                    _ if !job.learning => 0,
                    RawBlock::Sparse { table, .. } if !takes_batches => self.step_sparse(table, row, end),
                    _ => self.step_plain(&block, row),
                };
                if done == 0 && takes_batches && job.learning {
                    done = self.step_owned(&block, row);
                }
                if done > 0 {
                    self.deliver(row, done, sink);
                }
                row += done;
                self.tally.done += done;
                if self.tally.paused {
                    return Ok(self.tally);
                }
                if row < end {
                    self.step_one(&block, row, sink)?;
                    row += 1;
                }
            }
        }
        Ok(self.tally)
    }

    /// Pass the predictions of a batch to the sink.
    fn deliver(&mut self, row: usize, count: usize, sink: &mut dyn Sink) {
        let Some(want) = self.job.predicting else { return };
        let truths = T::known_truths(self.job.targets, row, row + count, &self.model.labels, &mut self.truths);
        let outcomes = T::outcomes(truths, T::predictions(&mut self.answers));
        if sink.answers(self.model, row, &outcomes) {
            return;
        }
        for at in 0..count {
            T::get(T::predictions(&mut self.answers), at, want, T::prediction(&mut self.answer));
            sink.answer(self.model, row + at, &self.answer);
        }
    }

    /// A single row of any kind.
    fn step_one(&mut self, block: &Block<'_>, row: usize, sink: &mut dyn Sink) -> Result<()> {
        let Run { model, job, reader, scratch, answer, tally, .. } = self;
        let mut source = TableRow { reader, raw: block.raw.row(row - block.first) };
        let w = job.weight(row);
        let done = job.targets.at(row).map_err(|fault| fault.by(&model.title)).and_then(|target| {
            match (job.predicting, job.learning) {
                (Some(want), true) => model.step(&mut source, target, w, want, answer, scratch),
                (Some(want), false) => model.predict(&mut source, want, answer, scratch),
                (None, _) => model.learn(&mut source, target, w, scratch),
            }
        });
        match done {
            Ok(()) => {
                tally.done += 1;
                sink.answer(model, row, answer);
                Ok(())
            }
            Err(fault) if job.skip => {
                tally.skipped.push((row, fault));
                sink.skipped(row);
                Ok(())
            }
            Err(fault) => Err(fault.at_row(row)),
        }
    }

    /// A batch of rows that hold nothing but known numbers and known targets: from `row` on, as many as there are before
    /// the end of the block. Returns the number of learned rows; the next row is processed alone, which reports its faults.
    fn step_plain(&mut self, block: &Block<'_>, row: usize) -> usize {
        let (job, end) = (self.job, block.end);
        let RawBlock::Dense { values, width } = block.raw else { return 0 };
        if width == 0 || !self.reader.is_direct(&self.model.schema) {
            return 0;
        }
        let values = &values[(row - block.first) * width..(end - block.first) * width];
        let sound = |x: &[f64], row: usize| all_finite(x) && is_positive(job.weight(row));
        let plain = match block.clean {
            true => end - row,
            false => values.chunks_exact(width).zip(row..).take_while(|(x, row)| sound(x, *row)).count(),
        };
        if plain == 0 {
            return 0;
        }
        let truths = T::known_truths(job.targets, row, row + plain, &self.model.labels, &mut self.truths);
        let n = truths.len();
        let rows = Rows::Plain { values: &values[..n * width], width };
        let batch = Batch::<T>::new(rows, truths, job.weights.map(|weights| &weights[row..row + n]));
        let paused = self.pauses.then_some(&mut self.tally.paused);
        step_batch(self.model, &batch, job.predicting, T::predictions(&mut self.answers), self.scratch, paused)
    }

    /// The same for rows of any form that hold nothing new, which are read and kept first.
    fn step_owned(&mut self, block: &Block<'_>, row: usize) -> usize {
        let job = self.job;
        let truths = T::known_truths(job.targets, row, block.end, &self.model.labels, &mut self.truths);
        let mut n = 0;
        while n < truths.len() && is_positive(job.weight(row + n)) {
            let mut source = TableRow { reader: &mut self.reader, raw: block.raw.row(row + n - block.first) };
            if !self.model.keep(&mut source, n, &mut self.rows, self.scratch) {
                break;
            }
            n += 1;
        }
        let weights = job.weights.map(|weights| &weights[row..row + n]);
        let batch = Batch::<T>::new(Rows::Owned(&self.rows[..n]), &truths[..n], weights);
        let paused = self.pauses.then_some(&mut self.tally.paused);
        step_batch(self.model, &batch, job.predicting, T::predictions(&mut self.answers), self.scratch, paused)
    }

    /// The same for sparse rows, which learners take one by one: look-ups are shared, and predictions are scored together.
    fn step_sparse(&mut self, table: SparseTable<'_>, row: usize, end: usize) -> usize {
        let Run { model, job, reader, scratch, truths, answers, answer, walkers, .. } = self;
        let Some(want) = job.predicting.filter(|_| !model.part.abilities.checks_rows) else { return 0 };
        let first = table.raw(row);
        if reader.has_news(&model.schema, first) || reader.row(&model.schema, first).is_err() {
            return 0;
        }
        let truths = T::known_truths(job.targets, row, end, &model.labels, truths);
        let predictions = T::predictions(answers);
        T::clear(predictions, model.labels.known_classes());
        model.part.infallible = false;
        let Ok(learner) = T::learner_mut(&mut model.part) else { return 0 };
        let prediction = T::prediction(answer);
        let [mut now, mut next] = walkers.each_mut();
        if let Some(crossed) = table.crossed {
            now.walk(&table.crossed_row(crossed, row));
        }
        let mut done = 0;
        for (row, &y) in (row..).zip(truths) {
            table.prefetch(row + AHEAD);
            let w = job.weight(row);
            let x = match table.crossed {
                None => {
                    if row + 1 < job.to {
                        learner.prefetch(table.row(row + 1));
                    }
                    table.next_row(row, &model.schema)
                }
                Some(crossed) => {
                    if row + 1 < job.to {
                        learner.prefetch(next.walk(&table.crossed_row(crossed, row + 1)));
                    }
                    table.next_made(now.row(table.width), &model.schema)
                }
            };
            let Some(x) = x else { break };
            if !is_positive(w) || learner.step(x, y, w, want, prediction, scratch).is_err() {
                break;
            }
            T::push(prediction, want, predictions);
            // The references: walkers are large, and most rows need none.
            std::mem::swap(&mut now, &mut next);
            done += 1;
        }
        model.count += done as u64;
        done
    }
}

/// Learn a batch, predicting each row first if requested; returns the number of learned rows. With `paused`, it stops
/// before a slow row and notes it there.
fn step_batch<T: RootTask>(
    model: &mut Model,
    batch: &Batch<'_, T>,
    predicting: Option<Want>,
    predictions: &mut T::Predictions,
    scratch: &mut Scratch,
    paused: Option<&mut bool>,
) -> usize {
    if batch.is_empty() {
        return 0;
    }
    T::clear(predictions, model.labels.known_classes());
    model.part.infallible = model.part.infallible && batch.is_moderate();
    let Ok(learner) = T::learner_mut(&mut model.part) else { return 0 };
    let slow_rows = paused.and_then(|paused| Some((learner.slow_rows()?, paused)));
    let done = match (slow_rows, predicting) {
        (Some((learner, paused)), want) => {
            let (done, is_slow) = learner.step_quick_rows(batch, want, predictions, scratch);
            *paused = is_slow;
            done
        }
        (None, Some(want)) => learner.step_batch(batch, want, predictions, scratch),
        (None, None) => learner.learn_batch(batch, predictions, scratch),
    };
    model.count += done as u64;
    done
}

impl Model {
    /// Read one row and keep it at an index; false if it must be processed alone.
    fn keep(
        &self,
        source: &mut TableRow<'_, '_>,
        index: usize,
        rows: &mut Vec<RowBuffer>,
        scratch: &mut Scratch,
    ) -> bool {
        if source.has_news(&self.schema) {
            return false;
        }
        let Ok(x) = source.row(&self.schema) else { return false };
        if self.check_row(x, scratch).is_err() {
            return false;
        }
        if index == rows.len() {
            rows.push(RowBuffer::default());
        }
        rows[index].copy_from(x);
        true
    }
}

/// Whether rows of this weight may go in batches.
pub(super) fn is_positive(w: f64) -> bool {
    w > 0.0 && w < f64::INFINITY
}
