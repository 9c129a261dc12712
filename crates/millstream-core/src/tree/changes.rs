//! What was changed in a tree after it had grown, for people: when, where and why.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::Result;
use crate::held::state::require;
use crate::row::all_finite;
use crate::schema::Schema;

use super::node_report::name;

/// So many of the latest are kept.
const MOST: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An alternate began to grow.
    Begun,
    /// An alternate took the place of its rival.
    Swapped,
    /// An alternate was given up.
    Dropped,
    /// A split was replaced by one on another feature, or of another kind.
    Replaced,
    /// The threshold of a split was moved.
    Moved,
    /// A split was taken back.
    Killed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Examples that the tree had learned.
    pub learned: u64,
    pub what: What,
    pub depth: u32,
    /// The features that were split on before and after; none for a leaf.
    pub before: Option<u32>,
    pub after: Option<u32>,
    /// Of alternates the errors of the old and the new, of splits their merits.
    pub old: f64,
    pub new: f64,
    /// How far apart they had to be.
    pub bound: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    latest: Vec<Change>,
}

impl Changes {
    /// How many are kept in a tree that may take so many bytes.
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
        require(who, self.latest.len() <= MOST && self.latest.iter().all(sound), "changes that cannot be")
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
