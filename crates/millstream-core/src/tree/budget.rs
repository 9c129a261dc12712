//! A memory limit for a tree (Domingos and Hulten, 2000, section 3).
//!
//! Leaves take most of a tree's memory. When the tree exceeds its limit, the least promising leaves discard their
//! statistics and go on counting classes, or averaging numbers. The promise of a leaf is what splits could gain: the
//! weight of its examples outside the majority class, or the squared error of its mean. A leaf that becomes more
//! promising than one with statistics replaces it. A split or a branch that does not fit is not made.
//!
//! Bytes are counted from the contents and the capacity that vectors may reserve, not from their actual capacity, so
//! that a tree continues identically after saving and loading.

use super::candidates::{Candidate, Test};
use super::decision::Reason;
use super::growth::Tree;
use super::nodes::Node;
use super::tree_leaf::{TreeLeaf, TreeSettings};

/// The bytes of each leaf, and their sum; empty in a tree without a limit.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    bytes: Vec<usize>,
    total: usize,
}

/// The bytes that the owner of a tree keeps in addition to it, in total and per node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overhead {
    pub bytes: usize,
    pub by_node: usize,
}

impl Ledger {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity() * std::mem::size_of::<usize>()
    }

    fn set(&mut self, leaf: usize, bytes: usize) {
        if self.bytes.len() <= leaf {
            self.bytes.resize(leaf + 1, 0);
        }
        self.total = self.total - self.bytes[leaf] + bytes;
        self.bytes[leaf] = bytes;
    }
}

impl<L: TreeLeaf> Tree<L> {
    pub fn count_bytes(&mut self) {
        self.ledger = Ledger::default();
        if self.settings.max_bytes() < usize::MAX {
            for leaf in 0..self.leaves.len() {
                self.ledger.set(leaf, self.leaves[leaf].memory());
            }
        }
    }

    /// The sum over all leaves, as last counted.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> usize {
        self.ledger.total
    }

    /// After changes other than learning: recount everything.
    pub fn forget_bytes(&mut self) {
        self.ledger = Ledger::default();
    }

    /// Recount a leaf that has learned, unless all leaves are to be recounted.
    pub fn recount_bytes(&mut self, leaf: u32) {
        if self.ledger.len() == self.leaves.len() {
            self.ledger.set(leaf as usize, self.leaves[leaf as usize].memory());
        }
    }

    /// After a leaf has learned: deactivate leaves until the tree fits its limit.
    pub fn keep_within(&mut self, leaf: u32) {
        match self.ledger.len() == self.leaves.len() {
            true => self.recount_bytes(leaf),
            false => self.count_bytes(),
        }
        let frame = self.frame_at_most(self.leaves.len(), self.ledger.bytes[leaf as usize]);
        while self.ledger.total + frame > self.settings.max_bytes() {
            let Some(least) = self.least_promising() else { return };
            self.leaves[least].rest();
            self.ledger.set(least, self.leaves[least].memory());
        }
    }

    /// Whether the tree fits its limit.
    pub fn fits(&self) -> bool {
        self.ledger.total + self.frame_at_most(self.leaves.len(), 0) <= self.settings.max_bytes()
    }

    /// The least promising leaf with statistics.
    fn least_promising(&self) -> Option<usize> {
        let busy = self.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_idle());
        busy.min_by(|(_, a), (_, b)| a.promise().total_cmp(&b.promise())).map(|(index, _)| index)
    }

    /// Reactivate an idle leaf if it fits, or if another leaf is less promising.
    pub fn consider_waking(&mut self, number: u32) {
        let number = number as usize;
        let busy = self.leaves.iter().filter(|leaf| !leaf.is_idle());
        let (count, bytes) = busy.fold((0, 0), |(count, bytes), leaf| (count + 1, bytes + leaf.memory()));
        let usual = bytes.checked_div(count).unwrap_or(self.settings.max_bytes() / 4);
        let frame = self.frame_at_most(self.leaves.len(), usual);
        let room = self.settings.max_bytes().saturating_sub(self.ledger.total + frame);
        if room < usual {
            let promise = self.leaves[number].promise();
            match self.least_promising().filter(|&least| self.leaves[least].promise() < promise) {
                Some(least) => self.leaves[least].rest(),
                None => return,
            }
        }
        self.leaves[number].wake();
        self.count_bytes();
    }

    /// Whether this many additional idle leaves would fit if all others were idle.
    pub fn affords(&self, leaves: usize) -> bool {
        if self.settings.max_bytes() == usize::MAX {
            return true;
        }
        let at_rest = self.leaves.iter().map(|leaf| leaf.memory_at_rest(self.classes));
        let idle = at_rest.max().unwrap_or(0);
        let leaves = self.leaves.len() + leaves;
        leaves * idle + self.frame_at_most(leaves, 0) <= self.settings.max_bytes()
    }

    /// Bytes in addition to this many leaves, of which the active one takes `leaf`: nodes and reasons, capacity that
    /// vectors may reserve, and work space.
    fn frame_at_most(&self, leaves: usize, leaf: usize) -> usize {
        let nodes = self.nodes.len() + leaves - self.leaves.len();
        let node = std::mem::size_of::<Node>() + 2 * std::mem::size_of::<usize>();
        let forks: usize = self.nodes.forks.iter().map(|fork| 8 * fork.children.len() + 64).sum();
        std::mem::size_of::<Self>()
            + 2 * node * nodes
            + std::mem::size_of::<L::Tally>() * (nodes + nodes / 4 + 1)
            + self.most_tally_memory() * nodes
            + std::mem::size_of::<Reason>() * (nodes - leaves.min(nodes))
            + std::mem::size_of::<L>() * (leaves / 4 + 1)
            + 2 * forks
            + L::COPIES * leaf
            + self.overhead.bytes
            + self.overhead.by_node * nodes
            + L::most_work(&self.settings, self.classes)
    }

    pub fn affords_split(&self, number: u32, candidate: &Candidate) -> bool {
        self.affords(match candidate.test {
            Test::Each => self.leaves[number as usize].values(candidate.slot),
            Test::AtMost(_) | Test::Is(_) => 2,
        })
    }
}
