//! Factorisations of matrices, one for each kind of use.
//!
//! | factorisation | its matrix | used by |
//! |---|---|---|
//! | `cholesky` | used once, in place | `neural_network::functional` |
//! | `BandedCholesky` | fixed, perhaps banded; a dependent function is an error | `basis` |
//! | `BorderedTriangle` | used once, with right-hand sides | `continual::streaming_lda` |
//! | `PivotedCholesky` | fixed, perhaps of less than full rank | `linear_model::least_squares` |
//! | `GrowingCholesky` | gains and loses rows and columns | `kernel` |
//! | `tiled_triangle` | a unit triangle that a rank-one update turns, in tiles for vector registers | `linear_model::covariance` |
//! | `Eigendecomposition` | gains g gᵀ | `linear_model::full_vector::full_adagrad` |
//! | `SymmetricEigen` | fixed; the largest eigenvalues | `decomposition` |
//! | `packed_triangle` | no factorisation: a symmetric matrix that gains sums of products | `decomposition`, `covariance` |
//! | `ThinSvd` | few rows or few columns; right singular vectors | `decomposition` |

pub mod banded_cholesky;
pub mod bordered_triangle;
pub mod cholesky;
pub mod eigendecomposition;
pub mod growing_cholesky;
pub mod packed_triangle;
pub mod pivoted_cholesky;
pub mod symmetric_eigen;
pub mod thin_svd;
pub mod tiled_triangle;

pub use banded_cholesky::BandedCholesky;
pub use bordered_triangle::BorderedTriangle;
pub use eigendecomposition::Eigendecomposition;
pub use growing_cholesky::GrowingCholesky;
pub use pivoted_cholesky::PivotedCholesky;
pub use symmetric_eigen::SymmetricEigen;
pub use thin_svd::ThinSvd;
