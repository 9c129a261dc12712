//! Saved state and report of a regression tree.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::random::Random;
use crate::schema::Schema;

use super::growth::Tree;
use super::node_report::{listed, name};
use super::node_serde::SavedNodes;
use super::regression_leaf::RegressionLeaf;
use super::subspace::Subspace;
use super::target::Targets;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedRegression {
    learned: u64,
    nodes: SavedNodes,
    leaves: Vec<RegressionLeaf>,
    /// Of every node; none in files from before tallies existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tallies: Option<Vec<Targets>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    random: Option<Random>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
}

impl SavedRegression {
    pub fn new(tree: &Tree<RegressionLeaf>) -> Self {
        let (random, width) = tree.subspace.as_ref().map(Subspace::saved).unzip();
        SavedRegression {
            learned: tree.learned,
            nodes: SavedNodes::new(&tree.nodes, &tree.reasons),
            leaves: tree.leaves.clone(),
            tallies: Some(tree.tallies.clone()),
            random,
            width: width.flatten(),
        }
    }

    /// Without the random features of a forest.
    pub fn alone(tree: &Tree<RegressionLeaf>) -> Self {
        SavedRegression { random: None, width: None, ..SavedRegression::new(tree) }
    }

    /// A tree with the settings of the given one, and the saved state.
    pub fn restored(self, like: &Tree<RegressionLeaf>, alternates: &[u32]) -> Result<Tree<RegressionLeaf>> {
        let SavedRegression { learned, nodes, leaves, tallies, random, width } = self;
        let (who, settings) = (like.name, like.settings);
        let lists = leaves.iter().map(|leaf| leaf.looks_at.as_deref());
        let subspace = Subspace::restored(&like.subspace, who, (random, width), lists)?;
        let mut tree = Tree::new(who, settings, subspace);
        let hangs;
        (tree.nodes, tree.reasons, hangs) = nodes.restored(who, leaves.len(), alternates)?;
        require(who, leaves.iter().all(|leaf| leaf.is_sound(&settings)), "an invalid leaf")?;
        (tree.learned, tree.leaves) = (learned, leaves);
        for (leaf, node) in tree.leaves.iter_mut().zip(hangs) {
            leaf.node = node;
        }
        tree.restore_tallies(tallies)?;
        tree.count_bytes();
        Ok(tree)
    }
}

impl Tree<RegressionLeaf> {
    pub fn shown(&self, schema: &Schema) -> Json {
        let totals = self.totals();
        let node = |at: u32| {
            let Targets { weight, mean, .. } = totals[at as usize];
            json!({ "weight": weight, "mean": mean, "variance": totals[at as usize].variance() })
        };
        let leaf = |leaf: u32| {
            let leaf = &self.leaves[leaf as usize];
            let [mean, linear] = leaf.errors;
            let Targets { weight, mean: expected, .. } = leaf.targets;
            json!({
                "active": !leaf.idle,
                "estimate": { "weight": weight, "mean": expected, "variance": leaf.targets.variance() },
                "mean_error": mean,
                "linear_error": linear,
                "features": leaf.looks_at.as_ref().map(|features| {
                    features.iter().map(|&slot| name(schema, slot)).collect::<Vec<_>>()
                }),
            })
        };
        let idle = self.leaves.iter().filter(|leaf| leaf.idle).count();
        json!({
            "learned": self.learned,
            "bytes": self.memory(),
            "max_bytes": (self.settings.max_bytes < usize::MAX).then_some(self.settings.max_bytes),
            "active_leaves": self.leaves.len() - idle,
            "inactive_leaves": idle,
            "nodes": listed(&self.nodes, &self.reasons, schema, &node, &leaf),
        })
    }
}
