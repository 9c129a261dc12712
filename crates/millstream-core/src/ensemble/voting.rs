//! Combinations of different learners: by vote or mean, or by a majority whose weights follow their mistakes.
//!
//! The weighted majority algorithm (Littlestone, N. and Warmuth, M. K., 1994, "The weighted majority algorithm",
//! Information and Computation 108, section 2) multiplies the weight of a member by β for each mistake. Only ratios of
//! weights matter, so each member keeps the number of its mistakes, m, and its votes have the weight β^(m - minimum):
//! nothing underflows, however long the stream. With β = 0, the members with the fewest mistakes decide. `forgetting`
//! below 1 lets old mistakes fade, m ← φ m + mistake, so that a member that has improved regains its weight.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{bounded, most, Row, Scratch};
use crate::schema::Schema;
use crate::task::{Classes, Numbers, Task};

use super::aggregation::{Aggregation, AGGREGATION};
use super::combined::{Ensemble, EnsembleRule};
use super::engine::{Coupling, Member, MemberOutput};
use super::learner::MemberLearner;
use super::record::Record;
use super::threads::{self, N_THREADS};
use super::vote_shares::VoteShares;

pub const CLASSIFIERS: Parameter = Parameter::new(
    "models",
    Kind::Parts(&[Role::Classifier]),
    DefaultValue::Required,
    "classifiers, which may be of different kinds",
);

pub const REGRESSORS: Parameter = Parameter::new(
    "models",
    Kind::Parts(&[Role::Regressor]),
    DefaultValue::Required,
    "regressors, which may be of different kinds",
);

const WEIGHTS: Parameter = Parameter::new(
    "weights",
    Kind::Optional(&Kind::Floats(Bounds::NOT_NEGATIVE)),
    DefaultValue::Null,
    "weight of each model; null for equal weights",
);

pub static VOTING: Declaration = Declaration {
    name: "ensemble.Voting",
    role: Role::Classifier,
    words: "Voting of different classifiers",
    merge: Merge::none(
        "the votes depend on errors in the order of rows: merge the members and build it from them",
    ),
    parameters: &[
        CLASSIFIERS,
        Parameter::new(
            "use_probabilities",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "average predicted probabilities instead of counting votes for the most probable class",
        ),
        WEIGHTS,
        N_THREADS,
    ],
    build: |arguments| {
        let (hard, weights) = (!arguments.boolean("use_probabilities")?, weights(arguments)?);
        let members = models::<Classes>(arguments)?.into_iter().zip(weights);
        let members = members.map(|(model, weight)| Voter::new(model, hard, Trust::Fixed(weight))).collect();
        let rule = VotingRule { name: VOTING.name, beta: None };
        let threads = threads::count(arguments)?;
        Ok(Built::Classifier(Box::new(Ensemble::new(members, rule, VoteShares::default(), threads))))
    },
};

pub static VOTING_REGRESSOR: Declaration = Declaration {
    name: "ensemble.VotingRegressor",
    role: Role::Regressor,
    words: "The average of different regressors",
    merge: Merge::none(
        "the votes depend on errors in the order of rows: merge the members and build it from them",
    ),
    parameters: &[REGRESSORS, WEIGHTS, AGGREGATION, N_THREADS],
    build: |arguments| {
        let members = models::<Numbers>(arguments)?.into_iter().zip(weights(arguments)?);
        let members = members.map(|(model, weight)| Voter::new(model, false, Trust::Fixed(weight))).collect();
        let rule = VotingRule { name: VOTING_REGRESSOR.name, beta: None };
        let aggregation = Aggregation::named(arguments.text("aggregation")?);
        let threads = threads::count(arguments)?;
        Ok(Built::Regressor(Box::new(Ensemble::new(members, rule, aggregation, threads))))
    },
};

pub static WEIGHTED_MAJORITY: Declaration = Declaration {
    name: "ensemble.WeightedMajority",
    role: Role::Classifier,
    words: "Voting of different classifiers, whose weights decrease with each mistake",
    merge: Merge::ENSEMBLE,
    parameters: &[
        CLASSIFIERS,
        Parameter::new(
            "mistake_factor",
            Kind::Float(Bounds::DECAY),
            DefaultValue::Float(0.5),
            "factor that multiplies the weight of a model at each mistake",
        )
        .formerly(&["beta"]),
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(1.0),
            "factor that multiplies the number of mistakes at each row; below 1, old mistakes fade",
        ),
        N_THREADS,
    ],
    build: |arguments| {
        let trust = Trust::Mistakes { forgetting: arguments.float("forgetting")? };
        let members = models::<Classes>(arguments)?;
        let members = members.into_iter().map(|model| Voter::new(model, true, trust)).collect();
        let rule = VotingRule { name: WEIGHTED_MAJORITY.name, beta: Some(arguments.float("mistake_factor")?) };
        let threads = threads::count(arguments)?;
        Ok(Built::Classifier(Box::new(Ensemble::new(members, rule, VoteShares::default(), threads))))
    },
};

/// The learners in the parameter `models`.
pub fn models<T: Task>(arguments: &Arguments<'_>) -> Result<Vec<Box<dyn Learner<T>>>> {
    let parts = arguments.parts("models")?;
    if parts.is_empty() {
        return Err(Fault::value(format!("{}: models must not be empty", arguments.who)));
    }
    parts.into_iter().map(|part| T::unbuild(part).ok_or_else(|| arguments.absent("models"))).collect()
}

fn weights(arguments: &Arguments<'_>) -> Result<Vec<f64>> {
    let models = arguments.value("models")?.as_array().map_or(0, Vec::len);
    if arguments.value("weights")?.is_null() {
        return Ok(vec![1.0; models]);
    }
    let weights = arguments.floats("weights")?;
    let total: f64 = weights.iter().sum();
    if weights.len() != models || !(total > 0.0 && total.is_finite()) {
        return Err(Fault::value(format!(
            "{}: weights must be one for each of {models} models, with a sum above 0, got {weights:?}",
            arguments.who
        )));
    }
    Ok(weights)
}

/// The weight of a member's votes.
#[derive(Clone, Copy)]
pub enum Trust {
    Fixed(f64),
    /// The number of its mistakes, from which the rule computes a weight.
    Mistakes {
        forgetting: f64,
    },
}

#[derive(Clone)]
pub struct Voter<L> {
    learner: L,
    hard: bool,
    trust: Trust,
    record: Record,
    mistakes: f64,
    /// Record and mistakes at the last savepoint, if the learner records what it overwrites.
    at_savepoint: Option<(Record, f64)>,
}

#[derive(Serialize, Deserialize)]
struct State {
    learner: ByteBuf,
    record: Record,
    mistakes: f64,
}

impl<L: MemberLearner> Voter<L> {
    pub fn new(learner: L, hard: bool, trust: Trust) -> Self {
        Voter { learner, hard, trust, record: Record::default(), mistakes: 0.0, at_savepoint: None }
    }

    fn weight(&self) -> f64 {
        match self.trust {
            Trust::Fixed(weight) => weight,
            Trust::Mistakes { .. } => self.mistakes,
        }
    }
}

/// Gives all votes to the most probable class.
fn harden(votes: &mut [f64]) {
    if let Some(class) = most(votes).filter(|&class| votes[class as usize] > 0.0) {
        votes.fill(0.0);
        votes[class as usize] = 1.0;
    }
}

impl<L: MemberLearner> Member for Voter<L> {
    type Task = L::Task;

    fn process(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let stride = output.stride;
        let votes = Votes::between(&mut output.votes, &mut output.asked, stride, from, batch.len());
        let refused = self.learner.vote_batch(&batch.slice(from, batch.len()), votes, scratch);
        let refused = refused.map(|(row, fault)| (from + row, fault));
        let done = refused.as_ref().map_or(batch.len(), |(row, _)| *row);
        for row in from..done {
            output.trust[row] = self.weight();
            let error = L::error(output.votes(row), batch.truths[row]);
            if self.hard {
                harden(&mut output.votes[row * stride..(row + 1) * stride]);
                if let Some(votes) = output.asked(row) {
                    harden(votes);
                }
            }
            if let Some(error) = error {
                self.record.add(error, batch.weight(row));
            }
            if let Trust::Mistakes { forgetting } = self.trust {
                // A missing prediction counts as a mistake.
                let mistake = error.unwrap_or(1.0) * batch.weight(row);
                self.mistakes = bounded(self.mistakes * forgetting + mistake);
            }
        }
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        self.learner.vote(x, votes, scratch);
        if self.hard {
            harden(votes);
        }
        self.weight()
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
        if self.hard {
            votes.chunks_exact_mut(stride).for_each(harden);
        }
        trust.fill(self.weight());
    }

    fn learner(&self) -> Box<dyn Learner<L::Task>> {
        self.learner.alone()
    }
}

impl<L: MemberLearner> Part for Voter<L> {
    fn save(&self) -> Result<Vec<u8>> {
        let learner = self.learner.part().save()?.into();
        pack(&State { learner, record: self.record, mistakes: self.mistakes })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = "ensemble: a member";
        let state: State = unpack(who, bytes)?;
        let sound = state.record.is_sound() && state.mistakes.is_finite() && state.mistakes >= 0.0;
        require(who, sound, "its record is not finite")?;
        self.learner.part_mut().load(&state.learner)?;
        (self.record, self.mistakes) = (state.record, state.mistakes);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(self.learner.part());
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(self.learner.part_mut());
    }

    fn infallible(&self) -> bool {
        self.learner.part().infallible()
    }

    fn savepoint(&mut self) -> bool {
        let records = self.learner.part_mut().savepoint();
        self.at_savepoint = records.then_some((self.record, self.mistakes));
        records
    }

    fn rollback(&mut self) {
        if let Some(before) = self.at_savepoint.take() {
            (self.record, self.mistakes) = before;
            self.learner.part_mut().rollback();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.learner.part_mut().commit();
    }

    fn inspect(&self, schema: &Schema) -> Json {
        json!({
            "weight": self.record.weight,
            "error": self.record.error,
            "trust": self.weight(),
            "model": self.learner.part().inspect(schema),
        })
    }
}

/// What voters have in common.
#[derive(Clone)]
struct VotingRule {
    name: &'static str,
    /// The factor β of a weight at each mistake.
    beta: Option<f64>,
}

impl<L: MemberLearner> Coupling<Voter<L>> for VotingRule {}

impl<L: MemberLearner> EnsembleRule<Voter<L>> for VotingRule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn balance(&self, trust: &mut [f64]) {
        let Some(beta) = self.beta else { return };
        let fewest = trust.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        trust.iter_mut().for_each(|mistakes| *mistakes = beta.powf(*mistakes - fewest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::row::Want;
    use crate::task::ClassPrediction;

    fn model(name: &str, parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    #[test]
    fn mistakes_by_hand() {
        let models = ["baseline.NoChange", "baseline.MajorityClass", "baseline.MajorityClass"];
        let mut model = model("ensemble.WeightedMajority", json!({ "models": models, "beta": 0.25 }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for y in [0, 0, 1] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        // All predicted nothing, then 0, then 0, where 1 was true: two mistakes each. Now the first predicts 1, the
        // others 0.
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, &out.probabilities[..]), (Some(0), &[2.0 / 3.0, 1.0 / 3.0][..]));
        model.learn(Row::Plain(&[]), 1, 1.0, &mut scratch).unwrap();
        // The others have one mistake more, so they weigh a quarter each: 1 : 1/4 + 1/4. The classes are even, and the
        // majority is still the first.
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, &out.probabilities[..]), (Some(1), &[0.5 / 1.5, 1.0 / 1.5][..]));
    }

    #[test]
    fn votes_by_hand() {
        let models = ["baseline.NoChange", "baseline.Prior"];
        let parameters = json!({ "models": models, "weights": [1.0, 3.0] });
        let mut model = model("ensemble.Voting", parameters);
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for y in [0, 0, 0, 1] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        // 1 · (0, 1) + 3 · (3/4, 1/4), divided by 4.
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.probabilities, [2.25 / 4.0, 1.75 / 4.0]);
    }
}
