//! Keys on their own.

use std::fmt;

use crate::key::Key;

/// The seed of the hash that finds a key and its shard.
const SEED: u64 = 0;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnedKey {
    Int(i64),
    Text(Box<str>),
}

impl OwnedKey {
    pub fn of(key: Key<'_>) -> Self {
        match key {
            Key::Text(text) => OwnedKey::Text(text.into()),
            Key::Int(int) => OwnedKey::Int(int),
            // Not the key of a model: see `super::check`.
            Key::Missing | Key::Float(_) => OwnedKey::Int(0),
        }
    }

    pub fn key(&self) -> Key<'_> {
        match self {
            OwnedKey::Int(int) => Key::Int(*int),
            OwnedKey::Text(text) => Key::Text(text),
        }
    }

    pub fn hash(&self) -> u64 {
        hash(self.key())
    }
}

#[inline]
pub fn hash(key: Key<'_>) -> u64 {
    key.hash(SEED)
}

/// A key in a message.
pub struct ShownKey<'a>(pub Key<'a>);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        match self.0 {
            Key::Missing => f.write_str("a missing key"),
            Key::Int(int) => write!(f, "key {int}"),
            Key::Float(float) => write!(f, "key {float}"),
            Key::Text(text) => match text.char_indices().nth(LONGEST) {
                Some((end, _)) => write!(f, "key {:?}…", &text[..end]),
                None => write!(f, "key {text:?}"),
            },
        }
    }
}
