//! The predictions of many rows, as columns.

use millstream_core::declaration::Role;
use millstream_core::held::{self, Sink};
use millstream_core::row::Want;
use millstream_core::task::{Answer, ClusterPrediction, Outcomes};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::part::Guarded;

/// The cluster in Python of a row without one, as in scikit-learn.
const NO_CLUSTER: i64 = -1;

/// The type of the predictions of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Classes,
    Numbers,
    Clusters,
}

impl Form {
    fn of(role: Role) -> Self {
        match role {
            Role::Clusterer => Form::Clusters,
            role if role.predicts_numbers() => Form::Numbers,
            _ => Form::Classes,
        }
    }
}

/// The prediction for one row: a number, a class label or None, or a cluster.
pub fn give_one(py: Python<'_>, guarded: &Guarded, role: Role, answer: &Answer) -> PyResult<Py<PyAny>> {
    Ok(match Form::of(role) {
        Form::Numbers => PyFloat::new(py, answer.number).into_any().unbind(),
        Form::Classes => guarded.label(py, answer.class.class),
        Form::Clusters => index_of(&answer.cluster).into_pyobject(py)?.into_any().unbind(),
    })
}

pub fn index_of(prediction: &ClusterPrediction) -> i64 {
    prediction.cluster.map_or(NO_CLUSTER, i64::from)
}

/// Predictions of a batch, as columns.
#[derive(Default)]
pub struct Answers {
    want: Option<Want>,
    form: Form,
    numbers: Vec<f64>,
    classes: Vec<i32>,
    clusters: Vec<ClusterPrediction>,
    /// Row after row; rows grow with the number of classes.
    probabilities: Vec<f64>,
    widths: Vec<u32>,
}

impl Sink for Answers {
    fn answer(&mut self, _: &held::Model, _: usize, answer: &Answer) {
        match self.form {
            Form::Numbers => return self.numbers.push(answer.number),
            Form::Clusters => return self.clusters.push(answer.cluster),
            Form::Classes => {}
        }
        self.classes.push(answer.class.class.map_or(-1, |class| class as i32));
        if self.want == Some(Want::Probabilities) {
            self.probabilities.extend_from_slice(&answer.class.probabilities);
            self.widths.push(answer.class.probabilities.len() as u32);
        }
    }

    fn answers(&mut self, _: &held::Model, _: usize, outcomes: &Outcomes<'_>) -> bool {
        match outcomes {
            Outcomes::Classes { truths, predictions } if self.want == Some(Want::Class) => {
                self.classes.extend(predictions.codes().take(truths.len()));
                true
            }
            _ => false,
        }
    }

    fn skipped(&mut self, _: usize) {
        match self.form {
            Form::Numbers => self.numbers.push(f64::NAN),
            Form::Clusters => self.clusters.push(ClusterPrediction::default()),
            Form::Classes => {
                self.classes.push(-1);
                self.widths.push(0);
            }
        }
    }
}

impl Answers {
    pub fn new(want: Option<Want>, role: Role) -> Self {
        Answers { want, form: Form::of(role), ..Answers::default() }
    }

    /// The predictions of a model that predicts numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Numbers, class codes (-1 for none), a matrix of probabilities by class code, or clusters, with the distances to the
    /// centres of this and the next cluster if probabilities were requested.
    pub fn give(self, py: Python<'_>, classes: usize) -> PyResult<Py<PyAny>> {
        match self.form {
            Form::Numbers => return Ok(self.numbers.into_pyarray(py).into_any().unbind()),
            Form::Clusters => return self.give_clusters(py),
            Form::Classes => {}
        }
        if self.want != Some(Want::Probabilities) {
            return Ok(self.classes.into_pyarray(py).into_any().unbind());
        }
        let matrix = PyArray2::<f64>::zeros(py, [self.widths.len(), classes], false);
        {
            let mut matrix = matrix.readwrite();
            let mut matrix = matrix.as_array_mut();
            let mut start = 0;
            for (row, &width) in self.widths.iter().enumerate() {
                let width = width as usize;
                for (code, &probability) in self.probabilities[start..start + width].iter().enumerate() {
                    matrix[[row, code]] = probability;
                }
                start += width;
            }
        }
        Ok(matrix.into_any().unbind())
    }

    fn give_clusters(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let clusters = self.clusters.iter().map(index_of).collect::<Vec<_>>().into_pyarray(py);
        if self.want != Some(Want::Probabilities) {
            return Ok(clusters.into_any().unbind());
        }
        let column = |of: fn(&ClusterPrediction) -> f64| {
            self.clusters.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
        };
        let columns = (clusters, column(|row| row.distance), column(|row| row.next_distance));
        Ok(columns.into_pyobject(py)?.into_any().unbind())
    }
}
