//! Finds the end of a name, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The eight bytes from `at` on, the first lowest, padded with line ends.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, at),
    }
}

#[cold]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [b'\n'; 8];
    for (to, from) in word.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

/// The index of the first colon, bar, blank or control byte of a word; 8 if it has none.
///
/// Each term marks the high bit of a byte that is below 0x21, or equal to a sign (Warren, Hacker's Delight,
/// section 6-1). A borrow can mark a wrong byte, but only above a right one, and only the lowest counts.
#[inline(always)]
fn first_mark(word: u64) -> usize {
    let below = word.wrapping_sub(ONES * 0x21) & !word;
    let equal = |sign: u8| {
        let other = word ^ (ONES * sign as u64);
        other.wrapping_sub(ONES) & !other
    };
    let marks = (below | equal(b':') | equal(b'|')) & HIGHS;
    (marks.trailing_zeros() / 8) as usize
}

/// The end of the name that starts at `at`: a colon, bar, blank or tab before `end`, or `end`.
#[inline(always)]
pub fn name_end(bytes: &[u8], at: usize, end: usize) -> usize {
    let mut at = at;
    loop {
        let length = first_mark(word_at(bytes, at));
        at += length;
        if at >= end {
            return end;
        }
        if length < 8 {
            if matches!(bytes[at], b' ' | b'\t' | b':' | b'|') {
                return at;
            }
            // A control byte is part of a name.
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_names() {
        let end = |line: &str| name_end(line.as_bytes(), 0, line.len());
        for (line, length) in [
            ("", 0),
            ("a", 1),
            ("ab cd", 2),
            ("ab:1", 2),
            ("ab|", 2),
            ("\t", 0),
            ("exactly8", 8),
            ("exactly8 ", 8),
            ("a-longer-name:3", 13),
            ("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9} x", 10),
            ("a\x01b c", 3),
            ("\x01\x01\x01\x01\x01\x01\x01\x01\x01 ", 9),
            ("!;{}~\x7f9 ", 7),
        ] {
            assert_eq!(end(line), length, "{line:?}");
        }
        // The line ends before the bytes do.
        assert_eq!(name_end(b"abc def", 0, 2), 2);
    }
}
