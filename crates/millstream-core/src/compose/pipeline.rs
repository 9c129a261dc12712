//! A sequence of steps: transformers, optionally followed by a learner.
//!
//! To predict, the row passes through each step without changing it. To learn, each step first learns the row and then
//! transforms it for the next, as in River: the learner receives the row scaled by moments that include it. If a later
//! step refuses the example, the earlier ones revert it. An anomaly filter among the steps passes rows on unchanged,
//! and keeps the later steps from learning anomalies.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::{Batch, Rows};
use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::held::Estimator;
use crate::key_use::KeyUses;
use crate::learner::{predict_each, DecisionFunction, Interval, Learner, MiniBatch, Then};
use crate::merging::{Merge, Merger, Side};
use crate::parameter::{Arguments, Default, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::task::{Task, Truth};
use crate::transformer::{BasisFunctions, Transformer, Zeros};

use super::filter_step::FilterStep;

const NAME: &str = "compose.Pipeline";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Wrapper,
    words: "A sequence of steps: transformers, optionally followed by a learner",
    merge: Merge::COMPONENTS,
    parameters: &[
        Parameter::new(
            "steps",
            Kind::Parts(&Role::STEPS),
            Default::Required,
            "steps in order; all but the last are transformers or anomaly filters",
        ),
        Parameter::new("names", Kind::Optional(&Kind::Names), Default::Null, "name of each step"),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let mut parts = arguments.parts("steps")?;
    super::member_names(arguments, "steps", parts.len())?;
    let last = parts.pop().ok_or_else(|| Fault::value(format!("{NAME}: needs at least one step")))?;
    let mut steps = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let step = match part.estimator() {
            Some(Estimator::Transformer(step)) => Some(step),
            // A pipeline that ends with a filter is not a filter itself: it would pass on the original rows, not the
            // transformed ones that it scored.
            Some(Estimator::AnomalyDetector(step)) if arguments.value("steps")?[index]["name"] != NAME => {
                FilterStep::new(step).map(|step| Box::new(step) as Box<dyn Transformer>)
            }
            Some(
                Estimator::Classifier(_)
                | Estimator::Regressor(_)
                | Estimator::AnomalyDetector(_)
                | Estimator::Clusterer(_),
            )
            | None => None,
        };
        let refuse = || Fault::wrong_type(format!("{NAME}: only the last step may be a learner"));
        steps.push(step.ok_or_else(refuse)?);
    }
    let refuse = || Fault::wrong_type(format!("{NAME}: steps must be transformers or learners"));
    let last = last.estimator().ok_or_else(refuse)?;
    let wants_orthonormal = match &last {
        Estimator::Classifier(last) => last.abilities().wants_orthonormal,
        Estimator::Regressor(last) => last.abilities().wants_orthonormal,
        Estimator::AnomalyDetector(last) => last.abilities().wants_orthonormal,
        Estimator::Clusterer(last) => last.abilities().wants_orthonormal,
        Estimator::Transformer(_) => false,
    };
    if let (true, Some(basis)) = (wants_orthonormal, steps.last_mut().and_then(|step| step.basis_mut())) {
        basis.set_orthonormal(true);
    }
    let filters = steps.iter().any(|step| step.may_stop());
    let chain = Chain { steps, filters, ..Chain::default() };
    Ok(match last {
        Estimator::Classifier(last) => Built::Classifier(Box::new(Pipeline::new(chain, last))),
        Estimator::Regressor(last) => Built::Regressor(Box::new(Pipeline::new(chain, last))),
        Estimator::AnomalyDetector(last) => Built::AnomalyDetector(Box::new(Pipeline::new(chain, last))),
        Estimator::Clusterer(last) => Built::Clusterer(Box::new(Pipeline::new(chain, last))),
        Estimator::Transformer(last) => Built::Transformer(Box::new(Pipeline::new(chain, last))),
    })
}

/// The transformers in front.
#[derive(Default)]
struct Chain {
    steps: Vec<Box<dyn Transformer>>,
    /// For steps that select features by name: the names of the pipeline's input at the last `bind`, and the width of
    /// each step's output then.
    input: Schema,
    widths: Vec<usize>,
    /// Whether steps may stop a row, as anomaly filters do.
    filters: bool,
    /// The number of steps that learned the last row, if a filter stopped it.
    stopped: Option<usize>,
}

impl Clone for Chain {
    fn clone(&self) -> Self {
        Chain {
            steps: self.steps.iter().map(|step| step.duplicate()).collect(),
            input: self.input.clone(),
            widths: self.widths.clone(),
            ..*self
        }
    }
}

/// The state of the transformers at a savepoint.
#[derive(Clone)]
struct ChainSavepoint {
    /// A copy of each step; none if the step records what it overwrites.
    copies: Vec<Option<Box<dyn Transformer>>>,
    input: Schema,
    widths: Vec<usize>,
}

/// Pass a row through `steps` and its result to `last`.
fn through<R>(
    steps: &[Box<dyn Transformer>],
    x: Row<'_>,
    scratch: &mut Scratch,
    last: impl FnOnce(Row<'_>, &mut Scratch) -> R,
) -> R {
    let Some((first, rest)) = steps.split_first() else { return last(x, scratch) };
    let mut buffer = scratch.take_row();
    first.transform(x, &mut buffer, scratch);
    let result = through(rest, buffer.row(), scratch, last);
    scratch.give_row(buffer);
    result
}

/// Pass a row through `steps`, of which there are some, to `out`.
fn transform_through(steps: &[Box<dyn Transformer>], x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
    let Some((last, before)) = steps.split_last() else { return out.copy_from(x) };
    through(before, x, scratch, |z, scratch| last.transform(z, out, scratch));
}

fn check_through(steps: &[Box<dyn Transformer>], x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
    let Some((first, rest)) = steps.split_first() else { return Ok(()) };
    first.check(x, scratch)?;
    if rest.is_empty() {
        return Ok(());
    }
    let mut buffer = scratch.take_row();
    first.transform(x, &mut buffer, scratch);
    let checked = check_through(rest, buffer.row(), scratch);
    scratch.give_row(buffer);
    checked
}

type Last<'a> = dyn FnMut(Row<'_>, Option<&Schema>, &mut Scratch) -> Result<()> + 'a;

/// The arguments of `learn_through` besides the row.
struct Example<'a> {
    y: Truth,
    w: f64,
    scratch: &'a mut Scratch,
    /// Learn with the last step; with a schema if its features have new names to bind.
    last: &'a mut Last<'a>,
    /// The number of remaining steps, if a filter stopped the row.
    left: Option<usize>,
}

/// Let each of `steps` learn and transform, then the last, atomically. `widths` is empty unless some step selects
/// features by name: then a step that writes new features for the first time makes the next one bind.
fn learn_through(
    steps: &mut [Box<dyn Transformer>],
    widths: &mut [usize],
    input: &dyn Fn() -> Schema,
    grown: bool,
    x: Row<'_>,
    example: &mut Example<'_>,
) -> Result<()> {
    let Some((first, rest)) = steps.split_first_mut() else {
        let schema = grown.then(input);
        return (example.last)(x, schema.as_ref(), example.scratch);
    };
    if grown {
        first.bind(&input());
    }
    let mut buffer = example.scratch.take_row();
    if let Err(fault) = first.learn_and_transform(x, example.y, example.w, &mut buffer, example.scratch) {
        example.scratch.give_row(buffer);
        return Err(fault);
    }
    if first.stops() {
        example.scratch.give_row(buffer);
        example.left = Some(rest.len());
        return Ok(());
    }
    let width = buffer.row().width();
    let (known, others) = match widths.split_first_mut() {
        Some((known, others)) => (Some(known), others),
        None => (None, &mut [][..]),
    };
    let grown = known.is_some_and(|known| std::mem::replace(known, width) != width);
    let output = || first.output(&input());
    let learned = learn_through(rest, others, &output, grown, buffer.row(), example);
    example.scratch.give_row(buffer);
    if learned.is_err() {
        first.undo();
    }
    learned
}

impl Chain {
    /// The single transformer, if there is just one, it is no filter, and no step uses names.
    #[inline]
    fn alone(&mut self) -> Option<&mut dyn Transformer> {
        match self.steps.as_mut_slice() {
            [only] if self.widths.is_empty() && !self.filters => Some(&mut **only),
            _ => None,
        }
    }

    /// Whether learning does not change the output of the steps.
    fn is_frozen(&self) -> bool {
        self.steps.iter().all(|step| step.is_frozen())
    }

    /// The schema after the steps.
    fn output(&self, input: &Schema) -> Schema {
        self.steps.iter().fold(input.clone(), |schema, step| step.output(&schema))
    }

    /// Revert the last row; false if a filter stopped it, so that the last step has not learned it.
    fn undo(&mut self) -> bool {
        let stopped = self.stopped.take();
        for step in self.steps.iter_mut().take(stopped.unwrap_or(usize::MAX)) {
            step.undo();
        }
        stopped.is_none()
    }

    fn savepoint(&mut self) -> ChainSavepoint {
        let copies = self.steps.iter_mut().map(|step| (!step.savepoint()).then(|| step.duplicate()));
        ChainSavepoint { copies: copies.collect(), input: self.input.clone(), widths: self.widths.clone() }
    }

    fn rollback(&mut self, before: ChainSavepoint) {
        for (step, copy) in self.steps.iter_mut().zip(before.copies) {
            match copy {
                Some(copy) => *step = copy,
                None => step.rollback(),
            }
        }
        (self.input, self.widths) = (before.input, before.widths);
    }

    fn each(&self, visit: &mut dyn FnMut(&dyn Part)) {
        self.steps.iter().for_each(|step| visit(&**step));
    }
}

/// Batches shorter than this are processed row by row: a batch keeps a copy of the transformers.
const FEWEST_ROWS: usize = 16;

#[derive(Clone)]
struct Pipeline<Last> {
    chain: Chain,
    last: Last,
    at_savepoint: Option<ChainSavepoint>,
    abilities: Abilities,
}

#[derive(Serialize, Deserialize)]
struct State {
    steps: Vec<ByteBuf>,
}

/// What all kinds of pipelines share: the last step, of any role, as a component.
trait AsPart {
    fn as_part(&self) -> &dyn Part;
    fn as_part_mut(&mut self) -> &mut dyn Part;
}

impl<T: Task> AsPart for Box<dyn Learner<T>> {
    fn as_part(&self) -> &dyn Part {
        &**self
    }
    fn as_part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }
}

impl AsPart for Box<dyn Transformer> {
    fn as_part(&self) -> &dyn Part {
        &**self
    }
    fn as_part_mut(&mut self) -> &mut dyn Part {
        &mut **self
    }
}

/// The abilities of a pipeline: those of its last step, as far as the steps before preserve them.
fn abilities(chain: &Chain, last: Abilities) -> Abilities {
    let mut all = last;
    for step in chain.steps.iter().rev().map(|step| step.abilities()) {
        all = Abilities {
            needs_names: all.needs_names || step.needs_names,
            checks_rows: all.checks_rows || step.checks_rows,
            missing_is_zero: step.missing_is_zero || (step.keeps_missing && all.missing_is_zero),
            keeps_missing: step.keeps_missing && all.keeps_missing,
            uses_target: step.uses_target || all.uses_target,
            wants_orthonormal: false,
            threads: all.threads.max(step.threads),
            ..all
        };
    }
    // The last step would have to predict all rows of a batch, and learn some.
    Abilities { takes_batches: all.takes_batches && !chain.filters, ..all }
}

impl<Last: AsPart> Pipeline<Last> {
    fn new(chain: Chain, last: Last) -> Self {
        let abilities = abilities(&chain, last.as_part().abilities());
        Pipeline { chain, last, at_savepoint: None, abilities }
    }

    fn learn_all(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        scratch: &mut Scratch,
        mut last: impl FnMut(&mut Last, Row<'_>, &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        let Pipeline { chain, last: learner, .. } = self;
        let input = || chain.input.clone();
        let mut example = Example {
            y,
            w,
            scratch,
            last: &mut |z, schema, scratch| {
                if let Some(schema) = schema {
                    learner.as_part_mut().bind(schema);
                }
                last(learner, z, scratch)
            },
            left: None,
        };
        let learned = learn_through(&mut chain.steps, &mut chain.widths, &input, false, x, &mut example);
        let left = example.left;
        chain.stopped = left.map(|left| chain.steps.len() - left);
        if learned.is_err() && !self.chain.widths.is_empty() {
            let input = std::mem::take(&mut self.chain.input);
            self.bind_all(&input);
        }
        learned
    }

    /// Revert the last row, in the last step by `last`.
    fn undo_all(&mut self, last: impl FnOnce(&mut Last)) {
        if self.chain.undo() {
            last(&mut self.last);
        }
        if !self.chain.widths.is_empty() {
            let input = std::mem::take(&mut self.chain.input);
            self.bind_all(&input);
        }
    }

    fn bind_all(&mut self, schema: &Schema) {
        let mut made: Option<Schema> = None;
        self.chain.widths.clear();
        for step in &mut self.chain.steps {
            let current = made.as_ref().unwrap_or(schema);
            step.bind(current);
            let output = step.output(current);
            self.chain.widths.push(output.len());
            made = Some(output);
        }
        self.last.as_part_mut().bind(made.as_ref().unwrap_or(schema));
        self.chain.input = schema.clone();
    }
}

impl<Last: AsPart + Clone> Pipeline<Last> {
    /// The last step in terms of the features of the step before, if it received an orthonormal basis instead.
    fn last_in_named_features(&self) -> Result<Last> {
        let mut last = self.last.clone();
        let basis = self.chain.steps.last().and_then(|step| step.basis());
        if let Some(change) = basis.map(|basis| basis.change()).transpose()?.flatten() {
            if let Some(state) = last.as_part().change_basis(&change)? {
                last.as_part_mut().load(&state)?;
            }
        }
        Ok(last)
    }
}

impl<Last: AsPart + Boxed + Clone + Send + Sync> Part for Pipeline<Last> {
    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        // Steps that are bound to names know more than words.
        self.chain.widths.is_empty()
            && !self.chain.filters
            && self.chain.steps.iter_mut().all(|step| step.exchange(exchange))
            && self.last.as_part_mut().exchange(exchange)
    }

    fn save(&self) -> Result<Vec<u8>> {
        let steps = self.chain.steps.iter().map(|step| step.save());
        let steps = steps.chain(std::iter::once(self.last.as_part().save()));
        pack(&State { steps: steps.map(|bytes| bytes.map(ByteBuf::from)).collect::<Result<_>>()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.steps.len() == self.chain.steps.len() + 1, "steps are missing")?;
        for (step, bytes) in self.chain.steps.iter_mut().zip(&state.steps) {
            step.load(bytes)?;
        }
        self.last.as_part_mut().load(&state.steps[state.steps.len() - 1])
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        self.chain.each(visit);
        visit(self.last.as_part());
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn infallible(&self) -> bool {
        self.chain.steps.iter().all(|step| step.infallible()) && self.last.as_part().infallible()
    }

    fn savepoint(&mut self) -> bool {
        let records = self.last.as_part_mut().savepoint();
        self.at_savepoint = records.then(|| self.chain.savepoint());
        records
    }

    fn rollback(&mut self) {
        if let Some(before) = self.at_savepoint.take() {
            self.chain.rollback(before);
            self.last.as_part_mut().rollback();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.chain.steps.iter_mut().for_each(|step| step.commit());
        self.last.as_part_mut().commit();
    }

    fn bind(&mut self, schema: &Schema) {
        self.bind_all(schema);
    }

    fn key_uses(&self) -> KeyUses {
        let steps = self.chain.steps.iter().rev();
        steps.fold(self.last.as_part().key_uses(), |next, step| step.key_uses().then(&next))
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        check_through(&self.chain.steps, x, scratch)?;
        match self.last.as_part().abilities().checks_rows {
            true => through(&self.chain.steps, x, scratch, |z, scratch| self.last.as_part().check(z, scratch)),
            false => Ok(()),
        }
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let count = self.chain.steps.len() + 1;
        let read = |side: Side<'_>| -> Result<Vec<Vec<u8>>> {
            let state: State = unpack(NAME, side.state)?;
            require(NAME, state.steps.len() == count, "steps are missing")?;
            Ok(state.steps.iter().map(|bytes| bytes.to_vec()).collect())
        };
        let theirs = read(merger.other)?;
        let base = merger.base.map(read).transpose()?;
        let mut ours = merger.ours.clone();
        let mut their_schema = merger.other.schema.clone();
        let mut base_schema = merger.base.map(|base| base.schema.clone());
        for (index, step) in self.chain.steps.iter_mut().enumerate() {
            step.bind(&ours);
            let base_bytes = base.as_ref().map(|base| &base[index][..]);
            let inner = merger.inner(&theirs[index], base_bytes);
            step.merge_state(&inner.named(&their_schema, base_schema.as_ref(), &ours))?;
            step.bind(&ours);
            let output = |bytes: &[u8], schema: &Schema| -> Result<Schema> {
                let mut twin = step.duplicate();
                twin.load(bytes)?;
                twin.bind(schema);
                Ok(twin.output(schema))
            };
            their_schema = output(&theirs[index], &their_schema)?;
            base_schema = match (base_bytes, &base_schema) {
                (Some(bytes), Some(schema)) => Some(output(bytes, schema)?),
                _ => None,
            };
            ours = step.output(&ours);
        }
        let last = self.last.as_part_mut();
        last.bind(&ours);
        let inner = merger.inner(&theirs[count - 1], base.as_ref().map(|base| &base[count - 1][..]));
        last.merge_state(&inner.named(&their_schema, base_schema.as_ref(), &ours))
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let mut current = schema.clone();
        let mut steps = Vec::new();
        for step in &self.chain.steps {
            steps.push(step.inspect(&current));
            current = step.output(&current);
        }
        steps.push(match self.last_in_named_features() {
            Ok(last) => last.as_part().inspect(&current),
            Err(_) => serde_json::Value::Null,
        });
        json!({ "steps": steps })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        if index > self.chain.steps.len() {
            return Ok(None);
        }
        let input = self.chain.steps[..index].iter().fold(input.clone(), |schema, step| step.output(&schema));
        let part = match self.chain.steps.get(index) {
            Some(step) => match step.filter() {
                Some(filter) => Built::AnomalyDetector(filter),
                None => {
                    let mut step = step.clone();
                    if let Some(basis) = step.basis_mut() {
                        basis.set_orthonormal(false);
                    }
                    Built::Transformer(step)
                }
            },
            None => self.last_in_named_features()?.built(),
        };
        Ok(Some(Extracted { part, description: None, input, learned: None }))
    }
}

/// The last step as a component of its own.
trait Boxed {
    fn built(self) -> Built;
}

impl<T: Task> Boxed for Box<dyn Learner<T>> {
    fn built(self) -> Built {
        T::build(self)
    }
}

impl Boxed for Box<dyn Transformer> {
    fn built(self) -> Built {
        Built::Transformer(self)
    }
}

/// The result of the steps before the last one for a row.
enum Passed {
    Through,
    /// A step writes new features, so the next ones must be bound first: nothing was learned.
    Grown,
}

impl Chain {
    /// Let every step learn a row and transform it to `after`, and before that transform the asked row to `before`, if
    /// requested. After a fault nothing is learned.
    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        x: Row<'_>,
        asked: Row<'_>,
        (y, w): (Truth, f64),
        before: Option<&mut RowBuffer>,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<Passed> {
        if let Some(before) = before {
            let copy = |row: Row<'_>, _: &mut Scratch| before.copy_from(row);
            through(&self.steps, asked, scratch, copy);
        }
        let mut buffer = scratch.take_row();
        let mut passed = Ok(Passed::Through);
        for index in 0..self.steps.len() {
            let step = &mut self.steps[index];
            let learned = match index {
                0 => step.learn_and_transform(x, y, w, after, scratch),
                _ => {
                    std::mem::swap(&mut *buffer, after);
                    step.learn_and_transform(buffer.row(), y, w, after, scratch)
                }
            };
            let grown = self.widths.get(index).is_some_and(|&width| width != after.row().width());
            if learned.is_err() || grown {
                let learners = if learned.is_err() { index } else { index + 1 };
                self.steps[..learners].iter_mut().for_each(|step| step.undo());
                passed = learned.map(|()| Passed::Grown);
                break;
            }
        }
        scratch.give_row(buffer);
        passed
    }
}

/// A pipeline of one transformer and a learner, with buffers for a row as it is predicted and as it is learned.
struct TransformedLearner<'a, T: Task> {
    first: &'a mut dyn Transformer,
    last: &'a mut dyn Learner<T>,
    /// Whether both rows are the same.
    frozen: bool,
    before: &'a mut RowBuffer,
    after: &'a mut RowBuffer,
}

impl<T: Task> TransformedLearner<'_, T> {
    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let TransformedLearner { first, last, before, after, .. } = self;
        let learned = if self.frozen {
            first.learn_and_transform(x, T::truth(y), w, after, scratch)?;
            last.step(after.row(), y, w, want, out, scratch)
        } else {
            first.step(x, T::truth(y), w, before, after, scratch)?;
            last.step_apart(before.row(), after.row(), y, w, want, out, scratch)
        };
        learned.inspect_err(|_| first.undo())
    }
}

impl<T: Task> Pipeline<Box<dyn Learner<T>>> {
    /// Row by row.
    fn step_each(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = T::take(scratch);
        let mut done = 0;
        let frozen = self.chain.is_frozen();
        if let (false, Some(rows), Some(first)) = (self.abilities.checks_rows, batch.plain(), self.chain.alone()) {
            // The common pipeline: what is the same for all rows is prepared once.
            let (mut before, mut after) = (scratch.take_row(), scratch.take_row());
            let mut both = TransformedLearner {
                first,
                last: &mut *self.last,
                frozen,
                before: &mut before,
                after: &mut after,
            };
            for (x, y, w) in rows {
                if both.step(Row::Plain(x), y, w, want, &mut prediction, scratch).is_err() {
                    break;
                }
                T::push(&mut prediction, want, out);
                done += 1;
            }
            scratch.give_row(before);
            scratch.give_row(after);
            T::give(prediction, scratch);
            return done;
        }
        for (row, &y) in batch.truths.iter().enumerate() {
            let (x, w) = (batch.rows.at(row), batch.weight(row));
            if self.abilities.checks_rows && check_through(&self.chain.steps, x, scratch).is_err() {
                break;
            }
            let stepped = match batch.asked {
                None => self.step(x, y, w, want, &mut prediction, scratch),
                Some(asked) => self.step_apart(asked.at(row), x, y, w, want, &mut prediction, scratch),
            };
            if stepped.is_err() {
                break;
            }
            T::push(&mut prediction, want, out);
            done += 1;
        }
        T::give(prediction, scratch);
        done
    }

    /// Transform the rows of a batch, then pass them to the last step together. Returns the number of rows before one
    /// that was refused or has features that steps must be bound to.
    fn step_together(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let n = batch.len();
        // If learning does not change the output of the steps, a row is predicted as it is learned.
        let frozen = self.chain.is_frozen() && batch.asked.is_none();
        let stateless = self.chain.steps.iter().all(|step| step.is_stateless());
        let start = (!stateless).then(|| self.chain.clone());
        let (mut before, mut after) = (scratch.take_rows(n), scratch.take_rows(n));
        let mut reached = n;
        for row in 0..n {
            let example = (T::truth(batch.truths[row]), batch.weight(row));
            let asked = (!frozen).then_some(&mut before[row]);
            let (x, out) = (batch.rows.at(row), &mut after[row]);
            if !matches!(
                self.chain.step(x, batch.asked_at(row), example, asked, out, scratch),
                Ok(Passed::Through)
            ) {
                reached = row;
                break;
            }
        }
        let together = Batch {
            rows: Rows::Owned(&after[..reached]),
            asked: (!frozen).then(|| Rows::Owned(&before[..reached])),
            ..batch.slice(0, reached)
        };
        let done = match together.is_empty() {
            true => 0,
            false => self.last.step_batch(&together, want, out, scratch),
        };
        if let (true, Some(start)) = (done < reached, start) {
            // The transformers have learned rows that the last step has not: revert, and learn again up to there.
            self.chain = start;
            for (row, out) in after.iter_mut().enumerate().take(done) {
                let example = (T::truth(batch.truths[row]), batch.weight(row));
                let x = batch.rows.at(row);
                let _ = self.chain.step(x, x, example, None, out, scratch);
            }
        }
        scratch.give_rows(before);
        scratch.give_rows(after);
        done
    }
}

impl<T: Task> Learner<T> for Pipeline<Box<dyn Learner<T>>> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        if let [only] = &self.chain.steps[..] {
            // The common pipeline, without the recursion.
            let mut z = scratch.take_row();
            only.transform(x, &mut z, scratch);
            self.last.predict(z.row(), want, out, scratch);
            return scratch.give_row(z);
        }
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.predict(z, want, out, scratch));
    }

    /// Transform the rows, then pass them to the last step together, if it asks for that.
    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, T>) {
        if self.chain.steps.is_empty() {
            return self.last.predict_batch(rows, want, scratch, then);
        }
        if !self.abilities.predicts_batches {
            return predict_each(self, rows, want, scratch, then);
        }
        let mut given = scratch.take_rows(rows.len());
        for (row, given) in given.iter_mut().enumerate().take(rows.len()) {
            transform_through(&self.chain.steps, rows.at(row), given, scratch);
        }
        self.last.predict_batch(&Rows::Owned(&given[..rows.len()]), want, scratch, then);
        scratch.give_rows(given);
    }

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        if let Some(first) = self.chain.alone() {
            // The common pipeline, without the recursion.
            let (mut after, last) = (scratch.take_row(), &mut self.last);
            let learned = first
                .learn_and_transform(x, T::truth(y), w, &mut after, scratch)
                .and_then(|()| last.learn(after.row(), y, w, scratch).inspect_err(|_| first.undo()));
            scratch.give_row(after);
            return learned;
        }
        self.learn_all(x, T::truth(y), w, scratch, |last, z, scratch| last.learn(z, y, w, scratch))
    }

    /// The `step` of the last step, if a row is transformed the same before and after learning.
    fn step(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let frozen = self.chain.is_frozen();
        let Some(first) = self.chain.alone() else {
            if frozen {
                return self.learn_all(x, T::truth(y), w, scratch, |last, z, scratch| {
                    last.step(z, y, w, want, out, scratch)
                });
            }
            self.predict(x, want, out, scratch);
            return self.learn(x, y, w, scratch);
        };
        let (mut before, mut after) = (scratch.take_row(), scratch.take_row());
        let mut both =
            TransformedLearner { first, last: &mut *self.last, frozen, before: &mut before, after: &mut after };
        let stepped = both.step(x, y, w, want, out, scratch);
        scratch.give_row(before);
        scratch.give_row(after);
        stepped
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        if self.chain.steps.is_empty() {
            return self.last.step_batch(batch, want, out, scratch);
        }
        if !self.abilities.takes_batches || batch.len() < FEWEST_ROWS {
            return self.step_each(batch, want, out, scratch);
        }
        let mut done = 0;
        while done < batch.len() {
            done += self.step_together(&batch.slice(done, batch.len()), want, out, scratch);
            if done < batch.len() {
                // The row that stopped the batch is processed on its own.
                let one = self.step_each(&batch.slice(done, done + 1), want, out, scratch);
                if one == 0 {
                    break;
                }
                done += 1;
            }
        }
        done
    }

    fn learn_batch(&mut self, batch: &Batch<'_, T>, buffer: &mut T::Predictions, scratch: &mut Scratch) -> usize {
        if self.abilities.takes_batches {
            return self.step_batch(&Batch { asked: None, ..*batch }, T::LEAST, buffer, scratch);
        }
        let rows = batch.truths.iter().enumerate();
        rows.take_while(|&(row, &y)| self.learn(batch.rows.at(row), y, batch.weight(row), scratch).is_ok()).count()
    }

    fn loss(&self, x: Row<'_>, y: T::Truth, scratch: &mut Scratch) -> Option<f64> {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.loss(z, y, scratch))
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        self.last.decision_function().map(|_| self as &dyn DecisionFunction)
    }

    fn interval(&self) -> Option<&dyn Interval> {
        self.last.interval().map(|_| self as &dyn Interval)
    }

    fn threshold(&self) -> Option<f64> {
        self.last.threshold()
    }

    fn undo(&mut self) {
        self.undo_all(|last| last.undo());
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<T>> {
        self.abilities.mini_batches.then_some(self)
    }

    fn ends_tasks(&self) -> bool {
        self.last.ends_tasks()
    }

    fn end_task(&mut self, scratch: &mut Scratch) {
        self.last.end_task(scratch);
    }

    fn duplicate(&self) -> Box<dyn Learner<T>> {
        Box::new(self.clone())
    }
}

impl<T: Task> DecisionFunction for Pipeline<Box<dyn Learner<T>>> {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        let last = self.last.decision_function()?;
        through(&self.chain.steps, x, scratch, |z, scratch| last.score(z, scratch))
    }
}

impl<T: Task> Interval for Pipeline<Box<dyn Learner<T>>> {
    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)> {
        let last = self.last.interval()?;
        through(&self.chain.steps, x, scratch, |z, scratch| last.interval(z, coverage, scratch))
    }
}

impl<T: Task> MiniBatch<T> for Pipeline<Box<dyn Learner<T>>> {
    fn accumulate(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, T::truth(y), w, scratch, |last, z, scratch| match last.mini_batch() {
            Some(last) => last.accumulate(z, y, w, scratch),
            None => Err(Fault::wrong_type("learns from one example at a time")),
        })
    }

    fn apply(&mut self) -> Result<()> {
        self.last.mini_batch().map_or(Ok(()), |last| last.apply())
    }
}

impl Transformer for Pipeline<Box<dyn Transformer>> {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.transform(z, out, scratch));
    }

    fn learn(&mut self, x: Row<'_>, y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, y, w, scratch, |last, z, scratch| last.learn(z, y, w, scratch))
    }

    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.learn_all(x, y, w, scratch, |last, z, scratch| last.learn_and_transform(z, y, w, out, scratch))?;
        if self.chain.stopped.is_some() {
            self.transform(x, out, scratch);
        }
        Ok(())
    }

    fn undo(&mut self) {
        self.undo_all(|last| last.undo());
    }

    fn stops(&self) -> bool {
        self.chain.stopped.is_some() || (self.last.may_stop() && self.last.stops())
    }

    fn may_stop(&self) -> bool {
        self.chain.filters || self.last.may_stop()
    }

    fn keeps_names(&self) -> bool {
        self.last.keeps_names() && self.chain.steps.iter().all(|step| step.keeps_names())
    }

    fn zeros(&self, input: Zeros) -> Zeros {
        self.last.zeros(self.chain.steps.iter().fold(input, |zeros, step| step.zeros(zeros)))
    }

    fn fixed_output(&self) -> Option<&Schema> {
        self.last.fixed_output()
    }

    fn output(&self, input: &Schema) -> Schema {
        self.last.output(&self.chain.output(input))
    }

    fn basis(&self) -> Option<&dyn BasisFunctions> {
        self.last.basis()
    }

    fn basis_mut(&mut self) -> Option<&mut dyn BasisFunctions> {
        self.last.basis_mut()
    }

    fn is_frozen(&self) -> bool {
        self.last.is_frozen() && self.chain.is_frozen()
    }

    fn is_stateless(&self) -> bool {
        self.last.is_stateless() && self.chain.steps.iter().all(|step| step.is_stateless())
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}
