//! Features that are names with blanks between them: most of what a text has, and all that is quick to hash.

use std::ops::Range;

use super::blanks::word_ends;
use super::block::Block;
use super::murmur::{murmur3_short, SHORT};
use super::sorter::MOST;
use super::vowpal_wabbit::hash_name;

/// Names of more bytes are not hashed here: the list of their ends would be long, too.
const LONGEST: usize = 1 << 20;

/// Whether these features are names with blanks between them: there is no colon, and no control byte, some of which
/// divide, too.
pub fn are_names(features: &[u8]) -> bool {
    // To the end in any case: a loop that may stop does not run in vector registers.
    let other = features.iter().fold(false, |other, &byte| other | (byte < b' ') | (byte == b':'));
    !other && features.len() <= LONGEST
}

/// In place of the column of a name that is not there, between two blanks.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub struct Names {
    ends: Vec<u32>,
}

impl Names {
    /// Push the columns of the names in a range of the bytes, each to count the same.
    pub fn hash(&mut self, bytes: &[u8], range: Range<usize>, seed: u64, mask: u32, out: &mut Block) {
        // The blank after the name of the namespace, and often one at the end, are not between two names.
        let from = range.start + usize::from(bytes[range.clone()].starts_with(b" "));
        let to = range.end - usize::from(bytes[from..range.end].ends_with(b" "));
        // The bytes after the range may be read, but do not count.
        let text = &bytes[from..];
        let mut start = 0;
        for ends in word_ends(text, to - from, &mut self.ends).chunks(MOST) {
            let columns = out.room(ends.len());
            let mut absent = 0;
            for (column, &end) in columns.iter_mut().zip(ends) {
                let end = end as usize;
                let length = end - start;
                *column = match text.get(start..).and_then(|rest| rest.first_chunk()) {
                    // A name that begins with a digit may be a number.
                    Some(name) if length.wrapping_sub(1) < SHORT && !name[0].is_ascii_digit() => {
                        murmur3_short(name, length, seed as u32) & mask
                    }
                    _ if length == 0 => {
                        absent += 1;
                        NONE
                    }
                    _ => hash_rare(&text[start..end], seed) & mask,
                };
                start = end + 1;
            }
            let count = columns.len() - absent;
            if absent > 0 {
                close_up(columns);
            }
            out.keep(count);
        }
    }
}

/// A call, so that the loop over short names has the registers to itself.
#[cold]
#[inline(never)]
fn hash_rare(name: &[u8], seed: u64) -> u32 {
    hash_name(name, seed) as u32
}

/// Move the columns that are there to the front.
#[cold]
fn close_up(columns: &mut [u32]) {
    let mut count = 0;
    for place in 0..columns.len() {
        columns[count] = columns[place];
        count += usize::from(columns[place] != NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_names_are() {
        assert!(are_names(b"") && are_names(b"a bc  d\x7f\xff"));
        assert!(!are_names(b"a b:1") && !are_names(b"a\tb") && !are_names(b"a\x1fb"));
    }

    proptest! {
        /// Names of any length, numbers, blanks in a row, at the end of the bytes or before it.
        #[test]
        fn names_are_hashed_one_by_one(
            names in prop::collection::vec(prop_oneof!["[a-z]{0,3}", "[0-9]{1,4}", "[0-9a-z\u{e9}]{1,30}"], 0..300),
            after in prop_oneof!["", "\n1 \\|b cd ef gh ij kl"],
            seed in any::<u32>(),
        ) {
            let text = names.join(" ");
            let all = format!("|{text}{after}");
            let (mut hashed, mut wanted) = (Block::default(), Block::default());
            hashed.set_same(1.0);
            Names::default().hash(all.as_bytes(), 1..1 + text.len(), seed.into(), 0x3f_ffff, &mut hashed);
            for name in names.iter().filter(|name| !name.is_empty()) {
                wanted.push(hash_name(name.as_bytes(), seed.into()) as u32 & 0x3f_ffff, 1.0);
            }
            hashed.close(0.0, 1.0, b"");
            wanted.close(0.0, 1.0, b"");
            prop_assert_eq!(hashed.indices, wanted.indices);
            prop_assert_eq!(hashed.values, wanted.values);
        }
    }
}
