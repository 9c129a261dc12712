//! The component at the root of a model. Only this file matches on its role.

use serde_json::Value as Json;

use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::learner::Learner;
use crate::merging::Merger;
use crate::part::{Abilities, Part};
use crate::schema::Schema;
use crate::task::{Anomalies, Classes, Clusters, Numbers, Task};
use crate::transformer::Transformer;

use super::merge::check_classes;
use super::state::Saved;
use super::Holdable;

/// The component, and cached facts about it.
#[derive(Clone)]
pub struct Root {
    pub estimator: Estimator,
    /// Read once.
    pub abilities: Abilities,
    /// Whether it was infallible when last checked, and only moderate rows were learned since.
    pub infallible: bool,
}

#[derive(Clone)]
pub enum Estimator {
    Classifier(Box<dyn Learner<Classes>>),
    Regressor(Box<dyn Learner<Numbers>>),
    AnomalyDetector(Box<dyn Learner<Anomalies>>),
    Clusterer(Box<dyn Learner<Clusters>>),
    Transformer(Box<dyn Transformer>),
}

/// Compile `$learner` for the task of a model, or evaluate `$transformer`.
macro_rules! for_task {
    ($root:expr, $task:ident => $learner:expr, transformer => $transformer:expr) => {
        match $root.estimator {
            $crate::held::Estimator::Classifier(_) => {
                type $task = $crate::task::Classes;
                $learner
            }
            $crate::held::Estimator::Regressor(_) => {
                type $task = $crate::task::Numbers;
                $learner
            }
            $crate::held::Estimator::AnomalyDetector(_) => {
                type $task = $crate::task::Anomalies;
                $learner
            }
            $crate::held::Estimator::Clusterer(_) => {
                type $task = $crate::task::Clusters;
                $learner
            }
            $crate::held::Estimator::Transformer(_) => $transformer,
        }
    };
}
pub(super) use for_task;

/// A task of the root of a model.
pub trait RootTask: Task {
    fn learner(root: &Root) -> Result<&dyn Learner<Self>>;
    fn learner_mut(root: &mut Root) -> Result<&mut dyn Learner<Self>>;
}

/// Reached only through a bug in this crate.
fn other() -> Fault {
    Fault::state("the model is of another task")
}

/// The learner of a task is in the variant of its role.
macro_rules! root_task {
    ($task:ident, $variant:ident) => {
        impl RootTask for $task {
            #[inline]
            fn learner(root: &Root) -> Result<&dyn Learner<Self>> {
                match &root.estimator {
                    Estimator::$variant(part) => Ok(&**part),
                    _ => Err(other()),
                }
            }

            #[inline]
            fn learner_mut(root: &mut Root) -> Result<&mut dyn Learner<Self>> {
                match &mut root.estimator {
                    Estimator::$variant(part) => Ok(&mut **part),
                    _ => Err(other()),
                }
            }
        }
    };
}

root_task!(Classes, Classifier);
root_task!(Numbers, Regressor);
root_task!(Anomalies, AnomalyDetector);
root_task!(Clusters, Clusterer);

impl Estimator {
    /// None for learners, which have a task.
    pub fn transformer(&self) -> Option<&dyn Transformer> {
        match self {
            Estimator::Transformer(part) => Some(&**part),
            _ => None,
        }
    }

    pub fn transformer_mut(&mut self) -> Option<&mut dyn Transformer> {
        match self {
            Estimator::Transformer(part) => Some(&mut **part),
            _ => None,
        }
    }

    /// Whether the end of a task means anything to it.
    pub fn ends_tasks(&self) -> bool {
        match self {
            Estimator::Classifier(learner) => learner.ends_tasks(),
            Estimator::Regressor(learner) => learner.ends_tasks(),
            _ => false,
        }
    }

    /// The verb that only some models of its role have.
    pub fn optional_verb(&self) -> Option<&'static str> {
        match self {
            Estimator::Classifier(learner) => learner.decision_function().map(|_| "score_one"),
            Estimator::Regressor(learner) => learner.interval().map(|_| "predict_interval_one"),
            Estimator::AnomalyDetector(learner) => learner.threshold().map(|_| "predict_one"),
            Estimator::Clusterer(_) | Estimator::Transformer(_) => None,
        }
    }
}

impl Root {
    /// The root of a model; none for components that are not models.
    pub fn new(built: Built) -> Option<Self> {
        let estimator = built.estimator()?;
        let mut root = Root { estimator, abilities: Abilities::default(), infallible: false };
        root.abilities = root.part().abilities();
        Some(root)
    }

    #[inline]
    pub fn role(&self) -> Role {
        match self.estimator {
            Estimator::Classifier(_) => Role::Classifier,
            Estimator::Regressor(_) => Role::Regressor,
            Estimator::AnomalyDetector(_) => Role::AnomalyDetector,
            Estimator::Clusterer(_) => Role::Clusterer,
            Estimator::Transformer(_) => Role::Transformer,
        }
    }

    pub fn bind(&mut self, schema: &Schema) {
        if self.abilities.needs_names {
            self.part_mut().bind(schema);
        }
    }
}

impl Holdable for Root {
    const WORD: &'static str = "model";

    fn unbuild(built: Built, _: &Json) -> Option<Self> {
        Root::new(built)
    }

    #[inline]
    fn role(&self) -> Role {
        Root::role(self)
    }

    fn part(&self) -> &dyn Part {
        match &self.estimator {
            Estimator::Classifier(part) => &**part,
            Estimator::Regressor(part) => &**part,
            Estimator::AnomalyDetector(part) => &**part,
            Estimator::Clusterer(part) => &**part,
            Estimator::Transformer(part) => &**part,
        }
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        match &mut self.estimator {
            Estimator::Classifier(part) => &mut **part,
            Estimator::Regressor(part) => &mut **part,
            Estimator::AnomalyDetector(part) => &mut **part,
            Estimator::Clusterer(part) => &mut **part,
            Estimator::Transformer(part) => &mut **part,
        }
    }

    #[inline]
    fn missing_is_zero(&self) -> bool {
        self.abilities.missing_is_zero
    }

    fn merge(&mut self, merger: &Merger<'_>, labels: &Labels) -> Result<()> {
        check_classes(labels, self.abilities.max_classes)?;
        self.bind(merger.ours);
        self.part_mut().merge_state(merger)?;
        self.bind(merger.ours);
        self.infallible = false;
        Ok(())
    }

    fn load(&mut self, _who: &str, saved: &Saved) -> Result<()> {
        self.part_mut().load(&saved.state)?;
        self.infallible = false;
        self.bind(&saved.schema);
        Ok(())
    }
}
