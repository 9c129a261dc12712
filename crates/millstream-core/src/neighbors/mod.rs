//! Learners that predict from the nearest stored rows.
//!
//! | you look for | it is in |
//! |---|---|
//! | stored rows, and how a row is written into them | `points` |
//! | distances, and the scan over all rows | `metric`, `scan` |
//! | scales of features | `scaling` |
//! | the k nearest rows, and their votes | `nearest`, `votes` |
//! | a graph for approximate searches | `hnsw`, `hnsw_search` |
//! | k-nearest neighbours over a window | `knn` |
//! | short-term and long-term memory | `sam_knn`, `memory`, `interleaved_error`, `compression` |

mod compression;
pub mod hnsw;
mod hnsw_search;
mod interleaved_error;
pub mod knn;
mod memory;
mod metric;
mod nearest;
mod points;
pub mod sam_knn;
mod scaling;
mod scan;
mod votes;
