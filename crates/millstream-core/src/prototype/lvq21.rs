//! LVQ2.1 (Kohonen, 1990, "Improved versions of learning vector quantization", IJCNN; "The self-organizing map", Proceedings
//! of the IEEE 78(9), section V, eq. 13 and 14).
//!
//! Of the two nearest prototypes, one must be of the row's class and the other of another class, and the row must lie in a
//! window around the plane between them (`window`). Then the right one, m, and the wrong one, n, both move:
//!
//! ```text
//! m ← m + α (x − m)        n ← n − α (x − n)
//! ```

use crate::cluster::centres::Centres;
use crate::cluster::k_means::repeated;
use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::prototype::classifier::{
    Example, PrototypeClassifier, Rule, LARGEST, LEARNING_RATE, MAX_PROTOTYPES, N_PROTOTYPES,
};
use crate::prototype::window::{two_nearest, Window, WINDOW_WIDTH};
use crate::row::Scratch;

const NAME: &str = "prototype.LVQ21";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "LVQ2.1: rows near a class boundary move the nearest right and wrong prototypes",
    merge: Merge::EXEMPLARS,
    parameters: &[N_PROTOTYPES, LEARNING_RATE, WINDOW_WIDTH, MAX_PROTOTYPES],
    build: |arguments| {
        let rule = Lvq21 {
            learning_rate: arguments.float("learning_rate")?,
            window: Window::new(arguments.float("window_width")?),
        };
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, None)?)))
    },
};

#[derive(Clone)]
struct Lvq21 {
    learning_rate: f64,
    window: Window,
}

impl Rule for Lvq21 {
    type State = ();
    const NAME: &'static str = NAME;

    fn learn(&mut self, prototypes: &mut Centres, classes: &[u32], example: Example<'_>, _: &mut Scratch) {
        let Some((first, second)) = two_nearest(example.distances) else { return };
        let is_right = |prototype: usize| classes[prototype] == example.class;
        if is_right(first.prototype) == is_right(second.prototype)
            || !self.window.contains(first.distance, second.distance)
        {
            return;
        }
        let rate = repeated(self.learning_rate, example.w);
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

    /// Prototypes 0 of class 0, and 10 and 20 of class 1; a window of width 1/3 has the ratio 1/2; rate 1/2. Row 2 of class 0 is
    /// outside: 2/8 < 1/2. Row 6 of class 0 is inside, 4/6: 0 → 3, and 10 → 10 + ½ · 4 = 12. Row 16 has the nearest 12 and 20,
    /// both of class 1: nothing moves.
    #[test]
    fn steps_worked_by_hand() {
        let parameters =
            json!({ "n_prototypes": 2, "window_width": 1.0 / 3.0, "learning_rate": 0.5, "max_prototypes": 3 });
        let mut model = built(NAME, parameters);
        for (x, y) in [(10.0, 1), (20.0, 1), (0.0, 0), (2.0, 0)] {
            learn(&mut *model, &[x], y, 1.0);
        }
        assert_near(&prototypes(&*model, 1), &[&[10.0], &[20.0], &[0.0]]);
        learn(&mut *model, &[6.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[12.0], &[20.0], &[3.0]]);
        learn(&mut *model, &[16.0], 1, 1.0);
        learn(&mut *model, &[16.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[12.0], &[20.0], &[3.0]]);
    }
}
