//! `millstream._core.PolicyEstimator`: receives the rounds of a log.

use millstream_core::policy_evaluation::role::{self, Interval, Needs, Round};
use millstream_core::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::borrowed_rows::Column64;
use crate::errors::{raise, OrRaise};
use crate::part::{Component, ComponentMethods, Part};
use crate::signals::in_blocks;
use crate::targets::{check_length, read_number, Weight};

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct PolicyEstimator;

impl Component for PolicyEstimator {
    type Kind = Box<dyn role::PolicyEstimator>;
}

/// Names of the optional numbers of a round, as they are passed.
const OPTIONAL: [&str; 4] = ["prediction", "target_value", "other_probability", "other_value"];

/// Refuse a call without a number that the estimator needs.
fn check_needs(needs: Needs, given: [bool; 4]) -> millstream_core::Result<()> {
    let [prediction, target_value, _, other_value] = given;
    // A difference may have a model.
    let model = needs.model || (needs.other && (prediction || target_value || other_value));
    let needed = [model, model, needs.other, model && needs.other];
    match (0..4).find(|&index| needed[index] && !given[index]) {
        Some(index) => Err(Fault::wrong_type(format!("{} is needed", OPTIONAL[index]))),
        None => Ok(()),
    }
}

#[pymethods]
impl PolicyEstimator {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Number of rounds received.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// The estimate; NaN while it is undefined.
    #[getter]
    fn value(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.estimator().value()))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    /// Receive a round; `optional` are prediction, target_value, other_probability and other_value.
    fn _update(
        slf: &Bound<'_, Self>,
        reward: &Bound<'_, PyAny>,
        probability: &Bound<'_, PyAny>,
        target_probability: &Bound<'_, PyAny>,
        optional: [Option<Bound<'_, PyAny>>; 4],
        w: Weight,
    ) -> PyResult<()> {
        let py = slf.py();
        let named = |error| slf.part().named(py, error);
        let read = |value: &Bound<'_, PyAny>, what: &str| read_number(value, what).map_err(named);
        let needs = slf.ask(|held| Ok(held.estimator().needs()))?;
        check_needs(needs, std::array::from_fn(|index| optional[index].is_some()))
            .map_err(|fault| named(raise(py, &fault)))?;
        let mut numbers = [f64::NAN; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            if let Some(value) = &optional[index] {
                *number = given(read(value, OPTIONAL[index])?);
            }
        }
        let [prediction, target_value, other_probability, other_value] = numbers;
        let round = Round {
            reward: read(reward, "reward")?,
            probability: read(probability, "probability")?,
            target_probability: read(target_probability, "target_probability")?,
            prediction,
            target_value,
            other_probability,
            other_value,
            w: w.number().map_err(|fault| named(raise(py, &fault)))?,
        };
        slf.change(|held| held.update(&round).or_raise(py))
    }

    /// Receive many rounds; after a faulty one and after Ctrl-C nothing has changed.
    fn _update_many(
        slf: &Bound<'_, Self>,
        reward: &Bound<'_, PyAny>,
        probability: &Bound<'_, PyAny>,
        target_probability: &Bound<'_, PyAny>,
        optional: [Option<Bound<'_, PyAny>>; 4],
        w: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let needs = slf.ask(|held| Ok(held.estimator().needs()))?;
        check_needs(needs, std::array::from_fn(|index| optional[index].is_some()))
            .map_err(|fault| slf.part().named(py, raise(py, &fault)))?;
        let (reward, probability) = (Column64::new(reward)?, Column64::new(probability)?);
        let target = Column64::new(target_probability)?;
        let optional = optional.iter().map(|column| column.as_ref().map(Column64::new).transpose());
        let optional = optional.collect::<PyResult<Vec<_>>>()?;
        let w = w.map(Column64::new).transpose()?;
        let (reward, probability, target) = (reward.numbers(), probability.numbers(), target.numbers());
        let columns: [Option<&[f64]>; 4] =
            std::array::from_fn(|index| optional[index].as_ref().map(Column64::numbers));
        let w = w.as_ref().map(Column64::numbers);
        let named = |error| slf.part().named(py, error);
        let check = |name: &str, column: Option<&[f64]>| {
            check_length(py, name, column.map(<[f64]>::len), reward.len()).map_err(named)
        };
        check("probability", Some(probability))?;
        check("target_probability", Some(target))?;
        OPTIONAL.iter().zip(columns).try_for_each(|(name, column)| check(name, column))?;
        check("w", w)?;
        let at = |column: Option<&[f64]>, row: usize| column.map_or(f64::NAN, |column| given(column[row]));
        slf.replace(|held| {
            in_blocks(py, reward.len(), |from, to| {
                (from..to).try_for_each(|row| {
                    let round = Round {
                        reward: reward[row],
                        probability: probability[row],
                        target_probability: target[row],
                        prediction: at(columns[0], row),
                        target_value: at(columns[1], row),
                        other_probability: at(columns[2], row),
                        other_value: at(columns[3], row),
                        w: w.map_or(1.0, |w| w[row]),
                    };
                    held.update(&round).map_err(|fault| fault.at_row(row))
                })
            })
        })
    }

    /// An interval of the value, of a kind: "sequence", "normal" or "bootstrap".
    fn _interval(
        slf: &Bound<'_, Self>,
        kind: &str,
        coverage: f64,
        n_resamples: usize,
        seed: u64,
    ) -> PyResult<(f64, f64)> {
        let kind = match kind {
            "sequence" => Interval::Sequence,
            "normal" => Interval::Normal,
            _ => Interval::Bootstrap { resamples: n_resamples, seed },
        };
        slf.ask(|held| held.interval(kind, coverage).or_raise(slf.py()))
    }

    /// Effective sample size, largest weight, mean weight, its interval, and the number of reduced weights.
    fn _weights(slf: &Bound<'_, Self>, coverage: f64) -> PyResult<(f64, f64, f64, (f64, f64), u64)> {
        slf.ask(|held| {
            let summary = held.weights(coverage).or_raise(slf.py())?;
            let (size, largest) = (summary.effective_sample_size, summary.largest);
            Ok((size, largest, summary.mean, summary.interval, summary.reduced))
        })
    }
}

/// A number that was given: NaN, which stands for an absent number, becomes infinite and is refused where it is used.
fn given(number: f64) -> f64 {
    match number.is_nan() {
        true => f64::INFINITY,
        false => number,
    }
}
