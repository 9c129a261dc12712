//! Number and durations of the predictions of a stream.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds in nanoseconds: those of `Histogram` in `python/millstream/serve/counters.py`.
const BOUNDS: [u64; 17] = [
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
];

#[derive(Debug, Default)]
pub struct PredictionCounts {
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl PredictionCounts {
    pub fn add(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|&bound| bound < nanoseconds);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    /// Predictions in each bucket, not cumulated, and the sum of all durations in seconds.
    pub fn read(&self) -> (Vec<u64>, f64) {
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        (counts, self.nanoseconds.load(Relaxed) as f64 * 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let counts = PredictionCounts::default();
        for microseconds in [0, 10, 11, 3_000_000] {
            counts.add(Duration::from_micros(microseconds));
        }
        let (buckets, sum) = counts.read();
        assert_eq!((buckets[0], buckets[1], buckets[17], buckets.len()), (2, 1, 1, 18));
        assert!((sum - 3.000021).abs() < 1e-12);
    }
}
