//! The gradients of a mini-batch, summed over its examples at weights that stand still.

use crate::optim::Features;

/// Σ slope · x by coordinate, and Σ slope for the constant term.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub examples: f64,
    slope: f64,
    sums: Vec<f64>,
    /// Coordinates that sparse examples have touched, each once.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Whether all coordinates were touched, by a dense example.
    dense: bool,
    means: Vec<f64>,
}

impl Gathered {
    /// Add the gradient `slope` · x; false, and nothing is added, if it overflows.
    pub fn add(&mut self, features: Features<'_>, slope: f64, width: usize) -> bool {
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        if !(slope.is_finite() && x.iter().all(|x| (slope * x).is_finite())) {
            return false;
        }
        self.sums.resize(width.max(self.sums.len()), 0.0);
        match features {
            Features::Dense(x) => {
                self.dense = true;
                self.sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += slope * x);
            }
            Features::Sparse(indices, x) => {
                self.is_touched.resize(self.sums.len(), false);
                for (&place, x) in indices.iter().zip(x) {
                    self.sums[place as usize] += slope * x;
                    if !std::mem::replace(&mut self.is_touched[place as usize], true) {
                        self.touched.push(place);
                    }
                }
            }
        }
        self.slope += slope;
        self.examples += 1.0;
        true
    }

    /// The mean gradient as features, to be stepped down with slope 1, and the mean slope.
    pub fn mean(&mut self) -> (Features<'_>, f64) {
        let count = self.examples;
        self.means.clear();
        let slope = self.slope / count;
        if self.dense {
            self.means.extend(self.sums.iter().map(|sum| sum / count));
            return (Features::Dense(&self.means), slope);
        }
        self.touched.sort_unstable();
        self.means.extend(self.touched.iter().map(|&place| self.sums[place as usize] / count));
        (Features::Sparse(&self.touched, &self.means), slope)
    }

    /// Begin again, at the cost of what was gathered.
    pub fn clear(&mut self) {
        if self.dense {
            self.sums.fill(0.0);
        }
        for place in self.touched.drain(..) {
            self.sums[place as usize] = 0.0;
            self.is_touched[place as usize] = false;
        }
        (self.examples, self.slope, self.dense) = (0.0, 0.0, false);
    }

    /// Take back the coordinates beyond `width`.
    pub fn shrink(&mut self, width: usize) {
        self.sums.truncate(width);
        self.is_touched.truncate(width);
        self.touched.retain(|&place| (place as usize) < width);
    }

    pub fn memory(&self) -> usize {
        8 * (self.sums.capacity() + self.means.capacity())
            + 4 * self.touched.capacity()
            + self.is_touched.capacity()
    }
}
