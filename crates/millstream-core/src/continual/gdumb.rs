//! GDumb (Prabhu, Torr and Dokania, 2020): store rows greedily and balanced by class while the stream passes, and learn
//! nothing; when asked, train an untrained model on the stored rows alone. The paper trains before each test. Here
//! `end_task` trains, or every `period` examples, never a prediction: a prediction stays pure, and its cost does not depend on what came before.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::json;

use crate::batch::{Batch, Rows};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::{learn_each, Learner, Then};
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, ClassPredictions, Classes, Task};

use super::buffer::{Buffer, SavedBuffer, BUFFER};
use super::guided::PERIOD;

const NAME: &str = "continual.GDumb";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Stores rows, and trains a new model on them when asked",
    merge: Merge::none("stored rows depend on the order of the stream: learn the ordered stream with one model"),
    parameters: &[
        Parameter::new("model", Kind::Part(&[Role::Classifier]), DefaultValue::Required, "classifier"),
        BUFFER.with_default(DefaultValue::Part("continual.ClassBalanced")),
        Parameter::new(
            "passes",
            Kind::Integer { low: 1, high: 100_000 },
            DefaultValue::Integer(30),
            "number of passes over the stored rows when the model is trained",
        ),
        PERIOD.with_words("number of examples after which the model is trained; 0: only when it is asked"),
    ],
    build: |arguments| {
        let unlearned = arguments.learner::<Classes>("model")?;
        Ok(Built::Classifier(Box::new(GDumb {
            model: unlearned.clone(),
            unlearned,
            buffer: Buffer::new::<Classes>(arguments)?,
            passes: arguments.size("passes")?,
            period: arguments.integer("period")? as u64,
            since: 0,
            trained: 0,
        })))
    },
};

#[derive(Clone)]
struct GDumb {
    unlearned: Box<dyn Learner<Classes>>,
    model: Box<dyn Learner<Classes>>,
    buffer: Buffer,
    passes: usize,
    period: u64,
    /// Number of examples since the last training.
    since: u64,
    /// How often a model was trained.
    trained: u64,
}

#[derive(Serialize, Deserialize)]
struct State {
    model: ByteBuf,
    buffer: SavedBuffer,
    since: u64,
    trained: u64,
}

impl Part for GDumb {
    fn save(&self) -> Result<Vec<u8>> {
        let model = ByteBuf::from(self.model.save()?);
        pack(&State { model, buffer: self.buffer.save(), since: self.since, trained: self.trained })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let buffer = self.buffer.loaded::<Classes>(NAME, state.buffer)?;
        self.model.load(&state.model)?;
        (self.buffer, self.since, self.trained) = (buffer, state.since, state.trained);
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        visit(&*self.unlearned);
        visit(&*self.model);
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        visit(&mut *self.unlearned);
        visit(&mut *self.model);
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.unlearned.memory() + self.model.memory() + self.buffer.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_batches: false, mini_batches: false, undoes: false, ..self.unlearned.abilities() }
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.model.check(x, scratch)
    }

    fn infallible(&self) -> bool {
        true
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "buffer": self.buffer.inspect(), "trained": self.trained, "model": self.model.inspect(schema) })
    }

    fn scalars(&self) -> serde_json::Value {
        json!({ "buffer": self.buffer.inspect(), "trained": self.trained })
    }

    /// The trained model.
    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        Ok((index == 0).then(|| Extracted {
            part: Classes::build(self.model.clone()),
            description: None,
            input: input.clone(),
            learned: None,
        }))
    }
}

impl Learner<Classes> for GDumb {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.model.predict(x, want, out, scratch);
    }

    fn predict_batch(&self, rows: &Rows<'_>, want: Want, scratch: &mut Scratch, then: &mut Then<'_, Classes>) {
        self.model.predict_batch(rows, want, scratch, then);
    }

    /// Store the row, and train if it is time.
    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.buffer.offer::<Classes>(x, y, w, &[]);
        self.since += 1;
        if self.since == self.period {
            self.end_task(scratch);
        }
        Ok(())
    }

    fn ends_tasks(&self) -> bool {
        true
    }

    /// Train an untrained model on the stored rows, in a new order in each pass. Rows that it refuses are skipped.
    fn end_task(&mut self, scratch: &mut Scratch) {
        let mut model = self.unlearned.clone();
        let mut order: Vec<usize> = (0..self.buffer.rows.len()).collect();
        for _ in 0..self.passes {
            for last in (1..order.len()).rev() {
                order.swap(last, self.buffer.random().below(last as u32 + 1) as usize);
            }
            for &index in &order {
                let stored = &self.buffer.rows[index];
                if let Some(y) = stored.target::<Classes>() {
                    // A row that is refused leaves the model as it was.
                    let _ = model.learn(stored.row(), y, stored.w, scratch);
                }
            }
        }
        self.model = model;
        self.since = 0;
        self.trained += 1;
    }

    fn learn_batch(
        &mut self,
        batch: &Batch<'_, Classes>,
        _: &mut ClassPredictions,
        scratch: &mut Scratch,
    ) -> usize {
        learn_each(self, batch, scratch)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// A place for two rows: with classes 0, 0, 1 one of each is stored, so that after training both are equally probable,
    /// and before it nothing is predicted.
    #[test]
    fn three_examples_by_hand() {
        let buffer = json!({ "name": "continual.ClassBalanced", "parameters": { "size": 2 } });
        let parameters = json!({ "model": "baseline.Prior", "buffer": buffer, "passes": 1 });
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(mut model) = registry::build_resolved(&description).unwrap() else { panic!() };
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for y in [0, 0, 1] {
            model.learn(Row::Plain(&[]), y, 1.0, &mut scratch).unwrap();
        }
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, None);
        model.end_task(&mut scratch);
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.probabilities, [0.5, 0.5]);
    }
}
