//! The candidate splits of a leaf: the best one on each feature.
//!
//! A numeric feature is split at evenly spaced thresholds between its extremes. The weight of a class below a threshold
//! is taken from its normal distribution, clipped to its range (Pfahringer, Holmes and Kirkby, 2008, "Handling numeric
//! attributes in Hoeffding trees"). A nominal feature is split into one branch per value, or into one value and the
//! rest.

use crate::numeric::error_function::normal_below;

use super::leaf::{Leaf, Span, NO_SPAN};
use super::settings::{ClassificationSettings, ESTIMATE};

/// A test on a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// Up to this number, and above.
    AtMost(f64),
    /// The value with this code, and all others.
    Is(u32),
    /// A branch for each value.
    Each,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The index of the feature in the leaf's statistics.
    pub slot: usize,
    pub test: Test,
    pub merit: f64,
}

/// Buffers that are reused between attempts.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Weights in the branches of a split, by branch and class.
    branches: Vec<f64>,
    /// Weights below each threshold, by threshold and class.
    pub below: Vec<f64>,
    /// Weight of each class with the feature.
    pub totals: Vec<f64>,
}

/// The distribution of a numeric feature in one class.
struct Shape {
    weight: f64,
    mean: f64,
    deviation: f64,
    span: Span,
}

impl Shape {
    /// The weight below a threshold, given the standard normal distribution function.
    #[inline(always)]
    fn below(&self, threshold: f64, normal_below: impl Fn(f64) -> f64) -> f64 {
        if threshold < -self.span[0] {
            0.0
        } else if threshold >= self.span[1] {
            self.weight
        } else if self.deviation > 0.0 {
            self.weight * normal_below((threshold - self.mean) / self.deviation)
        } else if self.mean <= threshold {
            self.weight
        } else {
            0.0
        }
    }
}

impl Leaf {
    /// The number of features with statistics.
    pub fn width(&self) -> usize {
        let numbers = self.spans.iter().map(Vec::len).max().unwrap_or(0);
        numbers.max(self.features.as_ref().map_or(0, |features| features.len()))
    }

    #[inline]
    fn shape(&self, class: usize, slot: usize) -> Option<Shape> {
        let span = *self.spans.get(class)?.get(slot).filter(|span| **span != NO_SPAN)?;
        let (weight, mean, variance) = self.table.classes.get(class)?.moments(slot, ESTIMATE.ddof)?;
        Some(Shape { weight, mean, deviation: variance.sqrt(), span })
    }

    /// The range over all classes.
    fn span(&self, slot: usize) -> Span {
        let spans = self.spans.iter().filter_map(|spans| spans.get(slot));
        spans.fold(NO_SPAN, |a, b| [a[0].max(b[0]), a[1].max(b[1])])
    }

    /// The number of values of a nominal feature; 0 for a numeric one.
    pub fn values(&self, slot: usize) -> usize {
        self.table.classes.iter().map(|class| class.frequencies(slot).len()).max().unwrap_or(0)
    }

    /// The best split on a feature; none if there is nothing to split.
    pub fn best_split(
        &self,
        slot: usize,
        settings: &ClassificationSettings,
        work: &mut Workspace,
    ) -> Option<Candidate> {
        match self.values(slot) {
            0 => self.best_threshold(slot, settings, work),
            values => self.best_values(slot, values, settings, work),
        }
    }

    /// The best cut between bins of a histogram.
    fn best_cut(&self, slot: usize, settings: &ClassificationSettings, work: &mut Workspace) -> Option<Candidate> {
        let histogram = self.histograms.get(slot)?;
        let classes = self.counts.len();
        work.branches.clear();
        work.branches.resize(2 * classes, 0.0);
        for (class, weight) in histogram.bins().iter().flat_map(|bin| bin.content.iter()) {
            work.branches[classes + class as usize] += weight;
        }
        let mut best: Option<Candidate> = None;
        for (bin, cut) in histogram.bins().iter().zip(histogram.cuts()) {
            for (class, weight) in bin.content.iter() {
                let above = &mut work.branches[classes + class as usize];
                *above = (*above - weight).max(0.0);
                work.branches[class as usize] += weight;
            }
            let merit = self.merit(settings, &work.branches);
            if best.is_none_or(|best| merit > best.merit) {
                best = Some(Candidate { slot, test: Test::AtMost(cut), merit });
            }
        }
        best
    }

    /// The lowest number, the distance between thresholds and the highest number; none if there are no thresholds.
    pub fn thresholds(&self, slot: usize, settings: &ClassificationSettings) -> Option<(f64, f64, f64)> {
        let [low, high] = [-self.span(slot)[0], self.span(slot)[1]];
        let width = (high - low) / (settings.n_splits + 1) as f64;
        (width > 0.0 && width.is_finite()).then_some((low, width, high))
    }

    /// Write the weight of each class, and its weight below each threshold.
    #[inline(always)]
    pub fn divide(
        &self,
        slot: usize,
        (low, width): (f64, f64),
        settings: &ClassificationSettings,
        normal_below: impl Fn(f64) -> f64,
        work: &mut Workspace,
    ) {
        let classes = self.counts.len();
        let threshold = |index: usize| low + width * (index + 1) as f64;
        work.totals.clear();
        work.totals.resize(classes, 0.0);
        work.below.clear();
        work.below.resize(settings.n_splits * classes, 0.0);
        for class in 0..classes {
            let Some(shape) = self.shape(class, slot) else { continue };
            work.totals[class] = shape.weight;
            for index in 0..settings.n_splits {
                work.below[index * classes + class] = shape.below(threshold(index), &normal_below);
            }
        }
    }

    fn best_threshold(
        &self,
        slot: usize,
        settings: &ClassificationSettings,
        work: &mut Workspace,
    ) -> Option<Candidate> {
        if settings.bins > 0 {
            return self.best_cut(slot, settings, work);
        }
        let (low, width, high) = self.thresholds(slot, settings)?;
        self.divide(slot, (low, width), settings, normal_below, work);
        let classes = self.counts.len();
        let mut best: Option<Candidate> = None;
        for (index, below) in work.below.chunks_exact(classes).enumerate() {
            let threshold = low + width * (index + 1) as f64;
            if !(low < threshold && threshold < high) {
                continue;
            }
            work.branches.clear();
            work.branches.extend_from_slice(below);
            work.branches.extend(work.totals.iter().zip(below).map(|(total, below)| total - below));
            let merit = self.merit(settings, &work.branches);
            if best.is_none_or(|best| merit > best.merit) {
                best = Some(Candidate { slot, test: Test::AtMost(threshold), merit });
            }
        }
        best
    }

    fn best_values(
        &self,
        slot: usize,
        values: usize,
        settings: &ClassificationSettings,
        work: &mut Workspace,
    ) -> Option<Candidate> {
        let mut best: Option<Candidate> = None;
        let mut propose = |test: Test, merit: f64| {
            if best.is_none_or(|best| merit > best.merit) {
                best = Some(Candidate { slot, test, merit });
            }
        };
        if !settings.binary_split {
            self.write_branches(slot, Test::Each, work);
            propose(Test::Each, self.merit(settings, &work.branches));
        }
        // One value against the rest, as the difference to the total.
        let Workspace { branches, totals, .. } = work;
        let by_class = || self.table.classes.iter().map(|class| class.frequencies(slot));
        totals.clear();
        totals.extend(by_class().map(|counts| counts.iter().sum::<f64>()));
        totals.resize(self.counts.len(), 0.0);
        for code in 0..values {
            branches.clear();
            branches.extend(by_class().map(|counts| counts.get(code).copied().unwrap_or(0.0)));
            branches.resize(self.counts.len(), 0.0);
            for (class, total) in totals.iter().enumerate() {
                branches.push((total - branches[class]).max(0.0));
            }
            propose(Test::Is(code as u32), self.merit(settings, branches));
        }
        best
    }

    /// The merit among the examples that have the feature, times their fraction (Quinlan, 1993, "C4.5", section 3.1).
    fn merit(&self, settings: &ClassificationSettings, branches: &[f64]) -> f64 {
        let each = branches.chunks_exact(self.counts.len());
        settings.criterion.merit(each, settings.min_branch_fraction) * self.fraction(branches.iter().sum())
    }

    /// The weights of the leaf's own examples by class, without the initial weights.
    pub fn own(&self) -> impl Iterator<Item = f64> + '_ {
        self.table.classes.iter().map(|class| class.count)
    }

    /// The fraction of the leaf's own examples that have a feature, if these have the weight `known`.
    pub fn fraction(&self, known: f64) -> f64 {
        let all: f64 = self.own().sum();
        // Sums in another order may differ by rounding.
        if known < 0.999_999 * all {
            (known / all).max(f64::MIN_POSITIVE)
        } else {
            1.0
        }
    }

    /// The merit of a given split.
    pub fn merit_of(
        &self,
        slot: usize,
        test: Test,
        settings: &ClassificationSettings,
        work: &mut Workspace,
    ) -> f64 {
        self.write_branches(slot, test, work);
        self.merit(settings, &work.branches)
    }

    fn write_branches(&self, slot: usize, test: Test, work: &mut Workspace) {
        let classes = self.counts.len();
        let branches = if test == Test::Each { self.values(slot) } else { 2 };
        work.branches.clear();
        work.branches.resize(branches * classes, 0.0);
        if let (Test::AtMost(threshold), Some(histogram)) = (test, self.histograms.get(slot)) {
            for bin in histogram.bins() {
                let branch = usize::from(bin.mean > threshold);
                for (class, weight) in bin.content.iter() {
                    work.branches[branch * classes + class as usize] += weight;
                }
            }
            return;
        }
        for (class, statistics) in self.table.classes.iter().enumerate() {
            if let Test::AtMost(threshold) = test {
                if let Some(shape) = self.shape(class, slot) {
                    let below = shape.below(threshold, normal_below);
                    work.branches[class] = below;
                    work.branches[classes + class] = shape.weight - below;
                }
                continue;
            }
            for (code, count) in statistics.frequencies(slot).iter().enumerate() {
                let branch = match test {
                    Test::Is(value) => usize::from(code != value as usize),
                    _ => code,
                };
                work.branches[branch * classes + class] += count;
            }
        }
    }

    /// The class weights in each branch of a split.
    pub fn branches<'a>(
        &self,
        candidate: &Candidate,
        work: &'a mut Workspace,
    ) -> impl Iterator<Item = &'a [f64]> + 'a {
        self.write_branches(candidate.slot, candidate.test, work);
        work.branches.chunks_exact(self.counts.len())
    }
}

impl Workspace {
    pub fn memory(&self) -> usize {
        8 * (self.branches.capacity() + self.below.capacity() + self.totals.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive_bayes::class_table::Spare;
    use crate::parameter::Arguments;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::schema::FeatureKind;
    use crate::task::ClassPrediction;

    fn settings() -> ClassificationSettings {
        let tree = registry::resolve(&serde_json::json!({ "name": "tree.HoeffdingTreeClassifier" })).unwrap();
        let arguments = tree["parameters"].as_object().unwrap();
        ClassificationSettings::new(&Arguments::new("tree.HoeffdingTreeClassifier", arguments)).unwrap()
    }

    /// A leaf after eight examples, 1 to 4 of class 0 and 5 to 8 of class 1 in the first feature, and the same in the
    /// second where it is present.
    fn leaf(inherited: Vec<f64>, there: impl Fn(u32) -> bool) -> Leaf {
        let mut leaf = Leaf::new(0, 0, inherited, None);
        let (mut spare, mut scratch, mut out) = (Spare::default(), Scratch::default(), ClassPrediction::default());
        for number in 1..=8 {
            let values = [f64::from(number), if there(number) { f64::from(number) } else { f64::NAN }];
            let x = Row::Mixed(&values, &[FeatureKind::Number; 2]);
            let y = u32::from(number > 4);
            assert!(leaf.step(x, y, 1.0, &settings(), Want::Class, 2, &mut out, &mut spare, &mut scratch));
        }
        leaf
    }

    #[test]
    fn what_a_leaf_began_with_gains_nothing() {
        // The leaf's own examples are four of each class, which a threshold separates: the gain is nearly 1 bit. With
        // the hundred initial ones of class 0, the entropy before the split would be 0.23 bits, and the gain negative.
        let mut work = Workspace::default();
        let [fresh, after] = [Vec::new(), vec![100.0, 0.0]]
            .map(|inherited| leaf(inherited, |_| true).best_split(0, &settings(), &mut work).unwrap());
        assert_eq!(fresh, after);
        assert!(fresh.merit > 0.9, "{fresh:?}");
    }

    #[test]
    fn a_feature_that_is_often_missing_gains_for_those_that_have_it() {
        let leaf = leaf(Vec::new(), |number| number % 2 == 0);
        let mut work = Workspace::default();
        let known = leaf.best_split(1, &settings(), &mut work).unwrap();
        // 2 and 4 against 6 and 8: one bit at most, for half of the examples.
        assert!(known.merit > 0.4 && known.merit <= 0.5, "{known:?}");
    }

    #[test]
    fn one_value_against_the_rest_is_what_its_branches_say() {
        let mut leaf = Leaf::default();
        let (mut spare, mut scratch, mut out) = (Spare::default(), Scratch::default(), ClassPrediction::default());
        for number in 0..200u32 {
            let (values, kinds) = ([f64::from(number * number % 7)], [FeatureKind::Nominal]);
            let (x, y) = (Row::Mixed(&values, &kinds), u32::from(number % 7 == 2) + number % 2);
            let w = f64::from(number % 3) + 0.3;
            assert!(leaf.step(x, y, w, &settings(), Want::Class, 3, &mut out, &mut spare, &mut scratch));
        }
        let (binary, mut work) =
            (ClassificationSettings { binary_split: true, ..settings() }, Workspace::default());
        let best = leaf.best_split(0, &binary, &mut work).unwrap();
        let merits: Vec<f64> =
            (0..leaf.values(0) as u32).map(|code| leaf.merit_of(0, Test::Is(code), &binary, &mut work)).collect();
        let Test::Is(code) = best.test else { panic!("{best:?}") };
        assert!((merits[code as usize] - best.merit).abs() < 1e-12, "{best:?} {merits:?}");
        assert!(merits.iter().all(|&merit| merit <= best.merit + 1e-12) && best.merit > 0.01, "{merits:?}");
    }
}
