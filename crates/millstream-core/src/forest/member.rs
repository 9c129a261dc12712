//! A tree of a forest, with its detectors, its record, and the background tree.
//!
//! A member processes a row in this order: the tree votes, weighted by its record so far; it learns the row with a
//! Poisson weight, and so does the background tree; then the detectors receive the error of the vote (for a number, its
//! position among the previous errors). Rows of weight 0 are also predicted and passed to the detectors.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::batch::Batch;
use crate::ensemble::bagged::Detector;
use crate::ensemble::engine::{Member, MemberOutput};
use crate::ensemble::poisson::Poisson;
use crate::ensemble::record::{Record, Spread};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, pack_around, require, unpack, Packed};
use crate::learner::Learner;
use crate::numeric::random::Random;
use crate::parameter::Arguments;
use crate::part::Part;
use crate::row::{Row, Scratch};
use crate::schema::Schema;
use crate::tree::subspace::Subspace;
use crate::tree::{Target, TaskOf, Tree, TreeLeaf, TreeModel, TreePrediction, Want};

use super::max_features::{self, Size};

/// Separate the random numbers for row weights, and those for features, from others of the same seed.
const ROWS: u64 = 0x6172_6600_0000_0000;
const FEATURES: u64 = 0x6172_6680_0000_0000;
/// Each tree of a member draws its own features; there are fewer members than this.
const TREES: u64 = 1 << 20;

/// The settings that all members share.
pub struct ForestSettings<L: TreeLeaf> {
    pub name: &'static str,
    pub seed: u64,
    pub settings: L::Settings,
    pub max_features: Size,
    pub poisson: Poisson,
    /// Without any errors yet.
    pub warning: Option<Detector>,
    pub drift: Option<Detector>,
    /// Whether votes are weighted by the record of their tree.
    pub weighted: bool,
}

impl<L: TreeLeaf> ForestSettings<L> {
    pub fn new(name: &'static str, arguments: &Arguments<'_>, settings: L::Settings) -> Result<Self> {
        let warning = Detector::given(arguments, "warning_detector")?.map(Detector::without_warnings);
        let mut drift = Detector::given(arguments, "drift_detector")?;
        if warning.is_some() {
            drift = drift.map(Detector::without_warnings);
        }
        Ok(ForestSettings {
            name,
            seed: arguments.integer("seed")? as u64,
            settings,
            max_features: max_features::size(arguments)?,
            poisson: Poisson::new(arguments.float("poisson_rate")?),
            warning,
            drift,
            weighted: !arguments.boolean("disable_weighted_vote")?,
        })
    }

    /// The members of a forest.
    pub fn members(self, arguments: &Arguments<'_>) -> Result<Vec<ForestMember<L>>> {
        let shared = Arc::new(self);
        Ok((0..arguments.size("n_models")?).map(|index| ForestMember::new(shared.clone(), index)).collect())
    }
}

/// A tree and its record.
#[derive(Clone)]
struct RatedTree<L: TreeLeaf> {
    tree: Tree<L>,
    record: Record,
}

#[derive(Clone)]
pub struct ForestMember<L: TreeLeaf> {
    shared: Arc<ForestSettings<L>>,
    index: u64,
    active: RatedTree<L>,
    background: Option<Box<RatedTree<L>>>,
    warning: Option<Detector>,
    drift: Option<Detector>,
    /// The spread of regression errors.
    spread: Spread,
    /// The generator of row weights.
    random: Random,
    /// Number of trees so far, including background trees.
    trees: u64,
    warnings: u64,
    drifts: u64,
}

#[derive(Serialize, Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    tree: Packed<'a>,
    record: Record,
    #[serde(borrow)]
    background: Option<(Packed<'a>, Record)>,
    #[serde(borrow)]
    warning: Option<Packed<'a>>,
    #[serde(borrow)]
    drift: Option<Packed<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    random: Random,
    trees: u64,
    warnings: u64,
    drifts: u64,
}

impl<L: TreeLeaf> ForestSettings<L> {
    /// An unlearned tree: the `number`th of the member at an index.
    fn unlearned_tree(&self, index: u64, number: u64) -> RatedTree<L> {
        let random = Random::new(self.seed, FEATURES.wrapping_add(index).wrapping_add(number.wrapping_mul(TREES)));
        let tree = Tree::new(self.name, self.settings, Some(Subspace::new(self.max_features, random)));
        RatedTree { tree, record: Record::default() }
    }

    fn restored(&self, index: u64, bytes: &[u8], record: Record) -> Result<RatedTree<L>> {
        require(self.name, record.is_sound(), "the record of a tree is not finite")?;
        let mut rated = self.unlearned_tree(index, 0);
        L::restore(&mut rated.tree, unpack(self.name, bytes)?, &[])?;
        rated.record = record;
        Ok(rated)
    }
}

impl<L: TreeLeaf> RatedTree<L> {
    /// Predict, then learn with weight `k`, unless it is 0; returns the error of the prediction, if there was one.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        k: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<Option<f64>> {
        if k == 0.0 {
            self.tree.predict(x, want, out, scratch);
        } else {
            self.tree.step(x, y, k, want, out, scratch)?;
        }
        let error = out.error(y);
        if let Some(error) = error {
            self.record.add(error, w);
        }
        Ok(error)
    }
}

impl<L: TreeLeaf> ForestMember<L> {
    pub fn new(shared: Arc<ForestSettings<L>>, index: usize) -> Self {
        let index = index as u64;
        ForestMember {
            index,
            active: shared.unlearned_tree(index, 0),
            background: None,
            warning: shared.warning.clone(),
            drift: shared.drift.clone(),
            spread: Spread::default(),
            random: Random::new(shared.seed, ROWS.wrapping_add(index)),
            trees: 1,
            warnings: 0,
            drifts: 0,
            shared,
        }
    }

    fn trust(&self) -> f64 {
        match self.active.tree.learned {
            0 => 0.0,
            _ if self.shared.weighted => self.active.record.trust::<TaskOf<L>>(),
            _ => 1.0,
        }
    }

    /// Pass an error to the detectors, and act on their verdicts.
    #[inline(always)]
    fn detect(&mut self, error: f64) {
        let (mut warned, mut drifted) = (false, false);
        let error = if L::Prediction::ERROR_RATE { error } else { self.spread.add(error) };
        if let Some(Detector(detector)) = &mut self.warning {
            warned = detector.update(error).is_ok() && detector.verdict().is_worse();
        }
        if let Some(Detector(detector)) = &mut self.drift {
            // Without a warning detector, the start of a warning of the drift detector counts.
            let before = self.warning.is_none() && detector.verdict().may_be_worse();
            if detector.update(error).is_ok() {
                let verdict = detector.verdict();
                drifted = verdict.is_worse();
                warned |= self.warning.is_none() && verdict.may_be_worse() && !before;
            }
        }
        if drifted {
            self.replace();
        } else if warned {
            self.grow_another();
        }
    }

    fn new_tree(&mut self) -> RatedTree<L> {
        let rated = self.shared.unlearned_tree(self.index, self.trees);
        self.trees = self.trees.saturating_add(1);
        rated
    }

    /// Start a background tree; an existing one was started for a change that did not happen.
    #[cold]
    fn grow_another(&mut self) {
        self.background = Some(Box::new(self.new_tree()));
        self.warnings = self.warnings.saturating_add(1);
        if let Some(Detector(detector)) = &mut self.warning {
            detector.reset();
        }
    }

    /// Replace the tree by the background tree, or by a new one if there is none.
    #[cold]
    fn replace(&mut self) {
        self.active = match self.background.take() {
            Some(rated) => *rated,
            None => self.new_tree(),
        };
        self.drifts = self.drifts.saturating_add(1);
        for Detector(detector) in [&mut self.warning, &mut self.drift].into_iter().flatten() {
            detector.reset();
        }
        self.spread = Spread::default();
    }
}

impl<L: TreeLeaf> Member for ForestMember<L> {
    type Task = TaskOf<L>;

    fn draw(&mut self, batch: &Batch<'_, TaskOf<L>>, output: &mut MemberOutput) {
        output.weights.clear();
        let poisson = &self.shared.poisson;
        output.weights.extend((0..batch.len()).map(|row| match poisson.at(self.random.unit()) {
            0.0 => 0.0,
            k => k * batch.weight(row),
        }));
    }

    fn process(
        &mut self,
        batch: &Batch<'_, TaskOf<L>>,
        from: usize,
        output: &mut MemberOutput,
        scratch: &mut Scratch,
    ) -> Option<(usize, Fault)> {
        let (mut out, mut dense) = (L::Prediction::take(scratch), scratch.take_numbers());
        let mut refused = None;
        for row in from..batch.len() {
            output.trust[row] = self.trust();
            if let (Some(asked), Some(votes)) = (batch.asked, output.asked(row)) {
                let x = asked.at(row).dense(&mut dense);
                self.active.tree.predict(x, L::Prediction::ALL, &mut out, scratch);
                out.vote(votes);
            }
            let (x, y, w) = (batch.rows.at(row).dense(&mut dense), batch.truths[row], batch.weight(row));
            let k = output.weights[row];
            let stepped = self.active.step(x, y, w, k, L::Prediction::ALL, &mut out, scratch);
            out.vote(&mut output.votes[row * output.stride..(row + 1) * output.stride]);
            let background = match &mut self.background {
                Some(rated) => rated.step(x, y, w, k, L::Prediction::LEAST, &mut out, scratch),
                None => Ok(None),
            };
            match stepped.and_then(|error| background.map(|_| error)) {
                Ok(Some(error)) => self.detect(error),
                Ok(None) => {}
                Err(fault) => {
                    refused = Some((row, fault));
                    break;
                }
            }
            // A regression tree that has learned nothing predicts a number like any other: it starts with this row.
            if !L::Prediction::ERROR_RATE && self.active.tree.learned == 0 {
                if let Err(fault) = self.active.tree.learn(x, y, w, scratch) {
                    refused = Some((row, fault));
                    break;
                }
            }
        }
        out.give(scratch);
        scratch.give_numbers(dense);
        refused
    }

    fn vote(&self, x: Row<'_>, votes: &mut [f64], scratch: &mut Scratch) -> f64 {
        let (mut out, mut dense) = (L::Prediction::take(scratch), scratch.take_numbers());
        let x = if L::Prediction::DENSE { x.dense(&mut dense) } else { x };
        self.active.tree.predict(x, L::Prediction::ALL, &mut out, scratch);
        out.vote(votes);
        out.give(scratch);
        scratch.give_numbers(dense);
        self.trust()
    }

    fn learner(&self) -> Box<dyn Learner<TaskOf<L>>> {
        Box::new(TreeModel(self.active.tree.alone()))
    }
}

impl<L: TreeLeaf> Part for ForestMember<L> {
    fn infallible(&self) -> bool {
        self.active.tree.infallible() && self.background.as_ref().is_none_or(|rated| rated.tree.infallible())
    }

    fn save(&self) -> Result<Vec<u8>> {
        let detector = |detector: &Option<Detector>| {
            detector.as_ref().map(|detector| detector.0.save().map(Packed::from)).transpose()
        };
        let saved = |rated: &RatedTree<L>| Ok((pack(&L::saved(&rated.tree))?.into(), rated.record));
        let (tree, record): (Packed<'_>, Record) = saved(&self.active)?;
        let background: Option<(Packed<'_>, Record)> = self.background.as_deref().map(saved).transpose()?;
        let packed = tree.len() + background.as_ref().map_or(0, |(tree, _)| tree.len());
        let state = State {
            tree,
            record,
            background,
            warning: detector(&self.warning)?,
            drift: detector(&self.drift)?,
            spread: (!L::Prediction::ERROR_RATE).then_some(self.spread),
            random: self.random.clone(),
            trees: self.trees,
            warnings: self.warnings,
            drifts: self.drifts,
        };
        pack_around(&state, packed)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let who = self.shared.name;
        let state: State<'_> = unpack(who, bytes)?;
        let rated = self.shared.restored(self.index, &state.tree, state.record)?;
        let background = state.background.map(|(bytes, record)| self.shared.restored(self.index, &bytes, record));
        let mut detectors = [self.shared.warning.clone(), self.shared.drift.clone()];
        for (detector, bytes) in detectors.iter_mut().zip([&state.warning, &state.drift]) {
            require(who, detector.is_some() == bytes.is_some(), "a detector is missing")?;
            if let (Some(Detector(detector)), Some(bytes)) = (detector, bytes) {
                detector.load(bytes)?;
            }
        }
        require(who, state.spread.is_some() != L::Prediction::ERROR_RATE, "errors without a spread")?;
        require(who, state.spread.is_none_or(|spread| spread.is_sound()), "an invalid spread")?;
        self.spread = state.spread.unwrap_or_default();
        [self.warning, self.drift] = detectors;
        (self.active, self.background, self.random) = (rated, background.transpose()?.map(Box::new), state.random);
        (self.trees, self.warnings, self.drifts) = (state.trees, state.warnings, state.drifts);
        Ok(())
    }

    fn memory(&self) -> usize {
        let detectors = [&self.warning, &self.drift].into_iter().flatten().map(|detector| detector.0.memory());
        let background = self.background.as_ref().map_or(0, |rated| rated.tree.memory());
        std::mem::size_of::<Self>() + self.active.tree.memory() + background + detectors.sum::<usize>()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let known = if L::Prediction::ERROR_RATE { "accuracy" } else { "error" };
        let record = |rated: &RatedTree<L>| match L::Prediction::ERROR_RATE {
            true => rated.record.accuracy(),
            false => rated.record.error,
        };
        let report = |rated: &RatedTree<L>| json!({ known: record(rated), "learned": rated.tree.learned });
        json!({
            known: record(&self.active),
            "weight": self.active.record.weight,
            "learned": self.active.tree.learned,
            "warnings": self.warnings,
            "drifts": self.drifts,
            "background": self.background.as_deref().map(report),
            "estimated_error": self.drift.as_ref().map(|detector| detector.0.estimation()),
            "model": L::shown(&self.active.tree, schema),
        })
    }

    fn scalars(&self) -> Json {
        json!({ "warnings": self.warnings, "drifts": self.drifts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Rows;
    use crate::declaration::Built;
    use crate::parameter::Arguments;
    use crate::part::Part;
    use crate::registry;
    use crate::tree::{ClassificationSettings, Leaf, RegressionLeaf, RegressionSettings};

    fn page_hinkley(threshold: f64) -> Json {
        let parameters = json!({ "grace_period": 1, "allowance": 0.0, "threshold": threshold, "forgetting": 1.0 });
        json!({ "name": "drift.PageHinkley", "parameters": parameters })
    }

    fn detector(threshold: f64) -> Option<Detector> {
        let resolved = registry::resolve(&page_hinkley(threshold)).expect("it resolves");
        match registry::build_resolved(&resolved) {
            Ok(Built::DriftDetector(detector)) => Some(Detector(detector)),
            _ => None,
        }
    }

    fn member() -> ForestMember<Leaf> {
        let tree = json!({ "name": "tree.HoeffdingTreeClassifier", "parameters": { "leaf_prediction": "mc" } });
        let tree = registry::resolve(&tree).expect("it resolves");
        let arguments = tree["parameters"].as_object().expect("parameters");
        let shared = ForestSettings {
            name: "forest.ARFClassifier",
            seed: 1,
            settings: ClassificationSettings::new(&Arguments::new("forest.ARFClassifier", arguments))
                .expect("settings"),
            max_features: (|features, _| features, 0.0),
            poisson: Poisson::new(6.0),
            warning: detector(0.5),
            drift: detector(1.0),
            weighted: true,
        };
        ForestMember::new(Arc::new(shared), 0)
    }

    #[test]
    fn a_warning_a_drift_and_a_tree_from_the_background_by_hand() {
        let (mut member, mut scratch) = (member(), Scratch::default());
        let mut output = MemberOutput::for_rows(5, 2);
        let (values, truths) = ([0.5; 5], [0, 0, 0, 1, 1]);
        // Light enough that the majority stays with class 0.
        let weights = [1.0, 1.0, 1.0, 0.01, 0.01];
        let batch = Batch::new(Rows::Plain { values: &values, width: 1 }, &truths, Some(&weights));
        member.draw(&batch, &mut output);
        assert!(output.weights.iter().all(|&weight| weight > 0.0));
        let part = batch.slice(0, 4);
        assert!(member.process(&part, 0, &mut output, &mut scratch).is_none());
        // The first row has no vote. Two are right and the fourth is wrong: accuracy 2 / 2.01.
        assert_eq!(output.votes[..4], [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(output.trust[..4], [0.0, 0.0, 1.0, 1.0]);
        assert!((member.trust() - 2.0 / 2.01).abs() < 1e-15);
        // Page-Hinkley of 0, 0, 1: the mean is 1/3, the sum of deviations 2/3, above 0.5 and not above 1.
        assert_eq!((member.warnings, member.drifts, member.trees), (1, 0, 2));
        assert_eq!(member.background.as_ref().map(|rated| rated.tree.learned), Some(0));
        let saved = member.save().expect("it is saved");
        let mut other = super::tests::member();
        other.load(&saved).expect("it is loaded");
        assert_eq!(other.save().expect("it is saved"), saved);
        // Another 1: the mean is 1/2 and the sum 2/3 + 1/2, above 1. The tree from the background has learned the row.
        assert!(member.process(&batch, 4, &mut output, &mut scratch).is_none());
        assert!((output.trust[4] - 2.0 / 2.01).abs() < 1e-15);
        assert_eq!((member.warnings, member.drifts, member.trees), (1, 1, 2));
        assert!(member.background.is_none());
        assert_eq!((member.active.tree.learned, member.trust()), (1, 0.0));
        let mut votes = [0.0; 2];
        member.vote(Row::Plain(&[0.5]), &mut votes, &mut scratch);
        assert_eq!(votes, [0.0, 1.0]);
    }

    #[test]
    fn a_warning_of_fewer_errors_is_none() {
        // Page-Hinkley with λ = 1, which warns beyond 1/2: of 0, 0, 1 the sum is 2/3, and of 1, 1, 0 −2/3.
        for (errors, warnings) in [([0.0, 0.0, 1.0], 1), ([1.0, 1.0, 0.0], 0)] {
            let mut member = member();
            member.warning = None;
            errors.iter().for_each(|&error| member.detect(error));
            let warns = member.drift.as_ref().is_some_and(|detector| detector.0.verdict().warning);
            assert_eq!((member.warnings, warns), (warnings, true));
        }
    }

    #[test]
    fn errors_of_numbers_are_placed_by_hand() {
        let tree = json!({ "name": "tree.HoeffdingTreeRegressor", "parameters": { "leaf_prediction": "mean" } });
        let tree = registry::resolve(&tree).expect("it resolves");
        let arguments = Arguments::new("forest.ARFRegressor", tree["parameters"].as_object().expect("parameters"));
        let shared = ForestSettings::<RegressionLeaf> {
            name: "forest.ARFRegressor",
            seed: 1,
            settings: RegressionSettings::new(&arguments).expect("settings"),
            max_features: (|features, _| features, 0.0),
            poisson: Poisson::new(6.0),
            warning: detector(0.1),
            drift: detector(1.0),
            weighted: true,
        };
        let mut member = ForestMember::new(Arc::new(shared), 0);
        let (mut scratch, mut output) = (Scratch::default(), MemberOutput::for_rows(4, 1));
        let batch = Batch::new(Rows::Plain { values: &[0.5; 4], width: 1 }, &[5.0, 5.0, 5.0, 7.0], None);
        member.draw(&batch, &mut output);
        assert!(output.weights.iter().all(|&weight| weight > 0.0));
        assert!(member.process(&batch, 0, &mut output, &mut scratch).is_none());
        // Nothing is known of the first row, and of the tree's errors before the second.
        assert_eq!(output.votes, [0.0, 5.0, 5.0, 5.0]);
        assert_eq!(output.trust[..2], [0.0, 0.0]);
        // Errors of 0, 0 and 2: their mean is 2/3, so that the tree has the weight 3/2.
        assert_eq!(member.trust(), 1.5);
        // The first two lie at 1/2. The variance of the three is 8/9, and the last lies at 1/2 + (4/3) / (6 √(8/9)) =
        // 0.7357. Page-Hinkley of these: the mean is 0.5786, the sum of deviations 0.157, above 0.1 and not above 1.
        assert_eq!((member.warnings, member.drifts, member.trees), (1, 0, 2));
        let deviation = (8.0f64 / 9.0).sqrt();
        let placed = 0.5 + (4.0 / 3.0) / (6.0 * deviation);
        assert!((member.spread.position(2.0) - placed).abs() < 1e-12 && (placed - 0.7357).abs() < 1e-4);
    }
}
