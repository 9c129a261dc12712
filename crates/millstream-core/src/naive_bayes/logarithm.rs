//! The logarithm of a product of many numbers for the price of one logarithm.
//!
//! A product of variances may leave the floating-point numbers although its logarithm is small. So mantissas
//! are multiplied and exponents added; of 512 mantissas in [1, 2) the product is below 2^512.

use std::f64::consts::LN_2;

const MANTISSA: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;
const BIAS: i64 = 1023;
const BLOCK: u32 = 512;

/// A running product of positive normal numbers.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    mantissa: f64,
    exponent: i64,
    factors: u32,
    logarithm: f64,
}

impl Default for Product {
    fn default() -> Self {
        Product { mantissa: 1.0, exponent: 0, factors: 0, logarithm: 0.0 }
    }
}

impl Product {
    #[inline]
    pub fn times(&mut self, factor: f64) {
        let bits = factor.to_bits();
        self.mantissa *= f64::from_bits(bits & MANTISSA | ONE);
        self.exponent += (bits >> 52) as i64 - BIAS;
        self.factors += 1;
        if self.factors == BLOCK {
            self.fold();
        }
    }

    /// Multiply by all of `factors`, in four lanes so that it runs in vector registers.
    #[inline]
    pub fn times_all(&mut self, factors: &[f64]) {
        for block in factors.chunks(BLOCK as usize) {
            let mut mantissas = [1.0f64; 4];
            let mut exponents = [0u64; 4];
            let mut chunks = block.chunks_exact(4);
            for chunk in &mut chunks {
                for lane in 0..4 {
                    let bits = chunk[lane].to_bits();
                    mantissas[lane] *= f64::from_bits(bits & MANTISSA | ONE);
                    exponents[lane] += bits >> 52;
                }
            }
            for (lane, factor) in chunks.remainder().iter().enumerate() {
                let bits = factor.to_bits();
                mantissas[lane] *= f64::from_bits(bits & MANTISSA | ONE);
                exponents[lane] += bits >> 52;
            }
            if self.factors + block.len() as u32 > BLOCK {
                self.fold();
            }
            self.factors += block.len() as u32;
            self.mantissa *= (mantissas[0] * mantissas[1]) * (mantissas[2] * mantissas[3]);
            self.exponent += exponents.iter().sum::<u64>() as i64 - BIAS * block.len() as i64;
        }
    }

    fn fold(&mut self) {
        self.logarithm += self.mantissa.ln();
        self.mantissa = 1.0;
        self.factors = 0;
    }

    #[inline]
    pub fn logarithm(&self) -> f64 {
        self.logarithm + self.mantissa.ln() + self.exponent as f64 * LN_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_leave_the_floating_point_numbers() {
        let factors: Vec<f64> = (0..3000).map(|i| [1e-300, 3.5, 2e-7, 1e200][i % 4]).collect();
        let expected: f64 = factors.iter().map(|factor| factor.ln()).sum();
        let (mut one, mut all) = (Product::default(), Product::default());
        factors.iter().for_each(|&factor| one.times(factor));
        all.times(0.25);
        all.times_all(&factors);
        assert!((one.logarithm() / expected - 1.0).abs() < 1e-13);
        assert!((all.logarithm() / (expected + 0.25f64.ln()) - 1.0).abs() < 1e-13);
    }
}
