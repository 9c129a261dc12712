//! A member of a bagged ensemble, and its replacement.
//!
//! The number of times a member learns each row is drawn ahead, from one uniform number per row in any case.
//!
//! With a drift detector per member (Bifet et al., 2009 and 2010), the member with the largest estimated error is
//! replaced after a row at which any detector finds that an error has grown. That couples the members, but only affects
//! the replaced one, and only from that row on. So a batch is processed as if nothing were found; if something was, the
//! replaced member processes the later rows again, as the new one that it is then. Nothing is restored, and the result
//! equals that of a loop over rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows, Votes};
use crate::declaration::Built;
use crate::detector::DriftDetector;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::numeric::random::Random;
use crate::parameter::Arguments;
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch};
use crate::schema::Schema;

use super::combined::EnsembleRule;
use super::engine::{Coupling, Member, MemberOutput, MemberSlot};
use super::learner::{MemberLearner, Truth};
use super::poisson::Poisson;
use super::record::Record;

/// Separates the members' random numbers from others of the same seed.
pub const PURPOSE: u64 = 0x6261_6700;

/// The number of times a member learns a row.
#[derive(Clone, Debug)]
pub enum Resampling {
    /// A draw from the distribution.
    Poisson(Poisson),
    /// One more than a draw.
    AtLeastOnce(Poisson),
    /// Once, unless the draw is 0.
    AtMostOnce(Poisson),
    /// Once with probability 1/2.
    Half,
    /// Once if the member is wrong; otherwise with probability e / (1 - e), where e is its estimated error.
    Mistakes,
}

impl Resampling {
    pub fn times(&self, unit: f64) -> f64 {
        match self {
            Resampling::Poisson(poisson) => poisson.at(unit),
            Resampling::AtLeastOnce(poisson) => 1.0 + poisson.at(unit),
            Resampling::AtMostOnce(poisson) => poisson.at(unit).min(1.0),
            Resampling::Half => f64::from(u8::from(unit < 0.5)),
            Resampling::Mistakes => 1.0,
        }
    }
}

pub struct Detector(pub Box<dyn DriftDetector>);

impl Detector {
    /// The detector in a parameter; none for null.
    pub fn given(arguments: &Arguments<'_>, name: &str) -> Result<Option<Self>> {
        if arguments.value(name)?.is_null() {
            return Ok(None);
        }
        match arguments.part(name)? {
            Built::DriftDetector(detector) => Ok(Some(Detector(detector))),
            _ => Err(arguments.absent(name)),
        }
    }

    /// The same detector without warnings.
    pub fn without_warnings(mut self) -> Self {
        self.0.disable_warnings();
        self
    }
}

impl Clone for Detector {
    fn clone(&self) -> Self {
        Detector(self.0.duplicate())
    }
}

#[derive(Clone)]
pub struct Bagged<L> {
    learner: L,
    random: Random,
    resampling: Arc<Resampling>,
    detector: Option<Detector>,
    record: Record,
    replaced: u64,
    at_savepoint: Option<Box<AtSavepoint<L>>>,
}

/// The state at a savepoint.
#[derive(Clone)]
struct AtSavepoint<L> {
    /// The learner at the savepoint, if it was replaced since; else the learner records what it overwrites.
    learner: Option<L>,
    random: Random,
    detector: Option<Detector>,
    record: Record,
    replaced: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    learner: ByteBuf,
    random: Random,
    detector: Option<ByteBuf>,
    record: Record,
    replaced: u64,
}

/// What the members have in common.
#[derive(Clone)]
pub struct Bag<L> {
    name: &'static str,
    /// An unlearned learner, and its detector if there is one, for replacements.
    learner: L,
    detector: Option<Detector>,
    max_classes: usize,
}

/// The members of an ensemble, and their rule.
pub fn members<L: MemberLearner>(
    name: &'static str,
    arguments: &Arguments<'_>,
    learner: L,
    resampling: Resampling,
    detector: Option<Detector>,
    max_classes: usize,
) -> Result<(Vec<Bagged<L>>, Bag<L>)> {
    let (seed, resampling) = (arguments.integer("seed")? as u64, Arc::new(resampling));
    let member = |index: usize| Bagged {
        learner: learner.placed(seed, index),
        random: Random::new(seed, PURPOSE + index as u64),
        resampling: resampling.clone(),
        detector: detector.clone(),
        record: Record::default(),
        replaced: 0,
        at_savepoint: None,
    };
    let members = (0..arguments.size("n_models")?).map(member).collect();
    Ok((members, Bag { name, learner, detector, max_classes }))
}

impl<L: MemberLearner> Bagged<L> {
    /// Restart, and continue the random numbers.
    fn renew(&mut self, bag: &Bag<L>) {
        match self.at_savepoint.as_deref_mut() {
            Some(AtSavepoint { learner: at_savepoint @ None, .. }) => {
                let mut fresh = self.learner.clone();
                fresh.part_mut().commit();
                fresh.restart(&bag.learner);
                let mut before = std::mem::replace(&mut self.learner, fresh);
                before.part_mut().rollback();
                *at_savepoint = Some(before);
            }
            _ => self.learner.restart(&bag.learner),
        }
        self.detector = bag.detector.clone();
        self.record = Record::default();
        self.replaced = self.replaced.saturating_add(1);
    }

    /// Record the error of the votes for a row, and pass it to the detector.
    fn record_error(&mut self, row: usize, truth: Truth<L>, w: f64, output: &mut MemberOutput) {
        let error = L::error(output.votes(row), truth);
        if let Some(error) = error {
            self.record.add(error, w);
        }
        let Some(Detector(detector)) = &mut self.detector else { return };
        if let Some(error) = error {
            let before = detector.estimation();
            if detector.update(error).is_ok() && detector.verdict().drift && detector.estimation() > before {
                output.calls.push(row);
            }
        }
        output.errors[row] = detector.estimation();
    }

    /// Row by row, for members whose vote decides whether a row is learned.
    fn process_by_mistakes(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let stride = output.stride;
        for row in from..batch.len() {
            let (index, w) = (row * stride..(row + 1) * stride, batch.weight(row));
            self.learner.vote(batch.rows.at(row), &mut output.votes[index], scratch);
            let wrong = L::error(output.votes(row), batch.truths[row]).is_none_or(|error| error > 0.0);
            let error = self.detector.as_ref().map_or(0.0, |detector| detector.0.estimation());
            let learned = wrong || output.draws[row] * (1.0 - error) < error;
            let one = batch.slice(row, row + 1);
            let weights = [if learned { w } else { 0.0 }];
            let votes = Votes::between(&mut output.votes, &mut output.asked, stride, row, row + 1);
            if let Some((_, fault)) = self.learner.vote_batch(&one.weighted(&weights), votes, scratch) {
                return Some((row, fault));
            }
            self.record_error(row, batch.truths[row], w, output);
        }
        None
    }
}

impl<L: MemberLearner> Member for Bagged<L> {
    type Task = L::Task;

    fn draw(&mut self, batch: &Batch<'_, L::Task>, output: &mut MemberOutput) {
        output.draws.clear();
        output.draws.extend((0..batch.len()).map(|_| self.random.unit()));
        output.weights.clear();
        let times = output.draws.iter().map(|&unit| self.resampling.times(unit)).enumerate();
        output
            .weights
            .extend(times.map(|(row, times)| if times == 0.0 { 0.0 } else { times * batch.weight(row) }));
        if self.detector.is_some() {
            output.errors.resize(batch.len(), 0.0);
        }
    }

    fn process(
        &mut self,
        batch: &Batch<'_, L::Task>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        if matches!(*self.resampling, Resampling::Mistakes) {
            return self.process_by_mistakes(batch, from, output, scratch);
        }
        let rest = batch.slice(from, batch.len()).weighted(&output.weights[from..batch.len()]);
        let votes = Votes::between(&mut output.votes, &mut output.asked, output.stride, from, batch.len());
        let refused = match rest.is_empty() {
            true => None,
            false => self.learner.vote_batch(&rest, votes, scratch),
        };
        let refused = refused.map(|(row, fault)| (from + row, fault));
        let done = refused.as_ref().map_or(batch.len(), |(row, _)| *row);
        for row in from..done {
            self.record_error(row, batch.truths[row], batch.weight(row), output);
        }
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        self.learner.vote(x, votes, scratch);
        1.0
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
        trust.fill(1.0);
    }

    fn learner(&self) -> Box<dyn Learner<L::Task>> {
        self.learner.alone()
    }
}

impl<L: MemberLearner> Part for Bagged<L> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {
            learner: self.learner.part().save()?.into(),
            random: self.random.clone(),
            detector: self.detector.as_ref().map(|detector| detector.0.save().map(ByteBuf::from)).transpose()?,
            record: self.record,
            replaced: self.replaced,
        })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = "ensemble: a member";
        let state: State = unpack(who, bytes)?;
        require(who, state.record.is_sound(), "its record is not finite")?;
        require(who, state.detector.is_some() == self.detector.is_some(), "its detector is missing")?;
        self.learner.part_mut().load(&state.learner)?;
        if let (Some(detector), Some(bytes)) = (&mut self.detector, &state.detector) {
            detector.0.load(bytes)?;
        }
        (self.random, self.record, self.replaced) = (state.random, state.record, state.replaced);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(self.learner.part());
        self.detector.iter().for_each(|detector| visit(&*detector.0));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(self.learner.part_mut());
    }

    fn abilities(&self) -> Abilities {
        self.learner.part().abilities()
    }

    fn infallible(&self) -> bool {
        self.learner.part().infallible()
    }

    fn savepoint(&mut self) -> bool {
        let records = self.learner.part_mut().savepoint();
        self.at_savepoint = records.then(|| {
            Box::new(AtSavepoint {
                learner: None,
                random: self.random.clone(),
                detector: self.detector.clone(),
                record: self.record,
                replaced: self.replaced,
            })
        });
        records
    }

    fn rollback(&mut self) {
        let Some(before) = self.at_savepoint.take() else { return };
        let AtSavepoint { learner, random, detector, record, replaced } = *before;
        match learner {
            Some(learner) => self.learner = learner,
            None => self.learner.part_mut().rollback(),
        }
        (self.random, self.detector, self.record, self.replaced) = (random, detector, record, replaced);
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.learner.part_mut().commit();
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut report = serde_json::Map::new();
        report.insert("weight".into(), json!(self.record.weight));
        report.insert("error".into(), json!(self.record.error));
        if let Some(Detector(detector)) = &self.detector {
            report.insert("estimated_error".into(), json!(detector.estimation()));
            report.insert("replaced".into(), json!(self.replaced));
        }
        report.insert("model".into(), self.learner.part().inspect(schema));
        Json::Object(report)
    }

    fn scalars(&self) -> Json {
        json!({ "replaced": self.replaced })
    }
}

impl<L: MemberLearner> Coupling<Bagged<L>> for Bag<L> {
    fn couple(&self, slots: &mut [MemberSlot<Bagged<L>>], batch: &Batch<'_, L::Task>, scratch: &mut Scratch) {
        if self.detector.is_none() {
            return;
        }
        let mut from = 0;
        loop {
            let calls = slots.iter().filter_map(|slot| slot.output.calls.iter().copied().find(|&row| row >= from));
            let reached = slots.iter().map(|slot| slot.reached(batch)).min().unwrap_or(0);
            let Some(row) = calls.min().filter(|&row| row < reached) else { return };
            let mut worst = 0;
            for (index, slot) in slots.iter().enumerate() {
                if slot.output.errors[row] > slots[worst].output.errors[row] {
                    worst = index;
                }
            }
            let slot = &mut slots[worst];
            slot.member.renew(self);
            slot.output.calls.retain(|&call| call <= row);
            slot.process(batch, row + 1, scratch);
            from = row + 1;
        }
    }
}

impl<L: MemberLearner> EnsembleRule<Bagged<L>> for Bag<L> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn unlearned(&self) -> Option<&dyn Part> {
        Some(self.learner.part())
    }

    fn unlearned_mut(&mut self) -> Option<&mut dyn Part> {
        Some(self.learner.part_mut())
    }

    fn abilities(&self, members: Abilities) -> Abilities {
        Abilities { max_classes: self.max_classes, ..members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Rows;
    use crate::declaration::Built;
    use crate::drift::{Direction, Verdict};
    use crate::ensemble::engine::Members;
    use crate::learner::Learner;
    use crate::part::Part;
    use crate::registry;
    use crate::task::Classes;

    /// Finds a change at each third number; the estimate is the mean so far.
    #[derive(Clone, Default)]
    struct Third {
        sum: f64,
        count: u64,
    }

    impl Part for Third {
        fn save(&self) -> Result<Vec<u8>> {
            pack(&(self.sum, self.count))
        }
        fn load(&mut self, _bytes: &[u8]) -> Result<()> {
            Ok(())
        }
        fn memory(&self) -> usize {
            0
        }
    }

    impl DriftDetector for Third {
        fn update(&mut self, x: f64) -> Result<()> {
            self.sum += x;
            self.count += 1;
            Ok(())
        }
        fn verdict(&self) -> Verdict {
            match self.count % 3 {
                0 => Verdict::drift(Direction::Up, 1),
                _ => Verdict::default(),
            }
        }
        fn reset(&mut self) {}
        fn estimation(&self) -> f64 {
            self.sum / self.count.max(1) as f64
        }
        fn duplicate(&self) -> Box<dyn DriftDetector> {
            Box::new(self.clone())
        }
    }

    fn built(name: &str) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": name })).unwrap();
        let Built::Classifier(learner) = registry::build_resolved(&description).unwrap() else { panic!() };
        learner
    }

    /// Two members that learn every row once: one predicts the last class, the other the most frequent one.
    fn team() -> (Members<Bagged<Box<dyn Learner<Classes>>>>, Bag<Box<dyn Learner<Classes>>>) {
        let detector = Some(Detector(Box::new(Third::default())));
        let member = |name: &str| Bagged {
            learner: built(name),
            random: Random::new(1, 1),
            resampling: Arc::new(Resampling::Mistakes),
            detector: detector.clone(),
            record: Record::default(),
            replaced: 0,
            at_savepoint: None,
        };
        let members = vec![member("baseline.NoChange"), member("baseline.MajorityClass")];
        let learner = built("baseline.MajorityClass");
        (Members::new(members, 1), Bag { name: "", learner, detector, max_classes: usize::MAX })
    }

    #[test]
    fn the_worst_is_replaced_by_hand_and_in_any_chunks() {
        // The first predicts nothing for row 0, then 0, 0, 1, 0: errors 0, 1, 1, at rows 1 to 3. The second always
        // predicts 0: errors 0, 1, 0. Both detectors receive their third number at row 3, where the first mean has
        // grown from 1/2 to 2/3 and the second has fallen. So the first, with 2/3 against 1/3, restarts: it predicts
        // nothing for row 4, then 1.
        let truths = [0, 0, 1, 0, 1, 1];
        let weights = [1.0; 6];
        let (mut whole, bag) = team();
        let mut scratch = Scratch::default();
        let rows: Vec<crate::row::RowBuffer> = truths.iter().map(|_| Default::default()).collect();
        let batch = Batch::new(Rows::Owned(&rows), &truths, Some(&weights));
        assert_eq!(whole.process(&batch, 2, &bag, &mut scratch).0, 6);
        let said: Vec<&[f64]> = (0..6).map(|row| whole.output(0).votes(row)).collect();
        assert_eq!(said[..4], [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
        assert_eq!(said[4..], [[0.0, 0.0], [0.0, 1.0]]);
        assert_eq!(whole.iter().map(|member| member.replaced).collect::<Vec<_>>(), [1, 0]);
        let (mut parts, _) = team();
        for (from, to) in [(0, 1), (1, 4), (4, 6)] {
            parts.process(&batch.slice(from, to), 2, &bag, &mut scratch);
        }
        for (a, b) in whole.iter().zip(parts.iter()) {
            assert_eq!(a.save().unwrap(), b.save().unwrap());
        }
    }
}
