//! The log-likelihood as the logarithm of a product of many numbers, at the cost of one logarithm.
//!
//! A product of variances may overflow although its logarithm is small. Therefore mantissas
//! are multiplied and exponents added; of 512 mantissas in [1, 2) the product is below 2^512.

use std::f64::consts::LN_2;

const MANTISSA: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;
const BIAS: i64 = 1023;
/// Number of factors between logarithms.
pub const BLOCK: usize = 512;

/// A running product of positive normal numbers.
#[derive(Clone, Copy, Debug)]
pub struct LogProduct {
    mantissa: f64,
    exponent: i64,
    factors: usize,
    logarithm: f64,
}

impl Default for LogProduct {
    fn default() -> Self {
        LogProduct { mantissa: 1.0, exponent: 0, factors: 0, logarithm: 0.0 }
    }
}

impl LogProduct {
    #[inline]
    pub fn times(&mut self, factor: f64) {
        let bits = factor.to_bits();
        self.room_for(1);
        self.mantissa *= f64::from_bits(bits & MANTISSA | ONE);
        self.exponent += (bits >> 52) as i64 - BIAS;
    }

    /// Multiply by the product of the lanes, of `factors` factors, at most `BLOCK`.
    #[inline]
    pub fn times_lanes(&mut self, lanes: &ProductLanes, factors: usize) {
        self.room_for(factors);
        self.mantissa *= lanes.mantissas[0] * lanes.mantissas[1];
        self.exponent += (lanes.exponents[0] + lanes.exponents[1]) as i64 - BIAS * factors as i64;
    }

    #[inline]
    fn room_for(&mut self, factors: usize) {
        if self.factors + factors > BLOCK {
            self.logarithm += self.mantissa.ln();
            self.mantissa = 1.0;
            self.factors = 0;
        }
        self.factors += factors;
    }

    #[inline]
    pub fn logarithm(&self) -> f64 {
        self.logarithm + self.mantissa.ln() + self.exponent as f64 * LN_2
    }
}

/// Two products side by side, for vector registers.
#[derive(Clone, Copy, Debug)]
pub struct ProductLanes {
    mantissas: [f64; 2],
    exponents: [u64; 2],
}

impl Default for ProductLanes {
    fn default() -> Self {
        ProductLanes { mantissas: [1.0; 2], exponents: [0; 2] }
    }
}

impl ProductLanes {
    /// Multiply each lane by 1 `count` times.
    #[inline]
    pub fn times_ones(&mut self, count: usize) {
        self.exponents.iter_mut().for_each(|exponent| *exponent += count as u64 * BIAS as u64);
    }

    #[inline(always)]
    pub fn times(&mut self, factors: &[f64; 2]) {
        for (lane, factor) in factors.iter().enumerate() {
            let bits = factor.to_bits();
            self.mantissas[lane] *= f64::from_bits(bits & MANTISSA | ONE);
            self.exponents[lane] += bits >> 52;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_leave_the_floating_point_numbers() {
        let factors: Vec<f64> = (0..3000).map(|i| [1e-300, 3.5, 2e-7, 1e200][i % 4]).collect();
        let expected: f64 = factors.iter().map(|factor| factor.ln()).sum();
        let mut product = LogProduct::default();
        factors.iter().for_each(|&factor| product.times(factor));
        assert!((product.logarithm() / expected - 1.0).abs() < 1e-13);
    }

    #[test]
    fn lanes_give_the_same() {
        let (mut lanes, mut product) = (ProductLanes::default(), LogProduct::default());
        lanes.times(&[0.25, 1e-200]);
        lanes.times(&[1e-200, 7.0]);
        product.times(0.5);
        product.times_lanes(&lanes, 4);
        let expected = 0.5f64.ln() + 0.25f64.ln() + 2.0 * 1e-200f64.ln() + 7f64.ln();
        assert!((product.logarithm() / expected - 1.0).abs() < 1e-14);
    }
}
