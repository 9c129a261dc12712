//! Stacking: a last learner is given what the models say of a row, and says what it makes of it.
//!
//! Wolpert, D. H. (1992), "Stacked generalization", Neural Networks 5(2), as a stream: the models predict a row before
//! they learn it, so what the last learner is given are always predictions of rows that were new.
//!
//! The models do not depend on each other, nor on the last learner: they go through a chunk on many threads, and the last
//! learner goes through what they said, row by row. If it refuses a row, the models go back to that row.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::block::{ClassBlock, ClassRows, Lesson, NumberBlock, NumberRows, Predictions, Rows};
use crate::fault::{Fault, Result};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Member as Extracted, Part, Regressor};
use crate::row::{Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::class_ensemble::chunk;
use super::engine::{Coupling, Member, Team};
use super::layout::Layout;
use super::learner::Learner;
use super::threads::{self, N_THREADS};
use super::voting::{classifiers, most_classes, regressors, Trust, Voter, CLASSIFIERS, REGRESSORS};

const INCLUDE_FEATURES: Parameter = Parameter::new(
    "include_features",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether the last learner is given the features too",
);

pub static STACKING: Declaration = Declaration {
    name: "ensemble.Stacking",
    role: Role::Classifier,
    words: "A classifier of what other classifiers say",
    parameters: &[
        CLASSIFIERS,
        Parameter::new(
            "meta_model",
            Kind::Part(&[Role::Classifier]),
            DefaultValue::Part("linear_model.SoftmaxRegression"),
            "the classifier that is given what the models say",
        ),
        INCLUDE_FEATURES,
        N_THREADS,
    ],
    build: |arguments| match arguments.part("meta_model")? {
        Built::Classifier(meta) => {
            let models = classifiers(arguments)?;
            let most = most_classes(&models).min(meta.max_classes());
            let (with_features, threads) = (arguments.boolean("include_features")?, threads::count(arguments)?);
            Ok(Built::Classifier(Box::new(Stack::new(STACKING.name, models, meta, with_features, threads, most))))
        }
        _ => Err(arguments.absent("meta_model")),
    },
};

pub static STACKING_REGRESSOR: Declaration = Declaration {
    name: "ensemble.StackingRegressor",
    role: Role::Regressor,
    words: "A regressor of what other regressors say",
    parameters: &[
        REGRESSORS,
        Parameter::new(
            "meta_model",
            Kind::Part(&[Role::Regressor]),
            DefaultValue::Part("linear_model.LinearRegression"),
            "the regressor that is given what the models say",
        ),
        INCLUDE_FEATURES,
        N_THREADS,
    ],
    build: |arguments| match arguments.part("meta_model")? {
        Built::Regressor(meta) => {
            let (with_features, threads) = (arguments.boolean("include_features")?, threads::count(arguments)?);
            let (models, name) = (regressors(arguments)?, STACKING_REGRESSOR.name);
            Ok(Built::Regressor(Box::new(Stack::new(name, models, meta, with_features, threads, usize::MAX))))
        }
        _ => Err(arguments.absent("meta_model")),
    },
};

/// The models do not act on each other.
struct Free;

impl<L: Learner> Coupling<Voter<L>> for Free {}

#[derive(Clone)]
struct Stack<L: Learner> {
    name: &'static str,
    team: Team<Voter<L>>,
    meta: L,
    with_features: bool,
    layout: Layout,
    max_classes: usize,
    /// Names of the features, for a last learner that wants them.
    names: Schema,
}

#[derive(Serialize, Deserialize)]
struct State {
    members: Vec<ByteBuf>,
    meta: ByteBuf,
    layout: Layout,
}

impl<L: Learner> Stack<L> {
    fn new(
        name: &'static str,
        models: Vec<L>,
        meta: L,
        with_features: bool,
        threads: usize,
        max_classes: usize,
    ) -> Self {
        let members = models.into_iter().map(|model| Voter::new(model, false, Trust::Fixed(1.0))).collect();
        let (team, layout, names) = (Team::new(members, threads), Layout::default(), Schema::default());
        Stack { name, team, meta, with_features, layout, max_classes, names }
    }

    /// How many classes there is room for, or one number.
    fn stride(&self) -> usize {
        match L::SHARES {
            true => (self.layout.width_of_votes() / self.team.len()).max(2),
            false => 1,
        }
    }

    fn bind_meta(&mut self) {
        if self.meta.part().needs_names() {
            let schema = self.layout.schema(&self.names, self.team.len());
            self.meta.part_mut().bind(&schema);
        }
    }

    /// The row for the last learner, of what the models say at this moment.
    fn ask<R>(&self, x: Row<'_>, scratch: &mut Scratch, then: impl FnOnce(&L, Row<'_>, &mut Scratch) -> R) -> R {
        let (models, stride) = (self.team.len(), self.stride());
        let (mut votes, mut row) = (scratch.take_numbers(), scratch.take_row());
        votes.resize(models * stride, 0.0);
        for (member, votes) in self.team.members().zip(votes.chunks_exact_mut(stride)) {
            member.vote(x, votes, scratch);
        }
        self.layout.write(x, |place| votes[place % models * stride + place / models], &mut row);
        let answer = then(&self.meta, row.row(), scratch);
        scratch.give_row(row);
        scratch.give_numbers(votes);
        answer
    }

    /// Let the models go through rows, and `step` take the last learner through what they said. Gives how many rows
    /// were done before one was refused, and why.
    fn go(
        &mut self,
        lesson: &Lesson<'_, L::Target>,
        scratch: &mut Scratch,
        mut step: impl FnMut(&mut L, Option<Row<'_>>, Row<'_>, usize, &mut Scratch) -> Result<()>,
    ) -> (usize, Option<Fault>) {
        // Numbers that models say have no bound, so a last learner that is given them may always refuse them.
        let sure = L::SHARES && self.meta.part().never_refuses();
        let refused = self.team.attempt(lesson, &Free, sure, scratch);
        let reached = refused.as_ref().map_or(lesson.len(), |(row, _)| *row);
        let (mut before, mut row) = (scratch.take_row(), scratch.take_row());
        let mut stopped = refused.map(|(row, fault)| (row, fault.by(self.name)));
        for at in 0..reached {
            let (x, models) = (lesson.rows.at(at), self.team.len());
            let features = if self.with_features { x.width() } else { 0 };
            let news = self.layout.lacks(features, models * lesson.stride);
            let vote = |place: usize| self.team.page(place % models).at(at, lesson.stride)[place / models];
            let mut known = None;
            if news {
                self.layout.write(x, vote, &mut before);
                known = Some(self.layout.clone());
                self.layout.grow(features, models * lesson.stride);
            }
            self.layout.write(x, vote, &mut row);
            if news {
                self.bind_meta();
            }
            let stepped = step(&mut self.meta, news.then(|| before.row()), row.row(), at, scratch);
            if let Err(fault) = stepped {
                if let Some(known) = known {
                    self.layout = known;
                    self.bind_meta();
                }
                stopped = Some((at, fault.by(self.name)));
                break;
            }
        }
        scratch.give_row(before);
        scratch.give_row(row);
        match stopped {
            None => {
                self.team.accept(lesson);
                (lesson.len(), None)
            }
            Some((row, fault)) => {
                self.team.retreat(lesson, row, &Free, scratch);
                (row, Some(fault))
            }
        }
    }
}

impl<L: Learner + 'static> Part for Stack<L> {
    fn save(&self) -> Result<Vec<u8>> {
        let members = self.team.members().map(|member| member.save().map(ByteBuf::from));
        let members = members.collect::<Result<_>>()?;
        pack(&State { members, meta: self.meta.part().save()?.into(), layout: self.layout.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.name, bytes)?;
        require(self.name, state.members.len() == self.team.len(), "models are missing")?;
        let sound = state.layout.is_sound(self.team.len(), self.with_features);
        require(self.name, sound, "the places of votes are not valid")?;
        for (member, bytes) in self.team.members_mut().zip(&state.members) {
            member.load(bytes)?;
        }
        self.meta.part_mut().load(&state.meta)?;
        self.layout = state.layout;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.team.memory() + self.meta.part().memory() + self.layout.memory()
    }

    fn needs_names(&self) -> bool {
        self.meta.part().needs_names() || self.team.members().any(|member| member.needs_names())
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.clone();
        self.team.members_mut().for_each(|member| member.bind(schema));
        self.bind_meta();
    }

    fn never_refuses(&self) -> bool {
        L::SHARES && self.meta.part().never_refuses() && self.team.members().all(|member| member.never_refuses())
    }

    fn checks(&self) -> bool {
        self.meta.part().checks() || self.team.members().any(|member| member.checks())
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.team.members().try_for_each(|member| member.check(x, scratch))?;
        self.ask(x, scratch, |meta, row, scratch| meta.part().check(row, scratch))
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let members: Vec<Json> = self.team.members().map(|member| member.inspect(schema)).collect();
        let meta = self.meta.part().inspect(&self.layout.schema(schema, self.team.len()));
        json!({ "members": members, "meta_model": meta })
    }

    fn member(&self, place: usize, input: &Schema) -> Result<Option<Extracted>> {
        // After the models comes the last learner.
        if place == self.team.len() {
            let said = self.layout.schema(input, self.team.len());
            return Ok(Some(Extracted { state: self.meta.part().save()?, input: said, learned: None }));
        }
        let member = self.team.members().nth(place);
        member
            .map(|member| Ok(Extracted { state: member.learner()?, input: input.clone(), learned: None }))
            .transpose()
    }
}

impl Stack<Box<dyn Classifier>> {
    fn lesson<'a>(&self, rows: Rows<'a>, targets: &'a [u32], weights: &'a [f64]) -> Lesson<'a, u32> {
        let largest = targets.iter().max().map_or(0, |&code| code as usize + 1);
        Lesson { rows, targets, weights, stride: self.stride().max(largest) }
    }
}

impl Classifier for Stack<Box<dyn Classifier>> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        self.ask(x, scratch, |meta, row, scratch| meta.predict(row, want, out, scratch));
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let lesson = self.lesson(Rows::One(x), std::slice::from_ref(&y), std::slice::from_ref(&w));
        let learned = self.go(&lesson, scratch, |meta, _, row, _, scratch| meta.learn(row, y, w, scratch));
        learned.1.map_or(Ok(()), Err)
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
        let lesson = self.lesson(Rows::One(x), std::slice::from_ref(&y), std::slice::from_ref(&w));
        let stepped = self.go(&lesson, scratch, |meta, before, row, _, scratch| match before {
            Some(before) => {
                meta.predict(before, want, out, scratch);
                meta.learn(row, y, w, scratch)
            }
            None => meta.step(row, y, w, want, out, scratch),
        });
        stepped.1.map_or(Ok(()), Err)
    }

    fn step_block(
        &mut self,
        block: &ClassBlock<'_>,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let rows = Rows::Plain { values: block.values, width: block.width };
        let block = ClassRows { rows, classes: block.classes, weights: block.weights, labels: block.labels };
        self.step_rows(&block, want, out, scratch)
    }

    fn takes_rows(&self) -> bool {
        true
    }

    fn step_rows(
        &mut self,
        block: &ClassRows<'_>,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let n = block.classes.len();
        let mut ones = scratch.take_numbers();
        if block.weights.is_none() {
            ones.resize(n, 1.0);
        }
        let weights = block.weights.unwrap_or(&ones);
        let lesson = self.lesson(block.rows, block.classes, &weights[..n]);
        let mut prediction = scratch.take_prediction();
        let (mut from, size) = (0, chunk(self.team.len(), lesson.stride));
        while from < n {
            let part = lesson.part(from, (from + size).min(n));
            let (done, stopped) = self.go(&part, scratch, |meta, before, row, at, scratch| {
                let (y, w) = (part.targets[at], part.weights[at]);
                match before {
                    Some(before) => {
                        meta.predict(before, want, &mut prediction, scratch);
                        meta.learn(row, y, w, scratch)?;
                    }
                    None => meta.step(row, y, w, want, &mut prediction, scratch)?,
                }
                out.push(&mut prediction, block.labels, want);
                Ok(())
            });
            from += done;
            if stopped.is_some() {
                break;
            }
        }
        self.team.put_away();
        scratch.give_prediction(prediction);
        scratch.give_numbers(ones);
        from
    }

    fn max_classes(&self) -> usize {
        self.max_classes
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

impl Regressor for Stack<Box<dyn Regressor>> {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        self.ask(x, scratch, |meta, row, scratch| meta.predict(row, scratch))
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, scratch).map(|_| ())
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let lesson = Lesson { rows: Rows::One(x), targets: &[y], weights: &[w], stride: 1 };
        let mut predicted = 0.0;
        let stepped = self.go(&lesson, scratch, |meta, before, row, _, scratch| {
            step_number(meta, before, row, y, w, scratch).map(|number| predicted = number)
        });
        stepped.1.map_or(Ok(predicted), Err)
    }

    fn step_block(&mut self, block: &NumberBlock<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let rows = Rows::Plain { values: block.values, width: block.width };
        let block = NumberRows { rows, targets: block.targets, weights: block.weights };
        self.step_rows(&block, out, scratch)
    }

    fn takes_rows(&self) -> bool {
        true
    }

    fn step_rows(&mut self, block: &NumberRows<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let n = block.targets.len();
        let mut ones = scratch.take_numbers();
        if block.weights.is_none() {
            ones.resize(n, 1.0);
        }
        let weights = block.weights.unwrap_or(&ones);
        let lesson = Lesson { rows: block.rows, targets: block.targets, weights: &weights[..n], stride: 1 };
        let (mut from, size) = (0, chunk(self.team.len(), 1));
        while from < n {
            let part = lesson.part(from, (from + size).min(n));
            let (done, stopped) = self.go(&part, scratch, |meta, before, row, at, scratch| {
                let (y, w) = (part.targets[at], part.weights[at]);
                step_number(meta, before, row, y, w, scratch).map(|number| out.push(number))
            });
            from += done;
            if stopped.is_some() {
                break;
            }
        }
        self.team.put_away();
        scratch.give_numbers(ones);
        from
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

/// Predict and learn, from two rows where the second has slots that the first has not.
fn step_number(
    meta: &mut Box<dyn Regressor>,
    before: Option<Row<'_>>,
    row: Row<'_>,
    y: f64,
    w: f64,
    scratch: &mut Scratch,
) -> Result<f64> {
    match before {
        None => meta.step(row, y, w, scratch),
        Some(before) => {
            let predicted = meta.predict(before, scratch);
            meta.learn(row, y, w, scratch).map(|()| predicted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        // The models say 0 of the first row, so nothing is learned from them; then both say 2.
        assert_eq!(model.step(Row::Plain(&[5.0]), 2.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert_eq!(model.step(Row::Plain(&[5.0]), 1.0, 1.0, &mut scratch).unwrap(), 0.0);
        // The slope is 2 (0 - 1) = -2, and each weight moves by 0.125 · 2 · 2 = 0.5. Now the models say 1.5 each.
        assert_eq!(model.predict(Row::Plain(&[5.0]), &mut scratch), 1.5);
    }
}
