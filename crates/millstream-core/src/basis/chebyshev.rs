//! Chebyshev's polynomials T_0, …, T_order of the input moved to [−1, 1].
//!
//! 2 T_i T_j = T_{i+j} + T_{|i−j|}, and ∫ T_n over [−1, 1] is 2 / (1 − n²) for even n and 0 for odd.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::legendre::Orthonormal;
use super::parameters::{self, MOST_ORDER};
use super::structure::{Constant, Structure};
use super::Basis;

pub static DECLARATION: Declaration = Declaration {
    name: "basis.Chebyshev",
    role: Role::Transformer,
    words: "Chebyshev polynomials of the inputs, between -1 and 1 on the bounds",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "order",
            Kind::Integer { low: 0, high: MOST_ORDER },
            Default::Required,
            "highest polynomial order per input",
        ),
        parameters::BOUNDS,
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build: |arguments| {
        let order = arguments.size("order")?;
        let make = move |low: f64, high: f64| -> Result<Box<dyn Structure>> {
            let width = high - low;
            Ok(Box::new(Chebyshev { order, width, orthonormal: Orthonormal::new(order, low, high) }))
        };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct Chebyshev {
    order: usize,
    width: f64,
    orthonormal: Orthonormal,
}

impl Chebyshev {
    fn integral(&self, n: usize) -> f64 {
        match n % 2 {
            0 => self.width / (1.0 - (n * n) as f64),
            _ => 0.0,
        }
    }
}

impl Structure for Chebyshev {
    fn size(&self) -> usize {
        self.order + 1
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        let t = self.orthonormal.scaled(x);
        let (mut before, mut last) = (t, 1.0);
        for out in out {
            *out = last;
            (before, last) = (last, 2.0 * t * last - before);
        }
    }

    fn constant(&self) -> Constant {
        Constant::First
    }

    fn gram(&self) -> Vec<f64> {
        let size = self.size();
        let entry = |i: usize, j: usize| 0.5 * (self.integral(i + j) + self.integral(i.abs_diff(j)));
        (0..size * size).map(|at| entry(at / size, at % size)).collect()
    }

    fn integrals(&self) -> Vec<f64> {
        (0..self.size()).map(|n| self.integral(n)).collect()
    }

    #[inline]
    fn write_orthonormal(&self, x: f64, out: &mut [f64]) -> bool {
        self.orthonormal.write(x, out);
        true
    }

    /// t T_0 = T_1 and t T_k = (T_{k+1} + T_{k−1}) / 2.
    fn transition(&self) -> Option<Vec<f64>> {
        Some(self.orthonormal.transition(|polynomial| {
            let mut product = vec![0.0; polynomial.len() + 1];
            for (k, c) in polynomial.iter().enumerate() {
                match k {
                    0 => product[1] += c,
                    _ => {
                        product[k + 1] += 0.5 * c;
                        product[k - 1] += 0.5 * c;
                    }
                }
            }
            product
        }))
    }

    fn name(&self, index: usize, input: &str) -> String {
        match index {
            0 => "1".into(),
            _ => format!("T{index}({input})"),
        }
    }

    fn remedy(&self) -> &'static str {
        "use a lower order"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.orthonormal.memory()
    }
}
