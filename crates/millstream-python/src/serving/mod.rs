//! The native parts of `millstream.serve`: checksums of records, JSON bodies, pending events.

mod checksum;
mod json_values;
mod json_writer;
mod key_cache;
mod pending_events;
mod record_check;

pub use checksum::crc32c;
pub use json_values::{parse_json, parse_json_lines, parse_json_with_raw};
pub use json_writer::write_json;
pub use pending_events::PendingEvents;
pub use record_check::first_wrong_record;
