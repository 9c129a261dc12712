//! `millstream._core.CovarianceEstimator`: receives rows.

use millstream_core::covariance_estimator;
use millstream_core::table::Table;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::borrowed_rows::{BorrowedRows, Column64};
use crate::dicts::names;
use crate::errors::OrRaise;
use crate::feature_rows::{many, one};
use crate::part::{Component, ComponentMethods, Part};
use crate::targets::{check_length, Weight};

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct CovarianceEstimator;

impl Component for CovarianceEstimator {
    type Kind = Box<dyn covariance_estimator::CovarianceEstimator>;
}

#[pymethods]
impl CovarianceEstimator {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of rows received.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// The names of the features, in order of appearance.
    #[getter]
    fn features<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        slf.ask(|held| names(slf.py(), held.schema(), usize::MAX))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.replace(|held| held.reset().or_raise(slf.py()))
    }

    /// Receive a row: a dict of numbers, or an array of them.
    #[pyo3(signature = (x, w=Weight::ONE), text_signature = "($self, x, w=1.0)")]
    fn update(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, w: Weight) -> PyResult<()> {
        let w = w.number().or_raise(slf.py())?;
        one(slf, x, |held, draft| held.update(draft, w))
    }

    /// Remove a row that was received before.
    #[pyo3(signature = (x, w=Weight::ONE), text_signature = "($self, x, w=1.0)")]
    fn revert(slf: &Bound<'_, Self>, x: &Bound<'_, PyAny>, w: Weight) -> PyResult<()> {
        let w = w.number().or_raise(slf.py())?;
        one(slf, x, |held, draft| held.revert(draft, w))
    }

    /// Receive many rows. If a row is rejected, nothing changes.
    fn _update_many(slf: &Bound<'_, Self>, rows: &Bound<'_, PyAny>, w: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let w = w.map(Column64::new).transpose()?;
        let w = w.as_ref().map(Column64::numbers);
        if let Some(w) = w {
            let rows = BorrowedRows::new(rows).map_err(|error| slf.part().named(py, error))?;
            check_length(py, "w", Some(w.len()), rows.table().height())?;
        }
        many(slf, rows, |held, table, from, to| held.update_table(table, from, to, w))
    }

    /// The number of features, and the covariance matrix or its inverse, row by row.
    fn _matrix<'py>(slf: &Bound<'py, Self>, precision: bool) -> PyResult<(usize, Bound<'py, PyArray1<f64>>)> {
        slf.ask(|held| Ok((held.estimator().width(), PyArray1::from_vec(slf.py(), held.estimate(precision)))))
    }

    /// The mean of each feature.
    fn _means<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        slf.ask(|held| Ok(PyArray1::from_vec(slf.py(), held.estimator().means())))
    }
}
