//! A model and a small batch of dicts, which is learned as a whole.
//!
//! The batch is rehearsed first: if all its dicts can be admitted and the learner cannot refuse them, nothing needs to be
//! reverted later. Otherwise the model returns to a savepoint after a fault. No Python code runs in between, so that
//! Ctrl-C cannot stop it halfway either.

use std::time::{Duration, Instant};

use millstream_core::held::Root;
use millstream_core::row::Want;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::answers::give_one;
use crate::errors::OrRaise;
use crate::model_many::{broken, changed};
use crate::model_one::probabilities;
use crate::part::{Guarded, Part};
use crate::targets::OneTarget;
use crate::thread_buffers::{thread_buffers, ThreadBuffers};

/// A batch that may take longer must be open to Ctrl-C.
const LONGEST: Duration = Duration::from_millis(50);
/// How long other threads wait for the GIL.
const BETWEEN_RELEASES: Duration = Duration::from_millis(2);

/// A dict with its target and weight.
pub type DictExample<'py> = (Bound<'py, PyDict>, OneTarget, f64);

/// Learn examples (x, y, w), predicting each first if `predict` is "class" or "proba"; gives the predictions. None, and
/// no change, if one of them is refused or reading it would run Python code.
pub fn run<'py>(
    part: &Part,
    examples: &Bound<'py, PyList>,
    predict: Option<&str>,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let py = examples.py();
    let Some(examples) = read(part, examples)? else { return Ok(None) };
    let want = predict.map(|what| if what == "proba" { Want::Probabilities } else { Want::Class });
    let mut buffers = thread_buffers();
    let session = part.session(py)?;
    if session.blocks.takes_long(examples.len(), LONGEST) {
        return Ok(None);
    }
    // A single example is learned or refused as a whole.
    let single = examples.len() == 1;
    let before = match single || session.write(py)?.rehearses(&examples, &mut buffers.draft) {
        true => None,
        false => Some(changed(py, &session.blocks, |model| model.savepoint())?),
    };
    let mut answers = Vec::new();
    let mut released = Instant::now();
    for example in &examples {
        // Not in the head of the match, where the lock would be held until its end.
        let learned = learn(&mut *session.write(py)?, example, want, &mut buffers);
        match learned {
            Ok(answer) => answers.extend(answer),
            Err(_) if single => return Ok(None),
            Err(error) => {
                // The loop in Python says which row it was.
                let Some(before) = before else { return Err(error) };
                changed(py, &session.blocks, |model| model.rollback(before))?;
                session.write(py)?.sync_names(py)?;
                return Ok(None);
            }
        }
        if released.elapsed() > BETWEEN_RELEASES {
            py.detach(std::thread::yield_now);
            released = Instant::now();
        }
    }
    if let Some(before) = before {
        changed(py, &session.blocks, |model| model.commit(before))?;
    }
    PyList::new(py, answers).map(Some)
}

/// Read what may run Python code: not under the lock. None if something is not an example.
fn read<'py>(part: &Part, examples: &Bound<'py, PyList>) -> PyResult<Option<Vec<DictExample<'py>>>> {
    let py = examples.py();
    let role = part.role(py)?;
    let example = |example: Bound<'py, PyAny>| {
        let (x, y, w) = example.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>, f64)>().ok()?;
        Some((x.cast_into_exact::<PyDict>().ok()?, OneTarget::read(py, role, Some(&y)).ok()?, w))
    };
    Ok(examples.iter().map(example).collect())
}

/// Learn one example of a rehearsed batch; gives its prediction, if one is wanted.
fn learn(
    guarded: &mut Guarded,
    (x, y, w): &DictExample<'_>,
    want: Option<Want>,
    buffers: &mut ThreadBuffers,
) -> PyResult<Option<Py<PyAny>>> {
    let py = x.py();
    guarded.read_plain::<Root>(x, &mut buffers.draft)?;
    let waiting = guarded.held::<Root>(py)?.labels().entries().iter().position(Option::is_none);
    let ThreadBuffers { draft, answer: predicted, scratch, .. } = buffers;
    let learned = guarded.change::<Root, _>(|model| match want {
        None => model.learn(draft, y.target(), *w, scratch),
        Some(want) => model.step(draft, y.target(), *w, want, predicted, scratch),
    });
    learned.unwrap_or_else(|| Err(broken())).or_raise(py)?;
    match want {
        None => Ok(None),
        Some(Want::Class) => give_one(py, guarded, guarded.held::<Root>(py)?.role(), predicted).map(Some),
        Some(Want::Probabilities) => Ok(Some(probabilities(py, guarded, predicted, waiting)?.into_any().unbind())),
    }
}
