//! Online dictionary learning: each row is a sparse combination of atoms, which are learned.
//!
//! Mairal, Bach, Ponce and Sapiro (2009), "Online dictionary learning for sparse coding", ICML. With the
//! dictionary D, one atom per row here, the code of a row is the lasso
//! ```text
//! c = argmin ½ ‖x − Dᵀc‖² + λ ‖c‖₁                                                     (equation 2)
//! ```
//! by coordinate descent, and a batch of codes C of rows X updates A ← β A + CᵀC / b, B ← β B + CᵀX / b and then
//! each atom, dₖ ← dₖ + (bₖ − aₖ D) / aₖₖ, projected on ‖dₖ‖ ≤ 1 (algorithm 2). The forgetting β = (θ + 1 − b) /
//! (θ + 1) with θ = t b for t < b and b² + t − b later, where t counts batches, is that of section 3.4. An atom
//! that is hardly ever used becomes a random row of the batch with some noise. The first dictionary is Σ Vᵀ of the
//! first batch. All this is as in scikit-learn's `MiniBatchDictionaryLearning` with coordinate descent.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::symmetric_eigen::add;
use crate::linear_algebra::ThinSvd;
use crate::merging::Merge;
use crate::numeric::dot;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::components::Components;
use super::decomposer::{Decomposer, Method, Report, BATCH_SIZE, N_COMPONENTS, SEED};
use super::waiting_rows::{Layout, WaitingRows};

/// Sweeps of coordinate descent end when the largest change is this fraction of the largest coefficient.
const TOLERANCE: f64 = 1e-8;
const MOST_SWEEPS: usize = 1000;
/// An atom with less than this in A is not used.
const UNUSED: f64 = 1e-6;
/// Noise of a replaced atom, as a fraction of the deviation of its numbers.
const NOISE: f64 = 0.01;

pub static DECLARATION: Declaration = Declaration {
    name: DictionaryLearning::NAME,
    role: Role::Transformer,
    words: "Sparse codes of rows in a dictionary that is learned with them",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[
        N_COMPONENTS.with_default(DefaultValue::Integer(10)).with_words("number of atoms, and of output features"),
        Parameter::new(
            "l1",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(1.0),
            "L1 penalty of the codes: larger values give more zeros",
        ),
        BATCH_SIZE,
        SEED.with_words("random seed of the atoms that replace unused ones"),
    ],
    build: |arguments| {
        Ok(Decomposer::build(DictionaryLearning {
            n_components: arguments.size("n_components")?,
            l1: arguments.float("l1")?,
            batch_size: arguments.size("batch_size")?,
            seed: arguments.integer("seed")? as u64,
        }))
    },
};

#[derive(Clone)]
struct DictionaryLearning {
    n_components: usize,
    l1: f64,
    batch_size: usize,
    seed: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    /// Number of batches.
    batches: u64,
    dictionary: Components,
    /// A by rows, and a row of B for each atom.
    squares: Vec<f64>,
    products: Vec<f64>,
    /// D Dᵀ
    #[serde(skip)]
    gram: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    rows: Vec<f64>,
    code: Vec<f64>,
    along: Vec<f64>,
    squares: Vec<f64>,
    products: Vec<f64>,
    svd: ThinSvd,
}

impl Fitted {
    fn set_gram(&mut self) {
        self.gram.clear();
        for atom in self.dictionary.each() {
            self.gram.extend(self.dictionary.each().map(|other| dot(atom, other)));
        }
    }

    /// The code of a row; `along` is a buffer.
    fn encode(&self, x: &[f64], l1: f64, code: &mut [f64], along: &mut Vec<f64>) {
        // along = D x − D Dᵀ c: the gradient of the square, downwards.
        along.clear();
        along.extend(self.dictionary.each().map(|atom| dot(atom, x)));
        code.fill(0.0);
        let k = along.len();
        for _ in 0..MOST_SWEEPS {
            let (mut largest, mut change) = (0.0f64, 0.0f64);
            for i in 0..k {
                let gram = &self.gram[i * k..(i + 1) * k];
                if gram[i] == 0.0 {
                    continue;
                }
                let old = code[i];
                let target = along[i] + gram[i] * old;
                let shrunk = if target > 0.0 { (target - l1).max(0.0) } else { (target + l1).min(0.0) };
                let new = shrunk / gram[i];
                if new != old {
                    add(along, old - new, gram);
                    code[i] = new;
                }
                change = change.max((new - old).abs());
                largest = largest.max(new.abs());
            }
            if change <= TOLERANCE * largest {
                break;
            }
        }
    }
}

impl DictionaryLearning {
    fn start(&self, rows: &[f64], width: usize, next: &mut Fitted, svd: &mut ThinSvd) {
        svd.compute(rows, width);
        let count = svd.values.len().min(self.n_components);
        next.dictionary.replace(&Components::default(), &svd.vectors[..count * width], width);
        for (atom, value) in next.dictionary.vectors.chunks_exact_mut(width.max(1)).zip(&svd.values) {
            atom.iter_mut().for_each(|x| *x *= value);
        }
        next.dictionary.vectors.resize(self.n_components * width, 0.0);
        next.squares.resize(self.n_components * self.n_components, 0.0);
        next.products.resize(self.n_components * width, 0.0);
    }

    /// One pass over the atoms.
    fn update_atoms(&self, next: &mut Fitted, rows: &[f64], width: usize, direction: &mut Vec<f64>) {
        let k = self.n_components;
        let mut random = Random::new(self.seed, next.batches);
        for index in 0..k {
            let squares = &next.squares[index * k..(index + 1) * k];
            let used = squares[index];
            let atoms = &mut next.dictionary.vectors;
            if used > UNUSED {
                direction.clear();
                direction.extend_from_slice(&next.products[index * width..(index + 1) * width]);
                for (square, atom) in squares.iter().zip(atoms.chunks_exact(width)) {
                    add(direction, -square, atom);
                }
                add(&mut atoms[index * width..(index + 1) * width], 1.0 / used, direction);
            } else {
                let row = random.below((rows.len() / width) as u32) as usize;
                let row = &rows[row * width..(row + 1) * width];
                let mean = row.iter().sum::<f64>() / width as f64;
                let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / width as f64;
                let noise = NOISE * if variance > 0.0 { variance.sqrt() } else { 1.0 };
                for (entry, x) in atoms[index * width..(index + 1) * width].iter_mut().zip(row) {
                    *entry = x + noise * random.gaussian();
                }
            }
            let atom = &mut atoms[index * width..(index + 1) * width];
            let norm = dot(atom, atom).sqrt();
            if norm > 1.0 {
                atom.iter_mut().for_each(|x| *x /= norm);
            }
        }
    }
}

impl Method for DictionaryLearning {
    const NAME: &'static str = "decomposition.DictionaryLearning";
    const OUTPUT: &'static str = "atom";
    const LAYOUT: Layout = Layout::Dense;
    type Fitted = Fitted;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn is_due(&self, _fitted: &Fitted, waiting: usize) -> bool {
        waiting >= self.batch_size
    }

    fn update(
        &self,
        fitted: &Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Fitted,
        work: &mut Work,
    ) -> bool {
        let (width, old, k) = (absent.len(), fitted.dictionary.width, self.n_components);
        next.batches = fitted.batches;
        if width == 0 {
            return true;
        }
        work.rows.clear();
        rows.write_dense(width, &mut work.rows);
        next.squares.clone_from(&fitted.squares);
        next.dictionary.width = width;
        for (new, before) in
            [(&mut next.dictionary.vectors, &fitted.dictionary.vectors), (&mut next.products, &fitted.products)]
        {
            new.clear();
            for vector in before.chunks_exact(old.max(1)) {
                new.extend_from_slice(vector);
                new.resize(new.len() + width - old, 0.0);
            }
        }
        if fitted.dictionary.width == 0 {
            self.start(&work.rows, width, next, &mut work.svd);
        }
        next.set_gram();
        let Work { rows: dense, code, along, squares, products, .. } = work;
        code.resize(k, 0.0);
        for (sums, length) in [(&mut *squares, k * k), (&mut *products, k * width)] {
            sums.clear();
            sums.resize(length, 0.0);
        }
        let (total, size) = (rows.total_weight(), rows.len() as f64);
        for (row, x) in dense.chunks_exact(width).enumerate() {
            next.encode(x, self.l1, code, along);
            let w = rows.weight(row) / total;
            for (i, &c) in code.iter().enumerate().filter(|(_, &c)| c != 0.0) {
                add(&mut squares[i * k..(i + 1) * k], w * c, code);
                add(&mut products[i * width..(i + 1) * width], w * c, x);
            }
        }
        let step = fitted.batches as f64;
        let theta = if step < size - 1.0 { (step + 1.0) * size } else { size * size + step + 1.0 - size };
        let kept = (theta + 1.0 - size) / (theta + 1.0);
        for (sums, new) in [(&mut next.squares, squares), (&mut next.products, products)] {
            sums.iter_mut().zip(new).for_each(|(sum, new)| *sum = kept * *sum + *new);
        }
        self.update_atoms(next, dense, width, along);
        next.set_gram();
        next.batches += 1;
        all_finite(&next.squares) && all_finite(&next.products) && all_finite(&next.dictionary.vectors)
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        fitted.batches > 0
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.dictionary.width
    }

    fn transform(&self, fitted: &Fitted, _: &[u32], values: &mut [f64], out: &mut [f64], scratch: &mut Scratch) {
        let mut along = scratch.take_numbers();
        fitted.encode(values, self.l1, out, &mut along);
        scratch.give_numbers(along);
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let (who, k) = (Self::NAME, self.n_components);
        fitted.dictionary.validate(who, k)?;
        let width = fitted.dictionary.width;
        let sized = match width {
            0 => fitted.squares.is_empty() && fitted.products.is_empty() && fitted.batches == 0,
            _ => {
                fitted.dictionary.len() == k
                    && fitted.squares.len() == k * k
                    && fitted.products.len() == k * width
                    && fitted.batches > 0
            }
        };
        require(who, sized, "sums of the wrong length")?;
        let within = fitted.dictionary.each().all(|atom| dot(atom, atom) <= 1.0 + 1e-9);
        require(who, within && fitted.batches < 1 << 60, "an atom is longer than 1")?;
        require(who, all_finite(&fitted.squares) && all_finite(&fitted.products), "a sum is not finite")
    }

    fn revive(&self, fitted: &mut Fitted) {
        fitted.set_gram();
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        let Fitted { dictionary, squares, products, gram, .. } = fitted;
        dictionary.memory() + 8 * (squares.capacity() + products.capacity() + gram.capacity())
    }

    fn work_memory(&self, work: &Work) -> usize {
        let Work { rows, code, along, squares, products, svd } = work;
        [rows, code, along, squares, products].iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>()
            + svd.memory()
    }

    fn report(&self, fitted: &Fitted, _rows: &WaitingRows) -> Report {
        let mut report = Report::default();
        report.numbers.insert("batches".into(), json!(fitted.batches));
        report.numbers.insert("squares".into(), json!(fitted.squares));
        report.vectors.push(("components", fitted.dictionary.listed()));
        let products = fitted.products.chunks_exact(fitted.dictionary.width.max(1));
        report.vectors.push(("products", products.map(<[f64]>::to_vec).collect()));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;

    /// One atom, λ = 1, batches of one. Row (3, 4): the start is 5 (0.6, 0.8), the code (25 − 1) / 25 = 0.96; A =
    /// 0.96² and B = 0.96 (3, 4), so d = B / A = (3, 4) / 0.96, longer than 1: (0.6, 0.8). For (6, 8) the product
    /// is 10 and the code 9; the row (0.6, 0.3) with the product 0.6 has the code 0.
    #[test]
    fn one_batch_by_hand() {
        let parameters = json!({ "n_components": 1, "batch_size": 1 });
        let mut learning = transformer(DictionaryLearning::NAME, parameters);
        assert_eq!(transformed(&*learning, &[3.0, 4.0]), [0.0]);
        learn(&mut *learning, &[&[3.0, 4.0]]);
        near(&transformed(&*learning, &[6.0, 8.0]), &[9.0]);
        near(&transformed(&*learning, &[-6.0, -8.0]), &[-9.0]);
        near(&transformed(&*learning, &[0.6, 0.3]), &[0.0]);
    }

    #[test]
    fn learning_is_undone() {
        let parameters = json!({ "n_components": 2, "batch_size": 2 });
        let mut learning = transformer(DictionaryLearning::NAME, parameters);
        undoes(&mut *learning, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
