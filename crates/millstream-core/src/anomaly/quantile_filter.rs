//! A row is an anomaly if its score reaches a quantile of the scores so far.
//!
//! The quantile is that of `stats.Quantile`, which bounds its error; River's is a P² estimate. As in
//! River, no row is an anomaly while the quantile is 0: detectors that need more rows score 0. Other
//! differences from River are listed in `threshold_filter`.

use super::filter::{build, FilterRule, MODEL, PROTECT};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::stats::RunningQuantile;

pub static DECLARATION: Declaration = Declaration {
    name: QuantileRule::NAME,
    role: Role::AnomalyDetector,
    words: "Calls a row an anomaly if its score reaches a quantile of the scores so far",
    merge: Merge::none(
        "its quantile depends on the scores in the order of rows: merge the detectors and filter afterwards",
    ),
    parameters: &[
        MODEL,
        Parameter::new(
            "q",
            Kind::Float(Bounds::OPEN_UNIT),
            DefaultValue::Required,
            "fraction of scores at or below the threshold",
        ),
        PROTECT,
    ],
    build: |arguments| build(arguments, QuantileRule { quantile: RunningQuantile::new(arguments.float("q")?) }),
};

#[derive(Clone)]
struct QuantileRule {
    quantile: RunningQuantile,
}

impl FilterRule for QuantileRule {
    const NAME: &'static str = "anomaly.QuantileFilter";

    fn threshold(&self) -> f64 {
        self.quantile.get().filter(|&quantile| quantile != 0.0).unwrap_or(f64::INFINITY)
    }

    fn accepts(&self, w: f64) -> Result<()> {
        self.quantile.accepts(Self::NAME, w)
    }

    /// The scores of anomalies count too: the quantile is of all rows.
    fn learn(&mut self, score: f64, w: f64) {
        self.quantile.push(score, w);
    }

    fn undo(&mut self) {
        self.quantile.undo();
    }

    fn infallible(&self) -> bool {
        self.quantile.infallible()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.quantile.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.quantile.load(Self::NAME, bytes)
    }

    fn memory(&self) -> usize {
        self.quantile.memory()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::declaration::Built;
    use crate::learner::Learner;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use crate::task::Anomalies;

    fn built() -> Box<dyn Learner<Anomalies>> {
        let detector = json!({ "name": "anomaly.GaussianScorer", "parameters": { "grace_period": 2 } });
        let description = json!({ "name": QuantileRule::NAME, "parameters": { "model": detector, "q": 0.75 } });
        match registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap() {
            Built::AnomalyDetector(model) => model,
            _ => panic!(),
        }
    }

    /// The scores of 1 and 3 are 0, within the grace period, and 2 is at their mean: the quantile is 0, no threshold. 1, 3, 2
    /// have mean 2 and variance 1, so 4 scores 2 Φ(2) − 1 = 0.9545: of 0, 0, 0, 0.9545 three quarters are at or below 0.
    /// 1, 3, 2, 4 have mean 2.5 and variance 5/3, so 9 scores 2 Φ(5.03) − 1 ≈ 1, and three quarters of five scores is
    /// reached at the fourth, 0.9545. From now on that is the threshold.
    #[test]
    fn worked_by_hand() {
        let (mut model, mut scratch) = (built(), Scratch::default());
        let mut thresholds = Vec::new();
        for x in [1.0, 3.0, 2.0, 4.0, 9.0] {
            model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
            thresholds.push(model.threshold().unwrap());
        }
        assert_eq!(thresholds[..4], [f64::INFINITY; 4]);
        assert!((thresholds[4] - 0.954_499_736_103_642).abs() < 1e-12);
    }

    #[test]
    fn undo_reverts_any_row() {
        let (mut model, mut scratch) = (built(), Scratch::default());
        for row in 0..1100 {
            let before = model.save().unwrap();
            let x = f64::from(row * row % 17) + if row % 50 == 49 { 100.0 } else { 0.0 };
            if !(30..=1015).contains(&row) {
                model.learn(Row::Plain(&[1.5 * x]), (), 1.0, &mut scratch).unwrap();
                model.undo();
                assert!(model.save().unwrap() == before, "row {row}");
            }
            model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
        }
    }
}
