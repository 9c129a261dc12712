//! A classifier of members that vote.
//!
//! The probability of a class is its share of the votes, each weighed by what its member's votes weigh. Members that
//! know nothing yet have no vote; while none has one, the shares of the classes so far are told.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::block::{ClassBlock, ClassRows, Lesson, Predictions, Rows};
use crate::fault::Result;
use crate::labels::Labels;
use crate::role::{Classifier, Member as Extracted, Part};
use crate::row::{bounded, most, Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::engine::{Coupling, Member, Team};
use super::threads;

/// Most numbers on the pages of a chunk: with many members or classes, chunks are shorter.
const MOST_VOTES: usize = 1 << 21;
/// Rows that a thread predicts at a time.
const PIECE: usize = 64;

/// What the members of an ensemble have in common.
pub trait Rule<M: Member>: Coupling<M> + Clone + Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// What votes weigh, given what each member says its own weigh. If none weighs anything, all weigh the same.
    fn balance(&self, trust: &mut [f64]) {
        if trust.iter().all(|&trust| trust == 0.0) {
            trust.fill(1.0);
        }
    }
    /// See `Part::bind`: for learners that are kept for later.
    fn bind(&mut self, _schema: &Schema) {}
    fn max_classes(&self) -> usize {
        usize::MAX
    }
    fn missing_is_zero(&self) -> bool {
        false
    }
    /// Bytes held by what is kept for later.
    fn memory(&self) -> usize {
        0
    }
    /// The description of the members' learner, where the ensemble's own has none.
    fn described(&self) -> Option<Json> {
        None
    }
    /// Where the members differ in what they are made of, for the place of each in the description.
    fn inspect(&self, _report: &mut serde_json::Map<String, Json>) {}
}

/// The rows of a chunk, given how many votes there are for each.
pub fn chunk(members: usize, stride: usize) -> usize {
    (MOST_VOTES / (members * stride).max(1)).max(1)
}

#[derive(Clone)]
pub struct ClassEnsemble<M: Member, R> {
    team: Team<M>,
    rule: R,
    /// The weight of each class so far, by code.
    classes: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    classes: Vec<f64>,
    members: Vec<ByteBuf>,
}

impl<M: Member<Target = u32>, R: Rule<M>> ClassEnsemble<M, R> {
    pub fn new(members: Vec<M>, rule: R, threads: usize) -> Self {
        ClassEnsemble { team: Team::new(members, threads), rule, classes: Vec::new() }
    }

    /// Class codes that votes have places for: a learner of two classes has both from the beginning.
    fn stride(&self) -> usize {
        self.classes.len().max(2)
    }

    fn count(&mut self, y: u32, w: f64) {
        let code = y as usize;
        if code >= self.classes.len() {
            self.classes.resize(code + 1, 0.0);
        }
        self.classes[code] = bounded(self.classes[code] + w);
    }

    /// What the votes come to. Consumes what they weigh.
    fn decide<'v>(
        &self,
        votes: impl Iterator<Item = &'v [f64]>,
        trust: &mut [f64],
        want: Want,
        out: &mut Prediction,
    ) {
        self.rule.balance(trust);
        out.clear();
        let totals = &mut out.probabilities;
        totals.resize(self.stride(), 0.0);
        for (votes, trust) in votes.zip(&*trust) {
            for (total, vote) in totals.iter_mut().zip(votes) {
                *total += vote * trust;
            }
        }
        let mut sum: f64 = totals.iter().sum();
        if sum == 0.0 || !sum.is_finite() {
            let largest = self.classes.iter().fold(0.0, |a: f64, &b| a.max(b));
            if largest == 0.0 {
                out.clear();
                return;
            }
            totals.fill(0.0);
            totals.iter_mut().zip(&self.classes).for_each(|(total, weight)| *total = weight / largest);
            sum = totals.iter().sum();
        }
        out.class = most(totals);
        match want {
            Want::Class => totals.clear(),
            Want::Probabilities => totals.iter_mut().for_each(|total| *total /= sum),
        }
    }

    /// Combine what the pages say of a row, which counts from now on.
    fn conclude(&mut self, row: usize, stride: usize, want: Want, out: &mut Prediction, trust: &mut Vec<f64>) {
        trust.clear();
        trust.extend(self.team.pages().map(|page| page.trust[row]));
        self.decide(self.team.pages().map(|page| page.at(row, stride)), trust, want, out);
    }

    /// One row, predicted if that is wanted.
    fn one(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        out: Option<(Want, &mut Prediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let stride = self.stride().max(y as usize + 1);
        let lesson = Lesson { rows: Rows::One(x), targets: &[y], weights: &[w], stride };
        if let (_, Some(fault)) = self.team.go(&lesson, &self.rule, scratch) {
            return Err(fault.by(self.rule.name()));
        }
        if let Some((want, out)) = out {
            let mut trust = scratch.take_numbers();
            self.conclude(0, stride, want, out, &mut trust);
            scratch.give_numbers(trust);
        }
        self.count(y, w);
        Ok(())
    }

    /// The votes for some rows, by row, member and class, and what they weigh, by row and member.
    fn poll(&self, rows: &Rows<'_>, votes: &mut Vec<f64>, trust: &mut Vec<f64>, scratch: &mut Scratch) {
        let (members, stride) = (self.team.len(), self.stride());
        votes.clear();
        votes.resize(rows.len() * members * stride, 0.0);
        trust.clear();
        trust.resize(rows.len() * members, 0.0);
        for (place, member) in self.team.members().enumerate() {
            for row in 0..rows.len() {
                let at = row * members + place;
                trust[at] = member.vote(rows.at(row), &mut votes[at * stride..(at + 1) * stride], scratch);
            }
        }
    }
}

impl<M: Member<Target = u32> + 'static, R: Rule<M>> Part for ClassEnsemble<M, R> {
    fn save(&self) -> Result<Vec<u8>> {
        let members = self.team.members().map(|member| member.save().map(ByteBuf::from));
        pack(&State { classes: self.classes.clone(), members: members.collect::<Result<_>>()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let name = self.rule.name();
        let state: State = unpack(name, bytes)?;
        require(name, state.members.len() == self.team.len(), "members are missing")?;
        let sound = state.classes.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        require(name, sound, "the weight of a class is not a weight")?;
        for (member, bytes) in self.team.members_mut().zip(&state.members) {
            member.load(bytes)?;
        }
        self.classes = state.classes;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.team.memory() + self.rule.memory() + 8 * self.classes.capacity()
    }

    fn needs_names(&self) -> bool {
        self.team.members().any(|member| member.needs_names())
    }

    fn bind(&mut self, schema: &Schema) {
        self.rule.bind(schema);
        self.team.members_mut().for_each(|member| member.bind(schema));
    }

    fn never_refuses(&self) -> bool {
        self.team.members().all(|member| member.never_refuses())
    }

    fn missing_is_zero(&self) -> bool {
        self.rule.missing_is_zero()
    }

    fn checks(&self) -> bool {
        self.team.members().any(|member| member.checks())
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.team.members().try_for_each(|member| member.check(x, scratch))
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut report = serde_json::Map::new();
        self.rule.inspect(&mut report);
        let members: Vec<Json> = self.team.members().map(|member| member.inspect(schema)).collect();
        report.insert("members".into(), json!(members));
        Json::Object(report)
    }

    fn member_description(&self) -> Option<Json> {
        self.rule.described()
    }

    fn member(&self, place: usize, input: &Schema) -> Result<Option<Extracted>> {
        let member = self.team.members().nth(place);
        member
            .map(|member| Ok(Extracted { state: member.learner()?, input: member.input(input), learned: None }))
            .transpose()
    }
}

impl<M: Member<Target = u32> + 'static, R: Rule<M>> Classifier for ClassEnsemble<M, R> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        let (mut votes, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
        self.poll(&Rows::One(x), &mut votes, &mut trust, scratch);
        self.decide(votes.chunks_exact(self.stride()), &mut trust, want, out);
        scratch.give_numbers(votes);
        scratch.give_numbers(trust);
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
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.one(x, y, w, Some((want, out)), scratch)
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
        let largest = block.classes.iter().max().map_or(0, |&code| code as usize + 1);
        let stride = self.stride().max(largest);
        let mut ones = scratch.take_numbers();
        if block.weights.is_none() {
            ones.resize(n, 1.0);
        }
        let weights = block.weights.unwrap_or(&ones);
        let lesson = Lesson { rows: block.rows, targets: block.classes, weights: &weights[..n], stride };
        let (mut prediction, mut trust) = (scratch.take_prediction(), scratch.take_numbers());
        let (mut from, size) = (0, chunk(self.team.len(), stride));
        while from < n {
            let part = lesson.part(from, (from + size).min(n));
            let (done, refused) = self.team.go(&part, &self.rule, scratch);
            for row in 0..done {
                self.conclude(row, stride, want, &mut prediction, &mut trust);
                out.push(&mut prediction, block.labels, want);
                self.count(part.targets[row], part.weights[row]);
            }
            from += done;
            if refused.is_some() {
                break;
            }
        }
        self.team.put_away();
        scratch.give_numbers(trust);
        scratch.give_prediction(prediction);
        scratch.give_numbers(ones);
        from
    }

    fn predict_rows(
        &self,
        rows: &Rows<'_>,
        labels: &Labels,
        want: Want,
        out: &mut Predictions,
        scratch: &mut Scratch,
    ) {
        let (members, stride) = (self.team.len(), self.stride());
        let mut pieces: Vec<(usize, Vec<f64>, Vec<f64>)> =
            (0..rows.len()).step_by(PIECE).map(|from| (from, Vec::new(), Vec::new())).collect();
        threads::each(self.team.threads(), &mut pieces, scratch, |(from, votes, trust), scratch| {
            self.poll(&rows.part(*from, (*from + PIECE).min(rows.len())), votes, trust, scratch);
        });
        let mut prediction = scratch.take_prediction();
        for (_, votes, trust) in &mut pieces {
            for (votes, trust) in votes.chunks_exact(members * stride).zip(trust.chunks_exact_mut(members)) {
                self.decide(votes.chunks_exact(stride), trust, want, &mut prediction);
                out.push(&mut prediction, labels, want);
            }
        }
        scratch.give_prediction(prediction);
    }

    fn max_classes(&self) -> usize {
        self.rule.max_classes()
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}
