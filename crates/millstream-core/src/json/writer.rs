//! Strings and floats as JSON.

/// A finite float as Python's `repr` writes it: the fewest digits that give the same float, with an exponent below 1e-4
/// and from 1e16 on.
pub fn push_float(out: &mut Vec<u8>, float: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(float);
    let Some((digits, exponent)) = text.split_once('e') else {
        return push_plain(out, text);
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => (b'-', exponent),
        None => (b'+', exponent.trim_start_matches('+')),
    };
    out.extend_from_slice(digits.strip_suffix(".0").unwrap_or(digits).as_bytes());
    out.extend_from_slice(&[b'e', sign]);
    if exponent.len() < 2 {
        out.push(b'0');
    }
    out.extend_from_slice(exponent.as_bytes());
}

/// A float without an exponent. From 1e-5 to 1e-4, Python writes one.
fn push_plain(out: &mut Vec<u8>, text: &str) {
    let (sign, size) = text.split_at(usize::from(text.starts_with('-')));
    let Some((first, rest)) = size.strip_prefix("0.0000").and_then(|digits| digits.split_at_checked(1)) else {
        return out.extend_from_slice(text.as_bytes());
    };
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(first.as_bytes());
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest.as_bytes());
    }
    out.extend_from_slice(b"e-05");
}

/// A string in quotes; characters beyond ASCII are not escaped.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[written..place]);
        written = place + 1;
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x8 => b'b',
            0xc => b'f',
            _ => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_by_python() {
        let written = |float: f64| {
            let mut out = Vec::new();
            push_float(&mut out, float);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            [written(0.0), written(-0.0), written(1.0), written(0.1 + 0.2)],
            ["0.0", "-0.0", "1.0", "0.30000000000000004"]
        );
        assert_eq!(
            [written(1e15), written(9999999999999998.0), written(1e16)],
            ["1000000000000000.0", "9999999999999998.0", "1e+16"]
        );
        assert_eq!(
            [written(1e-4), written(1e-5), written(-1.25e-5), written(-1.5e-7)],
            ["0.0001", "1e-05", "-1.25e-05", "-1.5e-07"]
        );
        assert_eq!([written(f64::MAX), written(5e-324)], ["1.7976931348623157e+308", "5e-324"]);
    }

    #[test]
    fn strings_are_escaped() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"\\\n\r\t\u{8}\u{c}\0\u{1f}é\u{7f}😀");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001fé\u{7f}😀\"");
    }
}
