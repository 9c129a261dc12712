//! The scalar product of dense vectors.

/// Σ wᵢ xᵢ over the coordinates both have, in four sums side by side: one would wait for each addition. The order of the
/// additions is fixed, so the result is the same on every processor.
#[inline(always)]
pub fn dot(w: &[f64], x: &[f64]) -> f64 {
    let n = w.len().min(x.len());
    let (w_fours, w_rest) = w[..n].as_chunks::<4>();
    let (x_fours, x_rest) = x[..n].as_chunks::<4>();
    let [mut a, mut b, mut c, d] = sums_of_fours(w_fours, x_fours);
    // One by one: a loop would keep the sums in memory, and wait for them.
    if let ([w, ..], [x, ..]) = (w_rest, x_rest) {
        a += w * x;
    }
    if let ([_, w, ..], [_, x, ..]) = (w_rest, x_rest) {
        b += w * x;
    }
    if let ([_, _, w], [_, _, x]) = (w_rest, x_rest) {
        c += w * x;
    }
    (a + b) + (c + d)
}

/// Left to itself, the compiler pairs the second number with the third. Weights that were just written in pairs from the
/// first on are then read across two writes, for which the processor waits. Every x86-64 processor has SSE2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sums_of_fours(w: &[[f64; 4]], x: &[[f64; 4]]) -> [f64; 4] {
    use std::arch::x86_64::__m128d;

    let Some(sse2) = pulp::core_arch::x86::Sse2::try_new() else { return sums_by_index(w, x) };
    let mut sums = [sse2._mm_setzero_pd(); 2];
    for (w, x) in w.iter().zip(x) {
        let (w, x): ([__m128d; 2], [__m128d; 2]) = (bytemuck::cast(*w), bytemuck::cast(*x));
        for half in 0..2 {
            sums[half] = sse2._mm_add_pd(sums[half], sse2._mm_mul_pd(w[half], x[half]));
        }
    }
    bytemuck::cast(sums)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sums_of_fours(w: &[[f64; 4]], x: &[[f64; 4]]) -> [f64; 4] {
    sums_by_index(w, x)
}

#[inline(always)]
fn sums_by_index(w: &[[f64; 4]], x: &[[f64; 4]]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for (w, x) in w.iter().zip(x) {
        for k in 0..4 {
            sums[k] += w[k] * x[k];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_additions_is_fixed() {
        let numbers: Vec<f64> = (0..23).map(|k| (f64::from(k) * 0.7).sin() * 1e3f64.powi(k % 5 - 2)).collect();
        for n in 0..numbers.len() {
            let (w, x) = (&numbers[..n], &numbers[23 - n..]);
            let mut sums = [0.0; 4];
            for k in 0..n {
                sums[k % 4] += w[k] * x[k];
            }
            assert_eq!(dot(w, x).to_bits(), ((sums[0] + sums[1]) + (sums[2] + sums[3])).to_bits());
            assert_eq!(dot(w, &x[..n / 2]).to_bits(), dot(&w[..n / 2], x).to_bits());
        }
    }

    #[test]
    fn both_ways_of_adding_fours_are_the_same() {
        let fours: Vec<[f64; 4]> = (0..9).map(|k| [0.1, -3.7, 1e9, 1e-9].map(|x| x * f64::from(k + 1))).collect();
        let other: Vec<[f64; 4]> = fours.iter().map(|four| four.map(f64::sqrt).map(|x| x.max(0.3))).collect();
        assert_eq!(
            sums_of_fours(&fours, &other).map(f64::to_bits),
            sums_by_index(&fours, &other).map(f64::to_bits)
        );
    }
}
