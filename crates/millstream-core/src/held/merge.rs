//! Merging two models of two parts of a stream into that of the whole, if the learner can do so exactly.

use crate::fault::{Fault, Result};
use crate::labels::Label;
use crate::schema::Schema;

use super::{Holdable, Model};

impl Model {
    /// Merge `other`, the same model after another part of the stream, or leave everything as it was. Features,
    /// nominal values and classes of `other` are found by name.
    pub fn merge(&mut self, other: &Model) -> Result<()> {
        if self.description != other.description {
            return Err(Fault::value(format!(
                "{}: only a model with the same parameters can be merged, got {}",
                self.title, other.description
            )));
        }
        let mut merged = self.clone();
        let labels = &mut merged.labels;
        let code = |label: &Option<Label>| label.as_ref().map_or(u32::MAX, |label| labels.intern(label));
        let done = join(&mut merged.schema, &other.schema).and_then(|()| {
            merged.part.bind(&merged.schema);
            let codes: Vec<u32> = other.labels.entries().iter().map(code).collect();
            let state = other.part.part().save()?;
            merged.part.part_mut().merge_classes(&state, &other.schema, &merged.schema, &codes)
        });
        done.map_err(|fault| fault.by(&self.title))?;
        merged.part.bind(&merged.schema);
        merged.schema.mark();
        merged.part.infallible = false;
        merged.count = self.count.saturating_add(other.count);
        *self = merged;
        Ok(())
    }
}

/// Add the features, kinds and values of `theirs` to `ours`.
fn join(ours: &mut Schema, theirs: &Schema) -> Result<()> {
    for (slot, (name, &kind)) in theirs.names().zip(theirs.kinds()).enumerate() {
        let here = ours.intern(&name);
        ours.check_kind(here, kind, &"the other kind in the model to be merged")?;
        ours.set_kind(here, kind);
        let values = theirs.values(slot);
        for text in (0..values.len() as u32).filter_map(|code| values.text(code)) {
            ours.admit_nominal(here, text);
        }
    }
    Ok(())
}
