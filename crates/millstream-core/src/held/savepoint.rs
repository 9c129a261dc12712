//! Savepoints: the return of a model to its state before a batch.
//!
//! A model of millions of weights must not be copied for every small batch. Learners that can (`Part::savepoint`) record
//! what they overwrite, and the schema keeps its journal; of any other learner a copy is kept. No savepoint is needed
//! where a batch is checked first and the learner cannot refuse what was checked.

use std::borrow::Cow;

use crate::batch::{are_moderate, MODERATE};
use crate::fault::Fault;
use crate::labels::Labels;
use crate::schema::Schema;
use crate::table::{each_raw, raw_block, RawBlock, Reader, BLOCK};
use crate::task::{Target, Truths};

use super::root::{for_task, Root, RootTask};
use super::{Holdable, Job, Model, Source, TableRow};

/// The most rows of a batch that is rehearsed. To learn more rows takes longer than to copy most models.
const REHEARSED: usize = 1024;

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
        let sound = self.is_infallible()
            && (for_task!(self.part, T => self.is_sound::<T>(job), transformer => false) || self.rehearses(job));
        (!sound).then(|| self.savepoint())
    }

    fn is_infallible(&mut self) -> bool {
        if !self.part.infallible {
            self.part.infallible = self.part.part().infallible();
        }
        self.part.infallible
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

    /// Whether the rows of a batch can all be admitted.
    fn rehearses(&mut self, job: &Job<'_>) -> bool {
        let Ok(mut reader) = Reader::new(job.table, &self.schema) else { return false };
        let Some(mut rehearsal) = self.rehearsal(job.to - job.from) else { return false };
        let admitted = each_raw(job.table, job.from, job.to, |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            match rehearsal.admits(&mut source, job.targets.at(row)?, job.weight(row)) {
                true => Ok(()),
                false => Err(Fault::value("this row may be refused")),
            }
        });
        admitted.is_ok()
    }

    /// A rehearsal of a batch; None if the learner may refuse rows, or if a savepoint costs less.
    pub fn rehearsal(&mut self, rows: usize) -> Option<Rehearsal<'_>> {
        if rows > REHEARSED || self.part.abilities.checks_rows || !self.is_infallible() {
            return None;
        }
        self.schema.savepoint();
        let Model { schema, labels, part, .. } = self;
        Some(Rehearsal { schema, labels: Cow::Borrowed(labels), root: part })
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

/// Finds out whether a batch can be learned to its end, where the learner refuses no row of moderate numbers: schema and
/// labels admit its rows without the learner, and return to their state.
pub struct Rehearsal<'m> {
    schema: &'m mut Schema,
    /// Copied at the first new label.
    labels: Cow<'m, Labels>,
    root: &'m Root,
}

impl Rehearsal<'_> {
    /// With the names of the rows so far.
    pub fn schema(&self) -> &Schema {
        self.schema
    }

    /// Whether the next example can be admitted, and all its numbers are moderate or missing.
    pub fn admits<S: Source>(&mut self, source: &mut S, target: Target<'_>, w: f64) -> bool {
        (0.0..=MODERATE).contains(&w)
            && for_task!(self.root, T => self.admits_target::<T>(target, w), transformer => false)
            && (w == 0.0 || source.admit(self.schema).is_ok())
            && source.row(self.schema).is_ok_and(|x| x.is_moderate())
    }

    fn admits_target<T: RootTask>(&mut self, target: Target<'_>, w: f64) -> bool {
        let truth = match T::known(target, &self.labels) {
            Some(truth) => truth,
            None if T::check(target, &self.labels, &self.root.abilities).is_err() => return false,
            None if w > 0.0 => T::admit(target, self.labels.to_mut()),
            None => T::Truth::default(),
        };
        T::is_moderate(truth)
    }
}

impl Drop for Rehearsal<'_> {
    fn drop(&mut self) {
        self.schema.rollback_to_savepoint();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::held::NoSink;
    use crate::labels::Label;
    use crate::row::Scratch;
    use crate::table::{Column, Table};
    use crate::task::Targets;

    /// A number and a nominal value per row.
    struct Mixed {
        values: Vec<f64>,
        columns: [Column; 2],
    }

    impl Table for Mixed {
        fn height(&self) -> usize {
            self.values.len() / 2
        }
        fn columns(&self) -> &[Column] {
            &self.columns
        }
        fn block<'b>(&'b self, from: usize, to: usize, _: &'b mut Vec<f64>) -> &'b [f64] {
            &self.values[2 * from..2 * to]
        }
    }

    #[test]
    fn a_batch_that_is_not_plain_needs_no_savepoint_if_it_is_sound() {
        let mut model = Model::new(&json!({ "name": "tree.HoeffdingTreeClassifier" })).expect("it is declared");
        let columns =
            [Column::Number("size".into()), Column::Nominal("colour".into(), vec!["red".into(), "green".into()])];
        // New names, a new value in the second row, a missing number, and two new labels.
        let table = Mixed { values: vec![1.0, 0.0, f64::NAN, 1.0, 2.5, 0.0], columns };
        let distinct = [Label::Text("on time".into()), Label::Text("late".into())];
        let job = |indices, weights| Job {
            table: &table,
            from: 0,
            to: 3,
            targets: Targets::Classes { distinct: &distinct, indices },
            weights,
            predicting: None,
            learning: true,
            skip: false,
        };
        let before = model.save().expect("it saves");
        assert!(model.savepoint_for(&job(&[0, 1, 0], None)).is_none());
        assert_eq!(model.save().expect("it saves"), before);
        // A missing label, and a negative and a large weight.
        let missing = [0, 2, 0];
        let (negative, large) = ([1.0, 1.0, -1.0], [1.0, 1e61, 1.0]);
        for bad in [job(&missing, None), job(&[0, 1, 0], Some(&negative)), job(&[0, 1, 0], Some(&large))] {
            let savepoint = model.savepoint_for(&bad).expect("a row may be refused");
            model.rollback(savepoint);
        }
        assert_eq!(model.save().expect("it saves"), before);
        let tally = model.run(&job(&[0, 1, 0], None), &mut Scratch::default(), &mut NoSink).expect("it is sound");
        assert_eq!((tally.done, model.schema().len(), model.labels().known()), (3, 2, 2));
    }
}
