//! The metrics that score one model, each over the whole stream and over a window of it.
//!
//! A window is a ring of outcomes. Where points of the curve lie far apart, a rolling metric is worked out at
//! each point from its ring: that costs less than taking every outcome in and out, and rounding does not pile
//! up. Where points are dense, outcomes go in and out, and the sums are made anew from the ring each time it
//! has gone round.

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::metric::{Metric, Outcome};
use crate::metrics::Meter;
use crate::row::Want;
use crate::task::{ClassPrediction, ClassPredictions};

pub struct Panel {
    meters: Vec<Meter>,
    windows: Vec<Window>,
    want: Want,
    /// Whether numbers are scored, or classes.
    numbers: bool,
    /// What the rows of a block came to, for the metric at hand.
    outcomes: Vec<(Outcome, f64)>,
}

impl Panel {
    /// `every` is how many rows lie between points of the curve.
    pub fn new(meters: Vec<Meter>, numbers: bool, window: usize, every: u64) -> Result<Self> {
        if let Some(meter) = meters.iter().find(|meter| meter.metric().takes_numbers() != numbers) {
            let (scores, predicts) = if numbers { ("classes", "numbers") } else { ("numbers", "classes") };
            return Err(Fault::wrong_type(format!(
                "{}: scores {scores}, but the model predicts {predicts}",
                meter.name()
            )));
        }
        let probabilities = meters.iter().any(|meter| meter.want() == Want::Probabilities);
        let windows = meters.iter().map(|meter| Window::new(meter.metric(), window, every)).collect();
        let want = if probabilities { Want::Probabilities } else { Want::Class };
        Ok(Panel { meters, windows, want, numbers, outcomes: Vec::new() })
    }

    /// What the model must be asked for.
    pub fn want(&self) -> Want {
        self.want
    }

    pub fn meters(&self) -> &[Meter] {
        &self.meters
    }

    pub fn scores_numbers(&self) -> bool {
        self.numbers
    }

    /// Score a class; codes are those of `labels`. A metric that refuses is named; those before it have taken it.
    #[inline]
    pub fn class(&mut self, labels: &Labels, truth: u32, predicted: &ClassPrediction, w: f64) -> Result<()> {
        for (meter, window) in self.meters.iter_mut().zip(&mut self.windows) {
            if let Some(outcome) = meter.observe(labels, truth, predicted, w)? {
                window.push(outcome, w, meter.labels())?;
            }
        }
        Ok(())
    }

    /// Whether a block of classes may be scored at once: no metric meets anything new or refuses.
    pub fn is_sure(&self, labels: &Labels) -> bool {
        self.meters.iter().all(|meter| meter.is_sure(labels))
    }

    /// Score consecutive rows of weight 1 which all have a prediction, the first of them at `from` of the
    /// predictions. Metric by metric: each sees the rows in their order.
    pub fn classes(&mut self, truths: &[u32], predictions: &ClassPredictions, from: usize) -> Result<()> {
        for (meter, window) in self.meters.iter_mut().zip(&mut self.windows) {
            meter.observe_block(truths, predictions, from, &mut self.outcomes)?;
            window.push_all(&self.outcomes, meter.labels())?;
        }
        Ok(())
    }

    /// Whether a block of numbers up to `SURE_NUMBER` may be scored at once.
    pub fn is_sure_of_numbers(&self) -> bool {
        self.meters.iter().all(Meter::is_sure_of_numbers)
    }

    /// Score consecutive numbers of weight 1.
    pub fn numbers(&mut self, truths: &[f64], predictions: &[f64]) -> Result<()> {
        for (meter, window) in self.meters.iter_mut().zip(&mut self.windows) {
            meter.observe_numbers(truths, predictions, &mut self.outcomes)?;
            window.push_all(&self.outcomes, meter.labels())?;
        }
        Ok(())
    }

    /// Score a number.
    #[inline]
    pub fn number(&mut self, truth: f64, predicted: f64, w: f64) -> Result<()> {
        for (meter, window) in self.meters.iter_mut().zip(&mut self.windows) {
            meter.update_number(truth, predicted, w)?;
            if w > 0.0 {
                window.push(Outcome::Number { truth, predicted }, w, meter.labels())?;
            }
        }
        Ok(())
    }

    /// All metrics over the whole stream, then all over the window.
    pub fn values(&mut self) -> Result<Vec<f64>> {
        let mut values: Vec<f64> = self.meters.iter().map(Meter::get).collect();
        for (meter, window) in self.meters.iter().zip(&mut self.windows) {
            values.push(window.value(meter.labels())?);
        }
        Ok(values)
    }

    /// The first metric over the window.
    pub fn recent(&mut self) -> Result<Option<f64>> {
        let first = self.meters.first().zip(self.windows.first_mut());
        first.map(|(meter, window)| window.value(meter.labels())).transpose()
    }

    pub fn memory(&self) -> usize {
        let windows =
            self.windows.iter().map(|window| window.ring.capacity() * std::mem::size_of::<(Outcome, f64)>());
        self.meters.iter().map(Meter::memory).sum::<usize>() + windows.sum::<usize>()
    }
}

/// One metric over the last outcomes.
struct Window {
    metric: Box<dyn Metric>,
    size: usize,
    ring: Vec<(Outcome, f64)>,
    next: usize,
    /// Whether outcomes go in and out of the metric, or it is worked out when asked for.
    flowing: bool,
}

impl Window {
    fn new(metric: &dyn Metric, size: usize, every: u64) -> Self {
        let mut metric = metric.duplicate();
        metric.reset();
        let flowing = every.saturating_mul(2) < size as u64 && metric.takes_back();
        Window { metric, size: size.max(1), ring: Vec::new(), next: 0, flowing }
    }

    #[inline]
    fn push(&mut self, outcome: Outcome, w: f64, labels: &Labels) -> Result<()> {
        let left = (self.ring.len() == self.size).then(|| self.ring[self.next]);
        match left {
            Some(_) => self.ring[self.next] = (outcome, w),
            None => self.ring.push((outcome, w)),
        }
        self.next = if self.next + 1 == self.size { 0 } else { self.next + 1 };
        if !self.flowing {
            return Ok(());
        }
        if self.next == 0 {
            return self.replay(labels);
        }
        self.metric.know(labels);
        if let Some((old, weight)) = left {
            self.metric.update(&old, -weight)?;
        }
        self.metric.update(&outcome, w)
    }

    /// `push` for each.
    fn push_all(&mut self, outcomes: &[(Outcome, f64)], labels: &Labels) -> Result<()> {
        if self.flowing {
            return outcomes.iter().try_for_each(|&(outcome, w)| self.push(outcome, w, labels));
        }
        // Of more than the ring holds, only the last are left in it.
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

    /// Make the metric anew from the ring, oldest first.
    fn replay(&mut self, labels: &Labels) -> Result<()> {
        self.metric.reset();
        self.metric.know(labels);
        let start = if self.ring.len() == self.size { self.next } else { 0 };
        for (outcome, w) in self.ring[start..].iter().chain(&self.ring[..start]) {
            self.metric.update(outcome, *w)?;
        }
        Ok(())
    }

    fn value(&mut self, labels: &Labels) -> Result<f64> {
        if !self.flowing {
            self.replay(labels)?;
        }
        Ok(self.metric.get())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Errors 3, 1, 2, 6 in a window of two: the rolling MAE is 3, (3 + 1) / 2, (1 + 2) / 2, (2 + 6) / 2; over
    /// the whole stream it is 3, 4 / 2, 6 / 3, 12 / 4. The same whether outcomes flow (a point at every row of a
    /// large window) or are replayed.
    #[test]
    fn a_window_worked_by_hand() {
        let meter = Meter::new(&json!({ "name": "metrics.MAE" })).expect("it is declared");
        let mut panel = Panel::new(vec![meter], true, 2, 1).expect("for numbers");
        let mut found = Vec::new();
        for error in [3.0, 1.0, 2.0, 6.0] {
            panel.number(0.0, error, 1.0).expect("finite");
            found.push(panel.values().expect("finite"));
        }
        assert_eq!(found, [[3.0, 3.0], [2.0, 2.0], [2.0, 1.5], [3.0, 4.0]]);
    }

    #[test]
    fn flowing_and_replayed_windows_agree() {
        let meter = || Meter::new(&json!({ "name": "metrics.Accuracy" })).expect("it is declared");
        let mut flowing = Panel::new(vec![meter()], false, 16, 1).expect("for classes");
        let mut replayed = Panel::new(vec![meter()], false, 16, 100).expect("for classes");
        assert!(flowing.windows[0].flowing && !replayed.windows[0].flowing);
        let mut labels = Labels::default();
        labels.intern(&crate::labels::Label::Int(0));
        labels.intern(&crate::labels::Label::Int(1));
        for row in 0..100u32 {
            let predicted = ClassPrediction { class: Some(row % 2), probabilities: Vec::new() };
            for panel in [&mut flowing, &mut replayed] {
                panel.class(&labels, u32::from(row % 3 == 0), &predicted, 1.0).expect("good input");
            }
            assert_eq!(flowing.values().expect("finite"), replayed.values().expect("finite"));
        }
    }

    #[test]
    fn metrics_must_suit_the_model() {
        let meter = Meter::new(&json!({ "name": "metrics.MAE" })).expect("it is declared");
        assert!(Panel::new(vec![meter], false, 2, 1).is_err());
    }
}
