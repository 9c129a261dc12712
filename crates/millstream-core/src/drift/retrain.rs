//! A model that is replaced when its errors drift (Gama, Medas, Castillo and Rodrigues, 2004, section 3).
//!
//! A detector receives the error of each prediction before its example is learned: 0 or 1, or the absolute error. At a
//! warning a background model starts training. If the warning passes, it is dropped. If the detector finds drift, it
//! replaces the model, and so has learned exactly the examples since the warning. The paper stores the examples since the
//! warning and learns them again, which gives the same model.
//!
//! A second, more sensitive detector (`warning_detector`) may give the warnings, as in adaptive random forests (Gomes and
//! others, 2017). These warnings do not pass, and each new one restarts the background model. Without a warning, and with
//! `warm` off, the replacement is a model that has learned only the newest example.
//!
//! A decrease of the errors is no reason to replace a model, and is ignored.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::{Batch, Rows};
use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::bagged::Detector;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::learner::{step_each, DecisionFunction, Interval, Learner, Then};
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, InnerDetector, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Task;

use super::error_monitor::{Action, ErrorMonitor};

const NAME: &str = "drift.Retrain";

pub static RETRAIN: Declaration = Declaration {
    name: NAME,
    role: Role::Wrapper,
    words: "A model that is replaced when its errors drift, by one trained since the warning",
    merge: Merge::none(
        "the model is replaced when its errors drift, which depends on the order of rows: merge models without it",
    ),
    parameters: &[
        Parameter::new(
            "model",
            Kind::Part(&[Role::Classifier, Role::Regressor]),
            DefaultValue::Required,
            "classifier or regressor",
        ),
        Parameter::new(
            "detector",
            Kind::Part(&[Role::DriftDetector]),
            DefaultValue::Required,
            "drift detector for its errors",
        ),
        Parameter::new(
            "warm",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "train a background model from the warning on; otherwise replace by an untrained model",
        ),
        Parameter::new(
            "warning_detector",
            Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
            DefaultValue::Null,
            "second detector, whose drifts count as warnings; null for the warnings of detector",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let monitor = ErrorMonitor::new(arguments)?;
    Ok(match arguments.part("model")? {
        Built::Classifier(unlearned) => Built::Classifier(Box::new(Retrain::new(unlearned, monitor))),
        Built::Regressor(unlearned) => {
            monitor.require_any_size(NAME)?;
            Built::Regressor(Box::new(Retrain::new(unlearned, monitor)))
        }
        _ => return Err(arguments.absent("model")),
    })
}

#[derive(Clone)]
struct Retrain<T: Task> {
    /// An untrained model.
    unlearned: Box<dyn Learner<T>>,
    now: Box<dyn Learner<T>>,
    background: Option<Box<dyn Learner<T>>>,
    monitor: ErrorMonitor,
    replaced: u64,
    /// Count of examples that the active model has learned; none if it was not saved.
    learned: Option<u64>,
    /// The same for the background model.
    grown: u64,
    at_savepoint: Option<Box<AtSavepoint<T>>>,
}

/// The active model and the background model.
type Pair<T> = (Box<dyn Learner<T>>, Option<Box<dyn Learner<T>>>);

/// The state at a savepoint.
#[derive(Clone)]
struct AtSavepoint<T: Task> {
    /// The models at the savepoint, if one was added or dropped since; otherwise they have savepoints of their own.
    models: Option<Pair<T>>,
    monitor: ErrorMonitor,
    replaced: u64,
    learned: Option<u64>,
    grown: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    model: ByteBuf,
    background: Option<ByteBuf>,
    detector: ByteBuf,
    warning_detector: Option<ByteBuf>,
    replaced: u64,
    #[serde(default)]
    counts: Option<Counts>,
}

/// Counts of learned examples and detector updates.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counts {
    learned: Option<u64>,
    grown: u64,
    #[serde(rename = "told")]
    updates: u64,
    #[serde(rename = "warner_told")]
    warning_updates: u64,
}

impl<T: Task> Retrain<T> {
    fn new(unlearned: Box<dyn Learner<T>>, monitor: ErrorMonitor) -> Self {
        let now = unlearned.clone();
        Retrain {
            unlearned,
            now,
            background: None,
            monitor,
            replaced: 0,
            learned: Some(0),
            grown: 0,
            at_savepoint: None,
        }
    }

    /// Act on an error, after the model has learned the example; cannot fail. True if the model was replaced.
    fn act_on(&mut self, error: Option<f64>, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> bool {
        self.learned = self.learned.map(|learned| learned.saturating_add(1));
        let action = error.map_or(Action::Keep, |error| self.monitor.update(error));
        match action {
            Action::DropBackground => self.drop_background(),
            Action::RestartBackground => self.start_background(),
            Action::StartBackground if self.background.is_none() => self.start_background(),
            _ => {}
        }
        if let Some(background) = &mut self.background {
            self.grown = self.grown.saturating_add(1);
            // An example that the model has learned may be impossible for this one, which is then useless.
            if background.learn(x, y, w, scratch).is_err() {
                self.drop_background();
            }
        }
        let Action::Replace = action else { return false };
        self.keep_models();
        (self.now, self.learned) = match self.background.take() {
            Some(grown) => (grown, Some(self.grown)),
            None => {
                let mut model = self.unlearned.clone();
                match model.learn(x, y, w, scratch) {
                    Ok(()) => (model, Some(1)),
                    Err(_) => (self.unlearned.clone(), Some(0)),
                }
            }
        };
        self.replaced = self.replaced.saturating_add(1);
        true
    }

    fn drop_background(&mut self) {
        if self.background.is_some() {
            self.keep_models();
            self.background = None;
        }
    }

    /// Store the models of the last savepoint, before one is added or dropped.
    fn keep_models(&mut self) {
        if let Some(AtSavepoint { models: models @ None, .. }) = self.at_savepoint.as_deref_mut() {
            let (mut now, mut background) = (self.now.clone(), self.background.clone());
            now.commit();
            background.iter_mut().for_each(|model| model.commit());
            std::mem::swap(&mut self.now, &mut now);
            std::mem::swap(&mut self.background, &mut background);
            now.rollback();
            background.iter_mut().for_each(|model| model.rollback());
            *models = Some((now, background));
        }
    }

    fn start_background(&mut self) {
        self.keep_models();
        (self.background, self.grown) = (Some(self.unlearned.clone()), 0);
    }

    fn loaded(&self, bytes: &[u8]) -> Result<Box<dyn Learner<T>>> {
        let mut learner = self.unlearned.clone();
        learner.load(bytes)?;
        Ok(learner)
    }
}

impl<T: Task> Part for Retrain<T> {
    fn save(&self) -> Result<Vec<u8>> {
        let warning_detector = self.monitor.warning_detector.as_ref();
        let warning_detector =
            warning_detector.map(|detector| detector.0.save().map(ByteBuf::from)).transpose()?;
        let ErrorMonitor { updates, warning_updates, .. } = self.monitor;
        let background = self.background.as_ref().map(|model| model.save().map(ByteBuf::from)).transpose()?;
        pack(&State {
            model: ByteBuf::from(self.now.save()?),
            background,
            detector: ByteBuf::from(self.monitor.detector.0.save()?),
            warning_detector,
            replaced: self.replaced,
            counts: Some(Counts { learned: self.learned, grown: self.grown, updates, warning_updates }),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let now = self.loaded(&state.model)?;
        let background = state.background.as_ref().map(|bytes| self.loaded(bytes)).transpose()?;
        let mut monitor = self.monitor.clone();
        monitor.detector.0.load(&state.detector)?;
        match (&mut monitor.warning_detector, &state.warning_detector) {
            (Some(Detector(detector)), Some(bytes)) => detector.load(bytes)?,
            (None, None) => {}
            _ => return Err(Fault::state(format!("{NAME}: the saved state is not valid: a detector is missing"))),
        }
        let unknown = Counts { learned: None, grown: 0, updates: 0, warning_updates: 0 };
        let counts = state.counts.unwrap_or(unknown);
        (monitor.updates, monitor.warning_updates) = (counts.updates, counts.warning_updates);
        (self.now, self.background, self.monitor, self.replaced) = (now, background, monitor, state.replaced);
        (self.learned, self.grown) = (counts.learned, counts.grown);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.unlearned);
        visit(&*self.now);
        self.background.iter().for_each(|model| visit(&**model));
        visit(&*self.monitor.detector.0);
        self.monitor.warning_detector.iter().for_each(|detector| visit(&*detector.0));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.unlearned);
        visit(&mut *self.now);
        self.background.iter_mut().for_each(|model| visit(&mut **model));
    }

    fn abilities(&self) -> Abilities {
        Abilities { mini_batches: false, ..self.unlearned.abilities() }
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.now.check(x, scratch)
    }

    fn infallible(&self) -> bool {
        self.unlearned.infallible() && self.now.infallible()
    }

    fn savepoint(&mut self) -> bool {
        let background = self.background.as_mut().is_none_or(|model| model.savepoint());
        if !(background && self.now.savepoint()) {
            self.commit();
            return false;
        }
        let Retrain { replaced, learned, grown, .. } = *self;
        let monitor = self.monitor.clone();
        self.at_savepoint = Some(Box::new(AtSavepoint { models: None, monitor, replaced, learned, grown }));
        true
    }

    fn rollback(&mut self) {
        let Some(before) = self.at_savepoint.take() else { return };
        let AtSavepoint { models, monitor, replaced, learned, grown } = *before;
        match models {
            Some(models) => (self.now, self.background) = models,
            None => {
                self.now.rollback();
                self.background.iter_mut().for_each(|model| model.rollback());
            }
        }
        (self.monitor, self.replaced, self.learned, self.grown) = (monitor, replaced, learned, grown);
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.now.commit();
        self.background.iter_mut().for_each(|model| model.commit());
    }

    fn change_basis(&self, change: &[f64]) -> Result<Option<Vec<u8>>> {
        let mut changed = self.clone();
        for model in std::iter::once(&mut changed.now).chain(&mut changed.background) {
            if let Some(state) = model.change_basis(change)? {
                model.load(&state)?;
            }
        }
        changed.save().map(Some)
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({
            "replaced": self.replaced,
            "growing": self.background.is_some(),
            "estimated_error": self.monitor.detector.0.estimation(),
            "model": self.now.inspect(schema),
        })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "replaced": self.replaced, "growing": self.background.is_some() })
    }

    /// The active model, then the background model.
    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let (model, learned) = match index {
            0 => (Some(&self.now), self.learned),
            1 => (self.background.as_ref(), Some(self.grown)),
            _ => (None, None),
        };
        Ok(model.map(|model| Extracted {
            part: T::build(model.clone()),
            description: None,
            input: input.clone(),
            learned,
        }))
    }

    fn detector(&self, parameter: &str) -> Option<InnerDetector> {
        let (detector, updates) = match parameter {
            "detector" => (Some(&self.monitor.detector), self.monitor.updates),
            "warning_detector" => (self.monitor.warning_detector.as_ref(), self.monitor.warning_updates),
            _ => (None, 0),
        };
        detector.map(|Detector(detector)| InnerDetector { part: detector.duplicate(), updates })
    }
}

impl<T: Task> Learner<T> for Retrain<T> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        self.now.predict(x, want, out, scratch);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, T>) {
        self.now.predict_batch(rows, want, scratch, then);
    }

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut prediction = T::take(scratch);
        let learned = self.step(x, y, w, T::LEAST, &mut prediction, scratch);
        T::give(prediction, scratch);
        learned
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.now.step(x, y, w, want, out, scratch)?;
        self.act_on(T::error(out, y), x, y, w, scratch);
        Ok(())
    }

    /// The active model processes the whole batch as if it were not replaced, and the detectors receive its errors. After
    /// the row at which it is replaced its results are discarded, and the new model continues from there.
    fn step_batch(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        // Behind a transformer that learns, the errors are those on rows as they are learned, which a batch does not
        // store. A class without a label may also be an error.
        let simple = batch.asked.is_none() && T::are_complete(out);
        if !simple || !self.now.abilities().takes_batches {
            return step_each(self, batch, want, out, scratch);
        }
        let mut from = 0;
        while from < batch.len() {
            let rest = batch.slice(from, batch.len());
            let start = T::count(out);
            let done = self.now.step_batch(&rest, want, out, scratch);
            let mut replaced = None;
            for row in 0..done {
                let (x, y, w) = (rest.rows.at(row), rest.truths[row], rest.weight(row));
                if self.act_on(T::error_at(out, start + row, y), x, y, w, scratch) {
                    replaced = Some(row);
                    break;
                }
            }
            let Some(row) = replaced else { return from + done };
            T::truncate(out, start + row + 1);
            from += row + 1;
        }
        from
    }

    fn loss(&self, x: Row<'_>, y: T::Truth, scratch: &mut Scratch) -> Option<f64> {
        self.now.loss(x, y, scratch)
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        self.now.decision_function()
    }

    fn interval(&self) -> Option<&dyn Interval> {
        self.now.interval()
    }

    fn duplicate(&self) -> Box<dyn Learner<T>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::task::{ClassPrediction, Classes};

    fn model(parameters: serde_json::Value) -> Box<dyn Learner<Classes>> {
        let description = json!({ "name": NAME, "parameters": parameters });
        let description = registry::resolve(&description).expect("it resolves");
        let Ok(Built::Classifier(model)) = registry::build_resolved(&description) else { panic!("no classifier") };
        model
    }

    fn probabilities(model: &dyn Learner<Classes>) -> Vec<f64> {
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut Scratch::default());
        out.probabilities
    }

    #[test]
    fn worked_by_hand() {
        // Prior predicts the most frequent class. Fifty of class 0: no error (the first has no prediction, 49 are counted),
        // p + s = 0. An error: p = 1/50 > 0, which is beyond any multiple of s = 0: immediate drift. The new model has
        // learned the one example of class 1.
        let ddm = json!({ "name": "drift.DDM" });
        let mut model = model(json!({ "model": { "name": "baseline.Prior" }, "detector": ddm }));
        let mut scratch = Scratch::default();
        for _ in 0..50 {
            model.learn(Row::Plain(&[]), 0, 1.0, &mut scratch).expect("a good example");
        }
        assert_eq!(probabilities(&*model), [1.0]);
        model.learn(Row::Plain(&[]), 1, 1.0, &mut scratch).expect("a good example");
        assert_eq!(probabilities(&*model), [0.0, 1.0]);
        assert_eq!(model.inspect(&Schema::default())["replaced"], 1);
    }

    #[test]
    fn the_background_model_has_learned_since_the_warning() {
        // Errors come from class 1 and the model predicts 0 (30 : 10). p = 10/39, s = 0.0699 at the minimum or below; the
        // warning comes some errors later and drift after it, so that the new model has learned class 1 only.
        let ddm = json!({ "name": "drift.DDM" });
        let mut warm = model(json!({ "model": { "name": "baseline.Prior" }, "detector": ddm }));
        let mut scratch = Scratch::default();
        let mut growing = 0;
        for index in 0..200 {
            let y = u32::from(index % 4 == 3 || index >= 120);
            warm.learn(Row::Plain(&[]), y, 1.0, &mut scratch).expect("a good example");
            let seen = warm.inspect(&Schema::default());
            growing += u32::from(seen["growing"] == true);
            if seen["replaced"] == 1 {
                break;
            }
        }
        assert!(growing > 1);
        assert_eq!(probabilities(&*warm), [0.0, 1.0]);
    }
}
