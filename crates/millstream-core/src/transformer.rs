//! Transformers: they turn rows into rows.

use crate::batch::{are_moderate, Rows};
use crate::fault::Result;
use crate::learner::Learner;
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::task::{Anomalies, Truth};

/// Rows that a transformer learns, in order, with targets and weights. All numbers are finite or missing, and weights are
/// positive.
#[derive(Clone, Copy)]
pub struct Examples<'a> {
    pub rows: Rows<'a>,
    pub truths: KnownTruths<'a>,
    /// One for each row; 1 where there are none.
    pub weights: Option<&'a [f64]>,
}

/// The targets of rows, for transformers that use them.
#[derive(Clone, Copy)]
pub enum KnownTruths<'a> {
    None,
    Classes(&'a [u32]),
    Numbers(&'a [f64]),
}

impl KnownTruths<'_> {
    #[inline]
    pub fn at(&self, row: usize) -> Truth {
        match self {
            KnownTruths::None => Truth::None,
            KnownTruths::Classes(codes) => Truth::Class(codes[row]),
            KnownTruths::Numbers(numbers) => Truth::Number(numbers[row]),
        }
    }
}

impl<'a> Examples<'a> {
    /// The examples `from` to `to`.
    pub fn slice(&self, from: usize, to: usize) -> Examples<'a> {
        let truths = match self.truths {
            KnownTruths::None => KnownTruths::None,
            KnownTruths::Classes(codes) => KnownTruths::Classes(&codes[from..to]),
            KnownTruths::Numbers(numbers) => KnownTruths::Numbers(&numbers[from..to]),
        };
        Examples {
            rows: self.rows.slice(from, to),
            truths,
            weights: self.weights.map(|weights| &weights[from..to]),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline]
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// Whether all numbers are moderate, as `Part::infallible` requires.
    pub fn are_moderate(&self) -> bool {
        let truths = match self.truths {
            KnownTruths::Numbers(numbers) => are_moderate(numbers),
            KnownTruths::None | KnownTruths::Classes(_) => true,
        };
        truths && self.rows.are_moderate() && self.weights.is_none_or(are_moderate)
    }
}

/// What a transformer does with the zeros of its output, which has numbered columns where they are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zeros {
    /// Dicts and matrices have all of them.
    Written,
    /// Dicts omit them; matrices are dense.
    OmittedInDicts,
    /// Dicts omit them, and matrices are sparse.
    Omitted,
}

pub trait Transformer: Part {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch);

    /// Transform rows, and append each to `out` with `width` numbers; the last ones are NaN if it has fewer. Overridden
    /// where work is shared.
    fn transform_batch(&self, rows: &Rows<'_>, width: usize, out: &mut Vec<f64>, scratch: &mut Scratch) {
        transform_each(self, rows, width, out, scratch);
    }

    /// Learn a row. `y` is the target of the learner behind it; most transformers ignore it.
    fn learn(&mut self, _x: Row<'_>, _y: Truth, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        Ok(())
    }

    /// Learn rows as `learn` does one by one; returns their number. The row after them, if there is one, must be learned
    /// alone, which reports its fault. `undo` reverts the last of them. Overridden where work is shared.
    fn learn_batch(&mut self, examples: &Examples<'_>, scratch: &mut Scratch) -> usize {
        learn_each(self, examples, 0, scratch)
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

    /// What the output does with zeros, given what the input does with them.
    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::Written
    }

    /// The output, if it is the same for any input.
    fn fixed_output(&self) -> Option<&Schema> {
        None
    }

    /// Names, kinds and nominal values of the output, by slot.
    fn output(&self, input: &Schema) -> Schema;

    fn duplicate(&self) -> Box<dyn Transformer>;
}

/// Transform rows one by one, and append each to `out` with `width` numbers.
pub fn transform_each<P: Transformer + ?Sized>(
    transformer: &P,
    rows: &Rows<'_>,
    width: usize,
    out: &mut Vec<f64>,
    scratch: &mut Scratch,
) {
    let mut transformed = scratch.take_row();
    for row in 0..rows.len() {
        transformer.transform(rows.at(row), &mut transformed, scratch);
        transformed.row().append_to(width, out);
    }
    scratch.give_row(transformed);
}

/// Learn rows from index `from` on one by one; returns the index of the first that is refused, or the number of rows.
pub fn learn_each<P: Transformer + ?Sized>(
    transformer: &mut P,
    examples: &Examples<'_>,
    from: usize,
    scratch: &mut Scratch,
) -> usize {
    let mut learn = |row: &usize| {
        let (x, y) = (examples.rows.at(*row), examples.truths.at(*row));
        transformer.learn(x, y, examples.weight(*row), scratch).is_err()
    };
    (from..examples.len()).find(&mut learn).unwrap_or(examples.len())
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
