//! The scores of a run: metrics, curve, confusion matrix, calibration, drift marks and counts.

use crate::detector::DriftDetector;
use crate::evaluate::calibration::Calibration;
use crate::evaluate::metric_set::{ClusterOutcome, MetricSet};
use crate::evaluate::sample::Sample;
use crate::evaluate::values::Values;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::metric::LARGEST_NUMBER;
use crate::row::Want;
use crate::task::{ClassPrediction, ClassPredictions};

/// The largest number of points of a curve over a stream of unknown length; then every second one is dropped.
const MOST_POINTS: usize = 400;
/// The largest number of skipped rows that are listed with their messages.
const MOST_REFUSALS: usize = 20;
/// With more classes than this there is no confusion matrix: its size grows with the square of their number.
pub const MOST_CLASSES: usize = 1000;

/// How often a point of the curve is recorded.
#[derive(Clone, Copy, Debug)]
pub enum CurveSpacing {
    Rows(u64),
    /// For streams of unknown length: the initial number of rows between points, doubled as the curve fills.
    Doubling(u64),
}

impl CurveSpacing {
    fn rows(self) -> u64 {
        match self {
            CurveSpacing::Rows(rows) | CurveSpacing::Doubling(rows) => rows.max(1),
        }
    }
}

/// One point of the curve.
#[derive(Clone, Debug)]
pub struct Point {
    /// Labels that had arrived.
    pub rows: u64,
    pub seconds: f64,
    /// Bytes held by the model.
    pub memory: usize,
    /// Rows whose labels had not arrived.
    pub waiting: usize,
    pub values: Values,
}

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub scored: u64,
    /// Rows of the warm-up: learned, not scored.
    pub warmup: u64,
    /// Rows for which the model had no prediction yet.
    pub unanswered: u64,
    pub skipped: u64,
}

pub struct Scores {
    metric_set: MetricSet,
    detector: Option<Box<dyn DriftDetector>>,
    warmup: u64,
    every: u64,
    doubling: bool,
    until_point: u64,
    rows: u64,
    curve: Vec<Point>,
    marks: Vec<u64>,
    /// Weight of rows by the model's codes of the true and the predicted class. None once there are more than
    /// `MOST_CLASSES` classes.
    confusion: Option<Vec<Vec<f64>>>,
    /// Present only if a metric needs probabilities.
    calibration: Option<Calibration>,
    sample: Sample,
    counts: Counts,
    refusals: Vec<(u64, Fault)>,
}

/// Clock, memory and queue length, which are read when a point of the curve is recorded.
pub trait Probe {
    fn seconds(&self) -> f64;
    fn memory(&self) -> usize;
    /// Rows whose labels have not arrived.
    fn waiting(&self) -> usize;
}

impl Scores {
    pub fn new(
        metric_set: MetricSet,
        detector: Option<Box<dyn DriftDetector>>,
        warmup: u64,
        every: CurveSpacing,
    ) -> Self {
        let calibration = (metric_set.want() == Want::Probabilities).then(Calibration::default);
        Scores {
            metric_set,
            detector,
            warmup,
            every: every.rows(),
            doubling: matches!(every, CurveSpacing::Doubling(_)),
            until_point: every.rows(),
            rows: 0,
            curve: Vec::new(),
            marks: Vec::new(),
            confusion: Some(Vec::new()),
            calibration,
            sample: Sample::default(),
            counts: Counts::default(),
            refusals: Vec::new(),
        }
    }

    pub fn want(&self) -> Want {
        self.metric_set.want()
    }

    pub fn metric_set(&self) -> &MetricSet {
        &self.metric_set
    }

    /// The first metric over the window.
    pub fn recent(&mut self) -> Result<Option<f64>> {
        self.metric_set.recent()
    }

    pub fn curve(&self) -> &[Point] {
        &self.curve
    }

    pub fn marks(&self) -> &[u64] {
        &self.marks
    }

    pub fn confusion(&self) -> Option<&[Vec<f64>]> {
        self.confusion.as_deref()
    }

    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// A sample of the predicted numbers.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn refusals(&self) -> &[(u64, Fault)] {
        &self.refusals
    }

    /// Labels that have arrived.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether to score a row. Other rows are counted as warm-up or unanswered.
    #[inline]
    fn is_due(&mut self, row: u64, answered: bool) -> bool {
        if row < self.warmup {
            self.counts.warmup += 1;
            return false;
        }
        if !answered {
            self.counts.unanswered += 1;
            return false;
        }
        true
    }

    /// Score `row` when its label arrives; `labels` are those of the model, and contain the truth.
    #[inline]
    pub fn class(
        &mut self,
        row: u64,
        labels: &Labels,
        truth: u32,
        predicted: &ClassPrediction,
        w: f64,
        probe: &dyn Probe,
    ) -> Result<()> {
        if self.is_due(row, predicted.class.is_some()) {
            self.metric_set.class(labels, truth, predicted, w)?;
            self.counts.scored += 1;
            self.count_confusion(labels, truth, predicted.class, w);
            if let Some(calibration) = &mut self.calibration {
                calibration.add(labels.len(), truth, predicted.class, &predicted.probabilities, w);
            }
            self.detect(row, if predicted.class == Some(truth) { 0.0 } else { 1.0 })?;
        }
        self.advance(probe)
    }

    /// Score consecutive rows of weight 1 whose truths and predictions are all in `labels`. Equivalent to `class`
    /// for each row; returns false if the rows must be scored one by one.
    pub fn classes(
        &mut self,
        row: u64,
        labels: &Labels,
        truths: &[u32],
        predictions: &ClassPredictions,
        probe: &dyn Probe,
    ) -> Result<bool> {
        let answered = predictions.are_answered(truths.len());
        if row < self.warmup || !answered || self.detector.is_some() || !self.metric_set.infallible_for(labels) {
            return Ok(false);
        }
        let mut from = 0;
        while from < truths.len() {
            let to = self.until_next_point(from, truths.len());
            let part = &truths[from..to];
            self.metric_set.classes(part, predictions, from)?;
            self.counts.scored += part.len() as u64;
            for (place, &truth) in (from..).zip(part) {
                let predicted = predictions.class(place);
                self.count_confusion(labels, truth, predicted, 1.0);
                if let Some(calibration) = &mut self.calibration {
                    calibration.add(labels.len(), truth, predicted, predictions.of(place), 1.0);
                }
            }
            self.advance_by(part.len() as u64, probe)?;
            from = to;
        }
        Ok(true)
    }

    /// Score consecutive numbers of weight 1. Equivalent to `number` for each row; returns false if the rows must
    /// be scored one by one.
    pub fn numbers(&mut self, row: u64, truths: &[f64], predictions: &[f64], probe: &dyn Probe) -> Result<bool> {
        let small = |numbers: &[f64]| numbers.iter().all(|number| number.abs() <= LARGEST_NUMBER);
        let sure = self.metric_set.infallible_for_numbers() && small(truths) && small(predictions);
        if row < self.warmup || self.detector.is_some() || !sure {
            return Ok(false);
        }
        let mut from = 0;
        while from < truths.len() {
            let to = self.until_next_point(from, truths.len());
            let (part, predicted) = (&truths[from..to], &predictions[from..to]);
            self.metric_set.numbers(part, predicted)?;
            self.counts.scored += part.len() as u64;
            for (place, (&truth, &predicted)) in part.iter().zip(predicted).enumerate() {
                self.sample.add(row + (from + place) as u64, truth, predicted);
            }
            self.advance_by(part.len() as u64, probe)?;
            from = to;
        }
        Ok(true)
    }

    /// The end of the rows that can be scored before the next point of the curve.
    fn until_next_point(&self, from: usize, to: usize) -> usize {
        to.min(from.saturating_add(usize::try_from(self.until_point).unwrap_or(usize::MAX)))
    }

    /// Advance by `rows`, at most to the next point of the curve.
    fn advance_by(&mut self, rows: u64, probe: &dyn Probe) -> Result<()> {
        self.rows += rows - 1;
        self.until_point -= rows - 1;
        self.advance(probe)
    }

    /// Count `row`, whose label has weight 0 and a class that is unknown to the model.
    pub fn weightless(&mut self, row: u64, predicted: &ClassPrediction, probe: &dyn Probe) -> Result<()> {
        if self.is_due(row, predicted.class.is_some()) {
            self.counts.scored += 1;
        }
        self.advance(probe)
    }

    /// Score `row` when its number arrives.
    #[inline]
    pub fn number(&mut self, row: u64, truth: f64, predicted: f64, w: f64, probe: &dyn Probe) -> Result<()> {
        if self.is_due(row, !predicted.is_nan()) {
            self.metric_set.number(truth, predicted, w)?;
            self.counts.scored += 1;
            self.sample.add(row, truth, predicted);
            self.detect(row, (truth - predicted).abs())?;
        }
        self.advance(probe)
    }

    /// Score the cluster of `row`, if it has one. A drift detector receives the distance to its centre.
    pub fn cluster(
        &mut self,
        row: u64,
        labels: &Labels,
        outcome: Option<ClusterOutcome>,
        w: f64,
        probe: &dyn Probe,
    ) -> Result<()> {
        if let (true, Some(outcome)) = (self.is_due(row, outcome.is_some()), outcome) {
            self.metric_set.cluster(labels, outcome, w)?;
            self.counts.scored += 1;
            if let Some(truth) = outcome.truth {
                self.count_confusion(labels, truth, Some(outcome.cluster), w);
            }
            if let Some((distance, _)) = outcome.distances {
                self.detect(row, distance)?;
            }
        }
        self.advance(probe)
    }

    #[inline]
    fn count_confusion(&mut self, labels: &Labels, truth: u32, predicted: Option<u32>, w: f64) {
        let (Some(confusion), Some(predicted)) = (&mut self.confusion, predicted) else { return };
        let cell = confusion.get_mut(truth as usize).and_then(|row| row.get_mut(predicted as usize));
        match cell {
            Some(cell) => *cell += w,
            None => self.widen(labels, truth, predicted, w),
        }
    }

    #[cold]
    fn widen(&mut self, labels: &Labels, truth: u32, predicted: u32, w: f64) {
        let side = labels.len().max(truth.max(predicted) as usize + 1);
        self.confusion = self.confusion.take().filter(|_| side <= MOST_CLASSES);
        if let Some(confusion) = &mut self.confusion {
            confusion.resize(side, Vec::new());
            confusion.iter_mut().for_each(|row| row.resize(side, 0.0));
            confusion[truth as usize][predicted as usize] += w;
        }
    }

    #[inline]
    fn detect(&mut self, row: u64, error: f64) -> Result<()> {
        if let Some(detector) = &mut self.detector {
            detector.update(error)?;
            // Falling errors are an improvement, not drift.
            if detector.verdict().is_worse() {
                self.marks.push(row);
            }
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self, probe: &dyn Probe) -> Result<()> {
        self.rows += 1;
        self.until_point -= 1;
        if self.until_point == 0 {
            self.until_point = self.every;
            return self.record(probe);
        }
        Ok(())
    }

    #[cold]
    fn record(&mut self, probe: &dyn Probe) -> Result<()> {
        let values = self.metric_set.values()?;
        self.curve.push(Point {
            rows: self.rows,
            seconds: probe.seconds(),
            memory: probe.memory(),
            waiting: probe.waiting(),
            values,
        });
        if self.doubling && self.curve.len() >= MOST_POINTS {
            self.every *= 2;
            let every = self.every;
            self.curve.retain(|point| point.rows % every == 0);
            self.until_point = every - self.rows % every;
        }
        Ok(())
    }

    /// End the stream: add the last point of the curve.
    pub fn finish(&mut self, probe: &dyn Probe) -> Result<()> {
        let last = self.curve.last().map_or(0, |point| point.rows);
        if self.rows > last {
            self.record(probe)?;
        }
        Ok(())
    }

    /// Count a faulty row that is skipped.
    pub fn skip_row(&mut self, row: u64, fault: Fault) {
        self.counts.skipped += 1;
        if self.refusals.len() < MOST_REFUSALS {
            self.refusals.push((row, fault));
        }
    }
}
