//! Vowpal Wabbit's text of rounds with actions (`--cb_adf`, `--cb_explore_adf`).
//!
//! ```text
//! shared |user age:0.3 country=nl
//! |action id=1 price:2
//! 0:-1:0.25 |action id=2 price:3
//!
//! ```
//! A round ends with an empty line. The line of the context may be missing; the action taken has `index:cost:probability`
//! in front of its bar. A cost is the negative of a reward. The name of a feature is `namespace^feature`, as in VW's own
//! reports; names are kept and not hashed.

use crate::bandit::contextual::Space;
use crate::fault::{Fault, Result};
use crate::text::number;

use super::batch::{Catalogue, Outcome, RoundBatch};

/// Reads lines into a batch.
#[derive(Debug, Default)]
pub struct RoundText {
    catalogue: Catalogue,
    outcome: Outcome,
    /// Why the round that is being read is refused.
    wrong: Option<Fault>,
    started: bool,
    has_context: bool,
    name: String,
    namespace: String,
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(40).collect();
    format!("'{short}'")
}

impl RoundText {
    /// Forget the actions of the last batch.
    pub fn begin_batch(&mut self) {
        self.catalogue.clear();
    }

    /// Whether a round is being read.
    pub fn is_inside(&self) -> bool {
        self.started
    }

    /// Read a line; true if it ended a round.
    pub fn line(&mut self, line: &[u8], batch: &mut RoundBatch) -> Result<bool> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            return self.end(batch);
        }
        self.started = true;
        if self.wrong.is_none() {
            if let Err(fault) = self.part(line, batch) {
                self.wrong = Some(fault);
            }
        }
        Ok(false)
    }

    /// End the round that is being read, if there is one.
    pub fn end(&mut self, batch: &mut RoundBatch) -> Result<bool> {
        if !std::mem::take(&mut self.started) {
            return Ok(false);
        }
        let outcome = std::mem::take(&mut self.outcome);
        self.has_context = false;
        if let Some(fault) = self.wrong.take() {
            batch.drop_round();
            return Err(fault);
        }
        batch.end_round(outcome)?;
        Ok(true)
    }

    fn part(&mut self, line: &[u8], batch: &mut RoundBatch) -> Result<()> {
        let Some(bar) = memchr::memchr(b'|', line) else {
            return Err(Fault::value(format!(
                "a line must have a bar '|' before its features, got {}",
                shown(line)
            )));
        };
        let (head, body) = (&line[..bar], &line[bar..]);
        let mut label = None;
        for word in head.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty()) {
            if word.starts_with(b"'") || label.is_some() {
                continue;
            }
            label = Some(word);
        }
        if label == Some(b"shared") {
            if batch.offered() > 0 || std::mem::replace(&mut self.has_context, true) {
                return Err(Fault::value("the line of the context must be the first of a round, and there once"));
            }
            return self.features(body, Space::Shared, batch);
        }
        if let Some(label) = label.filter(|label| label.contains(&b':')) {
            self.label(label, batch.offered() as u32)?;
        } else if let Some(word) = label.filter(|&word| number(word).is_none() && head.ends_with(b" ")) {
            return Err(Fault::value(format!(
                "a label must be 'shared' or action:cost:probability, got {}",
                shown(word)
            )));
        }
        let action = match self.catalogue.get(body) {
            Some(action) => action,
            None => {
                self.features(body, Space::Action, batch)?;
                let action = batch.end_action(None);
                self.catalogue.insert(body, action);
                action
            }
        };
        batch.offer(action);
        Ok(())
    }

    fn label(&mut self, label: &[u8], action: u32) -> Result<()> {
        if self.outcome.action.is_some() {
            return Err(Fault::value("a round must have one action taken, got two labels"));
        }
        let refused = || Fault::value(format!("a label must be action:cost:probability, got {}", shown(label)));
        let mut fields = label.split(|&byte| byte == b':');
        let mut field = || fields.next().ok_or_else(refused).and_then(|text| number(text).ok_or_else(refused));
        let (_, cost, probability) = (field()?, field()?, field()?);
        if fields.next().is_some() {
            return Err(refused());
        }
        // −0 would be printed as such.
        let reward = if cost == 0.0 { 0.0 } else { -cost };
        self.outcome = Outcome { action: Some(action), probability: Some(probability), reward: Some(reward) };
        super::batch::check(action as usize + 1, self.outcome)
    }

    /// The features of a line from its first bar on.
    fn features(&mut self, body: &[u8], space: Space, batch: &mut RoundBatch) -> Result<()> {
        for part in body.split(|&byte| byte == b'|').skip(1) {
            let mut scale = 1.0;
            self.namespace.clear();
            let mut words = part.split(|&byte| byte == b' ' || byte == b'\t');
            // A word that touches the bar names the namespace.
            if let Some(head) = words.next().filter(|head| !head.is_empty()) {
                let mut fields = head.splitn(2, |&byte| byte == b':');
                self.namespace.push_str(text(fields.next().unwrap_or_default())?);
                self.namespace.push('^');
                if let Some(given) = fields.next() {
                    scale = number(given).filter(|scale| scale.is_finite()).ok_or_else(|| {
                        Fault::value(format!(
                            "the scale of a namespace must be a finite number, got {}",
                            shown(given)
                        ))
                    })?;
                }
            }
            for word in words.filter(|word| !word.is_empty()) {
                let colon = memchr::memrchr(b':', word);
                let (name, value) = match colon {
                    None => (word, 1.0),
                    Some(colon) => {
                        let given = &word[colon + 1..];
                        let value = number(given).filter(|value| value.is_finite()).ok_or_else(|| {
                            Fault::value(format!(
                                "the value of a feature must be a finite number, got {}",
                                shown(word)
                            ))
                        })?;
                        (&word[..colon], value)
                    }
                };
                self.name.clear();
                self.name.push_str(&self.namespace);
                self.name.push_str(text(name)?);
                let slot = batch.text_slot(space, &self.name);
                match space {
                    Space::Shared => batch.push_shared(slot, value * scale),
                    _ => batch.push_feature(slot, value * scale),
                }
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Fault::value(format!("a name must be valid UTF-8, got {}", shown(bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> (RoundBatch, Vec<String>) {
        let (mut batch, mut reader, mut refused) = (RoundBatch::default(), RoundText::default(), Vec::new());
        for line in lines.split('\n').map(str::as_bytes) {
            if let Err(fault) = reader.line(line, &mut batch) {
                refused.push(fault.message().to_string());
            }
        }
        (batch, refused)
    }

    #[test]
    fn a_round_by_hand() {
        let (batch, refused) = read("shared |u age:2 nl\n|a id=1\n0:-1.5:0.25 |a id=2 x:3\n\n|a id=1\n\n");
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(batch.len(), 2);
        let wanted = Outcome { action: Some(1), probability: Some(0.25), reward: Some(1.5) };
        assert_eq!((batch.outcome(0), batch.outcome(1)), (wanted, Outcome::default()));
        let names: Vec<String> = batch.names().schema(Space::Action).names().map(|name| name.text()).collect();
        assert_eq!(names, ["a^id=1", "a^id=2", "a^x"]);
        assert_eq!(batch.shared(0), (&[0, 1][..], &[2.0, 1.0][..]));
        // The same action in both rounds is stored once.
        assert_eq!((batch.members(0), batch.members(1)), (&[0, 1][..], &[0][..]));
    }

    #[test]
    fn a_wrong_round_is_refused_alone() {
        for (label, words) in [
            ("0:1:0", "(0, 1], got 0"),
            ("0:1:-0.5", "(0, 1], got -0.5"),
            ("0:1:1.5", "(0, 1], got 1.5"),
            ("0:1:nan", "(0, 1], got NaN"),
            ("0:nan:0.5", "reward must be finite"),
            ("0:inf:0.5", "reward must be finite"),
            ("0:1", "action:cost:probability"),
            ("what", "'shared' or action:cost:probability"),
        ] {
            let (batch, refused) = read(&format!("|a x\n{label} |a y\n\n|a z\n\n"));
            assert_eq!((batch.len(), refused.len()), (1, 1), "{label} {refused:?}");
            assert!(refused[0].contains(words), "{refused:?}");
            assert_eq!(batch.members(0).len(), 1);
        }
        assert!(read("shared |u x\n\n").1[0].contains("at least one action"));
        assert!(read("shared |u x\nshared |u y\n|a x\n\n").1[0].contains("there once"));
        assert!(read("0:1:0.5 |a x\n0:1:0.5 |a y\n\n").1[0].contains("two labels"));
    }
}
