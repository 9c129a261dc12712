//! Random output codes: a classifier of two classes for each member, which tells apart two random halves of the classes.
//!
//! Schapire, R. E. (1997), "Using output codes to boost multiclass learning problems"; in leveraging bagging, Bifet et
//! al. (2010), section 3.2. A class gets a bit when it first comes: of each two classes in the order of their codes, one
//! has a random bit and the other the opposite one. So the halves differ by one class at most, and both are there from
//! the second class on. A member's vote for a bit is a vote for every class that has it.

use crate::block::Lesson;
use crate::fault::Fault;
use crate::random::Random;
use crate::role::{cast, Classifier, Part};
use crate::row::{Row, Scratch, Want};

use super::learner::Learner;
use super::record::Record;

/// Tells these bits from other random numbers of the same seed.
const PURPOSE: u64 = 0x636f_6465_0000_0000;

#[derive(Clone)]
pub struct Coded {
    learner: Box<dyn Classifier>,
    /// What the bits of this member come from.
    key: u64,
}

impl Coded {
    pub fn new(learner: Box<dyn Classifier>) -> Self {
        Coded { learner, key: 0 }
    }

    fn bit(&self, class: u32) -> u32 {
        let pair = u64::from(class / 2);
        (Random::new(self.key, PURPOSE + pair).bits() & 1) as u32 ^ (class & 1)
    }
}

impl Learner for Coded {
    type Target = u32;
    const SHARES: bool = true;

    fn part(&self) -> &dyn Part {
        &*self.learner
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut *self.learner
    }

    fn placed(&self, seed: u64, place: usize) -> Self {
        let key = Random::new(seed, PURPOSE.wrapping_add(place as u64)).bits();
        Coded { learner: self.learner.clone(), key }
    }

    fn begin_anew(&mut self, fresh: &Self) {
        self.learner = fresh.learner.clone();
    }

    fn member_block(
        &mut self,
        lesson: &Lesson<'_, u32>,
        votes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let (mut bits, mut targets) = (scratch.take_indices(), scratch.take_indices());
        let mut halves = scratch.take_numbers();
        bits.extend((0..lesson.stride as u32).map(|class| self.bit(class)));
        targets.extend(lesson.targets.iter().map(|&class| bits[class as usize]));
        halves.resize(2 * lesson.len(), 0.0);
        let coded = Lesson { rows: lesson.rows, targets: &targets, weights: lesson.weights, stride: 2 };
        let refused = self.learner.member_block(&coded, &mut halves, scratch);
        for (votes, halves) in votes.chunks_exact_mut(lesson.stride).zip(halves.chunks_exact(2)) {
            for (vote, &bit) in votes.iter_mut().zip(&bits) {
                *vote = halves[bit as usize];
            }
        }
        scratch.give_indices(bits);
        scratch.give_indices(targets);
        scratch.give_numbers(halves);
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) {
        let mut prediction = scratch.take_prediction();
        self.learner.predict(x, Want::Probabilities, &mut prediction, scratch);
        let mut halves = [0.0; 2];
        cast(&prediction, &mut halves);
        for (class, vote) in votes.iter_mut().enumerate() {
            *vote = halves[self.bit(class as u32) as usize];
        }
        scratch.give_prediction(prediction);
    }

    /// A class of the right half is right: the member can say no more.
    fn error(votes: &[f64], target: u32) -> Option<f64> {
        let largest = votes.iter().fold(0.0, |a: f64, &b| a.max(b));
        let own = votes.get(target as usize).copied().unwrap_or(0.0);
        (largest > 0.0).then(|| f64::from(u8::from(own < largest)))
    }

    fn trust(record: &Record) -> f64 {
        record.accuracy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, Built};
    use serde_json::json;

    #[test]
    fn halves_are_even_and_members_differ() {
        let description = registry::resolve(&json!({ "name": "baseline.Prior" })).unwrap();
        let Built::Classifier(prior) = registry::build_resolved(&description).unwrap() else { panic!() };
        let coded = Coded::new(prior);
        let codes: Vec<Vec<u32>> =
            (0..20).map(|place| (0..8).map(|class| coded.placed(3, place).bit(class)).collect()).collect();
        assert!(codes.iter().all(|bits| bits.iter().sum::<u32>() == 4));
        assert!(codes.iter().any(|bits| bits != &codes[0]));
        // The prior of classes 0, 0, 3: a member gives 2/3 to the half of class 0 if class 3 is in the other, else 1.
        let (mut member, mut scratch, mut votes) = (coded.placed(3, 0), Scratch::default(), [0.0; 4]);
        for class in [0, 0, 3] {
            let lesson = Lesson {
                rows: crate::block::Rows::One(Row::Plain(&[])),
                targets: &[class],
                weights: &[1.0],
                stride: 4,
            };
            assert!(member.member_block(&lesson, &mut votes, &mut scratch).is_none());
        }
        member.vote(Row::Plain(&[]), &mut votes, &mut scratch);
        let together = member.bit(0) == member.bit(3);
        assert_eq!(votes[0], if together { 1.0 } else { 2.0 / 3.0 });
        assert_eq!(votes[0] + votes[1], 1.0);
    }
}
