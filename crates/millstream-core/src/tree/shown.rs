//! A classification tree for people.

use serde_json::{json, Value as Json};

use crate::schema::Schema;

use super::growth::Tree;
use super::listing::{listed, name};

impl Tree {
    /// Counts are by class code and, of a split, the sum over its leaves.
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut counts = vec![vec![0.0; self.classes]; self.nodes.len()];
        for leaf in &self.leaves {
            for (sum, count) in counts[leaf.node as usize].iter_mut().zip(&leaf.counts) {
                *sum += count;
            }
        }
        // Children lie behind their parents, so that going backwards every sum is complete before it is passed on.
        for at in (0..self.nodes.len()).rev() {
            let mut own = std::mem::take(&mut counts[at]);
            for child in self.nodes.children(at as u32).into_iter().rev() {
                own.iter_mut().zip(&counts[child as usize]).for_each(|(sum, count)| *sum += count);
            }
            counts[at] = own;
        }
        let node = |at: u32| json!({ "counts": counts[at as usize] });
        let leaf = |leaf: u32| {
            let leaf = &self.leaves[leaf as usize];
            json!({
                "active": !leaf.idle,
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
