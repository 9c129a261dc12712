//! Regression: the truth and the prediction are numbers.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Task for Numbers {
    const ROLE: Role = Role::Regressor;
    type Truth = f64;
    type Prediction = f64;
    type Predictions = Vec<f64>;
    const ERROR_RATE: bool = false;

    fn check(target: Target<'_>, _labels: &Labels, _abilities: &Abilities) -> Result<()> {
        match target {
            Target::Number(y) if y.is_finite() => Ok(()),
            Target::Number(y) => Err(Fault::value(format!("the target must be finite, got {y}"))),
            Target::Class(label) => {
                Err(Fault::wrong_type(format!("the target must be a number, got the label {label}")))
            }
            Target::None => Err(Fault::wrong_type("the target is missing")),
        }
    }

    fn admit(target: Target<'_>, labels: &mut Labels) -> f64 {
        Self::known(target, labels).unwrap_or_default()
    }

    #[inline]
    fn known(target: Target<'_>, _labels: &Labels) -> Option<f64> {
        match target {
            Target::Number(y) if y.is_finite() => Some(y),
            _ => None,
        }
    }

    fn known_truths<'a>(
        targets: Targets<'a>,
        from: usize,
        to: usize,
        _labels: &Labels,
        _truths: &'a mut Truths,
    ) -> &'a [f64] {
        let Targets::Numbers(numbers) = targets else { return &[] };
        let numbers = &numbers[from..to];
        match crate::row::all_finite(numbers) {
            true => numbers,
            false => &numbers[..numbers.iter().take_while(|number| number.is_finite()).count()],
        }
    }

    fn truth(truth: f64) -> Truth {
        Truth::Number(truth)
    }

    fn is_moderate(truth: f64) -> bool {
        truth.abs() <= MODERATE
    }

    #[inline(always)]
    fn take(_scratch: &mut Scratch) -> f64 {
        0.0
    }

    #[inline(always)]
    fn give(_prediction: f64, _scratch: &mut Scratch) {}

    #[inline(always)]
    fn keep_known(_prediction: &mut f64, _known: KnownClasses, _want: Want) {}

    fn clear(predictions: &mut Vec<f64>, _known: KnownClasses) {
        predictions.clear();
    }

    #[inline(always)]
    fn push(prediction: &mut f64, _want: Want, predictions: &mut Vec<f64>) {
        predictions.push(*prediction);
    }

    #[inline]
    fn get(predictions: &Vec<f64>, row: usize, _want: Want, out: &mut f64) {
        *out = predictions[row];
    }

    #[inline]
    fn error(prediction: &f64, truth: f64) -> Option<f64> {
        Some(bounded((prediction - truth).abs()))
    }

    #[inline]
    fn error_at(predictions: &Vec<f64>, row: usize, truth: f64) -> Option<f64> {
        Self::error(&predictions[row], truth)
    }

    fn are_whole(_predictions: &Vec<f64>) -> bool {
        true
    }

    fn count(predictions: &Vec<f64>) -> usize {
        predictions.len()
    }

    fn truncate(predictions: &mut Vec<f64>, rows: usize) {
        predictions.truncate(rows);
    }

    fn votes_per_row(_classes: usize) -> usize {
        1
    }

    #[inline(always)]
    fn vote(prediction: &f64, votes: &mut [f64]) {
        votes[0] = *prediction;
    }

    #[inline]
    fn vote_error(votes: &[f64], truth: f64) -> Option<f64> {
        Self::error(&votes[0], truth)
    }

    fn outcomes<'a>(truths: &'a [f64], predictions: &'a Vec<f64>) -> Outcomes<'a> {
        Outcomes::Numbers { truths, predictions }
    }

    fn prediction(answer: &mut Answer) -> &mut f64 {
        &mut answer.number
    }

    fn predictions(answers: &mut Answers) -> &mut Vec<f64> {
        &mut answers.numbers
    }

    fn build(learner: Box<dyn Learner<Self>>) -> Built {
        Built::Regressor(learner)
    }

    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>> {
        match built {
            Built::Regressor(learner) => Some(learner),
            _ => None,
        }
    }
}
