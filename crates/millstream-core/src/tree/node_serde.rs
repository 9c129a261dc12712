//! Saved nodes, and the checks of nodes from a file: they form one tree, children come after their parents, and every
//! node but the root and every leaf is reached once.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use super::decision::Reason;
use super::nodes::{Fork, Node, NodeKind, Nodes, NOWHERE, SLOTS};

/// Nodes in a saved model.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedNodes {
    pub nodes: Vec<SavedNode>,
    pub forks: Vec<Fork>,
    /// Of the inner nodes, in order.
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum SavedNode {
    #[serde(rename = "leaf")]
    Leaf(u32),
    #[serde(rename = "threshold")]
    Threshold(u32, f64, u32, bool),
    #[serde(rename = "fork")]
    Fork(u32, u32),
}

/// The reason of each split, by node; none for leaves.
pub type Reasons = Vec<Option<Box<Reason>>>;

impl SavedNodes {
    pub fn new(nodes: &Nodes, reasons: &Reasons) -> Self {
        SavedNodes {
            nodes: nodes.iter().map(|(_, kind)| kind.into()).collect(),
            forks: nodes.forks.clone(),
            reasons: reasons.iter().flatten().map(|reason| (**reason).clone()).collect(),
        }
    }

    /// The nodes, the reasons of their splits, and the node of each leaf. Nodes may have an alternate, by node, which
    /// counts as a child.
    pub fn restored(self, who: &str, leaves: usize, alternates: &[u32]) -> Result<(Nodes, Reasons, Vec<u32>)> {
        let mut nodes = Nodes::default();
        for node in self.nodes {
            nodes.push(Node::new(node.into()));
        }
        nodes.forks = self.forks;
        let hangs = check(&nodes, leaves, alternates, who)?;
        let mut told = self.reasons.into_iter();
        let mut reasons = Vec::with_capacity(nodes.len());
        for (_, kind) in nodes.iter() {
            let split = !matches!(kind, NodeKind::Leaf(_));
            let reason = if split { told.next() } else { None };
            require(who, reason.is_some() == split, "splits without a reason")?;
            let finite =
                |reason: &Reason| all_finite(&[reason.weight, reason.merit, reason.second_merit, reason.bound]);
            require(who, reason.as_ref().is_none_or(finite), "a reason is not finite")?;
            reasons.push(reason.map(Box::new));
        }
        require(who, told.next().is_none(), "reasons without a split")?;
        Ok((nodes, reasons, hangs))
    }
}

/// The node of each leaf, if nodes and forks form a tree.
fn check(nodes: &Nodes, leaves: usize, alternates: &[u32], who: &str) -> Result<Vec<u32>> {
    let mut reached = vec![false; nodes.len()];
    let mut hangs = vec![NOWHERE; leaves];
    let mut used = vec![false; nodes.forks.len()];
    require(who, nodes.len() > 0, "a tree without nodes")?;
    reached[0] = true;
    for (at, kind) in nodes.iter() {
        match kind {
            NodeKind::Leaf(leaf) => {
                let hang = hangs.get_mut(leaf as usize).filter(|hang| **hang == NOWHERE);
                require(who, hang.is_some(), "a missing or duplicate leaf")?;
                hang.into_iter().for_each(|hang| *hang = at);
            }
            NodeKind::Threshold { slot, threshold, .. } => {
                require(who, threshold.is_finite() && (slot as usize) < SLOTS, "a split without a threshold")?;
            }
            NodeKind::Fork { slot, fork } => {
                let used = used.get_mut(fork as usize).filter(|used| !**used);
                require(who, used.is_some() && (slot as usize) < SLOTS, "a missing or duplicate fork")?;
                used.into_iter().for_each(|used| *used = true);
                let fork = &nodes.forks[fork as usize];
                require(who, fork.all().any(|child| child == fork.usual), "a fork without a default branch")?;
            }
        }
        let alternate = alternates.get(at as usize).copied().filter(|&alternate| alternate != NOWHERE);
        for child in nodes.children(at).into_iter().chain(alternate) {
            let reached = reached.get_mut(child as usize).filter(|reached| child > at && !**reached);
            require(who, reached.is_some(), "nodes that form no tree")?;
            reached.into_iter().for_each(|reached| *reached = true);
        }
    }
    require(who, reached.iter().all(|&reached| reached), "an unreachable node")?;
    require(who, !hangs.contains(&NOWHERE) && !used.contains(&false), "an unreachable leaf or fork")?;
    Ok(hangs)
}

impl From<NodeKind> for SavedNode {
    fn from(kind: NodeKind) -> Self {
        match kind {
            NodeKind::Leaf(leaf) => SavedNode::Leaf(leaf),
            NodeKind::Threshold { slot, threshold, first, right } => {
                SavedNode::Threshold(slot, threshold, first, right)
            }
            NodeKind::Fork { slot, fork } => SavedNode::Fork(slot, fork),
        }
    }
}

impl From<SavedNode> for NodeKind {
    fn from(node: SavedNode) -> Self {
        match node {
            SavedNode::Leaf(leaf) => NodeKind::Leaf(leaf),
            SavedNode::Threshold(slot, threshold, first, right) => {
                NodeKind::Threshold { slot, threshold, first, right }
            }
            SavedNode::Fork(slot, fork) => NodeKind::Fork { slot, fork },
        }
    }
}
