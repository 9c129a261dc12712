//! The component at the root of a model. Here, and nowhere else, it is asked which kind it is.

use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::learner::Learner;
use crate::part::Part;
use crate::task::{Classes, Numbers, Task};
use crate::transformer::Transformer;

#[derive(Clone)]
pub enum Root {
    Classifier(Box<dyn Learner<Classes>>),
    Regressor(Box<dyn Learner<Numbers>>),
    Transformer(Box<dyn Transformer>),
}

/// Compile `$learner` for the task of a model, or do `$transformer`.
macro_rules! for_task {
    ($root:expr, $task:ident => $learner:expr, transformer => $transformer:expr) => {
        match $root.role() {
            $crate::declaration::Role::Classifier => {
                type $task = $crate::task::Classes;
                $learner
            }
            $crate::declaration::Role::Regressor => {
                type $task = $crate::task::Numbers;
                $learner
            }
            _ => $transformer,
        }
    };
}
pub(super) use for_task;

/// A task that the root of a model may have.
pub trait RootTask: Task {
    fn learner(root: &Root) -> Result<&dyn Learner<Self>>;
    fn learner_mut(root: &mut Root) -> Result<&mut dyn Learner<Self>>;
}

/// Only reached by a mistake in this crate.
fn other() -> Fault {
    Fault::state("the model is of another task")
}

impl RootTask for Classes {
    #[inline]
    fn learner(root: &Root) -> Result<&dyn Learner<Self>> {
        match root {
            Root::Classifier(part) => Ok(&**part),
            Root::Regressor(_) | Root::Transformer(_) => Err(other()),
        }
    }

    #[inline]
    fn learner_mut(root: &mut Root) -> Result<&mut dyn Learner<Self>> {
        match root {
            Root::Classifier(part) => Ok(&mut **part),
            Root::Regressor(_) | Root::Transformer(_) => Err(other()),
        }
    }
}

impl RootTask for Numbers {
    #[inline]
    fn learner(root: &Root) -> Result<&dyn Learner<Self>> {
        match root {
            Root::Regressor(part) => Ok(&**part),
            Root::Classifier(_) | Root::Transformer(_) => Err(other()),
        }
    }

    #[inline]
    fn learner_mut(root: &mut Root) -> Result<&mut dyn Learner<Self>> {
        match root {
            Root::Regressor(part) => Ok(&mut **part),
            Root::Classifier(_) | Root::Transformer(_) => Err(other()),
        }
    }
}

impl Root {
    /// The root of a model; none for components that are no models.
    pub fn new(built: Built) -> Option<Self> {
        match built {
            Built::Classifier(part) => Some(Root::Classifier(part)),
            Built::Regressor(part) => Some(Root::Regressor(part)),
            Built::Transformer(part) => Some(Root::Transformer(part)),
            Built::Metric(_)
            | Built::Statistic(_)
            | Built::DriftDetector(_)
            | Built::FeatureDriftDetector(_)
            | Built::Optimizer(_)
            | Built::Whole(_)
            | Built::Loss(_)
            | Built::Schedule(_)
            | Built::Kernel(_)
            | Built::Generator(_) => None,
        }
    }

    #[inline]
    pub fn role(&self) -> Role {
        match self {
            Root::Classifier(_) => Role::Classifier,
            Root::Regressor(_) => Role::Regressor,
            Root::Transformer(_) => Role::Transformer,
        }
    }

    pub fn part(&self) -> &dyn Part {
        match self {
            Root::Classifier(part) => &**part,
            Root::Regressor(part) => &**part,
            Root::Transformer(part) => &**part,
        }
    }

    pub fn part_mut(&mut self) -> &mut dyn Part {
        match self {
            Root::Classifier(part) => &mut **part,
            Root::Regressor(part) => &mut **part,
            Root::Transformer(part) => &mut **part,
        }
    }
}
