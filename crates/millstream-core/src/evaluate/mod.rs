//! Test-then-train: predict, score, learn, row by row, with labels that may come late.
//!
//! An `Evaluation` holds the state of one run of one model and is fed table by table; how the stream is cut
//! into tables changes nothing. A row is scored as it was predicted, when its label comes, and learned then;
//! a row that is refused, by prediction or by learning, is neither scored nor learned. (Dawid, 1984, calls
//! this the prequential approach; labels that come late are after Grzenda, Gomes and Bifet, 2020.)

pub mod calibration;
pub mod panel;
pub mod pending;
pub mod record;
pub mod sample;
pub mod scores;
pub mod values;

use crate::fault::{Fault, Result};
use crate::held::{Job, Model, Sink, TableRow};
use crate::labels::{Label, Labels};
use crate::row::{Scratch, Want};
use crate::table::{each_raw, Reader, Table};
use crate::task::{Answer, Outcomes, Target, Targets};
use pending::{Due, Pending, Waiting};
use record::{Answers, Record};
use scores::{Instruments, Scores};

/// When the label of a row comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    AtOnce,
    /// Just before the row so many rows later is predicted.
    AfterRows(u64),
    /// By the times in the chunk.
    Timed,
}

/// A time that is missing.
pub const NO_TIME: i64 = i64::MIN;

/// Rows of a stream with what should have been predicted.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    pub table: &'a dyn Table,
    pub from: usize,
    pub to: usize,
    pub targets: Targets<'a>,
    pub weights: Option<&'a [f64]>,
    /// When each row happened, and when its label came, in any unit that keeps the order.
    pub times: Option<(&'a [i64], &'a [i64])>,
}

/// Tells the seconds since the run began: the core has no clock of its own.
pub type Clock<'a> = &'a (dyn Fn() -> f64 + Sync);

pub struct Evaluation {
    scores: Scores,
    pending: Pending,
    arrival: Arrival,
    skip: bool,
    /// Rows of the stream so far.
    rows: u64,
    /// Where answers are kept, if that is asked for.
    record: Option<Record>,
}

struct ModelInstruments<'a> {
    model: &'a Model,
    clock: Clock<'a>,
    pending: Option<&'a Pending>,
}

impl Instruments for ModelInstruments<'_> {
    fn seconds(&self) -> f64 {
        (self.clock)()
    }

    fn memory(&self) -> usize {
        self.model.memory()
    }

    fn waiting(&self) -> usize {
        self.pending.map_or(0, Pending::len)
    }
}

impl Evaluation {
    /// `skip`: whether rows that are refused are counted, or stop the run.
    pub fn new(scores: Scores, arrival: Arrival, skip: bool) -> Self {
        Evaluation { scores, pending: Pending::default(), arrival, skip, rows: 0, record: None }
    }

    /// Keep each answer, until `answers` fetches it.
    pub fn keep_answers(&mut self) {
        self.record = Some(Record::new(self.scores.panel().scores_numbers()));
    }

    /// The answers to the rows since the last call, up to the last that has one.
    pub fn answers(&mut self) -> Answers {
        self.record.as_mut().map(|record| record.take(self.rows)).unwrap_or_default()
    }

    fn want(&self) -> Want {
        if self.record.is_some() {
            Want::Probabilities
        } else {
            self.scores.want()
        }
    }

    pub fn scores(&self) -> &Scores {
        &self.scores
    }

    pub fn scores_mut(&mut self) -> &mut Scores {
        &mut self.scores
    }

    /// Rows of the stream so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows whose labels have not come.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Bytes that the evaluation itself holds.
    pub fn memory(&self) -> usize {
        self.pending.memory() + self.scores.panel().memory()
    }

    /// A row that could not even be read.
    pub fn unreadable(&mut self, fault: Fault) -> Result<()> {
        let row = self.rows;
        self.rows += 1;
        self.refuse(row, fault)
    }

    fn refuse(&mut self, row: u64, fault: Fault) -> Result<()> {
        if !self.skip {
            return Err(stopped(row, &fault));
        }
        self.scores.set_aside(row, fault);
        Ok(())
    }

    /// Go on with the next rows of the stream.
    pub fn feed(
        &mut self,
        model: &mut Model,
        chunk: &Chunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        match self.arrival {
            Arrival::AtOnce => self.feed_at_once(model, chunk, scratch, clock),
            _ => self.feed_late(model, chunk, scratch, clock),
        }
    }

    fn feed_at_once(
        &mut self,
        model: &mut Model,
        chunk: &Chunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        let offset = self.rows;
        let global = |row: usize| offset + (row - chunk.from) as u64;
        let job = Job {
            table: chunk.table,
            from: chunk.from,
            to: chunk.to,
            targets: chunk.targets,
            weights: chunk.weights,
            predicting: Some(self.want()),
            learning: true,
            skip: self.skip,
        };
        let mut scorer = Scorer {
            scores: &mut self.scores,
            record: self.record.as_mut(),
            chunk,
            offset,
            truths: Vec::new(),
            clock,
            refused: Vec::new(),
        };
        let done = model.run(&job, scratch, &mut scorer);
        let refused = std::mem::take(&mut scorer.refused);
        self.rows += (chunk.to - chunk.from) as u64;
        for (row, fault) in refused {
            self.refuse(row, fault)?;
        }
        let tally = done.map_err(|fault| stopped(global(fault.row().unwrap_or(chunk.from)), &fault))?;
        for (row, fault) in tally.skipped {
            self.scores.set_aside(global(row), fault);
        }
        Ok(())
    }

    fn feed_late(
        &mut self,
        model: &mut Model,
        chunk: &Chunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        Reader::new(chunk.table, model.schema()).map_err(|fault| fault.by(model.title()))?;
        let layout = self.pending.layout(chunk.table);
        let layouts = self.pending.layouts();
        let mut readers: Vec<Option<Reader<'_>>> = layouts.iter().map(|_| None).collect();
        let mut answer = Answer::default();
        let want = self.want();
        each_raw(chunk.table, chunk.from, chunk.to, |row, raw| {
            let number = self.rows;
            let (now, due) = match (self.arrival, chunk.times) {
                (Arrival::AfterRows(delay), _) => (number as i64, number.saturating_add(delay) as i64),
                (_, Some((now, due))) => (now[row], due[row]),
                (_, None) => (NO_TIME, NO_TIME),
            };
            self.rows += 1;
            if now == NO_TIME || due == NO_TIME {
                return self.refuse(number, Fault::value("the time of the row or of its label is missing"));
            }
            self.learn_due(model, &layouts, &mut readers, Some(now), scratch, clock)?;
            let reader = reader_of(&layouts, &mut readers, layout, model)?;
            let mut source = TableRow { reader, raw };
            if let Err(fault) = model.predict(&mut source, want, &mut answer, scratch) {
                return self.refuse(number, fault);
            }
            if let Some(record) = &mut self.record {
                record.put(number, &answer);
            }
            let target = match chunk.targets.at(row) {
                Ok(Target::Class(label)) => Due::Class(label.clone()),
                Ok(Target::Number(y)) => Due::Number(y),
                _ => Due::None,
            };
            let w = chunk.weights.map_or(1.0, |weights| weights[row]);
            self.pending.push(due, number, layout, raw, target, w, &answer);
            Ok(())
        })?;
        self.pending.tidy();
        Ok(())
    }

    /// Score and learn the rows whose labels have come by `now`, or all that are left.
    fn learn_due<'l>(
        &mut self,
        model: &mut Model,
        layouts: &'l [Option<std::sync::Arc<pending::Layout>>],
        readers: &mut [Option<Reader<'l>>],
        now: Option<i64>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        while let Some(waiting) = self.pending.pop(now) {
            let held = self.pending.held(waiting);
            let reader = reader_of(layouts, readers, held.layout, model)?;
            let mut source = TableRow { reader, raw: held.raw() };
            let target = match &held.target {
                Due::None => Target::None,
                Due::Class(label) => Target::Class(label),
                Due::Number(y) => Target::Number(*y),
            };
            let done =
                model.learn(&mut source, target, held.w, scratch).and_then(|()| self.score(model, waiting, clock));
            self.pending.release(waiting);
            if let Err(fault) = done {
                self.refuse(waiting.row, fault)?;
            }
        }
        Ok(())
    }

    fn score(&mut self, model: &Model, waiting: Waiting, clock: Clock<'_>) -> Result<()> {
        let instruments = ModelInstruments { model, clock, pending: Some(&self.pending) };
        let held = self.pending.held(waiting);
        match &held.target {
            Due::Class(label) => {
                let labels = model.labels();
                match labels.code(label) {
                    Some(truth) => {
                        self.scores.class(waiting.row, labels, truth, &held.answer.class, held.w, &instruments)
                    }
                    None => self.scores.weightless(waiting.row, &held.answer.class, &instruments),
                }
            }
            Due::Number(y) => self.scores.number(waiting.row, *y, held.answer.number, held.w, &instruments),
            Due::None => Ok(()),
        }
    }

    /// The stream has ended: the labels that are left come now.
    pub fn finish(&mut self, model: &mut Model, scratch: &mut Scratch, clock: Clock<'_>) -> Result<()> {
        let layouts = self.pending.layouts();
        let mut readers: Vec<Option<Reader<'_>>> = layouts.iter().map(|_| None).collect();
        self.learn_due(model, &layouts, &mut readers, None, scratch, clock)?;
        self.pending.tidy();
        self.stop(model, clock)
    }

    /// The run ends before the stream does: labels that have not come are not waited for.
    pub fn stop(&mut self, model: &Model, clock: Clock<'_>) -> Result<()> {
        self.scores.finish(&ModelInstruments { model, clock, pending: Some(&self.pending) })
    }
}

fn reader_of<'r, 'l>(
    layouts: &'l [Option<std::sync::Arc<pending::Layout>>],
    readers: &'r mut [Option<Reader<'l>>],
    place: usize,
    model: &Model,
) -> Result<&'r mut Reader<'l>> {
    let gone = || Fault::state("the columns of a waiting row are gone");
    let reader = readers.get_mut(place).ok_or_else(gone)?;
    if reader.is_none() {
        let layout = layouts.get(place).and_then(Option::as_ref).ok_or_else(gone)?;
        *reader = Some(Reader::new(&**layout, model.schema()).map_err(|fault| fault.by(model.title()))?);
    }
    reader.as_mut().ok_or_else(gone)
}

/// A stream cannot be undone, unlike a batch: the message says what became of the rows before.
pub fn stopped(row: u64, fault: &Fault) -> Fault {
    let before = match row {
        0 => String::new(),
        _ => " (rows before it whose labels had come are learned)".to_string(),
    };
    Fault::new(fault.kind(), format!("{}{before}", fault.message())).at_row(row as usize)
}

/// Scores each row as the model gives its answer.
struct Scorer<'a> {
    scores: &'a mut Scores,
    record: Option<&'a mut Record>,
    chunk: &'a Chunk<'a>,
    offset: u64,
    /// The model's code of each distinct label of the chunk.
    truths: Vec<Option<u32>>,
    clock: Clock<'a>,
    refused: Vec<(u64, Fault)>,
}

impl Scorer<'_> {
    #[inline]
    fn truth(&mut self, labels: &Labels, distinct: &[Label], place: usize) -> Option<u32> {
        if let Some(Some(code)) = self.truths.get(place) {
            return Some(*code);
        }
        self.truths.resize(distinct.len(), None);
        self.truths[place] = labels.code(distinct.get(place)?);
        self.truths[place]
    }
}

impl Sink for Scorer<'_> {
    fn answers(&mut self, model: &Model, row: usize, outcomes: &Outcomes<'_>) -> bool {
        if self.record.is_some() || self.chunk.weights.is_some() {
            return false;
        }
        let number = self.offset + (row - self.chunk.from) as u64;
        let instruments = ModelInstruments { model, clock: self.clock, pending: None };
        let taken = match outcomes {
            Outcomes::Classes { truths, predictions } => {
                self.scores.classes(number, model.labels(), truths, predictions, &instruments)
            }
            Outcomes::Numbers { truths, predictions } => {
                self.scores.numbers(number, truths, predictions, &instruments)
            }
            Outcomes::Scores { .. } => return false,
        };
        taken.unwrap_or_else(|fault| {
            self.refused.push((number, fault));
            true
        })
    }

    #[inline]
    fn answer(&mut self, model: &Model, row: usize, answer: &Answer) {
        let number = self.offset + (row - self.chunk.from) as u64;
        if let Some(record) = &mut self.record {
            record.put(number, answer);
        }
        let w = self.chunk.weights.map_or(1.0, |weights| weights[row]);
        let instruments = ModelInstruments { model, clock: self.clock, pending: None };
        let done = match self.chunk.targets {
            Targets::Classes { distinct, indices } => {
                match self.truth(model.labels(), distinct, indices[row] as usize) {
                    Some(truth) => {
                        self.scores.class(number, model.labels(), truth, &answer.class, w, &instruments)
                    }
                    None => self.scores.weightless(number, &answer.class, &instruments),
                }
            }
            Targets::Numbers(numbers) => self.scores.number(number, numbers[row], answer.number, w, &instruments),
            Targets::None => Ok(()),
        };
        if let Err(fault) = done {
            self.refused.push((number, fault));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::panel::Panel;
    use super::scores::Every;
    use super::*;
    use crate::held;
    use crate::schema::Name;
    use crate::table::Column;

    /// One feature; the label is whether it is positive.
    struct Line {
        values: Vec<f64>,
        columns: Vec<Column>,
    }

    impl Table for Line {
        fn height(&self) -> usize {
            self.values.len()
        }
        fn columns(&self) -> &[Column] {
            &self.columns
        }
        fn block<'b>(&'b self, from: usize, to: usize, _: &'b mut Vec<f64>) -> &'b [f64] {
            &self.values[from..to]
        }
    }

    fn run(
        arrival: Arrival,
        cuts: &[usize],
        times: Option<(&[i64], &[i64])>,
        warmup: u64,
    ) -> (Vec<u8>, Evaluation) {
        let values: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 23) - 11.0).collect();
        let distinct = [Label::Bool(false), Label::Bool(true)];
        let places: Vec<u32> = values.iter().map(|&x| u32::from(x > 0.0)).collect();
        let table = Line { values, columns: vec![Column::Number(Name::Number(0))] };
        let mut model = Model::new(&json!({ "name": "linear_model.LogisticRegression" })).expect("it is declared");
        let metric = held::Metric::new(&json!({ "name": "metrics.Accuracy" })).expect("it is declared");
        let panel = Panel::new(vec![metric], false, 10, 10).expect("for classes");
        let mut evaluation = Evaluation::new(Scores::new(panel, None, warmup, Every::Rows(10)), arrival, false);
        let mut scratch = Scratch::default();
        let mut from = 0;
        for &to in cuts {
            let targets = Targets::Classes { distinct: &distinct, indices: &places };
            let chunk = Chunk { table: &table, from, to, targets, weights: None, times };
            evaluation.feed(&mut model, &chunk, &mut scratch, &|| 0.0).expect("good rows");
            from = to;
        }
        evaluation.finish(&mut model, &mut scratch, &|| 0.0).expect("good rows");
        assert_eq!(evaluation.waiting(), 0);
        (model.save().expect("it saves"), evaluation)
    }

    fn values_of(evaluation: &Evaluation) -> Vec<Vec<f64>> {
        let positive: Vec<u32> = evaluation.scores().panel().positive_codes();
        evaluation.scores().curve().iter().map(|point| point.values.of(&positive).collect()).collect()
    }

    #[test]
    fn how_the_stream_is_cut_changes_nothing() {
        for arrival in [Arrival::AtOnce, Arrival::AfterRows(1), Arrival::AfterRows(7), Arrival::AfterRows(100)] {
            let (whole, expected) = run(arrival, &[60], None, 0);
            for cuts in [vec![1, 2, 3, 60], vec![20, 40, 60], (1..=60).collect()] {
                let (model, evaluation) = run(arrival, &cuts, None, 0);
                assert_eq!(model, whole);
                assert_eq!(values_of(&evaluation), values_of(&expected));
            }
        }
    }

    /// Weights of 1 send the rows one by one; without weights they are scored in blocks. 600 rows are more than a
    /// block, and the window and the points of the curve cut blocks apart.
    #[test]
    fn scoring_in_blocks_is_scoring_row_by_row() {
        let values: Vec<f64> = (0..600).map(|i| f64::from((i * 37) % 23) - 11.0).collect();
        let distinct = [Label::Text("no".into()), Label::Text("yes".into())];
        let places: Vec<u32> = (0..600).map(|i| u32::from(values[i] + f64::from(i as u32 % 7) > 3.0)).collect();
        let table = Line { values, columns: vec![Column::Number(Name::Number(0))] };
        let ones = vec![1.0; 600];
        let run = |weights: Option<&[f64]>, window: usize, every: u64, warmup: u64| {
            let mut model =
                Model::new(&json!({ "name": "linear_model.LogisticRegression" })).expect("it is declared");
            let metrics = ["Accuracy", "CohenKappa", "LogLoss", "KappaTemporal", "ROCAUC", "F1"].map(|name| {
                held::Metric::new(&json!({ "name": format!("metrics.{name}") })).expect("it is declared")
            });
            let panel = Panel::new(metrics.to_vec(), false, window, every).expect("for classes");
            let scores = Scores::new(panel, None, warmup, Every::Rows(every));
            let mut evaluation = Evaluation::new(scores, Arrival::AtOnce, false);
            let targets = Targets::Classes { distinct: &distinct, indices: &places };
            let mut scratch = Scratch::default();
            for (from, to) in [(0, 100), (100, 600)] {
                let chunk = Chunk { table: &table, from, to, targets, weights, times: None };
                evaluation.feed(&mut model, &chunk, &mut scratch, &|| 0.0).expect("good rows");
            }
            evaluation.finish(&mut model, &mut scratch, &|| 0.0).expect("good rows");
            let metrics: Vec<_> = evaluation
                .scores()
                .panel()
                .metrics()
                .iter()
                .map(|metric| metric.save().expect("it saves"))
                .collect();
            assert!(evaluation.scores().panel().infallible_for(model.labels()));
            let counts = (evaluation.scores().counts().scored, evaluation.scores().rows());
            let confusion = evaluation.scores().confusion().map(<[Vec<f64>]>::to_vec);
            (metrics, values_of(&evaluation), counts, confusion)
        };
        for (window, every, warmup) in [(10, 10, 0), (7, 100, 3), (50, 33, 0), (1000, 1, 0), (100, 5000, 130)] {
            assert!(
                run(None, window, every, warmup) == run(Some(&ones), window, every, warmup),
                "{window} {every}"
            );
        }
    }

    #[test]
    fn numbers_in_blocks_are_numbers_row_by_row() {
        let values: Vec<f64> = (0..600).map(|i| f64::from((i * 37) % 23) - 11.0).collect();
        // One number in a later block is too large to be sure of.
        let truths: Vec<f64> =
            (0..600).map(|i| if i == 400 { 1e120 } else { 3.0 * values[i] - f64::from(i as u32 % 5) }).collect();
        let table = Line { values, columns: vec![Column::Number(Name::Number(0))] };
        let ones = vec![1.0; 600];
        let run = |weights: Option<&[f64]>, window: usize, every: u64| {
            let mut model = Model::new(&json!({
                "name": "linear_model.LinearRegression", "parameters": { "clip_gradient": 10.0 }
            }))
            .expect("it is declared");
            let metrics = ["MAE", "RMSE", "R2"].map(|name| {
                held::Metric::new(&json!({ "name": format!("metrics.{name}") })).expect("it is declared")
            });
            let panel = Panel::new(metrics.to_vec(), true, window, every).expect("for numbers");
            let mut evaluation =
                Evaluation::new(Scores::new(panel, None, 2, Every::Rows(every)), Arrival::AtOnce, true);
            let chunk = Chunk {
                table: &table,
                from: 0,
                to: 600,
                targets: Targets::Numbers(&truths),
                weights,
                times: None,
            };
            evaluation.feed(&mut model, &chunk, &mut Scratch::default(), &|| 0.0).expect("good rows");
            assert_eq!(evaluation.scores().counts().scored, 598);
            let metrics: Vec<_> = evaluation
                .scores()
                .panel()
                .metrics()
                .iter()
                .map(|metric| metric.save().expect("it saves"))
                .collect();
            (metrics, values_of(&evaluation), evaluation.scores().sample().pairs().to_vec())
        };
        for (window, every) in [(10, 10), (7, 100), (1000, 33)] {
            assert!(run(None, window, every) == run(Some(&ones), window, every), "{window} {every}");
        }
    }

    #[test]
    fn a_label_that_comes_before_the_next_row_is_a_label_that_comes_at_once() {
        let (at_once, first) = run(Arrival::AtOnce, &[60], None, 0);
        let (next, second) = run(Arrival::AfterRows(1), &[60], None, 0);
        let now: Vec<i64> = (0..60).collect();
        let (timed, third) = run(Arrival::Timed, &[30, 60], Some((&now, &now)), 0);
        assert_eq!(at_once, next);
        assert_eq!(at_once, timed);
        assert_eq!(values_of(&first), values_of(&second));
        assert_eq!(values_of(&first), values_of(&third));
    }

    /// With labels 7 rows late, the first 7 rows find a model that has learned nothing and can say nothing: 53 of
    /// 60 are scored; with a warm-up of 20, rows 20 to 59 are.
    #[test]
    fn rows_are_counted() {
        let (_, late) = run(Arrival::AfterRows(7), &[60], None, 0);
        let counts = late.scores().counts();
        assert_eq!((counts.scored, counts.unanswered, counts.warmup), (53, 7, 0));
        let (_, warm) = run(Arrival::AfterRows(7), &[60], None, 20);
        let counts = warm.scores().counts();
        assert_eq!((counts.scored, counts.unanswered, counts.warmup), (40, 0, 20));
    }
}
