//! The changes of a tree after it has grown, for reports: when, where and why.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;
use crate::schema::Schema;

use super::node_report::name;

/// The number of latest changes that are kept.
const MOST: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An alternate was started.
    Begun,
    /// An alternate replaced a subtree.
    Swapped,
    /// An alternate was dropped.
    Dropped,
    /// A split was replaced by one on another feature, or of another kind.
    Replaced,
    /// The threshold of a split was moved.
    Moved,
    /// A split was removed.
    Killed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Number of examples that the tree had learned.
    pub learned: u64,
    pub what: What,
    pub depth: u32,
    /// The split features before and after; none for a leaf.
    pub before: Option<u32>,
    pub after: Option<u32>,
    /// For alternates, the errors of the old and the new subtree; for splits, their merits.
    pub old: f64,
    pub new: f64,
    /// The difference that was required.
    pub bound: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    latest: Vec<Change>,
}

impl Changes {
    /// The number of changes that are kept under a memory limit.
    pub fn most(max_bytes: usize) -> usize {
        (max_bytes / (20 * std::mem::size_of::<Change>())).clamp(1, MOST)
    }

    pub fn note(&mut self, mut change: Change, max_bytes: usize) {
        // A saved state holds finite numbers only.
        (change.old, change.new) = (change.old.max(f64::MIN), change.new.max(f64::MIN));
        if self.latest.len() >= Changes::most(max_bytes) {
            self.latest.remove(0);
        }
        self.latest.reserve_exact(1);
        self.latest.push(change);
    }

    pub fn check(&self, who: &str) -> Result<()> {
        let sound = |change: &Change| all_finite(&[change.old, change.new, change.bound]);
        require(who, self.latest.len() <= MOST && self.latest.iter().all(sound), "invalid changes")
    }

    pub fn shown(&self, schema: &Schema) -> Json {
        let feature = |slot: Option<u32>| slot.map(|slot| name(schema, slot));
        let shown = self.latest.iter().map(|change| {
            json!({
                "learned": change.learned,
                "what": change.what,
                "depth": change.depth,
                "before": feature(change.before),
                "after": feature(change.after),
                "old": change.old,
                "new": change.new,
                "bound": change.bound,
            })
        });
        Json::Array(shown.collect())
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Change>() * self.latest.capacity()
    }
}
