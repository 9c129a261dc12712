//! A tree as a part of models: one face for every kind of tree, of classes or of numbers.
//!
//! Rows are learned dense: statistics look at every number. Sparse rows are written out for that.

use serde_json::Value as Json;

use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{self, Row, Scratch};
use crate::schema::Schema;
use crate::task::Task;

use super::answer::Answer;
use super::growth::Tree;
use super::node_report::sizes;
use super::tree_leaf::{Target, TaskOf, TreeLeaf, Want};

/// What a kind of tree can do.
pub trait AnyTree: Clone + Send + Sync + 'static {
    type Leaf: TreeLeaf;

    fn save(&self) -> Result<Vec<u8>>;
    /// Become what was saved, or stay.
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
        out: &mut <Self::Leaf as TreeLeaf>::Answer,
        scratch: &mut Scratch,
    );
    /// Predict, then learn. The row is not sparse.
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<Self::Leaf>,
        w: f64,
        want: Want<Self::Leaf>,
        out: &mut <Self::Leaf as TreeLeaf>::Answer,
        scratch: &mut Scratch,
    ) -> Result<()>;
    /// Learn a row that is not sparse.
    fn learn(&mut self, x: Row<'_>, y: Target<Self::Leaf>, w: f64, scratch: &mut Scratch) -> Result<()> {
        let mut out = <Self::Leaf as TreeLeaf>::Answer::take(scratch);
        let learned = self.step(x, y, w, <Self::Leaf as TreeLeaf>::Answer::LEAST, &mut out, scratch);
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

    fn predict(&self, x: Row<'_>, want: Want<L>, out: &mut L::Answer, scratch: &mut Scratch) {
        self.predict(x, want, out, scratch);
    }

    #[inline]
    fn step(
        &mut self,
        x: Row<'_>,
        y: Target<L>,
        w: f64,
        want: Want<L>,
        out: &mut L::Answer,
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

type AnswerOf<T> = <<T as AnyTree>::Leaf as TreeLeaf>::Answer;

impl<T: AnyTree> Learner<TaskOf<T::Leaf>> for TreeModel<T> {
    fn predict(
        &self,
        x: Row<'_>,
        want: row::Want,
        out: &mut <TaskOf<T::Leaf> as Task>::Prediction,
        scratch: &mut Scratch,
    ) {
        let want = AnswerOf::<T>::want(want);
        AnswerOf::<T>::write(out, |out| match x {
            Row::Sparse(_) if AnswerOf::<T>::DENSE => {
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
        let want = AnswerOf::<T>::want(want);
        AnswerOf::<T>::write(out, |out| match x {
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
