//! The base of anomaly filters: a detector, and a rule that gives the threshold of its score.
//!
//! A row is an anomaly if its score reaches the threshold, both computed before the row is learned. A protected detector
//! does not learn anomalies.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::Rows;
use crate::declaration::{Built, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::{Learner, Then};
use crate::merging::Merger;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Anomalies;

pub const MODEL: Parameter = Parameter::new(
    "model",
    Kind::Part(&[Role::AnomalyDetector]),
    DefaultValue::Required,
    "anomaly detector whose score is compared with the threshold",
);
pub const PROTECT: Parameter = Parameter::new(
    "protect_anomaly_detector",
    Kind::Boolean,
    DefaultValue::Boolean(true),
    "exclude anomalies from the training of the detector",
);

/// The source of the threshold.
pub trait FilterRule: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    fn threshold(&self) -> f64;
    /// Whether a score of this weight can be learned.
    fn accepts(&self, w: f64) -> Result<()>;
    /// Learn the score of a row.
    fn learn(&mut self, score: f64, w: f64);
    /// Revert the last `learn`.
    fn undo(&mut self);
    fn infallible(&self) -> bool;
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    fn memory(&self) -> usize;
}

pub fn build<R: FilterRule>(arguments: &Arguments<'_>, rule: R) -> Result<Built> {
    let detector = arguments.learner::<Anomalies>("model")?;
    Ok(Built::AnomalyDetector(Box::new(Filter {
        abilities: Abilities { takes_batches: false, undoes: true, ..detector.abilities() },
        undoes: detector.abilities().undoes,
        detector,
        protects: arguments.boolean("protect_anomaly_detector")?,
        rule,
        taught: false,
        before: None,
    })))
}

#[derive(Clone)]
struct Filter<R> {
    detector: Box<dyn Learner<Anomalies>>,
    protects: bool,
    rule: R,
    abilities: Abilities,
    /// Whether the detector can revert a row; if not, a copy from before the last row is kept.
    undoes: bool,
    before: Option<Box<dyn Learner<Anomalies>>>,
    /// Whether the detector has learned the last row.
    taught: bool,
}

#[derive(Serialize, Deserialize)]
struct State {
    model: ByteBuf,
    rule: ByteBuf,
}

impl<R: FilterRule> Filter<R> {
    /// Score a row, and train the detector on it unless it is protected; returns whether the row was learned.
    fn teach(&mut self, x: Row<'_>, w: f64, score: &mut f64, scratch: &mut Scratch) -> Result<bool> {
        let threshold = self.rule.threshold();
        let spared = |score: f64| self.protects && score >= threshold;
        let detector = &mut self.detector;
        if !self.undoes {
            detector.predict(x, Want::Class, score, scratch);
            if spared(*score) {
                return Ok(false);
            }
            self.before = Some(detector.duplicate());
            return detector.learn(x, (), w, scratch).map(|()| true);
        }
        // Anomalies are rare, so learning and scoring at once and reverting some rows is cheapest.
        match detector.step(x, (), w, Want::Class, score, scratch) {
            Ok(()) if spared(*score) => detector.undo(),
            Ok(()) => return Ok(true),
            Err(fault) => {
                detector.predict(x, Want::Class, score, scratch);
                if !spared(*score) {
                    return Err(fault);
                }
            }
        }
        Ok(false)
    }
}

impl<R: FilterRule> Part for Filter<R> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { model: ByteBuf::from(self.detector.save()?), rule: ByteBuf::from(self.rule.save()?) })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(R::NAME, bytes)?;
        let mut rule = self.rule.clone();
        rule.load(&state.rule)?;
        self.detector.load(&state.model)?;
        (self.rule, self.taught, self.before) = (rule, false, None);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.detector);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.detector);
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let state: State = unpack(R::NAME, merger.other.state)?;
        let base: Option<State> = merger.base.map(|base| unpack(R::NAME, base.state)).transpose()?;
        (self.taught, self.before) = (false, None);
        self.detector.merge_state(&merger.inner(&state.model, base.as_ref().map(|base| &base.model[..])))
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn memory(&self) -> usize {
        let before = self.before.as_ref().map_or(0, |before| before.memory());
        std::mem::size_of::<Self>() + self.detector.memory() + self.rule.memory() + before
    }

    fn infallible(&self) -> bool {
        self.detector.infallible() && self.rule.infallible()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let threshold = Some(self.rule.threshold()).filter(|threshold| threshold.is_finite());
        json!({ "threshold": threshold, "model": self.detector.inspect(schema) })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let part = Built::AnomalyDetector(self.detector.duplicate());
        Ok((index == 0).then(|| Extracted { part, description: None, input: input.clone(), learned: None }))
    }
}

impl<R: FilterRule> Learner<Anomalies> for Filter<R> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut f64, scratch: &mut Scratch) {
        self.detector.predict(x, want, out, scratch);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, Anomalies>) {
        self.detector.predict_batch(rows, want, scratch, then);
    }

    fn learn(&mut self, x: Row<'_>, y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, Want::Class, &mut 0.0, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        _y: (),
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.rule.accepts(w)?;
        self.taught = self.teach(x, w, out, scratch)?;
        self.rule.learn(*out, w);
        Ok(())
    }

    fn threshold(&self) -> Option<f64> {
        Some(self.rule.threshold())
    }

    fn undo(&mut self) {
        if std::mem::take(&mut self.taught) {
            match self.before.take() {
                Some(before) => self.detector = before,
                None => self.detector.undo(),
            }
        }
        self.rule.undo();
    }

    fn duplicate(&self) -> Box<dyn Learner<Anomalies>> {
        Box::new(self.clone())
    }
}
