//! Members through rows: each by itself through a whole chunk, on as many threads as are asked for.
//!
//! A member depends on the rows, on its own random generator and on its own detectors, and on no other member. So a
//! chunk goes member by member and not row by row, which keeps a member in the caches, and members are handed out to
//! threads as these become free. What each said at each row is kept on its `Page`, and combined afterwards, row by
//! row, in the order of members: bit for bit what the loop over rows gives, for any number of threads and any chunks.
//!
//! Where an algorithm couples its members, it says so by a `Coupling`, which is shown all pages after the chunk and
//! sends single members through some of its rows again.
//!
//! A row that one member refuses must leave none of them changed, and members take nothing back. Those that are sure
//! to learn (`Member::never_refuses`) need no care. Of others copies are kept, with the rows since: see `journal`.

use serde_json::Value as Json;

use crate::block::{Lesson, Target};
use crate::fault::{Fault, Result};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;

use super::journal::Journal;
use super::threads;

/// From so many rows on it pays to wake threads.
const FEWEST_ROWS: usize = 16;
/// Rows of a page that is kept from one call to the next.
const KEPT_ROWS: usize = 64;
/// Parts of a chunk that members of a chain work on at the same time.
const STAGES: usize = 8;

/// One of the learners of an ensemble, with all that is its own: generator, detectors, a learner in the background.
pub trait Member: Clone + Send + Sync {
    type Target: Target;
    /// Draw what is random about the next `lesson.len()` rows and write it down, so that rows can be gone through again.
    fn draw(&mut self, _lesson: &Lesson<'_, Self::Target>, _page: &mut Page) {}
    /// Go through the rows from `from` on: write the votes for each to the page, and learn it. Stops at a row that is
    /// refused, and says which and why.
    fn go(
        &mut self,
        lesson: &Lesson<'_, Self::Target>,
        from: usize,
        page: &mut Page,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)>;
    /// `go` up to row `to`, for members of a chain (`Coupling::is_chain`).
    fn go_to(
        &mut self,
        lesson: &Lesson<'_, Self::Target>,
        from: usize,
        _to: usize,
        page: &mut Page,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        self.go(lesson, from, page, scratch)
    }
    /// The votes for a row, by class code, or the number; gives what they weigh.
    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64;
    /// See `Part::never_refuses`.
    fn never_refuses(&self) -> bool {
        false
    }
    /// As in `Part`.
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    fn memory(&self) -> usize;
    fn needs_names(&self) -> bool {
        false
    }
    fn bind(&mut self, _schema: &Schema) {}
    fn checks(&self) -> bool {
        false
    }
    fn check(&self, _x: Row<'_>, _scratch: &mut Scratch) -> Result<()> {
        Ok(())
    }
    fn inspect(&self, _schema: &Schema) -> Json {
        Json::Null
    }
    /// Names and kinds of what its learner is given.
    fn input(&self, schema: &Schema) -> Schema {
        schema.clone()
    }
    /// The state of the learner alone, for those who want it as a model of its own.
    fn learner(&self) -> Result<Vec<u8>>;
}

/// What a member did at each row of a chunk.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Random numbers in [0, 1), one for each row, for members that use them.
    pub draws: Vec<f64>,
    /// How much the member learns of each row, for members that choose.
    pub weights: Vec<f64>,
    /// By row and class, or one number for each row.
    pub votes: Vec<f64>,
    /// What the votes at each row weigh.
    pub trust: Vec<f64>,
    /// The member's estimate of its error after each row, for couplings.
    pub errors: Vec<f64>,
    /// Rows after which the member wants someone replaced, ascending.
    pub calls: Vec<usize>,
    /// What the member before has left at each row, and then what this one leaves, for members of a chain.
    pub passed: Vec<f64>,
    /// Votes of a learner in the background, which nobody counts.
    pub others: Vec<f64>,
    /// Room for rows of which a member sees a part.
    pub room: (Vec<f64>, Vec<RowBuffer>),
    refused: Option<(usize, Fault)>,
}

impl Page {
    fn begin(&mut self, rows: usize, stride: usize) {
        // Everything is written anew but for rows that a refused one keeps from being reached.
        self.votes.resize(rows * stride, 0.0);
        self.trust.resize(rows, 1.0);
        self.calls.clear();
        self.refused = None;
    }

    /// A page for so many rows, for members that are gone through by themselves.
    pub fn for_rows(rows: usize, stride: usize) -> Self {
        let mut page = Page::default();
        page.begin(rows, stride);
        page
    }

    /// The votes for a row.
    #[inline]
    pub fn at(&self, row: usize, stride: usize) -> &[f64] {
        &self.votes[row * stride..(row + 1) * stride]
    }

    pub fn memory(&self) -> usize {
        let numbers = [
            &self.draws,
            &self.weights,
            &self.votes,
            &self.trust,
            &self.errors,
            &self.passed,
            &self.others,
            &self.room.0,
        ];
        let rows = self.room.1.iter().map(|row| std::mem::size_of::<RowBuffer>() + row.memory());
        8 * (numbers.iter().map(|numbers| numbers.capacity()).sum::<usize>() + self.calls.capacity())
            + rows.sum::<usize>()
    }
}

#[derive(Clone)]
pub struct Slot<M> {
    pub member: M,
    pub page: Page,
}

impl<M: Member> Slot<M> {
    pub fn go(&mut self, lesson: &Lesson<'_, M::Target>, from: usize, scratch: &mut Scratch) {
        self.page.refused = self.member.go(lesson, from, &mut self.page, scratch);
    }

    /// How many rows were gone through.
    pub fn reached(&self, lesson: &Lesson<'_, M::Target>) -> usize {
        self.page.refused.as_ref().map_or(lesson.len(), |(row, _)| *row)
    }
}

/// How members of an ensemble act on each other, if they do.
pub trait Coupling<M: Member> {
    /// Whether a member needs what the one before it has left at the same row (`Page::passed`).
    fn is_chain(&self) -> bool {
        false
    }
    /// Called when each member has gone through the lesson: let some of them go through some rows again.
    fn couple(&self, _slots: &mut [Slot<M>], _lesson: &Lesson<'_, M::Target>, _scratch: &mut Scratch) {}
}

/// The members, and the way back for those that may refuse a row.
pub struct Team<M: Member> {
    slots: Vec<Slot<M>>,
    threads: usize,
    journal: Journal<M>,
    /// Whether nobody could refuse a row of the last attempt.
    sure: bool,
    /// Whether all members were found never to refuse, with only moderate rows since.
    steady: bool,
}

impl<M: Member> Clone for Team<M> {
    fn clone(&self) -> Self {
        Team::new(self.members().cloned().collect(), self.threads)
    }
}

impl<M: Member> Team<M> {
    pub fn new(members: Vec<M>, threads: usize) -> Self {
        let slots = members.into_iter().map(|member| Slot { member, page: Page::default() }).collect();
        Team { slots, threads, journal: Journal::default(), sure: false, steady: false }
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

    pub fn members(&self) -> impl Iterator<Item = &M> {
        self.slots.iter().map(|slot| &slot.member)
    }

    /// For changes other than learning: the copies are made anew before the next rows.
    pub fn members_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.journal = Journal::default();
        self.steady = false;
        self.slots.iter_mut().map(|slot| &mut slot.member)
    }

    /// What was said at the rows of the last chunk, in the order of members.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.slots.iter().map(|slot| &slot.page)
    }

    pub fn page(&self, place: usize) -> &Page {
        &self.slots[place].page
    }

    /// Let all members go through some rows; gives how many were done before one of them refused one, and why. Then
    /// all are as after the rows before it.
    pub fn go(
        &mut self,
        lesson: &Lesson<'_, M::Target>,
        coupling: &impl Coupling<M>,
        scratch: &mut Scratch,
    ) -> (usize, Option<Fault>) {
        match self.attempt(lesson, coupling, true, scratch) {
            None => {
                self.accept(lesson);
                (lesson.len(), None)
            }
            Some((row, fault)) => {
                self.retreat(lesson, row, coupling, scratch);
                (row, Some(fault))
            }
        }
    }

    /// Let all members go through some rows, to be followed by `accept` or `retreat`; gives the first row that one of
    /// them refused, and why. `sure` if nobody else can refuse a row of numbers that are not extreme.
    pub fn attempt(
        &mut self,
        lesson: &Lesson<'_, M::Target>,
        coupling: &impl Coupling<M>,
        sure: bool,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if lesson.is_empty() {
            return None;
        }
        let moderate = lesson.is_moderate();
        self.steady = moderate && (self.steady || self.slots.iter().all(|slot| slot.member.never_refuses()));
        self.sure = sure && self.steady;
        if self.sure {
            self.journal = Journal::default();
        } else if self.journal.is_full(lesson.len()) {
            let members = self.slots.iter().map(|slot| slot.member.clone()).collect();
            self.journal.renew(members, lesson);
        }
        self.pass(lesson, coupling, scratch);
        self.refused()
    }

    /// Free what the pages of a long chunk take, which may be more than the members do. Short ones stay, so that rows
    /// that come a few at a time allocate nothing.
    pub fn put_away(&mut self) {
        for slot in &mut self.slots {
            if slot.page.trust.capacity() > KEPT_ROWS {
                let (matrix, rows) = std::mem::take(&mut slot.page).room;
                let taken = rows.iter().map(RowBuffer::memory).sum::<usize>() + 8 * matrix.capacity();
                if taken > 0 && taken <= slot.member.memory() {
                    slot.page.room = (matrix, rows);
                }
            }
        }
    }

    /// Stay after the rows of the last attempt.
    pub fn accept(&mut self, lesson: &Lesson<'_, M::Target>) {
        if !self.sure && !lesson.is_empty() {
            self.journal.add(lesson);
        }
    }

    /// Be as after the first `rows` rows of the last attempt: from the copies, through the rows since and those.
    pub fn retreat(
        &mut self,
        lesson: &Lesson<'_, M::Target>,
        rows: usize,
        coupling: &impl Coupling<M>,
        scratch: &mut Scratch,
    ) {
        let journal = std::mem::take(&mut self.journal);
        for (slot, member) in self.slots.iter_mut().zip(journal.members()) {
            slot.member = member.clone();
        }
        if let Some(since) = journal.since(lesson.stride) {
            self.pass(&since, coupling, scratch);
        }
        if rows > 0 {
            self.pass(&lesson.part(0, rows), coupling, scratch);
        }
    }

    fn pass(&mut self, lesson: &Lesson<'_, M::Target>, coupling: &impl Coupling<M>, scratch: &mut Scratch) {
        let threads = if lesson.len() < FEWEST_ROWS { 1 } else { self.threads };
        let chain = coupling.is_chain();
        threads::each(threads, &mut self.slots, scratch, |slot, scratch| {
            slot.page.begin(lesson.len(), lesson.stride);
            slot.member.draw(lesson, &mut slot.page);
            if !chain {
                slot.go(lesson, 0, scratch);
            }
        });
        if chain {
            self.pass_chain(lesson, threads, scratch);
        }
        coupling.couple(&mut self.slots, lesson, scratch);
    }

    /// One thread takes the members one after the other through all rows. Several work in stages: in each, a member goes
    /// through the part of the rows that the one before has left.
    fn pass_chain(&mut self, lesson: &Lesson<'_, M::Target>, threads: usize, scratch: &mut Scratch) {
        if threads == 1 {
            for place in 0..self.slots.len() {
                self.hand_over(place, 0, lesson.len());
                self.slots[place].go(lesson, 0, scratch);
            }
            return;
        }
        let ends: Vec<usize> = (0..=STAGES).map(|part| lesson.len() * part / STAGES).collect();
        for stage in 0..STAGES + self.slots.len() - 1 {
            let first = (stage + 1).saturating_sub(STAGES);
            let last = stage.min(self.slots.len() - 1);
            (first..=last).for_each(|place| self.hand_over(place, ends[stage - place], ends[stage - place + 1]));
            let working = self.slots[first..=last].iter_mut().enumerate();
            let mut working: Vec<(usize, &mut Slot<M>)> = working.map(|(at, slot)| (first + at, slot)).collect();
            threads::each(threads, &mut working, scratch, |(place, slot), scratch| {
                let (from, to) = (ends[stage - *place], ends[stage - *place + 1]);
                if slot.page.refused.is_none() {
                    slot.page.refused = slot.member.go_to(lesson, from, to, &mut slot.page, scratch);
                }
            });
        }
    }

    /// Give a member of a chain what the one before it has left at some rows.
    fn hand_over(&mut self, place: usize, from: usize, to: usize) {
        let (before, rest) = self.slots.split_at_mut(place);
        if let (Some(before), Some(slot)) = (before.last(), rest.first_mut()) {
            slot.page.passed[from..to].copy_from_slice(&before.page.passed[from..to]);
        }
    }

    /// The first row that was refused, by the first member that refused it.
    fn refused(&mut self) -> Option<(usize, Fault)> {
        let rows = self.slots.iter().enumerate();
        let refused = rows.filter_map(|(place, slot)| Some((slot.page.refused.as_ref()?.0, place))).min();
        let (row, place) = refused?;
        let (_, fault) = self.slots[place].page.refused.take()?;
        Some((row, fault.by(&format!("member {place}"))))
    }

    pub fn memory(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.member.memory() + slot.page.memory()).sum::<usize>();
        std::mem::size_of::<Self>() + slots + self.journal.memory()
    }
}
