//! Learning vector quantization: classifiers that compare a row with prototypes, each of which belongs to a class.
//!
//! `classifier` has the prototypes and what all share; each rule that moves them has a file of its own.

mod activation;
mod classifier;
pub mod glvq;
pub mod gmlvq;
pub mod lvq1;
pub mod lvq21;
pub mod lvq3;
mod reaction;
pub mod rslvq;
mod window;

pub(crate) use classifier::{normalise, MAX_PROTOTYPES, MOST_CLASSES};
