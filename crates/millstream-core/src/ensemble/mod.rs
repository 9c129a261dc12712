//! Ensembles: members that learn the same rows, each in its own way, and predict together.
//!
//! `engine` passes rows to members on several threads, with exact results; `combined` turns members into a learner,
//! whose votes `vote_shares` and `aggregation` combine. Each ensemble defines its member in its own file.

pub mod adaboost;
pub mod aggregation;
pub mod bagged;
pub mod bagging;
pub mod combined;
pub mod engine;
mod journal;
mod layout;
pub mod learner;
pub mod leveraging_bagging;
mod output_codes;
mod patches;
pub mod poisson;
pub mod record;
pub mod srp;
pub mod stacking;
mod subspace;
pub mod threads;
pub mod vote_shares;
pub mod voting;
