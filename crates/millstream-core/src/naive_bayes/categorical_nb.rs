//! Categorical naive Bayes: each feature is one of several categories, with a distribution in each class.
//!
//! Hastie, Tibshirani and Friedman (2009), "The elements of statistical learning", section 6.6.3, with additive
//! smoothing. With the count N of a category in a class, and T of all categories of the feature there,
//! ```text
//! ln P(c | x) = ln P(c) + Σ_features ln((N + α) / (T + α K)) + constant
//! ```
//! where K is the number of categories of the feature. A nominal value is a category, and so is the integer part of a
//! number; numbers then have the categories from 0 to the largest one. A missing value is ignored. A category that was
//! never learned has N = 0.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::merging::{Merge, Merger};
use crate::numeric::elementary::ln;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, Scratch, Value, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::{ClassPrediction, Classes};

use super::category_counts::{CategoryCounts, SavedCategories};
use super::class_prior::{self, ClassPrior, ClassSums, ALPHA, CLASS_PRIOR, FIT_PRIOR};
use super::log_table::LogTable;
use super::posterior::decide;

const NAME: &str = "naive_bayes.CategoricalNB";
const MOST_CATEGORIES: i64 = 10_000_000;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Naive Bayes for categories: nominal values, or integers from 0",
    merge: Merge::EXACT,
    parameters: &[
        ALPHA,
        FIT_PRIOR,
        CLASS_PRIOR,
        Parameter::new(
            "min_categories",
            Kind::Integer { low: 1, high: MOST_CATEGORIES },
            DefaultValue::Integer(1),
            "number of categories that each feature has at least",
        ),
        Parameter::new(
            "max_categories",
            Kind::Integer { low: 1, high: MOST_CATEGORIES },
            DefaultValue::Integer(100_000),
            "maximum number of categories of a feature; a row with more is refused",
        ),
    ],
    build: |arguments| {
        Ok(Built::Classifier(Box::new(CategoricalNB {
            min_categories: arguments.size("min_categories")?,
            max_categories: arguments.size("max_categories")?,
            prior: ClassPrior::new(arguments)?,
            logs: LogTable::new(arguments.float("alpha")?),
            classes: Vec::new(),
            counts: CategoryCounts::default(),
            normalizers: Vec::new(),
            before: None,
        })))
    },
};

#[derive(Clone)]
struct CategoricalNB {
    min_categories: usize,
    max_categories: usize,
    prior: ClassPrior,
    logs: LogTable,
    /// By code. `total` is not used, and 0.
    classes: Vec<ClassSums>,
    counts: CategoryCounts,
    /// ln(T + α K) by feature and class.
    normalizers: Vec<f64>,
    before: Option<Vec<ClassSums>>,
}

#[derive(Serialize, Deserialize)]
struct State {
    classes: Vec<ClassSums>,
    counts: SavedCategories,
}

/// The category of a value; none if it is not one.
#[inline]
fn category(value: Value) -> Option<usize> {
    match value {
        // The integer part, which is never more than the largest integer.
        Value::Number(number) => (number > -1.0).then_some(number as usize),
        Value::Nominal(code) => code.map(|code| code as usize),
    }
}

impl CategoricalNB {
    /// Refuse values that are no category, or one too many.
    fn check_values(&self, x: Row<'_>) -> Result<()> {
        let mut bad = None;
        let most = self.max_categories;
        x.each(|_, value| {
            let good = match value {
                Value::Number(number) => number >= 0.0 && number < most as f64,
                Value::Nominal(code) => code.is_none_or(|code| (code as usize) < most),
            };
            if !good && bad.is_none() {
                bad = Some(value);
            }
        });
        match bad {
            None => Ok(()),
            Some(Value::Number(number)) if number < 0.0 => {
                Err(Fault::value(format!("{NAME}: categories must be >= 0, got {}", Shown(number))))
            }
            Some(Value::Number(number)) => Err(Fault::value(format!(
                "{NAME}: categories must be below max_categories = {most}, got {}",
                Shown(number)
            ))),
            Some(Value::Nominal(_)) => Err(Fault::value(format!(
                "{NAME}: the categories of a feature must be at most max_categories = {most}, got one more"
            ))),
        }
    }

    fn set(&mut self, slot: usize, class: usize) {
        let Some(totals) = self.counts.totals(slot) else { return };
        let categories = self.counts.categories(slot).max(self.min_categories) as f64;
        self.normalizers[slot * self.classes.len() + class] = ln(totals[class] + self.logs.alpha * categories);
    }

    fn rebuild(&mut self) {
        self.prior.rebuild(&self.classes);
        self.set_all();
    }

    fn set_all(&mut self) {
        let (features, classes) = (self.counts.len(), self.classes.len());
        self.normalizers.clear();
        self.normalizers.resize(features * classes, 0.0);
        (0..features).for_each(|slot| (0..classes).for_each(|class| self.set(slot, class)));
    }

    /// Learn a row that is not sparse.
    fn learn_dense(&mut self, x: Row<'_>, y: u32, w: f64) -> Result<()> {
        self.prior.check(NAME, y)?;
        self.check_values(x)?;
        let class = y as usize;
        let Some(after) = class_prior::added(&self.classes, class, w, 0.0) else {
            return Err(Fault::overflow(NAME));
        };
        let known = (self.classes.len(), self.counts.len());
        self.classes.resize(known.0.max(class + 1), ClassSums::default());
        self.classes[class] = after;
        self.prior.settle(&self.classes, class);
        self.counts.grow_classes(class + 1);
        // First all counts, as the layout of the rest follows them.
        let mut grown = false;
        x.each(|slot, value| {
            if let Some(category) = category(value) {
                grown |= self.counts.categories(slot) <= category;
                self.counts.add(slot, category, class, w);
            }
        });
        if known != (self.classes.len(), self.counts.len()) || grown {
            self.set_all();
        } else {
            x.each(|slot, _| self.set(slot, class));
        }
        Ok(())
    }

    fn predict_dense(&self, x: Row<'_>, out: &mut [f64]) {
        let classes = self.classes.len();
        x.each(|slot, value| {
            if slot >= self.counts.len() || self.counts.categories(slot) == 0 {
                return;
            }
            let normalizers = &self.normalizers[slot * classes..(slot + 1) * classes];
            match category(value).and_then(|category| self.counts.get(slot, category)) {
                Some(counts) => {
                    for ((score, &count), normalizer) in out.iter_mut().zip(counts).zip(normalizers) {
                        *score += self.logs.of(count) - normalizer;
                    }
                }
                None => {
                    for (score, normalizer) in out.iter_mut().zip(normalizers) {
                        *score += self.logs.of_zero() - normalizer;
                    }
                }
            }
        });
    }

    fn restored(&self, bytes: &[u8]) -> Result<Self> {
        let State { classes, counts } = unpack(NAME, bytes)?;
        class_prior::validate(&classes, NAME)?;
        if !classes.is_empty() {
            self.prior.check(NAME, classes.len() as u32 - 1)?;
        }
        let most: Vec<f64> = classes.iter().map(|class| class.count).collect();
        let counts = CategoryCounts::restored(counts, NAME, &most)?;
        let mut model = CategoricalNB { classes, counts, before: None, ..self.clone() };
        model.rebuild();
        Ok(model)
    }

    fn inspect_class(&self, code: usize, schema: &Schema) -> Json {
        let mut features = Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate().take(self.counts.len()) {
            let mut categories = Map::new();
            for category in 0..self.counts.categories(slot) {
                let text = match kind {
                    FeatureKind::Nominal => schema.values(slot).text(category as u32).unwrap_or_default().into(),
                    _ => category.to_string(),
                };
                let count = self.counts.get(slot, category).map_or(0.0, |counts| counts[code]);
                let logarithm = self.logs.of(count) - self.normalizers[slot * self.classes.len() + code];
                categories.insert(text, json!({ "count": count, "log_probability": logarithm }));
            }
            if !categories.is_empty() {
                features.insert(name.text(), Json::Object(categories));
            }
        }
        let prior = self.prior.logarithms[code] - self.prior.normalizer();
        json!({ "code": code, "count": self.classes[code].count, "log_prior": prior, "features": features })
    }
}

impl Part for CategoricalNB {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { classes: self.classes.clone(), counts: self.counts.saved() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        *self = self.restored(bytes)?;
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        self.before = Some(self.classes.clone());
        self.counts.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.counts.rollback();
        if let Some(classes) = self.before.take() {
            self.classes = classes;
            self.rebuild();
        }
    }

    fn commit(&mut self) {
        self.before = None;
        self.counts.commit();
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let other = self.restored(side.state)?;
            self.counts.merge(&other.counts, &side, merger.ours, sign)?;
            for (class, &code) in other.classes.iter().zip(side.codes).filter(|(_, &code)| code != u32::MAX) {
                self.prior.check(NAME, code)?;
                let code = code as usize;
                let sums = class_prior::added(&self.classes, code, sign * class.count, 0.0);
                let Some(sums) = sums else { return Err(Fault::overflow(NAME)) };
                self.classes.resize(self.classes.len().max(code + 1), ClassSums::default());
                self.classes[code] = ClassSums { count: sums.count.max(0.0), ..sums };
            }
        }
        self.rebuild();
        Ok(())
    }

    fn memory(&self) -> usize {
        let sums = 24 * self.classes.len() + 8 * self.normalizers.len();
        std::mem::size_of::<Self>() + self.logs.memory() + self.counts.memory() + sums
    }

    /// The classes with examples, each with its code, its count, its log prior, and the categories of every feature.
    fn inspect(&self, schema: &Schema) -> Json {
        let known = (0..self.classes.len()).filter(|&code| self.classes[code].count > 0.0);
        json!({ "classes": known.map(|code| self.inspect_class(code, schema)).collect::<Vec<_>>() })
    }
}

impl Learner<Classes> for CategoricalNB {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        out.clear();
        out.probabilities.resize(self.classes.len(), 0.0);
        let mut dense = scratch.take_numbers();
        self.predict_dense(x.dense(&mut dense), &mut out.probabilities);
        scratch.give_numbers(dense);
        decide(&self.prior.logarithms, want, out);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let learned = self.learn_dense(x.dense(&mut dense), y, w);
        scratch.give_numbers(dense);
        learned
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::event_model::testing::{learned, model, near, probabilities};
    use super::*;

    const ROWS: [(&[f64], u32); 3] = [(&[0.0, 2.0], 0), (&[1.0, 2.0], 0), (&[1.0, 0.0], 1)];

    #[test]
    fn by_hand() {
        let model = learned(NAME, json!({}), &ROWS);
        // The features have 2 and 3 categories. Class 0: prior 2/3, of the first (1 + 1) / (2 + 2) each, of the second
        // 1/5, 1/5, 3/5. Class 1: prior 1/3, 1/3 and 2/3, and 2/4, 1/4, 1/4.
        let decided = |x: &[f64], zero: f64, one: f64| {
            near(&probabilities(&*model, Row::Plain(x)), &[zero / (zero + one), one / (zero + one)]);
        };
        decided(&[1.0, 2.0], 2.0 / 3.0 * 0.5 * 0.6, 1.0 / 3.0 * 2.0 / 3.0 / 4.0);
        // The integer part; and categories that were never learned, between others, above, and below.
        decided(&[1.9, 1.0], 2.0 / 3.0 * 0.5 * 0.2, 1.0 / 3.0 * 2.0 / 3.0 / 4.0);
        for unseen in [7.0, 1e300, -5.0] {
            decided(&[unseen, 2.0], 2.0 / 3.0 / 4.0 * 0.6, 1.0 / 3.0 / 3.0 / 4.0);
        }
        // A missing value is ignored.
        let kinds = [FeatureKind::Number; 2];
        let found = probabilities(&*model, Row::Mixed(&[f64::NAN, 2.0], &kinds));
        near(&found, &[0.4 / (0.4 + 1.0 / 12.0), 1.0 / 12.0 / (0.4 + 1.0 / 12.0)]);
    }

    #[test]
    fn a_refused_row_leaves_the_state() {
        let mut model = learned(NAME, json!({ "max_categories": 5 }), &ROWS);
        let (before, mut scratch) = (model.save().unwrap(), Scratch::default());
        for (x, message) in [
            (vec![1.0, -2.0], "naive_bayes.CategoricalNB: categories must be >= 0, got -2"),
            (vec![4.0, 0.0, 5.0], "naive_bayes.CategoricalNB: categories must be below max_categories = 5, got 5"),
        ] {
            let fault = model.learn(Row::Plain(&x), 2, 1.0, &mut scratch).unwrap_err();
            assert_eq!(fault.to_string(), message);
            assert_eq!(model.save().unwrap(), before);
        }
    }

    #[test]
    fn a_savepoint_is_a_copy() {
        let mut model = learned(NAME, json!({}), &ROWS);
        let (before, mut scratch) = (model.save().unwrap(), Scratch::default());
        let predicted = probabilities(&*model, Row::Plain(&[1.0, 2.0]));
        assert!(model.savepoint());
        for (x, y) in [([4.0, 2.0, 1.0], 0), ([1.0, 9.0, 0.0], 3), ([0.0, 0.0, 0.0], 1)] {
            model.learn(Row::Plain(&x), y, 2.0, &mut scratch).unwrap();
        }
        model.rollback();
        assert_eq!(model.save().unwrap(), before);
        assert_eq!(probabilities(&*model, Row::Plain(&[1.0, 2.0])), predicted);
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let load = |features: Json, counts: &[f64]| {
            let counts = json!({ "features": features, "counts": counts });
            let classes = json!([{ "count": 2.0, "total": 0.0 }]);
            model(NAME, json!({})).load(&pack(&json!({ "classes": classes, "counts": counts })).unwrap()).is_ok()
        };
        let feature = |total: u32, categories: &[u32]| json!([{ "total": total, "categories": categories }]);
        assert!(load(feature(0, &[u32::MAX, 1]), &[2.0, 2.0]));
        assert!(!load(feature(0, &[1, u32::MAX]), &[2.0, 2.0]));
        assert!(!load(feature(0, &[0]), &[2.0, 2.0]));
        assert!(!load(feature(0, &[2]), &[2.0, 2.0]));
        assert!(!load(feature(0, &[1]), &[2.0, 2.0, 1.0]));
        assert!(!load(feature(0, &[1]), &[3.0, 2.0]));
        assert!(!load(feature(0, &[1]), &[1.0, 2.0]));
        assert!(!load(feature(u32::MAX, &[]), &[]));
    }
}
