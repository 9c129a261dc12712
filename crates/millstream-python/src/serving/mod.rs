//! The native parts of `millstream.serve`: checksums of records and JSON bodies.

mod checksum;
mod json_values;
mod json_writer;
mod key_cache;
mod record_check;

pub use checksum::crc32c;
pub use json_values::{parse_json, parse_json_lines, parse_json_with_raw};
pub use json_writer::write_json;
pub use record_check::first_wrong_record;
