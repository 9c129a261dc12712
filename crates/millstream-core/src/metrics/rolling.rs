//! A metric over the last `window_size` outcomes.
//!
//! The outcomes are stored in a ring buffer. Each new outcome removes the oldest one, by its negative weight. The
//! sums are recomputed at every full turn of the ring, so that rounding errors do not accumulate. An update costs
//! three updates of the metric on average.

use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::labels::Labels;
use crate::merging::Merge;
use crate::metric::{Metric, Outcome};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::Want;
use crate::schema::Schema;

const NAME: &str = "metrics.Rolling";

pub static ROLLING: Declaration = Declaration {
    name: NAME,
    role: Role::Metric,
    words: "Metric over a sliding window of outcomes",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new("metric", Kind::Part(&[Role::Metric]), DefaultValue::Required, "the metric"),
        Parameter::new(
            "window_size",
            Kind::Integer { low: 1, high: 1 << 40 },
            DefaultValue::Integer(1000),
            "number of outcomes in the window",
        ),
    ],
    build: |arguments| {
        let Built::Metric(metric) = arguments.part("metric")? else { return Err(arguments.absent("metric")) };
        if !metric.invertible() {
            return Err(Fault::value(format!(
                "{NAME}: metric must be invertible, got a metric that is rolling or fading itself"
            )));
        }
        let spare = metric.duplicate();
        let size = arguments.size("window_size")?;
        Ok(Built::Metric(Box::new(Rolling { metric, spare, size, ring: Vec::new(), next: 0 })))
    },
};

struct Rolling {
    metric: Box<dyn Metric>,
    /// Buffer in which the sums are recomputed, so that a fault leaves `metric` unchanged.
    spare: Box<dyn Metric>,
    size: usize,
    ring: Vec<(Outcome, f64)>,
    /// Index of the oldest outcome once the ring is full.
    next: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    ring: Vec<(Outcome, f64)>,
    next: usize,
    #[serde(with = "serde_bytes")]
    metric: Vec<u8>,
}

impl Rolling {
    fn recompute(&mut self) {
        self.spare.reset();
        if self.ring.iter().all(|(outcome, w)| self.spare.update(outcome, *w).is_ok()) {
            std::mem::swap(&mut self.metric, &mut self.spare);
        }
    }
}

impl Part for Rolling {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { ring: self.ring.clone(), next: self.next, metric: self.metric.save()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let full = state.ring.len() == self.size;
        require(NAME, state.ring.len() <= self.size, "more outcomes than the window holds")?;
        require(NAME, state.next == 0 || (full && state.next < self.size), "an index beyond the window")?;
        let weighed = state.ring.iter().all(|(_, w)| w.is_finite() && *w > 0.0);
        require(NAME, weighed, "a weight that is not positive")?;
        let mut metric = self.metric.duplicate();
        metric.load(&state.metric)?;
        self.spare = metric.duplicate();
        self.metric = metric;
        self.ring = state.ring;
        self.next = state.next;
        Ok(())
    }

    fn memory(&self) -> usize {
        let ring = self.ring.capacity() * std::mem::size_of::<(Outcome, f64)>();
        std::mem::size_of::<Self>() + self.metric.memory() + self.spare.memory() + ring
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.metric.inspect(schema)
    }
}

impl Metric for Rolling {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        if w == 0.0 {
            return Ok(());
        }
        if w < 0.0 {
            return Err(Fault::value(format!("{NAME}: outcomes cannot be removed from outside")));
        }
        self.metric.update(outcome, w)?;
        if self.ring.len() < self.size {
            self.ring.push((*outcome, w));
            return Ok(());
        }
        let (oldest, its_weight) = std::mem::replace(&mut self.ring[self.next], (*outcome, w));
        let taken_back = self.metric.update(&oldest, -its_weight);
        self.next += 1;
        if self.next == self.size {
            self.next = 0;
        }
        if self.next == 0 || taken_back.is_err() {
            self.recompute();
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
        self.spare.set_labels(labels);
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
        // A weight must stay positive, so that it can be removed later.
        self.ring.iter_mut().for_each(|(_, w)| *w = (*w * factor).max(f64::MIN_POSITIVE));
    }

    fn error(&self, positive: u32) -> Option<f64> {
        self.metric.error(positive)
    }

    fn reset(&mut self) {
        self.metric.reset();
        self.ring.clear();
        self.next = 0;
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(Rolling {
            metric: self.metric.duplicate(),
            spare: self.spare.duplicate(),
            size: self.size,
            ring: self.ring.clone(),
            next: self.next,
        })
    }
}
