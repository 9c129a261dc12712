//! Components that learn a series: `millstream._core.Forecaster`.

use millstream_core::forecaster::{self, MAX_HORIZON};
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyMapping, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::borrowed_rows::read_numbers;
use crate::errors::{quoted, raise, shown, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::targets::no_number;
use crate::thread_buffers::thread_buffers;

/// Values between checks for Ctrl-C: a few milliseconds.
const BETWEEN_SIGNALS: usize = 1 << 16;

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Forecaster;

impl Component for Forecaster {
    type Kind = Box<dyn forecaster::Forecaster>;
}

#[pymethods]
impl Forecaster {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of values it has learned; time steps without a value are not counted.
    #[getter]
    fn learned(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Learn the value of the next time step. The features are checked and not used.
    #[pyo3(signature = (y, x=None))]
    fn _learn_one(slf: &Bound<'_, Self>, y: &Bound<'_, PyAny>, x: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let read = check_features(x, "x").and_then(|()| read_value(y));
        let y = read.or_raise(py).map_err(|error| slf.part().named(py, error))?;
        slf.change(|held| held.learn(y, &mut thread_buffers().scratch).or_raise(py))
    }

    /// Pass a time step whose value is missing.
    #[pyo3(signature = (x=None))]
    fn _skip_one(slf: &Bound<'_, Self>, x: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = slf.py();
        check_features(x, "x").or_raise(py).map_err(|error| slf.part().named(py, error))?;
        slf.change(|held| held.skip(&mut thread_buffers().scratch).or_raise(py))
    }

    /// Learn a column of values. After an error, "raise" leaves the model as it was and "stop" keeps the values before;
    /// "skip" passes the time step. Returns the number of skipped values.
    fn _learn_many(slf: &Bound<'_, Self>, ys: &Bound<'_, PyAny>, on_error: &str) -> PyResult<usize> {
        let py = slf.py();
        let (ys, mut bad) = read_values(ys)?;
        let title = slf.ask(|held| Ok(held.title().to_string()))?;
        let mut explain = |fault: Fault| {
            let bad = fault.row().and_then(|row| bad.remove(&row).map(|bad| bad.by(&title).at_row(row)));
            raise(py, &bad.unwrap_or(fault))
        };
        let (skipped, stopped) = slf.replace(|held| {
            let mut skipped = 0;
            for (block, ys) in ys.chunks(BETWEEN_SIGNALS).enumerate() {
                let from = block * BETWEEN_SIGNALS;
                let learn = || held.learn_many(ys, from, on_error == "skip", &mut thread_buffers().scratch);
                let (more, stopped) = py.detach(learn);
                skipped += more;
                match stopped {
                    Some(fault) if on_error == "raise" => return Err(explain(fault)),
                    Some(fault) => return Ok((skipped, Some(fault))),
                    None => py.check_signals()?,
                }
            }
            Ok((skipped, None))
        })?;
        match stopped {
            Some(fault) => Err(explain(fault)),
            None => Ok(skipped),
        }
    }

    /// The forecasts of the next time steps. The features of these steps are checked and not used.
    #[pyo3(signature = (horizon, xs=None))]
    fn _forecast<'py>(
        slf: &Bound<'py, Self>,
        horizon: &Bound<'py, PyAny>,
        xs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = slf.py();
        let read = read_horizon(horizon).and_then(|horizon| Ok((horizon, count_rows(xs)?)));
        let (horizon, rows) = read.or_raise(py).map_err(|error| slf.part().named(py, error))?;
        let forecasts =
            slf.ask(|held| held.forecast(horizon, rows, &mut thread_buffers().scratch).or_raise(py))?;
        Ok(forecasts.into_pyarray(py))
    }
}

/// A value of a series; none if it is missing.
pub fn read_value(value: &Bound<'_, PyAny>) -> millstream_core::Result<Option<f64>> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Some(float.value()));
    }
    if value.is_none() {
        return Ok(None);
    }
    if !value.is_instance_of::<PyString>() {
        if let Ok(number) = value.extract::<f64>() {
            return Ok(Some(number));
        }
    }
    Err(no_number(value, "y"))
}

/// The values of a column, with what is wrong with some of them; those and missing ones are NaN.
pub fn read_values(ys: &Bound<'_, PyAny>) -> PyResult<(Vec<f64>, FxHashMap<usize, Fault>)> {
    let (mut numbers, mut bad) = (Vec::new(), FxHashMap::default());
    if let Ok(numbers) = read_numbers(ys) {
        return Ok((numbers, bad));
    }
    for item in ys.try_iter()? {
        let read = read_value(&item?).unwrap_or_else(|fault| {
            bad.insert(numbers.len(), fault);
            None
        });
        numbers.push(read.unwrap_or(f64::NAN));
    }
    Ok((numbers, bad))
}

pub fn read_horizon(horizon: &Bound<'_, PyAny>) -> millstream_core::Result<usize> {
    let whole = || Fault::wrong_type(format!("horizon must be an integer, got {}", shown(horizon)));
    if horizon.is_instance_of::<PyBool>() {
        return Err(whole());
    }
    horizon.extract::<usize>().map_err(|error| match error.is_instance_of::<PyTypeError>(horizon.py()) {
        true => whole(),
        false => Fault::value(format!("horizon must be in [1, {MAX_HORIZON}], got {}", quoted(horizon))),
    })
}

fn check_features(x: Option<&Bound<'_, PyAny>>, what: &str) -> millstream_core::Result<()> {
    match x {
        Some(x) if !x.is_none() && x.cast::<PyMapping>().is_err() => {
            Err(Fault::wrong_type(format!("{what} must be a dict of features, got {}", shown(x))))
        }
        _ => Ok(()),
    }
}

/// The number of rows of features.
fn count_rows(xs: Option<&Bound<'_, PyAny>>) -> millstream_core::Result<Option<usize>> {
    let Some(xs) = xs.filter(|xs| !xs.is_none()) else { return Ok(None) };
    let refused = || Fault::wrong_type(format!("xs must be a list of dicts, got {}", shown(xs)));
    if xs.is_instance_of::<PyString>() || xs.cast::<PyMapping>().is_ok() {
        return Err(refused());
    }
    let mut rows = 0;
    for x in xs.try_iter().map_err(|_| refused())? {
        check_features(Some(&x.map_err(|_| refused())?), "a row of xs")?;
        rows += 1;
    }
    Ok(Some(rows))
}
