//! A model through the rows of a table.
//!
//! Rows that hold nothing but known numbers and known targets go to the learner in blocks; any other row
//! goes the long way, by itself. Both give the same.

use crate::block::{ClassBlock, NumberBlock, Predictions};
use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::row::{all_finite, Row, RowBuffer, Scratch, Want};
use crate::table::{each_raw, raw_block, Raw, RawBlock, Reader, SparseTable, Table, BLOCK};

use super::kept::CHUNK;
use super::{Answer, Model, Root, TableRow, Targets};

/// So many rows before it is learned, a sparse row is fetched from where it lies. Two to thirty-two do as well, one not.
const AHEAD: usize = 8;

/// What to do with the rows of a table.
pub struct Job<'a> {
    pub table: &'a dyn Table,
    pub from: usize,
    pub to: usize,
    pub targets: Targets<'a>,
    pub weights: Option<&'a [f64]>,
    pub predicting: Option<Want>,
    pub learning: bool,
    /// Whether rows that cannot be learned are set aside and counted, or stop the job.
    pub set_aside: bool,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Tally {
    pub done: usize,
    pub set_aside: Vec<(usize, Fault)>,
}

/// Rows that went the short way, with the codes of their classes or their numbers.
pub enum Known<'a> {
    Classes { truths: &'a [u32], predictions: &'a Predictions },
    Numbers { truths: &'a [f64], predictions: &'a [f64] },
}

/// Takes answers row by row.
pub trait Sink {
    fn answer(&mut self, model: &Model, row: usize, answer: &Answer);
    /// Takes the rows from `row` on at once, with the same effect; false if it would rather have them one by one.
    fn answers(&mut self, _model: &Model, _row: usize, _known: &Known<'_>) -> bool {
        false
    }
    /// The row was set aside.
    fn nothing(&mut self, _row: usize) {}
}

/// For learning alone.
pub struct NoSink;

impl Sink for NoSink {
    fn answer(&mut self, _: &Model, _: usize, _: &Answer) {}
}

impl Model {
    /// Go through rows of a table, in order; `sink` is given each row's answer. A fault stops there, with
    /// the rows before it learned, unless bad rows are set aside.
    pub fn run(&mut self, job: &Job<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<Tally> {
        let mut reader = Reader::new(job.table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut answer = Answer::default();
        let mut tally = Tally::default();
        let mut known = KnownRows::default();
        let mut row = job.from;
        let mut buffer = Vec::new();
        let takes_rows = self.takes_rows();
        let size = if takes_rows { CHUNK } else { BLOCK };
        while row < job.to {
            let end = (row + size).min(job.to);
            let block = raw_block(job.table, row, end, &mut buffer);
            let first = row;
            // Found out once: a block with gaps must not be searched again at each of them.
            let clean = job.learning
                && job.weights.is_none()
                && matches!(block, RawBlock::Dense { values, .. } if all_finite(values));
            while row < end {
                let mut fast = match block {
                    RawBlock::Sparse { table, .. } if !takes_rows => {
                        self.step_sparse(job, &mut reader, table, row, end, &mut known, scratch)
                    }
                    _ => self.step_known(job, &reader, &block, clean, first, row, end, &mut known, scratch),
                };
                if fast == 0 && takes_rows {
                    fast = self.step_kept(job, &mut reader, &block, first, row, end, &mut known, scratch);
                }
                if fast > 0 && !(job.predicting.is_some() && sink.answers(self, row, &known.rows(job, row, fast)))
                {
                    for place in 0..fast {
                        known.answer(place, job.predicting, &mut answer);
                        sink.answer(self, row + place, &answer);
                    }
                }
                row += fast;
                tally.done += fast;
                if row < end {
                    let mut source = TableRow { reader: &mut reader, raw: block.row(row - first) };
                    self.run_row(job, row, &mut source, &mut answer, &mut tally, scratch, sink)?;
                    row += 1;
                }
            }
        }
        Ok(tally)
    }

    /// The long way, which any row can go.
    #[allow(clippy::too_many_arguments)]
    fn run_row(
        &mut self,
        job: &Job<'_>,
        row: usize,
        source: &mut TableRow<'_, '_>,
        answer: &mut Answer,
        tally: &mut Tally,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let w = job.weights.map_or(1.0, |weights| weights[row]);
        let done = job.targets.at(row).map_err(|fault| fault.by(&self.title)).and_then(|target| {
            match (job.predicting, job.learning) {
                (Some(want), true) => self.step(source, target, w, want, answer, scratch),
                (Some(want), false) => self.predict(source, want, answer, scratch),
                (None, _) => self.learn(source, target, w, scratch),
            }
        });
        match done {
            Ok(()) => {
                tally.done += 1;
                sink.answer(self, row, answer);
                Ok(())
            }
            Err(fault) if job.set_aside => {
                tally.set_aside.push((row, fault));
                sink.nothing(row);
                Ok(())
            }
            Err(fault) => Err(fault.at_row(row)),
        }
    }

    /// The short way for rows that hold nothing but known numbers and known targets: from `row` on, as many
    /// as there are before `end`. Returns how many were stepped; the row after them goes the long way, which
    /// finds out what there is to say of it.
    #[allow(clippy::too_many_arguments)]
    fn step_known(
        &mut self,
        job: &Job<'_>,
        reader: &Reader<'_>,
        block: &RawBlock<'_>,
        clean: bool,
        first: usize,
        row: usize,
        end: usize,
        known: &mut KnownRows,
        scratch: &mut Scratch,
    ) -> usize {
        let RawBlock::Dense { values, width } = *block else { return 0 };
        if !job.learning || width == 0 || !reader.settled(&self.schema) {
            return 0;
        }
        let sound =
            |x: &[f64], row: usize| all_finite(x) && job.weights.is_none_or(|weights| positive(weights[row]));
        let values = &values[(row - first) * width..(end - first) * width];
        let weights = job.weights.map(|weights| &weights[row..end]);
        let plain = match clean {
            true => end - row,
            false => values.chunks_exact(width).zip(row..).take_while(|(x, row)| sound(x, *row)).count(),
        };
        if plain == 0 {
            return 0;
        }
        let want = job.predicting.unwrap_or(Want::Class);
        let done = match (&mut self.root, job.targets) {
            (Root::Classifier(part), Targets::Classes { distinct, places }) => {
                known.look_up(distinct, &places[row..row + plain], &self.labels);
                let n = known.classes.len();
                let block = ClassBlock {
                    values: &values[..n * width],
                    width,
                    classes: &known.classes,
                    weights,
                    labels: &self.labels,
                };
                known.predictions.clear(&self.labels);
                part.step_block(&block, want, &mut known.predictions, scratch)
            }
            (Root::Regressor(part), Targets::Numbers(numbers)) => {
                let targets = &numbers[row..row + plain];
                let n = if all_finite(targets) {
                    plain
                } else {
                    targets.iter().take_while(|target| target.is_finite()).count()
                };
                known.numbers.clear();
                let block = NumberBlock { values: &values[..n * width], width, targets: &targets[..n], weights };
                match job.predicting {
                    Some(_) => part.step_block(&block, &mut known.numbers, scratch),
                    None => part.learn_block(&block, scratch),
                }
            }
            _ => 0,
        };
        self.learned += done as u64;
        done
    }

    /// The same for sparse rows, which learners take one by one: what is looked up, and how answers are scored, is
    /// shared.
    #[allow(clippy::too_many_arguments)]
    fn step_sparse(
        &mut self,
        job: &Job<'_>,
        reader: &mut Reader<'_>,
        table: SparseTable<'_>,
        row: usize,
        end: usize,
        known: &mut KnownRows,
        scratch: &mut Scratch,
    ) -> usize {
        let Some(want) = job.predicting.filter(|_| job.learning && !self.checks) else { return 0 };
        let first = Raw::Sparse(table.row(row));
        if reader.has_news(&self.schema, first) || reader.row(&self.schema, first).is_err() {
            return 0;
        }
        let weight = |row: usize| job.weights.map_or(1.0, |weights| weights[row]);
        let mut done = 0;
        match (&mut self.root, job.targets) {
            (Root::Classifier(part), Targets::Classes { distinct, places }) => {
                known.look_up(distinct, &places[row..end], &self.labels);
                known.predictions.clear(&self.labels);
                let mut prediction = scratch.take_prediction();
                for (row, &code) in (row..).zip(&known.classes) {
                    table.foresee(row + AHEAD);
                    if row + 1 < job.to {
                        part.foresee(table.row(row + 1));
                    }
                    let (w, Some(x)) = (weight(row), table.next_row(row, &self.schema)) else {
                        break;
                    };
                    if !positive(w) || part.step(x, code, w, want, &mut prediction, scratch).is_err() {
                        break;
                    }
                    known.predictions.push(&mut prediction, &self.labels, want);
                    done += 1;
                }
                scratch.give_prediction(prediction);
            }
            (Root::Regressor(part), Targets::Numbers(numbers)) => {
                known.numbers.clear();
                for (row, &y) in (row..).zip(&numbers[row..end]) {
                    table.foresee(row + AHEAD);
                    if row + 1 < job.to {
                        part.foresee(table.row(row + 1));
                    }
                    let (w, Some(x)) = (weight(row), table.next_row(row, &self.schema)) else {
                        break;
                    };
                    if !positive(w) || !y.is_finite() {
                        break;
                    }
                    let Ok(predicted) = part.step(x, y, w, scratch) else { break };
                    known.numbers.push(predicted);
                    done += 1;
                }
            }
            _ => {}
        }
        self.learned += done as u64;
        done
    }

    /// Predict the rows of a table; `&self`, so that many threads may.
    pub fn predict_table(
        &self,
        table: &dyn Table,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if self.takes_rows() {
            return self.predict_kept(table, want, scratch, sink);
        }
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut answer = Answer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            self.predict(&mut source, want, &mut answer, scratch).map_err(|fault| fault.at_row(row))?;
            sink.answer(self, row, &answer);
            Ok(())
        })
    }

    /// Intervals for the rows of a table: lower, upper, lower, upper, ….
    pub fn interval_table(&self, table: &dyn Table, coverage: f64, scratch: &mut Scratch) -> Result<Vec<f64>> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut bounds = Vec::new();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            let (lower, upper) =
                self.interval(&mut source, coverage, scratch).map_err(|fault| fault.at_row(row))?;
            bounds.extend([lower, upper]);
            Ok(())
        })?;
        Ok(bounds)
    }

    /// Transform the rows of a table, row-major. Features and values that were never learned come out too:
    /// the model that is returned has heard of them, and names what is in the rows.
    pub fn transform_all(&self, table: &dyn Table, scratch: &mut Scratch) -> Result<(Self, Vec<f64>)> {
        let mut copy = self.clone();
        let mut reader = Reader::new(table, &copy.schema).map_err(|fault| fault.by(&self.title))?;
        copy.schema.mark();
        each_raw(table, 0, table.height(), |row, raw| {
            reader.admit(&mut copy.schema, raw).map_err(|fault| fault.by(&self.title).at_row(row))
        })?;
        copy.bind();
        let width = copy.output()?.len();
        let mut values = Vec::with_capacity(width.saturating_mul(table.height()).min(1 << 28));
        let mut out = RowBuffer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            copy.transform(&mut source, &mut out, scratch).map_err(|fault| fault.at_row(row))?;
            let start = values.len();
            match out.row() {
                Row::Plain(numbers) | Row::Mixed(numbers, _) => values.extend_from_slice(numbers),
                Row::Sparse(sparse) => {
                    values.resize(start + sparse.width, 0.0);
                    for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                        values[start + slot as usize] = value;
                    }
                }
            }
            values.resize(start + width, f64::NAN);
            Ok(())
        })?;
        Ok((copy, values))
    }
}

/// Whether a weight is one that rows go the short way with.
fn positive(w: f64) -> bool {
    w > 0.0 && w < f64::INFINITY
}

/// Rows that go the short way: the codes of their labels, and what was predicted.
#[derive(Default)]
pub(super) struct KnownRows {
    /// The code of each distinct label, looked up once.
    codes: Vec<u32>,
    pub(super) classes: Vec<u32>,
    pub(super) predictions: Predictions,
    pub(super) numbers: Vec<f64>,
    /// Rows that are not plain, where a learner takes them so.
    pub(super) rows: Vec<RowBuffer>,
}

impl KnownRows {
    /// Codes of rows, up to the first whose label is not known.
    pub(super) fn look_up(&mut self, distinct: &[Label], places: &[u32], labels: &Labels) {
        self.codes.resize(distinct.len(), u32::MAX);
        self.classes.clear();
        for &place in places {
            let Some(code) = self.codes.get_mut(place as usize) else { return };
            if *code == u32::MAX {
                match labels.code(&distinct[place as usize]) {
                    Some(found) => *code = found,
                    None => return,
                }
            }
            self.classes.push(*code);
        }
    }

    /// The first `count` rows, which begin at `row` of the job's table.
    fn rows<'a>(&'a self, job: &Job<'a>, row: usize, count: usize) -> Known<'a> {
        match job.targets {
            Targets::Numbers(numbers) => {
                Known::Numbers { truths: &numbers[row..row + count], predictions: &self.numbers[..count] }
            }
            _ => Known::Classes { truths: &self.classes[..count], predictions: &self.predictions },
        }
    }

    #[inline]
    fn answer(&self, place: usize, want: Option<Want>, answer: &mut Answer) {
        match want {
            Some(want) if self.numbers.is_empty() => self.predictions.get(place, want, &mut answer.class),
            Some(_) => answer.number = self.numbers[place],
            None => {}
        }
    }
}
