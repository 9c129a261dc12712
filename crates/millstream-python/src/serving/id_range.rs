//! `millstream._core.IdRange`: the ids that the server gives to the events of a batch.

use millstream_core::serving::uuid;
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::event_id::{push_uuid, EventId, DIGITS, LENGTH};
use crate::errors::{raise, OrRaise};

/// The last six bytes of a UUID count up.
const COUNTER: usize = 10;
const MOST: u64 = 1 << 48;
/// A range with more ids is an error of the caller.
const MOST_IDS: u64 = 1 << 24;

/// UUIDs that count up from the first one.
#[pyclass(frozen, module = "millstream._core")]
#[derive(Clone, Copy, Debug)]
pub struct IdRange {
    first: [u8; 16],
    count: u64,
}

#[pymethods]
impl IdRange {
    /// Refuses a text that is not a lower-case UUID, and one whose last 12 digits cannot count that far.
    #[new]
    fn new(py: Python<'_>, first: &str, count: u64) -> PyResult<Self> {
        Self::of(first, count).or_raise(py)
    }

    /// The first id.
    #[getter]
    fn first(&self) -> String {
        EventId::Uuid(self.first).text()
    }

    /// The first `count` ids.
    fn take(&self, py: Python<'_>, count: u64) -> PyResult<Self> {
        match count <= self.count {
            true => Ok(IdRange { count, ..*self }),
            false => Err(raise(
                py,
                &Fault::value(format!("IdRange: count must be at most {}, got {count}", self.count)),
            )),
        }
    }

    /// The texts of all ids, one after the other.
    fn joined<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        // Only the last digits differ.
        let mut text = Vec::with_capacity(LENGTH);
        push_uuid(&mut text, &self.first);
        let mut out = Vec::with_capacity(self.count as usize * LENGTH);
        for last in (number(&self.first)..).take(self.count as usize) {
            let mut rest = last;
            for digit in text.iter_mut().rev().take(2 * (16 - COUNTER)) {
                *digit = DIGITS[(rest & 15) as usize];
                rest >>= 4;
            }
            out.extend_from_slice(&text);
        }
        PyBytes::new(py, &out)
    }

    /// The ids.
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let texts: Vec<_> = self.each().map(|id| PyString::new(py, &EventId::Uuid(id).text())).collect();
        PyList::new(py, texts)
    }

    fn __len__(&self) -> usize {
        self.count as usize
    }

    fn __contains__(&self, id: &str) -> bool {
        let Some(id) = uuid(id).filter(|id| id[..COUNTER] == self.first[..COUNTER]) else { return false };
        number(&id).checked_sub(number(&self.first)).is_some_and(|index| index < self.count)
    }
}

impl IdRange {
    fn of(first: &str, count: u64) -> millstream_core::Result<Self> {
        let Some(bytes) = uuid(first) else {
            return Err(Fault::value(format!("IdRange: first must be a lower-case UUID, got '{first}'")));
        };
        if number(&bytes).checked_add(count).is_none_or(|end| end > MOST) {
            return Err(Fault::value(format!("IdRange: there are fewer than {count} ids from '{first}' on")));
        }
        match count <= MOST_IDS {
            true => Ok(IdRange { first: bytes, count }),
            false => Err(Fault::value(format!("IdRange: count must be at most {MOST_IDS}, got {count}"))),
        }
    }

    /// The id at an index; None beyond the end.
    pub fn at(&self, index: u64) -> Option<[u8; 16]> {
        (index < self.count).then(|| self.unchecked(index))
    }

    pub fn each(&self) -> impl Iterator<Item = [u8; 16]> + '_ {
        (0..self.count).map(|index| self.unchecked(index))
    }

    fn unchecked(&self, index: u64) -> [u8; 16] {
        let mut id = self.first;
        id[COUNTER..].copy_from_slice(&(number(&self.first) + index).to_be_bytes()[2..]);
        id
    }
}

fn number(id: &[u8; 16]) -> u64 {
    id[COUNTER..].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_up() {
        let range = IdRange::of("018f3c4e-0000-7abc-8def-0123456789fe", 3).unwrap();
        let texts: Vec<_> = range.each().map(|id| EventId::Uuid(id).text()).collect();
        assert_eq!(
            texts,
            [
                "018f3c4e-0000-7abc-8def-0123456789fe",
                "018f3c4e-0000-7abc-8def-0123456789ff",
                "018f3c4e-0000-7abc-8def-012345678a00"
            ]
        );
        assert!(texts.iter().all(|text| range.__contains__(text)));
        for other in ["018f3c4e-0000-7abc-8def-0123456789fd", "018f3c4e-0000-7abc-8def-012345678a01", "x"] {
            assert!(!range.__contains__(other), "{other}");
        }
        assert_eq!(range.at(3), None);
    }

    #[test]
    fn a_range_must_not_overflow() {
        let last = "018f3c4e-0000-7abc-8def-ffffffffffff";
        assert!(IdRange::of(last, 1).is_ok());
        assert!(IdRange::of(last, 2).is_err());
        assert!(IdRange::of("event", 1).is_err());
    }
}
