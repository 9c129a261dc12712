//! Counts of two windows in the same cells, and the test of whether both come from one distribution.
//!
//! Three measures of the distance of the fractions p and q, of n and m rows: the chi-square statistic of the 2 × c table;
//! the population stability index Σ (p − q) ln(p / q) (Kullback's symmetric divergence, 1959); and the Hellinger
//! distance √(1 − Σ √(p q)). To second order all three are Σ (p − q)² / p, but for a factor, so without
//! drift n m / (n + m) times PSI, and 8 n m / (n + m) times the square of the Hellinger distance, have the same chi-square
//! distribution with c − 1 degrees of freedom (Yurdakul, 2018, for PSI; Pardo, 2006, for all such divergences). In the
//! tails that a correction for many features needs, this holds for the chi-square statistic only: with 500 and 200
//! rows in ten cells the others exceed the quantile for 1 in 10,000 two to three times as often, with 1000 and 100 rows
//! eight times. So the p-value is that of the chi-square test for every measure.
//!
//! The approximation needs large enough cells. Values with an expected count below five in the smaller window are pooled.
//! Fisher's exact test checks whether they, and missing values, have become more or less frequent.

use crate::numeric::incomplete_gamma::chi_square_tail;
use crate::numeric::quantiles::ln_gamma;

/// Cells with smaller expected counts are pooled (Cochran's rule).
const MIN_EXPECTED: f64 = 5.0;

/// A measure of the distance between two windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    ChiSquare,
    Psi,
    Hellinger,
}

/// Counts of the reference and of the current window, cell by cell.
#[derive(Clone, Debug, Default)]
pub struct ContingencyTable {
    pairs: Vec<(f64, f64)>,
    /// Counts of missing values in both.
    pub missing: (f64, f64),
}

impl ContingencyTable {
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.missing = (0.0, 0.0);
    }

    pub fn push(&mut self, reference: f64, current: f64) {
        self.pairs.push((reference, current));
    }

    pub fn memory(&self) -> usize {
        self.pairs.capacity() * std::mem::size_of::<(f64, f64)>()
    }

    /// The statistic and its p-value; none if a window is empty.
    pub fn test(&mut self, divergence: Divergence) -> Option<(f64, f64)> {
        let add = |a: (f64, f64), b: &(f64, f64)| (a.0 + b.0, a.1 + b.1);
        let (n, m) = self.pairs.iter().fold(self.missing, add);
        if n == 0.0 || m == 0.0 {
            return None;
        }
        // Expected counts in the smaller window.
        let fraction = n.min(m) / (n + m);
        let expected = |pair: &(f64, f64)| (pair.0 + pair.1) * fraction;
        let mut rare = (0.0, 0.0);
        self.pairs.retain(|pair| {
            let keep = expected(pair) >= MIN_EXPECTED;
            if !keep {
                rare = add(rare, pair);
            }
            keep
        });
        let missing = self.missing;
        let rest = add(rare, &missing);
        if expected(&rest) >= MIN_EXPECTED {
            self.pairs.push(rest);
        }
        let (statistic, mut p_value) = self.compare(divergence);
        let mut tests = 1.0;
        for apart in [missing, rare] {
            if apart.0 + apart.1 > 0.0 {
                tests += 1.0;
                p_value = p_value.min(fisher(apart.0, apart.1, n, m));
            }
        }
        // The minimum of several p-values, with Bonferroni's correction.
        Some((statistic, (tests * p_value).min(1.0)))
    }

    /// The statistic over the present cells, and the p-value of their chi-square test.
    fn compare(&self, divergence: Divergence) -> (f64, f64) {
        let (n, m) = self.pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if n == 0.0 || m == 0.0 {
            return (0.0, 1.0);
        }
        let fractions = || self.pairs.iter().map(|&(a, b)| (a / n, b / m));
        let pooled = |p: f64, q: f64| (p * n + q * m) / (n + m);
        let square = n * m / (n + m) * fractions().map(|(p, q)| (p - q) * (p - q) / pooled(p, q)).sum::<f64>();
        let statistic = match divergence {
            Divergence::ChiSquare => square,
            // A cell that is empty in one window counts half a row there, which keeps the logarithm finite.
            Divergence::Psi => fractions()
                .map(|(p, q)| (p.max(0.5 / n), q.max(0.5 / m)))
                .map(|(p, q)| (p - q) * (p / q).ln())
                .sum(),
            Divergence::Hellinger => (1.0 - fractions().map(|(p, q)| (p * q).sqrt()).sum::<f64>()).max(0.0).sqrt(),
        };
        let degrees = self.pairs.len().saturating_sub(1);
        (statistic, if degrees == 0 { 1.0 } else { chi_square_tail(square, degrees as f64) })
    }
}

/// Fisher's exact test, two-sided: the probability that of a + b rows with a property among n + m, at most or at least a
/// are among the n; twice the smaller tail.
pub fn fisher(a: f64, b: f64, n: f64, m: f64) -> f64 {
    let (below, above) = tails(a, b, n, m);
    (2.0 * below.min(above)).min(1.0)
}

/// The probabilities of at most and of at least `a`.
pub fn tails(a: f64, b: f64, n: f64, m: f64) -> (f64, f64) {
    let (marked, total) = (a + b, n + m);
    let choose = |n: f64, k: f64| ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    let here = (choose(n, a) + choose(m, b) - choose(total, marked)).exp();
    let (least, most) = ((marked - m).max(0.0), marked.min(n));
    let (mut below, mut above) = (here, here);
    let mut term = here;
    let mut k = a;
    // From k to k − 1, while the terms are not negligible.
    while k > least && term > 1e-20 * below {
        term *= k * (m - marked + k) / ((marked - k + 1.0) * (n - k + 1.0));
        below += term;
        k -= 1.0;
    }
    (term, k) = (here, a);
    while k < most && term > 1e-20 * above {
        term *= (marked - k) * (n - k) / ((k + 1.0) * (m - marked + k + 1.0));
        above += term;
        k += 1.0;
    }
    (below.min(1.0), above.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(pairs: &[(f64, f64)]) -> ContingencyTable {
        ContingencyTable { pairs: pairs.to_vec(), missing: (0.0, 0.0) }
    }

    /// 30 and 10 against 10 and 30: fractions 3/4, 1/4 and 1/4, 3/4. Expected are 20 in each cell, so χ² = 4 · 10² / 20 = 20,
    /// with one degree of freedom. PSI = 2 · ½ ln 3 = ln 3. Hellinger: 1 − 2 √(3/16) = 1 − √3/2.
    #[test]
    fn worked_by_hand() {
        let pairs = [(30.0, 10.0), (10.0, 30.0)];
        let near = |found: Option<(f64, f64)>, statistic: f64| {
            let (got, p_value) = found.expect("cells");
            assert!((got - statistic).abs() < 1e-14, "{got} {statistic}");
            assert!((p_value / chi_square_tail(20.0, 1.0) - 1.0).abs() < 1e-12);
        };
        near(cells(&pairs).test(Divergence::ChiSquare), 20.0);
        near(cells(&pairs).test(Divergence::Psi), 3f64.ln());
        near(cells(&pairs).test(Divergence::Hellinger), (1.0 - 3f64.sqrt() / 2.0).sqrt());
        assert_eq!(cells(&[(0.0, 3.0)]).test(Divergence::Psi), None);
        assert_eq!(cells(&[(9.0, 30.0)]).test(Divergence::Psi), Some((0.0, 1.0)));
    }

    /// Three of three and none of three: one table in C(6, 3) = 20, twice.
    #[test]
    fn fisher_by_hand() {
        assert!((fisher(3.0, 0.0, 3.0, 3.0) - 0.1).abs() < 1e-13);
        assert!((fisher(0.0, 3.0, 3.0, 3.0) - 0.1).abs() < 1e-13);
        assert_eq!(fisher(2.0, 2.0, 4.0, 4.0), 1.0);
        // Small cells are pooled and tested: 3 of 43 against 0 of 40, beside one cell that is no evidence.
        let found = cells(&[(40.0, 40.0), (3.0, 0.0)]).test(Divergence::ChiSquare).expect("cells");
        assert!((found.1 - (2.0 * fisher(3.0, 0.0, 43.0, 40.0)).min(1.0)).abs() < 1e-15);
    }
}
