//! The mean of each class, with the features of a row as one vector.

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::linear_model::Coordinates;
use crate::merging::{Merger, Side};
use crate::optim::Features;
use crate::row::{all_finite, Row, Scratch};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassMeans {
    pub coordinates: Coordinates,
    /// By class code: the sum of weights, 0 for a class that was not met.
    pub counts: Vec<f64>,
    /// By class code: the mean of each coordinate.
    pub means: Vec<Vec<f64>>,
}

/// What there was before an example.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    width: usize,
    classes: usize,
}

impl ClassMeans {
    pub fn width(&self) -> usize {
        self.coordinates.width()
    }

    /// Sum of all weights.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Make room for the features of `x` and for class `y`.
    pub fn grow(&mut self, who: &str, most: usize, x: Row<'_>, y: usize) -> Result<Growth> {
        let growth = Growth { width: self.width(), classes: self.counts.len() };
        if self.coordinates.may_grow(x) {
            self.coordinates.grow(x);
            if self.width() > most {
                let width = self.width();
                self.coordinates.shrink(growth.width);
                return Err(Fault::value(format!(
                    "{who}: supports up to {most} features and nominal values, got {width}"
                )));
            }
        }
        if self.counts.len() <= y {
            self.counts.resize(y + 1, 0.0);
            self.means.resize(y + 1, Vec::new());
        }
        let width = self.width();
        if growth.width < width || growth.classes < self.counts.len() {
            self.means.iter_mut().for_each(|mean| mean.resize(width, 0.0));
        }
        Ok(growth)
    }

    pub fn shrink(&mut self, growth: Growth) {
        self.coordinates.shrink(growth.width);
        self.counts.truncate(growth.classes);
        self.means.truncate(growth.classes);
        self.means.iter_mut().for_each(|mean| mean.truncate(growth.width));
    }

    /// A row as a vector over all coordinates.
    pub fn vector(&self, x: Row<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        out.clear();
        let located = self.coordinates.locate(x, scratch);
        match located.features() {
            Features::Dense(values) => out.extend_from_slice(&values[..self.width()]),
            Features::Sparse(indices, values) => {
                out.resize(self.width(), 0.0);
                for (&index, &value) in indices.iter().zip(values) {
                    if let Some(number) = out.get_mut(index as usize) {
                        *number = value;
                    }
                }
            }
        }
        located.release(scratch);
    }

    pub fn validate(&self, who: &str) -> Result<()> {
        self.coordinates.validate(who)?;
        require(who, self.means.len() == self.counts.len(), "classes without a mean")?;
        let counts = self.counts.iter().all(|count| count.is_finite() && *count >= 0.0);
        require(who, counts && self.total().is_finite(), "a count is not finite")?;
        let wide = self.means.iter().all(|mean| mean.len() == self.width() && all_finite(mean));
        require(who, wide, "a mean is not valid")?;
        require(who, self.width() == 0 || self.total() > 0.0, "coordinates without examples")
    }

    /// Add the classes of another part, or subtract those of a base (`sign` −1): `moved` receives, for each class, its
    /// count and mean here before, and there by our coordinates.
    pub fn join(
        &mut self,
        other: &ClassMeans,
        side: Side<'_>,
        merger: &Merger<'_>,
        sign: f64,
        mut moved: impl FnMut((f64, &[f64]), (f64, &[f64])),
    ) -> Result<Vec<u32>> {
        let indices = self.coordinates.join(&other.coordinates, side.schema, merger.ours)?;
        let width = self.width();
        self.means.iter_mut().for_each(|mean| mean.resize(width, 0.0));
        for ((&count, mean), &code) in other.counts.iter().zip(&other.means).zip(side.codes) {
            if code == u32::MAX || count == 0.0 {
                continue;
            }
            let code = code as usize;
            if self.counts.len() <= code {
                self.counts.resize(code + 1, 0.0);
                self.means.resize(code + 1, vec![0.0; width]);
            }
            let mut theirs = vec![0.0; width];
            indices.iter().zip(mean).for_each(|(&index, mean)| theirs[index as usize] = *mean);
            moved((self.counts[code], &self.means[code]), (count, &theirs));
            let sum = self.counts[code] + sign * count;
            let fraction = if sum > 0.0 { sign * count / sum } else { 0.0 };
            self.means[code]
                .iter_mut()
                .zip(&theirs)
                .for_each(|(ours, theirs)| *ours += fraction * (theirs - *ours));
            self.counts[code] = sum.max(0.0);
        }
        Ok(indices)
    }

    pub fn memory(&self) -> usize {
        self.coordinates.memory()
            + 8 * self.counts.capacity()
            + self.means.iter().map(|mean| 24 + 8 * mean.capacity()).sum::<usize>()
    }
}
