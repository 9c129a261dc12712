//! A model: a learner with the names and labels of its stream.
//!
//! Here the promise "whole or nothing" is kept for what surrounds the learner: features, nominal values and
//! classes that a refused example brought are forgotten again.

use serde_json::Value as Json;

use crate::block::{among_known, ClassBlock, NumberBlock, Predictions};
use crate::draft::Draft;
use crate::fault::{Fault, Result};
use crate::labels::{Label, Labels};
use crate::registry::{self, Built, Role};
use crate::role::{Classifier, Part, Regressor, Transformer};
use crate::row::{all_finite, Prediction, Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::state::{self, Saved};
use crate::table::{each_raw, raw_block, Raw, RawBlock, Reader, Table, BLOCK};

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
    fn has_news(&mut self, schema: &Schema) -> bool;
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

    fn has_news(&mut self, _schema: &Schema) -> bool {
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

    fn has_news(&mut self, schema: &Schema) -> bool {
        self.reader.has_news(schema, self.raw)
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
        let mut model = Model::new(&state::description(&saved)?)?;
        model.schema = saved.schema;
        model.labels = saved.labels;
        model.learned = saved.learned;
        model.root.part_mut().load(&saved.state)?;
        model.bind();
        Ok(model)
    }

    /// The step of a pipeline or the part of a union at a place, as a model of its own that has learned what
    /// it has learned here.
    pub fn member(&self, place: usize) -> Result<Self> {
        let parameters = &self.description["parameters"];
        let described = ["steps", "parts"].iter().find_map(|members| parameters[members].get(place));
        match (described, self.root.part().member(place, &self.schema)?) {
            (Some(description), Some(member)) => {
                let mut model = Model::new(description)?;
                let labels =
                    if model.role() == Role::Classifier { self.labels.clone() } else { Labels::default() };
                model.adopt(&member.input, &labels, &member.state, self.learned)?;
                Ok(model)
            }
            _ => Err(Fault::key(format!("{}: there is no step {place}", self.title))),
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
        let mut known = KnownRows::default();
        let mut row = job.from;
        let mut buffer = Vec::new();
        while row < job.to {
            let end = (row + BLOCK).min(job.to);
            let block = raw_block(job.table, row, end, &mut buffer);
            let first = row;
            while row < end {
                let fast = self.step_known(job, &reader, &block, first, row, end, &mut known, scratch);
                for place in 0..fast {
                    known.answer(place, job.predicting, &mut answer);
                    sink.answer(self, row + place, &answer);
                }
                row += fast;
                tally.done += fast;
                if row < end {
                    let mut source = TableRow { reader: &mut reader, raw: block.row(row - first) };
                    self.run_row(job, row, &mut source, &mut answer, &mut tally, scratch, sink)?;
                    row += 1;
                }
            }
        }
        Ok(tally)
    }

    /// The long way, which any row can go.
    #[allow(clippy::too_many_arguments)]
    fn run_row(
        &mut self,
        job: &Job<'_>,
        row: usize,
        source: &mut TableRow<'_, '_>,
        answer: &mut Answer,
        tally: &mut Tally,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let w = job.weights.map_or(1.0, |weights| weights[row]);
        let done = job.targets.at(row).map_err(|fault| fault.by(&self.title)).and_then(|target| {
            match (job.predicting, job.learning) {
                (Some(want), true) => self.step(source, target, w, want, answer, scratch),
                (Some(want), false) => self.predict(source, want, answer, scratch),
                (None, _) => self.learn(source, target, w, scratch),
            }
        });
        match done {
            Ok(()) => {
                tally.done += 1;
                sink.answer(self, row, answer);
                Ok(())
            }
            Err(fault) if job.set_aside => {
                tally.set_aside.push((row, fault));
                sink.nothing(row);
                Ok(())
            }
            Err(fault) => Err(fault.at_row(row)),
        }
    }

    /// The short way for rows that hold nothing but known numbers and known targets: from `row` on, as many
    /// as there are before `end`. Returns how many were stepped; the row after them goes the long way, which
    /// finds out what there is to say of it.
    #[allow(clippy::too_many_arguments)]
    fn step_known(
        &mut self,
        job: &Job<'_>,
        reader: &Reader<'_>,
        block: &RawBlock<'_>,
        first: usize,
        row: usize,
        end: usize,
        known: &mut KnownRows,
        scratch: &mut Scratch,
    ) -> usize {
        let RawBlock::Dense { values, width } = *block else { return 0 };
        if !job.learning || width == 0 || !reader.settled(&self.schema) {
            return 0;
        }
        let sound = |x: &[f64], row: usize| {
            all_finite(x) && job.weights.is_none_or(|weights| weights[row] > 0.0 && weights[row] < f64::INFINITY)
        };
        let values = &values[(row - first) * width..(end - first) * width];
        let weights = job.weights.map(|weights| &weights[row..end]);
        let plain = match weights {
            None if all_finite(values) => end - row,
            _ => values.chunks_exact(width).zip(row..).take_while(|(x, row)| sound(x, *row)).count(),
        };
        let want = job.predicting.unwrap_or(Want::Class);
        let done = match (&mut self.root, job.targets) {
            (Root::Classifier(part), Targets::Classes { distinct, places }) => {
                known.look_up(distinct, &places[row..row + plain], &self.labels);
                let n = known.classes.len();
                let block = ClassBlock {
                    values: &values[..n * width],
                    width,
                    classes: &known.classes,
                    weights,
                    labels: &self.labels,
                };
                known.predictions.clear(&self.labels);
                part.step_block(&block, want, &mut known.predictions, scratch)
            }
            (Root::Regressor(part), Targets::Numbers(numbers)) => {
                let targets = &numbers[row..row + plain];
                let n = if all_finite(targets) {
                    plain
                } else {
                    targets.iter().take_while(|target| target.is_finite()).count()
                };
                known.numbers.clear();
                let block = NumberBlock { values: &values[..n * width], width, targets: &targets[..n], weights };
                part.step_block(&block, &mut known.numbers, scratch)
            }
            _ => 0,
        };
        self.learned += done as u64;
        done
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

/// Rows that go the short way: the codes of their labels, and what was predicted.
#[derive(Default)]
struct KnownRows {
    /// The code of each distinct label, looked up once.
    codes: Vec<u32>,
    classes: Vec<u32>,
    predictions: Predictions,
    numbers: Vec<f64>,
}

impl KnownRows {
    /// Codes of rows, up to the first whose label is not known.
    fn look_up(&mut self, distinct: &[Label], places: &[u32], labels: &Labels) {
        self.codes.resize(distinct.len(), u32::MAX);
        self.classes.clear();
        for &place in places {
            let Some(code) = self.codes.get_mut(place as usize) else { return };
            if *code == u32::MAX {
                match labels.code(&distinct[place as usize]) {
                    Some(found) => *code = found,
                    None => return,
                }
            }
            self.classes.push(*code);
        }
    }

    #[inline]
    fn answer(&self, place: usize, want: Option<Want>, answer: &mut Answer) {
        match want {
            Some(want) if self.numbers.is_empty() => self.predictions.get(place, want, &mut answer.class),
            Some(_) => answer.number = self.numbers[place],
            None => {}
        }
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
