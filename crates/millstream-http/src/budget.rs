//! A limit on the bytes of all requests and replies in memory.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

/// The maximum and current numbers of bytes.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Budget { limit, used: AtomicUsize::new(0) })
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

/// Bytes of one request or reply. They return to the budget when this value is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn none(budget: &Arc<Budget>) -> Self {
        Charge { budget: budget.clone(), bytes: 0 }
    }

    /// Change the number of bytes. Returns false, and keeps the old number, if the budget does not allow it.
    #[must_use]
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            let before = self.budget.used.fetch_add(more, Relaxed);
            if before.saturating_add(more) > self.budget.limit {
                self.budget.used.fetch_sub(more, Relaxed);
                return false;
            }
        } else {
            self.budget.used.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_beyond_the_limit_changes_nothing() {
        let budget = Budget::new(100);
        let mut first = Charge::none(&budget);
        let mut second = Charge::none(&budget);
        assert!(first.set(60));
        assert!(!second.set(41));
        assert_eq!(budget.used(), 60);
        assert!(second.set(40));
        assert!(first.set(10));
        assert_eq!(budget.used(), 50);
        drop((first, second));
        assert_eq!(budget.used(), 0);
    }
}
