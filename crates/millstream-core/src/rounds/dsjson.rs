//! Vowpal Wabbit's JSON of decision services ("dsjson"): one decision on a line.
//!
//! ```text
//! {"_label_cost": -1, "_label_probability": 0.25, "_labelIndex": 1, "a": [2, 1], "p": [0.25, 0.75], "EventId": "…",
//!  "c": {"user": {"age": 3}, "_multi": [{"action": {"id": "1"}}, {"action": {"id": "2"}}]}}
//! ```
//! An object is a namespace; the name of a feature is `namespace^feature`, `feature=text` for a string, and `[index]` for a
//! number of an array. A decision with `"_skipLearn": true` has no reward to be learned. Fields that are not read are
//! counted by name.

use std::collections::BTreeMap;

use crate::bandit::contextual::Space;
use crate::fault::{Fault, Result};
use crate::json::{Invalid, Number, Reader, Token, MAX_DEPTH};

use super::batch::{Catalogue, Outcome, RoundBatch};

/// Fields that decision services write and that have no use here.
const IGNORED: [&str; 8] =
    ["Timestamp", "Version", "EventId", "VWState", "o", "_original_label_cost", "pdrop", "_ba"];
/// Names of other fields that are remembered.
const MOST_NAMES: usize = 100;

#[derive(Debug, Default)]
pub struct DsJson {
    catalogue: Catalogue,
    /// Other fields, and in how many lines each was.
    pub unknown: BTreeMap<String, u64>,
    /// Number of decisions that ask not to be learned.
    pub skipped_learning: u64,
    name: String,
    /// The actions of the round before, in their order.
    last: Vec<(Box<str>, u32)>,
}

/// Actions of a round that are compared with the round before.
const MOST_LAST: usize = 1000;

#[derive(Debug, Default)]
struct Fields {
    cost: Once,
    probability: Once,
    index: Once,
    first: Once,
    skip: bool,
    context: bool,
    /// The lengths of the lists of actions and of their probabilities; none for what is no list.
    listed: Vec<(&'static str, Option<usize>)>,
}

/// A number that a line may have once.
#[derive(Debug, Default)]
struct Once {
    read: bool,
    number: Option<f64>,
}

impl Once {
    fn read(&mut self, reader: &mut Reader<'_>, name: &str) -> Result<()> {
        if std::mem::replace(&mut self.read, true) {
            return Err(Fault::value(format!("{name} must occur once, got it twice")));
        }
        self.number = number(reader, name)?;
        Ok(())
    }
}

fn invalid(error: Invalid) -> Fault {
    error.into_fault()
}

fn as_float(number: &Number<'_>) -> f64 {
    match number {
        Number::Int(int) => *int as f64,
        Number::Float(float) => *float,
        Number::Long(digits) => digits.parse().unwrap_or(f64::INFINITY),
    }
}

impl DsJson {
    pub fn begin_batch(&mut self) {
        self.catalogue.clear();
        self.last.clear();
    }

    /// Read a line, which is a round.
    pub fn line(&mut self, line: &[u8], batch: &mut RoundBatch) -> Result<()> {
        let read = self.fields(line, batch);
        let fields = match read {
            Ok(fields) => fields,
            Err(fault) => {
                batch.drop_round();
                return Err(fault);
            }
        };
        let outcome = match outcome(&fields) {
            Ok(outcome) => outcome,
            Err(fault) => {
                batch.drop_round();
                return Err(fault);
            }
        };
        self.skipped_learning += u64::from(fields.skip);
        batch.end_round(outcome)
    }

    fn fields(&mut self, line: &[u8], batch: &mut RoundBatch) -> Result<Fields> {
        let mut reader = Reader::new(line).map_err(invalid)?;
        if reader.value().map_err(invalid)? != Token::BeginObject {
            return Err(Fault::value("a line must be a JSON object"));
        }
        let mut fields = Fields::default();
        let mut key = reader.first_key().map_err(invalid)?;
        while let Some(name) = key {
            match &*name {
                "c" => {
                    if std::mem::replace(&mut fields.context, true) {
                        return Err(Fault::value("c must occur once, got it twice"));
                    }
                    self.context(&mut reader, batch)?;
                }
                "_label_cost" => fields.cost.read(&mut reader, &name)?,
                "_label_probability" => fields.probability.read(&mut reader, &name)?,
                "_labelIndex" => fields.index.read(&mut reader, &name)?,
                "_label_Action" => fields.first.read(&mut reader, &name)?,
                "a" => fields.listed.push(("a", length(&mut reader)?)),
                "p" => fields.listed.push(("p", length(&mut reader)?)),
                "_skipLearn" => fields.skip = reader.value().map_err(invalid)? == Token::Bool(true),
                other => {
                    if !IGNORED.contains(&other) {
                        self.note(other);
                    }
                    skip(&mut reader, 0)?;
                }
            }
            key = reader.next_key().map_err(invalid)?;
        }
        reader.end().map_err(invalid)?;
        if !fields.context {
            return Err(Fault::value("a decision must have the field c with its context and actions"));
        }
        let actions = batch.offered();
        match fields
            .listed
            .iter()
            .find(|(_, length)| actions > 0 && length.is_some_and(|length| length != actions))
        {
            Some((name, length)) => Err(Fault::value(format!(
                "{name} must have one entry for each of the {actions} actions, got {}",
                length.unwrap_or_default()
            ))),
            None => Ok(fields),
        }
    }

    fn note(&mut self, name: &str) {
        if let Some(count) = self.unknown.get_mut(name) {
            *count += 1;
        } else if self.unknown.len() < MOST_NAMES {
            self.unknown.insert(name.chars().take(80).collect(), 1);
        }
    }

    fn context(&mut self, reader: &mut Reader<'_>, batch: &mut RoundBatch) -> Result<()> {
        if reader.value().map_err(invalid)? != Token::BeginObject {
            return Err(Fault::value("c must be an object"));
        }
        let mut key = reader.first_key().map_err(invalid)?;
        while let Some(name) = key {
            match &*name {
                "_multi" => self.actions(reader, batch)?,
                name => self.member(reader, name, "", Space::Shared, batch, 1)?,
            }
            key = reader.next_key().map_err(invalid)?;
        }
        Ok(())
    }

    fn actions(&mut self, reader: &mut Reader<'_>, batch: &mut RoundBatch) -> Result<()> {
        if batch.offered() > 0 {
            return Err(Fault::value("_multi must occur once, got it twice"));
        }
        if reader.value().map_err(invalid)? != Token::BeginArray {
            return Err(Fault::value("_multi must be a list of actions"));
        }
        let mut more = reader.first_item();
        while more {
            let start = reader.start();
            let place = batch.offered();
            // Most rounds list the actions of the round before in the same order.
            if let Some((text, action)) = self.last.get(place) {
                if reader.pass(text) {
                    batch.offer(*action);
                    more = reader.next_item().map_err(invalid)?;
                    continue;
                }
            }
            // The end of an action is not known before it is read; a repeated one is recognised after a quick walk.
            skip(reader, 1)?;
            let text = reader.since(start);
            let action = match self.catalogue.get(text.as_bytes()) {
                Some(action) => action,
                None => {
                    let mut inner = Reader::new(text.as_bytes()).map_err(invalid)?;
                    self.action(&mut inner, batch)?;
                    let action = batch.end_action(None);
                    self.catalogue.insert(text.as_bytes(), action);
                    action
                }
            };
            if place < self.last.len() {
                self.last[place] = (text.into(), action);
            } else if place == self.last.len() && place < MOST_LAST {
                self.last.push((text.into(), action));
            }
            batch.offer(action);
            more = reader.next_item().map_err(invalid)?;
        }
        Ok(())
    }

    fn action(&mut self, reader: &mut Reader<'_>, batch: &mut RoundBatch) -> Result<()> {
        if reader.value().map_err(invalid)? != Token::BeginObject {
            return Err(Fault::value("an action must be an object"));
        }
        let mut key = reader.first_key().map_err(invalid)?;
        while let Some(name) = key {
            self.member(reader, &name, "", Space::Action, batch, 1)?;
            key = reader.next_key().map_err(invalid)?;
        }
        Ok(())
    }

    /// A value with its key: a feature, a namespace, or an array of them.
    fn member(
        &mut self,
        reader: &mut Reader<'_>,
        key: &str,
        namespace: &str,
        space: Space,
        batch: &mut RoundBatch,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Fault::value("the context is nested too deeply"));
        }
        // Keys with an underscore are meant for VW, not for the model.
        if key.starts_with('_') && key != "_text" {
            self.note(key);
            return skip(reader, depth);
        }
        match reader.value().map_err(invalid)? {
            Token::Null | Token::Bool(false) => {}
            Token::Bool(true) => self.push(namespace, key, 1.0, space, batch)?,
            Token::Number(number) => self.push(namespace, key, as_float(&number), space, batch)?,
            Token::Text(text) if key == "_text" => {
                for word in text.split_whitespace() {
                    self.push(namespace, word, 1.0, space, batch)?;
                }
            }
            Token::Text(text) => {
                let name = format!("{key}={text}");
                self.push(namespace, &name, 1.0, space, batch)?;
            }
            Token::BeginObject => {
                let mut inner = reader.first_key().map_err(invalid)?;
                while let Some(name) = inner {
                    self.member(reader, &name, key, space, batch, depth + 1)?;
                    inner = reader.next_key().map_err(invalid)?;
                }
            }
            Token::BeginArray => {
                let (mut more, mut index) = (reader.first_item(), 0);
                while more {
                    match reader.value().map_err(invalid)? {
                        Token::Number(number) => {
                            self.push(key, &format!("[{index}]"), as_float(&number), space, batch)?;
                        }
                        Token::Text(text) => self.push(key, &text, 1.0, space, batch)?,
                        Token::Bool(true) => self.push(key, &format!("[{index}]"), 1.0, space, batch)?,
                        Token::Bool(false) | Token::Null => {}
                        Token::BeginObject => {
                            let mut inner = reader.first_key().map_err(invalid)?;
                            while let Some(name) = inner {
                                self.member(reader, &name, key, space, batch, depth + 1)?;
                                inner = reader.next_key().map_err(invalid)?;
                            }
                        }
                        Token::BeginArray => {
                            return Err(Fault::value(format!("'{key}' must not be a list of lists")))
                        }
                    }
                    index += 1;
                    more = reader.next_item().map_err(invalid)?;
                }
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        namespace: &str,
        key: &str,
        value: f64,
        space: Space,
        batch: &mut RoundBatch,
    ) -> Result<()> {
        if !value.is_finite() {
            return Err(Fault::value(format!("feature '{key}' must be finite, got {value}")));
        }
        self.name.clear();
        if !namespace.is_empty() {
            self.name.push_str(namespace);
            self.name.push('^');
        }
        self.name.push_str(key);
        let slot = batch.text_slot(space, &self.name);
        match space {
            Space::Shared => batch.push_shared(slot, value),
            _ => batch.push_feature(slot, value),
        }
        Ok(())
    }
}

/// The outcome that the fields of a line tell; without one, the round can be decided and not learned.
fn outcome(fields: &Fields) -> Result<Outcome> {
    let Some(cost) = fields.cost.number.filter(|_| !fields.skip) else { return Ok(Outcome::default()) };
    let (index, first) = (fields.index.number, fields.first.number.map(|first| first - 1.0));
    if let (Some(index), Some(first)) = (index, first) {
        if index != first {
            return Err(Fault::value(format!(
                "_labelIndex and _label_Action must be the same action, got {index} and {}",
                first + 1.0
            )));
        }
    }
    let place = index.or(first);
    let action = match place {
        Some(place) if place >= 0.0 && place.fract() == 0.0 && place < 4e9 => place as u32,
        Some(place) => {
            return Err(Fault::value(format!("_labelIndex must be an index of an action, got {place}")))
        }
        None => return Err(Fault::value("a decision with _label_cost must have _labelIndex or _label_Action")),
    };
    let Some(probability) = fields.probability.number else {
        return Err(Fault::value("a decision with _label_cost must have _label_probability"));
    };
    let reward = if cost == 0.0 { 0.0 } else { -cost };
    Ok(Outcome { action: Some(action), probability: Some(probability), reward: Some(reward) })
}

fn number(reader: &mut Reader<'_>, name: &str) -> Result<Option<f64>> {
    match reader.value().map_err(invalid)? {
        Token::Number(number) => Ok(Some(as_float(&number))),
        Token::Null => Ok(None),
        _ => Err(Fault::value(format!("{name} must be a number"))),
    }
}

/// Pass a value; its length if it is a list.
fn length(reader: &mut Reader<'_>) -> Result<Option<usize>> {
    let token = reader.value().map_err(invalid)?;
    if token != Token::BeginArray {
        return pass(token, reader, 0).map(|()| None);
    }
    let (mut more, mut length) = (reader.first_item(), 0);
    while more {
        skip(reader, 1)?;
        length += 1;
        more = reader.next_item().map_err(invalid)?;
    }
    Ok(Some(length))
}

/// Pass a value.
fn skip(reader: &mut Reader<'_>, depth: usize) -> Result<()> {
    let token = reader.value().map_err(invalid)?;
    pass(token, reader, depth)
}

/// Pass the rest of a value that begins with a token.
fn pass(token: Token<'_>, reader: &mut Reader<'_>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Fault::value("a line is nested too deeply"));
    }
    match token {
        Token::BeginObject => {
            let mut key = reader.first_key().map_err(invalid)?;
            while key.is_some() {
                skip(reader, depth + 1)?;
                key = reader.next_key().map_err(invalid)?;
            }
        }
        Token::BeginArray => {
            let mut more = reader.first_item();
            while more {
                skip(reader, depth + 1)?;
                more = reader.next_item().map_err(invalid)?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"_label_cost":-1,"_label_probability":0.25,"_labelIndex":1,"_label_Action":2,"a":[2,1],
        "p":[0.25,0.75],"odd":[{"x":1}],"c":{"user":{"age":2,"city":"nl"},"_multi":[{"a":{"id":"1"}},{"a":{"x":3}}]}}"#;

    #[test]
    fn a_line_by_hand() {
        let (mut reader, mut batch) = (DsJson::default(), RoundBatch::default());
        reader.line(LINE.as_bytes(), &mut batch).expect("a good line");
        let wanted = Outcome { action: Some(1), probability: Some(0.25), reward: Some(1.0) };
        assert_eq!(batch.outcome(0), wanted);
        let names = |space| batch.names().schema(space).names().map(|name| name.text()).collect::<Vec<_>>();
        assert_eq!(names(Space::Shared), ["user^age", "user^city=nl"]);
        assert_eq!(names(Space::Action), ["a^id=1", "a^x"]);
        assert_eq!(reader.unknown.keys().collect::<Vec<_>>(), ["odd"]);
    }

    #[test]
    fn actions_of_the_round_before_are_recognised() {
        let (mut reader, mut batch) = (DsJson::default(), RoundBatch::default());
        let lists = [
            r#"{"a":{"id":"1"}},{"a":{"x":3}}"#,
            r#"{"a":{"id":"1"}} , {"a":{"x":3}}"#,
            r#"{"a":{"x":3}},{"a":{"x":3},"b":{"y":1}},{"a":{"id":"1"}}"#,
            r#"{"a":{"x":3},"b":{"y":1}}"#,
        ];
        for list in lists {
            let line = format!(r#"{{"c":{{"_multi":[{list}]}}}}"#);
            reader.line(line.as_bytes(), &mut batch).expect("a good line");
        }
        let members: Vec<&[u32]> = (0..4).map(|round| batch.members(round)).collect();
        assert_eq!(members, [&[0, 1][..], &[0, 1], &[1, 2, 0], &[2]]);
    }

    #[test]
    fn wrong_lines_are_refused_whole() {
        let (mut reader, mut batch) = (DsJson::default(), RoundBatch::default());
        for (from, to, words) in [
            ("0.25", "0", "(0, 1]"),
            ("\"_label_probability\":0.25,", "", "must have _label_probability"),
            ("\"_labelIndex\":1,\"_label_Action\":2", "\"_labelIndex\":7", "one of the 2 actions"),
            ("\"_labelIndex\":1", "\"_labelIndex\":0", "must be the same action, got 0 and 2"),
            ("\"a\":[2,1]", "\"a\":[2,1,3]", "a must have one entry for each of the 2 actions, got 3"),
            ("\"p\":[0.25,0.75]", "\"p\":[]", "p must have one entry for each of the 2 actions, got 0"),
            ("\"_label_cost\":-1", "\"_label_cost\":-1,\"_label_cost\":2", "_label_cost must occur once"),
            ("\"_multi\":[{\"a\":{\"id\":\"1\"}},{\"a\":{\"x\":3}}]", "\"_multi\":[]", "at least one action"),
            ("\"c\":", "\"d\":", "the field c"),
        ] {
            let fault = reader.line(LINE.replacen(from, to, 1).as_bytes(), &mut batch).expect_err(words);
            assert!(fault.message().contains(words), "{}", fault.message());
            assert_eq!(batch.len(), 0);
        }
        for cut in 1..LINE.len() {
            assert!(reader.line(&LINE.as_bytes()[..cut], &mut batch).is_err());
        }
        reader.line(LINE.replacen("\"a\":[2,1]", "\"_skipLearn\":true", 1).as_bytes(), &mut batch).unwrap();
        assert_eq!((batch.outcome(0), reader.skipped_learning), (Outcome::default(), 1));
    }
}
