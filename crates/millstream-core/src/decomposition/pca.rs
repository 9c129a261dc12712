//! Principal component analysis from the exact covariance of all rows so far.
//!
//! Welford's recursion with weights, for each row: δ = x − m, m ← m + δ w / W, S ← S + g gᵀ with g = δ √(w Wₒ /
//! W), where Wₒ is the weight before the row. S = Σ w (x − m)(x − m)ᵀ is exact whatever the mean. The rows of a
//! block are centred one after the other and added to S together, S ← S + GᵀG, which is several times as fast as
//! one by one. Two parts of a stream merge by S = S₁ + S₂ + g gᵀ, g = (m₂ − m₁) √(W₁ W₂ / W) (Chan, Golub and
//! LeVeque, 1983).
//!
//! A missing number counts as the mean: it adds nothing to S. Each coordinate has a weight of its own from the
//! first missing number on.
//!
//! The components, the eigenvectors of S with the largest eigenvalues, are computed at certain rows only and
//! stored: first after `n_components` + 1 rows, then when the number of rows has doubled, and from twice
//! `refresh_interval` rows on each `refresh_interval` rows. So `transform` does not depend on when it is called.
//! Means are those of the same moment.

use pulp::Arch;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::linear_algebra::packed_triangle::{add_products, triangle};
use crate::linear_algebra::SymmetricEigen;
use crate::linear_model::weight_vector::MOST_COORDINATES;
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::{all_finite, Scratch};

use super::components::Components;
use super::decomposer::{Decomposer, Method, Report, N_COMPONENTS};
use super::waiting_rows::{Layout, WaitingRows};

/// Rows of a block. 20 to 100 are equally fast.
const BLOCK: usize = 50;

pub const WHITEN: Parameter = Parameter::new(
    "whiten",
    Kind::Boolean,
    DefaultValue::Boolean(false),
    "whether to scale each component to variance 1",
);

pub static DECLARATION: Declaration = Declaration {
    name: Pca::NAME,
    role: Role::Transformer,
    words: "Principal component analysis from the exact covariance of all rows so far",
    merge: Merge::exact("up to the signs of components"),
    parameters: &[
        N_COMPONENTS,
        Parameter::new(
            "refresh_interval",
            Kind::Integer { low: 1, high: i64::MAX },
            DefaultValue::Integer(100),
            "number of rows between two computations of the components",
        ),
        WHITEN,
    ],
    build: |arguments| {
        Ok(Decomposer::build(Pca {
            n_components: arguments.size("n_components")?,
            refresh_interval: arguments.size("refresh_interval")? as u64,
            whiten: arguments.boolean("whiten")?,
        }))
    },
};

#[derive(Clone)]
struct Pca {
    n_components: usize,
    refresh_interval: u64,
    whiten: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fitted {
    /// Number of rows in the sums.
    rows: u64,
    weight: f64,
    /// The weight of each coordinate; empty while all have that of all rows.
    weights: Vec<f64>,
    means: Vec<f64>,
    /// The lower triangle of S, row by row.
    sums: Vec<f64>,
    refreshed: Refreshed,
}

/// The components, with all that `transform` needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Refreshed {
    /// Number of rows so far; 0 before the first time.
    rows: u64,
    weight: f64,
    means: Vec<f64>,
    components: Components,
    /// Eigenvalues of S.
    values: Vec<f64>,
    /// The sum of all eigenvalues.
    trace: f64,
}

#[derive(Clone)]
struct Work {
    centred: Vec<f64>,
    matrix: Vec<f64>,
    eigen: SymmetricEigen,
    arch: Arch,
}

impl Default for Work {
    fn default() -> Self {
        Work { centred: Vec::new(), matrix: Vec::new(), eigen: SymmetricEigen::default(), arch: Arch::new() }
    }
}

impl Fitted {
    fn width(&self) -> usize {
        self.means.len()
    }

    fn copy_from(&mut self, other: &Fitted) {
        (self.rows, self.weight) = (other.rows, other.weight);
        self.weights.clone_from(&other.weights);
        self.means.clone_from(&other.means);
        self.sums.clone_from(&other.sums);
        self.refreshed.copy_from(&other.refreshed);
    }

    /// Give each coordinate a weight of its own.
    fn separate(&mut self) {
        if self.weights.is_empty() {
            self.weights = vec![self.weight; self.width()];
        }
    }

    /// Add coordinates: a number was missing so far, and a nominal value was 0.
    fn widen(&mut self, absent: &[f64]) {
        if absent.len() == self.width() {
            return;
        }
        if self.rows > 0 {
            self.separate();
            let weight = self.weight;
            let new = &absent[self.width()..];
            self.weights.extend(new.iter().map(|absent| if absent.is_nan() { 0.0 } else { weight }));
        }
        self.means.resize(absent.len(), 0.0);
        self.sums.resize(triangle(absent.len()), 0.0);
    }

    /// Move the means by one row and append g to `centred`, with zeros to a multiple of four.
    fn centre(&mut self, x: &[f64], absent: &[f64], w: f64, centred: &mut Vec<f64>) {
        let end = centred.len() + self.width().next_multiple_of(4);
        self.append(x, absent, w, centred);
        centred.resize(end, 0.0);
    }

    fn append(&mut self, x: &[f64], absent: &[f64], w: f64, centred: &mut Vec<f64>) {
        self.rows += 1;
        let before = self.weight;
        self.weight += w;
        let complete = x.len() == self.width() && all_finite(x);
        if complete && self.weights.is_empty() {
            let (fraction, factor) = (w / self.weight, (w * (before / self.weight)).sqrt());
            centred.extend(self.means.iter_mut().zip(x).map(|(mean, x)| {
                let delta = x - *mean;
                *mean += delta * fraction;
                delta * factor
            }));
            return;
        }
        if self.weights.is_empty() {
            self.weights = vec![before; self.width()];
        }
        for (i, &absent) in absent.iter().enumerate() {
            let x = x.get(i).copied().unwrap_or(absent);
            if x.is_nan() {
                centred.push(0.0);
                continue;
            }
            let before = self.weights[i];
            self.weights[i] += w;
            let delta = x - self.means[i];
            self.means[i] += delta * (w / self.weights[i]);
            centred.push(delta * (w * (before / self.weights[i])).sqrt());
        }
    }

    fn finite(&self) -> bool {
        self.weight.is_finite() && all_finite(&self.means) && all_finite(&self.sums)
    }
}

impl Refreshed {
    fn copy_from(&mut self, other: &Refreshed) {
        (self.rows, self.weight, self.trace) = (other.rows, other.weight, other.trace);
        self.means.clone_from(&other.means);
        self.components.width = other.components.width;
        self.components.vectors.clone_from(&other.components.vectors);
        self.values.clone_from(&other.values);
    }

    fn variance(&self, value: f64) -> f64 {
        if self.weight > 1.0 {
            value / (self.weight - 1.0)
        } else {
            0.0
        }
    }
}

impl Pca {
    /// The number of rows at the next computation of the components.
    fn next_refresh(&self, fitted: &Fitted) -> u64 {
        match fitted.refreshed.rows {
            0 => self.n_components as u64 + 1,
            rows => rows.saturating_add(rows.min(self.refresh_interval)),
        }
    }

    fn refresh(&self, fitted: &mut Fitted, previous: &Components, work: &mut Work) {
        let width = fitted.width();
        let Work { matrix, eigen, .. } = work;
        matrix.clear();
        matrix.resize(width * width, 0.0);
        for i in 0..width {
            matrix[i * width..=i * width + i].copy_from_slice(&fitted.sums[triangle(i)..triangle(i + 1)]);
        }
        eigen.compute(matrix, width, self.n_components);
        let Fitted { rows, weight, means, sums, refreshed, .. } = fitted;
        refreshed.components.replace(previous, &eigen.vectors, width);
        refreshed.values.clear();
        refreshed.values.extend(eigen.values.iter().take(self.n_components).map(|value| value.max(0.0)));
        refreshed.trace = (0..width).map(|i| sums[triangle(i) + i]).sum();
        refreshed.means.clone_from(means);
        (refreshed.rows, refreshed.weight) = (*rows, *weight);
    }
}

impl Method for Pca {
    const NAME: &'static str = "decomposition.PCA";
    const OUTPUT: &'static str = "pca";
    const LAYOUT: Layout = Layout::Centred;
    type Fitted = Fitted;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn most_coordinates(&self) -> usize {
        MOST_COORDINATES
    }

    fn is_due(&self, fitted: &Fitted, waiting: usize) -> bool {
        waiting >= BLOCK || fitted.rows + waiting as u64 >= self.next_refresh(fitted)
    }

    fn update(
        &self,
        fitted: &Fitted,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Fitted,
        work: &mut Work,
    ) -> bool {
        next.copy_from(fitted);
        next.widen(absent);
        work.centred.clear();
        for row in 0..rows.len() {
            next.centre(rows.values(row), absent, rows.weight(row), &mut work.centred);
        }
        if !absent.is_empty() {
            let width = absent.len();
            add_products(work.arch, &mut next.sums, &work.centred, width);
        }
        if !next.finite() {
            return false;
        }
        if next.rows >= self.next_refresh(fitted) {
            self.refresh(next, &fitted.refreshed.components, work);
        }
        true
    }

    fn is_ready(&self, fitted: &Fitted) -> bool {
        fitted.refreshed.rows > 0
    }

    fn width(&self, fitted: &Fitted) -> usize {
        fitted.refreshed.means.len()
    }

    fn transform(&self, fitted: &Fitted, _: &[u32], values: &mut [f64], out: &mut [f64], _: &mut Scratch) {
        let Refreshed { means, components, values: eigenvalues, .. } = &fitted.refreshed;
        for (x, mean) in values.iter_mut().zip(means) {
            *x = if x.is_nan() { 0.0 } else { *x - mean };
        }
        components.project(values, out);
        if self.whiten {
            for (out, value) in out.iter_mut().zip(eigenvalues) {
                *out = whitened(*out, fitted.refreshed.variance(*value));
            }
        }
    }

    fn validate(&self, fitted: &Fitted) -> Result<()> {
        let (who, width) = (Self::NAME, fitted.width());
        require(who, fitted.sums.len() == triangle(width), "sums of the wrong length")?;
        require(who, fitted.weights.is_empty() || fitted.weights.len() == width, "weights of the wrong length")?;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&x| x >= 0.0);
        let diagonal = (0..width).all(|i| fitted.sums[triangle(i) + i] >= 0.0);
        require(who, fitted.finite() && diagonal, "a sum is not finite, or a square is negative")?;
        require(who, positive(&fitted.weights) && fitted.weight >= 0.0, "a weight is negative")?;
        require(who, fitted.rows < u64::MAX / 4, "too many rows")?;
        let refreshed = &fitted.refreshed;
        refreshed.components.validate(who, self.n_components)?;
        let sized = refreshed.means.len() <= width
            && refreshed.components.width == refreshed.means.len()
            && refreshed.rows <= fitted.rows
            && (refreshed.values.len() == refreshed.components.len() || refreshed.means.is_empty());
        require(who, sized, "components of the wrong length")?;
        let sound = all_finite(&refreshed.means)
            && positive(&refreshed.values)
            && positive(&[refreshed.weight, refreshed.trace]);
        require(who, sound, "a component is not finite")
    }

    fn memory(&self, fitted: &Fitted) -> usize {
        let Fitted { weights, means, sums, refreshed, .. } = fitted;
        let numbers = [weights, means, sums, &refreshed.means, &refreshed.values];
        numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>() + refreshed.components.memory()
    }

    fn work_memory(&self, work: &Work) -> usize {
        8 * (work.centred.capacity() + work.matrix.capacity()) + work.eigen.memory()
    }

    fn report(&self, fitted: &Fitted, _rows: &WaitingRows) -> Report {
        let refreshed = &fitted.refreshed;
        let variances: Vec<f64> = refreshed.values.iter().map(|&value| refreshed.variance(value)).collect();
        let ratio = |value: &f64| if refreshed.trace > 0.0 { value / refreshed.trace } else { 0.0 };
        let ratios: Vec<f64> = refreshed.values.iter().map(ratio).collect();
        let mut report = Report::default();
        report.numbers.insert("refreshed".into(), json!(refreshed.rows));
        report.numbers.insert("explained_variance".into(), json!(variances));
        report.numbers.insert("explained_variance_ratio".into(), json!(ratios));
        report.vector.push(("mean", refreshed.means.clone()));
        report.vectors.push(("components", refreshed.components.listed()));
        report
    }

    fn merge(&self, fitted: &mut Fitted, other: &Fitted, indices: &[usize], width: usize) -> Result<()> {
        if other.rows == 0 {
            return Ok(());
        }
        let previous = fitted.refreshed.components.clone();
        let mut other = other.clone();
        if fitted.width() < width
            || !fitted.weights.is_empty()
            || !other.weights.is_empty()
            || indices.len() < width
        {
            fitted.separate();
            other.separate();
        }
        // What one of the parts does not know was missing there.
        if fitted.width() < width {
            fitted.weights.resize(width, 0.0);
            fitted.means.resize(width, 0.0);
            fitted.sums.resize(triangle(width), 0.0);
        }
        for (i, &a) in indices.iter().enumerate() {
            for (j, &b) in indices.iter().enumerate().take(i + 1) {
                fitted.sums[triangle(a.max(b)) + a.min(b)] += other.sums[triangle(i) + j];
            }
        }
        let mut g = vec![0.0; width.next_multiple_of(4)];
        for (i, &a) in indices.iter().enumerate() {
            let there = other.weights.get(i).copied().unwrap_or(other.weight);
            let here = fitted.weights.get(a).copied().unwrap_or(fitted.weight);
            let both = here + there;
            if both > 0.0 {
                let delta = other.means[i] - fitted.means[a];
                fitted.means[a] += delta * (there / both);
                g[a] = delta * (here * (there / both)).sqrt();
            }
            if let Some(weight) = fitted.weights.get_mut(a) {
                *weight = both;
            }
        }
        fitted.weight += other.weight;
        fitted.rows += other.rows;
        let mut work = Work::default();
        if width > 0 {
            add_products(work.arch, &mut fitted.sums, &g, width);
        }
        if !fitted.finite() {
            return Err(Fault::overflow(Self::NAME));
        }
        if fitted.rows > self.n_components as u64 {
            self.refresh(fitted, &previous, &mut work);
        }
        Ok(())
    }
}

/// A component scaled to variance 1; 0 without variance.
pub fn whitened(x: f64, variance: f64) -> f64 {
    let scaled = x / variance.sqrt();
    if variance > 1e-290 {
        scaled
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    const ROWS: [&[f64]; 4] = [&[2.0, 1.0], &[0.0, -1.0], &[4.0, 3.0], &[2.0, 1.0]];

    /// The rows lie on the line (2, 1) + t (1, 1) with t = 0, −2, 2, 0: the mean is (2, 1), S = 8 [1 1; 1 1] with
    /// the eigenvalues 16 and 0, the first component (1, 1)/√2. With one component the first refresh is after two
    /// rows, at the mean (1, 0), the second after four, where (3, 2) is √2 from the mean.
    #[test]
    fn a_line_by_hand() {
        let mut pca = transformer(Pca::NAME, json!({ "n_components": 1 }));
        learn(&mut *pca, &ROWS[..1]);
        assert_eq!(transformed(&*pca, &[3.0, 2.0]), [0.0]);
        learn(&mut *pca, &ROWS[1..2]);
        near(&transformed(&*pca, &[3.0, 2.0]), &[8f64.sqrt()]);
        learn(&mut *pca, &ROWS[2..]);
        near(&transformed(&*pca, &[3.0, 2.0]), &[2f64.sqrt()]);
        let shown = pca.inspect(&Schema::default());
        near(&[shown["explained_variance"][0].as_f64().unwrap()], &[16.0 / 3.0]);
        near(&[shown["explained_variance_ratio"][0].as_f64().unwrap()], &[1.0]);
        // Half of them, with the variance (1 + 1) / 1, scaled to 1: (3, 2) is √8 / 2 from the mean (1, 0).
        let mut white = transformer(Pca::NAME, json!({ "n_components": 1, "whiten": true }));
        learn(&mut *white, &ROWS[..2]);
        near(&transformed(&*white, &[3.0, 2.0]), &[8f64.sqrt() / 2.0]);
    }

    #[test]
    fn learning_is_undone() {
        let mut pca = transformer(Pca::NAME, json!({ "n_components": 1 }));
        undoes(&mut *pca, &ROWS);
        undoes(&mut *pca, &[&[1.0, 2.0, 3.0], &[0.0], &[5.0, 1.0, 1.0]]);
    }
}
