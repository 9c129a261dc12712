//! The adaptive Hoeffding tree, HAT (Bifet and Gavaldà, 2009, "Adaptive learning from evolving data streams").
//!
//! A Hoeffding tree whose nodes have an ADWIN of their errors. Where errors rise, an alternate subtree begins to grow
//! from the examples that come there (`hat`). With n and n′ examples in the windows of the node and of its alternate,
//! both above `drift_window_threshold`, and errors e and e′, the alternate takes the place of the subtree if
//!
//! ```text
//! e − e′ > √(2 e (1 − e) ln(2 / switch_significance) (1/n + 1/n′))
//! ```
//!
//! and is given up if e′ − e is above that, or if after ten times the threshold neither is so.
//!
//! Away from the paper: leaves have alternates too, so that a tree that is still one leaf adapts; nothing but its root
//! begins again within an alternate, so that the cost is bounded; and while an alternate grows, it votes as well, with
//! the weight (e / e′)² beside the subtree's 1.

use crate::declaration::{Built, Declaration, Role};
use crate::numeric::random::Random;

use super::growth::Tree;
use super::hat::{Adaptive, Options};
use super::hat_settings;
use super::leaf::Leaf;
use super::regression_settings;
use super::settings::{self, Settings};
use super::tree_model::TreeModel;

const NAME: &str = "tree.HoeffdingAdaptiveTreeClassifier";
/// Tells the draws from others of the same seed.
const PURPOSE: u64 = 0x4841_5431;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A Hoeffding tree that watches its errors and replaces subtrees that have become wrong",
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
        hat_settings::ADWIN_DELTA,
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
        let tree = Tree::<Leaf>::new(NAME, Settings::new(arguments)?, None);
        Ok(Built::Classifier(Box::new(TreeModel(Adaptive::new(tree, Options::new(arguments)?, random)))))
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

    fn majority(parameters: serde_json::Value) -> Adaptive {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let parameters = description["parameters"].as_object().unwrap();
        let arguments = crate::parameter::Arguments::new(NAME, parameters);
        let options = Options { bootstrap: false, ..Options::new(&arguments).unwrap() };
        Adaptive::new(Tree::new(NAME, Settings::new(&arguments).unwrap(), None), options, Random::new(1, PURPOSE))
    }

    #[test]
    fn an_alternate_votes_and_is_swapped_in() {
        let mut adaptive = majority(json!({ "leaf_prediction": "mc", "grace_period": 10_000 }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        let x = Row::Plain(&[1.0]);
        // The first example finds no class, which is an error; the next two are class 0, as the leaf says.
        for wrong in [1.0, 1.0, 1.0] {
            adaptive.step(x, 0, 1.0, Want::Class, &mut out, &mut scratch).unwrap();
            assert_eq!(adaptive.watches[0].window.total(), wrong);
        }
        adaptive.begin(ROOT);
        let alternate = adaptive.watches[0].alternate;
        adaptive.tree.leaves[1].counts = vec![0.0, 1.0];
        adaptive.tree.classes = 2;
        // Two of five wrong, beside one of five, in 400 examples.
        for watch in &mut adaptive.watches {
            watch.window.clear();
        }
        for place in 0..400 {
            let adwin = adaptive.options.adwin;
            for (node, wrong) in [(0, place % 5 < 2), (alternate as usize, place % 5 < 1)] {
                assert!(adaptive.watches[node].window.add(f64::from(u8::from(wrong)), &adwin).is_none());
            }
        }
        // The leaf says class 0, the alternate class 1, with weights 1 and ((160 + 1) / (80 + 1))².
        adaptive.predict(x, Want::Probabilities, &mut out, &mut scratch);
        let weight = (161.0f64 / 81.0).powi(2);
        assert_eq!(out.class, Some(1));
        assert!((out.probabilities[1] - weight / (1.0 + weight)).abs() < 1e-12);
        // √(2 · 0.4 · 0.6 · ln 40 · 2/400) = 0.09409 < 0.4 − 0.2: with the next example it is swapped in.
        adaptive.step(x, 1, 1.0, Want::Class, &mut out, &mut scratch).unwrap();
        assert_eq!((adaptive.swapped, adaptive.alternates()), (1, 0));
        assert_eq!((adaptive.tree.nodes.len(), adaptive.tree.leaves.len(), adaptive.watches.len()), (1, 1, 1));
        assert_eq!(adaptive.tree.leaves[0].counts, [0.0, 2.0]);
        assert_eq!((adaptive.watches[0].window.total(), adaptive.watches[0].window.width()), (80.0, 401));
    }
}
