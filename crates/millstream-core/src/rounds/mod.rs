//! Rounds of a log: shared features, a ragged list of actions, the action taken, its probability and its reward.
//!
//! | file | what it is |
//! |---|---|
//! | `batch` | many rounds as columns, and how a policy reads them |
//! | `text` | Vowpal Wabbit's text of actions (`--cb_adf`) |
//! | `dsjson` | Vowpal Wabbit's JSON of decision services |

pub mod batch;
pub mod dsjson;
pub mod text;

pub use batch::{Outcome, RoundBatch, Translation};
