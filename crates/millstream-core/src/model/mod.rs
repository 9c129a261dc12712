//! A model: a learner with the names and labels of its stream.
//!
//! Here the promise "whole or nothing" is kept for what surrounds the learner: features, nominal values and
//! classes that a refused example brought are forgotten again.

use serde_json::Value as Json;

use crate::block::among_known;
use crate::drift::Watch;
use crate::fault::{Fault, Result, Shown};
use crate::labels::{Label, Labels};
use crate::registry::{self, Built, Role};
use crate::role::{Classifier, Part, Regressor, Transformer, Watching};
use crate::row::{Prediction, Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::state::{self, Saved};

mod batches;
mod hold;
mod kept;
mod merge;
mod run;
mod source;

pub use batches::Risk;
pub use hold::Before;
pub use run::{Job, Known, NoSink, Sink, Tally};
pub use source::{Source, TableRow, Target, Targets};

#[derive(Clone)]
enum Root {
    Classifier(Box<dyn Classifier>),
    Regressor(Box<dyn Regressor>),
    Transformer(Box<dyn Transformer>),
}

impl Root {
    fn part(&self) -> &dyn Part {
        match self {
            Root::Classifier(part) => &**part,
            Root::Regressor(part) => &**part,
            Root::Transformer(part) => &**part,
        }
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        match self {
            Root::Classifier(part) => &mut **part,
            Root::Regressor(part) => &mut **part,
            Root::Transformer(part) => &mut **part,
        }
    }
}

#[derive(Clone)]
pub struct Model {
    description: Json,
    title: String,
    schema: Schema,
    labels: Labels,
    root: Root,
    learned: u64,
    /// See `Part::checks`.
    checks: bool,
}

/// What a model predicted. Kept by the caller and reused.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub class: Prediction,
    pub number: f64,
}

impl Model {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        let description = registry::resolve(description)?;
        let root = match registry::build_resolved(&description)? {
            Built::Classifier(part) => Root::Classifier(part),
            Built::Regressor(part) => Root::Regressor(part),
            Built::Transformer(part) => Root::Transformer(part),
            _ => {
                let name = description["name"].as_str().unwrap_or_default();
                let role = registry::find(name)?.role.word();
                return Err(Fault::wrong_type(format!("{name}: a {role} is not a model")));
            }
        };
        let title = title(&description);
        let checks = root.part().checks();
        let (schema, labels) = (Schema::default(), Labels::default());
        Ok(Model { description, title, schema, labels, root, learned: 0, checks })
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    /// What messages call it.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn role(&self) -> Role {
        match self.root {
            Root::Classifier(_) => Role::Classifier,
            Root::Regressor(_) => Role::Regressor,
            Root::Transformer(_) => Role::Transformer,
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The most classes it can tell apart; None where no number is set.
    pub fn max_classes(&self) -> Option<usize> {
        match &self.root {
            Root::Classifier(part) => Some(part.max_classes()).filter(|&most| most < usize::MAX),
            _ => None,
        }
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
            _ => Err(self.cannot("transform")),
        }
    }

    /// The integral of the products of a basis's functions, by rows.
    pub fn gram(&self, inputs: Option<usize>) -> Result<Vec<f64>> {
        let found = match &self.root {
            Root::Transformer(part) => part.gram(inputs)?,
            _ => None,
        };
        found.ok_or_else(|| Fault::wrong_type(format!("{}: only a basis has a Gram matrix", self.title)))
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
        let saved = state::open(bytes)?;
        let mut model = Model::new(&state::description(&saved)?)?;
        model.adopt(&saved.schema, &saved.labels, &saved.state, saved.learned)?;
        Ok(model)
    }

    /// The step of a pipeline or the part of a union at a place, as a model of its own that has learned what
    /// it has learned here.
    pub fn member(&self, place: usize) -> Result<Self> {
        let parameters = &self.description["parameters"];
        let listed = ["steps", "parts", "models"].iter().find_map(|members| parameters[members].get(place));
        // The members of an ensemble may all be of one kind.
        let described =
            listed.or_else(|| parameters.get("model")).or_else(|| parameters.get("meta_model")).cloned();
        let described = described.or_else(|| self.root.part().member_description());
        match (described, self.root.part().member(place, &self.schema)?) {
            (Some(description), Some(member)) => {
                let mut model = Model::new(&description)?;
                let labels =
                    if model.role() == Role::Classifier { self.labels.clone() } else { Labels::default() };
                let learned = member.learned.unwrap_or(self.learned);
                model.adopt(&member.input, &labels, &member.state, learned)?;
                Ok(model)
            }
            _ => Err(Fault::key(format!("{}: there is no step {place}", self.title))),
        }
    }

    /// The detector of change that a parameter describes, as it is now.
    pub fn watch(&self, parameter: &str) -> Result<Watch> {
        match self.root.part().watching(parameter)? {
            Some(Watching { state, updates }) => {
                Watch::at_work(&self.description["parameters"][parameter], &state, updates)
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

    /// See `Part::missing_is_zero`.
    #[inline]
    pub fn missing_is_zero(&self) -> bool {
        self.root.part().missing_is_zero()
    }

    fn bind(&mut self) {
        if self.root.part().needs_names() {
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
        self.schema = schema.clone();
        self.labels = labels.clone();
        self.learned = learned;
        self.bind();
        Ok(())
    }

    /// The answer to a row, with the class among those that are known.
    fn answer(
        root: &Root,
        labels: &Labels,
        x: Row<'_>,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match root {
            Root::Classifier(part) => {
                part.predict(x, want, &mut answer.class, scratch);
                among_known(&mut answer.class, labels, want);
                Ok(())
            }
            Root::Regressor(part) => {
                answer.number = part.predict(x, scratch);
                Ok(())
            }
            Root::Transformer(_) => Err(Fault::wrong_type("a transformer cannot predict")),
        }
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
        Self::answer(&self.root, &self.labels, x, want, answer, scratch).map_err(|fault| fault.by(&self.title))
    }

    pub fn score<S: Source>(&self, source: &mut S, scratch: &mut Scratch) -> Result<f64> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        match &self.root {
            Root::Classifier(part) => part.score(x, scratch).ok_or_else(|| self.cannot("score")),
            _ => Err(self.cannot("score")),
        }
    }

    /// Two numbers between which the target lies with probability `coverage`.
    pub fn interval<S: Source>(&self, source: &mut S, coverage: f64, scratch: &mut Scratch) -> Result<(f64, f64)> {
        if !(coverage > 0.0 && coverage < 1.0) {
            return Err(Fault::value(format!("{}: coverage must be in (0, 1), got {coverage}", self.title)));
        }
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        let Root::Regressor(part) = &self.root else { return Err(self.cannot("predict an interval")) };
        part.interval(x, coverage, scratch).ok_or_else(|| {
            Fault::wrong_type(format!(
                "{}: does not say how sure it is; linear_model.BayesianLinearRegression does",
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
            _ => Err(self.cannot("transform")),
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
        self.take_in(source, target, w, |root, x, code| match (root, target) {
            (Root::Classifier(part), _) => part.learn(x, code, w, scratch),
            (Root::Regressor(part), Target::Number(y)) => part.learn(x, y, w, scratch),
            (Root::Transformer(part), _) => part.learn(x, w, scratch),
            _ => Ok(()),
        })
    }

    /// Admit the names and the label of an example and hand it to `lesson`; on a fault all is as it was.
    #[inline]
    fn take_in<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        lesson: impl FnOnce(&mut Root, Row<'_>, u32) -> Result<()>,
    ) -> Result<()> {
        self.check(target, w)?;
        if w == 0.0 {
            source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
            return Ok(());
        }
        self.schema.mark();
        let label = self.admit_label(target)?;
        if let Err(fault) = source.admit(&mut self.schema) {
            self.take_back(source, label);
            return Err(fault.by(&self.title));
        }
        if self.schema.changed() {
            self.bind();
        }
        let learned = match source.row(&self.schema) {
            Ok(x) => lesson(&mut self.root, x, label.code),
            Err(fault) => Err(fault.by(&self.title)),
        };
        if let Err(fault) = learned {
            self.take_back(source, label);
            return Err(fault);
        }
        self.learned += 1;
        Ok(())
    }

    /// Predict, then learn. On a fault nothing is learned and the answer means nothing.
    pub fn step<S: Source>(
        &mut self,
        source: &mut S,
        target: Target<'_>,
        w: f64,
        want: Want,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let new_label = matches!(target, Target::Class(label) if self.labels.code(label).is_none());
        if w == 0.0 || new_label || source.has_news(&self.schema) || matches!(self.root, Root::Transformer(_)) {
            self.check(target, w)?;
            self.predict(source, want, answer, scratch)?;
            return self.learn(source, target, w, scratch);
        }
        self.check(target, w)?;
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        self.check_row(x, scratch)?;
        match (&mut self.root, target) {
            (Root::Classifier(part), Target::Class(label)) => {
                let code = self.labels.code(label).unwrap_or_default();
                part.step(x, code, w, want, &mut answer.class, scratch)?;
                among_known(&mut answer.class, &self.labels, want);
            }
            (Root::Regressor(part), Target::Number(y)) => answer.number = part.step(x, y, w, scratch)?,
            _ => return Ok(()),
        }
        self.learned += 1;
        Ok(())
    }

    /// Whether a row can be predicted or transformed at all.
    #[inline]
    fn check_row(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        match self.checks {
            true => self.root.part().check(x, scratch),
            false => Ok(()),
        }
    }

    /// Whether `target` and weight are of the right kind and finite.
    fn check(&self, target: Target<'_>, w: f64) -> Result<()> {
        let refuse = |kind: fn(String) -> Fault, message: String| Err(kind(format!("{}: {message}", self.title)));
        if !(w.is_finite() && w >= 0.0) {
            return refuse(Fault::value, format!("the weight must be finite and not negative, got {}", Shown(w)));
        }
        match (&self.root, target) {
            (Root::Classifier(part), Target::Class(label)) => {
                let most = part.max_classes();
                let known = self.labels.len();
                if known >= most && self.labels.code(label).is_none() && self.labels.get(0).is_some() {
                    return refuse(
                        Fault::value,
                        format!(
                            "learns {most} classes, got {label} beside {}; use multiclass.OneVsRest or linear_model.SoftmaxRegression",
                            self.labels.entries().iter().flatten().map(Label::to_string).collect::<Vec<_>>().join(", ")
                        ),
                    );
                }
                Ok(())
            }
            (Root::Regressor(_), Target::Number(y)) if y.is_finite() => Ok(()),
            (Root::Regressor(_), Target::Number(y)) => {
                refuse(Fault::value, format!("the target must be finite, got {y}"))
            }
            (Root::Transformer(_), _) => Ok(()),
            (Root::Classifier(_), _) => {
                refuse(Fault::wrong_type, "the target must be a class label (bool, int or str)".into())
            }
            (Root::Regressor(_), Target::Class(label)) => {
                refuse(Fault::wrong_type, format!("the target must be a number, got the label {label}"))
            }
            (Root::Regressor(_), Target::None) => refuse(Fault::wrong_type, "the target is missing".into()),
        }
    }

    fn admit_label(&mut self, target: Target<'_>) -> Result<AdmittedLabel> {
        let mark = self.labels.mark();
        let code = match target {
            Target::Class(label) if matches!(self.root, Root::Classifier(_)) => self.labels.intern(label),
            _ => 0,
        };
        Ok(AdmittedLabel { mark, code })
    }

    fn take_back<S: Source>(&mut self, source: &mut S, label: AdmittedLabel) {
        self.labels.rollback(label.mark, label.code);
        if self.schema.changed() {
            self.schema.rollback();
            source.forget();
            self.bind();
        }
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

#[derive(Clone, Copy)]
struct AdmittedLabel {
    mark: crate::labels::LabelsMark,
    code: u32,
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
