//! Stacking: a meta model learns from the predictions of other models.
//!
//! Wolpert, D. H. (1992), "Stacked generalization", Neural Networks 5(2), on a stream: the models predict a row before
//! they learn it, so the meta model always receives out-of-sample predictions.
//!
//! The models do not depend on each other, nor on the meta model: they process a batch on several threads, and the meta
//! model processes their predictions row by row. If it refuses a row, the models are reverted to that row.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{vote_each, Learner, Then};
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{Classes, Numbers, Task, Truth};

use super::combined::batch_rows;
use super::engine::{Coupling, Member, Members};
use super::layout::Layout;
use super::learner::MemberLearner;
use super::threads::{self, N_THREADS};
use super::voting::{models, Trust, Voter, CLASSIFIERS, REGRESSORS};

const INCLUDE_FEATURES: Parameter = Parameter::new(
    "include_features",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "pass the features to the meta model, too",
);

pub static STACKING: Declaration = Declaration {
    name: "ensemble.Stacking",
    role: Role::Classifier,
    words: "Stacking: a classifier of the predictions of other classifiers",
    merge: Merge::ENSEMBLE,
    parameters: &[
        CLASSIFIERS,
        Parameter::new(
            "meta_model",
            Kind::Part(&[Role::Classifier]),
            DefaultValue::Part("linear_model.SoftmaxRegression"),
            "classifier that combines the predictions of the models",
        ),
        INCLUDE_FEATURES,
        N_THREADS,
    ],
    build: |arguments| build::<Classes>(STACKING.name, arguments),
};

pub static STACKING_REGRESSOR: Declaration = Declaration {
    name: "ensemble.StackingRegressor",
    role: Role::Regressor,
    words: "Stacking: a regressor on the predictions of other regressors",
    merge: Merge::ENSEMBLE,
    parameters: &[
        REGRESSORS,
        Parameter::new(
            "meta_model",
            Kind::Part(&[Role::Regressor]),
            DefaultValue::Part("linear_model.LinearRegression"),
            "regressor that combines the predictions of the models",
        ),
        INCLUDE_FEATURES,
        N_THREADS,
    ],
    build: |arguments| build::<Numbers>(STACKING_REGRESSOR.name, arguments),
};

fn build<T: Task>(name: &'static str, arguments: &Arguments<'_>) -> Result<Built> {
    let members = models::<T>(arguments)?.into_iter();
    let members = members.map(|model| Voter::new(model, false, Trust::Fixed(1.0))).collect();
    Ok(T::build(Box::new(Stack {
        name,
        members: Members::new(members, threads::count(arguments)?),
        meta: arguments.learner::<T>("meta_model")?,
        with_features: arguments.boolean("include_features")?,
        layout: Layout::default(),
        names: Schema::default(),
        at_savepoint: None,
    })))
}

/// The models do not affect each other.
struct Free;

impl<L: MemberLearner> Coupling<Voter<L>> for Free {}

type Boxed<T> = Box<dyn Learner<T>>;

#[derive(Clone)]
struct Stack<T: Task> {
    name: &'static str,
    members: Members<Voter<Boxed<T>>>,
    meta: Boxed<T>,
    with_features: bool,
    layout: Layout,
    /// Names of the features, for a meta model that needs them.
    names: Schema,
    /// The layout at the last savepoint, if all learners record what they overwrite.
    at_savepoint: Option<Layout>,
}

#[derive(Serialize, Deserialize)]
struct State {
    members: Vec<ByteBuf>,
    meta: ByteBuf,
    layout: Layout,
}

/// The input of the meta model for a row: to predict, if that differs, and to learn.
struct MetaRow<'a> {
    asked: Option<Row<'a>>,
    row: Row<'a>,
    index: usize,
}

impl<T: Task> Stack<T> {
    /// Number of votes per row, when these truths come next.
    fn stride(&self, truths: &[T::Truth]) -> usize {
        let known = T::votes_per_row(self.layout.width_of_votes() / self.members.len());
        let classes = truths.iter().map(|&truth| match T::truth(truth) {
            Truth::Class(code) => code as usize + 1,
            _ => 0,
        });
        known.max(classes.max().unwrap_or(0))
    }

    fn bind_meta(&mut self) {
        if self.meta.abilities().needs_names {
            let schema = self.layout.schema(&self.names, self.members.len());
            self.meta.bind(&schema);
        }
    }

    /// The input row of the meta model, from the current predictions of the models.
    fn ask<R>(
        &self,
        x: Row<'_>,
        scratch: &mut Scratch,
        then: impl FnOnce(&Boxed<T>, Row<'_>, &mut Scratch) -> R,
    ) -> R {
        let (models, stride) = (self.members.len(), self.stride(&[]));
        let (mut votes, mut row) = (scratch.take_numbers(), scratch.take_row());
        votes.resize(models * stride, 0.0);
        for (member, votes) in self.members.iter().zip(votes.chunks_exact_mut(stride)) {
            member.vote(x, votes, scratch);
        }
        self.layout.write(x, |at| votes[at % models * stride + at / models], &mut row);
        let answer = then(&self.meta, row.row(), scratch);
        scratch.give_row(row);
        scratch.give_numbers(votes);
        answer
    }

    /// Let the models process rows, and `step` the meta model on their predictions. Returns the number of rows before
    /// the first refused one, and its fault.
    fn process(
        &mut self,
        batch: &Batch<'_, T>,
        scratch: &mut Scratch,
        mut step: impl FnMut(&mut Boxed<T>, MetaRow<'_>, &mut Scratch) -> Result<()>,
    ) -> (usize, Option<Fault>) {
        let stride = self.stride(batch.truths);
        // Predicted numbers are unbounded, so the meta model may always refuse them.
        let sure = T::ERROR_RATE && self.meta.infallible();
        let refused = self.members.attempt(batch, stride, &Free, sure, scratch);
        let reached = refused.as_ref().map_or(batch.len(), |(row, _)| *row);
        let (mut before, mut row) = (scratch.take_row(), scratch.take_row());
        let mut stopped = refused.map(|(row, fault)| (row, fault.by(self.name)));
        for index in 0..reached {
            let (x, models) = (batch.rows.at(index), self.members.len());
            let features = if self.with_features { x.width() } else { 0 };
            // As wide as required by the rows so far: later rows of the batch must have no effect.
            let width = models * self.stride(&batch.truths[index..=index]);
            let news = self.layout.lacks(features, width);
            let asked = news || batch.asked.is_some();
            let mut known = None;
            if asked {
                let vote = |at: usize| self.members.output(at % models).prediction(index)[at / models];
                self.layout.write(batch.asked_at(index), vote, &mut before);
            }
            if news {
                known = Some(self.layout.clone());
                self.layout.grow(features, width);
            }
            let vote = |at: usize| self.members.output(at % models).votes(index)[at / models];
            self.layout.write(x, vote, &mut row);
            if news {
                self.bind_meta();
            }
            let given = MetaRow { asked: asked.then(|| before.row()), row: row.row(), index };
            if let Err(fault) = step(&mut self.meta, given, scratch) {
                if let Some(known) = known {
                    self.layout = known;
                    self.bind_meta();
                }
                stopped = Some((index, fault.by(self.name)));
                break;
            }
        }
        scratch.give_row(before);
        scratch.give_row(row);
        match stopped {
            None => {
                self.members.accept(batch);
                (batch.len(), None)
            }
            Some((row, fault)) => {
                self.members.retreat(batch, row, stride, &Free, scratch);
                (row, Some(fault))
            }
        }
    }
}

/// Predict with the meta model, then let it learn.
fn step_meta<T: Task>(
    meta: &mut Boxed<T>,
    given: &MetaRow<'_>,
    y: T::Truth,
    w: f64,
    want: Want,
    out: &mut T::Prediction,
    scratch: &mut Scratch,
) -> Result<()> {
    match given.asked {
        Some(asked) => {
            meta.predict(asked, want, out, scratch);
            meta.learn(given.row, y, w, scratch)
        }
        None => meta.step(given.row, y, w, want, out, scratch),
    }
}

impl<T: Task> Part for Stack<T> {
    fn save(&self) -> Result<Vec<u8>> {
        let members = self.members.iter().map(|member| member.save().map(ByteBuf::from));
        let members = members.collect::<Result<_>>()?;
        pack(&State { members, meta: self.meta.save()?.into(), layout: self.layout.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        require(self.name, state.members.len() == self.members.len(), "models are missing")?;
        let sound = state.layout.is_sound(self.members.len(), self.with_features);
        require(self.name, sound, "the slots of votes are not valid")?;
        for (member, bytes) in self.members.iter_mut().zip(&state.members) {
            member.load(bytes)?;
        }
        self.meta.load(&state.meta)?;
        self.layout = state.layout;
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        let all = self.members.iter().map(Part::abilities).fold(self.meta.abilities(), Abilities::and);
        Abilities {
            takes_batches: true,
            predicts_batches: true,
            mini_batches: false,
            wants_orthonormal: false,
            // The meta model receives the features, too, if requested.
            missing_is_zero: false,
            threads: self.members.threads().min(self.members.len()).max(all.threads),
            ..all
        }
    }

    fn memory(&self) -> usize {
        self.members.memory() + self.meta.memory() + self.layout.memory()
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.clone();
        self.members.iter_mut().for_each(|member| member.bind(schema));
        self.bind_meta();
    }

    fn infallible(&self) -> bool {
        T::ERROR_RATE && self.meta.infallible() && self.members.iter().all(|member| member.infallible())
    }

    fn savepoint(&mut self) -> bool {
        let records = self.meta.savepoint() && self.members.savepoint();
        match records {
            true => self.at_savepoint = Some(self.layout.clone()),
            false => self.commit(),
        }
        records
    }

    fn rollback(&mut self) {
        if let Some(layout) = self.at_savepoint.take() {
            self.layout = layout;
            self.members.rollback();
            self.meta.rollback();
            self.bind_meta();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.members.commit();
        self.meta.commit();
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.members.iter().try_for_each(|member| member.check(x, scratch))?;
        self.ask(x, scratch, |meta, row, scratch| meta.check(row, scratch))
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let members: Vec<Json> = self.members.iter().map(|member| member.inspect(schema)).collect();
        let meta = self.meta.inspect(&self.layout.schema(schema, self.members.len()));
        json!({ "members": members, "meta_model": meta })
    }

    /// The models, then the meta model.
    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let (learner, input) = match self.members.iter().nth(index) {
            Some(member) => (member.learner(), input.clone()),
            None if index == self.members.len() => {
                (self.meta.clone(), self.layout.schema(input, self.members.len()))
            }
            None => return Ok(None),
        };
        Ok(Some(Extracted { part: T::build(learner), description: None, input, learned: None }))
    }
}

impl<T: Task> Learner<T> for Stack<T> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        self.ask(x, scratch, |meta, row, scratch| meta.predict(row, want, out, scratch));
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, T>) {
        let (models, stride) = (self.members.len(), self.stride(&[]));
        let polls = self.members.poll_batch(rows, stride, scratch);
        let votes = polls.iter().flat_map(|poll| poll.votes.chunks_exact(models * stride));
        let mut given = scratch.take_rows(rows.len());
        for (row, (given, votes)) in given.iter_mut().zip(votes).enumerate() {
            self.layout.write(rows.at(row), |at| votes[at % models * stride + at / models], given);
        }
        self.meta.predict_batch(&Rows::Owned(&given[..rows.len()]), want, scratch, then);
        scratch.give_rows(given);
    }

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (truths, weights) = ([y], [w]);
        let batch = Batch::new(Rows::One(x), &truths, Some(&weights));
        let learned = self.process(&batch, scratch, |meta, given, scratch| meta.learn(given.row, y, w, scratch));
        learned.1.map_or(Ok(()), Err)
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
        let (truths, weights) = ([y], [w]);
        let batch = Batch::new(Rows::One(x), &truths, Some(&weights));
        let stepped = self
            .process(&batch, scratch, |meta, given, scratch| step_meta(meta, &given, y, w, want, out, scratch));
        stepped.1.map_or(Ok(()), Err)
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, T>,
        want: Want,
        out: &mut T::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = T::take(scratch);
        let (mut from, size) = (0, batch_rows(self.members.len(), self.stride(batch.truths)));
        while from < batch.len() {
            let part = batch.slice(from, (from + size).min(batch.len()));
            let (done, stopped) = self.process(&part, scratch, |meta, given, scratch| {
                let (y, w) = (part.truths[given.index], part.weight(given.index));
                step_meta(meta, &given, y, w, want, &mut prediction, scratch)?;
                T::push(&mut prediction, want, out);
                Ok(())
            });
            from += done;
            if stopped.is_some() {
                break;
            }
        }
        self.members.release_buffers();
        T::give(prediction, scratch);
        from
    }

    /// As a member of an ensemble it also takes whole batches, if each row is predicted as it is learned.
    fn vote_batch(
        &mut self,
        batch: &Batch<'_, T>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if batch.asked.is_some() || (0..batch.len()).any(|row| batch.weight(row) == 0.0) {
            return vote_each(self, batch, votes, scratch);
        }
        let Votes { learned, stride, .. } = votes;
        let mut prediction = T::take(scratch);
        let (done, fault) = self.process(batch, scratch, |meta, given, scratch| {
            let (y, w) = (batch.truths[given.index], batch.weight(given.index));
            step_meta(meta, &given, y, w, T::ALL, &mut prediction, scratch)?;
            T::vote(&prediction, &mut learned[given.index * stride..(given.index + 1) * stride]);
            Ok(())
        });
        T::give(prediction, scratch);
        fault.map(|fault| (done, fault))
    }

    fn duplicate(&self) -> Box<dyn Learner<T>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;

    #[test]
    fn one_step_by_hand() {
        let parameters = json!({
            "models": ["baseline.TargetMean", "baseline.TargetMean"],
            "meta_model": {
                "name": "linear_model.LinearRegression",
                "parameters": { "optimizer": { "name": "optim.SGD", "parameters": { "learning_rate": 0.125 } },
                                "intercept": false }
            },
            "include_features": false,
        });
        let description =
            registry::resolve(&json!({ "name": STACKING_REGRESSOR.name, "parameters": parameters })).unwrap();
        let Built::Regressor(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        // The models predict 0 for the first row, so nothing is learned from them; then both predict 2.
        assert_eq!(model.step_number(Row::Plain(&[5.0]), 2.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert_eq!(model.step_number(Row::Plain(&[5.0]), 1.0, 1.0, &mut scratch).unwrap(), 0.0);
        // The slope is 2 (0 - 1) = -2, and each weight moves by 0.125 · 2 · 2 = 0.5. Now the models predict 1.5 each.
        assert_eq!(model.number(Row::Plain(&[5.0]), &mut scratch), 1.5);
    }
}
