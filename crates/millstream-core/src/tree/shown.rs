//! A tree for people: a flat list of nodes, from which Python draws, tells rules and makes tables.

use serde_json::{json, Value as Json};

use crate::schema::Schema;

use super::decision::Reason;
use super::growth::Tree;
use super::nodes::{Place, NOWHERE};

impl Tree {
    /// The nodes in the order of their places; counts are by class code and, of a split, the sum over its leaves.
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut counts = vec![vec![0.0; self.classes]; self.nodes.len()];
        let mut parents = vec![NOWHERE; self.nodes.len()];
        let mut depths = vec![0; self.nodes.len()];
        for (at, _) in self.nodes.iter() {
            for child in self.nodes.children(at) {
                parents[child as usize] = at;
                depths[child as usize] = depths[at as usize] + 1;
            }
        }
        // Children lie behind their parents, so that going backwards every sum is complete before it is passed on.
        for at in (0..self.nodes.len()).rev() {
            if let Some(Place::Leaf(leaf)) = self.nodes.get(at as u32).map(|node| node.place()) {
                for (sum, count) in counts[at].iter_mut().zip(&self.leaves[leaf as usize].counts) {
                    *sum += count;
                }
            }
            if parents[at] != NOWHERE {
                let own = std::mem::take(&mut counts[at]);
                for (sum, count) in counts[parents[at] as usize].iter_mut().zip(&own) {
                    *sum += count;
                }
                counts[at] = own;
            }
        }
        let node = |(at, place): (u32, Place)| {
            let mut shown = json!({
                "node": at,
                "parent": Some(parents[at as usize]).filter(|&parent| parent != NOWHERE),
                "depth": depths[at as usize],
                "counts": counts[at as usize],
            });
            let more = match place {
                Place::Leaf(leaf) => {
                    let leaf = &self.leaves[leaf as usize];
                    json!({
                        "leaf": true,
                        "active": !leaf.idle,
                        "majority_right": leaf.majority_right,
                        "bayes_right": leaf.bayes_right,
                        "features": leaf.features.as_ref().map(|features| {
                            features.iter().map(|&slot| name(schema, slot)).collect::<Vec<_>>()
                        }),
                    })
                }
                Place::Threshold { slot, threshold, first, right } => json!({
                    "leaf": false,
                    "feature": name(schema, slot),
                    "threshold": threshold,
                    "children": [first, first + 1],
                    "missing": first + u32::from(right),
                }),
                Place::Fork { slot, fork } => {
                    let fork = &self.nodes.forks[fork as usize];
                    let value = |code: usize| schema.values(slot as usize).text(code as u32).map(String::from);
                    let own = fork.children.iter().enumerate().filter(|(_, child)| **child != NOWHERE);
                    let (values, children): (Vec<_>, Vec<_>) =
                        own.map(|(code, &child)| (value(code), child)).unzip();
                    json!({
                        "leaf": false,
                        "feature": name(schema, slot),
                        "values": values,
                        "children": children,
                        "other": (fork.other != NOWHERE).then_some(fork.other),
                        "missing": fork.usual,
                    })
                }
            };
            if let (Json::Object(shown), Json::Object(more)) = (&mut shown, more) {
                shown.extend(more);
                if let Some(reason) = &self.reasons[at as usize] {
                    shown.insert("split".into(), told(reason, schema));
                }
            }
            shown
        };
        let idle = self.leaves.iter().filter(|leaf| leaf.idle).count();
        json!({
            "learned": self.learned,
            "bytes": self.memory(),
            "max_bytes": (self.settings.max_bytes < usize::MAX).then_some(self.settings.max_bytes),
            "active_leaves": self.leaves.len() - idle,
            "inactive_leaves": idle,
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
        })
    }
}

pub fn name(schema: &Schema, slot: u32) -> String {
    let slot = slot as usize;
    if slot < schema.len() {
        schema.name(slot).text()
    } else {
        slot.to_string()
    }
}

pub fn told(reason: &Reason, schema: &Schema) -> Json {
    json!({
        "learned": reason.learned,
        "weight": reason.weight,
        "merit": reason.merit,
        "second": reason.second.map(|slot| name(schema, slot)),
        "second_merit": reason.second_merit,
        "bound": reason.bound,
        "tie": reason.tie,
    })
}
