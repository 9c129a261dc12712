//! Learners that are linear in the feature space of a kernel: f(x) = Σᵢ cᵢ k(xᵢ, x).
//!
//! | topic | module |
//! |---|---|
//! | the kernels | `kernels`; on strings: `string_kernel` |
//! | the stored points, and all kernel values at once | `points`, `dictionary` |
//! | the recursion, and budget maintenance | `expansion`, `budget`, `merging`, `projection` |
//! | least squares over a dictionary | `kernel_rls` |
//! | feature maps for linear learners | `random_fourier_features`, `nystroem` |

mod budget;
mod dictionary;
mod expansion;
pub mod kernel_rls;
pub mod kernel_sgd;
mod kernels;
mod merging;
pub mod nystroem;
mod points;
mod projection;
pub mod random_fourier_features;
mod simd_math;
mod string_kernel;

pub use kernels::{Kernel, LAPLACE, LINEAR, POLYNOMIAL, RBF, SIGMOID};
pub use string_kernel::STRING;
