//! One-vs-rest: a binary classifier for each class learns whether an example has that class.
//!
//! The probability of a class is that of its classifier, divided by the sum over all (Rifkin and Klautau, 2004, "In
//! defense of one-vs-all classification"). As in River, the classifier of a late class has learned only the examples
//! from then on.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::{Batch, Rows, Votes};
use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::engine::{Coupling, Member, MemberOutput, Members};
use crate::ensemble::learner::MemberLearner;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{predict_each, Learner, Then};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes, Task};

use super::one_walk::OneWalk;

const NAME: &str = "multiclass.OneVsRest";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "One-vs-rest: multiclass classification with one binary classifier per class",
    merge: Merge::approximate("member by member; a member learns from the first row of its class on"),
    parameters: &[Parameter::new(
        "model",
        Kind::Part(&[Role::Classifier]),
        DefaultValue::Required,
        "classifier that separates one class from the rest",
    )],
    build: |arguments| {
        let unlearned = arguments.learner::<Classes>("model")?;
        let members = Members::new(Vec::new(), 1);
        let (at_savepoint, walk) = (Vec::new(), OneWalk::default());
        Ok(Built::Classifier(Box::new(OneVsRest { unlearned, members, at_savepoint, walk })))
    },
};

/// The classifier that separates one class from the rest.
#[derive(Clone)]
struct OneClass {
    code: u32,
    learner: Box<dyn Learner<Classes>>,
}

/// The members do not affect each other.
struct Free;

impl Coupling<OneClass> for Free {}

impl OneClass {
    /// Learn rows that need no votes; gives the first refused one.
    fn learn_rows(
        &mut self,
        batch: &Batch<'_, Classes>,
        from: usize,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        (from..batch.len()).filter(|&row| batch.weight(row) > 0.0).find_map(|row| {
            let y = u32::from(batch.truths[row] == self.code);
            let learned = self.learner.learn(batch.rows.at(row), y, batch.weight(row), scratch);
            learned.err().map(|fault| (row, fault))
        })
    }
}

impl Member for OneClass {
    type Task = Classes;

    /// One vote per row: the probability of the class.
    fn process(
        &mut self,
        batch: &Batch<'_, Classes>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if output.stride == 0 {
            return self.learn_rows(batch, from, scratch);
        }
        let (mut truths, mut halves) = (scratch.take_indices(), scratch.take_numbers());
        let mut asked_halves = scratch.take_numbers();
        truths.extend(batch.truths[from..].iter().map(|&code| u32::from(code == self.code)));
        halves.resize(2 * truths.len(), 0.0);
        asked_halves.resize(if batch.asked.is_some() { 2 * truths.len() } else { 0 }, 0.0);
        let binary = Batch { truths: &truths, ..batch.slice(from, batch.len()) };
        let votes = Votes { learned: &mut halves, asked: &mut asked_halves, stride: 2 };
        let refused = self.learner.vote_batch(&binary, votes, scratch);
        for (vote, half) in output.votes[from..].iter_mut().zip(halves.chunks_exact(2)) {
            *vote = half[1];
        }
        for (vote, half) in output.asked.iter_mut().skip(from).zip(asked_halves.chunks_exact(2)) {
            *vote = half[1];
        }
        scratch.give_indices(truths);
        scratch.give_numbers(halves);
        scratch.give_numbers(asked_halves);
        refused.map(|(row, fault)| (from + row, fault))
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        let mut halves = [0.0; 2];
        self.learner.vote(x, &mut halves, scratch);
        votes[0] = halves[1];
        1.0
    }

    fn learner(&self) -> Box<dyn Learner<Classes>> {
        self.learner.clone()
    }
}

impl Part for OneClass {
    fn save(&self) -> Result<Vec<u8>> {
        self.learner.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.learner.load(bytes)
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(self.learner.part());
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(self.learner.part_mut());
    }

    fn savepoint(&mut self) -> bool {
        self.learner.savepoint()
    }

    fn rollback(&mut self) {
        self.learner.rollback();
    }

    fn commit(&mut self) {
        self.learner.commit();
    }

    fn infallible(&self) -> bool {
        self.learner.infallible()
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        self.learner.inspect(schema)
    }
}

#[derive(Clone)]
struct OneVsRest {
    /// An unlearned member, for new classes.
    unlearned: Box<dyn Learner<Classes>>,
    /// By class code; none for a class without examples.
    members: Members<OneClass>,
    /// The class codes at the last savepoint.
    at_savepoint: Vec<u32>,
    walk: OneWalk,
}

#[derive(Serialize, Deserialize)]
struct State {
    members: Vec<Option<ByteBuf>>,
}

impl OneVsRest {
    fn codes(&self) -> usize {
        self.members.iter().last().map_or(0, |member| member.code as usize + 1)
    }

    /// Add a class; returns its index if it is new.
    fn admit(&mut self, code: u32) -> Option<usize> {
        let index = self.members.iter().take_while(|member| member.code < code).count();
        if self.members.iter().nth(index).is_some_and(|member| member.code == code) {
            return None;
        }
        self.members.insert(index, OneClass { code, learner: self.unlearned.clone() });
        Some(index)
    }

    /// Learn rows of known classes in one walk over each; returns how many, 0 if the members do not allow it.
    fn walk(
        &mut self,
        batch: &Batch<'_, Classes>,
        want: Want,
        out: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        // A change of the members discards the copies that revert them, so first see whether there will be one.
        let together = !self.members.is_empty() && self.unlearned.abilities().steps_together;
        if !together || !self.walk.read(batch) {
            return 0;
        }
        let (codes, known): (Vec<u32>, usize) =
            (self.members.iter().map(|member| member.code).collect(), self.codes());
        let mut prediction = scratch.take_prediction();
        let members = self.members.iter_mut().map(|member| (member.code, &mut *member.learner));
        let done = self.walk.step(members, batch, |votes| {
            combine(codes.iter().copied().zip(votes.iter().copied()), known, want, &mut prediction);
            Classes::push(&mut prediction, want, out);
        });
        scratch.give_prediction(prediction);
        done
    }

    /// Learn one row, and predict it first if requested.
    fn one(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        out: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (truths, weights) = ([y], [w]);
        let batch = Batch::new(Rows::One(x), &truths, Some(&weights));
        // A new class does not take part in the prediction.
        let known = self.codes();
        let admitted = self.admit(y);
        let votes = usize::from(out.is_some());
        if let (_, Some(fault)) = self.members.process(&batch, votes, &Free, scratch) {
            if let Some(index) = admitted {
                self.members.remove(index);
            }
            return Err(fault);
        }
        if let Some((want, out)) = out {
            let votes = self.members.iter().zip(self.members.outputs());
            let votes = votes.filter(|(member, _)| admitted.is_none() || member.code != y);
            let votes = votes.map(|(member, output)| (member.code, output.prediction(0)[0]));
            combine(votes, known, want, out);
        }
        Ok(())
    }
}

/// Normalise the probabilities of the members' classes.
fn combine(votes: impl Iterator<Item = (u32, f64)>, codes: usize, want: Want, out: &mut ClassPrediction) {
    out.clear();
    let (mut sum, mut known, mut best) = (0.0, 0.0, f64::NEG_INFINITY);
    // NaN marks a class without a member.
    out.probabilities.resize(codes, f64::NAN);
    for (code, probability) in votes {
        known += 1.0;
        if probability > best {
            best = probability;
            out.class = Some(code);
        }
        sum += probability;
        out.probabilities[code as usize] = probability;
    }
    if want == Want::Class {
        out.probabilities.clear();
    }
    for probability in &mut out.probabilities {
        *probability = match (probability.is_nan(), sum > 0.0) {
            (true, _) => 0.0,
            (false, true) => *probability / sum,
            (false, false) => 1.0 / known,
        };
    }
}

impl Part for OneVsRest {
    fn save(&self) -> Result<Vec<u8>> {
        let mut members = Vec::new();
        members.resize_with(self.codes(), || None);
        for member in self.members.iter() {
            members[member.code as usize] = Some(ByteBuf::from(member.save()?));
        }
        pack(&State { members })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.members.last().is_none_or(|last| last.is_some()), "the last class has no member")?;
        let mut members = Vec::new();
        for (code, saved) in state.members.iter().enumerate() {
            if let Some(bytes) = saved {
                let mut learner = self.unlearned.clone();
                learner.load(bytes)?;
                members.push(OneClass { code: code as u32, learner });
            }
        }
        self.members = Members::new(members, 1);
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let theirs: State = unpack(NAME, merger.other.state)?;
        let base: Option<State> = merger.base.map(|base| unpack(NAME, base.state)).transpose()?;
        let mut members: Vec<OneClass> = self.members.iter().cloned().collect();
        for (bytes, &code) in theirs.members.iter().zip(merger.other.codes) {
            let Some(bytes) = bytes.as_ref().filter(|_| code != u32::MAX) else { continue };
            let index = members.iter().position(|member| member.code >= code).unwrap_or(members.len());
            if members.get(index).is_none_or(|member| member.code != code) {
                members.insert(index, OneClass { code, learner: self.unlearned.clone() });
            }
            let base_codes = merger.base.map_or(&[][..], |base| base.codes);
            let at = base_codes.iter().position(|&base| base == code);
            let of_base = base.as_ref().zip(at).and_then(|(base, at)| base.members.get(at)?.as_ref());
            let mut inner = merger.inner(bytes, of_base.map(|bytes| &bytes[..]));
            // A member has two classes, the others and its own.
            inner.other.codes = &[0, 1];
            if let Some(base) = &mut inner.base {
                base.codes = &[0, 1];
            }
            members[index].bind(merger.ours);
            members[index].learner.part_mut().merge_state(&inner)?;
        }
        self.members = Members::new(members, 1);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(self.unlearned.part());
        self.members.iter().for_each(|member| visit(member));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(self.unlearned.part_mut());
        self.members.iter_mut().for_each(|member| visit(member));
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            takes_batches: true,
            mini_batches: false,
            steps_together: false,
            max_classes: usize::MAX,
            ..self.unlearned.abilities()
        }
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.unlearned.memory() + self.members.memory() + self.walk.memory()
    }

    /// Without any class, no row can be refused.
    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.members.iter().try_for_each(|member| member.check(x, scratch))
    }

    fn savepoint(&mut self) -> bool {
        self.at_savepoint = self.members.iter().map(|member| member.code).collect();
        self.members.savepoint()
    }

    fn rollback(&mut self) {
        let codes: Vec<u32> = self.members.iter().map(|member| member.code).collect();
        for (index, code) in codes.iter().enumerate().rev() {
            if !self.at_savepoint.contains(code) {
                self.members.remove(index);
            }
        }
        self.members.rollback();
    }

    fn commit(&mut self) {
        self.members.commit();
    }

    fn infallible(&self) -> bool {
        self.unlearned.infallible() && self.members.iter().all(|member| member.infallible())
    }

    fn change_basis(&self, change: &[f64]) -> Result<Option<Vec<u8>>> {
        let mut changed = self.clone();
        for member in changed.members.iter_mut() {
            if let Some(state) = member.learner.change_basis(change)? {
                member.learner.load(&state)?;
            }
        }
        changed.save().map(Some)
    }

    /// Members in the order of `classes`.
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "members": self.members.iter().map(|member| member.inspect(schema)).collect::<Vec<_>>() })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let member = self.members.iter().nth(index);
        Ok(member.map(|member| Extracted {
            part: Built::Classifier(member.learner.clone()),
            description: None,
            input: input.clone(),
            learned: None,
        }))
    }
}

impl Learner<Classes> for OneVsRest {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let votes = self.members.iter().map(|member| {
            let mut vote = [0.0];
            member.vote(x, &mut vote, scratch);
            (member.code, vote[0])
        });
        combine(votes, self.codes(), want, out);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, Classes>) {
        if !self.unlearned.abilities().predicts_batches {
            return predict_each(self, rows, want, scratch, then);
        }
        // By member and row.
        let (mut votes, mut halves) = (scratch.take_numbers(), scratch.take_numbers());
        halves.resize(2 * rows.len(), 0.0);
        for member in self.members.iter() {
            member.learner.vote_rows(rows, 2, &mut halves, scratch);
            votes.extend(halves.chunks_exact(2).map(|half| half[1]));
        }
        let mut prediction = scratch.take_prediction();
        for row in 0..rows.len() {
            let votes = votes.iter().skip(row).step_by(rows.len());
            let votes = self.members.iter().zip(votes).map(|(member, &vote)| (member.code, vote));
            combine(votes, self.codes(), want, &mut prediction);
            then(&mut prediction);
        }
        scratch.give_prediction(prediction);
        scratch.give_numbers(halves);
        scratch.give_numbers(votes);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.one(x, y, w, None, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.one(x, y, w, Some((want, out)), scratch)
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        want: Want,
        out: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let mut prediction = scratch.take_prediction();
        let mut from = 0;
        while from < batch.len() {
            // Rows of known classes are processed together; the first row of a new class is processed on its own.
            let new = |&code: &u32| self.members.iter().all(|member| member.code != code);
            let to = batch.truths[from..].iter().position(new).map_or(batch.len(), |row| from + row);
            if to == from {
                let (x, y, w) = (batch.rows.at(from), batch.truths[from], batch.weight(from));
                self.predict(batch.asked_at(from), want, &mut prediction, scratch);
                if self.one(x, y, w, None, scratch).is_err() {
                    break;
                }
                Classes::push(&mut prediction, want, out);
                from += 1;
                continue;
            }
            let walked = self.walk(&batch.slice(from, to), want, out, scratch);
            if walked > 0 {
                from += walked;
                continue;
            }
            let (done, refused) = self.members.process(&batch.slice(from, to), 1, &Free, scratch);
            for row in 0..done {
                let votes = self.members.iter().zip(self.members.outputs());
                let votes = votes.map(|(member, output)| (member.code, output.prediction(row)[0]));
                combine(votes, self.codes(), want, &mut prediction);
                Classes::push(&mut prediction, want, out);
            }
            from += done;
            if refused.is_some() {
                break;
            }
        }
        self.members.release_buffers();
        scratch.give_prediction(prediction);
        from
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(member: &str) -> Box<dyn Learner<Classes>> {
        let description = json!({ "name": NAME, "parameters": { "model": { "name": member } } });
        let description = registry::resolve(&description).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    #[test]
    fn shares_by_hand() {
        let mut model = model("baseline.Prior");
        let mut scratch = Scratch::default();
        for y in [0, 1, 0, 2] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        // Member 0 has learned 2 of 4; member 1 is the second and has learned 1 of 3; member 2 has learned 1 of 1.
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        let sum = 0.5 + 1.0 / 3.0 + 1.0;
        assert_eq!(out.class, Some(2));
        assert_eq!(out.probabilities, [0.5 / sum, 1.0 / 3.0 / sum, 1.0 / sum]);
    }

    #[test]
    fn when_one_member_refuses_none_learns() {
        let mut model = model("naive_bayes.GaussianNB");
        let mut scratch = Scratch::default();
        for y in [1; 150].into_iter().chain([0]) {
            model.learn(Row::Plain(&[1e308]), y, 1.0, &mut scratch).unwrap();
        }
        let before = model.save().unwrap();
        // Member 0 has not learned class 1 and accepts any value of it; member 1 would have a variance of 1e616.
        assert!(model.learn(Row::Plain(&[-1e308]), 1, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(model.learn(Row::Plain(&[-1e308]), 4, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        model.learn(Row::Plain(&[1e308]), 4, 1.0, &mut scratch).unwrap();
    }
}
