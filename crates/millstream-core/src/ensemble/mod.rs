//! Ensembles: members that learn the same rows each in its own way, and answer together.
//!
//! `engine` takes members through rows on many threads, exactly; `class_ensemble` and `number_ensemble` make a
//! classifier or a regressor of them. What a member is, is in the file of each ensemble.

pub mod adaboost;
pub mod bagged;
pub mod bagging;
pub mod class_ensemble;
pub mod engine;
mod journal;
mod layout;
pub mod learner;
pub mod leveraging_bagging;
pub mod number_ensemble;
mod output_codes;
mod patches;
pub mod poisson;
pub mod record;
pub mod srp;
pub mod stacking;
mod subspace;
pub mod threads;
pub mod voting;
