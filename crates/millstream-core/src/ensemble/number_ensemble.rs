//! A regressor of members whose numbers are averaged.
//!
//! The mean is weighed by what each member's number weighs; the median is of those that weigh anything.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::block::{Lesson, NumberBlock, NumberRows, Rows};
use crate::fault::Result;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::role::{Member as Extracted, Part, Regressor};
use crate::row::{bounded, Row, Scratch};
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::class_ensemble::{chunk, Rule};
use super::engine::{Member, Team};
use super::threads;

/// Rows that a thread predicts at a time.
const PIECE: usize = 64;

pub const AGGREGATION: Parameter = Parameter::new(
    "aggregation",
    Kind::Choice(&["mean", "median"]),
    DefaultValue::Text("mean"),
    "what the numbers of members become",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    Mean,
    Median,
}

impl Aggregation {
    pub fn named(name: &str) -> Self {
        match name {
            "median" => Aggregation::Median,
            _ => Aggregation::Mean,
        }
    }

    /// What the numbers come to, whose order is lost; finite if they are. Weights are not negative, some are positive.
    pub fn of(self, numbers: &mut [f64], weights: &[f64]) -> f64 {
        match self {
            Aggregation::Mean => {
                // The largest weight becomes 1, and each number is divided before it is added: no sum overflows.
                let largest = weights.iter().fold(0.0, |a: f64, &b| a.max(b));
                let total: f64 = weights.iter().map(|weight| weight / largest).sum();
                let shares = weights.iter().map(|weight| weight / largest / total);
                bounded(numbers.iter().zip(shares).map(|(number, share)| number * share).sum())
            }
            Aggregation::Median => {
                let mut count = 0;
                for place in 0..numbers.len() {
                    if weights[place] > 0.0 {
                        numbers[count] = numbers[place];
                        count += 1;
                    }
                }
                let numbers = &mut numbers[..count.max(1)];
                numbers.sort_unstable_by(f64::total_cmp);
                let middle = numbers.len() / 2;
                match numbers.len() % 2 {
                    1 => numbers[middle],
                    _ => numbers[middle - 1] / 2.0 + numbers[middle] / 2.0,
                }
            }
        }
    }
}

#[derive(Clone)]
pub struct NumberEnsemble<M: Member, R> {
    team: Team<M>,
    rule: R,
    aggregation: Aggregation,
}

#[derive(Serialize, Deserialize)]
struct State {
    members: Vec<ByteBuf>,
}

impl<M: Member<Target = f64>, R: Rule<M>> NumberEnsemble<M, R> {
    pub fn new(members: Vec<M>, rule: R, aggregation: Aggregation, threads: usize) -> Self {
        NumberEnsemble { team: Team::new(members, threads), rule, aggregation }
    }

    /// What the pages say of a row.
    fn conclude(&self, row: usize, numbers: &mut Vec<f64>, trust: &mut Vec<f64>) -> f64 {
        numbers.clear();
        trust.clear();
        for page in self.team.pages() {
            numbers.push(page.votes[row]);
            trust.push(page.trust[row]);
        }
        self.rule.balance(trust);
        self.aggregation.of(numbers, trust)
    }

    fn one(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let lesson = Lesson { rows: Rows::One(x), targets: &[y], weights: &[w], stride: 1 };
        match self.team.go(&lesson, &self.rule, scratch) {
            (_, Some(fault)) => Err(fault.by(self.rule.name())),
            _ => Ok(()),
        }
    }

    fn answer(&self, x: Row<'_>, numbers: &mut Vec<f64>, trust: &mut Vec<f64>, scratch: &mut Scratch) -> f64 {
        numbers.clear();
        trust.clear();
        for member in self.team.members() {
            let mut vote = [0.0];
            trust.push(member.vote(x, &mut vote, scratch));
            numbers.push(vote[0]);
        }
        self.rule.balance(trust);
        self.aggregation.of(numbers, trust)
    }
}

impl<M: Member<Target = f64> + 'static, R: Rule<M>> Part for NumberEnsemble<M, R> {
    fn save(&self) -> Result<Vec<u8>> {
        let members = self.team.members().map(|member| member.save().map(ByteBuf::from));
        pack(&State { members: members.collect::<Result<_>>()? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let name = self.rule.name();
        let state: State = unpack(name, bytes)?;
        require(name, state.members.len() == self.team.len(), "members are missing")?;
        for (member, bytes) in self.team.members_mut().zip(&state.members) {
            member.load(bytes)?;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.team.memory() + self.rule.memory()
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

impl<M: Member<Target = f64> + 'static, R: Rule<M>> Regressor for NumberEnsemble<M, R> {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let (mut numbers, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
        let answer = self.answer(x, &mut numbers, &mut trust, scratch);
        scratch.give_numbers(numbers);
        scratch.give_numbers(trust);
        answer
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.one(x, y, w, scratch)
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        self.one(x, y, w, scratch)?;
        let (mut numbers, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
        let answer = self.conclude(0, &mut numbers, &mut trust);
        scratch.give_numbers(numbers);
        scratch.give_numbers(trust);
        Ok(answer)
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
        let (mut numbers, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
        let (mut from, size) = (0, chunk(self.team.len(), 1));
        while from < n {
            let part = lesson.part(from, (from + size).min(n));
            let (done, refused) = self.team.go(&part, &self.rule, scratch);
            out.extend((0..done).map(|row| self.conclude(row, &mut numbers, &mut trust)));
            from += done;
            if refused.is_some() {
                break;
            }
        }
        self.team.put_away();
        for buffer in [numbers, trust, ones] {
            scratch.give_numbers(buffer);
        }
        from
    }

    fn predict_rows(&self, rows: &Rows<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        let mut pieces: Vec<(usize, Vec<f64>)> =
            (0..rows.len()).step_by(PIECE).map(|from| (from, Vec::new())).collect();
        threads::each(self.team.threads(), &mut pieces, scratch, |(from, answers), scratch| {
            let (mut numbers, mut trust) = (scratch.take_numbers(), scratch.take_numbers());
            for row in *from..(*from + PIECE).min(rows.len()) {
                answers.push(self.answer(rows.at(row), &mut numbers, &mut trust, scratch));
            }
            scratch.give_numbers(numbers);
            scratch.give_numbers(trust);
        });
        pieces.iter().for_each(|(_, answers)| out.extend_from_slice(answers));
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_medians_by_hand() {
        // (1 · 2 + 3 · 6 + 0 · 100) / 4
        assert_eq!(Aggregation::Mean.of(&mut [2.0, 6.0, 100.0], &[1.0, 3.0, 0.0]), 5.0);
        assert_eq!(Aggregation::Mean.of(&mut [1e308, 1e308], &[1e300, 1e300]), 1e308);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1.0, 3.0], &[1.0; 3]), 3.0);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1.0, 3.0, 100.0], &[1.0, 0.0, 1.0, 2.0]), 5.0);
        assert_eq!(Aggregation::Median.of(&mut [5.0, -1e308, 3.0, 1e308], &[1.0; 4]), 4.0);
    }
}
