//! Gaussian naive Bayes for numbers and nominal values: P(c | x) ∝ P(c) Π p(xⱼ | c).
//!
//! P(c) is the fraction of the weights of the class so far. A number has a normal density with the class's mean and
//! variance (John and Langley, 1995, "Estimating continuous distributions in Bayesian classifiers", eq. 2); a
//! nominal value has the smoothed frequency (count + α) / (total + α · distinct values). Missing values are
//! ignored.
//!
//! `class_table` compares the classes, also where some values are impossible.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::merging::{Merge, Merger};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::{ClassPrediction, Classes};

use super::class_statistics::{ClassStatistics, Estimate, SavedClass, SPARSE_WIDTH};
use super::class_table::{ClassTable, Spare};

const NAME: &str = "naive_bayes.GaussianNB";
/// Sums up to this leave room for any number of moderate rows.
const ROOMY: f64 = 1e250;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Naive Bayes with Gaussian densities for numbers and smoothed frequencies for nominal values",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "additive smoothing: added to the count of each nominal value",
        ),
        Parameter::new(
            "ddof",
            Kind::Integer { low: 0, high: 1 },
            DefaultValue::Integer(0),
            "delta degrees of freedom: variances are divided by n - ddof",
        ),
    ],
    build: |arguments| {
        let estimate = Estimate { alpha: arguments.float("alpha")?, ddof: arguments.integer("ddof")? as f64 };
        Ok(Built::Classifier(Box::new(GaussianNB {
            estimate,
            table: ClassTable::default(),
            spare: Spare::default(),
        })))
    },
};

#[derive(Clone)]
struct GaussianNB {
    estimate: Estimate,
    table: ClassTable,
    spare: Spare,
}

#[derive(Serialize, Deserialize)]
struct State {
    classes: Vec<SavedClass>,
}

impl GaussianNB {
    fn inspect_class(&self, class: &ClassStatistics, schema: &Schema) -> Json {
        let mut features = Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            if *kind == FeatureKind::Nominal {
                let values = schema.values(slot);
                let counts: Map<_, _> = (0..values.len())
                    .filter_map(|code| {
                        let text = values.text(code as u32)?;
                        Some((text.to_string(), json!(class.frequency(slot, code))))
                    })
                    .collect();
                features.insert(name.text(), json!({ "counts": counts }));
            } else if let Some((count, mean, variance)) = class.moments(slot, self.estimate.ddof) {
                features.insert(name.text(), json!({ "count": count, "mean": mean, "variance": variance }));
            }
        }
        json!({ "count": class.count, "features": features })
    }
}

impl Part for GaussianNB {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { classes: self.table.saved() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.table = ClassTable::restored(state.classes, NAME, self.estimate)?;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut there = self.clone();
            there.load(side.state)?;
            let mut classes = self.table.saved();
            for (class, &code) in
                there.table.saved().into_iter().zip(side.codes).filter(|(_, &code)| code != u32::MAX)
            {
                let code = code as usize;
                if classes.len() <= code {
                    classes.resize_with(code + 1, SavedClass::default);
                }
                classes[code].merge(class, &side, merger.ours, sign)?;
            }
            self.table = ClassTable::restored(classes, NAME, self.estimate)?;
        }
        Ok(())
    }

    fn infallible(&self) -> bool {
        self.table.is_roomy(ROOMY)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.table.memory() + self.spare.memory()
    }

    /// Classes in the order of `classes`, each with its count and the statistics of every feature.
    fn inspect(&self, schema: &Schema) -> Json {
        let known = self.table.classes.iter().filter(|class| class.count > 0.0);
        json!({ "classes": known.map(|class| self.inspect_class(class, schema)).collect::<Vec<_>>() })
    }
}

fn learned(sound: bool) -> Result<()> {
    match sound {
        true => Ok(()),
        false => Err(Fault::overflow(NAME)),
    }
}

impl Learner<Classes> for GaussianNB {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.table.predict(x, want, out, self.estimate.alpha, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        learned(self.table.learn(x, y, w, self.estimate, &mut self.spare, scratch))
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Self { estimate, table, spare } = self;
        if let Row::Plain(values) = x {
            if let Some(sound) = table.step_plain(values, y, w, want, out, *estimate, spare) {
                return learned(sound);
            }
        }
        // A row that is not very wide is expanded once for both.
        let mut dense = scratch.take_numbers();
        let row = if x.width() < SPARSE_WIDTH { x.dense(&mut dense) } else { x };
        table.predict(row, want, out, estimate.alpha, scratch);
        let sound = table.learn(row, y, w, *estimate, spare, scratch);
        scratch.give_numbers(dense);
        learned(sound)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn probabilities(model: &dyn Learner<Classes>, x: Row<'_>) -> Vec<f64> {
        let mut out = ClassPrediction::default();
        model.predict(x, Want::Probabilities, &mut out, &mut Scratch::default());
        out.probabilities
    }

    #[test]
    fn numbers_by_hand() {
        let mut model = model(json!({}));
        let mut scratch = Scratch::default();
        for (x, y) in [(1.0, 0), (3.0, 0), (4.0, 1), (8.0, 1), (6.0, 1)] {
            model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
        }
        // Class 0: share 2/5, mean 2, variance 1. Class 1: share 3/5, mean 6, variance 8/3. At x = 3:
        // 2/5 · e^(−1/2) and 3/5 · √(3/8) · e^(−9 · 3/16), but for 1/√2π.
        let zero = 0.4 * (-0.5f64).exp();
        let one = 0.6 * (3.0f64 / 8.0).sqrt() * (-27.0f64 / 16.0).exp();
        let found = probabilities(&*model, Row::Plain(&[3.0]));
        assert!((found[0] - zero / (zero + one)).abs() < 1e-15);
        assert!((found[1] - one / (zero + one)).abs() < 1e-15);
    }

    #[test]
    fn nominal_and_missing_by_hand() {
        use FeatureKind::{Nominal, Number};
        let mut model = model(json!({ "alpha": 0.5 }));
        let mut scratch = Scratch::default();
        let kinds = [Nominal, Number];
        for (value, y) in [(0.0, 0), (0.0, 0), (1.0, 0), (1.0, 1), (2.0, 1)] {
            model.learn(Row::Mixed(&[value, f64::NAN], &kinds), y, 1.0, &mut scratch).unwrap();
        }
        // Three values. Class 0: 3/5 · (2 + ½) / (3 + 1½) = 1/3; class 1: 2/5 · ½ / (2 + 1½) = 2/35.
        let found = probabilities(&*model, Row::Mixed(&[0.0, f64::NAN], &kinds));
        let (zero, one) = (1.0 / 3.0, 2.0 / 35.0);
        assert!((found[0] - zero / (zero + one)).abs() < 1e-15);
        // A value that was never learned and a missing one leave the shares.
        for row in [[-1.0, f64::NAN], [f64::NAN, f64::NAN]] {
            let found = probabilities(&*model, Row::Mixed(&row, &kinds));
            assert!((found[0] - 0.6).abs() < 1e-15 && (found[1] - 0.4).abs() < 1e-15);
        }
    }

    #[test]
    fn without_variance_the_fewest_impossible_values_win() {
        let mut model = model(json!({}));
        let mut scratch = Scratch::default();
        for (x, y) in [([5.0, 1.0], 0), ([5.0, 3.0], 0), ([5.0, 7.0], 1), ([5.0, 9.0], 1), ([4.0, 0.0], 2)] {
            model.learn(Row::Plain(&x), y, 1.0, &mut scratch).unwrap();
        }
        assert_eq!(probabilities(&*model, Row::Plain(&[4.0, 0.0])), [0.0, 0.0, 1.0]);
        // 6 was never seen: classes 0 and 1 have one impossible value, class 2 has two.
        let found = probabilities(&*model, Row::Plain(&[6.0, 8.0]));
        assert!(found[1] > 0.999 && found[2] == 0.0);
    }

    #[test]
    fn overflow_leaves_the_state() {
        let mut model = model(json!({}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1e308, 1.0]), 0, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[-1e308, 1.0]), 0, 1.0, &mut scratch).is_err());
        let kinds = [FeatureKind::Number; 3];
        assert!(model.learn(Row::Mixed(&[-1e308, f64::NAN, 2.0], &kinds), 0, 1.0, &mut scratch).is_err());
        assert!(model.learn(Row::Plain(&[-1e308, 1.0]), 0, 1e300, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(probabilities(&*model, Row::Plain(&[-1e308, 1.0])).iter().all(|p| p.is_finite()));
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let load = |class: Json| model(json!({})).load(&pack(&json!({ "classes": [class] })).unwrap());
        let class = |count: f64, counts: &[f64], means: &[f64], squares: &[f64]| json!({ "count": count, "counts": counts, "means": means, "squares": squares, "nominals": [] });
        assert!(load(class(3.0, &[], &[1.0, 2.0], &[0.5, 0.0])).is_ok());
        assert!(load(class(3.0, &[], &[1.0, 2.0], &[0.5])).is_err());
        assert!(load(class(3.0, &[1.0], &[1.0, 2.0], &[0.5, 0.5])).is_err());
        assert!(load(class(3.0, &[], &[1.0], &[-0.5])).is_err());
        assert!(load(class(3.0, &[], &[1.0], &[1e305])).is_err());
        assert!(load(class(0.0, &[], &[1.0], &[0.5])).is_err());
        assert!(load(class(-1.0, &[], &[], &[])).is_err());
    }
}
