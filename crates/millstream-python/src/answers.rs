//! The predictions of many rows, as columns.

use millstream_core::declaration::Role;
use millstream_core::held::{self, Sink};
use millstream_core::row::Want;
use millstream_core::task::Answer;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Predictions of a batch, as columns.
#[derive(Default)]
pub struct Answers {
    want: Option<Want>,
    numeric: bool,
    numbers: Vec<f64>,
    classes: Vec<i32>,
    /// Row after row; rows grow with the number of classes.
    probabilities: Vec<f64>,
    widths: Vec<u32>,
}

impl Sink for Answers {
    fn answer(&mut self, _: &held::Model, _: usize, answer: &Answer) {
        if self.numeric {
            self.numbers.push(answer.number);
            return;
        }
        self.classes.push(answer.class.class.map_or(-1, |class| class as i32));
        if self.want == Some(Want::Probabilities) {
            self.probabilities.extend_from_slice(&answer.class.probabilities);
            self.widths.push(answer.class.probabilities.len() as u32);
        }
    }

    fn skipped(&mut self, _: usize) {
        if self.numeric {
            self.numbers.push(f64::NAN);
        } else {
            self.classes.push(-1);
            self.widths.push(0);
        }
    }
}

impl Answers {
    pub fn new(want: Option<Want>, role: Role) -> Self {
        Answers { want, numeric: role.predicts_numbers(), ..Answers::default() }
    }

    /// The predictions of a model that predicts numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Numbers, class codes (-1 for none), or a matrix of probabilities by class code.
    pub fn give(self, py: Python<'_>, classes: usize) -> PyResult<Py<PyAny>> {
        if self.numeric {
            return Ok(self.numbers.into_pyarray(py).into_any().unbind());
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
}
