//! The adaptive Hoeffding tree for regression: HAT (Bifet and Gavaldà, 2009, "Adaptive learning from evolving data
//! streams") over FIMT-DD (Ikonomovska, Gama and Džeroski, 2011, "Learning model trees from evolving data streams").
//!
//! As `hoeffding_adaptive_tree_classifier`, with regression errors. The windows of nodes and alternates receive the
//! position of an absolute error among those of the whole tree so far: 0 and 1 are three standard deviations from their
//! mean. With n and n′ examples in the windows, both above `drift_window_threshold`, means e and e′ and the variance σ²
//! of the node's, an alternate replaces a subtree if
//!
//! ```text
//! e − e′ > √(2 σ² ln(2 / switch_significance) (1/n + 1/n′))
//! ```
//!
//! which for errors of 0 and 1 is the bound of the paper. Ikonomovska et al. detect changes by Page-Hinkley, and
//! replace a subtree when the alternate's faded squared errors are smaller; adaptive windows need neither a threshold
//! in the unit of the target nor a fading rate. While an alternate grows, the two predictions are averaged, with the
//! weights 1 and (e / e′)².

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::numeric::random::Random;

use super::growth::Tree;
use super::hat::{AdaptiveSettings, AdaptiveTree};
use super::hat_settings;
use super::regression_leaf::RegressionLeaf;
use super::regression_settings::{self, RegressionSettings};
use super::settings;
use super::tree_model::TreeModel;

const NAME: &str = "tree.HoeffdingAdaptiveTreeRegressor";
/// Separates the random numbers from others of the same seed.
const PURPOSE: u64 = 0x4841_5432;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "A regression tree that monitors the errors of its subtrees and replaces them when they grow",
    merge: Merge::TREE,
    parameters: &[
        settings::GRACE_PERIOD,
        settings::DELTA,
        settings::TAU,
        settings::MAX_DEPTH,
        regression_settings::LEAF_PREDICTION,
        regression_settings::N_BINS,
        regression_settings::LEARNING_RATE,
        hat_settings::BOOTSTRAP_SAMPLING,
        hat_settings::DRIFT_WINDOW_THRESHOLD,
        hat_settings::ADWIN_SIGNIFICANCE,
        hat_settings::SWITCH_SIGNIFICANCE,
        settings::BINARY_SPLIT,
        regression_settings::MIN_SAMPLES_SPLIT,
        settings::MAX_BYTES,
        hat_settings::SEED,
    ],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        let tree = Tree::<RegressionLeaf>::new(NAME, RegressionSettings::new(arguments)?, None);
        Ok(Built::Regressor(Box::new(TreeModel(AdaptiveTree::new(
            tree,
            AdaptiveSettings::new(arguments)?,
            random,
        )))))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch};
    use crate::tree::nodes::ROOT;
    use crate::tree::tree_model::AnyTree;
    use crate::tree::tree_prediction::NumberPrediction;
    use serde_json::json;

    fn means() -> AdaptiveTree<RegressionLeaf> {
        let set = json!({ "leaf_prediction": "mean", "grace_period": 10_000 });
        let description = registry::resolve(&json!({ "name": NAME, "parameters": set })).unwrap();
        let arguments = Arguments::new(NAME, description["parameters"].as_object().unwrap());
        let settings = RegressionSettings::new(&arguments);
        let adaptation = AdaptiveSettings { bootstrap: false, ..AdaptiveSettings::new(&arguments).unwrap() };
        AdaptiveTree::new(Tree::new(NAME, settings.unwrap(), None), adaptation, Random::new(1, PURPOSE))
    }

    #[test]
    fn an_alternate_has_a_say_and_is_swapped_in() {
        let (mut adaptive, mut scratch, mut out) = (means(), Scratch::default(), NumberPrediction::default());
        let x = Row::Plain(&[1.0]);
        // The first example finds a leaf without a prediction, which is no error. Then the mean of 2 and 4 is 3, and
        // the errors are 2 and 0: at the mean of one error, and one deviation below the mean of two, 1/2 − 1/6.
        for (y, errors) in [(2.0, 0.0), (4.0, 0.5), (3.0, 0.5 + (0.5 - 1.0 / 6.0))] {
            adaptive.step(x, y, 1.0, (), &mut out, &mut scratch).unwrap();
            assert!((adaptive.monitors[0].window.total() - errors).abs() < 1e-15);
        }
        assert_eq!(out, NumberPrediction { number: 3.0, weight: 1.0 });
        adaptive.start_alternate(ROOT);
        let alternate = adaptive.monitors[0].alternate;
        // An alternate without examples has no vote.
        adaptive.predict(x, (), &mut out, &mut scratch);
        assert_eq!(out.number, 3.0);
        adaptive.tree.leaves[1].targets = crate::tree::target::Targets::one(8.0, 1.0);
        adaptive.monitors.iter_mut().for_each(|monitor| monitor.window.clear());
        // Errors of 1/2 and 1 in turn beside 0 and 1/2, in 400 examples: means 3/4 and 1/4, variances 1/16.
        for index in 0..400 {
            let (adwin, odd) = (adaptive.adaptation.adwin, f64::from(index % 2) / 2.0);
            assert!(adaptive.monitors[0].window.add(0.5 + odd, &adwin).is_none());
            assert!(adaptive.monitors[alternate as usize].window.add(odd, &adwin).is_none());
        }
        // 3 and 8, with the weights 1 and ((300 + 1) / (100 + 1))².
        adaptive.predict(x, (), &mut out, &mut scratch);
        let weight = (301.0f64 / 101.0).powi(2);
        assert!((out.number - (3.0 + 8.0 * weight) / (1.0 + weight)).abs() < 1e-12);
        // √(2 · 1/16 · ln 40 · 2/400) = 0.048 < 3/4 − 1/4: with the next example it is swapped in.
        adaptive.step(x, 9.0, 1.0, (), &mut out, &mut scratch).unwrap();
        assert_eq!((adaptive.swapped, adaptive.alternates()), (1, 0));
        assert_eq!((adaptive.tree.nodes.len(), adaptive.tree.leaves.len(), adaptive.monitors.len()), (1, 1, 1));
        assert_eq!((adaptive.tree.leaves[0].targets.weight, adaptive.tree.leaves[0].targets.mean), (2.0, 8.5));
    }
}
