//! The two-sample Kolmogorov-Smirnov test of each feature (Smirnov, 1939), corrected for the number of features.
//!
//! Sees any change of a feature's own distribution. Nominal features, which have no order, are compared by a chi-square
//! test of their values; a share of missing values that has changed counts too. The reference is sorted once; a check
//! sorts the current window and goes through both.

use crate::declaration::{Declaration, Role};
use crate::schema::Kind;

use super::bins::distinct;
use super::cells::{fisher, Cells, Divergence};
use super::detector::{build, Comparison, Found, Sample, Windows};
use super::finding::{greatest, Finding, Level, Significance};
use super::kolmogorov;
use super::parameters::{significance, ALPHA, ALPHA_WARNING, CHECK_INTERVAL, CORRECTION, REFERENCE};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::rows::Rows;

pub static KS_TEST: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "Kolmogorov-Smirnov test of each feature, without labels",
    parameters: &[REFERENCE_SIZE, WINDOW_SIZE, CHECK_INTERVAL, REFERENCE, ALPHA, ALPHA_WARNING, CORRECTION],
    build: |arguments| Ok(build(Windows::of(arguments)?, KsTest { significance: significance(arguments)? })),
};

const NAME: &str = "drift.KSTest";

#[derive(Clone)]
struct KsTest {
    significance: Significance,
}

/// The tests of all features by themselves; detectors that look at rows as a whole name features by them.
#[derive(Clone, Default)]
pub struct Marginals {
    /// The reference by slot: numbers in ascending order, without those that are missing.
    sorted: Vec<Vec<f64>>,
    cells: Cells,
    column: Vec<f64>,
    order: Vec<u32>,
}

impl Marginals {
    pub fn study(&mut self, reference: &Rows, kinds: &[Kind]) {
        self.sorted.resize_with(kinds.len(), Vec::new);
        for (slot, sorted) in self.sorted.iter_mut().enumerate() {
            reference.column(slot, sorted);
            sorted.sort_unstable_by(f64::total_cmp);
        }
    }

    pub fn compare(&mut self, sample: &Sample<'_>, findings: &mut [Finding]) {
        let Marginals { sorted, cells, column, .. } = self;
        let (n, m) = (sample.reference.len(), sample.current.len());
        for (slot, (finding, sorted)) in findings.iter_mut().zip(sorted.iter()).enumerate() {
            let missing = (n - sorted.len().min(n), sample.current.column(slot, column));
            column.sort_unstable_by(f64::total_cmp);
            if sample.kinds.get(slot) == Some(&Kind::Nominal) {
                cells.clear();
                cells.missing = (missing.0 as f64, missing.1 as f64);
                distinct(sorted, column, cells);
                if let Some((statistic, p_value)) = cells.test(Divergence::ChiSquare) {
                    // Scaled to [0, 1], so that it stands beside distances of distributions: Cramér's V.
                    let share = (statistic / (n + m) as f64).clamp(0.0, 1.0).sqrt();
                    *finding = Finding::new(share, p_value);
                }
            } else {
                *finding = numbers(sorted, column, missing, n, m).unwrap_or(Finding::UNTESTED);
            }
        }
    }

    pub fn judge(&mut self, significance: &Significance, findings: &mut [Finding]) -> Level {
        significance.judge(findings, 0.0, &mut self.order)
    }

    pub fn memory(&self) -> usize {
        let sorted: usize = self.sorted.iter().map(Vec::capacity).sum();
        (sorted + self.column.capacity() + self.order.capacity()) * 8 + self.cells.memory()
    }
}

impl Comparison for KsTest {
    type Study = Marginals;

    fn name(&self) -> &'static str {
        NAME
    }

    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Marginals) {
        study.study(reference, kinds);
    }

    fn compare(&self, study: &mut Marginals, sample: &Sample<'_>, findings: &mut [Finding]) -> Found {
        study.compare(sample, findings);
        let level = study.judge(&self.significance, findings);
        Found { level, estimation: greatest(findings) }
    }

    fn memory(study: &Marginals) -> usize {
        study.memory()
    }
}

/// Of a number: the distance of the values that are there, and whether more or fewer are missing.
fn numbers(sorted: &[f64], column: &[f64], missing: (usize, usize), n: usize, m: usize) -> Option<Finding> {
    let present = !sorted.is_empty() && !column.is_empty();
    let distance = if present { kolmogorov::distance(sorted, column) } else { 0.0 };
    let p_value = kolmogorov::tail(distance, sorted.len(), column.len());
    if missing == (0, 0) {
        return Some(Finding::new(distance, p_value));
    }
    if missing == (n, m) {
        return None;
    }
    let (n, m) = (n as f64, m as f64);
    let (a, b) = (missing.0 as f64, missing.1 as f64);
    let absence = fisher(a, b, n, m);
    if present && p_value <= absence {
        return Some(Finding::new(distance, (2.0 * p_value).min(1.0)));
    }
    // The distance of two distributions over missing and present.
    let tests = if present { 2.0 } else { 1.0 };
    Some(Finding::new((a / n - b / m).abs(), (tests * absence).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use serde_json::json;

    /// Reference 1, 2 and current 3, 4 in one feature, and 1, 2 against 1, 2 in another: distances 1 and 0. Of six orders
    /// of two and two, two have distance 1: p = 1/3, corrected for two features 2/3. With α = 0.9 that is a change, and
    /// it began with the first row of the window.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({
            "reference_size": 2, "window_size": 2, "check_interval": 1, "alpha": 0.9, "alpha_warning": 0.95,
        });
        let mut detector = detector("drift.KSTest", parameters);
        plain(&mut *detector, &[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 1.0]]);
        assert!(!detector.verdict().drift && detector.findings().is_empty());
        plain(&mut *detector, &[&[4.0, 2.0]]);
        assert!(detector.verdict().drift);
        assert_eq!(detector.verdict().since, 2);
        let [first, second] = detector.findings() else { panic!("two features") };
        assert_eq!((first.statistic, first.moved), (1.0, true));
        assert!((first.p_value - 1.0 / 3.0).abs() < 1e-15 && (first.adjusted - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!((second.statistic, second.p_value, second.moved), (0.0, 1.0, false));
        assert_eq!(detector.estimation(), 1.0);
        // The two rows are the new reference, and two like them no change.
        plain(&mut *detector, &[&[3.0, 1.0], &[4.0, 2.0]]);
        assert!(!detector.verdict().drift);
        assert_eq!(detector.findings()[0].statistic, 0.0);
        assert_eq!(detector.drifted()[0].statistic, 1.0);
    }
}
