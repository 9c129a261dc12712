//! `millstream._core.crc32c`

use pyo3::prelude::*;

/// From this length on, other threads may run meanwhile.
const LONG: usize = 1 << 16;

/// The CRC-32C (Castagnoli) of some bytes. `start` is the checksum of the bytes before them, so that the checksum of a
/// record can be computed piece by piece.
#[pyfunction]
#[pyo3(signature = (data, start = 0))]
pub fn crc32c(py: Python<'_>, data: &[u8], start: u32) -> u32 {
    match data.len() < LONG {
        true => ::crc32c::crc32c_append(start, data),
        false => py.detach(|| ::crc32c::crc32c_append(start, data)),
    }
}
