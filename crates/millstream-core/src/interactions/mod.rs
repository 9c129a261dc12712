//! Products of features that are summed over without being stored with the rows.
//!
//! A row holds its features by *group* (a namespace of Vowpal Wabbit's, or features selected by name). `Interactions` says
//! which groups are multiplied; a `Walker` makes one row of them at a time, in buffers that are reused. A table of such
//! rows thus takes the memory of its features, whatever the number of their products.

mod specification;
mod walker;

pub use specification::{Interactions, Selection, WILDCARD};
pub use walker::{combinations, CrossedRow, CrossedTable, Group, Walker, PRIME};
