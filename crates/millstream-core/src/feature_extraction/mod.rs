//! Features from others.

pub mod aggregate;
