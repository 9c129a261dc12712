//! The features that the leaves of a forest's tree consider, drawn at random for each leaf.
//!
//! When new features appear, the lists of all leaves grow to the required size by drawing from them; chosen features
//! keep their index, by which statistics are stored. A list of the required size gets one more with the probability
//! that a new feature would have in a draw among all: otherwise features that appear one by one would find every list
//! full.

use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::random::Random;

#[derive(Clone, Debug)]
pub struct Subspace {
    /// The number of features to draw, given the number of features.
    size: fn(usize, f64) -> usize,
    argument: f64,
    random: Random,
    /// The largest width of a learned row; none before the first.
    width: Option<usize>,
}

impl Subspace {
    pub fn new((size, argument): (fn(usize, f64) -> usize, f64), random: Random) -> Self {
        Subspace { size, argument, random, width: None }
    }

    fn size_of(&self, width: usize) -> usize {
        (self.size)(width, self.argument).clamp(1, width.max(1))
    }

    /// Whether a row has features that the leaves could not choose from.
    #[inline(always)]
    pub fn is_narrower(&self, width: usize) -> bool {
        self.width.is_none_or(|known| width > known)
    }

    /// Record the width of a row; returns the previous width, if any.
    pub fn widen(&mut self, width: usize) -> Option<usize> {
        self.width.replace(width)
    }

    /// Draw the features of a new leaf from those of a row; later features are drawn for all leaves together.
    pub fn draw(&mut self, width: usize) -> Box<[u32]> {
        let width = self.width.map_or(width, |known| known.min(width));
        let size = self.size_of(width);
        // Floyd's algorithm: all subsets of this size are equally likely.
        let mut chosen = vec![false; width];
        for last in width - size.min(width)..width {
            let pick = self.random.below(last as u32 + 1) as usize;
            let index = if chosen[pick] { last } else { pick };
            chosen[index] = true;
        }
        (0..width as u32).filter(|&index| chosen[index as usize]).collect()
    }

    /// Draw for a leaf from the features `before` to `width`.
    pub fn extend(&mut self, chosen: &mut Box<[u32]>, before: usize, width: usize) {
        let (size, new) = (self.size_of(width), width.saturating_sub(before));
        let mut due = size.saturating_sub(chosen.len());
        if chosen.len() == size && self.random.unit() * (width as f64) < size as f64 * new as f64 {
            due = 1;
        }
        if due == 0 {
            return;
        }
        let mut slots = std::mem::take(chosen).into_vec();
        slots.reserve_exact(due.min(new));
        self.random.sample(before, width, due, &mut slots);
        *chosen = slots.into_boxed_slice();
    }

    pub fn saved(&self) -> (Random, Option<u32>) {
        (self.random.clone(), self.width.map(|width| width as u32))
    }

    /// Restore the saved state. Old files have no width; then the next row sets it. The width is only compared, so that
    /// a forged one allocates no memory.
    pub fn restored<'a>(
        like: &Option<Subspace>,
        who: &str,
        saved: (Option<Random>, Option<u32>),
        mut lists: impl Iterator<Item = Option<&'a [u32]>>,
    ) -> Result<Option<Subspace>> {
        let (random, width) = saved;
        require(who, random.is_some() == like.is_some(), "a random generator is missing")?;
        require(who, width.is_none() || like.is_some(), "a width without random features")?;
        let within = |list: Option<&[u32]>| list.and_then(<[u32]>::last).is_none_or(|last| Some(*last) < width);
        require(who, width.is_none() || lists.all(within), "a feature beyond the width of rows")?;
        Ok(like.clone().zip(random).map(|(like, random)| {
            let width = width.map(|width| width as usize);
            Subspace { random, width, ..like }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subspace(fraction: f64, seed: u64) -> Subspace {
        let size: fn(usize, f64) -> usize = |features, fraction| (features as f64 * fraction).round() as usize;
        Subspace::new((size, fraction), Random::new(seed, 1))
    }

    #[test]
    fn a_list_is_drawn_as_floyd_says() {
        let mut random = Random::new(7, 1);
        let mut expected: Vec<u32> = Vec::new();
        for last in 800..2000 {
            let pick = random.below(last + 1);
            expected.push(if expected.contains(&pick) { last } else { pick });
        }
        expected.sort_unstable();
        assert_eq!(subspace(0.6, 7).draw(2000)[..], expected);
    }

    #[test]
    fn lists_grow_to_the_size_that_is_due() {
        let mut chosen = [0; 20];
        for seed in 0..2000 {
            let mut subspace = subspace(0.6, seed);
            let mut list = subspace.draw(10);
            assert_eq!(list.len(), 6);
            let before = list.clone();
            // Of 20, 12 are due: the 6, and 6 of the 10 new ones.
            subspace.extend(&mut list, 10, 20);
            assert!(list.len() == 12 && list[..6] == before[..] && list.is_sorted_by(|a, b| a < b));
            list.iter().for_each(|&slot| chosen[slot as usize] += 1);
        }
        // Each of 2000 · 6 / 10 times, with a deviation of √(1200 · 0.4) = 22.
        assert!(chosen.iter().all(|count: &i32| (count - 1200).abs() < 100), "{chosen:?}");
    }

    #[test]
    fn features_that_come_one_by_one_all_have_a_chance() {
        // Of 1 and of 2 features one is due (0.6 and 1.2), so that the second comes into half of the lists.
        let mut chosen = [0i32; 12];
        for seed in 0..2000 {
            let mut subspace = subspace(0.6, seed);
            let mut list = subspace.draw(1);
            for width in 2..=12 {
                subspace.extend(&mut list, width - 1, width);
                assert!(list.len() <= subspace.size_of(width) + 1 && list.is_sorted_by(|a, b| a < b));
            }
            list.iter().for_each(|&slot| chosen[slot as usize] += 1);
        }
        assert_eq!(chosen[0], 2000);
        assert!((chosen[1] - 1000).abs() < 100 && chosen.iter().all(|&count| count > 200), "{chosen:?}");
    }
}
