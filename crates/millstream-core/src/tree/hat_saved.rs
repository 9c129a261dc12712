//! Saved state and report of an adaptive tree.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::ensemble::record::Spread;
use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::random::Random;
use crate::schema::Schema;

use super::changes::Changes;
use super::growth::Tree;
use super::hat::{AdaptiveTree, NodeMonitor};
use super::nodes::NOWHERE;
use super::tree_leaf::TreeLeaf;
use super::tree_model::AnyTree;
use super::tree_prediction::TreePrediction;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAdaptive<S> {
    tree: S,
    #[serde(rename = "watches")]
    monitors: Vec<NodeMonitor>,
    random: Random,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    begun: u64,
    swapped: u64,
    changes: Changes,
    #[serde(rename = "wide")]
    exceeded_limits: bool,
}

impl<L: TreeLeaf> AdaptiveTree<L> {
    pub fn saved(&self) -> SavedAdaptive<L::Saved> {
        SavedAdaptive {
            tree: L::saved(&self.tree),
            monitors: self.monitors.clone(),
            random: self.random.clone(),
            spread: (!L::Prediction::ERROR_RATE).then_some(self.spread),
            begun: self.begun,
            swapped: self.swapped,
            changes: self.changes.clone(),
            exceeded_limits: self.exceeded_limits,
        }
    }

    /// Restore the saved state, or change nothing.
    pub fn restore_from(&mut self, saved: SavedAdaptive<L::Saved>) -> Result<()> {
        let who = self.tree.name;
        let SavedAdaptive { tree, monitors, random, spread, begun, swapped, changes, exceeded_limits } = saved;
        let alternates: Vec<u32> = monitors.iter().map(|monitor| monitor.alternate).collect();
        let mut restored = Tree::new(who, self.tree.settings, None);
        L::restore(&mut restored, tree, &alternates)?;
        require(who, monitors.len() == restored.nodes.len(), "a node without a window")?;
        let sound = |monitor: &NodeMonitor| monitor.window.is_sound(&self.adaptation.adwin);
        require(who, monitors.iter().all(sound), "an invalid window")?;
        require(who, !nested(&restored, &alternates), "an alternate within an alternate")?;
        changes.check(who)?;
        require(who, spread.is_some() != L::Prediction::ERROR_RATE, "errors without a spread")?;
        require(who, spread.is_none_or(|spread| spread.is_sound()), "an invalid spread")?;
        let mut adaptive = AdaptiveTree::new(restored, self.adaptation, random);
        adaptive.exceeded_limits = exceeded_limits || !adaptive.tree.is_within_limits();
        (adaptive.monitors, adaptive.changes) = (monitors, changes);
        (adaptive.begun, adaptive.swapped, adaptive.spread) = (begun, swapped, spread.unwrap_or_default());
        adaptive.update_overhead();
        *self = adaptive;
        Ok(())
    }

    /// The nodes of alternates are included; a node refers to its "alternate".
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut shown = L::shown(&self.tree, schema);
        let nodes = shown.get_mut("nodes").and_then(Json::as_array_mut).into_iter().flatten();
        for (node, monitor) in nodes.zip(&self.monitors) {
            node["error"] = json!(monitor.window.mean());
            node["window"] = json!(monitor.window.width());
            node["alternate"] = json!((monitor.alternate != NOWHERE).then_some(monitor.alternate));
        }
        let alive = self.alternates() as u64;
        shown["alternates"] = json!({
            "begun": self.begun,
            "swapped": self.swapped,
            "dropped": self.begun.saturating_sub(self.swapped).saturating_sub(alive),
            "growing": alive,
        });
        shown["bytes"] = json!(self.memory());
        shown["changes"] = self.changes.shown(schema);
        shown
    }
}

/// Whether an alternate is within another; children are behind their parents.
fn nested<L: TreeLeaf>(tree: &Tree<L>, alternates: &[u32]) -> bool {
    let mut within = vec![false; tree.nodes.len()];
    for (at, _) in tree.nodes.iter() {
        let alternate = alternates[at as usize];
        if alternate != NOWHERE {
            if within[at as usize] {
                return true;
            }
            within[alternate as usize] = true;
        }
        if within[at as usize] {
            tree.nodes.children(at).into_iter().for_each(|child| within[child as usize] = true);
        }
    }
    false
}
