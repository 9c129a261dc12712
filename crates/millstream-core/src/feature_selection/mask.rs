//! A row without its dropped features.

use crate::row::{Row, RowBuffer};
use crate::schema::FeatureKind;

/// Write `x` without the numbers that `keeps` refuses, by slot. Nominal features are kept.
#[inline]
pub fn mask(x: Row<'_>, out: &mut RowBuffer, keeps: impl Fn(usize) -> bool) {
    match x {
        Row::Plain(values) => {
            if (0..values.len()).all(&keeps) {
                return out.plain(values.len()).copy_from_slice(values);
            }
            let (numbers, kinds) = out.mixed(values.len());
            kinds.fill(FeatureKind::Number);
            for (slot, (number, &value)) in numbers.iter_mut().zip(values).enumerate() {
                if keeps(slot) {
                    *number = value;
                }
            }
        }
        Row::Mixed(values, kinds) => {
            let numbers = out.mixed_like(kinds);
            for (slot, (number, &value)) in numbers.iter_mut().zip(values).enumerate() {
                *number = if kinds[slot] != FeatureKind::Number || keeps(slot) { value } else { f64::NAN };
            }
        }
        Row::Sparse(sparse) => {
            out.sparse(sparse.width);
            for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                if keeps(slot as usize) {
                    out.push(slot, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Sparse;
    use FeatureKind::{Nominal, Number};

    #[test]
    fn every_form_of_a_row() {
        let mut out = RowBuffer::default();
        mask(Row::Plain(&[1.0, 2.0]), &mut out, |_| true);
        assert!(matches!(out.row(), Row::Plain([1.0, 2.0])));
        mask(Row::Plain(&[1.0, 2.0]), &mut out, |slot| slot == 1);
        let Row::Mixed(values, [Number, Number]) = out.row() else { panic!() };
        assert!(values[0].is_nan() && values[1] == 2.0);
        mask(Row::Mixed(&[1.0, 0.0], &[Number, Nominal]), &mut out, |_| false);
        let Row::Mixed(values, [Number, Nominal]) = out.row() else { panic!() };
        assert!(values[0].is_nan() && values[1] == 0.0);
        mask(Row::Sparse(Sparse { indices: &[1, 4], values: &[7.0, 8.0], width: 6 }), &mut out, |slot| slot != 1);
        let Row::Sparse(sparse) = out.row() else { panic!() };
        assert_eq!((sparse.indices, sparse.values, sparse.width), (&[4][..], &[8.0][..], 6));
    }
}
