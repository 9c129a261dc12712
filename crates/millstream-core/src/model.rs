//! A model: a learner with the names and labels of its stream.
//!
//! Here the promise "whole or nothing" is kept for what surrounds the learner: features, nominal values and
//! classes that a refused example brought are forgotten again.

use serde_json::Value as Json;

use crate::draft::Draft;
use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::registry::{self, Built, Role};
use crate::role::{Classifier, Part, Regressor, Transformer};
use crate::row::{all_finite, most, Prediction, Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::state::{self, Saved};
use crate::table::{each_raw, Raw, Reader, Table};

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
}

/// What an example should have been predicted as.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    None,
    Class(&'a Label),
    Number(f64),
}

/// What a model predicted. Kept by the caller and reused.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub class: Prediction,
    pub number: f64,
}

/// The targets of a table.
#[derive(Clone, Copy)]
pub enum Targets<'a> {
    None,
    Numbers(&'a [f64]),
    /// A label for each row, by its place in `distinct`; a place beyond the end is a missing label.
    Classes {
        distinct: &'a [Label],
        places: &'a [u32],
    },
}

impl<'a> Targets<'a> {
    pub fn at(&self, row: usize) -> Result<Target<'a>> {
        match *self {
            Targets::None => Ok(Target::None),
            Targets::Numbers(numbers) => Ok(Target::Number(numbers[row])),
            Targets::Classes { distinct, places } => match distinct.get(places[row] as usize) {
                Some(label) => Ok(Target::Class(label)),
                None => Err(Fault::value("the label is missing")),
            },
        }
    }
}

/// Where an example comes from: a dict or a row of a table.
pub trait Source {
    /// The row, for a schema that may not know all of it.
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>>;
    /// Let the schema learn what is new in it.
    fn admit(&mut self, schema: &mut Schema) -> Result<()>;
    /// Whether there may be something new in it.
    fn has_news(&self, schema: &Schema) -> bool;
    /// The schema was rolled back.
    fn forget(&mut self) {}
}

impl Source for Draft {
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>> {
        Ok(Draft::row(self, schema))
    }

    fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        Draft::admit(self, schema)
    }

    fn has_news(&self, _schema: &Schema) -> bool {
        self.is_news()
    }
}

/// One row of a table.
pub struct TableRow<'r, 't> {
    pub reader: &'r mut Reader<'t>,
    pub raw: Raw<'r>,
}

impl Source for TableRow<'_, '_> {
    fn row<'r>(&'r mut self, schema: &'r Schema) -> Result<Row<'r>> {
        self.reader.row(schema, self.raw)
    }

    fn admit(&mut self, schema: &mut Schema) -> Result<()> {
        self.reader.admit(schema, self.raw)
    }

    fn has_news(&self, schema: &Schema) -> bool {
        !self.reader.settled(schema)
    }

    fn forget(&mut self) {
        self.reader.forget();
    }
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
        Ok(Model { description, title, schema: Schema::default(), labels: Labels::default(), root, learned: 0 })
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
            state: self.root.part().save()?,
        })
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        let saved = state::open(bytes)?;
        let description: Json = serde_json::from_str(&saved.description)
            .map_err(|error| Fault::state(format!("millstream: the saved description is not valid: {error}")))?;
        let mut model = Model::new(&description)?;
        model.schema = saved.schema;
        model.labels = saved.labels;
        model.learned = saved.learned;
        model.root.part_mut().load(&saved.state)?;
        model.bind();
        Ok(model)
    }

    /// A new model of the same description that has learned nothing.
    pub fn fresh(&self) -> Result<Self> {
        Model::new(&self.description)
    }

    fn bind(&mut self) {
        if self.root.part().needs_names() {
            self.root.part_mut().bind(&self.schema);
        }
    }

    /// Take over the schema that composed parts have already learned with.
    pub fn adopt(&mut self, schema: &Schema, labels: &Labels, state: &[u8], learned: u64) -> Result<()> {
        let mut adopted = self.clone();
        adopted.schema = schema.clone();
        adopted.labels = labels.clone();
        adopted.learned = learned;
        adopted.root.part_mut().load(state)?;
        adopted.bind();
        *self = adopted;
        Ok(())
    }

    pub fn state(&self) -> Result<Vec<u8>> {
        self.root.part().save()
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
        Self::answer(&self.root, &self.labels, x, want, answer, scratch).map_err(|fault| fault.by(&self.title))
    }

    pub fn score<S: Source>(&self, source: &mut S, scratch: &mut Scratch) -> Result<f64> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
        match &self.root {
            Root::Classifier(part) => part.score(x, scratch).ok_or_else(|| self.cannot("score")),
            _ => Err(self.cannot("score")),
        }
    }

    pub fn transform<S: Source>(&self, source: &mut S, out: &mut RowBuffer, scratch: &mut Scratch) -> Result<()> {
        let x = source.row(&self.schema).map_err(|fault| fault.by(&self.title))?;
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
            Ok(x) => match (&mut self.root, target) {
                (Root::Classifier(part), _) => part.learn(x, label.code, w, scratch),
                (Root::Regressor(part), Target::Number(y)) => part.learn(x, y, w, scratch),
                (Root::Transformer(part), _) => part.learn(x, w, scratch),
                _ => Ok(()),
            },
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

    /// Whether `target` and weight are of the right kind and finite.
    fn check(&self, target: Target<'_>, w: f64) -> Result<()> {
        let refuse = |kind: fn(String) -> Fault, message: String| Err(kind(format!("{}: {message}", self.title)));
        if !(w.is_finite() && w >= 0.0) {
            return refuse(Fault::value, format!("the weight must be finite and not negative, got {w}"));
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

    /// Go through rows of a table, in order; `sink` is given each row's answer. A fault stops there, with
    /// the rows before it learned, unless bad rows are set aside.
    pub fn run(&mut self, job: &Job<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) -> Result<Tally> {
        let mut reader = Reader::new(job.table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut answer = Answer::default();
        let mut tally = Tally::default();
        let mut codes = KnownCodes::default();
        each_raw(job.table, job.from, job.to, |row, raw| {
            let w = job.weights.map_or(1.0, |weights| weights[row]);
            if self.step_known(job, &reader, raw, row, w, &mut codes, &mut answer, scratch) {
                tally.done += 1;
                sink.answer(self, row, &answer);
                return Ok(());
            }
            let mut source = TableRow { reader: &mut reader, raw };
            let done = job.targets.at(row).map_err(|fault| fault.by(&self.title)).and_then(|target| {
                match (job.predicting, job.learning) {
                    (Some(want), true) => self.step(&mut source, target, w, want, &mut answer, scratch),
                    (Some(want), false) => self.predict(&mut source, want, &mut answer, scratch),
                    (None, _) => self.learn(&mut source, target, w, scratch),
                }
            });
            match done {
                Ok(()) => {
                    tally.done += 1;
                    sink.answer(self, row, &answer);
                    Ok(())
                }
                Err(fault) if job.set_aside => {
                    tally.set_aside.push((row, fault));
                    sink.nothing(row);
                    Ok(())
                }
                Err(fault) => Err(fault.at_row(row)),
            }
        })?;
        Ok(tally)
    }

    /// The short way for a row that holds nothing but known numbers and a known target. False if it is not
    /// such a row, or cannot be learned; then nothing has happened and the long way finds out what to say.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn step_known(
        &mut self,
        job: &Job<'_>,
        reader: &Reader<'_>,
        raw: Raw<'_>,
        row: usize,
        w: f64,
        codes: &mut KnownCodes,
        answer: &mut Answer,
        scratch: &mut Scratch,
    ) -> bool {
        let (Raw::Dense(raw), Some(want), true) = (raw, job.predicting, job.learning) else { return false };
        if !reader.settled(&self.schema) || !all_finite(raw) || !(w > 0.0 && w < f64::INFINITY) {
            return false;
        }
        let x = Row::Plain(raw);
        let learned = match (&mut self.root, job.targets) {
            (Root::Classifier(part), Targets::Classes { distinct, places }) => {
                let Some(code) = codes.of(distinct, places[row], &self.labels) else { return false };
                let learned = part.step(x, code, w, want, &mut answer.class, scratch).is_ok();
                if learned && !self.labels.complete(answer.class.probabilities.len(), want) {
                    among_known(&mut answer.class, &self.labels, want);
                }
                learned
            }
            (Root::Regressor(part), Targets::Numbers(numbers)) if numbers[row].is_finite() => {
                match part.step(x, numbers[row], w, scratch) {
                    Ok(number) => {
                        answer.number = number;
                        true
                    }
                    Err(_) => false,
                }
            }
            _ => false,
        };
        self.learned += u64::from(learned);
        learned
    }

    /// Predict the rows of a table; `&self`, so that many threads may.
    pub fn predict_table(
        &self,
        table: &dyn Table,
        want: Want,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut reader = Reader::new(table, &self.schema).map_err(|fault| fault.by(&self.title))?;
        let mut answer = Answer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            self.predict(&mut source, want, &mut answer, scratch).map_err(|fault| fault.at_row(row))?;
            sink.answer(self, row, &answer);
            Ok(())
        })
    }

    /// Transform the rows of a table, row-major. Features and values that were never learned come out too:
    /// the model that is returned has heard of them, and names what is in the rows.
    pub fn transform_all(&self, table: &dyn Table, scratch: &mut Scratch) -> Result<(Self, Vec<f64>)> {
        let mut copy = self.clone();
        let mut reader = Reader::new(table, &copy.schema).map_err(|fault| fault.by(&self.title))?;
        copy.schema.mark();
        each_raw(table, 0, table.height(), |row, raw| {
            reader.admit(&mut copy.schema, raw).map_err(|fault| fault.by(&self.title).at_row(row))
        })?;
        copy.bind();
        let width = copy.output()?.len();
        let mut values = Vec::with_capacity(width.saturating_mul(table.height()).min(1 << 28));
        let mut out = RowBuffer::default();
        each_raw(table, 0, table.height(), |row, raw| {
            let mut source = TableRow { reader: &mut reader, raw };
            copy.transform(&mut source, &mut out, scratch).map_err(|fault| fault.at_row(row))?;
            let start = values.len();
            match out.row() {
                Row::Plain(numbers) | Row::Mixed(numbers, _) => values.extend_from_slice(numbers),
                Row::Sparse(sparse) => {
                    values.resize(start + sparse.width, 0.0);
                    for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                        values[start + slot as usize] = value;
                    }
                }
            }
            values.resize(start + width, f64::NAN);
            Ok(())
        })?;
        Ok((copy, values))
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

/// The codes of a table's labels, looked up once each.
#[derive(Default)]
struct KnownCodes(Vec<u32>);

impl KnownCodes {
    #[inline]
    fn of(&mut self, distinct: &[Label], place: u32, labels: &Labels) -> Option<u32> {
        match self.0.get(place as usize) {
            Some(&code) if code != u32::MAX => Some(code),
            _ => self.look_up(distinct, place, labels),
        }
    }

    #[cold]
    fn look_up(&mut self, distinct: &[Label], place: u32, labels: &Labels) -> Option<u32> {
        let code = labels.code(distinct.get(place as usize)?)?;
        self.0.resize(distinct.len(), u32::MAX);
        self.0[place as usize] = code;
        Some(code)
    }
}

/// What to do with the rows of a table.
pub struct Job<'a> {
    pub table: &'a dyn Table,
    pub from: usize,
    pub to: usize,
    pub targets: Targets<'a>,
    pub weights: Option<&'a [f64]>,
    pub predicting: Option<Want>,
    pub learning: bool,
    /// Whether rows that cannot be learned are set aside and counted, or stop the job.
    pub set_aside: bool,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Tally {
    pub done: usize,
    pub set_aside: Vec<(usize, Fault)>,
}

/// Takes answers row by row.
pub trait Sink {
    fn answer(&mut self, model: &Model, row: usize, answer: &Answer);
    /// The row was set aside.
    fn nothing(&mut self, _row: usize) {}
}

/// For learning alone.
pub struct NoSink;

impl Sink for NoSink {
    fn answer(&mut self, _: &Model, _: usize, _: &Answer) {}
}

/// Keep a prediction to the classes that have a label: a learner may have room for one that has not come.
#[inline]
fn among_known(prediction: &mut Prediction, labels: &Labels, want: Want) {
    let known = |code: u32| labels.get(code).is_some();
    if want == Want::Probabilities && prediction.class.is_some() {
        let probabilities = &mut prediction.probabilities;
        if probabilities.len() != labels.len() || (0..labels.len()).any(|code| !known(code as u32)) {
            probabilities.resize(labels.len(), 0.0);
            for (code, probability) in probabilities.iter_mut().enumerate() {
                if !known(code as u32) {
                    *probability = 0.0;
                }
            }
            let sum: f64 = probabilities.iter().sum();
            let count = (0..labels.len()).filter(|&code| known(code as u32)).count() as f64;
            for (code, probability) in probabilities.iter_mut().enumerate() {
                *probability = match (known(code as u32), sum > 0.0) {
                    (true, true) => *probability / sum,
                    (true, false) => 1.0 / count,
                    (false, _) => 0.0,
                };
            }
        }
    }
    if prediction.class.is_some_and(|class| !known(class)) {
        prediction.class = if want == Want::Probabilities {
            most(&prediction.probabilities)
        } else {
            (0..labels.len() as u32).find(|&code| known(code))
        };
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
