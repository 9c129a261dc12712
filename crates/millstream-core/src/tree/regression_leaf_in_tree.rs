//! `TreeLeaf` for the leaf of a regression tree.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::naive_bayes::class_table::Spare;
use crate::row::{Row, Scratch};
use crate::schema::Schema;

use super::candidates::Candidate;
use super::decision::Reason;
use super::growth::Tree;
use super::overflow_limits::LARGEST;
use super::regression_leaf::{Origin, RegressionLeaf};
use super::regression_saved::SavedRegression;
use super::regression_settings::RegressionSettings;
use super::target::Targets;
use super::tree_leaf::{TreeLeaf, TreeSettings};
use super::tree_prediction::NumberPrediction;

impl TreeSettings for RegressionSettings {
    #[inline(always)]
    fn grace_period(&self) -> f64 {
        self.grace_period
    }

    #[inline(always)]
    fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

impl TreeLeaf for RegressionLeaf {
    type Settings = RegressionSettings;
    type Prediction = NumberPrediction;
    type Origin = Origin;
    type Work = ();
    type Tally = Targets;
    type Saved = SavedRegression;
    const COPIES: usize = 0;
    const TREE: &'static str = "tree.HoeffdingTreeRegressor";

    fn create(node: u32, depth: u32, origin: Origin, features: Option<Box<[u32]>>) -> Self {
        RegressionLeaf::new(node, depth, origin, features)
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
        &mut self.looks_at
    }

    fn feature(&self, slot: usize) -> usize {
        RegressionLeaf::feature(self, slot)
    }

    fn predict(
        &self,
        x: Row<'_>,
        settings: &RegressionSettings,
        (): (),
        _classes: usize,
        out: &mut NumberPrediction,
        _scratch: &mut Scratch,
    ) {
        *out = RegressionLeaf::predict(self, x, settings);
    }

    #[inline(always)]
    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        settings: &RegressionSettings,
        (): (),
        _classes: usize,
        out: &mut NumberPrediction,
        _spare: &mut Spare,
        _scratch: &mut Scratch,
    ) -> bool {
        RegressionLeaf::step(self, x, y, w, settings, out)
    }

    fn classes(_y: f64) -> usize {
        0
    }

    fn decide(&self, settings: &RegressionSettings, learned: u64, (): &mut ()) -> Option<(Candidate, Reason)> {
        RegressionLeaf::decide(self, settings, learned)
    }

    fn branches(&self, candidate: &Candidate, (): &mut ()) -> Vec<(f64, Origin)> {
        let origin = |targets| Origin { targets, linear: self.linear.clone() };
        let branches = RegressionLeaf::branches(self, candidate).into_iter();
        branches.map(|targets| (targets.weight, origin(targets))).collect()
    }

    fn values(&self, slot: usize) -> usize {
        RegressionLeaf::values(self, slot)
    }

    fn known_classes(&self) -> usize {
        0
    }

    fn known(&self) -> Targets {
        self.targets
    }

    fn is_idle(&self) -> bool {
        self.idle
    }

    fn rest(&mut self) {
        RegressionLeaf::rest(self);
    }

    fn wake(&mut self) {
        RegressionLeaf::wake(self);
    }

    fn promise(&self) -> f64 {
        self.targets.squares
    }

    fn memory(&self) -> usize {
        RegressionLeaf::memory(self)
    }

    fn memory_at_rest(&self, _classes: usize) -> usize {
        RegressionLeaf::memory_at_rest(self)
    }

    fn work_memory((): &()) -> usize {
        0
    }

    fn most_work(_settings: &RegressionSettings, _classes: usize) -> usize {
        0
    }

    fn is_roomy(&self, largest: f64) -> bool {
        RegressionLeaf::is_roomy(self, largest)
    }

    fn is_target_within_limits(y: f64) -> bool {
        y.abs() <= LARGEST
    }

    fn is_within_limits(&self) -> bool {
        RegressionLeaf::is_within_limits(self)
    }

    fn saved(tree: &Tree<Self>) -> SavedRegression {
        SavedRegression::new(tree)
    }

    fn saved_alone(tree: &Tree<Self>) -> SavedRegression {
        SavedRegression::alone(tree)
    }

    fn restore(tree: &mut Tree<Self>, saved: SavedRegression, alternates: &[u32]) -> Result<()> {
        *tree = saved.restored(tree, alternates)?;
        Ok(())
    }

    fn shown(tree: &Tree<Self>, schema: &Schema) -> Json {
        tree.shown(schema)
    }
}
