//! A tree in a saved model.
//!
//! What is loaded must be a tree: children behind their parents, every node but the root and every leaf reached once.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::naive_bayes::class_statistics::SavedClass;
use crate::naive_bayes::class_table::ClassTable;
use crate::random::Random;
use crate::row::all_finite;
use crate::state::require;

use super::class_counts::Counts;
use super::decision::Reason;
use super::growth::Tree;
use super::histogram::Histogram;
use super::leaf::{Leaf, Span, NO_SPAN};
use super::nodes::{Fork, Node, Nodes, Place, NOWHERE, SLOTS};
use super::settings::ESTIMATE;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedTree {
    classes: u32,
    learned: u64,
    nodes: Vec<SavedNode>,
    forks: Vec<Fork>,
    /// Of the nodes that are split, in order.
    reasons: Vec<Reason>,
    leaves: Vec<SavedLeaf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    random: Option<Random>,
}

#[derive(Debug, Serialize, Deserialize)]
enum SavedNode {
    #[serde(rename = "leaf")]
    Leaf(u32),
    #[serde(rename = "threshold")]
    Threshold(u32, f64, u32, bool),
    #[serde(rename = "fork")]
    Fork(u32, u32),
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedLeaf {
    depth: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    idle: bool,
    counts: Vec<f64>,
    since: f64,
    majority_right: f64,
    bayes_right: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    features: Option<Vec<u32>>,
    classes: Vec<SavedClass>,
    /// Lowest and highest by class and slot; nothing for a slot without numbers.
    spans: Vec<Vec<Option<[f64; 2]>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    histograms: Vec<Histogram<Counts>>,
}

impl Tree {
    pub fn saved(&self) -> SavedTree {
        SavedTree {
            classes: self.classes as u32,
            learned: self.learned,
            nodes: self.nodes.iter().map(|(_, place)| place.into()).collect(),
            forks: self.nodes.forks.clone(),
            reasons: self.reasons.iter().flatten().map(|reason| (**reason).clone()).collect(),
            leaves: self.leaves.iter().map(SavedLeaf::from).collect(),
            random: self.subspace.as_ref().map(|subspace| subspace.random.clone()),
        }
    }

    /// The same without what draws features: a tree that goes on by itself looks at all of them.
    pub fn saved_alone(&self) -> SavedTree {
        SavedTree { random: None, ..self.saved() }
    }

    /// Become what was saved, or stay.
    pub fn restore_from(&mut self, saved: SavedTree) -> Result<()> {
        self.restore_with(saved, &[])
    }

    /// The same, where nodes may have an alternate, by node, that hangs from them as a child does.
    pub fn restore_with(&mut self, saved: SavedTree, alternates: &[u32]) -> Result<()> {
        let who = self.name;
        let SavedTree { classes, learned, nodes, forks, reasons, leaves, random } = saved;
        let classes = classes as usize;
        let leaves: Vec<Leaf> = leaves
            .into_iter()
            .map(|leaf| leaf.restored(who, classes, self.settings.bins))
            .collect::<Result<_>>()?;
        let mut tree = Tree::new(who, self.settings, self.subspace.clone());
        (tree.classes, tree.learned, tree.leaves) = (classes, learned, leaves);
        tree.nodes = Nodes::default();
        for node in nodes {
            tree.nodes.push(Node::new(node.into()));
        }
        tree.nodes.forks = forks;
        tree.check(alternates)?;
        let mut reasons = reasons.into_iter();
        tree.reasons.clear();
        for (_, place) in tree.nodes.iter() {
            let reason = match place {
                Place::Leaf(_) => None,
                _ => reasons.next().map(Box::new),
            };
            require(who, reason.is_some() != matches!(place, Place::Leaf(_)), "splits without a reason")?;
            tree.reasons.push(reason);
        }
        require(who, reasons.next().is_none(), "reasons without a split")?;
        let finite =
            |reason: &Reason| all_finite(&[reason.weight, reason.merit, reason.second_merit, reason.bound]);
        require(who, tree.reasons.iter().flatten().all(|reason| finite(reason)), "a reason is not finite")?;
        require(who, random.is_some() == tree.subspace.is_some(), "a random generator is missing")?;
        if let (Some(random), Some(subspace)) = (random, &mut tree.subspace) {
            subspace.random = random;
        }
        tree.count_bytes();
        *self = tree;
        Ok(())
    }

    /// Check that nodes, forks and leaves make a tree, and note where leaves hang.
    fn check(&mut self, alternates: &[u32]) -> Result<()> {
        let (who, count) = (self.name, self.nodes.len());
        let mut reached = vec![false; count];
        let mut hangs = vec![NOWHERE; self.leaves.len()];
        let mut used = vec![false; self.nodes.forks.len()];
        require(who, count > 0, "a tree without nodes")?;
        reached[0] = true;
        for (at, place) in self.nodes.iter() {
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
                    let fork = &self.nodes.forks[fork as usize];
                    require(who, fork.all().any(|child| child == fork.usual), "a fork without a usual branch")?;
                }
            }
            let alternate = alternates.get(at as usize).copied().filter(|&alternate| alternate != NOWHERE);
            for child in self.nodes.children(at).into_iter().chain(alternate) {
                let reached = reached.get_mut(child as usize).filter(|reached| child > at && !**reached);
                require(who, reached.is_some(), "nodes that make no tree")?;
                reached.into_iter().for_each(|reached| *reached = true);
            }
        }
        require(who, reached.iter().all(|&reached| reached), "a node that cannot be reached")?;
        require(who, !hangs.contains(&NOWHERE) && !used.contains(&false), "a leaf or fork that hangs nowhere")?;
        for (leaf, node) in self.leaves.iter_mut().zip(hangs) {
            leaf.node = node;
        }
        Ok(())
    }
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

impl From<&Leaf> for SavedLeaf {
    fn from(leaf: &Leaf) -> Self {
        let span = |span: &Span| (*span != NO_SPAN).then_some([-span[0], span[1]]);
        SavedLeaf {
            depth: leaf.depth,
            idle: leaf.idle,
            counts: leaf.counts.clone(),
            since: leaf.since,
            majority_right: leaf.majority_right,
            bayes_right: leaf.bayes_right,
            features: leaf.features.as_ref().map(|features| features.to_vec()),
            classes: leaf.table.saved(),
            spans: leaf.spans.iter().map(|spans| spans.iter().map(span).collect()).collect(),
            histograms: leaf.histograms.clone(),
        }
    }
}

impl SavedLeaf {
    pub fn restored(self, who: &str, classes: usize, bins: usize) -> Result<Leaf> {
        let SavedLeaf { depth, idle, counts, since, majority_right, bayes_right, features, spans, .. } = self;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&number| number >= 0.0);
        require(who, positive(&counts) && counts.iter().sum::<f64>().is_finite(), "a count is not finite")?;
        require(who, positive(&[since, majority_right, bayes_right]), "a count is not finite")?;
        let known = [counts.len(), self.classes.len(), spans.len()];
        require(who, known.iter().all(|&known| known <= classes), "a class beyond the number of classes")?;
        require(who, self.classes.len() <= counts.len(), "statistics of a class without a count")?;
        let ascending = |features: &Vec<u32>| features.windows(2).all(|pair| pair[0] < pair[1]);
        require(who, features.as_ref().is_none_or(ascending), "features out of order")?;
        let widths = features.as_ref().map_or(usize::MAX, Vec::len);
        let mut leaf = Leaf::new(0, depth, counts, features.map(Vec::into_boxed_slice));
        (leaf.since, leaf.majority_right, leaf.bayes_right) = (since, majority_right, bayes_right);
        leaf.table = ClassTable::restored(self.classes, who, ESTIMATE)?;
        require(who, !idle || leaf.table.classes.is_empty(), "an idle leaf with statistics")?;
        leaf.idle = idle;
        for spans in &spans {
            require(who, spans.len() <= widths, "more spans than features")?;
            let sound = |span: &[f64; 2]| all_finite(span) && span[0] <= span[1];
            require(who, spans.iter().flatten().all(sound), "a span without numbers")?;
        }
        let sound =
            |histogram: &Histogram<Counts>| histogram.is_sound(bins, |counts| counts.is_sound(leaf.counts.len()));
        require(who, self.histograms.iter().all(sound), "a histogram that is not sound")?;
        require(who, self.histograms.len() <= widths, "more histograms than features")?;
        leaf.histograms = self.histograms;
        let span = |span: &Option<[f64; 2]>| span.map_or(NO_SPAN, |[low, high]| [-low, high]);
        leaf.spans = spans.iter().map(|spans| spans.iter().map(span).collect()).collect();
        Ok(leaf)
    }
}
