//! Weights by coordinate, each with its variance if the learner has variances: their layout, how a step fetches and
//! writes them, and their savepoint.

use crate::numeric::dot;
use crate::optim::Features;
use crate::row::all_finite;

/// From this many coordinates on, weights that are updated sparsely are stored next to their variances.
const WIDE: usize = 1 << 14;

/// One in this many weights may be listed as overwritten; beyond that a copy of all is faster (see `optim::Weights`).
const LISTED: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct WeightCells {
    weights: Vec<f64>,
    /// Empty where there are none.
    variances: Vec<f64>,
    /// Each weight with its variance, in place of both. A sparse step of a model that is larger than the caches waits
    /// for one fetch a feature instead of two.
    pairs: Vec<[f64; 2]>,
    undo: Undo,
}

/// Undo information: restores the cells at `savepoint`.
#[derive(Clone, Debug, Default)]
enum Undo {
    #[default]
    None,
    /// The values that sparse steps have overwritten, oldest first, and how many cells there were.
    Listed {
        width: usize,
        cells: Vec<(u32, [f64; 2])>,
    },
    Copy(Box<WeightCells>),
}

/// Weights and variances of some coordinates, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    pub weights: Vec<f64>,
    pub variances: Vec<f64>,
}

impl Fetched {
    pub fn memory(&self) -> usize {
        8 * (self.weights.capacity() + self.variances.capacity())
    }
}

impl WeightCells {
    pub fn new(weights: Vec<f64>, variances: Vec<f64>) -> Self {
        WeightCells { weights, variances, ..WeightCells::default() }
    }

    /// Weights and variances, each in a vector of their own.
    pub fn into_parts(mut self) -> (Vec<f64>, Vec<f64>) {
        self.lie_apart();
        (self.weights, self.variances)
    }

    pub fn len(&self) -> usize {
        // One of the two is empty.
        self.weights.len() + self.pairs.len()
    }

    pub fn weight(&self, index: usize) -> Option<f64> {
        self.weights.get(index).copied().or_else(|| self.pairs.get(index).map(|pair| pair[0]))
    }

    /// Room for `width` coordinates, new ones with this variance if there are variances.
    pub fn grow(&mut self, width: usize, variance: Option<f64>) {
        // So many are seldom stepped densely: laid apart first, they would be written twice.
        if !self.pairs.is_empty() || (self.weights.is_empty() && variance.is_some() && width >= WIDE) {
            return self.pairs.resize(width.max(self.pairs.len()), [0.0, variance.unwrap_or(0.0)]);
        }
        self.weights.resize(width.max(self.weights.len()), 0.0);
        if let Some(variance) = variance {
            self.variances.resize(self.weights.len(), variance);
        }
    }

    /// Remove the coordinates beyond `width`.
    pub fn shrink(&mut self, width: usize) {
        self.weights.truncate(width);
        self.variances.truncate(width);
        self.pairs.truncate(width);
    }

    /// The layout for dense steps.
    #[inline]
    pub fn lie_apart(&mut self) {
        if !self.pairs.is_empty() {
            self.part();
        }
    }

    /// The layout for sparse steps, if there are many.
    #[inline]
    pub fn lie_together(&mut self) {
        if self.variances.len() >= WIDE {
            self.pair();
        }
    }

    #[cold]
    fn part(&mut self) {
        self.weights = self.pairs.iter().map(|pair| pair[0]).collect();
        self.variances = self.pairs.iter().map(|pair| pair[1]).collect();
        self.pairs = Vec::new();
    }

    #[cold]
    fn pair(&mut self) {
        self.pairs = self.weights.iter().zip(&self.variances).map(|(&w, &s)| [w, s]).collect();
        (self.weights, self.variances) = (Vec::new(), Vec::new());
    }

    /// Σ wᵢ xᵢ; coordinates beyond the end count as 0. In four partial sums, whether weights are fetched first or not.
    #[inline]
    pub fn dot(&self, features: Features<'_>) -> f64 {
        match features {
            Features::Dense(x) if self.pairs.is_empty() => dot(&self.weights, x),
            Features::Dense(x) => strands(x, |index| self.pairs.get(index).map_or(0.0, |pair| pair[0])),
            Features::Sparse(indices, x) if self.pairs.is_empty() => {
                strands(x, |index| self.weights.get(indices[index] as usize).copied().unwrap_or(0.0))
            }
            Features::Sparse(indices, x) => {
                strands(x, |index| self.pairs.get(indices[index] as usize).map_or(0.0, |pair| pair[0]))
            }
        }
    }

    /// Fetch what a step of `indices` needs, all at once: the fetches are what a wide model waits for. Variances come
    /// along where they lie beside the weights.
    #[inline]
    pub fn fetch(&self, indices: &[u32], out: &mut Fetched) {
        let n = indices.len();
        fit(&mut out.weights, n);
        if self.pairs.is_empty() {
            gather(&self.weights, indices, &mut out.weights);
        } else {
            fit(&mut out.variances, n);
            let (weights, variances) = (&mut out.weights[..n], &mut out.variances[..n]);
            for ((&index, w), s) in indices.iter().zip(weights).zip(variances) {
                [*w, *s] = self.pairs[index as usize];
            }
        }
    }

    /// Fetch the variances of `indices`, after `fetch`.
    #[inline]
    pub fn fetch_variances(&self, indices: &[u32], out: &mut Fetched) {
        if self.pairs.is_empty() {
            fit(&mut out.variances, indices.len());
            gather(&self.variances, indices, &mut out.variances);
        }
    }

    /// Weights and variances of all coordinates, in the dense layout.
    #[inline]
    pub fn all(&self) -> (&[f64], &[f64]) {
        (&self.weights, &self.variances)
    }

    /// Write the results of a step at `indices`; no variances if they are unchanged.
    #[inline]
    pub fn write(&mut self, indices: &[u32], made: &Fetched) {
        self.note(Some(indices));
        if !self.pairs.is_empty() {
            for ((&index, &w), &s) in indices.iter().zip(&made.weights).zip(&made.variances) {
                self.pairs[index as usize] = [w, s];
            }
            return;
        }
        for (&index, &w) in indices.iter().zip(&made.weights) {
            self.weights[index as usize] = w;
        }
        if !self.variances.is_empty() {
            for (&index, &s) in indices.iter().zip(&made.variances) {
                self.variances[index as usize] = s;
            }
        }
    }

    /// Swap in the result of a dense step, and return the previous values.
    #[inline]
    pub fn swap(&mut self, made: &mut Fetched) {
        self.note(None);
        std::mem::swap(&mut self.weights, &mut made.weights);
        if !self.variances.is_empty() {
            std::mem::swap(&mut self.variances, &mut made.variances);
        }
    }

    /// Multiply all weights.
    pub fn multiply(&mut self, factor: f64) {
        self.note(None);
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self.pairs.iter_mut().for_each(|pair| pair[0] *= factor);
    }

    /// Multiply all variances.
    pub fn multiply_variances(&mut self, factor: f64) {
        self.note(None);
        self.variances.iter_mut().for_each(|variance| *variance *= factor);
        self.pairs.iter_mut().for_each(|pair| pair[1] *= factor);
    }

    /// From now on, record overwritten values.
    pub fn savepoint(&mut self) {
        self.undo = Undo::Listed { width: self.len(), cells: Vec::new() };
    }

    /// Stop recording.
    pub fn discard_savepoint(&mut self) {
        self.undo = Undo::None;
    }

    /// Restore the cells at `savepoint`.
    pub fn rollback(&mut self) {
        match std::mem::take(&mut self.undo) {
            Undo::None => {}
            Undo::Copy(before) => *self = *before,
            Undo::Listed { width, cells } => {
                self.shrink(width);
                for (index, cell) in cells.into_iter().rev() {
                    self.put(index as usize, cell);
                }
            }
        }
    }

    /// Record what is about to be overwritten: some values, or all.
    #[inline]
    fn note(&mut self, indices: Option<&[u32]>) {
        if matches!(self.undo, Undo::Listed { .. }) {
            self.list(indices);
        }
    }

    fn list(&mut self, indices: Option<&[u32]>) {
        let mut undo = std::mem::take(&mut self.undo);
        if let (Undo::Listed { cells, .. }, Some(indices)) = (&mut undo, indices) {
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

    fn cell(&self, index: usize) -> [f64; 2] {
        let apart = || [&self.weights, &self.variances].map(|all| all.get(index).copied().unwrap_or_default());
        self.pairs.get(index).copied().unwrap_or_else(apart)
    }

    /// Write the result of `cell`; an index that no longer exists is ignored.
    fn put(&mut self, index: usize, cell: [f64; 2]) {
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = cell;
            return;
        }
        for (all, number) in [&mut self.weights, &mut self.variances].into_iter().zip(cell) {
            if let Some(kept) = all.get_mut(index) {
                *kept = number;
            }
        }
    }

    pub fn sound(&self) -> bool {
        let paired = self.pairs.iter().all(|[w, s]| w.is_finite() && s.is_finite() && *s > 0.0);
        paired
            && all_finite(&self.weights)
            && all_finite(&self.variances)
            && self.variances.iter().all(|s| *s > 0.0)
    }

    /// How many variances there are.
    pub fn variances(&self) -> usize {
        self.variances.len() + self.pairs.len()
    }

    pub fn memory(&self) -> usize {
        let undo = match &self.undo {
            Undo::None => 0,
            Undo::Listed { cells, .. } => cells.capacity() * std::mem::size_of::<(u32, [f64; 2])>(),
            Undo::Copy(before) => before.memory(),
        };
        8 * (self.weights.capacity() + self.variances.capacity()) + 16 * self.pairs.capacity() + undo
    }
}

/// Σ `weight(index)` · x, added in the order of `numeric::dot` for dense rows: a row gives the same score wherever its
/// weights come from.
#[inline]
fn strands(x: &[f64], weight: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0f64; 4];
    let (fours, rest) = x.as_chunks::<4>();
    for (four, x) in fours.iter().enumerate() {
        for k in 0..4 {
            sums[k] += weight(4 * four + k) * x[k];
        }
    }
    for (k, &x) in rest.iter().enumerate() {
        sums[k] += weight(4 * fours.len() + k) * x;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[inline]
fn gather(from: &[f64], indices: &[u32], to: &mut [f64]) {
    for (to, &index) in to.iter_mut().zip(indices) {
        *to = from[index as usize];
    }
}

#[inline]
pub fn fit(numbers: &mut Vec<f64>, n: usize) {
    if numbers.len() != n {
        numbers.resize(n, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However they lie, cells give the same sums, and come back the same.
    #[test]
    fn pairs_are_as_vectors_apart() {
        let width = WIDE + 3;
        let weights: Vec<f64> = (0..width).map(|k| (k as f64 * 0.37).sin()).collect();
        let mut apart = WeightCells::new(weights.clone(), vec![0.5; width]);
        let mut together = apart.clone();
        together.lie_together();
        assert_eq!((together.pairs.len(), together.len(), together.variances()), (width, width, width));
        let indices: Vec<u32> = (0..11).map(|k| k * 1301 % width as u32).collect();
        let x: Vec<f64> = (0..11).map(|k| f64::from(k) - 4.2).collect();
        let (mut one, mut two) = (Fetched::default(), Fetched::default());
        apart.fetch(&indices, &mut one);
        together.fetch(&indices, &mut two);
        let sums = [
            apart.dot(Features::Sparse(&indices, &x)),
            together.dot(Features::Sparse(&indices, &x)),
            dot(&one.weights, &x),
            dot(&two.weights, &x),
        ];
        assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()));
        let ones = vec![1.0; width];
        assert_eq!(apart.dot(Features::Dense(&ones)), together.dot(Features::Dense(&ones)));
        apart.fetch_variances(&indices, &mut one);
        assert_eq!(one.variances, two.variances);
        one.weights.iter_mut().for_each(|w| *w += 1.0);
        for cells in [&mut apart, &mut together] {
            cells.savepoint();
            cells.write(&indices, &one);
            cells.grow(width + 4, Some(1.0));
            assert_ne!(cells.weight(indices[3] as usize), Some(weights[indices[3] as usize]));
            cells.write(&indices, &two);
            cells.multiply(3.0);
            cells.rollback();
            assert_eq!(cells.clone().into_parts(), (weights.clone(), vec![0.5; width]));
        }
    }
}
