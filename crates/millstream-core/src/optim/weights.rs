//! A vector of weights with the memory of its optimiser, and the kernels that step it.
//!
//! A step is proposed into spare buffers, checked, then committed: an overflow leaves no trace. A dense
//! proposal is committed by swapping buffers, so the check costs nothing.

use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;
use crate::fault::Result;
use crate::held::state::require;
use crate::numeric;
use crate::row::all_finite;

use crate::linear_model::merged_weights::{by_count, by_curvature, Three};

use super::paired::{self, Pair};
use super::pairs::Pairs;
use super::rules::{
    one, AdaDelta, AdaGrad, Adam, Cell, FtrlProximal, Momentum, Nesterov, RmsProp, Sgd, Step, Update,
};
use super::{CoordinateRule, Optimizer, Penalty};

/// The features of one example by coordinate.
#[derive(Clone, Copy, Debug)]
pub enum Features<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [u32], &'a [f64]),
}

/// From this many coordinates on, weights that are updated sparsely are stored next to their memory.
const WIDE: usize = 1 << 14;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct Weights {
    values: Vec<f64>,
    /// The rule's memory; empty if it has none.
    a: Vec<f64>,
    b: Vec<f64>,
    /// Σ (s − 1) Δw over steps s, from which the mean of all iterates follows; empty unless averaging.
    lag: Vec<f64>,
    /// Each weight with its memory `a`, in place of `values` and `a`. A sparse step of a model that is larger than the
    /// caches waits for one fetch a feature instead of two.
    pairs: Pairs,
    /// The columns of the row after the one that is learned, whose pairs are prefetched meanwhile.
    coming: Vec<u32>,
    /// In a proposal: the pairs of its features.
    fetched: Vec<Pair>,
    undo: Undo,
}

/// Undo information: restores the state at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Undo {
    #[default]
    None,
    /// The values that sparse steps have overwritten, oldest first, and how many weights there were.
    Cells { width: usize, cells: Vec<(u32, [f64; 4])> },
    /// A copy of everything: from the first dense step on, or when the list has grown long.
    Copy(Box<Weights>),
}

/// One in this many weights may be listed as overwritten; beyond that a copy of all is faster: it is written in order,
/// and a weight takes less room in it than in the list.
const LISTED: usize = 16;

/// Their saved form, independent of the layout.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Weights")]
struct Saved {
    values: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
    lag: Vec<f64>,
}

impl From<Weights> for Saved {
    fn from(mut weights: Weights) -> Self {
        weights.lie_apart();
        Saved { values: weights.values, a: weights.a, b: weights.b, lag: weights.lag }
    }
}

impl From<Saved> for Weights {
    fn from(Saved { values, a, b, lag }: Saved) -> Self {
        Weights { values, a, b, lag, ..Weights::default() }
    }
}

impl Weights {
    /// See `Part::exchange`.
    pub fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        for numbers in [&mut self.values, &mut self.a, &mut self.b, &mut self.lag] {
            exchange.floats(numbers);
        }
        self.pairs.is_empty() && matches!(self.undo, Undo::None)
    }

    pub fn len(&self) -> usize {
        // One of the two is empty.
        self.values.len() + self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weights and memory in vectors of their own, as dense steps want them.
    #[inline]
    pub fn lie_apart(&mut self) {
        if !self.pairs.is_empty() {
            self.values = self.pairs.iter().map(|pair| pair[0]).collect();
            self.a = self.pairs.iter().map(|pair| pair[1]).collect();
            self.pairs = Pairs::default();
        }
    }

    /// Each weight beside its memory, as sparse steps want them, if there are many and the rule has one number.
    #[inline]
    pub fn lie_together(&mut self) {
        if self.values.len() >= WIDE && !self.a.is_empty() && self.b.is_empty() && self.lag.is_empty() {
            self.pairs.grow(self.values.len());
            let apart = self.values.iter().zip(&self.a);
            self.pairs.iter_mut().zip(apart).for_each(|(pair, (&w, &a))| *pair = [w, a]);
            (self.values, self.a) = (Vec::new(), Vec::new());
        }
    }

    /// The weights in vectors of their own (`lie_apart`).
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// As `values`, to be changed by steps of their own.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Set these initial weights from an index on, where there is room for them already.
    pub fn begin_with(&mut self, index: usize, values: &[f64]) {
        self.values.iter_mut().skip(index).zip(values).for_each(|(w, &value)| *w = value);
    }

    /// The point at which `rule` takes the gradient, if that is not the current iterate.
    pub fn ahead(&self, rule: CoordinateRule, out: &mut Vec<f64>) {
        let rho = rule.look_ahead();
        out.clear();
        out.extend(self.values.iter().zip(&self.a).map(|(w, a)| w - rho * a));
    }

    /// The weight to predict with at coordinate `index` after `t` steps.
    pub fn effective(&self, index: usize, t: f64) -> f64 {
        let mean = self.lag.get(index).map_or(0.0, |lag| lag / t);
        let paired = self.pairs.get(index).map(|pair| &pair[0]);
        self.values.get(index).or(paired).map_or(0.0, |w| w - mean)
    }

    /// Σ wᵢ xᵢ with the weights to predict with; coordinates beyond the end count as 0.
    #[inline]
    pub fn dot(&self, features: Features<'_>, t: f64) -> f64 {
        let raw = self.dot_values(features);
        if self.lag.is_empty() || t == 0.0 {
            raw
        } else {
            raw - dot(&self.lag, features) / t
        }
    }

    /// Σ wᵢ xᵢ at the point where `rule` takes the gradient: the current iterate, or ahead of it.
    #[inline]
    pub fn current(&self, rule: CoordinateRule, features: Features<'_>) -> f64 {
        let current = self.dot_values(features);
        match rule.look_ahead() {
            0.0 => current,
            rho if self.pairs.is_empty() => current - rho * dot(&self.a, features),
            rho => current - rho * dot_pairs(&self.pairs, 1, features),
        }
    }

    #[inline]
    fn dot_values(&self, features: Features<'_>) -> f64 {
        if self.pairs.is_empty() {
            dot(&self.values, features)
        } else {
            dot_pairs(&self.pairs, 0, features)
        }
    }

    /// Fetch what a step of `indices` needs into `next`, all at once: the fetches are what a wide model waits for.
    /// Gives Σ wᵢ xᵢ, as `current` does where the gradient is taken at the current iterate.
    #[inline]
    pub fn fetch(&self, indices: &[u32], x: &[f64], next: &mut Weights) -> f64 {
        if !self.pairs.is_empty() {
            return paired::fetch(&self.pairs, indices, x, &mut next.fetched);
        }
        let n = indices.len();
        fit(&mut next.values, n);
        let (x, values) = (&x[..n], &mut next.values[..n]);
        if self.a.is_empty() {
            gather(&self.values, indices, values);
        } else {
            fit(&mut next.a, n);
            let (all, all_a) = (&self.values[..], &self.a[..self.values.len()]);
            for ((&index, w), a) in indices.iter().zip(values.iter_mut()).zip(&mut next.a[..n]) {
                *w = all[index as usize];
                *a = all_a[index as usize];
            }
        }
        values.iter().zip(x).map(|(w, x)| w * x).sum()
    }

    /// The columns of the row after the next one to be learned: its step asks for them, where weights lie in pairs.
    #[inline]
    pub fn prefetch(&mut self, indices: &[u32]) {
        if !self.pairs.is_empty() {
            self.coming.clear();
            self.coming.extend_from_slice(indices);
        }
    }

    /// Make room for `width` coordinates.
    pub fn grow(&mut self, width: usize, rule: CoordinateRule, averaging: bool) {
        if width <= self.len() {
            return;
        }
        if !self.pairs.is_empty() {
            return self.pairs.grow(width);
        }
        self.values.resize(width, 0.0);
        let memory = rule.memory();
        if memory > 0 {
            self.a.resize(width, 0.0);
        }
        if memory > 1 {
            self.b.resize(width, 0.0);
        }
        if averaging {
            self.lag.resize(width, 0.0);
        }
    }

    /// Make room for sparse steps: weights that will be stored as pairs are never stored apart.
    pub fn grow_together(&mut self, width: usize, rule: CoordinateRule, averaging: bool) {
        if self.is_empty() && width >= WIDE && rule.memory() == 1 && !averaging {
            self.pairs.grow(width);
        } else {
            self.grow(width, rule, averaging);
            self.lie_together();
        }
    }

    /// Remove coordinates that a rejected example had added.
    pub fn shrink(&mut self, width: usize) {
        for numbers in [&mut self.values, &mut self.a, &mut self.b, &mut self.lag] {
            numbers.truncate(width);
        }
        self.pairs.truncate(width);
    }

    /// Write the result of a step into `next`; false if it would overflow. Nothing changes here.
    pub fn propose(&self, optimizer: &Optimizer, features: Features<'_>, step: Step, next: &mut Weights) -> bool {
        let rate = optimizer.rate.at(step.t);
        match optimizer.rule {
            // A shortcut for the most common case.
            CoordinateRule::Sgd if self.lag.is_empty() && step.penalty.none() => {
                let Features::Dense(x) = features else {
                    return self.run(Sgd { rate }, rate, features, step, next);
                };
                fit(&mut next.values, self.values.len());
                step_without_memory::<Sgd, false>(Sgd { rate }, rate, step, &self.values, x, &mut next.values)
            }
            CoordinateRule::Sgd => self.run(Sgd { rate }, rate, features, step, next),
            CoordinateRule::Momentum { rho } => self.run(Momentum { rate, rho }, rate, features, step, next),
            CoordinateRule::Nesterov { rho } => self.run(Nesterov { rate, rho }, rate, features, step, next),
            CoordinateRule::AdaGrad { epsilon } => self.run(AdaGrad { rate, epsilon }, rate, features, step, next),
            CoordinateRule::AdaDelta { rho, epsilon } => {
                self.run(AdaDelta { rho, epsilon }, rate, features, step, next)
            }
            CoordinateRule::RmsProp { rho, epsilon } => {
                self.run(RmsProp { rate, rho, epsilon }, rate, features, step, next)
            }
            CoordinateRule::Adam { beta_1, beta_2, epsilon } => {
                let adam = Adam::at(step.t, rate, beta_1, beta_2, epsilon);
                self.run(adam, rate, features, step, next)
            }
            CoordinateRule::FtrlProximal { alpha, beta, l1, l2 } => {
                self.run(FtrlProximal { alpha, beta, l1, l2 }, rate, features, step, next)
            }
        }
    }

    /// Whether `step_plain` may step weights of this width: they lie apart, and nothing records what it overwrites.
    #[inline(always)]
    pub fn steps_plainly(&self, width: usize) -> bool {
        self.values.len() == width && !matches!(self.undo, Undo::Cells { .. })
    }

    /// A dense step of plain gradient descent; false, and no change, if it would overflow. `spare` is a buffer.
    #[inline(always)]
    pub fn step_plain(&mut self, rate: f64, slope: f64, x: &[f64], spare: &mut Weights) -> bool {
        fit(&mut spare.values, self.values.len());
        let step = Step { t: 0.0, slope, penalty: Penalty::default(), fetched: false };
        let sound = step_dense::<Sgd, false>(Sgd { rate }, rate, step, &self.values, x, &mut spare.values[..]);
        if sound {
            std::mem::swap(&mut self.values, &mut spare.values);
        }
        sound
    }

    /// The opposite weights: those of a model whose two classes have the opposite codes.
    pub fn negate(&mut self, rule: CoordinateRule) {
        self.lie_apart();
        let signed = matches!(
            rule,
            CoordinateRule::Momentum { .. }
                | CoordinateRule::Nesterov { .. }
                | CoordinateRule::Adam { .. }
                | CoordinateRule::FtrlProximal { .. }
        );
        let memory = self.a.iter_mut().filter(|_| signed);
        self.values.iter_mut().chain(&mut self.lag).chain(memory).for_each(|number| *number = -*number);
    }

    /// Merge other weights, whose coordinate i is coordinate `theirs.1[i]` here, and so for a base; `known` weights are
    /// ours, `fraction` is our part of the examples, and the last are the numbers of steps of this, of the other and of the merged model.
    pub fn merge(
        &mut self,
        rule: CoordinateRule,
        theirs: (&Weights, &[u32]),
        base: Option<(&Weights, &[u32])>,
        known: usize,
        fraction: f64,
        [t, other_t, merged_t]: [f64; 3],
    ) {
        self.lie_apart();
        let width = self.len();
        let aligned = |(weights, indices): (&Weights, &[u32])| {
            let mut weights = weights.clone();
            weights.lie_apart();
            let mut cells: Vec<Option<[f64; 4]>> = vec![None; width];
            for (i, &index) in indices.iter().enumerate() {
                let at = |numbers: &[f64]| numbers.get(i).copied().unwrap_or(0.0);
                cells[index as usize] =
                    Some([at(&weights.values), at(&weights.a), at(&weights.b), at(&weights.lag)]);
            }
            cells
        };
        let (theirs, base) = (aligned(theirs), base.map(aligned));
        for index in 0..width {
            let own = |numbers: &[f64]| numbers.get(index).copied().unwrap_or(0.0);
            let ours = (index < known).then(|| [own(&self.values), own(&self.a), own(&self.b), own(&self.lag)]);
            let cell = Three { ours, theirs: theirs[index], base: base.as_ref().and_then(|base| base[index]) };
            let part = |k: usize| cell.map(|cell| cell[k]);
            let mut merged = [0, 1, 2].map(|k| by_count(part(k), fraction));
            match rule {
                CoordinateRule::AdaGrad { .. } => {
                    (merged[0], merged[1]) = by_curvature(cell.map(|cell| (cell[0], cell[1])));
                }
                CoordinateRule::FtrlProximal { alpha, beta, l1, l2 } => {
                    let (w, b) = by_curvature(cell.map(|cell| (cell[0], cell[2])));
                    let (z, _) = by_curvature(cell.map(|cell| (cell[1], cell[2])));
                    // Sums of gradients that were taken at different weights would overshoot: z follows from w.
                    let a = match w == 0.0 {
                        true => z.clamp(-l1, l1),
                        false => -w * ((beta + b.sqrt()) / alpha + l2) - l1.copysign(w),
                    };
                    merged = [w, a, b];
                }
                _ => {}
            }
            let effective = Three {
                ours: cell.ours.map(|cell| cell[0] - cell[3] / t.max(1.0)),
                theirs: cell.theirs.map(|cell| cell[0] - cell[3] / other_t.max(1.0)),
                base: None,
            };
            let lag = (merged[0] - by_count(effective, fraction)) * merged_t;
            let numbers = [&mut self.values, &mut self.a, &mut self.b, &mut self.lag];
            for (numbers, number) in numbers.into_iter().zip([merged[0], merged[1], merged[2], lag]) {
                if let Some(place) = numbers.get_mut(index) {
                    *place = number;
                }
            }
        }
    }

    pub fn is_finite(&self) -> bool {
        [&self.values, &self.a, &self.b, &self.lag].into_iter().all(|numbers| all_finite(numbers))
    }

    /// From now on, record overwritten values.
    pub fn savepoint(&mut self) {
        self.undo = Undo::Cells { width: self.len(), cells: Vec::new() };
    }

    /// Stop recording.
    pub fn discard_savepoint(&mut self) {
        self.undo = Undo::None;
    }

    /// Restore the state at `savepoint`.
    pub fn rollback(&mut self) {
        match std::mem::take(&mut self.undo) {
            Undo::None => {}
            Undo::Copy(before) => *self = *before,
            Undo::Cells { width, cells } => {
                self.shrink(width);
                for (index, cell) in cells.into_iter().rev() {
                    self.put(index as usize, cell);
                }
            }
        }
    }

    /// Record what a step of these features is about to overwrite.
    #[inline]
    fn note(&mut self, features: Features<'_>) {
        if !matches!(self.undo, Undo::Cells { .. }) {
            return;
        }
        let mut undo = std::mem::take(&mut self.undo);
        if let (Undo::Cells { cells, .. }, Features::Sparse(indices, _)) = (&mut undo, features) {
            if cells.len() + indices.len() <= self.len() / LISTED {
                cells.extend(indices.iter().map(|&index| (index, self.cell(index as usize))));
                self.undo = undo;
                return;
            }
        }
        let mut before = Box::new(self.clone());
        before.undo = undo;
        before.rollback();
        self.undo = Undo::Copy(before);
    }

    /// A weight, its memory and its lag; 0 for what is not kept.
    fn cell(&self, index: usize) -> [f64; 4] {
        match self.pairs.get(index) {
            Some(&[w, a]) => [w, a, 0.0, 0.0],
            None => [&self.values, &self.a, &self.b, &self.lag]
                .map(|numbers| numbers.get(index).copied().unwrap_or_default()),
        }
    }

    /// Write the result of `cell`; an index that no longer exists is ignored.
    fn put(&mut self, index: usize, cell: [f64; 4]) {
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = [cell[0], cell[1]];
            return;
        }
        let all = [&mut self.values, &mut self.a, &mut self.b, &mut self.lag];
        for (numbers, number) in all.into_iter().zip(cell) {
            if let Some(kept) = numbers.get_mut(index) {
                *kept = number;
            }
        }
    }

    /// Commit a proposal. `features` are those it was made for.
    pub fn commit(&mut self, features: Features<'_>, next: &mut Weights) {
        self.note(features);
        if let (Features::Sparse(indices, _), false) = (features, self.pairs.is_empty()) {
            self.coming.clear();
            return paired::put(&mut self.pairs, indices, &next.fetched);
        }
        let pairs = [
            (&mut self.values, &mut next.values),
            (&mut self.a, &mut next.a),
            (&mut self.b, &mut next.b),
            (&mut self.lag, &mut next.lag),
        ];
        for (mine, proposed) in pairs {
            if mine.is_empty() {
                continue;
            }
            match features {
                Features::Dense(_) => std::mem::swap(mine, proposed),
                Features::Sparse(indices, _) => {
                    for (&index, &number) in indices.iter().zip(proposed.iter()) {
                        mine[index as usize] = number;
                    }
                }
            }
        }
    }

    #[inline]
    fn run<U: Update>(
        &self,
        update: U,
        rate: f64,
        features: Features<'_>,
        step: Step,
        next: &mut Weights,
    ) -> bool {
        let averaging = !self.lag.is_empty();
        let n = match features {
            Features::Dense(_) => self.values.len(),
            Features::Sparse(indices, _) => indices.len(),
        };
        if let (Features::Sparse(indices, x), false) = (features, step.fetched) {
            self.fetch(indices, x, next);
        }
        let penalised = !step.penalty.none();
        if let (Features::Sparse(_, x), 1, false) = (features, U::MEMORY, self.pairs.is_empty()) {
            let (fetched, coming) = (&mut next.fetched[..], &self.coming[..]);
            return match penalised {
                false => paired::step::<U, false>(update, rate, step, x, fetched, &self.pairs, coming),
                true => paired::step::<U, true>(update, rate, step, x, fetched, &self.pairs, coming),
            };
        }
        fit(&mut next.values, n);
        fit(&mut next.a, if U::MEMORY > 0 { n } else { 0 });
        fit(&mut next.b, if U::MEMORY > 1 { n } else { 0 });
        fit(&mut next.lag, if averaging { n } else { 0 });
        match (features, penalised) {
            (Features::Dense(x), false) => self.run_dense::<U, false>(update, rate, x, step, next),
            (Features::Dense(x), true) => self.run_dense::<U, true>(update, rate, x, step, next),
            (Features::Sparse(indices, x), false) => {
                self.run_sparse::<U, false>(update, rate, indices, x, step, next)
            }
            (Features::Sparse(indices, x), true) => {
                self.run_sparse::<U, true>(update, rate, indices, x, step, next)
            }
        }
        if averaging {
            for k in 0..n {
                let index = match features {
                    Features::Dense(_) => k,
                    Features::Sparse(indices, _) => indices[k] as usize,
                };
                next.lag[k] = self.lag[index] + (step.t - 1.0) * (next.values[k] - self.values[index]);
            }
        }
        // Apart from the loops above: a sum inside them would keep them from running in vector registers.
        all_finite(&next.values)
            && (U::MEMORY < 1 || all_finite(&next.a))
            && (U::MEMORY < 2 || all_finite(&next.b))
            && (!averaging || all_finite(&next.lag))
    }

    #[inline]
    fn run_dense<U: Update, const PENALISED: bool>(
        &self,
        update: U,
        rate: f64,
        x: &[f64],
        step: Step,
        next: &mut Weights,
    ) {
        let n = self.values.len();
        let (x, values, out) = (&x[..n], &self.values[..n], &mut next.values[..n]);
        if U::MEMORY == 0 {
            step_without_memory::<U, PENALISED>(update, rate, step, values, x, out);
        } else if U::MEMORY == 1 {
            let (a, next_a) = (&self.a[..n], &mut next.a[..n]);
            for j in 0..n {
                let cell = Cell { w: values[j], a: a[j], b: 0.0 };
                let stepped = one::<U, PENALISED>(update, rate, cell, x[j], step);
                out[j] = stepped.w;
                next_a[j] = stepped.a;
            }
        } else {
            let (a, next_a) = (&self.a[..n], &mut next.a[..n]);
            let (b, next_b) = (&self.b[..n], &mut next.b[..n]);
            for j in 0..n {
                let cell = Cell { w: values[j], a: a[j], b: b[j] };
                let stepped = one::<U, PENALISED>(update, rate, cell, x[j], step);
                out[j] = stepped.w;
                next_a[j] = stepped.a;
                next_b[j] = stepped.b;
            }
        }
    }

    /// The weights were fetched before: a loop that does nothing but fetch has the most fetches under way at once, and
    /// the arithmetic here runs in vector registers.
    fn run_sparse<U: Update, const PENALISED: bool>(
        &self,
        update: U,
        rate: f64,
        indices: &[u32],
        x: &[f64],
        step: Step,
        next: &mut Weights,
    ) {
        let n = indices.len();
        let (x, values) = (&x[..n], &mut next.values[..n]);
        if U::MEMORY == 0 {
            for (w, &x) in values.iter_mut().zip(x) {
                *w = one::<U, PENALISED>(update, rate, Cell { w: *w, a: 0.0, b: 0.0 }, x, step).w;
            }
            return;
        }
        let a = &mut next.a[..n];
        if U::MEMORY == 1 {
            for ((w, a), &x) in values.iter_mut().zip(a).zip(x) {
                let stepped = one::<U, PENALISED>(update, rate, Cell { w: *w, a: *a, b: 0.0 }, x, step);
                (*w, *a) = (stepped.w, stepped.a);
            }
            return;
        }
        let b = &mut next.b[..n];
        gather(&self.b, indices, b);
        for (((w, a), b), &x) in values.iter_mut().zip(a).zip(b).zip(x) {
            let stepped = one::<U, PENALISED>(update, rate, Cell { w: *w, a: *a, b: *b }, x, step);
            (*w, *a, *b) = (stepped.w, stepped.a, stepped.b);
        }
    }

    /// Reject, after loading, a state that `grow` could not have made.
    pub fn validate(&self, who: &str, rule: CoordinateRule, averaging: bool) -> Result<()> {
        let n = self.values.len();
        let length = |wanted: bool| if wanted { n } else { 0 };
        require(who, self.a.len() == length(rule.memory() > 0), "optimiser memory of the wrong length")?;
        require(who, self.b.len() == length(rule.memory() > 1), "optimiser memory of the wrong length")?;
        require(who, self.lag.len() == length(averaging), "averages of the wrong length")?;
        let all = [&self.values, &self.a, &self.b, &self.lag];
        require(who, all.iter().all(|numbers| all_finite(numbers)), "a number is not finite")?;
        let sound = |squares: bool, numbers: &[f64]| !squares || numbers.iter().all(|&number| number >= 0.0);
        let squares = rule.squares();
        require(who, sound(squares.0, &self.a) && sound(squares.1, &self.b), "a sum of squares is negative")
    }

    pub fn memory(&self) -> usize {
        let apart = [&self.values, &self.a, &self.b, &self.lag].into_iter().map(|numbers| numbers.capacity() * 8);
        let together = (self.pairs.capacity() + self.fetched.capacity()) * size_of::<Pair>();
        apart.sum::<usize>() + together + self.coming.capacity() * size_of::<u32>()
    }
}

#[inline]
fn gather(from: &[f64], indices: &[u32], to: &mut [f64]) {
    for (to, &index) in to.iter_mut().zip(indices) {
        *to = from[index as usize];
    }
}

#[inline]
fn fit(numbers: &mut Vec<f64>, n: usize) {
    if numbers.len() != n {
        numbers.resize(n, 0.0);
    }
}

/// `step_dense` as a function of its own, for the many callers that are seldom called.
#[inline(never)]
fn step_without_memory<U: Update, const PENALISED: bool>(
    update: U,
    rate: f64,
    step: Step,
    w: &[f64],
    x: &[f64],
    out: &mut [f64],
) -> bool {
    step_dense::<U, PENALISED>(update, rate, step, w, x, out)
}

/// The dense step of a rule without memory; false if it overflows. In pairs, which is what a vector register holds, so
/// that the check for overflow rides along.
#[inline(always)]
fn step_dense<U: Update, const PENALISED: bool>(
    update: U,
    rate: f64,
    step: Step,
    w: &[f64],
    x: &[f64],
    out: &mut [f64],
) -> bool {
    let n = out.len();
    let stepped = |w: f64, x: f64| one::<U, PENALISED>(update, rate, Cell { w, a: 0.0, b: 0.0 }, x, step).w;
    let (pairs, last) = out.as_chunks_mut::<2>();
    let count = pairs.len();
    let ws = &w[..n].as_chunks::<2>().0[..count];
    let xs = &x[..n].as_chunks::<2>().0[..count];
    let mut check = [0.0; 2];
    for j in 0..count {
        // Both are computed before either is written: the compiler need not know that the slices do not overlap.
        let pair = [stepped(ws[j][0], xs[j][0]), stepped(ws[j][1], xs[j][1])];
        pairs[j] = pair;
        check = [check[0] + pair[0] * 0.0, check[1] + pair[1] * 0.0];
    }
    if let [last] = last {
        *last = stepped(w[n - 1], x[n - 1]);
        check[0] += *last * 0.0;
    }
    check[0] + check[1] == 0.0
}

/// `dot` with one number of each pair, added up in the same order.
fn dot_pairs(pairs: &[Pair], which: usize, features: Features<'_>) -> f64 {
    match features {
        Features::Dense(x) => {
            let mut sums = [0.0f64; 4];
            for (index, (pair, x)) in pairs.iter().zip(x).enumerate() {
                sums[index % 4] += pair[which % 2] * x;
            }
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        }
        Features::Sparse(indices, x) => {
            let weight = |index: u32| pairs.get(index as usize).map(|pair| pair[which % 2]);
            indices.iter().zip(x).map(|(&index, x)| weight(index).map_or(0.0, |w| w * x)).sum()
        }
    }
}

/// Σ wᵢ xᵢ over the coordinates both have.
#[inline]
pub fn dot(w: &[f64], features: Features<'_>) -> f64 {
    match features {
        Features::Dense(x) => numeric::dot(w, x),
        Features::Sparse(indices, x) => {
            indices.iter().zip(x).map(|(&index, x)| w.get(index as usize).map_or(0.0, |w| w * x)).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{Penalty, Schedule};

    /// Weights 2 and 6 with n = 3 and 1: w = (3 · 2 + 1 · 6) / 4 = 3 and n = 4. With α = 1, β = 1, l1 = ½ and l2 = 0,
    /// z = −3 (1 + √4) − ½ = −19/2, from which the closed form gives w = (19/2 − ½) / 3 = 3 again.
    #[test]
    fn ftrl_is_merged_by_curvature() {
        let rule = CoordinateRule::FtrlProximal { alpha: 1.0, beta: 1.0, l1: 0.5, l2: 0.0 };
        let of = |w: f64, n: f64| {
            let z = -w * (1.0 + n.sqrt()) - 0.5;
            Weights { values: vec![w], a: vec![z], b: vec![n], ..Weights::default() }
        };
        let mut ours = of(2.0, 3.0);
        ours.merge(rule, (&of(6.0, 1.0), &[0]), None, 1, 0.5, [3.0, 1.0, 4.0]);
        assert_eq!((ours.values[0], ours.a[0], ours.b[0]), (3.0, -9.5, 4.0));
    }

    /// However they lie, weights step, predict, grow and save the same.
    #[test]
    fn pairs_are_as_vectors_apart() {
        let rules = [
            CoordinateRule::AdaGrad { epsilon: 1e-8 },
            CoordinateRule::Nesterov { rho: 0.9 },
            CoordinateRule::RmsProp { rho: 0.9, epsilon: 1e-8 },
        ];
        for rule in rules {
            let optimizer = Optimizer { rule, rate: Schedule::Constant(0.1) };
            let (mut apart, mut together) = (Weights::default(), Weights::default());
            let mut next = Weights::default();
            for round in 0..20u32 {
                let width = WIDE + round as usize;
                let columns = |round: u32| (0..5 + round % 7).map(move |k| (k * 997 + round * 31) % WIDE as u32);
                let indices: Vec<u32> = columns(round).collect();
                let coming: Vec<u32> = columns(round + 3).chain([u32::MAX]).collect();
                // In every third row one feature is 0.
                let x: Vec<f64> =
                    (0..indices.len()).map(|k| k as f64 - [3.5, 2.0, 0.5][round as usize % 3]).collect();
                let features = Features::Sparse(&indices, &x);
                let penalty = if round < 10 { Penalty::default() } else { Penalty { l1: 0.01, l2: 0.02 } };
                let step = Step { t: 1.0, slope: 0.5, penalty, fetched: false };
                for (weights, pair) in [(&mut apart, false), (&mut together, true)] {
                    if pair {
                        weights.grow_together(width, rule, false);
                        assert_eq!(weights.pairs.len(), width);
                    } else {
                        weights.grow(width, rule, false);
                    }
                    weights.prefetch(&coming);
                    assert!(!weights.propose(&optimizer, features, Step { slope: 1e308, ..step }, &mut next));
                    assert!(weights.propose(&optimizer, features, step, &mut next));
                    weights.commit(features, &mut next);
                }
                let ones = vec![1.0; width];
                for features in [features, Features::Dense(&ones)] {
                    assert_eq!(apart.dot(features, 1.0).to_bits(), together.dot(features, 1.0).to_bits());
                    assert_eq!(
                        apart.current(rule, features).to_bits(),
                        together.current(rule, features).to_bits()
                    );
                }
                assert_eq!(apart.effective(31, 1.0), together.effective(31, 1.0));
            }
            together.shrink(WIDE);
            apart.shrink(WIDE);
            let bytes = |weights: &Weights| crate::held::state::pack(weights).expect("plain data");
            assert!(bytes(&apart) == bytes(&together));
        }
    }
}
