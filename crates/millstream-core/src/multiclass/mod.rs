//! Learners of many classes made of learners of two.

mod members;
pub mod one_vs_rest;
