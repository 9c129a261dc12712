//! A model and one example, read from a dict.

use std::cell::Cell;

use millstream_core::declaration::Role;
use millstream_core::held::{self, Root};
use millstream_core::row::{Row, Value, Want};
use millstream_core::schema::{Name, Schema};
use millstream_core::task::{Answer, Truth};
use millstream_core::transformer::Zeros;
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};

use crate::answers::{give_one, index_of};
use crate::dicts::Reading;
use crate::errors::{raise, OrRaise};
use crate::part::{Guarded, Part};
use crate::targets::{OneTarget, Weight};
use crate::thread_buffers::{with_thread_buffers, ThreadBuffers};

/// Read `x` into a draft under the read lock, and continue with it.
fn with_read<R>(
    part: &Part,
    x: &Bound<'_, PyAny>,
    work: impl FnOnce(&Guarded, &held::Model, &mut ThreadBuffers) -> PyResult<R>,
) -> PyResult<R> {
    let py = x.py();
    with_thread_buffers(|buffers| {
        if let Ok(dict) = x.cast_exact::<PyDict>() {
            let guarded = part.read(py)?;
            if guarded.read_dict::<Root>(dict, &mut buffers.draft)? != Reading::NotPlain {
                return work(&guarded, guarded.held(py)?, buffers);
            }
        }
        // Reading may run Python code, which may use this model: not under the lock.
        let dict = part.plain_dict(x)?;
        let guarded = part.read(py)?;
        guarded.read_plain::<Root>(&dict, &mut buffers.draft)?;
        work(&guarded, guarded.held(py)?, buffers)
    })
}

/// Read `x` into a draft under the write lock, learn it, and create the objects of new names and labels.
fn with_write<R>(
    part: &Part,
    x: &Bound<'_, PyAny>,
    learn: impl FnOnce(&mut held::Model, &mut ThreadBuffers) -> PyResult<()>,
    then: impl FnOnce(&Guarded, &held::Model, &mut ThreadBuffers) -> PyResult<R>,
) -> PyResult<R> {
    let py = x.py();
    with_thread_buffers(|buffers| {
        let mut guarded = part.write(py)?;
        let dict = x.cast_exact::<PyDict>().ok();
        let reading = match dict {
            Some(dict) => guarded.read_dict::<Root>(dict, &mut buffers.draft)?,
            None => Reading::NotPlain,
        };
        if reading == Reading::NotPlain {
            drop(guarded);
            let dict = part.plain_dict(x)?;
            guarded = part.write(py)?;
            guarded.read_plain::<Root>(&dict, &mut buffers.draft)?;
        }
        let model = guarded.held_mut::<Root>(py)?;
        let (features, classes) = (model.schema().len(), model.labels().known());
        learn(model, buffers)?;
        if model.schema().len() != features || model.labels().known() != classes {
            guarded.sync_names(py)?;
        }
        if let (Reading::ByText, Some(dict)) = (reading, dict) {
            guarded.adopt_keys::<Root>(dict);
        }
        then(&guarded, guarded.held(py)?, buffers)
    })
}

/// Learn one example.
pub fn learn(part: &Part, x: &Bound<'_, PyAny>, y: Option<&Bound<'_, PyAny>>, w: Weight) -> PyResult<()> {
    let py = x.py();
    let y = OneTarget::read(py, part.role(py)?, y).map_err(|error| part.named(py, error))?;
    let w = w.number().map_err(|fault| part.named(py, raise(py, &fault)))?;
    with_write(
        part,
        x,
        |model, buffers| model.learn(&mut buffers.draft, y.target(), w, &mut buffers.scratch).or_raise(py),
        |_, _, _| Ok(()),
    )
}

/// Predict the class or the number for one example, or whether it is an anomaly.
pub fn predict(part: &Part, x: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = x.py();
    with_read(part, x, |guarded, model, buffers| {
        if model.role() == Role::AnomalyDetector {
            let score = model.score(&mut buffers.draft, &mut buffers.scratch).or_raise(py)?;
            let anomaly = model.classify(score).or_raise(py)?;
            return Ok(PyBool::new(py, anomaly).to_owned().into_any().unbind());
        }
        model.predict(&mut buffers.draft, Want::Class, &mut buffers.answer, &mut buffers.scratch).or_raise(py)?;
        give_one(py, guarded, model.role(), &buffers.answer)
    })
}

/// The probability of each class for one example.
pub fn predict_proba<'py>(part: &Part, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    with_read(part, x, |guarded, model, buffers| {
        if model.role() != Role::Classifier {
            let message = format!("{}: only a classifier has probabilities", model.title());
            return Err(raise(py, &Fault::wrong_type(message)));
        }
        model
            .predict(&mut buffers.draft, Want::Probabilities, &mut buffers.answer, &mut buffers.scratch)
            .or_raise(py)?;
        probabilities(py, guarded, &buffers.answer, None)
    })
}

/// The score of an anomaly detector, or the signed distance to the decision boundary, if there is one.
pub fn score(part: &Part, x: &Bound<'_, PyAny>) -> PyResult<f64> {
    let py = x.py();
    with_read(part, x, |_, model, buffers| model.score(&mut buffers.draft, &mut buffers.scratch).or_raise(py))
}

/// The cluster of one example, and the distances to its centre and to that of the next cluster.
pub fn predict_cluster(part: &Part, x: &Bound<'_, PyAny>) -> PyResult<(i64, f64, f64)> {
    let py = x.py();
    with_read(part, x, |_, model, buffers| {
        if model.role() != Role::Clusterer {
            let message = format!("{}: only a clusterer has distances to clusters", model.title());
            return Err(raise(py, &Fault::wrong_type(message)));
        }
        let answer = &mut buffers.answer;
        model.predict(&mut buffers.draft, Want::Probabilities, answer, &mut buffers.scratch).or_raise(py)?;
        Ok((index_of(&answer.cluster), answer.cluster.distance, answer.cluster.next_distance))
    })
}

/// Two numbers between which the target lies with probability `coverage`, for learners that predict intervals.
pub fn predict_interval(part: &Part, x: &Bound<'_, PyAny>, coverage: f64) -> PyResult<(f64, f64)> {
    let py = x.py();
    with_read(part, x, |_, model, buffers| {
        model.interval(&mut buffers.draft, coverage, &mut buffers.scratch).or_raise(py)
    })
}

/// The stored examples that are nearest to one: (distance, age, features, target, weight) of each.
pub fn kneighbors<'py>(part: &Part, x: &Bound<'py, PyAny>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
    let py = x.py();
    with_read(part, x, |guarded, model, buffers| {
        let mut found = Vec::new();
        let mut failed = None;
        let ThreadBuffers { draft, scratch, .. } = buffers;
        model
            .neighbors(draft, most, scratch, &mut |distance, age, row, truth, weight| {
                let truth = match truth {
                    Truth::Class(code) => guarded.label(py, Some(code)),
                    Truth::Number(number) => PyFloat::new(py, number).into_any().unbind(),
                    Truth::None => py.None(),
                };
                match transformed(py, model.schema(), row, Zeros::Written) {
                    Ok(features) => found.push((distance, age, features, truth, weight)),
                    Err(error) => failed = Some(error),
                }
            })
            .or_raise(py)?;
        failed.map_or(Ok(()), Err)?;
        PyList::new(py, found)
    })
}

/// Transform one example.
pub fn transform<'py>(part: &Part, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    with_read(part, x, |guarded, model, buffers| {
        // Features that were never learned are transformed too: a copy of the model learns their names.
        let copy = buffers
            .draft
            .is_news_to_write(model.schema())
            .then(|| model.acquainted(&mut buffers.draft))
            .transpose()
            .or_raise(py)?;
        let model = copy.as_ref().unwrap_or(model);
        model.transform(&mut buffers.draft, &mut buffers.row, &mut buffers.scratch).or_raise(py)?;
        if copy.is_none() && model.keeps_names() {
            if let Some(dict) = transformed_in_place(py, guarded, model.schema(), buffers.row.row())? {
                return Ok(dict);
            }
        }
        if let Some(schema) = model.fixed_output() {
            return transformed(py, schema, buffers.row.row(), model.zeros());
        }
        let schema = model.output().or_raise(py)?;
        transformed(py, &schema, buffers.row.row(), model.zeros())
    })
}

/// Predict one example, then learn it. Returns the prediction.
pub fn step(
    part: &Part,
    x: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: Weight,
    proba: bool,
) -> PyResult<Py<PyAny>> {
    let py = x.py();
    let y = OneTarget::read(py, part.role(py)?, y).map_err(|error| part.named(py, error))?;
    let w = w.number().map_err(|fault| part.named(py, raise(py, &fault)))?;
    let want = if proba { Want::Probabilities } else { Want::Class };
    let waiting = Cell::new(None);
    with_write(
        part,
        x,
        |model, buffers| {
            waiting.set(model.labels().entries().iter().position(Option::is_none));
            let ThreadBuffers { draft, answer, scratch, .. } = buffers;
            model.step(draft, y.target(), w, want, answer, scratch).or_raise(py)
        },
        |guarded, model, buffers| match proba && model.role() == Role::Classifier {
            true => Ok(probabilities(py, guarded, &buffers.answer, waiting.get())?.into_any().unbind()),
            false => give_one(py, guarded, model.role(), &buffers.answer),
        },
    )
}

/// Probabilities by label, except for a code that was `waiting` for its label at the prediction.
pub fn probabilities<'py>(
    py: Python<'py>,
    guarded: &Guarded,
    answer: &Answer,
    waiting: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (code, (label, probability)) in guarded.labels().iter().zip(&answer.class.probabilities).enumerate() {
        if let Some(label) = label.as_ref().filter(|_| waiting != Some(code)) {
            dict.set_item(label, probability)?;
        }
    }
    Ok(dict)
}

/// A transformed row with the names of the input as a dict, without missing values; none if the names have no objects.
fn transformed_in_place<'py>(
    py: Python<'py>,
    guarded: &Guarded,
    schema: &Schema,
    row: Row<'_>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if matches!(row, Row::Sparse(_)) || row.width() > schema.len() {
        return Ok(None);
    }
    let dict = PyDict::new(py);
    for slot in 0..row.width() {
        let Some(value) = row.get(slot) else { continue };
        let Some(name) = guarded.keys().name(slot) else { return Ok(None) };
        match value {
            Value::Number(number) => dict.set_item(name, number)?,
            Value::Nominal(code) => dict.set_item(name, code.and_then(|code| schema.values(slot).text(code)))?,
        }
    }
    Ok(Some(dict))
}

/// A transformed row as a dict, without missing values, and with its zeros unless they are omitted.
fn transformed<'py>(py: Python<'py>, schema: &Schema, row: Row<'_>, zeros: Zeros) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let mut failed = None;
    let mut put = |slot: usize, value: Value| {
        let set = match (schema.name(slot), value) {
            (Name::Text(name), Value::Number(number)) => dict.set_item(&*name, number),
            (Name::Number(name), Value::Number(number)) => dict.set_item(name, number),
            (name, Value::Nominal(code)) => {
                let text = code.and_then(|code| schema.values(slot).text(code));
                match name {
                    Name::Text(name) => dict.set_item(&*name, text),
                    Name::Number(name) => dict.set_item(name, text),
                }
            }
        };
        failed = failed.take().or(set.err());
    };
    match row {
        Row::Sparse(sparse) if zeros == Zeros::Written => (0..sparse.width).for_each(|slot| {
            if let Some(value) = row.get(slot) {
                put(slot, value);
            }
        }),
        Row::Plain(_) | Row::Mixed(..) if zeros != Zeros::Written => row.each(|slot, value| {
            if value != Value::Number(0.0) {
                put(slot, value);
            }
        }),
        _ => row.each(put),
    }
    failed.map_or(Ok(dict), Err)
}
