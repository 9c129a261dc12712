//! Complement naive Bayes: a class is described by the words of all other classes, which are more in number and less
//! uneven than its own.
//!
//! Rennie, Shih, Teevan and Karger (2003), "Tackling the poor assumptions of naive Bayes text classifiers", ICML,
//! section 3.1 and table 4. With the counts N of all words and N_c of those of a class, and n of the document,
//! ```text
//! w_cw = ln((N_w − N_cw + α) / (N − N_c + α V)),   score of c = − Σ_w n_w w_cw
//! ```
//! `norm` divides w_cw by Σ_v |w_cv| (section 3.2). That sum is over all known words, so it is kept for each class,
//! and for a class without words, from which a new class starts. A word that is learned changes it for all other
//! classes; rounding errors are kept along.

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::optim::Features;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::all_finite;

use super::class_prior::{ClassPrior, ClassSums, ALPHA};
use super::event_model::{EventModel, Sums, WordsNB};
use super::log_table::LogTable;
use super::word_counts::each_word;

pub static DECLARATION: Declaration = Declaration {
    name: Complement::NAME,
    role: Role::Classifier,
    words: "Naive Bayes for counts that describes a class by all other classes, for uneven classes",
    merge: Merge::EXACT,
    parameters: &[
        ALPHA,
        Parameter::new(
            "norm",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to divide the weights of a class by the sum of their sizes",
        ),
    ],
    build: |arguments| {
        let event = Complement { norm: arguments.boolean("norm")?, ..Complement::default() };
        // Only classes without examples are left out.
        Ok(WordsNB::build(event, ClassPrior::uniform(), arguments.float("alpha")?))
    },
};

#[derive(Clone, Debug, Default)]
struct Complement {
    norm: bool,
    /// ln(N − N_c + α V) by class.
    normalizers: Vec<f64>,
    /// Σ_w ln(N_w − N_cw + α) over counted words, with its rounding error; the last is that of a class without words.
    /// Empty without `norm`.
    logarithms: Vec<[f64; 2]>,
}

impl Complement {
    /// What the weights of a class are divided by; −1 without `norm`, so that the score is −Σ n w.
    fn divisor(&self, sums: &Sums, class: usize) -> f64 {
        if !self.norm {
            return -1.0;
        }
        let [sum, error] = self.logarithms[class];
        let uncounted = sums.width() - sums.words.counted() as f64;
        (sum + error) + uncounted * sums.logs.of_zero() - sums.width() * self.normalizers[class]
    }

    fn grow(&mut self, classes: usize) {
        if self.norm && self.logarithms.len() <= classes {
            let empty = self.logarithms.last().copied().unwrap_or_default();
            self.logarithms.resize(classes + 1, empty);
        }
    }
}

/// Add to a sum with its rounding error (Knuth's TwoSum).
#[inline]
fn add(sum: &mut [f64; 2], number: f64) {
    let after = sum[0] + number;
    let part = after - sum[0];
    sum[1] += (sum[0] - (after - part)) + (number - part);
    sum[0] = after;
}

/// The count of a word in all classes: at least that in any one, since rounding is monotonic.
#[inline(always)]
fn all(counts: &[f64]) -> f64 {
    counts.iter().sum()
}

impl EventModel for Complement {
    const NAME: &'static str = "naive_bayes.ComplementNB";
    const NOT_NEGATIVE: bool = true;

    #[inline(always)]
    fn quantity(&self, number: f64) -> f64 {
        number
    }

    fn most(class: &ClassSums) -> f64 {
        class.total
    }

    #[inline]
    fn counted(&mut self, counts: &[f64], class: usize, before: f64, logs: &LogTable) {
        if !self.norm {
            return;
        }
        self.grow(counts.len());
        let after = all(counts);
        let mut earlier = 0.0;
        for (code, &count) in counts.iter().enumerate() {
            earlier += if code == class { before } else { count };
        }
        // A word that is counted for the first time is no longer among the others.
        let first = earlier == 0.0;
        for (code, sum) in self.logarithms.iter_mut().enumerate() {
            let own = counts.get(code).copied().unwrap_or(0.0);
            let (own_before, own) = if code == class { (before, own) } else { (own, own) };
            let gone = if first { 0.0 } else { logs.of((earlier - own_before).max(0.0)) };
            add(sum, logs.of((after - own).max(0.0)) - gone);
        }
    }

    fn settle(&mut self, sums: &Sums, _y: usize, _grown: bool) {
        let classes = &sums.classes;
        self.grow(classes.len());
        let total: f64 = classes.iter().map(|class| class.total).sum();
        let smoothing = sums.logs.alpha * sums.width().max(1.0);
        self.normalizers.clear();
        self.normalizers.extend(classes.iter().map(|class| ln((total - class.total).max(0.0) + smoothing)));
    }

    fn rebuild(&mut self, sums: &Sums) {
        self.logarithms.clear();
        self.settle(sums, 0, true);
        let logarithms = &mut self.logarithms;
        sums.words.each(|counts| {
            let all = all(counts);
            for (code, sum) in logarithms.iter_mut().enumerate() {
                add(sum, sums.logs.of((all - counts.get(code).unwrap_or(&0.0)).max(0.0)));
            }
        });
    }

    #[inline]
    fn score(&self, sums: &Sums, features: Features<'_>, out: &mut [f64]) {
        let Sums { logs, words, .. } = sums;
        let (mut length, mut uncounted) = (0.0, 0.0);
        each_word(features, words.width(), |word, number| {
            length += number;
            match words.get(word) {
                Some(counts) => {
                    let all = all(counts);
                    for (score, &count) in out.iter_mut().zip(counts) {
                        *score += number * logs.of(all - count);
                    }
                }
                None => uncounted += number,
            }
        });
        for (class, score) in out.iter_mut().enumerate() {
            let sum = *score + uncounted * logs.of_zero() - length * self.normalizers[class];
            let divisor = self.divisor(sums, class);
            *score = if divisor < 0.0 { sum / divisor } else { 0.0 };
        }
    }

    fn log_probability(&self, sums: &Sums, counts: Option<&[f64]>, class: usize) -> f64 {
        let other = counts.map_or(0.0, |counts| all(counts) - counts[class]);
        let divisor = self.divisor(sums, class);
        match divisor < 0.0 {
            true => (sums.logs.of(other) - self.normalizers[class]) / divisor,
            false => 0.0,
        }
    }

    fn saved(&self) -> Vec<[f64; 2]> {
        self.logarithms.clone()
    }

    fn restore(&mut self, saved: Vec<[f64; 2]>) -> Result<()> {
        let fit = saved.len() == self.logarithms.len() || (saved.is_empty() && self.normalizers.is_empty());
        require(Self::NAME, fit && all_finite(saved.as_flattened()), "a sum is not finite, or missing")?;
        self.logarithms = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event_model::testing::{learned, near, probabilities};
    use super::*;
    use crate::row::Row;

    const ROWS: [(&[f64], u32); 3] = [(&[2.0, 1.0], 0), (&[0.0, 1.0], 1), (&[0.0, 3.0], 2)];

    #[test]
    fn by_hand() {
        let model = learned(Complement::NAME, json!({}), &ROWS);
        // V = 2, and N = (2, 5). The others of class 0 have (0, 4) + 1: 1/6, 5/6; of class 1 (2, 4) + 1: 3/8, 5/8; of
        // class 2 (2, 2) + 1: 1/2, 1/2. The document (1, 0): 6, 8/3 and 2, of 32/3 in all.
        near(&probabilities(&*model, Row::Plain(&[1.0, 0.0])), &[9.0 / 16.0, 1.0 / 4.0, 3.0 / 16.0]);
    }

    #[test]
    fn norm_by_hand() {
        let model = learned(Complement::NAME, json!({ "norm": true }), &ROWS);
        // The weights above, divided by their sums.
        let weight = |p: f64, q: f64| (p.ln() / (p.ln() + q.ln())).exp();
        let scores = [weight(1.0 / 6.0, 5.0 / 6.0), weight(3.0 / 8.0, 5.0 / 8.0), weight(0.5, 0.5)];
        let sum: f64 = scores.iter().sum();
        near(&probabilities(&*model, Row::Plain(&[1.0, 0.0])), &scores.map(|score| score / sum));
    }

    #[test]
    fn one_class_and_no_word() {
        for parameters in [json!({}), json!({ "norm": true }), json!({ "alpha": 0.0, "norm": true })] {
            let model = learned(Complement::NAME, parameters, &[(&[1.0], 0), (&[0.0], 0)]);
            assert_eq!(probabilities(&*model, Row::Plain(&[3.0])), [1.0]);
            assert_eq!(probabilities(&*model, Row::Plain(&[])), [1.0]);
        }
    }
}
