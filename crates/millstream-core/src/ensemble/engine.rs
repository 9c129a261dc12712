//! Takes members through rows: each by itself through a whole batch, on as many threads as are asked for.
//!
//! A member depends on the rows, on its own random generator and on its own detectors, and on no other member. So a
//! batch is processed member by member and not row by row, which keeps a member in the caches, and threads take the
//! next member when they are free. The votes of each member at each row are kept in its `MemberOutput` and combined
//! afterwards, row by row, in the order of members: bit for bit what the loop over rows gives, for any number of threads
//! and any batches.
//!
//! An algorithm that couples its members does so in a `Coupling`, which sees all outputs after the batch and sends
//! single members through some of its rows again.
//!
//! A row that one member refuses must leave none of them changed, and members cannot undo. Infallible members
//! (`Part::infallible`) need no care. Of others copies are kept, with the rows since: see `journal`.

use crate::batch::Batch;
use crate::fault::Fault;
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::journal::Journal;
use super::threads;

/// From so many rows on it pays to wake threads.
const FEWEST_ROWS: usize = 16;
/// Rows of an output that is kept from one call to the next.
const KEPT_ROWS: usize = 64;
/// Parts of a chunk that members of a chain work on at the same time.
const STAGES: usize = 8;

/// One of the learners of an ensemble, with all that is its own: generator, detectors, a background learner.
pub trait Member: Part + Clone + 'static {
    type Task: Task;
    /// Draw the random numbers for the rows of a batch and keep them, so that rows can be processed again.
    fn draw(&mut self, _batch: &Batch<'_, Self::Task>, _output: &mut MemberOutput) {}
    /// Process the rows from `from` on: write the votes for each to the output, and learn it. Stops at a row that is
    /// refused, and returns which and why.
    fn process(
        &mut self,
        batch: &Batch<'_, Self::Task>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)>;
    /// `process` up to row `to`, for members of a chain (`Coupling::is_chain`).
    fn process_to(
        &mut self,
        batch: &Batch<'_, Self::Task>,
        from: usize,
        _to: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        self.process(batch, from, output, scratch)
    }
    /// The votes for a row, by class code, or the number; returns their weight.
    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64;
    /// Names and kinds of its learner's input.
    fn input(&self, schema: &Schema) -> Schema {
        schema.clone()
    }
    /// A copy of the learner alone.
    fn learner(&self) -> Box<dyn Learner<Self::Task>>;
}

/// What a member voted at each row of a batch.
#[derive(Clone, Debug, Default)]
pub struct MemberOutput {
    /// How many votes a row has.
    pub stride: usize,
    /// Random numbers in [0, 1), one for each row, for members that use them.
    pub draws: Vec<f64>,
    /// How much the member learns of each row, for members that choose.
    pub weights: Vec<f64>,
    /// By row and class, or one number for each row, as they were when the row was learned.
    pub votes: Vec<f64>,
    /// Votes on the rows as they were asked for, where these differ from what is learned (`Batch::asked`).
    pub asked: Vec<f64>,
    /// The weight of the votes at each row.
    pub trust: Vec<f64>,
    /// The member's estimate of its error after each row, for couplings.
    pub errors: Vec<f64>,
    /// Rows after which the member wants someone replaced, ascending.
    pub calls: Vec<usize>,
    /// What the member before has left at each row, and then what this one leaves, for members of a chain.
    pub passed: Vec<f64>,
    /// Votes of a learner in the background, which nobody counts.
    pub others: Vec<f64>,
    /// Buffers for rows of which a member sees some features.
    pub room: (Vec<f64>, Vec<RowBuffer>),
    pub asked_room: (Vec<f64>, Vec<RowBuffer>),
    refused: Option<(usize, Fault)>,
}

impl MemberOutput {
    fn begin(&mut self, rows: usize, stride: usize, asked: bool) {
        // Everything is overwritten but for rows behind one that is refused.
        self.stride = stride;
        self.votes.resize(rows * stride, 0.0);
        self.asked.resize(if asked { rows * stride } else { 0 }, 0.0);
        self.trust.resize(rows, 1.0);
        self.calls.clear();
        self.refused = None;
    }

    /// An output for so many rows, for members that are processed by themselves.
    pub fn for_rows(rows: usize, stride: usize) -> Self {
        let mut output = MemberOutput::default();
        output.begin(rows, stride, false);
        output
    }

    /// The votes for a row when it was learned.
    #[inline]
    pub fn votes(&self, row: usize) -> &[f64] {
        &self.votes[row * self.stride..(row + 1) * self.stride]
    }

    /// The votes that count in the prediction of a row.
    #[inline]
    pub fn prediction(&self, row: usize) -> &[f64] {
        let votes = if self.asked.is_empty() { &self.votes } else { &self.asked };
        &votes[row * self.stride..(row + 1) * self.stride]
    }

    /// Where the votes on an asked row go; none if it is asked as it is learned.
    #[inline]
    pub fn asked(&mut self, row: usize) -> Option<&mut [f64]> {
        self.asked.get_mut(row * self.stride..(row + 1) * self.stride)
    }

    pub fn memory(&self) -> usize {
        let numbers = [
            &self.draws,
            &self.weights,
            &self.votes,
            &self.asked,
            &self.trust,
            &self.errors,
            &self.passed,
            &self.others,
            &self.room.0,
            &self.asked_room.0,
        ];
        let rows = self.room.1.iter().chain(&self.asked_room.1);
        let rows = rows.map(|row| std::mem::size_of::<RowBuffer>() + row.memory());
        8 * (numbers.iter().map(|numbers| numbers.capacity()).sum::<usize>() + self.calls.capacity())
            + rows.sum::<usize>()
    }
}

#[derive(Clone)]
pub struct Slot<M> {
    pub member: M,
    pub output: MemberOutput,
}

impl<M: Member> Slot<M> {
    pub fn process(&mut self, batch: &Batch<'_, M::Task>, from: usize, scratch: &mut Scratch) {
        self.output.refused = self.member.process(batch, from, &mut self.output, scratch);
    }

    /// How many rows were gone through.
    pub fn reached(&self, batch: &Batch<'_, M::Task>) -> usize {
        self.output.refused.as_ref().map_or(batch.len(), |(row, _)| *row)
    }
}

/// How members of an ensemble act on each other, if they do.
pub trait Coupling<M: Member> {
    /// Whether a member needs what the one before it has left at the same row (`MemberOutput::passed`).
    fn is_chain(&self) -> bool {
        false
    }
    /// Called when each member has gone through the batch: let some of them go through some rows again.
    fn couple(&self, _slots: &mut [Slot<M>], _batch: &Batch<'_, M::Task>, _scratch: &mut Scratch) {}
}

/// The members, and the way back for those that may refuse a row.
pub struct Members<M: Member> {
    slots: Vec<Slot<M>>,
    threads: usize,
    journal: Journal<M>,
    /// Whether nobody could refuse a row of the last attempt.
    sure: bool,
    /// Whether all members were found infallible, with only moderate rows since.
    steady: bool,
    savepoint: Savepoint<M>,
}

/// How to return to the members at the last savepoint.
#[derive(Default)]
enum Savepoint<M> {
    #[default]
    None,
    /// The members themselves record what they overwrite.
    Recorded,
    /// The members were replaced by copies since; these are the ones at the savepoint.
    Kept(Vec<M>),
}

impl<M: Member> Clone for Members<M> {
    fn clone(&self) -> Self {
        // A copy has no savepoint of its own.
        let mut members: Vec<M> = self.iter().cloned().collect();
        members.iter_mut().for_each(|member| member.commit());
        Members::new(members, self.threads)
    }
}

impl<M: Member> Members<M> {
    pub fn new(members: Vec<M>, threads: usize) -> Self {
        let slots = members.into_iter().map(|member| Slot { member, output: MemberOutput::default() }).collect();
        Members {
            slots,
            threads,
            journal: Journal::default(),
            sure: false,
            steady: false,
            savepoint: Savepoint::None,
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.slots.iter().map(|slot| &slot.member)
    }

    /// For changes other than learning: the copies are made anew before the next rows.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.journal = Journal::default();
        self.steady = false;
        self.slots.iter_mut().map(|slot| &mut slot.member)
    }

    /// Add a member at an index; the copies are made anew before the next rows.
    pub fn insert(&mut self, index: usize, member: M) {
        self.journal = Journal::default();
        self.steady = false;
        self.slots.insert(index, Slot { member, output: MemberOutput::default() });
    }

    pub fn remove(&mut self, index: usize) {
        self.journal = Journal::default();
        self.slots.remove(index);
    }

    /// See `Part::savepoint`; false if a member cannot.
    pub fn savepoint(&mut self) -> bool {
        let records = self.slots.iter_mut().all(|slot| slot.member.savepoint());
        match records {
            true => self.savepoint = Savepoint::Recorded,
            false => self.commit(),
        }
        records
    }

    /// Members that were added since stay: the caller removes them.
    pub fn rollback(&mut self) {
        self.journal = Journal::default();
        self.steady = false;
        match std::mem::take(&mut self.savepoint) {
            Savepoint::None => {}
            Savepoint::Recorded => self.slots.iter_mut().for_each(|slot| slot.member.rollback()),
            Savepoint::Kept(members) => {
                for (slot, member) in self.slots.iter_mut().zip(members) {
                    slot.member = member;
                }
            }
        }
    }

    pub fn commit(&mut self) {
        self.savepoint = Savepoint::None;
        self.slots.iter_mut().for_each(|slot| slot.member.commit());
    }

    /// The outputs for the last batch, in the order of members.
    pub fn outputs(&self) -> impl Iterator<Item = &MemberOutput> {
        self.slots.iter().map(|slot| &slot.output)
    }

    pub fn output(&self, place: usize) -> &MemberOutput {
        &self.slots[place].output
    }

    /// Let all members go through some rows; gives how many were done before one of them refused one, and why. Then
    /// all are as after the rows before it.
    pub fn process(
        &mut self,
        batch: &Batch<'_, M::Task>,
        stride: usize,
        coupling: &impl Coupling<M>,
        scratch: &mut Scratch,
    ) -> (usize, Option<Fault>) {
        match self.attempt(batch, stride, coupling, true, scratch) {
            None => {
                self.accept(batch);
                (batch.len(), None)
            }
            Some((row, fault)) => {
                self.retreat(batch, row, stride, coupling, scratch);
                (row, Some(fault))
            }
        }
    }

    /// Let all members go through some rows, to be followed by `accept` or `retreat`; gives the first row that one of
    /// them refused, and why. `sure` if nobody else can refuse a row of numbers that are not extreme.
    pub fn attempt(
        &mut self,
        batch: &Batch<'_, M::Task>,
        stride: usize,
        coupling: &impl Coupling<M>,
        sure: bool,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if batch.is_empty() {
            return None;
        }
        let moderate = batch.is_moderate();
        self.steady = moderate && (self.steady || self.slots.iter().all(|slot| slot.member.infallible()));
        self.sure = sure && self.steady;
        if self.sure {
            self.journal = Journal::default();
        } else if self.journal.is_full(batch.len()) {
            let mut members: Vec<M> = self.slots.iter().map(|slot| slot.member.clone()).collect();
            members.iter_mut().for_each(|member| member.commit());
            self.journal.renew(members, batch);
        }
        self.pass(batch, stride, coupling, scratch);
        self.refused()
    }

    /// Free the outputs of a long batch, which may take more memory than the members. Short ones stay, so that rows
    /// that come a few at a time allocate nothing.
    pub fn release_buffers(&mut self) {
        for slot in &mut self.slots {
            if slot.output.trust.capacity() > KEPT_ROWS {
                let MemberOutput { room, asked_room, .. } = std::mem::take(&mut slot.output);
                let taken = [&room, &asked_room].map(|(matrix, rows)| {
                    rows.iter().map(RowBuffer::memory).sum::<usize>() + 8 * matrix.capacity()
                });
                if taken[0] > 0 && taken[0] + taken[1] <= slot.member.memory() {
                    (slot.output.room, slot.output.asked_room) = (room, asked_room);
                }
            }
        }
    }

    /// Stay after the rows of the last attempt.
    pub fn accept(&mut self, batch: &Batch<'_, M::Task>) {
        if !self.sure && !batch.is_empty() {
            self.journal.add(batch);
        }
    }

    /// Be as after the first `rows` rows of the last attempt: from the copies, through the rows since and those.
    pub fn retreat(
        &mut self,
        batch: &Batch<'_, M::Task>,
        rows: usize,
        stride: usize,
        coupling: &impl Coupling<M>,
        scratch: &mut Scratch,
    ) {
        let journal = std::mem::take(&mut self.journal);
        let mut replaced = Vec::new();
        for (slot, member) in self.slots.iter_mut().zip(journal.members()) {
            replaced.push(std::mem::replace(&mut slot.member, member.clone()));
        }
        if let Savepoint::Recorded = self.savepoint {
            replaced.iter_mut().for_each(|member| member.rollback());
            self.savepoint = Savepoint::Kept(replaced);
        }
        if let Some(since) = journal.since() {
            self.pass(&since, stride, coupling, scratch);
        }
        if rows > 0 {
            self.pass(&batch.slice(0, rows), stride, coupling, scratch);
        }
    }

    fn pass(
        &mut self,
        batch: &Batch<'_, M::Task>,
        stride: usize,
        coupling: &impl Coupling<M>,
        scratch: &mut Scratch,
    ) {
        let threads = if batch.len() < FEWEST_ROWS { 1 } else { self.threads };
        let chain = coupling.is_chain();
        threads::each(threads, &mut self.slots, scratch, |slot, scratch| {
            slot.output.begin(batch.len(), stride, batch.asked.is_some());
            slot.member.draw(batch, &mut slot.output);
            if !chain {
                slot.process(batch, 0, scratch);
            }
        });
        if chain {
            self.pass_chain(batch, threads, scratch);
        }
        coupling.couple(&mut self.slots, batch, scratch);
    }

    /// One thread takes the members one after the other through all rows. Several work in stages: in each, a member goes
    /// through the part of the rows that the one before has left.
    fn pass_chain(&mut self, batch: &Batch<'_, M::Task>, threads: usize, scratch: &mut Scratch) {
        if threads == 1 {
            for place in 0..self.slots.len() {
                self.hand_over(place, 0, batch.len());
                self.slots[place].process(batch, 0, scratch);
            }
            return;
        }
        let ends: Vec<usize> = (0..=STAGES).map(|part| batch.len() * part / STAGES).collect();
        for stage in 0..STAGES + self.slots.len() - 1 {
            let first = (stage + 1).saturating_sub(STAGES);
            let last = stage.min(self.slots.len() - 1);
            (first..=last).for_each(|place| self.hand_over(place, ends[stage - place], ends[stage - place + 1]));
            let working = self.slots[first..=last].iter_mut().enumerate();
            let mut working: Vec<(usize, &mut Slot<M>)> = working.map(|(at, slot)| (first + at, slot)).collect();
            threads::each(threads, &mut working, scratch, |(place, slot), scratch| {
                let (from, to) = (ends[stage - *place], ends[stage - *place + 1]);
                if slot.output.refused.is_none() {
                    slot.output.refused = slot.member.process_to(batch, from, to, &mut slot.output, scratch);
                }
            });
        }
    }

    /// Give a member of a chain what the one before it has left at some rows.
    fn hand_over(&mut self, place: usize, from: usize, to: usize) {
        let (before, rest) = self.slots.split_at_mut(place);
        if let (Some(before), Some(slot)) = (before.last(), rest.first_mut()) {
            slot.output.passed[from..to].copy_from_slice(&before.output.passed[from..to]);
        }
    }

    /// The first row that was refused, by the first member that refused it.
    fn refused(&mut self) -> Option<(usize, Fault)> {
        let rows = self.slots.iter().enumerate();
        let refused = rows.filter_map(|(place, slot)| Some((slot.output.refused.as_ref()?.0, place))).min();
        let (row, place) = refused?;
        let (_, fault) = self.slots[place].output.refused.take()?;
        Some((row, fault.by(&format!("member {place}"))))
    }

    pub fn memory(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.member.memory() + slot.output.memory()).sum::<usize>();
        std::mem::size_of::<Self>() + slots + self.journal.memory()
    }
}
