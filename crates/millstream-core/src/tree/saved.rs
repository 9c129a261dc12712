//! A classification tree in a saved model.

use serde::{Deserialize, Serialize};

use crate::fault::Result;
use crate::held::state::require;
use crate::naive_bayes::class_statistics::SavedClass;
use crate::naive_bayes::class_table::ClassTable;
use crate::numeric::random::Random;
use crate::row::all_finite;

use super::class_counts::Counts;
use super::decision::Reason;
use super::growth::Tree;
use super::histogram::Histogram;
use super::leaf::{Leaf, Span, NO_SPAN};
use super::node_serde::{SavedNode, SavedNodes};
use super::nodes::Fork;
use super::settings::ESTIMATE;
use super::subspace::Subspace;

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedTree {
    classes: u32,
    learned: u64,
    nodes: Vec<SavedNode>,
    forks: Vec<Fork>,
    /// Of the inner nodes, in order.
    reasons: Vec<Reason>,
    leaves: Vec<SavedLeaf>,
    /// Of every node; none in files from before tallies existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tallies: Option<Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    random: Option<Random>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedLeaf {
    depth: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    idle: bool,
    counts: Vec<f64>,
    since: f64,
    majority_right: f64,
    bayes_right: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    features: Option<Vec<u32>>,
    classes: Vec<SavedClass>,
    /// Lowest and highest number by class and slot; none for a slot without numbers.
    spans: Vec<Vec<Option<[f64; 2]>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    histograms: Vec<Histogram<Counts>>,
}

impl Tree {
    pub fn saved(&self) -> SavedTree {
        let SavedNodes { nodes, forks, reasons } = SavedNodes::new(&self.nodes, &self.reasons);
        let (random, width) = self.subspace.as_ref().map(Subspace::saved).unzip();
        SavedTree {
            classes: self.classes as u32,
            learned: self.learned,
            nodes,
            forks,
            reasons,
            leaves: self.leaves.iter().map(SavedLeaf::from).collect(),
            tallies: Some(self.tallies.clone()),
            random,
            width: width.flatten(),
        }
    }

    /// Without the random features of a forest: a tree on its own considers all features.
    pub fn saved_alone(&self) -> SavedTree {
        SavedTree { random: None, width: None, ..self.saved() }
    }

    /// Restore the saved state, or change nothing.
    pub fn restore_from(&mut self, saved: SavedTree) -> Result<()> {
        self.restore_with(saved, &[])
    }

    /// The same for a tree whose nodes may have an alternate, by node, which counts as a child.
    pub fn restore_with(&mut self, saved: SavedTree, alternates: &[u32]) -> Result<()> {
        let who = self.name;
        let SavedTree { classes, learned, nodes, forks, reasons, leaves, tallies, random, width } = saved;
        let classes = classes as usize;
        let leaves: Vec<Leaf> = leaves
            .into_iter()
            .map(|leaf| leaf.restored(who, classes, self.settings.bins))
            .collect::<Result<_>>()?;
        let lists = leaves.iter().map(|leaf| leaf.features.as_deref());
        let subspace = Subspace::restored(&self.subspace, who, (random, width), lists)?;
        let mut tree = Tree::new(who, self.settings, subspace);
        let saved = SavedNodes { nodes, forks, reasons };
        let hangs;
        (tree.nodes, tree.reasons, hangs) = saved.restored(who, leaves.len(), alternates)?;
        (tree.learned, tree.leaves) = (learned, leaves);
        // Every class is in some leaf, unless an alternate without it replaced those that had it. Old files may count
        // more classes. Unknown classes take no memory in predictions.
        tree.classes = tree.most_classes();
        require(who, tree.classes == classes || !alternates.is_empty(), "classes without a leaf")?;
        for (leaf, node) in tree.leaves.iter_mut().zip(hangs) {
            leaf.node = node;
        }
        tree.restore_tallies(tallies)?;
        tree.count_bytes();
        *self = tree;
        Ok(())
    }
}

impl From<&Leaf> for SavedLeaf {
    fn from(leaf: &Leaf) -> Self {
        let span = |span: &Span| (*span != NO_SPAN).then_some([-span[0], span[1]]);
        SavedLeaf {
            depth: leaf.depth,
            idle: leaf.idle,
            counts: leaf.counts.clone(),
            since: leaf.since,
            majority_right: leaf.majority_right,
            bayes_right: leaf.bayes_right,
            features: leaf.features.as_ref().map(|features| features.to_vec()),
            classes: leaf.table.saved(),
            spans: leaf.spans.iter().map(|spans| spans.iter().map(span).collect()).collect(),
            histograms: leaf.histograms.clone(),
        }
    }
}

impl SavedLeaf {
    pub fn restored(self, who: &str, classes: usize, bins: usize) -> Result<Leaf> {
        let SavedLeaf { depth, idle, counts, since, majority_right, bayes_right, features, spans, .. } = self;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&number| number >= 0.0);
        require(who, positive(&counts) && counts.iter().sum::<f64>().is_finite(), "a count is not finite")?;
        require(who, positive(&[since, majority_right, bayes_right]), "a count is not finite")?;
        let known = [counts.len(), self.classes.len(), spans.len()];
        require(who, known.iter().all(|&known| known <= classes), "a class beyond the number of classes")?;
        require(who, self.classes.len() <= counts.len(), "statistics of a class without a count")?;
        let ascending = |features: &Vec<u32>| features.windows(2).all(|pair| pair[0] < pair[1]);
        require(who, features.as_ref().is_none_or(ascending), "features out of order")?;
        let widths = features.as_ref().map_or(usize::MAX, Vec::len);
        let mut leaf = Leaf::new(0, depth, counts, features.map(Vec::into_boxed_slice));
        (leaf.since, leaf.majority_right, leaf.bayes_right) = (since, majority_right, bayes_right);
        leaf.table = ClassTable::restored(self.classes, who, ESTIMATE)?;
        require(who, !idle || leaf.table.classes.is_empty(), "an idle leaf with statistics")?;
        leaf.idle = idle;
        for spans in &spans {
            require(who, spans.len() <= widths, "more spans than features")?;
            let sound = |span: &[f64; 2]| all_finite(span) && span[0] <= span[1];
            require(who, spans.iter().flatten().all(sound), "a span without numbers")?;
        }
        let sound =
            |histogram: &Histogram<Counts>| histogram.is_sound(bins, |counts| counts.is_sound(leaf.counts.len()));
        require(who, self.histograms.iter().all(sound), "an invalid histogram")?;
        require(who, self.histograms.len() <= widths, "more histograms than features")?;
        leaf.histograms = self.histograms;
        let span = |span: &Option<[f64; 2]>| span.map_or(NO_SPAN, |[low, high]| [-low, high]);
        leaf.spans = spans.iter().map(|spans| spans.iter().map(span).collect()).collect();
        Ok(leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::task::ClassPrediction;
    use crate::tree::nodes::NOWHERE;
    use crate::tree::settings::ClassificationSettings;

    #[test]
    fn classes_that_no_leaf_knows_take_no_memory() {
        let tree = registry::resolve(&serde_json::json!({ "name": "tree.HoeffdingTreeClassifier" })).unwrap();
        let arguments = tree["parameters"].as_object().unwrap();
        let settings =
            ClassificationSettings::new(&Arguments::new("tree.HoeffdingTreeClassifier", arguments)).unwrap();
        let mut tree = Tree::new("tree", settings, None);
        let mut scratch = Scratch::default();
        for y in [0, 1] {
            tree.learn(Row::Plain(&[f64::from(y)]), y, 1.0, &mut scratch).unwrap();
        }
        for classes in [u32::MAX, 3, 1, 0] {
            let saved = SavedTree { classes, ..tree.saved() };
            assert!(Tree::new("tree", settings, None).restore_from(saved).is_err());
        }
        assert!(Tree::new("tree", settings, None).restore_from(tree.saved()).is_ok());
        // An adaptive tree may have lost the leaves with the other classes.
        let saved = SavedTree { classes: u32::MAX, ..tree.saved() };
        let (mut adaptive, mut out) = (Tree::new("tree", settings, None), ClassPrediction::default());
        adaptive.restore_with(saved, &[NOWHERE]).unwrap();
        adaptive.predict(Row::Plain(&[0.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((adaptive.classes, out.probabilities.len()), (2, 2));
    }
}
