//! LVQ3 (Kohonen, 1990, "The self-organizing map", Proceedings of the IEEE 78(9), section V, eq. 15 and 16).
//!
//! LVQ2.1 (`lvq21`), and in addition, if both of the two nearest prototypes are of the row's class, both move towards it:
//!
//! ```text
//! m ← m + ε α (x − m)
//! ```
//!
//! in the window or not, which keeps prototypes where the rows of their class are.

use crate::cluster::centres::Centres;
use crate::cluster::k_means::repeated;
use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::prototype::classifier::{
    Example, PrototypeClassifier, Rule, LARGEST, LEARNING_RATE, MAX_PROTOTYPES, N_PROTOTYPES,
};
use crate::prototype::window::{two_nearest, Window, WINDOW_WIDTH};
use crate::row::Scratch;

const NAME: &str = "prototype.LVQ3";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "LVQ3: LVQ2.1 whose prototypes also follow the rows of their class",
    merge: Merge::EXEMPLARS,
    parameters: &[
        N_PROTOTYPES,
        LEARNING_RATE,
        WINDOW_WIDTH,
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.3),
            "fraction of the learning rate if both nearest prototypes are of the row's class",
        ),
        MAX_PROTOTYPES,
    ],
    build: |arguments| {
        let rule = Lvq3 {
            learning_rate: arguments.float("learning_rate")?,
            window: Window::new(arguments.float("window_width")?),
            epsilon: arguments.float("epsilon")?,
        };
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, None)?)))
    },
};

#[derive(Clone)]
struct Lvq3 {
    learning_rate: f64,
    window: Window,
    epsilon: f64,
}

impl Rule for Lvq3 {
    type State = ();
    const NAME: &'static str = NAME;

    fn learn(&mut self, prototypes: &mut Centres, classes: &[u32], example: Example<'_>, _: &mut Scratch) {
        let Some((first, second)) = two_nearest(example.distances) else { return };
        let is_right = |prototype: usize| classes[prototype] == example.class;
        let learning_rate = match (is_right(first.prototype), is_right(second.prototype)) {
            (true, true) => self.epsilon * self.learning_rate,
            (false, false) => return,
            _ if !self.window.contains(first.distance, second.distance) => return,
            _ => self.learning_rate,
        };
        let rate = repeated(learning_rate, example.w);
        for prototype in [first.prototype, second.prototype] {
            let rate = if is_right(prototype) { rate } else { -rate };
            prototypes.step(prototype, example.x, example.complete, rate, LARGEST);
        }
    }

    fn save(&self) {}

    fn load(&mut self, _state: (), _width: usize) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prototype::classifier::testing::{assert_near, built, learn, prototypes};

    /// As in LVQ2.1, row 6 of class 0 moves 0 to 3 and 10 to 12. Then row 16 of class 1 has the nearest 12 and 20, both of its
    /// class: with ε = 1/4, both move by an eighth, to 12.5 and 19.5. As a row of class 0 it moves nothing.
    #[test]
    fn steps_worked_by_hand() {
        let parameters = json!({
            "n_prototypes": 2, "window_width": 1.0 / 3.0, "learning_rate": 0.5, "epsilon": 0.25, "max_prototypes": 3
        });
        let mut model = built(NAME, parameters);
        for (x, y) in [(10.0, 1), (20.0, 1), (0.0, 0), (2.0, 0), (6.0, 0)] {
            learn(&mut *model, &[x], y, 1.0);
        }
        assert_near(&prototypes(&*model, 1), &[&[12.0], &[20.0], &[3.0]]);
        learn(&mut *model, &[16.0], 1, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[12.5], &[19.5], &[3.0]]);
        learn(&mut *model, &[16.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[12.5], &[19.5], &[3.0]]);
    }
}
