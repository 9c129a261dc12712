//! A memory limit for an anytime tree: the statistics of inner nodes count in addition to the leaves.

use super::budget::Overhead;
use super::changes::{Change, Changes};
use super::efdt::{AnytimeTree, Inner};

/// The bytes of the statistics of each inner node, and their sum; empty in a tree without a limit.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    bytes: Vec<usize>,
    total: usize,
    /// Whether nodes were added or removed, so that everything is to be recounted.
    pub stale: bool,
}

impl Weights {
    pub fn memory(&self) -> usize {
        std::mem::size_of::<usize>() * self.bytes.capacity()
    }
}

impl AnytimeTree {
    /// After a leaf and the nodes on its path have learned: deactivate leaves until the tree fits its limit. If that
    /// does not suffice, the deepest nodes discard their statistics, and are no longer reevaluated.
    pub fn keep_within(&mut self, leaf: u32) {
        if self.weights.stale {
            self.update_overhead();
            self.tree.count_bytes();
        } else {
            self.weigh_path();
            self.tree.recount_bytes(leaf);
        }
        self.tree.keep_within(0);
        while !self.tree.fits() {
            let Some(last) = self.inner.iter_mut().rev().find(|inner| inner.is_some()) else { return };
            *last = None;
            self.update_overhead();
        }
    }

    pub fn update_overhead(&mut self) {
        self.weights = Weights::default();
        if self.tree.settings.max_bytes < usize::MAX {
            self.weights.bytes.extend(self.inner.iter().map(|inner| inner.as_deref().map_or(0, weight_of)));
            self.weights.total = self.weights.bytes.iter().sum();
        }
        self.set_beside();
    }

    /// The same if only the statistics on the path of an example have changed.
    fn weigh_path(&mut self) {
        let Weights { bytes, total, .. } = &mut self.weights;
        bytes.resize(self.inner.len(), 0);
        for &node in &self.path {
            let weight = self.inner[node as usize].as_deref().map_or(0, weight_of);
            let before = std::mem::replace(&mut bytes[node as usize], weight);
            *total = *total - before + weight;
        }
        self.set_beside();
    }

    fn set_beside(&mut self) {
        let changes = 2 * Changes::most(self.tree.settings.max_bytes) * std::mem::size_of::<Change>();
        let bytes = std::mem::size_of::<Self>() + changes + self.weights.total;
        self.tree.overhead = Overhead { bytes, by_node: 2 * 8 + 2 * 8 + 8 };
    }
}

pub fn weight_of(inner: &Inner) -> usize {
    std::mem::size_of::<Inner>() + inner.statistics.memory()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::task::ClassPrediction;
    use crate::tree::growth::Tree;
    use crate::tree::settings::ClassificationSettings;
    use crate::tree::tree_model::AnyTree;

    #[test]
    fn what_is_counted_on_the_way_is_what_there_is() {
        let tree = serde_json::json!({ "name": "tree.ExtremelyFastDecisionTreeClassifier" });
        let tree = registry::resolve(&tree).expect("it resolves");
        let arguments = tree["parameters"].as_object().expect("parameters");
        let arguments = Arguments::new("tree.ExtremelyFastDecisionTreeClassifier", arguments);
        let settings = ClassificationSettings {
            max_bytes: 60_000,
            grace_period: 20.0,
            delta: 0.01,
            ..ClassificationSettings::new(&arguments).expect("settings")
        };
        let mut anytime = AnytimeTree::new(Tree::new("tree", settings, None), 100.0);
        let (mut random, mut scratch, mut out) =
            (Random::new(1, 2), Scratch::default(), ClassPrediction::default());
        let mut incremental = 0;
        for row in 0..6000u32 {
            let x = [random.unit(), random.unit(), random.unit()];
            let turned = if row < 3000 { x[0] } else { x[1] };
            let y = (turned * 4.0) as u32 % 2 + u32::from(x[2] > 0.7);
            anytime.step(Row::Plain(&x), y, 1.0, Want::Class, &mut out, &mut scratch).expect("it learns");
            let counted = (anytime.weights.total, anytime.tree.overhead.bytes, anytime.tree.counted_bytes());
            incremental += u32::from(!anytime.weights.stale && anytime.inner.iter().any(Option::is_some));
            let mut anew = anytime.clone();
            anew.update_overhead();
            anew.tree.count_bytes();
            assert_eq!(
                counted,
                (anew.weights.total, anew.tree.overhead.bytes, anew.tree.counted_bytes()),
                "{row}"
            );
            assert!(anytime.memory() <= 60_000);
        }
        assert!(incremental > 4000 && anytime.inner.len() > 10 && anytime.replaced > 0);
    }
}
