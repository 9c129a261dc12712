//! A sample of predicted numbers with their truths, of bounded size, for plots.
//!
//! One row in every `step` is kept. When the sample is full, every second pair is dropped and the step doubles, so
//! the sample is spread evenly over the stream and identical in every run.

/// The largest number of pairs.
pub const MOST_PAIRS: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub row: u64,
    pub truth: f64,
    pub predicted: f64,
}

#[derive(Clone, Debug)]
pub struct Sample {
    pairs: Vec<Pair>,
    step: u64,
    until_next: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { pairs: Vec::new(), step: 1, until_next: 1 }
    }
}

impl Sample {
    #[inline]
    pub fn add(&mut self, row: u64, truth: f64, predicted: f64) {
        self.until_next -= 1;
        if self.until_next == 0 {
            self.keep(Pair { row, truth, predicted });
        }
    }

    #[cold]
    fn keep(&mut self, pair: Pair) {
        self.pairs.push(pair);
        if self.pairs.len() == MOST_PAIRS {
            let mut place = 0;
            self.pairs.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.step *= 2;
        }
        self.until_next = self.step;
    }

    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After 2,000 rows every second one is kept, 1, 3, …, 1999, and the step is 2: 2001 is next. The sample is
    /// full again at row 3,999, and every second of its rows is kept: 3, 7, …, 3999; 4,003 is next.
    #[test]
    fn the_sample_stays_small_and_even() {
        let mut sample = Sample::default();
        for row in 0..5000 {
            sample.add(row, row as f64, 0.0);
        }
        let rows: Vec<u64> = sample.pairs().iter().map(|pair| pair.row).collect();
        assert_eq!(rows[..3], [3, 7, 11]);
        assert!(rows.windows(2).all(|pair| pair[1] - pair[0] == 4));
        assert_eq!(rows.last(), Some(&4999));
    }
}
