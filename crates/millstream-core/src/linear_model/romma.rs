//! The relaxed online maximum margin algorithm (Li and Long, 2002, Machine Learning 46, section 3): at a mistake
//! w becomes the shortest vector that has a margin of 1 at this example and satisfies the last constraint too:
//! ```text
//! w ← c w + d y x,   c = (|x|² |w|² − m) / (|x|² |w|² − m²),   d = |w|² (1 − m) / (|x|² |w|² − m²)
//! ```
//! with m the margin; from w = 0 it is y x / |x|². The aggressive form takes the step at every margin below 1. Where
//! the example lies along w the two constraints are one, and y x / |x|² satisfies it. A sample weight above 0 changes
//! nothing: a constraint holds or does not.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, Rule, Seen};
use crate::linear_model::plane::{Move, Spread};
use crate::parameter::{Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: Romma::NAME,
    role: Role::Classifier,
    words: "Relaxed online maximum margin: the shortest weights that are right now and as they were before",
    parameters: &[
        Parameter::new(
            "aggressive",
            Kind::Boolean,
            Default::Boolean(false),
            "whether to step at every margin below 1, or at mistakes only",
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

impl Rule for Romma {
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

    fn decide(&self, seen: &Seen) -> Option<Move> {
        let Seen { margin, variance: squares, length, .. } = *seen;
        if squares == 0.0 || self.idle(margin) {
            return None;
        }
        let product = squares * length;
        let room = product - margin * margin;
        // At most a rounding of the product: the example lies along the weights.
        if room <= 1e-12 * product {
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
        // Along w, and wrong: the weights begin again.
        model.learn(Row::Plain(&[1.0, 3.0]), 0, 1.0, &mut scratch).unwrap();
        assert!((score(&*model, &[1.0, 3.0]) + 1.0).abs() < 1e-12);
    }
}
