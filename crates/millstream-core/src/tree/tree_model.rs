//! A tree as a component of models: one interface for all kinds of trees.
//!
//! Rows are learned dense, because statistics read every number. Sparse rows are expanded first.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{self, Row, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::growth::Tree;
use super::node_report::sizes;
use super::tree_leaf::{Target, TaskOf, TreeLeaf, Want};
use super::tree_prediction::TreePrediction;

/// A kind of tree.
pub trait AnyTree: Clone + Send + Sync + 'static {
    type Leaf: TreeLeaf;

    fn save(&self) -> Result<Vec<u8>>;
    /// Restore the saved state, or change nothing.
    fn load(&mut self, bytes: &[u8]) -> Result<()>;
    fn memory(&self) -> usize;
    fn shown(&self, schema: &Schema) -> Json;
    fn tree(&self) -> &Tree<Self::Leaf>;
    /// As in `Part`.
    fn infallible(&self) -> bool {
        false
    }
    fn predict(
        &self,
        x: Row<'_>,
        want: Want<Self::Leaf>,
        out: &mut <Self::Leaf as TreeLeaf>::Prediction,
        scratch: &mut Scratch,
    );
    /// Predict, then learn. The row is not sparse.
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<Self::Leaf>,
        w: f64,
        want: Want<Self::Leaf>,
        out: &mut <Self::Leaf as TreeLeaf>::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()>;
    /// Learn a row that is not sparse.
    fn learn(&mut self, x: Row<'_>, y: Target<Self::Leaf>, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut out = <Self::Leaf as TreeLeaf>::Prediction::take(scratch);
        let learned = self.step(x, y, w, <Self::Leaf as TreeLeaf>::Prediction::LEAST, &mut out, scratch);
        out.give(scratch);
        learned
    }
}

impl<L: TreeLeaf> AnyTree for Tree<L> {
    type Leaf = L;

    fn save(&self) -> Result<Vec<u8>> {
        pack(&L::saved(self))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        L::restore(self, unpack(self.name, bytes)?, &[])
    }

    fn memory(&self) -> usize {
        self.memory()
    }

    fn shown(&self, schema: &Schema) -> Json {
        L::shown(self, schema)
    }

    fn tree(&self) -> &Tree<L> {
        self
    }

    fn infallible(&self) -> bool {
        self.infallible()
    }

    fn predict(&self, x: Row<'_>, want: Want<L>, out: &mut L::Prediction, scratch: &mut Scratch) {
        self.predict(x, want, out, scratch);
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.step(x, y, w, want, out, scratch)
    }

    fn learn(&mut self, x: Row<'_>, y: Target<L>, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.learn(x, y, w, scratch)
    }
}

#[derive(Clone)]
pub struct TreeModel<T>(pub T);

impl<T: AnyTree> Part for TreeModel<T> {
    fn save(&self) -> Result<Vec<u8>> {
        self.0.save()
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.load(bytes)
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        self.0.shown(schema)
    }

    fn scalars(&self) -> Json {
        sizes(self.0.tree(), self.0.memory())
    }

    fn infallible(&self) -> bool {
        self.0.infallible()
    }
}

type PredictionOf<T> = <<T as AnyTree>::Leaf as TreeLeaf>::Prediction;

impl<T: AnyTree> Learner<TaskOf<T::Leaf>> for TreeModel<T> {
    fn predict(
        &self,
        x: Row<'_>,
        want: row::Want,
        out: &mut <TaskOf<T::Leaf> as Task>::Prediction,
        scratch: &mut Scratch,
    ) {
        let want = PredictionOf::<T>::want(want);
        PredictionOf::<T>::write(out, |out| match x {
            Row::Sparse(_) if PredictionOf::<T>::DENSE => {
                let mut dense = scratch.take_numbers();
                self.0.predict(x.dense(&mut dense), want, out, scratch);
                scratch.give_numbers(dense);
            }
            x => self.0.predict(x, want, out, scratch),
        });
    }

    fn learn(&mut self, x: Row<'_>, y: Target<T::Leaf>, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut dense = scratch.take_numbers();
        let learned = self.0.learn(x.dense(&mut dense), y, w, scratch);
        scratch.give_numbers(dense);
        learned
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<T::Leaf>,
        w: f64,
        want: row::Want,
        out: &mut <TaskOf<T::Leaf> as Task>::Prediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let want = PredictionOf::<T>::want(want);
        PredictionOf::<T>::write(out, |out| match x {
            Row::Sparse(_) => {
                let mut dense = scratch.take_numbers();
                let learned = self.0.step(x.dense(&mut dense), y, w, want, out, scratch);
                scratch.give_numbers(dense);
                learned
            }
            x => self.0.step(x, y, w, want, out, scratch),
        })
    }

    fn duplicate(&self) -> Box<dyn Learner<TaskOf<T::Leaf>>> {
        Box::new(self.clone())
    }
}
