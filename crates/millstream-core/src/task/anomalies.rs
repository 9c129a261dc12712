//! Anomaly detection: there is no truth, and the prediction is a score, higher for more unusual rows.
//!
//! A given target is accepted and ignored: it may be the label that scores are compared with later.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Anomalies;

impl Task for Anomalies {
    const ROLE: Role = Role::AnomalyDetector;
    type Truth = ();
    number_predictions!();

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

    #[inline]
    fn error(_prediction: &f64, _truth: ()) -> Option<f64> {
        None
    }

    fn outcomes<'a>(_truths: &'a [()], predictions: &'a Vec<f64>) -> Outcomes<'a> {
        Outcomes::Scores { scores: predictions }
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
