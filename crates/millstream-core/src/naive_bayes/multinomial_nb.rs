//! Multinomial naive Bayes: a document is a sequence of words, drawn one by one from the distribution of its class.
//!
//! McCallum and Nigam (1998), "A comparison of event models for naive Bayes text classification", equations 5 and 6.
//! With counts n of words in the document, and N of words in the documents of a class,
//! ```text
//! ln P(c | n) = ln P(c) + Σ_w n_w ln p_cw + constant,   p_cw = (N_cw + α) / (Σ_v N_cv + α V)
//! ```
//! V is the number of known words. The logarithm of the denominator is kept for each class.

use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::optim::Features;

use super::class_prior::{ClassPrior, ClassSums, ALPHA, CLASS_PRIOR, FIT_PRIOR};
use super::event_model::{EventModel, Sums, WordsNB};
use super::word_counts::each_word;

pub static DECLARATION: Declaration = Declaration {
    name: Multinomial::NAME,
    role: Role::Classifier,
    words: "Naive Bayes for counts, such as those of the words of a document",
    merge: Merge::EXACT,
    parameters: &[ALPHA, FIT_PRIOR, CLASS_PRIOR],
    build: |arguments| {
        let prior = ClassPrior::new(arguments)?;
        Ok(WordsNB::build(Multinomial::default(), prior, arguments.float("alpha")?))
    },
};

#[derive(Clone, Debug, Default)]
struct Multinomial {
    /// ln(Σ_v N_cv + α V) by class.
    normalizers: Vec<f64>,
}

impl Multinomial {
    fn set(&mut self, sums: &Sums, class: usize) {
        self.normalizers[class] = ln(sums.classes[class].total + sums.logs.alpha * sums.width().max(1.0));
    }
}

impl EventModel for Multinomial {
    const NAME: &'static str = "naive_bayes.MultinomialNB";
    const NOT_NEGATIVE: bool = true;

    #[inline(always)]
    fn quantity(&self, number: f64) -> f64 {
        number
    }

    fn most(class: &ClassSums) -> f64 {
        class.total
    }

    #[inline]
    fn settle(&mut self, sums: &Sums, y: usize, grown: bool) {
        match grown {
            true => self.rebuild(sums),
            false => self.set(sums, y),
        }
    }

    fn rebuild(&mut self, sums: &Sums) {
        self.normalizers.clear();
        self.normalizers.resize(sums.classes.len(), 0.0);
        (0..sums.classes.len()).for_each(|class| self.set(sums, class));
    }

    #[inline]
    fn score(&self, sums: &Sums, features: Features<'_>, out: &mut [f64]) {
        let Sums { logs, words, .. } = sums;
        let (mut length, mut uncounted) = (0.0, 0.0);
        each_word(features, words.width(), |word, number| {
            length += number;
            match words.get(word) {
                Some(counts) => {
                    for (score, &count) in out.iter_mut().zip(counts) {
                        *score += number * logs.of(count);
                    }
                }
                None => uncounted += number,
            }
        });
        for (score, normalizer) in out.iter_mut().zip(&self.normalizers) {
            *score += uncounted * logs.of_zero() - length * normalizer;
        }
    }

    fn log_probability(&self, sums: &Sums, counts: Option<&[f64]>, class: usize) -> f64 {
        sums.logs.of(counts.map_or(0.0, |counts| counts[class])) - self.normalizers[class]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event_model::testing::{learned, model, near, probabilities};
    use super::*;
    use crate::row::{Row, Scratch, Sparse};

    const ROWS: [(&[f64], u32); 3] = [(&[2.0, 1.0, 0.0], 0), (&[1.0, 0.0, 0.0], 0), (&[0.0, 1.0, 3.0], 1)];

    #[test]
    fn by_hand() {
        let model = learned(Multinomial::NAME, json!({}), &ROWS);
        // V = 3. Class 0: prior 2/3, counts 3, 1, 0 of 4: 4/7, 2/7, 1/7. Class 1: prior 1/3, counts 0, 1, 3 of 4:
        // 1/7, 2/7, 4/7. The document (2, 0, 1): 2/3 · (4/7)² · 1/7 = 32/1029 and 1/3 · (1/7)² · 4/7 = 4/1029.
        near(&probabilities(&*model, Row::Plain(&[2.0, 0.0, 1.0])), &[32.0 / 36.0, 4.0 / 36.0]);
        let sparse = Sparse { indices: &[0, 2], values: &[2.0, 1.0], width: 3 };
        near(&probabilities(&*model, Row::Sparse(sparse)), &[32.0 / 36.0, 4.0 / 36.0]);
    }

    #[test]
    fn priors_by_hand() {
        let model = learned(Multinomial::NAME, json!({ "fit_prior": false }), &ROWS);
        near(&probabilities(&*model, Row::Plain(&[0.0, 5.0, 0.0])), &[0.5, 0.5]);
        let mut model = learned(Multinomial::NAME, json!({ "class_prior": [0.2, 0.8] }), &ROWS);
        near(&probabilities(&*model, Row::Plain(&[0.0, 5.0, 0.0])), &[0.2, 0.8]);
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1.0]), 2, 1.0, &mut Scratch::default()).is_err());
        assert_eq!(model.save().unwrap(), before);
    }

    #[test]
    fn a_refused_row_leaves_the_state() {
        let mut model = learned(Multinomial::NAME, json!({}), &ROWS);
        let before = model.save().unwrap();
        let mut scratch = Scratch::default();
        let fault = model.learn(Row::Plain(&[1.0, 2.0, 0.0, -1.5]), 2, 1.0, &mut scratch).unwrap_err();
        assert_eq!(fault.to_string(), "naive_bayes.MultinomialNB: counts must be >= 0, got -1.5");
        assert!(model.learn(Row::Plain(&[1e308, 1e308, 1.0]), 2, 1.0, &mut scratch).is_err());
        assert!(model.learn(Row::Plain(&[1e200]), 2, 1e200, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        assert!(probabilities(&*model, Row::Plain(&[1e308, 1e308, -1e308])).iter().all(|p| p.is_finite()));
    }

    #[test]
    fn a_savepoint_is_a_copy() {
        let mut model = model(Multinomial::NAME, json!({}));
        let mut scratch = Scratch::default();
        let wide: Vec<f64> = (0..3000).map(|k| f64::from(k % 7)).collect();
        model.learn(Row::Plain(&wide), 1, 1.0, &mut scratch).unwrap();
        let (before, copy) = (model.save().unwrap(), model.duplicate());
        assert!(model.savepoint());
        for (word, y) in [(3, 0), (2900, 4), (5000, 1), (3, 1)] {
            let row = Sparse { indices: &[word], values: &[2.5], width: 6000 };
            model.learn(Row::Sparse(row), y, 1.0, &mut scratch).unwrap();
        }
        model.rollback();
        assert_eq!(model.save().unwrap(), before);
        for row in [&wide[..], &[1.0; 3000]] {
            assert_eq!(probabilities(&*model, Row::Plain(row)), probabilities(&*copy, Row::Plain(row)));
        }
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        use crate::held::state::pack;
        let load = |classes: serde_json::Value, words: &[u32], counts: &[f64], width: u32| {
            let coordinates = json!({ "width": width, "numbers": [], "nominals": [] });
            let words = json!({ "coordinates": coordinates, "words": words, "counts": counts });
            model(Multinomial::NAME, json!({}))
                .load(&pack(&json!({ "classes": classes, "words": words })).unwrap())
                .is_ok()
        };
        let class = |count: f64, total: f64| json!([{ "count": count, "total": total }]);
        assert!(load(class(2.0, 5.0), &[1, 0], &[3.0, 2.0], 2));
        assert!(!load(class(2.0, 5.0), &[1, 2], &[3.0, 2.0], 2));
        assert!(!load(class(2.0, 5.0), &[1, 1], &[3.0, 2.0], 2));
        assert!(!load(class(2.0, 5.0), &[1, 0], &[3.0], 2));
        assert!(!load(class(2.0, 5.0), &[1, 0], &[6.0, 2.0], 2));
        assert!(!load(class(2.0, 5.0), &[1, 0], &[-3.0, 2.0], 2));
        assert!(!load(class(0.0, 5.0), &[1, 0], &[3.0, 2.0], 2));
        assert!(!load(class(-1.0, 5.0), &[1, 0], &[3.0, 2.0], 2));
        assert!(!load(json!([]), &[0], &[], 2));
    }
}
