//! The report of a classification tree.

use serde_json::{json, Value as Json};

use crate::schema::Schema;

use super::growth::Tree;
use super::node_report::{listed, name};

impl Tree {
    /// Counts are by class code, over all examples that a node received, whatever happened to its subtree since. The
    /// estimate of a leaf, from which it predicts, includes the initial weights from its parent's split.
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut totals = self.totals();
        let classes = totals.iter().map(Vec::len).max().unwrap_or(0).max(self.classes);
        totals.iter_mut().for_each(|counts| counts.resize(classes, 0.0));
        let node = |at: u32| json!({ "counts": totals[at as usize] });
        let leaf = |leaf: u32| {
            let leaf = &self.leaves[leaf as usize];
            json!({
                "active": !leaf.idle,
                "estimate": leaf.counts,
                "majority_right": leaf.majority_right,
                "bayes_right": leaf.bayes_right,
                "features": leaf.features.as_ref().map(|features| {
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
