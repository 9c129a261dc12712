//! The k nearest rows so far, nearest first. Of rows at the same distance, the newer one is nearer.

use crate::row::Scratch;

use super::points::{Points, LANES};
use super::scan::Visit;

pub struct Nearest<'a> {
    points: &'a Points,
    most: usize,
    sums: Vec<f64>,
    places: Vec<u32>,
}

impl<'a> Nearest<'a> {
    pub fn new(points: &'a Points, most: usize, scratch: &mut Scratch) -> Self {
        Nearest { points, most, sums: scratch.take_numbers(), places: scratch.take_indices() }
    }

    pub fn release(self, scratch: &mut Scratch) {
        scratch.give_numbers(self.sums);
        scratch.give_indices(self.places);
    }

    /// Sums of the metric, ascending.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Whether a row at a place and distance comes before the one at an index.
    #[inline]
    fn is_before(&self, sum: f64, place: usize, index: usize) -> bool {
        let other = self.sums[index];
        sum < other || (sum == other && self.points.age(place) < self.points.age(self.places[index] as usize))
    }

    pub fn offer(&mut self, sum: f64, place: usize) {
        let mut index = self.sums.len();
        if index == self.most {
            if index == 0 || !self.is_before(sum, place, index - 1) {
                return;
            }
            index -= 1;
        } else {
            self.sums.push(sum);
            self.places.push(place as u32);
        }
        while index > 0 && self.is_before(sum, place, index - 1) {
            (self.sums[index], self.places[index]) = (self.sums[index - 1], self.places[index - 1]);
            index -= 1;
        }
        (self.sums[index], self.places[index]) = (sum, place as u32);
    }
}

impl Visit for Nearest<'_> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        match self.sums.last() {
            Some(&last) if self.sums.len() == self.most => last,
            _ => f64::INFINITY,
        }
    }

    #[inline(always)]
    fn block(&mut self, first: usize, sums: &[f64; LANES]) {
        let limit = self.limit();
        // Most blocks have no row near enough; all comparisons at once run in vector registers.
        if !sums.iter().fold(false, |near, &sum| near | (sum <= limit)) {
            return;
        }
        for (lane, &sum) in sums.iter().enumerate().take(self.points.len() - first) {
            if sum <= self.limit() {
                self.offer(sum, first + lane);
            }
        }
    }
}
