//! Metrics that score one model, each over the whole stream and over a window of it.
//!
//! A window is a ring of outcomes, shared by all metrics. Where points of the curve lie far apart, the rolling
//! metrics are worked out at each point from the ring: that costs less than taking every outcome in and out,
//! and rounding does not pile up. Where points are dense, outcomes go in and out, and the sums are made anew
//! from the ring each time it has gone round.

use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::role::{ClassOutcome, Metric, Outcome};
use crate::row::{Prediction, Want};

const NONE: u32 = u32::MAX;

pub struct Panel {
    metrics: Vec<Box<dyn Metric>>,
    rolling: Vec<Box<dyn Metric>>,
    /// The classes of the stream in the order in which they were scored; outcomes carry these codes.
    labels: Labels,
    /// By the model's code of a class, the code here.
    here: Vec<u32>,
    /// By the code here, the model's.
    there: Vec<u32>,
    previous: Option<u32>,
    ring: Vec<(Outcome, f64)>,
    window: usize,
    next: usize,
    /// Whether outcomes go in and out of the rolling metrics, or these are worked out when asked for.
    flowing: bool,
    want: Want,
}

impl Panel {
    /// `labels` are the classes that the metrics already know, if they have been used before.
    pub fn new(metrics: Vec<Box<dyn Metric>>, labels: Labels, window: usize, every: u64) -> Self {
        let mut rolling: Vec<Box<dyn Metric>> = metrics.iter().map(|metric| metric.duplicate()).collect();
        rolling.iter_mut().for_each(|metric| metric.reset());
        let probabilities = metrics.iter().any(|metric| metric.want() == Want::Probabilities);
        Panel {
            metrics,
            rolling,
            labels,
            here: Vec::new(),
            there: Vec::new(),
            previous: None,
            ring: Vec::new(),
            window: window.max(1),
            next: 0,
            flowing: every.saturating_mul(2) < window as u64,
            want: if probabilities { Want::Probabilities } else { Want::Class },
        }
    }

    /// What the model must be asked for.
    pub fn want(&self) -> Want {
        self.want
    }

    pub fn metrics(&self) -> &[Box<dyn Metric>] {
        &self.metrics
    }

    /// Whether these are metrics of numbers, or of classes.
    pub fn takes_numbers(&self) -> bool {
        self.metrics.first().is_some_and(|metric| metric.takes_numbers())
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The code of a true class, given out when it is first scored.
    pub fn truth(&mut self, label: &Label) -> u32 {
        self.labels.intern(label)
    }

    /// The outcome of a prediction that named a class; `known` are the model's labels.
    pub fn class_outcome(&mut self, truth: u32, predicted: &Prediction, known: &Labels) -> Outcome {
        let class = predicted.class.map(|code| self.code_of(code, known));
        let mut outcome = ClassOutcome {
            truth,
            predicted: class,
            previous: self.previous.replace(truth),
            truth_probability: f64::NAN,
            squared_error: f64::NAN,
            positive_probability: f64::NAN,
        };
        if self.want == Want::Probabilities && !predicted.probabilities.is_empty() {
            let probabilities = &predicted.probabilities;
            for code in 0..probabilities.len() as u32 {
                self.code_of(code, known);
            }
            let given = |code: u32| probabilities.get(code as usize).copied().unwrap_or(0.0);
            outcome.truth_probability = given(self.model_code(truth, known));
            outcome.positive_probability = given(self.model_code(1, known));
            let squares: f64 = probabilities.iter().map(|p| p * p).sum();
            outcome.squared_error = squares - 2.0 * outcome.truth_probability + 1.0;
        }
        Outcome::Class(outcome)
    }

    /// The code here of a class that the model predicted.
    #[inline]
    fn code_of(&mut self, code: u32, known: &Labels) -> u32 {
        match self.here.get(code as usize) {
            Some(&here) if here != NONE => here,
            _ => self.meet(code, known),
        }
    }

    #[cold]
    fn meet(&mut self, code: u32, known: &Labels) -> u32 {
        // A code that the model keeps free for a label that has not come is no class.
        let Some(label) = known.get(code) else { return NONE };
        let here = self.labels.intern(label);
        if self.here.len() <= code as usize {
            self.here.resize(code as usize + 1, NONE);
        }
        self.here[code as usize] = here;
        here
    }

    #[inline]
    fn model_code(&mut self, here: u32, known: &Labels) -> u32 {
        if let Some(&code) = self.there.get(here as usize) {
            if code != NONE {
                return code;
            }
        }
        let code = self.labels.get(here).and_then(|label| known.code(label)).unwrap_or(NONE);
        if self.there.len() <= here as usize {
            self.there.resize(here as usize + 1, NONE);
        }
        self.there[here as usize] = code;
        code
    }

    /// Score an outcome. A metric that refuses it is named; those before it have taken it.
    pub fn update(&mut self, outcome: Outcome, w: f64) -> Result<()> {
        for metric in &mut self.metrics {
            metric.update(&outcome, w)?;
        }
        let full = self.ring.len() == self.window;
        if self.flowing {
            for metric in &mut self.rolling {
                if full {
                    let (old, weight) = self.ring[self.next];
                    metric.update(&old, -weight)?;
                }
                metric.update(&outcome, w)?;
            }
        }
        if full {
            self.ring[self.next] = (outcome, w);
        } else {
            self.ring.push((outcome, w));
        }
        self.next += 1;
        if self.next == self.window {
            self.next = 0;
            if self.flowing {
                self.replay()?;
            }
        }
        Ok(())
    }

    /// Make the rolling metrics anew from the ring, oldest first.
    fn replay(&mut self) -> Result<()> {
        let start = if self.ring.len() == self.window { self.next } else { 0 };
        for metric in &mut self.rolling {
            metric.reset();
            for (outcome, w) in self.ring[start..].iter().chain(&self.ring[..start]) {
                metric.update(outcome, *w)?;
            }
        }
        Ok(())
    }

    /// All metrics over the whole stream, then all over the window.
    pub fn values(&mut self, out: &mut Vec<f64>) -> Result<()> {
        if !self.flowing {
            self.replay()?;
        }
        out.extend(self.metrics.iter().map(|metric| metric.get()));
        out.extend(self.rolling.iter().map(|metric| metric.get()));
        Ok(())
    }

    /// Give the metrics back, with the classes they now know.
    pub fn into_parts(self) -> (Vec<Box<dyn Metric>>, Labels) {
        (self.metrics, self.labels)
    }

    /// Whether all metrics are for numbers (`numbers`) or for classes.
    pub fn check(&self, numbers: bool) -> Result<()> {
        match self.metrics.iter().position(|metric| metric.takes_numbers() != numbers) {
            None => Ok(()),
            Some(place) if numbers => Err(Fault::wrong_type(format!("metric {place} scores classes, but the model predicts numbers"))),
            Some(place) => Err(Fault::wrong_type(format!("metric {place} scores numbers, but the model predicts classes"))),
        }
    }

    pub fn memory(&self) -> usize {
        self.ring.capacity() * std::mem::size_of::<(Outcome, f64)>()
            + self.metrics.iter().chain(&self.rolling).map(|metric| metric.memory()).sum::<usize>()
    }
}
