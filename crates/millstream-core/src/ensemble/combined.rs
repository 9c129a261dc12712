//! An ensemble: members that learn the same rows, and whose votes are combined into one prediction.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::fault::{Fault, Result};
use crate::held::state::{pack_around, require, unpack, Packed};
use crate::learner::{Learner, Then};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Task;

use super::engine::{Coupling, Member, Members, Poll};

/// The largest number of votes in the outputs of a batch: with many members or classes, batches are shorter.
const MOST_VOTES: usize = 1 << 21;

/// What the members of an ensemble have in common.
pub trait EnsembleRule<M: Member>: Coupling<M> + Clone + Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// The weights of votes, given the trust that each member reports. If no member has any weight, all weigh the same.
    fn balance(&self, trust: &mut [f64]) {
        if trust.iter().all(|&trust| trust == 0.0) {
            trust.fill(1.0);
        }
    }
    /// The learner that new members start from, if one is kept.
    fn unlearned(&self) -> Option<&dyn Part> {
        None
    }
    fn unlearned_mut(&mut self) -> Option<&mut dyn Part> {
        None
    }
    /// The abilities of the ensemble, given those of its members.
    fn abilities(&self, members: Abilities) -> Abilities {
        members
    }
    /// The description of the members' learner, if the ensemble's own description has none.
    fn member_description(&self) -> Option<Json> {
        None
    }
    /// If the members have different descriptions: the index of each in the ensemble's.
    fn inspect(&self, _report: &mut serde_json::Map<String, Json>) {}
}

/// How the votes of members become a prediction.
pub trait Combine<T: Task>: Clone + Send + Sync + 'static {
    /// Number of votes per row, when these truths come next.
    fn stride(&self, truths: &[T::Truth]) -> usize;
    /// Combine the votes of members, each with its weight. `numbers` is a buffer.
    fn combine<'v>(
        &self,
        votes: impl Iterator<Item = &'v [f64]>,
        trust: &[f64],
        want: Want,
        out: &mut T::Prediction,
        numbers: &mut Vec<f64>,
    );
    /// Count an example that was learned.
    fn count(&mut self, _truth: T::Truth, _w: f64) {}
    fn save(&self) -> Option<Vec<f64>> {
        None
    }
    fn load(&mut self, _who: &str, _saved: Option<Vec<f64>>) -> Result<()> {
        Ok(())
    }
    fn memory(&self) -> usize {
        0
    }
}

/// Number of rows of a batch, given the number of votes per row.
pub fn batch_rows(members: usize, stride: usize) -> usize {
    (MOST_VOTES / (members * stride).max(1)).max(1)
}

#[derive(Clone)]
pub struct Ensemble<M: Member, R, C> {
    members: Members<M>,
    rule: R,
    combination: C,
    /// The combination at the last savepoint, if the members record what they overwrite.
    at_savepoint: Option<C>,
}

#[derive(Serialize, Deserialize)]
struct State<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<f64>>,
    #[serde(borrow)]
    members: Vec<Packed<'a>>,
}

/// Buffers for combining votes.
#[derive(Default)]
struct Buffers {
    poll: Poll,
    numbers: Vec<f64>,
}

impl Buffers {
    fn take(scratch: &mut Scratch) -> Self {
        let poll = Poll { votes: scratch.take_numbers(), trust: scratch.take_numbers() };
        Buffers { poll, numbers: scratch.take_numbers() }
    }

    fn give(self, scratch: &mut Scratch) {
        let Buffers { poll: Poll { votes, trust }, numbers } = self;
        [votes, trust, numbers].into_iter().for_each(|numbers| scratch.give_numbers(numbers));
    }
}

impl<M: Member, R: EnsembleRule<M>, C: Combine<M::Task>> Ensemble<M, R, C> {
    pub fn new(members: Vec<M>, rule: R, combination: C, threads: usize) -> Self {
        Ensemble { members: Members::new(members, threads), rule, combination, at_savepoint: None }
    }

    /// Combine the outputs of the members for a row of the last batch, as it was asked.
    fn combine_outputs(
        &self,
        row: usize,
        want: Want,
        out: &mut <M::Task as Task>::Prediction,
        buffers: &mut Buffers,
    ) {
        self.balance_outputs(row, &mut buffers.poll.trust);
        let votes = self.members.outputs().map(|output| output.prediction(row));
        self.combination.combine(votes, &buffers.poll.trust, want, out, &mut buffers.numbers);
    }

    /// The same as it was learned.
    fn combine_learned(
        &self,
        row: usize,
        want: Want,
        out: &mut <M::Task as Task>::Prediction,
        buffers: &mut Buffers,
    ) {
        self.balance_outputs(row, &mut buffers.poll.trust);
        let votes = self.members.outputs().map(|output| output.votes(row));
        self.combination.combine(votes, &buffers.poll.trust, want, out, &mut buffers.numbers);
    }

    fn balance_outputs(&self, row: usize, trust: &mut Vec<f64>) {
        trust.clear();
        trust.extend(self.members.outputs().map(|output| output.trust[row]));
        self.rule.balance(trust);
    }

    /// Learn one row, and predict it first if requested.
    fn one(
        &mut self,
        x: Row<'_>,
        y: <M::Task as Task>::Truth,
        w: f64,
        out: Option<(Want, &mut <M::Task as Task>::Prediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (truths, weights) = ([y], [w]);
        let stride = self.combination.stride(&truths);
        let batch = Batch::new(Rows::One(x), &truths, Some(&weights));
        if let (_, Some(fault)) = self.members.process(&batch, stride, &self.rule, scratch) {
            return Err(fault.by(self.rule.name()));
        }
        if let Some((want, out)) = out {
            let mut buffers = Buffers::take(scratch);
            self.combine_outputs(0, want, out, &mut buffers);
            buffers.give(scratch);
        }
        self.combination.count(y, w);
        Ok(())
    }

    /// Combine the polled votes for each row.
    fn combine_polled(
        &self,
        stride: usize,
        want: Want,
        Poll { votes, trust }: &mut Poll,
        numbers: &mut Vec<f64>,
        out: &mut <M::Task as Task>::Prediction,
        mut then: impl FnMut(&mut <M::Task as Task>::Prediction),
    ) {
        let members = self.members.len();
        for (votes, trust) in votes.chunks_exact(members * stride).zip(trust.chunks_exact_mut(members)) {
            self.rule.balance(trust);
            self.combination.combine(votes.chunks_exact(stride), trust, want, out, numbers);
            then(out);
        }
    }
}

impl<M: Member, R: EnsembleRule<M>, C: Combine<M::Task>> Part for Ensemble<M, R, C> {
    fn save(&self) -> Result<Vec<u8>> {
        let members = self.members.iter().map(|member| member.save().map(Packed::from));
        let members: Vec<Packed<'_>> = members.collect::<Result<_>>()?;
        let packed = members.iter().map(|member| member.len()).sum();
        pack_around(&State { classes: self.combination.save(), members }, packed)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let name = self.rule.name();
        let state: State<'_> = unpack(name, bytes)?;
        require(name, state.members.len() == self.members.len(), "members are missing")?;
        self.combination.load(name, state.classes)?;
        for (member, bytes) in self.members.iter_mut().zip(&state.members) {
            member.load(bytes)?;
        }
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        self.members.iter().for_each(|member| visit(member));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        self.members.iter_mut().for_each(|member| visit(member));
    }

    fn abilities(&self) -> Abilities {
        let all = self.members.iter().map(Part::abilities).reduce(Abilities::and).unwrap_or_default();
        let threads = self.members.threads().min(self.members.len()).max(all.threads);
        self.rule.abilities(Abilities {
            takes_batches: true,
            predicts_batches: true,
            mini_batches: false,
            wants_orthonormal: false,
            threads,
            ..all
        })
    }

    fn memory(&self) -> usize {
        let unlearned = self.rule.unlearned().map_or(0, Part::memory);
        self.members.memory() + unlearned + self.combination.memory()
    }

    fn bind(&mut self, schema: &Schema) {
        if let Some(unlearned) = self.rule.unlearned_mut() {
            unlearned.bind(schema);
        }
        self.members.iter_mut().for_each(|member| member.bind(schema));
    }

    fn infallible(&self) -> bool {
        self.members.iter().all(|member| member.infallible())
    }

    fn savepoint(&mut self) -> bool {
        let records = self.members.savepoint();
        self.at_savepoint = records.then(|| self.combination.clone());
        records
    }

    fn rollback(&mut self) {
        if let Some(combination) = self.at_savepoint.take() {
            self.combination = combination;
            self.members.rollback();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.members.commit();
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut report = serde_json::Map::new();
        self.rule.inspect(&mut report);
        let members: Vec<Json> = self.members.iter().map(|member| member.inspect(schema)).collect();
        report.insert("members".into(), json!(members));
        Json::Object(report)
    }

    fn scalars(&self) -> Json {
        json!({ "members": self.members.iter().map(|member| member.scalars()).collect::<Vec<_>>() })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        let member = self.members.iter().nth(index);
        Ok(member.map(|member| Extracted {
            part: M::Task::build(member.learner()),
            description: self.rule.member_description(),
            input: member.input(input),
            learned: None,
        }))
    }
}

impl<M: Member, R: EnsembleRule<M>, C: Combine<M::Task>> Learner<M::Task> for Ensemble<M, R, C> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut <M::Task as Task>::Prediction, scratch: &mut Scratch) {
        let (mut buffers, stride) = (Buffers::take(scratch), self.combination.stride(&[]));
        let Buffers { poll, numbers } = &mut buffers;
        self.members.poll(&Rows::One(x), stride, poll, scratch);
        self.combine_polled(stride, want, poll, numbers, out, |_| {});
        buffers.give(scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: <M::Task as Task>::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.one(x, y, w, None, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: <M::Task as Task>::Truth,
        w: f64,
        want: Want,
        out: &mut <M::Task as Task>::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.one(x, y, w, Some((want, out)), scratch)
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, M::Task>,
        want: Want,
        out: &mut <M::Task as Task>::Predictions,
        scratch: &mut Scratch,
    ) -> usize {
        let stride = self.combination.stride(batch.truths);
        let (mut prediction, mut buffers) = (M::Task::take(scratch), Buffers::take(scratch));
        let (mut from, size) = (0, batch_rows(self.members.len(), stride));
        while from < batch.len() {
            let part = batch.slice(from, (from + size).min(batch.len()));
            let (done, refused) = self.members.process(&part, stride, &self.rule, scratch);
            for row in 0..done {
                self.combine_outputs(row, want, &mut prediction, &mut buffers);
                M::Task::push(&mut prediction, want, out);
                self.combination.count(part.truths[row], part.weight(row));
            }
            from += done;
            if refused.is_some() {
                break;
            }
        }
        self.members.release_buffers();
        buffers.give(scratch);
        M::Task::give(prediction, scratch);
        from
    }

    /// As a member of another ensemble it also takes whole batches, and so uses its threads.
    fn vote_batch(
        &mut self,
        batch: &Batch<'_, M::Task>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let Votes { learned, asked, stride } = votes;
        let most = batch_rows(self.members.len(), self.combination.stride(batch.truths));
        let (mut prediction, mut buffers) = (M::Task::take(scratch), Buffers::take(scratch));
        let (mut from, mut refused) = (0, None);
        while from < batch.len() && refused.is_none() {
            // A row of weight 0 is predicted and not learned, so it is processed on its own.
            let weightless = |row: usize| batch.weight(row) == 0.0;
            let end = (from + most).min(batch.len());
            let to = (from..end).find(|&row| weightless(row)).unwrap_or(end).max(from + 1);
            let done = if weightless(from) {
                self.predict(batch.rows.at(from), M::Task::ALL, &mut prediction, scratch);
                M::Task::vote(&prediction, &mut learned[from * stride..(from + 1) * stride]);
                if let Some(rows) = batch.asked {
                    self.predict(rows.at(from), M::Task::ALL, &mut prediction, scratch);
                    M::Task::vote(&prediction, &mut asked[from * stride..(from + 1) * stride]);
                }
                1
            } else {
                let part = batch.slice(from, to);
                let stride_here = self.combination.stride(part.truths);
                let (done, fault) = self.members.process(&part, stride_here, &self.rule, scratch);
                refused = fault.map(|fault| (from + done, fault.by(self.rule.name())));
                for row in 0..done {
                    let at = (from + row) * stride..(from + row + 1) * stride;
                    if batch.asked.is_some() {
                        self.combine_outputs(row, M::Task::ALL, &mut prediction, &mut buffers);
                        M::Task::vote(&prediction, &mut asked[at.clone()]);
                    }
                    self.combine_learned(row, M::Task::ALL, &mut prediction, &mut buffers);
                    M::Task::vote(&prediction, &mut learned[at]);
                    self.combination.count(part.truths[row], part.weight(row));
                }
                done
            };
            from += done;
        }
        buffers.give(scratch);
        M::Task::give(prediction, scratch);
        refused
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, M::Task>) {
        let stride = self.combination.stride(&[]);
        let mut polls = self.members.poll_batch(rows, stride, scratch);
        let (mut prediction, mut numbers) = (M::Task::take(scratch), scratch.take_numbers());
        for poll in &mut polls {
            self.combine_polled(stride, want, poll, &mut numbers, &mut prediction, &mut *then);
        }
        scratch.give_numbers(numbers);
        M::Task::give(prediction, scratch);
    }

    fn duplicate(&self) -> Box<dyn Learner<M::Task>> {
        Box::new(self.clone())
    }
}
