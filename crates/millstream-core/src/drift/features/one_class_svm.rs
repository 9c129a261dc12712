//! The ν one-class support vector machine (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, 2001) with a Gaussian
//! kernel: an estimate of the region where rows are dense.
//!
//! Minimises ½ αᵀKα with 0 ≤ α ≤ 1 and Σ α = ν n (their equation 3.13, scaled as in LIBSVM) by steps in the pair
//! of α that violates the optimality conditions most (Platt, 1998; Keerthi and others, 2001). f(x) = Σ α k(x, xᵢ) − ρ
//! is negative for an outlier; about a fraction ν of the training rows are outliers.

use super::feature_space::FeatureSpace;

/// Maximum violation of the optimality conditions.
const TOLERANCE: f64 = 1e-6;

#[derive(Clone, Debug, Default)]
pub struct OneClassSvm {
    width: usize,
    gamma: f64,
    /// Rows with α above 0, concatenated, and their α.
    support: Vec<f64>,
    alphas: Vec<f64>,
    offset: f64,
    distances: Vec<f64>,
}

impl OneClassSvm {
    /// Fit standardized rows, concatenated.
    pub fn fit(&mut self, space: &FeatureSpace, rows: &[f64], width: usize, count: usize, nu: f64) {
        self.width = width;
        self.gamma = 1.0 / width.max(1) as f64;
        let row = |at: usize| rows.get(at * width..(at + 1) * width).unwrap_or_default();
        let mut kernel = vec![1.0; count * count];
        for i in 0..count {
            for j in 0..i {
                let value = (-self.gamma * space.distance(row(i), row(j))).exp();
                kernel[i * count + j] = value;
                kernel[j * count + i] = value;
            }
        }
        let mut alphas = vec![0.0; count];
        let mut rest = nu * count as f64;
        for alpha in &mut alphas {
            *alpha = f64::min(1.0, rest);
            rest -= *alpha;
        }
        self.offset = minimize(&kernel, &mut alphas);
        self.support.clear();
        self.alphas.clear();
        for (at, &alpha) in alphas.iter().enumerate().filter(|(_, &alpha)| alpha > 0.0) {
            self.alphas.push(alpha);
            self.support.extend_from_slice(row(at));
        }
    }

    fn supports(&self) -> impl Iterator<Item = (&[f64], f64)> {
        let row = |at: usize| self.support.get(at * self.width..(at + 1) * self.width).unwrap_or_default();
        self.alphas.iter().enumerate().map(move |(at, &alpha)| (row(at), alpha))
    }

    /// f(x); adds to `parts` the distance of each feature to the nearest support vector.
    pub fn score(&mut self, space: &FeatureSpace, x: &[f64], parts: &mut [f64]) -> f64 {
        let mut distances = std::mem::take(&mut self.distances);
        distances.clear();
        distances.extend(self.supports().map(|(row, _)| space.distance(row, x)));
        let mut nearest = (f64::INFINITY, 0);
        let mut sum = 0.0;
        for (at, (&distance, &alpha)) in distances.iter().zip(&self.alphas).enumerate() {
            if distance < nearest.0 {
                nearest = (distance, at);
            }
            sum += alpha * (-self.gamma * distance).exp();
        }
        if let Some((row, _)) = self.supports().nth(nearest.1) {
            for (slot, (part, (&a, &b))) in parts.iter_mut().zip(row.iter().zip(x)).enumerate() {
                *part += space.part(slot, a, b);
            }
        }
        self.distances = distances;
        sum - self.offset
    }

    pub fn memory(&self) -> usize {
        (self.support.capacity() + self.alphas.capacity() + self.distances.capacity()) * 8
    }
}

/// Minimise, and return ρ.
fn minimize(kernel: &[f64], alphas: &mut [f64]) -> f64 {
    let n = alphas.len();
    let row = |i: usize| &kernel[i * n..(i + 1) * n];
    let mut gradient: Vec<f64> =
        (0..n).map(|i| row(i).iter().zip(alphas.iter()).map(|(k, alpha)| k * alpha).sum()).collect();
    for _ in 0..200 * n {
        // The best α to increase, and the best to decrease.
        let (mut grow, mut shrink): (Option<usize>, Option<usize>) = (None, None);
        for (i, (&g, &alpha)) in gradient.iter().zip(alphas.iter()).enumerate() {
            if alpha < 1.0 && grow.is_none_or(|best| g < gradient[best]) {
                grow = Some(i);
            }
            if alpha > 0.0 && shrink.is_none_or(|best| g > gradient[best]) {
                shrink = Some(i);
            }
        }
        let (Some(i), Some(j)) = (grow, shrink) else { break };
        let slope = gradient[j] - gradient[i];
        if slope < TOLERANCE {
            break;
        }
        let curvature = (2.0 - 2.0 * row(i)[j]).max(1e-12);
        let step = (slope / curvature).min(1.0 - alphas[i]).min(alphas[j]);
        // Set a bound exactly when it is reached.
        alphas[i] = if step == 1.0 - alphas[i] { 1.0 } else { alphas[i] + step };
        alphas[j] = if step == alphas[j] { 0.0 } else { alphas[j] - step };
        for (g, (&a, &b)) in gradient.iter_mut().zip(row(i).iter().zip(row(j))) {
            *g += step * (a - b);
        }
    }
    // f is 0 on the boundary of the dense region; if no row is on it, midway between inside and outside.
    let (mut sum, mut free) = (0.0, 0.0);
    let (mut inside, mut outside) = (f64::INFINITY, f64::NEG_INFINITY);
    for (&g, &alpha) in gradient.iter().zip(alphas.iter()) {
        if alpha <= 0.0 {
            inside = inside.min(g);
        } else if alpha >= 1.0 {
            outside = outside.max(g);
        } else {
            sum += g;
            free += 1.0;
        }
    }
    match (free > 0.0, inside.is_finite(), outside.is_finite()) {
        (true, _, _) => sum / free,
        (_, true, true) => 0.5 * (inside + outside),
        (_, true, false) => inside,
        (_, false, true) => outside,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows, of which two are alike (k = 1) and one is far from both (k = 0), ν = 2/3: Σ α = 2. ½ αᵀKα is
    /// ½ (a + b)² + ½ c², so a + b = c = 1. ρ is the common gradient, 1.
    #[test]
    fn worked_by_hand() {
        let kernel = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let mut alphas = [1.0, 1.0, 0.0];
        let offset = minimize(&kernel, &mut alphas);
        assert!((alphas[0] + alphas[1] - 1.0).abs() < 1e-9 && (alphas[2] - 1.0).abs() < 1e-9, "{alphas:?}");
        assert!((offset - 1.0).abs() < 1e-9);
        assert_eq!(minimize(&[], &mut []), 0.0);
    }
}
