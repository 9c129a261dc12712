//! `millstream._core.LabelLearner`: learns the labels of waiting events, many in one call.
//!
//! A label has the effect of `LiveJoin.label` in `python/millstream/serve/live_join.py`: the model learns the event as
//! it was served, the metrics and the drift detector receive the served prediction, and the event is marked. Only
//! common labels are handled: those of an event whose window is open and whose record is in memory, without a weight,
//! and without probabilities. A run stops before the first other label, which is left to Python.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use millstream_core::declaration::Role;
use millstream_core::detector::DriftDetector;
use millstream_core::held::{GivenPrediction, LabelledMetric, Root};
use millstream_core::json::{Number, Reader, Token};
use millstream_core::labels::Label;
use millstream_core::serving::{unpack_text, EventKey, Pending};
use millstream_core::Fault;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::event_body::read_event;
use super::event_group::EVENT;
use super::event_id::EventId;
use super::pending_events::PendingEvents;
use crate::dicts::Reading;
use crate::errors::{raise, read_text};
use crate::labels::label_of;
use crate::part::Part;
use crate::targets::OneTarget;
use crate::thread_buffers::{thread_buffers, ThreadBuffers};

/// States of an event (`python/millstream/serve/stream.py`).
const WAITING: u8 = 0;
const LABELLED: u8 = 1;
/// Further kinds of records (`python/millstream/serve/records.py`).
const LABEL: u8 = 2;
const EVENTS: u8 = 4;
/// How long a run may take. The next call continues where it stopped.
const TURN: Duration = Duration::from_millis(4);
/// The end of the body of an event that waits for its activation. In a packed body, the marker of a number replaces the
/// comma and the quotation mark.
const DEFERRED_END: &[u8] = b"d\":true}";

/// A native classifier or regressor, with the metrics and the drift detector of its served predictions.
#[pyclass(frozen, module = "millstream._core")]
pub struct LabelLearner {
    model: Py<Part>,
    role: Role,
    metrics: Vec<Py<Part>>,
    detector: Py<Part>,
    /// The detector does not receive larger errors.
    largest_error: f64,
    /// Upper bounds of the buckets of delays, in milliseconds.
    delay_bounds: Vec<i64>,
}

/// What one call has done.
#[pyclass(frozen, get_all, module = "millstream._core")]
#[derive(Default)]
pub struct LabelRun {
    /// Events that were added, and labels that were learned.
    added: u64,
    learned: u64,
    /// Rows that were applied, and the latest of their times and that of the record before.
    records: usize,
    now: i64,
    /// The record and the time of the last label.
    seq: u64,
    time: i64,
    scored: u64,
    /// Predictions that were missing, or that a metric refused.
    unscored: u64,
    /// Whether the detector signalled drift on the last label.
    drift: bool,
    /// Sum of the delays between events and labels, in milliseconds, and their number in each bucket.
    delay: i64,
    delay_counts: Vec<u64>,
}

/// Where the events of labels are found: recent records by number, older ones, and the last decoded batch.
type Events<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Option<(u64, Bound<'py, PyList>)>);

/// The labels of a run: the record of the first, the step to the record of the next, their time, and the time before
/// which the window of an event is over.
type Place = (u64, u64, i64, i64);

/// A label, and the times that decide about it.
struct TimedLabel<'a> {
    id: &'a str,
    truth: OneTarget,
    seq: u64,
    time: i64,
    /// The window of an event before this time is over.
    late: i64,
}

impl LabelRun {
    fn new(delay_buckets: usize) -> Self {
        LabelRun { delay_counts: vec![0; delay_buckets], ..LabelRun::default() }
    }
}

/// The time for which a run may hold the GIL.
struct Turn {
    start: Instant,
    steps: u32,
}

impl Turn {
    fn new() -> Self {
        Turn { start: Instant::now(), steps: 0 }
    }

    /// Whether other threads should run now. Reading the clock costs a small fraction of learning one label.
    fn is_over(&mut self) -> bool {
        self.steps += 1;
        self.steps.is_multiple_of(4) && self.start.elapsed() > TURN
    }
}

/// The prediction that was served.
enum Served {
    Nothing,
    Label(Label),
    Number(f64),
}

/// The content of an event.
enum Content<'py> {
    /// The JSON of its record.
    Text(Bound<'py, PyString>),
    /// The packed JSON of its record.
    Packed(Bound<'py, PyBytes>),
    /// The features and the prediction of an item of a batch.
    Item(Bound<'py, PyDict>, Bound<'py, PyAny>),
}

struct Learned {
    delay: i64,
    /// Whether the detector signalled drift; None if it was not scored.
    drift: Option<bool>,
}

#[pymethods]
impl LabelLearner {
    #[new]
    fn new(
        py: Python<'_>,
        model: Py<Part>,
        metrics: Vec<Py<Part>>,
        detector: Py<Part>,
        largest_error: f64,
        delay_bounds: Vec<i64>,
    ) -> PyResult<Self> {
        let role = model.get().role(py)?;
        if !matches!(role, Role::Classifier | Role::Regressor) {
            let message = format!("LabelLearner: model must be a classifier or regressor, got a {}", role.word());
            return Err(raise(py, &Fault::wrong_type(message)));
        }
        for metric in &metrics {
            metric.get().read(py)?.held::<LabelledMetric>(py)?;
        }
        detector.get().read(py)?.held::<Box<dyn DriftDetector>>(py)?;
        Ok(LabelLearner { model, role, metrics, detector, largest_error, delay_bounds })
    }

    /// Learn the labels from `start` on, until `most` are scored, one leads to a drift, or a few milliseconds have
    /// passed, or up to the first one that is left to Python.
    #[allow(clippy::too_many_arguments)] // It is called from Python.
    fn learn(
        &self,
        py: Python<'_>,
        pending: &Bound<'_, PendingEvents>,
        events: Events<'_>,
        ids: &Bound<'_, PyList>,
        labels: &Bound<'_, PyList>,
        start: usize,
        place: Place,
        most: u64,
    ) -> PyResult<LabelRun> {
        let mut run = LabelRun::new(self.delay_bounds.len() + 1);
        let (mut buffers, mut turn) = (thread_buffers(), Turn::new());
        let (mut seq, step, time, late) = place;
        for index in start..ids.len().min(labels.len()) {
            let (id, label) = (ids.get_item(index)?, labels.get_item(index)?);
            let (Ok(id), Ok(label)) = (id.cast::<PyString>(), label.cast::<PyDict>()) else { break };
            let (Ok(id), Some(truth)) = (read_text(id), self.truth(label)?) else { break };
            let given = TimedLabel { id, truth, seq, time, late };
            let Some(learned) = self.learn_one(py, pending.get(), &events, &given, &mut buffers)? else { break };
            self.count(&mut run, &given, &learned);
            if run.drift || run.scored == most || turn.is_over() {
                break;
            }
            seq += step;
        }
        Ok(run)
    }

    /// Apply rows of the event store from `start` on: add events, and learn labels, in other respects as `learn`. It
    /// stops before a row of another kind or stream, and before `most_pending` is exceeded. `times` are the length of
    /// windows, the time of the record before, and the time after which it stops.
    #[allow(clippy::too_many_arguments)] // It is called from Python.
    fn replay(
        &self,
        py: Python<'_>,
        pending: &Bound<'_, PendingEvents>,
        events: Events<'_>,
        rows: &Bound<'_, PyList>,
        start: usize,
        stream: u32,
        times: (i64, i64, i64),
        most_pending: usize,
        most: u64,
    ) -> PyResult<LabelRun> {
        let mut run = LabelRun::new(self.delay_bounds.len() + 1);
        let (mut buffers, mut turn) = (thread_buffers(), Turn::new());
        let pending = pending.get();
        let (window, mut now, until) = times;
        for index in start..rows.len() {
            let Ok(row) = rows.get_item(index)?.cast_into::<PyTuple>() else { break };
            let kind: u8 = row.get_item(1)?.extract()?;
            let (seq, time): (u64, i64) = (row.get_item(0)?.extract()?, row.get_item(2)?.extract()?);
            if !matches!(kind, EVENT | LABEL) || time > until || row.get_item(3)?.extract::<u32>()? != stream {
                break;
            }
            now = now.max(time);
            let (id, body) = (row.get_item(4)?, row.get_item(5)?);
            let (Some(id), Some(body)) = (text_of(&id), bytes_of(&body)) else { break };
            if kind == EVENT {
                if body.ends_with(DEFERRED_END) || !pending.has_room(py, most_pending)? {
                    break;
                }
                let event = Pending { seq, item: 0, time, state: WAITING, label_seq: 0 };
                run.added += u64::from(pending.add_one(py, EventKey::of_text(&id), event)?);
                run.records += 1;
                run.now = now;
                continue;
            }
            let Some(truth) = std::str::from_utf8(body).ok().and_then(|body| self.truth_of_body(body)) else {
                break;
            };
            let given = TimedLabel { id: &id, truth, seq, time, late: now.saturating_sub(window) };
            let Some(learned) = self.learn_one(py, pending, &events, &given, &mut buffers)? else { break };
            self.count(&mut run, &given, &learned);
            run.records += 1;
            run.now = now;
            if run.drift || run.scored == most || turn.is_over() {
                break;
            }
        }
        Ok(run)
    }
}

impl LabelLearner {
    /// Learn a label; None if it is left to Python, and then nothing has changed.
    fn learn_one(
        &self,
        py: Python<'_>,
        pending: &PendingEvents,
        events: &Events<'_>,
        given: &TimedLabel<'_>,
        buffers: &mut ThreadBuffers,
    ) -> PyResult<Option<Learned>> {
        let key = EventKey::of_text(given.id);
        let Some(event) = pending.found(py, key)? else { return Ok(None) };
        if event.state != WAITING || event.time < given.late {
            return Ok(None);
        }
        let Some(record) = record_of(events, event.seq)? else { return Ok(None) };
        let Some(content) = content_of(&record, events, &event, given.id)? else { return Ok(None) };
        let Some(served) = self.learn_event(py, &content, &given.truth, buffers)? else { return Ok(None) };
        let drift = self.score(py, &given.truth, &served)?;
        pending.set(py, key, LABELLED, given.seq)?;
        Ok(Some(Learned { delay: given.time.saturating_sub(event.time).max(0), drift }))
    }

    fn count(&self, run: &mut LabelRun, given: &TimedLabel<'_>, learned: &Learned) {
        run.learned += 1;
        (run.seq, run.time) = (given.seq, given.time);
        run.delay = run.delay.saturating_add(learned.delay);
        run.delay_counts[self.delay_bounds.partition_point(|&bound| bound < learned.delay)] += 1;
        match learned.drift {
            Some(drift) => {
                run.scored += 1;
                run.drift = drift;
            }
            None => run.unscored += 1,
        }
    }

    /// The target in the body of a record of one label.
    fn truth_of_body(&self, body: &str) -> Option<OneTarget> {
        let mut reader = Reader::of_text(body).ok()?;
        if reader.value().ok()? != Token::BeginObject || reader.first_key().ok()?? != "y" {
            return None;
        }
        let y = reader.value().ok()?;
        let mut next = reader.next_key().ok()?;
        while let Some(key) = next {
            if key != "ts" || !matches!(reader.value().ok()?, Token::Number(_)) {
                return None;
            }
            next = reader.next_key().ok()?;
        }
        reader.end().ok()?;
        match self.served(&y)? {
            Served::Label(label) => Some(OneTarget::Label(label)),
            Served::Number(number) => number.is_finite().then_some(OneTarget::Number(number)),
            Served::Nothing => None,
        }
    }

    /// The target of a label of the most common types.
    fn truth(&self, label: &Bound<'_, PyDict>) -> PyResult<Option<OneTarget>> {
        let py = label.py();
        if label.contains(intern!(py, "w"))? {
            return Ok(None);
        }
        let Some(y) = label.get_item(intern!(py, "y"))? else { return Ok(None) };
        Ok(match self.role {
            Role::Regressor if y.is_exact_instance_of::<PyFloat>() || y.is_exact_instance_of::<PyInt>() => {
                y.extract::<f64>().ok().filter(|number| number.is_finite()).map(OneTarget::Number)
            }
            Role::Classifier
                if y.is_exact_instance_of::<PyBool>()
                    || y.is_exact_instance_of::<PyInt>()
                    || y.is_exact_instance_of::<PyString>() =>
            {
                label_of(&y).ok().map(OneTarget::Label)
            }
            _ => None,
        })
    }

    /// Learn an event with its label. Returns the prediction that was served.
    fn learn_event(
        &self,
        py: Python<'_>,
        content: &Content<'_>,
        truth: &OneTarget,
        buffers: &mut ThreadBuffers,
    ) -> PyResult<Option<Served>> {
        let Ok(mut guarded) = self.model.get().write(py) else { return Ok(None) };
        let model = guarded.held::<Root>(py)?;
        let (features, classes) = (model.schema().len(), model.labels().known());
        let mut adopted = None;
        let served = match content {
            Content::Text(body) => body
                .to_str()
                .ok()
                .and_then(|body| read_event(body, model.schema(), model.missing_is_zero(), &mut buffers.draft))
                .and_then(|token| self.served(&token)),
            Content::Packed(body) => {
                let ThreadBuffers { draft, text, .. } = buffers;
                text.clear();
                unpack_text(body.as_bytes(), text)
                    .and_then(|()| std::str::from_utf8(text).ok())
                    .and_then(|body| read_event(body, model.schema(), model.missing_is_zero(), draft))
                    .and_then(|token| self.served(&token))
            }
            Content::Item(x, y) => match guarded.read_dict::<Root>(x, &mut buffers.draft) {
                // An invalid example is left to Python, which reports it.
                Err(_) | Ok(Reading::NotPlain) => None,
                Ok(reading) => {
                    adopted = (reading == Reading::ByText).then_some(x);
                    self.served_item(y)
                }
            },
        };
        let Some(served) = served else { return Ok(None) };
        let model = guarded.held_mut::<Root>(py)?;
        if model.learn(&mut buffers.draft, truth.target(), 1.0, &mut buffers.scratch).is_err() {
            return Ok(None);
        }
        if model.schema().len() != features || model.labels().known() != classes {
            guarded.sync_names(py)?;
        }
        if let Some(x) = adopted {
            guarded.adopt_keys::<Root>(x);
        }
        Ok(Some(served))
    }

    /// A prediction or a label in a record.
    fn served(&self, token: &Token<'_>) -> Option<Served> {
        Some(match (self.role, token) {
            (_, Token::Null) => Served::Nothing,
            (Role::Regressor, Token::Number(Number::Float(number))) => Served::Number(*number),
            (Role::Regressor, Token::Number(Number::Int(number))) => Served::Number(*number as f64),
            (Role::Classifier, Token::Bool(flag)) => Served::Label(Label::Bool(*flag)),
            (Role::Classifier, Token::Number(Number::Int(number))) => Served::Label(Label::Int(*number)),
            (Role::Classifier, Token::Text(text)) => Served::Label(Label::Text((&**text).into())),
            _ => return None,
        })
    }

    /// A prediction of an item of a batch.
    fn served_item(&self, y: &Bound<'_, PyAny>) -> Option<Served> {
        if y.is_none() {
            return Some(Served::Nothing);
        }
        match self.role {
            Role::Regressor if y.is_exact_instance_of::<PyFloat>() || y.is_exact_instance_of::<PyInt>() => {
                y.extract().ok().map(Served::Number)
            }
            Role::Classifier if !y.is_instance_of::<PyFloat>() => label_of(y).ok().map(Served::Label),
            _ => None,
        }
    }

    /// Score a prediction. Returns whether the detector signals drift; None if it cannot be scored.
    fn score(&self, py: Python<'_>, truth: &OneTarget, served: &Served) -> PyResult<Option<bool>> {
        for metric in &self.metrics {
            // As in Python, the metrics after one that fails are not updated.
            let Ok(mut guarded) = metric.get().write(py) else { return Ok(None) };
            let metric = guarded.held_mut::<LabelledMetric>(py)?;
            let updated = match (truth, served) {
                (OneTarget::Label(truth), Served::Label(label)) => {
                    metric.update_label(truth, GivenPrediction::Label(label), 1.0)
                }
                (OneTarget::Number(truth), Served::Number(number)) => metric.update_number(*truth, *number, 1.0),
                _ => return Ok(None),
            };
            if updated.is_err() {
                return Ok(None);
            }
        }
        let error = match (truth, served) {
            (OneTarget::Label(truth), Served::Label(label)) => f64::from(u8::from(!truth.is(label))),
            (OneTarget::Number(truth), Served::Number(number)) => (number - truth).abs(),
            _ => return Ok(None),
        };
        if error.is_nan() || error > self.largest_error {
            return Ok(Some(false));
        }
        let Ok(mut guarded) = self.detector.get().write(py) else { return Ok(Some(false)) };
        let detector = guarded.held_mut::<Box<dyn DriftDetector>>(py)?;
        Ok(Some(detector.update(error).is_ok() && detector.detector().verdict().drift))
    }
}

/// The record of an event, if it is in memory.
fn record_of<'py>(events: &Events<'py>, seq: u64) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let number = PyInt::new(events.0.py(), seq);
    let found = match events.0.get_item(&number)? {
        None => events.1.get_item(&number)?,
        found => found,
    };
    Ok(found.and_then(|record| record.cast_into().ok()))
}

/// The content of an event with this id. A record starts with seq, kind, time, stream, id and body.
fn content_of<'py>(
    record: &Bound<'py, PyTuple>,
    events: &Events<'py>,
    event: &Pending,
    id: &str,
) -> PyResult<Option<Content<'py>>> {
    let py = record.py();
    match record.get_item(1)?.extract::<u8>()? {
        EVENT if is_id(&record.get_item(4)?, id) => Ok(match record.get_item(5)?.cast_into() {
            Ok(text) => Some(Content::Text(text)),
            Err(other) => other.into_inner().cast_into().ok().map(Content::Packed),
        }),
        EVENTS => {
            let Some((_, batch)) = events.2.as_ref().filter(|batch| batch.0 == event.seq) else { return Ok(None) };
            let Ok(item) = batch.get_item(event.item as usize) else { return Ok(None) };
            let Ok(stored) = item.cast_into::<PyTuple>() else { return Ok(None) };
            let (x, members) = (stored.get_item(1)?, stored.get_item(2)?);
            let (true, Ok(x), Ok(members)) =
                (is_id(&stored.get_item(0)?, id), x.cast_into_exact::<PyDict>(), members.cast_into::<PyDict>())
            else {
                return Ok(None);
            };
            if members.contains(intern!(py, "m"))? || members.contains(intern!(py, "p"))? {
                return Ok(None);
            }
            Ok(members.get_item(intern!(py, "y"))?.map(|y| Content::Item(x, y)))
        }
        _ => Ok(None),
    }
}

/// The text of a stored id.
fn text_of<'a>(stored: &'a Bound<'_, PyAny>) -> Option<Cow<'a, str>> {
    if let Ok(text) = stored.cast::<PyString>() {
        return text.to_str().ok().map(Cow::Borrowed);
    }
    let bytes = stored.cast::<PyBytes>().ok()?.as_bytes().try_into().ok()?;
    Some(Cow::Owned(EventId::Uuid(bytes).text()))
}

/// The bytes of a stored body.
fn bytes_of<'a>(stored: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    match stored.cast::<PyString>() {
        Ok(text) => text.to_str().ok().map(str::as_bytes),
        Err(_) => Some(stored.cast::<PyBytes>().ok()?.as_bytes()),
    }
}

/// Whether a stored id is that of a label. Two ids may have the same hash.
fn is_id(stored: &Bound<'_, PyAny>, id: &str) -> bool {
    if let Ok(text) = stored.cast::<PyString>() {
        return text.to_str().is_ok_and(|text| text == id);
    }
    let bytes = stored.cast::<PyBytes>().ok();
    bytes.is_some_and(|bytes| matches!(EventId::of_text(id), EventId::Uuid(uuid) if uuid == bytes.as_bytes()))
}
