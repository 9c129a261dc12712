//! Saved files: one versioned, checksummed value of named fields, safe to read from untrusted sources.
//!
//! ```text
//! magic (8) | format version (u32) | payload length (u64) | payload | CRC-32 of all before (u32)
//! ```
//! Integers are little-endian; the payload is MessagePack with field names. Lengths are checked against the
//! available bytes before anything is allocated, and serde limits preallocation.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::schema::Schema;

use super::Origin;

const MAGIC: &[u8; 8] = b"MILLSTRM";
/// Raised when a reader of the old format could misread the new one; old versions keep loading.
pub const FORMAT: u32 = 1;
const HEADER: usize = 8 + 4 + 8;
/// First capacity of a state in bytes: most components need no more.
const ROOM: usize = 1024;

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
    /// The model that it continued; not in files without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(with = "serde_bytes")]
    pub state: Vec<u8>,
}

/// The content of a file to write but for the state, with the fields of `Saved`.
#[derive(Serialize)]
pub struct Saving<'a> {
    written_by: &'static str,
    description: &'a str,
    schema: &'a Schema,
    labels: &'a Labels,
    learned: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// Empty, and the last field: see `seal`.
    state: &'static Bytes,
}

impl<'a> Saving<'a> {
    pub fn new(description: &'a str, schema: &'a Schema, labels: &'a Labels, learned: u64) -> Self {
        let state = Bytes::new(&[]);
        Saving { written_by: env!("CARGO_PKG_VERSION"), description, schema, labels, learned, origin: None, state }
    }

    pub fn with_origin(self, origin: Option<Origin>) -> Self {
        Saving { origin, ..self }
    }
}

/// A file in two pieces and its checksum: a large state is copied once only, to where the file is needed.
pub struct Sealed {
    head: Vec<u8>,
    state: Vec<u8>,
    checksum: [u8; 4],
}

impl Sealed {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.head.len() + self.state.len() + 4
    }

    /// Write the file into exactly `len` bytes.
    pub fn write(&self, out: &mut [u8]) {
        let (head, rest) = out.split_at_mut(self.head.len());
        let (state, checksum) = rest.split_at_mut(self.state.len());
        head.copy_from_slice(&self.head);
        state.copy_from_slice(&self.state);
        checksum.copy_from_slice(&self.checksum);
    }

    pub fn to_vec(&self) -> Vec<u8> {
        [&self.head[..], &self.state, &self.checksum].concat()
    }
}

pub fn seal(saving: &Saving<'_>, state: Vec<u8>) -> Result<Sealed> {
    let mut head = Vec::with_capacity(HEADER + saving.description.len() + ROOM);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&FORMAT.to_le_bytes());
    head.extend_from_slice(&[0; 8]);
    pack_into(saving, &mut head)?;
    // The last field is empty: two bytes of MessagePack, in place of which comes the length of the state.
    head.truncate(head.len() - 2);
    let too_long = |_| Fault::state("millstream: cannot save: the state has 4 GiB or more");
    match state.len() {
        short @ ..=0xff => head.extend_from_slice(&[0xc4, short as u8]),
        medium @ ..=0xffff => {
            head.push(0xc5);
            head.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            head.push(0xc6);
            head.extend_from_slice(&u32::try_from(long).map_err(too_long)?.to_be_bytes());
        }
    }
    let length = (head.len() - HEADER + state.len()) as u64;
    head[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&head);
    checksum.update(&state);
    Ok(Sealed { head, state, checksum: checksum.finalize().to_le_bytes() })
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

/// The name of the saved component.
pub fn name(saved: &Saved) -> Result<String> {
    /// The other fields are skipped, which costs less than to read them.
    #[derive(Deserialize)]
    struct Named<'a> {
        name: &'a str,
    }
    match serde_json::from_str::<Named>(&saved.description) {
        Ok(named) => Ok(named.name.into()),
        Err(_) => Ok(description(saved)?["name"].as_str().unwrap_or_default().into()),
    }
}

/// The fault for an invalid description in a file, whatever is wrong with it.
pub fn invalid_description(error: impl std::fmt::Display) -> Fault {
    Fault::state(format!("millstream: the saved description is not valid: {error}"))
}

/// A state as named fields.
pub fn pack<T: Serialize>(state: &T) -> Result<Vec<u8>> {
    pack_around(state, 0)
}

/// `pack` a state that contains so many bytes of packed states.
pub fn pack_around<T: Serialize>(state: &T, packed: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(ROOM + packed);
    pack_into(state, &mut bytes)?;
    Ok(bytes)
}

fn pack_into<T: Serialize>(state: &T, bytes: &mut Vec<u8>) -> Result<()> {
    rmp_serde::encode::write_named(bytes, state)
        .map_err(|error| Fault::state(format!("millstream: cannot save: {error}")))
}

pub fn unpack<'a, T: Deserialize<'a>>(who: &str, bytes: &'a [u8]) -> Result<T> {
    rmp_serde::from_slice(bytes)
        .map_err(|error| Fault::state(format!("{who}: the saved state is not valid: {error}")))
}

/// A packed state in another one; not copied when it is read.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct Packed<'a>(#[serde(borrow, with = "serde_bytes")] Cow<'a, [u8]>);

impl From<Vec<u8>> for Packed<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Packed(bytes.into())
    }
}

impl Deref for Packed<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// For `load`: refuse a state that could not have been saved.
pub fn require(who: &str, holds: bool, what: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Fault::state(format!("{who}: the saved state is not valid: {what}")))
    }
}
