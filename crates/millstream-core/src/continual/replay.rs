//! Replay: stored rows are learned again with each new one (Ratcliff, 1990; Chaudhry and others, 2019, "On tiny episodic
//! memories"). The model learns the example, then `n_replay` rows drawn from the buffer, and then the buffer may store the
//! example. A stored row that the model refuses is skipped, so an example is learned whole or not at all.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::{Batch, Rows};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::{learn_each, DecisionFunction, Interval, Learner, Then};
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;

use super::buffer::{Buffer, SavedBuffer, Storable, BUFFER, N_REPLAY};

const NAME: &str = "continual.Replay";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Wrapper,
    words: "A model that learns stored rows again with each new one, so that it does not forget them",
    merge: Merge::none("stored rows depend on the order of the stream: merge models without it"),
    parameters: &[
        Parameter::new(
            "model",
            Kind::Part(&[Role::Classifier, Role::Regressor]),
            DefaultValue::Required,
            "classifier or regressor",
        ),
        BUFFER,
        N_REPLAY,
    ],
    build: |arguments| match arguments.part("model")? {
        Built::Classifier(model) => Ok(Built::Classifier(Box::new(replay(arguments, model)?))),
        Built::Regressor(model) => Ok(Built::Regressor(Box::new(replay(arguments, model)?))),
        _ => Err(arguments.absent("model")),
    },
};

fn replay<T: Storable>(arguments: &Arguments<'_>, model: Box<dyn Learner<T>>) -> Result<Replay<T>> {
    let buffer = Buffer::new::<T>(arguments)?;
    let draws = buffer.draws(arguments)?;
    Ok(Replay { model, buffer, draws, chosen: Vec::new(), skipped: 0, at_savepoint: None })
}

#[derive(Clone)]
struct Replay<T: Storable> {
    model: Box<dyn Learner<T>>,
    buffer: Buffer,
    draws: usize,
    chosen: Vec<u32>,
    /// Number of stored rows that the model has refused.
    skipped: u64,
    at_savepoint: Option<AtSavepoint<T>>,
}

#[derive(Clone)]
struct AtSavepoint<T: Storable> {
    /// A copy; none if the model records what it overwrites.
    model: Option<Box<dyn Learner<T>>>,
    skipped: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    model: ByteBuf,
    buffer: SavedBuffer,
    skipped: u64,
}

impl<T: Storable> Replay<T> {
    /// Learn by `learn`, then the drawn rows.
    fn take(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        scratch: &mut Scratch,
        learn: impl FnOnce(&mut dyn Learner<T>, &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        learn(&mut *self.model, scratch)?;
        self.buffer.draw(self.draws, &mut self.chosen);
        for &index in &self.chosen {
            let stored = &self.buffer.rows[index as usize];
            let learned = stored
                .target::<T>()
                .is_some_and(|truth| self.model.learn(stored.row(), truth, stored.w, scratch).is_ok());
            self.skipped += u64::from(!learned);
        }
        self.buffer.offer::<T>(x, y, w, &[]);
        Ok(())
    }
}

impl<T: Storable> Part for Replay<T> {
    fn save(&self) -> Result<Vec<u8>> {
        let model = ByteBuf::from(self.model.save()?);
        pack(&State { model, buffer: self.buffer.save(), skipped: self.skipped })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let buffer = self.buffer.loaded::<T>(NAME, state.buffer)?;
        self.model.load(&state.model)?;
        (self.buffer, self.skipped) = (buffer, state.skipped);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.model);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.model);
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.model.memory() + self.buffer.memory() + 4 * self.chosen.capacity()
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_batches: false, mini_batches: false, undoes: false, ..self.model.abilities() }
    }

    fn infallible(&self) -> bool {
        self.model.infallible()
    }

    fn savepoint(&mut self) -> bool {
        let model = (!self.model.savepoint()).then(|| self.model.clone());
        self.buffer.savepoint();
        self.at_savepoint = Some(AtSavepoint { model, skipped: self.skipped });
        true
    }

    fn rollback(&mut self) {
        let Some(AtSavepoint { model, skipped }) = self.at_savepoint.take() else { return };
        match model {
            Some(model) => self.model = model,
            None => self.model.rollback(),
        }
        self.buffer.rollback();
        self.skipped = skipped;
    }

    fn commit(&mut self) {
        if self.at_savepoint.take().is_some_and(|before| before.model.is_none()) {
            self.model.commit();
        }
        self.buffer.commit();
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "buffer": self.buffer.inspect(), "skipped": self.skipped, "model": self.model.inspect(schema) })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "buffer": self.buffer.inspect(), "skipped": self.skipped })
    }

    /// The model.
    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        Ok((index == 0).then(|| Extracted {
            part: T::build(self.model.clone()),
            description: None,
            input: input.clone(),
            learned: None,
        }))
    }
}

impl<T: Storable> Learner<T> for Replay<T> {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut T::Prediction, scratch: &mut Scratch) {
        self.model.predict(x, want, out, scratch);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, T>) {
        self.model.predict_batch(rows, want, scratch, then);
    }

    fn learn(&mut self, x: Row<'_>, y: T::Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch, |model, scratch| model.learn(x, y, w, scratch))
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: T::Truth,
        w: f64,
        want: Want,
        out: &mut T::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.take(x, y, w, scratch, |model, scratch| model.step(x, y, w, want, out, scratch))
    }

    fn learn_batch(&mut self, batch: &Batch<'_, T>, _: &mut T::Predictions, scratch: &mut Scratch) -> usize {
        learn_each(self, batch, scratch)
    }

    fn loss(&self, x: Row<'_>, y: T::Truth, scratch: &mut Scratch) -> Option<f64> {
        self.model.loss(x, y, scratch)
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        self.model.decision_function()
    }

    fn interval(&self) -> Option<&dyn Interval> {
        self.model.interval()
    }

    fn ends_tasks(&self) -> bool {
        self.model.ends_tasks()
    }

    fn end_task(&mut self, scratch: &mut Scratch) {
        self.model.end_task(scratch);
    }

    fn duplicate(&self) -> Box<dyn Learner<T>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::task::Numbers;

    fn build(parameters: serde_json::Value) -> Result<Box<dyn Learner<Numbers>>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters }))?;
        match registry::build_resolved(&description)? {
            Built::Regressor(model) => Ok(model),
            _ => panic!("no regressor"),
        }
    }

    /// The mean of targets, and one stored row. Row 1 (target 8): mean 8. Row 2 (target 2) and again row 1: (8 + 2 + 8)/3.
    #[test]
    fn two_examples_by_hand() {
        let buffer = json!({ "name": "continual.Reservoir", "parameters": { "size": 1 } });
        let mut model = build(json!({ "model": "baseline.TargetMean", "buffer": buffer, "n_replay": 1 })).unwrap();
        let mut scratch = Scratch::default();
        let mut predicted = 0.0;
        for y in [8.0, 2.0] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        model.predict(Row::Plain(&[]), Want::Class, &mut predicted, &mut scratch);
        assert_eq!(predicted, 6.0);
    }

    #[test]
    fn too_many_draws_and_a_buffer_of_nothing_are_refused() {
        let of = |size: usize| json!({ "name": "continual.Reservoir", "parameters": { "size": size } });
        let fault =
            build(json!({ "model": "baseline.TargetMean", "buffer": of(5), "n_replay": 6 })).err().unwrap();
        assert!(fault.to_string().contains("at most the size of the buffer, 5, got 6"), "{fault}");
        assert!(build(json!({ "model": "baseline.TargetMean", "buffer": of(0) })).is_err());
        assert!(build(json!({ "model": "baseline.TargetMean", "buffer": "continual.ClassBalanced" })).is_err());
    }
}
