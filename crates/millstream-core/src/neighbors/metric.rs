//! Distances between rows.
//!
//! | metric | distance |
//! |---|---|
//! | manhattan (L1) | Σ ∣aⱼ − bⱼ∣ |
//! | euclidean (L2) | √Σ (aⱼ − bⱼ)² |
//! | minkowski (Lp) | (Σ ∣aⱼ − bⱼ∣ᵖ)^(1/p) |
//! | cosine | 1 − cos(a, b) = ½ Σ (aⱼ/∣a∣ − bⱼ/∣b∣)² |
//!
//! All are sums of differences: expanded squares, |a|² − 2 a·b + |b|² and 1 − a·b, lose all digits where rows are close
//! together. Rows are compared by their *sum*, which has the order of the distance; only the distances of the nearest
//! rows are computed from it.
//!
//! Numbers are divided by the scale of their feature first. Two different nominal values count as a difference of 1 in
//! the sum (overlap); the cosine treats each value as a coordinate of its own. Features that one of the rows does not
//! have are left out, and the sum over the other ones is multiplied by (number of features) / (number of features in
//! both), which is the partial distance of Dixon (1979, "Pattern recognition with partly missing data", section II); the
//! cosine needs no such factor. Rows that share no feature are infinitely far apart.

use crate::fault::{Fault, Result};
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    Manhattan,
    Euclidean,
    Minkowski(f64),
    Cosine,
}

pub const METRIC: Parameter = Parameter::new(
    "metric",
    Kind::Choice(&["minkowski", "euclidean", "l2", "manhattan", "l1", "cosine"]),
    Default::Text("minkowski"),
    "distance between rows",
);

pub const P: Parameter = Parameter::new(
    "p",
    Kind::Float(Bounds::new(1.0, true, f64::INFINITY, false)),
    Default::Float(2.0),
    "power of the Minkowski distance: 1 for Manhattan, 2 for Euclidean",
);

impl Metric {
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        let (name, p) = (arguments.text("metric")?, arguments.float("p")?);
        if name != "minkowski" && p != 2.0 {
            return Err(Fault::value(format!(
                "{}: p must be 2.0 unless metric is 'minkowski', got {p} with metric '{name}'",
                arguments.who
            )));
        }
        Ok(match name {
            "minkowski" if p == 1.0 => Metric::Manhattan,
            "minkowski" if p != 2.0 => Metric::Minkowski(p),
            "manhattan" | "l1" => Metric::Manhattan,
            "cosine" => Metric::Cosine,
            _ => Metric::Euclidean,
        })
    }

    /// The distance that a sum stands for.
    pub fn distance(self, sum: f64) -> f64 {
        match self {
            Metric::Manhattan => sum,
            Metric::Euclidean => sum.sqrt(),
            Metric::Minkowski(_) if sum == 0.0 || sum == f64::INFINITY => sum,
            Metric::Minkowski(p) => exp(ln(sum) / p),
            Metric::Cosine => 0.5 * sum,
        }
    }
}

/// A metric as it is compiled into a loop.
pub trait Term: Copy {
    /// Of a difference, or of two coordinates for the cosine.
    fn term(self, difference: f64) -> f64;
}

#[derive(Clone, Copy)]
pub struct Absolute;
#[derive(Clone, Copy)]
pub struct Square;
#[derive(Clone, Copy)]
pub struct Power(pub f64);

impl Term for Absolute {
    #[inline(always)]
    fn term(self, difference: f64) -> f64 {
        difference.abs()
    }
}

impl Term for Square {
    #[inline(always)]
    fn term(self, difference: f64) -> f64 {
        difference * difference
    }
}

impl Term for Power {
    #[inline(always)]
    fn term(self, difference: f64) -> f64 {
        let size = difference.abs();
        if size == 0.0 || !size.is_finite() {
            return size;
        }
        exp(self.0 * ln(size))
    }
}
