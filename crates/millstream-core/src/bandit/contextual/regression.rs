//! Any regressor as the model of rewards: one, or several for explorers that compare models.
//!
//! A linear learner is asked once for each *feature* of the actions, not for each action: uⱼ = Σᵢ sᵢ wᵢⱼ, and the
//! prediction of an action is Σⱼ aⱼ uⱼ. This is exact up to the order of the sum, and needs a fraction of the products.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::fault::Result;
use crate::learner::Learner;
use crate::row::{Row, Scratch, Sparse, Want};
use crate::task::Numbers;

use super::products::{Products, SavedProducts};
use super::round::{Round, Spaces};

#[derive(Clone)]
pub struct Regression {
    who: String,
    models: Vec<Box<dyn Learner<Numbers>>>,
    pub products: Products,
    needs_names: bool,
    buffers: Buffers,
}

/// Buffers to predict with.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    indices: Vec<u32>,
    values: Vec<f64>,
    pairs: Vec<(u32, f64)>,
    /// By space and slot of an action's feature: the round that it was asked in, and u.
    factors: [Vec<(u64, f64)>; 2],
    stamp: u64,
}

impl Regression {
    pub fn new(who: &str, model: Box<dyn Learner<Numbers>>, count: usize, products: bool, most: usize) -> Self {
        let needs_names = model.abilities().needs_names;
        Regression {
            who: who.into(),
            models: vec![model; count],
            products: Products::new(products, most),
            needs_names,
            buffers: Buffers::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.models.len()
    }

    /// The rewards that a model predicts for the actions of a round.
    pub fn predict(
        &self,
        model: usize,
        round: &Round,
        out: &mut Vec<f64>,
        buffers: &mut Buffers,
        scratch: &mut Scratch,
    ) {
        out.clear();
        let learner = &*self.models[model];
        if learner.linear_part(&[], &[]).is_some() {
            return self.predict_linear(learner, round, out, buffers, scratch);
        }
        for index in 0..round.len() {
            self.write_row(round, index, buffers);
            let Buffers { indices, values, .. } = &*buffers;
            let row = Row::Sparse(Sparse { indices, values, width: self.products.len() });
            let mut predicted = 0.0;
            learner.predict(row, Want::Class, &mut predicted, scratch);
            out.push(predicted);
        }
    }

    fn predict_linear(
        &self,
        learner: &dyn Learner<Numbers>,
        round: &Round,
        out: &mut Vec<f64>,
        buffers: &mut Buffers,
        scratch: &mut Scratch,
    ) {
        let Buffers { indices, values, factors, stamp, .. } = buffers;
        *stamp += 1;
        let now = *stamp;
        let mut constant = 0.0;
        let none = Row::Sparse(Sparse { indices: &[], values: &[], width: self.products.len() });
        learner.predict(none, Want::Class, &mut constant, scratch);
        let mut factor = |space: usize, slot: usize| {
            let known = &mut factors[space];
            if known.len() <= slot {
                known.resize(slot + 1, (0, 0.0));
            }
            if known[slot].0 != now {
                self.products.factor(round, (space, slot), indices, values);
                known[slot] = (now, learner.linear_part(indices, values).unwrap_or(0.0));
            }
            known[slot].1
        };
        let context = constant + factor(0, 0);
        for index in 0..round.len() {
            let mut sum = context;
            match round.has_features() {
                true => {
                    for (slot, value) in round.action(index).iter() {
                        sum += value * factor(0, slot);
                    }
                }
                false => sum += factor(1, round.arms[index] as usize),
            }
            out.push(if sum.is_finite() { sum } else { crate::row::finite(sum) });
        }
    }

    /// Write the row of an action to the buffers.
    fn write_row(&self, round: &Round, index: usize, buffers: &mut Buffers) {
        let Buffers { indices, values, pairs, .. } = buffers;
        self.products.row(round, index, pairs);
        indices.clear();
        values.clear();
        indices.extend(pairs.iter().map(|pair| pair.0));
        values.extend(pairs.iter().map(|pair| pair.1));
    }

    /// Give coordinates to the new features of an action. Returns the number before, for `shrink`.
    pub fn grow(&mut self, round: &Round, index: usize, spaces: &Spaces) -> Result<usize> {
        let before = self.products.grow(&self.who, round, index)?;
        if self.needs_names && self.products.len() > before {
            let schema = self.products.schema(spaces);
            self.models.iter_mut().for_each(|model| model.bind(&schema));
        }
        Ok(before)
    }

    pub fn shrink(&mut self, before: usize, spaces: &Spaces) {
        self.products.shrink(before);
        if self.needs_names {
            let schema = self.products.schema(spaces);
            self.models.iter_mut().for_each(|model| model.bind(&schema));
        }
    }

    /// Teach a model the reward of an action, whose features have coordinates.
    pub fn learn(
        &mut self,
        model: usize,
        round: &Round,
        index: usize,
        reward: f64,
        w: f64,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut buffers = std::mem::take(&mut self.buffers);
        self.write_row(round, index, &mut buffers);
        let Buffers { indices, values, .. } = &buffers;
        let row = Row::Sparse(Sparse { indices, values, width: self.products.len() });
        let learned = self.models[model].learn(row, reward, w, scratch);
        self.buffers = buffers;
        learned.map_err(|fault| fault.by(&self.who))
    }

    pub fn models(&self) -> &[Box<dyn Learner<Numbers>>] {
        &self.models
    }

    pub fn models_mut(&mut self) -> &mut [Box<dyn Learner<Numbers>>] {
        &mut self.models
    }

    pub fn save(&self) -> Result<SavedRegression> {
        let models = self.models.iter().map(|model| model.save().map(ByteBuf::from)).collect::<Result<_>>()?;
        Ok(SavedRegression { pairs: SavedProducts(self.products.pairs().to_vec()), models })
    }

    pub fn adopt(&mut self, saved: SavedRegression, spaces: &Spaces) -> Result<()> {
        let same = saved.models.len() == self.models.len();
        crate::held::state::require(&self.who, same, "another number of models")?;
        self.products.adopt(&self.who, saved.pairs, spaces)?;
        let schema = self.needs_names.then(|| self.products.schema(spaces));
        for (model, bytes) in self.models.iter_mut().zip(&saved.models) {
            model.load(bytes)?;
            if let Some(schema) = &schema {
                model.bind(schema);
            }
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        self.models.iter().map(|model| model.memory()).sum::<usize>() + self.products.memory()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRegression {
    pairs: SavedProducts,
    models: Vec<ByteBuf>,
}
