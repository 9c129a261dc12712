//! e to the power of many numbers that are not positive, in vector registers.
//!
//! The platform's `exp` takes 4.5 ns a number and cannot be vectorised; a kernel expansion needs one for each point of
//! each prediction. Here e^x = 2^k e^r with |r| ≤ ln 2 / 2, and e^r by its series of 13 terms, which is right to a unit
//! in the last place. There is no branch and no call in it, and nothing but additions, multiplications and shifts, so
//! the bits are the same on every platform.

const LANES: usize = 8;
/// ln 2 in two parts: the first has 32 bits, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Added and taken away again, it rounds to a whole number; meanwhile that number is in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below this the result is 0, which keeps the exponent within its bits.
const LEAST: f64 = -708.0;

/// 1/13!, 1/12!, …, 1.
const SERIES: [f64; 14] = {
    let mut series = [1.0; 14];
    let mut place = 13;
    while place > 0 {
        series[place - 1] = series[place] / (14 - place) as f64;
        place -= 1;
    }
    series
};

/// x ← e^x for each x ≤ 0; −∞ gives 0.
pub fn exp_each(numbers: &mut [f64]) {
    let (blocks, rest) = numbers.as_chunks_mut::<LANES>();
    blocks.iter_mut().for_each(exp_block);
    if !rest.is_empty() {
        let mut block = [0.0; LANES];
        block[..rest.len()].copy_from_slice(rest);
        exp_block(&mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

#[inline(always)]
fn exp_block(block: &mut [f64; LANES]) {
    let mut r = [0.0; LANES];
    let mut power = [0.0; LANES];
    for lane in 0..LANES {
        let x = if block[lane] > LEAST { block[lane] } else { LEAST };
        let shifted = x * std::f64::consts::LOG2_E + ROUND;
        let k = shifted - ROUND;
        r[lane] = (x - k * LN_2_HIGH) - k * LN_2_LOW;
        power[lane] = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    }
    let mut sum = [SERIES[0]; LANES];
    for term in &SERIES[1..] {
        for lane in 0..LANES {
            sum[lane] = sum[lane] * r[lane] + term;
        }
    }
    for lane in 0..LANES {
        block[lane] = if block[lane] > LEAST { sum[lane] * power[lane] } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_platform() {
        let inputs: Vec<f64> = (0..100_003).map(|step| -f64::from(step) * 0.00701).collect();
        let mut outputs = inputs.clone();
        exp_each(&mut outputs);
        for (x, y) in inputs.iter().zip(&outputs) {
            assert!((y - x.exp()).abs() <= 2.0 * f64::EPSILON * x.exp(), "exp({x}) is not {y}");
        }
        let mut ends = [0.0, -0.0, f64::NEG_INFINITY, -1e308, -709.0, -5e-324];
        exp_each(&mut ends);
        assert_eq!(ends, [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
}
