//! Gaussian naive Bayes for numbers and nominal values: P(c | x) ∝ P(c) Π p(xⱼ | c).
//!
//! P(c) is the class's share of the weights so far. A number has a normal density with the class's mean and
//! variance (John and Langley, 1995, "Estimating continuous distributions in Bayesian classifiers", eq. 2); a
//! nominal value has the smoothed frequency (count + α) / (total + α · distinct values). What is missing is
//! left out.
//!
//! A value that a class cannot have (see `class_statistics`) makes the class impossible while another class
//! is possible. If all are impossible, those with the fewest impossible values compete by the rest, and by
//! their share alone if nothing is left: the limit of a density ε → 0 for what was never seen.
//!
//! The class alone needs no exponential, and learning takes one logarithm.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::fault::{Fault, Result};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::registry::{Built, Declaration, Role};
use crate::role::{Classifier, Part};
use crate::row::{Prediction, Row, Scratch, Sparse, Want};
use crate::schema::{Kind as FeatureKind, Schema};
use crate::state::{pack, unpack};

use super::class_statistics::{ClassStatistics, Estimate, Fit, SavedClass, THIN};
use super::gaussians::{Gaussians, Pairs, Step};
use super::thin::Thin;

const NAME: &str = "naive_bayes.GaussianNB";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Naive Bayes with a normal density for each number and smoothed counts of nominal values",
    parameters: &[
        Parameter::new(
            "alpha",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "what is added to the count of each nominal value",
        ),
        Parameter::new(
            "ddof",
            Kind::Integer { low: 0, high: 1 },
            DefaultValue::Integer(0),
            "variances are divided by n - ddof",
        ),
    ],
    build: |arguments| {
        let estimate = Estimate { alpha: arguments.float("alpha")?, ddof: arguments.integer("ddof")? as f64 };
        Ok(Built::Classifier(Box::new(GaussianNB {
            estimate,
            classes: Vec::new(),
            plain_width: NOT_PLAIN,
            values: Vec::new(),
            spare: Gaussians::default(),
            spare_thin: Thin::default(),
        })))
    },
};

const NOT_PLAIN: usize = usize::MAX;

#[derive(Clone)]
struct GaussianNB {
    estimate: Estimate,
    /// By code; a class without examples has count 0.
    classes: Vec<ClassStatistics>,
    /// The width of rows without missing values, if every class has seen only such.
    plain_width: usize,
    /// The number of distinct values of each nominal slot.
    values: Vec<u32>,
    spare: Gaussians,
    spare_thin: Thin,
}

#[derive(Serialize, Deserialize)]
struct State {
    classes: Vec<SavedClass>,
}

/// Compare the fits of all classes that have examples.
#[inline(always)]
fn decide(
    classes: &[ClassStatistics],
    want: Want,
    out: &mut Prediction,
    fit: impl Fn(usize, &ClassStatistics) -> Fit,
) {
    out.clear();
    let mut best = Fit { impossible: u32::MAX, logarithm: f64::NEG_INFINITY };
    for (code, class) in classes.iter().enumerate() {
        let fit = if class.count > 0.0 { fit(code, class) } else { Fit { impossible: u32::MAX, ..best } };
        let fewer = fit.impossible < best.impossible;
        if want == Want::Probabilities {
            if fewer {
                out.probabilities.fill(f64::NEG_INFINITY);
            }
            let competes = fit.impossible <= best.impossible && class.count > 0.0;
            out.probabilities.push(if competes { fit.logarithm } else { f64::NEG_INFINITY });
        }
        if fewer || (fit.impossible == best.impossible && fit.logarithm > best.logarithm) {
            best = fit;
            out.class = Some(code as u32);
        }
    }
    if want == Want::Probabilities && out.class.is_some() {
        let mut sum = 0.0;
        for number in &mut out.probabilities {
            *number = (*number - best.logarithm).exp();
            sum += *number;
        }
        for number in &mut out.probabilities {
            *number /= sum;
        }
    }
}

impl GaussianNB {
    fn survey(&mut self) {
        self.values.clear();
        let mut widths = self.classes.iter().filter(|class| class.count > 0.0).map(ClassStatistics::plain_width);
        let first = widths.next().flatten();
        self.plain_width = first.filter(|_| widths.all(|width| width == first)).unwrap_or(NOT_PLAIN);
        for class in &self.classes {
            class.count_distinct(&mut self.values);
        }
    }

    /// Learn a wide sparse row as it is; none if the class has seen other rows.
    fn learn_thin(&mut self, x: Sparse<'_>, y: u32, w: f64) -> Option<Result<()>> {
        let (known, code) = (self.classes.len(), y as usize);
        let suits = |class: &ClassStatistics| class.count == 0.0 || class.plain_width() == Some(x.width);
        if x.width < THIN || !self.classes.get(code).is_none_or(suits) {
            return None;
        }
        if known <= code {
            self.classes.resize(code + 1, ClassStatistics::default());
        }
        let settled = x.width == self.plain_width && self.classes[code].count > 0.0;
        if !self.classes[code].learn_thin(x, w, self.estimate, &mut self.spare_thin) {
            self.classes.truncate(known);
            return Some(Err(Fault::overflow(NAME)));
        }
        // The others too, or predictions would go on looking at every column.
        let others = self.classes.iter_mut().filter(|class| class.count > 0.0);
        others.filter(|class| class.plain_width() == Some(x.width)).for_each(ClassStatistics::make_thin);
        if !settled {
            self.survey();
        }
        Some(Ok(()))
    }

    /// Predict a wide sparse row as it is; false if a class has seen other rows.
    fn predict_thin(&self, x: Sparse<'_>, want: Want, out: &mut Prediction) -> bool {
        let thin = |class: &ClassStatistics| class.count == 0.0 || class.is_thin();
        let suits = x.width == self.plain_width && self.classes.iter().all(thin);
        if suits {
            let never = Fit { impossible: u32::MAX, logarithm: f64::NEG_INFINITY };
            decide(&self.classes, want, out, |_, class| class.fit_thin(x).unwrap_or(never));
        }
        suits
    }

    #[inline]
    fn learn_dense(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let known = self.classes.len();
        let code = y as usize;
        if let Some(class) = self.classes.get_mut(code) {
            class.write_out();
        }
        if let (Row::Plain(values), Some(class)) = (x, self.classes.get_mut(code)) {
            if values.len() == self.plain_width && class.count > 0.0 {
                return match class.learn_plain(values, w, self.estimate, &mut self.spare) {
                    true => Ok(()),
                    false => Err(Fault::overflow(NAME)),
                };
            }
        }
        if known <= code {
            self.classes.resize(code + 1, ClassStatistics::default());
        }
        let class = &mut self.classes[code];
        let learned = match x {
            Row::Plain(values) if class.count == 0.0 || class.plain_width() == Some(values.len()) => {
                class.learn_plain(values, w, self.estimate, &mut self.spare)
            }
            _ => class.learn_present(x, w, self.estimate, scratch),
        };
        if !learned {
            self.classes.truncate(known);
            return Err(Fault::overflow(NAME));
        }
        self.survey();
        Ok(())
    }

    /// Predict and learn in one pass over the row's own class, where nothing is missing, new or constant.
    #[inline(always)]
    fn step_plain(&mut self, x: &[f64], y: u32, w: f64, want: Want, out: &mut Prediction) -> Option<Result<()>> {
        let code = y as usize;
        let class = self.classes.get_mut(code).filter(|class| class.count > 0.0)?;
        let n = class.count + w;
        let step = Step::new(w, n, self.estimate.ddof);
        if x.len() != self.plain_width || !class.is_smooth(step) {
            return None;
        }
        let pairs = Pairs::new(x);
        let (own, learned) = class.fit_and_learn(x, &pairs, n, step, &mut self.spare);
        decide(
            &self.classes,
            want,
            out,
            |other, class| if other == code { own } else { class.fit_plain(x, &pairs) },
        );
        Some(if learned { Ok(()) } else { Err(Fault::overflow(NAME)) })
    }

    #[inline]
    fn predict_dense(&self, x: Row<'_>, want: Want, out: &mut Prediction) {
        match x {
            Row::Plain(values) if values.len() == self.plain_width => {
                let pairs = Pairs::new(values);
                decide(&self.classes, want, out, |_, class| class.fit_plain(values, &pairs));
            }
            _ => decide(&self.classes, want, out, |_, class| {
                class.fit_present(x, self.estimate.alpha, &self.values)
            }),
        }
    }

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
        pack(&State { classes: self.classes.iter().map(ClassStatistics::saved).collect() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let restored =
            state.classes.into_iter().map(|saved| ClassStatistics::restored(saved, NAME, self.estimate));
        self.classes = restored.collect::<Result<_>>()?;
        self.survey();
        Ok(())
    }

    fn memory(&self) -> usize {
        let classes = self.classes.iter().map(ClassStatistics::memory).sum::<usize>();
        std::mem::size_of::<Self>()
            + classes
            + self.spare.memory()
            + self.spare_thin.memory()
            + 4 * self.values.capacity()
    }

    /// Classes in the order of `classes`, each with its count and what it knows of every feature.
    fn inspect(&self, schema: &Schema) -> Json {
        let known = self.classes.iter().filter(|class| class.count > 0.0);
        json!({ "classes": known.map(|class| self.inspect_class(class, schema)).collect::<Vec<_>>() })
    }
}

impl Classifier for GaussianNB {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut Prediction, scratch: &mut Scratch) {
        let Row::Sparse(sparse) = x else { return self.predict_dense(x, want, out) };
        if self.predict_thin(sparse, want, out) {
            return;
        }
        let mut dense = scratch.take_numbers();
        self.predict_dense(x.dense(&mut dense), want, out);
        scratch.give_numbers(dense);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let Row::Sparse(sparse) = x else { return self.learn_dense(x, y, w, scratch) };
        if let Some(learned) = self.learn_thin(sparse, y, w) {
            return learned;
        }
        let mut dense = scratch.take_numbers();
        let learned = self.learn_dense(x.dense(&mut dense), y, w, scratch);
        scratch.give_numbers(dense);
        learned
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if let Row::Plain(values) = x {
            if let Some(learned) = self.step_plain(values, y, w, want, out) {
                return learned;
            }
        }
        if !matches!(x, Row::Sparse(_)) {
            self.predict_dense(x, want, out);
            return self.learn_dense(x, y, w, scratch);
        }
        if x.width() >= THIN {
            self.predict(x, want, out, scratch);
            return self.learn(x, y, w, scratch);
        }
        let mut dense = scratch.take_numbers();
        let row = x.dense(&mut dense);
        self.predict_dense(row, want, out);
        let learned = self.learn_dense(row, y, w, scratch);
        scratch.give_numbers(dense);
        learned
    }

    fn duplicate(&self) -> Box<dyn Classifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(parameters: Json) -> Box<dyn Classifier> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn probabilities(model: &dyn Classifier, x: Row<'_>) -> Vec<f64> {
        let mut out = Prediction::default();
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
