//! `millstream._core.predict_lines`: predicts the examples of an NDJSON body without Python objects.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::event_id::push_uuid;
use super::id_range::IdRange;
use super::predict_body::PredictBody;
use super::prediction::{push_integer, push_prediction, reply_middle};
use crate::part::Part;

/// Number of lines that are predicted under one lock.
const BLOCK: usize = 64;

/// The replies to the lines of an NDJSON body, and the predictions as a JSON array; None if Python must read the body:
/// a blank line, more lines than ids, an id of the client, or an example that cannot be predicted. The replies are those
/// of `python/millstream/serve/api/batch_predictions.py`.
#[pyfunction]
pub fn predict_lines<'py>(
    py: Python<'py>,
    model: &Bound<'_, Part>,
    data: &[u8],
    ids: &IdRange,
    name: &str,
    version: Option<&str>,
    seq: u64,
) -> Option<(usize, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let mut middle = reply_middle(name, version);
    push_integer(&mut middle, seq);
    middle.extend_from_slice(b",\"y\":");
    let model = model.get();
    let (count, replies, predictions) = py.detach(|| replies(model, data, ids, &middle))?;
    Some((count, PyBytes::new(py, &replies), PyBytes::new(py, &predictions)))
}

fn replies(model: &Part, data: &[u8], ids: &IdRange, middle: &[u8]) -> Option<(usize, Vec<u8>, Vec<u8>)> {
    let mut replies = Vec::with_capacity(data.len());
    let mut predictions = vec![b'['];
    let mut count = 0;
    let mut guarded = model.read_blocking()?;
    for line in data.trim_ascii().split(|&byte| byte == b'\n') {
        if count % BLOCK == BLOCK - 1 {
            // A learner may be waiting.
            drop(guarded);
            guarded = model.read_blocking()?;
        }
        let body = PredictBody::read(line).filter(|body| body.id.is_none())?;
        if count > 0 {
            predictions.push(b',');
        }
        let start = predictions.len();
        push_prediction(&guarded, body.x, &mut predictions)?;
        replies.extend_from_slice(b"{\"id\":\"");
        push_uuid(&mut replies, &ids.at(count as u64)?);
        replies.push(b'"');
        replies.extend_from_slice(middle);
        replies.extend_from_slice(&predictions[start..]);
        replies.extend_from_slice(b"}\n");
        count += 1;
    }
    predictions.push(b']');
    Some((count, replies, predictions))
}
