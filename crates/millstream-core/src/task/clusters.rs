//! Clustering: there is no truth, and the prediction is a cluster, with its distance and that of the next cluster.
//!
//! A given target is accepted and ignored: it may be the label that clusters are compared with later.

use super::*;

#[derive(Clone, Copy, Debug, Default)]
pub struct Clusters;

/// The cluster of a row; none before there are clusters, or if the row belongs to none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterPrediction {
    pub cluster: Option<u32>,
    /// Distances to the centres of the cluster and of the nearest other one; 0 unless probabilities are requested, and
    /// 0 for the other one while there is a single cluster.
    pub distance: f64,
    pub next_distance: f64,
}

impl ClusterPrediction {
    /// The simplified silhouette (b − a) / max(a, b) with distance a to the centre of the row's cluster and b to the next
    /// one (Vendramin, Campello and Hruschka, 2010, "Relative clustering validity criteria", section 2.2); 0 if both are 0.
    pub fn silhouette(&self) -> f64 {
        let (own, next) = (self.distance, self.next_distance);
        match next > 0.0 || own > 0.0 {
            true => (next - own) / own.max(next),
            false => 0.0,
        }
    }
}

impl Task for Clusters {
    const ROLE: Role = Role::Clusterer;
    type Truth = ();
    type Prediction = ClusterPrediction;
    type Predictions = Vec<ClusterPrediction>;
    const ERROR_RATE: bool = false;
    no_truth!();

    #[inline(always)]
    fn take(_scratch: &mut Scratch) -> ClusterPrediction {
        ClusterPrediction::default()
    }

    #[inline(always)]
    fn give(_prediction: ClusterPrediction, _scratch: &mut Scratch) {}

    #[inline(always)]
    fn keep_known(_prediction: &mut ClusterPrediction, _known: KnownClasses, _want: Want) {}

    fn clear(predictions: &mut Vec<ClusterPrediction>, _known: KnownClasses) {
        predictions.clear();
    }

    #[inline(always)]
    fn push(prediction: &mut ClusterPrediction, _want: Want, predictions: &mut Vec<ClusterPrediction>) {
        predictions.push(*prediction);
    }

    #[inline]
    fn get(predictions: &Vec<ClusterPrediction>, row: usize, _want: Want, out: &mut ClusterPrediction) {
        *out = predictions[row];
    }

    #[inline]
    fn error(_prediction: &ClusterPrediction, _truth: ()) -> Option<f64> {
        None
    }

    #[inline]
    fn error_at(_predictions: &Vec<ClusterPrediction>, _row: usize, _truth: ()) -> Option<f64> {
        None
    }

    fn are_complete(_predictions: &Vec<ClusterPrediction>) -> bool {
        true
    }

    fn count(predictions: &Vec<ClusterPrediction>) -> usize {
        predictions.len()
    }

    fn truncate(predictions: &mut Vec<ClusterPrediction>, rows: usize) {
        predictions.truncate(rows);
    }

    fn votes_per_row(_classes: usize) -> usize {
        1
    }

    /// Clusters of different models have nothing in common, so the index is all there is to record.
    fn vote(prediction: &ClusterPrediction, votes: &mut [f64]) {
        votes[0] = prediction.cluster.map_or(-1.0, f64::from);
    }

    fn vote_error(_votes: &[f64], _truth: ()) -> Option<f64> {
        None
    }

    fn outcomes<'a>(_truths: &'a [()], predictions: &'a Vec<ClusterPrediction>) -> Outcomes<'a> {
        Outcomes::Clusters { clusters: predictions }
    }

    fn prediction(answer: &mut Answer) -> &mut ClusterPrediction {
        &mut answer.cluster
    }

    fn predictions(answers: &mut Answers) -> &mut Vec<ClusterPrediction> {
        &mut answers.clusters
    }

    fn build(learner: Box<dyn Learner<Self>>) -> Built {
        Built::Clusterer(learner)
    }

    fn unbuild(built: Built) -> Option<Box<dyn Learner<Self>>> {
        match built {
            Built::Clusterer(learner) => Some(learner),
            _ => None,
        }
    }
}
