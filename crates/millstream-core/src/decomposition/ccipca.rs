//! Candid covariance-free incremental principal component analysis: one vector per component, updated with each
//! row.
//!
//! Weng, Zhang and Hwang (2003), "Candid covariance-free incremental principal component analysis", IEEE
//! Transactions on Pattern Analysis and Machine Intelligence 25(8), equations 10 and 11. For row n, with u the row
//! less the mean, and for each component i in turn:
//! ```text
//! vᵢ ← (1 − η) vᵢ + η u (uᵀ vᵢ / ‖vᵢ‖),   u ← u − (uᵀ vᵢ / ‖vᵢ‖) vᵢ / ‖vᵢ‖,   η = (1 + l) / n
//! ```
//! ‖vᵢ‖ is the estimate of the eigenvalue, and l the amnesic parameter, by which later rows count more. A vector
//! starts as the first u that is left for it, with the sign that makes its largest entry positive; an update keeps
//! its sign. Two departures: the vector starts as ‖u‖ u, whose length is a variance like that of the later ones,
//! and the rate, which exceeds 1 for the first rows of the paper, is at most 1/2. With weights, η = (1 + l) w / W.
//!
//! A row costs 4 d k multiplications and additions, and the state is d k numbers.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::symmetric_eigen::add;
use crate::merging::Merge;
use crate::numeric::dot;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::components::largest_entry;
use super::decomposer::{Decomposer, Method, Report, N_COMPONENTS};
use super::waiting_rows::{Layout, WaitingRows};

/// A remainder this much shorter than the row is a rounding error.
const LEAST: f64 = 1e-10;
/// Squares of such a norm do not underflow.
const SMALLEST: f64 = 1e-140;

pub static DECLARATION: Declaration = Declaration {
    name: Ccipca::NAME,
    role: Role::Transformer,
    words: "Principal component analysis without a covariance matrix, for wide rows",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[
        N_COMPONENTS,
        Parameter::new(
            "amnesic",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(2.0),
            "how much more later rows count; 0 for equal weights",
        ),
    ],
    build: |arguments| {
        Ok(Decomposer::build(Ccipca {
            n_components: arguments.size("n_components")?,
            amnesic: arguments.float("amnesic")?,
        }))
    },
};

#[derive(Clone)]
struct Ccipca {
    n_components: usize,
    amnesic: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    weight: f64,
    /// The weight of each coordinate; empty while all have that of all rows.
    weights: Vec<f64>,
    means: Vec<f64>,
    /// vᵢ one after the other, those that have started.
    vectors: Vec<f64>,
    /// ‖vᵢ‖
    norms: Vec<f64>,
}

impl Fitted {
    fn copy_from(&mut self, other: &Fitted, absent: &[f64]) {
        let (width, old) = (absent.len(), other.means.len());
        self.weight = other.weight;
        self.weights.clone_from(&other.weights);
        if width > old && other.weight > 0.0 {
            self.separate(old);
            let new = absent[old..].iter();
            self.weights.extend(new.map(|absent| if absent.is_nan() { 0.0 } else { other.weight }));
        }
        self.means.clone_from(&other.means);
        self.means.resize(width, 0.0);
        self.norms.clone_from(&other.norms);
        if width == old {
            self.vectors.clone_from(&other.vectors);
            return;
        }
        self.vectors.clear();
        for vector in other.vectors.chunks_exact(old.max(1)) {
            self.vectors.extend_from_slice(vector);
            self.vectors.resize(self.vectors.len() + width - old, 0.0);
        }
    }
}

impl Fitted {
    /// Give each of the first coordinates a weight of its own.
    fn separate(&mut self, width: usize) {
        if self.weights.is_empty() {
            self.weights.resize(width, self.weight);
        }
    }

    /// Move the means by one row; u is the row less the new means.
    fn centre(&mut self, x: &[f64], w: f64, u: &mut Vec<f64>) {
        u.clear();
        if self.weights.is_empty() && all_finite(x) {
            self.weight += w;
            let fraction = w / self.weight;
            u.extend(self.means.iter_mut().zip(x).map(|(mean, x)| {
                *mean += (x - *mean) * fraction;
                x - *mean
            }));
            return;
        }
        self.separate(x.len());
        self.weight += w;
        for (i, &x) in x.iter().enumerate() {
            if x.is_nan() {
                u.push(0.0);
                continue;
            }
            self.weights[i] += w;
            self.means[i] += (x - self.means[i]) * (w / self.weights[i]);
            u.push(x - self.means[i]);
        }
    }
}

#[derive(Clone)]
struct Work {
    /// u
    rest: Vec<f64>,
    arch: Arch,
}

impl Default for Work {
    fn default() -> Self {
        Work { rest: Vec::new(), arch: Arch::new() }
    }
}

/// The update of all vectors by u, of which the rest is left; false if it overflows. Compiled for several
/// instruction sets; every operation rounds as IEEE 754 says, so the results are the same with all of them.
struct Turn<'a> {
    u: &'a mut [f64],
    vectors: &'a mut [f64],
    norms: &'a mut [f64],
    rate: f64,
}

impl WithSimd for Turn<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let Turn { u, vectors, norms, rate } = self;
        let width = u.len();
        let mut product = if norms.is_empty() { 0.0 } else { dot(u, &vectors[..width]) };
        let mut rest = vectors;
        for norm in norms {
            let (v, after) = rest.split_at_mut(width);
            rest = after;
            let along = product / *norm;
            // A vector at the end of the range of floats shrinks no further.
            let kept = if *norm > SMALLEST { 1.0 - rate } else { 1.0 };
            // u loses its part along the direction before the update, so that the rest is orthogonal to it.
            let (gained, part) = (rate * along, along / *norm);
            let square;
            (square, product) = turn(u, v, rest.get(..width).unwrap_or(&[]), [kept, gained, part]);
            *norm = square.sqrt();
            if !(*norm > 0.0 && *norm < f64::INFINITY) {
                return false;
            }
        }
        true
    }
}

/// v ← kept v + gained u, u ← u − part v; ‖v‖², and the product of u with the vector that follows, in the same
/// pass.
#[inline(always)]
fn turn(u: &mut [f64], v: &mut [f64], following: &[f64], [kept, gained, part]: [f64; 3]) -> (f64, f64) {
    let (mut squares, mut products) = ([0.0; 4], [0.0; 4]);
    let (u_fours, u_rest) = u.as_chunks_mut::<4>();
    let (v_fours, v_rest) = v.as_chunks_mut::<4>();
    let (next_fours, next_rest) = following.as_chunks::<4>();
    for (at, (u, v)) in u_fours.iter_mut().zip(v_fours).enumerate() {
        let next = next_fours.get(at).copied().unwrap_or_default();
        for k in 0..4 {
            let old = v[k];
            v[k] = kept * old + gained * u[k];
            u[k] -= part * old;
            squares[k] += v[k] * v[k];
            products[k] += u[k] * next[k];
        }
    }
    for (k, (u, v)) in u_rest.iter_mut().zip(v_rest).enumerate() {
        let old = *v;
        *v = kept * old + gained * *u;
        *u -= part * old;
        squares[k] += *v * *v;
        products[k] += *u * next_rest.get(k).copied().unwrap_or_default();
    }
    let total = |sums: [f64; 4]| (sums[0] + sums[1]) + (sums[2] + sums[3]);
    (total(squares), total(products))
}

impl Method for Ccipca {
    const NAME: &'static str = "decomposition.CCIPCA";
    const OUTPUT: &'static str = "ccipca";
    const LAYOUT: Layout = Layout::Centred;
    type Fitted = Fitted;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn is_due(&self, _fitted: &Fitted, waiting: usize) -> bool {
        waiting > 0
    }

    fn update(
        &self,
        fitted: &Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Fitted,
        work: &mut Work,
    ) -> bool {
        let Work { rest: u, arch } = work;
        next.copy_from(fitted, absent);
        let width = absent.len();
        for row in 0..rows.len() {
            let w = rows.weight(row);
            next.centre(rows.values(row), w, u);
            let least = LEAST * dot(u, u).sqrt();
            let rate = ((1.0 + self.amnesic) * (w / next.weight)).min(0.5);
            let Fitted { vectors, norms, .. } = next;
            if !arch.dispatch(Turn { u, vectors, norms, rate }) {
                return false;
            }
            let rest = dot(u, u).sqrt();
            if next.norms.len() < self.n_components.min(width) && rest > least && rest * rest > SMALLEST {
                // ‖v‖ is a variance: the length of the row times that of u.
                let factor = if largest_entry(u) < 0.0 { -rest } else { rest };
                let start = next.vectors.len();
                next.vectors.resize(start + width, 0.0);
                add(&mut next.vectors[start..], factor, u);
                next.norms.push(rest * rest);
            }
        }
        // A vector that is not finite has no finite norm.
        next.weight.is_finite() && all_finite(&next.means) && all_finite(&next.norms)
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        !fitted.norms.is_empty()
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.means.len()
    }

    fn transform(&self, fitted: &Fitted, _: &[u32], values: &mut [f64], out: &mut [f64], _: &mut Scratch) {
        for (x, mean) in values.iter_mut().zip(&fitted.means) {
            *x = if x.is_nan() { 0.0 } else { *x - mean };
        }
        let vectors = fitted.vectors.chunks_exact(fitted.means.len().max(1));
        for (out, (vector, norm)) in out.iter_mut().zip(vectors.zip(&fitted.norms)) {
            *out = dot(vector, values) / norm;
        }
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let (who, width) = (Self::NAME, fitted.means.len());
        let count = fitted.norms.len();
        let sized = (fitted.weights.is_empty() || fitted.weights.len() == width)
            && fitted.vectors.len() == count * width
            && count <= self.n_components
            && (width > 0 || count == 0);
        require(who, sized, "components of the wrong length")?;
        let finite = all_finite(&fitted.means) && all_finite(&fitted.vectors) && all_finite(&fitted.norms);
        require(who, finite && fitted.norms.iter().all(|&norm| norm > 0.0), "a component is not finite")?;
        let positive = fitted.weights.iter().chain([&fitted.weight]).all(|&w| (0.0..f64::INFINITY).contains(&w));
        require(who, positive, "a weight is negative")
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        let Fitted { weights, means, vectors, norms, .. } = fitted;
        [weights, means, vectors, norms].iter().map(|numbers| 8 * numbers.capacity()).sum()
    }

    fn work_memory(&self, work: &Work) -> usize {
        8 * work.rest.capacity()
    }

    fn report(&self, fitted: &Fitted, _rows: &WaitingRows) -> Report {
        let mut report = Report::default();
        report.numbers.insert("explained_variance".into(), json!(fitted.norms));
        report.vector.push(("mean", fitted.means.clone()));
        let vectors = fitted.vectors.chunks_exact(fitted.means.len().max(1)).zip(&fitted.norms);
        let unit = vectors.map(|(vector, norm)| vector.iter().map(|x| x / norm).collect()).collect();
        report.vectors.push(("components", unit));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// Without amnesia. Row (0, 0): the mean is 0 and u is 0. Row (4, 2): the mean (2, 1), u = (2, 1), v = √5 (2,
    /// 1) with the norm 5. Row (5, 4): the mean is (3, 2), u = (2, 2), uᵀv/‖v‖ = 6/√5, η = 1/3, v = (2/3) √5 (2,
    /// 1) + (1/3) (6/√5) (2, 2) = (32, 22) / (3√5), and ‖v‖ = √1508 / √45. What is left of u is (2, 2) − (6/5) (2,
    /// 1) = (−2/5, 4/5), whose length squared is 4/5: the second v.
    #[test]
    fn three_rows_by_hand() {
        let mut pca = transformer(Ccipca::NAME, json!({ "amnesic": 0.0 }));
        learn(&mut *pca, &[&[0.0, 0.0]]);
        assert_eq!(transformed(&*pca, &[3.0, 2.0]), [0.0, 0.0]);
        learn(&mut *pca, &[&[4.0, 2.0]]);
        near(&transformed(&*pca, &[2.0 + 2.0, 1.0 + 1.0]), &[5f64.sqrt(), 0.0]);
        learn(&mut *pca, &[&[5.0, 4.0]]);
        let norm = 1508f64.sqrt();
        near(&transformed(&*pca, &[4.0, 2.0]), &[32.0 / norm, -1.0 / 5f64.sqrt()]);
        let shown = pca.inspect(&Schema::default());
        let variances = shown["explained_variance"].as_array().unwrap();
        near(&[variances[0].as_f64().unwrap(), variances[1].as_f64().unwrap()], &[norm / 45f64.sqrt(), 0.8]);
    }

    #[test]
    fn learning_is_undone() {
        let mut pca = transformer(Ccipca::NAME, json!({}));
        undoes(&mut *pca, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
