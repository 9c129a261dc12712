//! A JSON text, token by token.

use std::borrow::Cow;

use super::invalid::{echoed, Invalid};
use super::number::{self, Number};
use super::string;

/// How deep arrays and objects may be nested. Readers may recurse to this depth.
pub const MAX_DEPTH: usize = 64;

/// A scalar, or the start of a container. `BeginObject` is followed by `first_key` and `next_key` until there is none,
/// with a value after each key; `BeginArray` by `first_item` and `next_item`, with a value after each true.
#[derive(Debug, PartialEq)]
pub enum Token<'a> {
    BeginObject,
    BeginArray,
    Text(Cow<'a, str>),
    Number(Number<'a>),
    Bool(bool),
    Null,
}

pub struct Reader<'a> {
    text: &'a str,
    place: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, Invalid> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Reader::of_text(text),
            Err(error) => Err(Invalid::new(format!("invalid UTF-8 at byte {}", error.valid_up_to()))),
        }
    }

    pub fn of_text(text: &'a str) -> Result<Self, Invalid> {
        match text.starts_with('\u{feff}') {
            true => Err(Invalid::new("byte order mark at byte 0")),
            false => Ok(Reader { text, place: 0 }),
        }
    }

    /// The place of the next byte that is not blank.
    #[inline]
    pub fn start(&mut self) -> usize {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.place += 1;
        }
        self.place
    }

    /// Pass a value that is this object, if the text goes on with it.
    #[inline]
    pub fn pass(&mut self, object: &str) -> bool {
        let rest = self.text.as_bytes().get(self.place..).unwrap_or_default();
        let is_next = object.ends_with('}') && rest.starts_with(object.as_bytes());
        self.place += if is_next { object.len() } else { 0 };
        is_next
    }

    /// The text from `start` up to here.
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.place).unwrap_or_default()
    }

    /// The next value.
    #[inline]
    pub fn value(&mut self) -> Result<Token<'a>, Invalid> {
        self.start();
        match self.byte() {
            b'"' => Ok(Token::Text(self.string()?)),
            b'-' | b'0'..=b'9' => {
                let (number, end) = number::read(self.text, self.place)?;
                self.place = end;
                Ok(Token::Number(number))
            }
            b'{' => {
                self.place += 1;
                Ok(Token::BeginObject)
            }
            b'[' => {
                self.place += 1;
                Ok(Token::BeginArray)
            }
            _ => self.word(),
        }
    }

    /// Nothing but blanks may follow.
    pub fn end(&mut self) -> Result<(), Invalid> {
        match self.start() == self.text.len() {
            true => Ok(()),
            false => Err(Invalid::new(format!("unexpected data at byte {}", self.place))),
        }
    }

    /// The first key of an object, and the colon after it; none if the object is empty.
    #[inline]
    pub fn first_key(&mut self) -> Result<Option<Cow<'a, str>>, Invalid> {
        self.start();
        if self.byte() == b'}' {
            self.place += 1;
            return Ok(None);
        }
        self.key().map(Some)
    }

    /// After a value of an object: the next key, and the colon after it; none if the object ends.
    #[inline]
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Invalid> {
        match self.comma_or(b'}')? {
            true => self.key().map(Some),
            false => Ok(None),
        }
    }

    /// Whether an array has an item.
    #[inline]
    pub fn first_item(&mut self) -> bool {
        self.start();
        let empty = self.byte() == b']';
        self.place += usize::from(empty);
        !empty
    }

    /// After an item of an array: whether there is another.
    #[inline]
    pub fn next_item(&mut self) -> Result<bool, Invalid> {
        self.comma_or(b']')
    }

    /// The next byte; 0, which is valid nowhere outside of strings, at the end.
    #[inline]
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.place).copied().unwrap_or(0)
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'a, str>, Invalid> {
        let (content, end) = string::read(self.text, self.place + 1)?;
        self.place = end;
        Ok(content)
    }

    #[inline]
    fn key(&mut self) -> Result<Cow<'a, str>, Invalid> {
        self.start();
        if self.byte() != b'"' {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        self.start();
        if self.byte() != b':' {
            return Err(self.expected("':'").in_key(&key));
        }
        self.place += 1;
        Ok(key)
    }

    #[inline]
    fn comma_or(&mut self, close: u8) -> Result<bool, Invalid> {
        self.start();
        let byte = self.byte();
        if byte != b',' && byte != close {
            return Err(self.expected(if close == b'}' { "',' or '}'" } else { "',' or ']'" }));
        }
        self.place += 1;
        Ok(byte == b',')
    }

    fn word(&mut self) -> Result<Token<'a>, Invalid> {
        let rest = &self.text[self.place..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let token = match &rest[..end] {
            "true" => Token::Bool(true),
            "false" => Token::Bool(false),
            "null" => Token::Null,
            word @ ("NaN" | "Infinity") => {
                return Err(Invalid::new(format!("{} is not a finite number", echoed(word))))
            }
            _ => return Err(self.expected("a value")),
        };
        self.place += end;
        Ok(token)
    }

    #[cold]
    fn expected(&self, what: &str) -> Invalid {
        Invalid::new(format!("expected {what} at byte {}", self.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_in_order() {
        let mut reader = Reader::new(b" {\"a\" : [1, true ,null], \"b\":{ }}\n").unwrap();
        assert_eq!(reader.value().unwrap(), Token::BeginObject);
        assert_eq!(reader.first_key().unwrap().as_deref(), Some("a"));
        let start = reader.start();
        assert_eq!(reader.value().unwrap(), Token::BeginArray);
        assert!(reader.first_item());
        assert_eq!(reader.value().unwrap(), Token::Number(Number::Int(1)));
        assert!(reader.next_item().unwrap());
        assert_eq!(reader.value().unwrap(), Token::Bool(true));
        assert!(reader.next_item().unwrap());
        assert_eq!(reader.value().unwrap(), Token::Null);
        assert!(!reader.next_item().unwrap());
        assert_eq!(reader.since(start), "[1, true ,null]");
        assert_eq!(reader.next_key().unwrap().as_deref(), Some("b"));
        assert_eq!(reader.value().unwrap(), Token::BeginObject);
        assert_eq!(reader.first_key().unwrap(), None);
        assert_eq!(reader.next_key().unwrap(), None);
        reader.end().unwrap();
    }

    #[test]
    fn faults_name_the_byte() {
        let value = |text: &str| Reader::of_text(text).unwrap().value().unwrap_err().to_string();
        assert_eq!(value("  "), "body: expected a value at byte 2");
        assert_eq!(value("nulll"), "body: expected a value at byte 0");
        assert_eq!(value("NaN"), "body: NaN is not a finite number");
        assert_eq!(value("-Infinity"), "body: -Infinity is not a finite number");
        let key = |text: &str| Reader::of_text(text).unwrap().first_key().unwrap_err().to_string();
        assert_eq!(key("a"), "body: expected a key in double quotes at byte 0");
        assert_eq!(key("\"a\" 1"), "a: expected ':' at byte 4");
        let error = |bytes: &[u8]| Reader::new(bytes).err().map(|invalid| invalid.to_string());
        assert_eq!(error(b"ab\xff").as_deref(), Some("body: invalid UTF-8 at byte 2"));
        assert_eq!(error("\u{feff}{}".as_bytes()).as_deref(), Some("body: byte order mark at byte 0"));
    }
}
