//! How a context and its actions become a round, for policies with context.
//!
//! A context is a dict of features, a vector of numbers, or None. Actions are a list of labels, a dict from label to
//! features, or a list of features (one dict or vector for each action, or a matrix); then an action's label is its index.

use millstream_core::bandit::contextual::{Round, Space, Spaces};
use millstream_core::schema::Name;
use millstream_core::Fault;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::dicts::read_name;
use crate::errors::{quoted, raise, read_text, shown, OrRaise};
use crate::labels::label_of;

/// The labels of the actions of a round, as the caller gave them.
pub enum Actions<'py> {
    Listed(Vec<Bound<'py, PyAny>>),
    /// Labels are 0, 1, …
    Counted(usize),
}

impl<'py> Actions<'py> {
    pub fn len(&self) -> usize {
        match self {
            Actions::Listed(labels) => labels.len(),
            Actions::Counted(count) => *count,
        }
    }

    pub fn label(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Actions::Listed(labels) => Ok(labels[index].clone()),
            Actions::Counted(_) => Ok(index.into_pyobject(py)?.into_any()),
        }
    }

    /// The index of a label.
    pub fn index(&self, action: &Bound<'py, PyAny>) -> PyResult<usize> {
        let found = match self {
            Actions::Counted(count) => action.extract::<usize>().ok().filter(|index| index < count),
            Actions::Listed(labels) => {
                let same = |label: &Bound<'py, PyAny>| label.is(action) || label.eq(action).unwrap_or(false);
                labels.iter().position(same)
            }
        };
        let known = || match self {
            Actions::Counted(count) => format!("one of the indices below {count}"),
            Actions::Listed(labels) => format!("one of the {} actions of the round", labels.len()),
        };
        found.ok_or_else(|| {
            let message = format!("the action taken must be {}, got {}", known(), shown(action));
            raise(action.py(), &Fault::value(message))
        })
    }
}

/// A context and actions as plain objects, whose reading runs no Python code.
pub struct Given<'py> {
    x: Side<'py>,
    sides: Vec<Side<'py>>,
    matrix: Option<PyReadonlyArray2<'py, f64>>,
    pub actions: Actions<'py>,
}

enum Side<'py> {
    Nothing,
    Dict(Bound<'py, PyDict>),
    Vector(PyReadonlyArray1<'py, f64>),
}

fn wrong(py: Python<'_>, message: String) -> PyErr {
    raise(py, &Fault::wrong_type(message))
}

/// A contiguous array of floats with so many dimensions, copied if it is another kind of array or a list of numbers.
fn as_floats<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = value.py().import("numpy")?;
    numpy.call_method1("ascontiguousarray", (value, "float64"))
}

fn vector<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<PyReadonlyArray1<'py, f64>> {
    if let Ok(array) = value.extract::<PyReadonlyArray1<'py, f64>>() {
        if array.as_slice().is_ok() {
            return Ok(array);
        }
    }
    let refused =
        || wrong(value.py(), format!("{what} must be a dict or a vector of numbers, got {}", shown(value)));
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return Err(refused());
    }
    let floats = as_floats(value).map_err(|_| refused())?;
    floats.extract::<PyReadonlyArray1<'py, f64>>().map_err(|_| refused())
}

fn side<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Side<'py>> {
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return Ok(Side::Dict(dict.clone()));
    }
    if value.is_none() {
        return Ok(Side::Nothing);
    }
    if value.cast::<PyMapping>().is_ok() {
        let dict = PyDict::new(value.py());
        dict.call_method1("update", (value,))?;
        return Ok(Side::Dict(dict));
    }
    if value.is_instance_of::<PyString>() {
        return Err(wrong(
            value.py(),
            format!("{what} must be a dict or a vector of numbers, got {}", shown(value)),
        ));
    }
    Ok(Side::Vector(vector(value, what)?))
}

/// Whether an action of a list is given by its features.
fn is_features(action: &Bound<'_, PyAny>) -> bool {
    action.is_exact_instance_of::<PyDict>()
        || action.is_instance_of::<PyList>()
        || action.is_instance_of::<PyTuple>()
        || action.cast::<PyMapping>().is_ok()
        || action.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() > 0)
}

impl<'py> Given<'py> {
    pub fn new(x: Option<&Bound<'py, PyAny>>, actions: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = actions.py();
        let x = x.map_or(Ok(Side::Nothing), |x| side(x, "x"))?;
        let (mut sides, mut labels, mut matrix) = (Vec::new(), Vec::new(), None);
        if let Ok(mapping) = actions.cast::<PyMapping>() {
            for pair in mapping.items()?.iter() {
                let (label, features): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair.extract()?;
                sides.push(side(&features, "the features of an action")?);
                labels.push(label);
            }
            return Ok(Given { x, sides, matrix, actions: Actions::Listed(labels) });
        }
        if actions.is_instance_of::<PyString>() {
            let message =
                format!("actions must be a list of labels, a dict or a list of features, got {}", shown(actions));
            return Err(wrong(py, message));
        }
        if let Ok(array) = actions.cast::<PyUntypedArray>() {
            if array.ndim() == 2 {
                let array = match actions.extract::<PyReadonlyArray2<'py, f64>>() {
                    Ok(array) if array.as_slice().is_ok() => array,
                    _ => as_floats(actions)?.extract()?,
                };
                let count = array.shape()[0];
                matrix = Some(array);
                return Ok(Given { x, sides, matrix, actions: Actions::Counted(count) });
            }
            if array.ndim() != 1 {
                return Err(wrong(
                    py,
                    format!("actions must be a list or a matrix, got an array of {} dimensions", array.ndim()),
                ));
            }
        }
        let items = actions.try_iter().map_err(|_| {
            let message =
                format!("actions must be a list of labels, a dict or a list of features, got {}", shown(actions));
            wrong(py, message)
        })?;
        for item in items {
            let item = item?;
            if is_features(&item) {
                sides.push(side(&item, "the features of an action")?);
            } else {
                labels.push(item);
            }
        }
        match (sides.is_empty(), labels.is_empty()) {
            (false, false) => Err(wrong(py, "actions must be all labels or all features, got both".into())),
            (false, true) => {
                let count = sides.len();
                Ok(Given { x, sides, matrix, actions: Actions::Counted(count) })
            }
            _ => Ok(Given { x, sides, matrix, actions: Actions::Listed(labels) }),
        }
    }

    /// Write the round, with the slots that a policy gives to names.
    pub fn read(&self, spaces: &Spaces, round: &mut Round, text: &mut String) -> PyResult<()> {
        round.clear();
        read_side(&self.x, spaces, Space::Shared, round, text)?;
        if let Some(matrix) = &self.matrix {
            let width = matrix.shape()[1];
            let numbers = matrix.as_slice().map_err(pyo3::PyErr::from)?;
            for index in 0..self.actions.len() {
                let row = &numbers[index * width..(index + 1) * width];
                read_vector(matrix.py(), row, spaces, Space::Action, round)?;
                round.end_action();
            }
            return Ok(());
        }
        for side in &self.sides {
            read_side(side, spaces, Space::Action, round, text)?;
            round.end_action();
        }
        if let (true, Actions::Listed(labels)) = (self.sides.is_empty(), &self.actions) {
            for label in labels {
                let arm = read_arm(label, spaces, round)?;
                if round.arms.contains(&arm) {
                    let message = format!("an action must be listed once, got {} twice", quoted(label));
                    return Err(raise(label.py(), &Fault::value(message)));
                }
                round.arms.push(arm);
            }
        }
        Ok(())
    }
}

fn read_arm(label: &Bound<'_, PyAny>, spaces: &Spaces, round: &mut Round) -> PyResult<u32> {
    let py = label.py();
    if let Ok(text) = label.cast_exact::<PyString>() {
        return Ok(round.slot_of_text(spaces, Space::Arm, read_text(text).or_raise(py)?));
    }
    let refused = || Fault::wrong_type(format!("an action must be a bool, int or str, got {}", shown(label)));
    let name = match label_of(label).map_err(|_| refused()).or_raise(py)? {
        millstream_core::labels::Label::Bool(flag) => Name::Number(i64::from(flag)),
        millstream_core::labels::Label::Int(int) => Name::Number(int),
        millstream_core::labels::Label::Text(text) => Name::Text(text),
    };
    Ok(round.slot(spaces, Space::Arm, &name))
}

fn push(round: &mut Round, space: Space, slot: u32, value: f64) {
    match space {
        Space::Shared => round.push_shared(slot, value),
        _ => round.push_feature(slot, value),
    }
}

fn read_side(
    side: &Side<'_>,
    spaces: &Spaces,
    space: Space,
    round: &mut Round,
    text: &mut String,
) -> PyResult<()> {
    match side {
        Side::Nothing => Ok(()),
        Side::Vector(vector) => {
            let numbers = vector.as_slice().map_err(pyo3::PyErr::from)?;
            read_vector(vector.py(), numbers, spaces, space, round)
        }
        Side::Dict(dict) => read_dict(dict, spaces, space, round, text),
    }
}

fn not_finite(py: Python<'_>, name: &str, value: f64) -> PyErr {
    raise(
        py,
        &Fault::value(format!("feature {name} must be finite, got {}", millstream_core::fault::Shown(value))),
    )
}

fn read_vector(py: Python<'_>, numbers: &[f64], spaces: &Spaces, space: Space, round: &mut Round) -> PyResult<()> {
    // The columns of a matrix are mostly all there is, and then a slot is the column after the constant.
    let known = spaces.schema(space);
    let direct = known.only_numbered() && known.len() >= numbers.len();
    for (column, &value) in numbers.iter().enumerate() {
        if value == 0.0 || value.is_nan() {
            continue;
        }
        if !value.is_finite() {
            return Err(not_finite(py, &column.to_string(), value));
        }
        let slot = match direct {
            true => column as u32 + 1,
            false => round.slot(spaces, space, &Name::Number(column as i64)),
        };
        push(round, space, slot, value);
    }
    Ok(())
}

fn read_dict(
    dict: &Bound<'_, PyDict>,
    spaces: &Spaces,
    space: Space,
    round: &mut Round,
    text: &mut String,
) -> PyResult<()> {
    let py = dict.py();
    for (key, value) in dict {
        let number = if let Ok(float) = value.cast_exact::<PyFloat>() {
            float.value()
        } else if value.is_none() {
            continue;
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            f64::from(u8::from(flag.is_true()))
        } else if let Ok(word) = value.cast::<PyString>() {
            // A string is a feature of its own, as in Vowpal Wabbit: user=ann.
            let name = read_name(&key)?;
            text.clear();
            text.push_str(&name.text());
            text.push('=');
            text.push_str(read_text(word).or_raise(py)?);
            let slot = round.slot_of_text(spaces, space, text);
            push(round, space, slot, 1.0);
            continue;
        } else if let Ok(number) = value.extract::<f64>() {
            number
        } else if value.is_instance_of::<PyInt>() {
            return Err(crate::dicts::too_large(&key, &value));
        } else {
            let message = format!("feature {} must be a number or a string, got {}", quoted(&key), shown(&value));
            return Err(wrong(py, message));
        };
        if number.is_nan() || number == 0.0 {
            continue;
        }
        if !number.is_finite() {
            return Err(not_finite(py, &quoted(&key), number));
        }
        let slot = match key.cast_exact::<PyString>() {
            Ok(name) => round.slot_of_text(spaces, space, read_text(name).or_raise(py)?),
            Err(_) => round.slot(spaces, space, &read_name(&key)?),
        };
        push(round, space, slot, number);
    }
    Ok(())
}
