//! The eigenvalues and eigenvectors of A = Σ g gᵀ, updated with each g.
//!
//! In the eigenvectors of A, the matrix A + g gᵀ is diag(d) + z zᵀ with z = Qᵀg. Its eigenvalues μ are the roots
//! of
//! ```text
//! 1 + Σ zᵢ² / (dᵢ − μ) = 0,   one between each two of the d, the last beyond them
//! ```
//! (Golub, 1973), and its eigenvectors have the coordinates ẑᵢ / (dᵢ − μ), where ẑ is the z for which the roots
//! that were found are exact: so the vectors are at right angles to the last digit (Gu and Eisenstat, 1994, "A
//! stable and efficient algorithm for the rank-one modification of the symmetric eigenproblem"). Directions that g
//! does not touch, and all but one of those that share an eigenvalue, stay unchanged (deflation), which
//! makes a step cheaper.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Eigendecomposition {
    /// In no order.
    values: Vec<f64>,
    /// One after the other.
    vectors: Vec<f64>,
}

/// Buffers of an update, kept so that nothing is allocated per example.
#[derive(Clone, Debug, Default)]
pub struct Work {
    next: Eigendecomposition,
    /// Eigenvalues by size, then those affected.
    order: Vec<usize>,
    active: Vec<usize>,
    z: Vec<f64>,
    /// dᵢ and zᵢ of those affected.
    poles: Vec<f64>,
    pulls: Vec<f64>,
    /// dᵢ − μⱼ, row by row of j.
    gaps: Vec<f64>,
    roots: Vec<f64>,
    /// The previous eigenvectors of those affected.
    before: Vec<f64>,
}

impl Work {
    pub fn proposed(&self) -> &Eigendecomposition {
        &self.next
    }

    pub fn memory(&self) -> usize {
        let numbers = [&self.z, &self.poles, &self.pulls, &self.gaps, &self.roots, &self.before];
        self.next.memory()
            + 8 * (self.order.capacity() + self.active.capacity())
            + numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>()
    }
}

impl Eigendecomposition {
    fn width(&self) -> usize {
        self.values.len()
    }

    /// Each eigenvalue with its eigenvector.
    pub fn each(&self, mut visit: impl FnMut(f64, &[f64])) {
        for (value, vector) in self.values.iter().zip(self.vectors.chunks_exact(self.width().max(1))) {
            visit(*value, vector);
        }
    }

    /// New coordinates: eigenvalue 0, with themselves as eigenvectors.
    pub fn grow(&mut self, width: usize) {
        let old = self.width();
        if width <= old {
            return;
        }
        let mut vectors = vec![0.0; width * width];
        for (k, vector) in vectors.chunks_exact_mut(width).enumerate() {
            match self.vectors.get(k * old..(k + 1) * old) {
                Some(before) if k < old => vector[..old].copy_from_slice(before),
                _ => vector[k] = 1.0,
            }
        }
        self.values.resize(width, 0.0);
        self.vectors = vectors;
    }

    /// Remove coordinates that were just added.
    pub fn shrink(&mut self, width: usize) {
        let old = self.width();
        if width >= old {
            return;
        }
        let kept = self.vectors.chunks_exact(old).take(width);
        self.vectors = kept.flat_map(|vector| vector[..width].iter().copied()).collect();
        self.values.truncate(width);
    }

    /// Compute the spectrum of A + g gᵀ; false on overflow. Nothing changes here.
    pub fn propose(&self, g: &[f64], work: &mut Work) -> bool {
        let n = self.width();
        work.next.values.clone_from(&self.values);
        work.next.vectors.clone_from(&self.vectors);
        work.z.clear();
        work.z
            .extend(self.vectors.chunks_exact(n.max(1)).map(|v| v.iter().zip(g).map(|(v, g)| v * g).sum::<f64>()));
        let square: f64 = work.z.iter().map(|z| z * z).sum();
        if square == 0.0 {
            return true;
        }
        if !square.is_finite() {
            return false;
        }
        work.deflate(n, square);
        work.solve();
        work.turn(n);
        all_finite(&work.next.values) && all_finite(&work.next.vectors)
    }

    pub fn commit(&mut self, work: &mut Work) {
        std::mem::swap(self, &mut work.next);
    }

    pub fn validate(&self, who: &str, width: usize) -> Result<()> {
        let sized = self.width() == width && self.vectors.len() == width * width;
        require(who, sized, "the eigenvectors and the weights differ in number")?;
        let positive = self.values.iter().all(|value| *value >= 0.0 && value.is_finite());
        // The numbers of a vector of length 1, but for rounding.
        let short = self.vectors.iter().all(|number| number.abs() <= 1.001);
        require(who, positive && short, "an eigenvalue or eigenvector is out of range")
    }

    pub fn memory(&self) -> usize {
        8 * (self.values.capacity() + self.vectors.capacity())
    }
}

impl Work {
    /// Find the affected eigenvectors. Of two with nearly the same eigenvalue, one is rotated to be orthogonal to g.
    fn deflate(&mut self, n: usize, square: f64) {
        let Work { next, order, active, z, .. } = self;
        let (d, vectors) = (&mut next.values, &mut next.vectors);
        order.clear();
        order.extend(0..n);
        order.sort_unstable_by(|&a, &b| d[a].total_cmp(&d[b]));
        let largest = order.last().map_or(0.0, |&k| d[k]);
        let least = 8.0 * f64::EPSILON * largest.max(square);
        let length = square.sqrt();
        active.clear();
        for &k in order.iter() {
            if z[k].abs() * length <= least {
                continue;
            }
            if let Some(&last) = active.last() {
                let r = z[last].hypot(z[k]);
                let (c, s) = (z[k] / r, z[last] / r);
                if ((d[k] - d[last]) * c * s).abs() <= least {
                    (z[k], z[last]) = (r, 0.0);
                    (d[last], d[k]) = (d[last] * c * c + d[k] * s * s, d[last] * s * s + d[k] * c * c);
                    for index in 0..n {
                        let (a, b) = (vectors[last * n + index], vectors[k * n + index]);
                        vectors[last * n + index] = c * a - s * b;
                        vectors[k * n + index] = s * a + c * b;
                    }
                    active.pop();
                }
            }
            active.push(k);
        }
    }

    /// The roots μ, and all dᵢ − μ to full precision.
    fn solve(&mut self) {
        let Work { next, active, z, poles, pulls, gaps, roots, .. } = self;
        let count = active.len();
        poles.clear();
        poles.extend(active.iter().map(|&k| next.values[k]));
        pulls.clear();
        pulls.extend(active.iter().map(|&k| z[k]));
        gaps.resize(count * count, 0.0);
        roots.clear();
        for (j, row) in gaps.chunks_exact_mut(count.max(1)).enumerate() {
            let (origin, tau) = root(poles, pulls, j);
            for (gap, &pole) in row.iter_mut().zip(poles.iter()) {
                *gap = (pole - poles[origin]) - tau;
            }
            roots.push(poles[origin] + tau);
        }
        // ẑᵢ² = (μᵢ − dᵢ) Π (μⱼ − dᵢ) / (dⱼ − dᵢ) over the others j.
        for i in 0..count {
            let mut square = -gaps[i * count + i];
            for j in (0..count).filter(|&j| j != i) {
                square *= gaps[j * count + i] / (poles[i] - poles[j]);
            }
            pulls[i] = square.abs().sqrt().copysign(pulls[i]);
        }
    }

    /// The new eigenvectors out of the old ones.
    fn turn(&mut self, n: usize) {
        let Work { next, active, pulls, gaps, roots, before, .. } = self;
        let count = active.len();
        before.clear();
        for &k in active.iter() {
            before.extend_from_slice(&next.vectors[k * n..(k + 1) * n]);
        }
        for (j, &k) in active.iter().enumerate() {
            let row = &mut gaps[j * count..(j + 1) * count];
            let mut square = 0.0;
            for (gap, pull) in row.iter_mut().zip(pulls.iter()) {
                *gap = pull / *gap;
                square += *gap * *gap;
            }
            let length = square.sqrt();
            let out = &mut next.vectors[k * n..(k + 1) * n];
            out.fill(0.0);
            for (fraction, vector) in row.iter().zip(before.chunks_exact(n.max(1))) {
                let fraction = fraction / length;
                for (out, v) in out.iter_mut().zip(vector) {
                    *out += fraction * v;
                }
            }
            next.values[k] = roots[j];
        }
    }
}

/// The `j`-th root: a pole near it, and how far beyond that pole it is.
///
/// Both sums, over the poles up to the root and over those beyond it, are replaced by one pole each with the same
/// value and slope (Bunch, Nielsen and Sorensen, 1978); the root of that is the next guess, or the middle of where
/// the root must be if it is not there.
fn root(poles: &[f64], pulls: &[f64], j: usize) -> (usize, f64) {
    let last = j + 1 == poles.len();
    let width = match last {
        true => pulls.iter().map(|z| z * z).sum::<f64>(),
        false => poles[j + 1] - poles[j],
    };
    let sums = |origin: usize, tau: f64| {
        let sum = |range: std::ops::Range<usize>| {
            let mut sums = (0.0, 0.0);
            for i in range {
                let gap = (poles[i] - poles[origin]) - tau;
                let part = pulls[i] / gap;
                sums.0 += pulls[i] * part;
                sums.1 += part * part;
            }
            sums
        };
        (sum(0..j + 1), sum(j + 1..poles.len()))
    };
    let ((below, _), (above, _)) = sums(j, 0.5 * width);
    // The nearer pole is the origin, so that a root close to it keeps its digits.
    let (origin, mut low, mut high) = match last {
        true => (j, 0.0, width),
        false if 1.0 + below + above >= 0.0 => (j, 0.0, 0.5 * width),
        false => (j + 1, -0.5 * width, 0.0),
    };
    let (left, right) = (poles[j] - poles[origin], if last { width } else { poles[j + 1] - poles[origin] });
    let mut tau = 0.5 * (low + high);
    for _ in 0..100 {
        let ((below, below_slope), (above, above_slope)) = sums(origin, tau);
        let value = 1.0 + below + above;
        if value.abs() <= 4.0 * f64::EPSILON * (1.0 - below + above) {
            break;
        }
        if value < 0.0 {
            low = tau;
        } else {
            high = tau;
        }
        // below ≈ r + s / (left − τ), above likewise with the pole on the right.
        let (to_left, to_right) = (left - tau, right - tau);
        let s = below_slope * to_left * to_left;
        let (c, guess);
        if last {
            c = 1.0 + below - below_slope * to_left;
            guess = left + s / c;
        } else {
            let t = above_slope * to_right * to_right;
            c = 1.0 + below - below_slope * to_left + above - above_slope * to_right;
            // c (left − x)(right − x) + s (right − x) + t (left − x) = 0, in x' = x − τ.
            let b = c * (to_left + to_right) + s + t;
            let product = c * to_left * to_right + s * to_right + t * to_left;
            let discriminant = (b * b - 4.0 * c * product).max(0.0).sqrt();
            let q = 0.5 * (b + discriminant.copysign(b));
            let (one, two) = (tau + q / c, tau + product / q);
            guess = if two > low && two < high { two } else { one };
        }
        let inside = guess > low && guess < high;
        let next = if inside { guess } else { 0.5 * (low + high) };
        if next == tau || !(next > low && next < high) {
            break;
        }
        tau = next;
    }
    (origin, tau)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    fn check(spectrum: &Eigendecomposition, sum: &[f64], n: usize, bound: f64) {
        let largest = spectrum.values.iter().copied().fold(0.0, f64::max);
        for i in 0..n {
            for j in 0..n {
                let (mut entry, mut product) = (0.0, 0.0);
                spectrum.each(|value, vector| entry += value * vector[i] * vector[j]);
                for k in 0..n {
                    product += spectrum.vectors[i * n + k] * spectrum.vectors[j * n + k];
                }
                assert!(
                    (entry - sum[i * n + j]).abs() <= bound * largest,
                    "{i}, {j}: {entry}, {}",
                    sum[i * n + j]
                );
                assert!((product - f64::from(u8::from(i == j))).abs() <= bound, "{i}, {j}: {product}");
            }
        }
    }

    /// After many vectors, some of them alike, some with few numbers, some tiny: A is Σ g gᵀ and Q is orthogonal.
    #[test]
    fn many_updates_keep_the_sum_and_the_right_angles() {
        let (n, mut random) = (12, Random::new(5, 0));
        let (mut spectrum, mut work, mut sum) = (Eigendecomposition::default(), Work::default(), vec![0.0; n * n]);
        spectrum.grow(7);
        spectrum.grow(n);
        for round in 0..3000 {
            let mut g: Vec<f64> = (0..n).map(|_| random.unit() - 0.5).collect();
            match round % 5 {
                0 => g.iter_mut().skip(round % n).for_each(|g| *g = 0.0),
                1 => g.fill(0.25),
                2 => g.iter_mut().for_each(|g| *g *= 1e-9),
                3 => g.iter_mut().enumerate().for_each(|(k, g)| *g *= 10f64.powi(k as i32 % 5)),
                _ => {}
            }
            for i in 0..n {
                for j in 0..n {
                    sum[i * n + j] += g[i] * g[j];
                }
            }
            assert!(spectrum.propose(&g, &mut work));
            spectrum.commit(&mut work);
            if round < 30 || round % 500 == 0 {
                check(&spectrum, &sum, n, 1e-12);
            }
        }
        check(&spectrum, &sum, n, 1e-12);
    }

    #[test]
    fn one_update_by_hand() {
        // A = diag(1, 3) + (1, 1)(1, 1)ᵀ = [[2, 1], [1, 4]]: μ = 3 ± √2.
        let mut spectrum = Eigendecomposition { values: vec![1.0, 3.0], vectors: vec![1.0, 0.0, 0.0, 1.0] };
        let mut work = Work::default();
        assert!(spectrum.propose(&[1.0, 1.0], &mut work));
        spectrum.commit(&mut work);
        assert!((spectrum.values[0] - (3.0 - 2f64.sqrt())).abs() < 1e-15);
        assert!((spectrum.values[1] - (3.0 + 2f64.sqrt())).abs() < 1e-15);
        check(&spectrum, &[2.0, 1.0, 1.0, 4.0], 2, 1e-15);
    }
}
