//! Learners that are linear in the space of a kernel: f(x) = Σᵢ cᵢ k(xᵢ, x).
//!
//! | you look for | it is in |
//! |---|---|
//! | what a kernel is, and each of them | `kernels`; on texts: `texts` |
//! | the points that are kept, and all kernel values at once | `points`, `dictionary` |
//! | the recursion, and what happens when the budget is full | `machine`, `upkeep`, `merging`, `projection`, `factor` |
//! | least squares over a dictionary | `kernel_rls` |
//! | maps that let a linear learner stand in | `random_fourier_features`, `nystroem` |

mod dictionary;
pub mod kernel_rls;
pub mod kernel_sgd;
mod kernels;
mod lanes;
mod machine;
mod merging;
pub mod nystroem;
mod points;
mod projection;
pub mod random_fourier_features;
mod texts;
mod upkeep;

pub use kernels::{Kernel, LAPLACE, LINEAR, POLYNOMIAL, RBF, SIGMOID};
pub use texts::STRING;
