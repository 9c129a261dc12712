//! Test-then-train: predict, score and learn row by row, with labels that may arrive late.
//!
//! An `Evaluation` holds the state of one run of one model and is fed table by table. The result does not depend
//! on how the stream is cut into tables. When the label of a row arrives, its earlier prediction is scored and the
//! row is learned. A row that cannot be predicted or learned is neither scored nor learned. (Dawid, 1984, calls
//! this the prequential approach; delayed labels follow Grzenda, Gomes and Bifet, 2020.)

pub mod calibration;
mod delayed;
mod immediate;
pub mod metric_set;
pub mod pending;
pub mod prediction_log;
pub mod sample;
pub mod scores;
pub mod values;

use crate::fault::{Fault, Result};
use crate::held::Model;
use crate::row::{Scratch, Want};
use crate::table::{Reader, Table};
use crate::task::Targets;
use pending::Pending;
use prediction_log::{PredictionLog, Predictions};
use scores::{Probe, Scores};

/// When the label of a row arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    AtOnce,
    /// Just before the row this many rows later is predicted.
    AfterRows(u64),
    /// At the times in the chunk.
    Timed,
}

/// A missing time.
pub const NO_TIME: i64 = i64::MIN;

/// Consecutive rows of a stream with their targets.
#[derive(Clone, Copy)]
pub struct LabelledChunk<'a> {
    pub table: &'a dyn Table,
    pub from: usize,
    pub to: usize,
    pub targets: Targets<'a>,
    pub weights: Option<&'a [f64]>,
    /// The time of each row and of its label, in any unit that keeps the order.
    pub times: Option<(&'a [i64], &'a [i64])>,
}

/// Seconds since the start of the run: the core has no clock of its own.
pub type Clock<'a> = &'a (dyn Fn() -> f64 + Sync);

pub struct Evaluation {
    scores: Scores,
    pending: Pending,
    arrival: Arrival,
    skip: bool,
    /// Rows of the stream so far.
    rows: u64,
    /// Predictions that the caller has not fetched yet, if it asked for them.
    log: Option<PredictionLog>,
}

struct ModelProbe<'a> {
    model: &'a Model,
    clock: Clock<'a>,
    pending: Option<&'a Pending>,
}

impl Probe for ModelProbe<'_> {
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
    /// With `skip`, faulty rows are counted; otherwise the first one stops the run.
    pub fn new(scores: Scores, arrival: Arrival, skip: bool) -> Self {
        Evaluation { scores, pending: Pending::default(), arrival, skip, rows: 0, log: None }
    }

    /// Keep each prediction until `predictions` fetches it.
    pub fn keep_predictions(&mut self) {
        self.log = Some(PredictionLog::new(self.scores.metric_set().scores_numbers()));
    }

    /// The predictions since the last call, up to the last row that has one.
    pub fn predictions(&mut self) -> Predictions {
        self.log.as_mut().map(|log| log.take(self.rows)).unwrap_or_default()
    }

    fn want(&self) -> Want {
        if self.log.is_some() {
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

    /// Rows whose labels have not arrived.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Bytes held by the evaluation itself.
    pub fn memory(&self) -> usize {
        self.pending.memory() + self.scores.metric_set().memory()
    }

    /// Count a row that could not be read.
    pub fn unreadable(&mut self, fault: Fault) -> Result<()> {
        let row = self.rows;
        self.rows += 1;
        self.refuse(row, fault)
    }

    fn refuse(&mut self, row: u64, fault: Fault) -> Result<()> {
        if !self.skip {
            return Err(stopped(row, &fault));
        }
        self.scores.skip_row(row, fault);
        Ok(())
    }

    /// Process the next rows of the stream.
    pub fn feed(
        &mut self,
        model: &mut Model,
        chunk: &LabelledChunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        match self.arrival {
            Arrival::AtOnce => self.feed_at_once(model, chunk, scratch, clock),
            _ => self.feed_late(model, chunk, scratch, clock),
        }
    }

    /// End the stream: all remaining labels arrive now.
    pub fn finish(&mut self, model: &mut Model, scratch: &mut Scratch, clock: Clock<'_>) -> Result<()> {
        let layouts = self.pending.layouts();
        let mut readers: Vec<Option<Reader<'_>>> = layouts.iter().map(|_| None).collect();
        self.learn_due(model, &layouts, &mut readers, None, scratch, clock)?;
        self.pending.tidy();
        self.stop(model, clock)
    }

    /// End the run before the end of the stream: rows that wait for labels are not learned.
    pub fn stop(&mut self, model: &Model, clock: Clock<'_>) -> Result<()> {
        self.scores.finish(&ModelProbe { model, clock, pending: Some(&self.pending) })
    }
}

/// The fault that ends a run. Unlike a batch, a stream cannot be undone, so the message states that the rows
/// before are learned.
pub fn stopped(row: u64, fault: &Fault) -> Fault {
    let before = match row {
        0 => String::new(),
        _ => " (rows before it whose labels had arrived are learned)".to_string(),
    };
    Fault::new(fault.kind(), format!("{}{before}", fault.message())).at_row(row as usize)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::metric_set::{MetricSet, Scored};
    use super::scores::CurveSpacing;
    use super::*;
    use crate::held;
    use crate::labels::Label;
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
        let metric_set = MetricSet::new(vec![metric], Scored::Classes, 10, 10).expect("for classes");
        let mut evaluation =
            Evaluation::new(Scores::new(metric_set, None, warmup, CurveSpacing::Rows(10)), arrival, false);
        let mut scratch = Scratch::default();
        let mut from = 0;
        for &to in cuts {
            let targets = Targets::Classes { distinct: &distinct, indices: &places };
            let chunk = LabelledChunk { table: &table, from, to, targets, weights: None, times };
            evaluation.feed(&mut model, &chunk, &mut scratch, &|| 0.0).expect("good rows");
            from = to;
        }
        evaluation.finish(&mut model, &mut scratch, &|| 0.0).expect("good rows");
        assert_eq!(evaluation.waiting(), 0);
        (model.save().expect("it saves"), evaluation)
    }

    fn values_of(evaluation: &Evaluation) -> Vec<Vec<f64>> {
        let positive: Vec<u32> = evaluation.scores().metric_set().positive_codes();
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

    /// Rows with weights are scored one by one, rows without weights in blocks. 600 rows are more than one block,
    /// and the window and the points of the curve cut blocks into pieces.
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
            let metric_set =
                MetricSet::new(metrics.to_vec(), Scored::Classes, window, every).expect("for classes");
            let scores = Scores::new(metric_set, None, warmup, CurveSpacing::Rows(every));
            let mut evaluation = Evaluation::new(scores, Arrival::AtOnce, false);
            let targets = Targets::Classes { distinct: &distinct, indices: &places };
            let mut scratch = Scratch::default();
            for (from, to) in [(0, 100), (100, 600)] {
                let chunk = LabelledChunk { table: &table, from, to, targets, weights, times: None };
                evaluation.feed(&mut model, &chunk, &mut scratch, &|| 0.0).expect("good rows");
            }
            evaluation.finish(&mut model, &mut scratch, &|| 0.0).expect("good rows");
            let metrics: Vec<_> = evaluation
                .scores()
                .metric_set()
                .metrics()
                .iter()
                .map(|metric| metric.save().expect("it saves"))
                .collect();
            assert!(evaluation.scores().metric_set().infallible_for(model.labels()));
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
        // One number in a later block exceeds `LARGEST_NUMBER`.
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
            let metric_set =
                MetricSet::new(metrics.to_vec(), Scored::Numbers, window, every).expect("for numbers");
            let mut evaluation = Evaluation::new(
                Scores::new(metric_set, None, 2, CurveSpacing::Rows(every)),
                Arrival::AtOnce,
                true,
            );
            let chunk = LabelledChunk {
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
                .metric_set()
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
    fn a_label_before_the_next_row_equals_an_immediate_label() {
        let (at_once, first) = run(Arrival::AtOnce, &[60], None, 0);
        let (next, second) = run(Arrival::AfterRows(1), &[60], None, 0);
        let now: Vec<i64> = (0..60).collect();
        let (timed, third) = run(Arrival::Timed, &[30, 60], Some((&now, &now)), 0);
        assert_eq!(at_once, next);
        assert_eq!(at_once, timed);
        assert_eq!(values_of(&first), values_of(&second));
        assert_eq!(values_of(&first), values_of(&third));
    }

    /// With labels 7 rows late, the model has learned nothing when it predicts the first 7 rows and gives no
    /// prediction: 53 of 60 rows are scored. With a warm-up of 20, rows 20 to 59 are scored.
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
