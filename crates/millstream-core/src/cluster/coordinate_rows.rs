//! Rows by coordinates: a number has one coordinate, and a nominal feature one for each of its values, which is 1 for the
//! row's value and 0 for the others. NaN is a missing value.

use crate::cluster::lloyd::Geometry;
use crate::linear_model::Coordinates;
use crate::row::{Row, Value};

/// Write a row by coordinates. Those of features that the row does not have become NaN; values without a coordinate are
/// ignored.
pub fn write_row(coordinates: &Coordinates, x: Row<'_>, out: &mut Vec<f64>) {
    out.clear();
    out.resize(coordinates.width(), f64::NAN);
    if let Row::Sparse(sparse) = x {
        for slot in 0..sparse.width {
            if let Some(place) = coordinates.of(slot, Value::Number(0.0)) {
                out[place as usize] = 0.0;
            }
        }
    }
    let mut nominal = false;
    x.each(|slot, value| {
        nominal |= matches!(value, Value::Nominal(_));
        if let Some(place) = coordinates.of(slot, value) {
            out[place as usize] = match value {
                Value::Number(number) => number,
                Value::Nominal(_) => 1.0,
            };
        }
    });
    if nominal {
        coordinates.each_slot(|slot, _, places| {
            if !places.is_empty() && matches!(x.get(slot), Some(Value::Nominal(_))) {
                for &place in places {
                    out[place] = if out[place].is_nan() { 0.0 } else { out[place] };
                }
            }
        });
    }
}

/// Extend a row by coordinates that were added since: 0 for new values of a nominal feature that the row has, NaN for new
/// features.
pub fn widen_row(coordinates: &Coordinates, row: &mut Vec<f64>) {
    let before = row.len();
    row.resize(coordinates.width(), f64::NAN);
    if before == row.len() || !coordinates.mapped() {
        return;
    }
    coordinates.each_slot(|_, _, places| {
        if places.iter().any(|&place| place < before && !row[place].is_nan()) {
            places.iter().filter(|&&place| place >= before).for_each(|&place| row[place] = 0.0);
        }
    });
}

/// The squared distance over the coordinates that both rows have, scaled to all coordinates (Dixon, 1979, "Pattern
/// recognition with partly missing data", section II); none if they share no coordinate. Both have the same width.
pub fn partial_distance<'a>(a: &[f64], b: impl IntoIterator<Item = &'a f64>) -> Option<f64> {
    let (mut sum, mut shared, width) = (0.0, 0usize, a.len());
    for (a, b) in a.iter().zip(b) {
        let difference = a - b;
        if !difference.is_nan() {
            sum += difference * difference;
            shared += 1;
        }
    }
    match shared {
        0 => None,
        _ if shared == width => Some(sum),
        _ => Some(sum * (width as f64 / shared as f64)),
    }
}

/// Partial distances; rows without a common coordinate are at the same place.
pub struct PartialDistances;

impl Geometry for PartialDistances {
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        partial_distance(a, b).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureKind::{Nominal, Number};

    /// (1, 2, missing) and (4, 6, 7): 3² + 4² = 25 over two of three coordinates, so 25 · 3/2 = 37.5.
    #[test]
    fn partial_distances_worked_by_hand() {
        assert_eq!(partial_distance(&[1.0, 2.0, f64::NAN], &[4.0, 6.0, 7.0]), Some(37.5));
        assert_eq!(partial_distance(&[1.0, 2.0], &[4.0, 6.0]), Some(25.0));
        assert_eq!(partial_distance(&[f64::NAN, 2.0], &[4.0, f64::NAN]), None);
    }

    #[test]
    fn a_nominal_feature_has_a_coordinate_for_each_value() {
        let mut coordinates = Coordinates::default();
        let (first, kinds) = ([1.5, 0.0], [Number, Nominal]);
        coordinates.grow(Row::Mixed(&first, &kinds));
        let mut row = Vec::new();
        write_row(&coordinates, Row::Mixed(&first, &kinds), &mut row);
        assert_eq!(row, [1.5, 1.0]);
        coordinates.grow(Row::Mixed(&[2.5, 1.0], &kinds));
        widen_row(&coordinates, &mut row);
        assert_eq!(row, [1.5, 1.0, 0.0]);
        write_row(&coordinates, Row::Mixed(&[f64::NAN, 1.0], &kinds), &mut row);
        assert!(row[0].is_nan() && row[1..] == [0.0, 1.0]);
    }
}
