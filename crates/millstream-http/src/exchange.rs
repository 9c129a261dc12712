//! Requests that wait for replies, and the delivery of replies to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::event_stream::EventStream;
use crate::reply::Reply;

/// The event that ends the wait of a connection.
#[derive(Debug)]
pub(crate) enum Answer {
    Reply(Reply),
    Stream(Arc<EventStream>),
    TimedOut,
}

/// The waiting requests of one shard. Only tasks of its thread use it, so the lock is never contended.
#[derive(Debug)]
pub(crate) struct Exchanges {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    waiting: FxHashMap<u64, Waiting>,
    next_ticket: u64,
    /// Tickets of a shard are congruent to its index modulo this.
    step: u64,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

impl Exchanges {
    pub(crate) fn new(index: usize, shards: usize) -> Self {
        let table = Table {
            waiting: FxHashMap::default(),
            next_ticket: index as u64 + shards as u64,
            step: shards as u64,
        };
        Exchanges { table: Mutex::new(table) }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Start to wait. The guard ends the wait when it is dropped.
    pub(crate) fn open(&self, since: Instant) -> Ticket<'_> {
        let mut table = self.lock();
        let number = table.next_ticket;
        table.next_ticket += table.step;
        table.waiting.insert(number, Waiting { since, answer: None, waker: None });
        Ticket { exchanges: self, number }
    }

    /// Deliver an answer. Returns it if no request waits for it.
    pub(crate) fn deliver(&self, ticket: u64, answer: Answer) -> Result<(), Answer> {
        let mut table = self.lock();
        match table.waiting.get_mut(&ticket) {
            Some(waiting) if waiting.answer.is_none() => {
                waiting.answer = Some(answer);
                if let Some(waker) = waiting.waker.take() {
                    drop(table);
                    waker.wake();
                }
                Ok(())
            }
            _ => Err(answer),
        }
    }

    /// Time out requests that waited for `limit`. Returns since when the oldest other one waits.
    pub(crate) fn sweep(&self, limit: Duration) -> Option<Instant> {
        let mut oldest = None;
        let now = Instant::now();
        for waiting in self.lock().waiting.values_mut().filter(|waiting| waiting.answer.is_none()) {
            if now.saturating_duration_since(waiting.since) >= limit {
                waiting.answer = Some(Answer::TimedOut);
                if let Some(waker) = waiting.waker.take() {
                    waker.wake();
                }
            } else if oldest.is_none_or(|oldest| waiting.since < oldest) {
                oldest = Some(waiting.since);
            }
        }
        oldest
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }
}

/// A waiting request.
pub(crate) struct Ticket<'a> {
    exchanges: &'a Exchanges,
    pub(crate) number: u64,
}

impl Ticket<'_> {
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Answer> {
        let mut table = self.exchanges.lock();
        let Some(waiting) = table.waiting.get_mut(&self.number) else { return Poll::Ready(Answer::TimedOut) };
        match waiting.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.exchanges.lock().waiting.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::HeaderBlock;

    fn reply() -> Answer {
        Answer::Reply(Reply { status: 200, headers: HeaderBlock::constant(""), body: Vec::new() })
    }

    #[test]
    fn an_answer_is_delivered_once() {
        let exchanges = Exchanges::new(1, 2);
        let context = Context::from_waker(Waker::noop());
        let first = exchanges.open(Instant::now());
        let second = exchanges.open(Instant::now());
        assert_eq!((first.number % 2, second.number - first.number), (1, 2));
        assert!(first.poll(&context).is_pending());
        assert!(exchanges.deliver(first.number, reply()).is_ok());
        assert!(exchanges.deliver(first.number, reply()).is_err());
        assert!(matches!(first.poll(&context), Poll::Ready(Answer::Reply(_))));
        assert!(second.poll(&context).is_pending());
        let number = second.number;
        drop((first, second));
        assert!(exchanges.deliver(number, reply()).is_err());
        assert_eq!(exchanges.len(), 0);
    }

    #[test]
    fn old_requests_time_out() {
        let exchanges = Exchanges::new(0, 1);
        let context = Context::from_waker(Waker::noop());
        let old = exchanges.open(Instant::now() - Duration::from_secs(2));
        let since = Instant::now();
        let young = exchanges.open(since);
        assert_eq!(exchanges.sweep(Duration::from_secs(1)), Some(since));
        assert!(matches!(old.poll(&context), Poll::Ready(Answer::TimedOut)));
        assert!(young.poll(&context).is_pending());
    }
}
