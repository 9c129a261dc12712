//! A tree within a limit of memory (Domingos and Hulten, 2000, section 3).
//!
//! Leaves are most of a tree. When it comes to weigh more than it may, the leaves that promise least give up their
//! statistics, and go on counting classes, or averaging numbers; a leaf promises what splits could win, which is the
//! weight of its examples that are not of its largest class, or the squared errors of its mean. A leaf that has become
//! more promising than one with statistics takes its place. A split or a branch for which there is no room is not made.
//!
//! Bytes are counted from what is there and what vectors may reserve beside it, not from what they happen to reserve, so
//! that a tree that was saved and loaded goes on as it would have.

use super::candidates::{Candidate, Test};
use super::decision::Reason;
use super::growth::Tree;
use super::nodes::Node;
use super::tree_leaf::{TreeLeaf, TreeSettings};

/// What each leaf weighs, and all of them; empty in a tree without a limit.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    bytes: Vec<usize>,
    total: usize,
}

/// What the owner of a tree keeps beside it, in all and for each node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
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

    /// What all leaves weigh, as far as it was counted.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> usize {
        self.ledger.total
    }

    /// For changes other than learning: all is counted anew.
    pub fn forget_bytes(&mut self) {
        self.ledger = Ledger::default();
    }

    /// Count a leaf that has learned, unless all are to be counted.
    pub fn recount_bytes(&mut self, leaf: u32) {
        if self.ledger.len() == self.leaves.len() {
            self.ledger.set(leaf as usize, self.leaves[leaf as usize].memory());
        }
    }

    /// After a leaf has learned: let leaves rest until the tree weighs no more than it may.
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

    /// Whether the tree weighs no more than it may.
    pub fn fits(&self) -> bool {
        self.ledger.total + self.frame_at_most(self.leaves.len(), 0) <= self.settings.max_bytes()
    }

    /// The leaf with statistics that promises least.
    fn least_promising(&self) -> Option<usize> {
        let busy = self.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_idle());
        busy.min_by(|(_, a), (_, b)| a.promise().total_cmp(&b.promise())).map(|(place, _)| place)
    }

    /// Let an idle leaf gather statistics again, if there is room, or if another promises less.
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

    /// Whether so many more idle leaves would fit, if all others were idle.
    pub fn affords(&self, leaves: usize) -> bool {
        if self.settings.max_bytes() == usize::MAX {
            return true;
        }
        let at_rest = self.leaves.iter().map(|leaf| leaf.memory_at_rest(self.classes));
        let idle = at_rest.max().unwrap_or(0);
        let leaves = self.leaves.len() + leaves;
        leaves * idle + self.frame_at_most(leaves, 0) <= self.settings.max_bytes()
    }

    /// Bytes beside so many leaves, of which one that is at work weighs `leaf`: nodes and reasons, what vectors may
    /// reserve, and working space.
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
            + self.beside.bytes
            + self.beside.by_node * nodes
            + L::most_work(&self.settings, self.classes)
    }

    pub fn affords_split(&self, number: u32, candidate: &Candidate) -> bool {
        self.affords(match candidate.test {
            Test::Each => self.leaves[number as usize].values(candidate.slot),
            Test::AtMost(_) | Test::Is(_) => 2,
        })
    }
}
