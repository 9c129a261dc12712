//! A component with the description, names, labels and count of its stream.
//!
//! `Held<P>` is generic over every kind of component with a state. Building, describing, saving, loading, copying and
//! restarting are here; the verbs of a kind are in its file (`model`, `metric`, `statistic`, …). A new kind is one line
//! of `with_held_kinds!` and implements `Holdable`, for a boxed trait by one line of `hold_boxed!`.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::declaration::{Built, Role};
use crate::fault::{Fault, FaultKind, Result};
use crate::labels::Labels;
use crate::merging::Merger;
use crate::part::Part;
use crate::registry;
use crate::schema::Schema;

mod covariance_estimator;
mod drift_detector;
mod example;
mod feature_drift_detector;
mod merge;
mod metric;
mod mini_batches;
mod model;
mod root;
mod run;
mod savepoint;
mod source;
pub mod state;
pub mod statistic;
mod tables;
mod together;
mod transformer_run;

pub use merge::{Origin, Seeds};
pub use metric::{GivenPrediction, LabelledMetric};
pub use mini_batches::Risk;
pub use root::{Estimator, Root};
pub use run::{Job, NoSink, Sink, Tally};
pub use savepoint::{Before, Rehearsal};
pub use source::{Source, TableRow};
pub use tables::{SparseRows, TableReader};
pub use together::{TargetTable, Together};

use state::{Saved, Saving, Sealed};

/// Call a macro with the list of all kinds of held components: the name of a kind, and the type of its components.
#[macro_export]
macro_rules! with_held_kinds {
    ($macro:ident) => {
        $macro!(
            Model of $crate::held::Root,
            Metric of $crate::held::LabelledMetric,
            Forecaster of Box<dyn $crate::forecaster::Forecaster>,
            Policy of $crate::bandit::decider::Decider,
            ContextualPolicy of Box<$crate::bandit::contextual::Policy>,
            Sampler of Box<dyn $crate::sampler::Sampler>,
            Statistic of Box<dyn $crate::statistic::Statistic>,
            CovarianceEstimator of Box<dyn $crate::covariance_estimator::CovarianceEstimator>,
            PolicyEstimator of Box<dyn $crate::policy_evaluation::role::PolicyEstimator>,
            Sketch of Box<dyn $crate::sketch::role::Sketch>,
            DriftDetector of Box<dyn $crate::detector::DriftDetector>,
            FeatureDriftDetector of Box<dyn $crate::detector::FeatureDriftDetector>
        );
    };
}

macro_rules! name_kinds {
    ($($kind:ident of $part:ty),*) => {
        $(pub type $kind = Held<$part>;)*
    };
}
with_held_kinds!(name_kinds);

/// A component of one kind.
pub trait Holdable: Clone {
    /// The name of the kind in messages: "this is not a metric".
    const WORD: &'static str;

    /// From a built component; none for a component of another kind.
    fn unbuild(built: Built, description: &Json) -> Option<Self>;

    fn role(&self) -> Role;

    fn part(&self) -> &dyn Part;
    fn part_mut(&mut self) -> &mut dyn Part;

    /// See `Abilities::missing_is_zero`.
    #[inline]
    fn missing_is_zero(&self) -> bool {
        false
    }

    /// Memory in bytes, without its own size.
    fn memory(&self) -> usize {
        self.part().memory()
    }

    /// The saved state, without description, names, labels and count.
    fn save(&self) -> Result<Vec<u8>> {
        self.part().save()
    }

    /// See `Part::merge_state`; `labels` are those of both.
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        self.part_mut().merge_state(merger)
    }

    /// Which seeds two components must have to be merged.
    fn seeds(&self) -> Seeds {
        Seeds::Same
    }

    /// Return to a saved state; `who` names the component in messages. After a fault it is unusable.
    fn load(&mut self, _who: &str, saved: &Saved) -> Result<()> {
        self.part_mut().load(&saved.state)
    }
}

/// `hold_boxed!(Trait, "word")` for a trait, a variant of `Built` and a role of one name; further methods may follow.
macro_rules! hold_boxed {
    ($kind:ident, $word:literal $(, $method:item)*) => {
        impl $crate::held::Holdable for Box<dyn $kind> {
            const WORD: &'static str = $word;

            fn unbuild(built: $crate::declaration::Built, _: &serde_json::Value) -> Option<Self> {
                match built {
                    $crate::declaration::Built::$kind(part) => Some(part),
                    _ => None,
                }
            }

            fn role(&self) -> $crate::declaration::Role {
                $crate::declaration::Role::$kind
            }

            fn part(&self) -> &dyn $crate::part::Part {
                &**self
            }

            fn part_mut(&mut self) -> &mut dyn $crate::part::Part {
                &mut **self
            }

            $($method)*
        }

        impl Clone for Box<dyn $kind> {
            fn clone(&self) -> Self {
                self.duplicate()
            }
        }
    };
}
pub(crate) use hold_boxed;

#[derive(Clone)]
pub struct Held<P> {
    /// Shared by copies.
    description: Arc<Json>,
    pub(crate) title: Arc<str>,
    schema: Schema,
    labels: Labels,
    /// Number of learned examples or of updates.
    pub(crate) count: u64,
    /// The model that it continued, if that was recorded.
    origin: Option<Origin>,
    pub(crate) part: P,
}

impl<P: Holdable> Held<P> {
    /// Build from a description, which need not be canonical.
    pub fn new(description: &Json) -> Result<Self> {
        Self::resolved(registry::resolve(description)?)
    }

    fn resolved(description: Json) -> Result<Self> {
        match P::unbuild(registry::build_resolved(&description)?, &description) {
            Some(part) => Ok(Held::around(description, part)),
            None => {
                let name = description["name"].as_str().unwrap_or_default();
                let role = registry::role_of(&description)?.word();
                Err(Fault::wrong_type(format!("{name}: a {role} is not a {}", P::WORD)))
            }
        }
    }

    /// Around a component of a canonical description.
    fn around(description: Json, part: P) -> Self {
        let (mut schema, labels) = (Schema::default(), Labels::default());
        schema.limit_values(part.part().key_uses());
        let title = title(&description).into();
        Held { title, description: Arc::new(description), schema, labels, count: 0, origin: None, part }
    }

    pub fn description(&self) -> &Json {
        &self.description
    }

    /// The name in messages.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn role(&self) -> Role {
        self.part.role()
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Number of learned examples or of updates; those of weight 0 are not counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// See `Abilities::missing_is_zero`.
    #[inline]
    pub fn missing_is_zero(&self) -> bool {
        self.part.missing_is_zero()
    }

    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.part.memory() + self.schema.memory() + self.labels.memory()
    }

    /// The state in readable form.
    pub fn inspect(&self) -> Json {
        self.part.part().inspect(&self.schema)
    }

    /// Return to the state in which it was built.
    pub fn reset(&mut self) -> Result<()> {
        *self = Self::resolved(Json::clone(&self.description))?;
        Ok(())
    }

    pub fn save(&self) -> Result<Vec<u8>> {
        self.seal().map(|sealed| sealed.to_vec())
    }

    /// `save`, without a copy of the state.
    pub fn seal(&self) -> Result<Sealed> {
        let state = self.part.save()?;
        let description = serde_json::to_string(&self.description).map_err(state::invalid_description)?;
        let saving = Saving::new(&description, &self.schema, &self.labels, self.count).with_origin(self.origin);
        state::seal(&saving, state)
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::from_saved(state::open(bytes)?)
    }

    pub fn from_saved(saved: Saved) -> Result<Self> {
        let description = registry::resolve(&state::description(&saved)?).map_err(state::invalid_description)?;
        let mut held = Self::resolved(description).map_err(|fault| match fault.kind() {
            // A component of another kind, whose description may be valid.
            FaultKind::Type => fault,
            _ => state::invalid_description(fault),
        })?;
        held.adopt(saved)?;
        Ok(held)
    }

    /// Adopt names, labels, count and state. After a fault it is unusable.
    pub fn adopt(&mut self, saved: Saved) -> Result<()> {
        self.part.load(&self.title, &saved)?;
        self.schema = saved.schema;
        self.schema.limit_values(self.part.part().key_uses());
        self.labels = saved.labels;
        self.count = saved.learned;
        self.origin = saved.origin;
        Ok(())
    }
}

/// `linear_model.LogisticRegression`, or `StandardScaler | LogisticRegression`.
fn title(description: &Json) -> String {
    let name = description["name"].as_str().unwrap_or_default();
    match description["parameters"]["steps"].as_array() {
        Some(steps) => steps
            .iter()
            .map(|step| {
                let title = title(step);
                title.rsplit('.').next().unwrap_or(&title).to_string()
            })
            .collect::<Vec<_>>()
            .join(" | "),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_component_of_another_kind_is_refused() {
        let fault = Metric::new(&json!({ "name": "stats.Mean" })).map(|_| ()).unwrap_err();
        assert_eq!(fault.to_string(), "stats.Mean: a statistic is not a metric");
        let fault = Model::new(&json!({ "name": "drift.ADWIN" })).map(|_| ()).unwrap_err();
        assert_eq!(fault.to_string(), "drift.ADWIN: a drift_detector is not a model");
    }

    #[test]
    fn reset_returns_to_the_state_after_building() {
        let description = json!({ "name": "drift.KSWIN", "parameters": { "window_size": 20, "stat_size": 5 } });
        let fresh = DriftDetector::new(&description).expect("it is declared");
        let mut detector = fresh.clone();
        (0..40).for_each(|x| detector.update(f64::from(x)).expect("finite"));
        assert_ne!(detector.save().ok(), fresh.save().ok());
        detector.reset().expect("its description is canonical");
        assert_eq!(detector.save().ok(), fresh.save().ok());
        assert_eq!(detector.title(), "drift.KSWIN");
    }
}
