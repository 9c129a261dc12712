//! Ensembles: members that learn the same rows, each in its own way, and predict together.
//!
//! `engine` takes members through rows on many threads, exactly; `combined` makes a learner of them, whose votes
//! `vote_shares` and `aggregation` combine. What a member is, is in the file of each ensemble.

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
