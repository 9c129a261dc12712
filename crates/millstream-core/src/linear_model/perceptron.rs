//! The perceptron: at a mistake, w ← w + y x (Rosenblatt, 1958). A sample weight multiplies the step.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, MarginExample, UpdateRule};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};

pub static DECLARATION: Declaration = Declaration {
    name: Perceptron::NAME,
    role: Role::Classifier,
    words: "Perceptron: a step along each misclassified example",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[INTERCEPT],
    build: |arguments| Ok(build(Perceptron, Spread::None, arguments.boolean("intercept")?)),
};

#[derive(Clone)]
struct Perceptron;

impl UpdateRule for Perceptron {
    const NAME: &'static str = "linear_model.Perceptron";
    const WANTED: f64 = 0.0;
    const VARIANCE: bool = false;

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        margin > 0.0
    }

    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        // On the boundary is not right.
        (seen.margin <= 0.0).then(|| Move::along(seen.w))
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// w = 0 is wrong for (2, −1) of the positive class: w = (2, −1), b = 1. (1, 1) of the negative class has the
    /// score 2 − 1 + 1 = 2, which is wrong: w = (1, −2), b = 0. (1, 0) then has 1, which is right for the positive.
    #[test]
    fn three_examples_by_hand() {
        let mut model = classifier("linear_model.Perceptron", json!({}));
        let mut scratch = Scratch::default();
        for (x, y) in [([2.0, -1.0], 1), ([1.0, 1.0], 0), ([1.0, 0.0], 1)] {
            model.learn(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
        }
        assert_eq!(score(&*model, &[1.0, 0.0]), 1.0);
        assert_eq!(score(&*model, &[0.0, 1.0]), -2.0);
    }

    /// With a third class the plane (0.5, ·) of two classes becomes two: scores of the three classes of x = 2 after
    /// learning x = 1 as class 1 are −w x / 2, w x / 2 and 0, w = 1, b = 1: −1.5, 1.5, 0. Learning it as class 2, whose
    /// rival is class 1: w₂ = 2, b₂ = 1 gives 5; w₁ = 0.5 − 2, b₁ = 0.5 − 1 gives −3.5.
    #[test]
    fn a_third_class_by_hand() {
        let mut model = classifier("linear_model.Perceptron", json!({}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[2.0]), 2, 1.0, &mut scratch).unwrap();
        let planes = model.inspect(&crate::schema::Schema::default())["planes"].clone();
        let intercepts: Vec<f64> = (0..3).map(|k| planes[k]["intercept"].as_f64().unwrap()).collect();
        assert_eq!(intercepts, [-0.5, 0.5 - 1.0, 1.0]);
    }
}
