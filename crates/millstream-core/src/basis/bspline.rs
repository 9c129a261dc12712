//! B-splines: piecewise polynomials of a degree that join smoothly, each on a few intervals only (de Boor, 1978).
//!
//! Knots lie evenly between the bounds, and degree + 1 of them on each bound, so that the functions add up to 1
//! everywhere. A product of two is a polynomial on each interval, which Gauss's quadrature integrates exactly.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::parameters;
use super::quadrature::gauss_legendre;
use super::structure::{Constant, Structure};
use super::Basis;

const MOST_DEGREE: usize = 10;

pub static DECLARATION: Declaration = Declaration {
    name: "basis.BSpline",
    role: Role::Transformer,
    words: "B-splines: smooth, local piecewise polynomials of the inputs",
    merge: Merge::STATELESS,
    parameters: &[
        parameters::BOUNDS,
        Parameter::new(
            "intervals",
            Kind::Integer { low: 1, high: 1000 },
            Default::Integer(8),
            "number of equal intervals between the bounds; an input has intervals + degree functions",
        ),
        Parameter::new(
            "degree",
            Kind::Integer { low: 0, high: MOST_DEGREE as i64 },
            Default::Integer(3),
            "polynomial degree of the pieces; 3 gives continuous second derivatives",
        ),
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build: |arguments| {
        let (intervals, degree) = (arguments.size("intervals")?, arguments.size("degree")?);
        let make = move |low: f64, high: f64| -> Result<Box<dyn Structure>> {
            Ok(Box::new(BSpline { low, high, count: intervals + degree, degree }))
        };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct BSpline {
    low: f64,
    high: f64,
    count: usize,
    degree: usize,
}

impl BSpline {
    fn intervals(&self) -> usize {
        self.count - self.degree
    }

    fn knot(&self, index: isize) -> f64 {
        let interval = index.clamp(0, self.intervals() as isize) as f64 / self.intervals() as f64;
        self.low + (self.high - self.low) * interval
    }

    /// The functions that are not 0 on an interval, of which the first has its number (de Boor's recurrence). Beyond
    /// the bounds the pieces of the outer intervals go on.
    fn local(&self, interval: usize, x: f64, out: &mut [f64; MOST_DEGREE + 1]) {
        out[0] = 1.0;
        for degree in 1..=self.degree {
            let mut saved = 0.0;
            for (r, out) in out.iter_mut().enumerate().take(degree) {
                let right = self.knot(interval as isize + r as isize + 1);
                let left = self.knot(interval as isize + r as isize + 1 - degree as isize);
                let fraction = *out / (right - left);
                *out = saved + (right - x) * fraction;
                saved = (x - left) * fraction;
            }
            out[degree] = saved;
        }
    }
}

impl Structure for BSpline {
    fn size(&self) -> usize {
        self.count
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        let position = (x - self.low) / (self.high - self.low) * self.intervals() as f64;
        let interval = (position.max(0.0) as usize).min(self.intervals() - 1);
        let mut local = [0.0; MOST_DEGREE + 1];
        self.local(interval, x, &mut local);
        out.fill(0.0);
        out[interval..=interval + self.degree].copy_from_slice(&local[..=self.degree]);
    }

    fn constant(&self) -> Constant {
        Constant::Sum
    }

    fn gram(&self) -> Vec<f64> {
        let nodes = gauss_legendre(self.degree + 1);
        let mut gram = vec![0.0; self.count * self.count];
        let mut local = [0.0; MOST_DEGREE + 1];
        for interval in 0..self.intervals() {
            let (left, right) = (self.knot(interval as isize), self.knot(interval as isize + 1));
            let half = 0.5 * (right - left);
            for (t, weight) in &nodes {
                self.local(interval, left + half * (1.0 + t), &mut local);
                for i in 0..=self.degree {
                    for j in 0..=self.degree {
                        gram[(interval + i) * self.count + interval + j] += half * weight * local[i] * local[j];
                    }
                }
            }
        }
        gram
    }

    /// A B-spline's integral is the length of its intervals by degree + 1.
    fn integrals(&self) -> Vec<f64> {
        let (degree, count) = (self.degree as isize, self.count as isize);
        let length = |i: isize| self.knot(i + 1) - self.knot(i - degree);
        (0..count).map(|i| length(i) / (degree + 1) as f64).collect()
    }

    fn name(&self, index: usize, input: &str) -> String {
        format!("B{index}({input})")
    }

    fn remedy(&self) -> &'static str {
        "use fewer intervals or a lower degree"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Degree 2 on [0, 2] with two intervals: at x = 1/2 the functions are (1 − x)² = 1/4, x (2 − 3x/2) = 5/8 and
    /// x²/2 = 1/8.
    #[test]
    fn by_hand() {
        let spline = BSpline { low: 0.0, high: 2.0, count: 4, degree: 2 };
        let mut out = [0.0; 4];
        spline.write(0.5, &mut out);
        for (got, wanted) in out.iter().zip([0.25, 0.625, 0.125, 0.0]) {
            assert!((got - wanted).abs() < 1e-15, "{out:?}");
        }
        let (gram, integrals) = (spline.gram(), spline.integrals());
        for i in 0..4 {
            let sum: f64 = gram[4 * i..4 * i + 4].iter().sum();
            assert!((sum - integrals[i]).abs() < 1e-15, "{sum} {}", integrals[i]);
        }
    }
}
