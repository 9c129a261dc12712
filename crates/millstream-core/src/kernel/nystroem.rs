//! The Nyström map: one feature per landmark, with inner products that approximate the kernel.
//!
//! Williams and Seeger (2001), "Using the Nyström method to speed up kernel machines". With landmarks z and their Gram
//! matrix K = L Lᵀ, the features u(x) = L⁻¹ (k(zᵢ, x))ᵢ have u(x)·u(y) = kₓᵀK⁻¹k_y, the kernel of the projections on the
//! span of the landmarks. scikit-learn writes K^(−1/2) for L⁻¹, which is the same but for a rotation; with L⁻¹ a new
//! landmark adds a feature and leaves the others as they were, so that the weights of the
//! following learner stay valid while landmarks are added.
//!
//! Landmarks are the first rows that are not nearly in the span of those before; a redundant row would
//! add nothing. They cannot be a random sample of the stream, as in a batch: once a learner uses a feature it must
//! not change. The features of missing landmarks are 0.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::dictionary::{Dictionary, Located};
use super::kernels::{Kernel, KERNEL};
use crate::linear_algebra::growing_cholesky::{GrowingCholesky, LEAST_FRACTION};

const NAME: &str = "kernel.Nystroem";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Nystroem approximation of a kernel by landmarks, for linear learners at constant cost per example",
    merge: Merge::none("landmarks depend on the order of rows: use kernel.RandomFourierFeatures"),
    parameters: &[
        KERNEL,
        Parameter::new(
            "n_components",
            Kind::Integer { low: 1, high: 10_000 },
            DefaultValue::Integer(100),
            "number of landmarks, and of output features",
        ),
        Parameter::new(
            "tolerance",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.01),
            "approximation error, as a fraction of k(x, x), above which a row becomes a landmark",
        ),
    ],
    build: |arguments| {
        let kernel = Kernel::of(arguments)?;
        Ok(Built::Transformer(Box::new(Nystroem {
            kernel,
            count: arguments.size("n_components")?,
            tolerance: arguments.float("tolerance")?,
            state: State::default(),
            undo: None,
            at_savepoint: None,
        })))
    },
};

#[derive(Clone)]
struct Nystroem {
    kernel: Kernel,
    count: usize,
    tolerance: f64,
    state: State,
    /// Undo information of the last `learn`: the width before, and whether the row became a landmark.
    undo: Option<(usize, bool)>,
    /// The width and the number of landmarks at the last savepoint.
    at_savepoint: Option<(usize, usize)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    landmarks: Dictionary,
    factor: GrowingCholesky,
}

impl Nystroem {
    /// Whether learning `x` has no effect.
    fn settled(&self, x: Row<'_>) -> bool {
        self.state.landmarks.len() == self.count && self.state.landmarks.knows(x)
    }
}

impl Part for Nystroem {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state: State = unpack(NAME, bytes)?;
        state.landmarks.revive(NAME, &self.kernel, state.factor.len())?;
        require(NAME, state.landmarks.len() <= self.count, "too many landmarks")?;
        state.factor.validate(NAME, state.landmarks.len())?;
        let ordered = state.factor.indices.iter().enumerate().all(|(row, &index)| row == index as usize);
        require(NAME, ordered, "a landmark is out of place")?;
        self.state = state;
        self.undo = None;
        Ok(())
    }

    /// Landmarks are never removed.
    fn savepoint(&mut self) -> bool {
        self.at_savepoint = Some((self.state.landmarks.points.width(), self.state.landmarks.len()));
        true
    }

    fn rollback(&mut self) {
        let Some((width, landmarks)) = self.at_savepoint.take() else { return };
        while self.state.landmarks.len() > landmarks {
            self.state.landmarks.pop();
            self.state.factor.pop();
        }
        self.state.landmarks.shrink(width);
        self.undo = None;
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.landmarks.memory() + self.state.factor.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let landmarks = &self.state.landmarks;
        let shown: Vec<_> = (0..landmarks.len()).map(|index| landmarks.named(index, schema)).collect();
        json!({ "landmarks": shown })
    }
}

impl Transformer for Nystroem {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let located = Located::new(&self.state.landmarks, &self.kernel, x, scratch);
        let mut u = scratch.take_numbers();
        self.state.factor.forward(&located.row, 0.0, &mut u);
        let features = out.plain(self.count);
        features.fill(0.0);
        features.iter_mut().zip(&u).for_each(|(feature, &u)| *feature = finite(u));
        scratch.give_numbers(u);
        located.release(scratch);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        self.undo = None;
        if self.settled(x) {
            return Ok(());
        }
        let Nystroem { kernel, state: State { landmarks, factor }, .. } = self;
        let before = match landmarks.knows(x) {
            true => landmarks.points.width(),
            false => landmarks.grow(x),
        };
        let located = Located::new(landmarks, kernel, x, scratch);
        let itself = kernel.itself(&located.x);
        let mut u = scratch.take_numbers();
        let distance = factor.forward(&located.row, itself, &mut u);
        let sound = all_finite(&located.row) && itself.is_finite() && all_finite(&u) && distance.is_finite();
        let apart = distance > self.tolerance.max(LEAST_FRACTION) * itself.abs() && landmarks.len() < self.count;
        if sound && apart {
            factor.push(landmarks.len(), &u, distance);
            landmarks.push(&located.x, itself);
        }
        scratch.give_numbers(u);
        located.release(scratch);
        if !sound {
            landmarks.shrink(before);
            return Err(Fault::overflow(NAME));
        }
        self.undo = Some((before, apart));
        Ok(())
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, before, scratch);
        if self.settled(x) {
            self.undo = None;
            after.copy_from(before.row());
            return Ok(());
        }
        self.learn_and_transform(x, y, w, after, scratch)
    }

    fn undo(&mut self) {
        if let Some((width, added)) = self.undo.take() {
            if added {
                self.state.landmarks.pop();
                self.state.factor.pop();
            }
            self.state.landmarks.shrink(width);
        }
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        for index in 0..self.count {
            schema.push_unique(Name::Text(format!("nystroem_{index}").into()), FeatureKind::Number);
        }
        schema.mark();
        schema
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// γ = ln 2: landmarks 0 and 1 with K = [1 1/2; 1/2 1], L = [1 0; 1/2 √(3/4)]. At x = 1: k = (1/2, 1), u₁ = 1/2 and
    /// u₂ = (1 − 1/4) / √(3/4) = √(3/4). A third row that is a landmark again changes nothing.
    #[test]
    fn two_landmarks_by_hand() {
        let kernel = json!({"name": "kernel.RBF", "parameters": {"gamma": std::f64::consts::LN_2}});
        let described = json!({"name": NAME, "parameters": {"kernel": kernel, "n_components": 3}});
        let description = registry::resolve(&described).unwrap();
        let Built::Transformer(mut map) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        map.learn(Row::Plain(&[0.0]), Truth::None, 1.0, &mut scratch).unwrap();
        let first = map.save().unwrap();
        map.learn(Row::Plain(&[1.0]), Truth::None, 1.0, &mut scratch).unwrap();
        let second = map.save().unwrap();
        map.learn(Row::Plain(&[0.0]), Truth::None, 1.0, &mut scratch).unwrap();
        assert_eq!(map.save().unwrap(), second);
        let mut out = RowBuffer::default();
        map.transform(Row::Plain(&[1.0]), &mut out, &mut scratch);
        let Row::Plain(u) = out.row() else { panic!() };
        assert!((u[0] - 0.5).abs() < 1e-15 && (u[1] - 0.75f64.sqrt()).abs() < 1e-15 && u[2] == 0.0, "{u:?}");
        map.undo();
        map.learn(Row::Plain(&[5.0]), Truth::None, 1.0, &mut scratch).unwrap();
        map.undo();
        assert_eq!(map.save().unwrap(), second);
        assert_ne!(first, second);
    }
}
