//! Learning the rows of a table with a transformer at the root of a model.
//!
//! Rows without new names and with known targets go to the transformer in batches, other rows one at a time. The results
//! are the same.

use crate::fault::Result;
use crate::labels::Labels;
use crate::row::Scratch;
use crate::table::{each_run, RawBlock, Reader};
use crate::task::{Classes, Numbers, Target, Targets, Task, Truths};
use crate::transformer::{Examples, KnownTruths};

use super::run::is_positive;
use super::{Job, Model, TableRow, Tally};

/// Buffers of a running job.
#[derive(Default)]
struct Buffers {
    rows: Vec<f64>,
    truths: Truths,
}

impl Model {
    pub(super) fn run_transformer(
        &mut self,
        job: &Job<'_>,
        mut reader: Reader<'_>,
        scratch: &mut Scratch,
    ) -> Result<Tally> {
        if job.predicting.is_some() {
            return Err(self.cannot("predict"));
        }
        let (mut tally, mut buffers) = (Tally::default(), Buffers::default());
        each_run(job.table, job.from, job.to, |row, count, block| {
            let done = match block {
                RawBlock::Dense { values, .. } => {
                    self.learn_known(job, row, values, &mut reader, &mut buffers, scratch)
                }
                RawBlock::Sparse { .. } => 0,
            };
            tally.done += done;
            if done == count {
                return Ok(done);
            }
            let row = row + done;
            let mut source = TableRow { reader: &mut reader, raw: block.row(done) };
            let target = match self.part.abilities.uses_target {
                true => job.targets.at(row).map_err(|fault| fault.by(&self.title)),
                false => Ok(Target::None),
            };
            let learned =
                target.and_then(|target| self.learn_transformer(&mut source, target, job.weight(row), scratch));
            match learned {
                Ok(()) => tally.done += 1,
                Err(fault) if job.skip => tally.skipped.push((row, fault)),
                Err(fault) => return Err(fault.at_row(row)),
            }
            Ok(done + 1)
        })?;
        Ok(tally)
    }

    /// Learn rows from `first` on up to the first that must be learned alone; returns their number.
    fn learn_known(
        &mut self,
        job: &Job<'_>,
        first: usize,
        raw: &[f64],
        reader: &mut Reader<'_>,
        buffers: &mut Buffers,
        scratch: &mut Scratch,
    ) -> usize {
        // A row that brings nothing new leaves nothing to roll back.
        self.schema.mark();
        let rows = reader.known_rows(&self.schema, raw, &mut buffers.rows);
        let known = match job.weights {
            Some(weights) => weights[first..first + rows.len()].iter().take_while(|&&w| is_positive(w)).count(),
            None => rows.len(),
        };
        let truths = match self.part.abilities.uses_target {
            true => known_truths(job.targets, first, first + known, &self.labels, &mut buffers.truths),
            false => KnownTruths::None,
        };
        let known = match truths {
            KnownTruths::None => known,
            KnownTruths::Classes(codes) => codes.len(),
            KnownTruths::Numbers(numbers) => numbers.len(),
        };
        let Some(transformer) = self.part.estimator.transformer_mut().filter(|_| known > 0) else { return 0 };
        let weights = job.weights.map(|weights| &weights[first..first + known]);
        let examples = Examples { rows: rows.slice(0, known), truths, weights };
        self.part.infallible = self.part.infallible && examples.are_moderate();
        let done = transformer.learn_batch(&examples, scratch);
        self.count += done as u64;
        done
    }
}

/// The truths of the rows `from` to `to`, up to the first with a new label or an invalid target.
fn known_truths<'a>(
    targets: Targets<'a>,
    from: usize,
    to: usize,
    labels: &Labels,
    truths: &'a mut Truths,
) -> KnownTruths<'a> {
    match targets {
        Targets::None => KnownTruths::None,
        Targets::Numbers(_) => KnownTruths::Numbers(Numbers::known_truths(targets, from, to, labels, truths)),
        Targets::Classes { .. } => KnownTruths::Classes(Classes::known_truths(targets, from, to, labels, truths)),
    }
}
