//! The metrics of one model, each over the whole stream and over a sliding window.
//!
//! A window is a ring buffer of outcomes. Where points of the curve are far apart, a rolling metric is computed
//! from its ring at each point: this costs less than adding and removing every outcome, and rounding errors do not
//! accumulate. Where points are dense, outcomes are added and removed, and the sums are recomputed from the ring
//! once per turn.

use super::values::{Values, MOST_OPEN};
use crate::fault::{Fault, Result};
use crate::held;
use crate::labels::Labels;
use crate::metric::{Metric, Outcome};
use crate::row::Want;
use crate::task::{ClassPrediction, ClassPredictions};

/// What is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scored {
    Classes,
    Numbers,
    Clusters,
}

impl Scored {
    /// Whether a metric scores it. A metric of clusters may also compare classes.
    fn suits(self, metric: &dyn Metric) -> bool {
        match self {
            Scored::Classes => !metric.takes_numbers(),
            Scored::Numbers => metric.takes_numbers() && !metric.scores_clusters(),
            Scored::Clusters => metric.scores_clusters(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Scored::Classes => "classes",
            Scored::Numbers => "numbers",
            Scored::Clusters => "clusters",
        }
    }
}

/// The cluster of a row, for metrics of clusters.
#[derive(Clone, Copy, Debug)]
pub struct ClusterOutcome {
    /// The code of the true label; None if there is none.
    pub truth: Option<u32>,
    /// The code of the label that stands for the cluster.
    pub cluster: u32,
    /// The distances to the centres of this and the next cluster; None if they are unknown.
    pub distances: Option<(f64, f64)>,
}

pub struct MetricSet {
    metrics: Vec<held::Metric>,
    windows: Vec<MetricWindow>,
    want: Want,
    scored: Scored,
    /// Outcomes of the rows of a block, for the current metric.
    outcomes: Vec<(Outcome, f64)>,
}

impl MetricSet {
    /// `every` is the number of rows between points of the curve.
    pub fn new(metrics: Vec<held::Metric>, scored: Scored, window: usize, every: u64) -> Result<Self> {
        if let Some(metric) = metrics.iter().find(|metric| !scored.suits(metric.metric())) {
            let fits = [Scored::Clusters, Scored::Numbers, Scored::Classes];
            let scores = fits.into_iter().find(|scored| scored.suits(metric.metric())).unwrap_or(Scored::Classes);
            return Err(Fault::wrong_type(format!(
                "{}: scores {}, but the model predicts {}",
                metric.title(),
                scores.word(),
                scored.word()
            )));
        }
        let probabilities = metrics.iter().any(|metric| metric.want() == Want::Probabilities);
        let windows = metrics.iter().map(|metric| MetricWindow::new(metric.metric(), window, every)).collect();
        let want = if probabilities { Want::Probabilities } else { Want::Class };
        Ok(MetricSet { metrics, windows, want, scored, outcomes: Vec::new() })
    }

    /// What the model must predict.
    pub fn want(&self) -> Want {
        self.want
    }

    pub fn metrics(&self) -> &[held::Metric] {
        &self.metrics
    }

    pub fn scores_numbers(&self) -> bool {
        self.scored == Scored::Numbers
    }

    /// Score a class; codes are those of `labels`. The error names the metric that failed; the metrics before it
    /// have counted the outcome.
    #[inline]
    pub fn class(&mut self, labels: &Labels, truth: u32, predicted: &ClassPrediction, w: f64) -> Result<()> {
        for (metric, window) in self.metrics.iter_mut().zip(&mut self.windows) {
            if let Some(outcome) = metric.observe(labels, truth, predicted, w)? {
                window.push(outcome, w, metric.labels())?;
            }
        }
        Ok(())
    }

    /// Whether a block of classes may be scored at once: no metric gets a new class or can fail.
    pub fn infallible_for(&self, labels: &Labels) -> bool {
        self.metrics.iter().all(|metric| metric.infallible_for(labels))
    }

    /// Score consecutive rows of weight 1 that all have a prediction, starting at index `from` of `predictions`.
    /// One metric after the other receives all rows in order.
    pub fn classes(&mut self, truths: &[u32], predictions: &ClassPredictions, from: usize) -> Result<()> {
        for (metric, window) in self.metrics.iter_mut().zip(&mut self.windows) {
            metric.observe_block(truths, predictions, from, &mut self.outcomes)?;
            window.push_all(&self.outcomes, metric.labels())?;
        }
        Ok(())
    }

    /// Whether a block of numbers up to `LARGEST_NUMBER` may be scored at once.
    pub fn infallible_for_numbers(&self) -> bool {
        self.metrics.iter().all(held::Metric::infallible_for_numbers)
    }

    /// Score consecutive numbers of weight 1.
    pub fn numbers(&mut self, truths: &[f64], predictions: &[f64]) -> Result<()> {
        for (metric, window) in self.metrics.iter_mut().zip(&mut self.windows) {
            metric.observe_numbers(truths, predictions, &mut self.outcomes)?;
            window.push_all(&self.outcomes, metric.labels())?;
        }
        Ok(())
    }

    /// Score a number.
    #[inline]
    pub fn number(&mut self, truth: f64, predicted: f64, w: f64) -> Result<()> {
        for (metric, window) in self.metrics.iter_mut().zip(&mut self.windows) {
            metric.update_number(truth, predicted, w)?;
            if w > 0.0 {
                window.push(Outcome::Number { truth, predicted }, w, metric.labels())?;
            }
        }
        Ok(())
    }

    /// Score a cluster: with labels by their codes, and by its distances. Metrics of what is unknown skip the row.
    pub fn cluster(&mut self, labels: &Labels, outcome: ClusterOutcome, w: f64) -> Result<()> {
        let predicted = ClassPrediction { class: Some(outcome.cluster), probabilities: Vec::new() };
        for (metric, window) in self.metrics.iter_mut().zip(&mut self.windows) {
            match (metric.metric().takes_numbers(), outcome.truth, outcome.distances) {
                (true, _, Some((truth, predicted))) => {
                    metric.update_number(truth, predicted, w)?;
                    if w > 0.0 {
                        window.push(Outcome::Number { truth, predicted }, w, metric.labels())?;
                    }
                }
                (false, Some(truth), _) => {
                    if let Some(outcome) = metric.observe(labels, truth, &predicted, w)? {
                        window.push(outcome, w, metric.labels())?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// All metrics over the whole stream and over the window.
    pub fn values(&mut self) -> Result<Values> {
        let mut values = Values::default();
        for (metric, window) in self.metrics.iter().zip(&mut self.windows) {
            let recent = window.up_to_date(metric.labels())?;
            let both = |positive| (metric.metric().get_for(positive), recent.get_for(positive));
            let codes = Some(metric.open_classes()).filter(|codes| codes.len() <= MOST_OPEN);
            let by_class: Vec<(f64, f64)> = codes.unwrap_or_default().map(both).collect();
            let code = metric.positive_code();
            values.now.push(by_class.get(code as usize).copied().unwrap_or_else(|| both(code)));
            values.by_class.push(by_class);
        }
        Ok(values)
    }

    /// The code of the positive class of each metric.
    pub fn positive_codes(&self) -> Vec<u32> {
        self.metrics.iter().map(held::Metric::positive_code).collect()
    }

    /// The first metric over the window.
    pub fn recent(&mut self) -> Result<Option<f64>> {
        let first = self.metrics.first().zip(self.windows.first_mut());
        let value = |(metric, window): (&held::Metric, &mut MetricWindow)| {
            Ok(window.up_to_date(metric.labels())?.get_for(metric.positive_code()))
        };
        first.map(value).transpose()
    }

    pub fn memory(&self) -> usize {
        let windows =
            self.windows.iter().map(|window| window.ring.capacity() * std::mem::size_of::<(Outcome, f64)>());
        self.metrics.iter().map(held::Metric::memory).sum::<usize>() + windows.sum::<usize>()
    }
}

/// One metric over the last outcomes.
struct MetricWindow {
    metric: Box<dyn Metric>,
    size: usize,
    ring: Vec<(Outcome, f64)>,
    next: usize,
    /// Whether outcomes are added and removed one by one; otherwise the metric is recomputed on demand.
    incremental: bool,
}

impl MetricWindow {
    fn new(metric: &dyn Metric, size: usize, every: u64) -> Self {
        let mut metric = metric.duplicate();
        metric.reset();
        let incremental = every.saturating_mul(2) < size as u64 && metric.invertible();
        MetricWindow { metric, size: size.max(1), ring: Vec::new(), next: 0, incremental }
    }

    #[inline]
    fn push(&mut self, outcome: Outcome, w: f64, labels: &Labels) -> Result<()> {
        let left = (self.ring.len() == self.size).then(|| self.ring[self.next]);
        match left {
            Some(_) => self.ring[self.next] = (outcome, w),
            None => self.ring.push((outcome, w)),
        }
        self.next = if self.next + 1 == self.size { 0 } else { self.next + 1 };
        if !self.incremental {
            return Ok(());
        }
        if self.next == 0 {
            return self.replay(labels);
        }
        self.metric.set_labels(labels);
        if let Some((old, weight)) = left {
            self.metric.update(&old, -weight)?;
        }
        self.metric.update(&outcome, w)
    }

    /// Call `push` for each outcome.
    fn push_all(&mut self, outcomes: &[(Outcome, f64)], labels: &Labels) -> Result<()> {
        if self.incremental {
            return outcomes.iter().try_for_each(|&(outcome, w)| self.push(outcome, w, labels));
        }
        // The ring keeps only the last outcomes if there are more than it holds.
        let mut left = &outcomes[outcomes.len().saturating_sub(self.size)..];
        while !left.is_empty() {
            let full = self.ring.len() == self.size;
            let place = if full { self.next } else { self.ring.len() };
            let (now, later) = left.split_at(left.len().min(self.size - place));
            match full {
                true => self.ring[place..place + now.len()].copy_from_slice(now),
                false => self.ring.extend_from_slice(now),
            }
            self.next = (place + now.len()) % self.size;
            left = later;
        }
        Ok(())
    }

    /// Recompute the metric from the ring, oldest outcome first.
    fn replay(&mut self, labels: &Labels) -> Result<()> {
        self.metric.reset();
        self.metric.set_labels(labels);
        let start = if self.ring.len() == self.size { self.next } else { 0 };
        for (outcome, w) in self.ring[start..].iter().chain(&self.ring[..start]) {
            self.metric.update(outcome, *w)?;
        }
        Ok(())
    }

    /// The metric over the window. Its positive class is that of the whole stream, because another class could be
    /// the rarest within a window.
    fn up_to_date(&mut self, labels: &Labels) -> Result<&dyn Metric> {
        if !self.incremental {
            self.replay(labels)?;
        }
        Ok(&*self.metric)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Errors 3, 1, 2, 6 in a window of two: the rolling MAE is 3, (3 + 1) / 2, (1 + 2) / 2, (2 + 6) / 2; over
    /// the whole stream it is 3, 4 / 2, 6 / 3, 12 / 4.
    #[test]
    fn a_window_worked_by_hand() {
        let metric = held::Metric::new(&json!({ "name": "metrics.MAE" })).expect("it is declared");
        let mut metric_set = MetricSet::new(vec![metric], Scored::Numbers, 2, 1).expect("for numbers");
        let mut found = Vec::new();
        for error in [3.0, 1.0, 2.0, 6.0] {
            metric_set.number(0.0, error, 1.0).expect("finite");
            found.push(metric_set.values().expect("finite").now);
        }
        assert_eq!(found, [[(3.0, 3.0)], [(2.0, 2.0)], [(2.0, 1.5)], [(3.0, 4.0)]]);
    }

    #[test]
    fn incremental_and_replayed_windows_agree() {
        let metric = || held::Metric::new(&json!({ "name": "metrics.Accuracy" })).expect("it is declared");
        let mut incremental = MetricSet::new(vec![metric()], Scored::Classes, 16, 1).expect("for classes");
        let mut replayed = MetricSet::new(vec![metric()], Scored::Classes, 16, 100).expect("for classes");
        assert!(incremental.windows[0].incremental && !replayed.windows[0].incremental);
        let mut labels = Labels::default();
        labels.intern(&crate::labels::Label::Int(0));
        labels.intern(&crate::labels::Label::Int(1));
        for row in 0..100u32 {
            let predicted = ClassPrediction { class: Some(row % 2), probabilities: Vec::new() };
            for metric_set in [&mut incremental, &mut replayed] {
                metric_set.class(&labels, u32::from(row % 3 == 0), &predicted, 1.0).expect("good input");
            }
            assert_eq!(incremental.values().expect("finite"), replayed.values().expect("finite"));
        }
    }

    /// Truths no, yes, yes, all predicted as no: at the end no is the rarer class, with recall 1.
    #[test]
    fn a_curve_uses_the_class_that_is_positive_at_its_end() {
        let metric = held::Metric::new(&json!({ "name": "metrics.Recall" })).expect("it is declared");
        let mut metric_set = MetricSet::new(vec![metric], Scored::Classes, 2, 1).expect("for classes");
        let mut labels = Labels::default();
        let no = labels.intern(&crate::labels::Label::Text("no".into()));
        let yes = labels.intern(&crate::labels::Label::Text("yes".into()));
        let mut points = Vec::new();
        for truth in [no, yes, yes] {
            let predicted = ClassPrediction { class: Some(no), probabilities: Vec::new() };
            metric_set.class(&labels, truth, &predicted, 1.0).expect("good input");
            points.push(metric_set.values().expect("finite"));
        }
        assert_eq!(metric_set.positive_codes(), [no]);
        // Over all rows, every no is found; only the first two windows contain a no.
        let found: Vec<Vec<f64>> = points.iter().map(|point| point.of(&[no]).collect()).collect();
        assert_eq!(found, [[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]);
        // After two rows both classes were equally rare, and yes was the positive class.
        assert_eq!(points[1].now, [(0.0, 0.0)]);
    }

    #[test]
    fn metrics_must_match_the_model() {
        let metric = held::Metric::new(&json!({ "name": "metrics.MAE" })).expect("it is declared");
        assert!(MetricSet::new(vec![metric], Scored::Classes, 2, 1).is_err());
    }
}
