//! Mini-batches, and the loss over a table: what training by passes over finite data needs beside `learn`.

use crate::fault::{Fault, Result};
use crate::row::Scratch;
use crate::table::{each_raw, Reader, Table};

use super::{Job, Model, Root, Source, TableRow, Target, Targets};

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
    /// of their gradients, all at the weights before the step. Returns how many rows were learned and what stopped it,
    /// if something did: then the batches before are learned, and of that one nothing.
    pub fn learn_batches(&mut self, job: &Job<'_>, size: usize, scratch: &mut Scratch) -> (usize, Option<Fault>) {
        let takes = match &self.root {
            Root::Classifier(part) => part.takes_batches(),
            Root::Regressor(part) => part.takes_batches(),
            Root::Transformer(_) => false,
        };
        if !takes {
            let words =
                "learns from one example at a time; mini-batches are for linear_model.LinearRegression and \
                         linear_model.LogisticRegression, also at the end of a pipeline";
            return (0, Some(Fault::wrong_type(format!("{}: {words}", self.title))));
        }
        let mut done = job.from;
        while done < job.to {
            let end = (done + size.max(1)).min(job.to);
            let before = self.hold();
            if let Err(fault) = self.learn_batch(job, done, end, scratch) {
                self.restore(before);
                return (done - job.from, Some(fault));
            }
            self.release(before);
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
            let gathered = target.and_then(|target| self.gather(&mut source, target, w, scratch));
            gathered.map_err(|fault| fault.at_row(row))
        })?;
        match &mut self.root {
            Root::Classifier(part) => part.descend(),
            Root::Regressor(part) => part.descend(),
            Root::Transformer(_) => Ok(()),
        }
        .map_err(|fault| fault.at_row(from))
    }

    fn gather<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.take_in(source, target, w, |root, x, code| match (root, target) {
            (Root::Classifier(part), _) => part.gather(x, code, w, scratch),
            (Root::Regressor(part), Target::Number(y)) => part.gather(x, y, w, scratch),
            _ => Ok(()),
        })
    }

    /// The loss over the rows of a table; None if the learner goes down no loss.
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
            self.check(target, w).map_err(|fault| fault.at_row(row))?;
            let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title).at_row(row))?;
            let loss = match (&self.root, target) {
                (Root::Classifier(part), Target::Class(label)) => {
                    self.labels.code(label).and_then(|code| part.loss(x, code, scratch))
                }
                (Root::Regressor(part), Target::Number(y)) => part.loss(x, y, scratch),
                _ => None,
            };
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
