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
    no_truth!();

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
