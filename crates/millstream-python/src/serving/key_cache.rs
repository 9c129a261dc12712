//! A cache of key objects of parsed JSON.
//!
//! Requests repeat the same keys. Reusing their objects saves an allocation and the hash of the string for each, and a
//! model that has adopted them finds its features by comparing pointers (see `dicts`).

use std::hash::Hasher;
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHasher;

/// Number of cached keys, a power of two, and the length of the longest, in bytes. Keys are untrusted: the cache must
/// not grow.
const SLOTS: usize = 1 << 11;
const LONGEST: usize = 64;

pub struct KeyCache {
    slots: Vec<Option<(Box<str>, Py<PyString>)>>,
}

/// Only ever tried: creating an object may collect garbage, and a finalizer may parse JSON.
pub static KEY_CACHE: Mutex<KeyCache> = Mutex::new(KeyCache { slots: Vec::new() });

impl KeyCache {
    pub fn key<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if text.len() > LONGEST {
            return PyString::new(py, text);
        }
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, || None);
        }
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        // The upper bits of this hash depend on all bytes.
        let index = (hasher.finish() >> 32) as usize % SLOTS;
        let slot = &mut self.slots[index];
        match slot {
            Some((known, key)) if **known == *text => key.bind(py).clone(),
            _ => {
                let key = PyString::new(py, text);
                *slot = Some((text.into(), key.clone().unbind()));
                key
            }
        }
    }
}
