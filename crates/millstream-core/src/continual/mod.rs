//! Learning new classes, domains and tasks without forgetting the earlier ones.
//!
//! | you look for | it is in |
//! |---|---|
//! | learners that cannot forget, because they keep sums | `nearest_class_mean`, `streaming_lda` |
//! | stored rows, and which ones a buffer keeps | `buffer` |
//! | wrappers of any learner | `replay`, `gdumb` |
//! | learners around a network | `guided`, and a file for each method |

pub mod a_gem;
pub mod buffer;
mod class_means;
pub mod der_plus_plus;
pub mod ewc;
pub mod gdumb;
mod guided;
pub mod lwf;
pub mod nearest_class_mean;
pub mod replay;
pub mod si;
pub mod streaming_lda;
