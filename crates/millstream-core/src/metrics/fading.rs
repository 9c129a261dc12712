//! A metric with exponentially fading weights: an outcome has `forgetting` times the weight of the next one (Gama,
//! Sebastião and Rodrigues, 2013).
//!
//! Old weights are not reduced at each outcome. Instead, the weight of each new outcome grows by 1 / forgetting,
//! and all weights are scaled down at once when they become too large.

use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::labels::Labels;
use crate::merging::Merge;
use crate::metric::{Metric, Outcome};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::Want;
use crate::schema::Schema;

const NAME: &str = "metrics.Fading";
/// Weights beyond this are scaled down. Old outcomes then have a fraction below its inverse.
const HEAVY: f64 = 1e30;

pub static FADING: Declaration = Declaration {
    name: NAME,
    role: Role::Metric,
    words: "Metric with exponentially fading weights of old outcomes",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new("metric", Kind::Part(&[Role::Metric]), DefaultValue::Required, "the metric"),
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::new(0.001, true, 1.0, true)),
            DefaultValue::Float(0.999),
            "weight of an outcome relative to the next one",
        ),
    ],
    build: |arguments| {
        let Built::Metric(metric) = arguments.part("metric")? else { return Err(arguments.absent("metric")) };
        Ok(Built::Metric(Box::new(Fading { metric, forgetting: arguments.float("forgetting")?, newest: 1.0 })))
    },
};

struct Fading {
    metric: Box<dyn Metric>,
    forgetting: f64,
    /// Factor for the weight of the next outcome.
    newest: f64,
}

#[derive(Serialize, Deserialize)]
struct State {
    newest: f64,
    #[serde(with = "serde_bytes")]
    metric: Vec<u8>,
}

impl Part for Fading {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { newest: self.newest, metric: self.metric.save()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.newest >= 1.0 && state.newest <= HEAVY, "a weight out of range")?;
        self.metric.load(&state.metric)?;
        self.newest = state.newest;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.metric.memory()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.metric.inspect(schema)
    }
}

impl Metric for Fading {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        if w == 0.0 {
            return Ok(());
        }
        if w < 0.0 {
            return Err(Fault::value(format!("{NAME}: a fading outcome cannot be removed")));
        }
        self.metric.update(outcome, w * self.newest)?;
        self.newest /= self.forgetting;
        if self.newest > HEAVY {
            self.metric.scale(1.0 / self.newest);
            self.newest = 1.0;
        }
        Ok(())
    }

    fn get(&self) -> f64 {
        self.metric.get()
    }

    fn get_for(&self, positive: u32) -> f64 {
        self.metric.get_for(positive)
    }

    fn bigger_is_better(&self) -> bool {
        self.metric.bigger_is_better()
    }

    fn want(&self) -> Want {
        self.metric.want()
    }

    fn takes_numbers(&self) -> bool {
        self.metric.takes_numbers()
    }

    fn scores_clusters(&self) -> bool {
        self.metric.scores_clusters()
    }

    fn set_labels(&mut self, labels: &Labels) {
        self.metric.set_labels(labels);
    }

    fn positive(&self) -> Option<u32> {
        self.metric.positive()
    }

    fn truth_weights(&self) -> Vec<f64> {
        self.metric.truth_weights()
    }

    fn invertible(&self) -> bool {
        false
    }

    fn scale(&mut self, factor: f64) {
        self.metric.scale(factor);
    }

    fn error(&self, positive: u32) -> Option<f64> {
        self.metric.error(positive)
    }

    fn reset(&mut self) {
        self.metric.reset();
        self.newest = 1.0;
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(Fading { metric: self.metric.duplicate(), forgetting: self.forgetting, newest: self.newest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn worked_by_hand() {
        // Errors 4, 2, 1 with forgetting ½: (4·¼ + 2·½ + 1)/(¼ + ½ + 1) = 3 / 1.75.
        let description = json!({ "name": NAME, "parameters": { "metric": "metrics.MAE", "forgetting": 0.5 } });
        let description = crate::registry::resolve(&description).expect("it is declared");
        let Ok(Built::Metric(mut metric)) = crate::registry::build_resolved(&description) else {
            panic!("not a metric")
        };
        for predicted in [4.0, 2.0, 1.0] {
            metric.update(&Outcome::Number { truth: 0.0, predicted }, 1.0).expect("a good outcome");
        }
        assert!((metric.get() - 3.0 / 1.75).abs() < 1e-15);
    }
}
