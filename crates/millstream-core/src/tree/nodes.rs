//! The nodes of a tree, and the route of a row through them.
//!
//! A node takes 16 bytes and the two children of a threshold are adjacent, so that a route is a few loads. Children
//! always have a higher index than their parent.

use serde::{Deserialize, Serialize};

use crate::row::{Row, Value};

use super::candidates::Test;

/// The index of the root.
pub const ROOT: u32 = 0;
pub const NOWHERE: u32 = u32::MAX;

const LEAF: u32 = u32::MAX;
const NOMINAL: u32 = 1 << 31;
/// Rows without the feature go to the right.
const RIGHT: u32 = 1 << 30;
const SLOT: u32 = RIGHT - 1;
/// Features beyond this cannot be split on.
pub const SLOTS: usize = SLOT as usize;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    pub threshold: f64,
    /// The slot and the bits above, or `LEAF`.
    feature: u32,
    /// The first child; of a leaf, its index; of a nominal split, that of its fork.
    first: u32,
}

/// The kind of a node, with its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeKind {
    Leaf(u32),
    /// Up to the threshold to the first child, otherwise to the next; `right` tells where a missing value goes.
    Threshold {
        slot: u32,
        threshold: f64,
        first: u32,
        right: bool,
    },
    Fork {
        slot: u32,
        fork: u32,
    },
}

/// The branches of a nominal split.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fork {
    /// The child of each value by code, `NOWHERE` if it has none of its own.
    pub children: Vec<u32>,
    /// The child of all other values; `NOWHERE` if each has its own.
    pub other: u32,
    /// The default branch, for a missing value or one without a child.
    pub usual: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Nodes {
    nodes: Vec<Node>,
    pub forks: Vec<Fork>,
}

/// The end of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Leaf {
        node: u32,
        leaf: u32,
    },
    /// At a nominal split that has no branch for this value yet.
    Branchless {
        node: u32,
        fork: u32,
        code: u32,
    },
}

impl Node {
    pub fn leaf(number: u32) -> Self {
        Node { threshold: 0.0, feature: LEAF, first: number }
    }

    pub fn new(kind: NodeKind) -> Self {
        match kind {
            NodeKind::Leaf(number) => Node::leaf(number),
            NodeKind::Threshold { slot, threshold, first, right } => {
                Node { threshold, feature: slot & SLOT | if right { RIGHT } else { 0 }, first }
            }
            NodeKind::Fork { slot, fork } => Node { threshold: 0.0, feature: slot & SLOT | NOMINAL, first: fork },
        }
    }

    #[inline(always)]
    pub fn kind(&self) -> NodeKind {
        if self.feature == LEAF {
            NodeKind::Leaf(self.first)
        } else if self.feature & NOMINAL != 0 {
            NodeKind::Fork { slot: self.feature & SLOT, fork: self.first }
        } else {
            let right = self.feature & RIGHT != 0;
            NodeKind::Threshold { slot: self.feature & SLOT, threshold: self.threshold, first: self.first, right }
        }
    }
}

impl Fork {
    /// The child of a value, which may be unknown.
    fn child(&self, code: Option<u32>) -> u32 {
        let own = code.and_then(|code| self.children.get(code as usize)).copied().unwrap_or(NOWHERE);
        if own == NOWHERE {
            self.other
        } else {
            own
        }
    }

    /// Every child once, in order.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.children.iter().copied().chain([self.other]).filter(|&child| child != NOWHERE)
    }
}

impl Nodes {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn get(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, NodeKind)> + '_ {
        self.nodes.iter().enumerate().map(|(at, node)| (at as u32, node.kind()))
    }

    pub fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    pub fn set(&mut self, at: u32, node: Node) {
        self.nodes[at as usize] = node;
    }

    /// Turn a leaf's node into a split whose branches have these weights. The first branch keeps the leaf `number`, the
    /// others get leaves from `next` on. Returns the node and the leaf of each branch; none for a value without
    /// examples.
    pub fn split(
        &mut self,
        at: u32,
        slot: u32,
        test: Test,
        weights: &[f64],
        number: u32,
        mut next: u32,
    ) -> Vec<Option<(u32, u32)>> {
        let first = self.nodes.len() as u32;
        let mut branches = Vec::with_capacity(weights.len());
        for &weight in weights {
            if test == Test::Each && weight == 0.0 {
                branches.push(None);
                continue;
            }
            let leaf = if self.nodes.len() as u32 == first { number } else { next };
            next += u32::from(leaf == next);
            branches.push(Some((self.push(Node::leaf(leaf)), leaf)));
        }
        let heaviest = (0..weights.len()).fold(0, |best, at| if weights[at] > weights[best] { at } else { best });
        let child = |branch: usize| branches.get(branch).copied().flatten().map_or(NOWHERE, |(node, _)| node);
        let kind = match test {
            Test::AtMost(threshold) => NodeKind::Threshold { slot, threshold, first, right: heaviest == 1 },
            Test::Each | Test::Is(_) => {
                let usual = child(heaviest);
                self.forks.push(match test {
                    Test::Is(code) => {
                        let mut own = vec![NOWHERE; code as usize + 1];
                        own[code as usize] = child(0);
                        Fork { children: own, other: child(1), usual }
                    }
                    _ => Fork { children: (0..weights.len()).map(child).collect(), other: NOWHERE, usual },
                });
                NodeKind::Fork { slot, fork: self.forks.len() as u32 - 1 }
            }
        };
        self.set(at, Node::new(kind));
        branches
    }

    /// Add a branch with this leaf for a nominal value; returns its node.
    pub fn branch_out(&mut self, fork: u32, code: u32, leaf: u32) -> u32 {
        let node = self.push(Node::leaf(leaf));
        let children = &mut self.forks[fork as usize].children;
        if children.len() <= code as usize {
            children.resize(code as usize + 1, NOWHERE);
        }
        children[code as usize] = node;
        node
    }

    /// Remove the branch that was added last.
    pub fn take_back_branch(&mut self, fork: u32) {
        let last = self.nodes.len() as u32 - 1;
        let children = &mut self.forks[fork as usize].children;
        children.iter_mut().filter(|child| **child == last).for_each(|child| *child = NOWHERE);
        while children.last() == Some(&NOWHERE) {
            children.pop();
        }
        self.nodes.pop();
    }

    /// A leaf below a node, and how far below.
    pub fn some_leaf(&self, node: u32) -> (u32, u32) {
        let (mut at, mut below) = (node, 0);
        loop {
            match self.nodes[at as usize].kind() {
                NodeKind::Leaf(leaf) => return (leaf, below),
                NodeKind::Threshold { first, .. } => at = first,
                NodeKind::Fork { fork, .. } => at = self.forks[fork as usize].usual,
            }
            below += 1;
        }
    }

    /// The children of a node, in order.
    pub fn children(&self, at: u32) -> Vec<u32> {
        match self.nodes[at as usize].kind() {
            NodeKind::Leaf(_) => Vec::new(),
            NodeKind::Threshold { first, .. } => vec![first, first + 1],
            NodeKind::Fork { fork, .. } => self.forks[fork as usize].all().collect(),
        }
    }

    /// The way of a row from `from`; `visit` is given every node on it, the end included.
    #[inline(always)]
    pub fn route(&self, x: Row<'_>, from: u32, mut visit: impl FnMut(u32)) -> End {
        let mut at = from;
        loop {
            visit(at);
            match self.nodes[at as usize].kind() {
                NodeKind::Leaf(leaf) => return End::Leaf { node: at, leaf },
                NodeKind::Threshold { slot, threshold, first, right } => {
                    let number = match x {
                        Row::Plain(values) => values.get(slot as usize).copied(),
                        _ => number(x, slot),
                    };
                    at = first + u32::from(number.map_or(right, |number| number > threshold));
                }
                NodeKind::Fork { slot, fork } => {
                    let branches = &self.forks[fork as usize];
                    at = match x.get(slot as usize) {
                        Some(Value::Nominal(code)) => match (branches.child(code), code) {
                            (NOWHERE, Some(code)) => return End::Branchless { node: at, fork, code },
                            (NOWHERE, None) => branches.usual,
                            (child, _) => child,
                        },
                        _ => branches.usual,
                    };
                }
            }
        }
    }

    /// The leaf of a row; a value without a branch goes the usual way.
    #[inline]
    pub fn leaf(&self, x: Row<'_>, mut visit: impl FnMut(u32)) -> (u32, u32) {
        let mut from = ROOT;
        loop {
            match self.route(x, from, &mut visit) {
                End::Leaf { node, leaf } => return (node, leaf),
                End::Branchless { fork, .. } => from = self.forks[fork as usize].usual,
            }
        }
    }

    pub fn memory(&self) -> usize {
        let forks = self.forks.iter().map(|fork| 4 * fork.children.capacity());
        self.nodes.capacity() * std::mem::size_of::<Node>()
            + self.forks.capacity() * std::mem::size_of::<Fork>()
            + forks.sum::<usize>()
    }
}

fn number(x: Row<'_>, slot: u32) -> Option<f64> {
    match x.get(slot as usize) {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    }
}
