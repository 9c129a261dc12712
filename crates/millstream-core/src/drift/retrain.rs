//! A model that is replaced when its errors have changed (Gama, Medas, Castillo and Rodrigues, 2004, section 3).
//!
//! A detector is told the error of each prediction before its example is learned: 0 or 1, or the absolute error. At a
//! warning a second model begins to learn in the background; when the warning passes, it is forgotten; when the detector
//! finds a change, it takes the model's place, and so has learned what came since the warning and nothing of what came
//! before. The paper keeps the examples since the warning and learns them again, which gives the same model.
//!
//! A second, more sensitive detector can be given (`warning_detector`), whose changes are warnings, as in adaptive random
//! forests (Gomes and others, 2017): they do not pass, and a newer one begins anew. Where there was no warning, and with
//! `warm` off, a model that has learned nothing but the newest example takes the place.
//!
//! A change for the better is no reason to forget: a detector that says that errors have become fewer replaces nothing.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::Batch;
use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::bagged::Detector;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::learner::{step_each, DecisionFunction, Interval, Learner};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, InnerDetector, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Task;

use super::advice::{Advice, Adviser};

const NAME: &str = "drift.Retrain";

pub static RETRAIN: Declaration = Declaration {
    name: NAME,
    role: Role::Wrapper,
    words: "A model that is replaced when its errors have changed, by one that was grown since the warning",
    parameters: &[
        Parameter::new(
            "model",
            Kind::Part(&[Role::Classifier, Role::Regressor]),
            DefaultValue::Required,
            "the classifier or regressor",
        ),
        Parameter::new(
            "detector",
            Kind::Part(&[Role::DriftDetector]),
            DefaultValue::Required,
            "what watches its errors",
        ),
        Parameter::new(
            "warm",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether a model grows in the background from the warning on; else a new one takes the place",
        ),
        Parameter::new(
            "warning_detector",
            Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
            DefaultValue::Null,
            "what watches the errors for warnings, instead of the detector's own",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let adviser = Adviser::new(arguments)?;
    Ok(match arguments.part("model")? {
        Built::Classifier(unlearned) => Built::Classifier(Box::new(Retrain::new(unlearned, adviser))),
        Built::Regressor(unlearned) => {
            adviser.takes_any_size(NAME)?;
            Built::Regressor(Box::new(Retrain::new(unlearned, adviser)))
        }
        _ => return Err(arguments.absent("model")),
    })
}

#[derive(Clone)]
struct Retrain<T: Task> {
    /// A model that has learned nothing.
    unlearned: Box<dyn Learner<T>>,
    now: Box<dyn Learner<T>>,
    background: Option<Box<dyn Learner<T>>>,
    adviser: Adviser,
    replaced: u64,
    /// How many examples the model at work has learned; none if that was not saved.
    learned: Option<u64>,
    /// And the background model.
    grown: u64,
    at_savepoint: Option<Box<AtSavepoint<T>>>,
}

/// The model at work, and the one in the background.
type Pair<T> = (Box<dyn Learner<T>>, Option<Box<dyn Learner<T>>>);

/// The state at a savepoint.
#[derive(Clone)]
struct AtSavepoint<T: Task> {
    /// The models at the savepoint, if one has come or gone since; else they record what they overwrite.
    models: Option<Pair<T>>,
    adviser: Adviser,
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

/// What was learned and told, for those who look at the parts.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Counts {
    learned: Option<u64>,
    grown: u64,
    told: u64,
    warner_told: u64,
}

impl<T: Task> Retrain<T> {
    fn new(unlearned: Box<dyn Learner<T>>, adviser: Adviser) -> Self {
        let now = unlearned.clone();
        Retrain {
            unlearned,
            now,
            background: None,
            adviser,
            replaced: 0,
            learned: Some(0),
            grown: 0,
            at_savepoint: None,
        }
    }

    /// Act on an error, once the model has learned the example; nothing of it can be refused. True if the model was
    /// replaced.
    fn follow(&mut self, error: Option<f64>, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> bool {
        self.learned = self.learned.map(|learned| learned.saturating_add(1));
        let advice = error.map_or(Advice::Nothing, |error| self.adviser.tell(error));
        match advice {
            Advice::Well => self.drop_background(),
            Advice::GrowAnew => self.grow(),
            Advice::Grow if self.background.is_none() => self.grow(),
            _ => {}
        }
        if let Some(background) = &mut self.background {
            self.grown = self.grown.saturating_add(1);
            // What another model has learned need not be possible for this one; then it is of no use.
            if background.learn(x, y, w, scratch).is_err() {
                self.drop_background();
            }
        }
        let Advice::Replace = advice else { return false };
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

    /// Keep the models of the last savepoint, before one comes or goes.
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

    fn grow(&mut self) {
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
        let warner = self.adviser.warner.as_ref().map(|warner| warner.0.save().map(ByteBuf::from)).transpose()?;
        let Adviser { told, warner_told, .. } = self.adviser;
        let background = self.background.as_ref().map(|model| model.save().map(ByteBuf::from)).transpose()?;
        pack(&State {
            model: ByteBuf::from(self.now.save()?),
            background,
            detector: ByteBuf::from(self.adviser.detector.0.save()?),
            warning_detector: warner,
            replaced: self.replaced,
            counts: Some(Counts { learned: self.learned, grown: self.grown, told, warner_told }),
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let now = self.loaded(&state.model)?;
        let background = state.background.as_ref().map(|bytes| self.loaded(bytes)).transpose()?;
        let mut adviser = self.adviser.clone();
        adviser.detector.0.load(&state.detector)?;
        match (&mut adviser.warner, &state.warning_detector) {
            (Some(Detector(warner)), Some(bytes)) => warner.load(bytes)?,
            (None, None) => {}
            _ => return Err(Fault::state(format!("{NAME}: the saved state is not valid: a detector is missing"))),
        }
        let unknown = Counts { learned: None, grown: 0, told: 0, warner_told: 0 };
        let counts = state.counts.unwrap_or(unknown);
        (adviser.told, adviser.warner_told) = (counts.told, counts.warner_told);
        (self.now, self.background, self.adviser, self.replaced) = (now, background, adviser, state.replaced);
        (self.learned, self.grown) = (counts.learned, counts.grown);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.unlearned);
        visit(&*self.now);
        self.background.iter().for_each(|model| visit(&**model));
        visit(&*self.adviser.detector.0);
        self.adviser.warner.iter().for_each(|warner| visit(&*warner.0));
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
        let adviser = self.adviser.clone();
        self.at_savepoint = Some(Box::new(AtSavepoint { models: None, adviser, replaced, learned, grown }));
        true
    }

    fn rollback(&mut self) {
        let Some(before) = self.at_savepoint.take() else { return };
        let AtSavepoint { models, adviser, replaced, learned, grown } = *before;
        match models {
            Some(models) => (self.now, self.background) = models,
            None => {
                self.now.rollback();
                self.background.iter_mut().for_each(|model| model.rollback());
            }
        }
        (self.adviser, self.replaced, self.learned, self.grown) = (adviser, replaced, learned, grown);
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
            "estimated_error": self.adviser.detector.0.estimation(),
            "model": self.now.inspect(schema),
        })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "replaced": self.replaced, "growing": self.background.is_some() })
    }

    /// The model at work, then the one in the background.
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
            "detector" => (Some(&self.adviser.detector), self.adviser.told),
            "warning_detector" => (self.adviser.warner.as_ref(), self.adviser.warner_told),
            _ => (None, 0),
        };
        detector.map(|Detector(detector)| InnerDetector { part: detector.duplicate(), updates })
    }
}

impl<T: Task> Learner<T> for Retrain<T> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        self.now.predict(x, want, out, scratch);
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
        self.follow(T::error(out, y), x, y, w, scratch);
        Ok(())
    }

    /// The model at work goes through the whole batch as if it stayed, and the detectors follow its errors. What it did
    /// after the row at which it is replaced is forgotten with it; the new model goes on from there.
    fn step_batch(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        // Behind a transformer that learns, the errors are those on rows as they are learned, which a batch does not
        // keep; and a class that has no label yet may be an error.
        let simple = batch.asked.is_none() && T::are_whole(out);
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
                if self.follow(T::error_at(out, start + row, y), x, y, w, scratch) {
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

    fn shares(model: &dyn Learner<Classes>) -> Vec<f64> {
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut Scratch::default());
        out.probabilities
    }

    #[test]
    fn worked_by_hand() {
        // Prior says the most frequent class. Fifty of class 0: no error (the first is not answered, 49 are counted),
        // p + s = 0. An error: p = 1/50 > 0, which is beyond any multiple of s = 0: a change at once. The model that
        // takes the place has learned the one example of class 1.
        let ddm = json!({ "name": "drift.DDM" });
        let mut model = model(json!({ "model": { "name": "baseline.Prior" }, "detector": ddm }));
        let mut scratch = Scratch::default();
        for _ in 0..50 {
            model.learn(Row::Plain(&[]), 0, 1.0, &mut scratch).expect("a good example");
        }
        assert_eq!(shares(&*model), [1.0]);
        model.learn(Row::Plain(&[]), 1, 1.0, &mut scratch).expect("a good example");
        assert_eq!(shares(&*model), [0.0, 1.0]);
        assert_eq!(model.inspect(&Schema::default())["replaced"], 1);
    }

    #[test]
    fn what_grows_in_the_background_has_learned_since_the_warning() {
        // Errors come from class 1 and the model says 0 (30 : 10). p = 10/39, s = 0.0699 at the least or below; the
        // warning comes some errors later and the change after it, so that the new model has seen class 1 alone.
        let ddm = json!({ "name": "drift.DDM" });
        let mut warm = model(json!({ "model": { "name": "baseline.Prior" }, "detector": ddm }));
        let mut scratch = Scratch::default();
        let mut growing = 0;
        for place in 0..200 {
            let y = u32::from(place % 4 == 3 || place >= 120);
            warm.learn(Row::Plain(&[]), y, 1.0, &mut scratch).expect("a good example");
            let seen = warm.inspect(&Schema::default());
            growing += u32::from(seen["growing"] == true);
            if seen["replaced"] == 1 {
                break;
            }
        }
        assert!(growing > 1);
        assert_eq!(shares(&*warm), [0.0, 1.0]);
    }
}
