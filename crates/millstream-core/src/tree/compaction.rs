//! Take out of a tree what hangs no more.
//!
//! A subtree that is cut off leaves its nodes, forks and leaves behind. That is rare, so everything that is still
//! reached is put together anew: breadth first, which keeps the two sides of a threshold side by side and children
//! behind their parents.

use super::growth::Tree;
use super::nodes::{Fork, Node, Nodes, Place, NOWHERE, ROOT};
use super::tree_leaf::TreeLeaf;

impl<L: TreeLeaf> Tree<L> {
    /// Keep what is reached from the root through children and through alternates, by node. Returns the old places of
    /// the nodes that stay, in their new order; alternates are not renamed.
    pub fn compact(&mut self, alternate: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut order = vec![ROOT];
        let mut next = 0;
        while next < order.len() {
            let at = order[next];
            order.extend(self.nodes.children(at));
            order.extend(Some(alternate(at)).filter(|&alternate| alternate != NOWHERE));
            next += 1;
        }
        let places = new_places(&order, self.nodes.len());
        let place = |old: u32| places.get(old as usize).copied().unwrap_or(NOWHERE);
        let mut nodes = Nodes::default();
        let mut leaves = Vec::new();
        for &at in &order {
            let Some(node) = self.nodes.get(at).map(Node::place) else { continue };
            let moved = match node {
                Place::Leaf(leaf) => {
                    let mut leaf = std::mem::take(&mut self.leaves[leaf as usize]);
                    leaf.hang(place(at));
                    leaves.push(leaf);
                    Place::Leaf(leaves.len() as u32 - 1)
                }
                Place::Threshold { slot, threshold, first, right } => {
                    Place::Threshold { slot, threshold, first: place(first), right }
                }
                Place::Fork { slot, fork } => {
                    let Fork { children, other, usual } = std::mem::take(&mut self.nodes.forks[fork as usize]);
                    let children = children.into_iter().map(place).collect();
                    nodes.forks.push(Fork { children, other: place(other), usual: place(usual) });
                    Place::Fork { slot, fork: nodes.forks.len() as u32 - 1 }
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

/// Where each of so many nodes comes to be; `NOWHERE` if it does not stay.
pub fn new_places(order: &[u32], count: usize) -> Vec<u32> {
    let mut places = vec![NOWHERE; count];
    for (new, &old) in order.iter().enumerate() {
        places[old as usize] = new as u32;
    }
    places
}
