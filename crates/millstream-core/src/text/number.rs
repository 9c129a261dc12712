//! Parses decimal numbers to the nearest f64.

/// The exact powers of ten.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
];

/// Parse a number, correctly rounded; infinities and NaN are left for the caller to reject.
///
/// Most numbers in files are short: while the digits fit in 53 bits and the power of ten is exact, one
/// multiplication or division rounds once, thus correctly (Clinger, 1990). Others go to the standard library.
#[inline]
pub fn number(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // Nineteen digits always fit in 64 bits.
    if digits.is_empty() || digits.len() > 19 {
        return slow(text);
    }
    let (mut mantissa, mut point) = (0u64, None);
    for (place, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(place);
        } else {
            return slow(text);
        }
    }
    let decimals = point.map_or(0, |place| digits.len() - 1 - place);
    if mantissa > 1 << 53 || digits == b"." {
        return slow(text);
    }
    let size = mantissa as f64 / POWERS[decimals];
    Some(if negative { -size } else { size })
}

#[cold]
fn slow(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_reads_it() {
        for text in [
            "0",
            "-0",
            "1",
            "+1",
            "007",
            "1.5",
            ".5",
            "5.",
            "-.25",
            "0.1",
            "3.14159265358979",
            "123456789012345678",
            "9007199254740993",
            "1e3",
            "1E-3",
            "1e400",
            "0.30000000000000004",
            "1234567890.123456789",
            "12345678901234567890123",
            "inf",
            "-infinity",
        ] {
            let wanted: f64 = text.parse().expect("it is a number");
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), Some(wanted.to_bits()), "{text}");
        }
        assert!(number(b"nan").is_some_and(f64::is_nan));
        for text in ["", "-", "+", ".", "-.", "1.2.3", "1e", "x", "1x", "--1", " 1", "0x10", "1_000", "\u{e9}"] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }
}
