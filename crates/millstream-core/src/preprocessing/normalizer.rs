//! Scales each row to norm 1: the sum of absolute values, the Euclidean norm or the largest absolute value.
//!
//! A row without a number other than 0 stays as it is. Zero stays zero, so a sparse row stays sparse. Nominal values pass
//! through, and neither they nor missing values count in the norm.

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::key_use::KeyUses;
use crate::merging::{Merge, Merger};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::transformer::Transformer;

const NAME: &str = "preprocessing.Normalizer";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Scales each row to norm 1",
    merge: Merge::STATELESS,
    parameters: &[Parameter::new(
        "order",
        Kind::Choice(&["l1", "l2", "max"]),
        DefaultValue::Text("l2"),
        "norm: sum of absolute values, Euclidean, or largest absolute value",
    )],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let order = match arguments.text("order")? {
        "l1" => Order::Sum,
        "max" => Order::Greatest,
        _ => Order::Euclidean,
    };
    Ok(Built::Transformer(Box::new(Normalizer { order })))
}

#[derive(Clone, Copy)]
enum Order {
    Sum,
    Euclidean,
    Greatest,
}

#[derive(Clone)]
struct Normalizer {
    order: Order,
}

/// Visit the numbers of a row.
#[inline(always)]
fn each_number(x: Row<'_>, mut visit: impl FnMut(f64)) {
    match x {
        Row::Plain(values) => values.iter().for_each(|&value| visit(value)),
        Row::Sparse(sparse) => sparse.values.iter().for_each(|&value| visit(value)),
        Row::Mixed(..) => x.each(|_, value| {
            if let Value::Number(number) = value {
                visit(number);
            }
        }),
    }
}

impl Normalizer {
    /// The factors by which to multiply a number and then divide it: the first is 1 unless the norm would overflow.
    fn norm(&self, x: Row<'_>) -> (f64, f64) {
        let sum = |factor: f64| {
            let mut sum = 0.0f64;
            match self.order {
                Order::Sum => each_number(x, |number| sum += (number * factor).abs()),
                Order::Euclidean => each_number(x, |number| sum += (number * factor) * (number * factor)),
                Order::Greatest => each_number(x, |number| sum = sum.max(number.abs())),
            }
            match self.order {
                Order::Euclidean => sum.sqrt(),
                _ => sum,
            }
        };
        let norm = sum(1.0);
        if (1e-140..1e140).contains(&norm) || matches!(self.order, Order::Greatest) {
            return (1.0, norm);
        }
        let mut greatest = 0.0f64;
        each_number(x, |number| greatest = greatest.max(number.abs()));
        // A power of two changes no digit of a number.
        let factor = match greatest {
            0.0 => 1.0,
            huge if huge > 1.0 => 2f64.powi(-600),
            _ => 2f64.powi(600),
        };
        (factor, sum(factor))
    }
}

impl Part for Normalizer {
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

impl Transformer for Normalizer {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        let (factor, norm) = self.norm(x);
        if norm > 0.0 {
            out.map(x, |_, value| value * factor / norm);
        } else {
            out.copy_from(x);
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

    fn normalised(order: Order, x: &[f64]) -> Vec<f64> {
        let mut out = RowBuffer::default();
        Normalizer { order }.transform(Row::Plain(x), &mut out, &mut Scratch::default());
        let Row::Plain(z) = out.row() else { panic!() };
        z.to_vec()
    }

    /// |3| + |−4| = 7, √(9 + 16) = 5, the largest is 4.
    #[test]
    fn worked_by_hand() {
        assert_eq!(normalised(Order::Sum, &[3.0, -4.0]), [3.0 / 7.0, -4.0 / 7.0]);
        assert_eq!(normalised(Order::Euclidean, &[3.0, -4.0]), [0.6, -0.8]);
        assert_eq!(normalised(Order::Greatest, &[3.0, -4.0]), [0.75, -1.0]);
        assert_eq!(normalised(Order::Euclidean, &[0.0, -0.0]), [0.0, -0.0]);
    }

    #[test]
    fn neither_huge_nor_tiny_numbers_are_lost() {
        for size in [1e-310, 1e-200, 1e200, 4e307] {
            for (order, expected) in [(Order::Sum, 3.0 / 7.0), (Order::Euclidean, 0.6), (Order::Greatest, 0.75)] {
                let z = normalised(order, &[3.0 * size, -4.0 * size]);
                assert!((z[0] - expected).abs() < 1e-12, "{size} {z:?}");
            }
        }
    }
}
