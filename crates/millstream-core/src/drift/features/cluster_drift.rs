//! A detector by clusters: it compares how the newest rows and the reference are distributed over clusters.
//!
//! A random half of the reference is clustered; the other half and the newest rows are assigned to the nearest cluster. A
//! chi-square test compares the cluster counts (as partitions such as QuantTree do: Boracchi, Carrera, Cervellera and
//! Macciò, 2018), and a Kolmogorov-Smirnov test the distances to the clusters, which detects rows that are new to all
//! clusters. Both use rows that were not clustered, so both keep their significance level; the smaller p-value is doubled.
//! The contribution of a feature is the change of the mean centroid, and of the distance within clusters, along it, as a
//! fraction of the sum.

use crate::cluster::lloyd::{KMeans, Search, WeightedRows};
use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::schema::FeatureKind;

use super::contingency_table::{ContingencyTable, Divergence};
use super::feature_space::FeatureSpace;
use super::finding::{mark_at_least_one, normalize_statistics, Finding, SignificanceLevels};
use super::kolmogorov_smirnov;
use super::ks_test::Marginals;
use super::parameters::{
    significance_levels, CHECK_INTERVAL, CORRECTION, REFERENCE, SIGNIFICANCE, WARNING_SIGNIFICANCE,
};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::row_window::{part_of, RowWindow};
use super::window_comparison::{build, ComparisonResult, Sample, WindowComparison, WindowSettings};

pub static CLUSTER_DRIFT: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "Compares the distribution of new and old rows over clusters",
    merge: Merge::DETECTOR,
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        Parameter::new(
            "n_clusters",
            Kind::Integer { low: 1, high: 1000 },
            DefaultValue::Integer(8),
            "number of clusters of the reference",
        ),
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(0),
            "seed of the initial centroids",
        ),
    ],
    build: |arguments| {
        let comparison = ClusterDrift {
            clusters: arguments.size("n_clusters")?,
            seed: arguments.integer("seed")? as u64,
            significance: significance_levels(arguments)?,
        };
        Ok(build(WindowSettings::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.ClusterDrift";

/// Maximum number of clustered rows.
const MOST: usize = 5000;
/// Clusters converge long before.
const ROUNDS: usize = 30;
/// Random stream of the initial centroids.
const SEEDS: u64 = 0x4b4d_4541;

#[derive(Clone)]
struct ClusterDrift {
    clusters: usize,
    seed: u64,
    significance: SignificanceLevels,
}

#[derive(Clone, Default)]
struct FittedReference {
    marginals: Marginals,
    space: FeatureSpace,
    clusters: KMeans,
    /// The profile of the reference rows that were not clustered.
    expected: ClusterProfile,
    now: ClusterProfile,
    cells: ContingencyTable,
    standardized: Vec<f64>,
}

/// The distribution of rows over clusters.
#[derive(Clone, Debug, Default)]
struct ClusterProfile {
    counts: Vec<f64>,
    /// Sorted distances to the nearest cluster.
    distances: Vec<f64>,
    /// Means over rows, by feature: the nearest centroid, and its part of the distance.
    centres: Vec<f64>,
    parts: Vec<f64>,
}

impl ClusterProfile {
    fn measure<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]>,
        space: &FeatureSpace,
        clusters: &KMeans,
        standardized: &mut Vec<f64>,
        width: usize,
    ) {
        self.distances.clear();
        for (numbers, length) in
            [(&mut self.counts, clusters.len()), (&mut self.centres, width), (&mut self.parts, width)]
        {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
        for row in rows {
            space.standardize(row, standardized);
            let (cluster, distance) = clusters.nearest(space, standardized);
            if let Some(count) = self.counts.get_mut(cluster) {
                *count += 1.0;
            }
            self.distances.push(distance);
            for (slot, (&x, &centre)) in standardized.iter().zip(clusters.centroid(cluster)).enumerate() {
                self.parts[slot] += space.part(slot, x, centre);
                // Nominal codes have no mean.
                self.centres[slot] += if space.is_nominal(slot) || centre.is_nan() { 0.0 } else { centre };
            }
        }
        let rows = self.distances.len().max(1) as f64;
        self.centres.iter_mut().chain(&mut self.parts).for_each(|sum| *sum /= rows);
        self.distances.sort_unstable_by(f64::total_cmp);
    }

    fn memory(&self) -> usize {
        let numbers = self.counts.capacity() + self.distances.capacity();
        (numbers + self.centres.capacity() + self.parts.capacity()) * 8
    }
}

impl WindowComparison for ClusterDrift {
    type FittedReference = FittedReference;

    fn name(&self) -> &'static str {
        NAME
    }

    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut FittedReference) {
        fitted.marginals.fit_reference(reference, kinds);
        fitted.space = FeatureSpace::new(reference, kinds);
        let step = reference.len().div_ceil(2).div_ceil(MOST).max(1);
        let half = |part: u32| (0..reference.len()).filter(move |&index| part_of(index, 2) == part);
        let mut rows = Vec::new();
        for index in half(0).step_by(step) {
            fitted.space.standardize(reference.row(index), &mut fitted.standardized);
            rows.extend_from_slice(&fitted.standardized);
        }
        let rows = WeightedRows { values: &rows, width: kinds.len(), weights: None };
        let search = Search { most: self.clusters, candidates: 1, rounds: ROUNDS };
        fitted.clusters.fit(&fitted.space, rows, search, &mut Random::new(self.seed, SEEDS));
        let others = half(1).map(|index| reference.row(index));
        fitted.expected.measure(others, &fitted.space, &fitted.clusters, &mut fitted.standardized, kinds.len());
    }

    fn compare(
        &self,
        fitted: &mut FittedReference,
        sample: &Sample<'_>,
        findings: &mut [Finding],
    ) -> ComparisonResult {
        let FittedReference { marginals, space, clusters, expected, now, cells, standardized } = fitted;
        now.measure(sample.current.iter(), space, clusters, standardized, findings.len());
        let (n, m) = (expected.distances.len(), now.distances.len());
        cells.clear();
        let mut apart = 0.0;
        for (&a, &b) in expected.counts.iter().zip(&now.counts) {
            cells.push(a, b);
            apart += 0.5 * (a / n.max(1) as f64 - b / m.max(1) as f64).abs();
        }
        let counted = cells.test(Divergence::ChiSquare).map_or(1.0, |found| found.1);
        let farther = match n.min(m) {
            0 => 1.0,
            _ => kolmogorov_smirnov::tail(kolmogorov_smirnov::distance(&expected.distances, &now.distances), n, m),
        };
        let level = self.significance.level((2.0 * counted.min(farther)).min(1.0));
        marginals.compare(sample, findings);
        let moved = |slot: usize| {
            let centre = now.centres[slot] - expected.centres[slot];
            centre * centre + (now.parts[slot] - expected.parts[slot]).abs()
        };
        normalize_statistics(findings, (0..now.centres.len()).map(moved));
        marginals.judge(&self.significance, findings);
        mark_at_least_one(findings, level);
        ComparisonResult { level, estimation: apart }
    }

    fn memory(fitted: &FittedReference) -> usize {
        fitted.marginals.memory()
            + fitted.space.memory()
            + fitted.clusters.memory()
            + fitted.expected.memory()
            + fitted.now.memory()
            + fitted.cells.memory()
            + fitted.standardized.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use super::*;
    use serde_json::json;

    /// Two clusters, at 0 and 10, that rows belong to in turn; then all belong to the second. About half of the rows that
    /// were not clustered are in each, of the newest none and all: the fractions differ by about ½. The second feature is
    /// constant, so that the first contributes everything.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({
            "reference_size": 80, "window_size": 40, "check_interval": 40, "n_clusters": 2,
        });
        let mut detector = detector(NAME, parameters);
        let row = |index: i32| [f64::from((index / 2) % 2 * 10) + f64::from(index % 7) * 0.1, 1.0];
        (0..120).for_each(|index| plain(&mut *detector, &[&row(index)]));
        assert!(!detector.verdict().drift && detector.estimation() < 0.3);
        (0..40).for_each(|index| plain(&mut *detector, &[&[10.0 + f64::from(index % 7) * 0.1, 1.0]]));
        assert!((detector.estimation() - 0.5).abs() < 0.2);
        assert!(detector.verdict().drift);
        assert!(detector.drifted()[0].moved && !detector.drifted()[1].moved);
        assert_eq!(detector.drifted()[0].statistic, 1.0);
    }
}
