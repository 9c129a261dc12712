//! A network of several hidden layers with a score for each class, and the gradient of a loss of the scores by
//! backpropagation (Rumelhart, Hinton and Williams, 1986):
//!
//! ```text
//! a₀ = x,  aₗ = φ(bₗ + Σₖ wₗₖ aₗ₋₁ₖ),  zⱼ = cⱼ + vⱼᵀ a_L
//! δ_L = φ'(a_L) ⊙ Σⱼ (∂ℓ/∂zⱼ) vⱼ,  δₗ = φ'(aₗ) ⊙ (Wₗ₊₁ᵀ δₗ₊₁),  ∂ℓ/∂wₗₖ = aₗ₋₁ₖ δₗ,  ∂ℓ/∂bₗ = δₗ
//! ```
//! The parameters lie in blocks: block l has bₗ and then the weights wₗₖ of each unit k of the layer below, so that a new
//! coordinate of the input adds to the end of block 0; the last block has cⱼ and vⱼ of each class in turn, so that a new
//! class adds to its end. Features and activations of 0 are skipped, which changes no result. Initially c and v are 0, so
//! that the classes are equally probable; b and w are uniform, and those of a coordinate depend on the seed, on the coordinate
//! and on the number of features of the first row.

use crate::numeric::dot;
use crate::numeric::elementary::tanh;
use crate::numeric::random::Random;
use crate::optim::{Features, Weights};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Tanh,
    Relu,
}

impl Activation {
    #[inline(always)]
    fn apply(self, numbers: &mut [f64]) {
        match self {
            Activation::Tanh => numbers.iter_mut().for_each(|a| *a = tanh(*a)),
            Activation::Relu => numbers.iter_mut().for_each(|a| *a = if *a > 0.0 { *a } else { 0.0 }),
        }
    }

    /// Multiply each delta by φ' at an activation.
    #[inline(always)]
    fn slope(self, activations: &[f64], deltas: &mut [f64]) {
        match self {
            Activation::Tanh => deltas.iter_mut().zip(activations).for_each(|(d, a)| *d *= 1.0 - a * a),
            Activation::Relu => {
                deltas.iter_mut().zip(activations).for_each(|(d, a)| *d = if *a > 0.0 { *d } else { 0.0 });
            }
        }
    }
}

/// Parameters in blocks.
pub trait Blocks {
    fn block(&self, index: usize) -> &[f64];
}

impl Blocks for [Weights] {
    #[inline]
    fn block(&self, index: usize) -> &[f64] {
        self[index].values()
    }
}

impl Blocks for [Vec<f64>] {
    #[inline]
    fn block(&self, index: usize) -> &[f64] {
        &self[index]
    }
}

/// The sizes of the hidden layers, and what lies between them.
#[derive(Clone, Debug)]
pub struct Layers {
    pub hidden: Vec<usize>,
    pub activation: Activation,
    pub seed: u64,
}

impl Layers {
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.hidden.len() + 1
    }

    /// Number of hidden units, with which activations begin.
    pub fn units(&self) -> usize {
        self.hidden.iter().sum()
    }

    /// Size of a block, for `width` coordinates and `classes` classes.
    pub fn size(&self, block: usize, width: usize, classes: usize) -> usize {
        match (block, self.hidden.get(block)) {
            (0, Some(units)) => units * (1 + width),
            (_, Some(units)) => units * (1 + self.hidden[block - 1]),
            (_, None) => classes * (1 + self.last()),
        }
    }

    fn last(&self) -> usize {
        self.hidden[self.hidden.len() - 1]
    }

    /// Append the initial parameters of a block from index `known` on, up to its size; `features` is the number of features
    /// of a typical row.
    pub fn begin(&self, block: usize, known: usize, size: usize, features: usize, parameters: &mut Vec<f64>) {
        let Some(&units) = self.hidden.get(block) else {
            return parameters.extend(std::iter::repeat_n(0.0, size - known));
        };
        // The variance of the input of a unit is then of the order of that of a feature (Glorot and Bengio, 2010; He and
        // others, 2015).
        let inputs = if block == 0 { features.max(1) } else { self.hidden[block - 1] };
        let gain = if self.activation == Activation::Tanh { 3.0 } else { 6.0 };
        let limit = (gain / inputs as f64).sqrt();
        for row in known / units..size / units {
            let mut random = Random::new(self.seed, ((block as u64) << 40) + row as u64);
            parameters.extend((0..units).map(|_| random.between(-limit, limit)));
        }
    }

    /// The activations of all hidden layers and then the scores, into `out`. A coordinate without parameters is ignored.
    #[inline(always)]
    pub fn forward<P: Blocks + ?Sized>(&self, parameters: &P, x: Features<'_>, out: &mut Vec<f64>) {
        out.clear();
        let (units, block) = (self.hidden[0], parameters.block(0));
        out.extend_from_slice(&block[..units]);
        let mut sum = Sum { out, rows: &block[units..], waiting: [(0, 0.0); 4], count: 0 };
        // Loops, not closures: these are compiled for the instruction set of the caller.
        match x {
            Features::Dense(values) => {
                for (index, &x) in values.iter().enumerate() {
                    sum.add(index, x);
                }
            }
            Features::Sparse(indices, values) => {
                for (&index, &x) in indices.iter().zip(values) {
                    sum.add(index as usize, x);
                }
            }
        }
        sum.finish();
        self.activation.apply(out);
        let mut start = 0;
        for layer in 1..self.hidden.len() {
            let (end, units, block) = (out.len(), self.hidden[layer], parameters.block(layer));
            out.extend_from_slice(&block[..units]);
            let (below, above) = out.split_at_mut(end);
            let mut sum = Sum { out: above, rows: &block[units..], waiting: [(0, 0.0); 4], count: 0 };
            for (index, &a) in below[start..].iter().enumerate() {
                sum.add(index, a);
            }
            sum.finish();
            self.activation.apply(above);
            start = end;
        }
        let (end, last) = (out.len(), self.last());
        for row in parameters.block(self.hidden.len()).chunks_exact(1 + last) {
            let score = row[0] + dot(&row[1..], &out[start..end]);
            out.push(score);
        }
    }

    /// The deltas of all hidden layers, from those of the scores and the activations of `forward`.
    #[inline(always)]
    pub fn backward<P: Blocks + ?Sized>(
        &self,
        parameters: &P,
        activations: &[f64],
        slopes: &[f64],
        deltas: &mut Vec<f64>,
    ) {
        let (units, last) = (self.units(), self.last());
        deltas.clear();
        deltas.resize(units, 0.0);
        let mut start = units - last;
        let rows = parameters.block(self.hidden.len()).chunks_exact(1 + last);
        for (row, &slope) in rows.zip(slopes).filter(|(_, &slope)| slope != 0.0) {
            deltas[start..].iter_mut().zip(&row[1..]).for_each(|(d, v)| *d += slope * v);
        }
        self.activation.slope(&activations[start..units], &mut deltas[start..]);
        for layer in (1..self.hidden.len()).rev() {
            let (size, below) = (self.hidden[layer], self.hidden[layer - 1]);
            let (lower, upper) = deltas.split_at_mut(start);
            let (upper, from) = (&upper[..size], start - below);
            let rows = parameters.block(layer)[size..].chunks_exact(size);
            lower[from..].iter_mut().zip(rows).for_each(|(d, w)| *d = dot(w, upper));
            self.activation.slope(&activations[from..start], &mut lower[from..]);
            start = from;
        }
    }

    /// ∂ℓ/∂x of a coordinate.
    #[inline]
    pub fn input_slope<P: Blocks + ?Sized>(&self, parameters: &P, coordinate: usize, deltas: &[f64]) -> f64 {
        let units = self.hidden[0];
        let start = units * (1 + coordinate);
        dot(&parameters.block(0)[start..start + units], &deltas[..units])
    }

    /// Visit the gradient of the blocks above the first as rows: the block, the start of a row in it, a factor and the
    /// numbers that it multiplies.
    #[inline]
    pub fn each_upper_row(
        &self,
        activations: &[f64],
        deltas: &[f64],
        slopes: &[f64],
        mut visit: impl FnMut(usize, usize, f64, &[f64]),
    ) {
        let mut start = 0;
        for layer in 1..self.hidden.len() {
            let (below, size) = (self.hidden[layer - 1], self.hidden[layer]);
            let end = start + below;
            let delta = &deltas[end..end + size];
            visit(layer, 0, 1.0, delta);
            for (unit, &a) in activations[start..end].iter().enumerate().filter(|(_, &a)| a != 0.0) {
                visit(layer, size * (1 + unit), a, delta);
            }
            start = end;
        }
        let (last, units) = (self.last(), self.units());
        for (class, &slope) in slopes.iter().enumerate().filter(|(_, &slope)| slope != 0.0) {
            visit(self.hidden.len(), class * (1 + last), slope, &[1.0]);
            visit(self.hidden.len(), class * (1 + last) + 1, slope, &activations[start..units]);
        }
    }
}

/// out ← out + Σ x · row, four rows at a time: the sum then stays in registers. The order of the additions is that of one
/// row at a time.
struct Sum<'a> {
    out: &'a mut [f64],
    rows: &'a [f64],
    waiting: [(usize, f64); 4],
    count: usize,
}

impl Sum<'_> {
    #[inline(always)]
    fn add(&mut self, index: usize, x: f64) {
        if x == 0.0 || (index + 1) * self.out.len() > self.rows.len() {
            return;
        }
        self.waiting[self.count] = (index, x);
        self.count += 1;
        if self.count == 4 {
            self.add_four();
        }
    }

    #[inline(always)]
    fn add_four(&mut self) {
        let n = self.out.len();
        let [(ia, xa), (ib, xb), (ic, xc), (id, xd)] = self.waiting;
        let (a, b) = (&self.rows[ia * n..(ia + 1) * n], &self.rows[ib * n..(ib + 1) * n]);
        let (c, d) = (&self.rows[ic * n..(ic + 1) * n], &self.rows[id * n..(id + 1) * n]);
        let out = &mut self.out[..n];
        for i in 0..n {
            out[i] = (((out[i] + a[i] * xa) + b[i] * xb) + c[i] * xc) + d[i] * xd;
        }
        self.count = 0;
    }

    #[inline(always)]
    fn finish(mut self) {
        let n = self.out.len();
        for &(index, x) in &self.waiting[..std::mem::take(&mut self.count)] {
            self.out.iter_mut().zip(&self.rows[index * n..(index + 1) * n]).for_each(|(out, w)| *out += w * x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(activation: Activation) -> (Layers, Vec<Vec<f64>>) {
        let layers = Layers { hidden: vec![4, 3], activation, seed: 3 };
        let mut blocks = vec![Vec::new(); 3];
        for (index, block) in blocks.iter_mut().enumerate() {
            layers.begin(index, 0, layers.size(index, 6, 2), 6, block);
        }
        // Classes that differ, so that every parameter has a gradient.
        blocks[2].iter_mut().enumerate().for_each(|(index, v)| *v = 0.5 - 0.17 * index as f64);
        (layers, blocks)
    }

    /// ℓ = Σⱼ (j + 1) zⱼ², by finite differences.
    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for activation in [Activation::Tanh, Activation::Relu] {
            let (layers, mut blocks) = layers(activation);
            let x = [0.7, 0.0, -1.3, 0.2, 0.9, -0.4];
            let loss = |blocks: &[Vec<f64>]| {
                let mut out = Vec::new();
                layers.forward(blocks, Features::Dense(&x), &mut out);
                out[7] * out[7] + 2.0 * out[8] * out[8]
            };
            let (mut out, mut deltas) = (Vec::new(), Vec::new());
            layers.forward(&blocks[..], Features::Dense(&x), &mut out);
            let slopes = [2.0 * out[7], 4.0 * out[8]];
            layers.backward(&blocks[..], &out, &slopes, &mut deltas);
            let mut gradient: Vec<Vec<f64>> = blocks.iter().map(|block| vec![0.0; block.len()]).collect();
            gradient[0][..4].copy_from_slice(&deltas[..4]);
            for (j, x) in x.iter().enumerate() {
                (0..4).for_each(|k| gradient[0][4 * (1 + j) + k] = x * deltas[k]);
            }
            layers.each_upper_row(&out, &deltas, &slopes, |block, start, factor, numbers| {
                numbers.iter().enumerate().for_each(|(k, number)| gradient[block][start + k] += factor * number);
            });
            for block in 0..3 {
                for index in 0..blocks[block].len() {
                    let (kept, h) = (blocks[block][index], 1e-6);
                    blocks[block][index] = kept + h;
                    let above = loss(&blocks);
                    blocks[block][index] = kept - h;
                    let numeric = (above - loss(&blocks)) / (2.0 * h);
                    blocks[block][index] = kept;
                    let got = gradient[block][index];
                    assert!((numeric - got).abs() < 1e-7, "{block} {index}: {numeric}, not {got}");
                }
            }
        }
    }

    #[test]
    fn four_rows_at_a_time_are_one_at_a_time() {
        let (layers, blocks) = layers(Activation::Tanh);
        let (mut dense, mut sparse) = (Vec::new(), Vec::new());
        let x = [0.7, 0.0, -1.3, 0.2, 0.9, -0.4];
        layers.forward(&blocks[..], Features::Dense(&x), &mut dense);
        let (indices, values) = ([0, 2, 3, 4, 5, 77], [0.7, -1.3, 0.2, 0.9, -0.4, 5.0]);
        layers.forward(&blocks[..], Features::Sparse(&indices, &values), &mut sparse);
        assert_eq!(dense, sparse);
        let mut by_hand = blocks[0][..4].to_vec();
        for (j, x) in x.iter().enumerate() {
            (0..4).for_each(|k| by_hand[k] += blocks[0][4 * (1 + j) + k] * x);
        }
        by_hand.iter_mut().for_each(|a| *a = tanh(*a));
        assert_eq!(dense[..4], by_hand);
    }

    #[test]
    fn weights_of_a_coordinate_do_not_depend_on_when_it_came() {
        let layers = Layers { hidden: vec![4], activation: Activation::Relu, seed: 9 };
        let (mut at_once, mut in_turn) = (Vec::new(), Vec::new());
        layers.begin(0, 0, layers.size(0, 3, 0), 2, &mut at_once);
        (0..=3).for_each(|width| layers.begin(0, in_turn.len(), layers.size(0, width, 0), 2, &mut in_turn));
        assert_eq!(at_once, in_turn);
    }
}
