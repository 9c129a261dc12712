//! A growing tree: nodes, leaves, and how an example is learned.

use crate::fault::{Fault, Result};
use crate::naive_bayes::class_table::Spare;
use crate::row::{Row, Scratch};

use super::budget::{Ledger, Overhead};
use super::candidates::Candidate;
use super::decision::Reason;
use super::leaf::Leaf;
use super::node_serde::Reasons;
use super::nodes::{End, Node, Nodes, ROOT, SLOTS};
use super::subspace::Subspace;
use super::tree_leaf::{Target, TreeLeaf, TreeSettings, Want};
use super::tree_prediction::TreePrediction;

/// Sums up to this stay far from overflow, however many moderate numbers are added.
const ROOMY: f64 = 1e250;

#[derive(Clone, Debug)]
pub struct Tree<L: TreeLeaf = Leaf> {
    /// The name in error messages.
    pub name: &'static str,
    pub settings: L::Settings,
    pub nodes: Nodes,
    pub leaves: Vec<L>,
    /// The reason of each split, by node; none for leaves.
    pub reasons: Reasons,
    /// The examples that each node received and that are in no tally of a child.
    pub tallies: Vec<L::Tally>,
    /// The largest allocation of a tally when the tree was last compacted or loaded; an adaptive tree may have lost
    /// classes since.
    pub widest_tally: usize,
    /// One more than the highest class code; 0 in a regression tree.
    pub classes: usize,
    /// Number of examples learned.
    pub learned: u64,
    pub subspace: Option<Subspace>,
    pub ledger: Ledger,
    pub overhead: Overhead,
    pub spare: Spare,
    pub work: L::Work,
}

impl<L: TreeLeaf> Tree<L> {
    pub fn new(name: &'static str, settings: L::Settings, subspace: Option<Subspace>) -> Self {
        let mut tree = Tree {
            name,
            settings,
            nodes: Nodes::default(),
            leaves: Vec::new(),
            reasons: Vec::new(),
            tallies: Vec::new(),
            widest_tally: 0,
            classes: 0,
            learned: 0,
            subspace,
            ledger: Ledger::default(),
            overhead: Overhead::default(),
            spare: Spare::default(),
            work: L::Work::default(),
        };
        tree.new_leaf(0, L::Origin::default(), None);
        tree
    }

    /// A copy that continues on its own, and therefore considers all features.
    pub fn alone(&self) -> Self {
        let mut tree = Tree::new(L::TREE, self.settings, None);
        match L::restore(&mut tree, L::saved_alone(self), &[]) {
            Ok(()) => tree,
            Err(_) => self.clone(),
        }
    }

    /// Add a node with a leaf.
    pub fn new_leaf(&mut self, depth: u32, origin: L::Origin, features: Option<Box<[u32]>>) -> u32 {
        let node = self.nodes.push(Node::leaf(self.leaves.len() as u32));
        self.describe_node();
        self.push_leaf(L::create(node, depth, origin, features));
        node
    }

    /// Add the entries of a new node to the lists by node.
    fn describe_node(&mut self) {
        self.reasons.push(None);
        if self.tallies.len() == self.tallies.capacity() {
            self.tallies.reserve_exact(self.tallies.len() / 4 + 1);
        }
        self.tallies.push(L::Tally::default());
    }

    fn push_leaf(&mut self, leaf: L) {
        if self.leaves.len() == self.leaves.capacity() {
            // Grow by a quarter, not by doubling: leaves take most of a tree's memory.
            self.leaves.reserve_exact(self.leaves.len() / 4 + 1);
        }
        self.leaves.push(leaf);
    }

    fn draw(&mut self, width: usize) -> Option<Box<[u32]>> {
        self.subspace.as_mut().map(|subspace| subspace.draw(width))
    }

    /// Without any examples: no class, or the number 0.
    pub fn predict(&self, x: Row<'_>, want: Want<L>, out: &mut L::Prediction, scratch: &mut Scratch) {
        let (_, leaf) = self.nodes.leaf(x, |_| {});
        self.leaves[leaf as usize].predict(x, &self.settings, want, self.classes, out, scratch);
    }

    /// Predict, then learn, in the same leaf with shared arithmetic. The row is not sparse.
    #[inline]
    pub fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.nodes.route(x, ROOT, |_| {}) {
            End::Leaf { leaf, .. } => self.step_at(leaf, x, y, w, want, out, scratch),
            // Predicted in the default branch, and learned in a new one, which must be removed after a fault.
            End::Branchless { .. } => {
                self.predict(x, want, out, scratch);
                self.learn(x, y, w, scratch)
            }
        }
    }

    /// Learn a row that is not sparse.
    pub fn learn(&mut self, x: Row<'_>, y: Target<L>, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut out = L::Prediction::take(scratch);
        let learned = match self.nodes.route(x, ROOT, |_| {}) {
            End::Leaf { leaf, .. } => self.step_at(leaf, x, y, w, L::Prediction::LEAST, &mut out, scratch),
            // Without memory for another branch, the row takes the default branch.
            End::Branchless { .. } if !self.affords(1) => {
                let (_, leaf) = self.nodes.leaf(x, |_| {});
                self.step_at(leaf, x, y, w, L::Prediction::LEAST, &mut out, scratch)
            }
            End::Branchless { fork, code, .. } => {
                let subspace = self.subspace.clone();
                let leaf = self.branch_out(fork, code, x.width());
                let learned = self.step_at(leaf, x, y, w, L::Prediction::LEAST, &mut out, scratch);
                if learned.is_err() {
                    self.take_back_branch(fork);
                    self.subspace = subspace;
                }
                learned
            }
        };
        out.give(scratch);
        learned
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn step_at(
        &mut self,
        leaf: u32,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.learned == 0 {
            self.begin(x.width());
        }
        let target = &mut self.leaves[leaf as usize];
        if !target.step(x, y, w, &self.settings, want, self.classes, out, &mut self.spare, scratch) {
            return Err(Fault::overflow(self.name));
        }
        self.receive(leaf, y, w);
        self.learned += 1;
        self.classes = self.classes.max(L::classes(y));
        if self.subspace.as_ref().is_some_and(|subspace| subspace.is_narrower(x.width())) {
            self.widen(x.width());
        }
        if *self.leaves[leaf as usize].since() >= self.settings.grace_period() {
            self.attempt(leaf, x.width());
        }
        if self.settings.max_bytes() < usize::MAX {
            self.keep_within(leaf);
        }
        Ok(())
    }

    /// The features of the root are drawn when the first row shows their number.
    #[cold]
    fn begin(&mut self, width: usize) {
        if self.leaves[0].features().is_none() {
            *self.leaves[0].features() = self.draw(width);
            if let Some(subspace) = &mut self.subspace {
                subspace.widen(width);
            }
        }
    }

    /// Let all leaves consider the new features of a row. The row is learned already: a refused row must not draw
    /// anything.
    #[cold]
    fn widen(&mut self, width: usize) {
        let Some(subspace) = &mut self.subspace else { return };
        let Some(before) = subspace.widen(width) else { return };
        for chosen in self.leaves.iter_mut().filter_map(|leaf| leaf.features().as_mut()) {
            subspace.extend(chosen, before, width);
        }
        self.forget_bytes();
    }

    /// Split a leaf if a split is significantly better.
    #[cold]
    pub fn attempt(&mut self, number: u32, width: usize) {
        let leaf = &mut self.leaves[number as usize];
        *leaf.since() = 0.0;
        if leaf.is_idle() {
            self.consider_waking(number);
        } else if let Some((candidate, reason)) = leaf.decide(&self.settings, self.learned, &mut self.work) {
            self.split(number, &candidate, reason, width);
        }
    }

    /// The first branch reuses the leaf that is split; a value without examples has no branch.
    pub fn split(&mut self, number: u32, candidate: &Candidate, reason: Reason, width: usize) {
        let leaf = &self.leaves[number as usize];
        let (node, depth, slot) = (leaf.node(), leaf.depth() + 1, leaf.feature(candidate.slot));
        if slot >= SLOTS || !self.affords_split(number, candidate) {
            return;
        }
        let (weights, origins): (Vec<f64>, Vec<_>) = leaf.branches(candidate, &mut self.work).into_iter().unzip();
        let next = self.leaves.len() as u32;
        let children = self.nodes.split(node, slot as u32, candidate.test, &weights, number, next);
        for ((child, index), origin) in children.into_iter().zip(origins).filter_map(|(at, b)| Some((at?, b))) {
            let features = self.draw(width);
            self.describe_node();
            let leaf = L::create(child, depth, origin, features);
            match self.leaves.get_mut(index as usize) {
                Some(old) => *old = leaf,
                None => self.push_leaf(leaf),
            }
        }
        self.reasons[node as usize] = Some(Box::new(reason));
    }

    /// Add a branch with an empty leaf for a nominal value.
    #[cold]
    pub fn branch_out(&mut self, fork: u32, code: u32, width: usize) -> u32 {
        let depth = self.depth_of(self.nodes.forks[fork as usize].usual);
        let features = self.draw(width);
        let number = self.leaves.len() as u32;
        let node = self.nodes.branch_out(fork, code, number);
        self.describe_node();
        self.push_leaf(L::create(node, depth, L::Origin::default(), features));
        number
    }

    /// Remove the branch that `branch_out` added last.
    #[cold]
    fn take_back_branch(&mut self, fork: u32) {
        self.nodes.take_back_branch(fork);
        self.reasons.pop();
        self.tallies.pop();
        self.leaves.pop();
    }

    /// The depth of a node: that of the leaves below it, minus their distance.
    pub fn depth_of(&self, node: u32) -> u32 {
        let (leaf, below) = self.nodes.some_leaf(node);
        self.leaves[leaf as usize].depth().saturating_sub(below)
    }

    /// The largest number of classes in a leaf: that of the tree as long as no leaf is removed.
    pub fn most_classes(&self) -> usize {
        self.leaves.iter().map(L::known_classes).max().unwrap_or(0)
    }

    /// As in `Part`: a row is refused only if a sum of its leaf would overflow.
    pub fn infallible(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.is_roomy(ROOMY))
    }

    pub fn memory(&self) -> usize {
        self.frame() + self.leaves.iter().map(L::memory).sum::<usize>()
    }

    /// Bytes in addition to the leaves.
    pub fn frame(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.nodes.memory()
            + std::mem::size_of::<Option<Box<Reason>>>() * self.reasons.capacity()
            + std::mem::size_of::<Reason>() * (self.nodes.len() - self.leaves.len())
            + std::mem::size_of::<L>() * (self.leaves.capacity() - self.leaves.len())
            + self.tally_memory()
            + self.ledger.memory()
            + self.spare.memory()
            + L::work_memory(&self.work)
    }
}
