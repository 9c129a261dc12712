//! Passes rows to members: each member processes a whole batch, on the requested number of threads.
//!
//! A member depends on the rows, its own random generator and its own detectors, and on no other member. So a batch is
//! processed member by member and not row by row, which keeps a member in the caches, and a free thread takes the next
//! member. The votes of each member at each row are kept in its `MemberOutput` and combined afterwards, row by row, in
//! the order of members. The result is bit-identical to a loop over rows, for any number of threads and any batches.
//!
//! An algorithm that couples its members does so in a `Coupling`, which sees all outputs after the batch and sends
//! single members through some of its rows again.
//!
//! A row that one member refuses must leave all of them unchanged, and members cannot undo. Infallible members
//! (`Part::infallible`) need nothing. Others are copied, and the rows since are kept: see `journal`.

use crate::batch::{Batch, Rows};
use crate::fault::Fault;
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::journal::Journal;
use super::threads;

/// The number of rows from which threads pay off.
const FEWEST_ROWS: usize = 16;
/// Rows of an output that is kept between calls.
const KEPT_ROWS: usize = 64;
/// Rows that a thread predicts at a time.
const PIECE: usize = 64;
/// Sections of a batch that members of a chain process at the same time.
const STAGES: usize = 8;

/// One of the learners of an ensemble, with its own generator, detectors and background learner.
pub trait Member: Part + Clone + 'static {
    type Task: Task;
    /// Draw the random numbers for the rows of a batch and keep them, so that rows can be processed again.
    fn draw(&mut self, _batch: &Batch<'_, Self::Task>, _output: &mut MemberOutput) {}
    /// Process the rows from `from` on: write the votes for each row to the output, and learn it. Stops at a refused
    /// row, and returns its index and the fault.
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
    /// `vote` for each of some rows: `stride` votes per row, and their weights.
    fn vote_rows(
        &self,
        rows: &Rows<'_>,
        stride: usize,
        votes: &mut [f64],
        trust: &mut [f64],
        scratch: &mut Scratch,
    ) {
        for (row, (votes, trust)) in votes.chunks_exact_mut(stride).zip(trust).enumerate() {
            *trust = self.vote(rows.at(row), votes, scratch);
        }
    }
    /// Names and kinds of its learner's input.
    fn input(&self, schema: &Schema) -> Schema {
        schema.clone()
    }
    /// A copy of the learner alone.
    fn learner(&self) -> Box<dyn Learner<Self::Task>>;
}

/// The votes of a member at each row of a batch.
#[derive(Clone, Debug, Default)]
pub struct MemberOutput {
    /// Number of votes per row.
    pub stride: usize,
    /// Random numbers in [0, 1), one for each row, for members that use them.
    pub draws: Vec<f64>,
    /// The weight with which the member learns each row, for members that draw it.
    pub weights: Vec<f64>,
    /// By row and class, or one number per row, as they were when the row was learned.
    pub votes: Vec<f64>,
    /// Votes on the asked rows, where these differ from the learned ones (`Batch::asked`).
    pub asked: Vec<f64>,
    /// The weight of the votes at each row.
    pub trust: Vec<f64>,
    /// The member's estimate of its error after each row, for couplings.
    pub errors: Vec<f64>,
    /// Rows after which the member requests a replacement, ascending.
    pub calls: Vec<usize>,
    /// The output of the previous member of a chain at each row, then that of this one.
    pub passed: Vec<f64>,
    /// Votes of a background learner, which do not count.
    pub others: Vec<f64>,
    /// Buffers for rows of which a member receives some features.
    pub buffers: (Vec<f64>, Vec<RowBuffer>),
    pub asked_buffers: (Vec<f64>, Vec<RowBuffer>),
    refused: Option<(usize, Fault)>,
}

impl MemberOutput {
    fn begin(&mut self, rows: usize, stride: usize, asked: bool) {
        // Everything is overwritten, except rows after a refused one.
        self.stride = stride;
        self.votes.resize(rows * stride, 0.0);
        self.asked.resize(if asked { rows * stride } else { 0 }, 0.0);
        self.trust.resize(rows, 1.0);
        self.calls.clear();
        self.refused = None;
    }

    /// An output for members that are processed on their own.
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

    /// The votes on an asked row; none if it is the learned row.
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
            &self.buffers.0,
            &self.asked_buffers.0,
        ];
        let rows = self.buffers.1.iter().chain(&self.asked_buffers.1);
        let rows = rows.map(|row| std::mem::size_of::<RowBuffer>() + row.memory());
        8 * (numbers.iter().map(|numbers| numbers.capacity()).sum::<usize>() + self.calls.capacity())
            + rows.sum::<usize>()
    }
}

/// The votes of all members for some rows, without learning.
#[derive(Debug, Default)]
pub struct Poll {
    /// By row, member and class.
    pub votes: Vec<f64>,
    /// The weights of the votes, by row and member.
    pub trust: Vec<f64>,
}

#[derive(Clone)]
pub struct MemberSlot<M> {
    pub member: M,
    pub output: MemberOutput,
}

impl<M: Member> MemberSlot<M> {
    pub fn process(&mut self, batch: &Batch<'_, M::Task>, from: usize, scratch: &mut Scratch) {
        self.output.refused = self.member.process(batch, from, &mut self.output, scratch);
    }

    /// The number of processed rows.
    pub fn reached(&self, batch: &Batch<'_, M::Task>) -> usize {
        self.output.refused.as_ref().map_or(batch.len(), |(row, _)| *row)
    }
}

/// How members of an ensemble affect each other.
pub trait Coupling<M: Member> {
    /// Whether a member needs the output of the previous one at the same row (`MemberOutput::passed`).
    fn is_chain(&self) -> bool {
        false
    }
    /// Called when each member has processed the batch: let some of them process some rows again.
    fn couple(&self, _slots: &mut [MemberSlot<M>], _batch: &Batch<'_, M::Task>, _scratch: &mut Scratch) {}
}

/// The members, and the means to revert them if one refuses a row.
pub struct Members<M: Member> {
    slots: Vec<MemberSlot<M>>,
    threads: usize,
    journal: Journal<M>,
    /// Whether no row of the last attempt could be refused.
    attempt_infallible: bool,
    /// Whether all members were found infallible, with only moderate rows since.
    members_infallible: bool,
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
        let slots =
            members.into_iter().map(|member| MemberSlot { member, output: MemberOutput::default() }).collect();
        Members {
            slots,
            threads,
            journal: Journal::default(),
            attempt_infallible: false,
            members_infallible: false,
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

    /// For changes other than learning: the copies are renewed before the next rows.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.journal = Journal::default();
        self.members_infallible = false;
        self.slots.iter_mut().map(|slot| &mut slot.member)
    }

    /// Add a member at an index; the copies are renewed before the next rows.
    pub fn insert(&mut self, index: usize, member: M) {
        self.journal = Journal::default();
        self.members_infallible = false;
        self.slots.insert(index, MemberSlot { member, output: MemberOutput::default() });
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
        self.members_infallible = false;
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

    /// Ask all members about some rows, row by row.
    pub fn poll(&self, rows: &Rows<'_>, stride: usize, poll: &mut Poll, scratch: &mut Scratch) {
        let (Poll { votes, trust }, members) = (poll, self.len());
        votes.clear();
        votes.resize(rows.len() * members * stride, 0.0);
        trust.clear();
        trust.resize(rows.len() * members, 0.0);
        for (index, member) in self.iter().enumerate() {
            for row in 0..rows.len() {
                let at = row * members + index;
                trust[at] = member.vote(rows.at(row), &mut votes[at * stride..(at + 1) * stride], scratch);
            }
        }
    }

    /// The same for members that predict batches, and so use their own threads.
    fn poll_together(&self, rows: &Rows<'_>, stride: usize, poll: &mut Poll, scratch: &mut Scratch) {
        let members = self.len();
        poll.votes.resize(rows.len() * members * stride, 0.0);
        poll.trust.resize(rows.len() * members, 0.0);
        let (mut votes, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
        votes.resize(rows.len() * stride, 0.0);
        trust.resize(rows.len(), 0.0);
        for (index, member) in self.iter().enumerate() {
            member.vote_rows(rows, stride, &mut votes, &mut trust, scratch);
            for (row, (votes, &trust)) in votes.chunks_exact(stride).zip(&trust).enumerate() {
                let at = row * members + index;
                poll.votes[at * stride..(at + 1) * stride].copy_from_slice(votes);
                poll.trust[at] = trust;
            }
        }
        scratch.give_numbers(votes);
        scratch.give_numbers(trust);
    }

    /// Ask all members about many rows, on the requested number of threads: polls of some rows each, in order.
    pub fn poll_batch(&self, rows: &Rows<'_>, stride: usize, scratch: &mut Scratch) -> Vec<Poll> {
        let together = self.iter().any(|member| member.abilities().predicts_batches);
        // The members spread the rows over their threads if the ensemble has none.
        let size = if together && self.threads == 1 { rows.len().max(1) } else { PIECE };
        let mut pieces: Vec<(usize, Poll)> =
            (0..rows.len()).step_by(size).map(|from| (from, Poll::default())).collect();
        threads::each(self.threads, &mut pieces, scratch, |(from, poll), scratch| {
            let piece = rows.slice(*from, (*from + size).min(rows.len()));
            match together {
                true => self.poll_together(&piece, stride, poll, scratch),
                false => self.poll(&piece, stride, poll, scratch),
            }
        });
        pieces.into_iter().map(|(_, poll)| poll).collect()
    }

    /// The outputs for the last batch, in the order of members.
    pub fn outputs(&self) -> impl Iterator<Item = &MemberOutput> {
        self.slots.iter().map(|slot| &slot.output)
    }

    pub fn output(&self, index: usize) -> &MemberOutput {
        &self.slots[index].output
    }

    /// Let all members process a batch. Returns the number of rows before the first refused one, and its fault; then
    /// all members are in the state after the rows before it.
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

    /// Let all members process a batch, to be followed by `accept` or `retreat`. Returns the first refused row and its
    /// fault. `infallible` if nothing outside the members can refuse a row of moderate numbers.
    pub fn attempt(
        &mut self,
        batch: &Batch<'_, M::Task>,
        stride: usize,
        coupling: &impl Coupling<M>,
        infallible: bool,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if batch.is_empty() {
            return None;
        }
        let moderate = batch.is_moderate();
        self.members_infallible =
            moderate && (self.members_infallible || self.slots.iter().all(|slot| slot.member.infallible()));
        self.attempt_infallible = infallible && self.members_infallible;
        if self.attempt_infallible {
            self.journal = Journal::default();
        } else if self.journal.is_full(batch.len()) {
            let mut members: Vec<M> = self.slots.iter().map(|slot| slot.member.clone()).collect();
            members.iter_mut().for_each(|member| member.commit());
            self.journal.renew(members, batch);
        }
        self.pass(batch, stride, coupling, scratch);
        self.refused()
    }

    /// Free the outputs of a long batch, which may take more memory than the members. Short ones are kept, so that
    /// small batches allocate nothing.
    pub fn release_buffers(&mut self) {
        for slot in &mut self.slots {
            if slot.output.trust.capacity() > KEPT_ROWS {
                let MemberOutput { buffers, asked_buffers, .. } = std::mem::take(&mut slot.output);
                let taken = [&buffers, &asked_buffers].map(|(matrix, rows)| {
                    rows.iter().map(RowBuffer::memory).sum::<usize>() + 8 * matrix.capacity()
                });
                if taken[0] > 0 && taken[0] + taken[1] <= slot.member.memory() {
                    (slot.output.buffers, slot.output.asked_buffers) = (buffers, asked_buffers);
                }
            }
        }
    }

    /// Keep the state after the last attempt.
    pub fn accept(&mut self, batch: &Batch<'_, M::Task>) {
        if !self.attempt_infallible && !batch.is_empty() {
            self.journal.add(batch);
        }
    }

    /// Restore the state after the first `rows` rows of the last attempt: from the copies, through the rows since and
    /// those.
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

    /// A single thread processes the members one after the other. Several threads work in stages: in each, a member
    /// processes the section of the rows that the previous member has finished.
    fn pass_chain(&mut self, batch: &Batch<'_, M::Task>, threads: usize, scratch: &mut Scratch) {
        if threads == 1 {
            for index in 0..self.slots.len() {
                self.hand_over(index, 0, batch.len());
                self.slots[index].process(batch, 0, scratch);
            }
            return;
        }
        let ends: Vec<usize> = (0..=STAGES).map(|part| batch.len() * part / STAGES).collect();
        for stage in 0..STAGES + self.slots.len() - 1 {
            let first = (stage + 1).saturating_sub(STAGES);
            let last = stage.min(self.slots.len() - 1);
            (first..=last).for_each(|index| self.hand_over(index, ends[stage - index], ends[stage - index + 1]));
            let working = self.slots[first..=last].iter_mut().enumerate();
            let mut working: Vec<(usize, &mut MemberSlot<M>)> =
                working.map(|(at, slot)| (first + at, slot)).collect();
            threads::each(threads, &mut working, scratch, |(index, slot), scratch| {
                let (from, to) = (ends[stage - *index], ends[stage - *index + 1]);
                if slot.output.refused.is_none() {
                    slot.output.refused = slot.member.process_to(batch, from, to, &mut slot.output, scratch);
                }
            });
        }
    }

    /// Pass the output of the previous member of a chain to a member, for some rows.
    fn hand_over(&mut self, index: usize, from: usize, to: usize) {
        let (before, rest) = self.slots.split_at_mut(index);
        if let (Some(before), Some(slot)) = (before.last(), rest.first_mut()) {
            slot.output.passed[from..to].copy_from_slice(&before.output.passed[from..to]);
        }
    }

    /// The first refused row, by the first member that refused it.
    fn refused(&mut self) -> Option<(usize, Fault)> {
        let rows = self.slots.iter().enumerate();
        let refused = rows.filter_map(|(index, slot)| Some((slot.output.refused.as_ref()?.0, index))).min();
        let (row, index) = refused?;
        let (_, fault) = self.slots[index].output.refused.take()?;
        Some((row, fault.by(&format!("member {index}"))))
    }

    pub fn memory(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.member.memory() + slot.output.memory()).sum::<usize>();
        std::mem::size_of::<Self>() + slots + self.journal.memory()
    }
}
