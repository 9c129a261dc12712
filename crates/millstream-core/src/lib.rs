//! Online learners, statistics, metrics and the loops around them. Knows no Python, no network, no clock.
//!
//! | you look for | it is in |
//! |---|---|
//! | all that can be built | `registry` |
//! | how a component is declared | `declaration` |
//! | what a learner must do | `part`, `learner`; what it is asked: `task` |
//! | how a parameter is declared and checked | `parameter` |
//! | one example | `row`; a dict on its way to one: `draft`; many: `table`, `batch` |
//! | feature names, class labels | `schema`, `labels` |
//! | a component with the names, labels and count of its stream | `held`; saved files: `held::state` |
//! | one small model per key | `keyed`; the state of a component as words: `exchange` |
//! | products of groups of features, made row by row | `interactions` |
//! | Vowpal Wabbit and libsvm text, words to hashed features | `text` |
//! | what a forecaster must do | `forecaster`; the forecasters: `time_series` |
//! | what a policy must do | `policy`; the policies: `bandit` |
//! | learning without forgetting: stored rows, discriminants, guided networks | `continual` |
//! | what a sampler must do | `sampler`; the samplers: `sampling` |
//! | what a sketch must do | `sketch::role`; the sketches: `sketch` |
//! | JSON of untrusted bodies | `json`; events that wait for a label: `serving` |
//! | streams with a known truth | `synth`; randomness from a seed: `numeric::random`, `numeric::elementary` |

pub mod anomaly;
pub mod art;
pub mod bandit;
pub mod baseline;
pub mod basis;
pub mod batch;
pub mod cluster;
pub mod compose;
pub mod continual;
pub mod covariance;
pub mod covariance_estimator;
pub mod declaration;
pub mod decomposition;
pub mod detector;
pub mod draft;
pub mod drift;
pub mod ensemble;
pub mod evaluate;
pub mod exchange;
pub mod fault;
pub mod feature_extraction;
pub mod feature_selection;
pub mod forecaster;
pub mod forest;
pub mod generator;
pub mod held;
pub mod htm;
pub mod interactions;
pub mod json;
pub mod kernel;
pub mod key;
pub mod key_table;
pub mod key_use;
pub mod keyed;
pub mod labels;
pub mod learner;
mod limits;
pub mod linear_algebra;
pub mod linear_model;
pub mod losses;
pub mod merging;
pub mod metric;
pub mod metrics;
pub mod multiclass;
pub mod naive_bayes;
pub mod neighbors;
pub mod neural_network;
pub mod numeric;
pub mod optim;
pub mod parameter;
pub mod part;
pub mod policy;
pub mod policy_evaluation;
pub mod preprocessing;
pub mod prototype;
pub mod registry;
pub mod rounds;
pub mod row;
pub mod sampler;
pub mod sampling;
pub mod schema;
pub mod serving;
pub mod sketch;
pub mod statistic;
pub mod stats;
pub mod synth;
pub mod table;
pub mod task;
pub mod text;
pub mod time_series;
pub mod transformer;
pub mod tree;

pub use fault::{Fault, FaultKind, Result};
