//! Exponentials and cosines of many numbers in vector registers.
//!
//! The platform's `exp` takes 4.5 ns a number and cannot be vectorised; a kernel expansion needs one for each point
//! of each prediction, a random Fourier feature its cosine. Here e^x = 2^k e^r with |r| ≤ ln 2 / 2, and cos x = ± cos
//! r with
//! |r| ≤ π / 2, each by its series, which is right to a unit or two in the last place of 1. There is no branch and no call
//! in them, and nothing but additions, multiplications and shifts, so the bits are the same on every platform.

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
    let mut index = 13;
    while index > 0 {
        series[index - 1] = series[index] / (14 - index) as f64;
        index -= 1;
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

/// π in three parts, of which the first two have 33 bits, so that their products with k are exact.
const PI: [f64; 3] = [3.141_592_653_468_251_2, 1.215_420_101_260_793_2e-10, 4.044_532_497_591_901e-21];
/// Up to here the reduction is exact; beyond, the platform's cosine is taken.
const LARGEST: f64 = 1e6;

/// ±1/(2n)! for n = 11, 10, …, 0.
const COSINE: [f64; 12] = {
    let mut series = [1.0; 12];
    let mut index = 11;
    while index > 0 {
        let n = 2.0 * (12 - index) as f64;
        series[index - 1] = -series[index] / (n * (n - 1.0));
        index -= 1;
    }
    series
};

/// x ← cos x for each x; what is not finite counts as 0.
pub fn cos_each(numbers: &mut [f64]) {
    let (blocks, rest) = numbers.as_chunks_mut::<LANES>();
    blocks.iter_mut().for_each(cos_block);
    if !rest.is_empty() {
        let mut block = [0.0; LANES];
        block[..rest.len()].copy_from_slice(rest);
        cos_block(&mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

#[inline(always)]
fn cos_block(block: &mut [f64; LANES]) {
    if !block.iter().all(|x| x.abs() < LARGEST) {
        block.iter_mut().for_each(|x| *x = if x.is_finite() { x.cos() } else { 1.0 });
        return;
    }
    let mut square = [0.0; LANES];
    let mut sign = [0; LANES];
    for lane in 0..LANES {
        let shifted = block[lane] * std::f64::consts::FRAC_1_PI + ROUND;
        let k = shifted - ROUND;
        let r = ((block[lane] - k * PI[0]) - k * PI[1]) - k * PI[2];
        square[lane] = r * r;
        sign[lane] = shifted.to_bits() << 63;
    }
    let mut sum = [COSINE[0]; LANES];
    for term in &COSINE[1..] {
        for lane in 0..LANES {
            sum[lane] = sum[lane] * square[lane] + term;
        }
    }
    for lane in 0..LANES {
        block[lane] = f64::from_bits(sum[lane].to_bits() ^ sign[lane]);
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

    #[test]
    fn cosines_agree_with_the_platform() {
        let inputs: Vec<f64> = (-50_000..50_003).map(|step| f64::from(step) * 0.0173).collect();
        let mut outputs = inputs.clone();
        cos_each(&mut outputs);
        for (x, y) in inputs.iter().zip(&outputs) {
            assert!((y - x.cos()).abs() <= 4e-16, "cos({x}) is not {y}");
        }
        let mut ends = [0.0, 1e300, f64::INFINITY, f64::NAN, -999_999.0];
        cos_each(&mut ends);
        assert_eq!(ends, [1.0, 1e300f64.cos(), 1.0, 1.0, (-999_999f64).cos()]);
    }
}
