//! The extremely fast decision tree: splits as soon as a split is better than none, and reevaluates its splits.
//!
//! Inner nodes continue to gather the statistics that they had as leaves, from all examples that pass. At regular
//! intervals, the node's split is compared with the currently best one. A significantly better split on another feature
//! replaces it, and the subtree restarts; a better threshold on the same feature is moved, and the branches stay. Where
//! a split is worse than none, the node becomes a leaf again, with its statistics.

use serde_json::Value as Json;

use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::ClassPrediction;

use super::candidates::{Candidate, Test};
use super::changes::{Change, Changes, What};
use super::decision::{hoeffding_bound, Reason};
use super::efdt_budget::{weight_of, Weights};
use super::growth::Tree;
use super::leaf::Leaf;
use super::nodes::{End, Node, NodeKind, NOWHERE, ROOT, SLOTS};
use super::overflow_limits::LearnsAtSeveralNodes;
use super::settings::{ClassificationSettings, LeafClassifier};
use super::tree_model::AnyTree;

/// The state of an inner node.
#[derive(Clone, Debug)]
pub struct Inner {
    /// Its statistics; `since` counts from the last reevaluation.
    pub statistics: Leaf,
    /// How often its split was reevaluated, and changed.
    pub reconsidered: u64,
    pub changed: u64,
}

/// The node's split compared with the currently best one.
struct Comparison {
    best: Option<Candidate>,
    /// The best split on the feature of the node's split.
    same: Option<Candidate>,
    /// The merit of the node's current split.
    own: f64,
    bound: f64,
}

#[derive(Clone, Debug)]
pub struct AnytimeTree {
    pub tree: Tree,
    /// By node; none for leaves.
    pub inner: Vec<Option<Box<Inner>>>,
    /// The weight of examples between reevaluations of a split.
    pub every: f64,
    pub replaced: u64,
    pub moved: u64,
    pub killed: u64,
    pub changes: Changes,
    /// Whether the tree has learned numbers beyond the limits of `overflow_limits`.
    pub exceeded_limits: bool,
    pub path: Vec<u32>,
    pub weights: Weights,
}

impl AnytimeTree {
    pub fn new(tree: Tree, every: f64) -> Self {
        let mut anytime = AnytimeTree {
            inner: vec![None; tree.nodes.len()],
            tree,
            every,
            replaced: 0,
            moved: 0,
            killed: 0,
            changes: Changes::default(),
            exceeded_limits: false,
            path: Vec::new(),
            weights: Weights::default(),
        };
        anytime.update_overhead();
        anytime
    }

    /// From the root down, until a change has removed the rest of the path.
    #[inline]
    fn reconsider_path(&mut self, leaf: u32, width: usize) {
        for index in 0..self.path.len() {
            let node = self.path[index];
            let Some(inner) = &mut self.inner[node as usize] else { continue };
            if inner.statistics.since >= self.every {
                inner.statistics.since = 0.0;
                inner.reconsidered += 1;
                if self.reconsider(node, width) {
                    return;
                }
            }
        }
        if self.tree.leaves[leaf as usize].since >= self.tree.settings.grace_period {
            self.attempt(leaf, width);
        }
    }

    /// Split a leaf if that is better than not splitting.
    #[cold]
    fn attempt(&mut self, number: u32, width: usize) {
        let Tree { leaves, settings, work, .. } = &mut self.tree;
        let leaf = &mut leaves[number as usize];
        leaf.since = 0.0;
        if leaf.idle {
            return self.tree.consider_waking(number);
        }
        let (weight, present) = (leaf.weight(), present(leaf));
        let largest = leaf.counts.iter().copied().fold(0.0, f64::max);
        if leaf.depth >= settings.max_depth || present < 2 || largest / weight > settings.max_share_to_split {
            return;
        }
        let splits = (0..leaf.width()).filter_map(|slot| leaf.best_split(slot, settings, work));
        let least = if settings.merit_preprune { 0.0 } else { f64::NEG_INFINITY };
        let Some(best) = better(splits).filter(|best| best.merit > least) else { return };
        let bound = hoeffding_bound(settings.criterion.range(present), settings.delta, weight);
        if best.merit > bound || bound < settings.tau {
            let tie = best.merit <= bound;
            let (learned, merit) = (self.tree.learned, best.merit);
            let reason = Reason { learned, weight, merit, second: None, second_merit: 0.0, bound, tie };
            let statistics = self.tree.leaves[number as usize].clone();
            self.split(number, &best, reason, Inner { statistics, reconsidered: 0, changed: 0 }, width);
        }
    }

    /// Split a leaf, and continue its statistics in the node.
    fn split(&mut self, number: u32, candidate: &Candidate, reason: Reason, inner: Inner, width: usize) {
        let node = inner.statistics.node;
        let count = self.tree.nodes.len();
        self.weights.stale = true;
        if self.tree.settings.max_bytes < usize::MAX {
            self.tree.overhead.bytes += weight_of(&inner);
        }
        self.tree.split(number, candidate, reason, width);
        self.inner.resize(self.tree.nodes.len(), None);
        if self.tree.nodes.len() > count {
            self.inner[node as usize] = Some(Box::new(inner));
        }
    }

    /// Whether the branches below the node have changed.
    #[cold]
    fn reconsider(&mut self, node: u32, width: usize) -> bool {
        let Some((slot, test)) = self.test_of(node) else { return false };
        let Some(comparison) = self.compare(node, slot, test) else { return false };
        let Comparison { best, same, own, bound } = comparison;
        let tau = self.tree.settings.tau;
        // With a tie, the merit must be larger by a fifth: otherwise two splits of equal merit would replace each
        // other, and their subtrees, forever.
        let proves = |old: f64, new: f64| {
            let margin = (new / 5.0).max(tau / 20.0);
            new - old > bound || (bound < tau && new - old > margin)
        };
        let merit_of = |split: Option<Candidate>| split.map_or(f64::NEG_INFINITY, |split| split.merit);
        if -merit_of(best) > bound {
            self.note(What::Killed, node, None, own, 0.0, bound);
            self.kill(node);
            return true;
        }
        if let Some(best) = best.filter(|best| best.slot != slot && proves(merit_of(same), best.merit)) {
            return self.replace(node, &best, merit_of(same), bound, width);
        }
        let Some(same) = same.filter(|same| same.test != test && proves(own, same.merit)) else { return false };
        let Some(kind) = self.tree.nodes.get(node).map(Node::kind) else { return false };
        match (kind, same.test) {
            (NodeKind::Threshold { slot, first, right, .. }, Test::AtMost(threshold)) => {
                self.note(What::Moved, node, Some(slot), own, same.merit, bound);
                self.tree.nodes.set(node, Node::new(NodeKind::Threshold { slot, threshold, first, right }));
                self.moved += 1;
                self.count_change(node);
                false
            }
            _ => self.replace(node, &same, own, bound, width),
        }
    }

    /// The feature and test of a split.
    fn test_of(&self, node: u32) -> Option<(usize, Test)> {
        match self.tree.nodes.get(node)?.kind() {
            NodeKind::Leaf(_) => None,
            NodeKind::Threshold { slot, threshold, .. } => Some((slot as usize, Test::AtMost(threshold))),
            NodeKind::Fork { slot, fork } => {
                let fork = self.tree.nodes.forks.get(fork as usize)?;
                let own = fork.children.iter().position(|&child| child != NOWHERE);
                Some((slot as usize, if fork.other == NOWHERE { Test::Each } else { Test::Is(own? as u32) }))
            }
        }
    }

    /// None if the statistics do not suffice.
    fn compare(&mut self, node: u32, slot: usize, test: Test) -> Option<Comparison> {
        let Tree { settings, work, .. } = &mut self.tree;
        let leaf = &self.inner[node as usize].as_ref()?.statistics;
        let present = present(leaf);
        if present < 2 {
            return None;
        }
        let splits = (0..leaf.width()).filter_map(|slot| leaf.best_split(slot, settings, work));
        let best = better(splits);
        let same = leaf.best_split(slot, settings, work);
        let own = leaf.merit_of(slot, test, settings, work);
        let bound = hoeffding_bound(settings.criterion.range(present), settings.delta, leaf.weight());
        Some(Comparison { best, same, own, bound })
    }

    fn replace(&mut self, node: u32, best: &Candidate, merit: f64, bound: f64, width: usize) -> bool {
        let before = self.test_of(node).map(|(slot, _)| slot as u32);
        let Some(mut inner) = self.inner[node as usize].take_if(|_| best.slot < SLOTS) else { return false };
        self.note(What::Replaced, node, Some(best.slot as u32), merit, best.merit, bound);
        inner.changed += 1;
        let tie = best.merit - merit <= bound;
        let (learned, weight, second_merit) = (self.tree.learned, inner.statistics.weight(), merit.max(f64::MIN));
        let reason = Reason { learned, weight, merit: best.merit, second: before, second_merit, bound, tie };
        let number = self.become_leaf(node, inner.statistics.clone());
        self.split(number, best, reason, *inner, width);
        self.replaced += 1;
        self.compact();
        true
    }

    fn kill(&mut self, node: u32) {
        if let Some(inner) = self.inner[node as usize].take() {
            self.become_leaf(node, inner.statistics);
            self.killed += 1;
            self.compact();
        }
    }

    /// Replace a split by a leaf; its subtree becomes unreachable.
    fn become_leaf(&mut self, node: u32, mut leaf: Leaf) -> u32 {
        self.tree.keep_total(node);
        leaf.node = node;
        self.tree.leaves.push(leaf);
        let number = self.tree.leaves.len() as u32 - 1;
        self.tree.nodes.set(node, Node::leaf(number));
        self.tree.reasons[node as usize] = None;
        number
    }

    fn compact(&mut self) {
        self.weights.stale = true;
        let order = self.tree.compact(|_| NOWHERE);
        self.inner = order.iter().map(|&node| self.inner[node as usize].take()).collect();
        for (node, inner) in self.inner.iter_mut().enumerate() {
            if let Some(inner) = inner {
                inner.statistics.node = node as u32;
            }
        }
    }

    fn count_change(&mut self, node: u32) {
        if let Some(inner) = &mut self.inner[node as usize] {
            inner.changed += 1;
        }
    }

    fn note(&mut self, what: What, node: u32, after: Option<u32>, old: f64, new: f64, bound: f64) {
        let (learned, before) = (self.tree.learned, self.test_of(node).map(|(slot, _)| slot as u32));
        let depth = self.tree.depth_of(node);
        let change = Change { learned, what, depth, before, after, old, new, bound };
        self.changes.note(change, self.tree.settings.max_bytes);
    }
}

impl AnyTree for AnytimeTree {
    type Leaf = Leaf;

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.saved())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.restore_from(unpack(self.tree.name, bytes)?)
    }

    fn memory(&self) -> usize {
        let inner = self.inner.iter().flatten().map(|inner| weight_of(inner));
        self.tree.memory()
            + inner.sum::<usize>()
            + 8 * self.inner.capacity()
            + self.changes.memory()
            + 4 * self.path.capacity()
            + self.weights.memory()
    }

    fn shown(&self, schema: &Schema) -> Json {
        self.shown(schema)
    }

    fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Within the limits of `overflow_limits`, which are wider than those of moderate rows, no node refuses a row.
    fn infallible(&self) -> bool {
        !self.exceeded_limits
    }

    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.tree.predict(x, want, out, scratch);
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.step_atomically(x, y, w, want, out, scratch)
    }
}

impl LearnsAtSeveralNodes for AnytimeTree {
    fn exceeded_limits(&mut self) -> &mut bool {
        &mut self.exceeded_limits
    }

    fn is_within_limits(&self) -> bool {
        self.tree.is_within_limits()
            && self.inner.iter().flatten().all(|inner| inner.statistics.is_within_limits())
    }

    fn advance(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.path.clear();
        let path = &mut self.path;
        let end = self.tree.nodes.route(x, ROOT, |node| path.push(node));
        let mut ignored = scratch.take_prediction();
        let mut learned = true;
        let Tree { leaves, spare, settings, classes, .. } = &mut self.tree;
        // Inner nodes do not predict.
        let quiet = ClassificationSettings { leaf_prediction: LeafClassifier::Majority, ..*settings };
        for node in path.iter() {
            if let Some(inner) = &mut self.inner[*node as usize] {
                let target = &mut inner.statistics;
                learned &= target.step(x, y, w, &quiet, Want::Class, *classes, &mut ignored, spare, scratch);
            }
        }
        let leaf = match end {
            End::Leaf { leaf, .. } => {
                let target = &mut leaves[leaf as usize];
                learned &= target.step(x, y, w, settings, want, *classes, out, spare, scratch);
                leaf
            }
            // Without memory for another branch, the row takes the default branch.
            End::Branchless { .. } if !self.tree.affords(1) => {
                let (_, leaf) = self.tree.nodes.leaf(x, |_| {});
                let Tree { leaves, spare, settings, classes, .. } = &mut self.tree;
                let target = &mut leaves[leaf as usize];
                learned &= target.step(x, y, w, settings, want, *classes, out, spare, scratch);
                leaf
            }
            // Predicted in the default branch, and learned in a new one.
            End::Branchless { fork, code, .. } => {
                self.tree.predict(x, want, out, scratch);
                let leaf = self.tree.branch_out(fork, code, x.width());
                self.inner.push(None);
                let Tree { leaves, spare, settings, classes, .. } = &mut self.tree;
                let target = &mut leaves[leaf as usize];
                learned &= target.step(x, y, w, settings, Want::Class, *classes, &mut ignored, spare, scratch);
                leaf
            }
        };
        scratch.give_prediction(ignored);
        if !learned {
            return Err(Fault::overflow(self.tree.name));
        }
        self.tree.receive(leaf, y, w);
        self.tree.learned += 1;
        self.tree.classes = self.tree.classes.max(y as usize + 1);
        self.reconsider_path(leaf, x.width());
        if self.tree.settings.max_bytes < usize::MAX {
            self.keep_within(leaf);
        }
        Ok(())
    }
}

/// The number of classes with examples.
fn present(leaf: &Leaf) -> usize {
    leaf.counts.iter().filter(|&&count| count > 0.0).count()
}

/// The first candidate with the highest merit.
fn better(splits: impl Iterator<Item = Candidate>) -> Option<Candidate> {
    splits.fold(None, |best, split| match best {
        Some(best) if best.merit >= split.merit => Some(best),
        _ => Some(split),
    })
}
