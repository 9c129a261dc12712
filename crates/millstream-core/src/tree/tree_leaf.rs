//! What a tree asks of its leaves, whatever they predict.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value as Json;

use crate::fault::Result;
use crate::naive_bayes::class_table::Spare;
use crate::row::{Row, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::answer::Answer;
use super::candidates::Candidate;
use super::decision::Reason;
use super::growth::Tree;
use super::tally::Tally;

pub type TaskOf<L> = <<L as TreeLeaf>::Answer as Answer>::Task;
pub type Target<L> = <TaskOf<L> as Task>::Truth;
pub type Want<L> = <<L as TreeLeaf>::Answer as Answer>::Want;

/// What every tree can be set to.
pub trait TreeSettings: Copy + Debug + Send + Sync {
    /// The weight between attempts to split a leaf.
    fn grace_period(&self) -> f64;
    fn max_bytes(&self) -> usize;
}

pub trait TreeLeaf: Clone + Debug + Default + Send + Sync + 'static {
    type Settings: TreeSettings;
    type Answer: Answer;
    /// What a leaf has from the split that made it.
    type Origin: Default;
    /// Used again from one attempt to the next.
    type Work: Clone + Debug + Default + Send + Sync;
    /// What nodes keep of the examples that they received.
    type Tally: Tally<Target<Self>>;
    /// A tree of such leaves in a saved model.
    type Saved: Debug + Serialize + DeserializeOwned;
    /// How many copies of the leaf at work there are beside it.
    const COPIES: usize;
    /// The name of a tree of such leaves that is a model of its own.
    const TREE: &'static str;

    fn begun(node: u32, depth: u32, origin: Self::Origin, features: Option<Box<[u32]>>) -> Self;
    fn hang(&mut self, node: u32);
    fn node(&self) -> u32;
    fn depth(&self) -> u32;
    /// The weight since the last attempt to split it.
    fn since(&mut self) -> &mut f64;
    /// Which features it looks at, ascending; all, if none are named. Statistics are by place in this list.
    fn features(&mut self) -> &mut Option<Box<[u32]>>;
    /// The feature behind a place in the statistics.
    fn feature(&self, slot: usize) -> usize;

    fn predict(
        &self,
        x: Row<'_>,
        settings: &Self::Settings,
        want: Want<Self>,
        classes: usize,
        out: &mut Self::Answer,
        scratch: &mut Scratch,
    );
    /// Predict, then learn. False if it would overflow; then nothing has changed, and `out` means nothing. Rows are
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
        out: &mut Self::Answer,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool;
    /// How many class codes there are, to know of this one; 0 for a number.
    fn classes(y: Target<Self>) -> usize;

    /// The split to make now, if any, and why.
    fn decide(
        &self,
        settings: &Self::Settings,
        learned: u64,
        work: &mut Self::Work,
    ) -> Option<(Candidate, Reason)>;
    /// The weight that a split gives to each branch, and what its leaf begins with.
    fn branches(&self, candidate: &Candidate, work: &mut Self::Work) -> Vec<(f64, Self::Origin)>;
    /// The number of values of a nominal feature.
    fn values(&self, slot: usize) -> usize;
    /// One more than the highest class code that it has a weight of; 0 in a tree of numbers.
    fn known_classes(&self) -> usize;

    /// What it knows of its targets, with what its parent's split estimated.
    fn known(&self) -> Self::Tally;

    /// Whether it has given up its statistics to save memory.
    fn is_idle(&self) -> bool;
    fn rest(&mut self);
    /// Begin to gather statistics again.
    fn wake(&mut self);
    /// What splits of it could win.
    fn promise(&self) -> f64;
    fn memory(&self) -> usize;
    /// The most that it would weigh without statistics.
    fn memory_at_rest(&self, classes: usize) -> usize;
    fn work_memory(work: &Self::Work) -> usize;
    /// The most that working space can weigh.
    fn most_work(settings: &Self::Settings, classes: usize) -> usize;

    /// Whether all sums are up to `largest`, and all means moderate: then moderate rows are never refused.
    fn is_roomy(&self, largest: f64) -> bool;
    /// Whether a target is within the limits of `overflow_limits`.
    fn is_sure_target(y: Target<Self>) -> bool;
    /// Whether what it knows can come from examples within these limits.
    fn is_sure(&self) -> bool;

    fn saved(tree: &Tree<Self>) -> Self::Saved;
    /// The same without what draws features: a tree that goes on by itself looks at all of them.
    fn saved_alone(tree: &Tree<Self>) -> Self::Saved;
    /// Become what was saved, or stay. Nodes may have an alternate, by node, that hangs from them as a child does.
    fn restore(tree: &mut Tree<Self>, saved: Self::Saved, alternates: &[u32]) -> Result<()>;
    fn shown(tree: &Tree<Self>, schema: &Schema) -> Json;
}
