//! Labels that arrive at once: the model runs over the rows, and a sink scores each prediction.

use super::prediction_log::PredictionLog;
use super::scores::Scores;
use super::{stopped, Clock, Evaluation, LabelledChunk, ModelProbe};
use crate::fault::{Fault, Result};
use crate::held::{Job, Model, Sink};
use crate::labels::{Label, Labels};
use crate::row::Scratch;
use crate::task::{Answer, Outcomes, Targets};

impl Evaluation {
    pub(super) fn feed_at_once(
        &mut self,
        model: &mut Model,
        chunk: &LabelledChunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        let offset = self.rows;
        let global = |row: usize| offset + (row - chunk.from) as u64;
        let job = Job {
            table: chunk.table,
            from: chunk.from,
            to: chunk.to,
            targets: chunk.targets,
            weights: chunk.weights,
            predicting: Some(self.want()),
            learning: true,
            skip: self.skip,
        };
        let mut sink = ScoringSink {
            scores: &mut self.scores,
            log: self.log.as_mut(),
            chunk,
            offset,
            truths: Vec::new(),
            clock,
            refused: Vec::new(),
        };
        let done = model.run(&job, scratch, &mut sink);
        let refused = std::mem::take(&mut sink.refused);
        self.rows += (chunk.to - chunk.from) as u64;
        for (row, fault) in refused {
            self.refuse(row, fault)?;
        }
        let tally = done.map_err(|fault| stopped(global(fault.row().unwrap_or(chunk.from)), &fault))?;
        for (row, fault) in tally.skipped {
            self.scores.skip_row(global(row), fault);
        }
        Ok(())
    }
}

/// Scores each prediction as the model makes it.
struct ScoringSink<'a> {
    scores: &'a mut Scores,
    log: Option<&'a mut PredictionLog>,
    chunk: &'a LabelledChunk<'a>,
    offset: u64,
    /// The model's class code of each distinct label of the chunk.
    truths: Vec<Option<u32>>,
    clock: Clock<'a>,
    refused: Vec<(u64, Fault)>,
}

impl ScoringSink<'_> {
    #[inline]
    fn truth(&mut self, labels: &Labels, distinct: &[Label], place: usize) -> Option<u32> {
        if let Some(Some(code)) = self.truths.get(place) {
            return Some(*code);
        }
        self.truths.resize(distinct.len(), None);
        self.truths[place] = labels.code(distinct.get(place)?);
        self.truths[place]
    }
}

impl Sink for ScoringSink<'_> {
    fn answers(&mut self, model: &Model, row: usize, outcomes: &Outcomes<'_>) -> bool {
        if self.log.is_some() || self.chunk.weights.is_some() {
            return false;
        }
        let number = self.offset + (row - self.chunk.from) as u64;
        let probe = ModelProbe { model, clock: self.clock, pending: None };
        let taken = match outcomes {
            Outcomes::Classes { truths, predictions } => {
                self.scores.classes(number, model.labels(), truths, predictions, &probe)
            }
            Outcomes::Numbers { truths, predictions } => self.scores.numbers(number, truths, predictions, &probe),
            // Compared with labels in Python.
            Outcomes::Scores { .. } | Outcomes::Clusters { .. } => return false,
        };
        taken.unwrap_or_else(|fault| {
            self.refused.push((number, fault));
            true
        })
    }

    #[inline]
    fn answer(&mut self, model: &Model, row: usize, answer: &Answer) {
        let number = self.offset + (row - self.chunk.from) as u64;
        if let Some(log) = &mut self.log {
            log.put(number, answer);
        }
        let w = self.chunk.weights.map_or(1.0, |weights| weights[row]);
        let probe = ModelProbe { model, clock: self.clock, pending: None };
        let done = match self.chunk.targets {
            Targets::Classes { distinct, indices } => {
                match self.truth(model.labels(), distinct, indices[row] as usize) {
                    Some(truth) => self.scores.class(number, model.labels(), truth, &answer.class, w, &probe),
                    None => self.scores.weightless(number, &answer.class, &probe),
                }
            }
            Targets::Numbers(numbers) => self.scores.number(number, numbers[row], answer.number, w, &probe),
            Targets::None => Ok(()),
        };
        if let Err(fault) = done {
            self.refused.push((number, fault));
        }
    }
}
