//! An adaptive tree in a saved model, and for people.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::Result;
use crate::random::Random;
use crate::schema::Schema;
use crate::state::require;

use super::adaptive::{Adaptive, Watch};
use super::changes::Changes;
use super::growth::Tree;
use super::nodes::NOWHERE;
use super::saved::SavedTree;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAdaptive {
    tree: SavedTree,
    watches: Vec<Watch>,
    random: Random,
    begun: u64,
    swapped: u64,
    changes: Changes,
    wide: bool,
}

impl Adaptive {
    pub fn saved(&self) -> SavedAdaptive {
        SavedAdaptive {
            tree: self.tree.saved(),
            watches: self.watches.clone(),
            random: self.random.clone(),
            begun: self.begun,
            swapped: self.swapped,
            changes: self.changes.clone(),
            wide: self.wide,
        }
    }

    /// Become what was saved, or stay.
    pub fn restore_from(&mut self, saved: SavedAdaptive) -> Result<()> {
        let who = self.tree.name;
        let SavedAdaptive { tree, watches, random, begun, swapped, changes, wide } = saved;
        let alternates: Vec<u32> = watches.iter().map(|watch| watch.alternate).collect();
        let mut restored = Tree::new(who, self.tree.settings, None);
        restored.restore_with(tree, &alternates)?;
        require(who, watches.len() == restored.nodes.len(), "a node without a window")?;
        let sound = |watch: &Watch| watch.window.is_sound(&self.options.adwin);
        require(who, watches.iter().all(sound), "a window that cannot be")?;
        require(who, !nested(&restored, &alternates), "an alternate within an alternate")?;
        changes.check(who)?;
        let mut adaptive = Adaptive::new(restored, self.options, random);
        adaptive.wide = wide || !adaptive.tree.is_sure();
        (adaptive.watches, adaptive.changes) = (watches, changes);
        (adaptive.begun, adaptive.swapped) = (begun, swapped);
        adaptive.weigh();
        *self = adaptive;
        Ok(())
    }

    /// The nodes of alternates too; they hang from a node's "alternate".
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut shown = self.tree.shown(schema);
        let nodes = shown.get_mut("nodes").and_then(Json::as_array_mut).into_iter().flatten();
        for (node, watch) in nodes.zip(&self.watches) {
            node["error"] = json!(watch.window.mean());
            node["window"] = json!(watch.window.width());
            node["alternate"] = json!((watch.alternate != NOWHERE).then_some(watch.alternate));
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

/// Whether an alternate hangs within another; children lie behind their parents.
fn nested(tree: &Tree, alternates: &[u32]) -> bool {
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
