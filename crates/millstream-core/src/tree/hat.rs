//! A tree that watches its errors and mends itself: what happens when an example comes.
//!
//! Every node has a window (ADWIN) of the errors of the subtree below it. When the errors of a node have risen, an
//! alternate begins beside it as an empty leaf, and grows from the same examples. When the alternate has become better
//! than the node's own subtree, it takes its place; when it is worse, or no better after long, it is given up.
//!
//! Errors of classes are 0 and 1. Of a number it is told where its error lies among those of the tree so far (`Spread`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::drift::window::{Settings as Adwin, Window};
use crate::drift::Direction;
use crate::ensemble::poisson::Poisson;
use crate::ensemble::record::Spread;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::numeric::random::Random;
use crate::row::{Row, Scratch};
use crate::schema::Schema;

use super::answer::Answer;
use super::budget::Beside;
use super::changes::{Change, Changes, What};
use super::compaction::new_places;
use super::growth::Tree;
use super::leaf::Leaf;
use super::nodes::{End, Node, Place, NOWHERE, ROOT};
use super::overflow_limits::is_sure;
use super::tree_leaf::{Target, TreeLeaf, TreeSettings, Want};
use super::tree_model::AnyTree;

/// An alternate that is neither better nor worse when both windows are so many times the threshold is given up: it
/// would cost its time for ever.
const PATIENCE: u64 = 10;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub adwin: Adwin,
    /// Examples that both windows must have before an alternate is judged.
    pub threshold: u64,
    /// ln(2 / significance)
    pub log_significance: f64,
    pub bootstrap: bool,
}

/// What is kept of a node beside its place in the tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watch {
    /// The errors of the subtree.
    pub window: Window,
    /// The root of the subtree that grows beside it, or `NOWHERE`; never within an alternate.
    pub alternate: u32,
}

impl Default for Watch {
    fn default() -> Self {
        Watch { window: Window::default(), alternate: NOWHERE }
    }
}

impl Watch {
    /// The mean of errors, as if one of two had been wrong before; within (0, 1).
    fn error(&self) -> f64 {
        ((self.window.total() + 1.0) / (self.window.width() as f64 + 2.0)).clamp(1e-9, 1.0)
    }
}

/// The way of an example through the tree, or through an alternate.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Of an alternate, the node that it stands beside.
    beside: u32,
    /// Its nodes, as a part of the path.
    first: usize,
    last: usize,
    end: End,
    leaf: u32,
    /// None if nothing was said.
    error: Option<f64>,
}

enum Verdict {
    Better,
    Worse,
    Open,
}

#[derive(Clone, Debug)]
pub struct Adaptive<L: TreeLeaf = Leaf> {
    pub tree: Tree<L>,
    pub options: Options,
    /// By node.
    pub watches: Vec<Watch>,
    pub random: Random,
    /// Of the errors of numbers.
    pub spread: Spread,
    /// Alternates that have begun, and that have taken a place.
    pub begun: u64,
    pub swapped: u64,
    pub changes: Changes,
    /// Numbers have been learned that are not sure to be learned (`overflow_limits`).
    pub wide: bool,
    poisson: Arc<Poisson>,
    /// Used again from one example to the next.
    path: Vec<u32>,
    ways: Vec<Way>,
    risen: Vec<u32>,
}

impl<L: TreeLeaf> Adaptive<L> {
    pub fn new(tree: Tree<L>, options: Options, random: Random) -> Self {
        let watches = vec![Watch::default(); tree.nodes.len()];
        let mut adaptive = Adaptive {
            tree,
            options,
            watches,
            random,
            spread: Spread::default(),
            begun: 0,
            swapped: 0,
            changes: Changes::default(),
            wide: false,
            poisson: Arc::new(Poisson::new(1.0)),
            path: Vec::new(),
            ways: Vec::new(),
            risen: Vec::new(),
        };
        adaptive.weigh();
        adaptive
    }

    /// The leaf at the end of a way; a value without a branch goes the usual way.
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

    fn speak(&self, x: Row<'_>, end: End, want: Want<L>, out: &mut L::Answer, scratch: &mut Scratch) {
        let leaf = self.leaf_at(x, end);
        let Tree { leaves, settings, classes, .. } = &self.tree;
        leaves[leaf as usize].predict(x, settings, want, *classes, out, scratch);
    }

    /// Add what an alternate says: the less it errs, beside the node's own subtree, the more.
    fn blend(&self, node: u32, said: &L::Answer, out: &mut L::Answer) {
        let watch = &self.watches[node as usize];
        let ratio = watch.error() / self.watches[watch.alternate as usize].error();
        out.blend(said, ratio * ratio);
    }

    fn advance(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.path.clear();
        self.ways.clear();
        self.follow(x, ROOT, NOWHERE);
        let main = self.path.len();
        for place in 0..main {
            let node = self.path[place];
            let alternate = self.watches[node as usize].alternate;
            if alternate != NOWHERE {
                self.follow(x, alternate, node);
            }
        }
        self.learn_ways(x, y, w, want, out, scratch)?;
        self.tree.learned += 1;
        self.tree.classes = self.tree.classes.max(L::classes(y));
        self.watch();
        for place in 0..self.ways.len() {
            let leaf = self.ways[place].leaf;
            if *self.tree.leaves[leaf as usize].since() >= self.tree.settings.grace_period() {
                self.tree.attempt(leaf, x.width());
            }
        }
        self.watches.resize(self.tree.nodes.len(), Watch::default());
        if self.ways.len() > 1 || !self.risen.is_empty() {
            self.mend(main);
        }
        if self.tree.settings.max_bytes() < usize::MAX {
            self.keep_within();
        }
        Ok(())
    }

    fn follow(&mut self, x: Row<'_>, root: u32, beside: u32) {
        let (first, path) = (self.path.len(), &mut self.path);
        let end = self.tree.nodes.route(x, root, |node| path.push(node));
        self.ways.push(Way { beside, first, last: path.len(), end, leaf: NOWHERE, error: None });
    }

    /// Let the leaf at the end of each way predict and learn.
    fn learn_ways(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let several = self.ways.len() > 1;
        let inner = if several { L::Answer::ALL } else { want };
        let mut said = L::Answer::take(scratch);
        let mut learned = true;
        for place in 0..self.ways.len() {
            let way = self.ways[place];
            let target = if place == 0 { &mut *out } else { &mut said };
            // A draw of 0 counts as 1, as in the programs that are used to publish results: no example is lost.
            let drawn = if self.options.bootstrap { w * self.poisson.at(self.random.unit()).max(1.0) } else { w };
            let leaf = match way.end {
                End::Leaf { leaf, .. } => {
                    learned = self.learn_at(leaf, x, y, drawn, inner, target, scratch);
                    leaf
                }
                // Without memory for another branch it goes the usual way.
                End::Branchless { .. } if !self.tree.affords(1) => {
                    let leaf = self.leaf_at(x, way.end);
                    learned = self.learn_at(leaf, x, y, drawn, inner, target, scratch);
                    leaf
                }
                End::Branchless { fork, code, .. } => {
                    self.speak(x, way.end, inner, target, scratch);
                    let leaf = self.tree.branch_out(fork, code, x.width());
                    let mut unheard = L::Answer::take(scratch);
                    learned = self.learn_at(leaf, x, y, drawn, L::Answer::LEAST, &mut unheard, scratch);
                    unheard.give(scratch);
                    leaf
                }
            };
            if !learned {
                break;
            }
            self.tree.receive(leaf, y, w);
            let target = if place == 0 { &*out } else { &said };
            (self.ways[place].leaf, self.ways[place].error) = (leaf, target.error(y).or(L::Answer::INITIAL_ERROR));
            if place > 0 {
                self.blend(way.beside, &said, out);
            }
        }
        if several {
            out.finish(want);
        }
        said.give(scratch);
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
        out: &mut L::Answer,
        scratch: &mut Scratch,
    ) -> bool {
        let Tree { leaves, spare, settings, classes, .. } = &mut self.tree;
        leaves[leaf as usize].step(x, y, w, settings, want, *classes, out, spare, scratch)
    }

    /// Note the errors at all nodes, and where they have risen.
    fn watch(&mut self) {
        self.risen.clear();
        for way in &self.ways {
            let Some(error) = way.error else { continue };
            let error = match (L::Answer::ERROR_RATE, way.beside) {
                (true, _) => error,
                (false, NOWHERE) => self.spread.place(error),
                (false, _) => self.spread.of(error),
            };
            for (place, &node) in self.path[way.first..way.last].iter().enumerate() {
                let watch = &mut self.watches[node as usize];
                if watch.window.add(error, &self.options.adwin) != Some(Direction::Up) {
                    continue;
                }
                // An alternate whose own errors rise begins again; nothing else begins within one.
                if way.beside == NOWHERE && watch.alternate == NOWHERE {
                    self.risen.push(node);
                } else if way.beside != NOWHERE && place == 0 {
                    self.risen.push(way.beside);
                }
            }
        }
    }

    /// From the root down: begin alternates where errors have risen, judge those that there are.
    #[cold]
    fn mend(&mut self, main: usize) {
        let mut cut = false;
        for place in 0..main {
            let node = self.path[place];
            let alternate = self.watches[node as usize].alternate;
            if self.risen.contains(&node) {
                cut |= alternate != NOWHERE;
                self.begin(node);
                continue;
            }
            if alternate == NOWHERE {
                continue;
            }
            match self.judge(node, alternate) {
                (Verdict::Open, _) => {}
                (Verdict::Worse, bound) => {
                    self.note(What::Dropped, node, alternate, bound);
                    self.watches[node as usize].alternate = NOWHERE;
                    cut = true;
                }
                (Verdict::Better, bound) => {
                    self.note(What::Swapped, node, alternate, bound);
                    self.swap(node, alternate);
                    cut = true;
                    break;
                }
            }
        }
        if cut {
            self.compact();
        }
    }

    pub fn begin(&mut self, node: u32) {
        if !self.tree.affords(1) {
            return;
        }
        let alternate = self.tree.new_leaf(self.tree.depth_of(node), L::Origin::default(), None);
        self.watches.push(Watch::default());
        self.watches[node as usize].alternate = alternate;
        self.begun += 1;
        self.note(What::Begun, node, alternate, 0.0);
    }

    /// Whether the difference of the two means of errors is beyond what chance allows, and how much that is.
    fn judge(&self, node: u32, alternate: u32) -> (Verdict, f64) {
        let (own, other) = (&self.watches[node as usize].window, &self.watches[alternate as usize].window);
        let least = own.width().min(other.width());
        if least <= self.options.threshold {
            return (Verdict::Open, 0.0);
        }
        let (error, rival) = (own.mean().clamp(0.0, 1.0), other.mean().clamp(0.0, 1.0));
        let variance = if L::Answer::ERROR_RATE { error * (1.0 - error) } else { own.variance() };
        let inverse = 1.0 / own.width() as f64 + 1.0 / other.width() as f64;
        let bound = (2.0 * variance * self.options.log_significance * inverse).sqrt();
        let verdict = if error - rival > bound {
            Verdict::Better
        } else if rival - error > bound || least > self.options.threshold.saturating_mul(PATIENCE) {
            Verdict::Worse
        } else {
            Verdict::Open
        };
        (verdict, bound)
    }

    /// Put an alternate in the place of its rival, which hangs no more.
    fn swap(&mut self, node: u32, alternate: u32) {
        let Some(&new) = self.tree.nodes.get(alternate) else { return };
        self.tree.keep_total_beside(node, alternate);
        self.tree.nodes.set(node, new);
        if let Place::Leaf(leaf) = new.place() {
            self.tree.leaves[leaf as usize].hang(node);
        }
        self.tree.reasons[node as usize] = self.tree.reasons[alternate as usize].take();
        self.watches[node as usize] = std::mem::take(&mut self.watches[alternate as usize]);
        self.swapped += 1;
    }

    fn compact(&mut self) {
        self.tree.forget_bytes();
        let count = self.tree.nodes.len();
        let watches = &self.watches;
        let order = self.tree.compact(|node| watches[node as usize].alternate);
        let places = new_places(&order, count);
        let mut old = std::mem::take(&mut self.watches);
        self.watches.extend(order.iter().map(|&place| std::mem::take(&mut old[place as usize])));
        for watch in self.watches.iter_mut().filter(|watch| watch.alternate != NOWHERE) {
            watch.alternate = places[watch.alternate as usize];
        }
    }

    /// Let leaves rest until all weighs no more than it may.
    #[cold]
    fn keep_within(&mut self) {
        self.weigh();
        for way in &self.ways {
            self.tree.recount_bytes(way.leaf);
        }
        self.tree.keep_within(0);
    }

    /// What windows can weigh at most, so that a tree that was saved and loaded, or whose windows have shrunk, goes on
    /// as it would have.
    pub fn weigh(&mut self) {
        let rows = (u64::BITS - self.tree.learned.leading_zeros()) as usize;
        let row = 2 * ((self.options.adwin.max_buckets + 1) * 16 + 8);
        let changes = 2 * Changes::most(self.tree.settings.max_bytes()) * std::mem::size_of::<Change>();
        self.tree.beside = Beside {
            bytes: std::mem::size_of::<Self>() + changes,
            by_node: 2 * std::mem::size_of::<Watch>() + row * rows + 8,
        };
    }

    fn note(&mut self, what: What, node: u32, alternate: u32, bound: f64) {
        let [old, new] = [node, alternate].map(|node| self.watches[node as usize].window.mean());
        let (before, after) = (self.feature(node), self.feature(alternate));
        let (learned, depth) = (self.tree.learned, self.tree.depth_of(node));
        let change = Change { learned, what, depth, before, after, old, new, bound };
        self.changes.note(change, self.tree.settings.max_bytes());
    }

    fn feature(&self, node: u32) -> Option<u32> {
        match self.tree.nodes.get(node).map(Node::place) {
            Some(Place::Threshold { slot, .. } | Place::Fork { slot, .. }) => Some(slot),
            _ => None,
        }
    }

    pub fn alternates(&self) -> usize {
        self.watches.iter().filter(|watch| watch.alternate != NOWHERE).count()
    }
}

impl<L: TreeLeaf> AnyTree for Adaptive<L> {
    type Leaf = L;

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.saved())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.restore_from(unpack(self.tree.name, bytes)?)
    }

    fn memory(&self) -> usize {
        self.tree.memory()
            + self.watches.iter().map(|watch| watch.window.memory()).sum::<usize>()
            + std::mem::size_of::<Watch>() * self.watches.capacity()
            + self.changes.memory()
            + 4 * (self.path.capacity() + self.risen.capacity())
            + std::mem::size_of::<Way>() * self.ways.capacity()
    }

    fn shown(&self, schema: &Schema) -> Json {
        self.shown(schema)
    }

    fn tree(&self) -> &Tree<L> {
        &self.tree
    }

    /// Within the limits of `overflow_limits`, which are wider than those of moderate rows, no place refuses a row.
    fn infallible(&self) -> bool {
        !self.wide
    }

    fn predict(&self, x: Row<'_>, want: Want<L>, out: &mut L::Answer, scratch: &mut Scratch) {
        let mut rivals = scratch.take_indices();
        let end = self.tree.nodes.route(x, ROOT, |node| {
            if self.watches[node as usize].alternate != NOWHERE {
                rivals.push(node);
            }
        });
        if rivals.is_empty() {
            self.speak(x, end, want, out, scratch);
        } else {
            self.speak(x, end, L::Answer::ALL, out, scratch);
            let mut said = L::Answer::take(scratch);
            for &node in &rivals {
                let end = self.tree.nodes.route(x, self.watches[node as usize].alternate, |_| {});
                self.speak(x, end, L::Answer::ALL, &mut said, scratch);
                self.blend(node, &said, out);
            }
            out.finish(want);
            said.give(scratch);
        }
        scratch.give_indices(rivals);
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Answer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if !self.wide && is_sure(x, w) && L::is_sure_target(y) {
            return self.advance(x, y, w, want, out, scratch);
        }
        let before = self.clone();
        let learned = self.advance(x, y, w, want, out, scratch);
        match learned {
            Ok(()) => self.wide = !(self.tree.asks_again() && self.tree.is_sure()),
            Err(_) => *self = before,
        }
        learned
    }
}
