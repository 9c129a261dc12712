//! OCDD, the one-class drift detector (Gözüaçık and Can, 2021): how many of the newest rows lie outside of where the
//! reference is dense?
//!
//! A one-class support vector machine learns two thirds of the reference (at most 500 rows); the others say what share of
//! outliers is usual. From `threshold` on, the paper's ρ, the newest rows are from elsewhere, if that is also more
//! than the usual share makes likely (Fisher's exact test, one tail). How much a feature says is how much farther it is
//! from the nearest row of the support than in the rows of the reference that were not learned, as a share of all.

use crate::declaration::{Declaration, Role};
use crate::parameter::{Bounds, Default as DefaultValue, Kind as ParameterKind, Parameter};
use crate::schema::Kind;

use super::cells::tails;
use super::detector::{build, Comparison, Found, Sample, Windows};
use super::finding::{name_at_least_one, share_out, Finding, Level, Significance};
use super::ks::Marginals;
use super::one_class::OneClass;
use super::parameters::{significance, ALPHA, ALPHA_WARNING, CHECK_INTERVAL, CORRECTION, REFERENCE};
use super::parameters::{REFERENCE_SIZE, WINDOW_SIZE};
use super::rows::{part_of, Rows};
use super::space::Space;

pub static OCDD: Declaration = Declaration {
    name: NAME,
    role: Role::FeatureDriftDetector,
    words: "one-class drift detector: how many new rows are outliers among the old?",
    parameters: &[
        REFERENCE_SIZE,
        WINDOW_SIZE,
        CHECK_INTERVAL,
        REFERENCE,
        Parameter::new(
            "nu",
            ParameterKind::Float(Bounds::OPEN_UNIT),
            DefaultValue::Float(0.1),
            "the share of outliers among the rows that are learned",
        ),
        Parameter::new(
            "threshold",
            ParameterKind::Float(Bounds::UNIT),
            DefaultValue::Float(0.3),
            "the least share of outliers that is a change, however significant",
        ),
        ALPHA,
        ALPHA_WARNING,
        CORRECTION,
    ],
    build: |arguments| {
        let comparison = OneClassDetector {
            nu: arguments.float("nu")?,
            threshold: arguments.float("threshold")?,
            significance: significance(arguments)?,
        };
        Ok(build(Windows::of(arguments)?, comparison))
    },
};

const NAME: &str = "drift.OCDD";

/// The most rows that are learned: the work grows with their square.
const MOST: usize = 500;

#[derive(Clone)]
struct OneClassDetector {
    nu: f64,
    threshold: f64,
    significance: Significance,
}

#[derive(Clone, Default)]
struct Study {
    marginals: Marginals,
    space: Space,
    model: OneClass,
    /// Of the rows of the reference that were not learned: how many, outliers, and how far each feature is.
    usual: Seen,
    placed: Vec<f64>,
}

/// What was seen of some rows.
#[derive(Clone, Debug, Default)]
struct Seen {
    rows: f64,
    outliers: f64,
    parts: Vec<f64>,
}

impl Study {
    fn see<'r>(&mut self, rows: impl Iterator<Item = &'r [f64]>, width: usize) -> Seen {
        let mut seen = Seen { parts: vec![0.0; width], ..Seen::default() };
        for row in rows {
            self.space.place(row, &mut self.placed);
            seen.rows += 1.0;
            let score = self.model.score(&self.space, &self.placed, &mut seen.parts);
            seen.outliers += f64::from(u8::from(score < 0.0));
        }
        seen.parts.iter_mut().for_each(|part| *part /= f64::max(seen.rows, 1.0));
        seen
    }
}

impl Comparison for OneClassDetector {
    type Study = Study;

    fn name(&self) -> &'static str {
        NAME
    }

    fn study(&self, reference: &Rows, kinds: &[Kind], study: &mut Study) {
        study.marginals.study(reference, kinds);
        study.space = Space::new(reference, kinds);
        let learned = |place: &usize| part_of(*place, 3) > 0;
        let candidates = (0..reference.len()).filter(learned).count();
        let step = candidates.div_ceil(MOST).max(1);
        let (mut rows, mut count) = (Vec::new(), 0);
        for place in (0..reference.len()).filter(learned).step_by(step) {
            study.space.place(reference.row(place), &mut study.placed);
            rows.extend_from_slice(&study.placed);
            count += 1;
        }
        study.model.fit(&study.space, &rows, kinds.len(), count, self.nu);
        let others = (0..reference.len()).filter(|place| !learned(place)).map(|place| reference.row(place));
        study.usual = study.see(others, kinds.len());
    }

    fn compare(&self, study: &mut Study, sample: &Sample<'_>, findings: &mut [Finding]) -> Found {
        let seen = study.see(sample.current.iter(), findings.len());
        let share = seen.outliers / f64::max(seen.rows, 1.0);
        let usual = &study.usual;
        let p_value = tails(usual.outliers, seen.outliers, usual.rows, seen.rows).0;
        let level = if share >= self.threshold { self.significance.level(p_value) } else { Level::Nothing };
        study.marginals.compare(sample, findings);
        share_out(findings, seen.parts.iter().zip(&usual.parts).map(|(now, before)| (now - before).max(0.0)));
        study.marginals.judge(&self.significance, findings);
        name_at_least_one(findings, level);
        Found { level, estimation: share }
    }

    fn memory(study: &Study) -> usize {
        study.marginals.memory()
            + study.space.memory()
            + study.model.memory()
            + (study.usual.parts.capacity() + study.placed.capacity()) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{detector, plain};
    use super::*;
    use serde_json::json;

    /// Rows on a small grid, then rows far away: all of these are outliers, and the feature that is far says all.
    #[test]
    fn worked_by_hand() {
        let parameters = json!({ "reference_size": 60, "window_size": 20, "check_interval": 20 });
        let mut detector = detector(NAME, parameters);
        let row = |place: i32, far: f64| [f64::from(place % 5), f64::from(place / 3 % 4) + far];
        (0..80).for_each(|place| plain(&mut *detector, &[&row(place, 0.0)]));
        assert!(detector.estimation() < 0.5 && !detector.verdict().drift);
        (0..20).for_each(|place| plain(&mut *detector, &[&row(place, 50.0)]));
        assert_eq!(detector.estimation(), 1.0);
        assert!(detector.verdict().drift);
        assert!(detector.drifted()[1].moved && detector.drifted()[1].statistic > 0.99);
        assert!(!detector.drifted()[0].moved);
    }
}
