//! Fuzzy ART (Carpenter, Grossberg and Rosen, 1991, "Fuzzy ART: fast stable learning and categorization of analog patterns by an
//! adaptive resonance system", Neural Networks 4(6)).
//!
//! Of the categories w that match a complement coded row I of M coordinates, |I ∧ w| / M ≥ ρ (eq. 7), the one of the largest
//! choice |I ∧ w| / (α + |w|) (eq. 5), the first among equals, learns it (eq. 9):
//!
//! ```text
//! w ← β (I ∧ w) + (1 − β) w
//! ```
//!
//! If none matches, the row becomes a category. The search of the paper tries categories in the order of their choice, which
//! ends at the same one. A row of weight r is learned with 1 − (1 − β)^r instead of β.
//!
//! Once there are `max_prototypes` categories, a row that matches none is counted and not learned: a category that learned
//! it would be larger than the vigilance allows.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::art::categories::Overlaps;
use crate::art::coding::{CodedRow, Module, ModuleState, CHOICE, LEARNING_RATE, LIMITS, MAX_CATEGORIES};
use crate::batch::Batch;
use crate::cluster::k_means::repeated;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClusterPrediction, Clusters};

const NAME: &str = "art.FuzzyART";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Clusterer,
    words: "Fuzzy ART: clusters are boxes that grow as far as the vigilance allows; new ones appear as needed",
    merge: Merge::EXEMPLARS,
    parameters: &[
        Parameter::new(
            "vigilance",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.7),
            "least match of a row and its category: the larger, the smaller and the more categories",
        ),
        CHOICE,
        LEARNING_RATE,
        LIMITS,
        MAX_CATEGORIES,
    ],
    build: |arguments| Ok(Built::Clusterer(Box::new(FuzzyArt { module: Module::new(NAME, arguments)? }))),
};

#[derive(Clone)]
struct FuzzyArt {
    module: Module,
}

#[derive(Serialize, Deserialize)]
struct State {
    module: ModuleState,
}

impl FuzzyArt {
    /// The category that learns a row.
    #[inline]
    fn find(&self, found: &Overlaps) -> Option<usize> {
        let vigilance = self.module.vigilance;
        match found.present > 0.0 {
            true => self.module.best(found, |category| found.overlaps[category] / found.present >= vigilance),
            false => None,
        }
    }

    fn tell(&self, row: &CodedRow, want: Want, out: &mut ClusterPrediction) {
        let category = self.find(&row.found);
        *out = ClusterPrediction { cluster: category.map(|category| category as u32), ..Default::default() };
        let (Some(category), Want::Probabilities) = (category, want) else { return };
        // |w| − |I ∧ w| is the L1 distance from the row to the box.
        let Overlaps { overlaps, sizes, .. } = &row.found;
        let mut nearest = f64::INFINITY;
        for (index, (overlap, size)) in overlaps.iter().zip(sizes).enumerate() {
            let distance = (size - overlap).max(0.0);
            match index == category {
                true => out.distance = distance,
                false => nearest = nearest.min(distance),
            }
        }
        out.next_distance = if nearest.is_finite() { nearest } else { 0.0 };
    }

    fn learn_coded(&mut self, row: CodedRow, w: f64) {
        let rate = repeated(self.module.learning_rate, w);
        if row.found.present > 0.0 {
            match self.find(&row.found) {
                Some(category) => self.module.categories.learn(category, row.point(), rate, w),
                None => {
                    self.module.add(&row, w);
                }
            }
        }
        self.module.release_spare(row);
    }
}

impl Part for FuzzyArt {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { module: self.module.save() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.module.load(state.module)
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.module.bind(schema);
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.module.memory()
    }

    /// `{"clusters": [{"weight": …, "low": {feature: number}, "high": {…}, "centre": {…}}], "skipped": …}`
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let clusters: Vec<_> =
            (0..self.module.categories.len()).map(|category| self.module.inspect(category, schema)).collect();
        json!({ "clusters": clusters, "skipped": self.module.skipped })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "clusters": self.module.categories.len(), "skipped": self.module.skipped })
    }
}

impl Learner<Clusters> for FuzzyArt {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClusterPrediction, scratch: &mut Scratch) {
        let row = self.module.coded(x, scratch);
        self.tell(&row, want, out);
        Module::release(row, scratch);
    }

    fn learn(&mut self, x: Row<'_>, _y: (), w: f64, scratch: &mut Scratch) -> Result<()> {
        let row = self.module.prepare(x, w, scratch)?;
        self.learn_coded(row, w);
        Ok(())
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Clusters>,
        _buffer: &mut Vec<ClusterPrediction>,
        scratch: &mut Scratch,
    ) -> usize {
        let learned = |row: usize| self.learn(batch.rows.at(row), (), batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn duplicate(&self) -> Box<dyn Learner<Clusters>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind;

    fn built(parameters: Value) -> Box<dyn Learner<Clusters>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Clusterer(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn learn(model: &mut dyn Learner<Clusters>, x: &[f64]) {
        model.learn(Row::Plain(x), (), 1.0, &mut Scratch::default()).unwrap();
    }

    fn predict(model: &dyn Learner<Clusters>, x: &[f64]) -> ClusterPrediction {
        let mut found = ClusterPrediction::default();
        model.predict(Row::Plain(x), Want::Probabilities, &mut found, &mut Scratch::default());
        found
    }

    fn corners(model: &dyn Learner<Clusters>, features: usize) -> Vec<Vec<f64>> {
        let mut schema = Schema::default();
        schema.widen(features);
        let found = model.inspect(&schema);
        let corner = |cluster: &Value, word: &str| -> Vec<f64> {
            cluster[word].as_object().unwrap().values().map(|x| x.as_f64().unwrap()).collect()
        };
        let all = found["clusters"].as_array().unwrap();
        all.iter().map(|cluster| [corner(cluster, "low"), corner(cluster, "high")].concat()).collect()
    }

    fn assert_near(found: &[Vec<f64>], wanted: &[&[f64]]) {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(found.iter().zip(*wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} is not {wanted:?}");
        }
    }

    /// ρ = 0.8. The first row (0.2, 0.3) is a category. (0.4, 0.3) matches it by (0.2 + 0.6 + 0.3 + 0.7)/2 = 0.9: the box grows
    /// to it. (0.9, 0.9) matches by (0.2 + 0.1 + 0.3 + 0.1)/2 = 0.35: another category. The row (0.5, 0.3) is 0.1 from the first
    /// box, and 0.4 + 0.6 from the second.
    #[test]
    fn steps_worked_by_hand() {
        let mut model = built(json!({ "vigilance": 0.8 }));
        assert_eq!(predict(&*model, &[0.2, 0.3]).cluster, None);
        learn(&mut *model, &[0.2, 0.3]);
        learn(&mut *model, &[0.4, 0.3]);
        assert_near(&corners(&*model, 2), &[&[0.2, 0.3, 0.4, 0.3]]);
        learn(&mut *model, &[0.9, 0.9]);
        assert_near(&corners(&*model, 2), &[&[0.2, 0.3, 0.4, 0.3], &[0.9, 0.9, 0.9, 0.9]]);
        let found = predict(&*model, &[0.5, 0.3]);
        assert_eq!(found.cluster, Some(0));
        assert!((found.distance - 0.1).abs() < 1e-12 && (found.next_distance - 1.0).abs() < 1e-12);
        assert_eq!(predict(&*model, &[0.0, 1.0]).cluster, None);
    }

    /// β = ½: the box goes half the way to (0.4, 0.3), and with a weight of 2 three quarters of the way.
    #[test]
    fn slow_learning_worked_by_hand() {
        for (w, high) in [(1.0, 0.3), (2.0, 0.35)] {
            let mut model = built(json!({ "vigilance": 0.5, "learning_rate": 0.5 }));
            learn(&mut *model, &[0.2, 0.3]);
            model.learn(Row::Plain(&[0.4, 0.3]), (), w, &mut Scratch::default()).unwrap();
            assert_near(&corners(&*model, 2), &[&[0.2, 0.3, high, 0.3]]);
        }
    }

    #[test]
    fn ranges_are_required_and_mapped() {
        let mut model = built(json!({}));
        learn(&mut *model, &[0.5]);
        let before = model.save().unwrap();
        let fault = model.learn(Row::Plain(&[0.5, 1.5]), (), 1.0, &mut Scratch::default()).unwrap_err();
        assert!(fault.message().contains("must be in [0, 1], got 1.5"), "{fault}");
        assert!(model.save().unwrap() == before);
        let mut model = built(json!({ "limits": [-10.0, 10.0] }));
        learn(&mut *model, &[5.0, 50.0]);
        assert_near(&corners(&*model, 2), &[&[5.0, 10.0, 5.0, 10.0]]);
    }

    /// Of two categories at most, the row 0.5 belongs to neither: it is counted. Rows of the categories are still learned.
    #[test]
    fn categories_are_bounded() {
        let mut model = built(json!({ "vigilance": 0.9, "max_prototypes": 2 }));
        [0.0, 1.0, 0.5, 0.05].iter().for_each(|&x| learn(&mut *model, &[x]));
        assert_near(&corners(&*model, 1), &[&[0.0, 0.05], &[1.0, 1.0]]);
        assert_eq!(model.scalars(), json!({ "clusters": 2, "skipped": 1 }));
    }

    /// A missing value is left out of choice and match. A new feature joins the category of the first row that has it.
    #[test]
    fn missing_values_and_new_features() {
        let mut model = built(json!({ "vigilance": 0.8 }));
        learn(&mut *model, &[0.2, 0.3]);
        let kinds = [FeatureKind::Number; 2];
        model.learn(Row::Mixed(&[f64::NAN, 0.4], &kinds), (), 1.0, &mut Scratch::default()).unwrap();
        assert_near(&corners(&*model, 2), &[&[0.2, 0.3, 0.2, 0.4]]);
        learn(&mut *model, &[0.2, 0.3, 0.7]);
        assert_near(&corners(&*model, 3), &[&[0.2, 0.3, 0.7, 0.2, 0.4, 0.7]]);
        model.learn(Row::Mixed(&[f64::NAN, f64::NAN], &kinds), (), 1.0, &mut Scratch::default()).unwrap();
        assert_eq!(model.scalars(), json!({ "clusters": 1, "skipped": 0 }));
    }
}
