//! The population stability index, Hellinger's distance and the chi-square test of each feature.
//!
//! Numbers are counted between quantiles of the reference, nominal values by themselves, missing values in a cell of
//! their own. A feature has moved if the chi-square test of its counts is significant, corrected for the number of
//! features, and its distance reaches the threshold: windows of thousands of rows find differences that do not matter.
//! `cells` has the measures.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind as ParameterKind, Parameter};
use crate::schema::Kind;

use super::bins::{count, distinct, quantiles};
use super::cells::{Cells, Divergence};
use super::detector::{build, Comparison, Found, Sample, Windows};
use super::finding::{greatest, Finding, Significance};
use super::parameters::{significance, ALPHA, ALPHA_WARNING, CHECK_INTERVAL, CORRECTION, REFERENCE};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::rows::Rows;

pub static PSI: Declaration = Declaration {
    name: "drift.PSI",
    role: Role::FeatureDriftDetector,
    words: "population stability index of each feature, without labels",
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        BINS,
        threshold(0.2, "the least index that counts as moved, however significant"),
        ALPHA,
        ALPHA_WARNING,
        CORRECTION,
    ],
    build: |arguments| binned(arguments, Divergence::Psi),
};

pub static HELLINGER_DISTANCE: Declaration = Declaration {
    name: "drift.HellingerDistance",
    role: Role::FeatureDriftDetector,
    words: "Hellinger distance of each feature, without labels",
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        BINS,
        threshold(0.1, "the least distance that counts as moved, however significant"),
        ALPHA,
        ALPHA_WARNING,
        CORRECTION,
    ],
    build: |arguments| binned(arguments, Divergence::Hellinger),
};

pub static CHI_SQUARE_TEST: Declaration = Declaration {
    name: "drift.ChiSquareTest",
    role: Role::FeatureDriftDetector,
    words: "chi-square test of each feature, without labels",
    parameters: &[REFERENCE_SIZE, WINDOW_SIZE, CHECK_INTERVAL, REFERENCE, BINS, ALPHA, ALPHA_WARNING, CORRECTION],
    build: |arguments| binned(arguments, Divergence::ChiSquare),
};

const BINS: Parameter = Parameter::new(
    "bins",
    ParameterKind::Integer { low: 2, high: 1000 },
    DefaultValue::Integer(10),
    "between how many quantiles of the reference numbers are counted",
);

const fn threshold(default: f64, words: &'static str) -> Parameter {
    Parameter::new("threshold", ParameterKind::Float(Bounds::NOT_NEGATIVE), DefaultValue::Float(default), words)
}

fn binned(arguments: &Arguments<'_>, divergence: Divergence) -> Result<Built> {
    let threshold = match divergence {
        Divergence::ChiSquare => 0.0,
        _ => arguments.float("threshold")?,
    };
    let comparison =
        Binned { divergence, bins: arguments.size("bins")?, threshold, significance: significance(arguments)? };
    Ok(build(Windows::of(arguments)?, comparison))
}

#[derive(Clone)]
struct Binned {
    divergence: Divergence,
    bins: usize,
    threshold: f64,
    significance: Significance,
}

/// One feature of the reference.
#[derive(Clone, Default)]
struct Old {
    /// Codes of a nominal feature, in ascending order.
    values: Vec<f64>,
    edges: Vec<f64>,
    counts: Vec<u32>,
    missing: usize,
}

#[derive(Clone, Default)]
struct Study {
    features: Vec<Old>,
    cells: Cells,
    column: Vec<f64>,
    counts: Vec<u32>,
    order: Vec<u32>,
}

impl Comparison for Binned {
    type Study = Study;

    fn name(&self) -> &'static str {
        match self.divergence {
            Divergence::Psi => PSI.name,
            Divergence::Hellinger => HELLINGER_DISTANCE.name,
            Divergence::ChiSquare => CHI_SQUARE_TEST.name,
        }
    }

    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Study) {
        study.features.resize_with(kinds.len(), Old::default);
        for (slot, (old, &kind)) in study.features.iter_mut().zip(kinds).enumerate() {
            old.missing = reference.column(slot, &mut old.values);
            old.values.sort_unstable_by(f64::total_cmp);
            if kind != Kind::Nominal {
                quantiles(&old.values, self.bins, &mut old.edges);
                count(&old.values, &old.edges, &mut old.counts);
            }
        }
    }

    fn compare(&self, study: &mut Study, sample: &Sample<'_>, findings: &mut [Finding]) -> Found {
        let Study { features, cells, column, counts, order } = study;
        for (slot, (finding, old)) in findings.iter_mut().zip(features.iter()).enumerate() {
            let missing = sample.current.column(slot, column);
            cells.clear();
            cells.missing = (old.missing as f64, missing as f64);
            if sample.kinds.get(slot) == Some(&Kind::Nominal) {
                column.sort_unstable_by(f64::total_cmp);
                distinct(&old.values, column, cells);
            } else {
                count(column, &old.edges, counts);
                for (&a, &b) in old.counts.iter().zip(counts.iter()) {
                    cells.push(f64::from(a), f64::from(b));
                }
            }
            if let Some((statistic, p_value)) = cells.test(self.divergence) {
                *finding = Finding::new(statistic, p_value);
            }
        }
        let level = self.significance.judge(findings, self.threshold, order);
        Found { level, estimation: greatest(findings) }
    }

    fn memory(study: &Study) -> usize {
        let of = |old: &Old| (old.values.capacity() + old.edges.capacity() + old.counts.capacity()) * 8;
        let features: usize = study.features.iter().map(of).sum();
        features
            + study.cells.memory()
            + (study.column.capacity() + study.counts.capacity() + study.order.capacity()) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use serde_json::json;

    /// Reference 1, …, 20 in two bins, with the edge 10; of the current 20 rows, 15 are below it: 10, 10 against 15, 5.
    /// Expected are 12.5 and 7.5: χ² = 2 · (2.5² / 12.5 + 2.5² / 7.5) = 8/3. PSI = ¼ ln(1.5) + ¼ ln 2 = ¼ ln 3.
    /// Hellinger: 1 − √(½ · ¾) − √(½ · ¼).
    #[test]
    fn worked_by_hand() {
        let numbers: Vec<f64> = (1..=20).chain(std::iter::repeat_n(5, 15)).chain([15; 5]).map(f64::from).collect();
        let rows: Vec<&[f64]> = numbers.iter().map(std::slice::from_ref).collect();
        let parameters = json!({ "reference_size": 20, "window_size": 20, "check_interval": 1, "bins": 2 });
        let overlap = 0.375f64.sqrt() + 0.125f64.sqrt();
        for (name, statistic) in [
            ("drift.ChiSquareTest", 8.0 / 3.0),
            ("drift.PSI", 0.25 * 3f64.ln()),
            ("drift.HellingerDistance", (1.0 - overlap).sqrt()),
        ] {
            let mut detector = detector(name, parameters.clone());
            plain(&mut *detector, &rows);
            let found = detector.findings()[0];
            assert!((found.statistic - statistic).abs() < 1e-12, "{name} {}", found.statistic);
            let p_value = crate::numeric::incomplete_gamma::chi_square_tail(8.0 / 3.0, 1.0);
            assert!((found.p_value - p_value).abs() < 1e-12, "{name} {}", found.p_value);
            assert!(!detector.verdict().drift && !found.moved);
        }
    }
}
