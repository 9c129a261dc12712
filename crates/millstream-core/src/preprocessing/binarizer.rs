//! 1 for a number above a threshold, otherwise 0.
//!
//! Unless the threshold is negative, zero stays zero and a sparse row stays sparse. Nominal values pass through; missing
//! values stay missing.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::key_use::KeyUses;
use crate::merging::{Merge, Merger};
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::Schema;
use crate::transformer::Transformer;

const NAME: &str = "preprocessing.Binarizer";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Turns numbers into 1 above a threshold and 0 otherwise",
    merge: Merge::STATELESS,
    parameters: &[Parameter::new(
        "threshold",
        Kind::Float(Bounds::ANY),
        DefaultValue::Float(0.0),
        "numbers above it become 1",
    )],
    build: |arguments| Ok(Built::Transformer(Box::new(Binarizer { threshold: arguments.float("threshold")? }))),
};

#[derive(Clone)]
struct Binarizer {
    threshold: f64,
}

impl Part for Binarizer {
    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack(NAME, bytes)
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::passed()
    }

    fn infallible(&self) -> bool {
        true
    }
}

impl Transformer for Binarizer {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let above = |_: usize, value: f64| f64::from(u8::from(value > self.threshold));
        if self.threshold < 0.0 {
            let mut dense = scratch.take_numbers();
            out.map(x.dense(&mut dense), above);
            scratch.give_numbers(dense);
        } else {
            out.map(x, above);
        }
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Sparse;

    /// 2 > 1; 1 is not above 1; an implicit zero is above −1.
    #[test]
    fn worked_by_hand() {
        let (mut out, mut scratch) = (RowBuffer::default(), Scratch::default());
        Binarizer { threshold: 1.0 }.transform(Row::Plain(&[2.0, 1.0, -3.0]), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [1.0, 0.0, 0.0]);
        let x = Row::Sparse(Sparse { indices: &[1], values: &[-5.0], width: 3 });
        Binarizer { threshold: -1.0 }.transform(x, &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [1.0, 0.0, 1.0]);
    }
}
