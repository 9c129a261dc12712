//! A model: a learner with the names and labels of its stream.
//!
//! Here the promise "whole or nothing" is kept for what surrounds the learner: features, nominal values and
//! classes that a refused example brought are forgotten again.

use serde_json::Value as Json;

use crate::batch::MODERATE;
use crate::declaration::Role;
use crate::drift::Watch;
use crate::fault::{Fault, Result, Shown};
use crate::labels::Labels;
use crate::part::{Abilities, Extracted, InnerDetector};
use crate::registry;
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::state::{self, Saved};
use crate::task::{Answer, Target, Truth};

mod merge;
mod mini_batches;
mod root;
mod run;
mod savepoint;
mod source;
mod tables;

use root::{for_task, Root, RootTask};

pub use mini_batches::Risk;
pub use run::{Job, NoSink, Sink, Tally};
pub use savepoint::Before;
pub use source::{Source, TableRow};

#[derive(Clone)]
pub struct Model {
    description: Json,
    title: String,
    schema: Schema,
    labels: Labels,
    root: Root,
    learned: u64,
    /// Of the root, read once.
    abilities: Abilities,
    /// Whether the root was found infallible, and only moderate rows were learned since.
    steady: bool,
}

impl Model {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let Some(root) = Root::new(registry::build_resolved(&description)?) else {
            let name = description["name"].as_str().unwrap_or_default();
            let role = registry::find(name)?.role.word();
            return Err(Fault::wrong_type(format!("{name}: a {role} is not a model")));
        };
        Ok(Model::around(description, root))
    }

    fn around(description: Json, root: Root) -> Self {
        let title = title(&description);
        let abilities = root.part().abilities();
        let (schema, labels) = (Schema::default(), Labels::default());
        Model { description, title, schema, labels, root, learned: 0, abilities, steady: false }
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    /// What messages call it.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn role(&self) -> Role {
        self.root.role()
    }

    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The most classes it can tell apart; None where no number is set.
    pub fn max_classes(&self) -> Option<usize> {
        Some(self.abilities.max_classes).filter(|&most| most < usize::MAX)
    }

    /// Examples learned.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.root.part().memory() + self.schema.memory() + self.labels.memory()
    }

    pub fn inspect(&self) -> Json {
        self.root.part().inspect(&self.schema)
    }

    /// Names, kinds and values of what `transform` writes.
    pub fn output(&self) -> Result<Schema> {
        match &self.root {
            Root::Transformer(part) => Ok(part.output(&self.schema)),
            Root::Classifier(_) | Root::Regressor(_) => Err(self.cannot("transform")),
        }
    }

    /// The integral of the products of a basis's functions, by rows.
    pub fn gram(&self, inputs: Option<usize>) -> Result<Vec<f64>> {
        let basis = match &self.root {
            Root::Transformer(part) => part.basis(),
            Root::Classifier(_) | Root::Regressor(_) => None,
        };
        let basis =
            basis.ok_or_else(|| Fault::wrong_type(format!("{}: only a basis has a Gram matrix", self.title)));
        basis?.gram(inputs)
    }

    fn cannot(&self, verb: &str) -> Fault {
        Fault::wrong_type(format!("{}: a {} cannot {verb}", self.title, self.role().word()))
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        state::seal(&Saved {
            written_by: env!("CARGO_PKG_VERSION").into(),
            description: self.description.to_string(),
            schema: self.schema.clone(),
            labels: self.labels.clone(),
            learned: self.learned,
            state: self.state()?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let mut model = Model::new(&state::description(&saved)?)?;
        model.adopt(&saved.schema, &saved.labels, &saved.state, saved.learned)?;
        Ok(model)
    }

    /// The step of a pipeline or the member of an ensemble at an index, as a model of its own that has learned what
    /// it has learned here.
    pub fn member(&self, index: usize) -> Result<Self> {
        let absent = || Fault::key(format!("{}: there is no step {index}", self.title));
        let Extracted { part, description, input, learned } =
            self.root.part().member(index, &self.schema)?.ok_or_else(absent)?;
        let parameters = &self.description["parameters"];
        let listed = ["steps", "parts", "models"].iter().find_map(|members| parameters[members].get(index));
        // The members of an ensemble may all be of one kind.
        let listed = listed.or_else(|| parameters.get("model")).or_else(|| parameters.get("meta_model"));
        let description = listed.cloned().or(description).ok_or_else(absent)?;
        let mut model = Model::around(registry::resolve(&description)?, Root::new(part).ok_or_else(absent)?);
        model.schema = input;
        model.learned = learned.unwrap_or(self.learned);
        if model.role() == Role::Classifier {
            model.labels = self.labels.clone();
        }
        model.bind();
        Ok(model)
    }

    /// A copy of the drift detector that a parameter describes, as it is now.
    pub fn watch(&self, parameter: &str) -> Result<Watch> {
        match self.root.part().detector(parameter) {
            Some(InnerDetector { part, updates }) => {
                Watch::around(&self.description["parameters"][parameter], part, updates)
            }
            None => Err(Fault::key(format!("{}: there is no {parameter}", self.title))),
        }
    }

    /// Take back the last `learn` of a transformer, bit for bit. At most once per `learn`.
    pub fn undo(&mut self) -> Result<()> {
        let Root::Transformer(part) = &mut self.root else { return Err(self.cannot("take back an example")) };
        if self.learned > 0 {
            part.undo();
            self.learned -= 1;
            if self.schema.changed() {
                self.schema.rollback();
                self.bind();
            }
        }
        Ok(())
    }

    /// See `Abilities::missing_is_zero`.
    #[inline]
    pub fn missing_is_zero(&self) -> bool {
        self.abilities.missing_is_zero
    }

    fn bind(&mut self) {
        if self.abilities.needs_names {
            self.root.part_mut().bind(&self.schema);
        }
    }

    /// The learner's own state.
    pub fn state(&self) -> Result<Vec<u8>> {
        self.root.part().save()
    }

    /// Take over names, labels and a learner's state.
    pub fn adopt(&mut self, schema: &Schema, labels: &Labels, state: &[u8], learned: u64) -> Result<()> {
        self.root.part_mut().load(state)?;
        self.steady = false;
        self.schema = schema.clone();
        self.labels = labels.clone();
        self.learned = learned;
        self.bind();
        Ok(())
    }

    pub fn predict<S: Source>(
        &self,
        source: &mut S,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        for_task!(self.root, T => self.predict_row::<T>(x, want, answer, scratch),
            transformer => Err(self.cannot("predict")))
    }

    #[inline]
    fn predict_row<T: RootTask>(
        &self,
        x: Row<'_>,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let prediction = T::prediction(answer);
        T::learner(&self.root)?.predict(x, want, prediction, scratch);
        T::keep_known(prediction, self.labels.known_classes(), want);
        Ok(())
    }

    /// The signed distance to the decision boundary.
    pub fn score<S: Source>(&self, source: &mut S, scratch: &mut Scratch) -> Result<f64> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        let function = for_task!(self.root, T => T::learner(&self.root)?.decision_function(), transformer => None);
        function.and_then(|function| function.score(x, scratch)).ok_or_else(|| self.cannot("score"))
    }

    /// The verbs that only some models of its role have: `score_one`, `predict_interval_one`.
    pub fn optional_verbs(&self) -> Vec<&'static str> {
        let (scores, intervals) = match &self.root {
            Root::Classifier(learner) => (learner.decision_function().is_some(), false),
            Root::Regressor(learner) => (false, learner.interval().is_some()),
            Root::Transformer(_) => (false, false),
        };
        let verbs = [("score_one", scores), ("predict_interval_one", intervals)];
        verbs.into_iter().filter(|(_, has)| *has).map(|(verb, _)| verb).collect()
    }

    /// Two numbers between which the target lies with probability `coverage`.
    pub fn interval<S: Source>(&self, source: &mut S, coverage: f64, scratch: &mut Scratch) -> Result<(f64, f64)> {
        if !(coverage > 0.0 && coverage < 1.0) {
            return Err(Fault::value(format!("{}: coverage must be in (0, 1), got {coverage}", self.title)));
        }
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        if self.role() != Role::Regressor {
            return Err(self.cannot("predict an interval"));
        }
        let interval = for_task!(self.root, T => T::learner(&self.root)?.interval(), transformer => None);
        interval.and_then(|interval| interval.interval(x, coverage, scratch)).ok_or_else(|| {
            Fault::wrong_type(format!(
                "{}: does not predict intervals; linear_model.BayesianLinearRegression does",
                self.title
            ))
        })
    }

    pub fn transform<S: Source>(&self, source: &mut S, out: &mut RowBuffer, scratch: &mut Scratch) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        match &self.root {
            Root::Transformer(part) => {
                part.transform(x, out, scratch);
                Ok(())
            }
            Root::Classifier(_) | Root::Regressor(_) => Err(self.cannot("transform")),
        }
    }

    /// Learn one example, or leave everything as it was.
    pub fn learn<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for_task!(self.root,
            T => self.admit::<T, S>(source, target, w, |root, x, y| T::learner_mut(root)?.learn(x, y, w, scratch)),
            transformer => self.learn_transformer(source, w, scratch))
    }

    fn learn_transformer<S: Source>(&mut self, source: &mut S, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.check_weight(w)?;
        self.admit_row(source, w, (self.labels.mark(), 0), |root, x| match root {
            Root::Transformer(part) => part.learn(x, Truth::None, w, scratch),
            Root::Classifier(_) | Root::Regressor(_) => Ok(()),
        })
    }

    /// Admit the names and the target of an example and hand it to `learn`; after a fault everything is as it was.
    #[inline]
    fn admit<T: RootTask, S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        learn: impl FnOnce(&mut Root, Row<'_>, T::Truth) -> Result<()>,
    ) -> Result<()> {
        self.check_weight(w)?;
        let mark = self.labels.mark();
        let y = match T::known(target, &self.labels) {
            Some(y) => y,
            None => {
                self.check_target::<T>(target)?;
                match w > 0.0 {
                    true => T::admit(target, &mut self.labels),
                    false => T::Truth::default(),
                }
            }
        };
        let code = match T::truth(y) {
            Truth::Class(code) => code,
            Truth::Number(_) | Truth::None => 0,
        };
        self.steady = self.steady && T::is_moderate(y);
        self.admit_row(source, w, (mark, code), |root, x| learn(root, x, y))
    }

    #[inline]
    fn admit_row<S: Source>(
        &mut self,
        source: &mut S,
        w: f64,
        (mark, code): (crate::labels::LabelsMark, u32),
        learn: impl FnOnce(&mut Root, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        if w == 0.0 {
            source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
            return Ok(());
        }
        self.schema.mark();
        let learned = match source.admit(&mut self.schema) {
            Ok(()) => {
                if self.schema.changed() {
                    self.bind();
                }
                match source.row(&self.schema) {
                    Ok(x) => {
                        self.steady = self.steady && w <= MODERATE && x.is_moderate();
                        learn(&mut self.root, x)
                    }
                    Err(fault) => Err(fault.by(&self.title)),
                }
            }
            Err(fault) => Err(fault.by(&self.title)),
        };
        if let Err(fault) = learned {
            self.labels.rollback(mark, code);
            if self.schema.changed() {
                self.schema.rollback();
                source.forget();
                self.bind();
            }
            return Err(fault);
        }
        self.learned += 1;
        Ok(())
    }

    /// Predict, then learn. After a fault nothing is learned and the answer means nothing.
    pub fn step<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for_task!(self.root, T => self.step_row::<T, S>(source, target, w, want, answer, scratch),
            transformer => Err(self.cannot("predict")))
    }

    fn step_row<T: RootTask, S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.check_weight(w)?;
        let known = T::known(target, &self.labels);
        if known.is_none() {
            self.check_target::<T>(target)?;
        }
        let Some(y) = known.filter(|_| w > 0.0 && !source.has_news(&self.schema)) else {
            self.predict(source, want, answer, scratch)?;
            return self.learn(source, target, w, scratch);
        };
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        self.steady = self.steady && x.is_moderate() && T::is_moderate(y) && w <= MODERATE;
        let prediction = T::prediction(answer);
        T::learner_mut(&mut self.root)?.step(x, y, w, want, prediction, scratch)?;
        T::keep_known(prediction, self.labels.known_classes(), want);
        self.learned += 1;
        Ok(())
    }

    /// Refuse a row that cannot be predicted or transformed.
    #[inline]
    fn check_row(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        match self.abilities.checks_rows {
            true => self.root.part().check(x, scratch),
            false => Ok(()),
        }
    }

    #[inline]
    fn check_weight(&self, w: f64) -> Result<()> {
        if (0.0..f64::INFINITY).contains(&w) {
            return Ok(());
        }
        let got = Shown(w);
        Err(Fault::value(format!("{}: the weight must be finite and not negative, got {got}", self.title)))
    }

    fn check_target<T: RootTask>(&self, target: Target<'_>) -> Result<()> {
        T::check(target, &self.labels, &self.abilities).map_err(|fault| fault.by(&self.title))
    }

    /// A copy that knows every feature and value of a source, for `transform` of what was never learned.
    pub fn acquainted<S: Source>(&self, source: &mut S) -> Result<Self> {
        let mut copy = self.clone();
        copy.schema.mark();
        source.admit(&mut copy.schema).map_err(|fault| fault.by(&self.title))?;
        copy.bind();
        Ok(copy)
    }
}

/// `linear_model.LogisticRegression`, or `StandardScaler | LogisticRegression`.
fn title(description: &Json) -> String {
    let name = description["name"].as_str().unwrap_or_default();
    match description["parameters"]["steps"].as_array() {
        Some(steps) => steps
            .iter()
            .map(|step| {
                let title = title(step);
                title.rsplit('.').next().unwrap_or(&title).to_string()
            })
            .collect::<Vec<_>>()
            .join(" | "),
        None => name.into(),
    }
}
