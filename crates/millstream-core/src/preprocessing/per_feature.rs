//! A transformer that scales each feature by a state of its own: what windowed, robust, quantile and adaptive scalers
//! share.
//!
//! `learn` changes the state of each feature of a row and records how to revert it, so that `undo`, and a fault in the
//! middle of a row, restore the state bit for bit. Nominal values pass through; missing values stay missing and are not
//! learned. The zeros of a sparse row are learned, as numbers.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value as Json};

use crate::batch::{Rows, MODERATE};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::key_use::KeyUses;
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::transformer::{learn_each, transform_each, Examples, Transformer};

/// How a feature is scaled, and what is learned of it.
pub trait Scaling: Clone + Send + Sync + 'static {
    /// The state of a feature.
    type Feature: Clone + Send + Sync;
    /// What reverts the last number that a feature learned.
    type Undo: Clone + Send + Sync;
    /// The state of a feature in a file.
    type Saved: Serialize + DeserializeOwned;

    fn name(&self) -> &'static str;
    /// A feature without a number.
    fn unseen(&self) -> Self::Feature;
    /// Learn a number; None if it is refused, which changes nothing. Must accept numbers and weights up to `MODERATE`.
    fn learn(&self, feature: &mut Self::Feature, x: f64, w: f64) -> Option<Self::Undo>;
    fn undo(&self, feature: &mut Self::Feature, undo: Self::Undo);
    /// Whether `learn` refuses no finite number and no positive finite weight. Then the numbers of many rows are learned
    /// feature by feature.
    fn accepts_all(&self) -> bool {
        false
    }
    /// Learn numbers that need not be reverted, in order. What follows from the state alone may be computed later, by
    /// `refresh`.
    fn learn_column(&self, feature: &mut Self::Feature, xs: &[f64], weights: Option<&[f64]>) {
        for (row, &x) in xs.iter().enumerate() {
            self.learn(feature, x, weights.map_or(1.0, |weights| weights[row]));
        }
    }
    /// Compute what `learn_column` has left.
    fn refresh(&self, _feature: &mut Self::Feature) {}
    /// A finite number; `default` for a feature without a number.
    fn scaled(&self, feature: &Self::Feature, x: f64) -> f64;
    /// What a number of a feature becomes before that feature has been learned.
    fn default(&self) -> f64 {
        0.0
    }
    /// Whether 0 is scaled to 0, so that sparse rows stay sparse.
    fn keeps_zero(&self) -> bool {
        false
    }
    fn save(&self, feature: &Self::Feature) -> Self::Saved;
    fn load(&self, saved: Self::Saved) -> Result<Self::Feature>;
    /// In readable form; None for a feature without a number.
    fn inspect(&self, feature: &Self::Feature) -> Option<Json>;
    /// Whether numbers of learned rows, up to `MODERATE`, become such numbers.
    fn writes_moderate(&self) -> bool {
        true
    }
    /// Bytes outside of the struct.
    fn memory(&self, _feature: &Self::Feature) -> usize {
        0
    }
}

/// The nearest number that later steps of a pipeline can learn: `Part::infallible` promises it.
#[inline]
pub fn moderate(number: f64) -> f64 {
    number.clamp(-MODERATE, MODERATE)
}

#[derive(Clone)]
pub struct PerFeature<S: Scaling> {
    scaling: S,
    /// By slot.
    features: Vec<S::Feature>,
    undo: Undo<S::Undo>,
}

/// What the last `learn` changed.
#[derive(Clone)]
struct Undo<U> {
    width: usize,
    changed: Vec<(u32, U)>,
}

impl<S: Scaling> PerFeature<S> {
    pub fn new(scaling: S) -> Self {
        PerFeature { scaling, features: Vec::new(), undo: Undo { width: 0, changed: Vec::new() } }
    }

    #[inline(always)]
    fn scaled(&self, slot: usize, x: f64) -> f64 {
        self.features.get(slot).map_or(self.scaling.default(), |feature| self.scaling.scaled(feature, x))
    }

    fn learn_dense(&mut self, x: Row<'_>, w: f64) -> bool {
        let PerFeature { scaling, features, undo } = self;
        undo.width = features.len();
        undo.changed.clear();
        if x.width() > features.len() {
            features.resize_with(x.width(), || scaling.unseen());
        }
        let mut sound = true;
        x.each(|slot, value| {
            let Value::Number(number) = value else { return };
            if sound {
                match scaling.learn(&mut features[slot], number, w) {
                    Some(change) => undo.changed.push((slot as u32, change)),
                    None => sound = false,
                }
            }
        });
        sound
    }
}

/// Number of rows whose numbers are collected by feature at a time: the rows stay in the L1 cache.
const GATHERED: usize = 128;

impl<S: Scaling> PerFeature<S> {
    /// Learn rows of `values`, which none can refuse and none reverts. `kinds` is empty if all slots are numbers.
    fn learn_columns(&mut self, values: &[f64], kinds: &[FeatureKind], width: usize, weights: Option<&[f64]>) {
        let PerFeature { scaling, features, .. } = self;
        if width > features.len() {
            features.resize_with(width, || scaling.unseen());
        }
        let numeric = |slot: usize| kinds.get(slot) != Some(&FeatureKind::Nominal);
        let (mut numbers, mut present) = (Vec::new(), Vec::new());
        for (block, rows) in values.chunks(GATHERED * width).enumerate() {
            let weights = weights.map(|weights| &weights[block * GATHERED..][..rows.len() / width]);
            for (slot, feature) in features[..width].iter_mut().enumerate().filter(|(slot, _)| numeric(*slot)) {
                let column = rows.chunks_exact(width).map(|x| x[slot]);
                numbers.clear();
                if kinds.is_empty() {
                    numbers.extend(column);
                    scaling.learn_column(feature, &numbers, weights);
                    continue;
                }
                numbers.extend(column.clone().filter(|x| !x.is_nan()));
                present.clear();
                if let Some(weights) = weights {
                    present.extend(column.zip(weights).filter(|(x, _)| !x.is_nan()).map(|(_, &w)| w));
                }
                scaling.learn_column(feature, &numbers, weights.map(|_| &present[..]));
            }
        }
        for (_, feature) in features[..width].iter_mut().enumerate().filter(|(slot, _)| numeric(*slot)) {
            scaling.refresh(feature);
        }
    }
}

impl<S: Scaling> Part for PerFeature<S> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.features.iter().map(|feature| self.scaling.save(feature)).collect::<Vec<_>>())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let saved: Vec<S::Saved> = unpack(self.scaling.name(), bytes)?;
        self.features = saved.into_iter().map(|saved| self.scaling.load(saved)).collect::<Result<_>>()?;
        self.undo = Undo { width: 0, changed: Vec::new() };
        Ok(())
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::passed()
    }

    fn infallible(&self) -> bool {
        self.scaling.writes_moderate()
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.features.capacity() * std::mem::size_of::<S::Feature>()
            + self.features.iter().map(|feature| self.scaling.memory(feature)).sum::<usize>()
            + self.undo.changed.capacity() * std::mem::size_of::<(u32, S::Undo)>()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let features: serde_json::Map<_, _> = schema
            .names()
            .zip(schema.kinds())
            .zip(&self.features)
            .filter(|((_, &kind), _)| kind == FeatureKind::Number)
            .filter_map(|((name, _), feature)| Some((name.text(), self.scaling.inspect(feature)?)))
            .collect();
        json!({ "features": features })
    }
}

impl<S: Scaling> Transformer for PerFeature<S> {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        match x {
            Row::Sparse(_) if !self.scaling.keeps_zero() => {
                let mut dense = scratch.take_numbers();
                out.map(x.dense(&mut dense), |slot, value| self.scaled(slot, value));
                scratch.give_numbers(dense);
            }
            _ => out.map(x, |slot, value| self.scaled(slot, value)),
        }
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let sound = self.learn_dense(x.dense(&mut dense), w);
        scratch.give_numbers(dense);
        if sound {
            return Ok(());
        }
        self.undo();
        Err(Fault::overflow(self.scaling.name()))
    }

    /// Only the last row can be reverted, so the others are learned feature by feature.
    fn learn_batch(&mut self, examples: &Examples<'_>, scratch: &mut Scratch) -> usize {
        let before = examples.len().saturating_sub(1);
        let weights = examples.weights.map(|weights| &weights[..before]);
        match examples.rows.slice(0, before) {
            _ if !self.scaling.accepts_all() || before == 0 => return learn_each(self, examples, 0, scratch),
            Rows::Plain { values, width } => self.learn_columns(values, &[], width, weights),
            Rows::Mixed { values, kinds } => self.learn_columns(values, kinds, kinds.len(), weights),
            Rows::One(_) | Rows::Owned(_) => return learn_each(self, examples, 0, scratch),
        }
        learn_each(self, examples, before, scratch)
    }

    fn transform_batch(&self, rows: &Rows<'_>, width: usize, out: &mut Vec<f64>, scratch: &mut Scratch) {
        let Rows::Plain { values, width: slots } = *rows else {
            return transform_each(self, rows, width, out, scratch);
        };
        for rows in values.chunks(GATHERED * slots) {
            let start = out.len();
            out.resize(start + rows.len() / slots * width, f64::NAN);
            for slot in 0..slots.min(width) {
                let column = out[start..].chunks_exact_mut(width).zip(rows.chunks_exact(slots));
                match self.features.get(slot) {
                    Some(feature) => column.for_each(|(out, x)| out[slot] = self.scaling.scaled(feature, x[slot])),
                    None => column.for_each(|(out, _)| out[slot] = self.scaling.default()),
                }
            }
        }
    }

    fn undo(&mut self) {
        let PerFeature { scaling, features, undo } = self;
        while let Some((slot, change)) = undo.changed.pop() {
            scaling.undo(&mut features[slot as usize], change);
        }
        features.truncate(undo.width);
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}
