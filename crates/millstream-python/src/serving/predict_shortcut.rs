//! `millstream._core.PredictShortcut`: answers `POST /v1/models/{model}/predict` on the thread that reads requests.
//!
//! The reply and the record are those of `python/millstream/serve/api/predictions.py`, byte for byte. The shortcut
//! leaves all unusual requests to Python (an invalid body, a repeated id, a missing token, a model that is being
//! changed). It never takes the GIL.
//!
//! A learner written in Python is called by the handler thread, in `PredictShortcut::predict`, which does the rest of
//! the work in the same way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use millstream_core::json::push_string;
use millstream_core::Fault;
use millstream_http::{HeaderBlock, Reply, Request, Shortcut};
use pyo3::prelude::*;

use super::access::{Access, Grant};
use super::event_id::{EventId, NewIds};
use super::event_queue::{Event, EventQueue, Pushed};
use super::json_writer::push_json;
use super::pending_events::PendingEvents;
use super::predict_body::PredictBody;
use super::prediction::{push_integer, push_prediction, reply_middle};
use super::prediction_counts::PredictionCounts;
use super::python_learner::{python_features, PythonLearner};
use crate::errors::raise;
use crate::http::{HttpRequest, HttpServer};
use crate::part::Part;

/// Longer bodies are rare and would delay other requests.
const LONGEST_BODY: usize = 64 << 10;

/// Answers requests for one prediction without Python.
#[pyclass(frozen, module = "millstream._core")]
pub struct PredictShortcut {
    shared: Arc<Shared>,
    /// Replies of learners written in Python, by ticket, until they are sent.
    ready: Mutex<Vec<(u64, Reply)>>,
}

struct Shared {
    queue: Py<EventQueue>,
    headers: HeaderBlock,
    new_ids: NewIds,
    rules: RwLock<Rules>,
}

struct Rules {
    streams: HashMap<Vec<u8>, Arc<Stream>>,
    access: Access,
    /// By the name of the stream; they outlive the stream.
    counts: HashMap<String, Arc<PredictionCounts>>,
    /// The server's time in milliseconds since 1970 at an instant.
    clock: (Instant, u64),
}

/// The rule for one path.
struct Stream {
    number: u32,
    predictor: Predictor,
    pending: Py<PendingEvents>,
    /// The reply from the id on, up to the number of the record.
    middle: Vec<u8>,
    /// The last record that the model learned.
    seq: AtomicU64,
    counts: Arc<PredictionCounts>,
}

enum Predictor {
    Native(Py<Part>),
    Python(PythonLearner),
}

#[pymethods]
impl PredictShortcut {
    /// `headers` are the fields of a reply, each with a line end.
    #[new]
    fn new(py: Python<'_>, queue: Py<EventQueue>, headers: &[u8]) -> PyResult<Self> {
        let headers = HeaderBlock::new(headers)
            .map_err(|message| raise(py, &Fault::value(format!("PredictShortcut: headers {message}"))))?;
        let rules = Rules {
            streams: HashMap::new(),
            access: Access { required: true, ..Access::default() },
            counts: HashMap::new(),
            clock: (Instant::now(), 0),
        };
        let shared = Shared { queue, headers, new_ids: NewIds::default(), rules: RwLock::new(rules) };
        Ok(PredictShortcut { shared: Arc::new(shared), ready: Mutex::default() })
    }

    /// Set or replace the model that answers for a path.
    #[pyo3(signature = (path, stream, name, model, pending, version, seq))]
    #[allow(clippy::too_many_arguments)] // Of Python.
    fn set_stream(
        &self,
        path: &str,
        stream: u32,
        name: &str,
        model: &Bound<'_, Part>,
        pending: &Bound<'_, PendingEvents>,
        version: Option<&str>,
        seq: u64,
    ) {
        let predictor = Predictor::Native(model.clone().unbind());
        self.shared.set_stream(path, stream, name, predictor, pending, version, seq);
    }

    /// Set or replace the learner written in Python that answers for a path. `served` has its last record as `seq`;
    /// `predict` returns the prediction for features.
    #[pyo3(signature = (path, stream, name, served, predict, pending, version))]
    #[allow(clippy::too_many_arguments)] // Of Python.
    fn set_python_stream(
        &self,
        path: &str,
        stream: u32,
        name: &str,
        served: Py<PyAny>,
        predict: Py<PyAny>,
        pending: &Bound<'_, PendingEvents>,
        version: Option<&str>,
    ) {
        let predictor = Predictor::Python(PythonLearner { served, predict });
        self.shared.set_stream(path, stream, name, predictor, pending, version, 0);
    }

    /// Predict with a learner written in Python. False if the request is unusual, or not for such a learner. An
    /// exception of the learner is raised. The reply is sent by `send`.
    fn predict(&self, py: Python<'_>, request: &HttpRequest) -> PyResult<bool> {
        let reply = self.shared.predict(py, &request.request)?;
        let is_answered = reply.is_some();
        if let Some(reply) = reply {
            self.ready().push((request.request.ticket(), reply));
        }
        Ok(is_answered)
    }

    /// Send the replies of `predict`.
    fn send(&self, http: &HttpServer) {
        let ready = std::mem::take(&mut *self.ready());
        if !ready.is_empty() {
            http.server.answer(ready);
        }
    }

    /// Leave a path to Python.
    fn remove_stream(&self, path: &str) {
        let former = self.shared.write().streams.remove(path.as_bytes());
        drop(former);
    }

    /// Which requests are admitted: all, or those with a token that has one of these hashes and has not expired, in
    /// seconds since 1970; and whether they must name a host of this machine.
    fn set_access(&self, required: bool, grants: Vec<Grant>, checks_host: bool) {
        self.shared.write().access = Access { required, grants, checks_host };
    }

    /// The last record that the model of a path learned.
    fn set_seq(&self, path: &str, seq: u64) {
        if let Some(stream) = self.shared.read().streams.get(path.as_bytes()) {
            stream.seq.store(seq, Relaxed);
        }
    }

    /// The current time of the server, in milliseconds since 1970.
    fn set_clock(&self, now: u64) {
        self.shared.write().clock = (Instant::now(), now);
    }

    /// By name of the stream: the predictions in each bucket of durations, and the sum of durations in seconds.
    fn counts(&self) -> HashMap<String, (Vec<u64>, f64)> {
        self.shared.read().counts.iter().map(|(name, counts)| (name.clone(), counts.read())).collect()
    }
}

impl PredictShortcut {
    pub fn shared(&self) -> Arc<dyn Shortcut> {
        self.shared.clone()
    }

    fn ready(&self) -> MutexGuard<'_, Vec<(u64, Reply)>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A panic elsewhere leaves the rules as they were or as they should be.
    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }

    #[allow(clippy::too_many_arguments)] // Of Python.
    fn set_stream(
        &self,
        path: &str,
        number: u32,
        name: &str,
        predictor: Predictor,
        pending: &Bound<'_, PendingEvents>,
        version: Option<&str>,
        seq: u64,
    ) {
        let (middle, pending) = (reply_middle(name, version), pending.clone().unbind());
        let mut rules = self.write();
        let counts = rules.counts.entry(name.into()).or_default().clone();
        let stream = Stream { number, predictor, pending, middle, seq: AtomicU64::new(seq), counts };
        let former = rules.streams.insert(path.into(), Arc::new(stream));
        drop(rules);
        drop(former);
    }

    /// The rule for a request whose model is native or not, and the server's time.
    fn find(&self, request: &Request, is_native: bool) -> Option<(Arc<Stream>, u64)> {
        if request.method() != b"POST" || !request.query().is_empty() {
            return None;
        }
        let rules = self.read();
        let stream = rules.streams.get(request.path())?;
        if matches!(stream.predictor, Predictor::Native(_)) != is_native
            || !Fields::of(request)?.are_plain(&rules.access)
        {
            return None;
        }
        let (start, time) = rules.clock;
        Some((stream.clone(), time + start.elapsed().as_millis() as u64))
    }

    /// The reply of a learner written in Python.
    fn predict(&self, py: Python<'_>, request: &Request) -> PyResult<Option<Reply>> {
        let Some((stream, now)) = self.find(request, false) else { return Ok(None) };
        let Predictor::Python(learner) = &stream.predictor else { return Ok(None) };
        let Some((x, text)) = python_features(py, request.body()) else { return Ok(None) };
        let start = Instant::now();
        let y = learner.predict(py, x)?;
        // A prediction that cannot be written is counted too, as the handler does.
        stream.counts.add(start.elapsed());
        let mut prediction = Vec::with_capacity(24);
        push_json(&mut prediction, &y)?;
        let id = self.new_ids.make(now);
        let seq = learner.seq(py)?;
        Ok(self.stored(&stream, text, id, None::<fn(&EventId) -> bool>, &prediction, seq))
    }

    /// Pass an event to the log. Returns the reply to its request; None if its id is known.
    fn stored(
        &self,
        stream: &Stream,
        x: &str,
        id: EventId,
        is_known: Option<impl FnOnce(&EventId) -> bool>,
        prediction: &[u8],
        seq: u64,
    ) -> Option<Reply> {
        let mut record = Vec::with_capacity(x.len() + prediction.len() + 11);
        record.extend_from_slice(b"{\"x\":");
        record.extend_from_slice(x.as_bytes());
        record.extend_from_slice(b",\"y\":");
        record.extend_from_slice(prediction);
        record.push(b'}');

        let mut reply = Vec::with_capacity(200);
        reply.extend_from_slice(b"{\"id\":");
        match &id {
            EventId::Uuid(_) => {
                reply.push(b'"');
                id.push_text(&mut reply);
                reply.push(b'"');
            }
            EventId::Text(text) => push_string(&mut reply, text),
        }
        let event = Event { stream: stream.number, id, body: String::from_utf8(record).ok()? };
        let stored: &[u8] = match self.queue.get().push(event, is_known) {
            Pushed::Repeated => return None,
            Pushed::Stored => b",\"stored\":true}",
            Pushed::NotStored => b",\"stored\":false}",
        };
        reply.extend_from_slice(&stream.middle);
        push_integer(&mut reply, seq);
        reply.extend_from_slice(b",\"y\":");
        reply.extend_from_slice(prediction);
        reply.extend_from_slice(stored);
        Some(Reply { status: 200, headers: self.headers.clone(), body: reply })
    }
}

impl Shortcut for Shared {
    fn answer(&self, request: &Request) -> Option<Reply> {
        let (stream, now) = self.find(request, true)?;
        let Predictor::Native(model) = &stream.predictor else { return None };
        if request.body().len() > LONGEST_BODY {
            return None;
        }
        let body = PredictBody::read(request.body())?;
        let start = Instant::now();
        let mut prediction = Vec::with_capacity(24);
        push_prediction(&*model.get().read_detached()?, body.x, &mut prediction)?;
        let duration = start.elapsed();
        let id = body.id.as_deref().map(EventId::of_text);
        let is_known = id.is_some().then_some(|id: &EventId| stream.pending.get().has(id.key()).unwrap_or(true));
        let id = id.unwrap_or_else(|| self.new_ids.make(now));
        let reply = self.stored(&stream, body.x, id, is_known, &prediction, stream.seq.load(Relaxed))?;
        stream.counts.add(duration);
        Some(reply)
    }
}

/// The fields of a request that matter here.
#[derive(Default)]
struct Fields<'a> {
    authorization: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// None if there are fields that Python must see: those of browsers and of tracing, and repeated ones.
    fn of(request: &'a Request) -> Option<Self> {
        let mut fields = Fields::default();
        for (name, value) in request.headers() {
            // The lengths of these names differ, so that one comparison is enough.
            let (field, wanted): (_, &[u8]) = match name.len() {
                4 => (&mut fields.host, b"host"),
                12 => (&mut fields.content_type, b"content-type"),
                13 => (&mut fields.authorization, b"authorization"),
                6 if name.eq_ignore_ascii_case(b"origin") => return None,
                11 if name.eq_ignore_ascii_case(b"traceparent") => return None,
                _ => continue,
            };
            if name.eq_ignore_ascii_case(wanted) && field.replace(value).is_some() {
                return None;
            }
        }
        Some(fields)
    }

    fn are_plain(&self, access: &Access) -> bool {
        self.content_type.is_none_or(is_json)
            && access.admits_host(self.host)
            && access.admits_token(self.authorization)
    }
}

/// Whether the type of a body is JSON, with any parameters.
fn is_json(content_type: &[u8]) -> bool {
    let name = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(b"application/json")
}
