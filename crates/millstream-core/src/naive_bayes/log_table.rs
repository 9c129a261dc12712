//! ln(count + α), from a table for small whole counts: most counts of words are such.

use std::sync::Arc;

use crate::numeric::elementary::ln;

const LENGTH: usize = 4096;
/// Added to a count below it, it leaves the whole number in the last bits of the sum.
const SHIFT: f64 = 4_503_599_627_370_496.0;
/// Smaller α count as this, so that no probability is 0.
const LEAST: f64 = 1e-10;

#[derive(Clone, Debug)]
pub struct LogTable {
    pub alpha: f64,
    small: Arc<[f64; LENGTH]>,
}

impl LogTable {
    pub fn new(alpha: f64) -> Self {
        let alpha = alpha.max(LEAST);
        let mut small = Arc::new([0.0; LENGTH]);
        for (count, logarithm) in Arc::make_mut(&mut small).iter_mut().enumerate() {
            *logarithm = ln(count as f64 + alpha);
        }
        LogTable { alpha, small }
    }

    /// ln(count + α) for a count of at least 0.
    #[inline(always)]
    pub fn of(&self, count: f64) -> f64 {
        let shifted = count + SHIFT;
        if count < LENGTH as f64 && shifted - SHIFT == count {
            self.small[shifted.to_bits() as usize % LENGTH]
        } else {
            ln(count + self.alpha)
        }
    }

    /// ln α.
    #[inline]
    pub fn of_zero(&self) -> f64 {
        self.small[0]
    }

    pub fn memory(&self) -> usize {
        8 * LENGTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_what_the_function_gives() {
        let table = LogTable::new(0.25);
        for count in [0.0, 1.0, 2.0, 4095.0, 4096.0, 1e20, 0.5, 1.0 - 1e-16, 4094.5, 1e-300] {
            assert_eq!(table.of(count).to_bits(), ln(count + 0.25).to_bits(), "{count}");
        }
        assert_eq!(LogTable::new(0.0).of_zero(), ln(1e-10));
    }
}
