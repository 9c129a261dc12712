//! The largest numbers whose powers are summed.
//!
//! A first value of 1e200 would become the mean of its feature, and the square of every later difference to that mean
//! would overflow: one accepted value would make all later rows be refused. Components that sum squares or higher powers
//! therefore refuse the value itself.

use crate::fault::{Fault, FaultKind, Result, Shown};
use crate::row::Row;

/// For sums of squares: with a weight of 1e100, the square of a difference of two such numbers adds 4e300.
pub const LARGEST: f64 = 1e100;
/// For sums of third and fourth powers: with a weight of 1e100, the fourth power of a difference adds 1.6e301.
pub const LARGEST_OF_FOURTH_POWERS: f64 = 1e50;
/// For differences.
pub const LARGEST_OF_DIFFERENCES: f64 = f64::MAX / 2.0;

/// Whether no number is larger than `largest`; missing numbers (NaN) are not. It has no early exit, so that it runs in
/// vector registers.
#[inline]
pub fn are_within(numbers: &[f64], largest: f64) -> bool {
    !numbers.iter().fold(false, |large, number| large | (number.abs() > largest))
}

/// Refuse a row with a number larger than `largest`.
#[inline]
pub fn check_numbers(who: &str, numbers: &[f64], largest: f64) -> Result<()> {
    match are_within(numbers, largest) {
        true => Ok(()),
        false => Err(too_large(who, numbers, largest)),
    }
}

/// `check_numbers` for a row of any form: codes of nominal values are below 2⁵³.
#[inline]
pub fn check_row(who: &str, x: Row<'_>, largest: f64) -> Result<()> {
    match x {
        Row::Plain(values) | Row::Mixed(values, _) => check_numbers(who, values, largest),
        Row::Sparse(sparse) => check_numbers(who, sparse.values, largest),
    }
}

/// Refuse a weight above `LARGEST`.
#[inline]
pub fn check_weight(who: &str, w: f64) -> Result<()> {
    match w > LARGEST {
        true => Err(too_heavy(who, w)),
        false => Ok(()),
    }
}

#[cold]
fn too_large(who: &str, numbers: &[f64], largest: f64) -> Fault {
    let got = numbers.iter().copied().find(|number| number.abs() > largest).unwrap_or(f64::NAN);
    let (largest, got) = (Shown(largest), Shown(got));
    let message =
        format!("{who}: numbers must be in [-{largest}, {largest}], so that sums do not overflow, got {got}");
    Fault::new(FaultKind::Overflow, message)
}

#[cold]
fn too_heavy(who: &str, w: f64) -> Fault {
    let message =
        format!("{who}: w must be at most {}, so that sums do not overflow, got {}", Shown(LARGEST), Shown(w));
    Fault::new(FaultKind::Overflow, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_number_is_named() {
        assert!(check_numbers("a.B", &[1.0, f64::NAN, -1e100], LARGEST).is_ok());
        let fault = check_numbers("a.B", &[1.0, -2e100, 3e100], LARGEST).unwrap_err();
        let expected = "a.B: numbers must be in [-1e100, 1e100], so that sums do not overflow, got -2e100";
        assert_eq!(fault.message(), expected);
        assert!(check_weight("a.B", 1e100).is_ok() && check_weight("a.B", 2e100).is_err());
    }

    /// The bounds in the descriptions of the limits.
    #[test]
    fn powers_of_the_largest_differences_are_finite() {
        assert!(((2.0 * LARGEST).powi(2) * LARGEST).is_finite());
        assert!(((2.0 * LARGEST_OF_FOURTH_POWERS).powi(4) * LARGEST).is_finite());
        assert!((LARGEST_OF_DIFFERENCES + LARGEST_OF_DIFFERENCES).is_finite());
    }
}
