//! Averaged gradient episodic memory (Chaudhry, Ranzato, Rohrbach and Elhoseiny, 2019, eq. 11): a step that would raise the
//! mean loss of drawn stored rows, by their gradient g̃, is projected so that it does not:
//!
//! ```text
//! g ← g − (gᵀg̃ / g̃ᵀg̃) g̃   if gᵀg̃ < 0
//! ```
//! Both gradients are taken at the parameters before the step. Stored rows come from any buffer, as the stream passes.

use serde_json::Value as Json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::neural_network::classifier_network::{cross_entropy, ClassifierNetwork};
use crate::neural_network::gradient::Gradient;
use crate::numeric::random::Random;
use crate::row::{Row, Scratch};
use crate::task::Classes;

use super::buffer::{Buffer, SavedBuffer, BUFFER, N_REPLAY};
use super::guided::{build, Method, MODEL};

const NAME: &str = "continual.AGEM";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "A-GEM: a network whose steps do not raise the mean loss of stored rows",
    merge: Merge::none(
        "hidden units of separate networks do not correspond to each other: learn all tasks with one model",
    ),
    parameters: &[MODEL, BUFFER, N_REPLAY],
    build: |arguments| {
        let buffer = Buffer::new::<Classes>(arguments)?;
        let draws = buffer.draws(arguments)?;
        build(arguments, Agem { buffer, draws, chosen: Vec::new(), before: None, reference: Gradient::default() })
    },
};

#[derive(Clone)]
struct Agem {
    buffer: Buffer,
    draws: usize,
    chosen: Vec<u32>,
    /// The generator before the example.
    before: Option<Random>,
    reference: Gradient,
}

impl Method for Agem {
    const NAME: &'static str = NAME;
    const ENDS_TASKS: bool = false;
    type State = SavedBuffer;

    fn add(
        &mut self,
        network: &mut ClassifierNetwork,
        x: Row<'_>,
        y: usize,
        w: f64,
        scratch: &mut Scratch,
    ) -> bool {
        let Agem { buffer, draws, chosen, before, reference } = self;
        *before = Some(buffer.random().clone());
        if !network.add_gradient(x, scratch, |scores| cross_entropy(scores, y, w)) {
            return false;
        }
        buffer.draw(*draws, chosen);
        std::mem::swap(&mut network.gradient, reference);
        let mut weight = 0.0;
        for &index in chosen.iter() {
            let stored = &buffer.rows[index as usize];
            let Some(y) = stored.target::<Classes>() else { continue };
            // A stored row with a gradient that is not finite says nothing.
            if network.add_gradient(stored.row(), scratch, |scores| cross_entropy(scores, y as usize, stored.w)) {
                weight += 1.0;
            }
        }
        std::mem::swap(&mut network.gradient, reference);
        if weight > 0.0 {
            network.project_away(reference);
            network.clear(reference);
        }
        true
    }

    fn forget_example(&mut self) {
        if let Some(random) = self.before.take() {
            *self.buffer.random() = random;
        }
    }

    fn after(&mut self, _network: &mut ClassifierNetwork, x: Row<'_>, y: u32, w: f64) {
        self.buffer.offer::<Classes>(x, y, w, &[]);
    }

    fn buffer(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn save(&self) -> SavedBuffer {
        self.buffer.save()
    }

    fn load(&mut self, state: SavedBuffer, _network: &ClassifierNetwork) -> Result<()> {
        self.buffer = self.buffer.loaded::<Classes>(NAME, state)?;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.buffer.memory() + self.reference.memory() + 4 * self.chosen.capacity()
    }

    fn inspect(&self) -> Json {
        self.buffer.inspect()
    }
}
