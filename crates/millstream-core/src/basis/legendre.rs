//! Polynomials up to an order on an interval: Legendre's, which are orthogonal there, and the same in any other basis.
//!
//! ```text
//! ψ_k(x) = √((2k + 1) / (high − low)) P_k(t),  t = (2x − low − high) / (high − low)
//! b_{k+1} ψ_{k+1} = t ψ_k − b_k ψ_{k−1},  b_k = k / √(4k² − 1)
//! ```

/// ψ of one interval, with the coefficients of its recurrence.
#[derive(Clone, Debug)]
pub struct Orthonormal {
    middle: f64,
    scale: f64,
    first: f64,
    /// 1 / b_{k+1} and b_k / b_{k+1}
    steps: Vec<(f64, f64)>,
}

impl Orthonormal {
    pub fn new(order: usize, low: f64, high: f64) -> Self {
        let b = |k: usize| k as f64 / ((4 * k * k) as f64 - 1.0).abs().sqrt();
        let steps = (0..order).map(|k| (1.0 / b(k + 1), b(k) / b(k + 1))).collect();
        let width = high - low;
        Orthonormal { middle: low + 0.5 * width, scale: 2.0 / width, first: 1.0 / width.sqrt(), steps }
    }

    /// x on the scale where the interval is [−1, 1].
    #[inline]
    pub fn scaled(&self, x: f64) -> f64 {
        (x - self.middle) * self.scale
    }

    #[inline]
    pub fn write(&self, x: f64, out: &mut [f64]) {
        let t = self.scaled(x);
        let (mut before, mut last) = (0.0, self.first);
        let Some((first, rest)) = out.split_first_mut() else { return };
        *first = last;
        for (out, &(forward, back)) in rest.iter_mut().zip(&self.steps) {
            (before, last) = (last, forward * t * last - back * before);
            *out = last;
        }
    }

    /// The coefficients of ψ in another basis of the same polynomials, a lower triangle by rows. `multiply` gives
    /// those of t times a polynomial from those of the polynomial; the first function of the basis is 1.
    pub fn transition(&self, multiply: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
        let size = self.steps.len() + 1;
        let mut triangle = Vec::with_capacity(size * (size + 1) / 2);
        let (mut before, mut last): (Vec<f64>, Vec<f64>) = (vec![], vec![self.first]);
        triangle.push(self.first);
        for &(forward, back) in &self.steps {
            let mut next = multiply(&last);
            next.iter_mut().for_each(|c| *c *= forward);
            for (next, before) in next.iter_mut().zip(&before) {
                *next -= back * before;
            }
            triangle.extend_from_slice(&next);
            (before, last) = (last, next);
        }
        triangle
    }

    /// t = slope · x + offset
    pub fn line(&self) -> (f64, f64) {
        (self.scale, -self.middle * self.scale)
    }

    pub fn memory(&self) -> usize {
        self.steps.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On [0, 2] at x = 1.5: t = 0.5, P₂(t) = (3/4 − 1)/2 = −1/8, ψ = (√(1/2), √(3/2)/2, −√(5/2)/8).
    #[test]
    fn by_hand() {
        let mut out = [0.0; 3];
        Orthonormal::new(2, 0.0, 2.0).write(1.5, &mut out);
        let wanted = [0.5f64.sqrt(), 1.5f64.sqrt() / 2.0, -(2.5f64.sqrt()) / 8.0];
        for (got, wanted) in out.iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-15, "{got} {wanted}");
        }
    }
}
