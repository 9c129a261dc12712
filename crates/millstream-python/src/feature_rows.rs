//! `millstream._core.FeatureDriftDetector`: receives rows.

use millstream_core::detector;
use millstream_core::draft::Draft;
use millstream_core::held::Held;
use millstream_core::schema::Name;
use millstream_core::table::{nameless, Table};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::borrowed_rows::BorrowedRows;
use crate::dates::plain_dict;
use crate::dicts::{names, Reading};
use crate::errors::{raise, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::signals::in_blocks;
use crate::thread_buffers::thread_buffers;

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct FeatureDriftDetector;

impl Component for FeatureDriftDetector {
    type Kind = Box<dyn detector::FeatureDriftDetector>;
}

/// Read one row and pass it to `receive`.
pub fn one<C: Component>(
    slf: &Bound<'_, C>,
    x: &Bound<'_, PyAny>,
    receive: impl FnOnce(&mut Held<C::Kind>, &mut Draft) -> millstream_core::Result<()>,
) -> PyResult<()> {
    let (py, part) = (x.py(), slf.part());
    let mut buffers = thread_buffers();
    let mut guarded = part.write(py)?;
    let dict = x.cast_exact::<PyDict>().ok();
    let reading = match dict {
        Some(dict) => guarded.read_dict::<C::Kind>(dict, &mut buffers.draft)?,
        None => Reading::NotPlain,
    };
    if reading == Reading::NotPlain {
        // Reading may run Python code, which may use this detector: not under the lock.
        drop(guarded);
        let (dict, numbered) = plain_row(x).map_err(|error| part.named(py, error))?;
        guarded = part.write(py)?;
        let held = guarded.held::<C::Kind>(py)?;
        if numbered && held.schema().only_texts() {
            return Err(raise(py, &nameless(held.schema()).by(held.title())));
        }
        guarded.read_plain::<C::Kind>(&dict, &mut buffers.draft)?;
    }
    let held = guarded.held_mut::<C::Kind>(py)?;
    let features = held.schema().len();
    receive(held, &mut buffers.draft).or_raise(py)?;
    if held.schema().len() != features {
        guarded.sync_names(py)?;
    }
    if let (Reading::ByText, Some(dict)) = (reading, dict) {
        guarded.adopt_keys::<C::Kind>(dict);
    }
    Ok(())
}

/// Read rows and pass them to `receive`, some at a time; after an error and after Ctrl-C nothing has changed.
pub fn many<C: Component>(
    slf: &Bound<'_, C>,
    rows: &Bound<'_, PyAny>,
    mut receive: impl FnMut(&mut Held<C::Kind>, &dyn Table, usize, usize) -> millstream_core::Result<()> + Send,
) -> PyResult<()> {
    let py = slf.py();
    let rows = BorrowedRows::new(rows).map_err(|error| slf.part().named(py, error))?;
    let table = rows.table();
    let height = table.height();
    slf.replace(|held| in_blocks(py, height, |from, to| receive(held, &table, from, to)))
}

/// A row as a dict that is read without Python code, and whether it was an array, whose columns are numbered.
#[cold]
fn plain_row<'py>(x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyDict>, bool)> {
    if x.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 1) {
        let numbered = PyDict::new(x.py());
        for (place, value) in x.call_method0("tolist")?.try_iter()?.enumerate() {
            numbered.set_item(place, value?)?;
        }
        return Ok((plain_dict(numbered.as_any(), &[])?, true));
    }
    Ok((plain_dict(x, &[])?, false))
}

fn or_none(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

#[pymethods]
impl FeatureDriftDetector {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of received rows.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// The names of the features, in order of appearance.
    #[getter]
    fn features<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        slf.ask(|held| names(slf.py(), held.schema(), usize::MAX))
    }

    /// Whether drift was detected at the last row.
    #[getter]
    fn drift_detected(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.detector().verdict().drift))
    }

    /// Whether the last comparison gave a warning.
    #[getter]
    fn warning_detected(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.detector().verdict().warning))
    }

    /// The row of the estimated change point, counted from 0 since the detector was created or reset; None without
    /// drift or warning.
    #[getter]
    fn change_point(slf: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        slf.ask(|held| Ok(held.change_point()))
    }

    /// The distance between the newest rows and the reference in the last comparison.
    #[getter]
    fn estimation(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.detector().estimation()))
    }

    /// Reset the detector.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.replace(|held| held.reset().or_raise(slf.py()))
    }

    /// Receive a row: a dict of features, or an array of numbers.
    fn update(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<()> {
        one(slf, x, |held, draft| held.update(draft))
    }

    /// Add a row to the reference, which by default is the first rows received.
    fn learn_one(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<()> {
        one(slf, x, |held, draft| held.learn(draft))
    }

    /// Receive many rows; returns the indices at which drift was detected. If a row is rejected, nothing changes.
    fn _update_many(slf: &Bound<'_, Self>, rows: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let mut found = Vec::new();
        many(slf, rows, |held, table, from, to| held.update_table(table, from, to, &mut found))?;
        Ok(found)
    }

    /// Add many rows to the reference. If a row is rejected, nothing changes.
    fn _learn_many(slf: &Bound<'_, Self>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        many(slf, rows, |held, table, from, to| held.learn_table(table, from, to))
    }

    /// The findings of the last comparison, or of the last one that found drift: (feature, statistic, p-value, adjusted
    /// p-value, moved), with None for features that were not tested; the largest changes first.
    fn _report<'py>(slf: &Bound<'py, Self>, drifted: bool) -> PyResult<Bound<'py, PyList>> {
        let report = slf.ask(|held| Ok(held.report(drifted)))?;
        let list = PyList::empty(slf.py());
        for (name, finding) in report {
            let numbers = [finding.statistic, finding.p_value, finding.adjusted].map(or_none);
            match name {
                Name::Text(text) => list.append((&*text, numbers[0], numbers[1], numbers[2], finding.moved))?,
                Name::Number(number) => {
                    list.append((number, numbers[0], numbers[1], numbers[2], finding.moved))?
                }
            }
        }
        Ok(list)
    }
}
