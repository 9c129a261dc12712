//! The native parts of `millstream.serve`: checksums of records, JSON bodies, pending events, and predictions that are
//! answered without Python.

mod access;
mod checksum;
mod event_body;
mod event_group;
mod event_id;
mod event_queue;
mod id_range;
mod json_values;
mod json_writer;
mod key_cache;
mod label_learner;
mod line_predictions;
mod packed_body;
mod pending_events;
mod predict_body;
mod predict_shortcut;
mod prediction;
mod prediction_counts;
mod python_learner;
mod record_check;

pub use checksum::crc32c;
pub use event_group::EventGroup;
pub use event_id::{new_id, note_fork};
pub use event_queue::EventQueue;
pub use id_range::IdRange;
pub use json_values::{parse_json, parse_json_lines, parse_json_with_raw};
pub use json_writer::write_json;
pub use label_learner::{LabelLearner, LabelRun};
pub use line_predictions::predict_lines;
pub use packed_body::{pack_body, unpack_body};
pub use pending_events::PendingEvents;
pub use predict_shortcut::PredictShortcut;
pub use record_check::first_wrong_record;
