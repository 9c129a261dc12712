//! Gaussian bumps e^(−|x − c|² / 2 width²) around centres: a grid of them, or centres that are given.
//!
//! The product of two bumps is a bump around their midpoint, so A has a closed form:
//!
//! ```text
//! ∫ φ_a φ_b = e^(−(a − b)² / 4w²) · w√π/2 · (erf((high − m)/w) − erf((low − m)/w)),  m = (a + b) / 2
//! ```
//! in one dimension, and a product of such integrals in several.

use std::f64::consts::{PI, SQRT_2};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

use super::cloud::Cloud;
use super::parameters::{self, table, Table, MOST_IN_TRIANGLE};
use super::structure::{Constant, Structure};
use super::Basis;
use crate::numeric::error_function::between;

const NAME: &str = "basis.GaussianRBF";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Gaussian bumps around the points of a grid, or around given centres",
    merge: Merge::STATELESS,
    parameters: &[
        parameters::BOUNDS,
        Parameter::new(
            "count",
            Kind::Integer { low: 1, high: 1000 },
            Default::Integer(10),
            "number of grid centres per input, bounds included",
        ),
        Parameter::new(
            "width",
            Kind::Optional(&Kind::Float(Bounds::POSITIVE)),
            Default::Null,
            "standard deviation of a bump; None for the distance between centres",
        ),
        Parameter::new(
            "centres",
            Kind::Optional(&Kind::Table("a list of numbers, or of points as lists of numbers")),
            Default::Null,
            "centres to use instead of a grid",
        ),
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let width = arguments.value("width")?.as_f64();
    let centres = match table(arguments.value("centres")?) {
        None => {
            let count = arguments.size("count")?;
            let make = move |low: f64, high: f64| -> Result<Box<dyn Structure>> {
                let spacing = (high - low) / count.saturating_sub(1).max(1) as f64;
                let centre = |i: usize| if count == 1 { 0.5 * low + 0.5 * high } else { low + spacing * i as f64 };
                let centres = (0..count).map(centre).collect();
                Ok(Box::new(Gaussians { low, high, width: width.unwrap_or(spacing), centres }))
            };
            return Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)));
        }
        Some(Table::Row(numbers)) => numbers.into_iter().map(|number| vec![number]).collect(),
        Some(Table::Rows(rows)) => rows,
    };
    let inputs = centres.first().map_or(0, Vec::len);
    if inputs == 0 || centres.iter().any(|centre| centre.len() != inputs) || centres.len() > MOST_IN_TRIANGLE {
        return Err(Fault::value(format!(
            "{NAME}: centres must be 1 to {MOST_IN_TRIANGLE} numbers, or points of as many numbers as there are inputs"
        )));
    }
    let cloud = |pairs: &[(f64, f64)]| Cloud::new(NAME, pairs, &centres, width);
    Ok(Built::Transformer(Box::new(Basis::around(arguments, inputs, &cloud)?)))
}

/// ∫ φ_a φ_b
pub fn overlap(a: f64, b: f64, low: f64, high: f64, width: f64) -> f64 {
    let (half, middle) = (0.5 * (a - b) / width, a + 0.5 * (b - a));
    (-half * half).exp() * 0.5 * width * PI.sqrt() * between((low - middle) / width, (high - middle) / width)
}

#[inline]
pub fn bell(distance: f64, width: f64) -> f64 {
    let z = distance / width;
    (-0.5 * z * z).exp()
}

struct Gaussians {
    low: f64,
    high: f64,
    width: f64,
    centres: Vec<f64>,
}

impl Structure for Gaussians {
    fn size(&self) -> usize {
        self.centres.len()
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        for (out, centre) in out.iter_mut().zip(&self.centres) {
            *out = bell(x - centre, self.width);
        }
    }

    fn constant(&self) -> Constant {
        Constant::Absent
    }

    fn gram(&self) -> Vec<f64> {
        let Gaussians { low, high, width, centres } = self;
        centres.iter().flat_map(|a| centres.iter().map(move |b| overlap(*a, *b, *low, *high, *width))).collect()
    }

    fn integrals(&self) -> Vec<f64> {
        let scale = self.width * SQRT_2;
        let integral =
            |c: &f64| 0.5 * scale * PI.sqrt() * between((self.low - c) / scale, (self.high - c) / scale);
        self.centres.iter().map(integral).collect()
    }

    fn name(&self, index: usize, input: &str) -> String {
        format!("rbf{index}({input})")
    }

    fn remedy(&self) -> &'static str {
        "use a smaller width or fewer centres"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.centres.capacity()
    }
}
