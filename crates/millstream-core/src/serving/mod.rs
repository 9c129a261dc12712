//! State of a model server that grows with its traffic: the events that wait for a label.
//!
//! It is in this crate, which knows no Python, so that it is tested and timed by itself, and so that every front of the
//! server can use it.

mod entry_ring;
mod event_key;
mod pending_bytes;
mod pending_events;

pub use event_key::EventKey;
pub use pending_events::{Pending, PendingEvents};
