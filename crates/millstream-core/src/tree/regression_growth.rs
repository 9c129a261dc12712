//! A regression tree that grows: nodes, leaves, and what happens when an example comes.
//!
//! A leaf is split when the reduction of variance by the second best split is a smaller part of that by the best than
//! Hoeffding's bound leaves open (Ikonomovska, Gama and Džeroski, 2011, section 4.1): r = second / best, r̄ + ε < 1, or
//! when ε has fallen below τ.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::role::Part;
use crate::row::Row;
use crate::schema::Schema;
use crate::state::{pack, require, unpack};

use super::candidates::Candidate;
use super::decision::{hoeffding_bound, Reason};
use super::histogram::Content;
use super::listing::listed;
use super::nodes::{End, Node, Nodes, ROOT, SLOTS};
use super::regression_leaf::RegressionLeaf;
use super::regression_settings::RegressionSettings;
use super::shape::{Reasons, SavedNodes};
use super::target::Targets;

#[derive(Clone, Debug)]
pub struct RegressionTree {
    /// What faults are said of.
    pub name: &'static str,
    pub settings: RegressionSettings,
    pub nodes: Nodes,
    pub leaves: Vec<RegressionLeaf>,
    pub reasons: Reasons,
    /// Examples learned.
    pub learned: u64,
    work: Vec<Targets>,
}

#[derive(Serialize, Deserialize)]
struct State {
    learned: u64,
    nodes: SavedNodes,
    leaves: Vec<RegressionLeaf>,
}

impl RegressionTree {
    pub fn new(name: &'static str, settings: RegressionSettings) -> Self {
        let mut nodes = Nodes::default();
        let node = nodes.push(Node::leaf(0));
        let leaves = vec![RegressionLeaf::new(node, 0, Targets::default(), None)];
        RegressionTree { name, settings, nodes, leaves, reasons: vec![None], learned: 0, work: Vec::new() }
    }

    /// Predict a row that is not sparse; 0 before anything was learned.
    pub fn predict_dense(&self, x: Row<'_>) -> f64 {
        let (_, leaf) = self.nodes.leaf(x, |_| {});
        self.leaves[leaf as usize].predict(x, &self.settings)
    }

    /// Learn a row that is not sparse; a nominal value without a branch gets one.
    pub fn learn_dense(&mut self, x: Row<'_>, y: f64, w: f64) -> Result<()> {
        let (leaf, grown) = match self.nodes.route(x, ROOT, |_| {}) {
            End::Leaf { leaf, .. } => (leaf, None),
            End::Branchless { fork, code, .. } => (self.branch_out(fork, code), Some(fork)),
        };
        let place = &mut self.leaves[leaf as usize];
        if !place.learn(x, y, w, &self.settings) {
            if let Some(fork) = grown {
                self.nodes.take_back_branch(fork);
                self.reasons.pop();
                self.leaves.pop();
            }
            return Err(Fault::overflow(self.name));
        }
        self.learned += 1;
        if place.since >= self.settings.grace_period {
            self.attempt(leaf);
        }
        Ok(())
    }

    #[cold]
    fn branch_out(&mut self, fork: u32, code: u32) -> u32 {
        let depth = self.depth_of_branch(fork);
        let leaf = self.leaves.len() as u32;
        let node = self.nodes.branch_out(fork, code, leaf);
        self.reasons.push(None);
        self.leaves.push(RegressionLeaf::new(node, depth, Targets::default(), None));
        leaf
    }

    /// How deep the branches of a fork hang.
    fn depth_of_branch(&self, fork: u32) -> u32 {
        let (leaf, below) = self.nodes.some_leaf(self.nodes.forks[fork as usize].usual);
        self.leaves[leaf as usize].depth.saturating_sub(below)
    }

    /// Split a leaf if that has proved good.
    #[cold]
    fn attempt(&mut self, number: u32) {
        self.leaves[number as usize].since = 0.0;
        if let Some((candidate, reason)) = self.decide(number) {
            self.split(number, &candidate, reason);
        }
    }

    fn decide(&mut self, number: u32) -> Option<(Candidate, Reason)> {
        let (leaf, settings) = (&self.leaves[number as usize], &self.settings);
        if leaf.depth >= settings.max_depth {
            return None;
        }
        let (mut best, mut second): (Option<Candidate>, Option<Candidate>) = (None, None);
        for slot in 0..leaf.features.len() {
            let Some(candidate) = leaf.best_split(slot, settings, &mut self.work) else { continue };
            if best.is_none_or(|best| candidate.merit > best.merit) {
                (best, second) = (Some(candidate), best);
            } else if second.is_none_or(|second| candidate.merit > second.merit) {
                second = Some(candidate);
            }
        }
        let best = best.filter(|best| best.merit > 0.0 && best.merit.is_finite())?;
        let second = second.filter(|second| second.merit > 0.0);
        let merit = second.map_or(0.0, |second| second.merit);
        let bound = hoeffding_bound(1.0, settings.delta, leaf.targets.weight);
        let clear = merit / best.merit + bound < 1.0;
        if !clear && bound >= settings.tau {
            return None;
        }
        let reason = Reason {
            learned: self.learned,
            weight: leaf.targets.weight,
            merit: best.merit,
            second: second.map(|second| second.slot as u32),
            second_merit: merit,
            bound,
            tie: !clear,
        };
        Some((best, reason))
    }

    fn split(&mut self, number: u32, candidate: &Candidate, reason: Reason) {
        if candidate.slot >= SLOTS {
            return;
        }
        let leaf = &self.leaves[number as usize];
        let (node, depth, linear) = (leaf.node, leaf.depth + 1, leaf.linear.clone());
        let branches = leaf.branches(candidate);
        let weights: Vec<f64> = branches.iter().map(|branch| branch.weight).collect();
        let next = self.leaves.len() as u32;
        let children = self.nodes.split(node, candidate.slot as u32, candidate.test, &weights, number, next);
        for ((child, leaf), targets) in children.into_iter().zip(branches).filter_map(|(at, b)| Some((at?, b))) {
            let fresh = RegressionLeaf::new(child, depth, targets, linear.clone());
            self.reasons.push(None);
            match self.leaves.get_mut(leaf as usize) {
                Some(place) => *place = fresh,
                None => self.leaves.push(fresh),
            }
        }
        self.reasons[node as usize] = Some(Box::new(reason));
    }

    /// The targets below each node.
    fn targets(&self) -> Vec<Targets> {
        let mut targets = vec![Targets::default(); self.nodes.len()];
        for leaf in &self.leaves {
            targets[leaf.node as usize] = leaf.targets;
        }
        for at in (0..self.nodes.len()).rev() {
            for child in self.nodes.children(at as u32) {
                let child = targets[child as usize];
                targets[at].add(&child);
            }
        }
        targets
    }
}

impl Part for RegressionTree {
    fn save(&self) -> Result<Vec<u8>> {
        let nodes = SavedNodes::new(&self.nodes, &self.reasons);
        pack(&State { learned: self.learned, nodes, leaves: self.leaves.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { learned, nodes, mut leaves } = unpack(self.name, bytes)?;
        let (nodes, reasons, hangs) = nodes.restored(self.name, leaves.len())?;
        require(self.name, leaves.iter().all(|leaf| leaf.is_sound(&self.settings)), "a leaf that is not sound")?;
        for (leaf, node) in leaves.iter_mut().zip(hangs) {
            leaf.node = node;
        }
        (self.learned, self.nodes, self.reasons, self.leaves) = (learned, nodes, reasons, leaves);
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.nodes.memory()
            + self.reasons.capacity() * std::mem::size_of::<usize>()
            + self.reasons.iter().flatten().count() * std::mem::size_of::<Reason>()
            + self.leaves.iter().map(RegressionLeaf::memory).sum::<usize>()
            + (self.leaves.capacity() - self.leaves.len()) * std::mem::size_of::<RegressionLeaf>()
            + self.work.capacity() * std::mem::size_of::<Targets>()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let targets = self.targets();
        let node = |at: u32| {
            let Targets { weight, mean, .. } = targets[at as usize];
            json!({ "weight": weight, "mean": mean, "variance": targets[at as usize].variance() })
        };
        let leaf = |leaf: u32| {
            let [mean, linear] = self.leaves[leaf as usize].errors;
            json!({ "active": true, "mean_error": mean, "linear_error": linear })
        };
        json!({
            "learned": self.learned,
            "bytes": self.memory(),
            "nodes": listed(&self.nodes, &self.reasons, schema, &node, &leaf),
        })
    }
}
