//! What is stored in front of the words of each model.

/// Number of words of a header.
pub const HEADER: usize = 6;

/// The facts about one key. Ticks count the learned examples of a shard from 1; a free slot has tick 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    /// The integer itself, or the number of a text.
    pub key: u64,
    /// Number of scored predictions, up to 2³² − 1.
    pub scored: u32,
    /// The dump for which it was last marked as changed.
    pub epoch: u32,
    /// When it learned last.
    pub tick: u64,
    /// The time of its last example; NaN without one.
    pub time: f64,
    /// Number of examples that it has learned.
    pub count: u64,
    /// The sum of the errors, or scores, of its predictions.
    pub errors: f64,
}

impl Header {
    #[inline]
    pub fn read(words: &[u64]) -> Self {
        Header {
            key: words[0],
            scored: words[1] as u32,
            epoch: (words[1] >> 32) as u32,
            tick: words[2],
            time: f64::from_bits(words[3]),
            count: words[4],
            errors: f64::from_bits(words[5]),
        }
    }

    #[inline]
    pub fn write(&self, words: &mut [u64]) {
        words[..HEADER].copy_from_slice(&[
            self.key,
            u64::from(self.scored) | u64::from(self.epoch) << 32,
            self.tick,
            self.time.to_bits(),
            self.count,
            self.errors.to_bits(),
        ]);
    }

    /// The mean error of its predictions; none before the first.
    pub fn mean_error(&self) -> Option<f64> {
        (self.scored > 0).then(|| self.errors / f64::from(self.scored))
    }

    /// Add the error of a prediction, if there was one.
    #[inline]
    pub fn score(&mut self, error: Option<f64>) {
        if let Some(error) = error {
            self.scored = self.scored.saturating_add(1);
            self.errors += error;
        }
    }
}

#[inline]
pub fn tick_of(words: &[u64]) -> u64 {
    words[2]
}

/// Mark a slot as free.
pub fn clear(words: &mut [u64]) {
    words[2] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header =
            Header { key: 5, scored: 3, epoch: 9, tick: 11, time: -0.5, count: 1 << 40, errors: f64::INFINITY };
        let mut words = [0; HEADER + 1];
        header.write(&mut words);
        assert_eq!(Header::read(&words), header);
        assert_eq!((tick_of(&words), words[HEADER]), (11, 0));
        clear(&mut words);
        assert_eq!(tick_of(&words), 0);
    }
}
