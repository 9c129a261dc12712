//! Transformers: they turn rows into rows.

use crate::fault::Result;
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::{Anomalies, Truth};

pub trait Transformer: Part {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch);

    /// Learn a row. `y` is the target of the learner behind it; most transformers ignore it.
    fn learn(&mut self, _x: Row<'_>, _y: Truth, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Ok(())
    }

    /// Learn, then transform: what a pipeline does with each row. Overridden where the two share work.
    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.learn(x, y, w, scratch)?;
        self.transform(x, out, scratch);
        Ok(())
    }

    /// The row as it is transformed before it is learned, and after: what predicting and learning behind this
    /// step need. After a fault nothing is learned, and the buffers are undefined.
    fn step(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        before: &mut RowBuffer,
        after: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.transform(x, before, scratch);
        self.learn_and_transform(x, y, w, after, scratch)
    }

    /// Revert the last `learn`, bit for bit. A pipeline calls it when a later step refuses the example;
    /// it is called at most once per `learn`.
    fn undo(&mut self) {}

    /// Whether learning no longer changes the output: then a row need not be transformed twice.
    fn is_frozen(&self) -> bool {
        self.is_stateless()
    }

    /// Whether the output for a row does not depend on the rows learned before, except for the slots of features.
    fn is_stateless(&self) -> bool {
        false
    }

    /// Whether the last learned row is dropped from the pipeline: later steps do not learn it.
    fn stops(&self) -> bool {
        false
    }

    /// Whether it may drop rows.
    fn may_stop(&self) -> bool {
        false
    }

    /// A copy of the anomaly filter, if it is one.
    fn filter(&self) -> Option<Box<dyn Learner<Anomalies>>> {
        None
    }

    /// The functions of a basis, if it is one.
    fn basis(&self) -> Option<&dyn BasisFunctions> {
        None
    }

    fn basis_mut(&mut self) -> Option<&mut dyn BasisFunctions> {
        None
    }

    /// Whether the output has the slots, names and nominal values of the input, so that `output` need not be called for
    /// them; kinds may differ.
    fn keeps_names(&self) -> bool {
        false
    }

    /// Whether a dict of a sparse output lists its entries only, and not all zeros: for columns without names.
    fn omits_zeros(&self) -> bool {
        false
    }

    /// Names, kinds and nominal values of the output, by slot.
    fn output(&self, input: &Schema) -> Schema;

    fn duplicate(&self) -> Box<dyn Transformer>;
}

impl Clone for Box<dyn Transformer> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// Functions φ of the inputs that span a space.
pub trait BasisFunctions {
    /// From now on write orthonormal functions ψ with the same span, or φ again. Called when a pipeline is built or a
    /// step is taken out of it. Names are those of φ either way.
    fn set_orthonormal(&mut self, orthonormal: bool);
    /// C in ψ = C φ, a lower triangle by rows; none if it writes φ.
    fn change(&self) -> Result<Option<Vec<f64>>>;
    /// ∫ φφᵀ over the region of a basis of so many inputs, by rows.
    fn gram(&self, inputs: Option<usize>) -> Result<Vec<f64>>;
}
