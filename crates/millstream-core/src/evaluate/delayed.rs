//! Labels that arrive late: rows wait in `Pending`, and are scored and learned when their labels are due.

use std::sync::Arc;

use super::pending::{DueLabel, Layout, PendingTarget};
use super::{Arrival, Clock, Evaluation, LabelledChunk, ModelProbe, NO_TIME};
use crate::fault::{Fault, Result};
use crate::held::{Model, TableRow};
use crate::row::Scratch;
use crate::table::{each_raw, Reader};
use crate::task::{Answer, Target};

impl Evaluation {
    pub(super) fn feed_late(
        &mut self,
        model: &mut Model,
        chunk: &LabelledChunk<'_>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        Reader::new(chunk.table, model.schema()).map_err(|fault| fault.by(model.title()))?;
        let layout = self.pending.layout(chunk.table);
        let layouts = self.pending.layouts();
        let mut readers: Vec<Option<Reader<'_>>> = layouts.iter().map(|_| None).collect();
        let mut answer = Answer::default();
        let want = self.want();
        each_raw(chunk.table, chunk.from, chunk.to, |row, raw| {
            let number = self.rows;
            let (now, due) = match (self.arrival, chunk.times) {
                (Arrival::AfterRows(delay), _) => (number as i64, number.saturating_add(delay) as i64),
                (_, Some((now, due))) => (now[row], due[row]),
                (_, None) => (NO_TIME, NO_TIME),
            };
            self.rows += 1;
            if now == NO_TIME || due == NO_TIME {
                return self.refuse(number, Fault::value("the time of the row or of its label is missing"));
            }
            self.learn_due(model, &layouts, &mut readers, Some(now), scratch, clock)?;
            let reader = reader_of(&layouts, &mut readers, layout, model)?;
            let mut source = TableRow { reader, raw };
            if let Err(fault) = model.predict(&mut source, want, &mut answer, scratch) {
                return self.refuse(number, fault);
            }
            if let Some(log) = &mut self.log {
                log.put(number, &answer);
            }
            let target = match chunk.targets.at(row) {
                Ok(Target::Class(label)) => PendingTarget::Class(label.clone()),
                Ok(Target::Number(y)) => PendingTarget::Number(y),
                _ => PendingTarget::None,
            };
            let w = chunk.weights.map_or(1.0, |weights| weights[row]);
            self.pending.push(due, number, layout, raw, target, w, &answer);
            Ok(())
        })?;
        self.pending.tidy();
        Ok(())
    }

    /// Score and learn the rows whose labels have arrived by `now`; all remaining rows if it is `None`.
    pub(super) fn learn_due<'l>(
        &mut self,
        model: &mut Model,
        layouts: &'l [Option<Arc<Layout>>],
        readers: &mut [Option<Reader<'l>>],
        now: Option<i64>,
        scratch: &mut Scratch,
        clock: Clock<'_>,
    ) -> Result<()> {
        while let Some(waiting) = self.pending.pop(now) {
            let held = self.pending.held(waiting);
            let reader = reader_of(layouts, readers, held.layout, model)?;
            let mut source = TableRow { reader, raw: held.raw() };
            let target = match &held.target {
                PendingTarget::None => Target::None,
                PendingTarget::Class(label) => Target::Class(label),
                PendingTarget::Number(y) => Target::Number(*y),
            };
            let done =
                model.learn(&mut source, target, held.w, scratch).and_then(|()| self.score(model, waiting, clock));
            self.pending.release(waiting);
            if let Err(fault) = done {
                self.refuse(waiting.row, fault)?;
            }
        }
        Ok(())
    }

    fn score(&mut self, model: &Model, waiting: DueLabel, clock: Clock<'_>) -> Result<()> {
        let probe = ModelProbe { model, clock, pending: Some(&self.pending) };
        let held = self.pending.held(waiting);
        match &held.target {
            PendingTarget::Class(label) => {
                let labels = model.labels();
                match labels.code(label) {
                    Some(truth) => {
                        self.scores.class(waiting.row, labels, truth, &held.answer.class, held.w, &probe)
                    }
                    None => self.scores.weightless(waiting.row, &held.answer.class, &probe),
                }
            }
            PendingTarget::Number(y) => self.scores.number(waiting.row, *y, held.answer.number, held.w, &probe),
            PendingTarget::None => Ok(()),
        }
    }
}

fn reader_of<'r, 'l>(
    layouts: &'l [Option<Arc<Layout>>],
    readers: &'r mut [Option<Reader<'l>>],
    place: usize,
    model: &Model,
) -> Result<&'r mut Reader<'l>> {
    let gone = || Fault::state("the columns of a waiting row are gone");
    let reader = readers.get_mut(place).ok_or_else(gone)?;
    if reader.is_none() {
        let layout = layouts.get(place).and_then(Option::as_ref).ok_or_else(gone)?;
        *reader = Some(Reader::new(&**layout, model.schema()).map_err(|fault| fault.by(model.title()))?);
    }
    reader.as_mut().ok_or_else(gone)
}
