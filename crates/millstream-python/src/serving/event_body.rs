//! The stored body of an event, read for learning without Python objects.

use millstream_core::draft::Draft;
use millstream_core::json::{Reader, Token};
use millstream_core::schema::Schema;

use super::predict_body::read_features_at;

/// Read the features of an event into a draft. Returns the served prediction, or None for a body that Python must
/// read: probabilities, the predictions of several models, or features that the shortcut for predictions refuses too.
pub fn read_event<'a>(
    body: &'a str,
    schema: &Schema,
    missing_is_zero: bool,
    draft: &mut Draft,
) -> Option<Token<'a>> {
    let mut reader = Reader::of_text(body).ok()?;
    if reader.value().ok()? != Token::BeginObject {
        return None;
    }
    let (mut has_features, mut prediction) = (false, None);
    let mut next = reader.first_key().ok()?;
    while let Some(key) = next {
        match &*key {
            "x" if !has_features => {
                has_features = true;
                read_features_at(&mut reader, schema, missing_is_zero, draft)?;
            }
            "y" if prediction.is_none() => prediction = Some(reader.value().ok()?),
            // The time, the trace and the mark of a deferred event are not needed.
            "ts" | "t" | "d" => {
                if matches!(reader.value().ok()?, Token::BeginObject | Token::BeginArray) {
                    return None;
                }
            }
            _ => return None,
        }
        next = reader.next_key().ok()?;
    }
    reader.end().ok()?;
    prediction.filter(|_| has_features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_and_prediction_are_read() {
        let (schema, mut draft) = (Schema::default(), Draft::default());
        let mut read = |body| read_event(body, &schema, false, &mut draft);
        assert_eq!(read("{\"x\":{\"a\":1},\"y\":true}"), Some(Token::Bool(true)));
        assert_eq!(read("{\"y\":null,\"x\":{},\"ts\":5,\"d\":true}"), Some(Token::Null));
        for other in [
            "",
            "[]",
            "{\"x\":{}}",
            "{\"y\":1}",
            "{\"x\":{},\"y\":1",
            "{\"x\":{},\"y\":1}1",
            "{\"x\":{},\"x\":{},\"y\":1}",
            "{\"x\":{\"a\":[1]},\"y\":1}",
            "{\"x\":{},\"y\":true,\"p\":[[true,0.5]]}",
            "{\"x\":{},\"m\":{\"a\":{\"y\":1}}}",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
