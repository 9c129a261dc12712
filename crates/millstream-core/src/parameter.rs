//! Parameters, declared once: name, kind, bounds, default and description.
//!
//! A declaration is plain data. Validation, the builder, documentation, the command line and the tests walk
//! it. `resolve` turns the given arguments into the complete, canonical set, or returns a fault of one line.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::learner::Learner;
use crate::registry;
use crate::task::Task;

/// The interval of a number.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub low: f64,
    pub low_included: bool,
    pub high: f64,
    pub high_included: bool,
}

impl Bounds {
    pub const ANY: Bounds = Bounds::new(f64::NEG_INFINITY, false, f64::INFINITY, false);
    pub const POSITIVE: Bounds = Bounds::new(0.0, false, f64::INFINITY, false);
    pub const NOT_NEGATIVE: Bounds = Bounds::new(0.0, true, f64::INFINITY, false);
    /// (0, 1)
    pub const OPEN_UNIT: Bounds = Bounds::new(0.0, false, 1.0, false);
    /// (0, 1]
    pub const FRACTION: Bounds = Bounds::new(0.0, false, 1.0, true);
    /// [0, 1)
    pub const DECAY: Bounds = Bounds::new(0.0, true, 1.0, false);
    /// [0, 1]
    pub const UNIT: Bounds = Bounds::new(0.0, true, 1.0, true);

    pub const fn new(low: f64, low_included: bool, high: f64, high_included: bool) -> Self {
        Bounds { low, low_included, high, high_included }
    }

    fn contains(&self, number: f64) -> bool {
        number.is_finite()
            && (number > self.low || (self.low_included && number == self.low))
            && (number < self.high || (self.high_included && number == self.high))
    }

    fn words(&self) -> String {
        match (self.low.is_finite(), self.high.is_finite()) {
            (false, false) => "a finite number".into(),
            (true, false) => format!("{} {}", if self.low_included { ">=" } else { ">" }, self.low),
            (false, true) => format!("{} {}", if self.high_included { "<=" } else { "<" }, self.high),
            (true, true) => format!(
                "in {}{}, {}{}",
                if self.low_included { "[" } else { "(" },
                self.low,
                self.high,
                if self.high_included { "]" } else { ")" },
            ),
        }
    }
}

/// The type and range of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Float(Bounds),
    Integer {
        low: i64,
        high: i64,
    },
    Boolean,
    Choice(&'static [&'static str]),
    Text,
    /// A feature name: a string or an integer.
    Name,
    /// A list of feature names: strings or integers.
    Names,
    /// A list of integers within bounds; one integer is a list of it.
    Integers {
        low: i64,
        high: i64,
    },
    /// A list of numbers within bounds.
    Floats(Bounds),
    /// A list of numbers, or a list of lists of numbers; the string tells users which.
    Table(&'static str),
    /// A class label: bool, int or string.
    Label,
    /// A list of different labels, at least one.
    Labels,
    /// Two numbers, the smaller one first, of at most this size.
    Range(f64),
    /// Another component: `{"name": …, "parameters": …}`, its name, or the last word of its name in lower case.
    Part(&'static [Role]),
    /// A schedule, or a number within the bounds for a constant one.
    Rate(Bounds),
    /// A list of components.
    Parts(&'static [Role]),
    /// A quantity: one of these words, an integer, or a fraction in (0, 1].
    Portion(&'static [&'static str]),
    /// One of these words, or a number within bounds.
    WordOrFloat(&'static [&'static str], Bounds),
    /// Ranges of features: a pair of low and high for all, or a list of feature name, low, high for some.
    Limits,
    /// Any of the others, or null.
    Optional(&'static Kind),
}

#[derive(Clone, Copy, Debug)]
pub enum Default {
    Required,
    Null,
    Float(f64),
    Integer(i64),
    Boolean(bool),
    Text(&'static str),
    Integers(&'static [i64]),
    /// A component with its own defaults, by name.
    Part(&'static str),
    /// A component with its own defaults except for some numbers: its name, and pairs of parameter and number.
    Tuned(&'static str, &'static [(&'static str, f64)]),
}

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Default,
    pub words: &'static str,
    /// Names of the parameter in earlier versions; descriptions and saved files may still use them.
    pub formerly: &'static [&'static str],
}

impl Parameter {
    pub const fn new(name: &'static str, kind: Kind, default: Default, words: &'static str) -> Self {
        Parameter { name, kind, default, words, formerly: &[] }
    }

    /// A copy with another default.
    pub const fn with_default(self, default: Default) -> Self {
        Parameter { default, ..self }
    }

    /// A copy with another description.
    pub const fn with_words(self, words: &'static str) -> Self {
        Parameter { words, ..self }
    }

    /// A copy with the names of earlier versions.
    pub const fn formerly(self, formerly: &'static [&'static str]) -> Self {
        Parameter { formerly, ..self }
    }

    /// Whether this is its present or a former name.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.formerly.contains(&name)
    }
}

impl Kind {
    /// The requirement in words, for messages and documentation.
    pub fn words(&self) -> String {
        match self {
            Kind::Float(bounds) => bounds.words(),
            Kind::Integer { low, high } => match (*low, *high) {
                (i64::MIN, i64::MAX) => "an integer".into(),
                (low, i64::MAX) => format!("an integer >= {low}"),
                (low, high) => format!("an integer in [{low}, {high}]"),
            },
            Kind::Boolean => "true or false".into(),
            Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
            Kind::Text => "a string".into(),
            Kind::Name => "a feature name (str or int)".into(),
            Kind::Names => "a list of feature names".into(),
            Kind::Integers { low, high } => {
                format!("a list, each {}", Kind::Integer { low: *low, high: *high }.words())
            }
            Kind::Floats(bounds) => format!("a list of numbers, each {}", bounds.words()),
            Kind::Table(words) => (*words).into(),
            Kind::Label => "a class label (bool, int or str)".into(),
            Kind::Labels => "a list of different labels (bool, int or str)".into(),
            Kind::Range(_) => "a pair low < high".into(),
            Kind::Part(roles) => {
                let words = role_words(roles);
                format!("{} {words}", if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
            }
            Kind::Rate(bounds) => format!("{} or a schedule", bounds.words()),
            Kind::Parts(roles) => format!("a list of components ({})", role_words(roles)),
            Kind::Portion(words) => format!("{}, an integer >= 1, or a fraction in (0, 1]", words.join(", ")),
            Kind::WordOrFloat(words, bounds) => format!("{}, or a number {}", words.join(", "), bounds.words()),
            Kind::Limits => "a pair low < high, or a list of feature name, low, high".into(),
            Kind::Optional(kind) => format!("{}, or null", kind.words()),
        }
    }

    fn resolve(&self, who: &str, name: &str, given: &Value) -> Result<Value> {
        let refuse = || Fault::value(format!("{who}: {name} must be {}, got {}", self.words(), shown(given)));
        match self {
            Kind::Optional(kind) => match given {
                Value::Null => Ok(Value::Null),
                _ => kind.resolve(who, name, given),
            },
            Kind::Float(bounds) => match given.as_f64() {
                Some(number) if bounds.contains(number) => Ok(number.into()),
                _ => Err(refuse()),
            },
            Kind::Rate(bounds) => match given.as_f64() {
                Some(number) if bounds.contains(number) => Ok(number.into()),
                Some(_) => Err(refuse()),
                None => resolve_part(&[Role::Schedule], given, &refuse),
            },
            Kind::Integer { low, high } => match integer(given) {
                Some(number) if (*low..=*high).contains(&number) => Ok(number.into()),
                _ => Err(refuse()),
            },
            Kind::Boolean => given.as_bool().map(Value::from).ok_or_else(refuse),
            Kind::Choice(choices) => match given.as_str() {
                Some(text) if choices.contains(&text) => Ok(text.into()),
                _ => Err(refuse()),
            },
            Kind::Text => given.as_str().map(Value::from).ok_or_else(refuse),
            Kind::Name => match given.is_string() || given.is_i64() {
                true => Ok(given.clone()),
                false => Err(refuse()),
            },
            Kind::Names => {
                let names = given.as_array().ok_or_else(refuse)?;
                let good = names.iter().all(|name| name.is_string() || name.is_i64());
                if good {
                    Ok(given.clone())
                } else {
                    Err(refuse())
                }
            }
            Kind::Integers { low, high } => {
                let given = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
                let numbers: Option<Vec<i64>> = given.iter().map(integer).collect();
                match numbers {
                    Some(numbers) if numbers.iter().all(|number| (*low..=*high).contains(number)) => {
                        Ok(numbers.into())
                    }
                    _ => Err(refuse()),
                }
            }
            Kind::Floats(bounds) => {
                let numbers: Option<Vec<f64>> =
                    given.as_array().ok_or_else(refuse)?.iter().map(Value::as_f64).collect();
                match numbers {
                    Some(numbers) if numbers.iter().all(|&number| bounds.contains(number)) => Ok(numbers.into()),
                    _ => Err(refuse()),
                }
            }
            Kind::Table(_) => table(given).ok_or_else(refuse),
            Kind::Label => match given {
                Value::Bool(_) | Value::String(_) => Ok(given.clone()),
                _ => integer(given).map(Value::from).ok_or_else(refuse),
            },
            Kind::Labels => labels(given).ok_or_else(refuse),
            Kind::Range(largest) => match given.as_array().map(Vec::as_slice) {
                Some([low, high]) => match (low.as_f64(), high.as_f64()) {
                    (Some(low), Some(high)) if low < high && low.abs() <= *largest && high.abs() <= *largest => {
                        Ok(serde_json::json!([low, high]))
                    }
                    _ => Err(refuse()),
                },
                _ => Err(refuse()),
            },
            Kind::Portion(words) => match (given.as_str(), given.as_f64(), integer(given)) {
                (Some(text), ..) if words.contains(&text) => Ok(text.into()),
                // 1 is one of them, and 1.0 is all of them.
                (_, Some(fraction), _) if !given.is_i64() && Bounds::FRACTION.contains(fraction) => {
                    Ok(fraction.into())
                }
                (.., Some(number)) if number >= 1 => Ok(number.into()),
                _ => Err(refuse()),
            },
            Kind::WordOrFloat(words, bounds) => match (given.as_str(), given.as_f64()) {
                (Some(text), _) if words.contains(&text) => Ok(text.into()),
                (_, Some(number)) if bounds.contains(number) => Ok(number.into()),
                _ => Err(refuse()),
            },
            Kind::Limits => limits(given).ok_or_else(refuse),
            Kind::Part(roles) => resolve_part(roles, given, &refuse),
            Kind::Parts(roles) => given
                .as_array()
                .ok_or_else(refuse)?
                .iter()
                .map(|part| resolve_part(roles, part, &refuse))
                .collect::<Result<Vec<_>>>()
                .map(Value::from),
        }
    }
}

/// A list of bools, integers and strings, each once; whole floats become integers.
fn labels(given: &Value) -> Option<Value> {
    let label = |label: &Value| match label {
        Value::Bool(_) | Value::String(_) => Some(label.clone()),
        _ => integer(label).map(Value::from),
    };
    let labels = given.as_array()?.iter().map(label).collect::<Option<Vec<_>>>()?;
    // True and 1 are one label.
    let key = |label: &Value| label.as_bool().map_or_else(|| label.clone(), |flag| i64::from(flag).into());
    let keys: std::collections::BTreeSet<String> = labels.iter().map(|label| key(label).to_string()).collect();
    (!labels.is_empty() && keys.len() == labels.len()).then(|| labels.into())
}

/// A list of finite numbers, or a list of such lists.
fn table(given: &Value) -> Option<Value> {
    let number = |entry: &Value| entry.as_f64().filter(|number| number.is_finite());
    let row = |row: &Value| row.as_array()?.iter().map(number).collect::<Option<Vec<f64>>>();
    row(given).map(Value::from).or_else(|| {
        let rows = given.as_array()?.iter().map(row).collect::<Option<Vec<_>>>()?;
        Some(rows.into_iter().map(Value::from).collect())
    })
}

/// Differences and sums of such limits stay far from the largest number.
const LARGEST_LIMIT: f64 = 1e100;

/// A pair of numbers, or a list of triples of a feature name, each once, and two numbers.
fn limits(given: &Value) -> Option<Value> {
    let pair = |entries: &[Value]| match entries {
        [low, high] => {
            let pair = (low.as_f64()?, high.as_f64()?);
            let bounded = pair.0.abs() <= LARGEST_LIMIT && pair.1.abs() <= LARGEST_LIMIT;
            (pair.0 < pair.1 && bounded).then_some(pair)
        }
        _ => None,
    };
    let entries = given.as_array()?;
    if let Some((low, high)) = pair(entries) {
        return Some(serde_json::json!([low, high]));
    }
    let mut triples = Vec::new();
    for entry in entries {
        let (name, rest) = entry.as_array()?.split_first()?;
        let (low, high) = pair(rest).filter(|_| name.is_string() || name.is_i64())?;
        triples.push(serde_json::json!([name, low, high]));
    }
    let names: std::collections::BTreeSet<String> = triples.iter().map(|triple| triple[0].to_string()).collect();
    (names.len() == triples.len()).then_some(Value::Array(triples))
}

fn role_words(roles: &[Role]) -> String {
    roles.iter().map(|role| role.word().replace('_', " ")).collect::<Vec<_>>().join(" or ")
}

fn integer(given: &Value) -> Option<i64> {
    given.as_i64().or_else(|| given.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i64))
}

fn resolve_part(roles: &[Role], given: &Value, refuse: &dyn Fn() -> Fault) -> Result<Value> {
    let description = match given {
        Value::String(name) => {
            Cow::Owned(serde_json::json!({ "name": registry::worded(name, roles).unwrap_or(name) }))
        }
        Value::Object(part) if part.get("name").is_some_and(Value::is_string) => Cow::Borrowed(given),
        _ => return Err(refuse()),
    };
    let description = registry::resolve(&description)?;
    if roles.contains(&registry::role_of(&description)?) {
        Ok(description)
    } else {
        Err(refuse())
    }
}

fn is_described(value: &Value) -> bool {
    value.get("name").is_some_and(Value::is_string)
}

/// Number of components of a list that a message names.
const MOST_SHOWN: usize = 8;

/// A value for a message: in Python notation, components by their short names.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Object(part) if is_described(value) => {
            let name = part["name"].as_str().unwrap_or_default();
            name.rsplit('.').next().unwrap_or_default().to_string()
        }
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(is_described) => {
            let names: Vec<String> = parts.iter().take(MOST_SHOWN).map(shown).collect();
            let more = if parts.len() > MOST_SHOWN { ", ..." } else { "" };
            format!("[{}{more}]", names.join(", "))
        }
        other => {
            let text = other.to_string();
            if text.chars().count() > 80 {
                text.chars().take(77).chain("...".chars()).collect()
            } else {
                text
            }
        }
    }
}

/// A complete, checked set of arguments; the getters fail only if a declaration and its builder disagree.
#[derive(Debug)]
pub struct Arguments<'a> {
    pub who: &'a str,
    values: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    pub fn new(who: &'a str, values: &'a Map<String, Value>) -> Self {
        Arguments { who, values }
    }

    /// A copy of all values, to change some of them.
    pub fn clone_values(&self) -> Map<String, Value> {
        self.values.clone()
    }

    pub fn value(&self, name: &str) -> Result<&'a Value> {
        self.values.get(name).ok_or_else(|| self.absent(name))
    }

    pub fn float(&self, name: &str) -> Result<f64> {
        self.value(name)?.as_f64().ok_or_else(|| self.absent(name))
    }

    pub fn integer(&self, name: &str) -> Result<i64> {
        self.value(name)?.as_i64().ok_or_else(|| self.absent(name))
    }

    pub fn size(&self, name: &str) -> Result<usize> {
        usize::try_from(self.integer(name)?).map_err(|_| self.absent(name))
    }

    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        serde_json::from_value(self.value(name)?.clone()).map_err(|_| self.absent(name))
    }

    pub fn floats(&self, name: &str) -> Result<Vec<f64>> {
        serde_json::from_value(self.value(name)?.clone()).map_err(|_| self.absent(name))
    }

    pub fn boolean(&self, name: &str) -> Result<bool> {
        self.value(name)?.as_bool().ok_or_else(|| self.absent(name))
    }

    pub fn text(&self, name: &str) -> Result<&'a str> {
        self.value(name)?.as_str().ok_or_else(|| self.absent(name))
    }

    /// The component that an argument describes, built.
    pub fn part(&self, name: &str) -> Result<Built> {
        registry::build_resolved(self.value(name)?)
    }

    /// The components that a list describes, built.
    pub fn parts(&self, name: &str) -> Result<Vec<Built>> {
        let parts = self.value(name)?.as_array().ok_or_else(|| self.absent(name))?;
        parts.iter().map(registry::build_resolved).collect()
    }

    /// The learner of a task that a parameter describes.
    pub fn learner<T: Task>(&self, name: &str) -> Result<Box<dyn Learner<T>>> {
        T::unbuild(self.part(name)?).ok_or_else(|| self.absent(name))
    }

    /// A feature name, if one is given.
    pub fn name(&self, name: &str) -> Result<Option<crate::schema::Name>> {
        serde_json::from_value(self.value(name)?.clone()).map_err(|_| self.absent(name))
    }

    pub fn names(&self, name: &str) -> Result<Vec<crate::schema::Name>> {
        serde_json::from_value(self.value(name)?.clone()).map_err(|_| self.absent(name))
    }

    /// A class label, or none.
    pub fn label(&self, name: &str) -> Result<Option<crate::labels::Label>> {
        serde_json::from_value(self.value(name)?.clone()).map_err(|_| self.absent(name))
    }

    /// The fault for an argument of another kind than the builder expects.
    pub fn absent(&self, name: &str) -> Fault {
        Fault::value(format!("{}: parameter {name} is not of the declared kind", self.who))
    }
}

/// Check `given` against the declared parameters and fill in the defaults.
pub fn resolve(who: &str, parameters: &[Parameter], given: &Map<String, Value>) -> Result<Map<String, Value>> {
    for name in given.keys() {
        if !parameters.iter().any(|parameter| parameter.is_called(name)) {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            let hint = registry::nearest(name, known.iter().copied())
                .map(|near| format!(", did you mean {near}?"))
                .unwrap_or_else(|| match known.is_empty() {
                    true => "; it takes none".into(),
                    false => format!("; it takes {}", known.join(", ")),
                });
            return Err(Fault::wrong_type(format!("{who}: no parameter '{name}'{hint}")));
        }
    }
    let mut resolved = Map::with_capacity(parameters.len());
    for parameter in parameters {
        let mut names = given.keys().filter(|name| parameter.is_called(name));
        let name = names.next();
        if let (Some(name), Some(other)) = (name, names.next()) {
            return Err(Fault::wrong_type(format!(
                "{who}: {name} and {other} are the same parameter; pass one of them"
            )));
        }
        let value = match name.and_then(|name| given.get(name)) {
            Some(value) => parameter.kind.resolve(who, parameter.name, value)?,
            None => match parameter.default {
                Default::Required => {
                    return Err(Fault::wrong_type(format!("{who}: parameter {} is required", parameter.name)))
                }
                default => parameter.kind.resolve(who, parameter.name, &default.value())?,
            },
        };
        resolved.insert(parameter.name.into(), value);
    }
    Ok(resolved)
}

impl Default {
    pub fn value(&self) -> Value {
        match *self {
            Default::Required | Default::Null => Value::Null,
            Default::Float(number) => number.into(),
            Default::Integer(number) => number.into(),
            Default::Boolean(flag) => flag.into(),
            Default::Text(text) => text.into(),
            Default::Integers(numbers) => numbers.into(),
            Default::Part(name) => serde_json::json!({ "name": name }),
            Default::Tuned(name, numbers) => {
                let numbers: Map<_, _> =
                    numbers.iter().map(|&(name, number)| (name.into(), number.into())).collect();
                serde_json::json!({ "name": name, "parameters": numbers })
            }
        }
    }
}
