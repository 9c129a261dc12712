//! The way back for members that may refuse a row: copies of them, and the rows since.
//!
//! When a row is refused, the copies go through these rows again and take the members' place. Copies are renewed when
//! the rows since weigh as much as the members do, so that on the whole they cost no more than copying the rows, and
//! hold no more memory than twice the members'.

use crate::batch::{Batch, Rows};
use crate::row::{Row, RowBuffer};
use crate::task::Task;

use super::engine::Member;

const FEWEST: usize = 64;

pub struct Journal<M: Member> {
    members: Vec<M>,
    rows: Vec<RowBuffer>,
    truths: Vec<<M::Task as Task>::Truth>,
    weights: Vec<f64>,
    /// How many rows to keep.
    room: usize,
}

impl<M: Member> Default for Journal<M> {
    fn default() -> Self {
        Journal { members: Vec::new(), rows: Vec::new(), truths: Vec::new(), weights: Vec::new(), room: 0 }
    }
}

impl<M: Member> Journal<M> {
    /// Begin anew at these members; the buffers of the rows before are used again.
    pub fn renew(&mut self, members: Vec<M>, batch: &Batch<'_, M::Task>) {
        let listed = match batch.rows.at(0) {
            Row::Plain(values) | Row::Mixed(values, _) => values.len(),
            Row::Sparse(sparse) => sparse.values.len(),
        };
        let weight: usize = members.iter().map(|member| member.memory()).sum();
        self.room = (weight / (16 * (listed + 1))).max(FEWEST);
        self.members = members;
        self.truths.clear();
        self.weights.clear();
    }

    /// Whether there is no room for so many rows more. The first rows always have room.
    pub fn is_full(&self, rows: usize) -> bool {
        self.room == 0 || (!self.truths.is_empty() && self.truths.len() + rows > self.room)
    }

    pub fn add(&mut self, batch: &Batch<'_, M::Task>) {
        if batch.len() >= self.room {
            // The next rows begin with new copies anyway.
            *self = Journal::default();
            return;
        }
        for row in 0..batch.len() {
            let place = self.truths.len() + row;
            if place == self.rows.len() {
                self.rows.push(RowBuffer::default());
            }
            self.rows[place].copy_from(batch.rows.at(row));
        }
        self.truths.extend_from_slice(batch.truths);
        self.weights.extend((0..batch.len()).map(|row| batch.weight(row)));
    }

    /// The members as they were before these rows.
    pub fn members(&self) -> &[M] {
        &self.members
    }

    /// The rows since, if there are any.
    pub fn since(&self) -> Option<Batch<'_, M::Task>> {
        let rows = Rows::Owned(&self.rows[..self.truths.len()]);
        (!self.truths.is_empty()).then(|| Batch::new(rows, &self.truths, Some(&self.weights)))
    }

    pub fn memory(&self) -> usize {
        let rows = self.rows.iter().map(|row| std::mem::size_of::<RowBuffer>() + row.memory()).sum::<usize>();
        self.members.iter().map(|member| member.memory()).sum::<usize>()
            + rows
            + self.truths.capacity() * std::mem::size_of::<<M::Task as Task>::Truth>()
            + self.weights.capacity() * 8
    }
}
