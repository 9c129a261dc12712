//! One forecaster or drift detector per key: `millstream._core.KeyedForecaster` and `KeyedDriftDetector`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use millstream_core::forecaster::Forecaster as IsForecaster;
use millstream_core::held::Holdable;
use millstream_core::keyed::{self, ValuesJob, ValuesRun};
use millstream_core::{detector, Fault};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::borrowed_rows::read_numbers;
use crate::errors::{by, raise, OrRaise};
use crate::key_column::{read_key, KeyValues};
use crate::keyed::{build, AnyKeyed, KeyedParts, Settings};
use crate::part::ComponentMethods;
use crate::series::{read_horizon, read_value, read_values, Forecaster};
use crate::signals::BETWEEN_SIGNALS;
use crate::targets::check_length;
use crate::values::DriftDetector;

type Forecasters = keyed::Keyed<Box<dyn IsForecaster>>;
type Detectors = keyed::Keyed<Box<dyn detector::DriftDetector>>;

#[pyclass(extends = KeyedParts, frozen, module = "millstream._core")]
pub struct KeyedForecaster {
    keyed: Arc<Forecasters>,
}

impl KeyedForecaster {
    pub fn of(keyed: Arc<Forecasters>) -> PyClassInitializer<Self> {
        let base = KeyedParts::new(AnyKeyed::Forecaster(keyed.clone()));
        PyClassInitializer::from(base).add_subclass(KeyedForecaster { keyed })
    }
}

#[pymethods]
impl KeyedForecaster {
    /// See `Keyed`.
    #[new]
    #[pyo3(signature = (template, *settings))]
    fn new(template: &Bound<'_, Forecaster>, settings: Settings) -> PyResult<PyClassInitializer<Self>> {
        let held = template.ask(|held| Ok(held.clone()))?;
        build(template.py(), held, settings).map(Self::of)
    }

    /// Learn the next value of the series of each key, all or none. With `skip`, a value that is refused is a time step
    /// without a value. Returns the number of these.
    fn learn_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        ys: &Bound<'_, PyAny>,
        times: Option<&Bound<'_, PyAny>>,
        skip: bool,
    ) -> PyResult<usize> {
        let (values, mut bad) = read_values(ys)?;
        let done = run_values(py, &*self.keyed, keys, &values, times, skip, |job| self.keyed.learn_series(job))?;
        match done {
            Ok(run) => Ok(run.skipped.len()),
            Err(fault) => {
                let title = self.keyed.title();
                let bad = fault.row().and_then(|row| bad.remove(&row).map(|bad| bad.by(&title).at_row(row)));
                Err(raise(py, &bad.unwrap_or(fault)))
            }
        }
    }

    /// Learn the next value of the series of a key, or pass a time step if it is None and `skip`.
    fn learn_one(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        time: f64,
        skip: bool,
    ) -> PyResult<()> {
        let key = read_key(key)?;
        if skip {
            return py.detach(|| self.keyed.skip_step(key.key(), time)).or_raise(py);
        }
        let y = read_value(y).or_raise(py).map_err(|error| by(py, error, &self.keyed.title()))?;
        let (values, times) = ([y.unwrap_or(f64::NAN)], [time]);
        let keys = OneKey(key);
        let learned = py.detach(|| {
            let job =
                ValuesJob { keys: &keys, values: &values, times: Some(&times), skip: false, stops: &|| false };
            self.keyed.learn_series(&job)
        });
        learned.map(drop).map_err(|fault| raise(py, &Fault::new(fault.kind(), fault.message().to_string())))
    }

    /// The forecasts of the next time steps of a key.
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        horizon: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let key = read_key(key)?;
        let horizon = read_horizon(horizon).or_raise(py).map_err(|error| by(py, error, &self.keyed.title()))?;
        let forecasts = py.detach(|| self.keyed.forecast(key.key(), horizon)).or_raise(py)?;
        Ok(forecasts.into_pyarray(py))
    }
}

#[pyclass(extends = KeyedParts, frozen, module = "millstream._core")]
pub struct KeyedDriftDetector {
    keyed: Arc<Detectors>,
}

impl KeyedDriftDetector {
    pub fn of(keyed: Arc<Detectors>) -> PyClassInitializer<Self> {
        let base = KeyedParts::new(AnyKeyed::DriftDetector(keyed.clone()));
        PyClassInitializer::from(base).add_subclass(KeyedDriftDetector { keyed })
    }
}

#[pymethods]
impl KeyedDriftDetector {
    /// See `Keyed`.
    #[new]
    #[pyo3(signature = (template, *settings))]
    fn new(template: &Bound<'_, DriftDetector>, settings: Settings) -> PyResult<PyClassInitializer<Self>> {
        let held = template.ask(|held| Ok(held.clone()))?;
        build(template.py(), held, settings).map(Self::of)
    }

    /// Update the detector of each key with its numbers, all or none. Returns the rows at which drift was detected, and
    /// the number of skipped rows.
    fn update_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        times: Option<&Bound<'_, PyAny>>,
        skip: bool,
    ) -> PyResult<(Vec<usize>, usize)> {
        let values = read_numbers(values)?;
        let done = run_values(py, &*self.keyed, keys, &values, times, skip, |job| self.keyed.update_many(job))?;
        done.map(|run| (run.found, run.skipped.len())).or_raise(py)
    }
}

/// The key of a single value.
struct OneKey(keyed::OwnedKey);

impl keyed::KeyColumn for OneKey {
    fn at(&self, _: usize) -> millstream_core::key::Key<'_> {
        self.0.key()
    }
}

/// Let `work` process a column of values without the GIL. After Ctrl-C everything is as before.
fn run_values<P: Holdable + Send + Sync>(
    py: Python<'_>,
    keyed: &keyed::Keyed<P>,
    keys: &Bound<'_, PyAny>,
    values: &[f64],
    times: Option<&Bound<'_, PyAny>>,
    skip: bool,
    work: impl Fn(&ValuesJob<'_>) -> Result<ValuesRun, Fault> + Sync + Send,
) -> PyResult<Result<ValuesRun, Fault>> {
    let title = keyed.title();
    let named = |error: PyErr| by(py, error, &title);
    let keys = KeyValues::read(keys).map_err(named)?;
    let column = keys.column().map_err(named)?;
    check_length(py, &format!("{title}: keys"), Some(column.len()), values.len())?;
    let times = times.map(read_numbers).transpose().map_err(named)?;
    check_length(py, &format!("{title}: times"), times.as_ref().map(Vec::len), values.len())?;
    let (done, interrupted) = py.detach(|| {
        let (last, interrupted) = (Cell::new(Instant::now()), Cell::new(None));
        let stops = || {
            if last.get().elapsed() <= BETWEEN_SIGNALS {
                return false;
            }
            last.set(Instant::now());
            let pressed = Python::attach(|py| py.check_signals().err());
            let stops = pressed.is_some();
            interrupted.set(pressed);
            stops
        };
        let job = ValuesJob { keys: &column, values, times: times.as_deref(), skip, stops: &stops };
        let done = work(&job);
        (done, interrupted.into_inner())
    });
    match interrupted {
        Some(error) => Err(error),
        None => Ok(done),
    }
}
