//! Sequential k-means: each row moves the nearest centre towards it (MacQueen, 1967, "Some methods for classification and
//! analysis of multivariate observations", section 2.2).
//!
//! For a row x of weight w whose nearest centre is c, with the weight n of the rows that c has received, x included:
//!
//! ```text
//! c ← c + r (x − c)    with r = w / n
//! ```
//!
//! so that a centre is the mean of its rows. With a `learning_rate`, r = 1 − (1 − learning_rate)^w instead, which is the
//! learning rate for w = 1 and the effect of w equal rows otherwise. With a `half_life` h in rows of the stream, n is a sum of
//! weights that halve every h rows: the centre is the mean of its rows with exponentially decaying weights. Instead of
//! lowering old weights at each row, new rows get larger ones: row t weighs w · 2^(t/h), which all divide by from time to
//! time.

use serde::{Deserialize, Serialize};

use crate::cluster::centres::Centres;
use crate::cluster::online::{OnlineKMeans, Update, INIT, INIT_SIZE, N_CLUSTERS, REASSIGNMENT_RATIO, SEED};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Fault;
use crate::linear_model::Coordinates;
use crate::merging::Merge;
use crate::numeric::elementary::{exp, ln};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};

const NAME: &str = "cluster.KMeans";
/// The weight of a new row after which all weights are divided by it.
const HEAVIEST: f64 = 1e60;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Clusterer,
    words: "Sequential k-means: each row moves the nearest centre",
    merge: Merge::none("centres of separate models do not correspond to each other: cluster the centres of both"),
    parameters: &[
        N_CLUSTERS,
        Parameter::new(
            "learning_rate",
            Kind::Optional(&Kind::Float(Bounds::FRACTION)),
            DefaultValue::Null,
            "fraction of the way from a centre to its new row; null for 1/n, so that a centre is the mean of its rows",
        ),
        Parameter::new(
            "half_life",
            Kind::Optional(&Kind::Float(Bounds::new(1.0, true, 1e9, true))),
            DefaultValue::Null,
            "number of rows after which the weight of a row has halved; null for no decay",
        ),
        INIT_SIZE,
        INIT,
        REASSIGNMENT_RATIO,
        SEED,
    ],
    build: |arguments| {
        let rate = (arguments.value("learning_rate")?.as_f64(), arguments.value("half_life")?.as_f64());
        let rate = match rate {
            (None, None) => Rate::Mean,
            (Some(rate), None) => Rate::Constant(rate),
            (None, Some(half_life)) => Rate::Decaying { growth: exp(std::f64::consts::LN_2 / half_life) },
            (Some(_), Some(_)) => {
                return Err(Fault::value(format!("{NAME}: set learning_rate or half_life, not both")));
            }
        };
        Ok(Built::Clusterer(Box::new(OnlineKMeans::new(arguments, Sequential { rate, unit: 1.0 })?)))
    },
};

#[derive(Clone, Copy, Debug)]
enum Rate {
    Mean,
    Constant(f64),
    Decaying {
        /// 2^(1 / half-life)
        growth: f64,
    },
}

#[derive(Clone, Debug)]
struct Sequential {
    rate: Rate,
    /// The weight of a new row of weight 1.
    unit: f64,
}

#[derive(Serialize, Deserialize)]
struct SequentialState {
    unit: f64,
}

/// 1 − (1 − rate)^w: the rate of w equal rows together.
pub fn repeated(rate: f64, w: f64) -> f64 {
    match rate < 1.0 && w != 1.0 {
        true => 1.0 - exp(w * ln(1.0 - rate)),
        false => rate,
    }
}

impl Update for Sequential {
    type State = SequentialState;
    const NAME: &'static str = NAME;

    #[inline(always)]
    fn learn(&mut self, centres: &mut Centres, cluster: usize, x: &[f64], complete: bool, w: f64) {
        if let Rate::Decaying { growth } = self.rate {
            self.unit *= growth;
            if self.unit > HEAVIEST {
                centres.scale_weights(1.0 / self.unit);
                self.unit = 1.0;
            }
        }
        let w = w * self.unit;
        if complete && centres.has_even_weights() {
            let n = centres.add_weight(cluster, w);
            let rate = match self.rate {
                Rate::Constant(rate) => repeated(rate, w),
                _ => w / n,
            };
            centres.approach(cluster, x, rate);
            return;
        }
        centres.separate_weights();
        centres.add_weight(cluster, w);
        centres.move_each(cluster, |coordinate, centre, weight| {
            let (x, n) = (x[coordinate], weight + w);
            if x.is_nan() {
                return (centre, weight);
            }
            let rate = match self.rate {
                Rate::Constant(rate) => repeated(rate, w),
                _ => w / n,
            };
            (if centre.is_nan() { x } else { centre + rate * (x - centre) }, n)
        });
    }

    fn fit_to(&mut self, _centres: &Centres, _coordinates: &Coordinates, _before: usize) {}

    fn is_settled(&self) -> bool {
        true
    }

    fn unit(&self) -> f64 {
        self.unit
    }

    fn save(&self) -> SequentialState {
        SequentialState { unit: self.unit }
    }

    fn load(&mut self, state: SequentialState, _centres: &Centres) -> bool {
        self.unit = state.unit;
        (1.0..=HEAVIEST).contains(&state.unit)
    }

    fn memory(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::learner::Learner;
    use crate::registry;
    use crate::row::{Row, Scratch, Want};
    use crate::schema::{FeatureKind, Schema};
    use crate::task::{ClusterPrediction, Clusters};

    fn built(parameters: serde_json::Value) -> Box<dyn Learner<Clusters>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        match registry::build_resolved(&description).unwrap() {
            Built::Clusterer(model) => model,
            _ => panic!(),
        }
    }

    fn learn(model: &mut dyn Learner<Clusters>, x: &[f64], w: f64) {
        model.learn(Row::Plain(x), (), w, &mut Scratch::default()).unwrap();
    }

    fn predict(model: &dyn Learner<Clusters>, x: Row<'_>) -> ClusterPrediction {
        let mut found = ClusterPrediction::default();
        model.predict(x, Want::Probabilities, &mut found, &mut Scratch::default());
        found
    }

    fn centres(model: &dyn Learner<Clusters>, features: usize) -> Vec<Vec<f64>> {
        let mut schema = Schema::default();
        schema.widen(features);
        let found = model.inspect(&schema);
        let centre = |cluster: &serde_json::Value| {
            cluster["centre"].as_object().unwrap().values().map(|x| x.as_f64().unwrap()).collect()
        };
        found["clusters"].as_array().unwrap().iter().map(centre).collect()
    }

    /// Centres 0 and 10. Row 4 is nearer to 0, which has no rows: r = 1/1, c = 4. Row 6 is 2 from it: r = 1/2, c = 5. Row 2
    /// of weight 2: r = 2/4, c = 3.5. The distances of 5 are 1.5 and 5, its silhouette (5 − 1.5)/5 = 0.7.
    #[test]
    fn steps_worked_by_hand() {
        let mut model = built(json!({ "n_clusters": 2, "init": [[0.0], [10.0]] }));
        assert_eq!(predict(&*model, Row::Plain(&[1.0])).cluster, None);
        for (x, w, centre) in [(4.0, 1.0, 4.0), (6.0, 1.0, 5.0), (2.0, 2.0, 3.5)] {
            learn(&mut *model, &[x], w);
            assert_eq!(centres(&*model, 1), [[centre], [10.0]]);
        }
        let found = predict(&*model, Row::Plain(&[5.0]));
        assert_eq!((found.cluster, found.distance, found.next_distance), (Some(0), 1.5, 5.0));
        assert_eq!(found.silhouette(), 0.7);
    }

    /// With a constant rate of 0.5, centre 0 goes to 2 and 4; a weight of 2 is two steps: 4 → 4 + 0.75 · 4 = 7 for row 8, if
    /// the other centre is far away.
    #[test]
    fn a_constant_rate_worked_by_hand() {
        let mut model = built(json!({ "n_clusters": 2, "init": [[0.0], [100.0]], "learning_rate": 0.5 }));
        learn(&mut *model, &[4.0], 1.0);
        learn(&mut *model, &[6.0], 1.0);
        assert_eq!(centres(&*model, 1)[0], [4.0]);
        learn(&mut *model, &[8.0], 2.0);
        assert!((centres(&*model, 1)[0][0] - 7.0).abs() < 1e-14);
    }

    /// A half-life of one row: weights of rows 0, 6, 9 are 1/4, 1/2, 1 at the last, so the centre is (3 + 9)/1.75 = 48/7. Many
    /// rows later, all weights have been divided several times.
    #[test]
    fn a_half_life_worked_by_hand() {
        let mut model = built(json!({ "n_clusters": 1, "init": [[1.0]], "half_life": 1 }));
        [0.0, 6.0, 9.0].iter().for_each(|&x| learn(&mut *model, &[x], 1.0));
        assert!((centres(&*model, 1)[0][0] - 48.0 / 7.0).abs() < 1e-14);
        (0..1000).for_each(|_| learn(&mut *model, &[2.0], 1.0));
        assert_eq!(centres(&*model, 1)[0], [2.0]);
        [0.0, 6.0].iter().for_each(|&x| learn(&mut *model, &[x], 1.0));
        // 2 at a weight of 1/4 + 1/8 + … = 1/2, 0 at 1/2, 6 at 1.
        assert!((centres(&*model, 1)[0][0] - 7.0 / 2.0).abs() < 1e-12);
    }

    /// The first four rows give the centres 0.5 and 10.5 with weight 2 each. A row (missing, 3) has only its second feature,
    /// which no centre has yet: it is not assigned. (11, 3) is: r = 1/3 for the first feature, and the second becomes 3.
    #[test]
    fn missing_values_and_new_features() {
        let mut model = built(json!({ "n_clusters": 2, "init_size": 4 }));
        [0.0, 1.0, 10.0, 11.0].iter().for_each(|&x| learn(&mut *model, &[x], 1.0));
        let upper = predict(&*model, Row::Plain(&[11.0])).cluster.unwrap() as usize;
        let kinds = [FeatureKind::Number; 2];
        model.learn(Row::Mixed(&[f64::NAN, 3.0], &kinds), (), 1.0, &mut Scratch::default()).unwrap();
        assert_eq!(centres(&*model, 2)[upper], [10.5]);
        learn(&mut *model, &[11.0, 3.0], 1.0);
        assert_eq!(centres(&*model, 2)[upper], [10.5 + 0.5 / 3.0, 3.0]);
        learn(&mut *model, &[11.0, 5.0], 1.0);
        assert_eq!(centres(&*model, 2)[upper][1], 4.0);
        assert_eq!(predict(&*model, Row::Mixed(&[f64::NAN, 3.0], &kinds)).cluster, Some(upper as u32));
    }

    /// Six equal rows give one centre; later rows that lie elsewhere become the others.
    #[test]
    fn fewer_distinct_rows_than_clusters() {
        let mut model = built(json!({ "n_clusters": 3, "init_size": 6 }));
        (0..6).for_each(|_| learn(&mut *model, &[1.0], 1.0));
        assert_eq!(centres(&*model, 1), [[1.0]]);
        [1.0, 5.0, 9.0, 9.0].iter().for_each(|&x| learn(&mut *model, &[x], 1.0));
        assert_eq!(centres(&*model, 1), [[1.0], [5.0], [9.0]]);
    }

    #[test]
    fn a_refused_row_changes_nothing() {
        let mut model = built(json!({ "n_clusters": 2, "init_size": 2 }));
        for row in 0..6 {
            let before = model.save().unwrap();
            let mut scratch = Scratch::default();
            assert!(model.learn(Row::Plain(&[1.0, 1e200, 2.0]), (), 1.0, &mut scratch).is_err());
            assert!(model.learn(Row::Plain(&[1.0]), (), 1e200, &mut scratch).is_err());
            assert!(model.save().unwrap() == before, "row {row}");
            learn(&mut *model, &[f64::from(row)], 1.0);
        }
        assert!(predict(&*model, Row::Plain(&[1e300])).cluster.is_some());
    }
}
