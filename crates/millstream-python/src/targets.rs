//! Targets and weights, of one example and of many.

use millstream_core::declaration::Role;
use millstream_core::labels::Label;
use millstream_core::task::{Target, Targets};
use millstream_core::Fault;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use rustc_hash::FxHashMap;

use crate::borrowed_rows::{read_integers, read_numbers};
use crate::errors::{raise, shown, OrRaise};
use crate::labels::{float_label, label_of, ManyLabels};

/// The target of one example, by its type.
pub enum OneTarget {
    None,
    Label(Label),
    Number(f64),
}

impl OneTarget {
    pub fn read(py: Python<'_>, role: Role, y: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(y) = y.filter(|y| !y.is_none()) else { return Ok(OneTarget::None) };
        match role {
            Role::Regressor => number_of(y).map(OneTarget::Number).or_raise(py),
            Role::Classifier => label_of(y).map(OneTarget::Label).or_raise(py),
            // Most transformers ignore it.
            Role::Transformer => Ok(either(y)),
            _ => Ok(OneTarget::None),
        }
    }

    pub fn target(&self) -> Target<'_> {
        match self {
            OneTarget::None => Target::None,
            OneTarget::Label(label) => Target::Class(label),
            OneTarget::Number(number) => Target::Number(*number),
        }
    }
}

/// The target of a transformer, behind which either a classifier or a regressor may stand: a number, or a label.
fn either(y: &Bound<'_, PyAny>) -> OneTarget {
    let is_label = y.is_instance_of::<PyBool>() || y.is_instance_of::<PyString>();
    match number_of(y) {
        Ok(number) if !is_label => OneTarget::Number(number),
        _ => label_of(y).map_or(OneTarget::None, OneTarget::Label),
    }
}

/// A Python object as a numeric target.
fn number_of(value: &Bound<'_, PyAny>) -> millstream_core::Result<f64> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(float.value());
    }
    if value.is_none() {
        return Err(Fault::wrong_type("the target is missing"));
    }
    value.extract::<f64>().map_err(|_| no_number(value, "the target"))
}

/// A number other than a target.
#[inline]
pub fn read_number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    // The most frequent type.
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    read_other_number(value, what)
}

fn read_other_number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if !value.is_instance_of::<PyString>() {
        if let Ok(number) = value.extract::<f64>() {
            return Ok(number);
        }
    }
    Err(raise(value.py(), &no_number(value, what)))
}

/// The fault for an object that is not a number; an integer may be too large for a float.
pub fn no_number(value: &Bound<'_, PyAny>, what: &str) -> Fault {
    match value.is_instance_of::<PyInt>() {
        true => Fault::value(format!("{what} must fit in a float, got {}", shown(value))),
        false => Fault::wrong_type(format!("{what} must be a number, got {}", shown(value))),
    }
}

/// A sample weight, or its fault: the name of the learner is not known yet when the weight is read. Two fields and not a
/// `Result`, which would pass through memory on every call.
pub struct Weight {
    number: f64,
    fault: Option<Box<Fault>>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Weight {
    type Error = std::convert::Infallible;

    #[inline]
    fn extract(value: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        let number = match value.cast_exact::<PyFloat>() {
            Ok(number) => number.value(),
            Err(_) => match value.extract::<f64>() {
                Ok(number) => number,
                Err(_) => {
                    return Ok(Weight { number: 1.0, fault: Some(Box::new(no_number(&value, "the weight"))) })
                }
            },
        };
        Ok(Weight { number, fault: None })
    }
}

impl Weight {
    pub const ONE: Weight = Weight { number: 1.0, fault: None };

    #[inline(always)]
    pub fn number(self) -> millstream_core::Result<f64> {
        match self.fault {
            None => Ok(self.number),
            Some(fault) => Err(*fault),
        }
    }
}

/// The targets of a batch.
pub enum ManyTargets {
    None,
    /// With the faults of invalid ones, which are NaN.
    Numbers(Vec<f64>, FxHashMap<usize, Fault>),
    Labels(ManyLabels),
}

impl ManyTargets {
    /// `y` is a one-dimensional NumPy array, a list, or None.
    pub fn read(_py: Python<'_>, role: Role, y: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(y) = y.filter(|y| !y.is_none()) else { return Ok(ManyTargets::None) };
        match role {
            Role::Regressor => {
                if let Ok(numbers) = read_numbers(y) {
                    return Ok(ManyTargets::Numbers(numbers, FxHashMap::default()));
                }
                let (mut numbers, mut bad) = (Vec::new(), FxHashMap::default());
                for item in y.try_iter()? {
                    numbers.push(number_of(&item?).unwrap_or_else(|fault| {
                        bad.insert(numbers.len(), fault);
                        f64::NAN
                    }));
                }
                Ok(ManyTargets::Numbers(numbers, bad))
            }
            Role::Classifier => {
                if let Some(integers) = read_integers(y) {
                    return Ok(ManyTargets::Labels(ManyLabels::from_integers(integers.into_iter())));
                }
                if let Ok(flags) = y.cast::<PyArray1<bool>>() {
                    let flags = flags.readonly();
                    return Ok(ManyTargets::Labels(ManyLabels::from_flags(flags.as_array().iter().copied())));
                }
                let mut labels = ManyLabels::default();
                if let Ok(numbers) = read_numbers(y) {
                    for number in numbers {
                        labels.push_result(float_label(number));
                    }
                    return Ok(ManyTargets::Labels(labels));
                }
                for item in y.try_iter()? {
                    let item = item?;
                    if item.is_none() {
                        labels.push_missing();
                    } else {
                        labels.push_result(label_of(&item));
                    }
                }
                Ok(ManyTargets::Labels(labels))
            }
            Role::Transformer => Self::read_either(y),
            _ => Ok(ManyTargets::None),
        }
    }

    /// See `either`. A list of numbers and labels is one of labels.
    fn read_either(y: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(flags) = y.cast::<PyArray1<bool>>() {
            let flags = flags.readonly();
            return Ok(ManyTargets::Labels(ManyLabels::from_flags(flags.as_array().iter().copied())));
        }
        if let Ok(numbers) = read_numbers(y) {
            return Ok(ManyTargets::Numbers(numbers, FxHashMap::default()));
        }
        let (mut numbers, mut labels) = (Vec::new(), ManyLabels::default());
        for item in y.try_iter()? {
            let item = item?;
            match either(&item) {
                OneTarget::Number(number) => numbers.push(number),
                OneTarget::Label(_) | OneTarget::None => {}
            }
            match item.is_none() {
                true => labels.push_missing(),
                false => labels.push_result(label_of(&item)),
            }
        }
        match numbers.len() == labels.places.len() {
            true => Ok(ManyTargets::Numbers(numbers, FxHashMap::default())),
            false => Ok(ManyTargets::Labels(labels)),
        }
    }

    /// Whether the target of a row could not be read.
    pub fn is_bad(&self, row: usize) -> bool {
        match self {
            ManyTargets::None => false,
            ManyTargets::Numbers(_, bad) => bad.contains_key(&row),
            ManyTargets::Labels(labels) => labels.bad.contains_key(&row),
        }
    }

    /// The fault of a row whose target could not be read, with the reason.
    pub fn explain(&self, fault: Fault, row: usize, who: &str) -> Fault {
        let bad = match self {
            ManyTargets::None => None,
            ManyTargets::Numbers(_, bad) => bad.get(&row),
            ManyTargets::Labels(labels) => labels.bad.get(&row),
        };
        bad.map_or(fault, |bad| bad.clone().by(who).at_row(row))
    }

    pub fn len(&self) -> Option<usize> {
        match self {
            ManyTargets::None => None,
            ManyTargets::Numbers(numbers, _) => Some(numbers.len()),
            ManyTargets::Labels(labels) => Some(labels.places.len()),
        }
    }

    pub fn targets(&self) -> Targets<'_> {
        match self {
            ManyTargets::None => Targets::None,
            ManyTargets::Numbers(numbers, _) => Targets::Numbers(numbers),
            ManyTargets::Labels(labels) => {
                Targets::Classes { distinct: &labels.distinct, indices: &labels.places }
            }
        }
    }
}

pub fn check_length(py: Python<'_>, what: &str, length: Option<usize>, height: usize) -> PyResult<()> {
    match length {
        Some(length) if length != height => {
            Err(raise(py, &Fault::value(format!("{what} has {length} values for {height} rows"))))
        }
        _ => Ok(()),
    }
}
