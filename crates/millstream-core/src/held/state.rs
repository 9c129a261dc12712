//! Saved files: one versioned, checksummed value of named fields, safe to read from untrusted sources.
//!
//! ```text
//! magic (8) | format version (u32) | payload length (u64) | payload | CRC-32 of all before (u32)
//! ```
//! Integers are little-endian; the payload is MessagePack with field names. Lengths are checked against the
//! available bytes before anything is allocated, and serde limits preallocation.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::schema::Schema;

const MAGIC: &[u8; 8] = b"MILLSTRM";
/// Raised when a reader of the old format could misread the new one; old versions keep loading.
pub const FORMAT: u32 = 1;
const HEADER: usize = 8 + 4 + 8;

/// The content of a file.
#[derive(Serialize, Deserialize)]
pub struct Saved {
    /// The version of millstream that wrote it.
    pub written_by: String,
    /// The canonical description, as JSON.
    pub description: String,
    pub schema: Schema,
    pub labels: Labels,
    /// Number of learned examples or of updates.
    pub learned: u64,
    #[serde(with = "serde_bytes")]
    pub state: Vec<u8>,
}

impl Saved {
    /// A component without names and labels.
    pub fn new(description: String, count: u64, state: Vec<u8>) -> Self {
        let (schema, labels) = (Schema::default(), Labels::default());
        Saved { written_by: env!("CARGO_PKG_VERSION").into(), description, schema, labels, learned: count, state }
    }
}

pub fn seal(saved: &Saved) -> Result<Vec<u8>> {
    let payload = pack(saved)?;
    let mut bytes = Vec::with_capacity(HEADER + payload.len() + 4);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&payload);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

pub fn open(bytes: &[u8]) -> Result<Saved> {
    if bytes.len() < 8 || &bytes[..8] != MAGIC {
        return Err(Fault::state("millstream: not a saved model (it does not begin with MILLSTRM)"));
    }
    let cut = || Fault::state(format!("millstream: the saved model is truncated ({} bytes)", bytes.len()));
    let version = u32::from_le_bytes(bytes.get(8..12).ok_or_else(cut)?.try_into().map_err(|_| cut())?);
    if version > FORMAT {
        return Err(Fault::state(format!(
            "millstream: the model was saved in format {version}, this version reads up to {FORMAT}; upgrade millstream"
        )));
    }
    let length = u64::from_le_bytes(bytes.get(12..20).ok_or_else(cut)?.try_into().map_err(|_| cut())?);
    let whole = (HEADER as u64).checked_add(length).and_then(|n| n.checked_add(4)).ok_or_else(cut)?;
    if (bytes.len() as u64) < whole {
        return Err(cut());
    }
    if bytes.len() as u64 > whole {
        return Err(Fault::state("millstream: the saved model has bytes after its end"));
    }
    let (body, checksum) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(body).to_le_bytes() != checksum {
        return Err(Fault::state("millstream: the saved model is damaged (its checksum does not match)"));
    }
    if version == 0 {
        return Err(Fault::state("millstream: the saved model has format 0, which does not exist"));
    }
    unpack("millstream", &body[HEADER..])
}

/// The description in a file.
pub fn description(saved: &Saved) -> Result<serde_json::Value> {
    serde_json::from_str(&saved.description).map_err(invalid_description)
}

/// The fault for an invalid description in a file, whatever is wrong with it.
pub fn invalid_description(error: impl std::fmt::Display) -> Fault {
    Fault::state(format!("millstream: the saved description is not valid: {error}"))
}

/// A state as named fields.
pub fn pack<T: Serialize>(state: &T) -> Result<Vec<u8>> {
    rmp_serde::to_vec_named(state).map_err(|error| Fault::state(format!("millstream: cannot save: {error}")))
}

pub fn unpack<T: DeserializeOwned>(who: &str, bytes: &[u8]) -> Result<T> {
    rmp_serde::from_slice(bytes)
        .map_err(|error| Fault::state(format!("{who}: the saved state is not valid: {error}")))
}

/// For `load`: refuse a state that could not have been saved.
pub fn require(who: &str, holds: bool, what: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Fault::state(format!("{who}: the saved state is not valid: {what}")))
    }
}
