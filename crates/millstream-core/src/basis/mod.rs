//! Basis functions φ(x) on a bounded domain Ω, as transformers in front of a linear learner.
//!
//! For one input each structure has its own file (`Structure`): its functions, their Gram matrix
//! A = ∫_Ω φφᵀ in closed form where there is one, and their names. `Basis` combines it to functions of several
//! inputs (products, or sums by input), checks the bounds, and is built by the registry.
//!
//! A learner that minimises the change of a function over Ω (IRMA) needs A⁻¹. In a basis ψ = Cφ of the same space that
//! is orthonormal on Ω, A is the identity, so such a learner asks the basis in front of it for ψ
//! (`BasisFunctions::set_orthonormal`). Monomials of order 10 on [0, 3] have an A of condition 10¹⁸, and cannot be
//! orthonormalised by way of A in double precision; by the recurrence of Legendre's polynomials ψ is exact to rounding.

mod axis;
pub mod bspline;
pub mod chebyshev;
mod cloud;
pub mod fourier;
mod frame;
mod functions;
pub mod gaussian;
pub mod grid;
mod legendre;
pub mod legendre_polynomials;
mod parameters;
pub mod polynomial;
mod quadrature;
mod structure;

pub use axis::Axis;
pub use frame::Basis;
pub use parameters::{outside, Outside, Region, BOUNDS, OUTSIDE};
pub use structure::{Constant, Structure};
