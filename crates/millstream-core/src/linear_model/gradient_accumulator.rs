//! The gradients of a mini-batch, summed over its examples at fixed weights.

use crate::optim::Features;

/// Σ slope · x by coordinate, and Σ slope for the intercept.
#[derive(Clone, Debug, Default)]
pub struct GradientAccumulator {
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

impl GradientAccumulator {
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
                for (&index, x) in indices.iter().zip(x) {
                    self.sums[index as usize] += slope * x;
                    if !std::mem::replace(&mut self.is_touched[index as usize], true) {
                        self.touched.push(index);
                    }
                }
            }
        }
        self.slope += slope;
        self.examples += 1.0;
        true
    }

    /// The mean gradient as features of a step with slope 1, and the mean slope.
    pub fn mean(&mut self) -> (Features<'_>, f64) {
        let count = self.examples;
        self.means.clear();
        let slope = self.slope / count;
        if self.dense {
            self.means.extend(self.sums.iter().map(|sum| sum / count));
            return (Features::Dense(&self.means), slope);
        }
        self.touched.sort_unstable();
        self.means.extend(self.touched.iter().map(|&index| self.sums[index as usize] / count));
        (Features::Sparse(&self.touched, &self.means), slope)
    }

    /// The opposite gradients.
    pub fn negated(&self) -> Self {
        let mut negated = self.clone();
        negated.sums.iter_mut().for_each(|sum| *sum = -*sum);
        negated.slope = -negated.slope;
        negated
    }

    /// Clear, at a cost proportional to the touched coordinates.
    pub fn clear(&mut self) {
        if self.dense {
            self.sums.fill(0.0);
        }
        for index in self.touched.drain(..) {
            self.sums[index as usize] = 0.0;
            self.is_touched[index as usize] = false;
        }
        (self.examples, self.slope, self.dense) = (0.0, 0.0, false);
    }

    /// Remove the coordinates beyond `width`.
    pub fn shrink(&mut self, width: usize) {
        self.sums.truncate(width);
        self.is_touched.truncate(width);
        self.touched.retain(|&index| (index as usize) < width);
    }

    pub fn memory(&self) -> usize {
        8 * (self.sums.capacity() + self.means.capacity())
            + 4 * self.touched.capacity()
            + self.is_touched.capacity()
    }
}
