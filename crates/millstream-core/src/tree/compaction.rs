//! Removes unreachable nodes from a tree.
//!
//! Removing a subtree leaves its nodes, forks and leaves behind. That is rare, so everything that is still reachable is
//! rebuilt, breadth first: this keeps the two children of a threshold adjacent, and children behind their parents.

use super::growth::Tree;
use super::nodes::{Fork, Node, NodeKind, Nodes, NOWHERE, ROOT};
use super::tree_leaf::TreeLeaf;

impl<L: TreeLeaf> Tree<L> {
    /// Keep the nodes that are reachable from the root through children and alternates. Returns the old indices of the
    /// remaining nodes in their new order; alternates are not renumbered.
    pub fn compact(&mut self, alternate: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut order = vec![ROOT];
        let mut next = 0;
        while next < order.len() {
            let at = order[next];
            order.extend(self.nodes.children(at));
            order.extend(Some(alternate(at)).filter(|&alternate| alternate != NOWHERE));
            next += 1;
        }
        let indices = new_indices(&order, self.nodes.len());
        let index = |old: u32| indices.get(old as usize).copied().unwrap_or(NOWHERE);
        let mut nodes = Nodes::default();
        let mut leaves = Vec::new();
        for &at in &order {
            let Some(node) = self.nodes.get(at).map(Node::kind) else { continue };
            let moved = match node {
                NodeKind::Leaf(leaf) => {
                    let mut leaf = std::mem::take(&mut self.leaves[leaf as usize]);
                    leaf.attach(index(at));
                    leaves.push(leaf);
                    NodeKind::Leaf(leaves.len() as u32 - 1)
                }
                NodeKind::Threshold { slot, threshold, first, right } => {
                    NodeKind::Threshold { slot, threshold, first: index(first), right }
                }
                NodeKind::Fork { slot, fork } => {
                    let Fork { children, other, usual } = std::mem::take(&mut self.nodes.forks[fork as usize]);
                    let children = children.into_iter().map(index).collect();
                    nodes.forks.push(Fork { children, other: index(other), usual: index(usual) });
                    NodeKind::Fork { slot, fork: nodes.forks.len() as u32 - 1 }
                }
            };
            nodes.push(Node::new(moved));
        }
        (self.nodes, self.leaves) = (nodes, leaves);
        self.classes = self.most_classes();
        self.reasons = order.iter().map(|&at| self.reasons[at as usize].take()).collect();
        self.tallies = order.iter().map(|&at| std::mem::take(&mut self.tallies[at as usize])).collect();
        self.measure_tallies();
        order
    }
}

/// The new index of each node; `NOWHERE` if it is removed.
pub fn new_indices(order: &[u32], count: usize) -> Vec<u32> {
    let mut indices = vec![NOWHERE; count];
    for (new, &old) in order.iter().enumerate() {
        indices[old as usize] = new as u32;
    }
    indices
}
