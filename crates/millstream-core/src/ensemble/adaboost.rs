//! Online boosting: rows that a member misclassifies weigh more for the next member.
//!
//! Oza, N. C. and Russell, S. (2001), "Online bagging and boosting", Artificial Intelligence and Statistics, figure 2. A
//! row comes with λ = 1. Each member learns it k times, k from the Poisson distribution of mean λ, and predicts it then: if
//! it is right, λ is added to its λˢᶜ and λ ← λ N / (2 λˢᶜ), else to its λˢʷ and λ ← λ N / (2 λˢʷ), where N = λˢᶜ + λˢʷ.
//! Votes have the weight log((1 - ε) / ε), ε = λˢʷ / N, and 0 for ε above one half. As in `bagging`, a row is learned once
//! with k times its weight. k is drawn for a λ of 100 at most: after a million rows, λ may be half a million.
//!
//! Members form a chain: each needs the λ that the previous one computed for the same row, and nothing else. A member
//! therefore still processes a whole batch, with the λ of each row as written by the previous member. Several threads work
//! in stages: in each stage, a member is one section of the batch behind the previous one.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::row::{Row, Scratch};
use crate::schema::Schema;
use crate::task::{Classes, Task};

use super::bagging::{CLASSIFIER, N_MODELS, SEED};
use super::combined::{Ensemble, EnsembleRule};
use super::engine::{Coupling, Member, MemberOutput};
use super::learner::MemberLearner;
use super::poisson::{count, LARGEST_MEAN};
use super::record::Record;
use super::threads::{self, N_THREADS};
use super::vote_shares::VoteShares;

const NAME: &str = "ensemble.AdaBoost";
const PURPOSE: u64 = 0x626f_6f73_7400;
/// The smallest error, so that a member without mistakes has a finite weight.
const LEAST: f64 = 1e-10;
/// The largest λ; only weights near the largest numbers exceed it.
const LARGEST: f64 = 1e15;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Online boosting: rows that a model misclassifies weigh more for the next model",
    merge: Merge::ENSEMBLE,
    parameters: &[CLASSIFIER, N_MODELS, SEED, N_THREADS],
    build: |arguments| {
        let model = arguments.learner::<Classes>("model")?;
        let seed = arguments.integer("seed")? as u64;
        let member = |index: usize| Boosted {
            learner: model.clone(),
            random: Random::new(seed, PURPOSE + index as u64),
            right: 0.0,
            wrong: 0.0,
            record: Record::default(),
            at_savepoint: None,
        };
        let members = (0..arguments.size("n_models")?).map(member).collect();
        let threads = threads::count(arguments)?;
        Ok(Built::Classifier(Box::new(Ensemble::new(members, Chain, VoteShares::default(), threads))))
    },
};

#[derive(Clone)]
struct Boosted {
    learner: Box<dyn Learner<Classes>>,
    random: Random,
    /// λˢᶜ and λˢʷ
    right: f64,
    wrong: f64,
    record: Record,
    /// All but the learner at the last savepoint, if the learner records what it overwrites.
    at_savepoint: Option<(Random, f64, f64, Record)>,
}

#[derive(Serialize, Deserialize)]
struct State {
    learner: ByteBuf,
    random: Random,
    right: f64,
    wrong: f64,
    record: Record,
}

impl Boosted {
    fn trust(&self) -> f64 {
        let total = self.right + self.wrong;
        if total == 0.0 {
            return 0.0;
        }
        let error = (self.wrong / total).max(LEAST);
        ((1.0 - error) / error).ln().max(0.0)
    }

    /// The λ for the next member, given whether this one is right.
    fn pass_on(&mut self, lambda: f64, right: bool, w: f64) -> f64 {
        let sum = if right { &mut self.right } else { &mut self.wrong };
        *sum = (*sum + lambda * w).min(f64::MAX / 4.0);
        let sum = *sum;
        let next = lambda * ((self.right + self.wrong) / (2.0 * sum));
        if next.is_finite() {
            next.min(LARGEST)
        } else {
            LARGEST
        }
    }
}

impl Member for Boosted {
    type Task = Classes;

    fn draw(&mut self, batch: &Batch<'_, Classes>, output: &mut MemberOutput) {
        output.draws.clear();
        output.draws.extend((0..batch.len()).map(|_| self.random.unit()));
        output.passed.clear();
        output.passed.resize(batch.len(), 1.0);
    }

    fn process(
        &mut self,
        batch: &Batch<'_, Classes>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        self.process_to(batch, from, batch.len(), output, scratch)
    }

    fn process_to(
        &mut self,
        batch: &Batch<'_, Classes>,
        from: usize,
        to: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let mut after = scratch.take_numbers();
        after.resize(output.stride, 0.0);
        let mut refused = None;
        for row in from..to {
            let (y, w, lambda) = (batch.truths[row], batch.weight(row), output.passed[row]);
            output.trust[row] = self.trust();
            let times = count(lambda.min(LARGEST_MEAN), output.draws[row]);
            let weights = [if times == 0.0 { 0.0 } else { times * w }];
            let votes = Votes::between(&mut output.votes, &mut output.asked, output.stride, row, row + 1);
            let one = batch.slice(row, row + 1).weighted(&weights);
            if let Some((_, fault)) = self.learner.vote_batch(&one, votes, scratch) {
                refused = Some((row, fault));
                break;
            }
            let error = Classes::vote_error(output.votes(row), y);
            if let Some(error) = error {
                self.record.add(error, w);
            }
            // A member that did not learn the row still votes the same.
            let error_after = match weights[0] == 0.0 {
                true => error,
                false => {
                    self.learner.vote(batch.rows.at(row), &mut after, scratch);
                    Classes::vote_error(&after, y)
                }
            };
            let right = error_after == Some(0.0);
            output.passed[row] = self.pass_on(lambda, right, w);
        }
        scratch.give_numbers(after);
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        self.learner.vote(x, votes, scratch);
        self.trust()
    }

    fn vote_rows(
        &self,
        rows: &Rows<'_>,
        stride: usize,
        votes: &mut [f64],
        trust: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.learner.vote_rows(rows, stride, votes, scratch);
        trust.fill(self.trust());
    }

    fn learner(&self) -> Box<dyn Learner<Classes>> {
        self.learner.clone()
    }
}

impl Part for Boosted {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            learner: self.learner.save()?.into(),
            random: self.random.clone(),
            right: self.right,
            wrong: self.wrong,
            record: self.record,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let sound = |sum: f64| (0.0..=f64::MAX / 4.0).contains(&sum);
        let sound = sound(state.right) && sound(state.wrong) && state.record.is_sound();
        require(NAME, sound, "a member's sums are not finite")?;
        self.learner.load(&state.learner)?;
        (self.random, self.right, self.wrong) = (state.random, state.right, state.wrong);
        self.record = state.record;
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(self.learner.part());
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(self.learner.part_mut());
    }

    fn infallible(&self) -> bool {
        self.learner.infallible()
    }

    fn savepoint(&mut self) -> bool {
        let records = self.learner.savepoint();
        self.at_savepoint = records.then(|| (self.random.clone(), self.right, self.wrong, self.record));
        records
    }

    fn rollback(&mut self) {
        if let Some(before) = self.at_savepoint.take() {
            (self.random, self.right, self.wrong, self.record) = before;
            self.learner.rollback();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.learner.commit();
    }

    fn inspect(&self, schema: &Schema) -> Json {
        json!({
            "weight": self.record.weight,
            "error": self.record.error,
            "right": self.right,
            "wrong": self.wrong,
            "trust": self.trust(),
            "model": self.learner.inspect(schema),
        })
    }
}

#[derive(Clone)]
struct Chain;

impl Coupling<Boosted> for Chain {
    fn is_chain(&self) -> bool {
        true
    }
}

impl EnsembleRule<Boosted> for Chain {
    fn name(&self) -> &'static str {
        NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambda_by_hand() {
        let description = crate::registry::resolve(&json!({ "name": "baseline.MajorityClass" })).unwrap();
        let Built::Classifier(learner) = crate::registry::build_resolved(&description).unwrap() else { panic!() };
        let random = Random::new(1, 0);
        let mut member =
            Boosted { learner, random, right: 0.0, wrong: 0.0, record: Record::default(), at_savepoint: None };
        assert_eq!(member.trust(), 0.0);
        // Right at first: λˢᶜ = 1, N = 1, λ = 1 · 1 / 2.
        assert_eq!(member.pass_on(1.0, true, 1.0), 0.5);
        // Then wrong: λˢʷ = 1, N = 2, λ = 1 · 2 / 2; right again: λˢᶜ = 2, N = 3, λ = 3 / 4.
        assert_eq!(member.pass_on(1.0, false, 1.0), 1.0);
        assert_eq!(member.pass_on(1.0, true, 1.0), 0.75);
        // ε = 1/3: log 2.
        assert!((member.trust() - 2f64.ln()).abs() < 1e-15);
        assert!((0..10).all(|_| member.pass_on(1e300, false, 1e300).is_finite()) && member.trust() == 0.0);
    }
}
