//! Learners of many classes made of learners of two.

pub mod one_vs_rest;
