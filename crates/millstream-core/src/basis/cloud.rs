//! Gaussian bumps around given points in any number of dimensions.

use crate::fault::{Fault, Result};

use super::gaussian::{bell, overlap};
use crate::linear_algebra::BandedCholesky;

pub struct Cloud {
    /// Point after point.
    centres: Vec<f64>,
    inputs: usize,
    width: f64,
    gram: Vec<f64>,
    factor: BandedCholesky,
}

impl Cloud {
    /// Without a width: that of the cell which a centre has to itself.
    pub fn new(who: &str, pairs: &[(f64, f64)], centres: &[Vec<f64>], width: Option<f64>) -> Result<Self> {
        let (inputs, size) = (pairs.len(), centres.len());
        let volume: f64 = pairs.iter().map(|(low, high)| high - low).product();
        let width = width.unwrap_or_else(|| (volume / size as f64).powf(1.0 / inputs as f64));
        let entry = |a: &[f64], b: &[f64]| -> f64 {
            let each = a.iter().zip(b).zip(pairs);
            each.map(|((a, b), &(low, high))| overlap(*a, *b, low, high, width)).product()
        };
        let gram: Vec<f64> = centres.iter().flat_map(|a| centres.iter().map(|b| entry(a, b))).collect();
        let factor = BandedCholesky::new(&gram, size).map_err(|index| {
            let twin = centres[..index].iter().position(|other| *other == centres[index]);
            let why = match twin {
                Some(twin) => format!("centres {twin} and {index} are the same"),
                None => format!(
                    "the function of centre {index} is a linear combination of earlier ones in double precision, or \
                     vanishes on the bounds; use a smaller width or fewer centres, within the bounds"
                ),
            };
            Fault::value(format!("{who}: the Gram matrix is singular: {why}"))
        })?;
        Ok(Cloud { centres: centres.concat(), inputs, width, gram, factor })
    }

    pub fn size(&self) -> usize {
        self.centres.len() / self.inputs
    }

    pub fn write(&self, x: &[f64], orthonormal: bool, out: &mut [f64]) {
        for (out, centre) in out.iter_mut().zip(self.centres.chunks_exact(self.inputs)) {
            *out = centre.iter().zip(x).map(|(c, x)| bell(x - c, self.width)).product();
        }
        if orthonormal {
            self.factor.solve(out);
        }
    }

    pub fn gram(&self) -> &[f64] {
        &self.gram
    }

    pub fn transition(&self) -> Vec<f64> {
        self.factor.inverse()
    }

    pub fn memory(&self) -> usize {
        8 * (self.centres.capacity() + self.gram.capacity()) + self.factor.memory()
    }
}
