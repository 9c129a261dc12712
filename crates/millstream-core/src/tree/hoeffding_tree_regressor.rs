//! The Hoeffding tree for regression, FIMT-DD without its change detection (Ikonomovska, Gama and Džeroski, 2011, "Learning
//! model trees from evolving data streams"): splits that reduce the variance, linear models in the leaves.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;

use super::growth::Tree;
use super::regression_leaf::RegressionLeaf;
use super::regression_settings::{self, RegressionSettings};
use super::settings;
use super::tree_model::TreeModel;

const NAME: &str = "tree.HoeffdingTreeRegressor";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regression tree that grows from a stream, with a mean or a linear model in each leaf",
    merge: Merge::TREE,
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
        let tree = Tree::<RegressionLeaf>::new(NAME, RegressionSettings::new(arguments)?, None);
        Ok(Built::Regressor(Box::new(TreeModel(tree))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;
    use crate::row::{Row, Scratch};
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
        assert_eq!(tree.number(Row::Plain(&[3.0, 7.0]), &mut scratch), 0.0);
        assert_eq!(tree.number(Row::Plain(&[8.0, 7.0]), &mut scratch), 1.0);
    }
}
