//! OCDD, the one-class drift detector (Gözüaçık and Can, 2021): the fraction of outliers among the newest rows.
//!
//! A one-class support vector machine learns two thirds of the reference (at most 500 rows); the rest gives the expected
//! fraction of outliers. From `min_effect` on, the paper's ρ, there is drift, if the fraction also exceeds the expected
//! one significantly (Fisher's exact test, one-sided). The contribution of a feature is its distance to the nearest
//! support vector, in excess of that of the reference rows that were not learned, as a fraction of the sum.

use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::schema::FeatureKind;

use super::contingency_table::tails;
use super::feature_space::FeatureSpace;
use super::finding::{mark_at_least_one, normalize_statistics, Finding, Level, SignificanceLevels};
use super::ks_test::Marginals;
use super::one_class_svm::OneClassSvm;
use super::parameters::{
    significance_levels, CHECK_INTERVAL, CORRECTION, REFERENCE, SIGNIFICANCE, WARNING_SIGNIFICANCE,
};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::row_window::{part_of, RowWindow};
use super::window_comparison::{build, ComparisonResult, Sample, WindowComparison, WindowSettings};

pub static OCDD: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "One-class drift detector: the fraction of new rows that are outliers among the old ones",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        Parameter::new(
            "nu",
            Kind::Float(Bounds::OPEN_UNIT),
            DefaultValue::Float(0.1),
            "fraction of outliers among the training rows",
        ),
        Parameter::new(
            "min_effect",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.3),
            "smallest fraction of outliers that counts as drift, however significant",
        )
        .formerly(&["threshold"]),
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| {
        let comparison = OneClassDetector {
            nu: arguments.float("nu")?,
            min_effect: arguments.float("min_effect")?,
            significance: significance_levels(arguments)?,
        };
        Ok(build(WindowSettings::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.OCDD";

/// Maximum number of training rows: the cost is quadratic in it.
const MOST: usize = 500;

#[derive(Clone)]
struct OneClassDetector {
    nu: f64,
    min_effect: f64,
    significance: SignificanceLevels,
}

#[derive(Clone, Default)]
struct FittedReference {
    marginals: Marginals,
    space: FeatureSpace,
    model: OneClassSvm,
    /// The profile of the reference rows that were not learned.
    expected: OutlierProfile,
    standardized: Vec<f64>,
}

/// Counts of rows and outliers, and the mean distance of each feature to the support.
#[derive(Clone, Debug, Default)]
struct OutlierProfile {
    rows: f64,
    outliers: f64,
    parts: Vec<f64>,
}

impl FittedReference {
    fn measure<'r>(&mut self, rows: impl Iterator<Item = &'r [f64]>, width: usize) -> OutlierProfile {
        let mut seen = OutlierProfile { parts: vec![0.0; width], ..OutlierProfile::default() };
        for row in rows {
            self.space.standardize(row, &mut self.standardized);
            seen.rows += 1.0;
            let score = self.model.score(&self.space, &self.standardized, &mut seen.parts);
            seen.outliers += f64::from(u8::from(score < 0.0));
        }
        seen.parts.iter_mut().for_each(|part| *part /= f64::max(seen.rows, 1.0));
        seen
    }
}

impl WindowComparison for OneClassDetector {
    type FittedReference = FittedReference;

    fn name(&self) -> &'static str {
        NAME
    }

    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut FittedReference) {
        fitted.marginals.fit_reference(reference, kinds);
        fitted.space = FeatureSpace::new(reference, kinds);
        let learned = |index: &usize| part_of(*index, 3) > 0;
        let candidates = (0..reference.len()).filter(learned).count();
        let step = candidates.div_ceil(MOST).max(1);
        let (mut rows, mut count) = (Vec::new(), 0);
        for index in (0..reference.len()).filter(learned).step_by(step) {
            fitted.space.standardize(reference.row(index), &mut fitted.standardized);
            rows.extend_from_slice(&fitted.standardized);
            count += 1;
        }
        fitted.model.fit(&fitted.space, &rows, kinds.len(), count, self.nu);
        let others = (0..reference.len()).filter(|index| !learned(index)).map(|index| reference.row(index));
        fitted.expected = fitted.measure(others, kinds.len());
    }

    fn compare(
        &self,
        fitted: &mut FittedReference,
        sample: &Sample<'_>,
        findings: &mut [Finding],
    ) -> ComparisonResult {
        let seen = fitted.measure(sample.current.iter(), findings.len());
        let fraction = seen.outliers / f64::max(seen.rows, 1.0);
        let expected = &fitted.expected;
        let p_value = tails(expected.outliers, seen.outliers, expected.rows, seen.rows).0;
        let level = if fraction >= self.min_effect { self.significance.level(p_value) } else { Level::Nothing };
        fitted.marginals.compare(sample, findings);
        normalize_statistics(
            findings,
            seen.parts.iter().zip(&expected.parts).map(|(now, before)| (now - before).max(0.0)),
        );
        fitted.marginals.judge(&self.significance, findings);
        mark_at_least_one(findings, level);
        ComparisonResult { level, estimation: fraction }
    }

    fn memory(fitted: &FittedReference) -> usize {
        fitted.marginals.memory()
            + fitted.space.memory()
            + fitted.model.memory()
            + (fitted.expected.parts.capacity() + fitted.standardized.capacity()) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use super::*;
    use serde_json::json;

    /// Rows on a small grid, then distant rows: all of these are outliers, due to the second feature.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({ "reference_size": 60, "window_size": 20, "check_interval": 20 });
        let mut detector = detector(NAME, parameters);
        let row = |index: i32, far: f64| [f64::from(index % 5), f64::from(index / 3 % 4) + far];
        (0..80).for_each(|index| plain(&mut *detector, &[&row(index, 0.0)]));
        assert!(detector.estimation() < 0.5 && !detector.verdict().drift);
        (0..20).for_each(|index| plain(&mut *detector, &[&row(index, 50.0)]));
        assert_eq!(detector.estimation(), 1.0);
        assert!(detector.verdict().drift);
        assert!(detector.drifted()[1].moved && detector.drifted()[1].statistic > 0.99);
        assert!(!detector.drifted()[0].moved);
    }
}
