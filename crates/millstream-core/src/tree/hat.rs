//! The adaptive Hoeffding tree: monitors the errors of its subtrees, and replaces them.
//!
//! Every node has an ADWIN window of the errors of its subtree. When these errors rise, an alternate starts as an empty
//! leaf and grows from the same examples. When the alternate is significantly better than the subtree, it replaces it;
//! when it is worse, or no better after a long time, it is dropped.
//!
//! The error of a class is 0 or 1. The error of a number is its position among the errors of the tree so far
//! (`Spread`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::drift::adaptive_window::{AdaptiveWindow, AdwinSettings};
use crate::drift::Direction;
use crate::ensemble::poisson::Poisson;
use crate::ensemble::record::Spread;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::numeric::random::Random;
use crate::row::{Row, Scratch};
use crate::schema::Schema;

use super::budget::Overhead;
use super::changes::{Change, Changes, What};
use super::compaction::new_indices;
use super::growth::Tree;
use super::leaf::Leaf;
use super::nodes::{End, Node, NodeKind, NOWHERE, ROOT};
use super::overflow_limits::LearnsAtSeveralNodes;
use super::tree_leaf::{Target, TreeLeaf, TreeSettings, Want};
use super::tree_model::AnyTree;
use super::tree_prediction::TreePrediction;

/// An alternate that is neither better nor worse when both windows have this many times the threshold is dropped:
/// otherwise it would cost time forever.
const PATIENCE: u64 = 10;

#[derive(Clone, Copy, Debug)]
pub struct AdaptiveSettings {
    pub adwin: AdwinSettings,
    /// Number of examples that both windows must exceed before an alternate is compared.
    pub threshold: u64,
    /// ln(2 / significance)
    pub log_significance: f64,
    pub bootstrap: bool,
}

/// The error monitor of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeMonitor {
    /// The errors of the subtree.
    pub window: AdaptiveWindow,
    /// The root of the alternate subtree, or `NOWHERE`; never within an alternate.
    pub alternate: u32,
}

impl Default for NodeMonitor {
    fn default() -> Self {
        NodeMonitor { window: AdaptiveWindow::default(), alternate: NOWHERE }
    }
}

impl NodeMonitor {
    /// The mean error, with two prior examples of which one is wrong; within (0, 1).
    fn error(&self) -> f64 {
        ((self.window.total() + 1.0) / (self.window.width() as f64 + 2.0)).clamp(1e-9, 1.0)
    }
}

/// The route of an example through the tree, or through an alternate.
#[derive(Clone, Copy, Debug)]
struct Route {
    /// The node whose alternate this is, or `NOWHERE`.
    beside: u32,
    /// The range of its nodes in the path.
    first: usize,
    last: usize,
    end: End,
    leaf: u32,
    /// None without a prediction.
    error: Option<f64>,
}

enum Verdict {
    Better,
    Worse,
    Open,
}

#[derive(Clone, Debug)]
pub struct AdaptiveTree<L: TreeLeaf = Leaf> {
    pub tree: Tree<L>,
    pub adaptation: AdaptiveSettings,
    /// By node.
    pub monitors: Vec<NodeMonitor>,
    pub random: Random,
    /// The spread of regression errors.
    pub spread: Spread,
    /// Number of alternates that were started, and that replaced a subtree.
    pub begun: u64,
    pub swapped: u64,
    pub changes: Changes,
    /// Whether the tree has learned numbers beyond the limits of `overflow_limits`.
    pub exceeded_limits: bool,
    poisson: Arc<Poisson>,
    /// Buffers that are reused between examples.
    path: Vec<u32>,
    routes: Vec<Route>,
    risen: Vec<u32>,
}

impl<L: TreeLeaf> AdaptiveTree<L> {
    pub fn new(tree: Tree<L>, adaptation: AdaptiveSettings, random: Random) -> Self {
        let monitors = vec![NodeMonitor::default(); tree.nodes.len()];
        let mut adaptive = AdaptiveTree {
            tree,
            adaptation,
            monitors,
            random,
            spread: Spread::default(),
            begun: 0,
            swapped: 0,
            changes: Changes::default(),
            exceeded_limits: false,
            poisson: Arc::new(Poisson::new(1.0)),
            path: Vec::new(),
            routes: Vec::new(),
            risen: Vec::new(),
        };
        adaptive.update_overhead();
        adaptive
    }

    /// The leaf at the end of a route; a value without a branch takes the default branch.
    fn leaf_at(&self, x: Row<'_>, mut end: End) -> u32 {
        loop {
            match end {
                End::Leaf { leaf, .. } => return leaf,
                End::Branchless { fork, .. } => {
                    end = self.tree.nodes.route(x, self.tree.nodes.forks[fork as usize].usual, |_| {});
                }
            }
        }
    }

    fn predict_at(&self, x: Row<'_>, end: End, want: Want<L>, out: &mut L::Prediction, scratch: &mut Scratch) {
        let leaf = self.leaf_at(x, end);
        let Tree { leaves, settings, classes, .. } = &self.tree;
        leaves[leaf as usize].predict(x, settings, want, *classes, out, scratch);
    }

    /// Add the prediction of an alternate, weighted by the squared ratio of the errors.
    fn blend(&self, node: u32, prediction: &L::Prediction, out: &mut L::Prediction) {
        let monitor = &self.monitors[node as usize];
        let ratio = monitor.error() / self.monitors[monitor.alternate as usize].error();
        out.blend(prediction, ratio * ratio);
    }

    fn follow(&mut self, x: Row<'_>, root: u32, beside: u32) {
        let (first, path) = (self.path.len(), &mut self.path);
        let end = self.tree.nodes.route(x, root, |node| path.push(node));
        self.routes.push(Route { beside, first, last: path.len(), end, leaf: NOWHERE, error: None });
    }

    /// Predict and learn in the leaf at the end of each route.
    fn learn_routes(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let several = self.routes.len() > 1;
        let inner = if several { L::Prediction::ALL } else { want };
        let mut prediction = L::Prediction::take(scratch);
        let mut learned = true;
        for index in 0..self.routes.len() {
            let route = self.routes[index];
            let target = if index == 0 { &mut *out } else { &mut prediction };
            // A draw of 0 counts as 1, as in MOA and River: no example is lost.
            let drawn =
                if self.adaptation.bootstrap { w * self.poisson.at(self.random.unit()).max(1.0) } else { w };
            let leaf = match route.end {
                End::Leaf { leaf, .. } => {
                    learned = self.learn_at(leaf, x, y, drawn, inner, target, scratch);
                    leaf
                }
                // Without memory for another branch, the row takes the default branch.
                End::Branchless { .. } if !self.tree.affords(1) => {
                    let leaf = self.leaf_at(x, route.end);
                    learned = self.learn_at(leaf, x, y, drawn, inner, target, scratch);
                    leaf
                }
                End::Branchless { fork, code, .. } => {
                    self.predict_at(x, route.end, inner, target, scratch);
                    let leaf = self.tree.branch_out(fork, code, x.width());
                    let mut ignored = L::Prediction::take(scratch);
                    learned = self.learn_at(leaf, x, y, drawn, L::Prediction::LEAST, &mut ignored, scratch);
                    ignored.give(scratch);
                    leaf
                }
            };
            if !learned {
                break;
            }
            self.tree.receive(leaf, y, w);
            let target = if index == 0 { &*out } else { &prediction };
            (self.routes[index].leaf, self.routes[index].error) =
                (leaf, target.error(y).or(L::Prediction::INITIAL_ERROR));
            if index > 0 {
                self.blend(route.beside, &prediction, out);
            }
        }
        if several {
            out.finish(want);
        }
        prediction.give(scratch);
        if learned {
            Ok(())
        } else {
            Err(Fault::overflow(self.tree.name))
        }
    }

    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn learn_at(
        &mut self,
        leaf: u32,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> bool {
        let Tree { leaves, spare, settings, classes, .. } = &mut self.tree;
        leaves[leaf as usize].step(x, y, w, settings, want, *classes, out, spare, scratch)
    }

    /// Record the errors at all nodes, and find where they have risen.
    fn record_errors(&mut self) {
        self.risen.clear();
        for route in &self.routes {
            let Some(error) = route.error else { continue };
            let error = match (L::Prediction::ERROR_RATE, route.beside) {
                (true, _) => error,
                (false, NOWHERE) => self.spread.add(error),
                (false, _) => self.spread.position(error),
            };
            for (index, &node) in self.path[route.first..route.last].iter().enumerate() {
                let monitor = &mut self.monitors[node as usize];
                if monitor.window.add(error, &self.adaptation.adwin) != Some(Direction::Up) {
                    continue;
                }
                // An alternate whose own errors rise restarts; no other alternates start within one.
                if route.beside == NOWHERE && monitor.alternate == NOWHERE {
                    self.risen.push(node);
                } else if route.beside != NOWHERE && index == 0 {
                    self.risen.push(route.beside);
                }
            }
        }
    }

    /// From the root down: start alternates where errors have risen, and compare the existing ones.
    #[cold]
    fn adapt(&mut self, main: usize) {
        let mut removed = false;
        for index in 0..main {
            let node = self.path[index];
            let alternate = self.monitors[node as usize].alternate;
            if self.risen.contains(&node) {
                removed |= alternate != NOWHERE;
                self.start_alternate(node);
                continue;
            }
            if alternate == NOWHERE {
                continue;
            }
            match self.compare(node, alternate) {
                (Verdict::Open, _) => {}
                (Verdict::Worse, bound) => {
                    self.note(What::Dropped, node, alternate, bound);
                    self.monitors[node as usize].alternate = NOWHERE;
                    removed = true;
                }
                (Verdict::Better, bound) => {
                    self.note(What::Swapped, node, alternate, bound);
                    self.swap(node, alternate);
                    removed = true;
                    break;
                }
            }
        }
        if removed {
            self.compact();
        }
    }

    pub fn start_alternate(&mut self, node: u32) {
        if !self.tree.affords(1) {
            return;
        }
        let alternate = self.tree.new_leaf(self.tree.depth_of(node), L::Origin::default(), None);
        self.monitors.push(NodeMonitor::default());
        self.monitors[node as usize].alternate = alternate;
        self.begun += 1;
        self.note(What::Begun, node, alternate, 0.0);
    }

    /// Whether the difference of the two mean errors is significant, and the bound.
    fn compare(&self, node: u32, alternate: u32) -> (Verdict, f64) {
        let (own, other) = (&self.monitors[node as usize].window, &self.monitors[alternate as usize].window);
        let least = own.width().min(other.width());
        if least <= self.adaptation.threshold {
            return (Verdict::Open, 0.0);
        }
        let (error, rival) = (own.mean().clamp(0.0, 1.0), other.mean().clamp(0.0, 1.0));
        let variance = if L::Prediction::ERROR_RATE { error * (1.0 - error) } else { own.variance() };
        let inverse = 1.0 / own.width() as f64 + 1.0 / other.width() as f64;
        let bound = (2.0 * variance * self.adaptation.log_significance * inverse).sqrt();
        let verdict = if error - rival > bound {
            Verdict::Better
        } else if rival - error > bound || least > self.adaptation.threshold.saturating_mul(PATIENCE) {
            Verdict::Worse
        } else {
            Verdict::Open
        };
        (verdict, bound)
    }

    /// Replace a subtree by its alternate; the old subtree becomes unreachable.
    fn swap(&mut self, node: u32, alternate: u32) {
        let Some(&new) = self.tree.nodes.get(alternate) else { return };
        self.tree.keep_total_beside(node, alternate);
        self.tree.nodes.set(node, new);
        if let NodeKind::Leaf(leaf) = new.kind() {
            self.tree.leaves[leaf as usize].attach(node);
        }
        self.tree.reasons[node as usize] = self.tree.reasons[alternate as usize].take();
        self.monitors[node as usize] = std::mem::take(&mut self.monitors[alternate as usize]);
        self.swapped += 1;
    }

    fn compact(&mut self) {
        self.tree.forget_bytes();
        let count = self.tree.nodes.len();
        let monitors = &self.monitors;
        let order = self.tree.compact(|node| monitors[node as usize].alternate);
        let indices = new_indices(&order, count);
        let mut old = std::mem::take(&mut self.monitors);
        self.monitors.extend(order.iter().map(|&index| std::mem::take(&mut old[index as usize])));
        for monitor in self.monitors.iter_mut().filter(|monitor| monitor.alternate != NOWHERE) {
            monitor.alternate = indices[monitor.alternate as usize];
        }
    }

    /// Deactivate leaves until the tree fits its limit.
    #[cold]
    fn keep_within(&mut self) {
        self.update_overhead();
        for route in &self.routes {
            self.tree.recount_bytes(route.leaf);
        }
        self.tree.keep_within(0);
    }

    /// The largest size of the windows, so that a tree continues identically after saving and loading, or after its
    /// windows have shrunk.
    pub fn update_overhead(&mut self) {
        let rows = (u64::BITS - self.tree.learned.leading_zeros()) as usize;
        let row = 2 * ((self.adaptation.adwin.max_buckets + 1) * 16 + 8);
        let changes = 2 * Changes::most(self.tree.settings.max_bytes()) * std::mem::size_of::<Change>();
        self.tree.overhead = Overhead {
            bytes: std::mem::size_of::<Self>() + changes,
            by_node: 2 * std::mem::size_of::<NodeMonitor>() + row * rows + 8,
        };
    }

    fn note(&mut self, what: What, node: u32, alternate: u32, bound: f64) {
        let [old, new] = [node, alternate].map(|node| self.monitors[node as usize].window.mean());
        let (before, after) = (self.feature(node), self.feature(alternate));
        let (learned, depth) = (self.tree.learned, self.tree.depth_of(node));
        let change = Change { learned, what, depth, before, after, old, new, bound };
        self.changes.note(change, self.tree.settings.max_bytes());
    }

    fn feature(&self, node: u32) -> Option<u32> {
        match self.tree.nodes.get(node).map(Node::kind) {
            Some(NodeKind::Threshold { slot, .. } | NodeKind::Fork { slot, .. }) => Some(slot),
            _ => None,
        }
    }

    pub fn alternates(&self) -> usize {
        self.monitors.iter().filter(|monitor| monitor.alternate != NOWHERE).count()
    }
}

impl<L: TreeLeaf> AnyTree for AdaptiveTree<L> {
    type Leaf = L;

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.saved())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.restore_from(unpack(self.tree.name, bytes)?)
    }

    fn memory(&self) -> usize {
        self.tree.memory()
            + self.monitors.iter().map(|monitor| monitor.window.memory()).sum::<usize>()
            + std::mem::size_of::<NodeMonitor>() * self.monitors.capacity()
            + self.changes.memory()
            + 4 * (self.path.capacity() + self.risen.capacity())
            + std::mem::size_of::<Route>() * self.routes.capacity()
    }

    fn shown(&self, schema: &Schema) -> Json {
        self.shown(schema)
    }

    fn tree(&self) -> &Tree<L> {
        &self.tree
    }

    /// Within the limits of `overflow_limits`, which are wider than those of moderate rows, no node refuses a row.
    fn infallible(&self) -> bool {
        !self.exceeded_limits
    }

    fn predict(&self, x: Row<'_>, want: Want<L>, out: &mut L::Prediction, scratch: &mut Scratch) {
        let mut nodes = scratch.take_indices();
        let end = self.tree.nodes.route(x, ROOT, |node| {
            if self.monitors[node as usize].alternate != NOWHERE {
                nodes.push(node);
            }
        });
        if nodes.is_empty() {
            self.predict_at(x, end, want, out, scratch);
        } else {
            self.predict_at(x, end, L::Prediction::ALL, out, scratch);
            let mut prediction = L::Prediction::take(scratch);
            for &node in &nodes {
                let end = self.tree.nodes.route(x, self.monitors[node as usize].alternate, |_| {});
                self.predict_at(x, end, L::Prediction::ALL, &mut prediction, scratch);
                self.blend(node, &prediction, out);
            }
            out.finish(want);
            prediction.give(scratch);
        }
        scratch.give_indices(nodes);
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.step_atomically(x, y, w, want, out, scratch)
    }
}

impl<L: TreeLeaf> LearnsAtSeveralNodes for AdaptiveTree<L> {
    fn exceeded_limits(&mut self) -> &mut bool {
        &mut self.exceeded_limits
    }

    fn is_within_limits(&self) -> bool {
        self.tree.is_within_limits()
    }

    fn advance(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.path.clear();
        self.routes.clear();
        self.follow(x, ROOT, NOWHERE);
        let main = self.path.len();
        for index in 0..main {
            let node = self.path[index];
            let alternate = self.monitors[node as usize].alternate;
            if alternate != NOWHERE {
                self.follow(x, alternate, node);
            }
        }
        self.learn_routes(x, y, w, want, out, scratch)?;
        self.tree.learned += 1;
        self.tree.classes = self.tree.classes.max(L::classes(y));
        self.record_errors();
        for index in 0..self.routes.len() {
            let leaf = self.routes[index].leaf;
            if *self.tree.leaves[leaf as usize].since() >= self.tree.settings.grace_period() {
                self.tree.attempt(leaf, x.width());
            }
        }
        self.monitors.resize(self.tree.nodes.len(), NodeMonitor::default());
        if self.routes.len() > 1 || !self.risen.is_empty() {
            self.adapt(main);
        }
        if self.tree.settings.max_bytes() < usize::MAX {
            self.keep_within();
        }
        Ok(())
    }
}
