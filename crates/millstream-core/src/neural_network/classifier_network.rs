//! A network of several layers that learns classes: its parameters, how they grow, and a step down a gradient.
//!
//! `MLPClassifier` takes one step for each example; the learners of `continual` add other gradients to it or pull the
//! parameters towards earlier ones.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value as Json};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::linear_model::softmax_regression::softmax;
use crate::linear_model::Coordinates;
use crate::numeric::dot;
use crate::optim::{CoordinateRule, Features, Optimizer, Penalty, Step, Weights};
use crate::row::{all_finite, finite, most, Row, Scratch, Value, Want};
use crate::schema::{FeatureKind, Schema};
use crate::task::ClassPrediction;

use super::embeddings::{Embeddings, Inputs};
use super::gradient::Gradient;
use super::layers::{Blocks, Layers};
use super::network::rows_by_feature;

/// 128 MB of them.
pub const MOST_PARAMETERS: usize = 1 << 24;
/// No step makes a parameter larger, so that the products of later steps stay finite and later rows are learned.
const LARGEST_PARAMETER: f64 = 1e75;
/// No initial parameter is larger.
const INITIAL_BOUND: f64 = 2.5;

#[derive(Clone)]
pub struct ClassifierNetwork {
    pub who: &'static str,
    pub layers: Layers,
    pub optimizer: Optimizer,
    /// Length of the vector of a nominal value; 0 for weights of its own.
    pub embedding: usize,
    pub state: State,
    pub gradient: Gradient,
    pass: Pass,
    spare: Vec<Weights>,
    /// The touched numbers of the input block and of the vectors.
    indices: [Vec<u32>; 2],
    numbers: [Vec<f64>; 2],
    /// The point at which the gradient is taken, if that is not the current one.
    ahead: Vec<Vec<f64>>,
    /// No parameter is larger.
    bound: f64,
    arch: Arch,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub coordinates: Coordinates,
    pub embeddings: Embeddings,
    /// Number of steps.
    pub t: f64,
    /// Number of features of the first example that were not 0, for the size of initial weights.
    features: usize,
    /// Of each layer, then of the vectors of nominal values. None before the first example.
    pub blocks: Vec<Weights>,
    /// Which class codes were met.
    pub met: Vec<bool>,
}

/// Buffers of one pass through the network.
#[derive(Clone, Debug, Default)]
struct Pass {
    /// Of the hidden layers, then the scores.
    activations: Vec<f64>,
    deltas: Vec<f64>,
    slopes: Vec<f64>,
    /// ∂ℓ by the numbers of the vectors of a row.
    vector_slopes: Vec<f64>,
}

/// What there was before an example.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    width: usize,
    places: usize,
    classes: usize,
    class: usize,
    fresh: bool,
    new_class: bool,
}

impl Growth {
    /// Whether the example has added anything.
    pub fn any(&self, network: &ClassifierNetwork) -> bool {
        self.fresh || self.new_class || self.width < network.state.coordinates.width()
    }
}

/// Scores become ∂ℓ/∂score of w · −ln P(y), in place.
pub fn cross_entropy(scores: &mut [f64], y: usize, w: f64) {
    softmax(scores);
    scores[y] -= 1.0;
    if w != 1.0 {
        scores.iter_mut().for_each(|slope| *slope *= w);
    }
}

/// The largest absolute number, which may not be NaN; in lanes, so that it runs in vector registers.
#[inline(always)]
fn largest(numbers: &[f64]) -> f64 {
    let greater = |a: f64, b: f64| if b > a { b } else { a };
    let (eights, rest) = numbers.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for eight in eights {
        for lane in 0..8 {
            lanes[lane] = greater(lanes[lane], eight[lane].abs());
        }
    }
    let most = rest.iter().fold(0.0, |most, number| greater(most, number.abs()));
    lanes.into_iter().fold(most, greater)
}

/// row ← row − rate · factor · numbers
#[inline(always)]
fn descend_row(row: &mut [f64], rate: f64, factor: f64, numbers: &[f64]) {
    row.iter_mut().zip(numbers).for_each(|(w, number)| *w -= rate * (factor * number));
}

/// Whether no number is NaN or larger than a parameter may be. It has no early exit, so that it runs in vector registers.
fn is_bounded(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |bounded, number| bounded & (number.abs() <= LARGEST_PARAMETER))
}

/// A step of plain gradient descent without embeddings, compiled for several instruction sets. Every operation rounds as
/// IEEE 754 says, so the results are the same with all of them.
struct PlainStep<'a, 'x, F> {
    network: &'a mut ClassifierNetwork,
    x: Row<'x>,
    answer: Option<(Want, &'a mut ClassPrediction)>,
    scratch: &'a mut Scratch,
    slopes: F,
}

impl<F: FnOnce(&mut [f64])> WithSimd for PlainStep<'_, '_, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let PlainStep { network, x, answer, scratch, slopes } = self;
        let mut pass = std::mem::take(&mut network.pass);
        let located = network.state.coordinates.locate(x, scratch);
        let features = located.features();
        let State { blocks, met, .. } = &network.state;
        let answer = answer.map(|(want, out)| (&*network, want, out));
        let through =
            ClassifierNetwork::through(&network.layers, &blocks[..], met, features, &mut pass, answer, slopes);
        let sound = through && network.step_plain(&mut pass, features, &[]);
        located.release(scratch);
        network.pass = pass;
        sound
    }
}

impl ClassifierNetwork {
    pub fn new(who: &'static str, layers: Layers, optimizer: Optimizer, embedding: usize) -> Self {
        ClassifierNetwork {
            who,
            layers,
            optimizer,
            embedding,
            state: State::default(),
            gradient: Gradient::default(),
            pass: Pass::default(),
            spare: Vec::new(),
            indices: Default::default(),
            numbers: Default::default(),
            ahead: Vec::new(),
            bound: INITIAL_BOUND,
            arch: Arch::new(),
        }
    }

    /// Number of inputs of the first layer.
    fn inputs(&self) -> usize {
        match self.embedding {
            0 => self.state.coordinates.width(),
            _ => self.state.embeddings.inputs(),
        }
    }

    fn size(&self, block: usize) -> usize {
        match block < self.layers.blocks() {
            true => self.layers.size(block, self.inputs(), self.state.met.len()),
            false => self.embedding * self.state.embeddings.vectors(),
        }
    }

    /// Make room for the features of `x` and for class `y`.
    #[inline]
    pub fn grow(&mut self, x: Row<'_>, y: usize) -> Result<Growth> {
        let State { coordinates, embeddings, blocks, met, .. } = &mut self.state;
        let growth = Growth {
            width: coordinates.width(),
            places: embeddings.coordinates(),
            classes: met.len(),
            class: y,
            fresh: blocks.is_empty(),
            new_class: !met.get(y).is_some_and(|met| *met),
        };
        if growth.fresh || growth.new_class || coordinates.may_grow(x) {
            self.grow_slowly(x, y, growth)?;
        }
        Ok(growth)
    }

    fn grow_slowly(&mut self, x: Row<'_>, y: usize, growth: Growth) -> Result<()> {
        let State { coordinates, embeddings, blocks, met, features, .. } = &mut self.state;
        coordinates.grow(x);
        if self.embedding > 0 {
            embeddings.grow(coordinates, x, self.embedding);
        }
        if met.len() <= y {
            met.resize(y + 1, false);
        }
        met[y] = true;
        let count = self.layers.blocks() + 1;
        if growth.fresh {
            blocks.resize(count, Weights::default());
            *features = 0;
            x.each(|_, value| *features += usize::from(value != Value::Number(0.0)));
        }
        if !growth.any(self) {
            return Ok(());
        }
        let total: usize = (0..count).map(|block| self.size(block)).sum();
        if total > MOST_PARAMETERS {
            self.shrink(growth);
            return Err(Fault::value(format!(
                "{}: supports up to {MOST_PARAMETERS} weights, got {total} for {} features and nominal values",
                self.who,
                self.state.coordinates.width() + 1
            )));
        }
        for index in 0..count {
            let (size, known) = (self.size(index), self.state.blocks[index].len());
            if size > known {
                let mut begun = Vec::new();
                match index + 1 == count {
                    false => self.layers.begin(index, known, size, self.state.features, &mut begun),
                    true => {
                        let (known, vectors) = (known / self.embedding, self.state.embeddings.vectors());
                        Embeddings::begin(self.embedding, known, vectors, self.layers.seed, &mut begun);
                    }
                }
                let block = &mut self.state.blocks[index];
                block.grow(size, self.optimizer.rule, false);
                block.begin_with(known, &begun);
            }
        }
        self.bound = self.bound.max(INITIAL_BOUND);
        Ok(())
    }

    /// Remove what an example has added.
    pub fn shrink(&mut self, growth: Growth) {
        let State { coordinates, embeddings, met, .. } = &mut self.state;
        if growth.width < coordinates.width() {
            coordinates.shrink(growth.width);
            embeddings.shrink(growth.places, self.embedding.max(1));
        }
        if growth.new_class {
            met[growth.class] = false;
            met.truncate(growth.classes);
        }
        if growth.fresh {
            self.state.blocks.clear();
            self.state.features = 0;
        }
        for index in 0..self.state.blocks.len() {
            let size = self.size(index);
            self.state.blocks[index].shrink(size);
        }
    }

    /// Set the scores of classes that were not met to −∞, and others to finite numbers; NaN stays.
    fn mask(&self, scores: &mut [f64]) {
        for (score, met) in scores.iter_mut().zip(&self.state.met) {
            *score = if *met { score.clamp(f64::MIN, f64::MAX) } else { f64::NEG_INFINITY };
        }
    }

    /// The scores of all classes; −∞ for one that was not met. Empty before the first example.
    pub fn scores(&self, x: Row<'_>, out: &mut Vec<f64>, scratch: &mut Scratch) {
        out.clear();
        if self.state.blocks.is_empty() {
            return;
        }
        let mut activations = scratch.take_numbers();
        if self.embedding > 0 {
            let mut inputs = Inputs::take(scratch);
            self.look_up(x, &mut inputs);
            self.layers.forward(&self.state.blocks[..], inputs.features(), &mut activations);
            inputs.give(scratch);
        } else {
            let located = self.state.coordinates.locate(x, scratch);
            self.layers.forward(&self.state.blocks[..], located.features(), &mut activations);
            located.release(scratch);
        }
        out.extend(activations[self.layers.units()..].iter().map(|&score| finite(score)));
        self.mask(out);
        scratch.give_numbers(activations);
    }

    fn look_up(&self, x: Row<'_>, inputs: &mut Inputs) {
        let State { coordinates, embeddings, blocks, .. } = &self.state;
        embeddings.locate(coordinates, x, blocks[self.layers.blocks()].values(), self.embedding, inputs);
    }

    /// The prediction that scores make.
    pub fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        if scores.is_empty() {
            return;
        }
        out.class = most(scores);
        if want == Want::Probabilities {
            out.probabilities.extend_from_slice(scores);
            softmax(&mut out.probabilities);
        }
    }

    pub fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let mut scores = scratch.take_numbers();
        self.scores(x, &mut scores, scratch);
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
    }

    /// One step at an example down the gradient that `slopes` makes of its scores, if the optimiser is plain gradient
    /// descent; otherwise by `add_gradient` and `descend`. False, and no change, on overflow. `answer` receives the
    /// prediction before the step.
    #[inline]
    pub fn step(
        &mut self,
        x: Row<'_>,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
        slopes: impl FnOnce(&mut [f64]),
    ) -> bool {
        if self.optimizer.rule == CoordinateRule::Sgd && self.embedding == 0 {
            return self.arch.dispatch(PlainStep { network: self, x, answer, scratch, slopes });
        }
        if self.optimizer.rule != CoordinateRule::Sgd {
            let sound = self.pass(x, answer, scratch, slopes, |network, pass, features, vectors| {
                network.add(pass, features, vectors);
            });
            return sound && self.descend();
        }
        let mut stepped = false;
        let sound = self.pass(x, answer, scratch, slopes, |network, pass, features, vectors| {
            stepped = network.step_plain(pass, features, vectors);
        });
        sound && stepped
    }

    /// Add the gradient at a row that `slopes` makes of its scores; false, and nothing is added, if it is not finite.
    pub fn add_gradient(&mut self, x: Row<'_>, scratch: &mut Scratch, slopes: impl FnOnce(&mut [f64])) -> bool {
        self.pass(x, None, scratch, slopes, |network, pass, features, vectors| {
            network.add(pass, features, vectors);
        })
    }

    /// Go forward and back at a row; `then` receives the pass if it is finite.
    #[inline]
    fn pass(
        &mut self,
        x: Row<'_>,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
        slopes: impl FnOnce(&mut [f64]),
        then: impl FnOnce(&mut Self, &mut Pass, Features<'_>, &[u32]),
    ) -> bool {
        let mut pass = std::mem::take(&mut self.pass);
        let sound;
        if self.embedding > 0 {
            let mut inputs = Inputs::take(scratch);
            self.look_up(x, &mut inputs);
            sound = self.pass_features(inputs.features(), &mut pass, answer, slopes);
            if sound {
                then(self, &mut pass, inputs.features(), &inputs.vectors);
            }
            inputs.give(scratch);
        } else {
            let located = self.state.coordinates.locate(x, scratch);
            sound = self.pass_features(located.features(), &mut pass, answer, slopes);
            if sound {
                then(self, &mut pass, located.features(), &[]);
            }
            located.release(scratch);
        }
        self.pass = pass;
        sound
    }

    #[inline]
    fn pass_features(
        &mut self,
        features: Features<'_>,
        pass: &mut Pass,
        answer: Option<(Want, &mut ClassPrediction)>,
        slopes: impl FnOnce(&mut [f64]),
    ) -> bool {
        let rule = self.optimizer.rule;
        if rule.look_ahead() != 0.0 {
            self.ahead.resize(self.state.blocks.len(), Vec::new());
            for (block, ahead) in self.state.blocks.iter().zip(&mut self.ahead) {
                block.ahead(rule, ahead);
            }
            Self::through(&self.layers, &self.ahead[..], &self.state.met, features, pass, None, slopes)
        } else {
            let answer = answer.map(|(want, out)| (&*self, want, out));
            Self::through(&self.layers, &self.state.blocks[..], &self.state.met, features, pass, answer, slopes)
        }
    }

    #[inline(always)]
    fn through<P: Blocks + ?Sized>(
        layers: &Layers,
        parameters: &P,
        met: &[bool],
        features: Features<'_>,
        pass: &mut Pass,
        answer: Option<(&Self, Want, &mut ClassPrediction)>,
        slopes: impl FnOnce(&mut [f64]),
    ) -> bool {
        layers.forward(parameters, features, &mut pass.activations);
        let units = layers.units();
        pass.slopes.clear();
        for (&score, &met) in pass.activations[units..].iter().zip(met) {
            pass.slopes.push(if met { score.clamp(f64::MIN, f64::MAX) } else { f64::NEG_INFINITY });
        }
        if let Some((network, want, out)) = answer {
            network.write(&pass.slopes, want, out);
        }
        slopes(&mut pass.slopes);
        layers.backward(parameters, &pass.activations, &pass.slopes, &mut pass.deltas);
        all_finite(&pass.slopes) && all_finite(&pass.deltas) && all_finite(&pass.activations[..units])
    }

    /// ∂ℓ by the numbers of the vectors of a row.
    fn find_vector_slopes(&self, pass: &mut Pass, features: Features<'_>, vectors: &[u32]) {
        pass.vector_slopes.clear();
        let Features::Sparse(indices, _) = features else { return };
        for pair in vectors.chunks_exact(2) {
            let first = indices[pair[1] as usize] as usize;
            let slopes = (first..first + self.embedding)
                .map(|input| self.layers.input_slope(&self.state.blocks[..], input, &pass.deltas));
            pass.vector_slopes.extend(slopes);
        }
    }

    /// Add the gradient of a pass.
    fn add(&mut self, pass: &mut Pass, features: Features<'_>, vectors: &[u32]) {
        self.find_vector_slopes(pass, features, vectors);
        let (units, inputs) = (self.layers.hidden[0], self.inputs());
        let sizes = self.state.blocks.iter().map(Weights::len);
        let gradient = &mut self.gradient;
        gradient.fit(sizes, units, self.embedding);
        let delta = &pass.deltas[..units];
        gradient.inputs.add(0);
        gradient.add_row(0, 0, 1.0, delta);
        let mut add = |input: usize, x: f64| {
            if x != 0.0 && input < inputs {
                gradient.inputs.add(1 + input);
                gradient.add_row(0, units * (1 + input), x, delta);
            }
        };
        match features {
            Features::Dense(x) => x.iter().enumerate().for_each(|(input, &x)| add(input, x)),
            Features::Sparse(indices, x) => {
                indices.iter().zip(x).for_each(|(&input, &x)| add(input as usize, x));
            }
        }
        let Pass { activations, deltas, slopes, vector_slopes } = pass;
        self.layers.each_upper_row(activations, deltas, slopes, |block, start, factor, numbers| {
            gradient.add_row(block, start, factor, numbers);
        });
        let last = self.layers.blocks();
        for (pair, slopes) in vectors.chunks_exact(2).zip(vector_slopes.chunks_exact(self.embedding.max(1))) {
            gradient.vectors.add(pair[0] as usize);
            gradient.add_row(last, pair[0] as usize * self.embedding, 1.0, slopes);
        }
        gradient.examples += 1.0;
    }

    /// One step down the sum of gradients, which is then 0. False, and no change of the network, on overflow.
    pub fn descend(&mut self) -> bool {
        let sound = self.step_down();
        self.clear_gradient();
        sound
    }

    /// As `descend`; the gradient stays.
    pub fn step_down(&mut self) -> bool {
        let (units, embedding) = (self.layers.hidden[0], self.embedding);
        // A loss without gradients has nothing to add.
        self.gradient.fit(self.state.blocks.iter().map(Weights::len), units, embedding);
        let State { blocks, t, .. } = &mut self.state;
        self.spare.resize(blocks.len(), Weights::default());
        let step = Step { t: *t + 1.0, slope: 1.0, penalty: Penalty::default(), fetched: false };
        let Gradient { blocks: sums, inputs, vectors, .. } = &mut self.gradient;
        let all = inputs.rows.len() * units == sums.first().map_or(0, Vec::len);
        let last = blocks.len().saturating_sub(1);
        let (lists, numbers) = (&mut self.indices, &mut self.numbers);
        lists.iter_mut().for_each(Vec::clear);
        numbers.iter_mut().for_each(Vec::clear);
        for (which, (touched, length, block)) in
            [(&mut inputs.rows, units, 0), (&mut vectors.rows, embedding, last)].into_iter().enumerate()
        {
            if which == 0 && all {
                continue;
            }
            touched.sort_unstable();
            for &row in touched.iter() {
                let range = row as usize * length..(row as usize + 1) * length;
                lists[which].extend(range.clone().map(|index| index as u32));
                numbers[which].extend_from_slice(&sums[block][range]);
            }
        }
        let features = |index: usize| match index {
            0 if !all => Features::Sparse(&lists[0], &numbers[0]),
            _ if index == last => Features::Sparse(&lists[1], &numbers[1]),
            _ => Features::Dense(&sums[index]),
        };
        let mut sound = true;
        for (index, (block, next)) in blocks.iter().zip(&mut self.spare).enumerate() {
            sound =
                sound && block.propose(&self.optimizer, features(index), step, next) && is_bounded(next.values());
        }
        if sound {
            for (index, (block, next)) in blocks.iter_mut().zip(&mut self.spare).enumerate() {
                block.commit(features(index), next);
            }
            *t += 1.0;
            self.bound = f64::MAX;
        }
        sound
    }

    /// Visit the numbers of the gradient that may differ from 0: their block, the index of the first, and the numbers.
    pub fn each_gradient(&self, visit: impl FnMut(usize, usize, &[f64])) {
        self.gradient.each_part(self.layers.hidden[0], self.embedding, visit);
    }

    /// Remove from the gradient its part against another one: g ← g − (gᵀr / rᵀr) r if gᵀr < 0.
    pub fn project_away(&mut self, other: &Gradient) {
        let (units, embedding) = (self.layers.hidden[0], self.embedding);
        let gradient = &mut self.gradient;
        let (mut along, mut squares) = (0.0, 0.0);
        other.each_part(units, embedding, |block, start, numbers| {
            along += dot(&gradient.blocks[block][start..start + numbers.len()], numbers);
            squares += dot(numbers, numbers);
        });
        let factor = along / squares;
        if !(factor < 0.0 && factor.is_finite()) {
            return;
        }
        other.inputs.rows.iter().for_each(|&row| gradient.inputs.add(row as usize));
        other.vectors.rows.iter().for_each(|&row| gradient.vectors.add(row as usize));
        other.each_part(units, embedding, |block, start, numbers| {
            gradient.add_row(block, start, -factor, numbers);
        });
    }

    /// Set another gradient to 0.
    pub fn clear(&self, gradient: &mut Gradient) {
        gradient.clear(self.layers.hidden[0], self.embedding);
    }

    /// A step of plain gradient descent in place. It is checked beforehand that no parameter can overflow; only if that
    /// is not sure, they are copied.
    #[inline(always)]
    fn step_plain(&mut self, pass: &mut Pass, features: Features<'_>, vectors: &[u32]) -> bool {
        self.find_vector_slopes(pass, features, vectors);
        let rate = self.optimizer.rate.at(self.state.t + 1.0);
        let (Features::Dense(x) | Features::Sparse(_, x)) = features;
        let units = self.layers.units();
        let slope = largest(&pass.deltas).max(largest(&pass.slopes));
        let factor = largest(x).max(largest(&pass.activations[..units])).max(1.0);
        let step = rate * (slope * factor + largest(&pass.vector_slopes));
        let sure = |bound: f64| bound + step < LARGEST_PARAMETER;
        if !sure(self.bound) {
            self.bound = self.state.blocks.iter().map(|block| largest(block.values())).fold(0.0, f64::max);
        }
        let bound = self.bound + step;
        if sure(self.bound) {
            self.move_along(rate, pass, features, vectors);
            self.bound = bound;
        } else {
            let before: Vec<Weights> = self.state.blocks.clone();
            self.move_along(rate, pass, features, vectors);
            if !self.state.blocks.iter().all(|block| is_bounded(block.values())) {
                self.state.blocks = before;
                return false;
            }
            self.bound = f64::MAX;
        }
        self.state.t += 1.0;
        true
    }

    #[inline(always)]
    fn move_along(&mut self, rate: f64, pass: &Pass, features: Features<'_>, vectors: &[u32]) {
        let (units, inputs) = (self.layers.hidden[0], self.inputs());
        let blocks = &mut self.state.blocks;
        let delta = &pass.deltas[..units];
        let (biases, rows) = blocks[0].values_mut().split_at_mut(units);
        biases.iter_mut().zip(delta).for_each(|(w, d)| *w -= rate * d);
        // Loops, not closures: these are compiled for the instruction set of the caller.
        match features {
            Features::Dense(x) => {
                for (row, &x) in rows.chunks_exact_mut(units).zip(x).take(inputs) {
                    if x != 0.0 {
                        descend_row(row, rate, x, delta);
                    }
                }
            }
            Features::Sparse(indices, x) => {
                for (&input, &x) in indices.iter().zip(x) {
                    let input = input as usize;
                    if x != 0.0 && input < inputs {
                        descend_row(&mut rows[input * units..(input + 1) * units], rate, x, delta);
                    }
                }
            }
        }
        let (hidden, mut start) = (&self.layers.hidden, 0);
        for layer in 1..hidden.len() {
            let (size, end) = (hidden[layer], start + hidden[layer - 1]);
            let delta = &pass.deltas[end..end + size];
            let (biases, rows) = blocks[layer].values_mut().split_at_mut(size);
            descend_row(biases, rate, 1.0, delta);
            for (row, &a) in rows.chunks_exact_mut(size).zip(&pass.activations[start..end]) {
                if a != 0.0 {
                    descend_row(row, rate, a, delta);
                }
            }
            start = end;
        }
        let last = &pass.activations[start..self.layers.units()];
        let rows = blocks[hidden.len()].values_mut().chunks_exact_mut(1 + last.len());
        for (row, &slope) in rows.zip(&pass.slopes) {
            if slope != 0.0 {
                row[0] -= rate * slope;
                descend_row(&mut row[1..], rate, slope, last);
            }
        }
        let slopes = pass.vector_slopes.chunks_exact(self.embedding.max(1));
        for (pair, slopes) in vectors.chunks_exact(2).zip(slopes) {
            let start = pair[0] as usize * self.embedding;
            let table = blocks[self.layers.blocks()].values_mut();
            table[start..start + slopes.len()].iter_mut().zip(slopes).for_each(|(w, slope)| *w -= rate * slope);
        }
    }

    /// The learning rate of the last step, for pulls that accompany it.
    pub fn rate(&self) -> f64 {
        self.optimizer.rate.at(self.state.t.max(1.0))
    }

    /// Sizes of all blocks.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.state.blocks.iter().map(Weights::len)
    }

    /// Change the parameters of each block; the results must be finite.
    pub fn each_block_mut(&mut self, mut change: impl FnMut(usize, &mut [f64])) {
        for (index, block) in self.state.blocks.iter_mut().enumerate() {
            change(index, block.values_mut());
        }
        self.bound = f64::MAX;
    }

    pub fn clear_gradient(&mut self) {
        self.gradient.clear(self.layers.hidden[0], self.embedding);
    }

    /// Replace the state by a saved one, if it is valid.
    pub fn adopt(&mut self, state: State) -> Result<()> {
        let who = self.who;
        state.coordinates.validate(who)?;
        require(who, state.t.is_finite() && state.t >= 0.0, "a count is not finite")?;
        if self.embedding > 0 {
            state.embeddings.validate(who, &state.coordinates, self.embedding)?;
        } else {
            require(who, state.embeddings.coordinates() == 0, "vectors without a size")?;
        }
        let known = state.met.iter().any(|met| *met);
        require(who, known != state.blocks.is_empty(), "weights without a class")?;
        require(who, known || state.coordinates.width() == 0, "coordinates without weights")?;
        let blocks = if known { self.layers.blocks() + 1 } else { 0 };
        require(who, state.blocks.len() == blocks, "a wrong number of layers")?;
        let before = std::mem::replace(&mut self.state, state);
        let fits = (0..blocks).all(|index| self.state.blocks[index].len() == self.size(index))
            && self.state.blocks.iter().map(Weights::len).sum::<usize>() <= MOST_PARAMETERS;
        let sound = require(who, fits, "a wrong number of weights").and_then(|()| {
            self.state.blocks.iter().try_for_each(|block| block.validate(who, self.optimizer.rule, false))
        });
        if sound.is_err() {
            self.state = before;
        } else {
            self.bound = f64::MAX;
            self.gradient = Gradient::default();
        }
        sound
    }

    pub fn memory(&self) -> usize {
        let State { coordinates, embeddings, blocks, met, .. } = &self.state;
        let Pass { activations, deltas, slopes, vector_slopes } = &self.pass;
        let buffers = [activations, deltas, slopes, vector_slopes];
        std::mem::size_of::<Self>()
            + coordinates.memory()
            + embeddings.memory()
            + met.capacity()
            + blocks.iter().chain(&self.spare).map(|block| 128 + block.memory()).sum::<usize>()
            + self.indices.iter().map(|indices| 4 * indices.capacity()).sum::<usize>()
            + buffers
                .into_iter()
                .chain(&self.ahead)
                .chain(&self.numbers)
                .map(|numbers| 8 * numbers.capacity())
                .sum::<usize>()
            + self.gradient.memory()
    }

    /// `{"layers": [{"intercepts", "weights"}, …], "steps", "parameters"}`: the weights of the first layer by feature, of
    /// the others by unit of the layer below; the last layer is by class code.
    pub fn inspect(&self, schema: &Schema) -> Json {
        let mut found = self.scalars();
        let Some((first, _)) = self.state.blocks.split_first() else { return found };
        let units = self.layers.hidden[0];
        let row = |input: usize| {
            let start = units * (1 + input);
            json!(first.values().get(start..start + units).unwrap_or_default())
        };
        let mut layers =
            vec![json!({ "intercepts": first.values()[..units], "weights": self.first(schema, row) })];
        for layer in 1..self.layers.hidden.len() {
            let (size, block) = (self.layers.hidden[layer], self.state.blocks[layer].values());
            let weights: Vec<&[f64]> = block[size..].chunks_exact(size).collect();
            layers.push(json!({ "intercepts": block[..size], "weights": weights }));
        }
        let last = self.layers.hidden[self.layers.hidden.len() - 1];
        let rows: Vec<&[f64]> =
            self.state.blocks[self.layers.hidden.len()].values().chunks_exact(1 + last).collect();
        let intercepts: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        let weights: Vec<&[f64]> = rows.iter().map(|row| &row[1..]).collect();
        layers.push(json!({ "intercepts": intercepts, "weights": weights }));
        found["layers"] = Json::Array(layers);
        if self.embedding > 0 {
            found["embeddings"] = self.vectors(schema);
        }
        found
    }

    /// Something of each input, by feature; by value of a nominal one, if it has weights of its own.
    fn first(&self, schema: &Schema, row: impl Fn(usize) -> Json) -> Json {
        let State { coordinates, embeddings, .. } = &self.state;
        if self.embedding == 0 {
            return rows_by_feature(coordinates, schema, |coordinate| row(coordinate as usize));
        }
        let mut found = Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            let place = |value: Value| embeddings.place(coordinates.of(slot, value)? as usize);
            if *kind == FeatureKind::Nominal {
                let codes = 0..schema.values(slot).len() as u32;
                let first = codes.into_iter().find_map(|code| place(Value::Nominal(Some(code))));
                let rows = first.map(|(first, _)| (first..first + self.embedding).map(&row).collect::<Vec<_>>());
                found.extend(rows.map(|rows| (name.text(), Json::Array(rows))));
            } else if let Some((input, _)) = place(Value::Number(0.0)) {
                found.insert(name.text(), row(input));
            }
        }
        Json::Object(found)
    }

    /// The vector of each value of each nominal feature.
    fn vectors(&self, schema: &Schema) -> Json {
        let State { coordinates, embeddings, blocks, .. } = &self.state;
        let (Some(table), size) = (blocks.last(), self.embedding) else { return json!({}) };
        let mut found = Map::new();
        for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
            if *kind == FeatureKind::Nominal {
                let values = schema.values(slot);
                let by_value = (0..values.len() as u32).filter_map(|code| {
                    let coordinate = coordinates.of(slot, Value::Nominal(Some(code)))?;
                    let vector = embeddings.place(coordinate as usize)?.1?;
                    let numbers = table.values().get(vector * size..(vector + 1) * size)?;
                    Some((values.text(code)?.to_string(), json!(numbers)))
                });
                found.insert(name.text(), Json::Object(by_value.collect()));
            }
        }
        Json::Object(found)
    }

    pub fn scalars(&self) -> Json {
        json!({
            "hidden_units": self.layers.hidden,
            "parameters": self.state.blocks.iter().map(Weights::len).sum::<usize>(),
            "steps": self.state.t,
        })
    }
}
