//! A regressor that learns a function of the target, and whose predictions are transformed back.
//!
//! As in River, the function first learns the target, and the regressor then learns its new value. A prediction is
//! transformed back with what was learned before. A wrapper over a `TargetMap` has the abilities of the regressor: it
//! passes batches on with other targets, and reverts what both have learned together.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::batch::{Batch, Rows};
use crate::declaration::{Built, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{Interval, Learner, MiniBatch, Then};
use crate::merging::Merger;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Extracted, Part};
use crate::row::{finite, Row, Scratch, Sparse, Want};
use crate::schema::Schema;
use crate::task::Numbers;

/// The wrapped regressor.
pub const MODEL: Parameter =
    Parameter::new("model", Kind::Part(&[Role::Regressor]), DefaultValue::Required, "regressor");

/// A function of the target, its inverse, and what both have learned.
pub trait TargetMap: Clone + Send + Sync + 'static {
    /// What is learned from targets. One without is equal after any number of targets.
    type State: Copy + Default + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Whether nothing is learned: then models that learned parts of a stream can be merged.
    const IS_FIXED: bool;

    fn name(&self) -> &'static str;
    /// The state after a target of a positive weight; None if it would overflow.
    fn updated(&self, state: &Self::State, y: f64, w: f64) -> Option<Self::State>;
    /// The target that the regressor learns; a fault if the function has no value there.
    fn forward(&self, state: &Self::State, y: f64) -> Result<f64>;
    /// A prediction in the units of the target. It need not be finite.
    fn inverse(&self, state: &Self::State, z: f64) -> f64;
    /// Whether the state can have been learned.
    fn is_valid(&self, state: &Self::State) -> bool;
    /// Whether moderate targets, however many, are never refused and become moderate ones.
    fn infallible(&self, state: &Self::State) -> bool;
    fn inspect(&self, state: &Self::State) -> serde_json::Map<String, Json>;
}

#[derive(Clone)]
pub struct TransformedTarget<M: TargetMap> {
    map: M,
    state: M::State,
    /// The state before the last example.
    before: M::State,
    model: Box<dyn Learner<Numbers>>,
    at_savepoint: Option<M::State>,
}

#[derive(Serialize, Deserialize)]
struct Saved<S> {
    target: S,
    model: ByteBuf,
}

impl<M: TargetMap> TransformedTarget<M> {
    pub fn build(arguments: &Arguments<'_>, map: M) -> Result<Built> {
        let model = arguments.learner::<Numbers>("model")?;
        let state = M::State::default();
        Ok(Built::Regressor(Box::new(TransformedTarget { map, state, before: state, model, at_savepoint: None })))
    }

    /// The state after a target, and the target that the regressor learns.
    #[inline]
    fn next(&self, state: &M::State, y: f64, w: f64) -> Result<(M::State, f64)> {
        let next = match w > 0.0 {
            true => self.map.updated(state, y, w).ok_or_else(|| Fault::overflow(self.map.name()))?,
            false => *state,
        };
        Ok((next, self.map.forward(&next, y)?))
    }

    #[inline]
    fn back(&self, state: &M::State, z: f64) -> f64 {
        finite(self.map.inverse(state, z))
    }

    /// The targets that the regressor learns, up to the first refused one.
    fn targets(&self, batch: &Batch<'_, Numbers>, targets: &mut Vec<f64>) {
        let mut state = self.state;
        for (row, &y) in batch.truths.iter().enumerate() {
            let Ok((next, z)) = self.next(&state, y, batch.weight(row)) else { return };
            state = next;
            targets.push(z);
        }
    }

    /// After the regressor has learned the first `done` rows: learn their targets, and transform the predictions back.
    fn follow(&mut self, batch: &Batch<'_, Numbers>, done: usize, predictions: &mut [f64]) {
        for row in 0..done {
            self.before = self.state;
            if let Some(prediction) = predictions.get_mut(row) {
                *prediction = self.back(&self.state, *prediction);
            }
            let w = batch.weight(row);
            if w > 0.0 {
                self.state = self.map.updated(&self.state, batch.truths[row], w).unwrap_or(self.state);
            }
        }
    }

    /// The state of the regressor in a saved state.
    fn saved_model(&self, bytes: &[u8]) -> Result<Saved<M::State>> {
        let saved: Saved<M::State> = unpack(self.map.name(), bytes)?;
        require(
            self.map.name(),
            self.map.is_valid(&saved.target),
            "what was learned of the target is impossible",
        )?;
        Ok(saved)
    }
}

impl<M: TargetMap> Part for TransformedTarget<M> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&Saved { target: self.state, model: ByteBuf::from(self.model.save()?) })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let saved = self.saved_model(bytes)?;
        self.model.load(&saved.model)?;
        (self.state, self.before) = (saved.target, saved.target);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.model);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.model);
    }

    fn savepoint(&mut self) -> bool {
        let kept = self.model.savepoint();
        self.at_savepoint = kept.then_some(self.state);
        kept
    }

    fn rollback(&mut self) {
        if let Some(state) = self.at_savepoint.take() {
            self.state = state;
            self.model.rollback();
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
        self.model.commit();
    }

    fn prefetch(&mut self, x: Sparse<'_>) {
        self.model.prefetch(x);
    }

    fn infallible(&self) -> bool {
        self.map.infallible(&self.state) && self.model.infallible()
    }

    fn change_basis(&self, change: &[f64]) -> Result<Option<Vec<u8>>> {
        let mut changed = self.clone();
        if let Some(state) = changed.model.change_basis(change)? {
            changed.model.load(&state)?;
        }
        changed.save().map(Some)
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        if !M::IS_FIXED {
            return Err(Fault::value("cannot be merged"));
        }
        let saved = self.saved_model(merger.other.state)?;
        let base = merger.base.map(|base| self.saved_model(base.state)).transpose()?;
        self.model.merge_state(&merger.inner(&saved.model, base.as_ref().map(|base| &base.model[..])))
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let mut found = self.map.inspect(&self.state);
        found.insert("model".into(), self.model.inspect(schema));
        Json::Object(found)
    }

    fn scalars(&self) -> Json {
        Json::Object(self.map.inspect(&self.state))
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        Ok((index == 0).then(|| Extracted {
            part: Built::Regressor(self.model.clone()),
            description: None,
            input: input.clone(),
            learned: None,
        }))
    }
}

impl<M: TargetMap> Learner<Numbers> for TransformedTarget<M> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut f64, scratch: &mut Scratch) {
        self.model.predict(x, want, out, scratch);
        *out = self.back(&self.state, *out);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, Numbers>) {
        self.model.predict_batch(rows, want, scratch, &mut |prediction| {
            *prediction = self.back(&self.state, *prediction);
            then(prediction);
        });
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (next, z) = self.next(&self.state, y, w)?;
        self.model.learn(x, z, w, scratch)?;
        (self.before, self.state) = (self.state, next);
        Ok(())
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (next, z) = self.next(&self.state, y, w)?;
        self.model.step(x, z, w, want, out, scratch)?;
        *out = self.back(&self.state, *out);
        (self.before, self.state) = (self.state, next);
        Ok(())
    }

    fn step_apart(
        &mut self,
        asked: Row<'_>,
        x: Row<'_>,
        y: f64,
        w: f64,
        want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (next, z) = self.next(&self.state, y, w)?;
        self.model.step_apart(asked, x, z, w, want, out, scratch)?;
        *out = self.back(&self.state, *out);
        (self.before, self.state) = (self.state, next);
        Ok(())
    }

    fn step_batch(
        &mut self,
        batch: &Batch<'_, Numbers>,
        want: Want,
        out: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) -> usize {
        let mut targets = scratch.take_numbers();
        self.targets(batch, &mut targets);
        let start = out.len();
        let some = batch.slice(0, targets.len());
        let done = self.model.step_batch(&Batch { truths: &targets, ..some }, want, out, scratch);
        self.follow(batch, done, &mut out[start..]);
        scratch.give_numbers(targets);
        done
    }

    fn learn_batch(&mut self, batch: &Batch<'_, Numbers>, buffer: &mut Vec<f64>, scratch: &mut Scratch) -> usize {
        let mut targets = scratch.take_numbers();
        self.targets(batch, &mut targets);
        let some = batch.slice(0, targets.len());
        let done = self.model.learn_batch(&Batch { truths: &targets, ..some }, buffer, scratch);
        self.follow(batch, done, &mut []);
        scratch.give_numbers(targets);
        done
    }

    /// That of the regressor, at the transformed target.
    fn loss(&self, x: Row<'_>, y: f64, scratch: &mut Scratch) -> Option<f64> {
        let z = self.map.forward(&self.state, y).ok()?;
        self.model.loss(x, z, scratch)
    }

    fn interval(&self) -> Option<&dyn Interval> {
        self.model.interval().map(|_| self as &dyn Interval)
    }

    fn mini_batch(&mut self) -> Option<&mut dyn MiniBatch<Numbers>> {
        match self.model.mini_batch().is_some() {
            true => Some(self),
            false => None,
        }
    }

    fn undo(&mut self) {
        self.model.undo();
        self.state = self.before;
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

impl<M: TargetMap> Interval for TransformedTarget<M> {
    fn interval(&self, x: Row<'_>, coverage: f64, scratch: &mut Scratch) -> Option<(f64, f64)> {
        let (low, high) = self.model.interval()?.interval(x, coverage, scratch)?;
        let (low, high) = (self.back(&self.state, low), self.back(&self.state, high));
        // The inverse of a falling function exchanges them.
        Some((low.min(high), low.max(high)))
    }
}

impl<M: TargetMap> MiniBatch<Numbers> for TransformedTarget<M> {
    fn accumulate(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        let (next, z) = self.next(&self.state, y, w)?;
        if let Some(model) = self.model.mini_batch() {
            model.accumulate(x, z, w, scratch)?;
        }
        (self.before, self.state) = (self.state, next);
        Ok(())
    }

    fn apply(&mut self) -> Result<()> {
        self.model.mini_batch().map_or(Ok(()), |model| model.apply())
    }
}

/// Numbers by name, for `TargetMap::inspect`.
pub fn numbers<const N: usize>(numbers: [(&str, f64); N]) -> serde_json::Map<String, Json> {
    numbers.into_iter().map(|(name, number)| (name.into(), json!(number))).collect()
}
