//! The interface of the crate.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

use crate::budget::Charge;
use crate::counters::Latency;
use crate::event_stream::EventStream;
use crate::exchange::Answer;
use crate::native::Shortcut;
use crate::open_files;
use crate::reply::{HeaderBlock, Reply};
use crate::request::Request;
use crate::settings::Settings;
use crate::shard::{lock, Shard, Shared};

/// Connections that the kernel completes before they are accepted.
const BACKLOG: u32 = 4096;
/// How often `drain` looks whether all requests are answered.
const DRAIN_PERIOD: Duration = Duration::from_millis(2);

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    shards: Vec<Arc<Shard>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    address: SocketAddr,
}

impl Server {
    /// Bind and start. Port 0 lets the system choose.
    pub fn bind(host: &str, port: u16, settings: Settings) -> io::Result<Server> {
        settings.check().map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
        let allowed = open_files::raise_limit().unwrap_or(usize::MAX);
        let max_connections = settings.max_connections.min(allowed);
        let listener = bind_first(host, port)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(settings, max_connections));
        let mut starting = Vec::new();
        for index in 0..shared.settings.threads {
            let runtime = runtime()?;
            let listener = {
                let _guard = runtime.enter();
                TcpListener::from_std(listener.try_clone()?)?
            };
            starting.push((runtime, listener, Shard::new(shared.clone(), index)));
        }
        let shards = starting.iter().map(|(_, _, shard)| shard.clone()).collect();
        // From here on, dropping the server stops the threads that were started.
        let server = Server { shared, shards, threads: Mutex::default(), address };
        for (runtime, listener, shard) in starting {
            let thread = thread::Builder::new()
                .name("millstream-http".into())
                .spawn(move || shard.run(&runtime, listener))?;
            lock(&server.threads).push(thread);
        }
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Up to `most` requests that are queued now.
    pub fn take_present(&self, most: usize) -> Vec<Request> {
        self.shared.queue.take_present(most)
    }

    /// Up to `most` requests. Waits for the first; none after the timeout, or if the server is closed.
    pub fn take(&self, most: usize, timeout: Duration) -> Vec<Request> {
        self.shared.queue.take(most, timeout)
    }

    /// Send replies by ticket. A reply without a waiting request is counted and dropped.
    pub fn answer(&self, replies: Vec<(u64, Reply)>) {
        let count = self.shards.len() as u64;
        if let [shard] = &self.shards[..] {
            shard.send(replies.into_iter().map(|(ticket, reply)| (ticket, Answer::Reply(reply))));
            return;
        }
        let mut sorted: Vec<Vec<_>> = self.shards.iter().map(|_| Vec::new()).collect();
        for (ticket, reply) in replies {
            sorted[(ticket % count) as usize].push((ticket, Answer::Reply(reply)));
        }
        for (shard, replies) in self.shards.iter().zip(sorted) {
            if !replies.is_empty() {
                shard.send(replies);
            }
        }
    }

    /// Answer with a stream, to which `push` appends.
    pub fn open_stream(&self, ticket: u64, status: u16, headers: HeaderBlock) {
        let stream = Arc::new(EventStream::new(status, headers, Charge::none(&self.shared.budget)));
        self.shared.streams().insert(ticket, stream.clone());
        let shard = &self.shards[(ticket % self.shards.len() as u64) as usize];
        shard.send([(ticket, Answer::Stream(stream))]);
    }

    /// Append to a stream. Returns the number of unsent bytes; none if the stream is closed.
    pub fn push(&self, ticket: u64, data: &[u8]) -> Option<usize> {
        let stream = self.shared.streams().get(&ticket).cloned()?;
        let waiting = stream.push(data);
        if waiting.is_none() {
            self.shared.streams().remove(&ticket);
        }
        waiting
    }

    /// Close a stream after sending the remaining data.
    pub fn end_stream(&self, ticket: u64) {
        if let Some(stream) = self.shared.streams().remove(&ticket) {
            stream.end();
        }
    }

    /// Answer GET requests to `path` without the handler: with `body`, or with status 503 if a request has waited
    /// for the handler for `stall`.
    pub fn set_health(&self, path: &str, body: &[u8], stall: Duration) {
        self.shared.native.set_health(path, body, stall);
    }

    /// Answer GET requests to `path` without the handler: with status 200 or 503.
    pub fn set_ready(&self, path: &str, is_ready: bool) {
        self.shared.native.set_ready(path, is_ready);
    }

    /// Set, replace or remove the shortcut.
    pub fn set_shortcut(&self, shortcut: Option<Arc<dyn Shortcut>>) {
        self.shared.native.set_shortcut(shortcut);
    }

    /// Stop accepting, let requests in flight finish, and close. Returns whether all of them were answered. Another
    /// thread must continue to take and answer requests meanwhile.
    pub fn drain(&self, timeout: Duration) -> bool {
        self.start_drain();
        let deadline = Instant::now() + timeout;
        // The remaining connections are those of refused clients.
        let is_drained = || {
            let shared = &self.shared;
            shared.drained_shards.load(SeqCst) == self.shards.len() && shared.active.load(SeqCst) == 0
        };
        while !is_drained() {
            if Instant::now() >= deadline {
                self.close();
                return false;
            }
            thread::sleep(DRAIN_PERIOD);
        }
        self.close();
        true
    }

    /// Stop accepting, and close connections as soon as they are idle.
    pub fn start_drain(&self) {
        self.shared.is_draining.store(true, SeqCst);
        for shard in &self.shards {
            shard.drain.notify_one();
        }
    }

    pub fn is_closed(&self) -> bool {
        lock(&self.threads).is_empty()
    }

    /// Close all connections and wait until the threads have ended.
    pub fn close(&self) {
        self.stop();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A panic of the thread was reported on standard error; there is nothing left to close.
            let _ = thread.join();
        }
    }

    fn stop(&self) {
        self.start_drain();
        self.shared.queue.close();
        for shard in &self.shards {
            shard.stop.notify_one();
        }
    }

    /// Counters since the start, and present sizes.
    pub fn stats(&self) -> Vec<(&'static str, u64)> {
        let shared = &self.shared;
        let mut stats = shared.counters.listed();
        stats.extend([
            ("connections", shared.connections.load(Relaxed) as u64),
            ("max_connections", shared.max_connections as u64),
            ("active", shared.active.load(Relaxed) as u64),
            ("queue", shared.queue.len() as u64),
            ("waiting", self.shards.iter().map(|shard| shard.exchanges.len() as u64).sum()),
            ("open_streams", shared.streams().len() as u64),
            ("buffered_bytes", shared.budget.used() as u64),
        ]);
        stats
    }

    pub fn latency(&self) -> Latency {
        self.shared.counters.latency()
    }
}

impl Drop for Server {
    /// Without waiting for the threads: the caller may hold a lock that a shortcut needs.
    fn drop(&mut self) {
        self.stop();
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().build()
}

/// Listen on the first address of the host that can be bound.
fn bind_first(host: &str, port: u16) -> io::Result<std::net::TcpListener> {
    let runtime = runtime()?;
    let _guard = runtime.enter();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in (host, port).to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return listener.into_std(),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Lets a new server bind while closed connections of a previous one time out. Windows would let two servers share
    // a port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
