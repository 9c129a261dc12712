//! The extremely fast decision tree, EFDT, or Hoeffding anytime tree (Manapragada, Webb and Salehi, 2018, "Extremely
//! fast decision tree", algorithms 1 to 3).
//!
//! A leaf is split as soon as the best split is better than none with Hoeffding's confidence, G(best) − 0 > ε; a
//! Hoeffding tree waits until it is better than the second best. An early split may not be the best one. So every
//! `min_samples_reevaluate` examples, each node on their path is reevaluated (`efdt`): the split is replaced if G(best)
//! − G(own) > ε, and removed if 0 − G(best) > ε.
//!
//! Ties of leaves are resolved as in the Hoeffding tree. For reevaluated splits, the paper has no ties; here, with ε <
//! τ, a split must be better by a fifth, and by τ / 20. A better threshold on the same feature is moved, and its
//! branches stay.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};

use super::efdt::AnytimeTree;
use super::growth::Tree;
use super::regression_settings;
use super::settings::{self, ClassificationSettings};
use super::tree_model::TreeModel;

const NAME: &str = "tree.ExtremelyFastDecisionTreeClassifier";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A decision tree that splits as soon as a split is better than none, and reevaluates its splits",
    merge: Merge::TREE,
    parameters: &[
        settings::GRACE_PERIOD,
        settings::DELTA,
        settings::TAU,
        settings::MAX_DEPTH,
        Parameter::new(
            "min_samples_reevaluate",
            Kind::Integer { low: 1, high: 1 << 53 },
            DefaultValue::Integer(20),
            "weight of examples between reevaluations of a split",
        ),
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
        let tree = Tree::new(NAME, ClassificationSettings::new(arguments)?, None);
        let every = arguments.integer("min_samples_reevaluate")? as f64;
        Ok(Built::Classifier(Box::new(TreeModel(AnytimeTree::new(tree, every)))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Learner;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use crate::schema::Schema;
    use crate::task::Classes;
    use serde_json::json;
    use serde_json::Value as Json;

    fn build(name: &str) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": name })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn learn(model: &mut dyn Learner<Classes>, rows: usize, first: impl Fn(f64) -> f64) -> Json {
        let mut scratch = Scratch::default();
        for row in 0..rows {
            let y = row % 2;
            // Class 0 at 0.1 and 0.2, class 1 at 0.8 and 0.9.
            let x = 0.1 + 0.7 * y as f64 + 0.1 * (row / 2 % 2) as f64;
            model.learn(Row::Plain(&[first(x), x]), y as u32, 1.0, &mut scratch).unwrap();
        }
        model.inspect(&Schema::default())
    }

    #[test]
    fn it_splits_at_once_and_thinks_again() {
        // After 200 examples ε = √(ln 10⁷ / 400) = 0.2007. Both features separate the classes, with a gain of 1: the
        // Hoeffding tree cannot choose, 1 − 1 < ε; here 1 − 0 > ε, on the first feature.
        assert_eq!(
            learn(&mut *build("tree.HoeffdingTreeClassifier"), 200, |x| x)["nodes"].as_array().unwrap().len(),
            1
        );
        let mut model = build(NAME);
        let shown = learn(&mut *model, 200, |x| x);
        assert_eq!(shown["nodes"].as_array().unwrap().len(), 3);
        assert_eq!(shown["nodes"][0]["feature"], "0");
        assert!((shown["nodes"][0]["split"]["bound"].as_f64().unwrap() - 0.200_74).abs() < 1e-5);
        // From now on the first feature is turned round. When that has cost it more than ε, the second takes its place.
        let shown = learn(&mut *model, 200, |x| 1.0 - x);
        assert_eq!(shown["nodes"][0]["feature"], "1");
        assert_eq!(shown["reevaluations"]["replaced"], 1);
        let change = &shown["changes"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (&change["what"], &change["before"], &change["after"]),
            (&json!("replaced"), &json!("0"), &json!("1"))
        );
        let [old, new, bound] = ["old", "new", "bound"].map(|key| change[key].as_f64().unwrap());
        assert!(new == 1.0 && new - old > bound, "{change}");
    }
}
