//! Fuzzy ARTMAP for classification (Carpenter, Grossberg, Markuzon, Reynolds and Rosen, 1992, "Fuzzy ARTMAP: a neural network
//! architecture for incremental supervised learning of analog multidimensional maps", IEEE Transactions on Neural Networks
//! 3(5)).
//!
//! Each category of fuzzy ART (`fuzzy_art`) belongs to a class; with classes as targets, the second module of the paper is the
//! list of classes. A row is learned by the category of the largest choice that matches it with the vigilance. If that category
//! is of another class, match tracking raises the vigilance for this row to just above its match, |I ∧ w| / M + ε (section V),
//! and the search goes on. If no category is left, the row becomes one of its class.
//!
//! The prediction is the class of the category of the largest choice. Once there are `max_prototypes` categories, a row that
//! needs another one is counted and not learned.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::art::categories::Overlaps;
use crate::art::coding::{CodedRow, Module, ModuleState, CHOICE, LEARNING_RATE, LIMITS, MAX_CATEGORIES};
use crate::batch::Batch;
use crate::cluster::k_means::repeated;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::prototype::{normalise, MOST_CLASSES};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes};

const NAME: &str = "art.FuzzyARTMAP";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Fuzzy ARTMAP: boxes of one class each, which grow and appear as rows require",
    merge: Merge::EXEMPLARS,
    parameters: &[
        Parameter::new(
            "vigilance",
            Kind::Float(Bounds::UNIT),
            DefaultValue::Float(0.0),
            "least match of a row and its category, before match tracking raises it",
        ),
        Parameter::new(
            "match_tracking",
            Kind::Float(Bounds::new(-1.0, true, 1.0, true)),
            DefaultValue::Float(0.001),
            "vigilance above the match of a category of another class, for the rest of the search; negative for below",
        ),
        CHOICE,
        LEARNING_RATE,
        LIMITS,
        MAX_CATEGORIES,
    ],
    build: |arguments| {
        Ok(Built::Classifier(Box::new(FuzzyArtmap {
            module: Module::new(NAME, arguments)?,
            match_tracking: arguments.float("match_tracking")?,
            classes: Vec::new(),
            codes: 0,
        })))
    },
};

#[derive(Clone)]
struct FuzzyArtmap {
    module: Module,
    match_tracking: f64,
    /// By category.
    classes: Vec<u32>,
    /// One more than the highest class.
    codes: usize,
}

#[derive(Serialize, Deserialize)]
struct State {
    module: ModuleState,
    classes: Vec<u32>,
}

impl FuzzyArtmap {
    /// The category of a class that learns a row. Overlaps of categories of other classes that were tried become negative.
    fn find(&self, found: &mut Overlaps, class: u32) -> Option<usize> {
        let mut vigilance = self.module.vigilance;
        loop {
            let tried = self.module.best(found, |category| {
                let overlap = found.overlaps[category];
                overlap >= 0.0 && overlap / found.present >= vigilance
            })?;
            if self.classes[tried] == class {
                return Some(tried);
            }
            vigilance = found.overlaps[tried] / found.present + self.match_tracking;
            found.overlaps[tried] = -1.0;
        }
    }

    fn tell(&self, found: &Overlaps, want: Want, out: &mut ClassPrediction) {
        out.clear();
        if self.classes.is_empty() {
            return;
        }
        if found.present > 0.0 && want == Want::Class {
            out.class = self.module.best(found, |_| true).map(|category| self.classes[category]);
            return;
        }
        out.probabilities.resize(self.codes, 0.0);
        if found.present > 0.0 {
            out.class = self.module.best(found, |_| true).map(|category| self.classes[category]);
            for (category, &class) in self.classes.iter().enumerate() {
                // The choice is below 1, as the choice parameter is positive; rounding may make it 1.
                let rest = (1.0 - self.module.activation(found, category)).max(f64::EPSILON);
                let most = &mut out.probabilities[class as usize];
                *most = most.max(1.0 / rest);
            }
        } else {
            for (&class, &weight) in self.classes.iter().zip(self.module.categories.weights()) {
                out.probabilities[class as usize] += weight;
            }
            out.decide();
        }
        match want {
            Want::Class => out.probabilities.clear(),
            Want::Probabilities => normalise(&mut out.probabilities),
        }
    }

    fn learn_coded(&mut self, mut row: CodedRow, y: u32, w: f64) {
        let rate = repeated(self.module.learning_rate, w);
        if row.found.present > 0.0 {
            match self.find(&mut row.found, y) {
                Some(category) => self.module.categories.learn(category, row.point(), rate, w),
                None => {
                    if self.module.add(&row, w) {
                        self.classes.push(y);
                        self.codes = self.codes.max(y as usize + 1);
                    }
                }
            }
        }
        self.module.release_spare(row);
    }
}

impl Part for FuzzyArtmap {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { module: self.module.save(), classes: self.classes.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let mut module = self.module.clone();
        module.load(state.module)?;
        require(NAME, state.classes.len() == module.categories.len(), "a category has no class")?;
        require(NAME, state.classes.iter().all(|&class| class < MOST_CLASSES), "a class is out of range")?;
        self.codes = state.classes.iter().max().map_or(0, |&class| class as usize + 1);
        (self.module, self.classes) = (module, state.classes);
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.module.bind(schema);
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.module.memory() + 4 * self.classes.capacity()
    }

    /// `{"prototypes": [{"class": code, "weight": …, "low": {feature: number}, "high": {…}, "centre": {…}}], "skipped": …}`
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let prototypes: Vec<_> = (0..self.module.categories.len())
            .map(|category| {
                let mut found = self.module.inspect(category, schema);
                found.insert("class".into(), json!(self.classes[category]));
                found
            })
            .collect();
        json!({ "prototypes": prototypes, "skipped": self.module.skipped })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "prototypes": self.module.categories.len(), "skipped": self.module.skipped })
    }
}

impl Learner<Classes> for FuzzyArtmap {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let row = self.module.coded(x, scratch);
        self.tell(&row.found, want, out);
        Module::release(row, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let row = self.module.prepare(x, w, scratch)?;
        self.learn_coded(row, y, w);
        Ok(())
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _buffer: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        let learned =
            |row: usize| self.learn(batch.rows.at(row), batch.truths[row], batch.weight(row), scratch).is_ok();
        (0..batch.len()).map(learned).take_while(|learned| *learned).count()
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::registry;

    fn built(parameters: Value) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    fn learn(model: &mut dyn Learner<Classes>, x: &[f64], y: u32) {
        model.learn(Row::Plain(x), y, 1.0, &mut Scratch::default()).unwrap();
    }

    fn predict(model: &dyn Learner<Classes>, x: &[f64]) -> ClassPrediction {
        let mut found = ClassPrediction::default();
        model.predict(Row::Plain(x), Want::Probabilities, &mut found, &mut Scratch::default());
        found
    }

    fn boxes(model: &dyn Learner<Classes>) -> Vec<(u64, f64, f64)> {
        let mut schema = Schema::default();
        schema.widen(1);
        let found = model.inspect(&schema);
        let of = |category: &Value, word: &str| category[word]["0"].as_f64().unwrap();
        let all = found["prototypes"].as_array().unwrap().iter();
        all.map(|category| (category["class"].as_u64().unwrap(), of(category, "low"), of(category, "high")))
            .collect()
    }

    /// 0.2 is a category of class 0, and 0.4 of class 0 grows it to [0.2, 0.4]. Row 0.5 of class 1 matches it by 0.2 + 0.5 = 0.7;
    /// it is of another class, so vigilance rises to 0.701, nothing is left, and 0.5 is a category of class 1. Row 0.45 of class
    /// 0: choices (0.2 + 0.55)/(0.01 + 0.8) = 0.926 and (0.45 + 0.5)/1.01 = 0.941. The second is of class 1 with the match 0.95; the
    /// first matches by 0.75 < 0.951: a third category. With a tracking of −0.3 it would be 0.65, and the first box would grow.
    #[test]
    fn match_tracking_worked_by_hand() {
        let rows = [(0.2, 0), (0.4, 0), (0.5, 1), (0.45, 0)];
        let run = |parameters: Value| {
            let mut model = built(parameters);
            rows.iter().for_each(|&(x, y)| learn(&mut *model, &[x], y));
            model
        };
        let near = |found: Vec<(u64, f64, f64)>, wanted: &[(u64, f64, f64)]| {
            assert_eq!(found.len(), wanted.len(), "{found:?}");
            for (a, b) in found.iter().zip(wanted) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12 && (a.2 - b.2).abs() < 1e-12, "{found:?}");
            }
        };
        let model = run(json!({}));
        near(boxes(&*model), &[(0, 0.2, 0.4), (1, 0.5, 0.5), (0, 0.45, 0.45)]);
        near(boxes(&*run(json!({ "match_tracking": -0.3 }))), &[(0, 0.2, 0.45), (1, 0.5, 0.5)]);
        // At 0.5, class 1 has the choice 1/1.01 and class 0 0.95/1.01: probabilities as 1/0.01 to 1/0.06.
        let found = predict(&*model, &[0.5]);
        assert_eq!(found.class, Some(1));
        assert!((found.probabilities[1] - 6.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn a_state_that_could_not_have_been_saved_is_refused() {
        let mut model = built(json!({ "max_prototypes": 2 }));
        [(0.1, 0), (0.9, 1)].iter().for_each(|&(x, y)| learn(&mut *model, &[x], y));
        let state: Value = unpack(NAME, &model.save().unwrap()).unwrap();
        let mut load = |change: &dyn Fn(&mut Value)| {
            let mut forged = state.clone();
            change(&mut forged);
            model.load(&pack(&forged).unwrap())
        };
        assert!(load(&|_| ()).is_ok());
        assert!(load(&|state| state["module"]["categories"][0] = json!([[0.1, 0.95]])).is_err());
        assert!(load(&|state| state["module"]["categories"][0] = json!([[-0.1, 0.5]])).is_err());
        assert!(load(&|state| state["module"]["categories"][0] = json!([[0.1, 0.5], [0.1, 0.5]])).is_err());
        assert!(load(&|state| state["module"]["weights"] = json!([1.0])).is_err());
        assert!(load(&|state| state["module"]["weights"][0] = json!(-1.0)).is_err());
        assert!(load(&|state| state["classes"] = json!([0])).is_err());
        assert!(load(&|state| state["classes"][0] = json!(u32::MAX)).is_err());
    }

    /// With two categories at most, the third row, of another class, is not learned.
    #[test]
    fn categories_are_bounded() {
        let mut model = built(json!({ "max_prototypes": 2 }));
        [(0.1, 0), (0.9, 1), (0.5, 2)].iter().for_each(|&(x, y)| learn(&mut *model, &[x], y));
        assert_eq!(model.scalars(), json!({ "prototypes": 2, "skipped": 1 }));
        assert_eq!(predict(&*model, &[0.8]).class, Some(1));
    }
}
