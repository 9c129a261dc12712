//! `millstream._core.step_together`: several regressors learn the same rows at once.

use millstream_core::held::{Model as HeldModel, Root, TargetTable, Together};
use millstream_core::table::Table;
use millstream_core::Fault;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::borrowed_rows::BorrowedRows;
use crate::errors::raise;
use crate::lock::Session;
use crate::model::Model;
use crate::part::{ComponentMethods, Guarded};

/// Rows between which the models can be read and Ctrl-C is noticed.
const BLOCK: usize = 8192;

/// Predict and learn rows (see `BorrowedRows`) with each of some regressors; `targets` has a column for each, with NaN where
/// it does not learn. Returns the predictions before each row. None, without any change, if the regressors must learn the
/// rows one after the other.
#[pyfunction]
pub fn step_together<'py>(
    models: Vec<Bound<'py, Model>>,
    rows: &Bound<'py, PyAny>,
    targets: PyReadonlyArray2<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let py = rows.py();
    let borrowed = BorrowedRows::new(rows)?;
    let table = borrowed.table();
    let height = table.height();
    let shape = [targets.shape()[0], targets.shape()[1], weights.len()];
    if shape != [height, models.len(), height] {
        let message = format!("targets must have {height} rows and {} columns, and as many weights", models.len());
        return Err(raise(py, &Fault::value(message)));
    }
    let given = TargetTable { targets: targets.as_slice()?, weights: weights.as_slice()? };
    if models.iter().enumerate().any(|(place, model)| models[..place].iter().any(|other| other.is(model))) {
        return Ok(None);
    }
    // Other writers wait until all rows are learned; readers are let in between blocks.
    let sessions = models.iter().map(|model| model.part().session(py)).collect::<PyResult<Vec<_>>>()?;
    let Some(before) = with_all(py, &sessions, Together::savepoints)? else { return Ok(None) };
    let (mut together, mut predictions) = (Together::default(), Vec::with_capacity(given.targets.len()));
    let (mut done, mut stopped, mut failed) = (0, false, None);
    while done < height && !stopped && failed.is_none() {
        let to = (done + BLOCK).min(height);
        let step = |held: &mut [&mut HeldModel]| together.step(held, &table, (done, to), given, &mut predictions);
        done += with_all(py, &sessions, step)?;
        stopped = done < to;
        failed = py.check_signals().err();
    }
    with_all(py, &sessions, |held| {
        for (model, before) in held.iter_mut().zip(before) {
            match stopped || failed.is_some() {
                true => model.rollback(before),
                false => model.commit(before),
            }
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None if stopped => Ok(None),
        None => predictions.into_pyarray(py).reshape([height, models.len()]).map(Some),
    }
}

/// Work on all models at once, without the GIL.
fn with_all<R: Send>(
    py: Python<'_>,
    sessions: &[Session<'_, Guarded>],
    work: impl FnOnce(&mut [&mut HeldModel]) -> R + Send,
) -> PyResult<R> {
    let mut guards = sessions.iter().map(|session| session.write(py)).collect::<PyResult<Vec<_>>>()?;
    let held = guards.iter_mut().map(|guard| guard.held_mut::<Root>(py));
    let mut held = held.collect::<PyResult<Vec<&mut HeldModel>>>()?;
    Ok(py.detach(|| work(&mut held)))
}
