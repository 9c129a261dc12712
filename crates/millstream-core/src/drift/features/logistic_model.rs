//! A logistic model of the window that a row is from, with equal weight for both windows.
//!
//! Minimises Σ w ln(1 + e^(−y z)) + λ/2 |β|² with λ = 1 / rows by Nesterov's accelerated gradient (1983), a fixed number
//! of steps: its ranking converges long before its weights.

const STEPS: usize = 30;

/// Concatenated rows of `width` standardized numbers.
pub struct Examples<'a> {
    pub values: &'a [f64],
    pub width: usize,
    /// Whether a row is from the current window.
    pub new: &'a [bool],
}

#[derive(Clone, Debug, Default)]
pub struct LogisticModel {
    /// The last weight is the intercept.
    pub weights: Vec<f64>,
    ahead: Vec<f64>,
    gradient: Vec<f64>,
}

impl LogisticModel {
    pub fn score(&self, row: &[f64]) -> f64 {
        score(&self.weights, row)
    }

    /// Fit the rows for which `take` is true.
    pub fn fit(&mut self, examples: &Examples<'_>, take: impl Fn(usize) -> bool + Copy) {
        let width = examples.width;
        let rows = move || {
            let values = examples.values.chunks_exact(width.max(1));
            values.zip(examples.new).enumerate().filter(move |(row, _)| take(*row)).map(|(_, example)| example)
        };
        for buffer in [&mut self.weights, &mut self.ahead, &mut self.gradient] {
            buffer.clear();
            buffer.resize(width + 1, 0.0);
        }
        if width == 0 {
            return;
        }
        let count = |new: bool| rows().filter(|(_, &is)| is == new).count().max(1) as f64;
        let row_weights = [0.5 / count(false), 0.5 / count(true)];
        let penalty = 1.0 / rows().count().max(1) as f64;
        let bound = self.steepest(rows(), row_weights, width);
        // The curvature of the logistic loss is at most 1/4; the bound is found by iteration, so a margin is added.
        let step = 1.0 / (0.25 * 1.2 * bound + penalty);
        let mut momentum = 1.0f64;
        for _ in 0..STEPS {
            self.gradient.fill(0.0);
            for (row, &new) in rows() {
                let z = score(&self.ahead, row);
                let probability = 1.0 / (1.0 + (-z).exp());
                let slope = row_weights[usize::from(new)] * (probability - f64::from(u8::from(new)));
                for (gradient, x) in self.gradient.iter_mut().zip(row) {
                    *gradient += slope * x;
                }
                self.gradient[width] += slope;
            }
            let next = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let push = (momentum - 1.0) / next;
            for ((weight, ahead), &gradient) in self.weights.iter_mut().zip(&mut self.ahead).zip(&self.gradient) {
                let stepped = *ahead - step * (gradient + penalty * *ahead);
                *ahead = stepped + push * (stepped - *weight);
                *weight = stepped;
            }
            momentum = next;
        }
    }

    /// The largest eigenvalue of the weighted second moments, by power iteration.
    fn steepest<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r [f64], &'r bool)> + Clone,
        row_weights: [f64; 2],
        width: usize,
    ) -> f64 {
        let mut greatest = 1.0;
        let direction = &mut self.ahead;
        direction.fill(1.0);
        for _ in 0..10 {
            self.gradient.fill(0.0);
            for (row, &new) in rows.clone() {
                let along = row_weights[usize::from(new)] * score(direction, row);
                for (sum, x) in self.gradient.iter_mut().zip(row) {
                    *sum += along * x;
                }
                self.gradient[width] += along;
            }
            let norm = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            let length = norm(&self.gradient);
            if length == 0.0 {
                break;
            }
            greatest = length / norm(direction).max(f64::MIN_POSITIVE);
            direction.iter_mut().zip(&self.gradient).for_each(|(to, from)| *to = from / length);
        }
        direction.fill(0.0);
        greatest.max(1.0)
    }

    pub fn memory(&self) -> usize {
        (self.weights.capacity() + self.ahead.capacity() + self.gradient.capacity()) * 8
    }
}

/// The intercept and Σ β x, in four independent sums.
#[inline]
fn score(weights: &[f64], row: &[f64]) -> f64 {
    let constant = weights.get(row.len()).copied().unwrap_or(0.0);
    let (weights, rest) = weights.as_chunks::<4>();
    let (row, row_rest) = row.as_chunks::<4>();
    let mut sums = [0.0f64; 4];
    for (weight, x) in weights.iter().zip(row) {
        for lane in 0..4 {
            sums[lane] += weight[lane] * x[lane];
        }
    }
    // The intercept may complete the last four, so that the rest is among them or after them.
    let left = weights.get(row.len()).map_or(rest, |last| &last[..]);
    let rest: f64 = left.iter().zip(row_rest).map(|(weight, x)| weight * x).sum();
    constant + (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ±1 with their own sign as the class, ½ ln(1 + e^−β) twice is the loss: with λ = 1/2 the best β solves
    /// 1 / (1 + e^β) = β / 2, which is 0.8128…; the constant is 0.
    #[test]
    fn worked_by_hand() {
        let examples = Examples { values: &[-1.0, 1.0], width: 1, new: &[false, true] };
        let mut logistic = LogisticModel::default();
        logistic.fit(&examples, |_| true);
        let beta = logistic.weights[0];
        assert!((1.0 / (1.0 + beta.exp()) - beta / 2.0).abs() < 1e-6, "{beta}");
        assert!(logistic.weights[1].abs() < 1e-12);
        assert!(logistic.score(&[1.0]) > 0.0);
        let weights: Vec<f64> = (0..10).map(f64::from).collect();
        for width in 0..10 {
            // 0·1 + … + (width − 1)·1, and the constant `width`.
            assert_eq!(score(&weights[..=width], &vec![1.0; width]), (width * (width + 1) / 2) as f64);
        }
    }
}
