//! A runtime thread with its connections. Shards share the listening socket, the queue and the counters.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::budget::Budget;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::event_stream::EventStream;
use crate::exchange::{Answer, Exchanges};
use crate::native::{Native, Vitals};
use crate::queue::Queue;
use crate::settings::Settings;

/// Maximum number of connections that are being refused with a reply. Further ones are closed without a reply.
const MAX_REFUSALS: usize = 128;
/// The pause after a failure to accept, such as too many open files: retrying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long a draining shard continues to accept and read, so that requests in kernel buffers are answered.
const DRAIN_GRACE: Duration = Duration::from_millis(10);

/// What all shards share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// The setting, or what the limit of open files allows.
    pub(crate) max_connections: usize,
    pub(crate) counters: Counters,
    pub(crate) queue: Queue,
    pub(crate) native: Native,
    pub(crate) budget: Arc<Budget>,
    pub(crate) streams: Mutex<FxHashMap<u64, Arc<EventStream>>>,
    /// Replies close their connections, and the server is not ready.
    pub(crate) is_draining: AtomicBool,
    /// Shards whose idle connections were told to close.
    pub(crate) drained_shards: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// Requests from their first byte to the end of their reply, and streams.
    pub(crate) active: AtomicUsize,
    refusals: AtomicUsize,
    /// Since when the oldest request of each shard waits, as of its last sweep.
    oldest: Mutex<Vec<Option<Instant>>>,
}

impl Shared {
    pub(crate) fn new(settings: Settings, max_connections: usize) -> Self {
        Shared {
            max_connections,
            counters: Counters::default(),
            queue: Queue::new(settings.max_queue, settings.request_timeout),
            native: Native::default(),
            budget: Budget::new(settings.max_buffered_bytes),
            streams: Mutex::default(),
            is_draining: AtomicBool::new(false),
            drained_shards: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
            oldest: Mutex::new(vec![None; settings.threads]),
            settings,
        }
    }

    pub(crate) fn streams(&self) -> MutexGuard<'_, FxHashMap<u64, Arc<EventStream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One runtime thread.
pub(crate) struct Shard {
    pub(crate) shared: Arc<Shared>,
    pub(crate) exchanges: Exchanges,
    /// Answers of the handler. It wakes the shard once for each group, and the shard wakes its own tasks, which needs
    /// no system call.
    mail: Mutex<Vec<(u64, Answer)>>,
    mail_arrived: Notify,
    pub(crate) drain: Notify,
    pub(crate) stop: Notify,
    /// The tasks of all connections, woken when the server drains.
    tasks: Mutex<Tasks>,
    /// Idle connections close.
    closes_idle: AtomicBool,
    index: usize,
}

#[derive(Default)]
struct Tasks {
    wakers: FxHashMap<u64, Waker>,
    next: u64,
}

impl Shard {
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Arc<Self> {
        let shards = shared.settings.threads;
        Arc::new(Shard {
            shared,
            exchanges: Exchanges::new(index, shards),
            mail: Mutex::default(),
            mail_arrived: Notify::new(),
            drain: Notify::new(),
            stop: Notify::new(),
            tasks: Mutex::default(),
            closes_idle: AtomicBool::new(false),
            index,
        })
    }

    /// Serve until `stop`.
    pub(crate) fn run(self: Arc<Self>, runtime: &tokio::runtime::Runtime, listener: TcpListener) {
        runtime.block_on(async {
            let accepting = tokio::spawn(self.clone().accept(listener));
            tokio::spawn(self.clone().distribute());
            tokio::spawn(self.clone().sweep());
            self.drain.notified().await;
            tokio::time::sleep(DRAIN_GRACE).await;
            accepting.abort();
            self.closes_idle.store(true, SeqCst);
            let tasks: Vec<_> = lock(&self.tasks).wakers.values().cloned().collect();
            tasks.into_iter().for_each(Waker::wake);
            // The woken tasks run before this one.
            tokio::task::yield_now().await;
            self.shared.drained_shards.fetch_add(1, SeqCst);
            self.stop.notified().await;
        });
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => {
                    self.shared.counters.accept_errors.increment();
                    if !is_of_one_client(&error) {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        // Replies are written whole; waiting for more to send only delays them. A failure costs latency alone.
        let _ = stream.set_nodelay(true);
        let shared = &self.shared;
        if shared.connections.fetch_add(1, Relaxed) < shared.max_connections {
            shared.counters.accepted.increment();
            let count = Counted { shared: shared.clone(), is_refusal: false };
            tokio::spawn(Connection::new(stream, peer, self.clone()).serve(count));
        } else {
            shared.connections.fetch_sub(1, Relaxed);
            shared.counters.refused_connections.increment();
            if shared.refusals.fetch_add(1, Relaxed) < MAX_REFUSALS {
                let count = Counted { shared: shared.clone(), is_refusal: true };
                tokio::spawn(Connection::new(stream, peer, self.clone()).refuse_connection(count));
            } else {
                shared.refusals.fetch_sub(1, Relaxed);
            }
        }
    }

    /// Accept answers of the handler. May be called from any thread.
    pub(crate) fn send(&self, answers: impl IntoIterator<Item = (u64, Answer)>) {
        lock(&self.mail).extend(answers);
        self.mail_arrived.notify_one();
    }

    async fn distribute(self: Arc<Self>) {
        loop {
            self.mail_arrived.notified().await;
            let mail = std::mem::take(&mut *lock(&self.mail));
            for (ticket, answer) in mail {
                if let Err(answer) = self.exchanges.deliver(ticket, answer) {
                    self.shared.counters.late_answers.increment();
                    if let Answer::Stream(stream) = answer {
                        stream.abandon();
                        self.shared.streams().remove(&ticket);
                    }
                }
            }
        }
    }

    async fn sweep(self: Arc<Self>) {
        let limit = self.shared.settings.request_timeout;
        let period = (limit / 10).clamp(Duration::from_millis(10), Duration::from_millis(200));
        loop {
            tokio::time::sleep(period).await;
            lock(&self.shared.oldest)[self.index] = self.exchanges.sweep(limit);
            self.shared.queue.sweep();
        }
    }

    pub(crate) fn closes_idle(&self) -> bool {
        self.closes_idle.load(Relaxed)
    }

    pub(crate) fn vitals(&self) -> Vitals {
        let oldest = lock(&self.shared.oldest).iter().flatten().min().copied();
        let since = [oldest, self.shared.queue.busy_since()].into_iter().flatten().min();
        let waiting = since.map_or(Duration::ZERO, |since| since.elapsed());
        Vitals { waiting, is_draining: self.shared.is_draining.load(Relaxed) }
    }

    /// Note the task of a connection. Returns its number.
    pub(crate) fn register(&self, waker: Waker) -> u64 {
        let mut tasks = lock(&self.tasks);
        let number = tasks.next;
        tasks.next += 1;
        tasks.wakers.insert(number, waker);
        number
    }

    pub(crate) fn unregister(&self, task: u64) {
        lock(&self.tasks).wakers.remove(&task);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the failure concerns only the accepted connection; the next one may be accepted at once.
fn is_of_one_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// A connection that counts towards a limit until this value is dropped.
pub(crate) struct Counted {
    shared: Arc<Shared>,
    is_refusal: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let count = if self.is_refusal { &self.shared.refusals } else { &self.shared.connections };
        count.fetch_sub(1, Relaxed);
    }
}
