//! D3, the discriminative drift detector (Gözüaçık, Büyükçakır, Bonab and Can, 2019): a classifier that distinguishes new
//! rows from old ones.
//!
//! A logistic model learns on half of the rows which window a row is from, and ranks the other half, and vice versa; the
//! area under the ROC curve is the mean of both. From `min_effect` on the windows differ, as in the paper, which has
//! windows of 100 and 10 rows, a sliding reference and no test: without drift, such windows reach 0.7 at one check in
//! fifty. So the area must also be significant: on held-out rows, its distribution is that of Mann and Whitney (1947). The
//! two areas measure the same difference, so the variance of their mean is taken to be that of one of them.
//!
//! Numbers are standardized. A nominal value is encoded by its log ratio of frequencies in the new and old training rows.
//! Missing values have an indicator column. The contribution of a feature is its weight times the difference of its means
//! in the two windows, as a fraction of the sum.

use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::numeric::error_function::complement;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::schema::FeatureKind;

use super::finding::{mark_at_least_one, normalize_statistics, Finding, Level, SignificanceLevels};
use super::ks_test::Marginals;
use super::logistic_model::{Examples, LogisticModel};
use super::parameters::{check_interval, reference, reference_size, significance_levels, window_size};
use super::parameters::{CORRECTION, SIGNIFICANCE, WARNING_SIGNIFICANCE};
use super::row_window::{part_of, RowWindow};
use super::scale::Scale;
use super::window_comparison::{build, ComparisonResult, Sample, WindowComparison, WindowSettings};

pub static D3: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "Discriminative drift detector: a classifier that distinguishes new rows from old ones",
    merge: Merge::DETECTOR,
    parameters: &[
        reference_size(500),
        window_size(200),
        check_interval(50),
        reference("sliding"),
        Parameter::new(
            "min_effect",
            Kind::Float(Bounds::new(0.5, true, 1.0, true)),
            DefaultValue::Float(0.7),
            "smallest area under the ROC curve that counts as drift, however significant",
        )
        .formerly(&["threshold"]),
        SIGNIFICANCE,
        WARNING_SIGNIFICANCE,
        CORRECTION,
    ],
    build: |arguments| {
        let comparison = Discriminator {
            min_effect: arguments.float("min_effect")?,
            significance: significance_levels(arguments)?,
        };
        Ok(build(WindowSettings::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.D3";

#[derive(Clone)]
struct Discriminator {
    min_effect: f64,
    significance: SignificanceLevels,
}

#[derive(Clone, Default)]
struct FittedReference {
    marginals: Marginals,
    logistic: LogisticModel,
    /// The columns of the design matrix: a feature, and whether the column is its missing indicator.
    columns: Vec<(usize, bool)>,
    design: Vec<f64>,
    new: Vec<bool>,
    /// The half that a row belongs to.
    halves: Vec<bool>,
    scored: Vec<(f64, bool)>,
    /// The contribution of each feature.
    contributions: Vec<f64>,
}

impl WindowComparison for Discriminator {
    type FittedReference = FittedReference;

    fn name(&self) -> &'static str {
        NAME
    }

    fn fit_reference(&self, reference: &RowWindow, kinds: &[FeatureKind], fitted: &mut FittedReference) {
        fitted.marginals.fit_reference(reference, kinds);
    }

    fn compare(
        &self,
        fitted: &mut FittedReference,
        sample: &Sample<'_>,
        findings: &mut [Finding],
    ) -> ComparisonResult {
        fitted.build_design(sample);
        fitted.contributions.clear();
        fitted.contributions.resize(findings.len(), 0.0);
        let areas = [false, true].map(|fold| fitted.area(sample, fold));
        let area = 0.5 * (areas[0] + areas[1]);
        let (n, m) = (sample.reference.len() as f64 / 2.0, sample.current.len() as f64 / 2.0);
        let deviation = ((n + m + 1.0) / (12.0 * n * m)).sqrt();
        let p_value = 0.5 * if area > 0.5 { complement((area - 0.5) / deviation / 2f64.sqrt()) } else { 1.0 };
        let level = if area >= self.min_effect { self.significance.level(p_value) } else { Level::Nothing };
        fitted.marginals.compare(sample, findings);
        normalize_statistics(findings, fitted.contributions.iter().copied());
        fitted.marginals.judge(&self.significance, findings);
        mark_at_least_one(findings, level);
        ComparisonResult { level, estimation: area }
    }

    fn start(&self) -> f64 {
        0.5
    }

    fn memory(fitted: &FittedReference) -> usize {
        fitted.marginals.memory()
            + fitted.logistic.memory()
            + (fitted.design.capacity() + 2 * fitted.columns.capacity() + 2 * fitted.scored.capacity()) * 8
            + fitted.new.capacity()
            + fitted.halves.capacity()
            + fitted.contributions.capacity() * 8
    }
}

impl FittedReference {
    /// Write both windows as columns of numbers; nominal features are encoded in each fold.
    fn build_design(&mut self, sample: &Sample<'_>) {
        let windows = [sample.reference, sample.current];
        let rows = || windows.iter().flat_map(|rows| rows.iter());
        self.columns.clear();
        for slot in 0..sample.kinds.len() {
            let missing = rows().filter(|row| row[slot].is_nan()).count();
            let all = sample.reference.len() + sample.current.len();
            if missing < all {
                self.columns.push((slot, false));
            }
            if missing > 0 && missing < all {
                self.columns.push((slot, true));
            }
        }
        let width = self.columns.len();
        self.new.clear();
        self.new.resize(sample.reference.len(), false);
        self.new.resize(sample.reference.len() + sample.current.len(), true);
        self.halves.clear();
        self.halves.extend((0..self.new.len()).map(|row| part_of(row, 2) == 0));
        self.design.clear();
        self.design.resize(self.new.len() * width, 0.0);
        for (column, &(slot, indicator)) in self.columns.iter().enumerate() {
            let scale = Scale::of(&windows, slot);
            let design = self.design.iter_mut().skip(column).step_by(width);
            for (to, row) in design.zip(rows()) {
                *to = match indicator {
                    true => f64::from(u8::from(row[slot].is_nan())),
                    false => Some(scale.standardize(row[slot])).filter(|x| !x.is_nan()).unwrap_or(0.0),
                };
            }
        }
    }

    /// The area under the ROC curve over one half of the rows, learned from the other.
    fn area(&mut self, sample: &Sample<'_>, fold: bool) -> f64 {
        let width = self.columns.len();
        let halves = std::mem::take(&mut self.halves);
        let learned = |row: usize| halves[row] == fold;
        for column in 0..width {
            let (slot, indicator) = self.columns[column];
            if !indicator && sample.kinds.get(slot) == Some(&FeatureKind::Nominal) {
                self.encode(sample, slot, column, learned);
            }
        }
        let examples = Examples { values: &self.design, width, new: &self.new };
        self.logistic.fit(&examples, learned);
        self.scored.clear();
        for (row, &new) in self.new.iter().enumerate().filter(|(row, _)| !learned(*row)) {
            let values = self.design.get(row * width..(row + 1) * width).unwrap_or_default();
            self.scored.push((self.logistic.score(values), new));
        }
        for (column, &(slot, _)) in self.columns.iter().enumerate() {
            let mut means = [(0.0, 0.0); 2];
            for (row, &new) in self.new.iter().enumerate() {
                let mean = &mut means[usize::from(new)];
                *mean = (mean.0 + self.design[row * width + column], mean.1 + 1.0);
            }
            let [old, new] = means.map(|(sum, count)| sum / f64::max(count, 1.0));
            self.contributions[slot] += (self.logistic.weights[column] * (new - old)).abs();
        }
        self.halves = halves;
        area(&mut self.scored)
    }

    /// Encode a nominal feature by its frequencies in the training rows, with half a row added to each count.
    fn encode(&mut self, sample: &Sample<'_>, slot: usize, column: usize, learned: impl Fn(usize) -> bool) {
        let width = self.columns.len();
        let rows = || sample.reference.iter().chain(sample.current.iter()).map(|row| row[slot]);
        let mut counts: Vec<(f64, [f64; 2])> = Vec::new();
        let mut all = [0.0; 2];
        for (row, value) in rows().enumerate().filter(|(row, value)| learned(*row) && !value.is_nan()) {
            let side = usize::from(self.new[row]);
            all[side] += 1.0;
            match counts.binary_search_by(|(known, _)| known.total_cmp(&value)) {
                Ok(at) => counts[at].1[side] += 1.0,
                Err(at) => {
                    let mut count = [0.5, 0.5];
                    count[side] += 1.0;
                    counts.insert(at, (value, count));
                }
            }
        }
        for (row, value) in rows().enumerate() {
            let known = counts.binary_search_by(|(known, _)| known.total_cmp(&value));
            let code = |at: usize| {
                let [old, new] = counts[at].1;
                (new / (all[1] + 1.0)).ln() - (old / (all[0] + 1.0)).ln()
            };
            // Unknown values are neutral; missing ones have a column of their own.
            self.design[row * width + column] = known.map_or(0.0, code);
        }
    }
}

/// The fraction of pairs of a new and an old row in which the new one has the higher score; ties count half.
fn area(scored: &mut [(f64, bool)]) -> f64 {
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut pairs, mut below) = (0.0, 0.0);
    for equals in scored.chunk_by(|a, b| a.0 == b.0) {
        let new = equals.iter().filter(|(_, new)| *new).count() as f64;
        let old = equals.len() as f64 - new;
        pairs += new * (below + 0.5 * old);
        below += old;
    }
    let new = scored.len() as f64 - below;
    if below == 0.0 || new == 0.0 {
        0.5
    } else {
        pairs / (below * new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use super::*;
    use serde_json::json;

    /// New 0.9 and 0.4, old 0.4 and 0.1: 0.9 beats both, 0.4 beats one and is equal to the other: 3.5 pairs of 4.
    #[test]
    fn area_by_hand() {
        assert_eq!(area(&mut [(0.9, true), (0.4, true), (0.4, false), (0.1, false)]), 0.875);
        assert_eq!(area(&mut [(0.9, true)]), 0.5);
    }

    /// Old rows −1 and 0, new rows 4 and 5 in one feature of two: all pairs are ordered, so the area is 1, and the first
    /// feature contributes it. Of halves of 10 and 10 the deviation is √(21 / 1200), and p = P(Z > 3.78),
    /// far below α.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({ "reference_size": 20, "window_size": 20, "check_interval": 1 });
        let mut detector = detector(NAME, parameters);
        for index in 0..39 {
            let x = f64::from(index % 2) + if index < 20 { -1.0 } else { 4.0 };
            plain(&mut *detector, &[&[x, f64::from(index % 5)]]);
        }
        assert_eq!(detector.estimation(), 0.5);
        plain(&mut *detector, &[&[5.0, 4.0]]);
        assert_eq!(detector.estimation(), 1.0);
        assert!(detector.verdict().drift);
        assert!(detector.findings()[0].moved && !detector.findings()[1].moved);
        assert!(detector.findings()[0].statistic > 0.9);
        assert_eq!(detector.verdict().since, 20);
    }
}
