//! Monomials 1, x, …, x^order.
//!
//! A = ∫ x^(i + j) = (high^n − low^n) / n with n = i + j + 1. It is as good as singular for high orders, and nothing
//! here is computed by way of it: ψ are Legendre's polynomials.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::legendre::Orthonormal;
use super::parameters;
use super::structure::{Constant, Structure};
use super::Basis;

const NAME: &str = "basis.Polynomial";
/// Even on bounds around 0 the terms of higher ones cancel.
const MOST_POWER: i64 = 32;
/// How much larger the terms of an orthonormal polynomial may be than its values: of 16 digits 4 are left.
const MOST_CANCELLATION: f64 = 1e12;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Powers of the inputs: 1, x, x^2, ..., x^order",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "order",
            Kind::Integer { low: 0, high: MOST_POWER },
            Default::Required,
            "highest power per input",
        ),
        parameters::BOUNDS,
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build: |arguments| {
        let order = arguments.size("order")?;
        let make = move |low: f64, high: f64| -> Result<Box<dyn Structure>> {
            Ok(Box::new(Polynomial::new(order, low, high)?))
        };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct Polynomial {
    order: usize,
    low: f64,
    high: f64,
    orthonormal: Orthonormal,
}

impl Polynomial {
    fn new(order: usize, low: f64, high: f64) -> Result<Self> {
        let polynomial = Polynomial { order, low, high, orthonormal: Orthonormal::new(order, low, high) };
        let cancellation = polynomial.cancellation();
        if cancellation.is_nan() || cancellation > MOST_CANCELLATION {
            return Err(Fault::value(format!(
                "{NAME}: order {order} is too high for powers on [{low}, {high}] in double precision: terms that are \
                 {cancellation:.0e} times their sum cancel; use basis.Legendre, which spans the same space"
            )));
        }
        Ok(polynomial)
    }

    /// The terms of the highest orthonormal polynomial at the larger bound, added without their signs, relative to
    /// the polynomial's greatest value.
    fn cancellation(&self) -> f64 {
        let size = self.order + 1;
        let triangle = self.transition().unwrap_or_default();
        let greatest = self.low.abs().max(self.high.abs());
        let terms = triangle[triangle.len() - size..].iter().rev().fold(0.0, |sum, c| sum * greatest + c.abs());
        terms * ((self.high - self.low) / (2 * self.order + 1) as f64).sqrt()
    }
}

impl Structure for Polynomial {
    fn size(&self) -> usize {
        self.order + 1
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        let mut power = 1.0;
        for out in out {
            *out = power;
            power *= x;
        }
    }

    fn constant(&self) -> Constant {
        Constant::First
    }

    fn gram(&self) -> Vec<f64> {
        let size = self.size();
        let moments: Vec<f64> = (0..2 * size).map(|power| moment(self.low, self.high, power)).collect();
        (0..size * size).map(|at| moments[at / size + at % size]).collect()
    }

    fn integrals(&self) -> Vec<f64> {
        (0..self.size()).map(|power| moment(self.low, self.high, power)).collect()
    }

    #[inline]
    fn write_orthonormal(&self, x: f64, out: &mut [f64]) -> bool {
        self.orthonormal.write(x, out);
        true
    }

    fn transition(&self) -> Option<Vec<f64>> {
        let (slope, offset) = self.orthonormal.line();
        Some(self.orthonormal.transition(|polynomial| {
            let mut product = vec![0.0; polynomial.len() + 1];
            for (power, c) in polynomial.iter().enumerate() {
                product[power] += offset * c;
                product[power + 1] += slope * c;
            }
            product
        }))
    }

    fn name(&self, index: usize, input: &str) -> String {
        match index {
            0 => "1".into(),
            1 => input.into(),
            _ => format!("{input}^{index}"),
        }
    }

    fn remedy(&self) -> &'static str {
        "use a lower order"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.orthonormal.memory()
    }
}

/// ∫ x^power
fn moment(low: f64, high: f64, power: usize) -> f64 {
    let n = power as i32 + 1;
    (high.powi(n) - low.powi(n)) / f64::from(n)
}
