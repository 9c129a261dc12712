//! An adaptive tree in a saved model, and for people.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::ensemble::record::Spread;
use crate::fault::Result;
use crate::held::state::require;
use crate::numeric::random::Random;
use crate::schema::Schema;

use super::answer::Answer;
use super::changes::Changes;
use super::growth::Tree;
use super::hat::{Adaptive, Watch};
use super::nodes::NOWHERE;
use super::tree_leaf::TreeLeaf;
use super::tree_model::AnyTree;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedAdaptive<S> {
    tree: S,
    watches: Vec<Watch>,
    random: Random,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    begun: u64,
    swapped: u64,
    changes: Changes,
    wide: bool,
}

impl<L: TreeLeaf> Adaptive<L> {
    pub fn saved(&self) -> SavedAdaptive<L::Saved> {
        SavedAdaptive {
            tree: L::saved(&self.tree),
            watches: self.watches.clone(),
            random: self.random.clone(),
            spread: (!L::Answer::ERROR_RATE).then_some(self.spread),
            begun: self.begun,
            swapped: self.swapped,
            changes: self.changes.clone(),
            wide: self.wide,
        }
    }

    /// Become what was saved, or stay.
    pub fn restore_from(&mut self, saved: SavedAdaptive<L::Saved>) -> Result<()> {
        let who = self.tree.name;
        let SavedAdaptive { tree, watches, random, spread, begun, swapped, changes, wide } = saved;
        let alternates: Vec<u32> = watches.iter().map(|watch| watch.alternate).collect();
        let mut restored = Tree::new(who, self.tree.settings, None);
        L::restore(&mut restored, tree, &alternates)?;
        require(who, watches.len() == restored.nodes.len(), "a node without a window")?;
        let sound = |watch: &Watch| watch.window.is_sound(&self.options.adwin);
        require(who, watches.iter().all(sound), "a window that cannot be")?;
        require(who, !nested(&restored, &alternates), "an alternate within an alternate")?;
        changes.check(who)?;
        require(who, spread.is_some() != L::Answer::ERROR_RATE, "errors without a spread")?;
        require(who, spread.is_none_or(|spread| spread.is_sound()), "a spread that cannot be")?;
        let mut adaptive = Adaptive::new(restored, self.options, random);
        adaptive.wide = wide || !adaptive.tree.is_sure();
        (adaptive.watches, adaptive.changes) = (watches, changes);
        (adaptive.begun, adaptive.swapped, adaptive.spread) = (begun, swapped, spread.unwrap_or_default());
        adaptive.weigh();
        *self = adaptive;
        Ok(())
    }

    /// The nodes of alternates too; they hang from a node's "alternate".
    pub fn shown(&self, schema: &Schema) -> Json {
        let mut shown = L::shown(&self.tree, schema);
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
