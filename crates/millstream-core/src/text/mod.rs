//! Parsers for text formats with sparse rows, which columnar libraries do not read, as fast as a learner.
//!
//! `Parser` splits bytes into lines and keeps the last, incomplete line for the next block; a `Format` parses a line to
//! a row; a `Block` collects rows as a compressed sparse matrix with labels and weights. The bytes are untrusted: each
//! line becomes a row or a `Refusal` with its line and column.

mod blanks;
mod block;
mod feature_names;
mod libsvm;
mod line_features;
mod murmur;
mod names;
mod number;
mod parser;
mod scan;
pub(crate) mod sorter;
pub mod vocabulary;
mod vowpal_wabbit;
mod words;

pub use block::Block;
pub use feature_names::FeatureNames;
pub use libsvm::Libsvm;
pub use line_features::LineFeatures;
pub use murmur::murmur3;
pub use number::number;
pub use parser::{count_lines, Format, Parser, Problem, Refusal};
pub use vowpal_wabbit::{hash_name, VowpalWabbit, CONSTANT};
pub use words::{Norm, Words};
