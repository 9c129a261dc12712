//! D3, the discriminative drift detector (Gözüaçık, Büyükçakır, Bonab and Can, 2019): can a classifier tell new rows
//! from old ones?
//!
//! A logistic model learns which window a row is from, on half of the rows, and ranks the rest, and the other way round;
//! the area under the ROC curve is the mean of both. From `threshold` on the windows differ, as in the paper, which has
//! windows of 100 and 10 rows, a sliding reference and no test: with those, chance alone reaches 0.7 at one check in
//! fifty. So the area must also be significant: of rows that were not learned from, its distribution is that of Mann and
//! Whitney (1947). The two areas are of the same differences seen from both sides, so their mean is taken to vary as
//! much as one of them.
//!
//! Numbers are scaled; a nominal value is coded by the logarithm of how much more often it is in the new rows that are
//! learned from; whether a value is missing is a column of its own. How much a feature says is its weight times the
//! distance of its means in the two windows, as a share of all.

use crate::declaration::{Declaration, Role};
use crate::numeric::error_function::complement;
use crate::parameter::{Bounds, Default as DefaultValue, Kind as ParameterKind, Parameter};
use crate::schema::Kind;

use super::detector::{build, Comparison, Found, Sample, Windows};
use super::finding::{name_at_least_one, share_out, Finding, Level, Significance};
use super::ks::Marginals;
use super::logistic::{Examples, Logistic};
use super::parameters::{check_interval, reference, reference_size, significance, window_size};
use super::parameters::{ALPHA, ALPHA_WARNING, CORRECTION};
use super::rows::{part_of, Rows};
use super::scale::Scale;

pub static D3: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "discriminative drift detector: can a classifier tell new rows from old ones?",
    parameters: &[
        reference_size(500),
        window_size(200),
        check_interval(50),
        reference("sliding"),
        Parameter::new(
            "threshold",
            ParameterKind::Float(Bounds::new(0.5, true, 1.0, true)),
            DefaultValue::Float(0.7),
            "the least area under the ROC curve that is a change, however significant",
        ),
        ALPHA,
        ALPHA_WARNING,
        CORRECTION,
    ],
    build: |arguments| {
        let comparison =
            Discriminator { threshold: arguments.float("threshold")?, significance: significance(arguments)? };
        Ok(build(Windows::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.D3";

#[derive(Clone)]
struct Discriminator {
    threshold: f64,
    significance: Significance,
}

#[derive(Clone, Default)]
struct Study {
    marginals: Marginals,
    logistic: Logistic,
    /// The columns of the design: a feature, and whether it says how large or whether it is missing.
    columns: Vec<(usize, bool)>,
    design: Vec<f64>,
    new: Vec<bool>,
    /// In which half a row is.
    halves: Vec<bool>,
    scored: Vec<(f64, bool)>,
    /// How much each feature says.
    said: Vec<f64>,
}

impl Comparison for Discriminator {
    type Study = Study;

    fn name(&self) -> &'static str {
        NAME
    }

    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Study) {
        study.marginals.study(reference, kinds);
    }

    fn compare(&self, study: &mut Study, sample: &Sample<'_>, findings: &mut [Finding]) -> Found {
        study.lay_out(sample);
        study.said.clear();
        study.said.resize(findings.len(), 0.0);
        let areas = [false, true].map(|fold| study.area(sample, fold));
        let area = 0.5 * (areas[0] + areas[1]);
        let (n, m) = (sample.reference.len() as f64 / 2.0, sample.current.len() as f64 / 2.0);
        let deviation = ((n + m + 1.0) / (12.0 * n * m)).sqrt();
        let p_value = 0.5 * if area > 0.5 { complement((area - 0.5) / deviation / 2f64.sqrt()) } else { 1.0 };
        let level = if area >= self.threshold { self.significance.level(p_value) } else { Level::Nothing };
        study.marginals.compare(sample, findings);
        share_out(findings, study.said.iter().copied());
        study.marginals.judge(&self.significance, findings);
        name_at_least_one(findings, level);
        Found { level, estimation: area }
    }

    fn start(&self) -> f64 {
        0.5
    }

    fn memory(study: &Study) -> usize {
        study.marginals.memory()
            + study.logistic.memory()
            + (study.design.capacity() + 2 * study.columns.capacity() + 2 * study.scored.capacity()) * 8
            + study.new.capacity()
            + study.halves.capacity()
            + study.said.capacity() * 8
    }
}

impl Study {
    /// Write both windows as columns of numbers; nominal ones are coded fold by fold.
    fn lay_out(&mut self, sample: &Sample<'_>) {
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
        for (place, &(slot, gap)) in self.columns.iter().enumerate() {
            let scale = Scale::of(&windows, slot);
            let design = self.design.iter_mut().skip(place).step_by(width);
            for (to, row) in design.zip(rows()) {
                *to = match gap {
                    true => f64::from(u8::from(row[slot].is_nan())),
                    false => Some(scale.place(row[slot])).filter(|x| !x.is_nan()).unwrap_or(0.0),
                };
            }
        }
    }

    /// The area under the ROC curve over one half of the rows, learned from the other.
    fn area(&mut self, sample: &Sample<'_>, fold: bool) -> f64 {
        let width = self.columns.len();
        let halves = std::mem::take(&mut self.halves);
        let learned = |row: usize| halves[row] == fold;
        for place in 0..width {
            let (slot, gap) = self.columns[place];
            if !gap && sample.kinds.get(slot) == Some(&Kind::Nominal) {
                self.code(sample, slot, place, learned);
            }
        }
        let examples = Examples { values: &self.design, width, new: &self.new };
        self.logistic.fit(&examples, learned);
        self.scored.clear();
        for (row, &new) in self.new.iter().enumerate().filter(|(row, _)| !learned(*row)) {
            let values = self.design.get(row * width..(row + 1) * width).unwrap_or_default();
            self.scored.push((self.logistic.score(values), new));
        }
        for (place, &(slot, _)) in self.columns.iter().enumerate() {
            let mut means = [(0.0, 0.0); 2];
            for (row, &new) in self.new.iter().enumerate() {
                let mean = &mut means[usize::from(new)];
                *mean = (mean.0 + self.design[row * width + place], mean.1 + 1.0);
            }
            let [old, new] = means.map(|(sum, count)| sum / f64::max(count, 1.0));
            self.said[slot] += (self.logistic.weights[place] * (new - old)).abs();
        }
        self.halves = halves;
        area(&mut self.scored)
    }

    /// Code a nominal feature by the rows that are learned from, each value with half a row more on both sides.
    fn code(&mut self, sample: &Sample<'_>, slot: usize, place: usize, learned: impl Fn(usize) -> bool) {
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
            // What was not learned says nothing; what is missing is said by a column of its own.
            self.design[row * width + place] = known.map_or(0.0, code);
        }
    }
}

/// The share of pairs of a new and an old row of which the new one has the higher score; half of those that are equal.
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

    /// Old rows −1 and 0, new rows 4 and 5 in one feature of two: all pairs are told apart, so the area is 1,
    /// and the feature that says it is the first. Of halves of 10 and 10 the deviation is √(21 / 1200), and p = P(Z > 3.78),
    /// far below α.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({ "reference_size": 20, "window_size": 20, "check_interval": 1 });
        let mut detector = detector(NAME, parameters);
        for place in 0..39 {
            let x = f64::from(place % 2) + if place < 20 { -1.0 } else { 4.0 };
            plain(&mut *detector, &[&[x, f64::from(place % 5)]]);
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
