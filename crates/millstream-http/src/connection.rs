//! One connection: read a request, have it answered, write the reply, and so on until one side closes.

use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::exchange::Answer;
use crate::problem::{Kind, Problem};
use crate::reply::{Form, Reply};
use crate::request::Request;
use crate::shard::{Counted, Shard};

/// An idle connection keeps buffers up to this size.
const KEPT_BYTES: usize = 2048;
/// Bytes read by one system call.
const READ_BYTES: usize = 64 << 10;

thread_local! {
    /// Connections read here first, so that an idle one needs no buffer.
    pub(crate) static INPUT: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
    /// Replies are assembled here, and copied only if the client does not accept them at once.
    pub(crate) static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Between two requests: by the client, by the idle timeout, or by a drain of the server.
    Quiet,
    /// During a request or a reply, by a failure or by the client.
    Lost,
    /// By a refusal that must be sent to the client.
    Refused(Problem),
}

pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) shard: Arc<Shard>,
    /// Bytes received and not yet part of a request.
    pub(crate) buffer: Vec<u8>,
    pub(crate) timer: Timer,
    pub(crate) idle_since: Instant,
    /// The connection counts as active: see `Shared::active`.
    is_active: bool,
    /// The number of the task in the shard.
    task: Option<u64>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr, shard: Arc<Shard>) -> Self {
        let now = Instant::now();
        let timer = Timer::new(now + shard.shared.settings.idle_timeout);
        Connection {
            stream,
            peer,
            shard,
            buffer: Vec::new(),
            timer,
            idle_since: now,
            is_active: false,
            task: None,
        }
    }

    pub(crate) async fn serve(mut self, _count: Counted) {
        self.register().await;
        let ending = loop {
            match self.exchange().await {
                Ok(true) => {}
                Ok(false) => break Ending::Quiet,
                Err(ending) => break ending,
            }
        };
        match ending {
            Ending::Refused(problem) => {
                // The future of this rare case would enlarge that of every idle connection.
                Box::pin(self.refuse(problem)).await;
            }
            Ending::Lost => self.shard.shared.counters.disconnects.increment(),
            Ending::Quiet => {}
        }
    }

    /// Let the shard wake this task when the server drains.
    async fn register(&mut self) {
        self.task = poll_fn(|context| Poll::Ready(Some(self.shard.register(context.waker().clone())))).await;
    }

    /// Tell a client that there are too many connections, and close.
    pub(crate) async fn refuse_connection(mut self, _count: Counted) {
        let limit = self.shard.shared.max_connections;
        let detail = format!("the server accepts at most {limit} connections");
        let reply = Problem::new(Kind::TooManyConnections, detail).reply();
        if self.write_reply(reply, Form::closing()).await.is_ok() {
            self.linger().await;
        }
    }

    async fn refuse(&mut self, problem: Problem) {
        self.shard.shared.counters.count_problem(problem.kind);
        if self.write_reply(problem.reply(), Form::closing()).await.is_ok() {
            self.linger().await;
        }
    }

    /// Read one request and write its reply. Returns whether the connection stays open.
    async fn exchange(&mut self) -> Result<bool, Ending> {
        let request = self.read_request().await?;
        let shared = &self.shard.shared;
        shared.counters.requests.increment();
        let arrived = request.arrived;
        let mut form = Form {
            is_head: request.method() == b"HEAD",
            is_http_11: request.head.is_http_11,
            keep_alive: request.head.keep_alive,
        };
        let reply = match shared.native.answer(&request, || self.shard.vitals()) {
            Some(reply) => {
                shared.counters.native.increment();
                self.recycle(request);
                reply
            }
            None => match self.ask_handler(request).await {
                Answer::Reply(reply) => reply,
                Answer::TimedOut => {
                    let seconds = self.shard.shared.settings.request_timeout.as_secs_f64();
                    self.problem(Kind::NoAnswer, format!("no answer within {seconds} seconds"))
                }
                Answer::Stream(stream) => {
                    Box::pin(self.write_stream(stream, form)).await?;
                    return Ok(false);
                }
            },
        };
        form.keep_alive &= !self.shard.shared.is_draining.load(Relaxed);
        self.write_reply(reply, form).await?;
        let now = Instant::now();
        self.shard.shared.counters.record(now.into_std().saturating_duration_since(arrived));
        self.idle_since = now;
        self.set_active(false);
        if !form.keep_alive && !self.buffer.is_empty() {
            // Closing with unread bytes would reset the connection, and the client could lose the reply.
            Box::pin(self.linger()).await;
        }
        Ok(form.keep_alive)
    }

    /// Queue a request and wait for its answer.
    async fn ask_handler(&mut self, mut request: Request) -> Answer {
        let shard = self.shard.clone();
        let ticket = shard.exchanges.open(request.arrived);
        request.ticket = ticket.number;
        if shard.shared.queue.push(request).is_err() {
            let limit = shard.shared.settings.max_queue;
            return Answer::Reply(self.problem(Kind::QueueFull, format!("{limit} requests are waiting")));
        }
        shard.shared.counters.queued.increment();
        poll_fn(|context| ticket.poll(context)).await
    }

    fn problem(&self, kind: Kind, detail: String) -> Reply {
        self.shard.shared.counters.count_problem(kind);
        Problem::new(kind, detail).reply()
    }

    /// Reuse the buffer of an answered request.
    fn recycle(&mut self, request: Request) {
        if self.buffer.is_empty() && request.bytes.capacity() <= KEPT_BYTES {
            self.buffer = request.bytes;
            self.buffer.clear();
        }
    }

    pub(crate) fn set_active(&mut self, is_active: bool) {
        if self.is_active != is_active {
            self.is_active = is_active;
            let active = &self.shard.shared.active;
            if is_active {
                active.fetch_add(1, SeqCst);
            } else {
                active.fetch_sub(1, SeqCst);
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.set_active(false);
        if let Some(task) = self.task {
            self.shard.unregister(task);
        }
    }
}

/// The timer of a connection. Deadlines of idle connections only move to later times, so the timer is not changed until
/// it fires: most requests do not use the timer wheel.
pub(crate) struct Timer(Pin<Box<Sleep>>);

impl Timer {
    fn new(deadline: Instant) -> Self {
        Timer(Box::pin(tokio::time::sleep_until(deadline)))
    }

    /// Ready at `deadline`.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        if self.0.deadline() > deadline {
            self.0.as_mut().reset(deadline);
        }
        while self.0.as_mut().poll(context).is_ready() {
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.0.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}
