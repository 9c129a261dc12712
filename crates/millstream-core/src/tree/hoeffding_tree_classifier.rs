//! The Hoeffding tree, VFDT (Domingos and Hulten, 2000, "Mining high-speed data streams", table 1).
//!
//! A leaf gathers statistics of its examples. Every `grace_period` of them it is asked which split is best and
//! whether Hoeffding's bound says that this is no accident (`decision`); then it becomes a node, and its branches
//! begin anew.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Part};
use crate::row::{Prediction, Row, Scratch, Want};
use crate::schema::Schema;
use crate::state::{pack, unpack};

use super::growth::Tree;
use super::regression_settings;
use super::settings::{self, Settings};

const NAME: &str = "tree.HoeffdingTreeClassifier";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A decision tree that grows from a stream and splits when Hoeffding's bound allows",
    parameters: &[
        settings::GRACE_PERIOD,
        settings::DELTA,
        settings::TAU,
        settings::MAX_DEPTH,
        settings::SPLIT_CRITERION,
        settings::LEAF_PREDICTION,
        settings::N_SPLITS,
        settings::SPLITTER,
        regression_settings::N_BINS,
        settings::BINARY_SPLIT,
        settings::MIN_BRANCH_FRACTION,
        settings::MAX_SHARE_TO_SPLIT,
        settings::MERIT_PREPRUNE,
        settings::MAX_BYTES,
    ],
    build: |arguments| {
        let tree = Tree::new(NAME, Settings::new(arguments)?, None);
        Ok(Built::Classifier(Box::new(HoeffdingTreeClassifier { tree })))
    },
};

#[derive(Clone)]
struct HoeffdingTreeClassifier {
    tree: Tree,
}

impl Part for HoeffdingTreeClassifier {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.tree.saved())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.tree.restore_from(unpack(NAME, bytes)?)
    }

    fn memory(&self) -> usize {
        self.tree.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        self.tree.shown(schema)
    }

    fn never_refuses(&self) -> bool {
        self.tree.never_refuses()
    }
}

impl Classifier for HoeffdingTreeClassifier {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        self.tree.predict(x, want, out, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let learned = self.tree.learn(x.dense(&mut dense), y, w, scratch);
        scratch.give_numbers(dense);
        learned
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if let Row::Sparse(_) = x {
            let mut dense = scratch.take_numbers();
            let learned = self.tree.step(x.dense(&mut dense), y, w, want, out, scratch);
            scratch.give_numbers(dense);
            return learned;
        }
        self.tree.step(x, y, w, want, out, scratch)
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}
