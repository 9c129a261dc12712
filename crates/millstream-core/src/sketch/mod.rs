//! Sketches: summaries of a stream in little memory, with a bound on their error.

pub mod kll;
