//! `TreeLeaf` for the leaf of a classification tree.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::naive_bayes::class_table::Spare;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::ClassPrediction;

use super::candidates::{Candidate, Workspace};
use super::decision::Reason;
use super::growth::Tree;
use super::leaf::Leaf;
use super::saved::SavedTree;
use super::settings::ClassificationSettings;
use super::tree_leaf::{TreeLeaf, TreeSettings};

impl TreeSettings for ClassificationSettings {
    #[inline(always)]
    fn grace_period(&self) -> f64 {
        self.grace_period
    }

    #[inline(always)]
    fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

impl TreeLeaf for Leaf {
    type Settings = ClassificationSettings;
    type Prediction = ClassPrediction;
    /// The class weights by code.
    type Origin = Vec<f64>;
    type Work = Workspace;
    type Tally = Vec<f64>;
    type Saved = SavedTree;
    /// `Spare` holds one.
    const COPIES: usize = 1;
    const TREE: &'static str = "tree.HoeffdingTreeClassifier";

    fn create(node: u32, depth: u32, counts: Vec<f64>, features: Option<Box<[u32]>>) -> Self {
        Leaf::new(node, depth, counts, features)
    }

    fn attach(&mut self, node: u32) {
        self.node = node;
    }

    fn node(&self) -> u32 {
        self.node
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    #[inline(always)]
    fn since(&mut self) -> &mut f64 {
        &mut self.since
    }

    fn features(&mut self) -> &mut Option<Box<[u32]>> {
        &mut self.features
    }

    fn feature(&self, slot: usize) -> usize {
        Leaf::feature(self, slot)
    }

    fn predict(
        &self,
        x: Row<'_>,
        settings: &ClassificationSettings,
        want: Want,
        classes: usize,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) {
        Leaf::predict(self, x, settings.leaf_prediction, want, classes, out, scratch);
    }

    #[inline(always)]
    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        settings: &ClassificationSettings,
        want: Want,
        classes: usize,
        out: &mut ClassPrediction,
        spare: &mut Spare,
        scratch: &mut Scratch,
    ) -> bool {
        Leaf::step(self, x, y, w, settings, want, classes, out, spare, scratch)
    }

    #[inline(always)]
    fn classes(y: u32) -> usize {
        y as usize + 1
    }

    fn decide(
        &self,
        settings: &ClassificationSettings,
        learned: u64,
        work: &mut Workspace,
    ) -> Option<(Candidate, Reason)> {
        Leaf::decide(self, settings, learned, work)
    }

    fn branches(&self, candidate: &Candidate, work: &mut Workspace) -> Vec<(f64, Vec<f64>)> {
        Leaf::branches(self, candidate, work).map(|counts| (counts.iter().sum(), counts.to_vec())).collect()
    }

    fn values(&self, slot: usize) -> usize {
        Leaf::values(self, slot)
    }

    fn known_classes(&self) -> usize {
        self.counts.len()
    }

    fn known(&self) -> Vec<f64> {
        self.counts.clone()
    }

    fn is_idle(&self) -> bool {
        self.idle
    }

    fn rest(&mut self) {
        Leaf::rest(self);
    }

    fn wake(&mut self) {
        Leaf::wake(self);
    }

    fn promise(&self) -> f64 {
        Leaf::promise(self)
    }

    fn memory(&self) -> usize {
        Leaf::memory(self)
    }

    fn memory_at_rest(&self, classes: usize) -> usize {
        std::mem::size_of::<Self>() + 8 * classes + self.features.as_ref().map_or(0, |features| 4 * features.len())
    }

    fn work_memory(work: &Workspace) -> usize {
        work.memory()
    }

    fn most_work(settings: &ClassificationSettings, classes: usize) -> usize {
        8 * classes * (settings.n_splits + 4)
    }

    fn is_roomy(&self, largest: f64) -> bool {
        self.weight() <= largest && self.table.is_roomy(largest)
    }

    fn is_target_within_limits(_y: u32) -> bool {
        true
    }

    fn is_within_limits(&self) -> bool {
        Leaf::is_within_limits(self)
    }

    fn saved(tree: &Tree) -> SavedTree {
        tree.saved()
    }

    fn saved_alone(tree: &Tree) -> SavedTree {
        tree.saved_alone()
    }

    fn restore(tree: &mut Tree, saved: SavedTree, alternates: &[u32]) -> Result<()> {
        tree.restore_with(saved, alternates)
    }

    fn shown(tree: &Tree, schema: &Schema) -> Json {
        tree.shown(schema)
    }
}
