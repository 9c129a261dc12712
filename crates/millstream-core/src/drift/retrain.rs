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

use crate::ensemble::bagged::Detector;
use crate::ensemble::learner::Learner;
use crate::fault::{Fault, Result};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Member, Part, Regressor, Watching};
use crate::row::{Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, unpack};

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
        Built::Classifier(fresh) => Built::Classifier(Box::new(Retrain::new(fresh, adviser))),
        Built::Regressor(fresh) => {
            adviser.takes_any_size(NAME)?;
            Built::Regressor(Box::new(Retrain::new(fresh, adviser)))
        }
        _ => return Err(arguments.absent("model")),
    })
}

/// A learner that is taught row by row.
trait Teachable: Learner {
    fn teach(&mut self, x: Row<'_>, y: Self::Target, w: f64, scratch: &mut Scratch) -> Result<()>;
}

impl Teachable for Box<dyn Classifier> {
    fn teach(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn(x, y, w, scratch)
    }
}

impl Teachable for Box<dyn Regressor> {
    fn teach(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn(x, y, w, scratch)
    }
}

#[derive(Clone)]
struct Retrain<L> {
    /// A model that has learned nothing.
    fresh: L,
    now: L,
    background: Option<L>,
    adviser: Adviser,
    replaced: u64,
    /// How many examples the model at work has learned; none if that was not saved.
    learned: Option<u64>,
    /// And the one in the background.
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

impl<L: Teachable> Retrain<L> {
    fn new(fresh: L, adviser: Adviser) -> Self {
        Retrain { now: fresh.clone(), fresh, background: None, adviser, replaced: 0, learned: Some(0), grown: 0 }
    }

    /// What follows from an error, once the model has learned the example; nothing of it can be refused.
    fn follow(&mut self, error: Option<f64>, x: Row<'_>, y: L::Target, w: f64, scratch: &mut Scratch) {
        self.learned = self.learned.map(|learned| learned.saturating_add(1));
        let advice = error.map_or(Advice::Nothing, |error| self.adviser.tell(error));
        match advice {
            Advice::Well => self.background = None,
            Advice::GrowAnew => self.grow(),
            Advice::Grow if self.background.is_none() => self.grow(),
            _ => {}
        }
        if let Some(background) = &mut self.background {
            self.grown = self.grown.saturating_add(1);
            // What another model has learned need not be possible for this one; then it is of no use.
            if background.teach(x, y, w, scratch).is_err() {
                self.background = None;
            }
        }
        if let Advice::Replace = advice {
            (self.now, self.learned) = match self.background.take() {
                Some(grown) => (grown, Some(self.grown)),
                None => {
                    let mut fresh = self.fresh.clone();
                    match fresh.teach(x, y, w, scratch) {
                        Ok(()) => (fresh, Some(1)),
                        Err(_) => (self.fresh.clone(), Some(0)),
                    }
                }
            };
            self.replaced = self.replaced.saturating_add(1);
        }
    }

    fn grow(&mut self) {
        (self.background, self.grown) = (Some(self.fresh.clone()), 0);
    }

    fn loaded(&self, bytes: &[u8]) -> Result<L> {
        let mut learner = self.fresh.clone();
        learner.part_mut().load(bytes)?;
        Ok(learner)
    }
}

impl<L: Teachable> Part for Retrain<L> {
    fn save(&self) -> Result<Vec<u8>> {
        let warner = self.adviser.warner.as_ref().map(|warner| warner.0.save().map(ByteBuf::from)).transpose()?;
        let Adviser { told, warner_told, .. } = self.adviser;
        let background =
            self.background.as_ref().map(|model| model.part().save().map(ByteBuf::from)).transpose()?;
        pack(&State {
            model: ByteBuf::from(self.now.part().save()?),
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

    fn memory(&self) -> usize {
        let models = [Some(&self.fresh), Some(&self.now), self.background.as_ref()];
        std::mem::size_of::<Self>()
            + models.into_iter().flatten().map(|model| model.part().memory()).sum::<usize>()
            + self.adviser.detector.0.memory()
            + self.adviser.warner.as_ref().map_or(0, |warner| warner.0.memory())
    }

    fn needs_names(&self) -> bool {
        self.fresh.part().needs_names()
    }

    fn bind(&mut self, schema: &Schema) {
        self.fresh.part_mut().bind(schema);
        self.now.part_mut().bind(schema);
        if let Some(background) = &mut self.background {
            background.part_mut().bind(schema);
        }
    }

    fn missing_is_zero(&self) -> bool {
        self.fresh.part().missing_is_zero()
    }

    fn checks(&self) -> bool {
        self.fresh.part().checks()
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.now.part().check(x, scratch)
    }

    fn wants_orthonormal(&self) -> bool {
        self.fresh.part().wants_orthonormal()
    }

    fn expressed(&self, transition: &[f64]) -> Result<Option<Vec<u8>>> {
        let of = |model: &L| match model.part().expressed(transition)? {
            Some(state) => Ok(ByteBuf::from(state)),
            None => model.part().save().map(ByteBuf::from),
        };
        let mut state: State = unpack(NAME, &self.save()?)?;
        state.model = of(&self.now)?;
        state.background = self.background.as_ref().map(of).transpose()?;
        pack(&state).map(Some)
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({
            "replaced": self.replaced,
            "growing": self.background.is_some(),
            "estimated_error": self.adviser.detector.0.estimation(),
            "model": self.now.part().inspect(schema),
        })
    }

    /// The model at work, then the one in the background.
    fn member(&self, place: usize, input: &Schema) -> Result<Option<Member>> {
        let (model, learned) = match place {
            0 => (Some(&self.now), self.learned),
            1 => (self.background.as_ref(), Some(self.grown)),
            _ => (None, None),
        };
        let member = |model: &L| Ok(Member { state: model.part().save()?, input: input.clone(), learned });
        model.map(member).transpose()
    }

    fn watching(&self, parameter: &str) -> Result<Option<Watching>> {
        let (detector, updates) = match parameter {
            "detector" => (Some(&self.adviser.detector), self.adviser.told),
            "warning_detector" => (self.adviser.warner.as_ref(), self.adviser.warner_told),
            _ => (None, 0),
        };
        detector.map(|Detector(detector)| Ok(Watching { state: detector.save()?, updates })).transpose()
    }
}

fn wrong(said: Option<u32>, y: u32) -> Option<f64> {
    said.map(|said| f64::from(u8::from(said != y)))
}

impl Classifier for Retrain<Box<dyn Classifier>> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        self.now.predict(x, want, out, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut said = scratch.take_prediction();
        let learned = self.step(x, y, w, Want::Class, &mut said, scratch);
        scratch.give_prediction(said);
        learned
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.now.step(x, y, w, want, out, scratch)?;
        self.follow(wrong(out.class, y), x, y, w, scratch);
        Ok(())
    }

    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        self.now.score(x, scratch)
    }

    fn max_classes(&self) -> usize {
        self.fresh.max_classes()
    }

    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        self.now.loss(x, y, scratch)
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

impl Regressor for Retrain<Box<dyn Regressor>> {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        self.now.predict(x, scratch)
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, scratch).map(|_| ())
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let said = self.now.step(x, y, w, scratch)?;
        self.follow(Some((said - y).abs()), x, y, w, scratch);
        Ok(said)
    }

    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        self.now.loss(x, y, scratch)
    }

    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)> {
        self.now.interval(x, coverage, scratch)
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(parameters: serde_json::Value) -> Box<dyn Classifier> {
        let description = json!({ "name": NAME, "parameters": parameters });
        let description = registry::resolve(&description).expect("it resolves");
        let Ok(Built::Classifier(model)) = registry::build_resolved(&description) else { panic!("no classifier") };
        model
    }

    fn shares(model: &dyn Classifier) -> Vec<f64> {
        let mut out = Prediction::default();
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
