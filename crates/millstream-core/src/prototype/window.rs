//! The window around a class boundary, and the two nearest prototypes.

use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::prototype::classifier::Neighbour;

pub const WINDOW_WIDTH: Parameter = Parameter::new(
    "window_width",
    Kind::Float(Bounds::OPEN_UNIT),
    DefaultValue::Float(0.3),
    "relative width of the window around a class boundary in which prototypes move",
);

/// Rows whose distances a ≤ b to two prototypes have a ratio a/b > (1 − width) / (1 + width) (Kohonen, 1990, eq. 14). The
/// distances of the equation are not squared.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    least_squared_ratio: f64,
}

impl Window {
    pub fn new(width: f64) -> Self {
        let ratio = (1.0 - width) / (1.0 + width);
        Window { least_squared_ratio: ratio * ratio }
    }

    /// Whether a row with two squared distances, of which `near` is not the larger one, lies in the window.
    #[inline]
    pub fn contains(self, near: f64, far: f64) -> bool {
        far > 0.0 && near / far > self.least_squared_ratio
    }
}

/// The two nearest prototypes, the first among equals; none if fewer than two share a coordinate with the row.
#[inline]
pub fn two_nearest(distances: &[f64]) -> Option<(Neighbour, Neighbour)> {
    let far = Neighbour { prototype: usize::MAX, distance: f64::INFINITY };
    let (mut first, mut second) = (far, far);
    for (prototype, &distance) in distances.iter().enumerate() {
        if distance < first.distance {
            second = first;
            first = Neighbour { prototype, distance };
        } else if distance < second.distance {
            second = Neighbour { prototype, distance };
        }
    }
    second.distance.is_finite().then_some((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A width of 1/3 gives the ratio (2/3) / (4/3) = 1/2: distances 3 and 5 are inside, 2 and 5 are outside.
    #[test]
    fn the_window_worked_by_hand() {
        let window = Window::new(1.0 / 3.0);
        assert!(window.contains(9.0, 25.0) && !window.contains(4.0, 25.0) && !window.contains(0.0, 0.0));
    }

    #[test]
    fn the_two_nearest_in_any_order() {
        let (first, second) = two_nearest(&[4.0, 1.0, f64::INFINITY, 2.0, 1.0]).unwrap();
        assert_eq!((first.prototype, second.prototype), (1, 4));
        assert!(two_nearest(&[1.0, f64::INFINITY]).is_none());
    }
}
