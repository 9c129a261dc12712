//! The parameters of all structures, and their parsed values.

use serde_json::Value as Json;

use crate::fault::{Fault, Result};
use crate::parameter::{Arguments, Default, Kind, Parameter};

/// Beyond this a recurrence is no longer cheap, and no data needs it.
pub const MOST_ORDER: i64 = 1000;
/// This many functions take a megabyte per set of weights.
pub const MOST_FUNCTIONS: usize = 1 << 17;
/// A triangle of coefficients for this many functions takes 16 MB.
pub const MOST_IN_TRIANGLE: usize = 2048;

pub const BOUNDS: Parameter = Parameter::new(
    "bounds",
    Kind::Table("a pair of numbers, or a pair for each input"),
    Default::Required,
    "lower and upper bound of all inputs, or a pair for each input",
);

pub const COMBINE: Parameter = Parameter::new(
    "combine",
    Kind::Choice(&["tensor", "additive"]),
    Default::Text("tensor"),
    "how several inputs combine: products of their functions, or a sum of one-input functions",
);

pub const OUTSIDE: Parameter = Parameter::new(
    "outside",
    Kind::Choice(&["refuse", "clamp", "extrapolate"]),
    Default::Text("refuse"),
    "treatment of values beyond the bounds",
);

/// The region Ω.
#[derive(Clone, Debug)]
pub enum Region {
    /// The same bounds for any number of inputs.
    All(f64, f64),
    Each(Vec<(f64, f64)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    Tensor,
    Additive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    Refuse,
    Clamp,
    Extrapolate,
}

impl Region {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let given = arguments.value("bounds")?;
        let refuse = |what: &str| {
            let shown = crate::parameter::shown(given);
            Fault::value(format!("{}: bounds must be (low, high){what}, got {shown}", arguments.who))
        };
        let pair = |numbers: &[f64]| match *numbers {
            [low, high] if low < high && (1e-150..1e150).contains(&(high - low)) => Ok((low, high)),
            [low, high] if low < high => Err(refuse(", neither too near nor too far apart for their squares")),
            [_, _] => Err(refuse(" with low < high")),
            _ => Err(refuse(", or one pair for each input")),
        };
        match table(given) {
            Some(Table::Row(numbers)) => pair(&numbers).map(|(low, high)| Region::All(low, high)),
            Some(Table::Rows(rows)) if !rows.is_empty() => {
                rows.iter().map(|row| pair(row)).collect::<Result<_>>().map(Region::Each)
            }
            _ => Err(refuse(", or one pair for each input")),
        }
    }

    pub fn pairs(&self) -> Vec<(f64, f64)> {
        match self {
            Region::All(low, high) => vec![(*low, *high)],
            Region::Each(pairs) => pairs.clone(),
        }
    }

    /// Required number of inputs, if fixed.
    pub fn inputs(&self) -> Option<usize> {
        match self {
            Region::All(..) => None,
            Region::Each(pairs) => Some(pairs.len()),
        }
    }
}

/// A list of numbers, or one of lists of numbers.
pub enum Table {
    Row(Vec<f64>),
    Rows(Vec<Vec<f64>>),
}

pub fn table(given: &Json) -> Option<Table> {
    let rows = given.as_array()?;
    if rows.iter().all(Json::is_number) {
        return rows.iter().map(Json::as_f64).collect::<Option<_>>().map(Table::Row);
    }
    let row = |row: &Json| row.as_array()?.iter().map(Json::as_f64).collect::<Option<Vec<_>>>();
    rows.iter().map(row).collect::<Option<_>>().map(Table::Rows)
}

pub fn combine(arguments: &Arguments<'_>) -> Result<Combine> {
    Ok(if arguments.text("combine")? == "additive" { Combine::Additive } else { Combine::Tensor })
}

pub fn outside(arguments: &Arguments<'_>) -> Result<Outside> {
    Ok(match arguments.text("outside")? {
        "clamp" => Outside::Clamp,
        "extrapolate" => Outside::Extrapolate,
        _ => Outside::Refuse,
    })
}
