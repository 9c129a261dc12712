//! `millstream._core.Metric`: receives truths and predictions.

use millstream_core::declaration::Role;
use millstream_core::held::{self, GivenPrediction, LabelledMetric};
use millstream_core::labels::Label;
use millstream_core::row::Want;
use millstream_core::task::{Target, Targets};
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::borrowed_rows::read_numbers;
use crate::errors::OrRaise;
use crate::labels::{read_label, show_label};
use crate::part::{Component, ComponentMethods, Part};
use crate::signals::in_blocks;
use crate::targets::{check_length, read_number, ManyTargets, Weight};

#[pyclass(extends = Part, subclass, frozen, module = "millstream._core")]
#[derive(Default)]
pub struct Metric;

impl Component for Metric {
    type Kind = LabelledMetric;
}

/// A prediction read from Python.
enum Predicted {
    Nothing,
    Label(Label),
    Probability(f64),
    Probabilities(Vec<(Label, f64)>),
}

impl Predicted {
    fn read(value: &Bound<'_, PyAny>, want: Want) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Predicted::Nothing);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let pairs = dict.iter().map(|(label, p)| Ok((read_label(&label)?, read_number(&p, "a probability")?)));
            return pairs.collect::<PyResult<_>>().map(Predicted::Probabilities);
        }
        if want == Want::Class || value.is_instance_of::<PyString>() {
            return read_label(value).map(Predicted::Label);
        }
        read_number(value, "a probability").map(Predicted::Probability)
    }

    fn given(&self) -> GivenPrediction<'_> {
        match self {
            Predicted::Nothing => GivenPrediction::Nothing,
            Predicted::Label(label) => GivenPrediction::Label(label),
            Predicted::Probability(p) => GivenPrediction::Probability(*p),
            Predicted::Probabilities(probabilities) => GivenPrediction::Probabilities(probabilities),
        }
    }
}

/// Predictions of many rows.
enum ManyPredicted {
    Numbers(Vec<f64>),
    Labels(ManyTargets),
    Probabilities { classes: Vec<Label>, rows: Vec<f64> },
}

#[pymethods]
impl Metric {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        Self::start()
    }

    /// Bound on the error of `get`; None for exact metrics.
    fn _error(slf: &Bound<'_, Self>) -> PyResult<Option<f64>> {
        slf.ask(|held| Ok(held.error()))
    }

    /// The positive class; None for metrics without one, and while the labels do not determine it.
    #[getter]
    fn positive_class<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let class = slf.ask(|held| Ok(held.positive()))?;
        class.map(|class| show_label(slf.py(), &class.label)).transpose()
    }

    /// Whether there were outcomes and none had `pos_val` as truth.
    fn _lacks_positive(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.missing_positive().is_some()))
    }

    fn _takes_numbers(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.metric().takes_numbers()))
    }

    fn _wants_probabilities(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.want() == Want::Probabilities))
    }

    /// Number of outcomes received.
    #[getter]
    fn updates(slf: &Bound<'_, Self>) -> PyResult<u64> {
        slf.ask(|held| Ok(held.count()))
    }

    /// Whether a higher value is better.
    #[getter]
    fn bigger_is_better(slf: &Bound<'_, Self>) -> PyResult<bool> {
        slf.ask(|held| Ok(held.metric().bigger_is_better()))
    }

    /// The current value.
    fn get(slf: &Bound<'_, Self>) -> PyResult<f64> {
        slf.ask(|held| Ok(held.get()))
    }

    /// Restart.
    fn reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.change(|held| held.reset().or_raise(slf.py()))
    }

    /// Score a prediction: a label, a number, or a dict of probabilities.
    #[pyo3(signature = (y_true, y_pred, w=Weight::ONE), text_signature = "($self, y_true, y_pred, w=1.0)")]
    fn update(
        slf: &Bound<'_, Self>,
        y_true: &Bound<'_, PyAny>,
        y_pred: &Bound<'_, PyAny>,
        w: Weight,
    ) -> PyResult<()> {
        let py = y_true.py();
        let w = w.number().or_raise(py)?;
        // Read before the lock is held: reading may run Python code.
        let (numbers, want) = slf.ask(|held| Ok((held.metric().takes_numbers(), held.want())))?;
        if numbers {
            let (truth, predicted) = (read_number(y_true, "the truth")?, read_number(y_pred, "the prediction")?);
            return slf.change(|held| held.update_number(truth, predicted, w).or_raise(py));
        }
        let truth = read_label(y_true)?;
        let predicted = Predicted::read(y_pred, want)?;
        slf.change(|held| held.update_label(&truth, predicted.given(), w).or_raise(py))
    }

    /// Score many predictions; `classes` are the labels of the columns of a probability matrix. After a faulty one and
    /// after Ctrl-C nothing has changed.
    #[pyo3(signature = (y_true, y_pred, w, classes))]
    fn _update_many(
        slf: &Bound<'_, Self>,
        y_true: &Bound<'_, PyAny>,
        y_pred: &Bound<'_, PyAny>,
        w: Option<&Bound<'_, PyAny>>,
        classes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let (numbers, want) = slf.ask(|held| Ok((held.metric().takes_numbers(), held.want())))?;
        let role = if numbers { Role::Regressor } else { Role::Classifier };
        let truths = ManyTargets::read(py, role, Some(y_true))?;
        let height = truths.len().unwrap_or(0);
        let weights = w.filter(|w| !w.is_none()).map(read_numbers).transpose()?;
        check_length(py, "w", weights.as_ref().map(Vec::len), height)?;
        let (predicted, length) = if let Some(classes) = classes.filter(|classes| !classes.is_none()) {
            let classes = classes.try_iter()?.map(|label| read_label(&label?)).collect::<PyResult<Vec<_>>>()?;
            let matrix = y_pred.cast::<PyArray2<f64>>()?.readonly();
            let view = matrix.as_array();
            check_length(py, "classes", Some(classes.len()), view.ncols())?;
            (ManyPredicted::Probabilities { classes, rows: view.iter().copied().collect() }, view.nrows())
        } else {
            let bare = numbers || want == Want::Probabilities;
            match read_numbers(y_pred) {
                Ok(numbers) if bare => {
                    let length = numbers.len();
                    (ManyPredicted::Numbers(numbers), length)
                }
                Err(error) if numbers => return Err(error),
                _ => {
                    let labels = ManyTargets::read(py, Role::Classifier, Some(y_pred))?;
                    let length = labels.len().unwrap_or(0);
                    (ManyPredicted::Labels(labels), length)
                }
            }
        };
        check_length(py, "y_pred", Some(length), height)?;
        slf.replace(|held| {
            let mut pairs: Vec<(Label, f64)> = match &predicted {
                ManyPredicted::Probabilities { classes, .. } => classes.iter().map(|c| (c.clone(), 0.0)).collect(),
                ManyPredicted::Numbers(_) | ManyPredicted::Labels(_) => Vec::new(),
            };
            in_blocks(py, height, |from, to| {
                (from..to).try_for_each(|row| {
                    let w = weights.as_ref().map_or(1.0, |weights| weights[row]);
                    let updated = update_row(held, truths.targets(), &predicted, &mut pairs, row, w);
                    updated
                        .map_err(|fault| truths.explain(fault, row, held.title()).at_row(row))
                        .map_err(|fault| fault.at_row(row))
                })
            })
        })
    }
}

fn update_row(
    metric: &mut held::Metric,
    truths: Targets<'_>,
    predicted: &ManyPredicted,
    pairs: &mut [(Label, f64)],
    row: usize,
    w: f64,
) -> millstream_core::Result<()> {
    let truth = match truths.at(row).map_err(|fault| fault.by(metric.title()))? {
        Target::Class(label) => label,
        Target::Number(truth) => {
            let ManyPredicted::Numbers(numbers) = predicted else { return Ok(()) };
            return metric.update_number(truth, numbers[row], w);
        }
        Target::None => return Ok(()),
    };
    match predicted {
        ManyPredicted::Numbers(numbers) => {
            metric.update_label(truth, GivenPrediction::Probability(numbers[row]), w)
        }
        ManyPredicted::Labels(labels) => {
            let given = match labels.targets().at(row) {
                Ok(Target::Class(label)) => GivenPrediction::Label(label),
                // None means no prediction; a value that could not be read is a fault.
                _ => match labels {
                    ManyTargets::Labels(labels) if labels.bad.contains_key(&row) => {
                        return Err(labels.bad[&row].clone().by(metric.title()))
                    }
                    _ => GivenPrediction::Nothing,
                },
            };
            metric.update_label(truth, given, w)
        }
        ManyPredicted::Probabilities { rows, .. } => {
            let width = pairs.len();
            for (pair, p) in pairs.iter_mut().zip(&rows[row * width..]) {
                pair.1 = *p;
            }
            metric.update_label(truth, GivenPrediction::Probabilities(pairs), w)
        }
    }
}
