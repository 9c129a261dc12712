//! Kappa temporal: accuracy relative to the persistence forecast, which predicts the previous label.
//!
//! κ_T = (a − e)/(1 − e), with accuracy a and the accuracy e of persistence (Žliobaitė, Bifet, Read,
//! Pfahringer and Holmes, 2015). Persistence has no prediction for the first label, which counts as wrong.

use serde::{Deserialize, Serialize};

use super::sums::{ratio, Sum};
use super::wants_labels;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::metric::{Metric, Outcome};
use crate::part::Part;

const NAME: &str = "metrics.KappaTemporal";

pub static KAPPA_TEMPORAL: Declaration = Declaration {
    name: NAME,
    role: Role::Metric,
    words: "Accuracy relative to predicting the previous label",
    merge: Merge::ORDER,
    parameters: &[],
    build: |_| Ok(Built::Metric(Box::new(KappaTemporal::default()))),
};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct KappaTemporal {
    total: Sum,
    correct: Sum,
    persistent: Sum,
}

impl Part for KappaTemporal {
    fn save(&self) -> Result<Vec<u8>> {
        pack(self)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: KappaTemporal = unpack(NAME, bytes)?;
        let valid = [state.total, state.correct, state.persistent].iter().all(Sum::is_valid);
        require(NAME, valid, "a sum is not finite")?;
        *self = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }
}

impl Metric for KappaTemporal {
    fn update(&mut self, outcome: &Outcome, w: f64) -> Result<()> {
        let Outcome::Class(outcome) = outcome else { return Err(wants_labels(NAME)) };
        if w == 0.0 {
            return Ok(());
        }
        self.total.check(NAME, w)?;
        self.total.add(w);
        if outcome.predicted == Some(outcome.truth) {
            self.correct.add(w);
        }
        if outcome.previous == Some(outcome.truth) {
            self.persistent.add(w);
        }
        Ok(())
    }

    fn infallible_for(&self, _classes: usize) -> bool {
        self.total.has_room()
    }

    fn get(&self) -> f64 {
        let accuracy = ratio(self.correct.value, self.total.value);
        let persistence = ratio(self.persistent.value, self.total.value);
        if persistence < 1.0 {
            (accuracy - persistence) / (1.0 - persistence)
        } else {
            0.0
        }
    }

    fn bigger_is_better(&self) -> bool {
        true
    }

    fn scale(&mut self, factor: f64) {
        for sum in [&mut self.total, &mut self.correct, &mut self.persistent] {
            sum.value *= factor;
        }
    }

    fn reset(&mut self) {
        *self = KappaTemporal::default();
    }

    fn duplicate(&self) -> Box<dyn Metric> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::ClassOutcome;
    use crate::task::ClassPrediction;

    #[test]
    fn worked_by_hand() {
        // Labels 0 0 1 1, predictions 0 0 1 0: a = 3/4, persistence is right at the second and fourth,
        // e = 2/4, κ = (3/4 − 2/4)/(1 − 2/4) = 1/2.
        let mut metric = KappaTemporal::default();
        let mut previous = None;
        for (truth, class) in [(0, 0), (0, 0), (1, 1), (1, 0)] {
            let prediction = ClassPrediction { class: Some(class), probabilities: Vec::new() };
            let outcome = ClassOutcome::new(truth, &prediction, previous, 1);
            metric.update(&Outcome::Class(outcome), 1.0).expect("a good outcome");
            previous = Some(truth);
        }
        assert_eq!(metric.get(), 0.5);
    }
}
