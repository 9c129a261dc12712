//! Vectors over the coordinates, one per component, and the rule of their signs.
//!
//! An eigenvector is determined up to its sign. Among new components, the entry of largest magnitude is positive.
//! A component that replaces others has the sign with which it is nearest to one of them, so that the output of a
//! row does not change its sign from one refresh to the next.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::dot;
use crate::row::all_finite;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Components {
    pub width: usize,
    /// One after the other.
    pub vectors: Vec<f64>,
}

impl Components {
    pub fn len(&self) -> usize {
        self.vectors.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn each(&self) -> std::slice::ChunksExact<'_, f64> {
        self.vectors.chunks_exact(self.width.max(1))
    }

    /// Become these vectors, with the signs of the `previous` ones, which may have had fewer coordinates.
    pub fn replace(&mut self, previous: &Components, vectors: &[f64], width: usize) {
        self.width = width;
        self.vectors.clear();
        self.vectors.extend_from_slice(vectors);
        for vector in self.vectors.chunks_exact_mut(width.max(1)) {
            let nearest = previous.each().map(|other| dot(other, vector)).fold(0.0f64, |nearest, along| {
                if along.abs() > nearest.abs() {
                    along
                } else {
                    nearest
                }
            });
            let decisive = if nearest == 0.0 { largest_entry(vector) } else { nearest };
            if decisive < 0.0 {
                vector.iter_mut().for_each(|x| *x = -*x);
            }
        }
    }

    /// The product of each component with a row.
    pub fn project(&self, x: &[f64], out: &mut [f64]) {
        for (out, component) in out.iter_mut().zip(self.each()) {
            *out = dot(component, x);
        }
    }

    pub fn validate(&self, who: &str, most: usize) -> Result<()> {
        let sized = self.len() * self.width == self.vectors.len() && self.len() <= most;
        require(who, sized, "components of the wrong length")?;
        require(who, all_finite(&self.vectors), "a component is not finite")
    }

    pub fn memory(&self) -> usize {
        8 * self.vectors.capacity()
    }

    pub fn listed(&self) -> Vec<Vec<f64>> {
        self.each().map(<[f64]>::to_vec).collect()
    }
}

/// The entry of largest magnitude, the first among equals.
pub fn largest_entry(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0f64, |largest, &x| if x.abs() > largest.abs() { x } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_by_hand() {
        let mut first = Components::default();
        first.replace(&Components::default(), &[0.6, -0.8, 0.0, 1.0], 2);
        assert_eq!(first.vectors, [-0.6, 0.8, 0.0, 1.0]);
        // (0.6, −0.8) is the first turned round, (−0.8, −0.6, 0) is nearer to the second, and (0, 0, −1) is new.
        let mut second = Components::default();
        second.replace(&first, &[0.6, -0.8, 0.0, -0.8, -0.6, 0.0, 0.0, 0.0, -1.0], 3);
        assert_eq!(second.vectors, [-0.6, 0.8, 0.0, 0.8, 0.6, 0.0, 0.0, 0.0, 1.0]);
        let mut out = [0.0; 3];
        second.project(&[1.0, 2.0, 3.0], &mut out);
        assert!(out.iter().zip([1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-15), "{out:?}");
    }
}
