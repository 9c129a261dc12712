//! LVQ1 (Kohonen, 1990, "The self-organizing map", Proceedings of the IEEE 78(9), section V, eq. 12).
//!
//! The nearest prototype m moves towards a row x of its class, and away from a row of another class:
//!
//! ```text
//! m ← m + α (x − m)    or    m ← m − α (x − m)
//! ```
//!
//! A row of weight w moves it with 1 − (1 − α)^w instead of α, which for its own class is the effect of w equal rows.

use crate::cluster::centres::Centres;
use crate::cluster::k_means::repeated;
use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::prototype::classifier::{
    Example, PrototypeClassifier, Rule, LARGEST, LEARNING_RATE, MAX_PROTOTYPES, N_PROTOTYPES,
};
use crate::row::Scratch;

const NAME: &str = "prototype.LVQ1";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Learning vector quantization: the nearest prototype moves towards rows of its class, away from others",
    merge: Merge::EXEMPLARS,
    parameters: &[N_PROTOTYPES, LEARNING_RATE, MAX_PROTOTYPES],
    build: |arguments| {
        let rule = Lvq1 { learning_rate: arguments.float("learning_rate")? };
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, None)?)))
    },
};

#[derive(Clone)]
struct Lvq1 {
    learning_rate: f64,
}

impl Rule for Lvq1 {
    type State = ();
    const NAME: &'static str = NAME;

    #[inline]
    fn learn(&mut self, prototypes: &mut Centres, _classes: &[u32], example: Example<'_>, _: &mut Scratch) {
        let rate = repeated(self.learning_rate, example.w);
        let Example { x, complete, own, other, .. } = example;
        match other.filter(|other| other.distance < own.distance) {
            Some(other) => prototypes.step(other.prototype, x, complete, -rate, LARGEST),
            None => prototypes.step(own.prototype, x, complete, rate, LARGEST),
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
    use crate::held::state::{pack, unpack};
    use crate::prototype::classifier::testing::{assert_near, built, learn, predict, prototypes};
    use crate::row::{Row, Scratch, Want};
    use crate::schema::FeatureKind;
    use crate::task::ClassPrediction;

    /// Prototypes (0, 0) of class 0 and (4, 0) of class 1, rate 1/2. Row (2, 2) of class 0 is equally far from both, which
    /// counts as correct: (1, 1). Row (3, 0) of class 0 is nearer to (4, 0), which moves away: 4 − ½ (3 − 4) = 4.5. Row (1, 3)
    /// of class 0 and weight 2 moves (1, 1) by 3/4: (1, 2.5). Then (1, 0) has squared distances 6.25 and 12.25, and class 0
    /// the probability 12.25 / 18.5.
    #[test]
    fn steps_worked_by_hand() {
        let mut model = built(NAME, json!({ "n_prototypes": 1, "learning_rate": 0.5 }));
        assert_eq!(predict(&*model, &[1.0, 0.0]).class, None);
        learn(&mut *model, &[0.0, 0.0], 0, 1.0);
        learn(&mut *model, &[4.0, 0.0], 1, 1.0);
        learn(&mut *model, &[2.0, 2.0], 0, 1.0);
        assert_near(&prototypes(&*model, 2), &[&[1.0, 1.0], &[4.0, 0.0]]);
        learn(&mut *model, &[3.0, 0.0], 0, 1.0);
        assert_near(&prototypes(&*model, 2), &[&[1.0, 1.0], &[4.5, 0.0]]);
        learn(&mut *model, &[1.0, 3.0], 0, 2.0);
        assert_near(&prototypes(&*model, 2), &[&[1.0, 2.5], &[4.5, 0.0]]);
        let found = predict(&*model, &[1.0, 0.0]);
        assert_eq!(found.class, Some(0));
        assert!((found.probabilities[0] - 12.25 / 18.5).abs() < 1e-15);
    }

    /// With two prototypes a class and three in all, class 1 gets one, and rows of class 2 are skipped.
    #[test]
    fn prototypes_are_bounded() {
        let mut model = built(NAME, json!({ "n_prototypes": 2, "max_prototypes": 3, "learning_rate": 0.5 }));
        for (x, y) in [(0.0, 0), (0.0, 0), (1.0, 0), (10.0, 1), (12.0, 1)] {
            learn(&mut *model, &[x], y, 1.0);
        }
        assert_near(&prototypes(&*model, 1), &[&[0.0], &[1.0], &[11.0]]);
        learn(&mut *model, &[11.0], 2, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[0.0], &[1.0], &[11.0]]);
        assert_eq!(model.scalars(), json!({ "prototypes": 3, "skipped": 1, "drifts": 0 }));
        assert_eq!(predict(&*model, &[11.0]).probabilities, [0.0, 1.0]);
    }

    /// A row without the first feature is compared by the second. A new third feature joins a prototype with the first row
    /// that it moves towards. A row without any known feature gets the class of the largest weight.
    #[test]
    fn missing_values_and_new_features() {
        let mut model = built(NAME, json!({ "n_prototypes": 1, "learning_rate": 0.5 }));
        learn(&mut *model, &[0.0, 0.0], 0, 1.0);
        learn(&mut *model, &[4.0, 4.0], 1, 1.0);
        let kinds = [FeatureKind::Number; 2];
        model.learn(Row::Mixed(&[f64::NAN, 3.0], &kinds), 1, 1.0, &mut Scratch::default()).unwrap();
        assert_near(&prototypes(&*model, 2), &[&[0.0, 0.0], &[4.0, 3.5]]);
        learn(&mut *model, &[4.0, 3.5, 7.0], 1, 1.0);
        assert_near(&prototypes(&*model, 3), &[&[0.0, 0.0], &[4.0, 3.5, 7.0]]);
        let mut found = ClassPrediction::default();
        let nothing = [f64::NAN; 2];
        model.predict(Row::Mixed(&nothing, &kinds), Want::Probabilities, &mut found, &mut Scratch::default());
        assert_eq!((found.class, found.probabilities), (Some(1), vec![0.25, 0.75]));
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let mut model = built(NAME, json!({ "n_prototypes": 2, "max_prototypes": 3 }));
        [(0.0, 0), (1.0, 0), (2.0, 1)].iter().for_each(|&(x, y)| learn(&mut *model, &[x], y, 1.0));
        let state: serde_json::Value = unpack(NAME, &model.save().unwrap()).unwrap();
        let mut load = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut forged = state.clone();
            change(&mut forged);
            model.load(&pack(&forged).unwrap())
        };
        assert!(load(&|_| ()).is_ok());
        assert!(load(&|state| state["prototypes"][0] = json!([0.0, 1.0])).is_err());
        assert!(load(&|state| state["prototypes"][0] = json!([1e101])).is_err());
        assert!(load(&|state| state["classes"] = json!([0, 0])).is_err());
        assert!(load(&|state| state["classes"] = json!([0, 0, 0])).is_err());
        assert!(load(&|state| state["classes"] = json!([0, 0, u32::MAX])).is_err());
        assert!(load(&|state| state["weights"][1] = json!(0.0)).is_err());
        assert!(load(&|state| state["drifts"] = json!(1)).is_err());
        assert!(load(&|state| state["coordinates"]["width"] = json!(2)).is_err());
        let more = |state: &mut serde_json::Value| {
            for field in ["prototypes", "classes", "weights"] {
                let last = state[field][2].clone();
                state[field].as_array_mut().unwrap().push(last);
            }
        };
        assert!(load(&more).is_err());
    }

    #[test]
    fn a_refused_row_changes_nothing() {
        let mut model = built(NAME, json!({ "n_prototypes": 1 }));
        for row in 0..4 {
            let before = model.save().unwrap();
            let mut scratch = Scratch::default();
            assert!(model.learn(Row::Plain(&[1.0, 1e200, 2.0]), 0, 1.0, &mut scratch).is_err());
            assert!(model.learn(Row::Plain(&[1.0]), 0, 1e200, &mut scratch).is_err());
            assert!(model.save().unwrap() == before, "row {row}");
            learn(&mut *model, &[f64::from(row)], row % 2, 1.0);
        }
        let found = predict(&*model, &[1e300]);
        assert!(found.class.is_some() && found.probabilities.iter().all(|p| p.is_finite()));
    }
}
