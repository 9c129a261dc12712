//! The way back for members that may refuse a row: copies of them, and the rows since.
//!
//! When a row is refused, the copies go through these rows again and take the members' place. Copies are renewed when
//! the rows since weigh as much as the members do, so that on the whole they cost no more than copying the rows, and
//! hold no more memory than twice the members'.

use crate::block::{Lesson, Rows};
use crate::row::{Row, RowBuffer};

use super::engine::Member;

const FEWEST: usize = 64;

pub struct Journal<M: Member> {
    members: Vec<M>,
    rows: Vec<RowBuffer>,
    targets: Vec<M::Target>,
    weights: Vec<f64>,
    /// How many rows to keep.
    room: usize,
}

impl<M: Member> Default for Journal<M> {
    fn default() -> Self {
        Journal { members: Vec::new(), rows: Vec::new(), targets: Vec::new(), weights: Vec::new(), room: 0 }
    }
}

impl<M: Member> Journal<M> {
    /// Begin anew at these members; the buffers of the rows before are used again.
    pub fn renew(&mut self, members: Vec<M>, lesson: &Lesson<'_, M::Target>) {
        let listed = match lesson.rows.at(0) {
            Row::Plain(values) | Row::Mixed(values, _) => values.len(),
            Row::Sparse(sparse) => sparse.values.len(),
        };
        let weight: usize = members.iter().map(|member| member.memory()).sum();
        self.room = (weight / (16 * (listed + 1))).max(FEWEST);
        self.members = members;
        self.targets.clear();
        self.weights.clear();
    }

    /// Whether there is no room for so many rows more. The first rows always have room.
    pub fn is_full(&self, rows: usize) -> bool {
        self.room == 0 || (!self.targets.is_empty() && self.targets.len() + rows > self.room)
    }

    pub fn add(&mut self, lesson: &Lesson<'_, M::Target>) {
        if lesson.len() >= self.room {
            // The next rows begin with new copies anyway.
            *self = Journal::default();
            return;
        }
        for row in 0..lesson.len() {
            let place = self.targets.len() + row;
            if place == self.rows.len() {
                self.rows.push(RowBuffer::default());
            }
            self.rows[place].copy_from(lesson.rows.at(row));
        }
        self.targets.extend_from_slice(lesson.targets);
        self.weights.extend_from_slice(lesson.weights);
    }

    /// The members as they were before these rows.
    pub fn members(&self) -> &[M] {
        &self.members
    }

    /// The rows since, if there are any.
    pub fn since(&self, stride: usize) -> Option<Lesson<'_, M::Target>> {
        (!self.targets.is_empty()).then(|| Lesson {
            rows: Rows::Kept(&self.rows[..self.targets.len()]),
            targets: &self.targets,
            weights: &self.weights,
            stride,
        })
    }

    pub fn memory(&self) -> usize {
        let rows = self.rows.iter().map(|row| std::mem::size_of::<RowBuffer>() + row.memory()).sum::<usize>();
        self.members.iter().map(|member| member.memory()).sum::<usize>()
            + rows
            + self.targets.capacity() * std::mem::size_of::<M::Target>()
            + self.weights.capacity() * 8
    }
}
