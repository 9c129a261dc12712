//! Errors in JSON texts, with their paths.

use std::fmt::{self, Write};

use crate::fault::Fault;

/// Maximum length of an echoed token or key, and of a path, in characters.
const LONGEST: usize = 60;
const LONGEST_PATH: usize = 160;

/// An error in a JSON text. It is boxed, so that results stay small. Its path is built while the error propagates
/// through the enclosing containers, so a valid text has no overhead.
#[derive(Debug)]
pub struct Invalid(Box<Details>);

#[derive(Debug)]
struct Details {
    /// From the innermost container outwards.
    path: Vec<Segment>,
    message: String,
}

#[derive(Debug)]
enum Segment {
    Key(String),
    Index(usize),
}

impl Invalid {
    #[cold]
    pub fn new(message: impl Into<String>) -> Self {
        Invalid(Box::new(Details { path: Vec::new(), message: message.into() }))
    }

    /// The message is about the value of this key, or about something within it.
    #[cold]
    pub fn in_key(mut self, key: &str) -> Self {
        self.0.path.push(Segment::Key(shortened(key, LONGEST)));
        self
    }

    /// The message is about this item of an array, or about something within it.
    #[cold]
    pub fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// A method, because a second `From` would make the error type of `?` ambiguous elsewhere.
    pub fn into_fault(self) -> Fault {
        Fault::value(self.to_string())
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            // Writing to a string cannot fail.
            let _ = match segment {
                Segment::Index(index) => write!(path, "[{index}]"),
                Segment::Key(key) if !is_identifier(key) => write!(path, "[\"{}\"]", key.escape_debug()),
                Segment::Key(key) if path.is_empty() => write!(path, "{key}"),
                Segment::Key(key) => write!(path, ".{key}"),
            };
        }
        match path.is_empty() {
            true => "body".into(),
            false => shortened(&path, LONGEST_PATH),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.0.message)
    }
}

impl std::error::Error for Invalid {}

fn is_identifier(key: &str) -> bool {
    !key.starts_with(|letter: char| letter.is_ascii_digit())
        && !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A token for a message.
pub(super) fn echoed(token: &str) -> String {
    shortened(token, LONGEST)
}

/// The text, or its start and end if it is too long.
fn shortened(text: &str, longest: usize) -> String {
    // No text has more characters than bytes.
    let length = if text.len() <= longest { 0 } else { text.chars().count() };
    if length <= longest {
        return text.into();
    }
    let end = (longest - 1) / 3;
    let first: String = text.chars().take(longest - 1 - end).collect();
    let last: String = text.chars().skip(length - end).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_keys_and_items() {
        let invalid = Invalid::new("bad").in_key("a b").in_item(3).in_key("x");
        assert_eq!(invalid.to_string(), "x[3][\"a b\"]: bad");
        assert_eq!(Invalid::new("bad").to_string(), "body: bad");
        assert_eq!(Invalid::new("bad").in_key("hour").in_key("x").to_string(), "x.hour: bad");
        assert_eq!(Invalid::new("bad").in_key("").to_string(), "[\"\"]: bad");
        assert_eq!(Invalid::new("bad").in_key("1\n").to_string(), "[\"1\\n\"]: bad");
    }

    #[test]
    fn long_keys_and_paths_are_shortened() {
        let message = Invalid::new("bad").in_key(&"é".repeat(1000)).to_string();
        assert_eq!(message.chars().count(), "[\"\"]: bad".len() + LONGEST);
        let deep = (0..1000).fold(Invalid::new("bad"), |invalid, _| invalid.in_key("key"));
        assert_eq!(deep.to_string().chars().count(), LONGEST_PATH + ": bad".len());
    }
}
