//! A truncated decomposition of all rows so far, updated with a batch of rows at a time: the algorithm of
//! `IncrementalPCA` and, without means, of `IncrementalSVD`.
//!
//! Levy and Lindenbaum (2000), "Sequential Karhunen-Loeve basis extraction and its application to images", and
//! Ross, Lim, Lin and Yang (2008), "Incremental learning for robust visual tracking", International Journal of
//! Computer Vision 77, section 3. With Σ and V of the k components so far and the rows X of a batch about their
//! own mean m':
//! ```text
//! SVD of  [ f Σ Vᵀ ; X ; √(n n' / (n + n')) (m − m') ]  =  U Σ Vᵀ,   of which k components are kept
//! ```
//! f is the forgetting factor, 1 in a PCA. With weights, rows are multiplied by the square roots of theirs.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::Result;
use crate::held::state::require;
use crate::linear_algebra::ThinSvd;
use crate::row::all_finite;

use super::components::Components;
use super::decomposer::Report;
use super::waiting_rows::WaitingRows;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Truncated {
    /// The weight of all rows.
    pub weight: f64,
    /// The weight of each coordinate; as many as means.
    weights: Vec<f64>,
    /// Zeros where rows are not centred.
    pub means: Vec<f64>,
    pub components: Components,
    /// Singular values.
    pub values: Vec<f64>,
    /// Σ w ‖x − m‖²
    pub squares: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Work {
    stacked: Vec<f64>,
    batch_means: Vec<f64>,
    batch_weights: Vec<f64>,
    svd: ThinSvd,
}

impl Work {
    pub fn memory(&self) -> usize {
        let numbers = [&self.stacked, &self.batch_means, &self.batch_weights];
        numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>() + self.svd.memory()
    }
}

impl Truncated {
    /// Write the decomposition after the waiting rows to `next`; false if it overflows.
    pub fn update(
        &self,
        rows: &WaitingRows,
        absent: &[f64],
        settings: Settings,
        next: &mut Truncated,
        work: &mut Work,
    ) -> bool {
        let (width, old) = (absent.len(), self.means.len());
        let forgetting = settings.forgetting;
        next.weight = self.weight * forgetting * forgetting + rows.total_weight();
        next.weights.clone_from(&self.weights);
        let late = absent[old..].iter().map(|absent| if absent.is_nan() { 0.0 } else { self.weight });
        next.weights.extend(late);
        next.means.clone_from(&self.means);
        next.means.resize(width, 0.0);
        let Work { stacked, batch_means, batch_weights, svd } = work;
        stacked.clear();
        for (component, value) in self.components.each().zip(&self.values) {
            let end = stacked.len() + width;
            stacked.extend(component.iter().map(|x| x * value * forgetting));
            stacked.resize(end, 0.0);
        }
        next.squares = self.squares * forgetting * forgetting;
        if settings.centred {
            mean_of(rows, absent, batch_means, batch_weights);
        } else {
            batch_means.clear();
            batch_means.resize(width, 0.0);
        }
        let first = stacked.len();
        for row in 0..rows.len() {
            let (x, root) = (rows.values(row), rows.weight(row).sqrt());
            stacked.extend((0..width).map(|i| {
                let x = x.get(i).copied().unwrap_or(absent[i]);
                // A missing number counts as the mean of the batch, which keeps it out of the sums.
                if x.is_nan() {
                    0.0
                } else {
                    (x - batch_means[i]) * root
                }
            }));
        }
        if settings.centred {
            for i in 0..width {
                let (here, there) = (next.weights[i], batch_weights[i]);
                let both = here + there;
                let delta = batch_means[i] - next.means[i];
                let fraction = if both > 0.0 { there / both } else { 0.0 };
                stacked.push(-delta * (here * fraction).sqrt());
                next.means[i] += delta * fraction;
                next.weights[i] = both;
            }
        }
        next.squares += stacked[first..].iter().map(|x| x * x).sum::<f64>();
        if !(next.weight.is_finite() && next.squares.is_finite() && all_finite(&next.means)) {
            return false;
        }
        svd.compute(stacked, width);
        let count = svd.values.len().min(settings.n_components);
        next.values.clear();
        next.values.extend_from_slice(&svd.values[..count]);
        next.components.replace(&self.components, &svd.vectors[..count * width], width);
        all_finite(&next.values) && all_finite(&next.components.vectors)
    }

    pub fn variance(&self, value: f64) -> f64 {
        if self.weight > 1.0 {
            value * value / (self.weight - 1.0)
        } else {
            0.0
        }
    }

    pub fn validate(&self, who: &str, n_components: usize) -> Result<()> {
        self.components.validate(who, n_components)?;
        let width = self.means.len();
        let sized = self.weights.len() == width
            && self.values.len() == self.components.len()
            && (self.components.len() == 0 || self.components.width == width);
        require(who, sized, "components of the wrong length")?;
        let positive = |numbers: &[f64]| all_finite(numbers) && numbers.iter().all(|&x| x >= 0.0);
        let sound = positive(&self.values) && positive(&self.weights) && positive(&[self.weight, self.squares]);
        require(who, sound && all_finite(&self.means), "a component is not finite")
    }

    pub fn memory(&self) -> usize {
        let numbers = [&self.weights, &self.means, &self.values];
        numbers.iter().map(|numbers| 8 * numbers.capacity()).sum::<usize>() + self.components.memory()
    }

    pub fn report(&self) -> Report {
        let mut report = Report::default();
        report.numbers.insert("singular_values".into(), json!(self.values));
        report.vectors.push(("components", self.components.listed()));
        report
    }

    /// Of centred rows: with their mean, and the variance along each component.
    pub fn report_centred(&self) -> Report {
        let variances: Vec<f64> = self.values.iter().map(|&value| self.variance(value)).collect();
        let ratio = |value: &f64| if self.squares > 0.0 { value * value / self.squares } else { 0.0 };
        let ratios: Vec<f64> = self.values.iter().map(ratio).collect();
        let mut report = self.report();
        report.numbers.insert("explained_variance".into(), json!(variances));
        report.numbers.insert("explained_variance_ratio".into(), json!(ratios));
        report.vector.push(("mean", self.means.clone()));
        report
    }
}

/// The parameters that the update needs.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub n_components: usize,
    pub centred: bool,
    pub forgetting: f64,
}

/// The weight and the mean of each coordinate over the rows that have it.
fn mean_of(rows: &WaitingRows, absent: &[f64], means: &mut Vec<f64>, weights: &mut Vec<f64>) {
    for numbers in [&mut *means, &mut *weights] {
        numbers.clear();
        numbers.resize(absent.len(), 0.0);
    }
    for row in 0..rows.len() {
        let (given, w) = (rows.values(row), rows.weight(row));
        for i in 0..absent.len() {
            let x = given.get(i).copied().unwrap_or(absent[i]);
            if !x.is_nan() {
                weights[i] += w;
                means[i] += (x - means[i]) * (w / weights[i]);
            }
        }
    }
}
