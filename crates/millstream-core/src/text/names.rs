//! A fast path for features that are only names separated by blanks, as in most texts.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::blanks::word_ends;
use super::block::Block;
use super::murmur::{murmur3_short, SHORT};
use super::sorter::MOST;
use super::vowpal_wabbit::hash_name;

/// Longer inputs are not hashed here, because the list of word ends would be long too.
const LONGEST: usize = 1 << 20;

/// Whether these features are names separated by blanks: no colon, and no control byte, some of which separate too.
#[inline(always)]
fn are_names(features: &[u8]) -> bool {
    // Without an early exit, which would keep the loop out of vector registers.
    let other = features.iter().fold(false, |other, &byte| other | (byte < b' ') | (byte == b':'));
    !other && features.len() <= LONGEST
}

/// Bytes that are read of a name, however short it is.
const READ: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The instruction set of the processor. Only integers are computed, so results are the same on all.
    arch: Arch,
    ends: Vec<u32>,
    words: Box<Words>,
    /// The last line of a text, padded.
    last: Vec<u8>,
}

/// The lengths, the first bytes (in three pieces) and the columns of some words.
#[derive(Clone, Debug)]
struct Words {
    lengths: [u32; ROOM],
    pieces: [[u32; ROOM]; 3],
    columns: [u32; ROOM],
}

const ROOM: usize = MOST.next_multiple_of(TOGETHER);
/// Words are hashed in groups of this size, which fit in vector registers.
const TOGETHER: usize = 32;

impl Default for Words {
    fn default() -> Self {
        Words { lengths: [0; ROOM], pieces: [[0; ROOM]; 3], columns: [0; ROOM] }
    }
}

impl Names {
    /// Push the columns of the names in a range of bytes, all with the same value; false if there are not only names.
    pub fn hash(&mut self, bytes: &[u8], range: Range<usize>, seed: u64, mask: u32, out: &mut Block) -> bool {
        // The blank after the namespace, and often one at the end, separate no names.
        let from = range.start + usize::from(bytes[range.clone()].starts_with(b" "));
        let to = range.end - usize::from(bytes[from..range.end].ends_with(b" "));
        // The bytes after the range may be read, but are ignored.
        let length = to - from;
        let mut text = &bytes[from..];
        if text.len() < length + READ {
            self.last.clear();
            self.last.extend_from_slice(text);
            self.last.resize(length + READ, 0);
            text = &self.last;
        }
        let (arch, ends, words) = (self.arch, &mut self.ends, &mut *self.words);
        arch.dispatch(Hashing { text, length, seed, mask, ends, words, out })
    }
}

/// A text and the parameters of its hash.
struct Hashing<'a> {
    text: &'a [u8],
    length: usize,
    seed: u64,
    mask: u32,
    ends: &'a mut Vec<u32>,
    words: &'a mut Words,
    out: &'a mut Block,
}

impl WithSimd for Hashing<'_> {
    /// Whether the text has only names.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Hashing { text, length, seed, mask, ends, words, out } = self;
        if !are_names(&text[..length]) {
            return false;
        }
        let mut start = 0;
        for ends in word_ends(text, length, ends).chunks(MOST) {
            let begun = start;
            start = words.read(text, start, ends);
            let rare = words.hash(ends.len(), seed as u32, mask);
            let columns = out.room(ends.len());
            columns.copy_from_slice(&words.columns[..ends.len()]);
            let absent = if rare { hash_rare(text, begun, ends, seed, mask, columns) } else { 0 };
            out.keep(ends.len() - absent);
        }
        true
    }
}

impl Words {
    /// Read the words with these ends; returns the start of the next one.
    #[inline(always)]
    fn read(&mut self, text: &[u8], start: usize, ends: &[u32]) -> usize {
        let count = ends.len().min(MOST);
        let (ends, lengths) = (&ends[..count], &mut self.lengths[..count]);
        let [first, second, third] = self.pieces.each_mut().map(|piece| &mut piece[..count]);
        let mut start = start;
        for place in 0..count {
            let Some(name) = text.get(start..).and_then(|rest| rest.first_chunk::<READ>()) else { break };
            let [a, b, c] = name.as_chunks::<4>().0 else { break };
            first[place] = u32::from_le_bytes(*a);
            second[place] = u32::from_le_bytes(*b);
            third[place] = u32::from_le_bytes(*c);
            lengths[place] = ends[place] - start as u32;
            start = ends[place] as usize + 1;
        }
        start
    }

    /// Compute the columns of the first `count` words; returns whether some words need `hash_rare`.
    #[inline(always)]
    fn hash(&mut self, count: usize, seed: u32, mask: u32) -> bool {
        let [first, second, third] = &mut self.pieces;
        let whole = count.next_multiple_of(TOGETHER).min(ROOM);
        // The rest of the last group is filled with a common word.
        self.lengths[count..whole].fill(1);
        first[count..whole].fill(u32::from(b'a'));
        let mut rare = 0;
        for place in 0..whole {
            let length = self.lengths[place];
            let pieces = [first[place], second[place], third[place]];
            self.columns[place] = murmur3_short(pieces, length, seed) & mask;
            rare |= u32::from(is_rare(length, pieces[0] as u8));
        }
        rare > 0
    }
}

/// Whether a word is empty, is long, or starts with a digit and thus may be a number.
#[inline(always)]
fn is_rare(length: u32, first: u8) -> bool {
    (length.wrapping_sub(1) >= SHORT) | first.is_ascii_digit()
}

/// Hash the words that are not empty into adjacent columns; returns the number of empty ones.
#[cold]
#[inline(never)]
fn hash_rare(text: &[u8], start: usize, ends: &[u32], seed: u64, mask: u32, columns: &mut [u32]) -> usize {
    let mut start = start;
    let mut count = 0;
    for (place, &end) in ends.iter().enumerate() {
        let name = &text[start..end as usize];
        let first = name.first().copied().unwrap_or_default();
        start = end as usize + 1;
        if name.is_empty() {
            continue;
        }
        let rare = is_rare(name.len() as u32, first);
        columns[count] = if rare { hash_name(name, seed) as u32 & mask } else { columns[place] };
        count += 1;
    }
    ends.len() - count
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
            let names_hashed = Names::default().hash(all.as_bytes(), 1..1 + text.len(), seed.into(), 0x3f_ffff, &mut hashed);
            prop_assert!(names_hashed);
            for name in names.iter().filter(|name| !name.is_empty()) {
                wanted.push(hash_name(name.as_bytes(), seed.into()) as u32 & 0x3f_ffff, 1.0);
            }
            assert_eq!(hashed.close(0.0, 1.0, b""), Ok(()));
            assert_eq!(wanted.close(0.0, 1.0, b""), Ok(()));
            prop_assert_eq!(hashed.indices, wanted.indices);
            prop_assert_eq!(hashed.values, wanted.values);
        }
    }
}
