//! Embeddings: a learned vector for each value of a nominal feature (Bengio, Ducharme, Vincent and Jauvin, 2003).
//!
//! All values of a feature share the inputs of the network that their vectors fill, so that a new value adds a few
//! parameters and starts with what the network knows about the feature. Vectors start at small random numbers that depend
//! on the seed and on the order of the values.

use serde::{Deserialize, Serialize};

use crate::held::state::require;
use crate::linear_model::Coordinates;
use crate::numeric::random::Random;
use crate::optim::Features;
use crate::row::{Row, Scratch, Value};

use crate::fault::Result;

const NONE: u32 = u32::MAX;
/// Largest initial number of a vector.
const LIMIT: f64 = 0.5;

/// Which inputs of the network a coordinate (a number, or a value of a nominal feature) fills.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Embeddings {
    /// By coordinate: its first input, and its vector; `NONE` for a number.
    places: Vec<[u32; 2]>,
    /// By slot: the first input of a nominal feature.
    first: Vec<u32>,
    inputs: u32,
    vectors: u32,
}

/// The inputs of one row: numbers, and where the vectors of nominal values lie in them.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    /// For each nominal value its vector, then the position of the vector's first number in `values`.
    pub vectors: Vec<u32>,
}

impl Inputs {
    /// With buffers of the scratch.
    pub fn take(scratch: &mut Scratch) -> Self {
        Inputs { indices: scratch.take_indices(), values: scratch.take_numbers(), vectors: scratch.take_indices() }
    }

    pub fn give(self, scratch: &mut Scratch) {
        scratch.give_indices(self.indices);
        scratch.give_numbers(self.values);
        scratch.give_indices(self.vectors);
    }

    pub fn features(&self) -> Features<'_> {
        Features::Sparse(&self.indices, &self.values)
    }
}

impl Embeddings {
    /// Number of inputs of the network.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// Number of vectors.
    pub fn vectors(&self) -> usize {
        self.vectors as usize
    }

    /// The vector of a coordinate, if it is one of a nominal value, and its first input.
    pub fn place(&self, coordinate: usize) -> Option<(usize, Option<usize>)> {
        let [input, vector] = *self.places.get(coordinate)?;
        Some((input as usize, (vector != NONE).then_some(vector as usize)))
    }

    /// Give inputs to the coordinates that `x` has added.
    pub fn grow(&mut self, coordinates: &Coordinates, x: Row<'_>, size: usize) {
        if !coordinates.mapped() {
            while self.places.len() < coordinates.width() {
                self.add(None, size);
            }
            return;
        }
        // Slots become coordinates when the first nominal value comes; coordinates were given in this order.
        x.each(|slot, value| {
            let new =
                coordinates.of(slot, value).is_some_and(|coordinate| coordinate as usize >= self.places.len());
            if new {
                self.add(matches!(value, Value::Nominal(_)).then_some(slot), size);
            }
        });
    }

    fn add(&mut self, nominal: Option<usize>, size: usize) {
        let Some(slot) = nominal else {
            self.places.push([self.inputs, NONE]);
            self.inputs += 1;
            return;
        };
        if self.first.len() <= slot {
            self.first.resize(slot + 1, NONE);
        }
        if self.first[slot] == NONE {
            self.first[slot] = self.inputs;
            self.inputs += size as u32;
        }
        self.places.push([self.first[slot], self.vectors]);
        self.vectors += 1;
    }

    /// Number of coordinates.
    pub fn coordinates(&self) -> usize {
        self.places.len()
    }

    /// Remove the inputs of all but the first `before` coordinates.
    pub fn shrink(&mut self, before: usize, size: usize) {
        while self.places.len() > before {
            let Some([input, vector]) = self.places.pop() else { return };
            if vector == NONE {
                self.inputs -= 1;
                continue;
            }
            self.vectors -= 1;
            if !self.places.iter().any(|place| place[0] == input && place[1] != NONE) {
                self.inputs -= size as u32;
                self.first.iter_mut().filter(|first| **first == input).for_each(|first| *first = NONE);
            }
        }
        while self.first.last() == Some(&NONE) {
            self.first.pop();
        }
    }

    /// Append the initial numbers of the vectors from `known` on.
    pub fn begin(size: usize, known: usize, vectors: usize, seed: u64, table: &mut Vec<f64>) {
        for vector in known..vectors {
            let mut random = Random::new(seed, (1 << 62) + vector as u64);
            table.extend((0..size).map(|_| random.between(-LIMIT, LIMIT)));
        }
    }

    /// The inputs of a row, with the vectors of `table`.
    pub fn locate(&self, coordinates: &Coordinates, x: Row<'_>, table: &[f64], size: usize, out: &mut Inputs) {
        x.each(|slot, value| {
            let place = coordinates.of(slot, value).and_then(|coordinate| self.places.get(coordinate as usize));
            let Some(&[input, vector]) = place else { return };
            match value {
                Value::Number(number) => {
                    out.indices.push(input);
                    out.values.push(number);
                }
                Value::Nominal(_) => {
                    out.vectors.extend([vector, out.values.len() as u32]);
                    out.indices.extend(input..input + size as u32);
                    out.values.extend_from_slice(&table[vector as usize * size..(vector as usize + 1) * size]);
                }
            }
        });
    }

    pub fn validate(&self, who: &str, coordinates: &Coordinates, size: usize) -> Result<()> {
        require(who, self.places.len() == coordinates.width(), "coordinates without inputs")?;
        let (mut inputs, mut vectors, mut known) = (0, 0, std::collections::BTreeSet::new());
        for &[input, vector] in &self.places {
            let number = vector == NONE;
            require(who, number || vector == vectors, "a vector is out of place")?;
            vectors += u32::from(!number);
            if input == inputs {
                inputs += if number { 1 } else { size as u32 };
                known.extend((!number).then_some(input));
            } else {
                require(who, !number && known.contains(&input), "an input is out of place")?;
            }
        }
        require(who, inputs == self.inputs && vectors == self.vectors, "inputs are missing")?;
        let firsts = self.first.iter().all(|first| *first == NONE || known.contains(first));
        require(who, firsts, "an input is out of place")
    }

    pub fn memory(&self) -> usize {
        8 * self.places.capacity() + 4 * self.first.capacity()
    }
}
