//! Stored rows with their classes and weights: a memory of SAM-kNN.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::row::Scratch;
use crate::schema::FeatureKind;
use crate::task::Classes;

use super::interleaved_error::Voter;
use super::nearest::Nearest;
use super::points::{Points, SavedPoints, LANES};
use super::scan::{Query, Scan, Space, Visit};
use super::votes::Vote;

/// Rows with classes and weights, by place.
#[derive(Clone)]
pub struct Memory {
    pub points: Points,
    pub classes: Vec<u32>,
    pub weights: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
pub struct SavedMemory {
    points: SavedPoints,
    classes: Vec<u32>,
    weights: Vec<f64>,
}

/// The sums of all rows, by place.
#[derive(Default)]
pub struct AllSums(pub Vec<f64>);

impl Visit for AllSums {
    fn limit(&self) -> f64 {
        f64::INFINITY
    }

    fn block(&mut self, _first: usize, sums: &[f64; LANES]) {
        self.0.extend_from_slice(sums);
    }
}

impl Memory {
    pub fn new(capacity: usize) -> Self {
        Memory { points: Points::new(capacity, LANES), classes: Vec::new(), weights: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.classes.len()
    }

    pub fn push(&mut self, row: &[f64], kinds: &[FeatureKind], class: u32, w: f64) -> usize {
        let place = self.points.push(row, kinds);
        if place == self.classes.len() {
            self.classes.push(class);
            self.weights.push(w);
        } else {
            (self.classes[place], self.weights[place]) = (class, w);
        }
        place
    }

    pub fn keep(&mut self, places: &[usize]) {
        self.points.keep(places.iter().copied());
        self.classes = places.iter().map(|&place| self.classes[place]).collect();
        self.weights = places.iter().map(|&place| self.weights[place]).collect();
    }

    pub fn voter(&self, sum: f64, place: usize) -> Voter {
        (sum, self.classes[place], self.weights[place])
    }

    /// The nearest rows, nearest first.
    pub fn nearest(
        &self,
        space: Space<'_>,
        query: Query<'_>,
        most: usize,
        arch: Arch,
        scratch: &mut Scratch,
    ) -> Nearest<'_> {
        let mut nearest = Nearest::new(&self.points, most, scratch);
        Scan { points: &self.points, space, query, visit: &mut nearest }.run(arch);
        nearest
    }

    pub fn save(&self) -> SavedMemory {
        SavedMemory { points: self.points.save(), classes: self.classes.clone(), weights: self.weights.clone() }
    }

    pub fn load(&self, saved: SavedMemory) -> Option<Memory> {
        let SavedMemory { points, classes, weights } = saved;
        let sound = classes.iter().all(|&class| Classes::is_storable(class))
            && weights.iter().all(|&w| w > 0.0 && w.is_finite())
            && weights.len() == classes.len();
        let points = self.points.load(classes.len(), &points).filter(|_| sound)?;
        Some(Memory { points, classes, weights })
    }

    pub fn memory(&self) -> usize {
        self.points.memory() + self.classes.capacity() * 4 + self.weights.capacity() * 8
    }
}
