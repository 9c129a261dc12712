//! What must hold of nodes that come from a file: they make one tree, children behind their parents, every node but the
//! root and every leaf reached once.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;

use super::decision::Reason;
use super::nodes::{Fork, Node, Nodes, Place, NOWHERE, SLOTS};

/// Nodes in a saved model.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedNodes {
    pub nodes: Vec<SavedNode>,
    pub forks: Vec<Fork>,
    /// Of the nodes that are split, in order.
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

/// Why each node was split, by node; none for leaves.
pub type Reasons = Vec<Option<Box<Reason>>>;

impl SavedNodes {
    pub fn new(nodes: &Nodes, reasons: &Reasons) -> Self {
        SavedNodes {
            nodes: nodes.iter().map(|(_, place)| place.into()).collect(),
            forks: nodes.forks.clone(),
            reasons: reasons.iter().flatten().map(|reason| (**reason).clone()).collect(),
        }
    }

    /// The nodes, why they were split, and at which node each of so many leaves hangs. Nodes may have an alternate, by
    /// node, that hangs from them as a child does.
    pub fn restored(self, who: &str, leaves: usize, alternates: &[u32]) -> Result<(Nodes, Reasons, Vec<u32>)> {
        let mut nodes = Nodes::default();
        for node in self.nodes {
            nodes.push(Node::new(node.into()));
        }
        nodes.forks = self.forks;
        let hangs = check(&nodes, leaves, alternates, who)?;
        let mut told = self.reasons.into_iter();
        let mut reasons = Vec::with_capacity(nodes.len());
        for (_, place) in nodes.iter() {
            let split = !matches!(place, Place::Leaf(_));
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

/// Where leaves hang, if nodes and forks make a tree.
fn check(nodes: &Nodes, leaves: usize, alternates: &[u32], who: &str) -> Result<Vec<u32>> {
    let mut reached = vec![false; nodes.len()];
    let mut hangs = vec![NOWHERE; leaves];
    let mut used = vec![false; nodes.forks.len()];
    require(who, nodes.len() > 0, "a tree without nodes")?;
    reached[0] = true;
    for (at, place) in nodes.iter() {
        match place {
            Place::Leaf(leaf) => {
                let hang = hangs.get_mut(leaf as usize).filter(|hang| **hang == NOWHERE);
                require(who, hang.is_some(), "a leaf that is not there, or twice")?;
                hang.into_iter().for_each(|hang| *hang = at);
            }
            Place::Threshold { slot, threshold, .. } => {
                require(who, threshold.is_finite() && (slot as usize) < SLOTS, "a split without a threshold")?;
            }
            Place::Fork { slot, fork } => {
                let used = used.get_mut(fork as usize).filter(|used| !**used);
                require(who, used.is_some() && (slot as usize) < SLOTS, "a fork that is not there, or twice")?;
                used.into_iter().for_each(|used| *used = true);
                let fork = &nodes.forks[fork as usize];
                require(who, fork.all().any(|child| child == fork.usual), "a fork without a usual branch")?;
            }
        }
        let alternate = alternates.get(at as usize).copied().filter(|&alternate| alternate != NOWHERE);
        for child in nodes.children(at).into_iter().chain(alternate) {
            let reached = reached.get_mut(child as usize).filter(|reached| child > at && !**reached);
            require(who, reached.is_some(), "nodes that make no tree")?;
            reached.into_iter().for_each(|reached| *reached = true);
        }
    }
    require(who, reached.iter().all(|&reached| reached), "a node that cannot be reached")?;
    require(who, !hangs.contains(&NOWHERE) && !used.contains(&false), "a leaf or fork that hangs nowhere")?;
    Ok(hangs)
}

impl From<Place> for SavedNode {
    fn from(place: Place) -> Self {
        match place {
            Place::Leaf(leaf) => SavedNode::Leaf(leaf),
            Place::Threshold { slot, threshold, first, right } => {
                SavedNode::Threshold(slot, threshold, first, right)
            }
            Place::Fork { slot, fork } => SavedNode::Fork(slot, fork),
        }
    }
}

impl From<SavedNode> for Place {
    fn from(node: SavedNode) -> Self {
        match node {
            SavedNode::Leaf(leaf) => Place::Leaf(leaf),
            SavedNode::Threshold(slot, threshold, first, right) => {
                Place::Threshold { slot, threshold, first, right }
            }
            SavedNode::Fork(slot, fork) => Place::Fork { slot, fork },
        }
    }
}
