//! Statistics of a server.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::problem::Kind;

/// Upper bounds of the latency histogram, in seconds. A last bucket has no bound.
pub const LATENCY_BOUNDS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counters {
    ($($name:ident: $meaning:literal,)*) => {
        /// Events since the server started.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(#[doc = $meaning] pub(crate) $name: Counter,)*
            latency: Histogram,
        }

        impl Counters {
            /// Name and value of each counter.
            pub(crate) fn listed(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counters! {
    accepted: "Connections accepted.",
    refused_connections: "Connections refused because there were too many.",
    accept_errors: "Failures to accept a connection, such as too many open files.",
    requests: "Complete requests.",
    queued: "Requests that were queued for the handler.",
    native: "Requests answered without the handler.",
    queue_full: "Requests refused because the queue or the memory limit was full.",
    header_too_large: "Requests refused with status 431.",
    body_too_large: "Requests refused with status 413.",
    malformed: "Requests refused with status 400.",
    unsupported_encoding: "Requests refused with status 415.",
    header_timeouts: "Requests whose header took too long.",
    body_timeouts: "Requests whose body took too long.",
    idle_timeouts: "Connections closed because they were idle.",
    write_timeouts: "Connections closed because the client did not read.",
    request_timeouts: "Requests that the handler did not answer in time.",
    late_answers: "Answers without a waiting request: too late, repeated, or of a closed connection.",
    disconnects: "Connections that ended during a request or a reply.",
    streams: "Streams opened.",
    bytes_read: "Bytes received.",
    bytes_written: "Bytes sent.",
}

impl Counters {
    pub(crate) fn count_problem(&self, kind: Kind) {
        match kind {
            Kind::HeaderTooLarge => self.header_too_large.increment(),
            Kind::BodyTooLarge => self.body_too_large.increment(),
            Kind::MalformedRequest => self.malformed.increment(),
            Kind::UnsupportedEncoding => self.unsupported_encoding.increment(),
            Kind::TooManyConnections => self.refused_connections.increment(),
            Kind::QueueFull => self.queue_full.increment(),
            Kind::NoAnswer => self.request_timeouts.increment(),
            // Header and body timeouts are counted separately, where they occur.
            Kind::TooSlow | Kind::HandlerStalled | Kind::NotReady => {}
        }
    }

    pub(crate) fn record(&self, latency: Duration) {
        self.latency.record(latency);
    }

    pub(crate) fn latency(&self) -> Latency {
        self.latency.read()
    }
}

#[derive(Debug, Default)]
struct Histogram {
    counts: [AtomicU64; LATENCY_BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// Times from the complete request to the reply, as the kernel accepted it.
#[derive(Debug, PartialEq)]
pub struct Latency {
    /// Requests in each bucket of `LATENCY_BOUNDS`, not cumulated, and above the last bound.
    pub counts: [u64; LATENCY_BOUNDS.len() + 1],
    /// The sum of all times, in seconds.
    pub sum: f64,
}

impl Histogram {
    fn record(&self, latency: Duration) {
        let seconds = latency.as_secs_f64();
        let bucket = LATENCY_BOUNDS.partition_point(|&bound| bound < seconds);
        self.counts[bucket].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    fn read(&self) -> Latency {
        let counts = std::array::from_fn(|bucket| self.counts[bucket].load(Relaxed));
        Latency { counts, sum: self.nanoseconds.load(Relaxed) as f64 * 1e-9 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let counters = Counters::default();
        for microseconds in [0, 100, 101, 20_000_000] {
            counters.record(Duration::from_micros(microseconds));
        }
        let latency = counters.latency();
        assert_eq!(latency.counts[..2], [2, 1]);
        assert_eq!(latency.counts[16], 1);
        assert!((latency.sum - 20.000201).abs() < 1e-9);
    }
}
