//! What an evaluation keeps of a run: metrics, the curve, the confusion matrix, drift marks, counts.

use crate::detector::DriftDetector;
use crate::evaluate::calibration::Calibration;
use crate::evaluate::panel::Panel;
use crate::evaluate::sample::Sample;
use crate::evaluate::values::Values;
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::metric::LARGEST_NUMBER;
use crate::row::Want;
use crate::task::{ClassPrediction, ClassPredictions};

/// How many points a curve of unknown length may have before every second one is dropped.
const MOST_POINTS: usize = 400;
/// How many refused rows are remembered with their messages.
const MOST_REFUSALS: usize = 20;
/// Beyond so many classes there is no confusion matrix: it would grow with their square, and nobody reads it.
pub const MOST_CLASSES: usize = 1000;

/// How often a point of the curve is recorded.
#[derive(Clone, Copy, Debug)]
pub enum Every {
    Rows(u64),
    /// The length of the stream is not known: begin with so many rows, and double them as the curve fills.
    Doubling(u64),
}

impl Every {
    fn rows(self) -> u64 {
        match self {
            Every::Rows(rows) | Every::Doubling(rows) => rows.max(1),
        }
    }
}

/// One point of the curve.
#[derive(Clone, Debug)]
pub struct Point {
    /// Labels that had come.
    pub rows: u64,
    pub seconds: f64,
    /// Bytes that the model held.
    pub memory: usize,
    /// Rows whose labels had not come.
    pub waiting: usize,
    pub values: Values,
}

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub scored: u64,
    /// Rows of the warm-up: learned, not scored.
    pub warmup: u64,
    /// Rows for which the model had no answer yet.
    pub unanswered: u64,
    pub set_aside: u64,
}

pub struct Scores {
    panel: Panel,
    detector: Option<Box<dyn DriftDetector>>,
    warmup: u64,
    every: u64,
    doubling: bool,
    until_point: u64,
    rows: u64,
    curve: Vec<Point>,
    marks: Vec<u64>,
    /// By the model's code of the true class, then of the predicted one: the weight of such rows. None once
    /// there are more than `MOST_CLASSES`.
    confusion: Option<Vec<Vec<f64>>>,
    /// Only if probabilities are asked for anyway.
    calibration: Option<Calibration>,
    sample: Sample,
    counts: Counts,
    refusals: Vec<(u64, Fault)>,
}

/// The clock, and how much the model holds: read when a point is recorded.
pub trait Instruments {
    fn seconds(&self) -> f64;
    fn memory(&self) -> usize;
    /// Rows whose labels have not come.
    fn waiting(&self) -> usize;
}

impl Scores {
    pub fn new(panel: Panel, detector: Option<Box<dyn DriftDetector>>, warmup: u64, every: Every) -> Self {
        let calibration = (panel.want() == Want::Probabilities).then(Calibration::default);
        Scores {
            panel,
            detector,
            warmup,
            every: every.rows(),
            doubling: matches!(every, Every::Doubling(_)),
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
        self.panel.want()
    }

    pub fn panel(&self) -> &Panel {
        &self.panel
    }

    /// The first metric over the window.
    pub fn recent(&mut self) -> Result<Option<f64>> {
        self.panel.recent()
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

    /// Some of the numbers that were predicted.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn refusals(&self) -> &[(u64, Fault)] {
        &self.refusals
    }

    /// Labels that have come.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether a row is to be scored; if not, it is counted as what it is.
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

    /// The label of `row` has come; `labels` are those of the model that predicted, and know the truth.
    #[inline]
    pub fn class(
        &mut self,
        row: u64,
        labels: &Labels,
        truth: u32,
        predicted: &ClassPrediction,
        w: f64,
        instruments: &dyn Instruments,
    ) -> Result<()> {
        if self.is_due(row, predicted.class.is_some()) {
            self.panel.class(labels, truth, predicted, w)?;
            self.counts.scored += 1;
            self.confuse(labels, truth, predicted.class, w);
            if let Some(calibration) = &mut self.calibration {
                calibration.add(labels.len(), truth, predicted.class, &predicted.probabilities, w);
            }
            self.detect(row, if predicted.class == Some(truth) { 0.0 } else { 1.0 })?;
        }
        self.advance(instruments)
    }

    /// The labels of consecutive rows have come, all of weight 1 and all with a prediction that `labels` know. The
    /// same as `class` for each; false if they must be told one by one.
    pub fn classes(
        &mut self,
        row: u64,
        labels: &Labels,
        truths: &[u32],
        predictions: &ClassPredictions,
        instruments: &dyn Instruments,
    ) -> Result<bool> {
        let answered = predictions.classes.get(..truths.len()).is_some_and(|all| all.iter().all(Option::is_some));
        if row < self.warmup || !answered || self.detector.is_some() || !self.panel.infallible_for(labels) {
            return Ok(false);
        }
        let mut from = 0;
        while from < truths.len() {
            let to = self.until_next_point(from, truths.len());
            let part = &truths[from..to];
            self.panel.classes(part, predictions, from)?;
            self.counts.scored += part.len() as u64;
            for (place, &truth) in (from..).zip(part) {
                let predicted = predictions.classes[place];
                self.confuse(labels, truth, predicted, 1.0);
                if let Some(calibration) = &mut self.calibration {
                    calibration.add(labels.len(), truth, predicted, predictions.of(place), 1.0);
                }
            }
            self.advance_by(part.len() as u64, instruments)?;
            from = to;
        }
        Ok(true)
    }

    /// The numbers of consecutive rows have come, all of weight 1. The same as `number` for each; false if they
    /// must be told one by one.
    pub fn numbers(
        &mut self,
        row: u64,
        truths: &[f64],
        predictions: &[f64],
        instruments: &dyn Instruments,
    ) -> Result<bool> {
        let small = |numbers: &[f64]| numbers.iter().all(|number| number.abs() <= LARGEST_NUMBER);
        let sure = self.panel.infallible_for_numbers() && small(truths) && small(predictions);
        if row < self.warmup || self.detector.is_some() || !sure {
            return Ok(false);
        }
        let mut from = 0;
        while from < truths.len() {
            let to = self.until_next_point(from, truths.len());
            let (part, predicted) = (&truths[from..to], &predictions[from..to]);
            self.panel.numbers(part, predicted)?;
            self.counts.scored += part.len() as u64;
            for (place, (&truth, &predicted)) in part.iter().zip(predicted).enumerate() {
                self.sample.add(row + (from + place) as u64, truth, predicted);
            }
            self.advance_by(part.len() as u64, instruments)?;
            from = to;
        }
        Ok(true)
    }

    /// How far a block may be scored at once: a point of the curve lies between two rows.
    fn until_next_point(&self, from: usize, to: usize) -> usize {
        to.min(from.saturating_add(usize::try_from(self.until_point).unwrap_or(usize::MAX)))
    }

    /// So many rows, which do not go beyond the next point of the curve.
    fn advance_by(&mut self, rows: u64, instruments: &dyn Instruments) -> Result<()> {
        self.rows += rows - 1;
        self.until_point -= rows - 1;
        self.advance(instruments)
    }

    /// The label of `row` has come, which has no weight and is of a class that the model does not know.
    pub fn weightless(
        &mut self,
        row: u64,
        predicted: &ClassPrediction,
        instruments: &dyn Instruments,
    ) -> Result<()> {
        if self.is_due(row, predicted.class.is_some()) {
            self.counts.scored += 1;
        }
        self.advance(instruments)
    }

    /// The number of `row` has come.
    #[inline]
    pub fn number(
        &mut self,
        row: u64,
        truth: f64,
        predicted: f64,
        w: f64,
        instruments: &dyn Instruments,
    ) -> Result<()> {
        if self.is_due(row, !predicted.is_nan()) {
            self.panel.number(truth, predicted, w)?;
            self.counts.scored += 1;
            self.sample.add(row, truth, predicted);
            self.detect(row, (truth - predicted).abs())?;
        }
        self.advance(instruments)
    }

    #[inline]
    fn confuse(&mut self, labels: &Labels, truth: u32, predicted: Option<u32>, w: f64) {
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
    fn advance(&mut self, instruments: &dyn Instruments) -> Result<()> {
        self.rows += 1;
        self.until_point -= 1;
        if self.until_point == 0 {
            self.until_point = self.every;
            return self.record(instruments);
        }
        Ok(())
    }

    #[cold]
    fn record(&mut self, instruments: &dyn Instruments) -> Result<()> {
        let values = self.panel.values()?;
        self.curve.push(Point {
            rows: self.rows,
            seconds: instruments.seconds(),
            memory: instruments.memory(),
            waiting: instruments.waiting(),
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

    /// The stream has ended: the curve gets its last point.
    pub fn finish(&mut self, instruments: &dyn Instruments) -> Result<()> {
        let last = self.curve.last().map_or(0, |point| point.rows);
        if self.rows > last {
            self.record(instruments)?;
        }
        Ok(())
    }

    /// A row was refused and set aside.
    pub fn set_aside(&mut self, row: u64, fault: Fault) {
        self.counts.set_aside += 1;
        if self.refusals.len() < MOST_REFUSALS {
            self.refusals.push((row, fault));
        }
    }
}
