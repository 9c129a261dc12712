//! A detector by clusters: do the newest rows fall into the clusters of the reference as its own rows do?
//!
//! Half of the reference, drawn at random, is clustered; the other half and the newest rows are each given to the nearest
//! cluster. A chi-square test compares how many fall into which (in the manner of partitions such as QuantTree's:
//! Boracchi, Carrera, Cervellera and Macciò, 2018), and a Kolmogorov-Smirnov test how far they are from it, which sees
//! rows that are new to all clusters. Both are of rows that were not clustered, so both keep their level; the smaller
//! p-value counts twice. How much a feature says is how far the mean of the clusters, and the distance within them,
//! has moved along it, as a share of all.

use crate::declaration::{Declaration, Role};
use crate::parameter::{Default as DefaultValue, Kind as ParameterKind, Parameter};
use crate::schema::Kind;

use super::cells::{Cells, Divergence};
use super::detector::{build, Comparison, Found, Sample, Windows};
use super::finding::{name_at_least_one, share_out, Finding, Significance};
use super::k_means::Clusters;
use super::kolmogorov;
use super::ks::Marginals;
use super::parameters::{significance, ALPHA, ALPHA_WARNING, CHECK_INTERVAL, CORRECTION, REFERENCE};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::rows::{part_of, Rows};
use super::space::Space;

pub static CLUSTER_DRIFT: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "do new rows fall into the clusters of the old as these did?",
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        Parameter::new(
            "n_clusters",
            ParameterKind::Integer { low: 1, high: 1000 },
            DefaultValue::Integer(8),
            "clusters of the reference",
        ),
        ALPHA,
        ALPHA_WARNING,
        CORRECTION,
        Parameter::new(
            "seed",
            ParameterKind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(0),
            "of the first centroids",
        ),
    ],
    build: |arguments| {
        let comparison = ClusterDrift {
            clusters: arguments.size("n_clusters")?,
            seed: arguments.integer("seed")? as u64,
            significance: significance(arguments)?,
        };
        Ok(build(Windows::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.ClusterDrift";

/// The most rows that are clustered.
const MOST: usize = 5000;

#[derive(Clone)]
struct ClusterDrift {
    clusters: usize,
    seed: u64,
    significance: Significance,
}

#[derive(Clone, Default)]
struct Study {
    marginals: Marginals,
    space: Space,
    clusters: Clusters,
    /// Of the rows of the reference that were not clustered.
    usual: Seen,
    now: Seen,
    cells: Cells,
    placed: Vec<f64>,
}

/// How some rows fall into clusters.
#[derive(Clone, Debug, Default)]
struct Seen {
    counts: Vec<f64>,
    /// To the nearest cluster, in ascending order.
    distances: Vec<f64>,
    /// By feature, the means over rows: the place of the nearest cluster, and the part of the distance to it.
    centres: Vec<f64>,
    parts: Vec<f64>,
}

impl Seen {
    fn see<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]>,
        space: &Space,
        clusters: &Clusters,
        placed: &mut Vec<f64>,
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
            space.place(row, placed);
            let (cluster, distance) = clusters.nearest(space, placed);
            if let Some(count) = self.counts.get_mut(cluster) {
                *count += 1.0;
            }
            self.distances.push(distance);
            for (slot, (&x, &centre)) in placed.iter().zip(clusters.centroid(cluster)).enumerate() {
                self.parts[slot] += space.part(slot, x, centre);
                // Codes have no mean.
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

impl Comparison for ClusterDrift {
    type Study = Study;

    fn name(&self) -> &'static str {
        NAME
    }

    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Study) {
        study.marginals.study(reference, kinds);
        study.space = Space::new(reference, kinds);
        let step = reference.len().div_ceil(2).div_ceil(MOST).max(1);
        let half = |part: u32| (0..reference.len()).filter(move |&place| part_of(place, 2) == part);
        let mut rows = Vec::new();
        for place in half(0).step_by(step) {
            study.space.place(reference.row(place), &mut study.placed);
            rows.extend_from_slice(&study.placed);
        }
        study.clusters.fit(&study.space, &rows, kinds.len(), self.clusters, self.seed);
        let others = half(1).map(|place| reference.row(place));
        study.usual.see(others, &study.space, &study.clusters, &mut study.placed, kinds.len());
    }

    fn compare(&self, study: &mut Study, sample: &Sample<'_>, findings: &mut [Finding]) -> Found {
        let Study { marginals, space, clusters, usual, now, cells, placed } = study;
        now.see(sample.current.iter(), space, clusters, placed, findings.len());
        let (n, m) = (usual.distances.len(), now.distances.len());
        cells.clear();
        let mut apart = 0.0;
        for (&a, &b) in usual.counts.iter().zip(&now.counts) {
            cells.push(a, b);
            apart += 0.5 * (a / n.max(1) as f64 - b / m.max(1) as f64).abs();
        }
        let counted = cells.test(Divergence::ChiSquare).map_or(1.0, |found| found.1);
        let farther = match n.min(m) {
            0 => 1.0,
            _ => kolmogorov::tail(kolmogorov::distance(&usual.distances, &now.distances), n, m),
        };
        let level = self.significance.level((2.0 * counted.min(farther)).min(1.0));
        marginals.compare(sample, findings);
        let moved = |slot: usize| {
            let centre = now.centres[slot] - usual.centres[slot];
            centre * centre + (now.parts[slot] - usual.parts[slot]).abs()
        };
        share_out(findings, (0..now.centres.len()).map(moved));
        marginals.judge(&self.significance, findings);
        name_at_least_one(findings, level);
        Found { level, estimation: apart }
    }

    fn memory(study: &Study) -> usize {
        study.marginals.memory()
            + study.space.memory()
            + study.clusters.memory()
            + study.usual.memory()
            + study.now.memory()
            + study.cells.memory()
            + study.placed.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use super::*;
    use serde_json::json;

    /// Two clusters, at 0 and 10, that rows fall into in turn; then all fall into the second. Of the rows that were not
    /// clustered about half are in each, of the newest none and all: the shares are about ½ apart. The second feature is
    /// constant, so that the first says all.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({
            "reference_size": 80, "window_size": 40, "check_interval": 40, "n_clusters": 2,
        });
        let mut detector = detector(NAME, parameters);
        let row = |place: i32| [f64::from((place / 2) % 2 * 10) + f64::from(place % 7) * 0.1, 1.0];
        (0..120).for_each(|place| plain(&mut *detector, &[&row(place)]));
        assert!(!detector.verdict().drift && detector.estimation() < 0.3);
        (0..40).for_each(|place| plain(&mut *detector, &[&[10.0 + f64::from(place % 7) * 0.1, 1.0]]));
        assert!((detector.estimation() - 0.5).abs() < 0.2);
        assert!(detector.verdict().drift);
        assert!(detector.drifted()[0].moved && !detector.drifted()[1].moved);
        assert_eq!(detector.drifted()[0].statistic, 1.0);
    }
}
