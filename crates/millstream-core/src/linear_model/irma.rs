//! IRMA, the incremental risk minimisation algorithm (Buschermöhle, Schoenke, Rosemann and Brockmann, 2013, "The
//! incremental risk functional: basics of a novel incremental learning approach", IEEE SMC, eq. 4 to 9).
//!
//! Each example changes the function as little as possible over the region Ω of its inputs:
//!
//! ```text
//! θ ← argmin λ/2 ∫_Ω ((θ_t − θ)ᵀφ)² + w/2 ℓ(y, θᵀφ(x)) = θ_t + a A⁻¹φ,  A = ∫_Ω φφᵀ
//! ```
//! with a = (y − θ_tᵀφ) / (λ + φᵀA⁻¹φ) for the squared loss of the paper; the stiffness λ grows from example to example.
//! For other losses see proximal.rs, for A incremental_risk.rs: it is the identity here, in an orthonormal basis.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::losses::Loss;
use crate::merging::Merge;
use crate::optim::Features;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

use super::incremental_risk::{self as risk, Ground, GroundState, Stiffness};
use super::proximal;

const NAME: &str = "linear_model.IRMA";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words:
        "Incremental risk minimisation: each example changes the function as little as possible over its domain",
    merge: Merge::none("each example changes the function over its whole domain: use linear_model.RLS"),
    parameters: &[
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            DefaultValue::Part("losses.Squared"),
            "loss at the example: a convex regression loss",
        ),
        risk::STIFFNESS,
        risk::GROWTH,
        risk::SCHEDULE,
        risk::CAP,
        risk::GRAM,
    ],
    build: |arguments| {
        let stiffness = Stiffness::new(arguments)?;
        Ok(Built::Regressor(Box::new(Irma {
            loss: risk::loss(arguments, false)?,
            stiffness,
            ground: Ground::new(arguments)?,
            current: stiffness.start,
            weights: Vec::new(),
            spare: Vec::new(),
        })))
    },
};

#[derive(Clone)]
struct Irma {
    loss: Loss,
    stiffness: Stiffness,
    ground: Ground,
    /// λ for the next example.
    current: f64,
    /// Of ψ.
    weights: Vec<f64>,
    /// The weights after a step, before they are committed.
    spare: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    ground: GroundState,
    stiffness: f64,
    weights: Vec<f64>,
}

impl Irma {
    fn state(&self, ground: GroundState) -> Result<Vec<u8>> {
        pack(&State { ground, stiffness: self.current, weights: self.weights.clone() })
    }

    #[inline]
    fn answer(&self, score: f64) -> f64 {
        self.loss.mean(finite(score)).min(f64::MAX)
    }

    fn check_target(&self, y: f64) -> Result<()> {
        if y < 0.0 && self.loss.for_counts() {
            return Err(Fault::value(format!(
                "{NAME}: with losses.Poisson the target must not be negative, got {}",
                Shown(y)
            )));
        }
        Ok(())
    }

    /// Learn from ψ; gives the score before.
    #[inline]
    fn descend(&mut self, features: Features<'_>, y: f64, w: f64) -> Result<f64> {
        let (score, square) = risk::score_and_square(&self.weights, features);
        let a = proximal::step(&self.loss, y, score, square, self.current / w);
        if !risk::propose(&self.weights, features, a, &mut self.spare) {
            return Err(Fault::overflow(NAME));
        }
        risk::commit(&mut self.weights, features, &mut self.spare);
        self.current = self.stiffness.after(self.current);
        Ok(score)
    }

    fn take(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<f64> {
        self.check_target(y)?;
        let (before, fresh) = (self.ground.grow(NAME, x)?, self.weights.len());
        self.weights.resize(self.ground.width(), 0.0);
        // Moved out while it is read, since the features may borrow from it.
        let ground = std::mem::take(&mut self.ground);
        let learned = ground.with(x, scratch, |features, _| self.descend(features, y, w));
        self.ground = ground;
        if learned.is_err() {
            self.ground.shrink(before);
            self.weights.truncate(fresh);
        }
        learned
    }
}

impl Part for Irma {
    fn save(&self) -> Result<Vec<u8>> {
        self.state(self.ground.state.clone())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.stiffness.validate(NAME, state.stiffness)?;
        require(NAME, all_finite(&state.weights), "a weight is not finite")?;
        let mut ground = self.ground.clone();
        ground.load(NAME, state.ground)?;
        let learned = !state.weights.is_empty();
        require(NAME, learned || ground.state.coordinates.width() == 0, "coordinates without weights")?;
        require(NAME, !learned || state.weights.len() == ground.width(), "a wrong number of weights")?;
        (self.ground, self.current, self.weights) = (ground, state.stiffness, state.weights);
        Ok(())
    }

    fn memory(&self) -> usize {
        let buffers = 8 * (self.weights.capacity() + self.spare.capacity());
        std::mem::size_of::<Self>() + buffers + self.ground.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            missing_is_zero: true,
            wants_orthonormal: self.ground.wants_orthonormal(),
            ..Abilities::default()
        }
    }

    fn change_basis(&self, change: &[f64]) -> Result<Option<Vec<u8>>> {
        self.state(self.ground.change_basis(change)).map(Some)
    }

    fn inspect(&self, schema: &Schema) -> Json {
        json!({ "weights": self.ground.named(&self.weights, schema), "stiffness": self.current })
    }
}

impl Irma {
    fn predicted(&self, x: Row<'_>, scratch: &mut Scratch) -> f64 {
        self.ground.with(x, scratch, |features, _| self.answer(risk::score_and_square(&self.weights, features).0))
    }
}

impl Learner<Numbers> for Irma {
    fn predict(&self, x: Row<'_>, _want: Want, out: &mut f64, scratch: &mut Scratch) {
        *out = self.predicted(x, scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: f64, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y, w, scratch).map(drop)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: f64,
        w: f64,
        _want: Want,
        out: &mut f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match x {
            Row::Plain(values) if self.ground.is_plain(values) => {
                self.check_target(y)?;
                let score = self.descend(Features::Dense(values), y, w)?;
                *out = self.answer(score);
                Ok(())
            }
            _ => {
                *out = self.predicted(x, scratch);
                self.take(x, y, w, scratch).map(drop)
            }
        }
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Learner<Numbers>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Regressor(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// A = [[4, 2], [2, 5]], so A⁻¹ = [[5, −2], [−2, 4]] / 16; φ = (2, 1): A⁻¹φ = (8, 0) / 16 = (1/2, 0), φᵀA⁻¹φ = 1.
    /// λ = 3, y = 8: a = 8 / (3 + 1) = 2, θ = (1, 0), which predicts 2 here. Then λ = 6: a = 6 / 7.
    #[test]
    fn one_step_by_hand() {
        let mut model = build(json!({ "gram": [[4.0, 2.0], [2.0, 5.0]], "stiffness": 3.0, "growth": 2.0 }));
        let mut scratch = Scratch::default();
        let x = Row::Plain(&[2.0, 1.0]);
        assert_eq!(model.step_number(x, 8.0, 1.0, &mut scratch).unwrap(), 0.0);
        assert!((model.number(x, &mut scratch) - 2.0).abs() < 1e-15);
        assert!(model.number(Row::Plain(&[0.0, 1.0]), &mut scratch).abs() < 1e-15);
        model.learn(x, 8.0, 1.0, &mut scratch).unwrap();
        assert!((model.number(x, &mut scratch) - (2.0 + 6.0 / 7.0)).abs() < 1e-14);
    }

    /// 1.05^100000 is beyond what a number can hold.
    #[test]
    fn the_stiffness_saturates() {
        let mut model = build(json!({ "cap": 1e9 }));
        let mut scratch = Scratch::default();
        for i in 0..100_000 {
            model.learn(Row::Plain(&[f64::from(i % 7), 1.0]), 1.0, 1.0, &mut scratch).unwrap();
        }
        let mut schema = Schema::default();
        schema.widen(2);
        assert_eq!(model.inspect(&schema)["stiffness"], json!(1e9));
        assert!((model.number(Row::Plain(&[0.0, 1.0]), &mut scratch) - 1.0).abs() < 0.1);
    }
}
