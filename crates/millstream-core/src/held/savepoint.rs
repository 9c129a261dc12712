//! Savepoints: the return of a model to its state before a batch.
//!
//! A model of millions of weights must not be copied for every small batch. Learners that can (`Part::savepoint`) record
//! what they overwrite, and the schema keeps its journal; of any other learner a copy is kept.

use crate::batch::{are_moderate, MODERATE};
use crate::labels::Labels;
use crate::table::{raw_block, RawBlock, Reader, BLOCK};
use crate::task::Truths;

use super::root::{for_task, Root, RootTask};
use super::{Holdable, Job, Model};

/// The data for the return to the state at `Model::savepoint`.
pub struct Before {
    /// A copy of the learner; none if it records what it overwrites.
    root: Option<Root>,
    labels: Labels,
    learned: u64,
}

impl Model {
    /// A savepoint before a batch, if it may stop after some of its rows. None is taken for a single row, which is atomic
    /// by itself, and for rows that are checked first and that the learner cannot refuse.
    pub fn savepoint_for(&mut self, job: &Job<'_>) -> Option<Before> {
        if job.to - job.from <= 1 {
            return None;
        }
        if !self.part.infallible {
            self.part.infallible = self.part.part().infallible();
        }
        let sound =
            self.part.infallible && for_task!(self.part, T => self.is_sound::<T>(job), transformer => false);
        (!sound).then(|| self.savepoint())
    }

    /// Whether a batch holds nothing but known features, moderate or missing numbers and known targets.
    fn is_sound<T: RootTask>(&self, job: &Job<'_>) -> bool {
        let Ok(mut reader) = Reader::new(job.table, &self.schema) else { return false };
        let mut truths = Truths::default();
        let truths = T::known_truths(job.targets, job.from, job.to, &self.labels, &mut truths);
        let targets = truths.len() == job.to - job.from && truths.iter().all(|&truth| T::is_moderate(truth));
        let light = |w: &f64| (0.0..=MODERATE).contains(w);
        let weights = job.weights.is_none_or(|weights| weights[job.from..job.to].iter().all(light));
        if !targets || !weights || self.part.abilities.checks_rows {
            return false;
        }
        let mut buffer = Vec::new();
        (job.from..job.to).step_by(BLOCK).all(|from| {
            let to = (from + BLOCK).min(job.to);
            match raw_block(job.table, from, to, &mut buffer) {
                RawBlock::Dense { values, width } => {
                    width > 0 && reader.is_direct(&self.schema) && are_moderate(values)
                }
                RawBlock::Sparse { .. } => false,
            }
        })
    }

    /// Start recording changes. Each `savepoint` is followed by one `rollback` or `commit`.
    pub fn savepoint(&mut self) -> Before {
        let records = self.part.part_mut().savepoint();
        self.schema.savepoint();
        Before { root: (!records).then(|| self.part.clone()), labels: self.labels.clone(), learned: self.count }
    }

    /// Return to the savepoint, bit for bit.
    pub fn rollback(&mut self, before: Before) {
        let Before { root, labels, learned } = before;
        (self.labels, self.count) = (labels, learned);
        self.schema.rollback_to_savepoint();
        match root {
            Some(root) => self.part = root,
            None => self.part.part_mut().rollback(),
        }
        self.part.bind(&self.schema);
    }

    /// Keep the state, and stop recording.
    pub fn commit(&mut self, before: Before) {
        self.schema.commit();
        if before.root.is_none() {
            self.part.part_mut().commit();
        }
    }
}
