//! A unit upper triangular matrix, and the two loops over it that an update of a covariance is made of.
//!
//! Columns lie one after the other, each with its diagonal and filled up with zeros to a multiple of four: the four
//! columns of a group then have the same length, and go through the processor together, in vector registers and without
//! remainders. The ones and zeros take part in the arithmetic, which leaves them as they are.

/// So many columns make a group, and so many numbers a step through them.
pub const LANES: usize = 4;

/// The next multiple of four.
pub const fn padded(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

/// Where column `j` begins, and how many numbers a matrix of `j` columns has.
pub const fn start(j: usize) -> usize {
    let group = j / LANES;
    8 * group * (group + 1) + (j % LANES) * (LANES * group + LANES)
}

/// The length of column `j`.
#[cfg(test)]
pub const fn length(j: usize) -> usize {
    padded(j + 1)
}

/// Σ aᵢ bᵢ in four strands, which zeros at the end do not change.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..n].as_chunks::<LANES>(), b[..n].as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for i in 0..a.len().min(b.len()) {
        add_product(&mut sums, &a[i], &b[i]);
    }
    for i in 0..a_rest.len().min(b_rest.len()).min(LANES) {
        sums[i] += a_rest[i] * b_rest[i];
    }
    total(sums)
}

#[inline(always)]
fn add_product(sums: &mut [f64; LANES], a: &[f64; LANES], b: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

#[inline(always)]
fn total(sums: [f64; LANES]) -> f64 {
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// f = Uᵀx; `x` is filled with zeros to a multiple of four.
// Indices over slices of one length, not iterators: those compile to the same only where all of them are inlined.
#[inline]
pub fn multiply(columns: &[f64], x: &[f64], f: &mut [f64]) {
    let (x, mut rest) = (x.as_chunks::<LANES>().0, columns.as_chunks::<LANES>().0);
    let (groups, left) = f.as_chunks_mut::<LANES>();
    for (group, f) in groups.iter_mut().enumerate() {
        let n = group + 1;
        let (a, after) = rest.split_at(n);
        let (b, after) = after.split_at(n);
        let (c, after) = after.split_at(n);
        let (d, after) = after.split_at(n);
        rest = after;
        let x = &x[..n];
        let mut sums = [[0.0; LANES]; LANES];
        for i in 0..n {
            add_product(&mut sums[0], &a[i], &x[i]);
            add_product(&mut sums[1], &b[i], &x[i]);
            add_product(&mut sums[2], &c[i], &x[i]);
            add_product(&mut sums[3], &d[i], &x[i]);
        }
        *f = [total(sums[0]), total(sums[1]), total(sums[2]), total(sums[3])];
    }
    let n = groups.len() + 1;
    for (place, f) in left.iter_mut().enumerate() {
        let (column, x) = (&rest[place * n..(place + 1) * n], &x[..n]);
        let mut sums = [0.0; LANES];
        for i in 0..n {
            add_product(&mut sums, &column[i], &x[i]);
        }
        *f = total(sums);
    }
}

/// Over columns j in order: uⱼ ← uⱼ + factorⱼ k, k ← k + alongⱼ (old uⱼ). `k` has as many numbers as the longest
/// column and holds zeros.
#[inline]
pub fn turn(columns: &mut [f64], factor: &[f64], along: &[f64], k: &mut [f64]) {
    let (k, mut rest) = (k.as_chunks_mut::<LANES>().0, columns.as_chunks_mut::<LANES>().0);
    let ((factors, factors_left), (alongs, alongs_left)) = (factor.as_chunks(), along.as_chunks());
    for group in 0..factors.len().min(alongs.len()) {
        let (n, factor, along) = (group + 1, factors[group], alongs[group]);
        let (a, after) = rest.split_at_mut(n);
        let (b, after) = after.split_at_mut(n);
        let (c, after) = after.split_at_mut(n);
        let (d, after) = after.split_at_mut(n);
        rest = after;
        turn_four([a, b, c, d], factor, along, &mut k[..n]);
    }
    let n = factors.len() + 1;
    for (place, (&factor, &along)) in factors_left.iter().zip(alongs_left).enumerate() {
        let (column, k) = (&mut rest[place * n..(place + 1) * n], &mut k[..n]);
        for i in 0..n {
            step(&mut column[i], &mut k[i], factor, along);
        }
    }
}

#[inline]
fn turn_four(
    [a, b, c, d]: [&mut [[f64; LANES]]; LANES],
    factor: [f64; LANES],
    along: [f64; LANES],
    k: &mut [[f64; LANES]],
) {
    let n = k.len();
    let (a, b, c, d) = (&mut a[..n], &mut b[..n], &mut c[..n], &mut d[..n]);
    for i in 0..n {
        let mut gain = k[i];
        step(&mut a[i], &mut gain, factor[0], along[0]);
        step(&mut b[i], &mut gain, factor[1], along[1]);
        step(&mut c[i], &mut gain, factor[2], along[2]);
        step(&mut d[i], &mut gain, factor[3], along[3]);
        k[i] = gain;
    }
}

#[inline(always)]
fn step(u: &mut [f64; LANES], k: &mut [f64; LANES], factor: f64, along: f64) {
    let old = *u;
    for lane in 0..LANES {
        u[lane] = old[lane] + factor * k[lane];
        k[lane] += along * old[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns 0 to 3 have four numbers each, columns 4 to 7 eight: column 5 begins at 16 + 8.
    #[test]
    fn columns_lie_one_after_the_other() {
        assert_eq!((0..6).map(length).collect::<Vec<_>>(), [4, 4, 4, 4, 8, 8]);
        assert_eq!((0..6).map(start).collect::<Vec<_>>(), [0, 4, 8, 12, 16, 24]);
        assert!((0..40).all(|j| start(j) + length(j) == start(j + 1)));
    }

    /// U = [[1, 2, 3], [0, 1, 4], [0, 0, 1]], x = (1, 10, 100): Uᵀx = (1, 2 + 10, 3 + 40 + 100).
    #[test]
    fn a_product_by_hand() {
        let columns = [1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 3.0, 4.0, 1.0, 0.0];
        let mut f = [0.0; 3];
        multiply(&columns, &[1.0, 10.0, 100.0, 0.0], &mut f);
        assert_eq!(f, [1.0, 12.0, 143.0]);
    }
}
