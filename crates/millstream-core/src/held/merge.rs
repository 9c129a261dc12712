//! Merging of what is held: parameters, base, names and labels. The components do the rest (`merging`).
//!
//! A base is recognised by its version, a digest of everything that it saves. `fork` records the version in a copy, which
//! keeps it while it learns, and in its files. So a delta whose base is another model is refused, and files without a
//! record still load.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::fault::{Fault, Result};
use crate::labels::Labels;
use crate::merging::{self, Exactness, Merge, Merger, Side};
use crate::numeric::xxh64::xxh64;
use crate::schema::Schema;

use super::state::pack;
use super::{Held, Holdable};

/// The model that another one continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    version: u64,
    count: u64,
}

/// Which seeds two components must have to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    Same,
    Any,
    Different,
}

impl<P: Holdable> Held<P> {
    /// How exactly it can be merged, and the component that this is due to.
    pub fn merging(&self) -> (String, Merge) {
        merging::of_description(&self.description)
    }

    /// A digest of description, names, labels, count and state: equal for equal models, whatever their origin.
    pub fn version(&self) -> Result<u64> {
        let head = pack(&(self.description.to_string(), &self.schema, &self.labels, self.count))?;
        Ok(xxh64(&self.part.save()?, xxh64(&head, 0)))
    }

    /// Record the present state as the base of what is learned from now on.
    pub fn fork(&mut self) -> Result<()> {
        self.origin = Some(Origin { version: self.version()?, count: self.count });
        Ok(())
    }

    /// Merge `other`, the same component after another part of the stream, or leave everything as it was. Features,
    /// nominal values and labels are matched by name. If both continued `base`, that counts once.
    pub fn merge(&mut self, other: &Self, base: Option<&Self>) -> Result<()> {
        self.check_name(other)?;
        let (who, merge) = self.merging();
        if merge.exactness == Exactness::None {
            let because = if *self.title == *who { String::new() } else { format!("{who}: ") };
            return Err(Fault::value(format!("{}: cannot be merged: {because}{}", self.title, merge.words)));
        }
        self.check_parameters(other)?;
        let origin = base.map(|base| self.check_base(other, base)).transpose()?;
        let merged = self.merged(other, base).map_err(|fault| fault.by(&self.title))?;
        *self = merged;
        self.origin = origin;
        Ok(())
    }

    fn merged(&self, other: &Self, base: Option<&Self>) -> Result<Self> {
        let mut merged = self.clone();
        let mut codes_of = |held: &Self| -> Result<Vec<u32>> {
            join(&mut merged.schema, &held.schema)?;
            let entries = held.labels.entries().iter();
            Ok(entries.map(|label| label.as_ref().map_or(u32::MAX, |label| merged.labels.intern(label))).collect())
        };
        let codes = codes_of(other)?;
        let base_codes = base.map(&mut codes_of).transpose()?.unwrap_or_default();
        let state = other.part.save()?;
        let base_state = base.map(|base| base.part.save()).transpose()?.unwrap_or_default();
        let merger = Merger {
            other: Side { state: &state, schema: &other.schema, codes: &codes, count: other.count as f64 },
            base: base.map(|base| Side {
                state: &base_state,
                schema: &base.schema,
                codes: &base_codes,
                count: base.count as f64,
            }),
            ours: &merged.schema,
            count: self.count as f64,
        };
        merged.part.merge(&merger, &merged.labels)?;
        merged.schema.mark();
        let shared = base.map_or(0, |base| base.count);
        merged.count = self.count.saturating_add(other.count).saturating_sub(shared);
        Ok(merged)
    }

    fn check_name(&self, other: &Self) -> Result<()> {
        match self.description["name"] == other.description["name"] {
            true => Ok(()),
            false => Err(Fault::wrong_type(format!(
                "{}: only the same {} can be merged, got {}",
                self.title,
                P::WORD,
                other.title
            ))),
        }
    }

    /// Refuse other parameters, naming those that differ.
    fn check_parameters(&self, other: &Self) -> Result<()> {
        let (ours, theirs) = (&*self.description, &*other.description);
        let seeds = self.part.seeds();
        let mut different = Vec::new();
        differences("", &ours["parameters"], &theirs["parameters"], &mut different);
        different.retain(|(path, _)| seeds == Seeds::Same || path != "seed");
        if !different.is_empty() {
            let shown: Vec<String> = different.into_iter().take(3).map(|(_, shown)| shown).collect();
            return Err(Fault::value(format!(
                "{}: can be merged if the parameters are equal, got {}",
                self.title,
                shown.join(", ")
            )));
        }
        let seed = &ours["parameters"]["seed"];
        if seeds == Seeds::Different && *seed == theirs["parameters"]["seed"] {
            return Err(Fault::value(format!(
                "{}: samples of two parts of a stream need different seeds, or they would keep the rows with the same \
                 numbers; both have seed {seed}",
                self.title
            )));
        }
        Ok(())
    }

    /// Refuse a model that did not start from `base`.
    fn check_base(&self, other: &Self, base: &Self) -> Result<Origin> {
        self.check_name(base)?;
        let expected = Origin { version: base.version()?, count: base.count };
        for (whose, held) in [("this model", self), ("the other model", other)] {
            let origin = match held.origin {
                Some(origin) if origin == expected => continue,
                // The base itself, which has learned nothing since.
                None if held.count == base.count && held.version()? == expected.version => continue,
                origin => origin,
            };
            let found = match origin {
                None => "has no record of its base".to_string(),
                Some(Origin { version, count }) => {
                    format!("started from another one, version {version:016x} with {count} examples")
                }
            };
            return Err(Fault::value(format!(
                "{}: cannot be merged with this base, version {:016x} with {} examples: {whose} {found}; let copies made \
                 by base.fork() learn",
                self.title, expected.version, expected.count
            )));
        }
        Ok(expected)
    }
}

/// The values in which two sets of parameters differ, each with its path.
fn differences(path: &str, ours: &Json, theirs: &Json, found: &mut Vec<(String, String)>) {
    let inner = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => {
            for (key, value) in a.iter().filter(|(key, _)| *key != "parameters") {
                differences(&inner(key), value, b.get(key).unwrap_or(&Json::Null), found);
            }
            // Components: the path of a parameter needs no word for it.
            if let (Some(a), Some(b)) = (a.get("parameters"), b.get("parameters")) {
                differences(path, a, b, found);
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&inner(&index.to_string()), a, b, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push((path.to_string(), format!("{path} {ours} and {theirs}"))),
    }
}

/// Add the features, kinds and values of `theirs` to `ours`.
pub(super) fn join(ours: &mut Schema, theirs: &Schema) -> Result<()> {
    for (slot, (name, &kind)) in theirs.names().zip(theirs.kinds()).enumerate() {
        let here = ours.intern(&name);
        ours.check_kind(here, kind, &"the other kind in the model to be merged")?;
        ours.set_kind(here, kind);
        let values = theirs.values(slot);
        for text in (0..values.len() as u32).filter_map(|code| values.text(code)) {
            // The values of both are kept, also beyond the limit on what one stream may add.
            match ours.is_key(here as usize) {
                true => drop(ours.admit_nominal(here, text)),
                false => drop(ours.intern_value(here, text)),
            }
        }
    }
    Ok(())
}

/// The fault of a model whose labels are too many together.
pub(super) fn check_classes(labels: &Labels, most: usize) -> Result<()> {
    match labels.known() <= most {
        true => Ok(()),
        false => Err(Fault::value(format!(
            "supports {most} classes, but the labels of both models are {} together",
            labels.known()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::held;

    fn mean(numbers: &[f64]) -> held::Statistic {
        let mut mean = held::Statistic::new(&json!({ "name": "stats.Mean" })).expect("declared");
        numbers.iter().for_each(|&x| mean.update(x, 0.0, 1.0).expect("finite"));
        mean
    }

    /// Base 1, 2; then 3 here and 8 there: the mean of 1, 2, 3, 8 is 3.5, and the base counts once.
    #[test]
    fn a_base_counts_once() {
        let mut base = mean(&[1.0, 2.0]);
        base.fork().expect("saved");
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        ours.update(3.0, 0.0, 1.0).expect("finite");
        theirs.update(8.0, 0.0, 1.0).expect("finite");
        ours.merge(&theirs, Some(&base)).expect("the same base");
        assert!((ours.get() - 3.5).abs() < 1e-12);
        assert_eq!(ours.count(), 4);
        // A third delta of the same base.
        let mut third = held::Statistic::load(&base.save().expect("saved")).expect("loads");
        third.update(6.0, 0.0, 1.0).expect("finite");
        ours.merge(&third, Some(&base)).expect("the same base");
        assert!((ours.get() - 4.0).abs() < 1e-12);
        let before = ours.save().expect("saved");
        let fault = ours.merge(&mean(&[1.0, 2.0, 3.0]), Some(&base)).expect_err("no record");
        assert!(fault.to_string().contains("the other model has no record of its base"), "{fault}");
        assert_eq!(ours.save().expect("saved"), before);
    }

    #[test]
    fn differences_are_named() {
        let pipeline = |l2: f64| {
            let rls = json!({ "name": "linear_model.RLS", "parameters": { "l2": l2 } });
            json!({ "name": "compose.Pipeline", "parameters": { "steps": [{ "name": "preprocessing.Normalizer" }, rls] } })
        };
        let mut ours = held::Model::new(&pipeline(1.0)).expect("declared");
        let theirs = held::Model::new(&pipeline(2.0)).expect("declared");
        let fault = ours.merge(&theirs, None).expect_err("other parameters");
        assert_eq!(
            fault.to_string(),
            "Normalizer | RLS: can be merged if the parameters are equal, got steps.1.l2 1.0 and 2.0"
        );
    }
}
