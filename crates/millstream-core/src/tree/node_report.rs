//! The report of nodes: a flat list, from which Python makes drawings, rules and tables.

use serde_json::{json, Value as Json};

use crate::schema::Schema;

use super::decision::Reason;
use super::growth::Tree;
use super::node_serde::Reasons;
use super::nodes::{NodeKind, Nodes, NOWHERE, ROOT};
use super::tree_leaf::TreeLeaf;

/// The nodes by index; `beside` adds fields to each node, `leaf` to each leaf.
pub fn listed(
    nodes: &Nodes,
    reasons: &Reasons,
    schema: &Schema,
    beside: &dyn Fn(u32) -> Json,
    leaf: &dyn Fn(u32) -> Json,
) -> Vec<Json> {
    let mut parents = vec![NOWHERE; nodes.len()];
    let mut depths = vec![0; nodes.len()];
    for (at, _) in nodes.iter() {
        for child in nodes.children(at) {
            parents[child as usize] = at;
            depths[child as usize] = depths[at as usize] + 1;
        }
    }
    let listed = |(at, kind): (u32, NodeKind)| {
        let parent = Some(parents[at as usize]).filter(|&parent| parent != NOWHERE);
        let mut shown = json!({
            "node": at,
            "parent": parent,
            "depth": depths[at as usize],
            "leaf": matches!(kind, NodeKind::Leaf(_)),
        });
        let split =
            reasons[at as usize].as_ref().map_or(Json::Null, |reason| json!({ "split": told(reason, schema) }));
        let more = match kind {
            NodeKind::Leaf(number) => leaf(number),
            kind => branched(nodes, kind, schema),
        };
        if let Json::Object(shown) = &mut shown {
            for more in [beside(at), more, split] {
                if let Json::Object(more) = more {
                    shown.extend(more);
                }
            }
        }
        shown
    };
    nodes.iter().map(listed).collect()
}

/// The size of a tree. Alternates are not counted among its nodes.
pub fn sizes<L: TreeLeaf>(tree: &Tree<L>, bytes: usize) -> Json {
    let (mut nodes, mut leaves, mut height) = (0, 0, 0);
    let mut below = vec![(ROOT, 0)];
    while let Some((at, depth)) = below.pop() {
        let children = tree.nodes.children(at);
        nodes += 1;
        leaves += usize::from(children.is_empty());
        height = height.max(depth);
        below.extend(children.into_iter().map(|child| (child, depth + 1)));
    }
    let idle = tree.leaves.iter().filter(|leaf| leaf.is_idle()).count();
    json!({
        "n_nodes": nodes,
        "n_branches": nodes - leaves,
        "n_leaves": leaves,
        "height": height,
        "active_leaves": tree.leaves.len() - idle,
        "inactive_leaves": idle,
        "bytes": bytes,
        "learned": tree.learned,
    })
}

fn branched(nodes: &Nodes, kind: NodeKind, schema: &Schema) -> Json {
    match kind {
        NodeKind::Leaf(_) => Json::Null,
        NodeKind::Threshold { slot, threshold, first, right } => json!({
            "feature": name(schema, slot),
            "threshold": threshold,
            "children": [first, first + 1],
            "missing": first + u32::from(right),
        }),
        NodeKind::Fork { slot, fork } => {
            let fork = &nodes.forks[fork as usize];
            let value = |code: usize| schema.values(slot as usize).text(code as u32).map(String::from);
            let own = fork.children.iter().enumerate().filter(|(_, child)| **child != NOWHERE);
            let (values, children): (Vec<_>, Vec<_>) = own.map(|(code, &child)| (value(code), child)).unzip();
            json!({
                "feature": name(schema, slot),
                "values": values,
                "children": children,
                "other": (fork.other != NOWHERE).then_some(fork.other),
                "missing": fork.usual,
            })
        }
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

fn told(reason: &Reason, schema: &Schema) -> Json {
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
