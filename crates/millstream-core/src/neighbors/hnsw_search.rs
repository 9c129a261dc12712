//! The walk through one layer of a graph: algorithm 2 of Malkov and Yashunin (2018).
//!
//! The candidates of the paper and its list of nearest rows are one list by ascending sum here, in which rows are marked
//! once their links have been followed: a candidate that is not among the `ef` nearest is never followed.

use crate::row::Scratch;

/// In a place: its links were followed.
const FOLLOWED: u32 = 1 << 31;

/// Rows by ascending sum, then by place.
#[derive(Debug, Default)]
pub struct Pool {
    sums: Vec<f64>,
    places: Vec<u32>,
    /// A bit for each place that was met.
    met: Vec<u32>,
}

impl Pool {
    pub fn borrow(scratch: &mut Scratch) -> Self {
        Pool { sums: scratch.take_numbers(), places: scratch.take_indices(), met: scratch.take_indices() }
    }

    pub fn release(self, scratch: &mut Scratch) {
        scratch.give_numbers(self.sums);
        scratch.give_indices(self.places);
        scratch.give_indices(self.met);
    }

    /// Begin with one row, of so many.
    pub fn start(&mut self, place: u32, sum: f64, rows: usize) {
        self.sums.clear();
        self.places.clear();
        self.sums.push(sum);
        self.places.push(place);
        self.restart(rows);
    }

    /// Begin another layer with the rows that were found.
    pub fn restart(&mut self, rows: usize) {
        self.met.clear();
        self.met.resize(rows.div_ceil(32), 0);
        for place in &mut self.places {
            *place &= !FOLLOWED;
            self.met[(*place / 32) as usize] |= 1 << (*place % 32);
        }
    }

    /// Begin with one more row.
    pub fn join(&mut self, place: u32, sum: f64) {
        if self.is_new(place) {
            self.add(place, sum, usize::MAX);
        }
    }

    /// Whether a place is met for the first time.
    fn is_new(&mut self, place: u32) -> bool {
        let (word, bit) = (&mut self.met[(place / 32) as usize], 1 << (place % 32));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub fn walk<'g>(&mut self, ef: usize, links: impl Fn(u32) -> &'g [u32], sum: impl Fn(u32) -> f64) {
        self.sums.truncate(ef);
        self.places.truncate(ef);
        let mut next = 0;
        while next < self.places.len() {
            let place = self.places[next];
            if place & FOLLOWED != 0 {
                next += 1;
                continue;
            }
            self.places[next] |= FOLLOWED;
            for &other in links(place) {
                if self.is_new(other) {
                    let index = self.add(other, sum(other), ef);
                    next = next.min(index);
                }
            }
        }
    }

    /// Add a row if it is among the `ef` nearest; its index.
    fn add(&mut self, place: u32, sum: f64, ef: usize) -> usize {
        if self.sums.len() == ef && self.sums.last().is_some_and(|&last| sum >= last) {
            return usize::MAX;
        }
        let index = self.sums.partition_point(|&other| other <= sum);
        if self.sums.len() == ef {
            self.sums.pop();
            self.places.pop();
        }
        self.sums.insert(index, sum);
        self.places.insert(index, place);
        index
    }

    /// By ascending sum.
    pub fn found(&self) -> impl Iterator<Item = (f64, u32)> + '_ {
        self.sums.iter().zip(&self.places).map(|(&sum, &place)| (sum, place & !FOLLOWED))
    }
}
