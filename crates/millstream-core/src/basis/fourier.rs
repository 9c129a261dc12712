//! 1, cos(2πu), sin(2πu), …, cos(2π order u), sin(2π order u), with u = (x − low) / (high − low): orthogonal on the
//! bounds, which are one period. ∫ 1 = high − low, and half of that for the squares of the others.

use std::f64::consts::TAU;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Default, Kind, Parameter};

use super::parameters::{self, MOST_ORDER};
use super::structure::{Constant, Structure};
use super::Basis;

pub static DECLARATION: Declaration = Declaration {
    name: "basis.Fourier",
    role: Role::Transformer,
    words: "Sines and cosines of the inputs; the bounds are one period",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "order",
            Kind::Integer { low: 0, high: MOST_ORDER },
            Default::Required,
            "highest frequency, in periods between the bounds",
        ),
        parameters::BOUNDS,
        parameters::COMBINE,
        parameters::OUTSIDE,
    ],
    build: |arguments| {
        let order = arguments.size("order")?;
        let make = move |low: f64, high: f64| -> Result<Box<dyn Structure>> {
            Ok(Box::new(Fourier { order, low, width: high - low }))
        };
        Ok(Built::Transformer(Box::new(Basis::new(arguments, &make)?)))
    },
};

struct Fourier {
    order: usize,
    low: f64,
    width: f64,
}

impl Fourier {
    /// The functions times `first` and `others`.
    #[inline]
    fn write_scaled(&self, x: f64, first: f64, others: f64, out: &mut [f64]) {
        // Within one period, so that far away it is still the angle that counts.
        let turn = ((x - self.low) / self.width).fract();
        let (sin, cos) = (TAU * turn).sin_cos();
        let (mut c, mut s) = (others, 0.0);
        let Some((one, waves)) = out.split_first_mut() else { return };
        *one = first;
        for wave in waves.chunks_exact_mut(2) {
            (c, s) = (c * cos - s * sin, s * cos + c * sin);
            (wave[0], wave[1]) = (c, s);
        }
    }

    fn square(&self, index: usize) -> f64 {
        if index == 0 {
            self.width
        } else {
            0.5 * self.width
        }
    }
}

impl Structure for Fourier {
    fn size(&self) -> usize {
        2 * self.order + 1
    }

    fn write(&self, x: f64, out: &mut [f64]) {
        self.write_scaled(x, 1.0, 1.0, out);
    }

    fn constant(&self) -> Constant {
        Constant::First
    }

    fn gram(&self) -> Vec<f64> {
        let size = self.size();
        let mut gram = vec![0.0; size * size];
        (0..size).for_each(|k| gram[k * size + k] = self.square(k));
        gram
    }

    fn integrals(&self) -> Vec<f64> {
        (0..self.size()).map(|k| if k == 0 { self.width } else { 0.0 }).collect()
    }

    #[inline]
    fn write_orthonormal(&self, x: f64, out: &mut [f64]) -> bool {
        self.write_scaled(x, 1.0 / self.width.sqrt(), (2.0 / self.width).sqrt(), out);
        true
    }

    fn transition(&self) -> Option<Vec<f64>> {
        let size = self.size();
        let mut triangle = vec![0.0; size * (size + 1) / 2];
        (0..size).for_each(|k| triangle[k * (k + 1) / 2 + k] = 1.0 / self.square(k).sqrt());
        Some(triangle)
    }

    fn name(&self, index: usize, input: &str) -> String {
        match (index, index % 2) {
            (0, _) => "1".into(),
            (_, 1) => format!("cos{}({input})", index.div_ceil(2)),
            _ => format!("sin{}({input})", index / 2),
        }
    }

    fn remedy(&self) -> &'static str {
        "use a lower order"
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}
