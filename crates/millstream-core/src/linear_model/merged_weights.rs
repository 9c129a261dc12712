//! The rules by which the weights of two linear models are merged.
//!
//! * By count: the mean of both weights by number of examples. A feature that only one model has met keeps its weight.
//! * By curvature: the mean by the sum of squared gradients of each weight, as AdaGrad keeps it; the sums are added. A
//!   weight with many or steep gradients is better known.
//! * By precision: weights are normal with a precision Λ each, which starts at Λ₀. The product of both distributions,
//!   with the prior counted once, has Λ = Λ₁ + Λ₂ − Λ₀ and Λ w = Λ₁ w₁ + Λ₂ w₂ − Λ₀ w₀: the minimum of the sum of KL
//!   divergences, not of variances.
//!
//! With a base, numbers of examples and sums of squares are those since the base, and it is Λ₀, w₀ above.

/// One weight in the three models; None where a model has not met the feature.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Three<T> {
    pub ours: Option<T>,
    pub theirs: Option<T>,
    pub base: Option<T>,
}

impl<T> Three<T> {
    pub fn map<U>(self, number: impl Fn(T) -> U) -> Three<U> {
        Three { ours: self.ours.map(&number), theirs: self.theirs.map(&number), base: self.base.map(&number) }
    }
}

/// By count; `fraction` is ours.
pub fn by_count(weights: Three<f64>, fraction: f64) -> f64 {
    match (weights.ours, weights.theirs) {
        (Some(ours), Some(theirs)) => fraction * ours + (1.0 - fraction) * theirs,
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => weights.base.unwrap_or(0.0),
    }
}

/// By curvature: (weight, sum of squared gradients) of each model.
pub fn by_curvature(cells: Three<(f64, f64)>) -> (f64, f64) {
    let (base_weight, base_sum) = cells.base.unwrap_or((0.0, 0.0));
    let (ours, theirs) = (cells.ours.unwrap_or((0.0, base_sum)), cells.theirs.unwrap_or((0.0, base_sum)));
    let (a, b) = ((ours.1 - base_sum).max(0.0), (theirs.1 - base_sum).max(0.0));
    let weight = if a + b > 0.0 { (a * ours.0 + b * theirs.0) / (a + b) } else { base_weight };
    (weight, base_sum + a + b)
}

/// By precision: (weight, variance) of each model; `prior` is the initial variance.
pub fn by_precision(cells: Three<(f64, f64)>, prior: f64) -> (f64, f64) {
    let (base_weight, base_variance) = cells.base.unwrap_or((0.0, prior));
    let start = (base_weight, base_variance);
    let (ours, theirs) = (cells.ours.unwrap_or(start), cells.theirs.unwrap_or(start));
    let (a, b, c) = (1.0 / ours.1, 1.0 / theirs.1, 1.0 / base_variance);
    let precision = a + b - c;
    // Models that inflate their variances may know less than the prior: then the prior is not subtracted.
    if precision < 0.5 * a.min(b) {
        return ((a * ours.0 + b * theirs.0) / (a + b), 2.0 / (a + b));
    }
    ((a * ours.0 + b * theirs.0 - c * base_weight) / precision, 1.0 / precision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three<T>(ours: T, theirs: T) -> Three<T> {
        Three { ours: Some(ours), theirs: Some(theirs), base: None }
    }

    /// 30 and 10 examples: ¾ · 2 + ¼ · 6 = 3. A feature that only one model has met keeps its weight.
    #[test]
    fn by_count_by_hand() {
        assert_eq!(by_count(three(2.0, 6.0), 0.75), 3.0);
        assert_eq!(by_count(Three { ours: None, theirs: Some(6.0), base: None }, 0.75), 6.0);
    }

    /// Squares 3 and 1: (3 · 2 + 1 · 6) / 4 = 3, and 4 squares. From a base with 1 square and weight 0, the squares since
    /// are 2 and 0: the weight is ours, and the squares are 1 + 2.
    #[test]
    fn by_curvature_by_hand() {
        assert_eq!(by_curvature(three((2.0, 3.0), (6.0, 1.0))), (3.0, 4.0));
        let since = Three { base: Some((0.0, 1.0)), ..three((2.0, 3.0), (6.0, 1.0)) };
        assert_eq!(by_curvature(since), (2.0, 3.0));
    }

    /// Variances ½ and ¼, prior 1: precision 2 + 4 − 1 = 5 and weight (2 · 2 + 4 · 6 − 0) / 5 = 28/5. A base with weight 1
    /// and variance ½ instead of the prior: 2 + 4 − 2 = 4 and (4 + 24 − 2) / 4 = 13/2. Merging a model that has learned
    /// nothing changes nothing.
    #[test]
    fn by_precision_by_hand() {
        assert_eq!(by_precision(three((2.0, 0.5), (6.0, 0.25)), 1.0), (5.6, 0.2));
        let since = Three { base: Some((1.0, 0.5)), ..three((2.0, 0.5), (6.0, 0.25)) };
        assert_eq!(by_precision(since, 1.0), (6.5, 0.25));
        assert_eq!(by_precision(Three { ours: Some((2.0, 0.5)), theirs: None, base: None }, 1.0), (2.0, 0.5));
    }
}
