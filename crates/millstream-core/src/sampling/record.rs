//! Rows in a sample, as they were given.
//!
//! A learner sees numbers and codes; a sample returns the row itself. A code table of nominal values would grow with
//! every user of the stream, also with those whose rows were dropped long ago. A record therefore owns its values with
//! their types. Only the names of features are shared, between records with the same features in the same order.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::key::Key;
use crate::schema::Name;

/// A value of a row, or a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
}

impl Value {
    pub fn key(&self) -> Key<'_> {
        match self {
            Value::Missing => Key::Missing,
            Value::Bool(flag) => Key::Int(i64::from(*flag)),
            Value::Int(int) => Key::Int(*int),
            Value::Float(float) => Key::of_float(*float),
            Value::Text(text) => Key::Text(text),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Value::Text(text) => std::mem::size_of::<Self>() + text.len(),
            _ => std::mem::size_of::<Self>(),
        }
    }
}

/// MessagePack has a type for each variant, so that a value needs no tag.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Missing => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(int) => serializer.serialize_i64(*int),
            Value::Float(float) => serializer.serialize_f64(*float),
            Value::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a string, a bool or nothing")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Missing)
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
                Ok(Value::Bool(flag))
            }

            fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
                Ok(Value::Int(int))
            }

            fn visit_u64<E: de::Error>(self, int: u64) -> Result<Value, E> {
                i64::try_from(int).map(Value::Int).map_err(|_| E::custom("an integer beyond 64 bits"))
            }

            fn visit_f64<E>(self, float: f64) -> Result<Value, E> {
                Ok(Value::Float(float))
            }

            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl From<Key<'_>> for Value {
    fn from(key: Key<'_>) -> Self {
        match key {
            Key::Missing => Value::Missing,
            Key::Int(int) => Value::Int(int),
            Key::Float(float) => Value::Float(float),
            Key::Text(text) => Value::Text(text.into()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub names: Arc<[Name]>,
    pub values: Box<[Value]>,
    pub y: Value,
}

impl Record {
    fn memory(&self) -> usize {
        // The names are shared.
        std::mem::size_of::<Self>() + self.values.iter().map(Value::memory).sum::<usize>() + self.y.memory()
    }
}

/// A row in a sampler.
#[derive(Clone, Debug)]
pub enum Stored {
    Row(Arc<Record>),
    /// A row of the batch that is being learned, by its index: only the rows that remain are read.
    Pending(usize),
}

/// Rows in a sampler. Copies share the records.
#[derive(Clone, Debug, Default)]
pub struct Rows(pub Vec<Stored>);

impl Rows {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Memory in bytes of the records. Those learned one by one share the names of the one before.
    pub fn memory(&self) -> usize {
        let mut names = std::ptr::null();
        let mut bytes = self.0.capacity() * std::mem::size_of::<Stored>();
        for row in &self.0 {
            let Stored::Row(record) = row else { continue };
            bytes += record.memory();
            if record.names.as_ptr() != names {
                names = record.names.as_ptr();
                bytes += record.names.len() * std::mem::size_of::<Name>();
            }
        }
        bytes
    }
}

/// The form of rows in files: each list of names once.
#[derive(Serialize, Deserialize)]
struct SavedRows {
    names: Vec<Vec<Name>>,
    /// For each row, the index of its names, its values and its target.
    rows: Vec<(u32, Vec<Value>, Value)>,
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut indices = rustc_hash::FxHashMap::<&[Name], u32>::default();
        let mut saved = SavedRows { names: Vec::new(), rows: Vec::with_capacity(self.len()) };
        for row in &self.0 {
            let Stored::Row(record) = row else {
                return Err(serde::ser::Error::custom("a row has not been read"));
            };
            let next = saved.names.len() as u32;
            let index = *indices.entry(&record.names).or_insert(next);
            if index == next {
                saved.names.push(record.names.to_vec());
            }
            saved.rows.push((index, record.values.to_vec(), record.y.clone()));
        }
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = SavedRows::deserialize(deserializer)?;
        let names: Vec<Arc<[Name]>> = saved.names.into_iter().map(Arc::from).collect();
        let row = |(index, values, y): (u32, Vec<Value>, Value)| {
            let names = names.get(index as usize).filter(|names| names.len() == values.len());
            let names = names.ok_or_else(|| de::Error::custom("a row does not have its names"))?.clone();
            Ok(Stored::Row(Arc::new(Record { names, values: values.into(), y })))
        };
        saved.rows.into_iter().map(row).collect::<Result<_, _>>().map(Rows)
    }
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// A row with one number.
    pub fn row(number: i64) -> Stored {
        let record =
            Record { names: [Name::from("x")].into(), values: [Value::Int(number)].into(), y: Value::Missing };
        Stored::Row(Arc::new(record))
    }

    pub fn number(row: &Stored) -> i64 {
        match row {
            Stored::Row(record) => match record.values[0] {
                Value::Int(number) => number,
                _ => -1,
            },
            Stored::Pending(_) => -2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::state::{pack, unpack};

    #[test]
    fn equal_values_are_one_key() {
        let one = Key::Int(1).hash(7);
        assert_eq!(Value::Float(1.0).key().hash(7), one);
        assert_eq!(Value::Bool(true).key().hash(7), one);
        assert_eq!(Value::Float(-0.0).key(), Key::Int(0));
        assert_ne!(Value::Text("1".into()).key().hash(7), one);
        assert_ne!(Value::Float(1.5).key().hash(7), one);
        assert_eq!(Value::Float(f64::NAN).key(), Key::Missing);
    }

    #[test]
    fn rows_are_saved_with_their_types() {
        let names: Arc<[Name]> = [Name::from("a"), Name::from(5), Name::from("c")].into();
        let values = [Value::Int(i64::MIN), Value::Float(2.0), Value::Text("é".into())];
        let record = Record { names: names.clone(), values: values.into(), y: Value::Bool(true) };
        let other =
            Record { names, values: [Value::Missing, Value::Int(2), Value::Float(0.5)].into(), y: Value::Missing };
        let rows = Rows(vec![Stored::Row(Arc::new(record.clone())), Stored::Row(Arc::new(other.clone()))]);
        let bytes = pack(&rows).expect("all rows are read");
        let again: Rows = unpack("rows", &bytes).expect("just saved");
        for (row, wanted) in again.0.iter().zip([record, other]) {
            assert!(matches!(row, Stored::Row(row) if **row == wanted));
        }
        assert!(pack(&Rows(vec![Stored::Pending(3)])).is_err());
    }
}
