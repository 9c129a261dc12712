//! Random output codes: each member is a binary classifier of two random halves of the classes.
//!
//! Schapire, R. E. (1997), "Using output codes to boost multiclass learning problems"; in leveraging bagging, Bifet et
//! al. (2010), section 3.2. A class gets a bit when it first appears: of each two classes in the order of their codes,
//! one has a random bit and the other the opposite one. So the halves differ by one class at most, and both are
//! non-empty from the second class on. A member's vote for a bit is a vote for every class with that bit.

use crate::batch::{Batch, Rows, Votes};
use crate::fault::Fault;
use crate::learner::Learner;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::row::{Row, Scratch};
use crate::task::Classes;

use super::learner::MemberLearner;

/// Separates these bits from other random numbers of the same seed.
const PURPOSE: u64 = 0x636f_6465_0000_0000;

#[derive(Clone)]
pub struct Coded {
    learner: Box<dyn Learner<Classes>>,
    /// The key of this member's bits.
    key: u64,
}

impl Coded {
    pub fn new(learner: Box<dyn Learner<Classes>>) -> Self {
        Coded { learner, key: 0 }
    }

    fn bit(&self, class: u32) -> u32 {
        let pair = u64::from(class / 2);
        (Random::new(self.key, PURPOSE + pair).bits() & 1) as u32 ^ (class & 1)
    }
}

impl MemberLearner for Coded {
    type Task = Classes;

    fn part(&self) -> &dyn Part {
        &*self.learner
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        &mut *self.learner
    }

    fn placed(&self, seed: u64, index: usize) -> Self {
        let key = Random::new(seed, PURPOSE.wrapping_add(index as u64)).bits();
        Coded { learner: self.learner.clone(), key }
    }

    fn restart(&mut self, unlearned: &Self) {
        self.learner = unlearned.learner.clone();
    }

    fn vote_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        votes: Votes<'_>,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let Votes { learned, asked, stride } = votes;
        let (mut bits, mut truths) = (scratch.take_indices(), scratch.take_indices());
        let (mut halves, mut asked_halves) = (scratch.take_numbers(), scratch.take_numbers());
        bits.extend((0..stride as u32).map(|class| self.bit(class)));
        truths.extend(batch.truths.iter().map(|&class| bits[class as usize]));
        halves.resize(2 * batch.len(), 0.0);
        asked_halves.resize(if asked.is_empty() { 0 } else { 2 * batch.len() }, 0.0);
        let coded = Batch { truths: &truths, ..*batch };
        let halved = Votes { learned: &mut halves, asked: &mut asked_halves, stride: 2 };
        let refused = self.learner.vote_batch(&coded, halved, scratch);
        for (votes, halves) in [(learned, &halves), (asked, &asked_halves)] {
            for (votes, halves) in votes.chunks_exact_mut(stride).zip(halves.chunks_exact(2)) {
                for (vote, &bit) in votes.iter_mut().zip(&bits) {
                    *vote = halves[bit as usize];
                }
            }
        }
        scratch.give_indices(bits);
        scratch.give_indices(truths);
        scratch.give_numbers(halves);
        scratch.give_numbers(asked_halves);
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) {
        let mut halves = [0.0; 2];
        self.learner.vote(x, &mut halves, scratch);
        for (class, vote) in votes.iter_mut().enumerate() {
            *vote = halves[self.bit(class as u32) as usize];
        }
    }

    fn vote_rows(&self, rows: &Rows<'_>, stride: usize, votes: &mut [f64], scratch: &mut Scratch) {
        let (mut bits, mut halves) = (scratch.take_indices(), scratch.take_numbers());
        bits.extend((0..stride as u32).map(|class| self.bit(class)));
        halves.resize(2 * rows.len(), 0.0);
        self.learner.vote_rows(rows, 2, &mut halves, scratch);
        for (votes, halves) in votes.chunks_exact_mut(stride).zip(halves.chunks_exact(2)) {
            for (vote, &bit) in votes.iter_mut().zip(&bits) {
                *vote = halves[bit as usize];
            }
        }
        scratch.give_indices(bits);
        scratch.give_numbers(halves);
    }

    /// Any class of the correct half counts as correct: the member cannot distinguish them.
    fn error(votes: &[f64], truth: u32) -> Option<f64> {
        let largest = votes.iter().fold(0.0, |a: f64, &b| a.max(b));
        let own = votes.get(truth as usize).copied().unwrap_or(0.0);
        (largest > 0.0).then(|| f64::from(u8::from(own < largest)))
    }

    fn alone(&self) -> Box<dyn Learner<Classes>> {
        self.learner.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Built;
    use crate::registry;
    use serde_json::json;

    #[test]
    fn halves_are_even_and_members_differ() {
        let description = registry::resolve(&json!({ "name": "baseline.Prior" })).unwrap();
        let Built::Classifier(prior) = registry::build_resolved(&description).unwrap() else { panic!() };
        let coded = Coded::new(prior);
        let codes: Vec<Vec<u32>> =
            (0..20).map(|index| (0..8).map(|class| coded.placed(3, index).bit(class)).collect()).collect();
        assert!(codes.iter().all(|bits| bits.iter().sum::<u32>() == 4));
        assert!(codes.iter().any(|bits| bits != &codes[0]));
        // The prior of classes 0, 0, 3: a member gives 2/3 to the half of class 0 if class 3 is in the other, else 1.
        let (mut member, mut scratch, mut votes) = (coded.placed(3, 0), Scratch::default(), [0.0; 4]);
        for class in [0, 0, 3] {
            let truths = [class];
            let batch = Batch::new(crate::batch::Rows::One(Row::Plain(&[])), &truths, None);
            let votes = Votes { learned: &mut votes, asked: &mut [], stride: 4 };
            assert!(member.vote_batch(&batch, votes, &mut scratch).is_none());
        }
        member.vote(Row::Plain(&[]), &mut votes, &mut scratch);
        let together = member.bit(0) == member.bit(3);
        assert_eq!(votes[0], if together { 1.0 } else { 2.0 / 3.0 });
        assert_eq!(votes[0] + votes[1], 1.0);
    }
}
