//! Bandits: policies that choose actions and learn from their rewards.

pub mod contextual;
