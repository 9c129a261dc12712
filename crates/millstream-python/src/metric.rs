//! `millstream._core.Metric`: a metric and its labels behind a lock.

use std::sync::{Mutex, MutexGuard};

use millstream_core::declaration::Role;
use millstream_core::labels::Label;
use millstream_core::metrics::{Given, Meter};
use millstream_core::row::Want;
use millstream_core::task::{Target, Targets};
use millstream_core::Fault;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};

use crate::errors::{raise, OrRaise};
use crate::labels::{read_label, show_label};
use crate::rows::read_numbers;
use crate::saved::opened;
use crate::targets::{check_length, no_number, ManyTargets, Weight};

#[pyclass(subclass, frozen, module = "millstream._core")]
pub struct Metric {
    meter: Mutex<Option<Meter>>,
}

/// What was predicted, read from Python.
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

    fn given(&self) -> Given<'_> {
        match self {
            Predicted::Nothing => Given::Nothing,
            Predicted::Label(label) => Given::Label(label),
            Predicted::Probability(p) => Given::Probability(*p),
            Predicted::Probabilities(probabilities) => Given::Probabilities(probabilities),
        }
    }
}

#[inline]
pub fn read_number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    // What most values are.
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    read_other_number(value, what)
}

fn read_other_number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if !value.is_instance_of::<PyString>() {
        if let Ok(number) = value.extract::<f64>() {
            return Ok(number);
        }
    }
    Err(raise(value.py(), &no_number(value, what)))
}

impl Metric {
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Meter>>> {
        self.meter.lock_py_attached(py).map_err(|_| {
            raise(py, &Fault::state("this metric met an internal error; load it anew, and please report it"))
        })
    }

    fn with<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Meter) -> PyResult<R>) -> PyResult<R> {
        let mut guard = self.lock(py)?;
        let meter = guard.as_mut().ok_or_else(|| {
            raise(py, &Fault::value("this metric was not built: call super().__init__(…) in its __init__"))
        })?;
        work(meter)
    }

    /// A copy of what is measured, for loops that run without Python.
    pub fn meter(&self, py: Python<'_>) -> PyResult<Meter> {
        self.with(py, |meter| Ok(meter.clone()))
    }

    /// Take over what such a loop has measured.
    pub fn set_meter(&self, py: Python<'_>, meter: Meter) -> PyResult<()> {
        *self.lock(py)? = Some(meter);
        Ok(())
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
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Metric { meter: Mutex::new(None) }
    }

    /// Build from a description in JSON.
    fn _build(&self, py: Python<'_>, description: &str) -> PyResult<()> {
        let description = serde_json::from_str(description)
            .map_err(|error| raise(py, &Fault::value(format!("millstream: not a description: {error}"))))?;
        self.set_meter(py, Meter::new(&description).or_raise(py)?)
    }

    /// Become what was saved, given as bytes or as an open file, or a copy of another metric.
    fn _load(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let meter = match source.cast::<Metric>() {
            Ok(other) => other.get().meter(py)?,
            Err(_) => Meter::from_saved(opened(source)?).or_raise(py)?,
        };
        self.set_meter(py, meter)
    }

    /// The canonical description in JSON.
    fn _description(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |meter| Ok(meter.description().to_string()))
    }

    /// The sums it keeps, in JSON.
    fn _inspect(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |meter| Ok(meter.inspect().to_string()))
    }

    /// Label objects by code, None for a code that waits for its label.
    fn _labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.with(py, |meter| {
            let labels = meter.labels().entries().iter();
            let labels: Vec<_> = labels
                .map(|label| label.as_ref().map(|label| show_label(py, label)).transpose())
                .collect::<PyResult<_>>()?;
            PyList::new(py, labels)
        })
    }

    /// How far `get` may be from the exact value; None for metrics that are exact.
    fn _error(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |meter| Ok(meter.metric().error()))
    }

    fn _takes_numbers(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |meter| Ok(meter.metric().takes_numbers()))
    }

    fn _wants_probabilities(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |meter| Ok(meter.want() == Want::Probabilities))
    }

    /// The whole metric as bytes: one versioned, checksummed value.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |meter| meter.save().or_raise(py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of memory that the metric holds.
    #[getter]
    fn memory(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |meter| Ok(meter.memory()))
    }

    /// How many outcomes it was told.
    #[getter]
    fn updates(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |meter| Ok(meter.updates()))
    }

    /// Whether a higher value is better.
    #[getter]
    fn bigger_is_better(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |meter| Ok(meter.metric().bigger_is_better()))
    }

    /// The current value.
    fn get(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |meter| Ok(meter.get()))
    }

    /// Start again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |meter| meter.reset().or_raise(py))
    }

    /// Tell it what was true and what was predicted: a label, a number, or a dict of probabilities.
    #[pyo3(signature = (y_true, y_pred, w=Weight(Ok(1.0))), text_signature = "($self, y_true, y_pred, w=1.0)")]
    fn update(&self, y_true: &Bound<'_, PyAny>, y_pred: &Bound<'_, PyAny>, w: Weight) -> PyResult<()> {
        let py = y_true.py();
        let w = w.number().or_raise(py)?;
        // Read before the lock is held: reading may run Python code.
        let (numbers, want) = self.with(py, |meter| Ok((meter.metric().takes_numbers(), meter.want())))?;
        if numbers {
            let (truth, predicted) = (read_number(y_true, "the truth")?, read_number(y_pred, "the prediction")?);
            return self.with(py, |meter| meter.update_number(truth, predicted, w).or_raise(py));
        }
        let truth = read_label(y_true)?;
        let predicted = Predicted::read(y_pred, want)?;
        self.with(py, |meter| meter.update_label(&truth, predicted.given(), w).or_raise(py))
    }

    /// Many outcomes; `classes` are the labels of the columns of a matrix of probabilities.
    #[pyo3(signature = (y_true, y_pred, w, classes))]
    fn _update_many(
        &self,
        py: Python<'_>,
        y_true: &Bound<'_, PyAny>,
        y_pred: &Bound<'_, PyAny>,
        w: Option<&Bound<'_, PyAny>>,
        classes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (numbers, want) = self.with(py, |meter| Ok((meter.metric().takes_numbers(), meter.want())))?;
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
        self.with(py, |meter| {
            let mut next = meter.clone();
            py.detach(|| {
                let mut pairs: Vec<(Label, f64)> = match &predicted {
                    ManyPredicted::Probabilities { classes, .. } => {
                        classes.iter().map(|c| (c.clone(), 0.0)).collect()
                    }
                    _ => Vec::new(),
                };
                (0..height).try_for_each(|row| {
                    let w = weights.as_ref().map_or(1.0, |weights| weights[row]);
                    let told = tell(&mut next, truths.targets(), &predicted, &mut pairs, row, w);
                    told.map_err(|fault| truths.explain(fault, row, next.name()).at_row(row))
                        .map_err(|fault| fault.at_row(row))
                })
            })
            .or_raise(py)?;
            *meter = next;
            Ok(())
        })
    }

    /// Fold in the same metric of another part of the stream.
    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Metric>) -> PyResult<()> {
        let other = other.get().meter(py)?;
        self.with(py, |meter| meter.merge(&other).or_raise(py))
    }
}

fn tell(
    meter: &mut Meter,
    truths: Targets<'_>,
    predicted: &ManyPredicted,
    pairs: &mut [(Label, f64)],
    row: usize,
    w: f64,
) -> millstream_core::Result<()> {
    let truth = match truths.at(row).map_err(|fault| fault.by(meter.name()))? {
        Target::Class(label) => label,
        Target::Number(truth) => {
            let ManyPredicted::Numbers(numbers) = predicted else { return Ok(()) };
            return meter.update_number(truth, numbers[row], w);
        }
        Target::None => return Ok(()),
    };
    match predicted {
        ManyPredicted::Numbers(numbers) => meter.update_label(truth, Given::Probability(numbers[row]), w),
        ManyPredicted::Labels(labels) => {
            let given = match labels.targets().at(row) {
                Ok(Target::Class(label)) => Given::Label(label),
                // None is no prediction; what could not be read is a fault.
                _ => match labels {
                    ManyTargets::Labels(labels) if labels.bad.contains_key(&row) => {
                        return Err(labels.bad[&row].clone().by(meter.name()))
                    }
                    _ => Given::Nothing,
                },
            };
            meter.update_label(truth, given, w)
        }
        ManyPredicted::Probabilities { rows, .. } => {
            let width = pairs.len();
            for (pair, p) in pairs.iter_mut().zip(&rows[row * width..]) {
                pair.1 = *p;
            }
            meter.update_label(truth, Given::Probabilities(pairs), w)
        }
    }
}
