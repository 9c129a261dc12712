//! Savepoints: how a model returns to the state before a batch.
//!
//! A model of millions of weights must not be copied for every small batch. Learners that can (`Part::savepoint`) record
//! what they overwrite, and the schema keeps its journal; of any other learner a copy is kept.

use crate::batch::{are_moderate, MODERATE};
use crate::labels::Labels;
use crate::table::{raw_block, RawBlock, Reader, BLOCK};
use crate::task::Truths;

use super::root::{for_task, RootTask};
use super::{Job, Model};

/// What leads back to the state at `Model::savepoint`.
pub enum Before {
    Copy(Box<Model>),
    Recorded { labels: Labels, learned: u64 },
}

impl Model {
    /// A savepoint before a batch, if it may stop after some of its rows. None is taken for a single row, which is atomic
    /// by itself, and for rows that are checked first and that the learner cannot refuse.
    pub fn savepoint_for(&mut self, job: &Job<'_>) -> Option<Before> {
        if job.to - job.from <= 1 {
            return None;
        }
        if !self.steady {
            self.steady = self.root.part().infallible();
        }
        let sound = self.steady && for_task!(self.root, T => self.is_sound::<T>(job), transformer => false);
        (!sound).then(|| self.savepoint())
    }

    /// Whether a batch holds nothing but known features, moderate numbers and known targets.
    fn is_sound<T: RootTask>(&self, job: &Job<'_>) -> bool {
        let Ok(mut reader) = Reader::new(job.table, &self.schema) else { return false };
        let mut truths = Truths::default();
        let truths = T::known_truths(job.targets, job.from, job.to, &self.labels, &mut truths);
        let targets = truths.len() == job.to - job.from && truths.iter().all(|&truth| T::is_moderate(truth));
        let light = |w: &f64| (0.0..=MODERATE).contains(w);
        let weights = job.weights.is_none_or(|weights| weights[job.from..job.to].iter().all(light));
        if !targets || !weights || self.abilities.checks_rows {
            return false;
        }
        let mut buffer = Vec::new();
        (job.from..job.to).step_by(BLOCK).all(|from| {
            let to = (from + BLOCK).min(job.to);
            match raw_block(job.table, from, to, &mut buffer) {
                RawBlock::Dense { values, width } => {
                    width > 0
                        && reader.is_direct(&self.schema)
                        && are_moderate(values)
                        && !values.iter().any(|x| x.is_nan())
                }
                RawBlock::Sparse { .. } => false,
            }
        })
    }

    /// From now on record what it takes to return. Each `savepoint` is followed by one `rollback` or `commit`.
    pub fn savepoint(&mut self) -> Before {
        if !self.root.part_mut().savepoint() {
            return Before::Copy(Box::new(self.clone()));
        }
        self.schema.savepoint();
        Before::Recorded { labels: self.labels.clone(), learned: self.learned }
    }

    /// Return, bit for bit.
    pub fn rollback(&mut self, before: Before) {
        match before {
            Before::Copy(model) => *self = *model,
            Before::Recorded { labels, learned } => {
                self.labels = labels;
                self.learned = learned;
                self.schema.rollback_to_savepoint();
                self.root.part_mut().rollback();
                self.bind();
            }
        }
    }

    /// Keep the state, and stop recording.
    pub fn commit(&mut self, before: Before) {
        if let Before::Recorded { .. } = before {
            self.schema.commit();
            self.root.part_mut().commit();
        }
    }
}
