//! JSON numbers: the grammar, and the correctly rounded value.

use super::invalid::{echoed, Invalid};

/// Maximum number of digits of an integer. Longer ones do not fit in a float either, and Python's conversion takes
/// quadratic time.
const MAX_DIGITS: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'a> {
    Int(i64),
    /// An integer beyond 64 bits, as written.
    Long(&'a str),
    Float(f64),
}

/// The powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
];

/// The number at `start`, and the place after it.
pub fn read(text: &str, start: usize) -> Result<(Number<'_>, usize), Invalid> {
    let bytes = text.as_bytes();
    let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let negative = at(start) == b'-';
    let first = start + usize::from(negative);
    let mut place = first;
    // Wraps for many digits, and is then not used.
    let mut digits: u64 = 0;
    while at(place).is_ascii_digit() {
        digits = digits.wrapping_mul(10).wrapping_add(u64::from(at(place) - b'0'));
        place += 1;
    }
    let whole = place - first;
    if whole == 0 && at(place) == b'I' {
        return Err(Invalid::new("-Infinity is not a finite number"));
    }
    if whole == 0 || (whole > 1 && at(first) == b'0') {
        return Err(invalid(start));
    }
    let mut fraction = 0;
    if at(place) == b'.' {
        let point = place;
        place += 1;
        while at(place).is_ascii_digit() {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(at(place) - b'0'));
            place += 1;
        }
        fraction = place - point - 1;
        if fraction == 0 {
            return Err(invalid(start));
        }
    }
    let plain = place;
    if matches!(at(place), b'e' | b'E') {
        place += 1;
        place += usize::from(matches!(at(place), b'+' | b'-'));
        let exponent = place;
        while at(place).is_ascii_digit() {
            place += 1;
        }
        if place == exponent {
            return Err(invalid(start));
        }
    }
    let token = &text[start..place];
    if fraction == 0 && plain == place {
        return Ok((integer(token, negative, digits, whole)?, place));
    }
    // One division of two exact floats is rounded once, hence correctly (Clinger 1990). 10¹⁵ < 2⁵³.
    if plain == place && whole + fraction <= 15 {
        let size = digits as f64 / POWERS[fraction];
        return Ok((Number::Float(if negative { -size } else { size }), place));
    }
    match token.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Number::Float(number), place)),
        Ok(_) => Err(Invalid::new(format!("{} is not a finite number", echoed(token)))),
        Err(_) => Err(invalid(start)),
    }
}

fn integer(token: &str, negative: bool, digits: u64, length: usize) -> Result<Number<'_>, Invalid> {
    match length {
        // Below 10¹⁸, which fits.
        0..=18 => Ok(Number::Int(if negative { -(digits as i64) } else { digits as i64 })),
        19..=MAX_DIGITS => Ok(token.parse().map(Number::Int).unwrap_or(Number::Long(token))),
        _ => Err(Invalid::new(format!("{} has more than {MAX_DIGITS} digits", echoed(token)))),
    }
}

#[cold]
fn invalid(start: usize) -> Invalid {
    Invalid::new(format!("invalid number at byte {start}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_its_value() {
        let number = |text: &'static str| read(text, 0).map(|(number, end)| (number, end == text.len())).unwrap();
        assert_eq!(number("-0"), (Number::Int(0), true));
        assert_eq!(number("999999999999999999"), (Number::Int(999_999_999_999_999_999), true));
        assert_eq!(number("-9223372036854775808"), (Number::Int(i64::MIN), true));
        assert_eq!(number("9223372036854775808"), (Number::Long("9223372036854775808"), true));
        assert_eq!(number("0.1"), (Number::Float(0.1), true));
        assert_eq!(number("-123456789012.345"), (Number::Float(-123_456_789_012.345), true));
        assert_eq!(number("0.30000000000000004"), (Number::Float(0.1 + 0.2), true));
        assert_eq!(number("1E+2"), (Number::Float(100.0), true));
        assert_eq!(number("5e-324"), (Number::Float(f64::from_bits(1)), true));
        assert_eq!(number("1e-400"), (Number::Float(0.0), true));
        let (zero, _) = read("-0.0", 0).unwrap();
        assert!(matches!(zero, Number::Float(zero) if zero.is_sign_negative()));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["-", "01", "-01", "1.", ".5", "1.e5", "1e", "1e+", "--1", "+1"] {
            assert_eq!(read(text, 0).unwrap_err().to_string(), "body: invalid number at byte 0", "{text}");
        }
        assert_eq!(read("1e400", 0).unwrap_err().to_string(), "body: 1e400 is not a finite number");
        let long = "9".repeat(401);
        assert!(read(&long, 0).unwrap_err().to_string().ends_with("has more than 400 digits"));
        assert_eq!(read(&long[..400], 0).unwrap().0, Number::Long(&long[..400]));
    }
}
