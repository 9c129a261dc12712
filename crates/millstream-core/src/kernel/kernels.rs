//! The kernels: k(x, z), an inner product in a feature space.
//!
//! | kernel | k(x, z) |
//! |---|---|
//! | linear | x·z |
//! | polynomial | (γ x·z + c)^degree |
//! | RBF | exp(−γ ‖x − z‖²) |
//! | Laplace | exp(−γ ‖x − z‖₁) |
//! | sigmoid | tanh(γ x·z + c), which is no inner product for all γ and c, but is used as one |
//!
//! Distances are sums of differences, not |x|² + |z|² − 2 x·z with precomputed squared lengths: that is no faster here
//! (the sum runs over eight points side by side and is bound by loading them) and loses all digits where points are
//! close together and far from 0.
//!
//! scikit-learn's gamma="scale" needs all data before the first example. The default of 0.1 suits about ten features of
//! unit variance; 1 / (number of features) is a good start.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
use crate::registry;

use super::points::{Points, Vector, WIDE};
use super::simd_math::exp_each;
use super::string_kernel::StringKernel;

/// The parameter of learners that have a kernel.
pub const KERNEL: Parameter = Parameter::new(
    "kernel",
    Kind::Part(&[Role::Kernel]),
    Default::Part("kernel.RBF"),
    "kernel function: the similarity of two examples",
);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    Linear,
    Polynomial {
        degree: i32,
        gamma: f64,
        coef0: f64,
    },
    Rbf {
        gamma: f64,
    },
    Laplace {
        gamma: f64,
    },
    Sigmoid {
        gamma: f64,
        coef0: f64,
    },
    /// On strings instead of vectors: see `string_kernel`.
    String(StringKernel),
}

impl Kernel {
    /// The kernel that a description in JSON describes.
    pub fn described(description: &str) -> Result<Self> {
        let description = serde_json::from_str(description)
            .map_err(|error| Fault::value(format!("millstream: not a description: {error}")))?;
        match registry::build_resolved(&registry::resolve(&description)?)? {
            Built::Kernel(kernel) => Ok(kernel),
            _ => Err(Fault::wrong_type("millstream: not the description of a kernel")),
        }
    }

    /// The kernel on vectors that is the parameter `kernel`.
    pub fn of(arguments: &Arguments<'_>) -> Result<Self> {
        match arguments.part("kernel")? {
            Built::Kernel(Kernel::String(_)) => Err(Fault::value(format!(
                "{}: kernel.String works on strings, which only KernelSGD, KernelRLS and Nystroem accept, alone or in a \
                 pipeline",
                arguments.who
            ))),
            Built::Kernel(kernel) => Ok(kernel),
            _ => Err(arguments.absent("kernel")),
        }
    }

    /// k(s, t) for each of several strings, not normalised; None for a kernel on vectors.
    pub fn texts(&self, s: &str, texts: &[String]) -> Vec<f64> {
        match self {
            Kernel::String(kernel) => texts.iter().map(|t| kernel.raw(s, t)).collect(),
            _ => Vec::new(),
        }
    }

    /// k(x, z) for all rows x and z of two matrices with this many columns, row by row.
    pub fn gram(&self, x: &[f64], z: &[f64], width: usize) -> Vec<f64> {
        let mut points = Points::default();
        points.fit(width);
        let (mut vector, mut row, mut gram) = (Vector::default(), Vec::new(), Vec::new());
        let mut each = |rows: &[f64], visit: &mut dyn FnMut(&Vector)| {
            for values in rows.chunks_exact(width.max(1)) {
                vector.set(values, width > WIDE);
                visit(&vector);
            }
        };
        each(z, &mut |z| points.push(z));
        each(x, &mut |x| {
            self.row(&points, x, &mut row);
            gram.extend_from_slice(&row);
        });
        gram
    }

    /// k(x, z) for every point z, into `out`.
    pub fn row(&self, points: &Points, x: &Vector, out: &mut Vec<f64>) {
        match *self {
            Kernel::Linear | Kernel::Polynomial { .. } | Kernel::Sigmoid { .. } | Kernel::String(_) => {
                points.fold(x, out, |sum, x, z| sum + x * z);
            }
            Kernel::Rbf { .. } => points.fold(x, out, |sum, x, z| sum + (x - z) * (x - z)),
            Kernel::Laplace { .. } => points.fold(x, out, |sum, x, z| sum + (x - z).abs()),
        }
        self.finish(out);
    }

    /// k(x, x)
    pub fn itself(&self, x: &Vector) -> f64 {
        match self {
            Kernel::Rbf { .. } | Kernel::Laplace { .. } => 1.0,
            _ => {
                let mut one = [x.square()];
                self.finish(&mut one);
                one[0]
            }
        }
    }

    /// From inner products or distances to kernel values.
    fn finish(&self, values: &mut [f64]) {
        match *self {
            Kernel::Linear | Kernel::String(_) => {}
            Kernel::Polynomial { degree, gamma, coef0 } => {
                values.iter_mut().for_each(|value| *value = (gamma * *value + coef0).powi(degree));
            }
            Kernel::Rbf { gamma } | Kernel::Laplace { gamma } => {
                values.iter_mut().for_each(|value| *value *= -gamma);
                exp_each(values);
            }
            Kernel::Sigmoid { gamma, coef0 } => {
                values.iter_mut().for_each(|value| *value = (gamma * *value + coef0).tanh());
            }
        }
    }
}

const GAMMA: Parameter = Parameter::new(
    "gamma",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(0.1),
    "kernel coefficient: how fast similarity falls with distance; 1 / (number of features) is a good start",
);
const SLOPE: Parameter = Parameter::new(
    "gamma",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(0.1),
    "kernel coefficient: factor of the inner product",
);
const COEF0: Parameter =
    Parameter::new("coef0", Kind::Float(Bounds::ANY), Default::Float(1.0), "constant added to the inner product");

pub static LINEAR: Declaration = Declaration {
    name: "kernel.Linear",
    role: Role::Kernel,
    words: "Linear kernel: the inner product of two examples",
    merge: Merge::SETTING,
    parameters: &[],
    build: |_| Ok(Built::Kernel(Kernel::Linear)),
};

pub static POLYNOMIAL: Declaration = Declaration {
    name: "kernel.Polynomial",
    role: Role::Kernel,
    words: "Polynomial kernel: all products of up to degree features",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "degree",
            Kind::Integer { low: 1, high: 100 },
            Default::Integer(3),
            "degree of the polynomial",
        ),
        SLOPE,
        COEF0,
    ],
    build: |arguments| {
        Ok(Built::Kernel(Kernel::Polynomial {
            degree: arguments.integer("degree")? as i32,
            gamma: arguments.float("gamma")?,
            coef0: arguments.float("coef0")?,
        }))
    },
};

pub static RBF: Declaration = Declaration {
    name: "kernel.RBF",
    role: Role::Kernel,
    words: "Gaussian (radial basis function) kernel of the distance between two examples",
    merge: Merge::SETTING,
    parameters: &[GAMMA],
    build: |arguments| Ok(Built::Kernel(Kernel::Rbf { gamma: arguments.float("gamma")? })),
};

pub static LAPLACE: Declaration = Declaration {
    name: "kernel.Laplace",
    role: Role::Kernel,
    words: "Laplacian kernel: exponential of minus the L1 distance between two examples",
    merge: Merge::SETTING,
    parameters: &[GAMMA],
    build: |arguments| Ok(Built::Kernel(Kernel::Laplace { gamma: arguments.float("gamma")? })),
};

pub static SIGMOID: Declaration = Declaration {
    name: "kernel.Sigmoid",
    role: Role::Kernel,
    words: "Sigmoid kernel: hyperbolic tangent of the inner product",
    merge: Merge::SETTING,
    parameters: &[SLOPE, COEF0],
    build: |arguments| {
        Ok(Built::Kernel(Kernel::Sigmoid { gamma: arguments.float("gamma")?, coef0: arguments.float("coef0")? }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// x = (1, 2), z = (3, −1): x·z = 1, ‖x − z‖² = 13, ‖x − z‖₁ = 5; |x|² = 5.
    #[test]
    fn each_by_hand() {
        let mut points = Points::default();
        points.fit(2);
        points.push(&Vector::of(&[3.0, -1.0]));
        let x = Vector::of(&[1.0, 2.0]);
        for (kernel, between, itself) in [
            (Kernel::Linear, 1.0, 5.0),
            (Kernel::Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 }, 3.375, 42.875),
            (Kernel::Rbf { gamma: 0.1 }, (-1.3f64).exp(), 1.0),
            (Kernel::Laplace { gamma: 0.2 }, (-1f64).exp(), 1.0),
            (Kernel::Sigmoid { gamma: 0.5, coef0: -1.0 }, (-0.5f64).tanh(), 1.5f64.tanh()),
        ] {
            let mut row = Vec::new();
            kernel.row(&points, &x, &mut row);
            assert!((row[0] - between).abs() < 1e-15, "{kernel:?}: {row:?}");
            assert!((kernel.itself(&x) - itself).abs() < 1e-15, "{kernel:?}");
        }
    }
}
