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

use super::products::{Products, RowBuffers, SavedProducts};
use super::round::{Round, Spaces};

#[derive(Clone)]
pub struct Regression {
    who: String,
    models: Vec<Box<dyn Learner<Numbers>>>,
    pub products: Products,
    needs_names: bool,
    row: RowBuffers,
}

/// Buffers to predict with.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    row: RowBuffers,
    /// The context by slot, with its constant, if most of its features are not 0.
    context: Vec<f64>,
    /// By space and slot of an action's feature: the round that it was asked in, and u.
    factors: [Vec<(u64, f64)>; 2],
    stamp: u64,
}

/// Write the context by slot; false if it has few features, which are better visited alone.
fn write_context(round: &Round, context: &mut Vec<f64>) -> bool {
    let last = round.shared.slots.iter().copied().max().unwrap_or(0) as usize;
    if last > 2 * round.shared.slots.len() {
        return false;
    }
    context.clear();
    context.resize(last + 1, 0.0);
    context[0] = 1.0;
    round.shared.view().iter().for_each(|(slot, value)| context[slot] += value);
    true
}

impl Regression {
    pub fn new(who: &str, model: Box<dyn Learner<Numbers>>, count: usize, products: bool, most: usize) -> Self {
        let needs_names = model.abilities().needs_names;
        Regression {
            who: who.into(),
            models: vec![model; count],
            products: Products::new(products, most),
            needs_names,
            row: RowBuffers::default(),
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
            self.products.row(round, index, &mut buffers.row);
            let RowBuffers { indices, values, .. } = &buffers.row;
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
        let Buffers { row: RowBuffers { indices, values, .. }, context, factors, stamp } = buffers;
        let is_dense = write_context(round, context);
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
                let run = self.products.run(space, slot).filter(|_| is_dense);
                let sum = run.and_then(|run| {
                    let end = context.len().min(run.start + run.len);
                    learner.linear_run(run.first as usize, context.get(run.start..end).unwrap_or_default())
                });
                let sum = sum.unwrap_or_else(|| {
                    self.products.factor(round, (space, slot), indices, values);
                    learner.linear_part(indices, values).unwrap_or(0.0)
                });
                known[slot] = (now, sum);
            }
            known[slot].1
        };
        let of_context = constant + factor(0, 0);
        for index in 0..round.len() {
            let mut sum = of_context;
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

    /// The row of an action with coordinates for its new features, which a trial learns.
    pub fn trial_row<'a>(&self, round: &Round, index: usize, buffers: &'a mut Buffers) -> Row<'a> {
        self.products.row(round, index, &mut buffers.row);
        // A learner that looks at names cannot have features without one.
        if !self.needs_names {
            self.products.append_new(round, index, &mut buffers.row);
        }
        let RowBuffers { indices, values, .. } = &buffers.row;
        let width = indices.last().map_or(0, |&last| last as usize + 1).max(self.products.len());
        Row::Sparse(Sparse { indices, values, width })
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
        self.products.row(round, index, &mut self.row);
        let RowBuffers { indices, values, .. } = &self.row;
        let row = Row::Sparse(Sparse { indices, values, width: self.products.len() });
        let learned = self.models[model].learn(row, reward, w, scratch);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Built;
    use crate::numeric::random::Random;
    use crate::registry;

    #[test]
    fn sums_over_features_are_predictions_of_rows() {
        let description = serde_json::json!({
            "name": "linear_model.LinearRegression", "parameters": { "optimizer": { "name": "optim.Adaptive" } },
        });
        let Ok(Built::Regressor(learner)) =
            registry::build_resolved(&registry::resolve(&description).expect("known"))
        else {
            unreachable!("it is declared as a regressor")
        };
        let mut model = Regression::new("p", learner, 1, true, 1000);
        let (mut random, mut scratch, mut buffers) = (Random::new(2, 1), Scratch::default(), Buffers::default());
        let mut out = Vec::new();
        for step in 0..200 {
            let mut round = Round::default();
            for slot in 1..=7 {
                // Dense contexts at first, and then all kinds.
                if step < 20 || random.chance(0.5) {
                    round.push_shared(slot, random.gaussian());
                }
            }
            for action in 0..3 {
                for slot in [1 + action, 5] {
                    round.push_feature(slot, random.gaussian());
                }
                round.end_action();
            }
            model.predict(0, &round, &mut out, &mut buffers, &mut scratch);
            for (index, found) in out.iter().enumerate() {
                model.products.row(&round, index, &mut buffers.row);
                let RowBuffers { indices, values, .. } = &buffers.row;
                let row = Row::Sparse(Sparse { indices, values, width: model.products.len() });
                let mut wanted = 0.0;
                model.models[0].predict(row, Want::Class, &mut wanted, &mut scratch);
                assert!((found - wanted).abs() <= 1e-12 * (1.0 + wanted.abs()), "{step} {found} {wanted}");
            }
            let spaces = Spaces::default();
            model.grow(&round, step % 3, &spaces).expect("there is room");
            model.learn(0, &round, step % 3, random.gaussian(), 1.0, &mut scratch).expect("a good reward");
        }
    }
}
