//! Ridge regression onto the classes (Hastie, Tibshirani and Friedman, 2009, section 4.2), by recursive least squares: the
//! score of class k is exactly that of ridge regression on the target 1 for its rows and 0 for all others.
//!
//! ```text
//! zₖ = wₖᵀx,  wₖ ← wₖ + K ([y = k] − wₖᵀx)        (K: the gain of recursion.rs, the same for all classes)
//! ```
//! One covariance serves all classes, so a class costs no more than its weights. A class that is met later has had the
//! target 0 so far, which the weights 0 say exactly: classes may come at any time. scikit-learn's `RidgeClassifier` has the
//! targets ±1, which makes the scores 2 zₖ − 1 and changes no prediction, and does not penalise the intercept.
//!
//! The probabilities are the scores, which estimate P(y = k | x) by least squares, kept above `LEAST_SCORE` and divided by
//! their sum. The regression of the target 1, of which the scores of all classes are parts, carries the covariance.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::numeric::dot;
use crate::numeric::magnitude::{check_row, LARGEST};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{all_finite, finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

use super::recursion::{self, Recursion};
use super::rls::FORGETTING;
use super::{hyperplane, named};

const NAME: &str = "linear_model.RidgeClassifier";
/// Scores below count as this much, so that no class has the probability 0.
const LEAST_SCORE: f64 = 1e-3;
/// All scores are raised until the best is this large.
const LEAST_BEST: f64 = 1e-2;
/// Scores are cut here, so that their sum is finite.
const MOST_SCORE: f64 = 1e100;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Exact ridge regression onto the classes by recursive least squares; classes may come at any time",
    merge: Merge::none("it has no merge of its own: continual.StreamingLDA adds the same kind of sums"),
    parameters: &[
        Parameter::new(
            "l2",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(1.0),
            "L2 penalty: the inverse of the prior variance of the weights",
        ),
        FORGETTING,
        hyperplane::INTERCEPT,
    ],
    build: |arguments| {
        let (l2, forgetting) = (arguments.float("l2")?, arguments.float("forgetting")?);
        let recursion = Recursion::new(NAME, l2, forgetting, arguments.boolean("intercept")?);
        let (counts, weights, vector) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Built::Classifier(Box::new(RidgeClassifier { recursion, counts, weights, vector })))
    },
};

#[derive(Clone)]
struct RidgeClassifier {
    recursion: Recursion,
    /// By class code: the sum of weights of its rows, 0 for a class that was not met.
    counts: Vec<f64>,
    /// By class code: the intercept first, if there is one; empty for a class that was not met.
    weights: Vec<Vec<f64>>,
    vector: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    recursion: recursion::State,
    counts: Vec<f64>,
    weights: Vec<Vec<f64>>,
}

/// Scores become probabilities; −∞ stands for a class that was not met.
fn normalise(scores: &mut [f64]) {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raise = (LEAST_BEST - best).max(0.0);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = if *score == f64::NEG_INFINITY { 0.0 } else { (*score + raise).clamp(LEAST_SCORE, MOST_SCORE) };
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

impl RidgeClassifier {
    fn learn_row(&mut self, x: Row<'_>, y: usize, w: f64) -> Result<()> {
        check_row(NAME, x, LARGEST)?;
        let count = self.counts.get(y).copied().unwrap_or(0.0) + w;
        if !count.is_finite() {
            return Err(Fault::overflow(NAME));
        }
        let taken = self.recursion.take(x, 1.0, w)?;
        let mut vector = std::mem::take(&mut self.vector);
        self.recursion.vector(x, &mut vector);
        if self.counts.len() <= y {
            self.counts.resize(y + 1, 0.0);
            self.weights.resize(y + 1, Vec::new());
        }
        self.counts[y] = count;
        for (code, weights) in self.weights.iter_mut().enumerate() {
            if self.counts[code] == 0.0 {
                continue;
            }
            weights.resize(vector.len(), 0.0);
            let target = if code == y { 1.0 } else { 0.0 };
            let step = (target - finite(dot(weights, &vector))) / taken.alpha;
            // Ridge regression bounds the weights by √(n / l2), so that only rounding could make them overflow.
            weights.iter_mut().zip(self.recursion.gain()).for_each(|(w, k)| *w = finite(*w + step * k));
        }
        self.vector = vector;
        Ok(())
    }
}

impl Part for RidgeClassifier {
    fn save(&self) -> Result<Vec<u8>> {
        let recursion = self.recursion.state.clone();
        pack(&State { recursion, counts: self.counts.clone(), weights: self.weights.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { recursion, counts, weights } = unpack(NAME, bytes)?;
        let width = recursion.weights.len();
        require(NAME, counts.len() == weights.len(), "classes without weights")?;
        require(NAME, counts.iter().all(|count| count.is_finite() && *count >= 0.0), "a count is not valid")?;
        require(NAME, counts.iter().any(|count| *count > 0.0) || width == 0, "weights without a class")?;
        let fits = |(weights, count): (&Vec<f64>, &f64)| {
            weights.len() == if *count > 0.0 { width } else { 0 } && all_finite(weights)
        };
        require(NAME, weights.iter().zip(&counts).all(fits), "the weights of a class are not valid")?;
        self.recursion.adopt(recursion)?;
        (self.counts, self.weights) = (counts, weights);
        Ok(())
    }

    fn memory(&self) -> usize {
        let weights = self.weights.iter().map(|weights| 24 + 8 * weights.capacity()).sum::<usize>();
        let buffers = 8 * (self.counts.capacity() + self.vector.capacity());
        std::mem::size_of::<Self>() + self.recursion.memory() + weights + buffers
    }

    /// `{"counts": […], "classes": [{"intercept": …, "weights": {feature: number}}, …]}`, by class code.
    fn inspect(&self, schema: &Schema) -> Json {
        let offset = usize::from(self.recursion.intercept);
        let class = |weights: &Vec<f64>| {
            let of = |slot, value| {
                let index = self.recursion.state.coordinates().of(slot, value)? as usize + offset;
                weights.get(index).copied()
            };
            let intercept = weights.first().filter(|_| offset == 1).copied().unwrap_or(0.0);
            json!({ "intercept": intercept, "weights": named(schema, of) })
        };
        json!({ "counts": self.counts, "classes": self.weights.iter().map(class).collect::<Vec<_>>() })
    }

    fn scalars(&self) -> Json {
        json!({ "counts": self.counts })
    }
}

impl Learner<Classes> for RidgeClassifier {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        out.clear();
        if self.counts.iter().all(|count| *count == 0.0) {
            return;
        }
        let mut vector = scratch.take_numbers();
        self.recursion.vector(x, &mut vector);
        let scores = self.weights.iter().zip(&self.counts).map(|(weights, count)| match *count > 0.0 {
            true => finite(dot(weights, &vector)),
            false => f64::NEG_INFINITY,
        });
        out.probabilities.extend(scores);
        scratch.give_numbers(vector);
        out.class = most(&out.probabilities);
        match want {
            Want::Class => out.probabilities.clear(),
            Want::Probabilities => normalise(&mut out.probabilities),
        }
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.learn_row(x, y as usize, w)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// l2 = 2, x = 2 of class 0: w₀ = 2 · 1 / (2² + 2) = 1/3. Then x = 1 of class 1, which is new: Σx² = 5, so w₀ = 2/7 and
    /// w₁ = 1/7. At x = 1 the scores are 2/7 and 1/7, and the probabilities 2/3 and 1/3.
    #[test]
    fn two_examples_by_hand() {
        let mut model = build(json!({ "l2": 2.0, "intercept": false }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for (x, y) in [(2.0, 0), (1.0, 1)] {
            model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
        }
        model.predict(Row::Plain(&[1.0]), Want::Probabilities, &mut out, &mut scratch);
        assert!((out.probabilities[0] - 2.0 / 3.0).abs() < 1e-15);
        assert!((out.probabilities[1] - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(out.class, Some(0));
    }

    /// Negative scores of all classes are raised until the best is 0.01: the best class keeps the largest probability.
    #[test]
    fn negative_scores_have_probabilities() {
        let mut scores = [-3.0, -1.0, f64::NEG_INFINITY];
        normalise(&mut scores);
        assert!((scores[1] - 10.0 / 11.0).abs() < 1e-15 && scores[2] == 0.0);
    }
}
