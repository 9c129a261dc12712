//! A shorter form of the JSON of an event: numbers of many digits in 8 bytes each.
//!
//! The bytes after the first are those of the text, except that a marker and 8 bytes (little-endian) replace a number
//! and the punctuation around it. UTF-8 never contains the markers:
//!
//! | marker | stands for |
//! |---|---|
//! | `FF` | `":1.5` |
//! | `FE` | `":1.5,"` |
//! | `FD` | `": 1.5` |
//! | `FC` | `": 1.5, "` |
//!
//! The lower 57 bits are the digits of the number as an integer, the next 6 bits the number of digits after the point,
//! and the highest bit is the sign. The text is restored byte for byte, whatever it contains. Floats would take the same
//! room, but parsing and formatting them takes longer than all other steps that store an event. Names and strings stay
//! in the record, which can therefore be read without any other record.

/// The first byte of a packed text. No JSON text starts with it.
pub const PACKED: u8 = 2;

const PLAIN: u8 = 0xff;
const PLAIN_NEXT: u8 = 0xfe;
const SPACED: u8 = 0xfd;
const SPACED_NEXT: u8 = 0xfc;

/// Shorter numbers take no more room than a marker and 8 bytes.
const SHORTEST: usize = 9;
/// Integers of 17 digits, as many as a float can need, have fewer than 57 bits.
const DIGITS_BITS: u32 = 57;
const MOST_DIGITS: u32 = 17;
const MOST_FRACTION: u64 = 63;
const SIGN: u64 = 1 << 63;

/// Append the packed form of a text to `out`. False, with `out` unchanged, if it is not shorter by a fifth: plain text
/// can be queried with SQL.
pub fn pack_text(text: &str, out: &mut Vec<u8>) -> bool {
    let (bytes, start) = (text.as_bytes(), out.len());
    let mut done = 0;
    for colon in memchr::memchr_iter(b':', bytes) {
        if colon <= done || bytes[colon - 1] != b'"' {
            continue;
        }
        let is_spaced = bytes.get(colon + 1) == Some(&b' ');
        let first = colon + 1 + usize::from(is_spaced);
        let Some((number, length)) = packed_number(&bytes[first..]) else { continue };
        if done == 0 {
            out.reserve(bytes.len());
            out.push(PACKED);
        }
        out.extend_from_slice(&bytes[done..colon - 1]);
        done = first + length;
        let next: &[u8] = if is_spaced { b", \"" } else { b",\"" };
        let has_next = bytes[done..].starts_with(next);
        out.push(match (has_next, is_spaced) {
            (true, false) => PLAIN_NEXT,
            (true, true) => SPACED_NEXT,
            (false, false) => PLAIN,
            (false, true) => SPACED,
        });
        done += if has_next { next.len() } else { 0 };
        out.extend_from_slice(&number.to_le_bytes());
    }
    if done > 0 {
        out.extend_from_slice(&bytes[done..]);
    }
    let is_shorter = done > 0 && 5 * (out.len() - start) <= 4 * bytes.len();
    if !is_shorter {
        out.truncate(start);
    }
    is_shorter
}

/// Append the original text of a packed one to `out`. None if the bytes are not a packed text.
pub fn unpack_text(packed: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = packed.strip_prefix(&[PACKED])?;
    out.reserve(2 * packed.len());
    while let Some(place) = rest.iter().position(|&byte| byte >= SPACED_NEXT) {
        let (text, marked) = rest.split_at(place);
        let (&marker, after) = marked.split_first()?;
        let (number, after) = after.split_first_chunk()?;
        out.extend_from_slice(text);
        out.extend_from_slice(if matches!(marker, PLAIN | PLAIN_NEXT) { b"\":" } else { b"\": " });
        push_number(out, u64::from_le_bytes(*number))?;
        match marker {
            PLAIN_NEXT => out.extend_from_slice(b",\""),
            SPACED_NEXT => out.extend_from_slice(b", \""),
            _ => {}
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    Some(())
}

/// A number at the start of some bytes, and its length without an exponent. None if it has no point, too many digits, or
/// so few that it should stay text.
fn packed_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let is_negative = bytes.first() == Some(&b'-');
    let first = usize::from(is_negative);
    let (mut digits, mut significant) = (0_u64, 0_u32);
    let (mut place, mut point) = (first, None);
    while let Some(&byte) = bytes.get(place) {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                significant += u32::from(digits > 0);
                if significant > MOST_DIGITS {
                    return None;
                }
            }
            b'.' if point.is_none() => point = Some(place),
            _ => break,
        }
        place += 1;
    }
    let (whole, fraction) = (point? - first, (place - point? - 1) as u64);
    let has_extra_zero = whole > 1 && bytes[first] == b'0';
    if place < SHORTEST || whole == 0 || has_extra_zero || !(1..=MOST_FRACTION).contains(&fraction) {
        return None;
    }
    Some((digits | fraction << DIGITS_BITS | if is_negative { SIGN } else { 0 }, place))
}

fn push_number(out: &mut Vec<u8>, number: u64) -> Option<()> {
    let mut digits = number & ((1 << DIGITS_BITS) - 1);
    let fraction = (number >> DIGITS_BITS & MOST_FRACTION) as usize;
    if fraction == 0 {
        return None;
    }
    // From the last to the first: a fraction, the point, up to 18 digits, and the sign.
    let mut text = [b'0'; MOST_FRACTION as usize + 20];
    let mut start = text.len();
    let mut count = 0;
    while count <= fraction || digits > 0 {
        if count == fraction {
            start -= 1;
            text[start] = b'.';
        }
        start -= 1;
        text[start] = b'0' + (digits % 10) as u8;
        digits /= 10;
        count += 1;
    }
    if number & SIGN != 0 {
        start -= 1;
        text[start] = b'-';
    }
    out.extend_from_slice(&text[start..]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Option<Vec<u8>> {
        let mut out = vec![7];
        match pack_text(text, &mut out) {
            true => Some(out.split_off(1)),
            false => {
                assert_eq!(out, [7]);
                None
            }
        }
    }

    fn unpacked(bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        unpack_text(bytes, &mut out)?;
        String::from_utf8(out).ok()
    }

    #[test]
    fn texts_come_back_exactly() {
        for text in [
            r#"{"x":{"a":0.1234567890123,"b":-1.2345678901234e-07},"y":true}"#,
            r#"{"x": {"a": 0.1234567890123, "b": -12345.678901234}, "y": 0.3333333333333333}"#,
            r#"{"x": {"a":0.1234567890123, "b": -12345.678901234,"é":1.7976931348623157e+308},"y":null}"#,
            r#"{"x":{"a\":0.1234567890123,":0.1234567890123,"":2.2250738585072014E-308},"y":"a:b"}"#,
            r#"{"a":0.1230000000000000,"b":-0.0000000000000000,"c":99999999999999999.0}"#,
            r#"{"a":1.234567890.5678,"b":-0.00000000012345678901234567,"c":1234567.50-5}"#,
            r#""":0.1234567890123"#,
        ] {
            let bytes = packed(text).unwrap_or_else(|| panic!("{text}"));
            assert!(bytes.len() < text.len());
            assert_eq!(unpacked(&bytes).as_deref(), Some(text));
        }
        let ten: Vec<String> = (1..=10).map(|n| format!("\"f{}\":{}", n % 10, -1.0 / (n as f64 + 2.0))).collect();
        let text = format!("{{\"x\":{{{}}},\"y\":true}}", ten.join(","));
        assert!(packed(&text).is_some_and(|bytes| bytes.len() < 140), "{text}");
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "",
            ":",
            "{}",
            r#"{"x":{"a":0.125,"b":-1.5},"y":true}"#,
            r#"{"x":{"a":12345678901234567890},"y":1}"#,
            r#"{"x":{"a":1700000000000},"y":1}"#,
            // Too many digits, leading zeros, and no digit before or after the point.
            r#"{"x":{"a":0.123456789012345678},"y":1}"#,
            r#"{"x":{"a":00.1234567890123},"y":1}"#,
            r#"{"x":{"a":.123456789012345},"y":1}"#,
            r#"{"x":{"a":123456789012345.},"y":1}"#,
            // One long number among much text.
            r#"{"x":{"a long name":"and a long string","a":0.1234567890123},"y":false}"#,
        ] {
            assert_eq!(packed(text), None, "{text}");
        }
        let small = format!("\"\":0.{}1234567", "0".repeat(60));
        assert_eq!(packed(&small), None);
        assert!(packed(&small.replacen("0000", "", 1)).is_some());
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = packed(r#"{"x":{"a":0.1234567890123,"b":0.9876543210987},"y":true}"#).unwrap();
        assert_eq!(unpacked(&bytes[1..]), None);
        assert_eq!(unpacked(b""), None);
        assert_eq!(unpacked(&bytes[..bytes.len() - 12]), None);
        assert_eq!(unpacked(&[PACKED, PLAIN, 1, 0, 0, 0, 0, 0, 0, 0]), None);
        // Any other bits are a number.
        assert_eq!(unpacked(&[&[PACKED, PLAIN][..], &[0xff; 8]].concat()).map(|text| text.len()), Some(68));
    }
}
