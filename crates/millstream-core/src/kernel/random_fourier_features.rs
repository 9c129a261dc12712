//! Random Fourier features: D cosines whose inner products approximate the Gaussian kernel.
//!
//! Rahimi and Recht (2007), "Random features for large-scale kernel machines", algorithm 1: with ω from the Fourier
//! transform of the kernel, which for exp(−γ‖x − y‖²) is a normal distribution of variance 2γ, and b uniform in [0, 2π),
//! z(x) = √(2/D) (cos(ωᵢ·x + bᵢ))ᵢ has z(x)·z(y) = k(x, y) in the mean, with an error that falls as 1/√D.
//!
//! The frequencies of a feature are a function of the seed and the feature's slot (and value, if it is nominal), drawn
//! by a generator of their own. So there is nothing to learn and nothing to save, features may come at any time, and of
//! a million hashed columns only those that a row holds are drawn; those of the first `KEPT` slots are kept.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

use super::simd_math::cos_each;

const NAME: &str = "kernel.RandomFourierFeatures";
const KEPT: usize = 1 << 10;
/// What the phases are drawn for, as no feature's frequencies are.
const PHASES: u64 = u64::MAX;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Random cosine features that approximate an RBF kernel, for linear learners at constant cost per example",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "n_components",
            Kind::Integer { low: 1, high: 100_000 },
            DefaultValue::Integer(100),
            "number of output features",
        ),
        Parameter::new(
            "gamma",
            Kind::Float(Bounds::POSITIVE),
            DefaultValue::Float(0.1),
            "kernel coefficient: how fast similarity falls with distance; 1 / (number of features) is a good start",
        ),
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(1),
            "random seed of the frequencies",
        ),
    ],
    build: |arguments| {
        let seed = arguments.integer("seed")? as u64;
        let count = arguments.size("n_components")?;
        let mut random = Random::new(seed, PHASES);
        let phases = (0..count).map(|_| random.between(0.0, std::f64::consts::TAU)).collect();
        Ok(Built::Transformer(Box::new(RandomFourierFeatures {
            seed,
            deviation: (2.0 * arguments.float("gamma")?).sqrt(),
            scale: (2.0 / count as f64).sqrt(),
            phases,
            kept: (0..KEPT).map(|_| OnceLock::new()).collect(),
        })))
    },
};

#[derive(Clone)]
struct RandomFourierFeatures {
    seed: u64,
    deviation: f64,
    scale: f64,
    phases: Arc<[f64]>,
    /// The frequencies of the first slots, once they were needed. A function of the parameters, so copies share it.
    kept: Arc<[OnceLock<Box<[f64]>>]>,
}

#[derive(Serialize, Deserialize)]
struct State {}

impl RandomFourierFeatures {
    fn draw(&self, purpose: u64, mut visit: impl FnMut(usize, f64)) {
        let mut random = Random::new(self.seed, purpose);
        (0..self.phases.len()).for_each(|index| visit(index, self.deviation * random.gaussian()));
    }

    /// Add x times the frequencies of a feature to `sums`.
    #[inline]
    fn add(&self, slot: usize, value: Value, sums: &mut [f64]) {
        let (x, purpose) = match value {
            Value::Number(x) => (x, slot as u64),
            Value::Nominal(Some(code)) => (1.0, (slot as u64 + 1) << 32 | u64::from(code)),
            Value::Nominal(None) => return,
        };
        if x == 0.0 {
            return;
        }
        match self.kept.get(slot).filter(|_| matches!(value, Value::Number(_))) {
            Some(kept) => {
                let frequencies = kept.get_or_init(|| {
                    let mut drawn = vec![0.0; sums.len()];
                    self.draw(purpose, |index, frequency| drawn[index] = frequency);
                    drawn.into()
                });
                sums.iter_mut().zip(&frequencies[..]).for_each(|(sum, frequency)| *sum += x * frequency);
            }
            None => self.draw(purpose, |index, frequency| sums[index] += x * frequency),
        }
    }
}

impl Part for RandomFourierFeatures {
    /// Frequencies are drawn by the index of a feature.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        match merger.other.is_ordered_as(merger.ours) {
            true => Ok(()),
            false => Err(Fault::value("cannot be merged: the features of the two parts came in another order")),
        }
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {})
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack::<State>(NAME, bytes).map(drop)
    }

    fn memory(&self) -> usize {
        let kept = self.kept.iter().filter(|kept| kept.get().is_some()).count();
        std::mem::size_of::<Self>() + 8 * self.phases.len() * (1 + kept) + KEPT * 24
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    /// `{"phases": […], "frequencies": {feature: […]}}`; of a nominal feature, `{value: […]}`.
    fn inspect(&self, schema: &Schema) -> Json {
        let drawn = |slot: usize, value: Value| {
            let mut frequencies = vec![0.0; self.phases.len()];
            self.add(slot, value, &mut frequencies);
            json!(frequencies)
        };
        let mut found = Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            let frequencies = match kind {
                FeatureKind::Unknown => continue,
                FeatureKind::Number => drawn(slot, Value::Number(1.0)),
                FeatureKind::Nominal => {
                    let values = schema.values(slot);
                    let by_value = (0..values.len() as u32).filter_map(|code| {
                        Some((values.text(code)?.to_string(), drawn(slot, Value::Nominal(Some(code)))))
                    });
                    Json::Object(by_value.collect())
                }
            };
            found.insert(name.text(), frequencies);
        }
        json!({ "phases": *self.phases, "frequencies": found })
    }
}

impl Transformer for RandomFourierFeatures {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _scratch: &mut Scratch) {
        let features = out.plain(self.phases.len());
        features.copy_from_slice(&self.phases);
        x.each(|slot, value| self.add(slot, value, features));
        cos_each(features);
        features.iter_mut().for_each(|feature| *feature *= self.scale);
    }

    fn step(
        &mut self,
        x: Row<'_>,
        _y: Truth,
        _w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, before, scratch);
        after.copy_from(before.row());
        Ok(())
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        for index in 0..self.phases.len() {
            schema.push_unique(Name::Text(format!("fourier_{index}").into()), FeatureKind::Number);
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

    /// At x = 0 only the phases are left: √(2/D) cos bᵢ. And z(x)·z(y) is near exp(−γ‖x − y‖²) = exp(−0.5 · 2).
    #[test]
    fn cosines_by_hand() {
        let parameters = json!({"n_components": 20_000, "gamma": 0.5, "seed": 3});
        let description = registry::resolve(&json!({"name": NAME, "parameters": parameters})).unwrap();
        let Built::Transformer(map) = registry::build_resolved(&description).unwrap() else { panic!() };
        let mut scratch = Scratch::default();
        let mut at = |x: &[f64]| {
            let mut out = RowBuffer::default();
            map.transform(Row::Plain(x), &mut out, &mut scratch);
            let Row::Plain(z) = out.row() else { panic!() };
            z.to_vec()
        };
        let phase = Random::new(3, PHASES).between(0.0, std::f64::consts::TAU);
        assert!((at(&[0.0, 0.0])[0] - 0.01 * phase.cos()).abs() < 1e-17);
        let (x, y) = (at(&[1.0, 2.0]), at(&[2.0, 1.0]));
        let product: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        assert!((product - (-1f64).exp()).abs() < 0.02, "{product}");
    }
}
