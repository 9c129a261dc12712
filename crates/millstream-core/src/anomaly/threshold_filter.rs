//! A row is an anomaly if its score reaches a given threshold.
//!
//! As in River, with two exceptions: an unprotected detector learns every row, and in a pipeline a row is classified
//! once, before it is learned.

use super::filter::{build, FilterRule, MODEL, PROTECT};
use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: ThresholdRule::NAME,
    role: Role::AnomalyDetector,
    words: "Calls a row an anomaly if its score reaches a threshold",
    merge: Merge::approximate("its detector; which rows were not learned depends on their order"),
    parameters: &[
        MODEL,
        Parameter::new(
            "threshold",
            Kind::Float(Bounds::ANY),
            DefaultValue::Required,
            "lowest score of an anomaly",
        ),
        PROTECT,
    ],
    build: |arguments| build(arguments, ThresholdRule { threshold: arguments.float("threshold")? }),
};

#[derive(Clone)]
struct ThresholdRule {
    threshold: f64,
}

impl FilterRule for ThresholdRule {
    const NAME: &'static str = "anomaly.ThresholdFilter";

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn accepts(&self, _w: f64) -> Result<()> {
        Ok(())
    }

    fn learn(&mut self, _score: f64, _w: f64) {}

    fn undo(&mut self) {}

    fn infallible(&self) -> bool {
        true
    }

    fn save(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        require(Self::NAME, bytes.is_empty(), "the threshold has a state")
    }

    fn memory(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::declaration::Built;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};

    /// The mean of 1, 2, 3 is 2 and the deviation 1. 4 scores 2 Φ(2) − 1 = 0.954, which reaches 0.9: the protected
    /// detector does not learn it, so the score stays. The other learns it: 1, 2, 3, 4 have mean 2.5 and variance 5/3, so 4
    /// is 1.5/√(5/3) = 1.1619 deviations away and scores 2 Φ(1.1619) − 1 = 0.7547.
    #[test]
    fn a_protected_detector_does_not_learn_anomalies() {
        for (protects, expected) in [(true, 0.954_499_736_103_642), (false, 0.754_721)] {
            let detector = json!({ "name": "anomaly.GaussianScorer", "parameters": { "grace_period": 3 } });
            let parameters = json!({ "model": detector, "threshold": 0.9, "protect_anomaly_detector": protects });
            let description = json!({ "name": ThresholdRule::NAME, "parameters": parameters });
            let built = registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap();
            let Built::AnomalyDetector(mut model) = built else { panic!() };
            let (mut scratch, mut score) = (Scratch::default(), 0.0);
            for x in [1.0, 2.0, 3.0, 4.0] {
                model.learn(Row::Plain(&[x]), (), 1.0, &mut scratch).unwrap();
            }
            model.predict(Row::Plain(&[4.0]), Want::Class, &mut score, &mut scratch);
            assert!((score - expected).abs() < 1e-6, "{score}");
            assert_eq!(model.threshold(), Some(0.9));
        }
    }
}
