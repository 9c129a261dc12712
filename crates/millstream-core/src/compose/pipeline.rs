//! Steps one after the other: transformers, and perhaps a learner at the end.
//!
//! To predict, the row goes through each step as it is. To learn, each step first learns the row and then
//! transforms it for the next, as in River: the learner sees the row scaled by moments that include it. If
//! a later step refuses the example, the earlier ones take it back.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::block::{ClassBlock, NumberBlock, Predictions};
use crate::fault::{Fault, Result};
use crate::parameter::{Arguments, Default, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Member, Part, Regressor, Transformer};
use crate::row::{Prediction, Row, RowBuffer, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

const NAME: &str = "compose.Pipeline";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Wrapper,
    words: "Steps one after the other: transformers, then perhaps a learner",
    parameters: &[
        Parameter::new(
            "steps",
            Kind::Parts(&[Role::Transformer, Role::Classifier, Role::Regressor]),
            Default::Required,
            "the steps in order; all but the last are transformers",
        ),
        Parameter::new("names", Kind::Optional(&Kind::Names), Default::Null, "a name for each step"),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let mut parts = arguments.parts("steps")?;
    super::member_names(arguments, "steps", parts.len())?;
    let last = parts.pop().ok_or_else(|| Fault::value(format!("{NAME}: needs at least one step")))?;
    let mut steps = Vec::new();
    for part in parts {
        match part {
            Built::Transformer(step) => steps.push(step),
            _ => return Err(Fault::wrong_type(format!("{NAME}: only the last step may be a learner"))),
        }
    }
    let wants_orthonormal = match &last {
        Built::Classifier(last) => last.wants_orthonormal(),
        Built::Regressor(last) => last.wants_orthonormal(),
        _ => false,
    };
    if let (true, Some(before)) = (wants_orthonormal, steps.last_mut()) {
        before.become_orthonormal();
    }
    let chain = Chain { steps, ..Chain::default() };
    Ok(match last {
        Built::Classifier(last) => Built::Classifier(Box::new(Pipeline { chain, last, held: None })),
        Built::Regressor(last) => Built::Regressor(Box::new(Pipeline { chain, last, held: None })),
        Built::Transformer(last) => Built::Transformer(Box::new(Pipeline { chain, last, held: None })),
        _ => return Err(Fault::wrong_type(format!("{NAME}: steps are transformers and learners"))),
    })
}

/// The transformers in front.
#[derive(Default)]
struct Chain {
    steps: Vec<Box<dyn Transformer>>,
    /// For steps that find features by name: what the pipeline's input was called at the last `bind`, and
    /// the width of each step's output then.
    input: Schema,
    widths: Vec<usize>,
}

impl Clone for Chain {
    fn clone(&self) -> Self {
        Chain {
            steps: self.steps.iter().map(|step| step.duplicate()).collect(),
            input: self.input.clone(),
            widths: self.widths.clone(),
        }
    }
}

/// Carry a row through `steps` and hand the result to `last`.
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

fn check_through(steps: &[Box<dyn Transformer>], x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
    let Some((first, rest)) = steps.split_first() else { return Ok(()) };
    if first.checks() {
        first.check(x, scratch)?;
    }
    if !rest.iter().any(|step| step.checks()) {
        return Ok(());
    }
    let mut buffer = scratch.take_row();
    first.transform(x, &mut buffer, scratch);
    let checked = check_through(rest, buffer.row(), scratch);
    scratch.give_row(buffer);
    checked
}

type Last<'a> = dyn FnMut(Row<'_>, Option<&Schema>, &mut Scratch) -> Result<()> + 'a;

/// What `learn_through` needs beside the row.
struct Lesson<'a> {
    w: f64,
    scratch: &'a mut Scratch,
    /// Learn with the last step; a schema is given if its features have new names to bind.
    last: &'a mut Last<'a>,
}

/// Let each of `steps` learn and transform, then the last; all or nothing. `widths` is empty unless some
/// step finds features by name: then a step that has begun to write new features makes the next one bind.
fn learn_through(
    steps: &mut [Box<dyn Transformer>],
    widths: &mut [usize],
    input: &dyn Fn() -> Schema,
    grown: bool,
    x: Row<'_>,
    lesson: &mut Lesson<'_>,
) -> Result<()> {
    let Some((first, rest)) = steps.split_first_mut() else {
        let schema = grown.then(input);
        return (lesson.last)(x, schema.as_ref(), lesson.scratch);
    };
    if grown {
        first.bind(&input());
    }
    let mut buffer = lesson.scratch.take_row();
    if let Err(fault) = first.learn_and_transform(x, lesson.w, &mut buffer, lesson.scratch) {
        lesson.scratch.give_row(buffer);
        return Err(fault);
    }
    let width = buffer.row().width();
    let (known, others) = match widths.split_first_mut() {
        Some((known, others)) => (Some(known), others),
        None => (None, &mut [][..]),
    };
    let grown = known.is_some_and(|known| std::mem::replace(known, width) != width);
    let output = || first.output(&input());
    let learned = learn_through(rest, others, &output, grown, buffer.row(), lesson);
    lesson.scratch.give_row(buffer);
    if learned.is_err() {
        first.undo();
    }
    learned
}

impl Chain {
    /// The one transformer, if there is just one and no step goes by names.
    #[inline]
    fn alone(&mut self) -> Option<&mut dyn Transformer> {
        match self.steps.as_mut_slice() {
            [only] if self.widths.is_empty() => Some(&mut **only),
            _ => None,
        }
    }

    /// The one transformer, if there is just one and it writes the same before and after it has learned.
    #[inline]
    fn fixed(&mut self) -> Option<&mut dyn Transformer> {
        match self.steps.as_mut_slice() {
            [only] if only.is_fixed() => Some(&mut **only),
            _ => None,
        }
    }

    /// Carry a row to every step that may refuse it.
    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        check_through(&self.steps, x, scratch)
    }

    /// The schema behind the steps.
    fn output(&self, input: &Schema) -> Schema {
        self.steps.iter().fold(input.clone(), |schema, step| step.output(&schema))
    }

    fn undo(&mut self) {
        for step in &mut self.steps {
            step.undo();
        }
    }
}

#[derive(Clone)]
struct Pipeline<Last> {
    chain: Chain,
    last: Last,
    /// The transformers as they were at `hold`.
    held: Option<Chain>,
}

#[derive(Serialize, Deserialize)]
struct State {
    steps: Vec<ByteBuf>,
}

/// What the three kinds of pipeline share: the last step, whatever its role, as a part.
trait AsPart {
    fn part(&self) -> &dyn Part;
    fn part_mut(&mut self) -> &mut dyn Part;
}

macro_rules! as_part {
    ($role:ident) => {
        impl AsPart for Box<dyn $role> {
            fn part(&self) -> &dyn Part {
                &**self
            }
            fn part_mut(&mut self) -> &mut dyn Part {
                &mut **self
            }
        }

        impl Clone for Box<dyn $role> {
            fn clone(&self) -> Self {
                self.duplicate()
            }
        }
    };
}
as_part!(Classifier);
as_part!(Regressor);
as_part!(Transformer);

impl<Last: AsPart> Pipeline<Last> {
    fn learn_all(
        &mut self,
        x: Row<'_>,
        w: f64,
        scratch: &mut Scratch,
        mut last: impl FnMut(&mut Last, Row<'_>, &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        let Pipeline { chain, last: learner, .. } = self;
        let input = || chain.input.clone();
        let mut lesson = Lesson {
            w,
            scratch,
            last: &mut |z, schema, scratch| {
                if let Some(schema) = schema {
                    learner.part_mut().bind(schema);
                }
                last(learner, z, scratch)
            },
        };
        let learned = learn_through(&mut chain.steps, &mut chain.widths, &input, false, x, &mut lesson);
        if learned.is_err() && !self.chain.widths.is_empty() {
            let input = std::mem::take(&mut self.chain.input);
            self.bind_all(&input);
        }
        learned
    }

    fn bind_all(&mut self, schema: &Schema) {
        let mut current = schema.clone();
        self.chain.widths.clear();
        for step in &mut self.chain.steps {
            step.bind(&current);
            current = step.output(&current);
            self.chain.widths.push(current.len());
        }
        self.last.part_mut().bind(&current);
        self.chain.input = schema.clone();
    }
}

impl<Last: AsPart + Clone> Pipeline<Last> {
    /// The last step's state for the features that the step before it names, where it was given others that are
    /// orthonormal.
    fn expressed(&self) -> Result<Option<Vec<u8>>> {
        match self.chain.steps.last().map(|step| step.transition()).transpose()?.flatten() {
            Some(transition) => self.last.part().expressed(&transition),
            None => Ok(None),
        }
    }
}

impl<Last: AsPart + Clone + Send + Sync> Part for Pipeline<Last> {
    fn save(&self) -> Result<Vec<u8>> {
        let steps = self.chain.steps.iter().map(|step| step.save());
        let steps = steps.chain(std::iter::once(self.last.part().save()));
        pack(&State { steps: steps.map(|bytes| bytes.map(ByteBuf::from)).collect::<Result<_>>()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.steps.len() == self.chain.steps.len() + 1, "steps are missing")?;
        for (step, bytes) in self.chain.steps.iter_mut().zip(&state.steps) {
            step.load(bytes)?;
        }
        self.last.part_mut().load(&state.steps[state.steps.len() - 1])
    }

    /// Of the transformers a copy is kept.
    fn hold(&mut self) -> bool {
        let holds = self.last.part_mut().hold();
        self.held = holds.then(|| self.chain.clone());
        holds
    }

    fn restore(&mut self) {
        if let Some(chain) = self.held.take() {
            self.chain = chain;
            self.last.part_mut().restore();
        }
    }

    fn release(&mut self) {
        self.held = None;
        self.last.part_mut().release();
    }

    fn memory(&self) -> usize {
        self.chain.steps.iter().map(|step| step.memory()).sum::<usize>() + self.last.part().memory()
    }

    fn needs_names(&self) -> bool {
        self.chain.steps.iter().any(|step| step.needs_names()) || self.last.part().needs_names()
    }

    fn bind(&mut self, schema: &Schema) {
        self.bind_all(schema);
    }

    fn checks(&self) -> bool {
        self.chain.steps.iter().any(|step| step.checks()) || self.last.part().checks()
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.chain.check(x, scratch)?;
        match self.last.part().checks() {
            true => through(&self.chain.steps, x, scratch, |z, scratch| self.last.part().check(z, scratch)),
            false => Ok(()),
        }
    }

    fn fold_in(&mut self, other: &[u8], theirs: &Schema, ours: &Schema) -> Result<()> {
        let state: State = unpack(NAME, other)?;
        require(NAME, state.steps.len() == self.chain.steps.len() + 1, "steps are missing")?;
        let (mut theirs, mut ours) = (theirs.clone(), ours.clone());
        for (step, bytes) in self.chain.steps.iter_mut().zip(&state.steps) {
            let mut twin = step.duplicate();
            twin.load(bytes)?;
            twin.bind(&theirs);
            step.bind(&ours);
            // What a basis writes depends on which inputs it was given first, and in which order.
            let fixed = twin.is_fixed() && theirs.names().eq(ours.names());
            match (step.steady(), fixed && step.is_fixed()) {
                (true, _) => step.fold_in(bytes, &theirs, &ours)?,
                (false, true) => {}
                (false, false) if fixed => step.load(bytes)?,
                (false, false) if twin.is_fixed() => return Err(Fault::value(
                    "cannot be merged exactly: the features of the two halves differ, or came in another order, and \
                         what a step before the last writes depends on that",
                )),
                (false, false) => return Err(Fault::value(
                    "cannot be merged exactly: a step before the last learns, so each half was given rows that \
                         were transformed by what that half alone had seen",
                )),
            }
            (theirs, ours) = (twin.output(&theirs), step.output(&ours));
        }
        let last = self.last.part_mut();
        last.bind(&ours);
        last.fold_in(&state.steps[state.steps.len() - 1], &theirs, &ours)
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let mut current = schema.clone();
        let mut steps = Vec::new();
        for step in &self.chain.steps {
            steps.push(step.inspect(&current));
            current = step.output(&current);
        }
        steps.push(match self.expressed() {
            Ok(Some(state)) => {
                let mut last = self.last.clone();
                match last.part_mut().load(&state) {
                    Ok(()) => last.part().inspect(&current),
                    Err(_) => serde_json::Value::Null,
                }
            }
            _ => self.last.part().inspect(&current),
        });
        json!({ "steps": steps })
    }

    fn member(&self, place: usize, input: &Schema) -> Result<Option<Member>> {
        if place > self.chain.steps.len() {
            return Ok(None);
        }
        let input = self.chain.steps[..place].iter().fold(input.clone(), |schema, step| step.output(&schema));
        let state = match self.chain.steps.get(place) {
            Some(step) => step.save()?,
            None => match self.expressed()? {
                Some(state) => state,
                None => self.last.part().save()?,
            },
        };
        Ok(Some(Member { state, input, learned: None }))
    }
}

impl Classifier for Pipeline<Box<dyn Classifier>> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.predict(z, want, out, scratch));
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.learn(z, y, w, scratch))
    }

    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.loss(z, y, scratch))
    }

    fn takes_batches(&self) -> bool {
        self.last.takes_batches()
    }

    fn gather(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.gather(z, y, w, scratch))
    }

    fn descend(&mut self) -> Result<()> {
        self.last.descend()
    }

    fn step_block(
        &mut self,
        block: &ClassBlock<'_>,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = scratch.take_prediction();
        let (mut before, mut after) = (scratch.take_row(), scratch.take_row());
        let checks = self.checks();
        let mut done = 0;
        for (x, y, w) in block.rows() {
            let x = Row::Plain(x);
            let last = &mut self.last;
            if let Some(first) = self.chain.fixed() {
                let learned = first.learn_and_transform(x, w, &mut after, scratch).and_then(|()| {
                    let stepped = last.step(after.row(), y, w, want, &mut prediction, scratch);
                    stepped.inspect_err(|_| first.undo())
                });
                if learned.is_err() {
                    break;
                }
                out.push(&mut prediction, block.labels, want);
                done += 1;
                continue;
            }
            if checks && self.chain.check(x, scratch).is_err() {
                break;
            }
            let learned = match self.chain.alone() {
                // The common pipeline, without the recursion.
                Some(first) => first.step(x, w, &mut before, &mut after, scratch).and_then(|()| {
                    last.predict(before.row(), want, &mut prediction, scratch);
                    last.learn(after.row(), y, w, scratch).inspect_err(|_| first.undo())
                }),
                None => self.step(x, y, w, want, &mut prediction, scratch),
            };
            if learned.is_err() {
                break;
            }
            out.push(&mut prediction, block.labels, want);
            done += 1;
        }
        scratch.give_row(before);
        scratch.give_row(after);
        scratch.give_prediction(prediction);
        done
    }

    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.score(z, scratch))
    }

    fn max_classes(&self) -> usize {
        self.last.max_classes()
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

impl Regressor for Pipeline<Box<dyn Regressor>> {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.predict(z, scratch))
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.learn(z, y, w, scratch))
    }

    fn step_block(&mut self, block: &NumberBlock<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let (mut before, mut after) = (scratch.take_row(), scratch.take_row());
        let checks = self.checks();
        let mut done = 0;
        for (x, y, w) in block.rows() {
            let x = Row::Plain(x);
            let last = &mut self.last;
            if let Some(first) = self.chain.fixed() {
                let predicted = first
                    .learn_and_transform(x, w, &mut after, scratch)
                    .and_then(|()| last.step(after.row(), y, w, scratch).inspect_err(|_| first.undo()));
                let Ok(predicted) = predicted else { break };
                out.push(predicted);
                done += 1;
                continue;
            }
            if checks && self.chain.check(x, scratch).is_err() {
                break;
            }
            let predicted = match self.chain.alone() {
                Some(first) => first.step(x, w, &mut before, &mut after, scratch).and_then(|()| {
                    let predicted = last.predict(before.row(), scratch);
                    let learned = last.learn(after.row(), y, w, scratch).inspect_err(|_| first.undo());
                    learned.map(|()| predicted)
                }),
                None => self.step(x, y, w, scratch),
            };
            let Ok(predicted) = predicted else { break };
            out.push(predicted);
            done += 1;
        }
        scratch.give_row(before);
        scratch.give_row(after);
        done
    }

    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.loss(z, y, scratch))
    }

    fn takes_batches(&self) -> bool {
        self.last.takes_batches()
    }

    fn gather(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.gather(z, y, w, scratch))
    }

    fn descend(&mut self) -> Result<()> {
        self.last.descend()
    }

    fn learn_block(&mut self, block: &NumberBlock<'_>, scratch: &mut Scratch) -> usize {
        let mut after = scratch.take_row();
        let mut done = 0;
        for (x, y, w) in block.rows() {
            let x = Row::Plain(x);
            let last = &mut self.last;
            let learned = match self.chain.alone() {
                Some(first) => first
                    .learn_and_transform(x, w, &mut after, scratch)
                    .and_then(|()| last.learn(after.row(), y, w, scratch).inspect_err(|_| first.undo())),
                None => self.learn(x, y, w, scratch),
            };
            if learned.is_err() {
                break;
            }
            done += 1;
        }
        scratch.give_row(after);
        done
    }

    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)> {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.interval(z, coverage, scratch))
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

impl Transformer for Pipeline<Box<dyn Transformer>> {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        through(&self.chain.steps, x, scratch, |z, scratch| self.last.transform(z, out, scratch));
    }

    fn learn(&mut self, x: Row<'_>, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.learn(z, w, scratch))
    }

    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.learn_all(x, w, scratch, |last, z, scratch| last.learn_and_transform(z, w, out, scratch))
    }

    fn undo(&mut self) {
        self.last.undo();
        self.chain.undo();
        if !self.chain.widths.is_empty() {
            let input = std::mem::take(&mut self.chain.input);
            self.bind_all(&input);
        }
    }

    fn output(&self, input: &Schema) -> Schema {
        self.last.output(&self.chain.output(input))
    }

    fn become_orthonormal(&mut self) -> bool {
        self.last.become_orthonormal()
    }

    fn transition(&self) -> Result<Option<Vec<f64>>> {
        self.last.transition()
    }

    fn steady(&self) -> bool {
        self.last.steady() && self.chain.steps.iter().all(|step| step.steady())
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}
