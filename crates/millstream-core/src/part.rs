//! The trait of every component, whatever its role.
//!
//! Three promises hold for all of them, and tests/test_laws.py checks them:
//! * `predict`, `transform` and `get` take `&self`: they change nothing.
//! * `learn` and `update` are atomic: after a fault the state is bit for bit what it was.
//! * `save` returns the state alone; the parameters are in the description. `load` checks what it reads and
//!   refuses a state that could not have been saved, since files are untrusted.

use crate::declaration::Built;
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::key_use::KeyUses;
use crate::merging::Merger;
use crate::row::{Row, Scratch, Sparse};
use crate::schema::Schema;

/// The abilities of a component, as one value that is read once when a model is built. A wrapper combines the values of
/// its components, so that it cannot forget one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// It finds features by name, so `bind` must be called.
    pub needs_names: bool,
    /// It refuses to predict or transform some rows, so `check` must be called first.
    pub checks_rows: bool,
    /// A missing number is bit-identical to an implicit zero of a sparse row.
    pub missing_is_zero: bool,
    /// Of a transformer: missing values stay missing, and implicit zeros stay implicit.
    pub keeps_missing: bool,
    /// It is faster with many rows of any form at a time than with one: `Learner::step_batch`.
    pub takes_batches: bool,
    /// It predicts many rows at a time faster than one: `Learner::predict_batch`.
    pub predicts_batches: bool,
    /// It has a score that may be stepped beside others: `Learner::adaptive_score`.
    pub steps_together: bool,
    /// It follows a gradient, so mini-batches have a meaning: `Learner::mini_batch`.
    pub mini_batches: bool,
    /// A basis directly before it should write orthonormal functions: `BasisFunctions::set_orthonormal`.
    pub wants_orthonormal: bool,
    /// It can revert the last example that it learned: `Learner::undo`.
    pub undoes: bool,
    /// Of a transformer: it learns the target of a row too, also where no learner follows.
    pub uses_target: bool,
    /// The largest number of classes that it supports.
    pub max_classes: usize,
    /// The number of threads that a batch is spread over.
    pub threads: usize,
}

impl Default for Abilities {
    fn default() -> Self {
        Abilities {
            needs_names: false,
            checks_rows: false,
            missing_is_zero: false,
            keeps_missing: false,
            takes_batches: false,
            predicts_batches: false,
            steps_together: false,
            mini_batches: false,
            wants_orthonormal: false,
            undoes: false,
            uses_target: false,
            max_classes: usize::MAX,
            threads: 1,
        }
    }
}

impl Abilities {
    /// The abilities of a whole of which every component sees the same rows; those of `first` where there is one alone.
    pub fn and(self, other: Abilities) -> Abilities {
        Abilities {
            needs_names: self.needs_names || other.needs_names,
            checks_rows: self.checks_rows || other.checks_rows,
            missing_is_zero: self.missing_is_zero && other.missing_is_zero,
            keeps_missing: self.keeps_missing && other.keeps_missing,
            takes_batches: self.takes_batches || other.takes_batches,
            predicts_batches: self.predicts_batches || other.predicts_batches,
            steps_together: self.steps_together && other.steps_together,
            mini_batches: self.mini_batches && other.mini_batches,
            wants_orthonormal: self.wants_orthonormal && other.wants_orthonormal,
            undoes: self.undoes && other.undoes,
            uses_target: self.uses_target || other.uses_target,
            max_classes: self.max_classes.min(other.max_classes),
            threads: self.threads.max(other.threads),
        }
    }
}

pub trait Part: Send + Sync {
    /// The state, as one self-describing value of named fields (see `state::pack`).
    fn save(&self) -> Result<Vec<u8>>;
    fn load(&mut self, bytes: &[u8]) -> Result<()>;

    /// Visit the components that this one is made of. Memory, binding, checks and abilities follow from them.
    fn each_part(&self, _visit: &mut dyn FnMut(&dyn Part)) {}
    fn each_part_mut(&mut self, _visit: &mut dyn FnMut(&mut dyn Part)) {}

    /// Its abilities. By default, the combined abilities of its components.
    fn abilities(&self) -> Abilities {
        let mut abilities: Option<Abilities> = None;
        self.each_part(&mut |part| {
            abilities = Some(abilities.map_or_else(|| part.abilities(), |all| all.and(part.abilities())));
        });
        abilities.unwrap_or_default()
    }

    /// Memory in bytes, buffers included.
    fn memory(&self) -> usize {
        let mut bytes = std::mem::size_of_val(self);
        self.each_part(&mut |part| bytes += part.memory());
        bytes
    }

    /// Receive the names of features. Called before `learn` when there are new ones, after a rollback, and
    /// after `load`; derives the same from the same schema, in any number of calls.
    fn bind(&mut self, schema: &Schema) {
        self.each_part_mut(&mut |part| part.bind(schema));
    }

    /// How it uses nominal features. Read once, when a model is built. By default, as its components do; a component
    /// without others reads them all.
    fn key_uses(&self) -> KeyUses {
        let mut uses: Option<KeyUses> = None;
        self.each_part(&mut |part| {
            let own = part.key_uses();
            uses = Some(uses.as_ref().map_or_else(|| own.clone(), |all| all.beside(&own)));
        });
        uses.unwrap_or_default()
    }

    /// Refuse a row that cannot be predicted or transformed.
    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut checked = Ok(());
        self.each_part(&mut |part| {
            if checked.is_ok() {
                checked = part.check(x, scratch);
            }
        });
        checked
    }

    /// Visit the state as words, whose number and order depend only on the features and classes so far: see `exchange`.
    /// False if it has another form; then nothing may be assumed of what was visited.
    fn exchange(&mut self, _exchange: &mut Exchange<'_>) -> bool {
        false
    }

    /// Start recording changes for a return to this state. The cost depends on the rows learned from now on, not on the
    /// size of the state. False if it cannot: the caller then keeps a copy.
    fn savepoint(&mut self) -> bool {
        false
    }
    /// Return, bit for bit, to the state at the last `savepoint`, and stop recording.
    fn rollback(&mut self) {}
    /// Keep the state and stop recording.
    fn commit(&mut self) {}

    /// Prefetch the memory for a sparse row that is learned soon: for models larger than the caches. Columns may be out
    /// of range. Changes nothing.
    fn prefetch(&mut self, _x: Sparse<'_>) {}

    /// Whether it never refuses a row whose numbers, target and weight are at most `batch::MODERATE` in size, however many
    /// such rows follow: then no savepoint is needed. A transformer also writes moderate numbers for such rows. The result
    /// may depend on the state, so it is computed again after rows with larger numbers; it may inspect the whole state.
    fn infallible(&self) -> bool {
        false
    }

    /// Its state for features φ, where it has learned from ψ = C φ; `change` is C, a lower triangle by rows.
    fn change_basis(&self, _change: &[f64]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Merge the same component after another part of the stream. It was bound to `merger.ours`, which has all features.
    /// Implemented by components whose `Declaration` does not exclude it. After a fault the component is unusable: the
    /// caller has a copy.
    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Err(Fault::value("cannot be merged"))
    }

    /// The state in readable form: weights, class counts, a tree. Feature names come from `schema`.
    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// The few numbers of `inspect` that properties read one by one: no names, weights or nodes. Components whose
    /// `inspect` is large even without feature names override it.
    fn scalars(&self) -> serde_json::Value {
        self.inspect(&Schema::default())
    }

    /// A copy of the step or member at an index, for components that are made of others.
    fn member(&self, _index: usize, _input: &Schema) -> Result<Option<Extracted>> {
        Ok(None)
    }

    /// A copy of the drift detector that a parameter describes, as it is now.
    fn detector(&self, _parameter: &str) -> Option<InnerDetector> {
        None
    }
}

/// A copy of a step of a pipeline or of a member of an ensemble, with what it needs to continue on its own.
pub struct Extracted {
    pub part: Built,
    /// Its description, where that of the whole has none.
    pub description: Option<serde_json::Value>,
    /// Names and kinds of its input.
    pub input: Schema,
    /// Number of examples it has learned; none if that equals the number of the model.
    pub learned: Option<u64>,
}

/// A copy of a drift detector inside a component, with what it needs to continue on its own.
pub struct InnerDetector {
    pub part: Box<dyn crate::detector::DriftDetector>,
    /// Number of values it has received.
    pub updates: u64,
}
