//! Legendre's polynomials P_0, …, P_order of the input moved to [−1, 1]: orthogonal on the bounds,
//! ∫ P_k² = (high − low) / (2k + 1).

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::legendre::Orthonormal;
use super::parameters::{self, MOST_ORDER};
use super::structure::{Constant, Structure};
use super::Basis;

pub static DECLARATION: Declaration = Declaration {
    name: "basis.Legendre",
    role: Role::Transformer,
    words: "Legendre polynomials of the inputs, orthogonal on the bounds",
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
            Ok(Box::new(Legendre { order, width, orthonormal: Orthonormal::new(order, low, high) }))
        };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct Legendre {
    order: usize,
    width: f64,
    orthonormal: Orthonormal,
}

impl Structure for Legendre {
    fn size(&self) -> usize {
        self.order + 1
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        let t = self.orthonormal.scaled(x);
        let (mut before, mut last) = (0.0, 1.0);
        for (k, out) in out.iter_mut().enumerate() {
            *out = last;
            let k = k as f64;
            (before, last) = (last, ((2.0 * k + 1.0) * t * last - k * before) / (k + 1.0));
        }
    }

    fn constant(&self) -> Constant {
        Constant::First
    }

    fn gram(&self) -> Vec<f64> {
        let size = self.size();
        let mut gram = vec![0.0; size * size];
        for k in 0..size {
            gram[k * size + k] = self.width / (2 * k + 1) as f64;
        }
        gram
    }

    fn integrals(&self) -> Vec<f64> {
        (0..self.size()).map(|k| if k == 0 { self.width } else { 0.0 }).collect()
    }

    #[inline]
    fn write_orthonormal(&self, x: f64, out: &mut [f64]) -> bool {
        self.orthonormal.write(x, out);
        true
    }

    fn transition(&self) -> Option<Vec<f64>> {
        let size = self.size();
        let mut triangle = vec![0.0; size * (size + 1) / 2];
        for k in 0..size {
            triangle[k * (k + 1) / 2 + k] = ((2 * k + 1) as f64 / self.width).sqrt();
        }
        Some(triangle)
    }

    fn name(&self, index: usize, input: &str) -> String {
        match index {
            0 => "1".into(),
            _ => format!("P{index}({input})"),
        }
    }

    fn remedy(&self) -> &'static str {
        "use a lower order"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.orthonormal.memory()
    }
}
