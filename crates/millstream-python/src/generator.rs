//! `millstream._core.Generator`: an endless stream of examples, drawn block by block.

use millstream_core::declaration::Built;
use millstream_core::generator::Generator as Role;
use millstream_core::registry;
use millstream_core::schema::Name;
use millstream_core::synth::StreamSchema;
use millstream_core::Fault;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{raise, OrRaise};
use crate::lock::Lock;
use crate::part::read_description;

/// Rows that are drawn before they are turned into columns; few enough to stay in the cache.
const BLOCK: usize = 256;

#[pyclass(frozen, module = "millstream._core")]
pub struct Generator {
    role: Lock<Box<dyn Role>>,
    schema: StreamSchema,
    name: String,
}

impl Generator {
    /// Draw without the GIL; `work` writes features where it likes and targets into the slice.
    fn drawn<'py, R: Send>(
        &self,
        py: Python<'py>,
        rows: usize,
        work: impl FnOnce(&mut dyn Role, &mut [f64]) -> R + Send,
    ) -> PyResult<(R, Bound<'py, PyAny>)> {
        let mut guard = self.role.write(py)?;
        let role = guard.as_mut();
        let mut targets = vec![0.0; rows];
        let written = py.detach(|| work(role, &mut targets));
        let y = match self.schema.classes {
            0 => PyArray1::from_vec(py, targets).into_any(),
            _ => PyArray1::from_iter(py, targets.iter().map(|&y| y as i64)).into_any(),
        };
        Ok((written, y))
    }

    fn room(&self, py: Python<'_>, rows: usize) -> PyResult<usize> {
        let size = rows.checked_mul(self.schema.width()).filter(|&size| size <= isize::MAX as usize / 16);
        size.ok_or_else(|| raise(py, &Fault::value(format!("{}: rows must be fewer, got {rows}", self.name))))
    }
}

#[pymethods]
impl Generator {
    /// From a description in JSON.
    #[new]
    fn new(py: Python<'_>, description: &str) -> PyResult<Self> {
        let resolved = registry::resolve(&read_description(py, description)?).or_raise(py)?;
        let name = resolved["name"].as_str().unwrap_or_default().to_owned();
        match registry::build_resolved(&resolved).or_raise(py)? {
            Built::Generator(role) => Ok(Generator { schema: role.schema().clone(), role: Lock::new(role), name }),
            _ => Err(raise(py, &Fault::wrong_type(format!("{name}: not a generator")))),
        }
    }

    /// The features: a name, and the values of a nominal one.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let features = PyList::empty(py);
        for (name, values) in self.schema.names.iter().zip(&self.schema.values) {
            match name {
                Name::Number(number) => features.append((number, values.as_ref()))?,
                Name::Text(text) => features.append((text.as_ref(), values.as_ref()))?,
            }
        }
        Ok(features)
    }

    /// Number of classes; 0 if the target is a number.
    #[getter]
    fn classes(&self) -> usize {
        self.schema.classes
    }

    /// The next examples: a matrix, and targets.
    fn matrix<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let size = self.room(py, rows)?;
        let (numbers, y) = self.drawn(py, rows, |role, y| {
            let mut numbers = vec![0.0; size];
            role.fill(&mut numbers, y);
            numbers
        })?;
        let matrix = PyArray1::from_vec(py, numbers).reshape([rows, self.schema.width()])?;
        Ok((matrix.into_any(), y))
    }

    /// The next examples: a column for each feature, codes for a nominal one, and targets.
    fn columns<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
        self.room(py, rows)?;
        let width = self.schema.width();
        let (columns, y) = self.drawn(py, rows, |role, y| {
            let mut columns: Vec<Vec<f64>> = (0..width).map(|_| Vec::with_capacity(rows)).collect();
            let mut block = vec![0.0; BLOCK * width];
            for y in y.chunks_mut(BLOCK) {
                let block = &mut block[..y.len() * width];
                role.fill(block, y);
                for (place, column) in columns.iter_mut().enumerate() {
                    column.extend(block.iter().skip(place).step_by(width));
                }
            }
            columns
        })?;
        let list = PyList::empty(py);
        for (column, values) in columns.into_iter().zip(&self.schema.values) {
            match values {
                None => list.append(PyArray1::from_vec(py, column))?,
                // A missing one is NaN, which has no code.
                Some(_) => list.append(PyArray1::from_iter(
                    py,
                    column.iter().map(|&code| if code >= 0.0 { code as i32 } else { -1 }),
                ))?,
            }
        }
        Ok((list, y))
    }

    /// The targets of features by the rule, without noise.
    fn rule<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let role = self.role.read(py)?;
        let x = x.as_array();
        if x.ncols() != self.schema.width() {
            let fault =
                format!("{}: an example must have {} features, got {}", self.name, self.schema.width(), x.ncols());
            return Err(raise(py, &Fault::value(fault)));
        }
        let ruled: Option<Vec<f64>> = x.rows().into_iter().map(|row| role.rule(&row.to_vec())).collect();
        match ruled {
            Some(targets) => Ok(PyArray1::from_vec(py, targets)),
            None => Err(raise(
                py,
                &Fault::wrong_type(format!("{}: the target is not a function of the features alone", self.name)),
            )),
        }
    }
}
