//! One against the rest: a member for each class learns whether an example is of that class.
//!
//! The probability of a class is what its member gives to "yes", divided by the sum over members (Rifkin and
//! Klautau, 2004, "In defense of one-vs-all classification"). As in River, a class that comes late has a
//! member that knows only the examples from then on.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::fault::Result;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Part};
use crate::row::{Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::members::Members;

const NAME: &str = "multiclass.OneVsRest";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Many classes by one learner of two classes for each",
    parameters: &[Parameter::new(
        "model",
        Kind::Part(&[Role::Classifier]),
        DefaultValue::Required,
        "the classifier that tells one class from the rest",
    )],
    build: |arguments| match arguments.part("model")? {
        Built::Classifier(fresh) => {
            Ok(Built::Classifier(Box::new(OneVsRest { fresh, members: Members::default() })))
        }
        _ => Err(arguments.absent("model")),
    },
};

#[derive(Clone)]
struct OneVsRest {
    /// A member that has learned nothing, for classes to come.
    fresh: Box<dyn Classifier>,
    members: Members,
}

#[derive(Serialize, Deserialize)]
struct State {
    members: Vec<Option<ByteBuf>>,
}

impl Part for OneVsRest {
    fn save(&self) -> Result<Vec<u8>> {
        let saved = |member: &Option<Box<dyn Classifier>>| {
            member.as_ref().map(|member| member.save().map(ByteBuf::from)).transpose()
        };
        pack(&State { members: self.members.team().iter().map(saved).collect::<Result<_>>()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.members.last().is_none_or(|last| last.is_some()), "the last class has no member")?;
        let mut team = Vec::new();
        for saved in &state.members {
            let mut member = saved.as_ref().map(|_| self.fresh.duplicate());
            if let (Some(member), Some(bytes)) = (&mut member, saved) {
                member.load(bytes)?;
            }
            team.push(member);
        }
        self.members = Members::new(team);
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.fresh.memory() + self.members.memory()
    }

    fn hold(&mut self) -> bool {
        self.members.hold()
    }

    fn restore(&mut self) {
        self.members.come_back();
    }

    fn release(&mut self) {
        self.members.release();
    }

    fn needs_names(&self) -> bool {
        self.fresh.needs_names()
    }

    fn bind(&mut self, schema: &Schema) {
        self.fresh.bind(schema);
        for member in self.members.team_mut().iter_mut().flatten() {
            member.bind(schema);
        }
    }

    fn checks(&self) -> bool {
        self.fresh.checks()
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.members.team().iter().flatten().try_for_each(|member| member.check(x, scratch))
    }

    fn wants_orthonormal(&self) -> bool {
        self.fresh.wants_orthonormal()
    }

    fn expressed(&self, transition: &[f64]) -> Result<Option<Vec<u8>>> {
        let expressed = |member: &Option<Box<dyn Classifier>>| match member {
            Some(member) => match member.expressed(transition)? {
                Some(state) => Ok(Some(ByteBuf::from(state))),
                None => member.save().map(|state| Some(ByteBuf::from(state))),
            },
            None => Ok(None),
        };
        pack(&State { members: self.members.team().iter().map(expressed).collect::<Result<_>>()? }).map(Some)
    }

    /// Members in the order of `classes`.
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let members = self.members.team().iter().flatten();
        json!({ "members": members.map(|member| member.inspect(schema)).collect::<Vec<_>>() })
    }
}

/// The probability that a member gives to its class.
fn vote(answer: &Prediction) -> f64 {
    match (answer.probabilities.get(1), answer.class) {
        (Some(&probability), _) => probability,
        (None, Some(1)) if answer.probabilities.is_empty() => 1.0,
        _ => 0.0,
    }
}

impl Classifier for OneVsRest {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        out.clear();
        let mut answer = scratch.take_prediction();
        let (mut sum, mut known, mut best) = (0.0, 0.0, f64::NEG_INFINITY);
        for (code, member) in self.members.team().iter().enumerate() {
            let mut probability = 0.0;
            if let Some(member) = member {
                member.predict(x, Want::Probabilities, &mut answer, scratch);
                probability = vote(&answer);
                known += 1.0;
                if probability > best {
                    best = probability;
                    out.class = Some(code as u32);
                }
            }
            sum += probability;
            if want == Want::Probabilities {
                out.probabilities.push(probability);
            }
        }
        scratch.give_prediction(answer);
        if want == Want::Probabilities {
            for (probability, member) in out.probabilities.iter_mut().zip(self.members.team()) {
                *probability = match member {
                    Some(_) if sum > 0.0 => *probability / sum,
                    Some(_) => 1.0 / known,
                    None => 0.0,
                };
            }
        }
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let code = y as usize;
        let known = self.members.team().len();
        if !self.members.team().get(code).is_some_and(Option::is_some) {
            let team = self.members.team_mut();
            team.resize_with(known.max(code + 1), || None);
            team[code] = Some(self.fresh.duplicate());
            return self.members.learn(x, y, w, scratch).inspect_err(|_| {
                let team = self.members.team_mut();
                team[code] = None;
                team.truncate(known);
            });
        }
        self.members.learn(x, y, w, scratch)
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(member: &str) -> Box<dyn Classifier> {
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
        // Member 0 has seen 2 of 4; member 1 came second and has seen 1 of 3; member 2 has seen 1 of 1.
        let mut out = Prediction::default();
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
        // Member 0 has not seen class 1 and takes any value of it; member 1 would have a variance of 1e616.
        assert!(model.learn(Row::Plain(&[-1e308]), 1, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(model.learn(Row::Plain(&[-1e308]), 4, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        model.learn(Row::Plain(&[1e308]), 4, 1.0, &mut scratch).unwrap();
    }
}
