//! Bernoulli naive Bayes: a document is a set of words; each is present or absent, and absence counts too.
//!
//! McCallum and Nigam (1998), "A comparison of event models for naive Bayes text classification", equations 3 and 4.
//! With the number D of documents of a class, and D_w of those that contain a word,
//! ```text
//! p_w = (D_w + α) / (D + 2 α)
//! ln P(c | x) = ln P(c) + Σ_w ln(1 − p_w) + Σ_present (ln p_w − ln(1 − p_w)) + constant
//! ```
//! The first sum is over all known words, and all its terms change with D. It is
//! Σ_w ln(D − D_w + α) − V ln(D + 2 α), and words with the same D_w have the same term: each class keeps how many
//! words have each D_w, and adds one term for each when it learns. Without sample weights these are far fewer than
//! words.

use crate::declaration::{Declaration, Role};
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::optim::Features;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

use super::class_prior::{ClassPrior, ClassSums, ALPHA, CLASS_PRIOR, FIT_PRIOR};
use super::event_model::{EventModel, Sums, WordsNB};
use super::log_table::LogTable;
use super::word_counts::each_word;

pub static DECLARATION: Declaration = Declaration {
    name: Bernoulli::NAME,
    role: Role::Classifier,
    words: "Naive Bayes for features that are present or absent, such as the words of a document",
    merge: Merge::EXACT,
    parameters: &[
        ALPHA,
        Parameter::new(
            "threshold",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.0),
            "a number above it is present",
        )
        .formerly(&["binarize", "true_threshold"]),
        FIT_PRIOR,
        CLASS_PRIOR,
    ],
    build: |arguments| {
        let event = Bernoulli { threshold: arguments.float("threshold")?, classes: Vec::new() };
        Ok(WordsNB::build(event, ClassPrior::new(arguments)?, arguments.float("alpha")?))
    },
};

#[derive(Clone, Debug)]
struct Bernoulli {
    threshold: f64,
    classes: Vec<Absence>,
}

/// What follows from the counts of a class.
#[derive(Clone, Debug, Default)]
struct Absence {
    groups: Groups,
    /// Σ ln(D − D_w + α) over the words of the groups.
    counted: f64,
    /// ln(D + α)
    never: f64,
    /// ln(D + 2 α)
    normalizer: f64,
}

/// How many words of a class have the same count, by ascending count; words without count are not among them.
#[derive(Clone, Debug, Default)]
struct Groups {
    groups: Vec<(f64, u32)>,
    words: usize,
}

impl Groups {
    /// The count of a word changes.
    fn shift(&mut self, before: f64, after: f64) {
        if before == after {
            return;
        }
        let groups = &mut self.groups;
        let find = |groups: &[(f64, u32)], count: f64| groups.partition_point(|group| group.0 < count);
        let mut from = 0;
        if before == 0.0 {
            self.words += 1;
        } else {
            from = find(groups, before);
            let next = groups.get(from + 1).map_or(f64::INFINITY, |group| group.0);
            match groups.get_mut(from) {
                Some(group) if group.1 > 1 => group.1 -= 1,
                // Alone in its group, and still below the next one: as for most frequent words.
                Some(group) if after < next => return group.0 = after,
                Some(_) => drop(groups.remove(from)),
                None => {}
            }
        }
        let at = from + find(&groups[from..], after);
        match groups.get_mut(at) {
            Some(group) if group.0 == after => group.1 += 1,
            _ => groups.insert(at, (after, 1)),
        }
    }

    fn collect(mut counts: Vec<f64>) -> Self {
        counts.retain(|&count| count > 0.0);
        counts.sort_unstable_by(f64::total_cmp);
        let groups = counts.chunk_by(|one, other| one == other).map(|group| (group[0], group.len() as u32));
        Groups { groups: groups.collect(), words: counts.len() }
    }
}

impl Bernoulli {
    fn set(&mut self, sums: &Sums, class: usize) {
        let (logs, documents) = (&sums.logs, sums.classes[class].count);
        let absence = &mut self.classes[class];
        let terms = absence.groups.groups.iter();
        // No word is in more documents than there are.
        let terms = terms.map(|&(count, words)| f64::from(words) * logs.of((documents - count).max(0.0)));
        absence.counted = terms.sum();
        absence.never = logs.of(documents);
        absence.normalizer = ln(documents + 2.0 * logs.alpha);
    }
}

impl EventModel for Bernoulli {
    const NAME: &'static str = "naive_bayes.BernoulliNB";
    const NOT_NEGATIVE: bool = false;

    #[inline(always)]
    fn quantity(&self, number: f64) -> f64 {
        f64::from(u8::from(number > self.threshold))
    }

    fn most(class: &ClassSums) -> f64 {
        class.count
    }

    #[inline]
    fn counted(&mut self, counts: &[f64], class: usize, before: f64, _logs: &LogTable) {
        if self.classes.len() <= class {
            self.classes.resize(class + 1, Absence::default());
        }
        self.classes[class].groups.shift(before, counts[class]);
    }

    fn settle(&mut self, sums: &Sums, y: usize, _grown: bool) {
        let known = self.classes.len();
        self.classes.resize(sums.classes.len().max(known), Absence::default());
        (known..self.classes.len()).for_each(|class| self.set(sums, class));
        self.set(sums, y);
    }

    fn rebuild(&mut self, sums: &Sums) {
        let mut counts = vec![Vec::new(); sums.classes.len()];
        sums.words.each(|row| row.iter().zip(&mut counts).for_each(|(&count, counts)| counts.push(count)));
        let collected =
            counts.into_iter().map(|counts| Absence { groups: Groups::collect(counts), ..Absence::default() });
        self.classes = collected.collect();
        (0..sums.classes.len()).for_each(|class| self.set(sums, class));
    }

    #[inline]
    fn score(&self, sums: &Sums, features: Features<'_>, out: &mut [f64]) {
        let Sums { logs, words, classes } = sums;
        let mut uncounted = 0.0;
        each_word(features, words.width(), |word, number| {
            if number > self.threshold {
                match words.get(word) {
                    Some(counts) => {
                        for ((score, &count), class) in out.iter_mut().zip(counts).zip(classes) {
                            *score += logs.of(count) - logs.of(class.count - count);
                        }
                    }
                    None => uncounted += 1.0,
                }
            }
        });
        let width = sums.width();
        for (score, absence) in out.iter_mut().zip(&self.classes) {
            let others = width - absence.groups.words as f64;
            let absent = absence.counted + others * absence.never - width * absence.normalizer;
            *score += uncounted * (logs.of_zero() - absence.never) + absent;
        }
    }

    fn log_probability(&self, sums: &Sums, counts: Option<&[f64]>, class: usize) -> f64 {
        sums.logs.of(counts.map_or(0.0, |counts| counts[class])) - self.classes[class].normalizer
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event_model::testing::{learned, near, probabilities};
    use super::*;
    use crate::row::Row;

    #[test]
    fn by_hand() {
        let rows: [(&[f64], u32); 3] = [(&[2.0, 1.0, 0.0], 0), (&[1.0, -1.0, 0.0], 0), (&[0.0, 1.0, 3.0], 1)];
        let model = learned(Bernoulli::NAME, json!({}), &rows);
        // Class 0: prior 2/3, p = 3/4, 2/4, 1/4. Class 1: prior 1/3, p = 1/3, 2/3, 2/3. The document {0, 2}:
        // 2/3 · 3/4 · 2/4 · 1/4 = 1/16 and 1/3 · 1/3 · 1/3 · 2/3 = 2/81.
        let (zero, one) = (1.0 / 16.0, 2.0 / 81.0);
        let sum = zero + one;
        near(&probabilities(&*model, Row::Plain(&[7.0, 0.0, 1.0])), &[zero / sum, one / sum]);
        // With the threshold 1, the first documents are {0} and {}.
        let model = learned(Bernoulli::NAME, json!({ "binarize": 1.0 }), &rows);
        let (zero, one) = (2.0 / 3.0 / 2.0 * 3.0 / 4.0 * 3.0 / 4.0, 1.0 / 3.0 / 3.0 * 2.0 / 3.0 / 3.0);
        let sum = zero + one;
        near(&probabilities(&*model, Row::Plain(&[7.0, 0.0, 1.0])), &[zero / sum, one / sum]);
    }

    #[test]
    fn groups_follow_counts() {
        let mut random = crate::numeric::random::Random::new(1, 0);
        let mut counts = vec![0.0; 40];
        let mut groups = Groups::default();
        for step in 0..2000 {
            let word = random.below(40) as usize;
            let amount = if step % 3 == 0 { random.unit() } else { 1.0 };
            groups.shift(counts[word], counts[word] + amount);
            counts[word] += amount;
            let expected = Groups::collect(counts.clone());
            assert_eq!((&groups.groups, groups.words), (&expected.groups, expected.words));
        }
    }
}
