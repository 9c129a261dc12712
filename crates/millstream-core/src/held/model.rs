//! A model: a learner or a transformer at the root, with the names and labels of its stream.

use crate::declaration::Role;
use crate::fault::{Fault, Result};
use crate::part::{Abilities, Extracted, InnerDetector};
use crate::registry;
use crate::row::Scratch;
use crate::schema::Schema;
use crate::transformer::Zeros;

use super::root::{for_task, Root, RootTask};
use super::{DriftDetector, Held, Holdable, Model};

impl Model {
    pub fn abilities(&self) -> Abilities {
        self.part.abilities
    }

    /// The largest number of classes; None for no limit.
    pub fn max_classes(&self) -> Option<usize> {
        Some(self.part.abilities.max_classes).filter(|&most| most < usize::MAX)
    }

    /// The few numbers of `inspect` that properties read.
    pub fn scalars(&self) -> serde_json::Value {
        self.part.part().scalars()
    }

    /// The verbs that only some models of its role have: `score_one` of a classifier, `predict_interval_one`, and
    /// `predict_one` of an anomaly detector.
    pub fn optional_verbs(&self) -> Vec<&'static str> {
        self.part.estimator.optional_verb().into_iter().collect()
    }

    /// See `Learner::ends_tasks`.
    pub fn ends_tasks(&self) -> bool {
        self.part.estimator.ends_tasks()
    }

    /// See `Learner::end_task`.
    pub fn end_task(&mut self) -> Result<()> {
        for_task!(self.part, T => T::learner_mut(&mut self.part)?.end_task(&mut Scratch::default()), transformer => {});
        Ok(())
    }

    /// Whether a score is that of an anomaly, for anomaly filters.
    pub fn classify(&self, score: f64) -> Result<bool> {
        let threshold = for_task!(self.part, T => T::learner(&self.part)?.threshold(), transformer => None);
        let none = || {
            Fault::wrong_type(format!(
                "{}: has no anomaly threshold; anomaly.QuantileFilter and anomaly.ThresholdFilter have one",
                self.title
            ))
        };
        threshold.map(|threshold| score >= threshold).ok_or_else(none)
    }

    /// Names, kinds and values of the output of `transform`.
    pub fn output(&self) -> Result<Schema> {
        let transformer = self.part.estimator.transformer().ok_or_else(|| self.cannot("transform"))?;
        Ok(transformer.output(&self.schema))
    }

    /// See `Transformer::fixed_output`.
    pub fn fixed_output(&self) -> Option<&Schema> {
        self.part.estimator.transformer().and_then(|transformer| transformer.fixed_output())
    }

    /// See `Transformer::keeps_names`.
    pub fn keeps_names(&self) -> bool {
        self.part.estimator.transformer().is_some_and(|transformer| transformer.keeps_names())
    }

    /// See `Transformer::zeros`.
    pub fn zeros(&self) -> Zeros {
        self.part.estimator.transformer().map_or(Zeros::Written, |transformer| transformer.zeros(Zeros::Written))
    }

    /// The integral of the products of a basis's functions, by rows.
    pub fn gram(&self, inputs: Option<usize>) -> Result<Vec<f64>> {
        let basis = self.part.estimator.transformer().and_then(|transformer| transformer.basis());
        let basis =
            basis.ok_or_else(|| Fault::wrong_type(format!("{}: only a basis has a Gram matrix", self.title)));
        basis?.gram(inputs)
    }

    pub(super) fn cannot(&self, verb: &str) -> Fault {
        Fault::wrong_type(format!("{}: a {} cannot {verb}", self.title, self.role().word()))
    }

    /// The step of a pipeline or the member of an ensemble at an index, as a model of its own with
    /// the same state.
    pub fn member(&self, index: usize) -> Result<Self> {
        let absent = || Fault::key(format!("{}: there is no step {index}", self.title));
        let Extracted { part, description, input, learned } =
            self.part.part().member(index, &self.schema)?.ok_or_else(absent)?;
        let parameters = &self.description["parameters"];
        let listed = ["steps", "parts", "models"].iter().find_map(|members| parameters[members].get(index));
        // The members of an ensemble may all be of one kind.
        let listed = listed.or_else(|| parameters.get("model")).or_else(|| parameters.get("meta_model"));
        let description = listed.cloned().or(description).ok_or_else(absent)?;
        let mut model = Held::around(registry::resolve(&description)?, Root::new(part).ok_or_else(absent)?);
        model.schema = input;
        model.schema.limit_values(model.part.part().key_uses());
        model.count = learned.unwrap_or(self.count);
        if model.role() == Role::Classifier || model.part.abilities.uses_target {
            model.labels = self.labels.clone();
        }
        model.part.bind(&model.schema);
        Ok(model)
    }

    /// A copy of the drift detector that a parameter describes, as it is now.
    pub fn detector(&self, parameter: &str) -> Result<DriftDetector> {
        match self.part.part().detector(parameter) {
            Some(InnerDetector { part, updates }) => {
                DriftDetector::with_count(&self.description["parameters"][parameter], part, updates)
            }
            None => Err(Fault::key(format!("{}: there is no {parameter}", self.title))),
        }
    }

    /// Revert the last `learn` of a transformer or an anomaly detector that supports it, bit for bit. At most once per
    /// `learn`.
    pub fn undo(&mut self) -> Result<()> {
        let learned = self.count > 0;
        let undoes = self.part.abilities.undoes;
        match self.part.estimator.transformer_mut() {
            Some(transformer) if learned => transformer.undo(),
            Some(_) => {}
            None if learned && undoes => {
                for_task!(self.part, T => T::learner_mut(&mut self.part)?.undo(), transformer => {})
            }
            None => return Err(self.cannot("take back an example")),
        }
        if learned {
            self.count -= 1;
            if self.schema.changed() {
                self.schema.rollback();
                self.part.bind(&self.schema);
            }
        }
        Ok(())
    }
}
