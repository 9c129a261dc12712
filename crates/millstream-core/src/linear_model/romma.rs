//! The relaxed online maximum margin algorithm (Li and Long, 2002, Machine Learning 46, section 3): at a mistake
//! w becomes the shortest vector v that has a margin of 1 at this example, y v·x ≥ 1, and satisfies the last
//! constraint too, v·w ≥ |w|². With m = y w·x, at a mistake both hold with equality:
//! ```text
//! w ← c w + d y x,   c = (|x|² |w|² − m) / (|x|² |w|² − m²),   d = |w|² (1 − m) / (|x|² |w|² − m²)
//! ```
//! The aggressive form takes the step at every margin below 1. There c can be negative: if m ≥ |x|² |w|², the shortest
//! vector for this example alone, y x / |x|², satisfies the last constraint and is the solution. The same step is taken
//! from w = 0. Where the example is parallel to w and on the wrong side, no vector satisfies both constraints, and the
//! weights start again at y x / |x|². A sample weight above 0 changes nothing: a constraint holds or does not.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, MarginExample, UpdateRule};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};
use crate::parameter::{Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: Romma::NAME,
    role: Role::Classifier,
    words:
        "Relaxed online maximum margin: the shortest weights consistent with this example and the previous weights",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        Parameter::new(
            "aggressive",
            Kind::Boolean,
            Default::Boolean(false),
            "whether to update at every margin below 1, not only at mistakes",
        ),
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Romma { aggressive: arguments.boolean("aggressive")? };
        Ok(build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Romma {
    aggressive: bool,
}

impl UpdateRule for Romma {
    const NAME: &'static str = "linear_model.ROMMA";
    const LENGTH: bool = true;

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        if self.aggressive {
            margin >= 1.0
        } else {
            margin > 0.0
        }
    }

    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let MarginExample { margin, variance: squares, length, .. } = *seen;
        if squares == 0.0 || self.idle(margin) {
            return None;
        }
        let product = squares * length;
        let room = product - margin * margin;
        // In the second case the example is parallel to the weights, but for rounding.
        if margin >= product || room <= 1e-12 * product {
            return Some(Move::scaled(0.0, 1.0 / squares));
        }
        Some(Move::scaled((product - margin) / room, length * (1.0 - margin) / room))
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// (2, 0) of the positive class: w = (1/2, 0). (−1, 1) of it has the margin −1/2: |x|² = 2, |w|² = 1/4,
    /// room = 1/2 − 1/4 = 1/4, c = (1/2 + 1/2) / (1/4) = 4, d = (1/4 · 3/2) / (1/4) = 3/2: w = (2 − 3/2, 3/2), which
    /// has the margin 1 at both.
    #[test]
    fn two_steps_by_hand() {
        let mut model = classifier("linear_model.ROMMA", json!({ "intercept": false }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[2.0, 0.0]), 1, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[-1.0, 1.0]), 1, 1.0, &mut scratch).unwrap();
        assert_eq!(score(&*model, &[2.0, 0.0]), 1.0);
        assert_eq!(score(&*model, &[-1.0, 1.0]), 1.0);
        // Parallel to w, and wrong: the weights start again.
        model.learn(Row::Plain(&[1.0, 3.0]), 0, 1.0, &mut scratch).unwrap();
        assert!((score(&*model, &[1.0, 3.0]) + 1.0).abs() < 1e-12);
    }

    /// (3, 0) of the positive class: w = (1/3, 0). (1, 1/2) of it has the margin m = 1/3, |x|² |w|² = 5/4 · 1/9 = 5/36
    /// ≤ m, so w = x / |x|² = (4/5, 2/5), which has 4/5 · 1/3 ≥ 1/9. Equality in both would give (1/3, 4/3).
    #[test]
    fn an_aggressive_step_that_the_last_constraint_does_not_bind() {
        let mut model = classifier("linear_model.ROMMA", json!({ "aggressive": true, "intercept": false }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[3.0, 0.0]), 1, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[1.0, 0.5]), 1, 1.0, &mut scratch).unwrap();
        assert_eq!(score(&*model, &[1.0, 0.0]), 0.8);
        assert_eq!(score(&*model, &[0.0, 1.0]), 0.4);
    }
}
