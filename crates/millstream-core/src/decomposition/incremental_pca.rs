//! Principal component analysis with a truncated decomposition, updated once per batch of rows (truncated.rs).
//!
//! The same as scikit-learn's `IncrementalPCA`, whose batches are calls of `partial_fit`: here a batch is a number
//! of rows, and the rows of an incomplete one are part of the state. The first batch may have fewer rows than
//! there are components.

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::row::Scratch;

use super::decomposer::{Decomposer, Method, Report, BATCH_SIZE, N_COMPONENTS};
use super::pca::{whitened, WHITEN};
use super::truncated::{Settings, Truncated, Work};
use super::waiting_rows::{Layout, WaitingRows};

pub static DECLARATION: Declaration = Declaration {
    name: IncrementalPca::NAME,
    role: Role::Transformer,
    words: "Principal component analysis of batches of rows, as in scikit-learn",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[N_COMPONENTS, BATCH_SIZE, WHITEN],
    build: |arguments| {
        Ok(Decomposer::build(IncrementalPca {
            n_components: arguments.size("n_components")?,
            batch_size: arguments.size("batch_size")?,
            whiten: arguments.boolean("whiten")?,
        }))
    },
};

#[derive(Clone)]
struct IncrementalPca {
    n_components: usize,
    batch_size: usize,
    whiten: bool,
}

impl Method for IncrementalPca {
    const NAME: &'static str = "decomposition.IncrementalPCA";
    const OUTPUT: &'static str = "incremental_pca";
    const LAYOUT: Layout = Layout::Centred;
    type Fitted = Truncated;
    type Work = Work;

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn is_due(&self, _fitted: &Truncated, waiting: usize) -> bool {
        waiting >= self.batch_size
    }

    fn update(
        &self,
        fitted: &Truncated,
        rows: &WaitingRows,
        absent: &[f64],
        next: &mut Truncated,
        work: &mut Work,
    ) -> bool {
        let settings = Settings { n_components: self.n_components, centred: true, forgetting: 1.0 };
        fitted.update(rows, absent, settings, next, work)
    }

    fn is_ready(&self, fitted: &Truncated) -> bool {
        fitted.weight > 0.0
    }

    fn width(&self, fitted: &Truncated) -> usize {
        fitted.means.len()
    }

    fn transform(&self, fitted: &Truncated, _: &[u32], values: &mut [f64], out: &mut [f64], _: &mut Scratch) {
        for (x, mean) in values.iter_mut().zip(&fitted.means) {
            *x = if x.is_nan() { 0.0 } else { *x - mean };
        }
        fitted.components.project(values, out);
        if self.whiten {
            for (out, value) in out.iter_mut().zip(&fitted.values) {
                *out = whitened(*out, fitted.variance(*value));
            }
        }
    }

    fn validate(&self, fitted: &Truncated) -> Result<()> {
        fitted.validate(Self::NAME, self.n_components)
    }

    fn memory(&self, fitted: &Truncated) -> usize {
        fitted.memory()
    }

    fn work_memory(&self, work: &Work) -> usize {
        work.memory()
    }

    fn report(&self, fitted: &Truncated, _rows: &WaitingRows) -> Report {
        fitted.report_centred()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// Batches of two. (2, 0), (−2, 0): the mean 0, σ = √8 along (1, 0). Then (1, 3), (1, 5): their mean (1, 4),
    /// about it (0, −1), (0, 1), and the correction √(2 · 2 / 4) (0 − 1, 0 − 4) = (−1, −4). Stacked: (√8, 0), (0,
    /// −1), (0, 1), (−1, −4); the Gram matrix [9 4; 4 18], with the eigenvalues (27 ± √145) / 2. All variance is
    /// 27; the mean is (½, 2).
    #[test]
    fn two_batches_by_hand() {
        let mut pca = transformer(IncrementalPca::NAME, json!({ "n_components": 1, "batch_size": 2 }));
        learn(&mut *pca, &[&[2.0, 0.0]]);
        assert_eq!(transformed(&*pca, &[5.0, 5.0]), [0.0]);
        learn(&mut *pca, &[&[-2.0, 0.0], &[1.0, 3.0]]);
        near(&transformed(&*pca, &[5.0, 5.0]), &[5.0]);
        learn(&mut *pca, &[&[1.0, 5.0]]);
        let value = 0.5 * (27.0 + 145f64.sqrt());
        // (9 − λ) a + 4 b = 0.
        let (a, b) = (4.0, value - 9.0);
        let norm = (a * a + b * b).sqrt();
        near(&transformed(&*pca, &[1.5, 2.0]), &[a / norm]);
        let shown = pca.inspect(&Schema::default());
        near(&[shown["singular_values"][0].as_f64().unwrap()], &[value.sqrt()]);
        near(&[shown["explained_variance"][0].as_f64().unwrap()], &[value / 3.0]);
        near(&[shown["explained_variance_ratio"][0].as_f64().unwrap()], &[value / 27.0]);
    }

    #[test]
    fn learning_is_undone() {
        let mut pca = transformer(IncrementalPca::NAME, json!({ "batch_size": 2 }));
        undoes(&mut *pca, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
