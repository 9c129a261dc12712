//! The adaptive Hoeffding tree, HAT (Bifet and Gavaldà, 2009, "Adaptive learning from evolving data streams").
//!
//! A Hoeffding tree in which each node has an ADWIN of its errors. Where errors rise, an alternate subtree starts to
//! grow from the examples that arrive there (`hat`). With n and n′ examples in the windows of the node and of its
//! alternate, both above `drift_window_threshold`, and errors e and e′, the alternate replaces the subtree if
//!
//! ```text
//! e − e′ > √(2 e (1 − e) ln(2 / switch_significance) (1/n + 1/n′))
//! ```
//!
//! and is dropped if e′ − e exceeds that bound, or if neither holds after ten times the threshold.
//!
//! Departures from the paper: leaves have alternates too, so that a tree of one leaf adapts. Within an alternate, only
//! its root restarts, so that the cost is bounded. While an alternate grows, it also votes, with the weight (e / e′)²
//! against 1 for the subtree.

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::numeric::random::Random;

use super::growth::Tree;
use super::hat::{AdaptiveSettings, AdaptiveTree};
use super::hat_settings;
use super::leaf::Leaf;
use super::regression_settings;
use super::settings::{self, ClassificationSettings};
use super::tree_model::TreeModel;

const NAME: &str = "tree.HoeffdingAdaptiveTreeClassifier";
/// Separates the random numbers from others of the same seed.
const PURPOSE: u64 = 0x4841_5431;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A Hoeffding tree that monitors the errors of its subtrees and replaces them when they grow",
    merge: Merge::TREE,
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
        hat_settings::BOOTSTRAP_SAMPLING,
        hat_settings::DRIFT_WINDOW_THRESHOLD,
        hat_settings::ADWIN_SIGNIFICANCE,
        hat_settings::SWITCH_SIGNIFICANCE,
        settings::BINARY_SPLIT,
        settings::MIN_BRANCH_FRACTION,
        settings::MAX_SHARE_TO_SPLIT,
        settings::MERIT_PREPRUNE,
        settings::MAX_BYTES,
        hat_settings::SEED,
    ],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        let tree = Tree::<Leaf>::new(NAME, ClassificationSettings::new(arguments)?, None);
        Ok(Built::Classifier(Box::new(TreeModel(AdaptiveTree::new(
            tree,
            AdaptiveSettings::new(arguments)?,
            random,
        )))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::task::ClassPrediction;
    use crate::tree::nodes::ROOT;
    use crate::tree::tree_model::AnyTree;
    use serde_json::json;

    fn majority(parameters: serde_json::Value) -> AdaptiveTree {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let parameters = description["parameters"].as_object().unwrap();
        let arguments = crate::parameter::Arguments::new(NAME, parameters);
        let adaptation = AdaptiveSettings { bootstrap: false, ..AdaptiveSettings::new(&arguments).unwrap() };
        AdaptiveTree::new(
            Tree::new(NAME, ClassificationSettings::new(&arguments).unwrap(), None),
            adaptation,
            Random::new(1, PURPOSE),
        )
    }

    #[test]
    fn an_alternate_votes_and_is_swapped_in() {
        let mut adaptive = majority(json!({ "leaf_prediction": "mc", "grace_period": 10_000 }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        let x = Row::Plain(&[1.0]);
        // The first example finds no class, which is an error; the next two have class 0, as predicted.
        for wrong in [1.0, 1.0, 1.0] {
            adaptive.step(x, 0, 1.0, Want::Class, &mut out, &mut scratch).unwrap();
            assert_eq!(adaptive.monitors[0].window.total(), wrong);
        }
        adaptive.start_alternate(ROOT);
        let alternate = adaptive.monitors[0].alternate;
        adaptive.tree.leaves[1].counts = vec![0.0, 1.0];
        adaptive.tree.classes = 2;
        // Two of five wrong, beside one of five, in 400 examples.
        for monitor in &mut adaptive.monitors {
            monitor.window.clear();
        }
        for index in 0..400 {
            let adwin = adaptive.adaptation.adwin;
            for (node, wrong) in [(0, index % 5 < 2), (alternate as usize, index % 5 < 1)] {
                assert!(adaptive.monitors[node].window.add(f64::from(u8::from(wrong)), &adwin).is_none());
            }
        }
        // The leaf predicts class 0, the alternate class 1, with weights 1 and ((160 + 1) / (80 + 1))².
        adaptive.predict(x, Want::Probabilities, &mut out, &mut scratch);
        let weight = (161.0f64 / 81.0).powi(2);
        assert_eq!(out.class, Some(1));
        assert!((out.probabilities[1] - weight / (1.0 + weight)).abs() < 1e-12);
        // √(2 · 0.4 · 0.6 · ln 40 · 2/400) = 0.09409 < 0.4 − 0.2: with the next example it is swapped in.
        adaptive.step(x, 1, 1.0, Want::Class, &mut out, &mut scratch).unwrap();
        assert_eq!((adaptive.swapped, adaptive.alternates()), (1, 0));
        assert_eq!((adaptive.tree.nodes.len(), adaptive.tree.leaves.len(), adaptive.monitors.len()), (1, 1, 1));
        assert_eq!(adaptive.tree.leaves[0].counts, [0.0, 2.0]);
        assert_eq!((adaptive.monitors[0].window.total(), adaptive.monitors[0].window.width()), (80.0, 401));
    }
}
