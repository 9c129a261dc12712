//! The body of a request for one prediction, read without Python objects.
//!
//! All functions return None for an invalid or unusual body. Python then reads the body and reports the error.

use std::borrow::Cow;
use std::cell::RefCell;

use millstream_core::draft::{Draft, Given};
use millstream_core::json::{Number, Reader, Token};
use millstream_core::schema::{FeatureKind, Name, Schema};

/// Maximum number of features of a request, as in `python/millstream/serve/api/fields.py`.
pub const MOST_FEATURES: usize = 50_000;
/// Maximum length of a client's id, in characters.
const LONGEST_ID: usize = 128;
/// Maximum number of unknown features of a request, which are compared with each other.
const MOST_UNKNOWN: usize = 64;

/// The members of a body, before the features are read.
#[derive(Debug, PartialEq)]
pub struct PredictBody<'a> {
    /// The text of the features as sent.
    pub x: &'a str,
    /// An id that the client chose: printable ASCII.
    pub id: Option<Cow<'a, str>>,
}

impl<'a> PredictBody<'a> {
    /// Find the members. The features are only skipped: reading them checks them.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes).ok()?;
        if reader.value().ok()? != Token::BeginObject {
            return None;
        }
        let (mut x, mut id, mut has_key) = (None, None, false);
        let mut next = reader.first_key().ok()?;
        while let Some(key) = next {
            match &*key {
                "x" if x.is_none() => {
                    let start = reader.start();
                    skip_object(&mut reader)?;
                    x = Some(reader.since(start));
                }
                "id" if id.is_none() => match reader.value().ok()? {
                    Token::Text(text) if is_id(&text) => id = Some(text),
                    _ => return None,
                },
                "key" if !has_key => {
                    has_key = true;
                    if matches!(reader.value().ok()?, Token::BeginObject | Token::BeginArray) {
                        return None;
                    }
                }
                _ => return None,
            }
            next = reader.next_key().ok()?;
        }
        reader.end().ok()?;
        Some(PredictBody { x: x?, id })
    }
}

/// Skip an object of at most `MOST_FEATURES` scalars.
fn skip_object(reader: &mut Reader<'_>) -> Option<()> {
    if reader.value().ok()? != Token::BeginObject {
        return None;
    }
    let mut next = reader.first_key().ok()?;
    let mut count = 0;
    while next.is_some() {
        count += 1;
        if count > MOST_FEATURES {
            return None;
        }
        if matches!(reader.value().ok()?, Token::BeginObject | Token::BeginArray) {
            return None;
        }
        next = reader.next_key().ok()?;
    }
    Some(())
}

fn is_id(text: &str) -> bool {
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Slots that a request has named, to find duplicate keys.
#[derive(Default)]
struct Named {
    /// By slot, the number of the last request that named it.
    by_slot: Vec<u32>,
    request: u32,
}

impl Named {
    fn begin(&mut self, width: usize) {
        if self.by_slot.len() < width {
            self.by_slot.resize(width, self.request);
        }
        if self.request == u32::MAX {
            self.by_slot.fill(0);
            self.request = 0;
        }
        self.request += 1;
    }

    /// Whether the slot is named for the first time.
    fn is_first(&mut self, slot: u32) -> bool {
        match self.by_slot.get_mut(slot as usize) {
            Some(last) if *last != self.request => {
                *last = self.request;
                true
            }
            _ => false,
        }
    }
}

thread_local! {
    static NAMED: RefCell<Named> = RefCell::default();
}

/// Read the features into a draft, as `read_dict` reads the dict that Python would make of them.
pub fn read_features(x: &str, schema: &Schema, missing_is_zero: bool, draft: &mut Draft) -> Option<()> {
    read_features_at(&mut Reader::of_text(x).ok()?, schema, missing_is_zero, draft)
}

/// Read the features at the place of a reader.
pub fn read_features_at(
    reader: &mut Reader<'_>,
    schema: &Schema,
    missing_is_zero: bool,
    draft: &mut Draft,
) -> Option<()> {
    NAMED.with_borrow_mut(|named| {
        named.begin(schema.len());
        read_with(reader, schema, missing_is_zero, draft, named)
    })
}

fn read_with(
    reader: &mut Reader<'_>,
    schema: &Schema,
    missing_is_zero: bool,
    draft: &mut Draft,
    named: &mut Named,
) -> Option<()> {
    let kinds = schema.kinds();
    if reader.value().ok()? != Token::BeginObject {
        return None;
    }
    draft.begin(schema, missing_is_zero);
    let mut unknown: Vec<Cow<'_, str>> = Vec::new();
    // Features mostly come in the order of their slots.
    let mut expected = 0;
    let mut next = reader.first_key().ok()?;
    while let Some(key) = next {
        let value = reader.value().ok()?;
        let given = match &value {
            Token::Number(Number::Float(number)) => Given::Number(*number),
            Token::Number(Number::Int(number)) => Given::Number(*number as f64),
            Token::Text(text) => Given::Text(text),
            Token::Bool(flag) => Given::Number(f64::from(u8::from(*flag))),
            Token::Null => Given::Missing,
            Token::Number(Number::Long(_)) | Token::BeginObject | Token::BeginArray => return None,
        };
        let slot = match schema.text(expected) == Some(&*key) {
            true => Some(expected as u32),
            false => schema.slot_of_text(&key),
        };
        match (slot, given) {
            (Some(slot), _) if !named.is_first(slot) => return None,
            (Some(slot), Given::Number(number))
                if kinds.get(slot as usize) == Some(&FeatureKind::Number) && number.is_finite() =>
            {
                draft.set_number(slot, number);
            }
            (Some(slot), given) => draft.set(schema, slot, given).ok()?,
            (None, given) => {
                if unknown.len() == MOST_UNKNOWN || unknown.contains(&key) {
                    return None;
                }
                draft.add(Name::Text((*key).into()), given).ok()?;
                unknown.push(key);
            }
        }
        if let Some(slot) = slot {
            expected = slot as usize + 1;
        }
        next = reader.next_key().ok()?;
    }
    draft.finish(schema);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found() {
        let body =
            PredictBody::read(b" {\"key\":1, \"x\" : {\"a\": 1, \"b\":null} ,\"id\":\"e\\u0031\"} ").unwrap();
        assert_eq!(body, PredictBody { x: "{\"a\": 1, \"b\":null}", id: Some("e1".into()) });
        assert_eq!(PredictBody::read(b"{\"x\":{}}"), Some(PredictBody { x: "{}", id: None }));
    }

    #[test]
    fn unusual_bodies_are_left_to_python() {
        for body in [
            "",
            "1",
            "{}",
            "{\"x\":1}",
            "{\"x\":{}}1",
            "{\"x\":{},\"x\":{}}",
            "{\"x\":{\"a\":[]}}",
            "{\"x\":{\"a\":{}}}",
            "{\"x\":{\"a\":1,}}",
            "{\"x\":{\"a\":NaN}}",
            "{\"x\":{},\"id\":\"\"}",
            "{\"x\":{},\"id\":1}",
            "{\"x\":{},\"id\":\"a\\n\"}",
            "{\"x\":{},\"id\":\"\u{e9}\"}",
            "{\"x\":{},\"key\":[]}",
            "{\"x\":{},\"ts\":1}",
            "{\"x\":{},\"id\":\"a\",\"id\":\"a\"}",
        ] {
            assert_eq!(PredictBody::read(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn too_many_features_are_left_to_python() {
        let body = |count: usize| {
            let features: Vec<String> = (0..count).map(|feature| format!("\"f{feature}\":1")).collect();
            format!("{{\"x\":{{{}}}}}", features.join(","))
        };
        assert!(PredictBody::read(body(MOST_FEATURES).as_bytes()).is_some());
        assert_eq!(PredictBody::read(body(MOST_FEATURES + 1).as_bytes()), None);
    }

    #[test]
    fn duplicate_features_are_left_to_python() {
        let mut schema = Schema::default();
        for name in ["a", "b"] {
            let slot = schema.intern(&Name::Text(name.into()));
            schema.set_kind(slot, FeatureKind::Number);
        }
        let mut draft = Draft::default();
        let mut read = |x: &str| read_features(x, &schema, false, &mut draft);
        for good in ["{}", "{\"a\":1}", "{\"b\":1.5,\"a\":true}", "{\"c\":1,\"a\":null,\"d\":\"e\"}"] {
            assert_eq!(read(good), Some(()), "{good}");
        }
        for bad in ["{\"a\":1,\"a\":1}", "{\"b\":1,\"a\":1,\"b\":2}", "{\"c\":1,\"c\":1}", "{\"a\":\"text\"}"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
