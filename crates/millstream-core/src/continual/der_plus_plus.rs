//! Dark experience replay (Buzzega, Boschini, Porrello, Abati and Calderara, 2020, eq. 6): stored rows are learned again with
//! their classes, and the network is held to the scores that it had for stored rows when they were stored:
//!
//! ```text
//! loss = −ln P(y) + α mean_{(x', z') ∈ B₁} |z(x') − z'|²/K + β mean_{(x'', y'') ∈ B₂} −ln P(y'')
//! ```
//! The slope of the squared distance is limited to [−1, 1] in each score, which is the range of the slope of the cross
//! entropy. Without the limit the steps of a network of 32 units diverged within ten examples of unscaled features.
//!
//! B₁ and B₂ are drawn apart. Scores are stored as they were before the step of their example, and K is their number; a
//! class that came later is not compared.

use serde_json::Value as Json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::neural_network::classifier_network::{cross_entropy, ClassifierNetwork};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{Row, Scratch};
use crate::task::Classes;

use super::buffer::{Buffer, SavedBuffer, BUFFER, N_REPLAY};
use super::guided::{build, Method, MODEL};

const NAME: &str = "continual.DERPlusPlus";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Dark experience replay: a network that learns stored rows again, and keeps the scores it had for them",
    merge: Merge::none(
        "hidden units of separate networks do not correspond to each other: learn all tasks with one model",
    ),
    parameters: &[
        MODEL,
        BUFFER,
        N_REPLAY,
        Parameter::new(
            "score_weight",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.5),
            "factor of the squared distance from the stored scores; α in the paper",
        )
        .formerly(&["alpha"]),
        Parameter::new(
            "class_weight",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "factor of the loss of stored rows with their classes; β in the paper",
        )
        .formerly(&["beta"]),
    ],
    build: |arguments| {
        let buffer = Buffer::new::<Classes>(arguments)?;
        let draws = buffer.draws(arguments)?;
        let (score_weight, class_weight) = (arguments.float("score_weight")?, arguments.float("class_weight")?);
        let (chosen, scores) = (Vec::new(), Vec::new());
        build(arguments, DerPlusPlus { buffer, draws, score_weight, class_weight, chosen, before: None, scores })
    },
};

#[derive(Clone)]
struct DerPlusPlus {
    buffer: Buffer,
    draws: usize,
    score_weight: f64,
    class_weight: f64,
    chosen: Vec<u32>,
    /// The generator before the example.
    before: Option<Random>,
    /// The scores of the example before its step.
    scores: Vec<f64>,
}

/// ∂/∂z of factor · |z − z'|²/K over the stored scores z', within ±factor.
fn hold(scores: &mut [f64], stored: &[f64], factor: f64) {
    let known = stored.iter().filter(|score| score.is_finite()).count().max(1);
    for (index, score) in scores.iter_mut().enumerate() {
        *score = match stored.get(index) {
            Some(stored) if stored.is_finite() && score.is_finite() => {
                factor * (2.0 * (*score - stored) / known as f64).clamp(-1.0, 1.0)
            }
            _ => 0.0,
        };
    }
}

impl Method for DerPlusPlus {
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
        let DerPlusPlus { buffer, draws, score_weight, class_weight, chosen, before, scores: kept } = self;
        *before = Some(buffer.random().clone());
        let added = network.add_gradient(x, scratch, |scores| {
            kept.clear();
            kept.extend_from_slice(scores);
            cross_entropy(scores, y, w);
        });
        if !added {
            return false;
        }
        // A stored row with a gradient that is not finite is skipped.
        buffer.draw(*draws, chosen);
        for &index in chosen.iter() {
            let stored = &buffer.rows[index as usize];
            let factor = *score_weight * stored.w / chosen.len() as f64;
            network.add_gradient(stored.row(), scratch, |scores| hold(scores, &stored.scores, factor));
        }
        buffer.draw(*draws, chosen);
        for &index in chosen.iter() {
            let stored = &buffer.rows[index as usize];
            let Some(y) = stored.target::<Classes>() else { continue };
            let w = *class_weight * stored.w / chosen.len() as f64;
            network.add_gradient(stored.row(), scratch, |scores| cross_entropy(scores, y as usize, w));
        }
        true
    }

    fn forget_example(&mut self) {
        if let Some(random) = self.before.take() {
            *self.buffer.random() = random;
        }
    }

    fn after(&mut self, _network: &mut ClassifierNetwork, x: Row<'_>, y: u32, w: f64) {
        self.buffer.offer::<Classes>(x, y, w, &self.scores);
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
        self.buffer.memory() + 4 * self.chosen.capacity() + 8 * self.scores.capacity()
    }

    fn inspect(&self) -> Json {
        self.buffer.inspect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z = (1.5, 1, 5), z' = (1, 3), α = 1/2: ∂/∂z = 1/2 · (0.5, −1) with −2 limited to −1, and 0 for the class that came
    /// later.
    #[test]
    fn the_slope_of_stored_scores_by_hand() {
        let mut scores = [1.5, 1.0, 5.0];
        hold(&mut scores, &[1.0, 3.0], 0.5);
        assert_eq!(scores, [0.25, -0.5, 0.0]);
        let mut scores = [1.25, f64::NEG_INFINITY];
        hold(&mut scores, &[1.0, f64::NEG_INFINITY], 0.5);
        assert_eq!(scores, [0.25, 0.0]);
    }
}
