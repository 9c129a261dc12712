//! One input: a structure on its bounds, in its own functions and in orthonormal ones.

use crate::fault::{Fault, Result};

use super::parameters::Combine;
use super::structure::{Constant, Structure};
use crate::linear_algebra::BandedCholesky;

pub struct Axis {
    low: f64,
    high: f64,
    structure: Box<dyn Structure>,
    lead: Lead,
    /// Where ψ is not known in closed form.
    factor: Option<BandedCholesky>,
}

/// How the constant comes to be the first function, as a sum over inputs needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// The structure's functions as they are.
    Own,
    /// 1 in place of the first one.
    Replaces,
    /// 1 before all of them.
    Precedes,
}

impl Axis {
    pub fn new(who: &str, low: f64, high: f64, structure: Box<dyn Structure>, combine: Combine) -> Result<Self> {
        let lead = match (combine, structure.constant()) {
            (Combine::Tensor, _) | (Combine::Additive, Constant::First) => Lead::Own,
            (Combine::Additive, Constant::Sum) => Lead::Replaces,
            (Combine::Additive, Constant::Absent) => Lead::Precedes,
        };
        let mut axis = Axis { low, high, structure, lead, factor: None };
        if lead != Lead::Own || axis.structure.transition().is_none() {
            let factor = BandedCholesky::new(&axis.gram(), axis.size()).map_err(|index| {
                Fault::value(format!(
                    "{who}: the Gram matrix is singular: function {} on [{low}, {high}] is a linear combination of \
                     earlier ones in double precision; {}",
                    axis.name(index, "x"),
                    axis.structure.remedy()
                ))
            })?;
            axis.factor = Some(factor);
        }
        Ok(axis)
    }

    pub fn size(&self) -> usize {
        self.structure.size() + usize::from(self.lead == Lead::Precedes)
    }

    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// The user's functions at `x`.
    #[inline]
    pub fn write(&self, x: f64, out: &mut [f64]) {
        match self.lead {
            Lead::Own => self.structure.write(x, out),
            Lead::Replaces => {
                self.structure.write(x, out);
                out[0] = 1.0;
            }
            Lead::Precedes => {
                out[0] = 1.0;
                self.structure.write(x, &mut out[1..]);
            }
        }
    }

    /// Orthonormal functions of the same space at `x`.
    #[inline]
    pub fn write_orthonormal(&self, x: f64, out: &mut [f64]) {
        match &self.factor {
            Some(factor) => {
                self.write(x, out);
                factor.solve(out);
            }
            None => {
                self.structure.write_orthonormal(x, out);
            }
        }
    }

    /// A = ∫ φφᵀ, by rows.
    pub fn gram(&self) -> Vec<f64> {
        let own = self.structure.gram();
        if self.lead == Lead::Own {
            return own;
        }
        let (size, count) = (self.size(), self.structure.size());
        let skip = usize::from(self.lead == Lead::Precedes);
        let integrals = self.integrals();
        let mut gram = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..size {
                gram[i * size + j] = match (i, j) {
                    (0, k) | (k, 0) => integrals[k],
                    _ => own[(i - skip) * count + j - skip],
                };
            }
        }
        gram
    }

    /// ∫ φ
    pub fn integrals(&self) -> Vec<f64> {
        let mut integrals = self.structure.integrals();
        match self.lead {
            Lead::Own => {}
            Lead::Replaces => integrals[0] = self.width(),
            Lead::Precedes => integrals.insert(0, self.width()),
        }
        integrals
    }

    /// The coefficients of ψ in φ: a lower triangle by rows.
    pub fn transition(&self) -> Vec<f64> {
        match &self.factor {
            Some(factor) => factor.inverse(),
            None => self.structure.transition().unwrap_or_default(),
        }
    }

    pub fn name(&self, index: usize, input: &str) -> String {
        match self.lead {
            Lead::Own => self.structure.name(index, input),
            _ if index == 0 => "1".into(),
            Lead::Replaces => self.structure.name(index, input),
            Lead::Precedes => self.structure.name(index - 1, input),
        }
    }

    pub fn memory(&self) -> usize {
        self.structure.memory() + self.factor.as_ref().map_or(0, BandedCholesky::memory)
    }
}
