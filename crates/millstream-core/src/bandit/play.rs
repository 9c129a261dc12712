//! A game: a policy plays rounds in a world, and its regret and rewards are summed.

use super::actions::Given;
use super::decider::Decider;
use super::worlds::World;
use crate::fault::Result;
use crate::held::Held;
use crate::labels::Label;

/// The sums so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    pub regret: f64,
    pub reward: f64,
}

impl Held<Decider> {
    /// Play some rounds, in which each action of the world can be taken and its reward is learned at once. Every action of
    /// the world has a label.
    pub fn play(&mut self, world: &mut World, labels: &[Label], rounds: u64, sums: &mut Sums) -> Result<()> {
        let given: Vec<Given<'_>> = labels.iter().map(Given::from).collect();
        let codes = self.part.list(&given).map_err(|fault| fault.by(&self.title))?;
        for _ in 0..rounds {
            world.begin();
            let (index, probability) = self.part.draw(&codes);
            let reward = world.reward(index);
            sums.regret += world.regret(index);
            sums.reward += reward;
            self.part.learn_taken(codes[index], reward, probability).map_err(|fault| fault.by(&self.title))?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }
}
