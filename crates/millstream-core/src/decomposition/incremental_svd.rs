//! The truncated singular value decomposition of all rows so far, updated once per batch of rows and not centred
//! (truncated.rs). With batches of one row it is the update of Brand (2002), "Incremental singular value
//! decomposition of uncertain data with missing values", section 3.

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::row::Scratch;

use super::decomposer::{Decomposer, Method, Report, BATCH_SIZE, N_COMPONENTS};
use super::truncated::{Settings, Truncated, Work};
use super::waiting_rows::{Layout, WaitingRows};

pub static DECLARATION: Declaration = Declaration {
    name: IncrementalSvd::NAME,
    role: Role::Transformer,
    words: "Truncated singular value decomposition of batches of rows, without centring",
    merge: Merge::none("components of separate models do not correspond to each other: use decomposition.PCA"),
    parameters: &[
        N_COMPONENTS,
        BATCH_SIZE,
        Parameter::new(
            "forgetting",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(1.0),
            "factor of the singular values at each batch; 1 to forget nothing",
        ),
    ],
    build: |arguments| {
        Ok(Decomposer::build(IncrementalSvd {
            n_components: arguments.size("n_components")?,
            batch_size: arguments.size("batch_size")?,
            forgetting: arguments.float("forgetting")?,
        }))
    },
};

#[derive(Clone)]
struct IncrementalSvd {
    n_components: usize,
    batch_size: usize,
    forgetting: f64,
}

impl Method for IncrementalSvd {
    const NAME: &'static str = "decomposition.IncrementalSVD";
    const OUTPUT: &'static str = "svd";
    const LAYOUT: Layout = Layout::Dense;
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
        let settings = Settings { n_components: self.n_components, centred: false, forgetting: self.forgetting };
        fitted.update(rows, absent, settings, next, work)
    }

    fn is_ready(&self, fitted: &Truncated) -> bool {
        fitted.weight > 0.0
    }

    fn width(&self, fitted: &Truncated) -> usize {
        fitted.means.len()
    }

    fn transform(&self, fitted: &Truncated, _: &[u32], values: &mut [f64], out: &mut [f64], _: &mut Scratch) {
        fitted.components.project(values, out);
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
        fitted.report()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decomposer::testing::*;
    use super::*;
    use crate::schema::Schema;

    /// One row a batch, forgetting ½: (4, 0) gives σ = 4 along (1, 0). Then (0, 3): the rows (2, 0), (0, 3), so σ
    /// = 3 and 2 along (0, 1) and (1, 0).
    #[test]
    fn two_rows_by_hand() {
        let parameters = json!({ "batch_size": 1, "forgetting": 0.5 });
        let mut svd = transformer(IncrementalSvd::NAME, parameters);
        learn(&mut *svd, &[&[4.0, 0.0]]);
        near(&transformed(&*svd, &[5.0, 6.0]), &[5.0, 0.0]);
        learn(&mut *svd, &[&[0.0, 3.0]]);
        near(&transformed(&*svd, &[5.0, 6.0]), &[6.0, 5.0]);
        let shown = svd.inspect(&Schema::default());
        near(&[shown["singular_values"][1].as_f64().unwrap()], &[2.0]);
    }

    #[test]
    fn learning_is_undone() {
        let mut svd = transformer(IncrementalSvd::NAME, json!({ "batch_size": 2 }));
        undoes(&mut *svd, &[&[1.0, 2.0], &[3.0, 1.0], &[0.0, 2.0, 5.0], &[1.0], &[2.0, 2.0, 2.0]]);
    }
}
