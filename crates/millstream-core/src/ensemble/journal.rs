//! Reverts members that may refuse a row: copies of them, and the rows since.
//!
//! When a row is refused, the copies learn these rows again and replace the members. Copies are renewed when the rows
//! take as much memory as the members. So in total they cost no more than copying the rows, and hold at most twice the
//! memory of the members.

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
    /// The number of rows to keep.
    capacity: usize,
}

impl<M: Member> Default for Journal<M> {
    fn default() -> Self {
        Journal { members: Vec::new(), rows: Vec::new(), truths: Vec::new(), weights: Vec::new(), capacity: 0 }
    }
}

impl<M: Member> Journal<M> {
    /// Restart from these members; the row buffers are reused.
    pub fn renew(&mut self, members: Vec<M>, batch: &Batch<'_, M::Task>) {
        let listed = match batch.rows.at(0) {
            Row::Plain(values) | Row::Mixed(values, _) => values.len(),
            Row::Sparse(sparse) => sparse.values.len(),
        };
        let weight: usize = members.iter().map(|member| member.memory()).sum();
        self.capacity = (weight / (16 * (listed + 1))).max(FEWEST);
        self.members = members;
        self.truths.clear();
        self.weights.clear();
    }

    /// Whether this many rows more exceed the capacity. The first rows always fit.
    pub fn is_full(&self, rows: usize) -> bool {
        self.capacity == 0 || (!self.truths.is_empty() && self.truths.len() + rows > self.capacity)
    }

    pub fn add(&mut self, batch: &Batch<'_, M::Task>) {
        if batch.len() >= self.capacity {
            // The next rows start with new copies anyway.
            *self = Journal::default();
            return;
        }
        for row in 0..batch.len() {
            let index = self.truths.len() + row;
            if index == self.rows.len() {
                self.rows.push(RowBuffer::default());
            }
            self.rows[index].copy_from(batch.rows.at(row));
        }
        self.truths.extend_from_slice(batch.truths);
        self.weights.extend((0..batch.len()).map(|row| batch.weight(row)));
    }

    /// The members before these rows.
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
