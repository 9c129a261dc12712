//! Text to sparse rows: the formats that no columnar library reads, at the speed of a learner.
//!
//! `Parser` cuts bytes into lines and keeps the end of one block for the next; a `Format` makes one row of one
//! line; a `Block` gathers rows as a compressed sparse matrix with labels and weights beside it. Bytes come from
//! anywhere: whatever they are, a line becomes a row or a `Refusal` with its line and column.

mod blanks;
mod block;
mod libsvm;
mod murmur;
mod names;
mod number;
mod parser;
mod scan;
mod sorter;
mod vowpal_wabbit;
mod words;

pub use block::Block;
pub use libsvm::Libsvm;
pub use murmur::murmur3;
pub use parser::{count_lines, Format, Parser, Problem, Refusal};
pub use vowpal_wabbit::{hash_name, VowpalWabbit};
pub use words::{Norm, Words};
