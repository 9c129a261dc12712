//! A classification tree that grows: nodes, leaves, and what happens when an example comes.

use crate::fault::{Fault, Result};
use crate::naive_bayes::class_table::Spare;
use crate::random::Random;
use crate::row::{Prediction, Row, Scratch, Want};

use super::budget::{Beside, Ledger};
use super::candidates::{Candidate, Test, Workspace};
use super::decision::Reason;
use super::leaf::Leaf;
use super::nodes::{End, Fork, Node, Nodes, Place, NOWHERE, ROOT, SLOTS};
use super::settings::Settings;

/// Sums up to this stay far from overflow, however many moderate numbers are added.
const ROOMY: f64 = 1e250;

/// Each leaf looks at features drawn by chance, as in a random forest.
#[derive(Clone, Debug)]
pub struct Subspace {
    /// How many of so many features.
    pub size: fn(usize, f64) -> usize,
    pub argument: f64,
    pub random: Random,
}

#[derive(Clone, Debug)]
pub struct Tree {
    /// What faults are said of.
    pub name: &'static str,
    pub settings: Settings,
    pub nodes: Nodes,
    pub leaves: Vec<Leaf>,
    /// Why each node was split, by node; none for leaves.
    pub reasons: Vec<Option<Box<Reason>>>,
    /// One more than the highest class code.
    pub classes: usize,
    /// Examples learned.
    pub learned: u64,
    pub subspace: Option<Subspace>,
    pub ledger: Ledger,
    pub beside: Beside,
    pub spare: Spare,
    pub work: Workspace,
}

impl Tree {
    pub fn new(name: &'static str, settings: Settings, subspace: Option<Subspace>) -> Self {
        let mut tree = Tree {
            name,
            settings,
            nodes: Nodes::default(),
            leaves: Vec::new(),
            reasons: Vec::new(),
            classes: 0,
            learned: 0,
            subspace,
            ledger: Ledger::default(),
            beside: Beside::default(),
            spare: Spare::default(),
            work: Workspace::default(),
        };
        tree.new_leaf(0, Vec::new(), None);
        tree
    }

    /// Add a node with a leaf.
    pub fn new_leaf(&mut self, depth: u32, counts: Vec<f64>, features: Option<Box<[u32]>>) -> u32 {
        let node = self.nodes.push(Node::leaf(self.leaves.len() as u32));
        self.reasons.push(None);
        if self.leaves.len() == self.leaves.capacity() {
            // A quarter more, not twice as many: leaves are most of a tree.
            self.leaves.reserve_exact(self.leaves.len() / 4 + 1);
        }
        self.leaves.push(Leaf::new(node, depth, counts, features));
        node
    }

    /// Draw the features of a new leaf, of as many as a row has.
    fn draw(&mut self, width: usize) -> Option<Box<[u32]>> {
        let subspace = self.subspace.as_mut()?;
        let size = (subspace.size)(width, subspace.argument).clamp(1, width.max(1));
        // Floyd's algorithm: each subset of this size is as likely as any other.
        let mut chosen: Vec<u32> = Vec::with_capacity(size);
        for last in (width - size.min(width)) as u32..width as u32 {
            let pick = subspace.random.below(last + 1);
            chosen.push(if chosen.contains(&pick) { last } else { pick });
        }
        chosen.sort_unstable();
        Some(chosen.into_boxed_slice())
    }

    /// Before anything was learned: no class.
    pub fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        let (_, leaf) = self.nodes.leaf(x, |_| {});
        self.leaves[leaf as usize].predict(x, self.settings.vote, want, self.classes, out, scratch);
    }

    /// Predict, then learn: both happen in the same leaf, and share its arithmetic. The row is not sparse.
    #[inline]
    pub fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.nodes.route(x, ROOT, |_| {}) {
            End::Leaf { leaf, .. } => self.step_at(leaf, x, y, w, want, out, scratch),
            // It is predicted the usual way and learned in a branch of its own, which must not stay after a fault.
            End::Branchless { .. } => {
                self.predict(x, want, out, scratch);
                self.learn(x, y, w, scratch)
            }
        }
    }

    /// Learn a row that is not sparse.
    pub fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut out = scratch.take_prediction();
        let learned = match self.nodes.route(x, ROOT, |_| {}) {
            End::Leaf { leaf, .. } => self.step_at(leaf, x, y, w, Want::Class, &mut out, scratch),
            // Without memory for another branch it goes the usual way.
            End::Branchless { .. } if !self.affords(1) => {
                let (_, leaf) = self.nodes.leaf(x, |_| {});
                self.step_at(leaf, x, y, w, Want::Class, &mut out, scratch)
            }
            End::Branchless { fork, code, .. } => {
                let subspace = self.subspace.clone();
                let leaf = self.branch_out(fork, code, x.width());
                let learned = self.step_at(leaf, x, y, w, Want::Class, &mut out, scratch);
                if learned.is_err() {
                    self.take_back_branch(fork);
                    self.subspace = subspace;
                }
                learned
            }
        };
        scratch.give_prediction(out);
        learned
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn step_at(
        &mut self,
        leaf: u32,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.learned == 0 {
            self.begin(x.width());
        }
        let place = &mut self.leaves[leaf as usize];
        if !place.step(x, y, w, &self.settings, want, self.classes, out, &mut self.spare, scratch) {
            return Err(Fault::overflow(self.name));
        }
        self.learned += 1;
        self.classes = self.classes.max(y as usize + 1);
        if place.since >= self.settings.grace_period {
            self.attempt(leaf, x.width());
        }
        if self.settings.max_bytes < usize::MAX {
            self.keep_within(leaf);
        }
        Ok(())
    }

    /// The root's features are drawn when the first row tells how many there are.
    #[cold]
    fn begin(&mut self, width: usize) {
        if self.leaves[0].features.is_none() {
            self.leaves[0].features = self.draw(width);
        }
    }

    /// Split a leaf if that has proved good.
    #[cold]
    pub fn attempt(&mut self, number: u32, width: usize) {
        let leaf = &mut self.leaves[number as usize];
        leaf.since = 0.0;
        if leaf.idle {
            self.consider_waking(number);
        } else if let Some((candidate, reason)) = leaf.decide(&self.settings, self.learned, &mut self.work) {
            self.split(number, &candidate, reason, width);
        }
    }

    pub fn split(&mut self, number: u32, candidate: &Candidate, reason: Reason, width: usize) {
        let leaf = &self.leaves[number as usize];
        let (node, depth, slot) = (leaf.node, leaf.depth + 1, leaf.feature(candidate.slot));
        if slot >= SLOTS || !self.affords_split(number, candidate) {
            return;
        }
        let branches: Vec<Vec<f64>> = leaf.branches(candidate, &mut self.work).map(<[f64]>::to_vec).collect();
        let weights: Vec<f64> = branches.iter().map(|branch| branch.iter().sum()).collect();
        let heaviest = (0..weights.len()).fold(0, |best, at| if weights[at] > weights[best] { at } else { best });
        let first = self.nodes.len() as u32;
        // The first branch takes the place of the leaf that is split; a value that never came has no branch.
        let mut children = Vec::with_capacity(branches.len());
        for (counts, weight) in branches.into_iter().zip(&weights) {
            if candidate.test == Test::Each && *weight == 0.0 {
                children.push(NOWHERE);
                continue;
            }
            let features = self.draw(width);
            if self.nodes.len() as u32 == first {
                let child = self.nodes.push(Node::leaf(number));
                self.reasons.push(None);
                self.leaves[number as usize] = Leaf::new(child, depth, counts, features);
                children.push(child);
            } else {
                children.push(self.new_leaf(depth, counts, features));
            }
        }
        let place = match candidate.test {
            Test::AtMost(threshold) => {
                Place::Threshold { slot: slot as u32, threshold, first, right: heaviest == 1 }
            }
            Test::Each | Test::Is(_) => {
                let usual = children[heaviest];
                let fork = match candidate.test {
                    Test::Is(code) => {
                        let mut own = vec![NOWHERE; code as usize + 1];
                        own[code as usize] = children[0];
                        Fork { children: own, other: children[1], usual }
                    }
                    _ => Fork { children, other: NOWHERE, usual },
                };
                self.nodes.forks.push(fork);
                Place::Fork { slot: slot as u32, fork: self.nodes.forks.len() as u32 - 1 }
            }
        };
        self.nodes.set(node, Node::new(place));
        self.reasons[node as usize] = Some(Box::new(reason));
    }

    /// Give a nominal value a branch with an empty leaf.
    #[cold]
    pub fn branch_out(&mut self, fork: u32, code: u32, width: usize) -> u32 {
        let sibling = self.nodes.forks[fork as usize].usual;
        let depth = self.depth_of(sibling);
        let features = self.draw(width);
        let child = self.new_leaf(depth, Vec::new(), features);
        let children = &mut self.nodes.forks[fork as usize].children;
        if children.len() <= code as usize {
            children.resize(code as usize + 1, NOWHERE);
        }
        children[code as usize] = child;
        self.leaves.len() as u32 - 1
    }

    /// Take back the branch that `branch_out` made last.
    #[cold]
    fn take_back_branch(&mut self, fork: u32) {
        let last = self.nodes.len() as u32 - 1;
        let children = &mut self.nodes.forks[fork as usize].children;
        children.iter_mut().filter(|child| **child == last).for_each(|child| *child = NOWHERE);
        while children.last() == Some(&NOWHERE) {
            children.pop();
        }
        self.nodes.pop();
        self.reasons.pop();
        self.leaves.pop();
    }

    /// The depth of a node: that of the leaves below it, less the way to them.
    pub fn depth_of(&self, node: u32) -> u32 {
        let (mut at, mut below) = (node, 0);
        loop {
            match self.nodes.get(at).map(Node::place) {
                Some(Place::Leaf(leaf)) => return self.leaves[leaf as usize].depth.saturating_sub(below),
                Some(Place::Threshold { first, .. }) => at = first,
                Some(Place::Fork { fork, .. }) => at = self.nodes.forks[fork as usize].usual,
                None => return 0,
            }
            below += 1;
        }
    }

    /// As in `Part`: a row is refused only where a sum of its leaf would overflow.
    pub fn never_refuses(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.weight() <= ROOMY && leaf.table.is_roomy(ROOMY))
    }

    pub fn memory(&self) -> usize {
        self.frame() + self.leaves.iter().map(Leaf::memory).sum::<usize>()
    }

    /// Bytes held beside the leaves.
    pub fn frame(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.nodes.memory()
            + std::mem::size_of::<Option<Box<Reason>>>() * self.reasons.capacity()
            + std::mem::size_of::<Reason>() * (self.nodes.len() - self.leaves.len())
            + std::mem::size_of::<Leaf>() * (self.leaves.capacity() - self.leaves.len())
            + self.ledger.memory()
            + self.spare.memory()
            + self.work.memory()
    }
}
