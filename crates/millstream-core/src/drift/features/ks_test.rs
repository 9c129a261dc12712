//! The two-sample Kolmogorov-Smirnov test of each feature (Smirnov, 1939), corrected for the number of features.
//!
//! It detects any change of the distribution of a feature. Nominal features, which have no order, are compared by a
//! chi-square test of their values. A change of the fraction of missing values counts too. The reference is sorted once;
//! a check sorts the current window and merges both.

use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::schema::FeatureKind;

use super::binning::distinct;
use super::contingency_table::{fisher, ContingencyTable, Divergence};
use super::finding::{greatest, Finding, Level, SignificanceLevels};
use super::kolmogorov_smirnov;
use super::parameters::{
    significance_levels, CHECK_INTERVAL, CORRECTION, REFERENCE, SIGNIFICANCE, WARNING_SIGNIFICANCE,
};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::row_window::RowWindow;
use super::window_comparison::{build, ComparisonResult, Sample, WindowComparison, WindowSettings};

pub static KS_TEST: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "Kolmogorov-Smirnov test of each feature, without labels",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| {
        Ok(build(WindowSettings::of(arguments)?, KsTest { significance: significance_levels(arguments)? }))
    },
};

const NAME: &str = "drift.KSTest";

#[derive(Clone)]
struct KsTest {
    significance: SignificanceLevels,
}

/// The tests of single features; multivariate detectors use them to name the drifted features.
#[derive(Clone, Default)]
pub struct Marginals {
    /// The reference by slot: sorted numbers, without missing values.
    sorted: Vec<Vec<f64>>,
    cells: ContingencyTable,
    column: Vec<f64>,
    order: Vec<u32>,
}

impl Marginals {
    pub fn fit_reference(&mut self, reference: &RowWindow, kinds: &[FeatureKind]) {
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
            if sample.kinds.get(slot) == Some(&FeatureKind::Nominal) {
                cells.clear();
                cells.missing = (missing.0 as f64, missing.1 as f64);
                distinct(sorted, column, cells);
                if let Some((statistic, p_value)) = cells.test(Divergence::ChiSquare) {
                    // Cramér's V: scaled to [0, 1], comparable with distances of distributions.
                    let scaled = (statistic / (n + m) as f64).clamp(0.0, 1.0).sqrt();
                    *finding = Finding::new(scaled, p_value);
                }
            } else {
                *finding = numbers(sorted, column, missing, n, m).unwrap_or(Finding::UNTESTED);
            }
        }
    }

    pub fn judge(&mut self, significance: &SignificanceLevels, findings: &mut [Finding]) -> Level {
        significance.judge(findings, 0.0, &mut self.order)
    }

    pub fn memory(&self) -> usize {
        let sorted: usize = self.sorted.iter().map(Vec::capacity).sum();
        (sorted + self.column.capacity() + self.order.capacity()) * 8 + self.cells.memory()
    }
}

impl WindowComparison for KsTest {
    type FittedReference = Marginals;

    fn name(&self) -> &'static str {
        NAME
    }

    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut Marginals) {
        fitted.fit_reference(reference, kinds);
    }

    fn compare(&self, fitted: &mut Marginals, sample: &Sample<'_>, findings: &mut [Finding]) -> ComparisonResult {
        fitted.compare(sample, findings);
        let level = fitted.judge(&self.significance, findings);
        ComparisonResult { level, estimation: greatest(findings) }
    }

    fn memory(fitted: &Marginals) -> usize {
        fitted.memory()
    }
}

/// The finding for a number: the distance of the present values, and the change of the count of missing values.
fn numbers(sorted: &[f64], column: &[f64], missing: (usize, usize), n: usize, m: usize) -> Option<Finding> {
    let present = !sorted.is_empty() && !column.is_empty();
    let distance = if present { kolmogorov_smirnov::distance(sorted, column) } else { 0.0 };
    let p_value = kolmogorov_smirnov::tail(distance, sorted.len(), column.len());
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
    /// of two and two, two have distance 1: p = 1/3, corrected for two features 2/3. With α = 0.9 that is drift, and
    /// the change point is the first row of the window.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({
            "reference_size": 2, "window_size": 2, "check_interval": 1, "significance": 0.9, "warning_significance": 0.95,
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
        // The two rows are the new reference, and two equal rows are no drift.
        plain(&mut *detector, &[&[3.0, 1.0], &[4.0, 2.0]]);
        assert!(!detector.verdict().drift);
        assert_eq!(detector.findings()[0].statistic, 0.0);
        assert_eq!(detector.drifted()[0].statistic, 1.0);
    }
}
