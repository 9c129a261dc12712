//! `millstream._core.HttpServer` and `HttpRequest`: the HTTP server of `millstream-http`, whose requests a Python
//! thread takes in groups.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream_core::Fault;
use millstream_http::{HeaderBlock, Reply, Request, Server, Settings, LATENCY_BOUNDS};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{raise, OrRaise};
use crate::serving::PredictShortcut;

/// Interval at which a wait checks for signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(200);
/// Maximum number of header blocks that are cached as valid.
const REMEMBERED: usize = 8;

/// An HTTP/1.1 server. It reads requests on its own threads; Python code takes and answers them.
#[pyclass(frozen, module = "millstream._core")]
pub struct HttpServer {
    pub server: Arc<Server>,
    host: String,
    /// Valid header blocks: handlers use the same few repeatedly.
    blocks: Mutex<Vec<HeaderBlock>>,
}

#[pymethods]
impl HttpServer {
    #[new]
    #[pyo3(signature = (
        host, port, *, header_timeout = 10.0, body_timeout = 30.0, idle_timeout = 75.0, write_timeout = 30.0,
        request_timeout = 60.0, max_header_bytes = 32 << 10, max_body_bytes = 16 << 20, max_connections = 20_000,
        max_queue = 4096, max_buffered_bytes = 512 << 20, threads = 1
    ))]
    #[allow(clippy::too_many_arguments)] // Keywords of Python.
    fn new(
        py: Python<'_>,
        host: String,
        port: u16,
        header_timeout: f64,
        body_timeout: f64,
        idle_timeout: f64,
        write_timeout: f64,
        request_timeout: f64,
        max_header_bytes: usize,
        max_body_bytes: usize,
        max_connections: usize,
        max_queue: usize,
        max_buffered_bytes: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let settings = Settings {
            header_timeout: seconds(py, "header_timeout", header_timeout)?,
            body_timeout: seconds(py, "body_timeout", body_timeout)?,
            idle_timeout: seconds(py, "idle_timeout", idle_timeout)?,
            write_timeout: seconds(py, "write_timeout", write_timeout)?,
            request_timeout: seconds(py, "request_timeout", request_timeout)?,
            max_header_bytes,
            max_body_bytes,
            max_connections,
            max_queue,
            max_buffered_bytes,
            threads,
        };
        settings.check().map_err(|message| invalid(py, &message))?;
        // Finding the addresses of a host may take seconds.
        let server = py.detach(|| Server::bind(&host, port, settings)).map_err(|error| {
            let message = format!("HttpServer: cannot listen on {host} port {port}: {error}");
            match error.raw_os_error() {
                Some(number) => PyOSError::new_err((number, message)),
                None => PyOSError::new_err(message),
            }
        })?;
        Ok(HttpServer { server: Arc::new(server), host, blocks: Mutex::default() })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.server.address().port()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.server.is_closed()
    }

    /// Take up to `most` requests; wait up to `timeout` seconds for the first.
    fn take(&self, py: Python<'_>, most: usize, timeout: f64) -> PyResult<Vec<HttpRequest>> {
        let mut taken = self.server.take_present(most);
        if taken.is_empty() && most > 0 {
            let timeout = seconds(py, "timeout", timeout)?;
            let started = Instant::now();
            loop {
                let left = timeout.saturating_sub(started.elapsed());
                taken = py.detach(|| self.server.take(most, left.min(BETWEEN_SIGNALS)));
                if !taken.is_empty() || left <= BETWEEN_SIGNALS || self.server.is_closed() {
                    break;
                }
                py.check_signals()?;
            }
        }
        Ok(taken.into_iter().map(|request| HttpRequest { request }).collect())
    }

    /// Send replies `(ticket, status, headers, body)`. If one of them is invalid, none is sent.
    fn answer(&self, replies: &Bound<'_, PyList>) -> PyResult<()> {
        let mut ready = Vec::with_capacity(replies.len());
        for reply in replies {
            let (ticket, status, headers, body): (u64, u16, Bound<'_, PyBytes>, Bound<'_, PyBytes>) =
                reply.extract()?;
            let (status, headers) = self.check(replies.py(), status, &headers)?;
            ready.push((ticket, Reply { status, headers, body: body.as_bytes().to_vec() }));
        }
        if !ready.is_empty() {
            self.server.answer(ready);
        }
        Ok(())
    }

    /// Answer a request with a stream of pieces.
    fn open_stream(&self, py: Python<'_>, ticket: u64, status: u16, headers: &Bound<'_, PyBytes>) -> PyResult<()> {
        let (status, headers) = self.check(py, status, headers)?;
        self.server.open_stream(ticket, status, headers);
        Ok(())
    }

    /// Append to a stream. Returns the number of unsent bytes, or None if the stream is closed.
    fn push(&self, ticket: u64, data: &[u8]) -> Option<usize> {
        self.server.push(ticket, data)
    }

    fn end_stream(&self, ticket: u64) {
        self.server.end_stream(ticket);
    }

    #[pyo3(signature = (path, body, stall = 10.0))]
    fn set_health(&self, py: Python<'_>, path: &str, body: &[u8], stall: f64) -> PyResult<()> {
        self.server.set_health(path, body, seconds(py, "stall", stall)?);
        Ok(())
    }

    fn set_ready(&self, path: &str, ready: bool) {
        self.server.set_ready(path, ready);
    }

    /// Set, replace or remove the shortcut that answers predictions without Python.
    #[pyo3(signature = (shortcut))]
    fn set_shortcut(&self, shortcut: Option<&PredictShortcut>) {
        self.server.set_shortcut(shortcut.map(PredictShortcut::shared));
    }

    /// Stop accepting, wait for requests in flight, and close. Returns whether all of them were answered.
    fn drain(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let timeout = seconds(py, "timeout", timeout)?;
        Ok(py.detach(|| self.server.drain(timeout)))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.server.close());
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        for (name, value) in self.server.stats() {
            stats.set_item(name, value)?;
        }
        Ok(stats)
    }

    /// Upper bounds in seconds, counts (one more than bounds), and the sum of all latencies in seconds.
    fn latency(&self) -> (Vec<f64>, Vec<u64>, f64) {
        let latency = self.server.latency();
        (LATENCY_BOUNDS.to_vec(), latency.counts.to_vec(), latency.sum)
    }

    fn __repr__(&self) -> String {
        format!("HttpServer({:?}, {})", self.host, self.port())
    }
}

impl HttpServer {
    fn check(&self, py: Python<'_>, status: u16, headers: &Bound<'_, PyBytes>) -> PyResult<(u16, HeaderBlock)> {
        if !(200..600).contains(&status) {
            return Err(invalid(py, &format!("status must be in [200, 599], got {status}")));
        }
        let lines = headers.as_bytes();
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = blocks.iter().find(|block| block.as_bytes() == lines) {
            return Ok((status, block.clone()));
        }
        let block = HeaderBlock::new(lines).map_err(|message| invalid(py, &format!("headers {message}")))?;
        if blocks.len() == REMEMBERED {
            blocks.remove(0);
        }
        blocks.push(block.clone());
        Ok((status, block))
    }
}

/// A complete request. The body becomes a Python object when it is read.
#[pyclass(frozen, module = "millstream._core")]
pub struct HttpRequest {
    pub request: Request,
}

#[pymethods]
impl HttpRequest {
    #[getter]
    fn ticket(&self) -> u64 {
        self.request.ticket()
    }

    #[getter]
    fn method(&self) -> String {
        text(self.request.method())
    }

    #[getter]
    fn path(&self) -> String {
        text(self.request.path())
    }

    #[getter]
    fn query(&self) -> String {
        text(self.request.query())
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.request.body())
    }

    #[getter]
    fn peer(&self) -> String {
        self.request.peer().to_string()
    }

    #[getter]
    fn age(&self) -> f64 {
        self.request.age().as_secs_f64()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.request.header(name.as_bytes()).map(text)
    }

    fn headers(&self) -> Vec<(String, String)> {
        self.request.headers().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn __repr__(&self) -> String {
        format!("HttpRequest({} {})", self.method(), self.path())
    }
}

/// UTF-8, or Latin-1 if it is not valid UTF-8.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

fn seconds(py: Python<'_>, name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| Fault::value(format!("HttpServer: {name} must be a number of seconds, got {value}")))
        .or_raise(py)
}

fn invalid(py: Python<'_>, message: &str) -> PyErr {
    raise(py, &Fault::value(format!("HttpServer: {message}")))
}
