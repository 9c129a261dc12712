//! The examples that each node received: class weights, or the moments of the target.
//!
//! A node's tally has only the examples that ended in it while it was a leaf; later ones are in the tallies of its
//! children. So learning writes one tally per example, a split writes none, and the total of a node is its tally plus
//! the totals of its children. When a subtree is removed or replaced, its total stays in the node (`keep_total`,
//! `keep_total_beside`). Leaves also have initial weights that their parent's split estimated; tallies do not count
//! these.
//!
//! Old files have no tallies. Then the tally of a leaf starts with all its weights, estimates included, and the total
//! of a split is that of its leaves.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use super::growth::Tree;
use super::histogram::Content;
use super::target::Targets;
use super::tree_leaf::{Target, TreeLeaf};

pub trait Tally<Y>: Clone + Debug + Default + PartialEq + Send + Sync + Serialize + DeserializeOwned {
    fn put(&mut self, y: Y, w: f64);
    fn merge(&mut self, other: &Self);
    /// Subtract `other`, which is a subset of this.
    fn remove(&mut self, other: &Self);
    /// Allocated bytes.
    fn memory(&self) -> usize;
    /// The largest allocation for a number of classes.
    fn most_memory(classes: usize) -> usize;
    fn is_sound(&self) -> bool;
}

/// By class code.
impl Tally<u32> for Vec<f64> {
    #[inline(always)]
    fn put(&mut self, y: u32, w: f64) {
        match self.get_mut(y as usize) {
            Some(count) => *count = (*count + w).min(f64::MAX),
            None => {
                lengthen(self, y as usize + 1);
                self[y as usize] = w;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        lengthen(self, other.len());
        self.iter_mut().zip(other).for_each(|(sum, count)| *sum = (*sum + count).min(f64::MAX));
    }

    fn remove(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(rest, count)| *rest = (*rest - count).max(0.0));
    }

    fn memory(&self) -> usize {
        8 * self.len()
    }

    fn most_memory(classes: usize) -> usize {
        8 * classes
    }

    fn is_sound(&self) -> bool {
        all_finite(self) && self.iter().all(|&count| count >= 0.0)
    }
}

#[cold]
fn lengthen(counts: &mut Vec<f64>, length: usize) {
    if counts.len() < length {
        counts.reserve_exact(length - counts.len());
        counts.resize(length, 0.0);
    }
}

impl Tally<f64> for Targets {
    #[inline(always)]
    fn put(&mut self, y: f64, w: f64) {
        let targets = self.with(y, w);
        // A leaf that replaced a subtree may accept a target that makes the sum of both overflow.
        if targets.is_sound() {
            *self = targets;
        }
    }

    fn merge(&mut self, other: &Self) {
        Content::add(self, other);
    }

    /// The inverse of merging (Chan, Golub and LeVeque, 1979). A remainder of rounding only has no mean.
    fn remove(&mut self, other: &Self) {
        let weight = self.weight - other.weight;
        if weight <= 1e-12 * self.weight {
            *self = Targets::default();
            return;
        }
        let mean = self.mean + (self.mean - other.mean) * (other.weight / weight);
        let delta = other.mean - mean;
        let between = delta * delta * (other.weight * (weight / self.weight));
        let rest = Targets { weight, mean, squares: (self.squares - other.squares - between).max(0.0) };
        if rest.is_sound() {
            *self = rest;
        }
    }

    fn memory(&self) -> usize {
        0
    }

    fn most_memory(_classes: usize) -> usize {
        0
    }

    fn is_sound(&self) -> bool {
        Targets::is_sound(self)
    }
}

impl<L: TreeLeaf> Tree<L> {
    /// Record an example that a leaf has learned.
    #[inline(always)]
    pub fn receive(&mut self, leaf: u32, y: Target<L>, w: f64) {
        let node = self.leaves[leaf as usize].node();
        self.tallies[node as usize].put(y, w);
    }

    /// All that a node received.
    pub fn total(&self, node: u32) -> L::Tally {
        let mut total = L::Tally::default();
        let mut below = vec![node];
        while let Some(at) = below.pop() {
            total.merge(&self.tallies[at as usize]);
            below.extend(self.nodes.children(at));
        }
        total
    }

    /// The same for every node.
    pub fn totals(&self) -> Vec<L::Tally> {
        let mut totals = self.tallies.clone();
        // Children are behind their parents, so that in reverse order every sum is complete before it is passed on.
        for at in (0..self.nodes.len()).rev() {
            let mut total = std::mem::take(&mut totals[at]);
            self.nodes.children(at as u32).iter().for_each(|&child| total.merge(&totals[child as usize]));
            totals[at] = total;
        }
        totals
    }

    /// Before a subtree is removed: its total moves to the tally of the node.
    pub fn keep_total(&mut self, node: u32) {
        self.tallies[node as usize] = self.total(node);
    }

    /// Before an alternate replaces the subtree of a node: the examples of the alternate's branches are a subset of the
    /// node's, and the rest moves to the node's tally.
    pub fn keep_total_beside(&mut self, node: u32, alternate: u32) {
        let mut rest = self.total(node);
        for child in self.nodes.children(alternate) {
            rest.remove(&self.total(child));
        }
        self.tallies[node as usize] = rest;
    }

    /// Restore saved tallies, or those of the leaves for old files.
    pub fn restore_tallies(&mut self, saved: Option<Vec<L::Tally>>) -> Result<()> {
        let known = || {
            let mut known = vec![L::Tally::default(); self.nodes.len()];
            self.leaves.iter().for_each(|leaf| known[leaf.node() as usize] = leaf.known());
            known
        };
        let tallies = saved.unwrap_or_else(known);
        require(self.name, tallies.len() == self.nodes.len(), "a node without a tally")?;
        require(self.name, tallies.iter().all(L::Tally::is_sound), "an invalid tally")?;
        self.tallies = tallies;
        self.measure_tallies();
        Ok(())
    }

    pub fn measure_tallies(&mut self) {
        self.widest_tally = self.tallies.iter().map(L::Tally::memory).max().unwrap_or(0);
    }

    /// The largest allocation of a tally.
    pub fn most_tally_memory(&self) -> usize {
        self.widest_tally.max(L::Tally::most_memory(self.classes))
    }

    pub fn tally_memory(&self) -> usize {
        std::mem::size_of::<L::Tally>() * self.tallies.capacity()
            + self.tallies.iter().map(L::Tally::memory).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use crate::tree::candidates::{Candidate, Test};
    use crate::tree::decision::Reason;
    use crate::tree::settings::ClassificationSettings;

    #[test]
    fn parts_of_targets_are_removed_by_hand() {
        // 1, 3, 8 has mean 4 and squares 26; without 8 there remain 1 and 3, of mean 2 and squares 2.
        let [mut all, mut part] = [Targets::default(); 2];
        [1.0, 3.0, 8.0].iter().for_each(|&y| all.put(y, 1.0));
        part.put(8.0, 1.0);
        let whole = all;
        all.remove(&part);
        assert_eq!((all.weight, all.mean, all.squares), (2.0, 2.0, 2.0));
        all.merge(&part);
        assert!((all.mean - 4.0).abs() < 1e-15 && (all.squares - 26.0).abs() < 1e-13);
        all.remove(&whole);
        assert_eq!(all, Targets::default());
    }

    #[test]
    fn sums_of_counts_stay_finite() {
        let mut counts = vec![1.0, f64::MAX];
        counts.put(1, f64::MAX);
        counts.put(2, 3.0);
        counts.merge(&vec![0.0, f64::MAX]);
        assert_eq!(counts, [1.0, f64::MAX, 3.0]);
        Tally::remove(&mut counts, &vec![2.0, 0.0]);
        assert_eq!(counts, [0.0, f64::MAX, 3.0]);
    }

    fn tree() -> Tree {
        let tree = registry::resolve(&serde_json::json!({ "name": "tree.HoeffdingTreeClassifier" })).unwrap();
        let arguments = tree["parameters"].as_object().unwrap();
        let settings =
            ClassificationSettings::new(&Arguments::new("tree.HoeffdingTreeClassifier", arguments)).unwrap();
        Tree::new("tree", settings, None)
    }

    #[test]
    fn a_split_and_an_alternate_by_hand() {
        let (mut tree, mut scratch) = (tree(), Scratch::default());
        let mut learn = |tree: &mut Tree, x: f64, y, w| tree.learn(Row::Plain(&[x]), y, w, &mut scratch).unwrap();
        learn(&mut tree, 0.0, 0, 2.0);
        learn(&mut tree, 1.0, 1, 1.5);
        let candidate = Candidate { slot: 0, merit: 1.0, test: Test::AtMost(0.5) };
        let (second, second_merit) = (None, 0.0);
        let reason = Reason { learned: 2, weight: 3.5, merit: 1.0, second, second_merit, bound: 0.1, tie: false };
        tree.split(0, &candidate, reason, 1);
        learn(&mut tree, 0.0, 1, 4.0);
        learn(&mut tree, 1.0, 2, 1.0);
        // The two examples before the split belong to the root alone, whatever its leaves start with.
        assert_eq!(tree.tallies, [vec![2.0, 1.5], vec![0.0, 4.0], vec![0.0, 0.0, 1.0]]);
        assert_eq!(tree.totals()[0], [2.0, 5.5, 1.0]);
        assert!(tree.leaves[0].counts[0] > 1.9);
        // An alternate leaf of the root that received the last example too.
        let alternate = tree.new_leaf(0, Vec::new(), None);
        tree.tallies[alternate as usize] = vec![0.0, 0.0, 1.0];
        let mut other = tree.clone();
        other.keep_total_beside(0, alternate);
        assert_eq!(other.tallies[0], [2.0, 5.5, 1.0]);
        // Replacing an alternate whose branches received the same as the root's.
        tree.keep_total_beside(0, 0);
        assert_eq!((&tree.tallies[0][..], tree.total(0)), (&[2.0, 1.5, 0.0][..], vec![2.0, 5.5, 1.0]));
        tree.keep_total(0);
        assert_eq!(tree.tallies[0], [2.0, 5.5, 1.0]);
    }

    #[test]
    fn without_saved_tallies_the_leaves_tell_what_they_know() {
        let mut tree = tree();
        tree.leaves[0].counts = vec![1.0, 2.5];
        tree.restore_tallies(None).unwrap();
        assert_eq!(tree.totals(), [[1.0, 2.5]]);
        assert!(tree.restore_tallies(Some(vec![vec![-1.0]])).is_err());
        assert!(tree.restore_tallies(Some(vec![Vec::new(), Vec::new()])).is_err());
        assert_eq!(tree.totals(), [[1.0, 2.5]]);
    }
}
