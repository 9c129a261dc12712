//! Saved state and report of an anytime tree.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::Result;
use crate::held::state::require;
use crate::schema::Schema;

use super::changes::Changes;
use super::efdt::{AnytimeTree, Inner};
use super::growth::Tree;
use super::nodes::NodeKind;
use super::overflow_limits::LearnsAtSeveralNodes;
use super::saved::{SavedLeaf, SavedTree};
use super::tree_model::AnyTree;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAnytime {
    tree: SavedTree,
    /// Of the inner nodes, in order; none for nodes that discarded their statistics.
    inner: Vec<Option<SavedInner>>,
    replaced: u64,
    moved: u64,
    killed: u64,
    changes: Changes,
    #[serde(rename = "wide")]
    exceeded_limits: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedInner {
    statistics: SavedLeaf,
    reconsidered: u64,
    changed: u64,
}

impl AnytimeTree {
    pub fn saved(&self) -> SavedAnytime {
        let saved = |inner: &Inner| SavedInner {
            statistics: SavedLeaf::from(&inner.statistics),
            reconsidered: inner.reconsidered,
            changed: inner.changed,
        };
        let splits = self.tree.nodes.iter().filter(|(_, kind)| !matches!(kind, NodeKind::Leaf(_)));
        let inner = splits.map(|(at, _)| self.inner[at as usize].as_deref().map(saved));
        SavedAnytime {
            tree: self.tree.saved(),
            inner: inner.collect(),
            replaced: self.replaced,
            moved: self.moved,
            killed: self.killed,
            changes: self.changes.clone(),
            exceeded_limits: self.exceeded_limits,
        }
    }

    /// Restore the saved state, or change nothing.
    pub fn restore_from(&mut self, saved: SavedAnytime) -> Result<()> {
        let who = self.tree.name;
        let SavedAnytime { tree, inner, replaced, moved, killed, changes, exceeded_limits } = saved;
        let mut restored = Tree::new(who, self.tree.settings, None);
        restored.restore_from(tree)?;
        let mut anytime = AnytimeTree::new(restored, self.every);
        let splits: Vec<u32> = anytime
            .tree
            .nodes
            .iter()
            .filter(|(_, kind)| !matches!(kind, NodeKind::Leaf(_)))
            .map(|(at, _)| at)
            .collect();
        require(who, splits.len() == inner.len(), "a split without statistics")?;
        for (node, saved) in splits.into_iter().zip(inner) {
            let Some(saved) = saved else { continue };
            let SavedInner { statistics, reconsidered, changed } = saved;
            let mut statistics = statistics.restored(who, anytime.tree.classes, anytime.tree.settings.bins)?;
            require(who, statistics.features.is_none(), "a split with a subset of the features")?;
            statistics.node = node;
            anytime.inner[node as usize] = Some(Box::new(Inner { statistics, reconsidered, changed }));
        }
        changes.check(who)?;
        anytime.exceeded_limits = exceeded_limits || !anytime.is_within_limits();
        (anytime.replaced, anytime.moved, anytime.killed) = (replaced, moved, killed);
        anytime.changes = changes;
        anytime.update_overhead();
        *self = anytime;
        Ok(())
    }

    pub fn shown(&self, schema: &Schema) -> Json {
        let mut shown = self.tree.shown(schema);
        let nodes = shown.get_mut("nodes").and_then(Json::as_array_mut).into_iter().flatten();
        for (node, inner) in nodes.zip(&self.inner) {
            if let Some(inner) = inner {
                node["reevaluated"] = json!(inner.reconsidered);
                node["changed"] = json!(inner.changed);
            }
        }
        shown["reevaluations"] = json!({
            "replaced": self.replaced,
            "moved": self.moved,
            "killed": self.killed,
        });
        shown["bytes"] = json!(self.memory());
        shown["changes"] = self.changes.shown(schema);
        shown
    }
}
