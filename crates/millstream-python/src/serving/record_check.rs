//! `millstream._core.first_wrong_record`: the checksums of many rows of the event store at once.
//!
//! The layout of the bytes is that of `checksum` in `python/millstream/serve/records.py`, which computes the checksum
//! of a record before it is written.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// Forms of ids and bodies.
const NONE: u8 = 0;
pub const TEXT: u8 = 1;
pub const BYTES: u8 = 2;

/// The index of the first row whose checksum is wrong, or which no record can have; None if there is no such row.
///
/// A row is a tuple of seq, kind, time, stream, id, body and checksum; the checksum is seeded with `seed`.
#[pyfunction]
pub fn first_wrong_record(seed: u32, rows: &Bound<'_, PyList>) -> Option<usize> {
    rows.iter().position(|row| !verifies(seed, &row).unwrap_or(false))
}

/// Whether a row has the checksum that it should have; None if a field has a type that no record has.
fn verifies(seed: u32, row: &Bound<'_, PyAny>) -> Option<bool> {
    let row = row.cast::<PyTuple>().ok()?;
    if row.len() != 7 {
        return None;
    }
    let field = |index: usize| row.get_borrowed_item(index).ok();
    let seq: i64 = field(0)?.extract().ok()?;
    let kind: u8 = field(1)?.extract().ok()?;
    let time: i64 = field(2)?.extract().ok()?;
    let stream: u32 = field(3)?.extract().ok()?;
    let (id, body) = (field(4)?, field(5)?);
    let (id_form, id) = if id.is_none() { (NONE, &[][..]) } else { content(&id)? };
    let (body_form, body) = content(&body)?;

    let found = checksum(seed, seq, kind, time, stream, (id_form, id), (body_form, body))?;
    let expected: u32 = field(6)?.extract().ok()?;
    Some(found == expected)
}

/// The checksum of a row; none if a field is too long for any row. Id and body have a form and bytes.
pub fn checksum(
    seed: u32,
    seq: i64,
    kind: u8,
    time: i64,
    stream: u32,
    id: (u8, &[u8]),
    body: (u8, &[u8]),
) -> Option<u32> {
    let mut header = [0; 34];
    header[..8].copy_from_slice(&seq.to_le_bytes());
    header[8..16].copy_from_slice(&time.to_le_bytes());
    header[16..20].copy_from_slice(&stream.to_le_bytes());
    header[20] = kind;
    header[21] = id.0 | body.0 << 4;
    header[22..26].copy_from_slice(&u32::try_from(id.1.len()).ok()?.to_le_bytes());
    header[26..].copy_from_slice(&u64::try_from(body.1.len()).ok()?.to_le_bytes());
    Some([&header[..], id.1, body.1].into_iter().fold(seed, ::crc32c::crc32c_append))
}

/// The form and the bytes of a string or of bytes.
fn content<'a>(value: &'a Bound<'_, PyAny>) -> Option<(u8, &'a [u8])> {
    if let Ok(text) = value.cast::<PyString>() {
        return Some((TEXT, text.to_str().ok()?.as_bytes()));
    }
    Some((BYTES, value.cast::<PyBytes>().ok()?.as_bytes()))
}
