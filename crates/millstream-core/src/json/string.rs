//! JSON strings: borrowed from the text unless they contain escapes.

use std::borrow::Cow;

use super::invalid::Invalid;

/// The string whose content begins at `start`, and the place after its closing quote.
pub fn read(text: &str, start: usize) -> Result<(Cow<'_, str>, usize), Invalid> {
    let end = plain_end(text.as_bytes(), start);
    match text.as_bytes().get(end) {
        Some(b'"') => Ok((Cow::Borrowed(&text[start..end]), end + 1)),
        _ => with_escapes(text, start, end),
    }
}

/// The first quote, backslash or control character, or the end of the text.
#[inline]
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let mut place = start;
    // Eight bytes at a time. A borrow can only mark bytes after a correctly marked one, and only the first mark is
    // used.
    while let Some(word) = bytes.get(place..place + 8).and_then(|word| word.try_into().ok()) {
        let word = u64::from_le_bytes(word);
        let zero_in = |word: u64| word.wrapping_sub(EACH) & !word & HIGH;
        let below_32 = word.wrapping_sub(EACH * 0x20) & !word & HIGH;
        let found =
            zero_in(word ^ (EACH * u64::from(b'"'))) | zero_in(word ^ (EACH * u64::from(b'\\'))) | below_32;
        if found != 0 {
            return place + found.trailing_zeros() as usize / 8;
        }
        place += 8;
    }
    let rest = bytes.get(place..).unwrap_or_default();
    place + rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20).unwrap_or(rest.len())
}

/// 1, and the highest bit, in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = EACH << 7;

#[cold]
fn with_escapes(text: &str, start: usize, first: usize) -> Result<(Cow<'_, str>, usize), Invalid> {
    let bytes = text.as_bytes();
    let mut content = String::from(&text[start..first]);
    let mut place = first;
    loop {
        match bytes.get(place) {
            Some(b'"') => return Ok((Cow::Owned(content), place + 1)),
            Some(b'\\') => {
                let (letter, after) = escape(bytes, place)?;
                content.push(letter);
                place = after;
            }
            Some(_) => return Err(Invalid::new(format!("control character in a string at byte {place}"))),
            None => return Err(Invalid::new(format!("unterminated string at byte {}", start - 1))),
        }
        let end = plain_end(bytes, place);
        content.push_str(&text[place..end]);
        place = end;
    }
}

/// The character of the escape at `place`, and the place after it.
fn escape(bytes: &[u8], place: usize) -> Result<(char, usize), Invalid> {
    let letter = match bytes.get(place + 1) {
        Some(&letter @ (b'"' | b'\\' | b'/')) => char::from(letter),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes, place),
        _ => return Err(Invalid::new(format!("invalid escape at byte {place}"))),
    };
    Ok((letter, place + 2))
}

/// `\uXXXX`, or two of them for a character beyond 16 bits.
fn unicode_escape(bytes: &[u8], place: usize) -> Result<(char, usize), Invalid> {
    let unit = |place: usize| match bytes.get(place..place + 6) {
        Some([b'\\', b'u', digits @ ..]) if digits.iter().all(u8::is_ascii_hexdigit) => {
            std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok())
        }
        _ => None,
    };
    let first = unit(place).ok_or_else(|| Invalid::new(format!("invalid escape at byte {place}")))?;
    let pair = [first, unit(place + 6).unwrap_or(0)];
    match char::decode_utf16(pair).next() {
        Some(Ok(letter)) => Ok((letter, place + 6 * letter.len_utf16())),
        _ => Err(Invalid::new(format!("lone surrogate at byte {place}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Result<String, String> {
        let (content, end) = read(text, 1).map_err(|invalid| invalid.to_string())?;
        assert_eq!(end, text.len());
        Ok(content.into_owned())
    }

    #[test]
    fn strings_have_their_characters() {
        for plain in ["", "a", "seventy seven letters".repeat(9).as_str(), "größe\u{7f}", "\u{10ffff}12345678"] {
            assert_eq!(content(&format!("\"{plain}\"")).as_deref(), Ok(plain));
        }
        assert_eq!(content(r#""\"\\\/\b\f\n\r\t""#).as_deref(), Ok("\"\\/\u{8}\u{c}\n\r\t"));
        assert_eq!(content(r#""\u0041é\uD83D\ude00!""#).as_deref(), Ok("Aé😀!"));
    }

    #[test]
    fn every_place_of_a_stop_is_found() {
        for length in 0..40 {
            for stop in ['"', '\\', '\0', '\n', '\u{1f}'] {
                let text = format!("{}{stop}{}", "x".repeat(length), "\"ä".repeat(9));
                assert_eq!(plain_end(text.as_bytes(), 0), length);
            }
            assert_eq!(plain_end(" !#[]~é".repeat(length).as_bytes(), 0), " !#[]~é".len() * length);
        }
    }

    #[test]
    fn other_strings_are_refused() {
        assert_eq!(content("\"abc").unwrap_err(), "body: unterminated string at byte 0");
        assert_eq!(content("\"abc\\").unwrap_err(), "body: invalid escape at byte 4");
        assert_eq!(content("\"a\nb\"").unwrap_err(), "body: control character in a string at byte 2");
        for text in [r#""\x""#, r#""\u12""#, r#""\u12g4""#, r#""\u+123""#] {
            assert_eq!(content(text).unwrap_err(), "body: invalid escape at byte 1");
        }
        for text in [r#""\ud800""#, r#""\udc00\ud800""#, r#""\ud800x""#, r#""\ud800\n""#, r#""\ud800A""#] {
            assert_eq!(content(text).unwrap_err(), "body: lone surrogate at byte 1");
        }
    }
}
