//! Anomaly detection: there is no truth to learn from, and the prediction is a score, higher for stranger rows.
//!
//! A target that is given is accepted and not used: it may be the label that scores are compared with later.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Anomalies;

impl Task for Anomalies {
    const ROLE: Role = Role::AnomalyDetector;
    type Truth = ();
    type Prediction = f64;
    type Predictions = Vec<f64>;
    const ERROR_RATE: bool = false;

    fn check(_target: Target<'_>, _labels: &Labels, _abilities: &Abilities) -> Result<()> {
        Ok(())
    }

    fn admit(_target: Target<'_>, _labels: &mut Labels) {}

    #[inline]
    fn known(_target: Target<'_>, _labels: &Labels) -> Option<()> {
        Some(())
    }

    fn known_truths<'a>(
        _targets: Targets<'a>,
        from: usize,
        to: usize,
        _labels: &Labels,
        truths: &'a mut Truths,
    ) -> &'a [()] {
        truths.none.resize(to - from, ());
        &truths.none
    }

    fn truth(_truth: ()) -> Truth {
        Truth::None
    }

    fn is_moderate(_truth: ()) -> bool {
        true
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
    fn error(_prediction: &f64, _truth: ()) -> Option<f64> {
        None
    }

    #[inline]
    fn error_at(_predictions: &Vec<f64>, _row: usize, _truth: ()) -> Option<f64> {
        None
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
    fn vote_error(_votes: &[f64], _truth: ()) -> Option<f64> {
        None
    }

    fn outcomes<'a>(_truths: &'a [()], predictions: &'a Vec<f64>) -> Outcomes<'a> {
        Outcomes::Scores { scores: predictions }
    }

    fn prediction(answer: &mut Answer) -> &mut f64 {
        &mut answer.number
    }

    fn predictions(answers: &mut Answers) -> &mut Vec<f64> {
        &mut answers.numbers
    }

    fn build(learner: Box<dyn Learner<Self>>) -> Built {
        Built::AnomalyDetector(learner)
    }

    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>> {
        match built {
            Built::AnomalyDetector(learner) => Some(learner),
            _ => None,
        }
    }
}
