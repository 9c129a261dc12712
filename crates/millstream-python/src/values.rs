//! Components that receive numbers: `millstream._core.Statistic` and `millstream._core.DriftDetector`.

use millstream_core::drift::Direction;
use millstream_core::held::statistic::Observed;
use millstream_core::{detector, statistic, Fault};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyString, PyTuple};

use crate::borrowed_rows::Column64;
use crate::errors::{raise, OrRaise};
use crate::labels::{read_label, show_label};
use crate::part::{Component, ComponentMethods, Part};
use crate::samples::read_time;
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

    /// The current value; NaN while it is undefined. A statistic whose value is one of the values it has received returns
    /// that value, or None.
    fn get<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        slf.ask(|held| {
            let value = held.get();
            match held.get_label().filter(|_| held.statistic().returns_nominal()) {
                Some(label) => show_label(py, label),
                None if value.is_nan() && held.statistic().returns_nominal() => Ok(py.None().into_bound(py)),
                None => Ok(PyFloat::new(py, value).into_any()),
            }
        })
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    fn _takes_time(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.statistic().takes_time()))
    }

    fn _is_nominal(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.statistic().is_nominal()))
    }

    /// Add a number or a pair of numbers, at a time if it is given.
    #[pyo3(signature = (x, y, w, t=None))]
    fn _update(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
        t: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let w = w.number().or_raise(py)?;
        let plain = |value: &Bound<'_, PyAny>| value.is_exact_instance_of::<PyFloat>();
        if t.is_some() || !(plain(x) && y.is_none_or(plain)) {
            return observe_one(slf, x, y, w, t);
        }
        let x = read_number(x, "x")?;
        let y = y.map_or(Ok(0.0), |y| read_number(y, "y"))?;
        slf.change(|held| held.update(x, y, w).or_raise(py))
    }

    /// Add many; after a faulty one and after Ctrl-C nothing has changed.
    #[pyo3(signature = (x, y, w, t=None))]
    fn _update_many(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Option<&Bound<'_, PyAny>>,
        t: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let x = Column64::new(x)?;
        let columns = [y, w, t].map(|column| column.map(Column64::new).transpose());
        let [y, w, t] = columns;
        let (y, w, t) = (y?, w?, t?);
        let (x, y, w) = (x.numbers(), y.as_ref().map(Column64::numbers), w.as_ref().map(Column64::numbers));
        let t = t.as_ref().map(Column64::numbers);
        check_length(py, "y", y.map(<[f64]>::len), x.len())?;
        check_length(py, "w", w.map(<[f64]>::len), x.len())?;
        check_length(py, "t", t.map(<[f64]>::len), x.len())?;
        slf.replace(|held| {
            in_blocks(py, x.len(), |from, to| {
                (from..to).zip(&x[from..to]).try_for_each(|(row, &x)| {
                    let y = y.map_or(0.0, |y| y[row]);
                    let w = w.map_or(1.0, |w| w[row]);
                    let done = match t {
                        Some(t) => held.update_at(x, y, w, t[row]),
                        None => held.update(x, y, w),
                    };
                    done.map_err(|fault| fault.at_row(row))
                })
            })
        })
    }

    /// Add many values that may be strings and bools; after a faulty one nothing has changed. Times are numbers.
    fn _observe_many(
        slf: &Bound<'_, Self>,
        x: Vec<Bound<'_, PyAny>>,
        y: Option<Vec<Bound<'_, PyAny>>>,
        w: Option<Vec<f64>>,
        t: Option<Vec<f64>>,
    ) -> PyResult<()> {
        let py = slf.py();
        check_length(py, "y", y.as_ref().map(Vec::len), x.len())?;
        check_length(py, "w", w.as_ref().map(Vec::len), x.len())?;
        check_length(py, "t", t.as_ref().map(Vec::len), x.len())?;
        let read = |values: &[Bound<'_, PyAny>], what: &str| -> PyResult<Vec<Observed>> {
            values.iter().map(|value| observed(value, true, what)).collect()
        };
        let x = read(&x, "x")?;
        let y = y.map(|y| read(&y, "y")).transpose()?;
        let nothing = Observed::Number(0.0);
        slf.replace(|held| {
            for (row, x) in x.iter().enumerate() {
                let y = y.as_ref().map_or(&nothing, |y| &y[row]);
                let w = w.as_ref().map_or(1.0, |w| w[row]);
                let t = t.as_ref().map(|t| t[row]);
                held.observe(x, y, w, t).map_err(|fault| fault.at_row(row)).or_raise(py)?;
            }
            Ok(())
        })
    }

    /// Remove a number or a pair that was added before.
    fn _revert(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        w: Weight,
    ) -> PyResult<()> {
        let py = slf.py();
        let w = w.number().or_raise(py)?;
        let x = read_number(x, "x")?;
        let y = y.map_or(Ok(0.0), |y| read_number(y, "y"))?;
        slf.change(|held| held.revert(x, y, w).or_raise(py))
    }

    /// Remove a part of the stream.
    fn _unmerge(slf: &Bound<'_, Self>, other: &Bound<'_, Statistic>) -> PyResult<()> {
        let other = other.ask(|held| Ok(held.clone()))?;
        slf.change(|held| held.unmerge(&other).or_raise(slf.py()))
    }
}

/// A number; for a nominal statistic also a string or a bool.
fn observed(value: &Bound<'_, PyAny>, nominal: bool, what: &str) -> PyResult<Observed> {
    match nominal && (value.is_instance_of::<PyString>() || value.is_instance_of::<PyBool>()) {
        true => read_label(value).map(Observed::Label),
        false => read_number(value, what).map(Observed::Number),
    }
}

/// Add a value that is not a plain number, or has a time.
fn observe_one(
    slf: &Bound<'_, Statistic>,
    x: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    w: f64,
    t: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = slf.py();
    let nominal = slf.ask(|held| Ok(held.statistic().is_nominal()))?;
    let x = observed(x, nominal, "x")?;
    let y = y.map_or(Ok(Observed::Number(0.0)), |y| observed(y, nominal, "y"))?;
    let t = read_time(t)?;
    if let (None, Observed::Number(x), Observed::Number(y), false) = (t, &x, &y, nominal) {
        return slf.change(|held| held.update(*x, *y, w).or_raise(py));
    }
    if t.is_some() && !slf.ask(|held| Ok(held.statistic().takes_time()))? {
        let fault = Fault::wrong_type("t is for statistics over a span of time, such as stats.TimeRolling");
        return Err(slf.part().named(py, raise(py, &fault)));
    }
    let part = slf.part();
    let mut guarded = part.write(py)?;
    let held = guarded.held_mut::<Box<dyn statistic::Statistic>>(py)?;
    let known = held.labels().known();
    held.observe(&x, &y, w, t).or_raise(py)?;
    if held.labels().known() != known {
        guarded.sync_names(py)?;
    }
    Ok(())
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
