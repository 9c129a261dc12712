//! The population stability index, the Hellinger distance and the chi-square test of each feature.
//!
//! Numbers are binned by quantiles of the reference; each nominal value has a cell, and so have missing values. A feature
//! has drifted if the chi-square test of its counts is significant, corrected for the number of features, and its effect
//! size reaches `min_effect`: in windows of thousands of rows irrelevant differences are significant too. The measures are
//! in `contingency_table`.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::schema::FeatureKind;

use super::binning::{count, distinct, quantiles};
use super::contingency_table::{ContingencyTable, Divergence};
use super::finding::{greatest, Finding, SignificanceLevels};
use super::parameters::{
    significance_levels, CHECK_INTERVAL, CORRECTION, REFERENCE, SIGNIFICANCE, WARNING_SIGNIFICANCE,
};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::row_window::RowWindow;
use super::window_comparison::{build, ComparisonResult, Sample, WindowComparison, WindowSettings};

pub static PSI: Declaration = Declaration {
    name: "drift.PSI",
    role: Role::FeatureDriftDetector,
    words: "Population stability index of each feature, without labels",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        N_BINS,
        min_effect(0.2, "smallest index that counts as drift, however significant"),
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| binned(arguments, Divergence::Psi),
};

pub static HELLINGER_DISTANCE: Declaration = Declaration {
    name: "drift.HellingerDistance",
    role: Role::FeatureDriftDetector,
    words: "Hellinger distance of each feature, without labels",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        N_BINS,
        min_effect(0.1, "smallest distance that counts as drift, however significant"),
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| binned(arguments, Divergence::Hellinger),
};

pub static CHI_SQUARE_TEST: Declaration = Declaration {
    name: "drift.ChiSquareTest",
    role: Role::FeatureDriftDetector,
    words: "Chi-square test of each feature, without labels",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        N_BINS,
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| binned(arguments, Divergence::ChiSquare),
};

const N_BINS: Parameter = Parameter::new(
    "n_bins",
    Kind::Integer { low: 2, high: 1000 },
    DefaultValue::Integer(10),
    "number of bins of a numeric feature, between quantiles of the reference",
)
.formerly(&["bins"]);

const fn min_effect(default: f64, words: &'static str) -> Parameter {
    Parameter::new("min_effect", Kind::Float(Bounds::NOT_NEGATIVE), DefaultValue::Float(default), words)
        .formerly(&["threshold"])
}

fn binned(arguments: &Arguments<'_>, divergence: Divergence) -> Result<Built> {
    let min_effect = match divergence {
        Divergence::ChiSquare => 0.0,
        _ => arguments.float("min_effect")?,
    };
    let comparison = Binned {
        divergence,
        bins: arguments.size("n_bins")?,
        min_effect,
        significance: significance_levels(arguments)?,
    };
    Ok(build(WindowSettings::of(arguments)?, comparison))
}

#[derive(Clone)]
struct Binned {
    divergence: Divergence,
    bins: usize,
    min_effect: f64,
    significance: SignificanceLevels,
}

/// One feature of the reference.
#[derive(Clone, Default)]
struct ReferenceFeature {
    /// Codes of a nominal feature, in ascending order.
    values: Vec<f64>,
    edges: Vec<f64>,
    counts: Vec<u32>,
    missing: usize,
}

#[derive(Clone, Default)]
struct FittedReference {
    features: Vec<ReferenceFeature>,
    cells: ContingencyTable,
    column: Vec<f64>,
    counts: Vec<u32>,
    order: Vec<u32>,
}

impl WindowComparison for Binned {
    type FittedReference = FittedReference;

    fn name(&self) -> &'static str {
        match self.divergence {
            Divergence::Psi => PSI.name,
            Divergence::Hellinger => HELLINGER_DISTANCE.name,
            Divergence::ChiSquare => CHI_SQUARE_TEST.name,
        }
    }

    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut FittedReference) {
        fitted.features.resize_with(kinds.len(), ReferenceFeature::default);
        for (slot, (old, &kind)) in fitted.features.iter_mut().zip(kinds).enumerate() {
            old.missing = reference.column(slot, &mut old.values);
            old.values.sort_unstable_by(f64::total_cmp);
            if kind != FeatureKind::Nominal {
                quantiles(&old.values, self.bins, &mut old.edges);
                count(&old.values, &old.edges, &mut old.counts);
            }
        }
    }

    fn compare(
        &self,
        fitted: &mut FittedReference,
        sample: &Sample<'_>,
        findings: &mut [Finding],
    ) -> ComparisonResult {
        let FittedReference { features, cells, column, counts, order } = fitted;
        for (slot, (finding, old)) in findings.iter_mut().zip(features.iter()).enumerate() {
            let missing = sample.current.column(slot, column);
            cells.clear();
            cells.missing = (old.missing as f64, missing as f64);
            if sample.kinds.get(slot) == Some(&FeatureKind::Nominal) {
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
        let level = self.significance.judge(findings, self.min_effect, order);
        ComparisonResult { level, estimation: greatest(findings) }
    }

    fn memory(fitted: &FittedReference) -> usize {
        let of =
            |old: &ReferenceFeature| (old.values.capacity() + old.edges.capacity() + old.counts.capacity()) * 8;
        let features: usize = fitted.features.iter().map(of).sum();
        features
            + fitted.cells.memory()
            + (fitted.column.capacity() + fitted.counts.capacity() + fitted.order.capacity()) * 8
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
        let parameters = json!({ "reference_size": 20, "window_size": 20, "check_interval": 1, "n_bins": 2 });
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
