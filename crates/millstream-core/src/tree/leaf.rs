//! The leaf of a classification tree: its statistics, prediction and learning.
//!
//! A leaf starts with the class weights from its parent's split, and without statistics of its own. It predicts the
//! class with the largest weight, or by naive Bayes, or by the one of the two with more correct predictions on its
//! examples (Gama, Rocha and Medas, 2003; Holmes, Kirkby and Pfahringer, 2005).

use crate::naive_bayes::class_statistics::ClassStatistics;
use crate::naive_bayes::class_table::{ClassTable, Spare};
use crate::row::{most, Row, RowBuffer, Scratch, Value, Want};
use crate::schema::FeatureKind;
use crate::task::ClassPrediction;

use super::class_counts::Counts;
use super::histogram::Histogram;
use super::settings::{ClassificationSettings, LeafClassifier, ESTIMATE};

/// [−lowest, highest], so that one maximum serves both; −∞ twice without numbers.
pub type Span = [f64; 2];
pub const NO_SPAN: Span = [f64::NEG_INFINITY; 2];

#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// The node of the leaf.
    pub node: u32,
    pub depth: u32,
    /// Whether it has discarded its statistics to save memory: then it only counts classes.
    pub idle: bool,
    /// The class weights by code, including the initial ones.
    pub counts: Vec<f64>,
    /// The weight since the last attempt to split the leaf.
    pub since: f64,
    /// The weight of examples that the majority class, and naive Bayes, predicted correctly.
    pub majority_right: f64,
    pub bayes_right: f64,
    /// The features that the leaf considers, ascending; none for all. Statistics are by index in this list.
    pub features: Option<Box<[u32]>>,
    pub table: ClassTable,
    /// By class and slot.
    pub spans: Vec<Vec<Span>>,
    /// By slot, if numbers are split by histograms; otherwise empty.
    pub histograms: Vec<Histogram<Counts>>,
}

impl Leaf {
    pub fn new(node: u32, depth: u32, counts: Vec<f64>, features: Option<Box<[u32]>>) -> Self {
        let mut table = ClassTable::default();
        table.classes.extend(counts.iter().map(|&inherited| ClassStatistics::inheriting(inherited)));
        Leaf { node, depth, counts, features, table, ..Leaf::default() }
    }

    /// The sum of all weights, including the initial ones.
    pub fn weight(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The feature at an index of the statistics.
    pub fn feature(&self, slot: usize) -> usize {
        self.features.as_ref().map_or(slot, |features| features[slot] as usize)
    }

    /// The features of a row that this leaf considers.
    #[inline(always)]
    fn seen<'a>(&self, x: Row<'a>, buffer: &'a mut RowBuffer) -> Row<'a> {
        match &self.features {
            None => x,
            Some(features) => {
                gather(x, features, buffer);
                buffer.row()
            }
        }
    }

    pub fn predict(
        &self,
        x: Row<'_>,
        leaf_prediction: LeafClassifier,
        want: Want,
        classes: usize,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) {
        if self.trusts_majority(leaf_prediction) {
            return self.majority(want, classes, out);
        }
        let mut buffer = scratch.take_row();
        self.table.predict(self.seen(x, &mut buffer), want, out, ESTIMATE.alpha, scratch);
        scratch.give_row(buffer);
        pad(out, want, classes);
    }

    #[inline(always)]
    fn trusts_majority(&self, leaf_prediction: LeafClassifier) -> bool {
        match leaf_prediction {
            LeafClassifier::Majority => true,
            LeafClassifier::Bayes => self.idle,
            LeafClassifier::Adaptive => self.idle || self.majority_right > self.bayes_right,
        }
    }

    fn majority(&self, want: Want, classes: usize, out: &mut ClassPrediction) {
        out.clear();
        let total = self.weight();
        if total > 0.0 {
            out.class = most(&self.counts);
            if want == Want::Probabilities {
                out.probabilities.extend(self.counts.iter().map(|count| count / total));
                pad(out, want, classes);
            }
        }
    }

    /// Predict, then learn. False if it would overflow; then nothing has changed, and `out` is undefined. The row is
    /// not sparse.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    pub fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        settings: &ClassificationSettings,
        want: Want,
        classes: usize,
        out: &mut ClassPrediction,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool {
        let code = y as usize;
        if !(self.weight() + w).is_finite() {
            return false;
        }
        if self.idle {
            self.majority(want, classes, out);
        } else if self.features.is_some() {
            let mut buffer = scratch.take_row();
            let features = self.features.take().unwrap_or_default();
            gather(x, &features, &mut buffer);
            let learned = self.step_seen(buffer.row(), y, w, settings, want, classes, out, spare, scratch);
            self.features = Some(features);
            scratch.give_row(buffer);
            if !learned {
                return false;
            }
        } else if !self.step_seen(x, y, w, settings, want, classes, out, spare, scratch) {
            return false;
        }
        if self.counts.len() <= code {
            self.counts.reserve_exact(code + 1 - self.counts.len());
            self.counts.resize(code + 1, 0.0);
        }
        self.counts[code] += w;
        self.since += w;
        true
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn step_seen(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        settings: &ClassificationSettings,
        want: Want,
        classes: usize,
        out: &mut ClassPrediction,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool {
        let leaf_prediction = settings.leaf_prediction;
        let by_majority = self.trusts_majority(leaf_prediction);
        if leaf_prediction == LeafClassifier::Majority {
            self.majority(want, classes, out);
            if !self.table.learn_dense(x, y, w, ESTIMATE, spare, scratch) {
                return false;
            }
            self.stretch(x, y);
            self.count(x, y, w, settings.bins);
            return true;
        }
        let majority = most(&self.counts);
        let want_bayes = if by_majority { Want::Class } else { want };
        let stepped = match x {
            Row::Plain(values) => self.table.step_plain(values, y, w, want_bayes, out, ESTIMATE, spare),
            _ => None,
        };
        let learned = stepped.unwrap_or_else(|| {
            self.table.predict_dense(x, want_bayes, out, ESTIMATE.alpha);
            self.table.learn_dense(x, y, w, ESTIMATE, spare, scratch)
        });
        if !learned {
            return false;
        }
        let bayes = out.class;
        if by_majority {
            self.majority(want, classes, out);
        } else {
            pad(out, want, classes);
        }
        self.majority_right += if majority == Some(y) { w } else { 0.0 };
        self.bayes_right += if bayes == Some(y) { w } else { 0.0 };
        self.stretch(x, y);
        self.count(x, y, w, settings.bins);
        true
    }

    /// Add an example to the histograms, if there are any.
    #[inline(always)]
    fn count(&mut self, x: Row<'_>, y: u32, w: f64, bins: usize) {
        if bins > 0 {
            self.histograms.resize(self.histograms.len().max(x.width()), Histogram::default());
            x.each(|slot, value| {
                if let Value::Number(x) = value {
                    self.histograms[slot].add(x, w, Counts::one(y, w), bins);
                }
            });
        }
    }

    /// Add an example to the spans of its class.
    #[inline(always)]
    fn stretch(&mut self, x: Row<'_>, y: u32) {
        let code = y as usize;
        if self.spans.len() <= code {
            self.spans.reserve_exact(code + 1 - self.spans.len());
            self.spans.resize(code + 1, Vec::new());
        }
        let spans = &mut self.spans[code];
        if spans.len() < x.width() {
            spans.reserve_exact(x.width() - spans.len());
            spans.resize(x.width(), NO_SPAN);
        }
        match x {
            Row::Plain(values) => {
                for (span, &x) in spans.iter_mut().zip(values) {
                    *span = [if -x > span[0] { -x } else { span[0] }, if x > span[1] { x } else { span[1] }];
                }
            }
            _ => x.each(|slot, value| {
                if let Value::Number(x) = value {
                    let span = &mut spans[slot];
                    *span = [span[0].max(-x), span[1].max(x)];
                }
            }),
        }
    }

    /// Discard everything but the class weights.
    pub fn rest(&mut self) {
        self.idle = true;
        (self.table, self.spans, self.histograms) = (ClassTable::default(), Vec::new(), Vec::new());
    }

    /// Start to gather statistics again.
    pub fn wake(&mut self) {
        let features = self.features.take();
        *self = Leaf::new(self.node, self.depth, std::mem::take(&mut self.counts), features);
    }

    /// The weight of examples outside the majority class: what a split could gain.
    pub fn promise(&self) -> f64 {
        self.weight() - self.counts.iter().copied().fold(0.0, f64::max)
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + 8 * self.counts.len()
            + self.features.as_ref().map_or(0, |features| 4 * features.len())
            + self.table.memory()
            + self.histograms.iter().map(|numbers| 24 + numbers.memory_with(Counts::memory)).sum::<usize>()
            + self.spans.iter().map(|spans| 24 + 16 * spans.len()).sum::<usize>()
    }
}

/// Extend the probabilities to all classes of the tree.
#[inline(always)]
fn pad(out: &mut ClassPrediction, want: Want, classes: usize) {
    if want == Want::Probabilities && out.class.is_some() && out.probabilities.len() < classes {
        out.probabilities.resize(classes, 0.0);
    }
}

/// Write the selected features of a row.
#[inline]
fn gather(x: Row<'_>, features: &[u32], buffer: &mut RowBuffer) {
    let within = features.last().is_none_or(|&last| (last as usize) < x.width());
    match x {
        Row::Plain(values) if within => {
            for (out, &slot) in buffer.plain(features.len()).iter_mut().zip(features) {
                *out = values[slot as usize];
            }
        }
        Row::Sparse(_) if within => {
            for (out, &slot) in buffer.plain(features.len()).iter_mut().zip(features) {
                *out = if let Some(Value::Number(number)) = x.get(slot as usize) { number } else { 0.0 };
            }
        }
        _ => {
            let (values, kinds) = buffer.mixed(features.len());
            for (index, &slot) in features.iter().enumerate() {
                match x.get(slot as usize) {
                    Some(Value::Number(number)) => values[index] = number,
                    Some(Value::Nominal(code)) => {
                        values[index] = code.map_or(crate::schema::UNSEEN, f64::from);
                        kinds[index] = FeatureKind::Nominal;
                    }
                    None => {}
                }
            }
        }
    }
}
