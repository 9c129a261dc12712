//! Classification: the truth is a class code, the prediction a class and the probabilities of all classes.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Classes;

/// The prediction of a classifier. `probabilities` is by class code, filled only if requested.
#[derive(Clone, Debug, Default)]
pub struct ClassPrediction {
    pub class: Option<u32>,
    pub probabilities: Vec<f64>,
}

impl ClassPrediction {
    pub fn clear(&mut self) {
        self.class = None;
        self.probabilities.clear();
    }

    /// Set the class to the most probable one, the lowest code among equals.
    pub fn decide(&mut self) {
        self.class = most(&self.probabilities);
    }
}

/// The predictions of a classifier for the rows of a batch.
#[derive(Clone, Debug, Default)]
pub struct ClassPredictions {
    /// `NO_CLASS` for rows without a class. A code is read from a prediction in the size in which it was written; an
    /// `Option` is often written in two parts, and a read of both has to wait for them.
    codes: Vec<u32>,
    /// By row and class code, if requested; rows without a class hold zeros.
    pub probabilities: Vec<f64>,
    known: KnownClasses,
}

/// The code of a row without a class.
const NO_CLASS: u32 = u32::MAX;

impl ClassPredictions {
    /// The class of a row.
    #[inline]
    pub fn class(&self, row: usize) -> Option<u32> {
        self.codes.get(row).copied().filter(|&code| code != NO_CLASS)
    }

    /// The classes of all rows, -1 for none.
    pub fn codes(&self) -> impl Iterator<Item = i32> + '_ {
        self.codes.iter().map(|&code| code as i32)
    }

    /// Whether each of the first rows has a class.
    pub fn are_answered(&self, rows: usize) -> bool {
        self.codes.get(..rows).is_some_and(|codes| !codes.contains(&NO_CLASS))
    }

    /// The number of class codes.
    pub fn stride(&self) -> usize {
        self.known.codes
    }

    /// The probabilities of a row; empty if not requested.
    #[inline]
    pub fn of(&self, row: usize) -> &[f64] {
        self.probabilities.get(row * self.known.codes..(row + 1) * self.known.codes).unwrap_or_default()
    }
}

/// Restrict a prediction to classes with a label: a learner may have room for one without.
#[inline(always)]
pub fn keep_known(prediction: &mut ClassPrediction, known: KnownClasses, want: Want) {
    if !known.are_complete(prediction.probabilities.len(), want) {
        restrict(prediction, known, want);
    }
}

#[cold]
fn restrict(prediction: &mut ClassPrediction, known: KnownClasses, want: Want) {
    if want == Want::Probabilities && prediction.class.is_some() {
        let probabilities = &mut prediction.probabilities;
        if probabilities.len() != known.codes || known.waiting.is_some() {
            probabilities.resize(known.codes, 0.0);
            if let Some(waiting) = known.waiting {
                probabilities[waiting as usize] = 0.0;
            }
            let sum: f64 = probabilities.iter().sum();
            let count = (known.codes - usize::from(known.waiting.is_some())) as f64;
            for (code, probability) in probabilities.iter_mut().enumerate() {
                *probability = match (known.has(code as u32), sum > 0.0) {
                    (true, true) => *probability / sum,
                    (true, false) => 1.0 / count,
                    (false, _) => 0.0,
                };
            }
        }
    }
    if prediction.class.is_some_and(|class| !known.has(class)) {
        prediction.class = if want == Want::Probabilities {
            most(&prediction.probabilities)
        } else {
            (0..known.codes as u32).find(|&code| known.has(code))
        };
    }
}

/// Codes of rows, up to the first whose label is not known. `codes` keeps those of distinct labels, so that each is looked
/// up once.
fn look_up(distinct: &[Label], indices: &[u32], labels: &Labels, codes: &mut Vec<u32>, classes: &mut Vec<u32>) {
    codes.resize(distinct.len(), u32::MAX);
    for &index in indices {
        let Some(code) = codes.get_mut(index as usize) else { return };
        if *code == u32::MAX {
            match labels.code(&distinct[index as usize]) {
                Some(found) => *code = found,
                None => return,
            }
        }
        classes.push(*code);
    }
}

/// The largest number of classes that are learned: labels may come from outside, and learners hold a table for each.
pub const MOST_LABELS: usize = 10_000;

impl Task for Classes {
    const ROLE: Role = Role::Classifier;
    type Truth = u32;
    type Prediction = ClassPrediction;
    type Predictions = ClassPredictions;
    const ERROR_RATE: bool = true;

    fn check(target: Target<'_>, labels: &Labels, abilities: &Abilities) -> Result<()> {
        let Target::Class(label) = target else {
            return Err(Fault::wrong_type("the target must be a class label (bool, int or str)"));
        };
        if labels.known() >= MOST_LABELS && labels.code(label).is_none() {
            return Err(Fault::value(format!("knows {MOST_LABELS} classes, the limit, so {label} is refused")));
        }
        let most = abilities.max_classes;
        if labels.len() >= most && labels.code(label).is_none() && labels.get(0).is_some() {
            let known: Vec<String> = labels.entries().iter().flatten().map(Label::to_string).collect();
            return Err(Fault::value(format!(
                "learns {most} classes, got {label} beside {}; use multiclass.OneVsRest or linear_model.SoftmaxRegression",
                known.join(", ")
            )));
        }
        Ok(())
    }

    fn admit(target: Target<'_>, labels: &mut Labels) -> u32 {
        match target {
            Target::Class(label) => labels.intern(label),
            _ => 0,
        }
    }

    #[inline]
    fn known(target: Target<'_>, labels: &Labels) -> Option<u32> {
        match target {
            Target::Class(label) => labels.code(label),
            _ => None,
        }
    }

    fn known_truths<'a>(
        targets: Targets<'a>,
        from: usize,
        to: usize,
        labels: &Labels,
        truths: &'a mut Truths,
    ) -> &'a [u32] {
        truths.classes.clear();
        if let Targets::Classes { distinct, indices } = targets {
            look_up(distinct, &indices[from..to], labels, &mut truths.codes, &mut truths.classes);
        }
        &truths.classes
    }

    fn truth(truth: u32) -> Truth {
        Truth::Class(truth)
    }

    fn is_moderate(_truth: u32) -> bool {
        true
    }

    #[inline]
    fn take(scratch: &mut Scratch) -> ClassPrediction {
        scratch.take_prediction()
    }

    #[inline]
    fn give(prediction: ClassPrediction, scratch: &mut Scratch) {
        scratch.give_prediction(prediction);
    }

    #[inline]
    fn keep_known(prediction: &mut ClassPrediction, known: KnownClasses, want: Want) {
        keep_known(prediction, known, want);
    }

    fn clear(predictions: &mut ClassPredictions, known: KnownClasses) {
        predictions.codes.clear();
        predictions.probabilities.clear();
        predictions.known = known;
    }

    #[inline(always)]
    fn push(prediction: &mut ClassPrediction, want: Want, predictions: &mut ClassPredictions) {
        keep_known(prediction, predictions.known, want);
        predictions.codes.push(prediction.class.unwrap_or(NO_CLASS));
        if want == Want::Probabilities {
            let start = predictions.probabilities.len();
            predictions.probabilities.extend_from_slice(&prediction.probabilities);
            predictions.probabilities.resize(start + predictions.known.codes, 0.0);
        }
    }

    #[inline]
    fn get(predictions: &ClassPredictions, row: usize, want: Want, out: &mut ClassPrediction) {
        out.class = predictions.class(row);
        out.probabilities.clear();
        if want == Want::Probabilities && out.class.is_some() {
            out.probabilities.extend_from_slice(predictions.of(row));
        }
    }

    #[inline]
    fn error(prediction: &ClassPrediction, truth: u32) -> Option<f64> {
        prediction.class.map(|class| f64::from(u8::from(class != truth)))
    }

    #[inline]
    fn error_at(predictions: &ClassPredictions, row: usize, truth: u32) -> Option<f64> {
        predictions.class(row).map(|class| f64::from(u8::from(class != truth)))
    }

    fn are_complete(predictions: &ClassPredictions) -> bool {
        predictions.known.waiting.is_none()
    }

    fn count(predictions: &ClassPredictions) -> usize {
        predictions.codes.len()
    }

    fn truncate(predictions: &mut ClassPredictions, rows: usize) {
        predictions.codes.truncate(rows);
        predictions.probabilities.truncate(rows * predictions.known.codes);
    }

    /// A binary classifier has room for both classes from the start.
    fn votes_per_row(classes: usize) -> usize {
        classes.max(2)
    }

    /// The probabilities, or one vote for the class if there are none, or nothing.
    #[inline]
    fn vote(prediction: &ClassPrediction, votes: &mut [f64]) {
        votes.fill(0.0);
        match (prediction.class, prediction.probabilities.is_empty()) {
            (None, _) => {}
            (Some(class), true) => {
                if let Some(vote) = votes.get_mut(class as usize) {
                    *vote = 1.0;
                }
            }
            (Some(_), false) => {
                for (vote, probability) in votes.iter_mut().zip(&prediction.probabilities) {
                    *vote = *probability;
                }
            }
        }
    }

    #[inline]
    fn vote_error(votes: &[f64], truth: u32) -> Option<f64> {
        match votes {
            [no, yes] if *no == 0.0 && *yes == 0.0 => None,
            [no, yes] => Some(f64::from(u32::from(yes > no) != truth)),
            _ => most(votes)
                .filter(|&class| votes[class as usize] > 0.0)
                .map(|class| f64::from(u8::from(class != truth))),
        }
    }

    fn outcomes<'a>(truths: &'a [u32], predictions: &'a ClassPredictions) -> Outcomes<'a> {
        Outcomes::Classes { truths, predictions }
    }

    fn prediction(answer: &mut Answer) -> &mut ClassPrediction {
        &mut answer.class
    }

    fn predictions(answers: &mut Answers) -> &mut ClassPredictions {
        &mut answers.classes
    }

    fn build(learner: Box<dyn Learner<Self>>) -> Built {
        Built::Classifier(learner)
    }

    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>> {
        match built {
            Built::Classifier(learner) => Some(learner),
            _ => None,
        }
    }
}
