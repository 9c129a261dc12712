//! Nonnegative matrix factorisation of batches of rows: each row is a sum of nonnegative parts.
//!
//! Multiplicative updates for the squared error (Lee and Seung, 2001), online as in Lefèvre, Bach and Févotte
//! (2011), "Online algorithms for nonnegative matrix factorization with the Itakura-Saito divergence", algorithm
//! 1. For a batch X of rows, with the parts H so far:
//! ```text
//! W ← W ∘ (X Hᵀ) / (W H Hᵀ)   until it changes little,
//! A ← ρ A + (Wᵀ X) ∘ H,   B ← ρ B + Wᵀ W H,   H ← A / B
//! ```
//! All this is as in scikit-learn's `MiniBatchNMF`, whose batches are calls of `partial_fit`. There W stops for
//! all rows of a call together; here too when learning, but `transform` treats each row alone, so that it does not
//! depend on other rows. A coordinate starts with random numbers of the size √(mean of X / number of parts), from
//! the seed and the coordinate.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::symmetric_eigen::add;
use crate::merging::Merge;
use crate::numeric::dot;
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::decomposer::{Decomposer, Method, Report, BATCH_SIZE, N_COMPONENTS, SEED};
use super::waiting_rows::{Layout, WaitingRows};

/// W stops when its change is this fraction of itself.
const TOLERANCE: f64 = 1e-4;
const STEPS_LEARNING: usize = 30;
const STEPS_TRANSFORMING: usize = 200;
/// In place of a denominator of 0: the distance of 1 from the next float of 32 bits, as in scikit-learn.
const EPSILON: f64 = f32::EPSILON as f64;

pub static DECLARATION: Declaration = Declaration {
    name: Nmf::NAME,
    role: Role::Transformer,
    words: "Nonnegative matrix factorisation: rows as sums of nonnegative parts",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[
        N_COMPONENTS.with_default(DefaultValue::Integer(10)).with_words("number of parts, and of output features"),
        BATCH_SIZE,
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(0.7),
            "factor of the sums at each batch; 1 to forget nothing",
        ),
        SEED.with_words("random seed of the first parts"),
    ],
    build: |arguments| {
        Ok(Decomposer::build(Nmf {
            n_components: arguments.size("n_components")?,
            batch_size: arguments.size("batch_size")?,
            forgetting: arguments.float("forgetting")?,
            seed: arguments.integer("seed")? as u64,
        }))
    },
};

#[derive(Clone)]
struct Nmf {
    n_components: usize,
    batch_size: usize,
    forgetting: f64,
    seed: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    /// Number of batches.
    batches: u64,
    width: usize,
    /// A and B, a row for each part; H is their quotient.
    numerators: Vec<f64>,
    denominators: Vec<f64>,
    #[serde(skip)]
    parts: Vec<f64>,
    /// H Hᵀ
    #[serde(skip)]
    gram: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    rows: Vec<f64>,
    weights: Vec<f64>,
    products: Vec<f64>,
    denominators: Vec<f64>,
    gram: Vec<f64>,
    sum: Vec<f64>,
}

impl Fitted {
    fn set_parts(&mut self) {
        let Fitted { parts, numerators, denominators, .. } = self;
        parts.clear();
        parts.extend(numerators.iter().zip(denominators).map(|(a, b)| *a / *b));
        self.set_gram();
    }

    fn set_gram(&mut self) {
        let width = self.width.max(1);
        self.gram.clear();
        for part in self.parts.chunks_exact(width) {
            self.gram.extend(self.parts.chunks_exact(width).map(|other| dot(part, other)));
        }
    }

    /// One multiplicative update of the weights of all rows; the square of the change, and of the weights.
    fn step(&self, weights: &mut [f64], products: &[f64], k: usize, denominators: &mut Vec<f64>) -> (f64, f64) {
        let (mut change, mut square) = (0.0, 0.0);
        for (weights, products) in weights.chunks_exact_mut(k).zip(products.chunks_exact(k)) {
            denominators.clear();
            denominators.extend(self.gram.chunks_exact(k).map(|row| dot(row, weights)));
            for ((w, product), denominator) in weights.iter_mut().zip(products).zip(&*denominators) {
                let divisor = if *denominator == 0.0 { EPSILON } else { *denominator };
                let new = *w * (product / divisor);
                change += (new - *w) * (new - *w);
                square += new * new;
                *w = new;
            }
        }
        (change, square)
    }

    /// The weights of rows, all stopped together.
    fn solve(&self, rows: &[f64], k: usize, steps: usize, work: [&mut Vec<f64>; 3]) {
        let [weights, products, denominators] = work;
        let width = self.width.max(1);
        let mean = rows.iter().sum::<f64>() / rows.len().max(1) as f64;
        weights.clear();
        weights.resize(rows.len() / width * k, (mean / k as f64).sqrt());
        products.clear();
        for x in rows.chunks_exact(width) {
            products.extend(self.parts.chunks_exact(width).map(|part| dot(part, x)));
        }
        for _ in 0..steps {
            let (change, square) = self.step(weights, products, k, denominators);
            if change.sqrt() <= TOLERANCE * square.sqrt() {
                break;
            }
        }
    }
}

impl Method for Nmf {
    const NAME: &'static str = "decomposition.NMF";
    const OUTPUT: &'static str = "nmf";
    const LAYOUT: Layout = Layout::Dense;
    const NOT_NEGATIVE: bool = true;
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
        let (width, old, k) = (absent.len(), fitted.width, self.n_components);
        (next.batches, next.width) = (fitted.batches, width);
        if width == 0 {
            return true;
        }
        let Work { rows: dense, weights, products, denominators, gram, sum } = work;
        dense.clear();
        rows.write_dense(width, dense);
        let mean = dense.iter().sum::<f64>() / dense.len() as f64;
        let size = if mean > 0.0 { (mean / k as f64).sqrt() } else { 1.0 };
        next.numerators.clear();
        next.numerators.resize(k * width, 0.0);
        next.denominators.clear();
        next.denominators.resize(k * width, 1.0);
        for part in 0..k.min(fitted.numerators.len()) {
            let (to, from) = (part * width..part * width + old, part * old..(part + 1) * old);
            next.numerators[to.clone()].copy_from_slice(&fitted.numerators[from.clone()]);
            next.denominators[to].copy_from_slice(&fitted.denominators[from]);
        }
        for coordinate in old..width {
            let mut random = Random::new(self.seed, coordinate as u64);
            (0..k).for_each(|part| next.numerators[part * width + coordinate] = size * random.gaussian().abs());
        }
        next.set_parts();
        next.solve(dense, k, STEPS_LEARNING, [weights, products, denominators]);
        // Wᵀ X and Wᵀ W, with the weights of the rows.
        products.clear();
        products.resize(k * width, 0.0);
        gram.clear();
        gram.resize(k * k, 0.0);
        for (row, (x, weights)) in dense.chunks_exact(width).zip(weights.chunks_exact(k)).enumerate() {
            let w = rows.weight(row);
            for (i, weight) in weights.iter().enumerate() {
                add(&mut products[i * width..(i + 1) * width], w * weight, x);
                add(&mut gram[i * k..(i + 1) * k], w * weight, weights);
            }
        }
        for i in 0..k {
            sum.clear();
            sum.resize(width, 0.0);
            for (factor, part) in gram[i * k..(i + 1) * k].iter().zip(next.parts.chunks_exact(width)) {
                add(sum, *factor, part);
            }
            for (at, &sum) in (i * width..).zip(&*sum) {
                let denominator = if sum == 0.0 { EPSILON } else { sum };
                next.numerators[at] = self.forgetting * next.numerators[at] + products[at] * next.parts[at];
                next.denominators[at] = self.forgetting * next.denominators[at] + denominator;
            }
        }
        next.batches += 1;
        next.set_parts();
        all_finite(&next.numerators) && all_finite(&next.denominators) && all_finite(&next.parts)
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        fitted.batches > 0
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.width
    }

    fn transform(&self, fitted: &Fitted, _: &[u32], values: &mut [f64], out: &mut [f64], scratch: &mut Scratch) {
        let mut work = [scratch.take_numbers(), scratch.take_numbers(), scratch.take_numbers()];
        fitted.solve(values, self.n_components, STEPS_TRANSFORMING, work.each_mut());
        out.copy_from_slice(&work[0]);
        work.into_iter().for_each(|numbers| scratch.give_numbers(numbers));
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let who = Self::NAME;
        let Fitted { batches, width, numerators, denominators, .. } = fitted;
        let length = self.n_components.checked_mul(*width);
        let sized = length == Some(numerators.len()) && length == Some(denominators.len());
        require(who, sized && (*batches > 0) == (*width > 0), "sums of the wrong length")?;
        let sound = all_finite(numerators)
            && all_finite(denominators)
            && numerators.iter().all(|&x| x >= 0.0)
            && denominators.iter().all(|&x| x > 0.0)
            && numerators.iter().zip(denominators).all(|(a, b)| (a / b).is_finite());
        require(who, sound && *batches < 1 << 60, "a sum is negative or not finite")
    }

    fn revive(&self, fitted: &mut Fitted) {
        fitted.set_parts();
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        let Fitted { numerators, denominators, parts, gram, .. } = fitted;
        [numerators, denominators, parts, gram].iter().map(|numbers| 8 * numbers.capacity()).sum()
    }

    fn work_memory(&self, work: &Work) -> usize {
        let Work { rows, weights, products, denominators, gram, sum } = work;
        let numbers = [rows, weights, products, denominators, gram, sum];
        numbers.iter().map(|numbers| 8 * numbers.capacity()).sum()
    }

    fn report(&self, fitted: &Fitted, _rows: &WaitingRows) -> Report {
        let listed = |numbers: &[f64]| numbers.chunks_exact(fitted.width.max(1)).map(<[f64]>::to_vec).collect();
        let mut report = Report::default();
        report.numbers.insert("batches".into(), json!(fitted.batches));
        report.vectors.push(("components", listed(&fitted.parts)));
        report.vectors.push(("numerators", listed(&fitted.numerators)));
        report.vectors.push(("denominators", listed(&fitted.denominators)));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// One part and one feature, without forgetting. Row 4 starts with H = A = √4 |g| and B = 1, g from the seed.
    /// W = 4 / H whatever its start, so A = H + (4 / H) 4 H = H + 16, B = 1 + (4 / H)² H = 1 + 16 / H, and H' = A
    /// / B = H: it is a fixed point, since 4 = W H already. Row 2 has the weight 2 / H.
    #[test]
    fn one_number_by_hand() {
        let parameters = json!({ "n_components": 1, "batch_size": 1, "forgetting": 1.0, "seed": 5 });
        let mut nmf = transformer(Nmf::NAME, parameters);
        assert_eq!(transformed(&*nmf, &[2.0]), [0.0]);
        learn(&mut *nmf, &[&[4.0]]);
        let start = 2.0 * Random::new(5, 0).gaussian().abs();
        near(&transformed(&*nmf, &[2.0]), &[2.0 / start]);
        assert_eq!(nmf.inspect(&Schema::default())["batches"], 1);
    }

    #[test]
    fn learning_is_undone() {
        let mut nmf = transformer(Nmf::NAME, json!({ "n_components": 2, "batch_size": 2 }));
        undoes(&mut *nmf, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
