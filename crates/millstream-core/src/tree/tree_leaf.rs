//! The leaf of a tree, of any task.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value as Json;

use crate::fault::Result;
use crate::naive_bayes::class_table::Spare;
use crate::row::{Row, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::candidates::Candidate;
use super::decision::Reason;
use super::growth::Tree;
use super::tally::Tally;
use super::tree_prediction::TreePrediction;

pub type TaskOf<L> = <<L as TreeLeaf>::Prediction as TreePrediction>::Task;
pub type Target<L> = <TaskOf<L> as Task>::Truth;
pub type Want<L> = <<L as TreeLeaf>::Prediction as TreePrediction>::Want;

/// The settings that all trees share.
pub trait TreeSettings: Copy + Debug + Send + Sync {
    /// The weight of examples between attempts to split a leaf.
    fn grace_period(&self) -> f64;
    fn max_bytes(&self) -> usize;
}

pub trait TreeLeaf: Clone + Debug + Default + Send + Sync + 'static {
    type Settings: TreeSettings;
    type Prediction: TreePrediction;
    /// What a leaf inherits from the split that created it.
    type Origin: Default;
    /// Buffers that are reused between attempts.
    type Work: Clone + Debug + Default + Send + Sync;
    /// What nodes keep of the examples they received.
    type Tally: Tally<Target<Self>>;
    /// The saved state of a tree of such leaves.
    type Saved: Debug + Serialize + DeserializeOwned;
    /// The number of copies of the active leaf in memory.
    const COPIES: usize;
    /// The registry name of a tree of such leaves.
    const TREE: &'static str;

    fn create(node: u32, depth: u32, origin: Self::Origin, features: Option<Box<[u32]>>) -> Self;
    fn attach(&mut self, node: u32);
    fn node(&self) -> u32;
    fn depth(&self) -> u32;
    /// The weight since the last attempt to split the leaf.
    fn since(&mut self) -> &mut f64;
    /// The features that the leaf considers, ascending; none for all. Statistics are by index in this list.
    fn features(&mut self) -> &mut Option<Box<[u32]>>;
    /// The feature at an index of the statistics.
    fn feature(&self, slot: usize) -> usize;

    fn predict(
        &self,
        x: Row<'_>,
        settings: &Self::Settings,
        want: Want<Self>,
        classes: usize,
        out: &mut Self::Prediction,
        scratch: &mut Scratch,
    );
    /// Predict, then learn. False if it would overflow; then nothing has changed, and `out` is undefined. The row is
    /// not sparse.
    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<Self>,
        w: f64,
        settings: &Self::Settings,
        want: Want<Self>,
        classes: usize,
        out: &mut Self::Prediction,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool;
    /// One more than this class code; 0 for a number.
    fn classes(y: Target<Self>) -> usize;

    /// The split to make now, if any, and the reason.
    fn decide(
        &self,
        settings: &Self::Settings,
        learned: u64,
        work: &mut Self::Work,
    ) -> Option<(Candidate, Reason)>;
    /// The weight of each branch of a split, and what its leaf inherits.
    fn branches(&self, candidate: &Candidate, work: &mut Self::Work) -> Vec<(f64, Self::Origin)>;
    /// The number of values of a nominal feature.
    fn values(&self, slot: usize) -> usize;
    /// One more than the highest class code with a weight; 0 in a regression tree.
    fn known_classes(&self) -> usize;

    /// The targets so far, including the estimates of the parent's split.
    fn known(&self) -> Self::Tally;

    /// Whether it has discarded its statistics to save memory.
    fn is_idle(&self) -> bool;
    fn rest(&mut self);
    /// Start to gather statistics again.
    fn wake(&mut self);
    /// What splits could gain.
    fn promise(&self) -> f64;
    fn memory(&self) -> usize;
    /// The largest size without statistics.
    fn memory_at_rest(&self, classes: usize) -> usize;
    fn work_memory(work: &Self::Work) -> usize;
    /// The largest size of the buffers.
    fn most_work(settings: &Self::Settings, classes: usize) -> usize;

    /// Whether all sums are up to `largest`, and all means moderate: then moderate rows are never refused.
    fn is_roomy(&self, largest: f64) -> bool;
    /// Whether a target is within the limits of `overflow_limits`.
    fn is_target_within_limits(y: Target<Self>) -> bool;
    /// Whether the statistics could come from examples within these limits.
    fn is_within_limits(&self) -> bool;

    fn saved(tree: &Tree<Self>) -> Self::Saved;
    /// Without the random features of a forest: a tree on its own considers all features.
    fn saved_alone(tree: &Tree<Self>) -> Self::Saved;
    /// Restore the saved state, or change nothing. Nodes may have an alternate, by node, which counts as a child.
    fn restore(tree: &mut Tree<Self>, saved: Self::Saved, alternates: &[u32]) -> Result<()>;
    fn shown(tree: &Tree<Self>, schema: &Schema) -> Json;
}
