//! State of a model server that grows with its traffic: the events that wait for a label, and the stored ones.
//!
//! It is in this crate, which does not depend on Python, so that it can be tested and timed separately and used by
//! every front end of the server.

mod entry_ring;
mod event_key;
mod packed_text;
mod pending_bytes;
mod pending_events;

pub use event_key::{uuid, EventKey};
pub use packed_text::{pack_text, unpack_text, PACKED};
pub use pending_events::{Pending, PendingEvents};
