//! The Hoeffding tree for numbers, FIMT-DD without its change detection (Ikonomovska, Gama and Džeroski, 2011, "Learning
//! model trees from evolving data streams"): splits that reduce the variance, linear models in the leaves.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::registry::{Built, Declaration, Role};
use crate::role::{Part, Regressor};
use crate::row::{Row, Scratch};
use crate::schema::Schema;
use crate::state::{pack, unpack};

use super::answer::Number;
use super::growth::Tree;
use super::regression_leaf::RegressionLeaf;
use super::regression_settings::{self, RegressionSettings};
use super::settings;
use super::tree_leaf::TreeLeaf;

const NAME: &str = "tree.HoeffdingTreeRegressor";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regression tree that grows from a stream, with means or linear models in its leaves",
    parameters: &[
        settings::GRACE_PERIOD,
        settings::DELTA,
        settings::TAU,
        settings::MAX_DEPTH,
        regression_settings::LEAF_PREDICTION,
        regression_settings::N_BINS,
        regression_settings::LEARNING_RATE,
        settings::BINARY_SPLIT,
        regression_settings::MIN_SAMPLES_SPLIT,
        settings::MAX_BYTES,
    ],
    build: |arguments| {
        let tree = Tree::new(NAME, RegressionSettings::new(arguments)?, None);
        Ok(Built::Regressor(Box::new(HoeffdingTreeRegressor { tree })))
    },
};

#[derive(Clone)]
struct HoeffdingTreeRegressor {
    tree: Tree<RegressionLeaf>,
}

impl Part for HoeffdingTreeRegressor {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&RegressionLeaf::saved(&self.tree))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        RegressionLeaf::restore(&mut self.tree, unpack(NAME, bytes)?, &[])
    }

    fn memory(&self) -> usize {
        self.tree.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        RegressionLeaf::shown(&self.tree, schema)
    }

    fn never_refuses(&self) -> bool {
        self.tree.never_refuses()
    }
}

/// Sparse rows are written out: the linear model of a leaf looks at every number.
impl Regressor for HoeffdingTreeRegressor {
    fn predict(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        let (mut dense, mut out) = (scratch.take_numbers(), Number::default());
        self.tree.predict(x.dense(&mut dense), (), &mut out, scratch);
        scratch.give_numbers(dense);
        out.number
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.step(x, y, w, scratch).map(|_| ())
    }

    fn step(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        let (mut dense, mut out) = (scratch.take_numbers(), Number::default());
        let learned = self.tree.step(x.dense(&mut dense), y, w, (), &mut out, scratch);
        scratch.give_numbers(dense);
        learned.map(|()| out.number)
    }

    fn duplicate(&self) -> Box<dyn Regressor> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use serde_json::json;

    #[test]
    fn a_split_by_hand() {
        let description = registry::resolve(
            &json!({ "name": NAME, "parameters": { "grace_period": 20, "delta": 0.01, "leaf_prediction": "mean" } }),
        );
        let Ok(Built::Regressor(mut tree)) = registry::build_resolved(&description.unwrap()) else { panic!() };
        let mut scratch = Scratch::default();
        // x goes 0 … 9 twice, y is 0 below 5 and 1 from there on; the second feature is constant. After 20 examples the
        // variance falls from 20 · ¼ / 19 to 0 at the cut between 4 and 5; ε = √(ln 100 / 40) = 0.34 < 1 − 0.
        for row in 0..20 {
            let x = f64::from(row % 10);
            tree.learn(Row::Plain(&[x, 7.0]), f64::from(u8::from(x >= 5.0)), 1.0, &mut scratch).unwrap();
        }
        let shown = tree.inspect(&crate::schema::Schema::default());
        assert_eq!(shown["nodes"].as_array().map(Vec::len), Some(3));
        assert_eq!(shown["nodes"][0]["threshold"], 4.5);
        assert!((shown["nodes"][0]["split"]["merit"].as_f64().unwrap() - 5.0 / 19.0).abs() < 1e-15);
        assert_eq!(tree.predict(Row::Plain(&[3.0, 7.0]), &mut scratch), 0.0);
        assert_eq!(tree.predict(Row::Plain(&[8.0, 7.0]), &mut scratch), 1.0);
    }
}
