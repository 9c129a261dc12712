//! A table of values at the points of a grid, with straight lines between them: in several inputs multilinear.
//!
//! A function is 1 at its point and falls to 0 at the points beside it. On an interval of length h, ∫ φ_i² = h/3 and
//! ∫ φ_i φ_{i+1} = h/6.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::parameters;
use super::structure::{Constant, Structure};
use super::Basis;

pub static DECLARATION: Declaration = Declaration {
    name: "basis.Grid",
    role: Role::Transformer,
    words: "A lookup table on a grid of the inputs, linear between its points",
    merge: Merge::STATELESS,
    parameters: &[
        parameters::BOUNDS,
        Parameter::new(
            "count",
            Kind::Integer { low: 2, high: 10_000 },
            Default::Integer(11),
            "number of grid points per input, bounds included",
        ),
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build: |arguments| {
        let count = arguments.size("count")?;
        let make =
            move |low: f64, high: f64| -> Result<Box<dyn Structure>> { Ok(Box::new(Grid { low, high, count })) };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct Grid {
    low: f64,
    high: f64,
    count: usize,
}

impl Grid {
    fn spacing(&self) -> f64 {
        (self.high - self.low) / (self.count - 1) as f64
    }
}

impl Structure for Grid {
    fn size(&self) -> usize {
        self.count
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        let position = (x - self.low) / (self.high - self.low) * (self.count - 1) as f64;
        let cell = (position.max(0.0) as usize).min(self.count - 2);
        let fraction = position - cell as f64;
        out.fill(0.0);
        (out[cell], out[cell + 1]) = (1.0 - fraction, fraction);
    }

    fn constant(&self) -> Constant {
        Constant::Sum
    }

    fn gram(&self) -> Vec<f64> {
        let (n, h) = (self.count, self.spacing());
        let mut gram = vec![0.0; n * n];
        for cell in 0..n - 1 {
            gram[cell * n + cell] += h / 3.0;
            gram[(cell + 1) * n + cell + 1] += h / 3.0;
            gram[cell * n + cell + 1] = h / 6.0;
            gram[(cell + 1) * n + cell] = h / 6.0;
        }
        gram
    }

    fn integrals(&self) -> Vec<f64> {
        let h = self.spacing();
        (0..self.count).map(|i| if i == 0 || i + 1 == self.count { 0.5 * h } else { h }).collect()
    }

    fn name(&self, index: usize, input: &str) -> String {
        let point = self.low + (self.high - self.low) * (index as f64 / (self.count - 1) as f64);
        format!("{input}={point}")
    }

    fn remedy(&self) -> &'static str {
        "use fewer points"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}
