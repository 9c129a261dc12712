//! Mini-batches, and the loss over a table, for training in several passes over finite data.

use crate::fault::{Fault, Result};
use crate::row::{Row, Scratch};
use crate::table::{each_raw, Reader, Table};
use crate::task::{Target, Targets};

use super::root::{for_task, RootTask};
use super::{Job, Model, Source, TableRow};

/// The loss of a model over some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Risk {
    /// Σ w · loss
    pub sum: f64,
    /// Σ w
    pub weight: f64,
}

impl Model {
    /// Learn the rows of a job in mini-batches: for each `size` of them (the last may have fewer) one step down the mean
    /// of their gradients, all at the weights before the step. Returns the number of learned rows and the fault that
    /// stopped it, if any: the batches before the fault are learned, and nothing of its own batch.
    pub fn learn_batches(&mut self, job: &Job<'_>, size: usize, scratch: &mut Scratch) -> (usize, Option<Fault>) {
        if !self.part.abilities.mini_batches {
            let words = "learns from one example at a time; mini-batches are for learners that follow a gradient, \
                         such as linear_model.LogisticRegression or neural_network.MLPClassifier, also at the end of \
                         a pipeline";
            return (0, Some(Fault::wrong_type(format!("{}: {words}", self.title))));
        }
        let mut done = job.from;
        while done < job.to {
            let end = (done + size.max(1)).min(job.to);
            let before = self.savepoint();
            if let Err(fault) = self.learn_batch(job, done, end, scratch) {
                self.rollback(before);
                return (done - job.from, Some(fault));
            }
            self.commit(before);
            done = end;
        }
        (done - job.from, None)
    }

    fn learn_batch(&mut self, job: &Job<'_>, from: usize, to: usize, scratch: &mut Scratch) -> Result<()> {
        let mut reader = Reader::new(job.table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        each_raw(job.table, from, to, |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            let w = job.weights.map_or(1.0, |weights| weights[row]);
            let target = job.targets.at(row).map_err(|fault| fault.by(&self.title));
            let accumulated = target.and_then(|target| self.accumulate(&mut source, target, w, scratch));
            accumulated.map_err(|fault| fault.at_row(row))
        })?;
        let applied = for_task!(self.part,
            T => T::learner_mut(&mut self.part)?.mini_batch().map_or(Ok(()), |learner| learner.apply()),
            transformer => Ok(()));
        applied.map_err(|fault| fault.at_row(from))
    }

    fn accumulate<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for_task!(self.part,
            T => self.admit::<T, S>(source, target, w, |root, x, y| match T::learner_mut(root)?.mini_batch() {
                Some(learner) => learner.accumulate(x, y, w, scratch),
                None => Ok(()),
            }),
            transformer => Ok(()))
    }

    /// The loss at an example; none if the learner minimises no loss, or does not know the class.
    fn loss<T: RootTask>(&self, x: Row<'_>, target: Target<'_>, scratch: &mut Scratch) -> Result<Option<f64>> {
        let learner = T::learner(&self.part)?;
        Ok(T::known(target, &self.labels).and_then(|y| learner.loss(x, y, scratch)))
    }

    /// The loss over the rows of a table; None if the learner minimises no loss.
    pub fn risk(
        &self,
        table: &dyn Table,
        targets: Targets<'_>,
        weights: Option<&[f64]>,
        scratch: &mut Scratch,
    ) -> Result<Option<Risk>> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut risk = Some(Risk::default());
        each_raw(table, 0, table.height(), |row, raw| {
            let Some(sums) = &mut risk else { return Ok(()) };
            let mut source = TableRow { reader: &mut reader, raw };
            let target = targets.at(row).map_err(|fault| fault.by(&self.title).at_row(row))?;
            let w = weights.map_or(1.0, |weights| weights[row]);
            let checked = for_task!(self.part, T => self.check_target::<T>(target), transformer => Ok(()));
            checked.and_then(|()| self.check_weight(w)).map_err(|fault| fault.at_row(row))?;
            let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title).at_row(row))?;
            let loss = for_task!(self.part, T => self.loss::<T>(x, target, scratch)?, transformer => None);
            match loss {
                Some(loss) => {
                    sums.sum += w * loss;
                    sums.weight += w;
                }
                None => risk = None,
            }
            Ok(())
        })?;
        Ok(risk)
    }
}
