//! Metrics that compare two partitions of the same rows: clusters with classes, whatever their names.
//!
//! With the weight fractions p_ij of outcomes of class i in cluster j, and the margins a_i and b_j:
//!
//! | metric | value |
//! |---|---|
//! | Rand | fraction of pairs of outcomes on which the partitions agree (Rand, 1971) |
//! | AdjustedRand | its excess over chance as a fraction of the largest one (Hubert and Arabie, 1985, eq. 5) |
//! | FowlkesMallows | geometric mean of the precision and recall of pairs (Fowlkes and Mallows, 1983) |
//! | Homogeneity, Completeness | I / H(a), I / H(b), 1 if the entropy is 0 (Rosenberg and Hirschberg, 2007) |
//! | VMeasure | (1 + β) h c / (β h + c) of homogeneity h and completeness c (the same, section 2) |
//! | NormalizedMutualInfo | I / ½ (H(a) + H(b)), 1 if both are 0: the V-measure with β = 1 |
//!
//! with the entropy H and the mutual information I = Σ p_ij ln(p_ij / (a_i b_j)). A pair of outcomes has the product of their
//! weights, so that the value does not depend on the unit of the weights. With the sum q of the squares of the weight
//! fractions, twice the weight of the pairs within cells, classes and clusters is Σ p_ij² − q, Σ a_i² − q, Σ b_j² − q, of all
//! pairs 1 − q. A missing prediction is a cluster of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sums::Sum;
use super::wants_labels;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::metric::{ClassOutcome, Metric, Outcome};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::schema::Schema;

/// The cluster of outcomes without a prediction.
const NOTHING: u32 = u32::MAX;
/// Largest number of pairs of a class and a cluster.
const MOST_CELLS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Agreement {
    Rand,
    AdjustedRand,
    FowlkesMallows,
    Homogeneity,
    Completeness,
    /// β
    VMeasure(f64),
    NormalizedMutualInfo,
}

const BETA: Parameter = Parameter::new(
    "beta",
    Kind::Float(Bounds::new(0.0, true, 1e6, true)),
    DefaultValue::Float(1.0),
    "weight of completeness relative to homogeneity",
);

macro_rules! declare {
    ($($constant:ident $name:literal $agreement:ident $words:literal;)*) => {
        $(pub static $constant: Declaration = Declaration {
            name: $name,
            role: Role::Metric,
            words: $words,
            merge: Merge::EXACT,
            parameters: &[],
            build: |_| Ok(build($name, Agreement::$agreement)),
        };)*
    };
}
declare! {
    RAND "metrics.Rand" Rand "Fraction of pairs on which clusters and classes agree";
    ADJUSTED_RAND "metrics.AdjustedRand" AdjustedRand "Agreement of clusters and classes on pairs, beyond chance";
    FOWLKES_MALLOWS "metrics.FowlkesMallows" FowlkesMallows "Geometric mean of precision and recall of pairs";
    HOMOGENEITY "metrics.Homogeneity" Homogeneity "Degree to which clusters contain a single class";
    COMPLETENESS "metrics.Completeness" Completeness "Degree to which classes lie in a single cluster";
    NORMALIZED_MUTUAL_INFO "metrics.NormalizedMutualInfo" NormalizedMutualInfo
        "Mutual information of clusters and classes, relative to their mean entropy";
}

pub static V_MEASURE: Declaration = Declaration {
    name: "metrics.VMeasure",
    role: Role::Metric,
    words: "Harmonic mean of homogeneity and completeness",
    merge: Merge::EXACT,
    parameters: &[BETA],
    build: |arguments| Ok(build("metrics.VMeasure", Agreement::VMeasure(arguments.float("beta")?))),
};

fn build(name: &'static str, agreement: Agreement) -> Built {
    Built::Metric(Box::new(Partition { name, agreement, state: State::default() }))
}

#[derive(Clone)]
struct Partition {
    name: &'static str,
    agreement: Agreement,
    state: State,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    total: Sum,
    /// Σ w²
    squares: Sum,
    /// By class and cluster (`NOTHING` if there was no prediction). Empty cells are removed.
    cells: BTreeMap<(u32, u32), Sum>,
}

/// Weight fractions of the classes and clusters.
struct Margins {
    classes: BTreeMap<u32, f64>,
    clusters: BTreeMap<u32, f64>,
}

impl State {
    fn add(&mut self, outcome: &ClassOutcome, w: f64) {
        let key = (outcome.truth, outcome.predicted.unwrap_or(NOTHING));
        let cell = self.cells.entry(key).or_default();
        cell.add(w);
        if cell.count == 0 {
            self.cells.remove(&key);
        }
        self.total.add(w);
        if w < 0.0 {
            self.squares.add(-w * w);
        } else {
            self.squares.add(w * w);
        }
    }

    fn margins(&self) -> Margins {
        let mut margins = Margins { classes: BTreeMap::new(), clusters: BTreeMap::new() };
        for (&(class, cluster), p) in &self.cells {
            *margins.classes.entry(class).or_default() += p.value / self.total.value;
            *margins.clusters.entry(cluster).or_default() += p.value / self.total.value;
        }
        margins
    }

    fn fractions(&self) -> impl Iterator<Item = ((u32, u32), f64)> + '_ {
        self.cells.iter().map(|(&key, sum)| (key, sum.value / self.total.value))
    }

    fn pairs(&self, margins: &Margins) -> Pairs {
        let squared = |fractions: &BTreeMap<u32, f64>| fractions.values().map(|p| p * p).sum::<f64>();
        let own = self.squares.value / self.total.value / self.total.value;
        let both = (self.fractions().map(|(_, p)| p * p).sum::<f64>() - own).max(0.0);
        // Each class lies in one cluster if there are as many cells as classes. Counted, because rounding errors of the sums
        // would decide otherwise.
        let class_only = match self.cells.len() == margins.classes.len() {
            true => 0.0,
            false => (squared(&margins.classes) - own - both).max(0.0),
        };
        let cluster_only = match self.cells.len() == margins.clusters.len() {
            true => 0.0,
            false => (squared(&margins.clusters) - own - both).max(0.0),
        };
        let neither = match margins.classes.len() == 1 || margins.clusters.len() == 1 {
            true => 0.0,
            false => (1.0 - own - both - class_only - cluster_only).max(0.0),
        };
        Pairs { both, class_only, cluster_only, neither }
    }
}

/// Fractions of pairs that are together in a class and in a cluster, only in one of them, or in none.
struct Pairs {
    both: f64,
    class_only: f64,
    cluster_only: f64,
    neither: f64,
}

impl Pairs {
    fn adjusted(&self) -> f64 {
        let Pairs { both, class_only, cluster_only, neither } = *self;
        if class_only == 0.0 && cluster_only == 0.0 {
            return 1.0;
        }
        let expected =
            (both + class_only) * (class_only + neither) + (both + cluster_only) * (cluster_only + neither);
        2.0 * (both * neither - class_only * cluster_only) / expected
    }

    fn rand(&self) -> f64 {
        let agree = self.both + self.neither;
        match self.class_only == 0.0 && self.cluster_only == 0.0 {
            true => 1.0,
            false => agree / (agree + self.class_only + self.cluster_only),
        }
    }

    fn fowlkes_mallows(&self) -> f64 {
        match self.both > 0.0 {
            true => {
                (self.both / (self.both + self.class_only)).sqrt()
                    * (self.both / (self.both + self.cluster_only)).sqrt()
            }
            false => 0.0,
        }
    }
}

fn entropy(fractions: &BTreeMap<u32, f64>) -> f64 {
    match fractions.len() {
        1 => 0.0,
        _ => fractions.values().filter(|&&p| p > 0.0).map(|&p| -p * p.ln()).sum(),
    }
}

impl Partition {
    /// Homogeneity and completeness, and the mutual information relative to the mean entropy.
    fn informations(&self, margins: &Margins) -> (f64, f64, f64) {
        let (classes, clusters) = (entropy(&margins.classes), entropy(&margins.clusters));
        let of = |((class, cluster), p): ((u32, u32), f64)| {
            // Two quotients, because the product of the margins may vanish.
            p * (p / margins.classes[&class] / margins.clusters[&cluster]).ln()
        };
        let cells = self.state.fractions().filter(|&(_, p)| p > 0.0);
        let shared = match classes > 0.0 && clusters > 0.0 {
            true => cells.map(of).sum::<f64>().max(0.0),
            false => 0.0,
        };
        let relative = |entropy: f64| if entropy > 0.0 { (shared / entropy).min(1.0) } else { 1.0 };
        (relative(classes), relative(clusters), relative(0.5 * (classes + clusters)))
    }
}

impl Part for Partition {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        let sums = [state.total, state.squares].into_iter().chain(state.cells.values().copied());
        require(self.name, sums.clone().all(|sum| sum.is_valid() && sum.value >= 0.0), "a sum is out of range")?;
        let count = |sum: &Sum| u128::from(sum.count);
        let inside: u128 = state.cells.values().map(count).sum();
        require(self.name, inside == count(&state.total), "the cells do not match the total")?;
        require(self.name, state.cells.len() <= MOST_CELLS, "there are too many cells")?;
        require(self.name, state.cells.values().all(|sum| sum.count > 0), "a cell is empty")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.cells.len() * 32
    }

    /// `{"total": …, "cells": [[class, cluster, weight], …]}`, by code.
    fn inspect(&self, _: &Schema) -> serde_json::Value {
        let cells = self.state.cells.iter().map(|(&(class, cluster), sum)| {
            json!([class, if cluster == NOTHING { None } else { Some(cluster) }, sum.value])
        });
        json!({ "total": self.state.total.value, "cells": cells.collect::<Vec<_>>() })
    }
}

impl Metric for Partition {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Class(outcome) = outcome else { return Err(wants_labels(self.name)) };
        if w == 0.0 {
            return Ok(());
        }
        let key = (outcome.truth, outcome.predicted.unwrap_or(NOTHING));
        let cell = self.state.cells.get(&key).copied();
        if cell.is_none() && self.state.cells.len() >= MOST_CELLS {
            return Err(Fault::value(format!("{}: more than {MOST_CELLS} pairs of class and cluster", self.name)));
        }
        cell.unwrap_or_default().check(self.name, w)?;
        self.state.total.check(self.name, w)?;
        self.state.squares.check(self.name, w * w)?;
        self.state.add(outcome, w);
        Ok(())
    }

    fn infallible_for(&self, classes: usize) -> bool {
        let cells = classes.saturating_mul(classes.saturating_add(1));
        self.state.total.has_room() && self.state.squares.has_room() && cells <= MOST_CELLS
    }

    fn get(&self) -> f64 {
        if self.state.total.count == 0 || self.state.total.value <= 0.0 {
            return 0.0;
        }
        let margins = self.state.margins();
        match self.agreement {
            Agreement::Rand => self.state.pairs(&margins).rand(),
            Agreement::AdjustedRand => self.state.pairs(&margins).adjusted(),
            Agreement::FowlkesMallows => self.state.pairs(&margins).fowlkes_mallows(),
            Agreement::Homogeneity => self.informations(&margins).0,
            Agreement::Completeness => self.informations(&margins).1,
            Agreement::NormalizedMutualInfo => self.informations(&margins).2,
            Agreement::VMeasure(beta) => {
                let (homogeneity, completeness, _) = self.informations(&margins);
                let weighted = beta * homogeneity + completeness;
                match weighted > 0.0 {
                    true => (1.0 + beta) * homogeneity * completeness / weighted,
                    false => 0.0,
                }
            }
        }
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn scores_clusters(&self) -> bool {
        true
    }

    fn scale(&mut self, factor: f64) {
        self.state.total.value *= factor;
        self.state.squares.value *= factor * factor;
        self.state.cells.values_mut().for_each(|sum| sum.value *= factor);
    }

    fn merge(&mut self, other: &[u8], codes: &[u32], sign: f64) -> Result<()> {
        let mut copy = self.clone();
        copy.load(other)?;
        self.state.total.check(self.name, sign * copy.state.total.value)?;
        self.state.squares.check(self.name, sign * copy.state.squares.value)?;
        self.state.total.merge(copy.state.total, sign);
        self.state.squares.merge(copy.state.squares, sign);
        let here = |code: u32| codes.get(code as usize).copied().unwrap_or(code);
        for ((class, cluster), sum) in copy.state.cells {
            let key = (here(class), if cluster == NOTHING { NOTHING } else { here(cluster) });
            self.state.cells.entry(key).or_default().merge(sum, sign);
        }
        self.state.cells.retain(|_, sum| sum.count > 0);
        Ok(())
    }

    fn reset(&mut self) {
        self.state = State::default();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(agreement: Agreement) -> Partition {
        Partition { name: "metrics.Test", agreement, state: State::default() }
    }

    fn outcome(truth: u32, predicted: u32) -> Outcome {
        Outcome::Class(ClassOutcome::of(truth, Some(predicted), &[], None, 1))
    }

    const OUTCOMES: [(u32, u32); 4] = [(0, 5), (0, 5), (1, 5), (1, 7)];

    /// Classes 0 0 1 1, clusters 5 5 5 7. Of six pairs, one is together in both (the first two), one only in its class, two
    /// only in their cluster, two in neither: Rand 3/6, adjusted 2 (1·2 − 1·2)/… = 0, Fowlkes-Mallows √(1/2 · 1/3).
    /// H(a) = ln 2, H(b) = −¾ ln ¾ − ¼ ln ¼, I = ½ ln(½/(½·¾)) + ¼ ln(¼/(½·¾)) + ¼ ln(¼/(½·¼)) = 0.2157616.
    #[test]
    fn worked_by_hand() {
        let (h, k) = (2f64.ln(), -0.75 * 0.75f64.ln() - 0.25 * 0.25f64.ln());
        let i = 0.5 * (4.0f64 / 3.0).ln() + 0.25 * (2.0f64 / 3.0).ln() + 0.25 * 2f64.ln();
        for (agreement, expected) in [
            (Agreement::Rand, 0.5),
            (Agreement::AdjustedRand, 0.0),
            (Agreement::FowlkesMallows, (1.0f64 / 6.0).sqrt()),
            (Agreement::Homogeneity, i / h),
            (Agreement::Completeness, i / k),
            (Agreement::VMeasure(1.0), 2.0 * i / (h + k)),
            (Agreement::NormalizedMutualInfo, 2.0 * i / (h + k)),
            (Agreement::VMeasure(0.0), i / h),
        ] {
            let mut metric = metric(agreement);
            assert_eq!(metric.get(), 0.0);
            OUTCOMES.iter().for_each(|&(truth, cluster)| metric.update(&outcome(truth, cluster), 1.0).unwrap());
            assert!((metric.get() - expected).abs() < 1e-15, "{agreement:?} {}", metric.get());
            let before = metric.get();
            metric.update(&outcome(1, 2), 3.0).unwrap();
            metric.update(&outcome(1, 2), -3.0).unwrap();
            assert!((metric.get() - before).abs() < 1e-15);
            metric.scale(1e-30);
            assert!((metric.get() - before).abs() < 1e-14, "{agreement:?}");
            assert!(metric.update(&outcome(3, 3), -1.0).is_err());
        }
    }

    /// The same partition under other names is perfect, and so is a single class in a single cluster.
    #[test]
    fn names_do_not_matter() {
        for agreement in
            [Agreement::Rand, Agreement::AdjustedRand, Agreement::FowlkesMallows, Agreement::VMeasure(1.0)]
        {
            let mut metric = metric(agreement);
            for row in 0..90 {
                metric.update(&outcome(row % 3, 2 - row % 3), 0.1).unwrap();
                assert!(row < 5 || (metric.get() - 1.0).abs() < 1e-12, "{agreement:?} {}", metric.get());
            }
        }
    }
}
