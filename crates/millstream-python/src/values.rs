//! Components that receive numbers: `millstream._core.Statistic` and `millstream._core.DriftDetector`.

use millstream_core::drift::Direction;
use millstream_core::{detector, statistic};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::borrowed_rows::Column64;
use crate::errors::OrRaise;
use crate::part::{Component, ComponentMethods, Part};
use crate::signals::in_blocks;
use crate::targets::{check_length, read_number, Weight};

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Statistic;

impl Component for Statistic {
    type Kind = Box<dyn statistic::Statistic>;
}

#[pymethods]
impl Statistic {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    fn _takes_pairs(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.statistic().takes_pairs()))
    }

    /// Number of values received.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// The current value; NaN while it is undefined.
    fn get(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.get()))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    /// Add a number or a pair of numbers.
    fn _update(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
    ) -> PyResult<()> {
        let py = slf.py();
        let w = w.number().or_raise(py)?;
        let x = read_number(x, "x")?;
        let y = y.map_or(Ok(0.0), |y| read_number(y, "y"))?;
        slf.change(|held| held.update(x, y, w).or_raise(py))
    }

    /// Add many; after a faulty one and after Ctrl-C nothing has changed.
    fn _update_many(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let x = Column64::new(x)?;
        let y = y.map(Column64::new).transpose()?;
        let w = w.map(Column64::new).transpose()?;
        let (x, y, w) = (x.numbers(), y.as_ref().map(Column64::numbers), w.as_ref().map(Column64::numbers));
        check_length(py, "y", y.map(<[f64]>::len), x.len())?;
        check_length(py, "w", w.map(<[f64]>::len), x.len())?;
        slf.replace(|held| {
            in_blocks(py, x.len(), |from, to| {
                (from..to).zip(&x[from..to]).try_for_each(|(row, &x)| {
                    let y = y.map_or(0.0, |y| y[row]);
                    let w = w.map_or(1.0, |w| w[row]);
                    held.update(x, y, w).map_err(|fault| fault.at_row(row))
                })
            })
        })
    }

    /// Merge the same statistic of another stream.
    fn _merge(slf: &Bound<'_, Self>, other: &Bound<'_, Statistic>) -> PyResult<()> {
        let other = other.ask(|held| Ok(held.clone()))?;
        slf.change(|held| held.merge(&other).or_raise(slf.py()))
    }
}

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct DriftDetector;

impl Component for DriftDetector {
    type Kind = Box<dyn detector::DriftDetector>;
}

#[pymethods]
impl DriftDetector {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of values received.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Whether the last number led to the detection of a change.
    #[getter]
    fn drift_detected(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.detector().verdict().drift))
    }

    /// Whether the last number led to a warning.
    #[getter]
    fn warning_detected(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.detector().verdict().warning))
    }

    /// Direction of the change of the mean at a change or a warning: "up", "down", or None.
    #[getter]
    fn direction(slf: &Bound<'_, Self>) -> PyResult<Option<&'static str>> {
        slf.ask(|held| {
            Ok(match held.detector().verdict().direction {
                Direction::Up => Some("up"),
                Direction::Down => Some("down"),
                Direction::Unknown => None,
            })
        })
    }

    /// Estimated index of the first number after the change, counted from 0 since the detector was created or
    /// reset; None if the last number led to neither a change nor a warning.
    #[getter]
    fn change_point(slf: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        slf.ask(|held| Ok(held.change_point()))
    }

    /// The current estimate of the mean.
    #[getter]
    fn estimation(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.detector().estimation()))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    /// Receive a number.
    fn update(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let x = read_number(x, "x").map_err(|error| slf.part().named(py, error))?;
        slf.change(|held| held.update(x).or_raise(py))
    }

    /// Receive many; returns the indices of detected changes. After a faulty number and after Ctrl-C nothing has changed.
    fn _update_many(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let py = slf.py();
        let x = Column64::new(x)?;
        let numbers = x.numbers();
        let mut found = Vec::new();
        slf.replace(|held| {
            in_blocks(py, numbers.len(), |from, to| held.update_many(&numbers[from..to], from, &mut found))
        })?;
        Ok(found)
    }
}
