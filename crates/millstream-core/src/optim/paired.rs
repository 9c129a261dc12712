//! Sparse steps of weights stored next to their memory.
//!
//! They may be more than the caches hold. What a step fetches it keeps together, works on there, and puts back if it is
//! sound; meanwhile it asks for what the next one will fetch.

use prefetch_index::prefetch_index;

use super::rules::{one, Cell, Step, Update};

/// A weight and the one number of its memory.
pub type Pair = [f64; 2];

/// Fetch the pairs at `indices`; gives Σ wᵢ xᵢ.
#[inline]
pub fn fetch(pairs: &[Pair], indices: &[u32], x: &[f64], out: &mut Vec<Pair>) -> f64 {
    if out.len() != indices.len() {
        out.resize(indices.len(), Pair::default());
    }
    let mut sum = 0.0;
    for ((&index, fetched), x) in indices.iter().zip(out).zip(x) {
        *fetched = pairs[index as usize];
        sum += fetched[0] * x;
    }
    sum
}

/// Put pairs back to where they were fetched.
#[inline]
pub fn put(pairs: &mut [Pair], indices: &[u32], stepped: &[Pair]) {
    for (&index, &pair) in indices.iter().zip(stepped) {
        pairs[index as usize] = pair;
    }
}

/// Step what was fetched; false if it overflows. Of `pairs`, those at `coming` are asked for: a processor waits for a
/// dozen or so fetches at a time, and roots and quotients take a while, so four are asked for with each four that are
/// stepped.
#[inline]
pub fn step<U: Update, const PENALISED: bool>(
    update: U,
    rate: f64,
    step: Step,
    x: &[f64],
    fetched: &mut [Pair],
    pairs: &[Pair],
    coming: &[u32],
) -> bool {
    let mut check = [0.0; 4];
    let (fours, rest) = fetched.as_chunks_mut::<4>();
    let (x_fours, x_rest) = x.as_chunks::<4>();
    let (coming_fours, coming_rest) = coming.as_chunks::<4>();
    let mut coming = coming_fours.iter();
    for (four, x) in fours.iter_mut().zip(x_fours) {
        if let Some(coming) = coming.next() {
            prefetch(pairs, coming);
        }
        let mut w = [four[0][0], four[1][0], four[2][0], four[3][0]];
        let mut a = [four[0][1], four[1][1], four[2][1], four[3][1]];
        // Asked of all four at once, or they would not be stepped at once.
        if PENALISED || x.contains(&0.0) {
            for k in 0..4 {
                let stepped = one::<U, PENALISED>(update, rate, Cell { w: w[k], a: a[k], b: 0.0 }, x[k], step);
                (w[k], a[k]) = (stepped.w, stepped.a);
            }
        } else {
            for k in 0..4 {
                let stepped = update.apply(Cell { w: w[k], a: a[k], b: 0.0 }, step.slope * x[k]);
                (w[k], a[k]) = (stepped.w, stepped.a);
            }
        }
        for k in 0..4 {
            // 0 if both are finite, else NaN.
            check[k] += w[k] * 0.0 + a[k] * 0.0;
            four[k] = [w[k], a[k]];
        }
    }
    for (pair, &x) in rest.iter_mut().zip(x_rest) {
        let stepped = one::<U, PENALISED>(update, rate, Cell { w: pair[0], a: pair[1], b: 0.0 }, x, step);
        *pair = [stepped.w, stepped.a];
        check[0] += stepped.w * 0.0 + stepped.a * 0.0;
    }
    coming.for_each(|four| prefetch(pairs, four));
    prefetch(pairs, coming_rest);
    (check[0] + check[1]) + (check[2] + check[3]) == 0.0
}

/// Prefetch. An index that does not exist yet is ignored.
#[inline(always)]
fn prefetch(pairs: &[Pair], indices: &[u32]) {
    indices.iter().for_each(|&index| prefetch_index(pairs, index as usize));
}
