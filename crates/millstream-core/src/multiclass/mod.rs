//! Multiclass classifiers composed of binary classifiers.

pub mod one_vs_rest;
mod one_walk;
